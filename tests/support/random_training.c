/* tests/support/random_training.c - random graphs of random numbers and of what a training step has. */
#include "tests/support/random_build.h"

static bool coin(build *b) { return rng_range(b->r, 0, 1); }

/* A key, and now and then a counter, at v[0..]: how many. */
static int keys(build *b, tsr_value *v) {
  int n = 0;
  v[n++] = input(b, TSR_I32, (tsr_shape){1, {2}});
  if (coin(b)) v[n++] = input(b, TSR_I32, (tsr_shape){1, {4}});
  return n;
}

/* Bits are compared exactly: uniform numbers of all types. */
static void numbers(build *b) {
  static const tsr_dtype types[] = {TSR_I32, TSR_I32, TSR_F32, TSR_F16, TSR_BF16, TSR_F8E4M3, TSR_F8E5M2, TSR_F64};
  const bool normal = rng_range(b->r, 0, 3) == 0;
  const tsr_dtype t = normal ? TSR_F32 : types[rng_range(b->r, 0, 7)];
  const tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 0, 4), 5000);
  tsr_value v[3];
  const int n = keys(b, v);
  tsr_attr a[2] = {TSR_INTS("shape", s.dims, s.rank), TSR_STRING("dtype", tsr_dtype_name(t))};
  tsr_value x = op(b, normal ? "rng_normal" : "rng_uniform", n, v, 2, a);
  output(b, t != TSR_I32 && coin(b) ? op1(b, "abs", x) : x);
}

static void dropout(build *b) {
  const tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 0, 4), 5000);
  tsr_value v[3] = {input(b, float_type(b->r), s)};
  const int n = 1 + keys(b, v + 1);
  const tsr_attr p = TSR_FLOAT("p", (double)rng_range(b->r, 0, 8) / 8);
  if (coin(b)) v[0] = op1(b, "relu", v[0]);
  v[0] = op(b, "dropout", n, v, coin(b), &p);
  output(b, coin(b) ? op1(b, "neg", v[0]) : v[0]);
}

static tsr_dtype up_to_f32(build *b) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F32, TSR_F16, TSR_BF16, TSR_F8E4M3, TSR_F8E5M2};
  return types[rng_range(b->r, 0, 5)];
}

static void rounding(build *b) {
  static const char *const to[] = {"bf16", "f16", "fp8_e4m3", "fp8_e5m2"};
  tsr_value v[3] = {input(b, up_to_f32(b), random_shape(b->r, (int)rng_range(b->r, 0, 4), 5000))};
  const int n = 1 + keys(b, v + 1);
  const tsr_attr a = TSR_STRING("dtype", to[rng_range(b->r, 0, 3)]);
  output(b, op(b, "stochastic_cast", n, v, 1, &a));
}

/* With scales of its own, of the steps before, and back. */
static void quantised(build *b) {
  static const char *const to[] = {"fp8_e4m3", "fp8_e5m2", "f16"}, *const by[] = {"tensor", "channel", "block"};
  const int rank = (int)rng_range(b->r, 1, 4), how = (int)rng_range(b->r, 0, 2);
  const bool delayed = how == 0 && coin(b), fake = !delayed && rng_range(b->r, 0, 3) == 0;
  tsr_value v[2] = {input(b, up_to_f32(b), random_shape(b->r, rank, 5000)), 0}, out[3] = {0};
  if (delayed) v[1] = op1(b, "abs", input(b, TSR_F32, (tsr_shape){1, {rng_range(b->r, 1, 5)}}));
  const tsr_attr a[5] = {TSR_STRING("scales", by[how]), TSR_INT("axis", rng_range(b->r, 0, rank - 1)),
                         TSR_INT("block", how == 2 ? rng_range(b->r, 0, 40) : 0),
                         TSR_STRING("dtype", to[rng_range(b->r, 0, 2)]), TSR_BOOLEAN("powers_of_two", coin(b))};
  if (fake) {
    output(b, op(b, "fake_quantize", 1, v, 5, a));
    return;
  }
  const char *name = delayed ? "quantize_delayed" : "quantize";
  if (!b->st) b->st = tsr_graph_op_results(b->g, name, v, 1 + delayed, a, 5, out, 2 + delayed);
  say(b, " %s by %s", name, by[how]);
  if (coin(b)) output(b, op(b, "rescale", 2, out, 3, a));
  for (int i = 0; i < 2 + delayed; i++) output(b, out[i]);
}

