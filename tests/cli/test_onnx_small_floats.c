/* tests/cli/test_onnx_small_floats.c - Cast to ONNX's floating-point types that the library lacks: every number of f16
 * becomes the nearest of the type's, of two the one with an even code, found here among all of them. */
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

static void write_model(const cli *c, int t, bool saturates) {
  message g = {.n = 0}, x = node("Cast", NULL), in = value("in", F32, NULL, N / 2),
          out = value("out", types[t].type, NULL, N / 2), to = {.n = 0}, s = {.n = 0};
  text(&to, 1, "to");
  integer(&to, 3, (uint64_t)types[t].type);
  integer(&to, 20, 2);
  text(&s, 1, "saturate");
  integer(&s, 3, saturates);
  integer(&s, 20, 2);
  inside(&x, 5, &to);
  if (types[t].type != 23) inside(&x, 5, &s);
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

static void every_number_becomes_the_nearest(cli *c, const float *in, int t, bool saturates) {
  char path[256], why[512] = "another number of elements", line[256];
  npy_array out = {.data = NULL};
  int wrong = 0;
  write_model(c, t, saturates);
  cli_check(c, !cli_run(c, "run m.onnx --device cpu:0 --shape in=2x32768 --input in=in.npy --output 0=out.npy"),
            types[t].name);
  cli_path(c, "out.npy", path, sizeof path);
  const bool read = npy_load(path, &out, why, sizeof why) && out.bytes == N * tsr_dtype_size(out.dtype);
  cli_check(c, read, why);
  for (size_t i = 0; read && i < N; i++) {
    const double got = dtype_load(out.dtype, out.data, i), want = nearest(t, in[i], saturates);
    if (got == want || (isnan(got) && isnan(want))) continue;
    if (!wrong++) snprintf(line, sizeof line, "%s of %.9g is %.9g, not %.9g", types[t].name, in[i], got, want);
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
    every_number_becomes_the_nearest(&c, in, t, true);
    if (types[t].type != 23) every_number_becomes_the_nearest(&c, in, t, false);
  }
  return cli_end(&c);
}
