/* tests/support/coll_case.c - see coll_case.h. */
#include "tests/support/coll_case.h"

#include <string.h>

static int64_t input(int32_t r, int64_t i, coll_redop op, tsr_dtype t) {
  uint32_t h = (uint32_t)(r * 7919 + i * 104729 + 1) * 2654435761u;
  if (t == TSR_BOOL) return h >> 30 & 1;
  if (op == COLL_PROD) return t == TSR_U8 ? 1 : h >> 31 ? -1 : 1;
  int64_t v = (int64_t)(h >> 29) % 3 - 1;
  return t == TSR_U8 ? v + 1 : v;
}

static void put(tsr_dtype t, void *p, size_t i, int64_t v) {
  if (t == TSR_I64) ((int64_t *)p)[i] = v;
  else dtype_store(t, p, i, (double)v);
}

static int64_t reduced(const coll_call *c, int32_t n, int64_t i) {
  int64_t v = input(0, i, c->redop, c->dtype);
  for (int32_t r = 1; r < n; r++) {
    int64_t x = input(r, i, c->redop, c->dtype);
    bool any = c->dtype == TSR_BOOL && c->redop == COLL_SUM;
    switch (c->redop) {
    case COLL_PROD: v *= x; break;
    case COLL_MAX: v = x > v ? x : v; break;
    case COLL_MIN: v = x < v ? x : v; break;
    default: v = any ? v | x : v + x;
    }
  }
  return v;
}

/* The definition: what rank r has at element i of its result. */
static void expected(const coll_call *c, int32_t n, int32_t r, int64_t i, void *to) {
  int64_t block = coll_split(c->count, n, r).n, at = i;
  switch (c->op) {
  case COLL_REDUCE_SCATTER: at += coll_split(c->count, n, r).first; break;
  case COLL_ALL_GATHER:
    for (int32_t k = 0; k < n; k++) {
      coll_range b = coll_split(c->count, n, k);
      if (i >= b.first && i < b.first + b.n) put(c->dtype, to, 0, input(k, i - b.first, c->redop, c->dtype));
    }
    return;
  case COLL_ALL_TO_ALL:
    put(c->dtype, to, 0, input((int32_t)(i / block), coll_split(c->count, n, r).first + i % block, c->redop, c->dtype));
    return;
  case COLL_BROADCAST: put(c->dtype, to, 0, input(c->root, i, c->redop, c->dtype)); return;
  case COLL_SEND_RECV: put(c->dtype, to, 0, input(coll_mod(r - 1, n), i, c->redop, c->dtype)); return;
  default: break;
  }
  int64_t v = reduced(c, n, at);
  if (c->redop != COLL_MEAN) put(c->dtype, to, 0, v);
  else if (!dtype_is_float(c->dtype)) put(c->dtype, to, 0, v / n);
  else if (c->dtype == TSR_F64) *(double *)to = (double)v / n;
  else dtype_store(c->dtype, to, 0, (float)v / (float)n);
}

size_t coll_case_bytes(const coll_call *c, int32_t n) {
  size_t size = dtype_get(c->dtype)->size;
  return (size_t)(c->count + 2 * n) * size + 64 + (c->op == COLL_ALL_TO_ALL ? (size_t)n * size : 0);
}

void coll_case_fill(coll_call *c, int32_t n, int32_t r, bool in_place, char *in, char *out) {
  size_t size = dtype_get(c->dtype)->size, first = (size_t)coll_split(c->count, n, r).first * size;
  memset(in, 0x5a, coll_case_bytes(c, n)), memset(out, 0x5a, coll_case_bytes(c, n));
  if (in_place) out = in;
  if (in_place && c->op == COLL_ALL_GATHER) in += first;
  if (in_place && c->op == COLL_REDUCE_SCATTER) out += first;
  int64_t n_in = coll_in_elements(c->op, c->count, n, r, c->root);
  for (int64_t i = 0; i < n_in; i++) put(c->dtype, in, (size_t)i, input(r, i, c->redop, c->dtype));
  c->in = in, c->out = out;
}

int64_t coll_case_wrong(const coll_call *c, int32_t n, int32_t r) {
  size_t size = dtype_get(c->dtype)->size;
  int64_t bad = 0, n_out = coll_out_elements(c->op, c->count, n, r, c->root);
  for (int64_t i = 0; i < n_out; i++) {
    char want[16] = {0};
    expected(c, n, r, i, want);
    bad += memcmp(want, (char *)c->out + (size_t)i * size, size) != 0;
  }
  return bad;
}

void coll_case_reals(tsr_dtype t, void *to, size_t n, int32_t r) {
  uint32_t seed = (uint32_t)r * 2654435761u + 12345;
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    double v = (double)(seed >> 8) / (1 << 24) - 0.5;
    dtype_store(t, to, i, i % 7 ? v : v * 1e4);
  }
}
