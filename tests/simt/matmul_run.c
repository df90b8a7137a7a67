/* tests/simt/matmul_run.c - see matmul_run.h. */
#include "tests/simt/matmul_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"

static double uniform(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(*state >> 40) / (1 << 24) * 2 - 1;
}

static void *fill(tsr_dtype t, int64_t n, uint64_t *state) {
  size_t bytes = ((size_t)n * tsr_dtype_size(t) + 255) / 256 * 256;
  void *p = aligned_alloc(256, bytes);
  if (!p) abort();
  memset(p, 0, bytes);
  for (int64_t i = 0; i < n; i++)
    dtype_store(t, p, (size_t)i, !dtype_is_float(t) ? floor(uniform(state) * 8) : i % 5 ? uniform(state) : -0.0);
  return p;
}

matmul_data matmul_data_make(const tile_matmul_case *c, uint64_t seed) {
  int64_t batch = c->batch ? c->batch : 1;
  size_t in = tsr_dtype_size(c->in), o = tsr_dtype_size(c->out);
  matmul_data d = {.a = fill(c->in, batch * c->m * c->k, &seed), .b = fill(c->in, batch * c->n * c->k, &seed)};
  if (c->bias) d.bias = fill(c->out, c->n, &seed);
  if (c->residual) d.res = fill(c->out, batch * c->m * c->n, &seed);
  d.out = fill(c->out, batch * c->m * c->n, &seed);
  d.buffers[d.n++] = (emu_range){.data = d.a, .bytes = (size_t)(batch * c->m * c->k) * in};
  d.buffers[d.n++] = (emu_range){.data = d.b, .bytes = (size_t)(batch * c->n * c->k) * in};
  if (d.bias) d.buffers[d.n++] = (emu_range){.data = d.bias, .bytes = (size_t)c->n * o};
  if (d.res) d.buffers[d.n++] = (emu_range){.data = d.res, .bytes = (size_t)(batch * c->m * c->n) * o};
  d.buffers[d.n++] = (emu_range){.data = d.out, .bytes = (size_t)(batch * c->m * c->n) * o};
  return d;
}

void matmul_data_clear(matmul_data *d) {
  free(d->a), free(d->b), free(d->bias), free(d->res), free(d->out);
  memset(d, 0, sizeof *d);
}

static double act(const char *name, double x) {
  if (!name) return x;
  if (!strcmp(name, "relu")) return x > 0 ? x : 0;
  if (!strcmp(name, "silu")) return x / (1 + exp(-x));
  return x * 0.5 * (1 + erf(x * M_SQRT1_2)); /* gelu */
}

/* All of an operand, in the order in which it is multiplied: rows of k. */
static double *operand(tsr_dtype t, const void *p, int64_t batch, int64_t rows, int64_t k, bool k_first) {
  double *v = malloc((size_t)(batch * rows * k) * sizeof *v);
  if (!v) abort();
  for (int64_t z = 0; z < batch; z++)
    for (int64_t i = 0; i < rows; i++)
      for (int64_t l = 0; l < k; l++)
        v[(z * rows + i) * k + l] = dtype_load(t, p, (size_t)(z * rows * k + (k_first ? l * rows + i : i * k + l)));
  return v;
}

/* Of element `at`, in column j, whose operands are x and y. */
static double element_error(const tile_matmul_case *c, const matmul_data *d, const double *x, const double *y,
                            size_t at, int64_t j) {
  double sum = 0, scale = 0;
  int64_t limited;
  for (int64_t k = 0; k < c->k; k++) {
    sum += x[k] * y[k];
    scale += fabs(x[k] * y[k]);
  }
  double v = sum + (d->bias ? dtype_load(c->out, d->bias, (size_t)j) : 0);
  v = act(c->act, v) + (d->res ? dtype_load(c->out, d->res, at) : 0);
  if (!dtype_is_float(c->out)) dtype_store(c->out, &limited, 0, v), v = dtype_load(c->out, &limited, 0);
  double unit = dtype_is_float(c->out) ? dtype_get(c->out)->eps : 0;
  double tolerance =
      dtype_is_float(c->in) ? 4 * (double)(c->k + 8) * 6e-8 * (scale + 1) + 2 * unit * (fabs(v) + 1e-3) : 0.5;
  return fabs(dtype_load(c->out, d->out, at) - v) / tolerance;
}

double matmul_error(const tile_matmul_case *c, const matmul_data *d) {
  const int64_t batch = c->batch ? c->batch : 1;
  double worst = 0, *a = operand(c->in, d->a, batch, c->m, c->k, c->ta),
         *b = operand(c->in, d->b, batch, c->n, c->k, !c->tb);
  for (int64_t z = 0; z < batch; z++)
    for (int64_t i = 0; i < c->m; i++)
      for (int64_t j = 0; j < c->n; j++) {
        double error = element_error(c, d, a + (z * c->m + i) * c->k, b + (z * c->n + j) * c->k,
                                     (size_t)((z * c->m + i) * c->n + j), j);
        if (!(error <= worst)) worst = error == error ? error : INFINITY;
      }
  free(a), free(b);
  return worst;
}
