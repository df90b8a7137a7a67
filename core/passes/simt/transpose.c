/* core/passes/simt/transpose.c - fragments that change hands: transposes and reshapes through shared memory. */
#include <string.h>

#include "core/passes/simt/layout.h"
#include "core/passes/simt/memory.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/state.h"
#include "core/passes/simt/transpose.h"

/* Stores f to scratch as `to`, reads it back in the layout of `result` as `from` (both describe the same bytes). */
static tsr_status through(simt *c, const simt_frag *f, const simt_mem *to, const simt_mem *from, ir_value *result) {
  tsr_status st = NULL;
  const simt_layout *l = simt_layout_of(c, result, &st);
  if (!l) return st;
  TSR_TRY(simt_store_frag(c, f, to));
  simt_val *s = simt_bind(c, result, SV_FRAG);
  if (!s) return st_oom();
  return simt_load_frag(c, from, l, result->type->dtype, &s->frag);
}

tsr_status simt_lower_transpose(simt *c, ir_op *op) {
  const simt_frag *f = &simt_of(op->operands[0])->frag;
  const ir_type *t = op->results[0]->type;
  int64_t perm[TSR_MAX_RANK];
  simt_mem from, to;
  ir_get_ints(op, "perm", perm, TSR_MAX_RANK);
  TSR_TRY(simt_scratch_tile(c, t->dtype, t->rank, t->dims, 1, &from));
  to = from;
  for (int d = 0; d < t->rank; d++) {
    to.dims[perm[d]] = from.dims[d];
    to.strides[perm[d]] = from.strides[d];
  }
  return through(c, f, &to, &from, op->results[0]);
}

tsr_status simt_lower_reshape(simt *c, ir_op *op) {
  const simt_frag *f = &simt_of(op->operands[0])->frag;
  const ir_type *a = op->operands[0]->type, *b = op->results[0]->type;
  simt_mem from, to;
  TSR_TRY(simt_scratch_tile(c, b->dtype, b->rank, b->dims, 0, &from));
  to = from;
  to.rank = a->rank;
  memcpy(to.dims, a->dims, sizeof to.dims);
  ir_type_strides(a, to.strides);
  return through(c, f, &to, &from, op->results[0]);
}
