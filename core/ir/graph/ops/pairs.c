/* core/ir/graph/ops/pairs.c - complex numbers on devices: each op that takes or gives them, built of ops on their
 * parts, so that nothing below Graph IR knows complex types (passes/graph/complex.c). A complex tensor is a real one
 * with a last axis of 2, real and imaginary part, as its memory is. x: the operands, complex ones as such pairs. */
#include <string.h>

#include "core/ir/graph/ops/adjoint.h"
#include "core/ir/graph/ops/pairs.h"

#define ABS(x) graph_op1(b, G_ABS, x)
#define MAX(x, y) graph_op2(b, G_MAX, x, y)
#define MIN(x, y) graph_op2(b, G_MIN, x, y)

static bool set_list(ir_builder *b, ir_op *op, const char *name, int64_t *v, int n, int64_t last) {
  v[n] = last;
  return ir_set_attr(op, name, ir_attr_ints(b->m, v, n + 1));
}

/* ---- taking pairs apart and putting them together -------------------------------------------------------------- */

/* [.., 2] -> [.., 1] */
static ir_value *part(ir_builder *b, ir_value *x, int which) {
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK];
  if (!x || b->failed) return NULL;
  const int last = x->type->rank - 1;
  memcpy(sizes, x->type->dims, sizeof sizes);
  sizes[last] = 1;
  const ir_type *t = ir_type_tensor(b->m, x->type->dtype, last + 1, sizes);
  ir_op *op = ir_op_new(b, graph_def(G_SLICE), 1, &x, 1, &t, 0);
  if (!t || !op || !set_list(b, op, "starts", starts, last, which) || !set_list(b, op, "sizes", sizes, last, 1))
    b->failed = true;
  return b->failed ? NULL : OUT;
}
static ir_value *re(ir_builder *b, ir_value *x) { return part(b, x, 0); }
static ir_value *im(ir_builder *b, ir_value *x) { return part(b, x, 1); }

/* [..] -> [.., 1] */
static ir_value *deepen(ir_builder *b, ir_value *x) {
  int64_t dims[TSR_MAX_RANK];
  if (!x) return NULL;
  memcpy(dims, x->type->dims, sizeof dims);
  dims[x->type->rank] = 1;
  return graph_reshape(b, x, x->type->rank + 1, dims);
}

/* [.., 1] -> [..] */
static ir_value *flatten(ir_builder *b, ir_value *x) {
  return x ? graph_reshape(b, x, x->type->rank - 1, x->type->dims) : NULL;
}

/* The real parts of x, [.., 1] or [.., 2], and the imaginary parts of y. */
static ir_value *join(ir_builder *b, ir_value *x, ir_value *y) {
  static const uint8_t first[] = {1, 0};
  ir_value *is_first = graph_elements(b, ir_type_tensor(b->m, TSR_BOOL, 1, (int64_t[]){2}), first);
  return is_first ? SELECT(is_first, x, y) : NULL;
}

/* ---- pointwise ------------------------------------------------------------------------------------------------- */

/* Pairs and each of their parts in both places of one, all of one shape and type: views and casts of what is in memory,
 * so that what is computed of them is one kernel. */
typedef struct parted { ir_value *both, *re, *im; } parted;

static ir_value *spread(ir_builder *b, ir_value *x, int rank, const int64_t *dims, tsr_dtype t) {
  return x && !b->failed ? graph_cast(b, graph_broadcast(b, x, rank, dims), t) : NULL;
}

static parted parts_of(ir_builder *b, ir_value *x, int rank, const int64_t *dims, tsr_dtype t) {
  return (parted){spread(b, x, rank, dims, t), spread(b, re(b, x), rank, dims, t), spread(b, im(b, x), rank, dims, t)};
}

static ir_value *product(ir_builder *b, parted x, parted y) {
  return ADD(MUL(x.re, y.both), MUL(x.im, join(b, NEG(y.im), y.re)));
}

/* x / y = x conj(y) / |y|^2 with y divided by its larger part s: nothing overflows before the quotient. */
static ir_value *quotient(ir_builder *b, parted x, parted y) {
  ir_value *s = MAX(ABS(y.re), ABS(y.im)), *c = DIV(y.re, s), *d = DIV(y.im, s), *square = ADD(MUL(c, c), MUL(d, d));
  return DIV(DIV(ADD(MUL(x.re, join(b, c, NEG(d))), MUL(x.im, join(b, d, c))), square), s);
}

ir_value *pairs_spread(ir_builder *b, ir_value *x, bool imaginary) {
  if (!x || b->failed) return NULL;
  const ir_type t = *x->type;
  return spread(b, part(b, x, imaginary), t.rank, t.dims, t.dtype);
}

ir_value *pairs_real(ir_builder *b, ir_value *x) { return x ? flatten(b, re(b, x)) : NULL; }
ir_value *pairs_join(ir_builder *b, ir_value *x, ir_value *y) { return x && y ? join(b, x, y) : NULL; }

/* Steps on parts of f16 are of f32 and round once, at the end. */
static ir_value *two_steps(ir_builder *b, ir_op *op, ir_value *const *x) {
  const tsr_dtype t = x[0]->type->dtype, wide = t == TSR_F16 ? TSR_F32 : t;
  const int rank = OUT->type->rank + 1;
  int64_t dims[TSR_MAX_RANK];
  memcpy(dims, OUT->type->dims, sizeof dims);
  dims[rank - 1] = 2;
  const parted u = parts_of(b, x[0], rank, dims, wide), v = parts_of(b, x[1], rank, dims, wide);
  ir_value *y = op->def->code == G_MUL ? product(b, u, v) : quotient(b, u, v);
  return y ? graph_cast(b, y, t) : NULL;
}

