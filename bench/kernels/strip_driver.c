/* Measures the strip kernels: ns per element of the f32 functions in L1, and softmax, layernorm and rmsnorm of 4096 x
 * 4096 rows as a part of a copy's bandwidth (read + write), measured beside them. One thread, processor time, best of
 * many: strip_driver [ISA] */
#include "backends/cpu/kernels/kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

enum { ROWS = 4096, COLS = 4096, STRIP = 2048 };
typedef enum row_op { COPY, SOFTMAX, LAYERNORM, RMSNORM, N_OPS } row_op;

static void run_rows(const cpuk_rows *k, row_op op, cpuk_row_type t, char *dst, const char *src, float *scratch,
                     const float *g) {
  size_t e = t == CPUK_ROW_F32 ? 4 : 2;
  for (size_t r = 0; r < ROWS; r++, dst += COLS * e, src += COLS * e) {
    cpuk_norm_args n = {.dst = dst, .x = src, .g = g, .b = g, .n = COLS, .rstd = 1, .stream = true};
    if (op == COPY) {
      memcpy(dst, src, COLS * e);
      continue;
    } else if (op == SOFTMAX) {
      n.rstd = 1 / k->exp[t](scratch, src, k->max[t](src, COLS), COLS, src + COLS * e);
      n.x = scratch, n.g = n.b = NULL;
      k->norm[CPUK_ROW_F32][t](&n);
      continue;
    } else if (op == LAYERNORM) {
      n.mean = k->sum[t](src, COLS) / COLS;
    } else {
      n.b = NULL;
    }
    n.rstd = 1 / sqrtf(k->sqdev[t](src, n.mean, COLS, src + COLS * e) / COLS + 1e-5f);
    k->norm[t][t](&n);
  }
}

int main(int argc, char **argv) {
  static const char *const unary[] = {"neg",     "abs",  "exp",  "log",       "sqrt", "rsqrt", "tanh", "erf",
                                      "sigmoid", "relu", "gelu", "gelu_tanh", "silu", "sin",   "cos",  "floor"};
  static const char *const rows[] = {"copy", "softmax", "layernorm", "rmsnorm"};
  char err[160];
  const cpuk_table *table = cpuk_select(argc > 1 ? argv[1] : NULL, err, sizeof err);
  if (table == NULL) return fprintf(stderr, "strip_driver: %s\n", err), 2;
  static float x[STRIP], y[STRIP], scratch[COLS], g[COLS];
  for (int i = 0; i < STRIP; i++) x[i] = (float)(i % 1000) / 100 - 5;
  for (int i = 0; i < COLS; i++) g[i] = 1;
  printf("%s, f32 in L1, ns per element:", table->features);
  for (int f = 0; f < (int)(sizeof unary / sizeof *unary); f++) {
    double best = 1e30;
    for (int r = 0; r < 200; r++) {
      double t = now_ns();
      for (int i = 0; i < 10; i++) table->lanes->unary[f][CPUK_CT_F32](y, x, STRIP);
      t = now_ns() - t;
      if (t < best) best = t;
    }
    printf(" %s %.3f", unary[f], best / 10 / STRIP);
  }
  size_t bytes = (size_t)ROWS * COLS * 4;
  char *src = aligned_alloc(2 << 20, bytes), *dst = aligned_alloc(2 << 20, bytes);
  if (src == NULL || dst == NULL) return fprintf(stderr, "strip_driver: out of memory\n"), 2;
  for (int t = 0; t <= CPUK_ROW_BF16; t++) {
    memset(src, 0x3d, bytes), memset(dst, 0, bytes);
    double best[N_OPS] = {1e30, 1e30, 1e30, 1e30};
    for (int r = 0; r < 9; r++)
      for (int op = 0; op < N_OPS; op++) {
        double s = now_ns();
        run_rows(table->rows, (row_op)op, (cpuk_row_type)t, dst, src, scratch, g);
        s = now_ns() - s;
        if (s < best[op]) best[op] = s;
      }
    double moved = 2.0 * ROWS * COLS * (t == CPUK_ROW_F32 ? 4 : 2);
    printf("\n%s %dx%d: copy %.1f GB/s;", t == CPUK_ROW_F32 ? "f32" : "bf16", ROWS, COLS, moved / best[COPY]);
    for (int op = 1; op < N_OPS; op++) printf(" %s %.2f of it", rows[op], best[COPY] / best[op]);
  }
  printf("\n");
  free(src), free(dst);
  return 0;
}
