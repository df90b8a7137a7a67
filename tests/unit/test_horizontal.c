/* Products of one value that become one (rule horizontal): the same bits as apart, in fewer kernels, for drawn types,
 * shapes, biases and readers on the CPU; what is left apart, and why. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/block_format.h"
#include "core/base/dtype.h"
#include "core/base/status.h"
#include "core/passes/graph/rules.h"
#include "tests/conformance/random_graph.h"

enum { MOST = 4, MOST_ELEMENTS = 1 << 16, MOST_BYTES = 4 * MOST_ELEMENTS };
static int failures, fired, refused;

typedef struct draw {
  tsr_dtype type, kept; /* of the values; of the matrices, cast for their products */
  const block_format *format; /* NULL: a plain product */
  int rank, n;
  int64_t m, k, heads[MOST], dim;
  bool transposed, bias[MOST], activated, returned[MOST];
} draw;

static draw draw_of(rng *r) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F32, TSR_F16, TSR_BF16, TSR_I32};
  static const char *const formats[] = {"q4_0", "q4_1", "q8_0", "q6_k"};
  static const int64_t rows[] = {1, 1, 2, 7, 40};
  draw d = {.type = types[rng_range(r, 0, 4)], .rank = (int)rng_range(r, 2, 3), .n = (int)rng_range(r, 2, MOST)};
  d.m = rows[rng_range(r, 0, 4)];
  d.k = rng_range(r, 1, 90);
  d.dim = rng_range(r, 1, 9);
  d.transposed = rng_range(r, 0, 1);
  d.activated = rng_range(r, 0, 1);
  if (rng_range(r, 0, 2) == 0) {
    d.type = TSR_F32;
    d.format = block_format_by_name(formats[rng_range(r, 0, 3)]);
    d.k = d.format->elements * rng_range(r, 1, 2);
  }
  d.kept = d.type == TSR_F32 && !d.format ? types[rng_range(r, 1, 3)] : d.type;
  for (int i = 0; i < d.n; i++) {
    d.heads[i] = rng_range(r, 1, 9);
    d.bias[i] = d.type != TSR_I32 && rng_range(r, 0, 2) > 0;
    d.returned[i] = rng_range(r, 0, 7) == 0;
  }
  return d;
}

/* Blocks whose scales are numbers: what an f32 matrix would be is of no interest here. */
static void fill_blocks(rng *r, unsigned char *to, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) to[i] = (unsigned char)(rng_range(r, 0, 63) & 0x3b);
}

static tsr_value constant(tsr_graph *g, rng *r, tsr_dtype t, tsr_shape s, tsr_status *st) {
  static unsigned char data[MOST_BYTES];
  size_t n = 1;
  tsr_value v = 0;
  for (int i = 0; i < s.rank; i++) n *= (size_t)s.dims[i];
  if (t == TSR_U8) fill_blocks(r, data, n);
  else random_fill(r, t, data, n, true);
  if (!*st) *st = tsr_graph_constant(g, t, s, data, &v);
  return v;
}

static tsr_value op(tsr_graph *g, const char *name, const tsr_value *x, int n, const tsr_attr *a, int n_attrs,
                    tsr_status *st) {
  tsr_value v = 0;
  if (!*st) *st = tsr_graph_op(g, name, x, n, a, n_attrs, &v);
  return v;
}

static tsr_value product(const draw *d, tsr_graph *g, rng *r, tsr_value x, int64_t columns, tsr_status *st) {
  const int64_t row = d->format ? d->k / d->format->elements * d->format->bytes : d->k;
  const bool rows = d->format || d->transposed;
  const tsr_shape s = {2, {rows ? columns : row, rows ? row : columns}};
  tsr_value w = constant(g, r, d->format ? TSR_U8 : d->kept, s, st);
  const tsr_attr t = TSR_BOOLEAN("transpose_b", d->transposed), type = TSR_STRING("dtype", tsr_dtype_name(d->type));
  if (d->kept != d->type) w = op(g, "cast", &w, 1, &type, 1, st);
  if (!d->format) return op(g, "matmul", (tsr_value[]){x, w}, 2, &t, 1, st);
  const tsr_attr f = TSR_STRING("format", d->format->name);
  return op(g, "block_matmul", (tsr_value[]){x, w}, 2, &f, 1, st);
}

/* Heads of the product's columns, and a function of them along rows: readers that take a window. */
static tsr_value part(const draw *d, tsr_graph *g, rng *r, tsr_value x, int i, tsr_status *st) {
  const int64_t columns = d->heads[i] * d->dim, batch = d->rank == 3 ? 2 : 1;
  tsr_value y = product(d, g, r, x, columns, st);
  if (d->bias[i])
    y = op(g, "add", (tsr_value[]){constant(g, r, d->type, (tsr_shape){1, {columns}}, st), y}, 2, NULL, 0, st);
  if (d->activated) y = op(g, "relu", &y, 1, NULL, 0, st);
  if (d->returned[i]) return y;
  const int64_t dims[4] = {batch, d->m, d->heads[i], d->dim}, perm[4] = {0, 2, 1, 3}, axes[1] = {3};
  const tsr_attr shape = TSR_INTS("shape", dims, 4), order = TSR_INTS("perm", perm, 4),
                 last = TSR_INTS("axes", axes, 1);
  y = op(g, "reshape", &y, 1, &shape, 1, st);
  y = op(g, "transpose", &y, 1, &order, 1, st);
  return d->type == TSR_I32 ? op(g, "reduce_max", &y, 1, &last, 1, st) : op(g, "softmax", &y, 1, NULL, 0, st);
}

