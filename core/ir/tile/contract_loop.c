/* core/ir/tile/contract_loop.c - a contraction that a hand wrote as a loop:
 *   %0 = fill 0; for %k from, to, step, %0 { windows of a and b at %k; copies to shared tiles; wait; gemm }
 * read as the parts of a tessera.tile.contract (tile/contract.h), for the lowerings that take one whole. Every test is
 * conservative: what is not recognised is lowered op by op. */
#include <string.h>

#include "core/ir/tile/contract.h"
#include "core/ir/tile/tile.h"

static bool inside(const ir_op *op, const ir_op *loop) {
  for (; op; op = op->parent ? op->parent->parent : NULL)
    if (op == loop) return true;
  return false;
}

static bool invariant(const ir_value *v, const ir_op *loop) {
  return v->owner ? v->owner != loop->regions[0] : !inside(v->def, loop);
}

static bool is_zero_fill(const ir_value *v) {
  return v->def && v->def->def->code == T_FILL && ir_get_float(v->def, "value", 1) == 0;
}

/* Steps of the loop that are no arithmetic on tiles, and the one gemm. */
static ir_op *only_gemm(const ir_block *body) {
  ir_op *gemm = NULL;
  for (ir_op *o = body->first; o; o = o->next) {
    if (ir_is_scalar(o)) continue;
    switch (o->def->code) {
    case T_WINDOW: case T_VIEW: case T_WAIT: case T_BARRIER: case T_CONST: case T_YIELD: break;
    case T_COPY: /* into the tile that the gemm reads, and nothing else does */
      if (!o->operands[1]->def || o->operands[1]->def->def->code != T_ALLOC || o->operands[1]->n_uses != 2)
        return NULL;
      break;
    case T_GEMM:
      if (gemm) return NULL;
      gemm = o;
      break;
    default: return NULL;
    }
  }
  return gemm;
}

/* Where the window that feeds operand i of the gemm is named: there, or by the copy into the operand's tile. */
static ir_value **window_of(ir_op *gemm, int i, const ir_op *loop) {
  ir_value **at = &gemm->operands[i];
  if ((*at)->def && (*at)->def->def->code == T_ALLOC) {
    ir_op *copy = loop->regions[0]->first;
    while (copy && (copy->def->code != T_COPY || copy->operands[1] != *at)) copy = copy->next;
    if (!copy) return NULL;
    at = &copy->operands[0];
  }
  const ir_op *w = (*at)->def;
  return w && w->def->code == T_WINDOW && w->parent == loop->regions[0] && (*at)->type->rank == 2 ? at : NULL;
}

/* The offset along k is the counter, the others don't change in the loop, and a window is as long as a step. */
static bool moves_along_k(const tile_contract *c, contract_role side) {
  const ir_op *w = c->v[side][0]->def;
  int64_t sizes[TSR_MAX_RANK];
  const int n = ir_get_ints(w, "sizes", sizes, TSR_MAX_RANK), k = tile_contract_k_offset(c, side, 0);
  if (!invariant(w->operands[0], c->op)) return false;
  for (int i = 0; i < n; i++)
    if (i == k ? w->operands[1 + i] != c->counter : !invariant(w->operands[1 + i], c->op)) return false;
  return sizes[k] == c->k;
}

bool tile_contract_of_loop(const ir_op *loop, tile_contract *c) {
  *c = (tile_contract){.op = loop};
  if (loop->n_results != 1 || ir_get_attr(loop, "refused") || !is_zero_fill(loop->operands[3]) ||
      !tile_const_index(loop->operands[2], &c->k))
    return false;
  const ir_block *body = loop->regions[0];
  ir_op *gemm = only_gemm(body);
  if (!gemm || gemm->operands[0] != body->args[1] || body->args[1]->n_uses != 1 ||
      body->last->operands[0] != gemm->results[0])
    return false;
  const ir_type *sum = gemm->results[0]->type;
  c->from = loop->operands[0], c->to = loop->operands[1], c->counter = body->args[0];
  c->attrs = gemm;
  c->result = loop->results[0];
  c->sum = sum->dtype;
  c->m = sum->dims[0], c->n_ = sum->dims[1];
  c->swapped[0] = ir_get_bool(gemm, "transpose_a", false), c->swapped[1] = ir_get_bool(gemm, "transpose_b", false);
  for (int side = 0; side < 2; side++) {
    if (!(c->v[side] = window_of(gemm, 1 + side, loop))) return false;
    c->n[side] = 1;
    c->staged[side] = gemm->operands[1 + side]->type->dtype;
  }
  return c->k >= 1 && moves_along_k(c, CONTRACT_A) && moves_along_k(c, CONTRACT_B);
}
