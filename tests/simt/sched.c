/* tests/simt/sched.c - launching: sets up a cluster's blocks and threads, runs its fibers until all have exited, lets
 * asynchronous copies land only when nothing else can run, and explains what hangs. */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/simt/sim.h"

sim S;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void clock_join(uint32_t *to, const uint32_t *from) {
  for (int i = 0; i < S.n_comp; i++)
    if (from[i] > to[i]) to[i] = from[i];
}

void clock_tick(sim_thread *t) { t->clock[t->id]++; }

void sim_block_on(wait_kind k, void *on, int line) {
  sim_thread *t = S.now;
  t->wait = k;
  t->wait_on = on;
  t->wait_line = line;
  fiber_leave();
}

static void thread_exit(sim_thread *t) {
  if (t->n_copies) sim_find(EMU_EXIT_PENDING, t->copies[0].line, 0, "%d cp.async never waited for", t->n_copies);
  if (t->warp->n_wgmma) sim_find(EMU_EXIT_PENDING, 0, 0, "wgmma never waited for");
  if (t->warp->n_lds) sim_find(EMU_EXIT_PENDING, t->warp->lds[0].line, 0, "direct-to-LDS load never waited for");
  sim_warp *first = &t->block->warps[t->warp->in_block / 4 * 4];
  if (t->warp->wgmma_count < first->wgmma_count)
    sim_find(EMU_DIVERGENT, 0, 0, "a warp issued %d wgmma, the first of its warpgroup %d", t->warp->wgmma_count,
             first->wgmma_count);
  t->wait = WAIT_EXITED;
  if (--t->block->n_live) return;
  tma_block_exit(t->block);
  mbar_block_exit(t->block);
  cluster_block_exit(t->block);
}

static void thread_run(void *arg) {
  sim_thread *t = arg;
  S.entry(S.d->args);
  thread_exit(t);
}

static bool can_run(sim_thread *t) {
  switch (t->wait) {
  case WAIT_NONE: return true;
  case WAIT_MBAR: return mbar_ready(t->wait_on, t->wait_parity);
  case WAIT_CLUSTER: return t->cluster_waits < S.cluster_phase;
  case WAIT_REGISTERS: return registers_free(t->warp, t->wait_arg);
  default: return false;
  }
}

static const char *wait_name(wait_kind k) {
  static const char *const n[] = {"running",       "barrier",         "named barrier", "warp collective",
                                  "mbarrier wait", "cluster barrier", "setmaxnreg",    "exit"};
  return n[k];
}

/* All threads are stuck: what kind of mistake is it? One finding per kind of wait. */
static void explain(void) {
  sim_thread *seen[8] = {0};
  for (int i = 0; i < S.n_threads; i++)
    if (!seen[S.threads[i]->wait]) seen[S.threads[i]->wait] = S.threads[i];
  for (int k = WAIT_BARRIER; k <= WAIT_REGISTERS; k++) {
    sim_thread *t = seen[k], *other = NULL;
    if (!t) continue;
    for (int i = 0; i < S.n_threads && !other; i++) {
      sim_thread *u = S.threads[i];
      bool same_group = k == WAIT_WARP ? u->warp == t->warp : k == WAIT_CLUSTER || u->block == t->block;
      if (same_group && u->wait != (wait_kind)k) other = u;
    }
    S.now = t;
    bool collective = k == WAIT_BARRIER || k == WAIT_WARP || k == WAIT_CLUSTER || k == WAIT_NAMED;
    if (collective && other)
      sim_find(EMU_DIVERGENT, t->wait_line, other->wait_line, "%s that thread %d (at %s, line %d) doesn't reach",
               wait_name((wait_kind)k), other->in_block, wait_name(other->wait), other->wait_line);
    else
      sim_find(EMU_DEADLOCK, t->wait_line, 0, "%s for ever", wait_name((wait_kind)k));
  }
  S.now = NULL;
  S.stop = S.report->stopped = true;
}

static int pick(int i, unsigned round) {
  if (!S.d->seed) return i;
  if (S.d->seed & 1) return S.n_threads - 1 - (i + (int)(round * 7)) % S.n_threads;
  return (int)(((unsigned)i + S.d->seed * 5 + round * 11) % (unsigned)S.n_threads);
}

