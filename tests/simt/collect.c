/* tests/simt/collect.c - barriers of blocks, clusters and parts of blocks, and the collectives of a warp: a lane brings
 * its operands and waits; the last one to arrive does the work for all. */
#include <string.h>

#include "tests/simt/sim.h"

int emu_index(int what, int axis) {
  switch (what) {
  case EMU_THREAD: return S.now->pos[axis];
  case EMU_BLOCK: return S.now->block->pos[axis];
  case EMU_BLOCK_DIM: return S.block[axis];
  default: return S.grid[axis];
  }
}

int emu_lane(void) { return S.now->lane; }
int emu_warp(void) { return S.now->warp->in_block; }
int emu_warp_size(void) { return S.warp; }
int emu_cluster_rank(void) { return S.now->block->rank; }
void *emu_shared(void) { return S.now->block->shared; }

/* Everybody in the list learns what everybody knew. */
static void join_all(sim_thread *const *list, int n) {
  memset(S.join, 0, (size_t)S.n_comp * 4);
  for (int i = 0; i < n; i++) clock_join(S.join, list[i]->clock);
  for (int i = 0; i < n; i++) {
    memcpy(list[i]->clock, S.join, (size_t)S.n_comp * 4);
    clock_tick(list[i]);
    if (list[i]->wait != WAIT_EXITED) list[i]->wait = WAIT_NONE;
  }
}

static void check_lines(sim_thread *const *list, int n, const char *what, int line) {
  for (int i = 0; i < n; i++)
    if (list[i] != S.now && list[i]->wait != WAIT_EXITED && list[i]->wait_line != line) {
      sim_find(EMU_DIVERGENT, line, list[i]->wait_line, "%s reached by thread %d at line %d", what, list[i]->in_block,
               list[i]->wait_line);
      return;
    }
}

void emu_barrier(int line) {
  sim_block *b = S.now->block;
  if (++b->n_barrier < b->n_threads) {
    sim_block_on(WAIT_BARRIER, b, line);
    return;
  }
  b->n_barrier = 0;
  sim_thread *const *list = &S.threads[b->threads[0].id];
  check_lines(list, b->n_threads, "barrier", line);
  for (int w = 0; w < b->n_warps; w++) banks_flush(&b->warps[w]);
  join_all(list, b->n_threads);
}

void emu_named_barrier(int id, int threads, int arrive_only, int line) {
  sim_thread *t = S.now;
  if (id < 0 || id >= SIM_MAX_NAMED || threads <= 0 || threads % S.warp || threads > t->block->n_threads) {
    sim_find(EMU_BAD_ARGUMENT, line, 0, "named barrier %d of %d threads", id, threads);
    return;
  }
  sim_named *n = &t->block->named[id];
  if (n->arrived && n->threads != threads)
    sim_find(EMU_DIVERGENT, line, n->line, "named barrier %d: %d threads here, %d at line %d", id, threads, n->threads,
             n->line);
  n->threads = threads;
  n->line = line;
  n->arrived++;
  clock_join(n->gather, t->clock);
  bool last = n->arrived == threads;
  if (arrive_only) clock_tick(t);
  if (!last) {
    if (!arrive_only) sim_block_on(WAIT_NAMED, n, line);
    return;
  }
  sim_block *b = t->block;
  for (int i = 0; i < b->n_threads; i++) {
    sim_thread *u = &b->threads[i];
    bool waits = u->wait == WAIT_NAMED && u->wait_on == n;
    if (!waits && (u != t || arrive_only)) continue;
    clock_join(u->clock, n->gather);
    clock_tick(u);
    if (waits) u->wait = WAIT_NONE;
  }
  n->arrived = 0;
  memset(n->gather, 0, (size_t)S.n_comp * 4);
}

/* ---- warps ------------------------------------------------------------------------------------------------------- */

static void warp_sync(sim_warp *w) { join_all(w->lanes, w->n_lanes); }

