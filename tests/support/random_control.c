/* tests/support/random_control.c - random graphs of if and while: loops whose trips an operand says, loops of known
 * trips, branches of an operand's; short ones, which are written out, and products, which are programs of their own;
 * of real and of complex numbers. */
#include "core/base/dtype.h"
#include "tests/support/random_build.h"

static bool coin(build *b) { return rng_range(b->r, 0, 1) != 0; }

typedef struct part {
  tsr_graph *g;
  tsr_value v[3];
} part;

/* A graph of inputs k (i32), v and w. */
static part begin(build *b, tsr_dtype t, tsr_shape v, tsr_shape w) {
  part p = {NULL, {0}};
  if (!b->st) b->st = tsr_graph_create(b->ctx, "part", &p.g);
  if (!b->st) b->st = tsr_graph_input(p.g, "k", TSR_I32, (tsr_shape){.rank = 0}, &p.v[0]);
  if (!b->st) b->st = tsr_graph_input(p.g, "v", t, v, &p.v[1]);
  if (!b->st) b->st = tsr_graph_input(p.g, "w", t, w, &p.v[2]);
  return p;
}

static tsr_value add_op(build *b, part *p, const char *name, int n, const tsr_value *v, const tsr_attr *a) {
  tsr_value out = 0;
  if (!b->st) b->st = tsr_graph_op(p->g, name, v, n, a, a ? 1 : 0, &out);
  return out;
}

static tsr_value number(build *b, tsr_graph *g, int32_t n) {
  tsr_value out = 0;
  if (!b->st) b->st = tsr_graph_constant(g, TSR_I32, (tsr_shape){.rank = 0}, &n, &out);
  return out;
}

static void give(build *b, part *p, tsr_value v) {
  if (!b->st) b->st = tsr_graph_output(p->g, v);
}

/* v / (1 + |v|), which stays below 1, of v times the means of w's columns, or of the conjugates of v. */
static tsr_value complex_step(build *b, part *p, tsr_dtype t, bool product) {
  const tsr_attr first = TSR_INTS("axes", ((int64_t[]){0}), 1), to = TSR_STRING("dtype", tsr_dtype_name(t));
  tsr_value v = p->v[1], one = b->st ? 0 : number(b, p->g, 1);
  if (product) v = add_op(b, p, "mul", 2, (tsr_value[]){v, add_op(b, p, "reduce_mean", 1, &p->v[2], &first)}, NULL);
  else v = add_op(b, p, "conj", 1, &v, NULL);
  tsr_value size = add_op(b, p, "abs", 1, &v, NULL);
  size = add_op(b, p, "cast", 1, &size, &to);
  one = add_op(b, p, "cast", 1, &one, &to);
  size = add_op(b, p, "add", 2, (tsr_value[]){one, size}, NULL);
  return add_op(b, p, "div", 2, (tsr_value[]){v, size}, NULL);
}

/* v times w, or a few elementwise ops, which stay below 1. */
static tsr_value step(build *b, part *p, tsr_dtype t, bool product) {
  if (dtype_is_complex(t)) return complex_step(b, p, t, product);
  tsr_value v[2] = {p->v[1], p->v[2]};
  v[0] = add_op(b, p, product ? "matmul" : "mul", 2, product ? v : (tsr_value[]){v[0], v[0]}, NULL);
  return add_op(b, p, coin(b) ? "tanh" : "sin", 1, v, NULL);
}

/* k < 5: k is at most 4, so that the loop is short; of a known count it begins at 0. */
static void loop(build *b, tsr_dtype t, tsr_shape s, tsr_shape w, const tsr_value *x) {
  const tsr_attr lt = TSR_STRING("predicate", "lt");
  const int32_t most = (int32_t)rng_range(b->r, 0, 12);
  const bool product = coin(b);
  part cond = begin(b, t, s, w), body = begin(b, t, s, w);
  give(b, &cond, add_op(b, &cond, "compare", 2, (tsr_value[]){cond.v[0], b->st ? 0 : number(b, cond.g, most)}, &lt));
  give(b, &body, add_op(b, &body, "add", 2, (tsr_value[]){body.v[0], b->st ? 0 : number(b, body.g, 1)}, NULL));
  give(b, &body, step(b, &body, t, product));
  tsr_value v[3] = {coin(b) ? x[0] : b->st ? 0 : number(b, b->g, 0), x[1], x[2]}, out[2] = {0};
  if (!b->st) b->st = tsr_graph_while(b->g, cond.g, body.g, v, 3, 2, rng_range(b->r, 0, 14), out);
  say(b, " while k < %d%s", (int)most, product ? " matmul" : "");
  tsr_graph_destroy(&cond.g);
  tsr_graph_destroy(&body.g);
  for (int i = 0; i < 2; i++) output(b, out[i]);
}

static void branch(build *b, tsr_dtype t, tsr_shape s, tsr_shape w, const tsr_value *x) {
  const tsr_attr gt = TSR_STRING("predicate", "gt");
  part p[2];
  for (int i = 0; i < 2; i++) {
    p[i] = begin(b, t, s, w);
    give(b, &p[i], step(b, &p[i], t, coin(b)));
  }
  tsr_value c = 0, out = 0;
  const tsr_value two[2] = {x[0], b->st ? 0 : number(b, b->g, (int32_t)rng_range(b->r, -2, 2))};
  if (!b->st) b->st = tsr_graph_op(b->g, "compare", two, 2, &gt, 1, &c);
  if (!b->st) b->st = tsr_graph_if(b->g, c, p[0].g, p[1].g, x, 3, &out);
  say(b, " if");
  for (int i = 0; i < 2; i++) tsr_graph_destroy(&p[i].g);
  output(b, out);
}

void random_control(build *b) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F32, TSR_F16, TSR_BF16, TSR_COMPLEX64, TSR_COMPLEX128};
  const tsr_dtype t = types[rng_range(b->r, 0, 5)];
  const int64_t n = rng_range(b->r, 1, 20);
  const tsr_shape s = {2, {rng_range(b->r, 0, 20) ? rng_range(b->r, 1, 20) : 0, n}}, w = {2, {n, n}};
  tsr_value x[3] = {input(b, TSR_I32, (tsr_shape){.rank = 0}), input(b, t, s), input(b, t, w)};
  x[0] = op2(b, "rem", x[0], b->st ? 0 : number(b, b->g, 5));
  if (coin(b)) loop(b, t, s, w, x);
  else branch(b, t, s, w, x);
}
