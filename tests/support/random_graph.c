/* tests/support/random_graph.c - see tests/conformance/random_graph.h. */
#include "tests/conformance/random_graph.h"

#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tests/support/random_build.h"

uint64_t rng_next(rng *r) {
  uint64_t z = r->s += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

int64_t rng_range(rng *r, int64_t lo, int64_t hi) { return lo + (int64_t)(rng_next(r) % (uint64_t)(hi - lo + 1)); }
double rng_unit(rng *r) { return (double)(rng_next(r) >> 11) / 9007199254740992.0; }

/* Those of any number, then those of positive ones; all continuous, as tolerances suppose of chains. */
static const char *const unary_names[] = {
    "neg",  "abs",  "exp",      "tanh",        "erf",   "sigmoid", "relu", "gelu", "silu",  "elu",        "celu",
    "selu", "mish", "softplus", "hardsigmoid", "expm1", "atan",    "sinh", "cosh", "asinh", "leaky_relu", "hardswish",
    "softsign", "log", "sqrt", "rsqrt", "log1p"};
enum { N_UNARY = sizeof unary_names / sizeof *unary_names, N_OF_POSITIVE = 4 };
static const char *const binary_names[] = {"add", "sub", "mul", "div", "min", "max", "pow"};

static tsr_value some_unary(build *b, tsr_value x, bool positive) {
  return op1(b, unary_names[rng_range(b->r, 0, N_UNARY - 1 - (positive ? 0 : N_OF_POSITIVE))], x);
}

/* ---- families -------------------------------------------------------------------------------------------------- */

static void elementwise(build *b) {
  tsr_dtype t = float_type(b->r);
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 0, 4), 20000);
  tsr_value x = input(b, t, s);
  int steps = (int)rng_range(b->r, 1, 5);
  for (int i = 0; i < steps; i++) {
    if (rng_range(b->r, 0, 1)) x = some_unary(b, x, false);
    else x = op2(b, binary_names[rng_range(b->r, 0, 2)], x, input(b, t, narrower(b->r, s)));
  }
  output(b, x);
}

static void positive(build *b) {
  tsr_dtype t = float_type(b->r);
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 3), 8000);
  tsr_value x = input(b, t, s), y = input(b, t, narrower(b->r, s));
  output(b, op2(b, binary_names[rng_range(b->r, 3, 6)], x, y));
  output(b, some_unary(b, x, true));
}

/* Functions of a part of the numbers, each behind one whose results are there; and those that jump. */
static void domains(build *b) {
  static const char *const inside[] = {"asin", "acos", "atanh"},
                    *const steps[] = {"ceil", "floor", "round", "trunc", "sign"};
  tsr_dtype t = float_type(b->r);
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 3), 8000);
  tsr_value x = input(b, t, s), slope = input(b, t, narrower(b->r, s));
  output(b, op1(b, inside[rng_range(b->r, 0, 2)], op1(b, "softsign", x)));
  output(b, op1(b, "acosh", op2(b, "add", op1(b, "abs", x), op1(b, "cosh", x))));
  output(b, op2(b, "prelu", x, slope));
  output(b, op1(b, "tan", x)); /* not of what has errors, which may lie on either side of a pole */
  output(b, op1(b, steps[rng_range(b->r, 0, 4)], x));
}

static void integers(build *b) {
  tsr_dtype t = integer_type(b->r);
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 3), 8000);
  static const char *const names[] = {"add", "sub", "mul", "min", "max", "div",
                                      "rem", "and", "or", "xor", "shift_left", "shift_right", "mul_high"};
  static const char *const folds[] = {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"};
  tsr_value x = input(b, t, s), y = input(b, t, narrower(b->r, s));
  x = op2(b, names[rng_range(b->r, 0, 12)], x, y);
  x = op1(b, rng_range(b->r, 0, 1) ? "neg" : "abs", x);
  output(b, x);
  int64_t axis = rng_range(b->r, 0, s.rank - 1);
  tsr_attr a = TSR_INTS("axes", &axis, 1);
  if (rng_range(b->r, 0, 1)) output(b, op(b, folds[rng_range(b->r, 0, 3)], 1, &x, 1, &a));
}