/* Of parameters that have no master copy. */
static void narrow_optimizer(build *b) {
  const tsr_dtype t = coin(b) ? TSR_BF16 : TSR_F16;
  const tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 0, 3), 5000), one = {.rank = 0};
  const bool state = coin(b);
  tsr_value v[6] = {input(b, t, s), input(b, coin(b) ? TSR_F32 : t, s), input(b, TSR_F32, one)}, out[2];
  int n = 3;
  if (state) v[n++] = input(b, TSR_F32, s);
  v[n++] = input(b, TSR_I32, (tsr_shape){1, {2}});
  v[n++] = input(b, TSR_I32, (tsr_shape){1, {4}});
  if (!b->st) b->st = tsr_graph_op_results(b->g, "sgd", v, n, NULL, 0, out, 1 + state);
  say(b, " sgd with a key");
  for (int i = 0; i < 1 + state; i++) output(b, out[i]);
}

static void scaled_loss(build *b) {
  const int n = (int)rng_range(b->r, 1, 3);
  const tsr_shape one = {.rank = 0};
  tsr_value v[5] = {op1(b, "exp", input(b, TSR_F32, one)), input(b, TSR_I32, one)}, out[6];
  const tsr_attr a = TSR_INT("interval", rng_range(b->r, 1, 3));
  for (int i = 2; i < 2 + n; i++)
    v[i] = input(b, float_type(b->r), random_shape(b->r, (int)rng_range(b->r, 0, 3), 2000));
  if (!b->st) b->st = tsr_graph_op_results(b->g, "loss_scale", v, 2 + n, &a, 1, out, 3 + n);
  say(b, " loss_scale");
  for (int i = 0; i < 3 + n; i++) output(b, out[i]);
}

static void optimizers(build *b) {
  static const tsr_dtype narrow[] = {TSR_F32, TSR_F16, TSR_BF16};
  const tsr_dtype t = rng_range(b->r, 0, 3) ? TSR_F32 : TSR_F64;
  const tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 0, 3), 5000), one = {.rank = 0};
  tsr_value x = input(b, t, s), g = input(b, coin(b) ? t : narrow[rng_range(b->r, 0, 2)], s), m = input(b, t, s);
  tsr_value rate = input(b, TSR_F32, one), out[3];
  const bool state = coin(b), adam = t == TSR_F32 && coin(b); /* of f64 Vulkan has no e^x */
  if (adam) {
    const tsr_value y = input(b, t, s), v[6] = {x, g, m, op2(b, "mul", y, y), rate, 0};
    const tsr_attr a[2] = {TSR_FLOAT("eps", 0.25), TSR_FLOAT("beta2", 0.75)};
    unsigned char step[4] = {(unsigned char)rng_range(b->r, 1, 100)};
    tsr_value all[6];
    for (int i = 0; i < 6; i++) all[i] = v[i];
    if (!b->st) b->st = tsr_graph_constant(b->g, TSR_I32, one, step, &all[5]);
    if (!b->st) b->st = tsr_graph_op_results(b->g, "adamw", all, 6, a, (int)rng_range(b->r, 1, 2), out, 3);
    say(b, " adamw");
  } else {
    const tsr_value v[4] = {x, g, rate, m};
    const tsr_attr a[3] = {TSR_FLOAT("weight_decay", 0.5), TSR_FLOAT("momentum", 0.75),
                           TSR_BOOLEAN("nesterov", coin(b))};
    if (!b->st) b->st = tsr_graph_op_results(b->g, "sgd", v, 3 + state, a, state ? 3 : 1, out, 1 + state);
    say(b, " sgd");
  }
  for (int i = 0; i < (adam ? 3 : 1 + state); i++) output(b, out[i]);
}

/* Some of everything, over tensors of several types. */
static void gradients(build *b) {
  static const char *const names[] = {"check_numerics", "global_norm", "clip_by_global_norm"};
  const int n = (int)rng_range(b->r, 1, 4), which = (int)rng_range(b->r, 0, 2);
  const int n_out = which == 0 ? 2 : which == 1 ? 1 : n + 1;
  const tsr_attr most = TSR_FLOAT("max_norm", 0.5);
  tsr_value v[4], out[5];
  for (int i = 0; i < n; i++) v[i] = input(b, float_type(b->r), random_shape(b->r, (int)rng_range(b->r, 0, 3), 2000));
  if (!b->st) b->st = tsr_graph_op_results(b->g, names[which], v, n, &most, which == 2, out, n_out);
  say(b, " %s", names[which]);
  for (int i = 0; i < n_out; i++) output(b, out[i]);
}

void random_training(build *b) {
  static void (*const make[])(build *b) = {numbers, numbers, dropout, optimizers, gradients,
                                            rounding, quantised, quantised, narrow_optimizer, scaled_loss};
  make[rng_range(b->r, 0, 9)](b);
}
