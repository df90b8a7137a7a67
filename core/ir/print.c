/* core/ir/print.c - IR as text, in MLIR's generic operation form with explicit types.
 * Invariant: ir_parse of the output gives an equal module, and printing that gives the same text. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/name_set.h"
#include "core/base/number.h"
#include "core/ir/layout.h"

static void put_string(strb *b, const char *s) {
  strb_putc(b, '"');
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\') strb_printf(b, "\\%c", c);
    else if (c < 0x20 || c >= 0x7f) strb_printf(b, "\\%02X", c); /* as MLIR does: any byte survives */
    else strb_putc(b, (char)c);
  }
  strb_putc(b, '"');
}

/* MLIR's float literals need a point; what has none is written as the bits. */
static void put_float(strb *b, double v, tsr_dtype t) {
  if (!isfinite(v)) {
    uint64_t bits = 0;
    dtype_store(t, &bits, 0, v);
    strb_printf(b, "0x%0*llX", (int)(2 * tsr_dtype_size(t)), (unsigned long long)bits);
    return;
  }
  char s[40];
  number_print(s, sizeof s, t == TSR_F64 ? "%.17g" : "%.9g", v);
  char *e = strchr(s, 'e');
  if (strchr(s, '.')) strb_puts(b, s);
  else if (e) strb_printf(b, "%.*s.0%s", (int)(e - s), s, e);
  else strb_printf(b, "%s.0", s);
}

static void put_element(strb *b, const ir_type *t, const void *data, size_t i) {
  const tsr_dtype part = dtype_part(t->dtype);
  if (dtype_is_complex(t->dtype)) {
    strb_putc(b, '(');
    put_float(b, dtype_load(part, data, 2 * i), part);
    strb_puts(b, ", ");
    put_float(b, dtype_load(part, data, 2 * i + 1), part);
    strb_putc(b, ')');
  } else if (t->dtype == TSR_BOOL) strb_puts(b, ((const uint8_t *)data)[i] ? "true" : "false");
  else if (dtype_is_float(t->dtype)) put_float(b, dtype_load(t->dtype, data, i), t->dtype);
  else if (t->dtype == TSR_U64) strb_printf(b, "%llu", (unsigned long long)dtype_load_int(t->dtype, data, i));
  else if (t->dtype == TSR_I64) strb_printf(b, "%lld", (long long)dtype_load_int(t->dtype, data, i));
  else strb_printf(b, "%.0f", dtype_load(t->dtype, data, i));
}

static void put_dense(strb *b, const ir_attr *a) {
  const ir_type *t = a->u.dense.type;
  int64_t n = ir_type_count(t);
  if (a->u.dense.file && a->u.dense.file->path) {
    strb_puts(b, "#tessera.file<");
    put_string(b, a->u.dense.file->path);
    strb_printf(b, ", %zu> : ", (size_t)((const char *)a->u.dense.data - a->u.dense.file->p));
    return ir_type_print(b, t);
  }
  strb_puts(b, "dense<");
  if (a->u.dense.splat || n <= 16 || t->dtype == TSR_BOOL) {
    int64_t dims[TSR_MAX_RANK] = {0};
    int rank = a->u.dense.splat ? 0 : t->rank;
    if (a->u.dense.splat) n = 1;
    for (int64_t i = 0; i < n; i++) {
      int open = 0;
      for (int d = rank - 1; d >= 0 && dims[d] == 0; d--) open++;
      if (i) strb_puts(b, ", ");
      for (int d = 0; d < open; d++) strb_putc(b, '[');
      put_element(b, t, a->u.dense.data, (size_t)i);
      for (int d = rank - 1; d >= 0; d--) {
        if (++dims[d] < t->dims[d]) break;
        dims[d] = 0;
        strb_putc(b, ']');
      }
    }
  } else {
    static const char hex[] = "0123456789ABCDEF";
    strb_puts(b, "\"0x");
    for (size_t i = 0; i < a->u.dense.bytes; i++) {
      uint8_t c = ((const uint8_t *)a->u.dense.data)[i];
      char two[2] = {hex[c >> 4], hex[c & 15]};
      strb_put(b, two, 2);
    }
    strb_putc(b, '"');
  }
  strb_puts(b, "> : ");
  ir_type_print(b, t);
}

static void put_attr(strb *b, const ir_attr *a) {
  switch (a->kind) {
  case IR_A_UNIT: strb_puts(b, "unit"); break;
  case IR_A_BOOL: strb_puts(b, a->u.i ? "true" : "false"); break;
  case IR_A_INT: strb_printf(b, "%lld : i64", (long long)a->u.i); break;
  case IR_A_FLOAT: put_float(b, a->u.f, TSR_F64); strb_puts(b, " : f64"); break;
  case IR_A_STR: put_string(b, a->u.s); break;
  case IR_A_TYPE: ir_type_print(b, a->u.type); break;
  case IR_A_DENSE: put_dense(b, a); break;
  case IR_A_ARRAY:
    strb_putc(b, '[');
    for (int i = 0; i < a->u.array.n; i++) {
      if (i) strb_puts(b, ", ");
      put_attr(b, a->u.array.v[i]);
    }
    strb_putc(b, ']');
  }
}