static void logic(build *b) {
  static const char *const predicates[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  tsr_dtype t = rng_range(b->r, 0, 1) ? float_type(b->r) : integer_type(b->r);
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 3), 8000);
  tsr_value v[3] = {input(b, t, s), input(b, t, s)};
  tsr_attr a = TSR_STRING("predicate", predicates[rng_range(b->r, 0, 5)]);
  tsr_value c = op(b, "compare", 2, v, 1, &a);
  v[2] = v[1];
  v[1] = v[0];
  v[0] = c;
  output(b, op(b, rng_range(b->r, 0, 1) ? "select" : "where", 3, v, 0, NULL));
  output(b, c);
  if (dtype_is_float(t)) output(b, op2(b, "xor", c, op1(b, rng_range(b->r, 0, 1) ? "isnan" : "isinf", v[1])));
}

static void casts(build *b) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_F64, TSR_I32,
                                    TSR_I8,  TSR_U8,  TSR_I16,  TSR_I64, TSR_U16, TSR_U32, TSR_U64};
  enum { N = sizeof types / sizeof *types };
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 3), 8000);
  tsr_value x = input(b, types[rng_range(b->r, 0, N - 1)], s);
  int steps = (int)rng_range(b->r, 1, 3);
  for (int i = 0; i < steps; i++) {
    tsr_attr a = TSR_STRING("dtype", tsr_dtype_name(types[rng_range(b->r, 0, N - 1)]));
    x = op(b, "cast", 1, &x, 1, &a);
  }
  output(b, x);
}

/* Two elements a byte, beside other types; rows of odd and even length. */
static void packed(build *b) {
  static const tsr_dtype others[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_I8, TSR_U8, TSR_I16, TSR_I32};
  static const char *const names[] = {"add", "sub", "mul", "min", "max", "div", "rem", "and", "or", "xor"};
  const tsr_dtype t = rng_range(b->r, 0, 1) ? TSR_I4 : TSR_U4;
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 3), 8000);
  tsr_value x = op2(b, names[rng_range(b->r, 0, 9)], input(b, t, s), input(b, t, narrower(b->r, s)));
  tsr_attr wide = TSR_STRING("dtype", tsr_dtype_name(others[rng_range(b->r, 0, 6)]));
  tsr_attr back = TSR_STRING("dtype", tsr_dtype_name(rng_range(b->r, 0, 1) ? TSR_I4 : TSR_U4));
  if (rng_range(b->r, 0, 1)) output(b, x);
  x = op(b, "cast", 1, &x, 1, &wide);
  if (rng_range(b->r, 0, 1)) x = op(b, "cast", 1, &x, 1, &back);
  output(b, x);
}

static void reductions(build *b) {
  static const char *const names[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"};
  tsr_dtype t = float_type(b->r);
  int which = (int)rng_range(b->r, 0, 4);
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 4), which == 4 ? 300 : 30000);
  if (which) /* an empty maximum or mean has no value to compare */
    for (int i = 0; i < s.rank; i++) s.dims[i] += s.dims[i] == 0;
  tsr_value x = input(b, t, s);
  if (rng_range(b->r, 0, 1)) x = some_unary(b, x, false);
  int64_t axes[TSR_MAX_RANK];
  int n = 0;
  for (int i = 0; i < s.rank; i++)
    if (rng_range(b->r, 0, 1)) axes[n++] = rng_range(b->r, 0, 1) ? i : i - s.rank;
  tsr_attr a[2] = {TSR_BOOLEAN("keepdims", rng_range(b->r, 0, 1)), TSR_INTS("axes", axes, n)};
  x = op(b, names[which], 1, &x, n ? 2 : 1, a);
  if (rng_range(b->r, 0, 1)) x = op1(b, "tanh", x);
  output(b, x);
}

