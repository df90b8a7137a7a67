/* tests/support/random_composed.c - random graphs of the ops that others say; see core/ir/graph/expand.h. */
#include "core/base/dtype.h"
#include "tests/support/random_build.h"

/* ---- of any type ------------------------------------------------------------------------------------------------ */

static tsr_value place(build *b, tsr_dtype t, tsr_shape s) {
  tsr_attr a[3] = {TSR_INTS("shape", s.dims, s.rank), TSR_INT("axis", rng_range(b->r, -s.rank, s.rank - 1)),
                   TSR_STRING("dtype", tsr_dtype_name(t))};
  return op(b, "iota", 0, NULL, 3, a);
}

static tsr_value bounded(build *b, tsr_value x) {
  double low = (double)rng_range(b->r, -3, 2), high = (double)rng_range(b->r, -1, 5);
  tsr_attr a[2] = {TSR_FLOAT("min", low), TSR_FLOAT("max", high)};
  int n = (int)rng_range(b->r, 0, 3);
  return op(b, "clip", 1, &x, n < 2 ? 1 : n - 1, n == 1 ? a + 1 : a);
}

static tsr_value masked(build *b, tsr_value x) {
  tsr_attr a = TSR_INT("diagonal", rng_range(b->r, -4, 4));
  return op(b, rng_range(b->r, 0, 1) ? "tril" : "triu", 1, &x, 1, &a);
}

static tsr_value repeated(build *b, tsr_value x, int rank) {
  int64_t n[TSR_MAX_RANK];
  for (int i = 0; i < rank; i++) n[i] = rng_range(b->r, 0, 20) ? rng_range(b->r, 1, 3) : 0;
  tsr_attr a = TSR_INTS("repeats", n, rank);
  return op(b, "tile", 1, &x, 1, &a);
}

/* Some part of x, and all of them as outputs now and then. */
static tsr_value parted(build *b, tsr_value x, tsr_shape s) {
  int axis = (int)rng_range(b->r, 0, s.rank - 1), n = (int)rng_range(b->r, 1, 3);
  int64_t sizes[3] = {s.dims[axis], 0, 0};
  tsr_value parts[3] = {0};
  for (int i = 1; i < n; i++) {
    sizes[i] = rng_range(b->r, 0, sizes[i - 1]);
    sizes[i - 1] -= sizes[i];
  }
  tsr_attr a[2] = {TSR_INT("axis", rng_range(b->r, 0, 1) ? axis : axis - s.rank), TSR_INTS("sizes", sizes, n)};
  if (!b->st) b->st = tsr_graph_op_results(b->g, "split", &x, 1, a, 2, parts, n);
  say(b, " split");
  for (int i = 1; i < n; i++)
    if (rng_range(b->r, 0, 1)) output(b, parts[i]);
  return parts[0];
}

static void one_hots(build *b) {
  static const char *const types[] = {"f32", "f16", "i32", "bool", "i64", "u8"};
  tsr_dtype t = integer_type(b->r);
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 0, 3), 500);
  tsr_value x = input(b, t, s), c = 0;
  int64_t depth = rng_range(b->r, 0, 40), half = 20;
  if (rng_range(b->r, 0, 3)) { /* near enough to be in range */
    unsigned char number[8] = {0};
    dtype_store(t, number, 0, (double)half);
    if (!b->st) b->st = tsr_graph_constant(b->g, t, (tsr_shape){.rank = 0}, number, &c);
    x = op2(b, "rem", x, c);
  }
  tsr_attr a[4] = {TSR_INT("depth", depth), TSR_INT("axis", rng_range(b->r, -s.rank - 1, s.rank)),
                   TSR_STRING("dtype", types[rng_range(b->r, 0, 5)]), TSR_FLOAT("off", (double)rng_range(b->r, 0, 1))};
  output(b, op(b, "one_hot", 1, &x, (int)rng_range(b->r, 1, 4), a));
}

