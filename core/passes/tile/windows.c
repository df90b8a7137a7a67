/* core/passes/tile/windows.c - the family of windows that move over an image: every block writes one tile of the matrix
 * that they are. For those that are no operand of a product, which reads the image itself. */
#include <string.h>

#include "core/base/int_math.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/tile/unfold.h"

tsr_status family_windows(kb_kernel *k) {
  const ir_op *op = k->src->regions[0]->first;
  while (op && !graph_is_kind(op, GRAPH_WINDOWS)) op = op->next;
  if (!op) return ir_error(k->src, NULL, "holds no windows");
  ir_value *arg = k->op->regions[0]->args[k->src->n_operands], *v;
  kb_mem out = {.arg = arg, .dtype = arg->type->dtype, .rank = arg->type->rank};
  memcpy(out.dims, arg->type->dims, sizeof out.dims);
  ir_type_strides(arg->type, out.strides);
  kb_space s = {.orig_rank = out.rank, .rank = out.rank};
  for (int i = 0; i < s.rank; i++) s.dims[i] = out.dims[i], s.from[i] = i;
  const int64_t elements =
      k->params.m > 0 ? k->params.m * max64(1, k->params.n) : sched_block_elements(k->opts->caps);
  s.tn = max64(1, min64(s.dims[s.rank - 1], elements));
  s.tm = max64(1, min64(s.dims[s.rank - 2], elements / s.tn));
  if (!kb_note_tile(k, s.tm, s.tn, 1)) return st_oom();
  TSR_TRY(kb_space_grid(k, &s));
  TSR_TRY(kb_unfold(k, op, &s, false, &v));
  ir_op *g = unfold_gather(&k->b, v->def, v->def->operands + 1, kb_frag(k, kb_compute(out.dtype), s.tm, s.tn), NULL);
  if (!g) return st_oom();
  int64_t strides[TSR_MAX_RANK + 2];
  kb_space_strides(&out, &s, FORM_FULL, strides);
  return kb_store(k, g->results[0], &out, &s, strides);
}