static void rows(build *b) {
  static const char *const names[] = {"softmax", "layernorm", "rmsnorm"};
  tsr_dtype t = float_type(b->r);
  int which = (int)rng_range(b->r, 0, 2);
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 3), 30000), last = {.rank = 1};
  for (int i = 0; i < s.rank; i++) s.dims[i] += s.dims[i] == 0;
  last.dims[0] = s.dims[s.rank - 1];
  tsr_value v[3] = {input(b, t, s)};
  if (rng_range(b->r, 0, 1)) v[0] = op2(b, "add", v[0], input(b, t, narrower(b->r, s)));
  if (which == 0) {
    tsr_attr a = TSR_INT("axis", rng_range(b->r, -s.rank, s.rank - 1));
    v[0] = op(b, "softmax", 1, v, 1, &a);
  } else {
    int n = 1;
    if (rng_range(b->r, 0, 1)) v[n++] = input(b, t, last);
    if (n == 2 && which == 1 && rng_range(b->r, 0, 1)) v[n++] = input(b, t, last);
    v[0] = op(b, names[which], n, v, 0, NULL);
  }
  output(b, v[0]);
}

static void matmuls(build *b) {
  tsr_dtype t = rng_range(b->r, 0, 2) ? float_type(b->r) : integer_type(b->r), u = t;
  if (tsr_dtype_size(t) == 1) u = rng_range(b->r, 0, 1) ? TSR_I8 : TSR_U8; /* bytes of either sign go together */
  int64_t m = extent(b->r), n = extent(b->r), k = extent(b->r);
  bool ta = rng_range(b->r, 0, 3) == 0, tb = rng_range(b->r, 0, 3) == 0;
  int batch = (int)rng_range(b->r, 0, 5) < 4 ? 0 : (int)rng_range(b->r, 1, 2);
  tsr_shape sa = {.rank = 2 + batch}, sb = {.rank = 2 + (rng_range(b->r, 0, 1) ? batch : 0)};
  if (batch) m = m > 40 ? 40 : m, n = n > 40 ? 40 : n, k = k > 40 ? 40 : k;
  for (int i = 0; i < batch; i++) {
    sa.dims[i] = rng_range(b->r, 1, 3);
    if (sb.rank > 2) sb.dims[i] = rng_range(b->r, 0, 1) ? sa.dims[i] : 1;
  }
  sa.dims[sa.rank - 2] = ta ? k : m, sa.dims[sa.rank - 1] = ta ? m : k;
  sb.dims[sb.rank - 2] = tb ? n : k, sb.dims[sb.rank - 1] = tb ? k : n;
  tsr_value v[2] = {input(b, t, sa), input(b, u, sb)};
  tsr_attr a[2] = {TSR_BOOLEAN("transpose_a", ta), TSR_BOOLEAN("transpose_b", tb)};
  tsr_value x = op(b, "matmul", 2, v, 2, a);
  if (dtype_is_float(t) && rng_range(b->r, 0, 1)) {
    tsr_shape bias = {.rank = 1, .dims = {n}}, s = shape_of(b, x);
    x = op2(b, "add", x, input(b, t, rng_range(b->r, 0, 1) ? bias : s));
    if (rng_range(b->r, 0, 1)) x = some_unary(b, x, false);
  }
  output(b, x);
}

static void movement(build *b) {
  tsr_dtype t = rng_range(b->r, 0, 3) ? float_type(b->r) : TSR_I32;
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 4), 8000);
  tsr_value x = input(b, t, s);
  int steps = (int)rng_range(b->r, 1, 4);
  for (int i = 0; i < steps && !b->st; i++) {
    s = shape_of(b, x);
    int64_t v[TSR_MAX_RANK], w[TSR_MAX_RANK], z[TSR_MAX_RANK];
    switch (rng_range(b->r, 0, 4)) {
    case 0: {
      for (int d = 0; d < s.rank; d++) v[d] = d;
      for (int d = s.rank - 1; d > 0; d--) {
        int e = (int)rng_range(b->r, 0, d);
        int64_t y = v[d];
        v[d] = v[e];
        v[e] = y;
      }
      tsr_attr a = TSR_INTS("perm", v, s.rank);
      x = op(b, "transpose", 1, &x, 1, &a);
      break;
    }
    case 1: {
      for (int d = 0; d < s.rank; d++) {
        z[d] = rng_range(b->r, 1, 2);
        v[d] = s.dims[d] ? rng_range(b->r, 0, s.dims[d] - 1) : 0;
        int64_t most = s.dims[d] ? (s.dims[d] - 1 - v[d]) / z[d] + 1 : 0;
        w[d] = most ? rng_range(b->r, 1, most) : 0;
      }
      tsr_attr a[3] = {TSR_INTS("starts", v, s.rank), TSR_INTS("sizes", w, s.rank), TSR_INTS("strides", z, s.rank)};
      x = op(b, "slice", 1, &x, 3, a);
      break;
    }
    case 2: {
      for (int d = 0; d < s.rank; d++) v[d] = rng_range(b->r, 0, 3), w[d] = rng_range(b->r, 0, 3);
      tsr_attr a[3] = {TSR_INTS("low", v, s.rank), TSR_INTS("high", w, s.rank),
                       TSR_FLOAT("value", rng_range(b->r, 0, 1) ? 0.0 : 3.0)};
      x = op(b, "pad", 1, &x, 3, a);
      break;
    }
    case 3: {
      tsr_attr a = TSR_INT("axis", rng_range(b->r, -s.rank, s.rank - 1));
      tsr_value two[2] = {x, x};
      if (rng_range(b->r, 0, 1)) two[1] = input(b, t, s);
      x = op(b, "concat", 2, two, 1, &a);
      break;
    }
    default: {
      int64_t n = 1;
      for (int d = 0; d < s.rank; d++) n *= s.dims[d];
      v[0] = n;
      v[1] = 1;
      if (n % 2 == 0 && rng_range(b->r, 0, 1)) v[0] = 2, v[1] = n / 2;
      tsr_attr a = TSR_INTS("shape", v, 2);
      x = op(b, "reshape", 1, &x, 1, &a);
    }
    }
  }
  if (t != TSR_I32 && rng_range(b->r, 0, 1)) x = op1(b, "tanh", x);
  output(b, x);
}