static void chain(build *b) {
  tsr_dtype t = rng_range(b->r, 0, 2) ? float_type(b->r) : integer_type(b->r);
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 2, 4), 4000);
  tsr_value x = input(b, t, s);
  int steps = (int)rng_range(b->r, 1, 3);
  for (int i = 0; i < steps && !b->st; i++) {
    s = shape_of(b, x);
    int64_t n = 1, most = 0;
    for (int d = 0; d < s.rank; d++) n *= s.dims[d], most = s.dims[d] > most ? s.dims[d] : most;
    switch (rng_range(b->r, 0, 5)) {
    case 0: x = bounded(b, x); break;
    case 1: x = masked(b, x); break;
    case 2: x = n < 20000 ? repeated(b, x, s.rank) : masked(b, x); break;
    case 3: x = parted(b, x, s); break;
    case 4: x = most <= 128 ? op2(b, rng_range(b->r, 0, 1) ? "add" : "mul", x, place(b, t, s)) : masked(b, x); break;
    default: x = op1(b, "neg", x);
    }
  }
  if (rng_range(b->r, 0, 2) == 0) {
    int64_t axis = rng_range(b->r, 0, shape_of(b, x).rank - 1);
    tsr_attr a = TSR_INTS("axes", &axis, 1);
    x = op(b, "reduce_sum", 1, &x, 1, &a);
  }
  output(b, x);
}

/* ---- norms and positions ---------------------------------------------------------------------------------------- */

static bool coin(build *b) { return rng_range(b->r, 0, 1); }

static tsr_value vector(build *b, tsr_dtype t, int64_t n) {
  return input(b, coin(b) ? t : TSR_F32, (tsr_shape){1, {n}});
}

static void batch_norm(build *b, tsr_dtype t) {
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 4), 4000);
  int axis = (int)rng_range(b->r, 0, s.rank - 1), n = 3;
  tsr_value v[5] = {input(b, t, s), vector(b, t, s.dims[axis]), op1(b, "abs", vector(b, t, s.dims[axis]))};
  while (n < 5 && coin(b)) v[n++] = vector(b, t, s.dims[axis]);
  tsr_attr a[2] = {TSR_INT("axis", coin(b) ? axis : axis - s.rank), TSR_FLOAT("eps", 1e-3)};
  output(b, op(b, "batch_norm", n, v, (int)rng_range(b->r, 1, 2), a));
}

static void channels_norm(build *b, tsr_dtype t) {
  bool instance = coin(b);
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, instance ? 3 : 2, 4), 8000);
  int64_t groups = rng_range(b->r, 1, 4), n = 1;
  if (!instance && coin(b)) s.dims[1] = groups * (s.dims[1] / groups + 1);
  else groups = coin(b) || !s.dims[1] ? 1 : s.dims[1];
  tsr_value v[3] = {input(b, t, s)};
  if (coin(b)) v[0] = op2(b, "add", v[0], input(b, t, narrower(b->r, s)));
  while (n < 3 && coin(b)) v[n++] = vector(b, t, s.dims[1]);
  tsr_attr a = TSR_INT("groups", groups);
  v[0] = op(b, instance ? "instance_norm" : "group_norm", (int)n, v, !instance, &a);
  output(b, coin(b) ? op1(b, "relu", v[0]) : v[0]);
}

static void exponentials(build *b, tsr_dtype t) {
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 4), 8000);
  tsr_value x = input(b, t, s);
  if (coin(b)) {
    tsr_attr a = TSR_INT("axis", rng_range(b->r, -s.rank, s.rank - 1));
    output(b, op(b, "log_softmax", 1, &x, 1, &a));
    return;
  }
  int64_t axes[TSR_MAX_RANK];
  int n = 0;
  for (int i = 0; i < s.rank; i++)
    if (coin(b)) axes[n++] = i;
  tsr_attr a[2] = {TSR_INTS("axes", axes, n), TSR_BOOLEAN("keepdims", true)};
  output(b, op(b, "logsumexp", 1, &x, (int)rng_range(b->r, 0, 2), a));
}

