/* tests/simt/mbar.c - mbarriers: phases that complete when all arrivals and all expected bytes are in (PTX ISA,
 * "Parallel Synchronization and Communication Instructions: mbarrier"). A wait by parity returns once the phase of that
 * parity is over. */
#include <string.h>

#include "tests/simt/sim.h"

enum { MAX_COUNT = (1 << 20) - 1 };

sim_mbar *mbar_at(sim_block *b, uint32_t at) {
  for (int i = 0; i < S.n_bars; i++)
    if (S.bars[i].block == b && S.bars[i].at == at) return &S.bars[i];
  return NULL;
}

bool mbar_ready(const sim_mbar *m, int parity) { return (int)(m->phase & 1) != parity; }

static void check_phase(sim_mbar *m) {
  if (m->pending || m->tx) return;
  m->phase++;
  m->pending = m->count;
  memcpy(m->done, m->gather, (size_t)S.n_comp * 4);
  m->done[m->agent] = m->phase;
  memset(m->gather, 0, (size_t)S.n_comp * 4);
}

void mbar_complete_tx(sim_mbar *m, long bytes) {
  m->tx -= bytes;
  check_phase(m);
}

void emu_mbar_init(void *bar, int count, int line) {
  sim_thread *t = S.now;
  uint32_t at = shadow_offset(bar, 8, line);
  if (at % 8 || count < 1 || count > MAX_COUNT) {
    sim_find(EMU_BAD_ARGUMENT, line, 0, "mbarrier of %d arrivals at shared byte %u", count, at);
    sim_stop();
  }
  sim_mbar *m = mbar_at(t->block, at);
  if (m) {
    sim_find(EMU_MBARRIER, line, 0, "the mbarrier at shared byte %u is initialised again", at);
  } else {
    if (S.n_bars == SIM_MAX_BARS) sim_stop();
    m = &S.bars[S.n_bars];
    uint32_t *gather = m->gather, *done = m->done;
    *m = (sim_mbar){.block = t->block, .at = at, .agent = S.n_threads + S.n_bars++, .gather = gather, .done = done};
  }
  shadow_mbar(t->block, at);
  memset(m->gather, 0, (size_t)S.n_comp * 4);
  memset(m->done, 0, (size_t)S.n_comp * 4);
  m->count = m->pending = count;
  m->tx = 0;
  m->phase = 0;
  m->fenced = false;
  m->init_thread = t->id;
  m->init_clock = t->clock[t->id];
}

/* The barrier at this address in block `rank` (-1 = this one); stops the launch where there is none. */
static sim_mbar *find(void *bar, int rank, int line) {
  sim_thread *t = S.now;
  uint32_t at = shadow_offset(bar, 8, line);
  sim_block *b = t->block;
  if (rank >= S.n_blocks) {
    sim_find(EMU_BAD_ARGUMENT, line, 0, "block %d of a cluster of %d", rank, S.n_blocks);
    sim_stop();
  }
  if (rank >= 0) b = &S.blocks[rank];
  if (!b->n_live) {
    sim_find(EMU_EXIT_PENDING, line, 0, "the mbarrier is in block %d of the cluster, which has exited", b->rank);
    sim_stop();
  }
  sim_mbar *m = mbar_at(b, at);
  if (!m) {
    sim_find(EMU_MBARRIER, line, 0, "no mbarrier was initialised at shared byte %u of block %d", at, b->rank);
    sim_stop();
  }
  if (t->clock[m->init_thread] < m->init_clock)
    sim_find(EMU_RACE, line, 0,
             "the mbarrier at shared byte %u is used with nothing between this and its initialisation", at);
  return m;
}

static void arrive(sim_mbar *m, int count, int line) {
  sim_thread *t = S.now;
  if (count > m->pending) {
    sim_find(EMU_MBARRIER, line, 0,
             "more arrivals in a phase than the %d that the mbarrier at shared byte %u was initialised for", m->count,
             m->at);
    sim_stop();
  }
  m->pending -= count;
  clock_join(m->gather, t->clock);
  clock_tick(t);
  check_phase(m);
}

void emu_mbar_expect(void *bar, int bytes, int line) {
  sim_mbar *m = find(bar, -1, line);
  if (bytes < 0 || m->tx + bytes > MAX_COUNT)
    sim_find(EMU_MBARRIER, line, 0, "%ld bytes expected in one phase, at most %d can be", m->tx + bytes, MAX_COUNT);
  m->tx += bytes;
  arrive(m, 1, line);
}

void emu_mbar_arrive(void *bar, int count, int rank, int line) {
  sim_mbar *m = find(bar, rank, line);
  int from = S.now->block->rank;
  if (m->block->rank != from) {
    m->remote[from].thread = S.now->id;
    m->remote[from].clock = S.now->clock[S.now->id];
    m->remote[from].line = line;
  }
  arrive(m, count, line);
}

/* A block may exit only when it knows that no other block will still arrive on its barriers. */
void mbar_block_exit(sim_block *b) {
  for (int i = 0; i < S.n_bars; i++)
    for (int r = 0; r < S.n_blocks && S.bars[i].block == b; r++) {
      const sim_mbar *m = &S.bars[i];
      bool known = !m->remote[r].clock;
      for (int t = 0; t < b->n_threads && !known; t++)
        known = b->threads[t].clock[m->remote[r].thread] >= m->remote[r].clock;
      if (!known)
        sim_find(EMU_EXIT_PENDING, m->remote[r].line, 0,
                 "block %d of the cluster exits without waiting for this arrival from block %d", b->rank, r);
    }
}

int emu_mbar_test(void *bar, int parity, int line) {
  sim_mbar *m = find(bar, -1, line);
  if (!mbar_ready(m, parity)) return 0;
  clock_join(S.now->clock, m->done);
  return 1;
}

void emu_mbar_wait(void *bar, int parity, int line) {
  sim_mbar *m = find(bar, -1, line);
  if (parity != 0 && parity != 1) sim_find(EMU_BAD_ARGUMENT, line, 0, "parity %d", parity);
  if (!mbar_ready(m, parity)) {
    S.now->wait_parity = parity;
    sim_block_on(WAIT_MBAR, m, line);
  }
  clock_join(S.now->clock, m->done);
}
