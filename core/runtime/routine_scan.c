/* core/runtime/routine_scan.c - the routines cumsum and cumprod: one pass over the elements along an axis, neighbouring
 * columns together. Sums of f32 and narrower floats are kept in f64, those of f64 in two numbers (Knuth's two-sum), so
 * that they are as close as the sums of parts that other devices add up; integers wrap. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/runtime/routine_call.h"

enum { COLUMNS = 64, WORTH_A_THREAD = 8192 }; /* that are taken at once; elements of which a core takes a part */

typedef struct scan {
  tsr_dtype type;
  bool product, exclusive, reverse;
  int64_t n, inner, blocks; /* elements along the axis, behind it; blocks of columns of an entry before it */
  const char *x;
  char *y;
} scan;

/* A running sum: high + low, which is 0 but of f64. A product: high 2^low, so that no part of it leaves the range. */
typedef struct running {
  double high[COLUMNS], low[COLUMNS];
} running;

static void two_sum(double *high, double *low, double x) {
  const double sum = *high + x, part = sum - *high, error = (*high - (sum - part)) + (x - part);
  *low = isfinite(sum) ? *low + error : 0;
  *high = sum;
}

static void multiply(double *high, double *low, double x) {
  int exponent = 0;
  *high *= frexp(x, &exponent);
  *low += exponent;
  if (fabs(*high) >= 0x1p-400 || *high == 0) return;
  *high *= 0x1p800;
  *low -= 800;
}

/* Elements `at` and the width - 1 behind it, as doubles, and back. */
static void load(tsr_dtype t, const char *p, int64_t at, int64_t width, double *v) {
  const float *f = (const float *)p + at;
  const double *d = (const double *)p + at;
  if (t == TSR_F32)
    for (int64_t i = 0; i < width; i++) v[i] = f[i];
  else if (t == TSR_F64) memcpy(v, d, sizeof *v * (size_t)width);
  else
    for (int64_t i = 0; i < width; i++) v[i] = dtype_load(t, p, (size_t)(at + i));
}

static void store(const scan *q, int64_t at, int64_t width, const running *r) {
  const tsr_dtype t = q->type;
  char *p = q->y;
  float *f = (float *)p + at;
  if (q->product)
    for (int64_t i = 0; i < width; i++)
      dtype_store(t, p, (size_t)(at + i), ldexp(r->high[i], (int)fmax(-9999, fmin(r->low[i], 9999))));
  else if (t == TSR_F32)
    for (int64_t i = 0; i < width; i++) f[i] = (float)r->high[i];
  else
    for (int64_t i = 0; i < width; i++) dtype_store(t, p, (size_t)(at + i), r->high[i] + r->low[i]);
}

static void floats(const scan *q, int64_t from, int64_t width) {
  running r;
  double v[COLUMNS];
  for (int64_t i = 0; i < width; i++) r.high[i] = q->product, r.low[i] = 0;
  for (int64_t k = 0; k < q->n; k++) {
    const int64_t at = from + (q->reverse ? q->n - 1 - k : k) * q->inner;
    load(q->type, q->x, at, width, v);
    if (q->exclusive) store(q, at, width, &r);
    if (q->product)
      for (int64_t i = 0; i < width; i++) multiply(&r.high[i], &r.low[i], v[i]);
    else if (q->type == TSR_F64)
      for (int64_t i = 0; i < width; i++) two_sum(&r.high[i], &r.low[i], v[i]);
    else
      for (int64_t i = 0; i < width; i++) r.high[i] += v[i];
    if (!q->exclusive) store(q, at, width, &r);
  }
}

static int64_t whole(tsr_dtype t, const char *p, int64_t at) {
  return t == TSR_I64 ? ((const int64_t *)p)[at] : (int64_t)dtype_load(t, p, (size_t)at);
}

static void integers(const scan *q, int64_t from, int64_t width) {
  uint64_t r[COLUMNS];
  for (int64_t i = 0; i < width; i++) r[i] = q->product;
  for (int64_t k = 0; k < q->n; k++) {
    const int64_t at = from + (q->reverse ? q->n - 1 - k : k) * q->inner;
    for (int64_t i = 0; i < width; i++) {
      const uint64_t v = (uint64_t)whole(q->type, q->x, at + i), next = q->product ? r[i] * v : r[i] + v;
      const int64_t given = dtype_wrap(q->type, (int64_t)(q->exclusive ? r[i] : next));
      dtype_store_int(q->type, q->y, (size_t)(at + i), given);
      r[i] = next;
    }
  }
}

static void one_block(void *arg, int64_t item, int worker) {
  const scan *q = arg;
  const int64_t first = item % q->blocks * COLUMNS, width = min64(COLUMNS, q->inner - first),
                from = item / q->blocks * q->n * q->inner + first;
  (dtype_is_float(q->type) ? floats : integers)(q, from, width);
}

static tsr_status run(routine_call *c, bool product) {
  const int rank = c->tensor[0].rank, axis = (int)(c->number[0] < 0 ? c->number[0] + rank : c->number[0]);
  scan q = {.type = c->type,
            .product = product,
            .exclusive = c->flag[0],
            .reverse = c->flag[1],
            .n = c->tensor[0].dims[axis],
            .inner = 1,
            .x = c->tensor[0].data,
            .y = c->tensor[1].data};
  int64_t outer = 1;
  for (int i = 0; i < axis; i++) outer *= c->tensor[0].dims[i];
  for (int i = axis + 1; i < rank; i++) q.inner *= c->tensor[0].dims[i];
  q.blocks = ceil_div(q.inner, COLUMNS);
  const int64_t items = outer * q.blocks;
  if (items * q.n * min64(q.inner, COLUMNS) >= WORTH_A_THREAD) routine_spread(c, one_block, &q, items);
  else
    for (int64_t i = 0; i < items; i++) one_block(&q, i, 0);
  return NULL;
}

tsr_status routine_cumsum(routine_call *c) { return run(c, false); }
tsr_status routine_cumprod(routine_call *c) { return run(c, true); }