/* The larger part times the root of one and the square of their ratio; of equal ones, 0 and infinities among them,
 * times the root of 2. */
static ir_value *magnitude(ir_builder *b, ir_value *x) {
  if (!x) return NULL;
  const tsr_dtype stored = x->type->dtype, t = stored == TSR_F16 ? TSR_F32 : stored;
  ir_value *u = re(b, x), *v = im(b, x);
  if (b->failed) return NULL;
  u = ABS(graph_cast(b, u, t)), v = ABS(graph_cast(b, v, t));
  ir_value *most = MAX(u, v), *least = MIN(u, v), *ratio = DIV(least, most);
  if (b->failed) return NULL;
  ir_value *root = graph_op1(b, G_SQRT, ADD(graph_number(b, t, 1), MUL(ratio, ratio)));
  ir_value *y = MUL(most, SELECT(graph_compare(b, CMP_LT, least, most), root,
                                 graph_number(b, t, 1.41421356237309504880)));
  return y ? flatten(b, graph_cast(b, y, stored)) : NULL;
}

static ir_value *converted(ir_builder *b, ir_op *op, ir_value *x) {
  const tsr_dtype part = dtype_part(OUT->type->dtype);
  if (dtype_is_complex(IN(0)->type->dtype)) return graph_cast(b, x, part);
  return join(b, deepen(b, graph_cast(b, x, part)), graph_number(b, part, 0));
}

PAIRS(pairs_pointwise) {
  switch (op->def->code) {
  case G_MUL:
  case G_DIV: return two_steps(b, op, x);
  case G_ABS: return magnitude(b, x[0]);
  case G_CAST: return converted(b, op, x[0]);
  case G_SELECT: return SELECT(deepen(b, x[0]), x[1], x[2]);
  case G_COMPLEX: return join(b, deepen(b, x[0]), deepen(b, x[1]));
  case G_CONJ: return join(b, x[0], NEG(x[0]));
  case G_REAL: return flatten(b, re(b, x[0]));
  case G_IMAG: return flatten(b, im(b, x[0]));
  default: return graph_build_like(b, op, x); /* part by part */
  }
}

/* ---- the others ------------------------------------------------------------------------------------------------ */

PAIRS(pairs_reduce) {
  bool reduced[TSR_MAX_RANK];
  graph_axes(op, reduced);
  return graph_reduce(b, (graph_code)op->def->code, x[0], reduced, ir_get_bool(op, "keepdims", false));
}

static ir_value *transposed(ir_builder *b, ir_op *op, ir_value *x) {
  int perm[TSR_MAX_RANK];
  graph_perm(op, perm);
  perm[x->type->rank - 1] = x->type->rank - 1;
  return graph_transpose(b, x, perm);
}

/* Slices and pads: their lists get an entry for the last axis, which stays whole. */
static ir_value *with_last(ir_builder *b, ir_op *op, ir_value *x) {
  static const struct { const char *name; int64_t last; } lists[] = {
      {"starts", 0}, {"sizes", 2}, {"strides", 1}, {"low", 0}, {"high", 0}};
  ir_type t = *OUT->type;
  t.dims[t.rank++] = 2;
  const ir_type *type = ir_type_tensor(b->m, dtype_part(t.dtype), t.rank, t.dims);
  ir_op *n = type ? ir_op_new(b, op->def, 1, &x, 1, &type, 0) : NULL;
  if (!n) b->failed = true;
  for (size_t i = 0; i < sizeof lists / sizeof *lists && !b->failed; i++) {
    int64_t v[TSR_MAX_RANK + 1];
    if (ir_get_attr(op, lists[i].name) &&
        !set_list(b, n, lists[i].name, v, ir_get_ints(op, lists[i].name, v, TSR_MAX_RANK), lists[i].last))
      b->failed = true;
  }
  return b->failed ? NULL : n->results[0];
}

PAIRS(pairs_move) {
  const ir_type *t = OUT->type;
  int64_t dims[TSR_MAX_RANK];
  memcpy(dims, t->dims, sizeof dims);
  if (t->rank < TSR_MAX_RANK) dims[t->rank] = 2;
  switch (op->def->code) {
  case G_BROADCAST: return graph_broadcast(b, x[0], t->rank + 1, dims);
  case G_RESHAPE: return graph_reshape(b, x[0], t->rank + 1, dims);
  case G_TRANSPOSE: return transposed(b, op, x[0]);
  case G_CONCAT: return graph_concat(b, op->n_operands, x, graph_axis(op));
  case G_SLICE:
  case G_PAD: return with_last(b, op, x[0]);
  default: return x[0]; /* as_real, as_complex */
  }
}

PAIRS(pairs_constant) {
  const ir_attr *a = ir_get_attr(op, "value");
  const tsr_dtype part = dtype_part(OUT->type->dtype);
  const bool splat = a->u.dense.splat;
  int64_t dims[TSR_MAX_RANK];
  const int rank = OUT->type->rank;
  memcpy(dims, OUT->type->dims, sizeof dims);
  dims[rank] = 2;
  const ir_type *t = ir_type_tensor(b->m, part, splat ? 1 : rank + 1, splat ? &dims[rank] : dims);
  ir_op *n = t ? ir_op_new(b, op->def, 0, NULL, 1, &t, 0) : NULL;
  if (!n || !ir_set_attr(n, "value", ir_attr_dense(b->m, t, a->u.dense.data, a->u.dense.bytes, false)))
    b->failed = true;
  return b->failed ? NULL : splat ? graph_broadcast(b, n->results[0], rank + 1, dims) : n->results[0];
}