static void rope(build *b, tsr_dtype t) {
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 2, 4), 8000);
  int64_t *width = &s.dims[s.rank - 1], length = s.dims[s.rank - 2];
  *width = (*width + 1) / 2 * 2;
  tsr_value v[3] = {input(b, t, s)};
  int n = (int)rng_range(b->r, 1, 3);
  if (n == 2) v[1] = input(b, coin(b) ? TSR_I8 : TSR_U8, (tsr_shape){1, {length}});
  for (int i = 1; i < n && n == 3; i++) v[i] = input(b, coin(b) ? t : TSR_F32, (tsr_shape){2, {length, *width / 2}});
  tsr_attr a[2] = {TSR_BOOLEAN("interleaved", coin(b)), TSR_FLOAT("base", 100)};
  output(b, op(b, "rope", n, v, (int)rng_range(b->r, 0, 2), a));
}

void random_normed(build *b) {
  static void (*const make[])(build *b, tsr_dtype t) = {batch_norm, channels_norm, channels_norm, exponentials, rope};
  make[rng_range(b->r, 0, 4)](b, float_type(b->r));
}

/* ---- losses and products ---------------------------------------------------------------------------------------- */

static tsr_attr reduction(build *b) {
  static const char *const names[] = {"none", "sum", "mean"};
  return (tsr_attr)TSR_STRING("reduction", names[rng_range(b->r, 0, 2)]);
}

/* Labels of which some are no class where `wild`. */
static tsr_value labels(build *b, tsr_shape s, int64_t classes, bool wild) {
  tsr_dtype t = integer_type(b->r);
  unsigned char n[8] = {0}, zero[8] = {0};
  tsr_value x = input(b, t, s), c = 0;
  dtype_store(t, n, 0, (double)(classes + wild > 1 ? classes + wild : 1));
  if (!b->st) b->st = tsr_graph_constant(b->g, t, (tsr_shape){.rank = 0}, n, &c);
  x = op2(b, "rem", x, c);
  if (!b->st) b->st = tsr_graph_constant(b->g, t, (tsr_shape){.rank = 0}, zero, &c);
  return wild ? x : op2(b, "max", x, c);
}

static void cross_entropy(build *b, tsr_dtype t) {
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 3), 6000), rest = {.rank = 0};
  int axis = (int)rng_range(b->r, 0, s.rank - 1), n = 2;
  for (int i = 0; i < s.rank; i++)
    if (i != axis) rest.dims[rest.rank++] = s.dims[i];
  tsr_attr a[3] = {TSR_INT("axis", coin(b) ? axis : axis - s.rank), reduction(b),
                   TSR_INT("ignore_index", rng_range(b->r, -1, 2))};
  tsr_value v[2] = {input(b, t, s)};
  if (rng_range(b->r, 0, 2) == 0) v[1] = op1(b, "abs", input(b, t, s));
  else v[1] = labels(b, rest, s.dims[axis], coin(b)), n += coin(b);
  output(b, op(b, "cross_entropy", 2, v, n, a));
}

static void difference(build *b, tsr_dtype t) {
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 0, 3), 6000);
  tsr_value v[2] = {input(b, t, s), input(b, t, coin(b) ? s : narrower(b->r, s))};
  const bool logs = coin(b);
  tsr_attr a[2] = {reduction(b), TSR_BOOLEAN("log_target", logs)};
  if (coin(b)) output(b, op(b, "mse", 2, v, 1, a));
  else {
    if (!logs) v[1] = op1(b, "abs", v[1]);
    output(b, op(b, "kl", 2, v, 2, a));
  }
}