/* Attention from its parts, at a small size: matmul, scale, softmax, matmul, transposes between. */
static void attention(build *b) {
  int64_t h = rng_range(b->r, 1, 3), s = rng_range(b->r, 1, 40), d = rng_range(b->r, 1, 24);
  tsr_dtype t = rng_range(b->r, 0, 1) ? TSR_F32 : TSR_BF16;
  tsr_shape q = {.rank = 3, .dims = {s, h, d}};
  int64_t perm[3] = {1, 0, 2}, one = 1;
  tsr_attr p = TSR_INTS("perm", perm, 3), tb = TSR_BOOLEAN("transpose_b", 1);
  tsr_value v[3];
  for (int i = 0; i < 3; i++) {
    tsr_value x = input(b, t, q);
    v[i] = op(b, "transpose", 1, &x, 1, &p);
  }
  tsr_value w = op(b, "matmul", 2, v, 1, &tb), c = 0;
  uint8_t scale[4];
  dtype_store(t, scale, 0, 1 / sqrt((double)d));
  if (!b->st) b->st = tsr_graph_constant(b->g, t, (tsr_shape){.rank = 1, .dims = {one}}, scale, &c);
  w = op1(b, "softmax", op2(b, "mul", w, c));
  tsr_value o[2] = {w, v[2]};
  w = op(b, "matmul", 2, o, 0, NULL);
  output(b, op(b, "transpose", 1, &w, 1, &p));
}

/* ---- small ranks ----------------------------------------------------------------------------------------------- */

/* Extents of which many are 1, changes of rank, values that several ops read and that are returned beside what is made
 * of them: what a rewrite says of "the shape" must hold for each of these. */
enum { POOL = 12 };

typedef struct pool {
  tsr_value v[POOL];
  int n;
} pool;

static int64_t small_extent(rng *r) {
  static const int64_t e[] = {1, 1, 1, 2, 3, 5};
  return e[rng_range(r, 0, 5)];
}

static tsr_value any(build *b, const pool *p) {
  return p
      ->v[rng_range(b->r, 0, 3) ? rng_range(b->r, p->n > 2 ? p->n - 2 : 0, p->n - 1) : rng_range(b->r, 0, p->n - 1)];
}

