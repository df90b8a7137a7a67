/* core/passes/tile/gather.c - the family of gathers: every block computes one tile of the result, whose elements come
 * from places that indices in memory name. */
#include "core/base/int_math.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/tile/indexed.h"

/* What each axis of the result moves in. */
static kb_stride_rows strides_of(const ix_kernel *q) {
  kb_stride_rows rows = {.n = N_IX};
  for (int d = 0; d < q->x.rank; d++) {
    const int t = q->x.of_table[d], i = q->x.of_indices[d];
    rows.v[IX_TABLE][d] = t < 0 ? 0 : q->mem[IX_TABLE].strides[t];
    rows.v[IX_INDICES][d] = i < 0 ? 0 : q->mem[IX_INDICES].strides[i];
    rows.v[IX_SPACE][d] = q->mem[IX_SPACE].strides[d];
    rows.v[IX_OUT][d] = 0;
  }
  return rows;
}

tsr_status family_gather(kb_kernel *k) {
  ix_kernel q;
  kb_space s;
  TSR_TRY(ix_begin(k, GRAPH_GATHER, &q));
  const kb_stride_rows rows = strides_of(&q);
  kb_space_make(&s, k->src->results[0]->type, q.x.rank, &rows);
  const int64_t elements =
      k->params.m > 0 ? k->params.m * max64(1, k->params.n) : sched_block_elements(k->opts->caps);
  s.tn = max64(1, min64(s.dims[s.rank - 1], elements));
  s.tm = max64(1, min64(s.dims[s.rank - 2], elements / s.tn));
  if (!kb_note_tile(k, s.tm, s.tn, 1)) return st_oom();
  TSR_TRY(kb_space_grid(k, &s));
  ix_add_tile(&q, &s, &rows);
  ir_value *tile;
  int64_t strides[TSR_MAX_RANK + 2];
  TSR_TRY(ix_gather(k, &q, IX_TABLE, true, s.tm, s.tn, &tile));
  kb_space_strides(&q.mem[IX_SPACE], &s, FORM_FULL, strides);
  return kb_store(k, tile, &q.mem[IX_SPACE], &s, strides);
}
