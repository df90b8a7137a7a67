/* core/emit/cpu/list.c - Target IR of the CPU dialect as a listing to read: the calls of each kernel's blocks. */
#include "core/emit/cpu/emit_cpu.h"

#include <string.h>

#include "core/ir/target/target.h"

static void list_value(strb *s, const ir_value *v) {
  if (v->type->kind == IR_T_ARRAY) {
    strb_printf(s, "tile%lld<", (long long)ir_get_int(v->def, "offset", 0));
    for (int i = 0; i < v->type->rank; i++) strb_printf(s, "%lldx", (long long)v->type->dims[i]);
    strb_printf(s, "%s>", tsr_dtype_name(v->type->dtype));
  } else if (v->owner) {
    strb_printf(s, "arg%d", v->index);
  } else {
    strb_printf(s, "%%%lld", (long long)v->scratch);
  }
}

static void list_block(strb *s, ir_block *b, int indent, int64_t *next) {
  for (ir_op *o = b->first; o; o = o->next) {
    if (o->def->code == TG_SCRATCH) continue;
    for (int i = 0; i < o->n_results; i++) o->results[i]->scratch = (*next)++;
    strb_printf(s, "%*s", indent, "");
    for (int i = 0; i < o->n_results; i++) strb_printf(s, "%%%lld = ", (long long)o->results[i]->scratch);
    const char *name = ir_short_name(o->def);
    strb_puts(s, o->def->code == TG_CALL ? ir_get_str(o, "fn", "") : name);
    strb_putc(s, '(');
    for (int i = 0; i < o->n_operands; i++) {
      if (i) strb_puts(s, ", ");
      list_value(s, o->operands[i]);
    }
    strb_puts(s, ")");
    for (int i = 0; i < o->n_attrs; i++)
      if (o->attrs[i].attr->kind == IR_A_INT || o->attrs[i].attr->kind == IR_A_BOOL)
        strb_printf(s, " %s=%lld", o->attrs[i].name, (long long)o->attrs[i].attr->u.i);
      else if (o->attrs[i].attr->kind == IR_A_STR && strcmp(o->attrs[i].name, "fn"))
        strb_printf(s, " %s=%s", o->attrs[i].name, o->attrs[i].attr->u.s);
      else if (o->attrs[i].attr->kind == IR_A_FLOAT) strb_printf(s, " %s=%g", o->attrs[i].name, o->attrs[i].attr->u.f);
    for (int r = 0; r < o->n_regions; r++) {
      for (int i = 0; i < o->regions[r]->n_args; i++) o->regions[r]->args[i]->scratch = (*next)++;
      strb_puts(s, " {\n");
      list_block(s, o->regions[r], indent + 2, next);
      strb_printf(s, "%*s}", indent, "");
    }
    strb_putc(s, '\n');
  }
}

tsr_status emit_cpu_source(const ir_module *target, strb *out) {
  for (ir_op *o = target->root->regions[0]->first; o; o = o->next) {
    if (o->def->code != TG_KERNEL) continue;
    int64_t grid[3] = {1, 1, 1}, next = 0;
    ir_get_ints(o, "grid", grid, 3);
    strb_printf(out, "// micro-kernel calls of one block; scratch memory %lld bytes a thread\n",
                (long long)ir_get_int(o, "scratch_bytes", 0));
    strb_printf(out, "kernel %s grid(%lld, %lld, %lld) {\n", ir_get_str(o, "sym_name", ""), (long long)grid[0],
                (long long)grid[1], (long long)grid[2]);
    list_block(out, o->regions[0], 2, &next);
    strb_puts(out, "}\n");
  }
  return strb_ok(out) ? NULL : st_oom();
}