static void run_cluster(void) {
  for (unsigned round = 0; !S.stop; round++) {
    bool ran = false;
    int live = 0;
    for (int i = 0; i < S.n_threads && !S.stop; i++) {
      sim_thread *t = S.threads[pick(i, round)];
      if (t->wait == WAIT_EXITED) continue;
      live++;
      if (!can_run(t)) continue;
      t->wait = WAIT_NONE;
      S.now = t;
      fiber_enter(t->f);
      S.now = NULL;
      ran = true;
    }
    if (S.stop || !live) break;
    if (!ran && !tma_land_one()) explain();
  }
  for (int i = 0; i < S.n_blocks; i++)
    for (int w = 0; w < S.blocks[i].n_warps; w++) banks_flush(&S.blocks[i].warps[w]);
}

static void setup_block(sim_block *b, int rank, const int at[3]) {
  int n = S.block[0] * S.block[1] * S.block[2];
  b->rank = rank;
  memcpy(b->pos, at, sizeof b->pos);
  b->index = (at[2] * S.grid[1] + at[1]) * S.grid[0] + at[0];
  b->n_threads = b->n_live = n;
  b->n_barrier = 0;
  memset(b->stored, 0, sizeof b->stored);
  for (int i = 0; i < SIM_MAX_NAMED; i++) {
    uint32_t *gather = b->named[i].gather;
    b->named[i] = (sim_named){.gather = gather};
    memset(gather, 0, (size_t)S.n_comp * 4);
  }
  b->shared = S.shared_base + S.shared_stride * (size_t)rank;
  shadow_map_clear(&b->shadow);
  memset(b->shared, 0xff, (size_t)S.d->shared_bytes);
  for (int w = 0; w < b->n_warps; w++) {
    sim_warp *p = &b->warps[w];
    p->n_wgmma = p->wgmma_group = p->wgmma_count = p->n_lds = 0;
    p->wgmma_fenced = p->registers_set = false;
    p->registers = registers_at_launch(S.block[0] * S.block[1] * S.block[2]);
  }
  for (int i = 0; i < n; i++) {
    sim_thread *t = &b->threads[i];
    uint32_t *clock = t->clock, *fence = t->fence_clock;
    copy_op *copies = t->copies;
    int cap = t->cap_copies;
    memset(t, 0, offsetof(sim_thread, log));
    t->clock = clock, t->fence_clock = fence;
    t->copies = copies, t->cap_copies = cap;
    t->block = b;
    t->id = rank * n + i, t->in_block = i;
    t->pos[0] = i % S.block[0];
    t->pos[1] = i / S.block[0] % S.block[1];
    t->pos[2] = i / S.block[0] / S.block[1];
    t->warp = &b->warps[i / S.warp];
    t->lane = i % S.warp;
    t->warp->lanes[t->lane] = t;
    memset(clock, 0, (size_t)S.n_comp * 4);
    memset(fence, 0, (size_t)S.n_comp * 4);
    clock[t->id] = 1;
    S.threads[t->id] = t;
    t->f = fiber_get(t->id, thread_run, t);
  }
}

static void *zalloc(size_t bytes) {
  void *p = calloc(1, bytes ? bytes : 1);
  if (!p) abort();
  return p;
}

