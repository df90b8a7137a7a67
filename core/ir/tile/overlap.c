/* core/ir/tile/overlap.c - see tile/overlap.h. */
#include "core/ir/tile/overlap.h"

#include <string.h>

#include "core/ir/tile/tile.h"

static bool uses(const ir_op *op, const ir_value *v) {
  for (int i = 0; i < op->n_operands; i++)
    if (op->operands[i] == v) return true;
  for (int r = 0; r < op->n_regions; r++)
    for (const ir_op *o = op->regions[r]->first; o; o = o->next)
      if (uses(o, v)) return true;
  return false;
}

static const ir_value *sums_of(const ir_op *loop, const tile_overlap *o) {
  return loop->regions[0]->args[1 + o->carried];
}

/* Marks what depends on the sums that the loop carries; false if there are too many ops. */
static bool mark_late(const ir_op *loop, tile_overlap *o) {
  const ir_op *late[TILE_OVERLAP_MOST];
  int n = 0, at = 0;
  for (const ir_op *op = loop->regions[0]->first; op; op = op->next, at++) {
    if (at == TILE_OVERLAP_MOST) return false;
    o->late[at] = uses(op, sums_of(loop, o));
    for (int i = 0; i < n && !o->late[at]; i++)
      for (int k = 0; k < late[i]->n_results; k++) o->late[at] |= uses(op, late[i]->results[k]);
    if (o->late[at]) late[n++] = op;
  }
  return true;
}

static bool is_late(const tile_overlap *o, const ir_op *op) {
  int at = 0;
  for (const ir_op *before = op->parent->first; before != op; before = before->next) at++;
  return o->late[at];
}

static bool needs_sums(const ir_op *loop, const tile_overlap *o, const ir_value *v) {
  return v == sums_of(loop, o) || (v->def && v->def->parent == loop->regions[0] && is_late(o, v->def));
}

/* The gemms of the body, up to a third one. */
static int find_gemms(const ir_op *loop, tile_overlap *o) {
  int n = 0;
  for (ir_op *op = loop->regions[0]->first; op && n < 3; op = op->next) {
    if (op->def->code != T_GEMM || op->n_operands != 3 || op->n_results != 1) continue;
    if (n == 0) o->head = op;
    if (n == 1) o->tail = op;
    n++;
  }
  return n;
}

/* Why the value is none that the loop's second gemm alone adds to; NULL: it is. */
static const char *refusal(const ir_op *loop, const tile_overlap *o) {
  const ir_op *yield = loop->regions[0]->last;
  const ir_value *left = o->tail->operands[1];
  int users = 0;
  if (yield->operands[o->carried] != o->tail->results[0]) return "the second gemm doesn't make that value";
  for (const ir_op *op = loop->regions[0]->first; op; op = op->next) users += uses(op, o->tail->results[0]);
  if (users != 1) return "what the second gemm makes is read in the step";
  if (is_late(o, o->head)) return "the first gemm needs that value";
  if (!needs_sums(loop, o, o->tail->operands[0])) return "the second gemm doesn't add to that value";
  if (!left->def || left->def->parent != loop->regions[0]) return "its left operand isn't made in the step";
  if (needs_sums(loop, o, left)) return "the second gemm's left operand needs that value";
  for (int i = 0; i < yield->n_operands; i++)
    if (i != o->carried && needs_sums(loop, o, yield->operands[i])) return "another value needs that one";
  return NULL;
}

bool tile_overlap_get(const ir_op *loop, tile_overlap *o) {
  const ir_op *yield = loop->regions[0]->last;
  const int64_t said = ir_get_int(loop, "overlap", -1);
  memset(o, 0, sizeof *o);
  if (find_gemms(loop, o) != 2) return false;
  for (int i = 0; i < yield->n_operands && said < 0; i++)
    if (yield->operands[i] == o->tail->results[0]) o->carried = i;
  if (said >= 0) o->carried = (int)said;
  return loop->n_results && mark_late(loop, o) && (said >= 0 || !refusal(loop, o));
}

tsr_status tile_verify_overlap(const ir_op *loop) {
  const int64_t said = ir_get_int(loop, "overlap", -1);
  const ir_block *b = loop->regions[0];
  const char *why = NULL;
  tile_overlap o = {0};
  if (!ir_get_attr(loop, "overlap")) return NULL;
  if (!b->last || b->last->n_operands != loop->n_results || b->n_args != 1 + loop->n_results)
    why = "it doesn't yield what it carries";
  else if (said < 0 || said >= loop->n_results) why = "it carries no such value";
  else if (find_gemms(loop, &o) != 2) why = "its body doesn't have two gemms";
  o.carried = (int)said;
  if (!why && !mark_late(loop, &o)) why = "its body has too many ops";
  if (!why) why = refusal(loop, &o);
  return why ? ir_error(loop, "leave the attribute out", "overlap = %lld: %s", (long long)said, why) : NULL;
}
