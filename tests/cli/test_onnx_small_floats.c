/* tests/cli/test_onnx_small_floats.c - Cast, CastLike and QuantizeLinear to ONNX's floating-point types that the
 * library lacks: every number of f16 becomes the nearest of the type's, of two the one with an even code, found here
 * among all of them. CastLike's other operand has come by several ways, on which its type must not be lost. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/import/npy.h"
#include "tests/cli/cli_run.h"
#include "tests/support/onnx_message.h"

enum { N = 1 << 16 };

static const struct {
  const char *name;
  int type, codes, fraction, bias; /* codes: of numbers that aren't negative */
} types[] = {{"float8e4m3fnuz", 18, 128, 3, 8}, {"float8e5m2fnuz", 20, 128, 2, 16}, {"float4e2m1", 23, 8, 1, 1}};

static double number_of(int t, int code) {
  const int one = 1 << types[t].fraction, e = code / one, low = code % one;
  const int lowest = -types[t].bias - types[t].fraction;
  return e ? ldexp(one + low, e + lowest) : ldexp(low, 1 + lowest);
}

/* What v becomes where what is too large becomes the largest, or NaN. */
static double nearest(int t, double v, bool saturates) {
  const double a = fabs(v), most = number_of(t, types[t].codes - 1);
  const double next = 2 * most - number_of(t, types[t].codes - 2); /* the code behind the last one would be even */
  int best = 0;
  if (isnan(v)) return types[t].type == 23 ? 0 : NAN;
  if (a >= (most + next) / 2) return copysign(saturates ? most : NAN, v);
  for (int k = 1; k < types[t].codes; k++) {
    const double far = fabs(number_of(t, k) - a) - fabs(number_of(t, best) - a);
    if (far < 0 || (far == 0 && k % 2 == 0)) best = k;
  }
  return copysign(number_of(t, best), v);
}

/* What makes the type's numbers: a Cast; CastLike one that was cast, also with its axes swapped, from a branch and from
 * a loop without a step; a constant's; QuantizeLinear. UNTIL_F16: like one that was cast to f16 again. */
typedef enum way { CAST, LIKE_CAST, LIKE_MOVED, LIKE_BRANCH, LIKE_LOOP, LIKE_CONSTANT, QUANTIZED, UNTIL_F16, WAYS } way;

static void add_cast(message *g, const char *from, const char *to, int type) {
  message n = node_of("Cast", NAMES(from), NAMES(to));
  add_int(&n, "to", type);
  inside(g, 1, &n);
}

static void add_zero(message *n, int type) {
  message t = {.n = 0}, a = {.n = 0};
  integer(&t, 1, 1);
  integer(&t, 2, (uint64_t)type);
  bytes(&t, 9, "", 1);
  text(&a, 1, "value");
  inside(&a, 5, &t);
  integer(&a, 20, 4);
  inside(n, 5, &a);
}

static void add_body(message *n, const char *name, const char *from) {
  message g = {.n = 0}, same = node_of("Identity", NAMES(from), NAMES("within"));
  inside(&g, 1, &same);
  add_value(&g, 12, "within");
  add_graph(n, name, &g);
}

static message loop_body(void) {
  message g = {.n = 0}, n = node_of("Identity", NAMES("goes_on"), NAMES("still"));
  const char *const in[] = {"i", "goes_on", "v"}, *const out[] = {"still", "v"};
  inside(&g, 1, &n);
  for (int i = 0; i < 3; i++) add_value(&g, 11, in[i]);
  for (int i = 0; i < 2; i++) add_value(&g, 12, out[i]);
  return g;
}

/* Makes "like" of "small". */
static void add_way(message *g, way by) {
  message n = node_of("Identity", NAMES("small"), NAMES("like")), body = loop_body();
  if (by == LIKE_MOVED) n = node_of("Transpose", NAMES("small"), NAMES("like"));
  if (by == LIKE_BRANCH) {
    add_cast(g, "n", "known", 9);
    n = node_of("If", NAMES("known"), NAMES("like"));
    add_body(&n, "then_branch", "in");
    add_body(&n, "else_branch", "small");
  }
  if (by == LIKE_LOOP) n = node_of("Loop", NAMES("n", "", "small"), NAMES("like"));
  if (by == LIKE_LOOP) add_graph(&n, "body", &body);
  if (by == UNTIL_F16) return add_cast(g, "small", "like", 10);
  inside(g, 1, &n);
}

