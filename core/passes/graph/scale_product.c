/* core/passes/graph/scale_product.c - the rewrite rules scale_into_product and add_constants: a product with constant
 * weights whose result is multiplied by a number for each channel is that with multiplied weights, and constants that
 * are added behind it one after the other are one. With both a batch norm behind a convolution becomes a bias. See
 * graph/rules.h. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "core/passes/graph/rules.h"

enum { MOST_NUMBERS = 1 << 16 }; /* of a vector that is multiplied or added */

/* A product of f32, perhaps seen in another shape, that is read once; side: its operand that is a constant. */
typedef struct found {
  ir_op *view, *product;
  int side;
  int first, last; /* the dimensions of its result that the channels are; first > last: none, one number for all */
} found;

static bool is_f32(const ir_value *v) { return v->type->dtype == TSR_F32; }

static bool is_vector(const ir_value *v) {
  return graph_is(v->def, G_CONSTANT) && is_f32(v) && ir_type_count(v->type) <= MOST_NUMBERS;
}

static bool find_product(const ir_value *v, found *x) {
  if (v->n_uses != 1 || !v->def) return false;
  if (graph_reshapes(v->def)) {
    x->view = v->def;
    v = v->def->operands[0];
  }
  if (v->n_uses != 1 || !graph_is_kind(v->def, GRAPH_CONTRACTION) || !is_f32(v)) return false;
  x->product = v->def;
  return is_f32(x->product->operands[0]) && is_f32(x->product->operands[1]);
}

/* The constant that an operand is, or is in another shape, where nothing else reads it; NULL: none, or of equal
 * numbers. */
static const ir_op *weights(const ir_value *v) {
  while (v->n_uses == 1 && v->def && graph_reshapes(v->def)) v = v->def->operands[0];
  if (v->n_uses != 1 || !graph_is(v->def, G_CONSTANT)) return NULL;
  return ir_get_attr(v->def, "value")->u.dense.splat ? NULL : v->def;
}

/* The dimension of the operand that dimension i of the result is; -1: it isn't one of this operand's, or broadcast. */
static int operand_dim(const found *x, int i) {
  const ir_type *t = x->product->operands[x->side]->type, *r = x->product->results[0]->type;
  const bool swapped = graph_is_transposed(x->product, x->side);
  const int own = x->side ? r->rank - 1 : r->rank - 2, at = i - (r->rank - t->rank);
  if (i == own) return x->side ? (swapped ? t->rank - 2 : t->rank - 1) : (swapped ? t->rank - 1 : t->rank - 2);
  return i < r->rank - 2 && at >= 0 && t->dims[at] == r->dims[i] ? at : -1;
}

/* Which dimensions of the product's result the only one is along which s differs, where it is broadcast to `seen`. */
static bool find_channels(found *x, const ir_type *seen, const ir_type *s) {
  const ir_type *r = x->product->results[0]->type;
  int along = -1;
  int64_t inner = 1, have = 1;
  x->first = 1, x->last = 0;
  for (int i = 0; i < s->rank; i++) {
    if (s->dims[i] == 1) continue;
    if (along >= 0) return false;
    along = i + seen->rank - s->rank;
  }
  if (along < 0) return true;
  for (int i = along + 1; i < seen->rank; i++) inner *= seen->dims[i];
  for (x->last = r->rank - 1; have < inner && x->last >= 0; x->last--) have *= r->dims[x->last];
  if (have != inner) return false;
  have = 1;
  for (x->first = x->last + 1; have < seen->dims[along] && x->first > 0;) have *= r->dims[--x->first];
  if (have != seen->dims[along]) return false;
  for (int i = x->first; i <= x->last; i++)
    if (r->dims[i] != 1 && operand_dim(x, i) < 0) return false;
  return true;
}

/* Its n numbers, and one behind them; NULL: no memory. */
static float *numbers_of(const tsr_allocator *al, const ir_op *c, int64_t n) {
  float *v = al_alloc(al, (size_t)(n + 1) * sizeof *v, 16);
  for (int64_t i = 0; v && i < n; i++) v[i] = (float)graph_constant_at(c, i);
  return v;
}

