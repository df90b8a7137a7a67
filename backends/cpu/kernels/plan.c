/* Helpers of kernels.h that need no vectors: sizes, identities, caches, and the plan of a matmul. */
#include "kernels.h"

#include <math.h>

#if defined(__linux__)
#include <unistd.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>
#endif

size_t cpuk_dtype_bytes(cpuk_dtype t) {
  static const uint8_t bytes[CPUK_N_DTYPE] = {4, 8, 2, 2, 1, 1, 4, 1, 1, 1};
  return bytes[t];
}

void cpuk_reduce_init(cpuk_reduce_op op, cpuk_ct ct, cpuk_policy policy, void *acc) {
  static const double identity[CPUK_N_REDUCE] = {0, 1, -INFINITY, INFINITY};
  static const int32_t identity_i32[CPUK_N_REDUCE] = {0, 1, INT32_MIN, INT32_MAX};
  bool pair = policy == CPUK_KAHAN && op == CPUK_RSUM;
  if (ct == CPUK_CT_I32) {
    *(int32_t *)acc = identity_i32[op];
  } else if (ct == CPUK_CT_F64) {
    ((double *)acc)[0] = identity[op];
    if (pair) ((double *)acc)[1] = 0;
  } else {
    ((float *)acc)[0] = (float)identity[op];
    if (pair) ((float *)acc)[1] = 0;
  }
}

/* ---- caches ---- */

#if defined(__x86_64__)
/* cpuid's deterministic cache parameters: leaf 4, or 0x8000001d on AMD; the same layout. */
static void caches_from_cpuid(unsigned leaf, cpuk_caches *c) {
  unsigned a, b, n, d;
  for (unsigned i = 0; i < 16 && __get_cpuid_count(leaf, i, &a, &b, &n, &d) && (a & 31) != 0; i++) {
    size_t bytes = (size_t)((b >> 22) + 1) * ((b >> 12 & 0x3ff) + 1) * ((b & 0xfff) + 1) * ((size_t)n + 1);
    unsigned type = a & 31, level = a >> 5 & 7;
    if (type == 2) continue; /* instructions */
    if (level == 1) c->l1d = bytes;
    if (level == 2) c->l2 = bytes;
    if (level == 3) c->l3 = bytes;
  }
}
#endif

cpuk_caches cpuk_cache_sizes(void) {
  cpuk_caches c = {0, 0, 0};
#if defined(__x86_64__)
  unsigned a, b, n, d;
  if (__get_cpuid(0x80000000u, &a, &b, &n, &d) && a >= 0x8000001du) caches_from_cpuid(0x8000001du, &c);
  if (c.l1d == 0) caches_from_cpuid(4, &c);
#endif
#if defined(__linux__) && defined(_SC_LEVEL1_DCACHE_SIZE)
  long s;
  if (c.l1d == 0 && (s = sysconf(_SC_LEVEL1_DCACHE_SIZE)) > 0) c.l1d = (size_t)s;
  if (c.l2 == 0 && (s = sysconf(_SC_LEVEL2_CACHE_SIZE)) > 0) c.l2 = (size_t)s;
  if (c.l3 == 0 && (s = sysconf(_SC_LEVEL3_CACHE_SIZE)) > 0) c.l3 = (size_t)s;
#endif
  if (c.l1d == 0) c.l1d = 32 << 10;
  if (c.l2 == 0) c.l2 = 512 << 10;
  if (c.l3 == 0) c.l3 = 8 << 20;
  return c;
}

/* ---- matmul plan ---- */

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t round_up(size_t a, size_t b) { return (a + b - 1) / b * b; }
/* The smallest number of equal pieces of at most `most`, as a piece size that is a multiple of `unit`. */
static size_t even_piece(size_t total, size_t most, size_t unit) {
  if (most < unit) most = unit;
  size_t pieces = (total + most - 1) / most;
  if (pieces == 0) return unit;
  return round_up((total + pieces - 1) / pieces, unit);
}

cpuk_plan cpuk_gemm_plan(const cpuk_table *t, const cpuk_plan_args *p) {
  const cpuk_gemm *g = t->gemm[p->kind];
  const cpuk_caches cache = cpuk_cache_sizes();
  cpuk_plan plan = {0};
  plan.skinny = g->skinny != NULL && p->m <= CPUK_SKINNY_M && !p->b_packed && p->a_cs == 1 && (p->b_rs == 1 || p->b_cs == 1);
  const size_t a_group = g->a_panel_bytes((size_t)g->kr * 1024) / 1024 / g->mr, b_group = g->b_panel_bytes((size_t)g->kr * 1024) / 1024 / g->nr;
  const size_t groups = (p->k + g->kr - 1) / g->kr;
  /* A panel of B, bk x nr, fills two thirds of L1; A's and C's blocks share half of L2. */
  size_t bk = even_piece(groups, cache.l1d * 2 / 3 / (b_group * g->nr), 8);
  plan.bk = (bk > groups ? groups : bk) * g->kr;
  if (plan.bk == 0) plan.bk = g->kr;
  size_t acc = cpuk_dtype_bytes(g->acc_type);
  plan.bm = even_piece(p->m, cache.l2 / 4 / (bk * a_group + 1), g->mr);
  plan.bn = even_piece(p->n, min_size(cache.l2 / 2 / (plan.bm * acc), 4096), g->nr);
  plan.a_inplace = g->a_inplace == (int)p->a_type && p->a_cs == 1 && p->k % g->kr == 0;
  return plan;
}