static void projections(build *b, tsr_dtype t) {
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 2, 3), 4000);
  int64_t k = s.dims[s.rank - 1], sizes[3] = {rng_range(b->r, 0, 20), rng_range(b->r, 0, 20), rng_range(b->r, 0, 20)};
  const bool equal = coin(b);
  if (equal) sizes[1] = sizes[2] = sizes[0];
  int64_t columns = sizes[0] + sizes[1] + sizes[2];
  tsr_value v[4] = {input(b, t, s), input(b, t, (tsr_shape){2, {k, columns}})}, parts[3] = {0};
  if (coin(b)) { /* a product of lower rank */
    v[2] = input(b, t, (tsr_shape){2, {columns, 7}});
    int n = 3;
    if (coin(b)) v[n++] = input(b, t, (tsr_shape){1, {7}});
    output(b, op(b, "factorized_matmul", n, v, 0, NULL));
    return;
  }
  int n = 2;
  if (coin(b)) v[n++] = input(b, t, (tsr_shape){1, {columns}});
  tsr_attr a = TSR_INTS("sizes", sizes, 3);
  if (!b->st) b->st = tsr_graph_op_results(b->g, "qkv_projection", v, n, &a, !equal, parts, 3);
  say(b, " qkv_projection");
  for (int i = 0; i < 3; i++)
    if (i == 0 || coin(b)) output(b, coin(b) ? op1(b, "neg", parts[i]) : parts[i]);
}

/* Extents of a letter each; "..." is one axis, of 1 in some operands. */
static void einsums(build *b, tsr_dtype t) {
  static const char *const equations[] = {
      "ab,bc->ac", "ab,cb->ca", "abc,acd->abd", "abcd,aecd->abec", "ab,ab->", "ab,ab->a", "a,b->ba", "aab->b",
      "ab,bc,cd->ad", "ab,cb,db->acd", "ab,b,a->", "ab,cd->bdca", "...ab,bc->a...c", "a...,...b->ab", "abc->cb",
      "aabb->ba", "abc,bd,cd->da", "ba,bc,dc,ed->ae", "abc,abc,a", "...,...", "aba,cb"};
  const char *e = equations[rng_range(b->r, 0, (int64_t)(sizeof equations / sizeof *equations) - 1)];
  int64_t extents[5], dots = rng_range(b->r, 1, 5);
  tsr_value v[4];
  int n = 0;
  for (int i = 0; i < 5; i++) extents[i] = rng_range(b->r, 0, 40) ? rng_range(b->r, 1, 14) : 0;
  for (const char *p = e; *p && *p != '-'; p += *p == ',') {
    tsr_shape s = {.rank = 0};
    for (; *p && *p != ',' && *p != '-'; p++) {
      s.dims[s.rank++] = *p != '.' ? extents[*p - 'a'] : coin(b) ? dots : 1;
      p += *p == '.' ? 2 : 0;
    }
    v[n++] = input(b, t, s);
  }
  tsr_attr a = TSR_STRING("equation", e);
  say(b, " %s", e);
  output(b, op(b, "einsum", n, v, 1, &a));
}

static void blocks(build *b, tsr_dtype t) {
  const bool deep = coin(b), last = coin(b);
  const int64_t n = rng_range(b->r, 1, 3), c = rng_range(b->r, 1, 5) * (deep ? n * n : 1);
  const int64_t h = rng_range(b->r, 0, 7) * (deep ? 1 : n), w = rng_range(b->r, 1, 9) * (deep ? 1 : n);
  const tsr_shape s = last ? (tsr_shape){4, {2, h, w, c}} : (tsr_shape){4, {2, c, h, w}};
  tsr_value x = input(b, coin(b) ? t : integer_type(b->r), s);
  tsr_attr a[3] = {TSR_INT("block", n), TSR_STRING("layout", last ? "nhwc" : "nchw"),
                   TSR_STRING("order", coin(b) ? "dcr" : "crd")};
  if (coin(b)) x = op1(b, "neg", x);
  x = op(b, deep ? "depth_to_space" : "space_to_depth", 1, &x, 3, a);
  output(b, coin(b) ? op1(b, "abs", x) : x);
}

