/* core/emit/spirv/repeat.c - loops inside the code of one scalar operation: do { x[] = step(x[]) } while (any component
 * goes on). */
#include "core/emit/spirv/mx.h"

mx_repeat mx_repeat_begin(emitter *e, uint32_t type, int n, const uint32_t *init) {
  uint32_t before = e->label, body = spv_id(&e->s);
  mx_repeat r = {.head = spv_id(&e->s), .cont = spv_id(&e->s), .merge = spv_id(&e->s), .n = n};
  SPV(&e->s, e->s.body, OpBranch, r.head);
  e_block(e, r.head);
  for (int i = 0; i < n; i++) {
    r.id[i] = spv_id(&e->s);
    SPV(&e->s, e->s.body, OpPhi, type, r.id[i], init[i], before, 0, r.cont);
    r.patch[i] = e->s.sec[e->s.body].n - 2;
  }
  SPV(&e->s, e->s.body, OpLoopMerge, r.merge, r.cont, 0);
  SPV(&e->s, e->s.body, OpBranch, body);
  e_block(e, body);
  return r;
}

void mx_repeat_end(emitter *e, const mx_repeat *r, int n, const uint32_t *next, uint32_t go_on) {
  uint32_t any = n == 1 ? go_on : VAL(&e->s, OpAny, e_bool(e), go_on);
  for (int i = 0; i < r->n; i++)
    if (spv_ok(&e->s)) e->s.sec[e->s.body].w[r->patch[i]] = next[i];
  SPV(&e->s, e->s.body, OpBranch, r->cont);
  e_block(e, r->cont);
  SPV(&e->s, e->s.body, OpBranchConditional, any, r->head, r->merge);
  e_block(e, r->merge);
}