static void warp_shuffle(sim_warp *w) {
  uint64_t in[SIM_MAX_WARP];
  for (int l = 0; l < w->n_lanes; l++) in[l] = w->lanes[l]->call.bits;
  for (int l = 0; l < w->n_lanes; l++) {
    warp_call *c = &w->lanes[l]->call;
    int width = c->i2 ? c->i2 : S.warp, base = l / width * width, from = l;
    if (c->i0 == EMU_XOR) from = l ^ c->i1;
    if (c->i0 == EMU_INDEX) from = base + (c->i1 & (width - 1));
    if (c->i0 == EMU_UP) from = l - c->i1 < base ? l : l - c->i1;
    if (c->i0 == EMU_DOWN) from = l + c->i1 >= base + width ? l : l + c->i1;
    if (c->i0 == EMU_XOR && from / width != l / width) from = l;
    if (from < 0 || from >= w->n_lanes) {
      sim_find(EMU_DIVERGENT, c->line, 0, "shuffle from lane %d, which the block doesn't have", from);
      from = l;
    }
    c->bits = in[from];
  }
}

static void warp_ballot(sim_warp *w) {
  uint64_t all = 0;
  for (int l = 0; l < w->n_lanes; l++) all |= (uint64_t)(w->lanes[l]->call.i0 != 0) << l;
  for (int l = 0; l < w->n_lanes; l++) w->lanes[l]->call.bits = all;
}

static void warp_elect(sim_warp *w) {
  for (int l = 0; l < w->n_lanes; l++) w->lanes[l]->call.bits = l == 0;
}

static void (*const work[])(sim_warp *) = {[OP_SYNC] = warp_sync,
                                           [OP_SHUFFLE] = warp_shuffle,
                                           [OP_BALLOT] = warp_ballot,
                                           [OP_ELECT] = warp_elect,
                                           [OP_LDMATRIX] = warp_ldmatrix,
                                           [OP_STMATRIX] = warp_stmatrix,
                                           [OP_MMA] = warp_mma,
                                           [OP_WGMMA] = warp_wgmma,
                                           [OP_WGMMA_FENCE] = warp_wgmma_fence,
                                           [OP_WGMMA_COMMIT] = warp_wgmma_commit,
                                           [OP_WGMMA_WAIT] = warp_wgmma_wait,
                                           [OP_SETMAXNREG] = warp_setmaxnreg,
                                           [OP_MFMA] = warp_mfma,
                                           [OP_WMMA] = warp_wmma,
                                           [OP_LDS_LOAD] = warp_lds_load,
                                           [OP_WAITCNT] = warp_waitcnt};

void warp_collect(const warp_call *c) {
  sim_thread *t = S.now;
  sim_warp *w = t->warp;
  t->call = *c;
  for (int l = 0; l < w->n_lanes; l++)
    if (w->lanes[l] != t && w->lanes[l]->wait != WAIT_WARP) {
      sim_block_on(WAIT_WARP, w, c->line);
      return;
    }
  for (int l = 0; l < w->n_lanes; l++) {
    const warp_call *o = &w->lanes[l]->call;
    if (o->line == c->line && o->op == c->op) continue;
    sim_find(EMU_DIVERGENT, c->line, o->line, "lane %d of the warp is in another collective at line %d", l, o->line);
    sim_stop();
  }
  banks_flush(w);
  work[c->op](w);
  for (int l = 0; l < w->n_lanes; l++)
    if (w->lanes[l]->wait == WAIT_WARP) w->lanes[l]->wait = WAIT_NONE;
}

void emu_warp_barrier(int line) { warp_collect(&(warp_call){.op = OP_SYNC, .line = line}); }

uint64_t emu_shuffle(uint64_t bits, int mode, int arg, int width, int line) {
  warp_collect(&(warp_call){.op = OP_SHUFFLE, .line = line, .i0 = mode, .i1 = arg, .i2 = width, .bits = bits});
  return S.now->call.bits;
}

uint64_t emu_ballot(int predicate, int line) {
  warp_collect(&(warp_call){.op = OP_BALLOT, .line = line, .i0 = predicate});
  return S.now->call.bits;
}

int emu_elect(int line) {
  warp_collect(&(warp_call){.op = OP_ELECT, .line = line});
  return (int)S.now->call.bits;
}