/* A window that fits the axis, padding as it comes. */
static void window(build *b, int64_t n, int64_t *kernel, int64_t *stride, int64_t *dilation, int64_t *low,
                   int64_t *high) {
  *kernel = rng_range(b->r, 1, rng_range(b->r, 0, 5) ? 4 : 12);
  *dilation = rng_range(b->r, 0, 2) ? 1 : rng_range(b->r, 1, 3);
  *stride = rng_range(b->r, 1, 4);
  const int64_t span = (*kernel - 1) * *dilation + 1;
  *low = rng_range(b->r, 0, span - 1), *high = rng_range(b->r, 0, span - 1);
  if (n + *low + *high < span) *kernel = 1, *low = *high = 0;
}

static void pools(build *b, tsr_dtype t) {
  const int n = (int)rng_range(b->r, 1, 3);
  const bool last = coin(b), average = coin(b), explicit = rng_range(b->r, 0, 2);
  tsr_shape s = {.rank = n + 2, .dims = {rng_range(b->r, 0, 20) ? rng_range(b->r, 1, 2) : 0}};
  int64_t v[5][3];
  s.dims[last ? n + 1 : 1] = rng_range(b->r, 1, 17);
  for (int i = 0; i < n; i++) {
    int64_t *d = &s.dims[i + (last ? 1 : 2)];
    *d = rng_range(b->r, 1, n > 2 ? 7 : 20);
    window(b, *d, &v[0][i], &v[1][i], &v[2][i], &v[3][i], &v[4][i]);
  }
  tsr_value x = input(b, average || coin(b) ? t : integer_type(b->r), s);
  tsr_attr a[8] = {TSR_STRING("layout", last ? "nhwc" : "nchw"), TSR_INTS("kernel", v[0], n),
                   TSR_INTS("strides", v[1], n), TSR_INTS("dilations", v[2], n)};
  int n_attrs = 4;
  if (!explicit) {
    a[n_attrs++] = (tsr_attr)TSR_STRING("padding", coin(b) ? "same" : "same_lower");
  } else {
    a[n_attrs++] = (tsr_attr)TSR_INTS("low", v[3], n);
    a[n_attrs++] = (tsr_attr)TSR_INTS("high", v[4], n);
    a[n_attrs++] = (tsr_attr)TSR_BOOLEAN("ceil_mode", coin(b));
  }
  if (rng_range(b->r, 0, 6) == 0) n_attrs = 1; /* the whole image */
  else if (average) a[n_attrs++] = (tsr_attr)TSR_BOOLEAN("count_include_pad", coin(b));
  if (coin(b)) x = op1(b, "neg", x);
  x = op(b, average ? "average_pool" : "max_pool", 1, &x, n_attrs, a);
  output(b, coin(b) ? op1(b, "relu", x) : x);
}