static void make_cluster(void) {
  int n = S.block[0] * S.block[1] * S.block[2];
  S.shared_stride = ((size_t)S.d->shared_bytes + 1023) / 1024 * 1024 + 65536;
  S.shared_base =
      mmap(NULL, S.shared_stride * (size_t)S.n_blocks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (S.shared_base == MAP_FAILED) abort();
  for (int r = 0; r < S.n_blocks; r++) {
    sim_block *b = &S.blocks[r];
    memset(b, 0, sizeof *b);
    shadow_map_make(&b->shadow, (size_t)S.d->shared_bytes);
    b->threads = zalloc((size_t)n * sizeof *b->threads);
    b->n_warps = (n + S.warp - 1) / S.warp;
    b->warps = zalloc((size_t)b->n_warps * sizeof *b->warps);
    for (int w = 0; w < b->n_warps; w++)
      b->warps[w] = (sim_warp){.block = b, .in_block = w, .n_lanes = n - w * S.warp < S.warp ? n - w * S.warp : S.warp};
    for (int i = 0; i < n; i++) {
      b->threads[i].clock = zalloc((size_t)S.n_comp * 4);
      b->threads[i].fence_clock = zalloc((size_t)S.n_comp * 4);
    }
    for (int i = 0; i < SIM_MAX_NAMED; i++) b->named[i].gather = zalloc((size_t)S.n_comp * 4);
  }
  for (int i = 0; i < SIM_MAX_BARS; i++) {
    S.bars[i].gather = zalloc((size_t)S.n_comp * 4);
    S.bars[i].done = zalloc((size_t)S.n_comp * 4);
  }
  S.join = zalloc((size_t)S.n_comp * 4);
  S.cluster_gather = zalloc((size_t)S.n_comp * 4);
  S.cluster_done = zalloc((size_t)S.n_comp * 4);
}

static void drop_cluster(void) {
  for (int r = 0; r < S.n_blocks; r++) {
    sim_block *b = &S.blocks[r];
    shadow_map_drop(&b->shadow);
    for (int i = 0; i < b->n_threads; i++) {
      free(b->threads[i].clock);
      free(b->threads[i].fence_clock);
      free(b->threads[i].copies);
    }
    for (int w = 0; w < b->n_warps; w++) {
      free(b->warps[w].wgmma);
      free(b->warps[w].lds);
    }
    for (int i = 0; i < SIM_MAX_NAMED; i++) free(b->named[i].gather);
    free(b->threads);
    free(b->warps);
  }
  for (int i = 0; i < SIM_MAX_BARS; i++) {
    free(S.bars[i].gather);
    free(S.bars[i].done);
  }
  free(S.join);
  free(S.cluster_gather);
  free(S.cluster_done);
  free(S.tma);
  munmap(S.shared_base, S.shared_stride * (size_t)S.n_blocks);
}

static void run_grid(void) {
  int step[3] = {S.cluster[0], S.cluster[1], S.cluster[2]}, at[3], in[3];
  for (at[2] = 0; at[2] < S.grid[2]; at[2] += step[2])
    for (at[1] = 0; at[1] < S.grid[1]; at[1] += step[1])
      for (at[0] = 0; at[0] < S.grid[0] && !S.stop; at[0] += step[0]) {
        int rank = 0;
        S.n_bars = S.n_tma = S.n_cluster = S.cluster_phase = 0;
        memset(S.cluster_gather, 0, (size_t)S.n_comp * 4);
        for (in[2] = 0; in[2] < step[2]; in[2]++)
          for (in[1] = 0; in[1] < step[1]; in[1]++)
            for (in[0] = 0; in[0] < step[0]; in[0]++, rank++)
              setup_block(&S.blocks[rank], rank, (int[3]){at[0] + in[0], at[1] + in[1], at[2] + in[2]});
        run_cluster();
        S.cluster_index++;
      }
}

static void make_ranges(void) {
  S.ranges = zalloc((size_t)S.d->n_ranges * sizeof *S.ranges);
  for (int i = 0; i < S.d->n_ranges; i++) {
    S.ranges[i].r = S.d->ranges[i];
    if (S.d->ranges[i].writable) shadow_map_make(&S.ranges[i].shadow, S.d->ranges[i].bytes);
  }
}

static void drop_ranges(void) {
  for (int i = 0; i < S.d->n_ranges; i++) shadow_map_drop(&S.ranges[i].shadow);
  free(S.ranges);
}

static int or_one(int v) { return v > 0 ? v : 1; }

void *emu_module_entry(emu_module *m, const char *kernel); /* build.c */

bool emu_run(emu_module *m, const emu_run_desc *d, emu_report *r) {
  void *entry = emu_module_entry(m, d->kernel);
  if (!entry) return false;
  pthread_mutex_lock(&lock);
  memset(&S, 0, sizeof S);
  S.d = d;
  S.report = r;
  memcpy(&S.entry, &entry, sizeof entry);
  S.warp = d->warp ? d->warp : 32;
  S.banks = d->banks ? d->banks : 32;
  S.n_blocks = 1;
  int threads = 1;
  bool fits = S.warp <= SIM_MAX_WARP && S.banks <= 64;
  for (int i = 0; i < 3; i++) {
    S.grid[i] = or_one(d->grid[i]);
    S.block[i] = or_one(d->block[i]);
    S.cluster[i] = or_one(d->cluster[i]);
    S.n_blocks *= S.cluster[i];
    threads *= S.block[i];
    if (S.grid[i] % S.cluster[i]) fits = false;
  }
  S.n_threads = threads * S.n_blocks;
  S.n_comp = S.n_threads + SIM_MAX_BARS;
  if (S.n_blocks > SIM_MAX_BLOCKS || S.n_threads > SIM_MAX_THREADS || threads > 1024) fits = false;
  if (fits) {
    make_cluster();
    make_ranges();
    run_grid();
    drop_ranges();
    drop_cluster();
  }
  memset(&S, 0, sizeof S);
  pthread_mutex_unlock(&lock);
  return fits;
}
