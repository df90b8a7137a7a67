/* tests/simt/tma.c - bulk tensor copies. A load reads its box when it lands, which is as late as possible: only when no
 * thread can run. Until then the destination holds NaN. A store is read and written at the wait for its group. Layout
 * in shared memory: the box densely, innermost dimension first; a swizzle of 128, 64 or 32 bytes exclusive-ors address
 * bits 4.. with bits 7.. (3, 2 or 1 of them) (PTX ISA, "Tensor swizzling modes"; CUDA driver API,
 * cuTensorMapEncodeTiled for the limits). */
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"

static uint32_t swizzled(uint32_t at, int swizzle) {
  uint32_t mask = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
  return at ^ ((at >> 7 & mask) << 4);
}

const char *emu_tensor_map_make(emu_tensor_map *m, void *base, int elem_bytes, int rank, const int64_t *dims,
                                const int64_t *strides, const int *box, int swizzle) {
  *m = (emu_tensor_map){.base = base, .rank = rank, .swizzle = swizzle, .elem_bytes = (int16_t)elem_bytes};
  if (rank < 1 || rank > 5) return "rank must be 1 to 5";
  if ((uintptr_t)base % 16) return "the base address must be a multiple of 16";
  for (int i = 0; i < rank; i++) {
    m->dims[i] = dims[i];
    m->strides[i] = i ? strides[i] : elem_bytes;
    m->box[i] = (int16_t)box[i];
    if (dims[i] < 1 || dims[i] > 1ll << 32) return "an extent is out of range";
    if (box[i] < 1 || box[i] > 256) return "a box extent must be 1 to 256";
    if (i && (strides[i] % 16 || strides[i] < 1)) return "a stride must be a multiple of 16 bytes";
  }
  if (box[0] * elem_bytes % 16) return "the box's inner extent must be a multiple of 16 bytes";
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) return "no such swizzle";
  if (swizzle && box[0] * elem_bytes > swizzle) return "the box's inner extent is wider than the swizzle";
  return NULL;
}

static int box_elements(const emu_tensor_map *m) {
  int n = 1;
  for (int i = 0; i < m->rank; i++) n *= m->box[i];
  return n;
}

/* Global address of the n-th element of the box, NULL outside the tensor. */
static uint8_t *element(const tma_op *o, int n) {
  uint8_t *p = o->map.base;
  for (int i = 0; i < o->map.rank; i++) {
    int64_t c = o->coord[i] + n % o->map.box[i];
    n /= o->map.box[i];
    if (c < 0 || c >= o->map.dims[i]) return NULL;
    p += c * o->map.strides[i];
  }
  return p;
}

static void check_global(const tma_op *o, bool write) {
  int n = box_elements(&o->map);
  for (int i = 0; i < n; i++) {
    uint8_t *p = element(o, i);
    if (p) shadow_global(p, o->map.elem_bytes, write, o->line);
  }
}

static uint32_t check_shared(const emu_tensor_map *m, const void *shared, int rank, int line) {
  int bytes = box_elements(m) * m->elem_bytes;
  uint32_t at = shadow_offset(shared, bytes, line);
  if (rank != m->rank) sim_find(EMU_BAD_ARGUMENT, line, 0, "%d coordinates for a tensor of rank %d", rank, m->rank);
  if (at % 128) {
    sim_find(EMU_MISALIGNED, line, 0, "bulk copy at shared byte %u, which must be 128-aligned", at);
    sim_stop();
  }
  if (rank != m->rank) sim_stop();
  return at;
}

static tma_op *push(const tma_op *o) {
  if (S.n_tma == S.cap_tma) {
    S.cap_tma = S.cap_tma ? 2 * S.cap_tma : 16;
    S.tma = realloc(S.tma, (size_t)S.cap_tma * sizeof *S.tma);
    if (!S.tma) abort();
  }
  S.tma[S.n_tma] = *o;
  return &S.tma[S.n_tma++];
}

