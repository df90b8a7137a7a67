/* core/passes/tile/composite.c - a scalar op of a graph as scalar ops of Tile IR inside a region: itself, or of a
 * composite (core/ir/scalar_composites.h) its expansion, in which equal expressions are computed once. */
#include <math.h>
#include <string.h>

#include "core/passes/tile/map.h"

typedef struct writer {
  kb_kernel *k;
  ir_builder *r;
  int *n_written; /* ops since the outermost expansion began */
  const scalar_row *row;
  ir_value *const *x;
  const double *numbers;
} writer;

static bool is_same(const ir_op *a, const ir_op *b) {
  if (a->def != b->def || a->n_operands != b->n_operands || a->results[0]->type != b->results[0]->type) return false;
  for (int i = 0; i < a->n_operands; i++)
    if (a->operands[i] != b->operands[i]) return false;
  const ir_attr *v = ir_get_attr(a, "value"), *w = ir_get_attr(b, "value");
  return (!v || !memcmp(&v->u.f, &w->u.f, sizeof v->u.f)) &&
         !strcmp(ir_get_str(a, "predicate", ""), ir_get_str(b, "predicate", ""));
}

/* y, or what has been written already and is the same. */
static scalar_value shared(writer *w, ir_value *y) {
  if (!y) return (scalar_value){.p = NULL};
  const ir_op *o = y->def->prev;
  for (int i = 0; o && i < *w->n_written; i++, o = o->prev)
    if (is_same(o, y->def)) {
      ir_op_remove(y->def);
      return (scalar_value){.p = o->results[0]};
    }
  ++*w->n_written;
  return (scalar_value){.p = y};
}

static ir_value *plain(kb_kernel *k, ir_builder *r, int code, int variant, ir_value *const *x) {
  /* inference needs the predicate, which comes next */
  const ir_type *type = code == SC_COMPARE ? ir_type_scalar(k->m, TSR_BOOL) : NULL;
  ir_value *operands[3] = {x[0], x[1], x[2]};
  for (int i = 0; i < scalar_rows[code].operands; i++)
    if (!operands[i]) return NULL;
  ir_value *y = ir_build1(r, kb_scalar_name(code), type, scalar_rows[code].operands, operands);
  if (y && type && !ir_set_attr(y->def, "predicate", ir_attr_str(k->m, scalar_predicate_name(variant)))) return NULL;
  return y;
}

static scalar_value number(void *user, double v) {
  writer *w = user;
  return shared(w, kb_number(w->k, w->r, w->x[0]->type->dtype, v));
}

static scalar_value name(void *user, char c) {
  writer *w = user;
  int i = c - 'a';
  if (i < w->row->operands) return (scalar_value){.p = w->x[i]};
  return number(user, w->numbers[i - w->row->operands]);
}

static ir_value *expand(writer *outer, int code, ir_value *const *x, const double *numbers);

static scalar_value apply(void *user, int code, int variant, const scalar_value *v) {
  writer *w = user;
  ir_value *x[3] = {v[0].p, v[1].p, v[2].p};
  if (code == SCALAR_FINITE) {
    ir_value *below = number(user, -INFINITY).p, *is_below;
    is_below = shared(w, plain(w->k, w->r, SC_COMPARE, CMP_EQ, (ir_value *[]){x[0], below, NULL})).p;
    return shared(w, plain(w->k, w->r, SC_SELECT, 0, (ir_value *[]){is_below, number(user, -1).p, x[0]}));
  }
  if (scalar_is_composite(code)) return (scalar_value){.p = expand(w, code, x, NULL)};
  return shared(w, plain(w->k, w->r, code, variant, x));
}

static ir_value *expand(writer *outer, int code, ir_value *const *x, const double *numbers) {
  writer w = *outer;
  for (int i = 0; i < scalar_rows[code].operands; i++)
    if (!x[i]) return NULL;
  w.row = &scalar_rows[code], w.x = x, w.numbers = numbers;
  scalar_reader reader = {&w, name, number, apply};
  const char *text = scalar_rows[code].expansion;
  scalar_value y = {.p = NULL};
  scalar_read(&text, &reader, &y);
  return y.p;
}

ir_value *kb_scalar(kb_kernel *k, ir_builder *r, const ir_op *op, ir_value *const *x) {
  double numbers[GRAPH_MAX_NUMBERS];
  int code = graph_scalar(op), n = 0;
  if (!scalar_is_composite(code)) return plain(k, r, code, graph_variant(op), x);
  graph_number_attrs(op, numbers);
  return expand(&(writer){.k = k, .r = r, .n_written = &n}, code, x, numbers);
}
