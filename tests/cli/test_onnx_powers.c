/* tests/cli/test_onnx_powers.c - Cast to ONNX's float8e8m0, the powers of two from 2^-127 to 2^127: numbers in each
 * step between them and beyond, in each way of rounding, against what frexp makes of them. */
#include <math.h>

#include "core/import/npy.h"
#include "tests/cli/cli_run.h"
#include "tests/support/onnx_message.h"

enum { STEPS = 255, EACH = 8, N = STEPS * EACH };

static const char *const modes[] = {"up", "down", "nearest"};

static void write_model(const cli *c, int mode, bool saturates) {
  message g = {.n = 0}, in = value("in", 1, NULL, N / 2), out = value("out", 24, NULL, N / 2),
          x = node_of("Cast", NAMES("in"), NAMES("out"));
  add_int(&x, "to", 24);
  if (mode) add_string(&x, "round_mode", modes[mode]); /* else what it is where nothing is said */
  if (!saturates) add_int(&x, "saturate", 0);
  inside(&g, 1, &x);
  text(&g, 2, "g");
  inside(&g, 11, &in);
  inside(&g, 12, &out);
  const message m = model(&g);
  cli_write(c, "m.onnx", m.p, m.n);
}

/* In each step the power, what is just above, halves, and what is just below the next; then the special ones. */
static void fill(float *v) {
  static const double parts[] = {1, 1.0000001, 1.25, 1.4999999, 1.5, 1.5000001, 1.75, 1.9999999};
  for (int e = -127; e <= 127; e++)
    for (int i = 0; i < EACH; i++) v[(e + 127) * EACH + i] = (float)ldexp(parts[i], e);
  const float special[] = {0, NAN, INFINITY, 0x1p-149f, 0x1p-128f};
  memcpy(v + N - EACH, special, sizeof special);
}

static double rounded(double v, int mode, bool saturates) {
  int e = 0;
  if (isnan(v) || (!saturates && (v < 0x1p-127 || v > 0x1p127))) return NAN;
  v = fmin(fmax(v, 0x1p-127), 0x1p127);
  const double part = frexp(v, &e);
  return ldexp(1, e - 1 + (mode == 1 ? 0 : mode ? part >= 0.75 : part > 0.5));
}

static void every_number_becomes_a_power(cli *c, const float *in, int mode, bool saturates) {
  char path[256], why[512] = "another number of elements", line[256] = "";
  npy_array out = {.data = NULL};
  write_model(c, mode, saturates);
  cli_check(c, !cli_run(c, "run m.onnx --device cpu:0 --shape in=2x1020 --input in=in.npy --output 0=out.npy"),
            modes[mode]);
  cli_path(c, "out.npy", path, sizeof path);
  const bool read = npy_load(path, &out, why, sizeof why) && out.bytes == N * sizeof(float);
  cli_check(c, read, why);
  for (int i = 0; read && i < N && !*line; i++) {
    const double got = ((const float *)out.data)[i], want = rounded(in[i], mode, saturates);
    if (got != want && !(isnan(got) && isnan(want)))
      snprintf(line, sizeof line, "%s, saturate %d: %.9g is %.9g, not %.9g", modes[mode], saturates, in[i], got, want);
  }
  cli_check(c, !*line, line);
  npy_free(&out);
}

int main(void) {
  static float in[N];
  char path[256];
  cli c;
  if (!cli_begin(&c)) return 77;
  fill(in);
  npy_array x = {.dtype = TSR_F32, .shape = {.rank = 2, .dims = {2, N / 2}}, .data = in, .bytes = sizeof in};
  cli_path(&c, "in.npy", path, sizeof path);
  FILE *f = fopen(path, "wb");
  if (f) npy_write(f, &x), fclose(f);
  for (int mode = 0; mode < 3; mode++)
    for (int saturates = 0; saturates < 2; saturates++) every_number_becomes_a_power(&c, in, mode, saturates);
  return cli_end(&c);
}