static void load_to(const tma_op *load, sim_block *to, uint32_t bar_at) {
  tma_op o = *load;
  o.block = to;
  o.bar = o.block->n_live ? mbar_at(o.block, bar_at) : NULL;
  if (!o.bar) {
    sim_find(o.block->n_live ? EMU_MBARRIER : EMU_EXIT_PENDING, o.line, 0, "bulk copy to block %d, which %s",
             o.block->rank, o.block->n_live ? "has no mbarrier there" : "has exited");
    sim_stop();
  }
  if (!o.bar->fenced)
    sim_find(
        EMU_ASYNC_FENCE, o.line, 0,
        "the mbarrier at shared byte %u is used by a bulk copy with no fence_mbarrier_init after its initialisation",
        bar_at);
  if (S.now->clock[o.bar->init_thread] < o.bar->init_clock)
    sim_find(EMU_RACE, o.line, 0,
             "bulk copy completes on the mbarrier of block %d with nothing between this and its initialisation",
             o.block->rank);
  shadow_async_begin(S.now, o.block, o.at, box_elements(&o.map) * o.map.elem_bytes, o.line);
  push(&o);
}

void emu_tma_load(const emu_tensor_map *m, void *shared, void *bar, const int *coords, int rank, int multicast,
                  int line) {
  tma_op o = {.map = *m, .block = S.now->block, .at = check_shared(m, shared, rank, line), .by = S.now, .line = line};
  uint32_t bar_at = shadow_offset(bar, 8, line);
  memcpy(o.coord, coords, (size_t)rank * sizeof *coords);
  check_global(&o, false);
  if (multicast >> S.n_blocks) {
    sim_find(EMU_BAD_ARGUMENT, line, 0, "multicast to 0x%x in a cluster of %d", multicast, S.n_blocks);
    sim_stop();
  }
  for (int r = 0; r < S.n_blocks; r++)
    if (multicast ? multicast >> r & 1 : r == S.now->block->rank) load_to(&o, &S.blocks[r], bar_at);
}

static void land_load(tma_op *o) {
  int n = box_elements(&o->map), e = o->map.elem_bytes;
  for (int i = 0; i < n; i++) {
    uint8_t *p = element(o, i), *to = o->block->shared + swizzled(o->at + (uint32_t)(i * e), o->map.swizzle);
    if (p) memcpy(to, p, (size_t)e);
    else memset(to, 0, (size_t)e);
  }
  shadow_async_end(NULL, o->bar->agent, o->block, o->at, n * e, o->line);
  o->landed = true;
  mbar_complete_tx(o->bar, (long)n * e);
}

bool tma_land_one(void) {
  bool newest = S.d->seed % 4 >= 2;
  tma_op *o = NULL;
  for (int i = 0; i < S.n_tma; i++)
    if (!S.tma[i].store && !S.tma[i].landed && (!o || newest)) o = &S.tma[i];
  if (!o) return false;
  land_load(o);
  return true;
}

void emu_tma_store(const emu_tensor_map *m, const void *shared, const int *coords, int rank, int line) {
  tma_op o = {.store = true,
              .map = *m,
              .block = S.now->block,
              .at = check_shared(m, shared, rank, line),
              .by = S.now,
              .group = S.now->store_group,
              .line = line};
  memcpy(o.coord, coords, (size_t)rank * sizeof *coords);
  shadow_async_read(S.now, o.block, o.at, box_elements(m) * m->elem_bytes, line);
  push(&o);
}

void emu_tma_commit(int line) { S.now->store_group++; }

static void land_store(tma_op *o) {
  int n = box_elements(&o->map), e = o->map.elem_bytes;
  check_global(o, true);
  for (int i = 0; i < n; i++) {
    uint8_t *p = element(o, i);
    if (p) memcpy(p, o->block->shared + swizzled(o->at + (uint32_t)(i * e), o->map.swizzle), (size_t)e);
  }
  shadow_async_read_end(o->by, o->block, o->at, n * e, o->line);
  o->landed = true;
}

void emu_tma_wait(int pending, int read_only, int line) {
  for (int i = 0; i < S.n_tma; i++) {
    tma_op *o = &S.tma[i];
    if (o->store && o->by == S.now && !o->landed && o->group < S.now->store_group - pending) land_store(o);
  }
}

void tma_block_exit(sim_block *b) {
  for (int i = 0; i < S.n_tma; i++) {
    tma_op *o = &S.tma[i];
    if (o->block != b || o->landed) continue;
    sim_find(EMU_EXIT_PENDING, o->line, 0,
             "block %d of the cluster exits while a bulk copy %s its shared memory is in flight", b->rank,
             o->store ? "from" : "to");
    if (o->store) land_store(o);
    o->landed = true;
  }
}
