/* core/dist/memory.c - see memory.h. */
#include "core/dist/memory.h"

#include "core/dist/order.h"

enum { ALIGN = 256 };

static bool in_workspace(const dist_slot *x) { return x->input < 0 && x->output < 0 && x->bytes; }

/* The lowest offset that no slot placed before, still in use, takes. */
static size_t place(const dist_schedule *s, const dist_before *b, const int *last, int slot) {
  size_t at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < s->n_slots; i++) {
      const dist_slot *x = &s->slots[i];
      if (i == slot || !in_workspace(x) || x->writer > s->slots[slot].writer ||
          (x->writer == s->slots[slot].writer && i > slot))
        continue;
      if (at >= x->offset + x->bytes || x->offset >= at + s->slots[slot].bytes ||
          dist_still_used(b, last, i, s->slots[slot].writer) < 0)
        continue;
      at = (x->offset + x->bytes + ALIGN - 1) / ALIGN * ALIGN;
      moved = true;
    }
  }
  return at;
}

bool dist_memory_make(dist_schedule *s) {
  const dist_before b = dist_before_make(&s->arena, s);
  const int *last = dist_last_users(&s->arena, s);
  if (!b.bits || !last) return false;
  for (int w = 0; w < s->n_steps; w++)
    for (int i = 0; i < s->n_slots; i++) {
      dist_slot *x = &s->slots[i];
      if (x->writer != w || !in_workspace(x)) continue;
      x->offset = place(s, &b, last, i);
      if (x->offset + x->bytes > s->workspace) s->workspace = x->offset + x->bytes;
    }
  return true;
}
