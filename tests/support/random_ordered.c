/* tests/support/random_ordered.c - random graphs of the ops that run along an axis or order its elements, and of
 * experts, which are made of them. */
#include "core/base/dtype.h"
#include "tests/support/random_build.h"

static bool coin(build *b) { return rng_range(b->r, 0, 1); }

/* Few elements, as all of a row are compared with all; now and then as many as are taken in blocks. */
static tsr_shape shape(build *b, int axis, int rank, int64_t longest) {
  tsr_shape s = random_shape(b->r, rank, 400);
  s.dims[axis] = rng_range(b->r, 0, 9) ? rng_range(b->r, 1, 40) : rng_range(b->r, 41, longest);
  for (;;) {
    int64_t n = 1;
    for (int d = 0; d < rank; d++) n *= d == axis ? 1 : s.dims[d];
    if (n * s.dims[axis] <= 2000 || n <= 1) break;
    for (int d = 0; d < rank; d++)
      if (d != axis && s.dims[d] > 1) s.dims[d] = (s.dims[d] + 1) / 2;
  }
  return s;
}

static tsr_value places(build *b, tsr_value x) {
  const int64_t size = rng_range(b->r, 0, 60);
  tsr_attr a[2] = {TSR_INT("size", size), TSR_STRING("dtype", coin(b) ? "i64" : "i32")};
  tsr_value out[2] = {0}, zero = 0;
  const tsr_attr bound[2] = {TSR_FLOAT("min", 0), TSR_FLOAT("max", 3)};
  x = coin(b) ? op(b, "clip", 1, &x, 2, bound) : x;
  if (!b->st) b->st = tsr_graph_op_results(b->g, "nonzero", &x, 1, a, 1 + coin(b), out, 2);
  say(b, " nonzero %lld", (long long)size);
  if (coin(b)) output(b, out[1]);
  return out[0] ? out[0] : zero;
}

static tsr_value ordered(build *b, tsr_value x, int axis, int64_t n) {
  const int64_t k = rng_range(b->r, 0, 2) ? rng_range(b->r, 0, n < 10 ? n : 10) : n;
  const bool some = coin(b);
  tsr_attr a[4] = {TSR_INT("axis", axis), TSR_STRING("dtype", coin(b) ? "i64" : "i32"),
                   TSR_BOOLEAN(some ? "largest" : "descending", coin(b)), TSR_INT("k", k)};
  tsr_value out[2] = {0};
  if (!b->st) b->st = tsr_graph_op_results(b->g, some ? "topk" : "sort", &x, 1, a, some ? 4 : 3, out, 2);
  say(b, some ? " topk %lld along %d" : " sort", (long long)k, axis);
  if (coin(b)) output(b, out[1]);
  return out[0];
}

/* Tokens to experts and back. */
static void experts(build *b) {
  const tsr_dtype t = float_type(b->r);
  const int64_t tokens = rng_range(b->r, 1, 50), n = rng_range(b->r, 1, 20), width = rng_range(b->r, 1, 20);
  const int64_t k = rng_range(b->r, 1, n < 4 ? n : 4), capacity = coin(b) ? rng_range(b->r, 1, 10) : 0;
  const int64_t rows = capacity ? n * capacity : tokens * k;
  tsr_attr a[3] = {TSR_INT("k", k), TSR_INT("capacity", capacity),
                   TSR_STRING("softmax", coin(b) ? "all" : "selected")};
  tsr_value logits = input(b, t, (tsr_shape){2, {tokens, n}}), x = input(b, t, (tsr_shape){2, {tokens, width}});
  tsr_value out[4] = {0}, y;
  if (!b->st) b->st = tsr_graph_op_results(b->g, "router", &logits, 1, a, 3, out, 4);
  say(b, " router %lld capacity %lld", (long long)k, (long long)capacity);
  const tsr_attr of = TSR_INT("rows", rows);
  y = op(b, "moe_dispatch", 2, (tsr_value[]){x, out[2]}, 1, &of);
  if (!capacity && coin(b)) {
    tsr_value w = input(b, t, (tsr_shape){3, {n, width, rng_range(b->r, 1, 20)}});
    y = op(b, "grouped_matmul", 3, (tsr_value[]){y, w, out[3]}, 0, a);
  }
  if (coin(b)) y = op(b, "moe_combine", 3, (tsr_value[]){y, out[2], out[0]}, 0, a);
  output(b, y);
  if (coin(b)) output(b, out[coin(b) ? 2 : 3]);
}

void random_ordered(build *b) {
  if (rng_range(b->r, 0, 4) == 0) {
    experts(b);
    return;
  }
  static const char *const extremes[] = {"argmax", "argmin"}, *const scans[] = {"cumsum", "cumprod"};
  const int rank = (int)rng_range(b->r, 1, 3), axis = (int)rng_range(b->r, 0, rank - 1);
  const int64_t which = rng_range(b->r, 0, 3);
  const tsr_shape s = shape(b, axis, rank, which == 3 ? 150 : 300);
  tsr_value x = input(b, rng_range(b->r, 0, 2) ? float_type(b->r) : integer_type(b->r), s);
  if (coin(b)) x = op1(b, "neg", x);
  if (which == 0) {
    tsr_attr a[3] = {TSR_INT("axis", coin(b) ? axis : axis - rank), TSR_BOOLEAN("exclusive", coin(b)),
                     TSR_BOOLEAN("reverse", coin(b))};
    x = op(b, scans[rng_range(b->r, 0, 4) == 0], 1, &x, (int)rng_range(b->r, 1, 3), a);
    if (coin(b)) x = op1(b, "abs", x);
  } else if (which == 1) {
    tsr_attr a[4] = {TSR_INT("axis", axis), TSR_BOOLEAN("keepdims", coin(b)),
                     TSR_BOOLEAN("select_last_index", coin(b)), TSR_STRING("dtype", "i64")};
    x = op(b, extremes[coin(b)], 1, &x, (int)rng_range(b->r, 1, 4), a);
  } else {
    x = which == 2 ? places(b, x) : ordered(b, x, axis, s.dims[axis]);
  }
  output(b, x);
}