void random_convolution(build *b) {
  const tsr_dtype t = float_type(b->r);
  static const char *const names[] = {"conv1d", "conv2d", "conv3d"};
  const int n = (int)rng_range(b->r, 1, 3), last = coin(b), back = rng_range(b->r, 0, 2) == 0;
  const int64_t groups = rng_range(b->r, 0, 2) ? 1 : rng_range(b->r, 2, 4), in = rng_range(b->r, 1, 9),
                out = rng_range(b->r, 0, 2) ? rng_range(b->r, 1, 9) : in, channels[2] = {groups * in, groups * out};
  const bool depthwise = groups > 1 && coin(b);
  tsr_shape s = {.rank = n + 2, .dims = {rng_range(b->r, 0, 20) ? rng_range(b->r, 1, 2) : 0}}, w = {.rank = n + 2};
  int64_t v[5][3];
  s.dims[last ? n + 1 : 1] = depthwise ? groups : channels[back];
  w.dims[last ? n : 1] = depthwise ? 1 : in;
  w.dims[last ? n + 1 : 0] = depthwise ? groups : channels[1];
  for (int i = 0; i < n; i++) {
    int64_t *d = &s.dims[i + (last ? 1 : 2)];
    *d = rng_range(b->r, 1, n > 2 ? 7 : 20);
    window(b, *d, &v[0][i], &v[1][i], &v[2][i], &v[3][i], &v[4][i]);
    if (back) v[3][i] = v[4][i] = 0;
    w.dims[i + (last ? 0 : 2)] = v[0][i];
  }
  const tsr_shape bias = {1, {depthwise ? groups : channels[!back]}};
  tsr_value x[3] = {input(b, t, s), input(b, t, w), input(b, t, bias)};
  const tsr_attr a[6] = {TSR_STRING("layout", last ? "nhwc" : "nchw"), TSR_INTS("strides", v[1], n),
                         TSR_INTS("dilations", v[2], n), TSR_INT("groups", groups), TSR_INTS("low", v[3], n),
                         TSR_INTS("high", v[4], n)};
  tsr_value y = op(b, back ? "conv_transpose" : names[n - 1], coin(b) ? 3 : 2, x, 6, a);
  output(b, coin(b) ? op1(b, "relu", y) : y);
}

/* Every mode and kind of coordinates; also crops, which reach beyond the image. */
static void resizes(build *b, tsr_dtype t) {
  static const char *const modes[] = {"nearest", "linear", "cubic"},
                           *const kinds[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                             "align_corners", "asymmetric", "tf_half_pixel_for_nn",
                                             "tf_crop_and_resize"},
                           *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  const int n = (int)rng_range(b->r, 1, 3), mode = (int)rng_range(b->r, 0, 2), kind = (int)rng_range(b->r, 0, 6);
  const bool last = coin(b), by_size = coin(b);
  tsr_shape s = {.rank = n + 2, .dims = {rng_range(b->r, 0, 20) ? rng_range(b->r, 1, 2) : 0}};
  int64_t sizes[3];
  double scales[3], roi[6];
  s.dims[last ? n + 1 : 1] = rng_range(b->r, 1, 17);
  for (int i = 0; i < n; i++) {
    const int64_t d = s.dims[i + (last ? 1 : 2)] = rng_range(b->r, 1, n > 2 ? 7 : 20);
    sizes[i] = coin(b) ? rng_range(b->r, 1, 12) : d * rng_range(b->r, 1, n > 2 ? 2 : 4);
    scales[i] = (double)rng_range(b->r, 1, n > 2 ? 16 : 40) / 8;
    roi[i] = (double)rng_range(b->r, -4, 12) / 8, roi[n + i] = (double)rng_range(b->r, -4, 12) / 8;
  }
  tsr_value x = input(b, mode || coin(b) ? t : integer_type(b->r), s);
  tsr_attr a[8] = {TSR_STRING("layout", last ? "nhwc" : "nchw"), TSR_STRING("mode", modes[mode]),
                   TSR_STRING("coordinate_transformation_mode", kinds[kind]),
                   TSR_STRING("nearest_mode", roundings[rng_range(b->r, 0, 3)]),
                   TSR_BOOLEAN("exclude_outside", coin(b))};
  int n_attrs = 5;
  if (by_size) a[n_attrs++] = (tsr_attr)TSR_INTS("sizes", sizes, n);
  else a[n_attrs++] = (tsr_attr)TSR_FLOATS("scales", scales, n);
  if (kind == 6) {
    a[n_attrs++] = (tsr_attr)TSR_FLOATS("roi", roi, 2 * n);
    a[n_attrs++] = (tsr_attr)TSR_FLOAT("extrapolation_value", (double)rng_range(b->r, 0, 9));
  }
  say(b, " %s %s", modes[mode], kinds[kind]);
  if (coin(b)) x = op1(b, "neg", x);
  x = op(b, "resize", 1, &x, n_attrs, a);
  output(b, coin(b) ? op1(b, "relu", x) : x);
}

