/* core/ir/ops_doc.c - the op tables of all levels as JSON (`tessera ops --json`) and as the markdown of docs/ir.md. */
#include "core/ir/ir.h"

static const char *const kind_names[] = {"unit", "bool", "integer", "float", "string", "type", "list", "dense"};

static void json_field(strb *b, const char *key, const char *value) {
  strb_printf(b, ", \"%s\": ", key);
  strb_json(b, value ? value : "");
}

static void json_attrs(strb *b, const ir_attr_def *d) {
  strb_puts(b, ", \"attributes\": [");
  for (int i = 0; d && d->name; d++, i++) {
    strb_puts(b, i ? ", {\"name\": " : "{\"name\": ");
    strb_json(b, d->name);
    strb_printf(b, ", \"kind\": \"%s\", \"required\": %s, \"default\": ", kind_names[d->kind],
                d->required ? "true" : "false");
    if (d->dflt) strb_json(b, d->dflt);
    else strb_puts(b, "null");
    json_field(b, "help", d->help);
    strb_putc(b, '}');
  }
  strb_putc(b, ']');
}

void ir_ops_json(strb *b) {
  bool first = true;
  strb_puts(b, "[");
  for (int l = 0; l < IR_N_LEVELS; l++) {
    const ir_opdef *t;
    for (size_t i = 0; (t = ir_row((ir_level)l, i)); i++, first = false) {
      strb_puts(b, first ? "\n  {\"name\": " : ",\n  {\"name\": ");
      strb_json(b, t->name);
      json_field(b, "level", ir_level_name((ir_level)l));
      json_field(b, "operands", t->operands_doc);
      json_attrs(b, t->attrs);
      if (t->n_results == IR_VARIADIC) strb_puts(b, ", \"results\": null");
      else strb_printf(b, ", \"results\": %d", t->n_results);
      json_field(b, "types", t->types_doc);
      json_field(b, "help", t->help);
      strb_putc(b, '}');
    }
  }
  strb_puts(b, "\n]\n");
}

static const char *const intros[IR_N_LEVELS] = {
    "Operations that belong to no level.",
    "The algebra: tensors in, tensors out, no device detail; `?` is a dimension unknown until `tsr_graph_specialize`. Behind the type of what a function takes or gives may stand where it lies: `tensor<8x4xf32, {layout = [1, 0], shard = [\"dp\", \"*\"]}>` has its dimensions in memory in this order, the slowest first (`tsr_graph_layout`), and rows cut along `dp` of a mesh ([distributed.md](distributed.md)). `core/ir/graph/ops.h` explains the level.",
    "What becomes a kernel and how. `core/ir/schedule/schedule.h` explains the level.",
    "One kernel as a block program; every operation is collective over the block. `core/ir/tile/tile.h` explains the level.",
    "One kernel for one device: threads, lanes, barriers, matrix instructions."};

static void markdown_op(strb *b, const ir_opdef *d) {
  strb_printf(b, "### `%s`(%s)\n\n%s\n", d->name, d->operands_doc ? d->operands_doc : "", d->help ? d->help : "");
  if (d->types_doc) strb_printf(b, "Types: %s.\n", d->types_doc);
  if (d->attrs && d->attrs->name) strb_puts(b, "\n| attribute | kind | default | meaning |\n|---|---|---|---|\n");
  for (const ir_attr_def *a = d->attrs; a && a->name; a++) {
    const char *dflt = a->required ? "*required*" : !a->dflt ? "" : *a->dflt ? a->dflt : "\"\"";
    strb_printf(b, "| `%s` | %s | %s | %s |\n", a->name, kind_names[a->kind], dflt, a->help ? a->help : "");
  }
  strb_putc(b, '\n');
}

void ir_ops_markdown(strb *b) {
  strb_puts(b, "# The operations of the four IR levels\n\n"
               "Made from the op tables by `tessera ops --markdown`; a test compares this file with them. The text form is MLIR's generic\n"
               "operation form: `%result = \"name\"(%operands) {attributes} : (operand types) -> result type`; on input, types that can be\n"
               "inferred may be left out.\n\n");
  for (int l = 0; l < IR_N_LEVELS; l++) {
    const ir_opdef *t;
    const char *name = ir_level_name((ir_level)l);
    strb_printf(b, "## %c%s\n\n%s\n\n", name[0] - 'a' + 'A', name + 1, intros[l]);
    for (size_t i = 0; (t = ir_row((ir_level)l, i)); i++) markdown_op(b, t);
  }
}
