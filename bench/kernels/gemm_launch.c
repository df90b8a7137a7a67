/* See gemm_launch.h. The order of work and why: docs/cpu-kernels.md. */
#include "bench/kernels/gemm_launch.h"

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static const cpuk_gemm *gemm_of(const gemm_job *job) { return job->table->gemm[job->shape.kind]; }
static size_t panels_of(const gemm_job *job) { return (job->shape.n + gemm_of(job)->nr - 1) / gemm_of(job)->nr; }
static size_t k_blocks_of(const gemm_job *job) {
  return job->shape.k == 0 ? 1 : (job->shape.k + job->plan.bk - 1) / job->plan.bk;
}

size_t gemm_n_panels(const gemm_job *job) { return panels_of(job) * k_blocks_of(job); }
size_t gemm_packed_b_bytes(const gemm_job *job) {
  return gemm_n_panels(job) * gemm_of(job)->b_panel_bytes(job->plan.bk);
}
size_t gemm_scratch_bytes(const gemm_job *job) {
  return cpuk_packed_a_bytes(gemm_of(job), job->plan.bm, job->plan.bk) +
         gemm_of(job)->b_chunk * gemm_of(job)->b_panel_bytes(job->plan.bk);
}

/* Every k block has room for bk rows, so panel (kb, p) is at a fixed place. */
static char *panel_at(const gemm_job *job, const void *packed, size_t kb, size_t p) {
  return (char *)packed + (kb * panels_of(job)) * gemm_of(job)->b_panel_bytes(job->plan.bk) +
         p * gemm_of(job)->b_panel_bytes(min_size(job->plan.bk, job->shape.k - kb * job->plan.bk));
}
static void pack_panels(const gemm_job *job, void *packed, size_t kb, size_t p, size_t count) {
  const cpuk_gemm *g = gemm_of(job);
  const cpuk_plan_args *s = &job->shape;
  size_t k0 = kb * job->plan.bk, j = p * g->nr;
  const char *src = (const char *)job->b +
                    ((ptrdiff_t)k0 * s->b_rs + (ptrdiff_t)j * s->b_cs) * (ptrdiff_t)cpuk_dtype_bytes(s->b_type);
  g->pack_b(&(cpuk_pack_args){panel_at(job, packed, kb, p), src, s->b_type, s->b_rs, s->b_cs,
                              min_size(job->plan.bk, s->k - k0), min_size(count * g->nr, s->n - j)});
}
void gemm_pack_all_b(const gemm_job *job, void *dst) {
  for (size_t kb = 0; kb < k_blocks_of(job); kb++) pack_panels(job, dst, kb, 0, panels_of(job));
}

/* The first thread to need a panel packs it; another that needs it meanwhile packs the next ones, and waits at the end.
 */
enum { PANEL_EMPTY, PANEL_CLAIMED, PANEL_READY };
static void need_panels(gemm_job *job, size_t kb, size_t first, size_t end, unsigned me) {
  atomic_uint *state = job->panel_state + kb * panels_of(job);
  size_t n = end - first, start = me % 2 ? n / 2 : 0; /* two threads begin at different places */
  for (size_t i = 0; i < n; i++) {
    size_t p = first + (i + start) % n;
    unsigned expected = PANEL_EMPTY;
    if (atomic_load_explicit(&state[p], memory_order_relaxed) != PANEL_EMPTY) continue;
    if (!atomic_compare_exchange_strong(&state[p], &expected, PANEL_CLAIMED)) continue;
    pack_panels(job, job->packed_b, kb, p, 1);
    atomic_store_explicit(&state[p], PANEL_READY, memory_order_release);
  }
  for (size_t p = first; p < end; p++)
    while (atomic_load_explicit(&state[p], memory_order_acquire) != PANEL_READY) gemm_pause();
}

static void run_block(gemm_job *job, size_t i, size_t j, unsigned me) {
  const cpuk_gemm *g = gemm_of(job);
  const cpuk_plan_args *s = &job->shape;
  const cpuk_plan *plan = &job->plan;
  size_t m = min_size(plan->bm, s->m - i), n = min_size(plan->bn, s->n - j), p0 = j / g->nr;
  const void *packed = s->b_packed ? job->b : job->packed_b;
  for (size_t kb = 0; kb < k_blocks_of(job); kb++) {
    size_t k0 = kb * plan->bk, k = min_size(plan->bk, s->k - k0);
    const char *b = (const char *)job->b +
                    ((ptrdiff_t)k0 * s->b_rs + (ptrdiff_t)j * s->b_cs) * (ptrdiff_t)cpuk_dtype_bytes(s->b_type);
    const bool plain = plan->b_on_the_way && !s->b_packed;
    cpuk_pack_args b_plain = {
        (char *)job->scratch[me] + cpuk_packed_a_bytes(g, plan->bm, plan->bk), b, s->b_type, s->b_rs, s->b_cs, k, n};
    if (!s->b_packed && !plain) need_panels(job, kb, p0, p0 + (n + g->nr - 1) / g->nr, me);
    const char *a = (const char *)job->a +
                    ((ptrdiff_t)i * s->a_rs + (ptrdiff_t)k0 * s->a_cs) * (ptrdiff_t)cpuk_dtype_bytes(s->a_type);
    if (!plan->a_inplace) g->pack_a(&(cpuk_pack_args){job->scratch[me], a, s->a_type, s->a_rs, s->a_cs, m, k});
    g->block(&(cpuk_block_args){.c = (char *)job->c + ((ptrdiff_t)i * job->ldc + (ptrdiff_t)j) *
                                                          (ptrdiff_t)cpuk_dtype_bytes(g->acc_type),
                                .ldc = job->ldc,
                                .a = plan->a_inplace ? a : job->scratch[me],
                                .lda = plan->a_inplace ? s->a_rs : 0,
                                .b = plain ? NULL : panel_at(job, packed, kb, p0),
                                .b_plain = plain ? &b_plain : NULL,
                                .m = m,
                                .n = n,
                                .k = k,
                                .accumulate = kb > 0});
  }
}

static void run_skinny(gemm_job *job, unsigned me, unsigned n_threads) {
  const cpuk_gemm *g = gemm_of(job);
  const cpuk_plan_args *s = &job->shape;
  size_t panels = panels_of(job), p0 = panels * me / n_threads, p1 = panels * (me + 1) / n_threads, j = p0 * g->nr;
  if (p0 == p1) return;
  g->skinny(&(cpuk_skinny_args){(char *)job->c + j * cpuk_dtype_bytes(g->acc_type), job->ldc, job->a, s->a_rs,
                                (const char *)job->b + (ptrdiff_t)j * s->b_cs * (ptrdiff_t)cpuk_dtype_bytes(s->b_type),
                                s->b_rs, s->b_cs, s->m, min_size((p1 - p0) * g->nr, s->n - j), s->k, false});
}

void gemm_run_thread(gemm_job *job, unsigned me, unsigned n_threads) {
  job->table->thread_begin();
  if (job->plan.skinny) {
    run_skinny(job, me, n_threads);
  } else {
    size_t rows = (job->shape.m + job->plan.bm - 1) / job->plan.bm,
           cols = (job->shape.n + job->plan.bn - 1) / job->plan.bn, b;
    while ((b = atomic_fetch_add(&job->next_block, 1)) < rows * cols) {
      size_t r = job->plan.column_major ? b % rows : b / cols, c = job->plan.column_major ? b / rows : b % cols;
      run_block(job, r * job->plan.bm, c * job->plan.bn, me);
    }
  }
  job->table->thread_end();
}