/* Every mode and padding. */
static void samples(build *b, tsr_dtype t) {
  static const char *const modes[] = {"nearest", "linear", "cubic"}, *const paddings[] = {"zeros", "border", "reflection"};
  const int n = (int)rng_range(b->r, 1, 3), mode = (int)rng_range(b->r, 0, n > 2 ? 1 : 2),
            pad = (int)rng_range(b->r, 0, 2);
  tsr_shape s = {.rank = n + 2, .dims = {rng_range(b->r, 1, 3), rng_range(b->r, 1, 17)}}, g = {.rank = n + 2};
  for (int i = 0; i < n; i++) {
    s.dims[i + 2] = rng_range(b->r, 1, n > 2 ? 5 : 12);
    g.dims[i + 1] = rng_range(b->r, 0, 20) ? rng_range(b->r, 1, 9) : 0;
  }
  g.dims[0] = s.dims[0], g.dims[n + 1] = n;
  tsr_value v[2] = {input(b, mode || coin(b) ? t : integer_type(b->r), s),
                    input(b, coin(b) ? TSR_F32 : float_type(b->r), g)};
  const tsr_attr a[3] = {TSR_STRING("mode", modes[mode]), TSR_STRING("padding_mode", paddings[pad]),
                         TSR_BOOLEAN("align_corners", coin(b))};
  say(b, " %s %s", modes[mode], paddings[pad]);
  tsr_value x = op(b, "grid_sample", 2, v, 3, a);
  output(b, coin(b) ? op1(b, "relu", x) : x);
}

/* x with its NaNs gone, and bounded. */
static tsr_value tame(build *b, tsr_value x, tsr_dtype t, double most) {
  const tsr_attr bound[2] = {TSR_FLOAT("min", -most), TSR_FLOAT("max", most)};
  const unsigned char zero[8] = {0};
  tsr_value s[3] = {op1(b, "isnan", x), 0, op(b, "clip", 1, &x, 2, bound)};
  if (!b->st) b->st = tsr_graph_constant(b->g, t, (tsr_shape){.rank = 0}, zero, &s[1]);
  return op(b, "select", 3, s, 0, NULL);
}

/* The gradients of an attention on operands x with attributes a. bounded: what places hide must not be NaN, nor is the
 * reference sure of much where numbers are of a type's whole range. */
static void attention_gradients(build *b, const tsr_value *x, int n, const tsr_attr *a, int n_attrs, tsr_dtype t,
                                const tsr_shape *result, bool bounded) {
  const tsr_dtype sums = t == TSR_F64 ? t : TSR_F32;
  tsr_value v[8], y[2], out[3];
  tsr_shape by_query = *result;
  by_query.rank = 3;
  for (int i = 0; i < 3; i++) v[i] = bounded ? tame(b, x[i], t, 1) : x[i];
  tsr_value given[2] = {input(b, t, *result), input(b, sums, by_query)};
  v[3] = bounded ? tame(b, given[0], t, 1) : given[0];
  v[5] = bounded ? tame(b, given[1], sums, 1) : given[1];
  tsr_value forward[5] = {v[0], v[1], v[2]};
  for (int i = 3; i < n; i++) v[i + 3] = forward[i] = x[i];
  if (!b->st) b->st = tsr_graph_op_results(b->g, "flash_attention", forward, n, a, n_attrs, y, 2);
  v[4] = y[1];
  if (!b->st) b->st = tsr_graph_op_results(b->g, "flash_attention_backward", v, n + 3, a, n_attrs, out, 3);
  say(b, " flash_attention_backward");
  for (int i = 0; i < 3; i++) output(b, out[i]);
}

/* Awkward lengths, few or many heads to one of keys, and what may hide keys: by place, by a bias or a mask that repeats
 * along some axes. */
