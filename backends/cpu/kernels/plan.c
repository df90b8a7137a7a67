/* Helpers of kernels.h that need no vectors: sizes, identities, caches, and the plan of a matmul. */
#include "kernels.h"

#include <math.h>
#include <pthread.h>

#if defined(__linux__)
#include <unistd.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>
#endif

size_t cpuk_dtype_bytes(cpuk_dtype t) {
  static const uint8_t bytes[CPUK_N_DTYPE] = {4, 8, 2, 2, 1, 1, 4, 1, 1, 1, 2, 8};
  return bytes[t];
}

void cpuk_reduce_init(cpuk_reduce_op op, cpuk_ct ct, cpuk_policy policy, void *acc) {
  static const double identity[CPUK_N_REDUCE] = {0, 1, -INFINITY, INFINITY};
  static const int32_t identity_i32[CPUK_N_REDUCE] = {0, 1, INT32_MIN, INT32_MAX};
  static const int64_t identity_i64[CPUK_N_REDUCE] = {0, 1, INT64_MIN, INT64_MAX};
  bool pair = policy == CPUK_KAHAN && op == CPUK_RSUM;
  if (ct == CPUK_CT_I32) {
    *(int32_t *)acc = identity_i32[op];
  } else if (ct == CPUK_CT_I64) {
    *(int64_t *)acc = identity_i64[op];
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

static cpuk_caches caches;
static void ask_for_caches(void) {
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
  caches = c;
}

cpuk_caches cpuk_cache_sizes(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, ask_for_caches);
  return caches;
}

/* ---- matmul plan ---- */

cpuk_gemm_kind cpuk_gemm_kind_for(cpuk_dtype acc, cpuk_dtype a, cpuk_dtype b, bool compensated) {
  const uint32_t up_to_16 = 1u << CPUK_I8 | 1u << CPUK_U8 | 1u << CPUK_I16;
  switch (acc) {
  case CPUK_F64: return compensated ? CPUK_GEMM_F64_KAHAN : CPUK_GEMM_F64;
  case CPUK_I64: return CPUK_GEMM_S64;
  case CPUK_I32:
    if (b == CPUK_I8 && (a == CPUK_I8 || a == CPUK_U8)) return a == CPUK_I8 ? CPUK_GEMM_S8S8 : CPUK_GEMM_U8S8;
    return (up_to_16 >> a & 1) && (up_to_16 >> b & 1) ? CPUK_GEMM_S16 : CPUK_GEMM_S32;
  default:
    if (compensated) return CPUK_GEMM_F32_KAHAN;
    if (a == b && (a == CPUK_BF16 || a == CPUK_F16)) return a == CPUK_BF16 ? CPUK_GEMM_BF16 : CPUK_GEMM_F16;
    return CPUK_GEMM_F32;
  }
}

static size_t round_up(size_t a, size_t b) { return (a + b - 1) / b * b; }
/* The smallest number of equal pieces of at most `most`, as a piece size that is a multiple of `unit`. */
static size_t even_piece(size_t total, size_t most, size_t unit) {
  if (most < unit) most = unit;
  size_t pieces = (total + most - 1) / most;
  if (pieces == 0) return unit;
  return round_up((total + pieces - 1) / pieces, unit);
}

/* Whether `rows` pieces of `piece` bytes, `stride` apart, find room in L2 (16 ways): a stride with a high power of two
 * in it reaches few sets. */
static bool rows_fit(const cpuk_caches *cache, ptrdiff_t stride, size_t piece, size_t rows) {
  size_t way = cache->l2 / 16, s = stride < 0 ? (size_t)-stride : (size_t)stride, power = s & (0 - s);
  if (rows == 1 || s == 0) return true;
  size_t places = power >= way ? 1 : way / power, room = places * (piece < power ? piece : power) * 16;
  return room * 8 / 9 >= rows * piece;
}
bool cpuk_rows_keep(const cpuk_gemm *g, size_t stride) {
  enum { WAY = 4096 };
  const size_t power = stride & (0 - stride), sets = power == 0 || power >= WAY ? 1 : WAY / power;
  return cpuk_cache_sizes().l1d / WAY * sets >= g->mr;
}
static size_t blocks(size_t total, size_t piece) { return (total + piece - 1) / piece; }

bool cpuk_skinny_fits(const cpuk_gemm *g, const cpuk_plan_args *p) {
  static const cpuk_dtype types[CPUK_N_GEMM][2] = {
      [CPUK_GEMM_F32] = {CPUK_F32, CPUK_F32}, [CPUK_GEMM_BF16] = {CPUK_BF16, CPUK_BF16},
      [CPUK_GEMM_F16] = {CPUK_F16, CPUK_F16}, [CPUK_GEMM_S8S8] = {CPUK_I8, CPUK_I8},
      [CPUK_GEMM_U8S8] = {CPUK_U8, CPUK_I8},  [CPUK_GEMM_F64] = {CPUK_F64, CPUK_F64},
  };
  bool few = (p->b_cs == 1 && p->m <= 4) ||
             (p->b_rs == 1 && p->m <= 8); /* beyond, packing on the way is faster (docs/cpu-kernels.md) */
  return g->skinny != NULL && few && p->a_type == types[p->kind][0] && p->b_type == types[p->kind][1];
}

enum { TALL = 192, TALLEST = 520, DEEP = 1024, SHORT_LINE = 256, LOW = 48 };

/* A block for each thread; where the work is long several, so that a thread that is held up costs little. */
static size_t wanted_blocks(const cpuk_plan_args *p) {
  const double several = 5e8; /* operations a block: a millisecond or more */
  double each = 2.0 * (double)p->m * (double)p->n * (double)p->k / (double)p->threads / several;
  return p->threads * (each < 1 ? 1 : each > 4 ? 4 : (size_t)each);
}

/* Blocks for the threads, so many that they share out evenly: columns while they stay wide (a narrower block packs A
 * more often), then rows while they stay tall (a lower one packs B more often and cuts C's lines short), then either:
 * rows where C's lines would become short, since what one core fetches ahead of its end of a line the next one writes
 * (with panels of 32 numbers; narrower ones and those of 16 and 8 bits lose 2 to 10 % by that).
 * Once they share out evenly only wide columns are cut. */
static void cut_for_threads(const cpuk_gemm *g, const cpuk_plan_args *p, cpuk_plan *plan) {
  const size_t chunk = (size_t)g->b_chunk * g->nr, want = wanted_blocks(p), wide = g->kr == 1 ? 512 : 1024;
  const size_t half = g->kr < 32 ? g->nr / 2u : g->nr; /* of a panel: one vector or two, which tiles take alone */
  if (p->threads <= 1) return;
  for (;;) {
    const size_t n = blocks(p->m, plan->bm) * blocks(p->n, plan->bn);
    const bool even = n >= p->threads && (n % p->threads == 0 || n >= 4 * p->threads);
    if (even && n >= want) break;
    const bool tall = plan->bm >= 2 * TALL && blocks(p->m, plan->bm) < p->threads,
               lines = g->kr == 1 && g->nr >= 32 && plan->bn < 2 * SHORT_LINE && plan->bm >= 2 * LOW;
    if (plan->bn >= 2 * (tall ? 1024 : wide)) plan->bn = even_piece(p->n, plan->bn / 2, g->nr);
    else if (even) break;
    else if (lines) plan->bm = even_piece(p->m, (plan->bm < p->m ? plan->bm : p->m) / 2, 1);
    else if (tall) plan->bm = even_piece(p->m, plan->bm / 2, plan->bm % (2u * g->mr) == 0 ? g->mr : 1);
    else if (plan->bn > chunk) plan->bn = even_piece(p->n, plan->bn / 2 < chunk ? chunk : plan->bn / 2, half);
    else if (plan->bm > 6u * g->mr) plan->bm = even_piece(p->m, plan->bm / 2, g->mr);
    else break;
  }
}

/* Blocks of at most `most` rows, their number a multiple of the threads' where there are more of them, as long as they
 * stay tall. */
static size_t even_rows(const cpuk_gemm *g, const cpuk_plan_args *p, size_t most) {
  size_t bm = even_piece(p->m, most, g->mr), n = blocks(p->m, bm);
  if (p->threads <= 1 || n <= p->threads || n % p->threads == 0) return bm;
  size_t even = even_piece(p->m, (p->m + round_up(n, p->threads) - 1) / round_up(n, p->threads), g->mr);
  return even >= TALL ? even : bm;
}

cpuk_plan cpuk_gemm_plan(const cpuk_table *t, const cpuk_plan_args *p) {
  const cpuk_caches cache = cpuk_cache_sizes();
  return cpuk_gemm_plan_for(t, p, &cache);
}

cpuk_plan cpuk_gemm_plan_for(const cpuk_table *t, const cpuk_plan_args *p, const cpuk_caches *cache) {
  const cpuk_gemm *g = t->gemm[p->kind];
  cpuk_plan plan = {0};
  plan.skinny = !p->b_packed && p->a_cs == 1 && cpuk_skinny_fits(g, p);
  const size_t probe = (size_t)g->kr * 1024, a_row = g->a_panel_bytes(probe) / g->mr / 1024,
               b_row = g->b_panel_bytes(probe) / 1024; /* a step of kr */
  const size_t steps = (p->k + g->kr - 1) / g->kr;
  const bool tiles = g->kr >= 32; /* AMX */
  const size_t panel = cache->l1d * 2 / 3 / b_row; /* steps of B's panel that take two thirds of L1 */
  size_t bk, most_rows;
  if (tiles || (p->m < LOW && steps > DEEP)) {
    /* A panel of bk x nr fills two thirds of L1: tiles take eight times as much a cycle as vectors, and few rows use
     * what was packed for them, so that it had better be in L1 (16x4096x4096 of bf16 with deep blocks: 0.83); A's block
     * takes two thirds of L2. B packed ahead costs nothing to use again: longer k blocks, so that C passes less often,
     * and a lower block. */
    bk = even_piece(steps, panel * (p->b_packed ? 2 : 1), 8);
    most_rows = cache->l2 * (p->b_packed ? 1 : 4) / (p->b_packed ? 2 : 6) / (bk * a_row);
  } else {
    /* Vectors take a line or two of B and a few numbers of A a step and ask no more than L2 and L3 give: what costs is
     * each pass over C, so k blocks are deep, though B's panel leaves L1 and A's block takes twice L2. */
    bk = even_piece(steps, DEEP, 8);
    most_rows = 2 * cache->l2 / (bk * a_row);
    if (most_rows > TALLEST) most_rows = TALLEST;
  }
  if (bk > steps) bk = steps == 0 ? 1 : steps;
  plan.bk = bk * g->kr;
  plan.bm = even_rows(g, p, most_rows);
  plan.bn = even_piece(p->n, 2048, g->nr);
  plan.b_on_the_way = !p->b_packed;
  cut_for_threads(g, p, &plan);
  const size_t deeper = even_piece(steps, 2 * panel, 8); /* C passes half as often */
  if (tiles && !p->b_packed && plan.bm >= TALL && bk < steps && deeper * a_row * plan.bm <= cache->l2 * 2 / 3)
    plan.bk = (bk = deeper) * g->kr;
  plan.a_inplace = g->a_inplace == (int)p->a_type && p->a_cs == 1 && p->k % g->kr == 0 &&
                   rows_fit(cache, p->a_rs * (ptrdiff_t)cpuk_dtype_bytes(p->a_type), bk * a_row, plan.bm);
  return plan;
}
