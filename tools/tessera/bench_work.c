/* tools/tessera/bench_work.c - see bench_work.h: a case's graph, its operands drawn from a seed, each such as its op
 * takes. */
#include "tools/tessera/bench_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/dtype.h"
#include "core/base/status.h"

static tsr_shape shape_of(int rank, int64_t a, int64_t b, int64_t c) {
  return (tsr_shape){.rank = rank, .dims = {a, b, c}};
}

static uint64_t next_random(uint64_t *s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  return *s ^= *s << 17;
}

/* Normal numbers, integers uniform over the type's range: n drawn from 65536 of them, since hundreds of millions are
 * wanted at once. */
static void draw(tsr_dtype t, void *out, size_t n, uint64_t seed) {
  static _Alignas(8) unsigned char pool[65536 * 8];
  n = dtype_packed(t) ? tsr_dtype_bytes(t, n) : n * (size_t)dtype_parts(t);
  t = dtype_packed(t) ? TSR_U8 : dtype_part(t);
  size_t size = tsr_dtype_size(t);
  for (size_t k = 0; k < 65536; k++) {
    uint64_t r = next_random(&seed);
    double u = (double)(r >> 11) / 9007199254740992.0,
           v = sqrt(-2 * log(u + 1e-12)) * cos(6.283185307 * (double)(r & 0xffff) / 65536.0);
    if (dtype_is_float(t)) dtype_store(t, pool, k, v);
    else memcpy(pool + k * size, &(uint64_t){t == TSR_BOOL ? r & 1 : r}, size);
  }
#define DRAW(type)                                                                                                     \
  for (size_t k = 0; k < n; k += 4) {                                                                                  \
    uint64_t r = next_random(&seed);                                                                                   \
    for (size_t e = k; e < k + 4 && e < n; e++, r >>= 16) ((type *)out)[e] = ((const type *)pool)[r & 0xffff];         \
  }
  if (size == 1) DRAW(uint8_t)
  else if (size == 2) DRAW(uint16_t)
  else if (size == 4) DRAW(uint32_t)
  else DRAW(uint64_t)
#undef DRAW
}

static tsr_status operand(bench_work *w, const char *name, tsr_dtype t, tsr_shape s, bool constant, tsr_value *out) {
  const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  size_t n = 1;
  double bytes = (double)tsr_dtype_bytes(t, 2) / 2;
  for (int i = 0; i < s.rank; i++) n *= (size_t)s.dims[i], bytes *= (double)s.dims[i];
  const bool fits = bytes < memory;
  int i = w->n_in;
  w->bytes[i] = fits ? tsr_dtype_bytes(t, n) : 0;
  w->data[i] = fits ? malloc(w->bytes[i] + 64) : NULL;
  if (!w->data[i])
    return st_make(NULL, TSR_OUT_OF_MEMORY, ST_WHERE("bench", NULL, "a smaller --shape"),
                   "no host memory for operand %d", i);
  draw(t, w->data[i], n, 88172645463325252ull + (uint64_t)i * 977 + (uint64_t)w->seed * 0x9e3779b97f4a7c15ull);
  w->n_in++;
  return constant ? tsr_graph_constant(w->g, t, s, w->data[i], out) : tsr_graph_input(w->g, name, t, s, out);
}

/* Indices of the first of m rows, drawn. */
static void into_range(void *indices, size_t n, int64_t m) {
  for (size_t i = 0; i < n; i++) ((uint32_t *)indices)[i] %= (uint32_t)m;
}

static tsr_status op(bench_work *w, const char *name, const tsr_value *v, int n, const tsr_attr *a, int n_attrs,
                     tsr_value *out) {
  return tsr_graph_op(w->g, name, v, n, a, n_attrs, out);
}

static tsr_status build_matmul(bench_work *w, const bench_case *c, tsr_value *r) {
  bool batched = c->batch > 1;
  tsr_value v[2];
  TSR_TRY(operand(w, "A", c->dtype, batched ? shape_of(3, c->batch, c->m, c->k) : shape_of(2, c->m, c->k, 0), false,
                  &v[0]));
  TSR_TRY(operand(w, "B", c->dtype, batched ? shape_of(3, c->batch, c->k, c->n) : shape_of(2, c->k, c->n, 0),
                  c->packed_b, &v[1]));
  TSR_TRY(op(w, "matmul", v, 2, NULL, 0, r));
  if (strcmp(c->op, "matmul_bias_gelu")) return NULL;
  v[0] = *r;
  TSR_TRY(operand(w, "bias", c->dtype, shape_of(1, c->n, 0, 0), false, &v[1]));
  TSR_TRY(op(w, "add", v, 2, NULL, 0, r));
  return op(w, "gelu", r, 1, NULL, 0, r);
}

/* Adds its extent to a square matrix's diagonal, so that factors exist and solutions stay small. */
static void dominate(tsr_dtype t, void *data, size_t bytes) {
  const size_t count = bytes / tsr_dtype_size(t);
  size_t n = 0;
  while (n * n < count) n++;
  for (size_t i = 0; i < n; i++) dtype_store(t, data, i * (n + 1), dtype_load(t, data, i * (n + 1)) + (double)n);
}

tsr_status bench_work_build(tsr_context *ctx, const bench_case *c, long seed, bench_work *w) {
  tsr_value v[OP_GRAPH_OPERANDS], r;
  *w = (bench_work){.seed = seed};
  TSR_TRY(tsr_graph_create(ctx, "bench", &w->g));
  if (bench_is_matmul(c)) {
    TSR_TRY(build_matmul(w, c, &r));
  } else {
    static const char *const names[OP_GRAPH_OPERANDS] = {"X", "Y", "Z", "U", "V", "W"};
    const tsr_attr *attrs;
    int n = op_graph_operands(c->op), n_attrs = op_graph_attrs(c->op, &attrs);
    for (int i = 0; i < n; i++) {
      const bool index = op_graph_is_index(c->op, i);
      TSR_TRY(operand(w, names[i], op_graph_operand_type(c->op, i, c->dtype),
                      op_graph_operand(c->op, i, shape_of(2, c->m, c->n, 0)), false, &v[i]));
      if (op_graph_is_dominant(c->op, i)) dominate(c->dtype, w->data[i], w->bytes[i]);
      if (index) into_range(w->data[i], w->bytes[i] / sizeof(int32_t), c->m);
    }
    tsr_value all[OP_GRAPH_RESULTS] = {0}; /* of several the first is written; what computes all of them stays */
    TSR_TRY(tsr_graph_op_results(w->g, op_graph_name(c->op), v, n, attrs, n_attrs, all, op_graph_results(c->op)));
    r = all[0];
  }
  return tsr_graph_output(w->g, r);
}

void bench_work_clear(bench_work *w) {
  for (int i = 0; i < w->n_in; i++) free(w->data[i]);
  tsr_graph_destroy(&w->g);
  *w = (bench_work){.g = NULL};
}

tsr_status bench_check(tsr_context *ctx, bench_case *c) {
  bench_case least = *c;
  least.m = least.n = least.k = 2; /* pairs of elements, and blocks, are whole */
  bench_work w;
  tsr_status st = bench_work_build(ctx, &least, 0, &w);
  bench_work_clear(&w);
  return st ? st : bench_count(c);
}
