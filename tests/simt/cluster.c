/* tests/simt/cluster.c - what the blocks of a cluster do to each other: its barrier in two halves (PTX ISA,
 * "barrier.cluster") and stores into another block's shared memory. Such a store needs the other block to have begun,
 * which only a cluster barrier tells, and a block must not exit before it knows of the last store into it. */
#include <string.h>

#include "tests/simt/sim.h"

void emu_cluster_arrive(int line) {
  sim_thread *t = S.now;
  if (t->cluster_arrivals++ > t->cluster_waits) {
    sim_find(EMU_DIVERGENT, line, 0, "arrives at the cluster barrier again without having waited for it");
    sim_stop();
  }
  clock_join(S.cluster_gather, t->clock);
  clock_tick(t);
  if (++S.n_cluster < S.n_threads) return;
  S.n_cluster = 0;
  S.cluster_phase++;
  memcpy(S.cluster_done, S.cluster_gather, (size_t)S.n_comp * 4);
  memset(S.cluster_gather, 0, (size_t)S.n_comp * 4);
}

void emu_cluster_wait(int line) {
  sim_thread *t = S.now;
  if (t->cluster_waits >= t->cluster_arrivals) {
    sim_find(EMU_DIVERGENT, line, 0, "waits for the cluster barrier without having arrived");
    sim_stop();
  }
  if (t->cluster_waits >= S.cluster_phase) sim_block_on(WAIT_CLUSTER, NULL, line);
  t->cluster_waits++;
  clock_join(t->clock, S.cluster_done);
  clock_tick(t);
}

void emu_cluster_sync(int line) {
  emu_cluster_arrive(line);
  emu_cluster_wait(line);
}

/* Has t heard of any thread of b? Every thread's own clock starts at 1. */
static bool knows(const sim_thread *t, const sim_block *b) {
  for (int i = 0; i < b->n_threads; i++)
    if (t->clock[b->threads[i].id]) return true;
  return false;
}

void emu_cluster_store(void *p, int rank, const void *v, int bytes, int line) {
  sim_thread *t = S.now;
  uint32_t at = shadow_offset(p, bytes, line);
  if (rank < 0 || rank >= S.n_blocks || at % (unsigned)bytes) {
    sim_find(EMU_BAD_ARGUMENT, line, 0, "%d bytes to shared byte %u of block %d in a cluster of %d", bytes, at, rank,
             S.n_blocks);
    sim_stop();
  }
  sim_block *b = &S.blocks[rank];
  if (!b->n_live) {
    sim_find(EMU_EXIT_PENDING, line, 0, "stores to block %d of the cluster, which has exited", rank);
    sim_stop();
  }
  if (!knows(t, b)) sim_find(EMU_RACE, line, 0, "stores to block %d of the cluster, which may not have begun", rank);
  if (b != t->block) {
    b->stored[t->block->rank].thread = t->id;
    b->stored[t->block->rank].clock = t->clock[t->id];
    b->stored[t->block->rank].line = line;
  }
  memcpy(b->shared + at, v, (size_t)bytes);
  shadow_shared(t, b, at, bytes, true, line);
}

void cluster_block_exit(sim_block *b) {
  for (int r = 0; r < S.n_blocks; r++) {
    bool known = !b->stored[r].clock;
    for (int t = 0; t < b->n_threads && !known; t++)
      known = b->threads[t].clock[b->stored[r].thread] >= b->stored[r].clock;
    if (!known)
      sim_find(EMU_EXIT_PENDING, b->stored[r].line, 0,
               "block %d of the cluster exits without waiting for this store from block %d", b->rank, r);
  }
}