static void write_model(const cli *c, int t, bool saturates, way by) {
  const int type = types[t].type;
  message g = {.n = 0}, in = value("in", F32, NULL, N / 2),
          out = value("out", by == UNTIL_F16 ? 10 : type, NULL, N / 2),
          x = by == CAST        ? node_of("Cast", NAMES("in"), NAMES("out"))
              : by == QUANTIZED ? node_of("QuantizeLinear", NAMES("in", "one", "small"), NAMES("out"))
                                : node_of("CastLike", NAMES("in", "like"), NAMES("out"));
  add_ints(&g, "n", 0, NULL, (int64_t[]){0}, 1);
  add_floats(&g, "one", 0, NULL, (float[]){1}, 1);
  if (by == LIKE_CONSTANT || by == QUANTIZED) {
    message zero = node_of("Constant", NAMES(NULL), NAMES("small"));
    add_zero(&zero, type);
    inside(&g, 1, &zero);
  } else add_cast(&g, "in", "small", type);
  if (by != QUANTIZED) add_way(&g, by);
  if (by == CAST) add_int(&x, "to", type);
  if (type != 23) add_int(&x, "saturate", saturates);
  inside(&g, 1, &x);
  text(&g, 2, "g");
  inside(&g, 11, &in);
  inside(&g, 12, &out);
  const message m = model(&g);
  cli_write(c, "m.onnx", m.p, m.n);
}

static void write_inputs(const cli *c, const float *v) {
  char path[256];
  npy_array x = {.dtype = TSR_F32, .shape = {.rank = 2, .dims = {2, N / 2}}, .data = (void *)(uintptr_t)v,
                 .bytes = N * sizeof *v};
  cli_path(c, "in.npy", path, sizeof path);
  FILE *f = fopen(path, "wb");
  if (f) npy_write(f, &x), fclose(f);
}

static void every_number_becomes_the_nearest(cli *c, const float *in, int t, bool saturates, way by) {
  char path[256], why[512] = "another number of elements", line[256];
  npy_array out = {.data = NULL};
  int wrong = 0;
  write_model(c, t, saturates, by);
  cli_check(c, !cli_run(c, "run m.onnx --device cpu:0 --shape in=2x32768 --input in=in.npy --output 0=out.npy"),
            types[t].name);
  cli_path(c, "out.npy", path, sizeof path);
  const bool read = npy_load(path, &out, why, sizeof why) && out.bytes == N * tsr_dtype_size(out.dtype);
  cli_check(c, read, why);
  for (size_t i = 0; read && i < N; i++) {
    const double got = dtype_load(out.dtype, out.data, i);
    const double want = by == UNTIL_F16 ? in[i] : nearest(t, in[i], saturates);
    if (got == want || (isnan(got) && isnan(want))) continue;
    if (wrong++) continue;
    snprintf(line, sizeof line, "%s, way %d: %.9g is %.9g, not %.9g", types[t].name, by, in[i], got, want);
  }
  cli_check(c, !wrong, wrong ? line : "");
  npy_free(&out);
}

int main(void) {
  static float in[N];
  cli c;
  if (!cli_begin(&c)) return 77;
  for (int i = 0; i < N; i++) in[i] = dtype_f16_to_f32((uint16_t)i);
  write_inputs(&c, in);
  for (int t = 0; t < 3; t++) {
    for (way by = CAST; by < WAYS; by++)
      if (t == 0 || by == CAST || by == LIKE_CAST || by == QUANTIZED)
        every_number_becomes_the_nearest(&c, in, t, true, by);
    if (types[t].type != 23) every_number_becomes_the_nearest(&c, in, t, false, CAST);
    if (types[t].type != 23) every_number_becomes_the_nearest(&c, in, t, false, QUANTIZED);
  }
  return cli_end(&c);
}