/* Each times factor; 0 if all stay in range. */
static inline int multiply_some(float *w, float factor, int64_t n) {
  const int matters = factor != 0;
  int leaves = 0;
  for (int64_t i = 0; i < n; i++) {
    const float before = w[i], after = before * factor;
    leaves |= !(fabsf(after) <= FLT_MAX);
    leaves |= (int)(before != 0) & (int)(fabsf(after) < FLT_MIN) & matters;
    w[i] = after;
  }
  return leaves;
}

/* In blocks of a constant length without a branch, which become vectors: all of a model's weights pass here. */
static int multiply_line(float *w, float factor, int64_t n) {
  enum { BLOCK = 32 };
  int leaves = 0;
  int64_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK) leaves |= multiply_some(w + i, factor, BLOCK);
  return leaves | multiply_some(w + i, factor, n - i);
}

/* w[e] *= s[its channel], of as many elements as t has; false: a number would be out of range. */
static bool multiply(const found *x, const ir_type *t, const float *s, float *w) {
  const ir_type *result = x->product->results[0]->type;
  int64_t apart[TSR_MAX_RANK] = {0}, at[TSR_MAX_RANK] = {0}, stride = 1, channel = 0; /* apart: in s */
  for (int i = x->last; i >= x->first; stride *= result->dims[i--])
    if (result->dims[i] != 1) apart[operand_dim(x, i)] = stride;
  const int64_t n = ir_type_count(t), step = t->rank ? apart[t->rank - 1] : 0,
                line = t->rank && !step ? t->dims[t->rank - 1] : 1;
  int leaves = 0;
  for (int64_t e = 0; e < n; e += line) {
    leaves |= multiply_line(w + e, s[channel], line);
    for (int d = t->rank - (line > 1 ? 2 : 1); d >= 0; d--) {
      channel += apart[d];
      if (++at[d] < t->dims[d]) break;
      channel -= at[d] * apart[d];
      at[d] = 0;
    }
  }
  return !leaves;
}

/* The constant times s, in the shape that the product reads; NULL: a number would be out of range (why), or no memory.
 */
static ir_value *scaled_weights(rewrite *r, const found *x, const ir_op *w, const ir_op *s) {
  const tsr_allocator *al = &r->b.m->arena.al;
  const ir_type *t = x->product->operands[x->side]->type;
  const int64_t n = ir_type_count(s->results[0]->type);
  float *numbers = numbers_of(al, s, n);
  ir_value *c = numbers ? graph_elements(&r->b, t, ir_get_attr(w, "value")->u.dense.data) : NULL; /* a copy */
  if (!c) r->b.failed = true;
  else if (!multiply(x, t, numbers, ir_get_attr(c->def, "value")->u.dense.data))
    r->why = "a weight would be out of range";
  al_free(al, numbers, (size_t)(n + 1) * sizeof *numbers, 16);
  return r->why ? NULL : c;
}

/* Element at[] of a constant that is broadcast to dimensions of that rank. */
static double broadcast_at(const ir_op *c, const int64_t *at, int rank) {
  const ir_type *t = c->results[0]->type;
  int64_t i = 0;
  for (int d = 0; d < t->rank; d++) i = i * t->dims[d] + (t->dims[d] == 1 ? 0 : at[d + rank - t->rank]);
  return graph_constant_at(c, i);
}