static bool broadcasts(const tsr_shape *a, const tsr_shape *b) {
  for (int i = 1; i <= a->rank && i <= b->rank; i++) {
    int64_t x = a->dims[a->rank - i], y = b->dims[b->rank - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

/* A partner for x among the values; x itself fits always. */
static tsr_value partner(build *b, const pool *p, tsr_value x) {
  tsr_shape s = shape_of(b, x);
  for (int tries = 0; tries < 4; tries++) {
    tsr_value y = p->v[rng_range(b->r, 0, p->n - 1)];
    tsr_shape t = shape_of(b, y);
    if (broadcasts(&s, &t)) return y;
  }
  return x;
}

static tsr_value small_reduce(build *b, tsr_value x) {
  static const char *const names[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"};
  tsr_shape s = shape_of(b, x);
  int64_t axes[TSR_MAX_RANK];
  int n = 0;
  for (int i = 0; i < s.rank; i++)
    if (rng_range(b->r, 0, 1)) axes[n++] = i;
  tsr_attr a[2] = {TSR_BOOLEAN("keepdims", rng_range(b->r, 0, 2) == 0), TSR_INTS("axes", axes, n)};
  return op(b, names[rng_range(b->r, 0, 3)], 1, &x, n ? 2 : 1, a);
}

static tsr_value small_transpose(build *b, tsr_value x) {
  tsr_shape s = shape_of(b, x);
  int64_t perm[TSR_MAX_RANK] = {0};
  for (int i = 0; i < s.rank; i++) perm[i] = i;
  for (int i = s.rank - 1; i > 0; i--) {
    int k = (int)rng_range(b->r, 0, i);
    int64_t y = perm[i];
    perm[i] = perm[k];
    perm[k] = y;
  }
  tsr_attr a = TSR_INTS("perm", perm, s.rank);
  return op(b, "transpose", 1, &x, 1, &a);
}

/* Drops or adds a dimension of 1, or turns all into one. */
static tsr_value small_reshape(build *b, tsr_value x) {
  tsr_shape s = shape_of(b, x);
  int64_t to[TSR_MAX_RANK + 1], n = 1;
  int rank = 0, add = rng_range(b->r, 0, 1) && s.rank < 4 ? (int)rng_range(b->r, 0, s.rank) : -1;
  for (int i = 0; i < s.rank; i++) {
    if (i == add) to[rank++] = 1;
    if (add >= 0 || s.dims[i] != 1 || rng_range(b->r, 0, 1)) to[rank++] = s.dims[i];
    n *= s.dims[i];
  }
  if (add == s.rank) to[rank++] = 1;
  if (add < 0 && rng_range(b->r, 0, 3) == 0) to[0] = n, rank = 1;
  tsr_attr a = TSR_INTS("shape", to, rank);
  return op(b, "reshape", 1, &x, 1, &a);
}

static tsr_value small_broadcast(build *b, tsr_value x) {
  tsr_shape s = shape_of(b, x);
  int64_t to[TSR_MAX_RANK];
  int more = s.rank < 3 ? (int)rng_range(b->r, 0, 1) : 0;
  if (more) to[0] = small_extent(b->r);
  for (int i = 0; i < s.rank; i++) to[more + i] = s.dims[i] == 1 ? small_extent(b->r) : s.dims[i];
  tsr_attr a = TSR_INTS("shape", to, s.rank + more);
  return op(b, "broadcast", 1, &x, 1, &a);
}

static void shapes(build *b) {
  static const char *const unary[] = {"neg", "abs", "relu", "tanh"};
  tsr_dtype t = float_type(b->r);
  pool p = {.n = 0};
  for (int i = (int)rng_range(b->r, 1, 2); i > 0; i--) {
    tsr_shape s = {.rank = (int)rng_range(b->r, 0, 3)};
    for (int d = 0; d < s.rank; d++) s.dims[d] = small_extent(b->r);
    p.v[p.n++] = input(b, t, s);
  }
  int inputs = p.n;
  for (int steps = (int)rng_range(b->r, 2, POOL - 2); steps > 0 && !b->st; steps--) {
    tsr_value x = any(b, &p);
    switch (rng_range(b->r, 0, 7)) {
    case 0: x = op1(b, unary[rng_range(b->r, 0, 3)], x); break;
    case 1: case 2: x = op2(b, rng_range(b->r, 0, 1) ? "add" : "sub", x, partner(b, &p, x)); break;
    case 3: case 4: x = small_reduce(b, x); break;
    case 5: x = small_transpose(b, x); break;
    case 6: x = small_reshape(b, x); break;
    default: x = small_broadcast(b, x);
    }
    p.v[p.n++] = x;
  }
  output(b, p.v[p.n - 1]);
  for (int i = (int)rng_range(b->r, 0, 3); i > 0; i--) output(b, p.v[rng_range(b->r, inputs, p.n - 1)]);
}

/* ---- complex numbers ------------------------------------------------------------------------------------------- */

static tsr_value complex_move(build *b, tsr_value x) {
  tsr_shape s = shape_of(b, x);
  int64_t v[TSR_MAX_RANK] = {0}, w[TSR_MAX_RANK] = {0}, axis = s.rank ? rng_range(b->r, -s.rank, s.rank - 1) : 0;
  for (int d = 0; d < s.rank; d++) v[d] = rng_range(b->r, 0, 2), w[d] = rng_range(b->r, 0, 1);
  tsr_attr pad[2] = {TSR_INTS("low", v, s.rank), TSR_INTS("high", w, s.rank)}, at = TSR_INT("axis", axis),
           axes[2] = {TSR_BOOLEAN("keepdims", rng_range(b->r, 0, 1)), TSR_INTS("axes", &axis, 1)};
  tsr_value two[2] = {x, x};
  switch (s.rank ? rng_range(b->r, 0, 5) : 0) {
  case 0: return small_reshape(b, x);
  case 1: return small_transpose(b, x);
  case 2: return small_broadcast(b, x);
  case 3: return op(b, "pad", 1, &x, 2, pad);
  case 4: return op(b, "concat", 2, two, 1, &at);
  default: return op(b, rng_range(b->r, 0, 1) ? "reduce_sum" : "reduce_mean", 1, &x, 2, axes);
  }
}

static void complex_numbers(build *b) {
  static const tsr_dtype types[] = {TSR_COMPLEX64, TSR_COMPLEX64, TSR_COMPLEX128, TSR_COMPLEX32};
  static const char *const binary[] = {"add", "sub", "mul", "mul", "div"}, *const unary[] = {"neg", "conj"},
                          *const last[] = {"real", "imag", "abs", "as_real"};
  tsr_dtype t = types[rng_range(b->r, 0, 3)];
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 0, 3), 4000);
  for (int i = 0; i < s.rank; i++) s.dims[i] += s.dims[i] == 0; /* an empty mean has no value to compare */
  tsr_value x = input(b, t, s);
  for (int steps = (int)rng_range(b->r, 1, 4); steps > 0 && !b->st; steps--) {
    switch (rng_range(b->r, 0, 4)) {
    case 0:
    case 1: x = op2(b, binary[rng_range(b->r, 0, 4)], x, input(b, t, narrower(b->r, shape_of(b, x)))); break;
    case 2: x = op2(b, "mul", x, x); break;
    case 3: x = op1(b, unary[rng_range(b->r, 0, 1)], x); break;
    default: x = complex_move(b, x);
    }
  }
  if (rng_range(b->r, 0, 1)) output(b, op1(b, last[rng_range(b->r, 0, 3)], x));
  else output(b, x);
}

static const struct { const char *name; void (*make)(build *b); } families[] = {
    {"elementwise", elementwise}, {"positive", positive}, {"integers", integers}, {"logic", logic},
    {"casts", casts},             {"reductions", reductions}, {"rows", rows},     {"matmuls", matmuls},
    {"movement", movement},       {"attention", attention}, {"shapes", shapes},   {"composed", random_composed},
    {"normed", random_normed},    {"domains", domains},       {"indexed", random_indexed},
    {"complex_numbers", complex_numbers}, {"flash_attention", random_attention},
    {"training", random_training}, {"linalg", random_linalg}, {"ordered", random_ordered},
    {"spectral", random_spectral}, {"recurrent", random_recurrent}, {"convolution", random_convolution},
    {"control", random_control}, {"packed", packed}};

int random_graph_families(void) { return (int)(sizeof families / sizeof *families); }
const char *random_graph_family_name(int f) { return families[f].name; }

tsr_status random_graph(tsr_context *ctx, rng *r, int family, tsr_graph **out, char *what, size_t what_bytes) {
  build b = {.ctx = ctx, .r = r, .what = what, .left = what_bytes};
  *out = NULL;
  say(&b, "%s:", families[family].name);
  b.st = tsr_graph_create(ctx, "main", &b.g);
  if (!b.st) families[family].make(&b);
  if (b.st) tsr_graph_destroy(&b.g);
  *out = b.g;
  return b.st;
}
