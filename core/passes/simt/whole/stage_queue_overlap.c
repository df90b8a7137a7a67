/* core/passes/simt/whole/stage_queue_overlap.c - sm_90a: softmax beside wgmma, in the loop of a stage queue
 * (simt/whole/stage_queue.c) that says it may be so or, written by hand, is found to be such a loop
 * (ir/tile/overlap.h). Within a warpgroup (FlashAttention-3, arXiv 2407.08608, section 3.2): iteration j issues its
 * first gemm (the scores), then the last gemm of iteration j - 1 (P times V), waits for the scores only and makes P
 * of them while the other still runs; what needs its sums (their rescaling) comes last. So the loop carries P and
 * the rescaled sums of the iteration before, its first iteration stands before it and the last gemm after it.
 * Between two warpgroups (ping-pong): named barriers let one issue its gemms while the other is at its softmax. A
 * stage is released one iteration later than without. */
#include <string.h>

#include "core/passes/simt/build.h"
#include "core/passes/simt/loop.h"
#include "core/passes/simt/registers.h"
#include "core/passes/simt/whole/stage_queue_state.h"
#include "core/passes/target/build.h"

#define NAME(s) "tessera.target." s

/* ---- what fits --------------------------------------------------------------------------------------------------- */

void simt_stage_queue_plan_overlap(struct simt_stage_queue *r, int registers) {
  if (!tile_overlap_get(r->loop, &r->overlap)) return;
  const ir_op *tail = r->overlap.tail;
  if (simt_stage_queue_tile(r, tail->operands[1])) return; /* A comes from registers */
  r->overlaps = r->sums + simt_gemm_of(tail).k / 4 <= registers; /* A of two iterations */
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

typedef struct overlap {
  ir_op *op;          /* the loop in Tile IR */
  simt_gemm head, tail;
  simt_frag *shape;   /* of what the loop carries */
  ir_value **v;       /* that, flattened; then A of the last gemm; then stage and phase */
  int n, n_a, sums_at; /* sums_at: where the sums start in v */
} overlap;

static bool ping_pong(const struct simt_stage_queue *r) { return r->consumers == 2; }

/* Barrier 1 lets the first warpgroup issue, barrier 2 the second. `mine`: each its own, else each the other's. */
static void ping_pong_barrier(simt *c, bool mine, bool arrive, int only) {
  tgb t = {c->m, c->b};
  ir_value *group = sx_div(c, c->warp, sx_int(c, 4));
  t.b = c->b;
  for (int w = 0; w < 2; w++) {
    if (only >= 0 && w != only) continue;
    ir_op *branch = tg_if(&t, tg_compare(&t, "eq", group, tg_index(&t, w)));
    ir_op *bar = tg_op(&t, NAME("named_barrier"), NULL, 0, NULL);
    tg_int(&t, bar, "id", 1 + (mine ? w : 1 - w));
    tg_int(&t, bar, "threads", 2 * GROUP_THREADS);
    if (arrive) tg_flag(&t, bar, "arrive", true);
    tg_close(&t, branch);
  }
  c->b = t.b;
}

static tsr_status bind_frag(simt *c, ir_value *v, const simt_frag *f) {
  simt_val *s = simt_bind(c, v, SV_FRAG);
  if (!s) return st_oom();
  s->frag = *f;
  return NULL;
}

static tsr_status issue_tail(simt *c, const overlap *o, ir_value *stage, stage_queue_product *p) {
  struct simt_stage_queue *r = c->in->queue;
  ir_value *now = r->stage;
  r->stage = stage;
  const ir_value *sums = o->op->regions[0]->args[1 + r->overlap.carried];
  tsr_status st = simt_stage_queue_issue(c, &o->tail, &simt_of(sums)->frag, o->v + o->n, p);
  r->stage = now;
  return st;
}

static ir_value *stage_before(simt *c, ir_value *stage) {
  int stages = c->in->queue->stages;
  return sx_select(c, sx_compare(c, "eq", stage, sx_int(c, 0)), sx_int(c, stages - 1), sx_addi(c, stage, -1));
}

/* Both gemms under way; the scores are there after. */
static tsr_status issue_both(simt *c, const overlap *o, stage_queue_product *tail) {
  struct simt_stage_queue *r = c->in->queue;
  simt_frag acc, scores;
  stage_queue_product head;
  TSR_TRY(simt_regs(c, &simt_of(r->overlap.head->operands[0])->frag, &acc));
  if (ping_pong(r)) ping_pong_barrier(c, true, false, -1);
  TSR_TRY(simt_stage_queue_issue(c, &o->head, &acc, NULL, &head));
  TSR_TRY(issue_tail(c, o, stage_before(c, r->stage), tail));
  if (ping_pong(r)) ping_pong_barrier(c, false, true, -1);
  TSR_TRY(simt_stage_queue_finish(c, &head, 1, &scores));
  return bind_frag(c, r->overlap.head->results[0], &scores);
}

/* The ops of an iteration but its last gemm; in the loop with that of the one before. */
static tsr_status iteration(simt *c, overlap *o, bool in_loop) {
  struct simt_stage_queue *r = c->in->queue;
  ir_value *sums = o->op->regions[0]->args[1 + r->overlap.carried];
  simt_frag done, scaled;
  stage_queue_product tail;
  int at = 0;
  for (ir_op *op = o->op->regions[0]->first; op; op = op->next, at++) {
    if (r->overlap.late[at] || op == r->overlap.tail) continue;
    if (op == r->overlap.head && in_loop) TSR_TRY(issue_both(c, o, &tail));
    else TSR_TRY(c->in->lower(c, op));
  }
  TSR_TRY(simt_stage_queue_pack(c, &o->tail, &simt_of(r->overlap.tail->operands[1])->frag, o->v + o->n));
  if (in_loop) {
    TSR_TRY(simt_stage_queue_finish(c, &tail, 0, &done));
    TSR_TRY(bind_frag(c, sums, &done));
    simt_stage_queue_release(c, stage_before(c, r->stage));
  }
  at = 0;
  for (ir_op *op = o->op->regions[0]->first; op; op = op->next, at++)
    if (r->overlap.late[at] && op != r->overlap.tail && op->def->code != T_YIELD) TSR_TRY(c->in->lower(c, op));
  TSR_TRY(simt_regs(c, &simt_of(r->overlap.tail->operands[0])->frag, &scaled));
  TSR_TRY(bind_frag(c, r->overlap.tail->results[0], &scaled)); /* what is carried: the sums before the last gemm */
  return simt_carry_yield(c, o->op, o->v);
}

static tsr_status begin(simt *c, ir_op *op, overlap *o) {
  struct simt_stage_queue *r = c->in->queue;
  ir_value **v;
  *o = (overlap){.op = op, .head = simt_gemm_of(r->overlap.head), .tail = simt_gemm_of(r->overlap.tail)};
  TSR_TRY(simt_carry(c, op, &o->shape, &v, &o->n));
  o->n_a = (int)(o->tail.k / 4);
  if (!(o->v = arena_array(&c->m->arena, ir_value *, o->n + o->n_a + 2))) return st_oom();
  memcpy(o->v, v, sizeof *v * (size_t)o->n);
  for (int i = 0; i < r->overlap.carried; i++)
    o->sums_at += op->results[i]->type->kind == IR_T_FRAG ? o->shape[i].n : 1;
  return NULL;
}

tsr_status simt_stage_queue_overlap(simt *c, ir_op *op) {
  struct simt_stage_queue *r = c->in->queue;
  const simt_val *from = simt_of(op->operands[0]), *to = simt_of(op->operands[1]), *step = simt_of(op->operands[2]);
  ir_value **all, *next[2];
  overlap o;
  stage_queue_product tail;
  simt_frag sums;
  ir_op *loop;
  TSR_TRY(begin(c, op, &o));
  all = o.v + o.n + o.n_a;
  if (ping_pong(r)) ping_pong_barrier(c, false, true, 1);
  r->stage = r->phase = sx_int(c, 0);
  simt_bind_counter(c, op, from->v, 0);
  TSR_TRY(simt_carry_in(c, op, o.shape, o.v));
  TSR_TRY(iteration(c, &o, false));
  all[0] = sx_int(c, 1), all[1] = sx_int(c, 0);
  TSR_TRY(simt_begin_for(c, sx_add(c, from->v, step->v), to->v, step->v, o.n + o.n_a + 2, o.v, &loop));
  if (!ir_set_attr(loop, "unroll_by", ir_attr_int(c->m, 1))) return st_oom();
  r->stage = all[0], r->phase = all[1];
  simt_bind_counter(c, op, loop->regions[0]->args[0], 0);
  TSR_TRY(simt_carry_in(c, op, o.shape, o.v));
  TSR_TRY(iteration(c, &o, true));
  simt_stage_queue_advance(c, r, next);
  all[0] = next[0], all[1] = next[1];
  TSR_TRY(simt_end_for(c, loop, o.n + o.n_a + 2, o.v));
  if (ping_pong(r)) ping_pong_barrier(c, true, false, 0);
  TSR_TRY(simt_carry_in(c, op, o.shape, o.v));
  TSR_TRY(issue_tail(c, &o, stage_before(c, all[0]), &tail));
  TSR_TRY(simt_stage_queue_finish(c, &tail, 0, &sums));
  memcpy(o.v + o.sums_at, sums.v, sizeof *sums.v * (size_t)sums.n);
  return simt_carry_out(c, op, o.shape, o.v);
}