/* x * y, or sign_x * x + sign_y * y, of two constants; NULL: too many numbers, not finite (why), or no memory. */
static ir_value *combined(rewrite *r, const ir_op *x, const ir_op *y, bool times, double sign_x, double sign_y) {
  const tsr_allocator *al = &r->b.m->arena.al;
  const ir_type *tx = x->results[0]->type, *ty = y->results[0]->type;
  int64_t dims[TSR_MAX_RANK], at[TSR_MAX_RANK] = {0};
  int rank;
  if (!graph_broadcast_dims(tx->rank, tx->dims, ty->rank, ty->dims, &rank, dims)) return NULL; /* both fit y */
  const ir_type *t = ir_type_tensor(r->b.m, TSR_F32, rank, dims);
  const int64_t n = t ? ir_type_count(t) : 0;
  if (n > MOST_NUMBERS) return r->why = "the constants are too large", NULL;
  float *out = t ? al_alloc(al, (size_t)(n + 1) * sizeof *out, 16) : NULL;
  if (!out) return r->b.failed = true, NULL;
  for (int64_t e = 0; e < n; e++) {
    const double a = broadcast_at(x, at, rank), b = broadcast_at(y, at, rank);
    out[e] = (float)(times ? a * b : sign_x * a + sign_y * b);
    if (!isfinite(out[e])) r->why = "a constant would not be finite";
    for (int d = rank - 1; d >= 0 && ++at[d] == dims[d]; d--) at[d] = 0;
  }
  ir_value *c = r->why ? NULL : graph_elements(&r->b, t, out);
  al_free(al, out, (size_t)(n + 1) * sizeof *out, 16);
  return c;
}

/* op adds a constant, its operand *i, to what comes out of something else, or subtracts it. */
static bool adds_constant(const ir_op *op, int *i) {
  if (!op || (!graph_is(op, G_ADD) && !graph_is(op, G_SUB))) return false;
  *i = graph_is(op, G_ADD) && is_vector(op->operands[0]) ? 0 : 1;
  return is_vector(op->operands[*i]) && op->results[0]->type == op->operands[1 - *i]->type;
}

static ir_value *scale(rewrite *r, const found *x, const ir_op *w, const ir_op *s, const ir_op *sum, int constant) {
  ir_value *c = sum ? combined(r, sum->operands[constant]->def, s, true, 1, 1) : NULL, *p[2], *v;
  if (sum && !c) return NULL;
  if (!(v = scaled_weights(r, x, w, s))) return NULL;
  for (int i = 0; i < 2; i++) p[i] = i == x->side ? v : x->product->operands[i];
  v = graph_build_like(&r->b, x->product, p);
  if (v && x->view) v = graph_build_like(&r->b, x->view, &v);
  return v && sum ? graph_build_like(&r->b, sum, constant ? (ir_value *[]){v, c} : (ir_value *[]){c, v}) : v;
}

ir_value *rule_scale_into_product(rewrite *r) {
  if (!graph_is(r->op, G_MUL)) return NULL;
  const int i = is_vector(r->op->operands[0]) ? 0 : 1;
  ir_value *s = r->op->operands[i], *y = r->op->operands[1 - i];
  if (!is_vector(s) || y->type != r->op->results[0]->type || !is_f32(y)) return NULL;
  found x = {NULL};
  int constant = 1;
  const ir_op *sum = adds_constant(y->def, &constant) && y->n_uses == 1 ? y->def : NULL;
  if (!find_product(sum ? sum->operands[1 - constant] : y, &x)) return NULL;
  for (x.side = 0; x.side < 2; x.side++) {
    const ir_op *w = weights(x.product->operands[x.side]);
    if (w && find_channels(&x, y->type, s->type)) return scale(r, &x, w, s->def, sum, constant);
  }
  r->why = "no operand is a constant of its own along these channels";
  return NULL;
}

/* Constants of one number for all stay: adding such a one and taking it away again may be how somebody rounds. */
ir_value *rule_add_constants(rewrite *r) {
  int outer, inner;
  found x = {NULL};
  if (!adds_constant(r->op, &outer)) return NULL;
  const ir_op *y = r->op->operands[1 - outer]->def, *c[2];
  if (!adds_constant(y, &inner) || y->results[0]->n_uses != 1 || !find_product(y->operands[1 - inner], &x)) return NULL;
  c[0] = y->operands[inner]->def, c[1] = r->op->operands[outer]->def;
  double number;
  if (graph_splat(c[0], &number) || graph_splat(c[1], &number)) return NULL;
  ir_value *v = combined(r, c[0], c[1], false, graph_is(y, G_SUB) ? -1 : 1, graph_is(r->op, G_SUB) ? -1 : 1);
  return v ? graph_op2(&r->b, G_ADD, y->operands[1 - inner], v) : NULL;
}