static tsr_status build(const draw *d, tsr_context *ctx, rng *r, tsr_graph **g) {
  const tsr_shape s = {d->rank, {d->rank == 3 ? 2 : d->m, d->rank == 3 ? d->m : d->k, d->k}};
  tsr_value x = 0;
  TSR_TRY(tsr_graph_create(ctx, "main", g));
  tsr_status st = tsr_graph_input(*g, "x", d->type, s, &x);
  for (int i = 0; i < d->n; i++) {
    const tsr_value y = part(d, *g, r, x, i, &st);
    if (!st) st = tsr_graph_output(*g, y);
  }
  return st;
}

/* The outputs, one behind the other, and how many kernels they took. */
static tsr_status run(const draw *d, tsr_device *dev, tsr_graph *g, const void *x, tsr_policy policy,
                      const char *disable, unsigned char *out, size_t *bytes, int *kernels) {
  const tsr_compile_options o = {.policy = policy, .tune = TSR_TUNE_OFF, .disable = disable};
  tsr_binding in = {0}, results[MOST] = {{0}};
  const size_t n = (size_t)((d->rank == 3 ? 2 : 1) * d->m), size = tsr_dtype_size(d->type);
  tsr_program *p = NULL;
  *bytes = 0;
  tsr_status st = tsr_program_compile(dev, g, &o, &p);
  if (!st) st = tsr_buffer_create(dev, n * (size_t)d->k * size, TSR_MEMORY_DEVICE, &in.buffer);
  if (!st) st = tsr_buffer_write(in.buffer, 0, x, n * (size_t)d->k * size);
  size_t each[MOST];
  for (int i = 0; i < d->n; i++) {
    const bool reduced = d->type == TSR_I32 && !d->returned[i];
    each[i] = n * (size_t)(d->heads[i] * (reduced ? 1 : d->dim)) * size;
    if (!st) st = tsr_buffer_create(dev, each[i], TSR_MEMORY_DEVICE, &results[i].buffer);
  }
  if (!st) st = tsr_program_run(p, NULL, &in, results);
  for (int i = 0; i < d->n; *bytes += each[i++])
    if (!st) st = tsr_buffer_read(results[i].buffer, 0, out + *bytes, each[i]);
  if (!st) *kernels = tsr_program_n_kernels(p);
  for (int i = 0; i < d->n; i++) tsr_buffer_destroy(&results[i].buffer);
  tsr_buffer_destroy(&in.buffer);
  tsr_program_destroy(&p);
  return st;
}

/* Each product that isn't returned is one with the others of its kind: a small matrix that is cast is so beforehand. */
static int fewer_kernels(const draw *d) {
  int of[2] = {0};
  for (int i = 0; i < d->n; i++)
    if (!d->returned[i]) of[d->kept == d->type || d->heads[i] * d->dim * d->k <= GRAPH_FOLD_MAX]++;
  return (of[0] > 1 ? of[0] - 1 : 0) + (of[1] > 1 ? of[1] - 1 : 0);
}

static tsr_status compare(tsr_context *ctx, tsr_device *dev, uint64_t seed) {
  static unsigned char x[MOST_BYTES], out[2][MOST_BYTES];
  rng r = {seed, false, false};
  const draw d = draw_of(&r);
  const tsr_policy policy = seed % 2 ? TSR_POLICY_DETERMINISTIC : TSR_POLICY_FAST;
  size_t bytes = 0;
  int kernels[2] = {0};
  tsr_graph *g = NULL;
  random_fill(&r, d.type, x, (size_t)((d.rank == 3 ? 2 : 1) * d.m * d.k), true);
  tsr_status st = build(&d, ctx, &r, &g);
  for (int i = 0; i < 2 && !st; i++)
    st = run(&d, dev, g, x, policy, i ? "" : "horizontal", out[i], &bytes, &kernels[i]);
  tsr_graph_destroy(&g);
  if (st) return st;
  const int fewer = fewer_kernels(&d);
  if (memcmp(out[0], out[1], bytes)) printf("FAIL seed %d: other bits\n", (int)seed), failures++;
  if (kernels[1] > kernels[0] - fewer)
    printf("FAIL seed %d: %d kernels of %d, at least %d fewer expected\n", (int)seed, kernels[1], kernels[0], fewer),
        failures++;
  fired += fewer > 0;
  refused += !fewer;
  return NULL;
}

int main(void) {
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  for (uint64_t seed = 1; !st && seed <= 200; seed++)
    if ((st = compare(ctx, dev, seed))) printf("seed %d: ", (int)seed);
  if (st) printf("FAIL %s\n", tsr_status_message(st)), failures++;
  tsr_status_free(st);
  if (fired < 50 || !refused) printf("FAIL %d joined, %d not: the test shows little\n", fired, refused), failures++;
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  printf("%d joined, %d not, %d failures\n", fired, refused, failures);
  return failures != 0;
}