static bool plain(const char *s, const char *more) {
  if (!ascii_letter(*s) && *s != '_') return false;
  for (; *s; s++)
    if (!ascii_alnum(*s) && !strchr(more, *s)) return false;
  return true;
}

static bool plain_attr(const char *s) { return plain(s, "_.$"); }
bool ir_name_is_plain(const char *s) { return plain(s, "_.$-"); }

/* ---- value names: a value keeps its own name if it is the first with it, else it gets a number ---- */

typedef struct printer {
  strb *b;
  name_set seen;
  int64_t next;
} printer;

enum { BY_NAME = -1 };

static void name_value(printer *p, ir_value *v) {
  v->scratch = v->name && ir_name_is_plain(v->name) && name_set_add(&p->seen, v->name) ? BY_NAME : p->next++;
}

static void name_all(printer *p, const ir_op *op) {
  if (op->n_results == 1) name_value(p, op->results[0]);
  else if (op->n_results > 1)
    for (int64_t i = 0, id = p->next++; i < op->n_results; i++) op->results[i]->scratch = id;
  for (int r = 0; r < op->n_regions; r++) {
    for (int i = 0; i < op->regions[r]->n_args; i++) name_value(p, op->regions[r]->args[i]);
    for (const ir_op *o = op->regions[r]->first; o; o = o->next) name_all(p, o);
  }
}

static void put_value(strb *b, const ir_value *v) {
  if (v->scratch == BY_NAME) strb_printf(b, "%%%s", v->name);
  else if (v->def && v->def->n_results > 1) strb_printf(b, "%%%lld#%d", (long long)v->scratch, v->index);
  else strb_printf(b, "%%%lld", (long long)v->scratch);
}

static void put_indent(strb *b, int n) {
  for (int i = 0; i < n; i++) strb_puts(b, "  ");
}

static void put_type(strb *b, const ir_type *t) {
  if (t) ir_type_print(b, t);
  else strb_puts(b, "none");
}

static void put_value_type(strb *b, const ir_value *v) {
  if (v->layout || v->shard) ir_placed_type_print(b, v->type, v->layout, v->shard);
  else put_type(b, v->type);
}

static void put_op(strb *b, const ir_op *op, int indent);

static void put_region(strb *b, const ir_block *r, int indent) {
  strb_puts(b, "{\n");
  if (r->n_args) {
    put_indent(b, indent);
    strb_puts(b, "^bb0(");
    for (int i = 0; i < r->n_args; i++) {
      if (i) strb_puts(b, ", ");
      put_value(b, r->args[i]);
      strb_puts(b, ": ");
      put_value_type(b, r->args[i]);
    }
    strb_puts(b, "):\n");
  }
  for (const ir_op *o = r->first; o; o = o->next) put_op(b, o, indent + 1);
  put_indent(b, indent);
  strb_putc(b, '}');
}

static void put_op(strb *b, const ir_op *op, int indent) {
  put_indent(b, indent);
  if (op->n_results == 1) put_value(b, op->results[0]);
  else if (op->n_results > 1) strb_printf(b, "%%%lld:%d", (long long)op->results[0]->scratch, op->n_results);
  strb_printf(b, op->n_results ? " = \"%s\"(" : "\"%s\"(", op->def->name);
  for (int i = 0; i < op->n_operands; i++) {
    if (i) strb_puts(b, ", ");
    put_value(b, op->operands[i]);
  }
  strb_putc(b, ')');
  if (op->n_regions) {
    strb_puts(b, " (");
    for (int r = 0; r < op->n_regions; r++) {
      if (r) strb_puts(b, ", ");
      put_region(b, op->regions[r], indent);
    }
    strb_putc(b, ')');
  }
  if (op->n_attrs) {
    strb_puts(b, " {");
    for (int i = 0; i < op->n_attrs; i++) {
      if (i) strb_puts(b, ", ");
      if (plain_attr(op->attrs[i].name)) strb_puts(b, op->attrs[i].name);
      else put_string(b, op->attrs[i].name);
      if (op->attrs[i].attr->kind == IR_A_UNIT) continue;
      strb_puts(b, " = ");
      put_attr(b, op->attrs[i].attr);
    }
    strb_putc(b, '}');
  }
  strb_puts(b, " : (");
  for (int i = 0; i < op->n_operands; i++) {
    if (i) strb_puts(b, ", ");
    put_value_type(b, op->operands[i]);
  }
  strb_puts(b, ") -> ");
  if (op->n_results != 1) strb_putc(b, '(');
  for (int i = 0; i < op->n_results; i++) {
    if (i) strb_puts(b, ", ");
    put_value_type(b, op->results[i]);
  }
  if (op->n_results != 1) strb_putc(b, ')');
  strb_putc(b, '\n');
}

void ir_print_op(strb *b, const ir_op *op, int indent) {
  printer p = {.b = b, .seen = {.al = b->al}};
  /* Operands from outside are named too, so that a single op reads well. */
  for (int i = 0; i < op->n_operands; i++) op->operands[i]->scratch = op->operands[i]->name ? BY_NAME : p.next++;
  name_all(&p, op);
  b->failed |= p.seen.failed;
  name_set_clear(&p.seen);
  put_op(b, op, indent);
}

void ir_print(strb *b, const ir_module *m) { ir_print_op(b, m->root, 0); }