void random_attention(build *b) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F32, TSR_F32, TSR_BF16, TSR_F16, TSR_F64};
  const tsr_dtype t = types[rng_range(b->r, 0, 5)];
  const int64_t batch = rng_range(b->r, 1, 2), kv_heads = rng_range(b->r, 1, 2),
                heads = kv_heads * rng_range(b->r, 1, 3);
  const bool decodes = rng_range(b->r, 0, 5) == 0; /* few queries, whose keys are split over blocks */
  const int64_t m = decodes ? rng_range(b->r, 1, 2) : extent(b->r),
                n = decodes ? rng_range(b->r, 1000, 1200) : extent(b->r),
                k = decodes || coin(b) ? rng_range(b->r, 1, 24) : 32, v = rng_range(b->r, 1, 40);
  const tsr_shape scores = {4, {batch, heads, m, n}};
  tsr_value x[5] = {input(b, t, (tsr_shape){4, {batch, heads, m, k}}),
                    input(b, t, (tsr_shape){4, {batch, kv_heads, n, k}}),
                    input(b, t, (tsr_shape){4, {batch, kv_heads, n, v}})};
  tsr_attr a[4] = {TSR_BOOLEAN("causal", coin(b)), TSR_INT("window", coin(b) ? rng_range(b->r, 1, 40) : 0),
                   TSR_FLOAT("softcap", rng_range(b->r, 0, 3) ? 0 : 2.5),
                   TSR_FLOAT("scale", (double)rng_range(b->r, -4, 8) / 16)};
  const bool mask = coin(b), bias = coin(b), lengths = coin(b);
  if (a[0].i || a[1].i || lengths) { /* what values of keys that aren't seen do is left open where they aren't finite */
    x[2] = tame(b, x[2], t, 8);
  }
  const tsr_dtype bias_type = bias ? mask ? TSR_BOOL : coin(b) ? t : TSR_F32 : TSR_BOOL;
  if (bias) x[3] = input(b, bias_type, narrower(b->r, scores));
  int n_operands = bias ? 4 : 3;
  if (lengths) {
    int32_t length[4];
    const tsr_shape s = {1 + (int)coin(b), {batch, kv_heads}};
    for (int i = 0; i < 4; i++) length[i] = (int32_t)rng_range(b->r, -1, n + 1);
    if (!b->st) b->st = tsr_graph_constant(b->g, TSR_I32, s, length, &x[n_operands++]);
    say(b, " lengths");
  }
  say(b, " causal %lld window %lld scale %g", (long long)a[0].i, (long long)a[1].i, a[3].f);
  tsr_value y[2];
  const int n_results = 1 + (int)coin(b), n_attrs = 3 + (int)coin(b);
  if (!b->st) b->st = tsr_graph_op_results(b->g, "flash_attention", x, n_operands, a, n_attrs, y, n_results);
  say(b, " flash_attention");
  if (n_results == 1 || coin(b)) output(b, y[0]);
  if (n_results > 1) output(b, y[1]);
  if (rng_range(b->r, 0, 3)) return;
  const bool bounded = a[0].i || a[1].i || lengths || rng_range(b->r, 0, 3);
  if (bounded && bias && bias_type != TSR_BOOL) x[3] = tame(b, x[3], bias_type, 1);
  attention_gradients(b, x, n_operands, a, n_attrs, t, &(tsr_shape){4, {batch, heads, m, v}}, bounded);
}

void random_composed(build *b) {
  static void (*const make[])(build *b, tsr_dtype t) = {cross_entropy, difference, projections, blocks, einsums,
                                                        pools, resizes, samples};
  enum { N = sizeof make / sizeof *make };
  const int64_t which = rng_range(b->r, 0, N + 5);
  if (which < N) make[which](b, float_type(b->r));
  else if (which == N) one_hots(b);
  else chain(b);
}
