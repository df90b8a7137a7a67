/* core/ir/layout.c - see ir/layout.h. */
#include "core/ir/layout.h"

#include "core/ir/shard.h"

_Static_assert(TSR_MAX_RANK <= 10, "a digit for each dimension");

const char *ir_layout_fault(const int64_t *order, int n, int rank) {
  bool seen[TSR_MAX_RANK] = {false};
  if (n != rank) return "layout needs one number for each dimension";
  for (int i = 0; i < n; i++) {
    if (order[i] < 0 || order[i] >= rank) return "layout names a dimension that the tensor doesn't have";
    if (seen[order[i]]) return "layout names a dimension twice";
    seen[order[i]] = true;
  }
  return NULL;
}

const char *ir_layout_make(arena *a, const int64_t *order, int n) {
  char text[TSR_MAX_RANK + 1] = {0};
  for (int i = 0; i < n; i++) text[i] = (char)('0' + order[i]);
  return arena_str(a, text);
}

bool ir_layout_is_row_major(const char *layout) {
  for (int i = 0; layout[i]; i++)
    if (ir_layout_dim(layout, i) != i) return false;
  return true;
}

void ir_placed_type_print(strb *b, const ir_type *t, const char *layout, const char *shard) {
  ir_type_print(b, t);
  if (b->failed || !b->n) return;
  b->p[--b->n] = 0; /* the '>' */
  strb_puts(b, ", {");
  if (layout) {
    strb_puts(b, "layout = [");
    for (int i = 0; layout[i]; i++) strb_printf(b, i ? ", %d" : "%d", ir_layout_dim(layout, i));
    strb_putc(b, ']');
  }
  if (shard) {
    if (layout) strb_puts(b, ", ");
    ir_shard_print(b, shard);
  }
  strb_puts(b, "}>");
}
