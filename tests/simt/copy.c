/* tests/simt/copy.c - cp.async: data lands in shared memory only at the wait for its group; until then the destination
 * holds NaN and belongs to the copy (PTX ISA, "cp.async.commit_group / cp.async.wait_group"). Also the fences. */
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"

void emu_cp_async(void *shared, const void *global, int bytes, int valid, int line) {
  sim_thread *t = S.now;
  if ((bytes != 4 && bytes != 8 && bytes != 16) || valid < 0 || valid > bytes) {
    sim_find(EMU_BAD_ARGUMENT, line, 0, "cp.async of %d bytes, %d valid", bytes, valid);
    sim_stop();
  }
  uint32_t at = shadow_offset(shared, bytes, line);
  if (at % (unsigned)bytes || (valid && (uintptr_t)global % (unsigned)bytes)) {
    sim_find(EMU_MISALIGNED, line, 0, "cp.async of %d bytes from %p to shared byte %u", bytes, global, at);
    sim_stop();
  }
  if (valid) shadow_global(global, valid, false, line);
  shadow_async_begin(t, t->block, at, bytes, line);
  if (t->n_copies == t->cap_copies) {
    t->cap_copies = t->cap_copies ? 2 * t->cap_copies : 16;
    t->copies = realloc(t->copies, (size_t)t->cap_copies * sizeof *t->copies);
    if (!t->copies) abort();
  }
  t->copies[t->n_copies++] = (copy_op){shared, global, bytes, valid, t->copy_group, line};
}

void emu_cp_commit(int line) { S.now->copy_group++; }

void emu_cp_wait(int pending, int line) {
  sim_thread *t = S.now;
  int n = 0;
  for (; n < t->n_copies && t->copies[n].group < t->copy_group - pending; n++) {
    copy_op *c = &t->copies[n];
    memset(c->to, 0, (size_t)c->bytes);
    memcpy(c->to, c->from, (size_t)c->valid);
    shadow_async_end(t, 0, t->block, (uint32_t)(c->to - t->block->shared), c->bytes, c->line);
  }
  memmove(t->copies, t->copies + n, (size_t)(t->n_copies - n) * sizeof *t->copies);
  t->n_copies -= n;
}

void emu_fence(int kind, int line) {
  sim_thread *t = S.now;
  if (kind == EMU_FENCE_ASYNC_PROXY) memcpy(t->fence_clock, t->clock, (size_t)S.n_comp * 4);
  for (int i = 0; i < S.n_bars; i++)
    if (S.bars[i].init_thread == t->id) S.bars[i].fenced = true;
  clock_tick(t);
}
