/* core/ir/tile/pipelined.c - see tile/pipelined.h. */
#include "core/ir/tile/pipelined.h"

#include <string.h>

#include "core/ir/tile/overlap.h"
#include "core/ir/tile/tile.h"

bool tile_is_address_op(const ir_op *op) {
  const int code = op->def->code;
  return ir_is_scalar(op) || code == T_CONST || code == T_BLOCK_ID || code == T_WINDOW || code == T_VIEW;
}

static bool fills_tile(const ir_op *op) {
  return op->n_operands == 2 && (op->def->code == T_COPY || (op->def->code == T_GATHER && !op->n_results));
}

/* Wait and producers, whatever else stands there. */
static void find_parts(const ir_op *loop, tile_pipelined *p) {
  memset(p, 0, sizeof *p);
  for (ir_op *op = loop->regions[0]->first; op && !p->wait; op = op->next) {
    if (op->def->code == T_WAIT) p->wait = op;
    if (!fills_tile(op) || p->n == TILE_PIPELINED_MOST) continue;
    p->producer[p->n] = op;
    p->tile[p->n++] = op->operands[1];
  }
}

static bool writes_memory(const ir_op *op) {
  const int code = op->def->code;
  if (fills_tile(op) || code == T_STORE || code == T_SCATTER || code == T_DFT || code == T_BARRIER ||
      code == T_WAIT)
    return true;
  for (int r = 0; r < op->n_regions; r++)
    for (const ir_op *o = op->regions[r]->first; o; o = o->next)
      if (writes_memory(o)) return true;
  return false;
}

static int uses_inside(const ir_block *b, const ir_value *v) {
  int n = 0;
  for (const ir_op *o = b->first; o; o = o->next) {
    for (int i = 0; i < o->n_operands; i++) n += o->operands[i] == v;
    for (int r = 0; r < o->n_regions; r++) n += uses_inside(o->regions[r], v);
  }
  return n;
}

/* Why the parts make no such loop; NULL: they do. */
static const char *refusal(const ir_op *loop, const tile_pipelined *p) {
  int n = 0;
  const ir_op *op = loop->regions[0]->first;
  if (!p->wait) return "there is no wait";
  if (ir_get_int(p->wait, "pending", 0)) return "the wait leaves copies running";
  for (; op != p->wait; op = op->next) {
    if (n < p->n && op == p->producer[n]) n++;
    else if (!tile_is_address_op(op)) return "before the wait stands something else than addresses and copies";
  }
  if (!n) return "nothing is copied before the wait";
  for (int i = 0; i < p->n; i++) {
    if (p->tile[i]->type->kind != IR_T_SHARED || !p->tile[i]->def ||
        p->producer[i]->operands[0]->type->kind != IR_T_VIEW)
      return "a copy is not from memory into a tile of the block";
    if (uses_inside(loop->regions[0], p->tile[i]) != p->tile[i]->n_uses) return "a tile is used outside the loop";
  }
  for (op = p->wait->next; op; op = op->next)
    if (writes_memory(op)) return "memory is written behind the wait";
  return NULL;
}

bool tile_pipelined_get(const ir_op *loop, tile_pipelined *out) {
  find_parts(loop, out);
  return ir_get_bool(loop, "pipelined", false) || !refusal(loop, out);
}

tsr_status tile_verify_for(const ir_op *op) {
  tile_pipelined p;
  TSR_TRY(tile_verify_overlap(op));
  if (!ir_get_bool(op, "pipelined", false)) return NULL;
  find_parts(op, &p);
  const char *why = refusal(op, &p);
  return why ? ir_error(op, "leave the attribute out", "is not pipelined: %s", why) : NULL;
}
