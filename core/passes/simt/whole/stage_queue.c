/* core/passes/simt/whole/stage_queue.c - sm_90a: a block program whose pipelined loop (ir/tile/pipelined.h) streams
 * tiles into gemms (attention), by wgmma. What is checked is whether the device can do it so. One warpgroup is the
 * producer: one of its threads fills a stage queue by TMA (128-byte swizzle), the tiles that are copied before the loop
 * once. The others own 64 rows each and are lowered as ever (simt/simt.h) with the accumulator map of m64nN for a
 * layout: gemms become wgmma on the swizzled tiles, or with A from registers where that is an accumulator of 16-bit
 * type (P of attention), which has the very map of the A operand. Reductions stay within four lanes, so the consumers
 * share nothing but the tiles. Two mbarriers per stage, `full` and `empty`, waited on by parity. Layouts: PTX ISA,
 * "Asynchronous Warpgroup Level Matrix Shared Memory Layout". */
#include <string.h>

#include "core/passes/simt/build.h"
#include "core/passes/simt/loop.h"
#include "core/passes/simt/pipeline_match.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/whole/head.h"
#include "core/passes/simt/whole/stage_queue.h"
#include "core/passes/simt/whole/stage_queue_state.h"
#include "core/passes/target/build.h"

#define NAME(s) "tessera.target." s
enum { MAX_CONSUMERS = 3, MAX_STAGES = 4, ALIGN = 1024, MAX_REGISTERS = 255, OTHER_REGISTERS = 40 };

/* ---- what fits --------------------------------------------------------------------------------------------------- */

/* A whole tile of 16-bit elements, its lines whole boxes of 128 bytes, from the last two dimensions of an argument. */
static bool add_copy(struct simt_stage_queue *r, const ir_op *op, bool streamed) {
  const ir_type *t = op->operands[1]->type;
  const ir_op *w = op->operands[0]->def;
  int64_t sizes[TSR_MAX_RANK];
  if (r->n == STAGE_QUEUE_MAX_TILES || !simt_stage_queue_is(op->operands[1]->def, T_ALLOC) ||
      !simt_stage_queue_is(w, T_WINDOW) || simt_stage_queue_tile(r, op->operands[1]))
    return false;
  ir_value *arg = w->operands[0];
  const ir_type *view = arg->type;
  while (simt_stage_queue_is(arg->def, T_VIEW)) arg = arg->def->operands[0];
  int rank = ir_get_ints(w, "sizes", sizes, TSR_MAX_RANK);
  if (arg->def || !arg->owner || arg->owner->parent->def->code != T_KERNEL || arg->type->offset || rank < 2 ||
      !simt_tma_view(view))
    return false;
  for (int d = 0; d < rank; d++)
    if ((sizes[d] != 0) != (d >= rank - 2)) return false;
  bool narrow = t->dtype == TSR_F16 || t->dtype == TSR_BF16;
  if (t->rank != 2 || !narrow || view->dtype != t->dtype || sizes[rank - 2] != t->dims[0] ||
      sizes[rank - 1] != t->dims[1])
    return false;
  if (t->dims[0] % 8 || t->dims[0] > 256 || t->dims[1] % PER_LINE) return false;
  r->tile[r->n++] = (stage_queue_tile){
      .shared = op->operands[1], .window = w, .arg = arg, .view = view, .streamed = streamed,
      .rows = t->dims[0], .cols = t->dims[1]};
  return true;
}

/* Ops that every consumer does on its own rows. */
static bool is_own(const ir_op *op) {
  switch (op->def->code) {
    case T_FILL:
    case T_SPLAT:
    case T_MAP:
    case T_ALLOC:
    case T_RETURN:
    case T_YIELD:
    case T_WAIT:
    case T_LOAD_SCALAR: return true;
    case T_REDUCE: return ir_get_int(op, "axis", 0) == 1;
    case T_LOAD:
    case T_STORE: return op->operands[op->def->code == T_STORE]->type->kind == IR_T_VIEW;
    default: return tile_is_address_op(op);
  }
}

static const char *check_gemm(struct simt_stage_queue *r, const ir_op *op) {
  simt_gemm g = simt_gemm_of(op);
  const ir_value *a = op->operands[1], *b = op->operands[2];
  stage_queue_tile *ta = simt_stage_queue_tile(r, a), *tb = simt_stage_queue_tile(r, b);
  bool narrow = g.a == g.b && (g.a == TSR_F16 || g.a == TSR_BF16) && g.c == TSR_F32;
  if (!narrow || g.kahan) return "no wgmma for these element types";
  if (!tb || (!ta && a->type->kind != IR_T_FRAG) || g.A.transposed) return "an operand is not a tile that TMA can copy";
  if (g.m % GROUP_ROWS || g.m > GROUP_ROWS * MAX_CONSUMERS || g.n % 8 || g.n > 256 || g.k % 16)
    return "wgmma needs 64 to 192 rows and up to 256 columns";
  if (r->consumers && r->consumers != g.m / GROUP_ROWS) return "the gemms have different rows";
  r->consumers = (int)(g.m / GROUP_ROWS);
  r->sums += g.n / 2 + (ta ? 0 : g.k / 4);
  return NULL;
}

/* A step: its copies, which are what is streamed, then gemms among what consumers do apart. */
static const char *check_loop(struct simt_stage_queue *r) {
  tile_pipelined p;
  if (!tile_pipelined_get(r->loop, &p)) return "its loop is not pipelined";
  for (int i = 0; i < p.n; i++)
    if (!simt_stage_queue_is(p.producer[i], T_COPY) || !add_copy(r, p.producer[i], true))
      return "a copy is not of a tile that TMA can copy";
  for (const ir_op *op = p.wait->next; op; op = op->next) {
    const char *why = simt_stage_queue_is(op, T_GEMM) ? check_gemm(r, op)
                      : is_own(op)                    ? NULL
                                                      : "it has an op that the consumers can't do apart";
    if (why) return why;
  }
  return NULL;
}

/* The whole kernel: what is copied before its one loop is copied once. */
static const char *check_kernel(struct simt_stage_queue *r, const ir_op *kernel) {
  for (const ir_op *op = kernel->regions[0]->first; op; op = op->next) {
    const char *why = NULL;
    if (simt_stage_queue_is(op, T_COPY)) {
      if (r->loop || !add_copy(r, op, false)) why = "a copy is not of a tile that TMA can copy";
    } else if (simt_stage_queue_is(op, T_FOR) && !r->loop) {
      r->loop = op;
      why = check_loop(r);
    } else if (!is_own(op)) {
      why = "it has an op that the consumers can't do apart";
    }
    if (why) return why;
  }
  return NULL;
}

static const char *plan(struct simt_stage_queue *r, const ir_op *kernel, const tsr_caps *caps) {
  const char *why = check_kernel(r, kernel);
  if (why) return why;
  if (!r->loop || !r->consumers) return "no gemm in a loop";
  const int each = simt_role_registers(r->consumers, true),
            room_of_sums = (each ? each : MAX_REGISTERS) - OTHER_REGISTERS;
  if (r->sums > room_of_sums) return "the accumulators do not fit the registers";
  for (int i = 0; i < r->n; i++) {
    stage_queue_tile *t = &r->tile[i];
    int64_t *sum = t->streamed ? &r->stage_bytes : &r->once_bytes, bytes = t->rows * t->cols * 2;
    t->at = *sum;
    *sum += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    r->has_once |= !t->streamed;
  }
  if (!r->stage_bytes) return "nothing is streamed";
  int64_t room = (caps->shared_bytes - ALIGN - r->once_bytes) / r->stage_bytes,
          stages = ir_get_int(r->loop, "stages", 0);
  r->stages = room > MAX_STAGES ? MAX_STAGES : (int)room;
  if (stages >= 3 && stages < r->stages) r->stages = (int)stages;
  if (r->stages < 2) return "fewer than two stages fit shared memory";
  for (int i = 0; i < r->n; i++)
    if (r->tile[i].streamed) r->tile[i].at += r->once_bytes;
  r->at_full = r->once_bytes + r->stages * r->stage_bytes;
  r->at_empty = r->at_full + 8 * r->stages;
  r->at_once = r->at_empty + 8 * r->stages;
  r->shared = r->at_once + 8;
  simt_stage_queue_plan_overlap(r, room_of_sums);
  return NULL;
}

const char *simt_stage_queue_plan(simt *c, const ir_op *kernel) {
  if (!c->caps->wgmma || !c->caps->tma) return "the device has no wgmma";
  if (ir_get_attr(kernel, "cluster")) return "the kernel has its own threads";
  struct simt_stage_queue *r = arena_new(&c->m->arena, struct simt_stage_queue);
  if (!r) return "out of memory";
  const char *why = plan(r, kernel, c->caps);
  const int64_t warps = ir_get_int(kernel, "warps", 0); /* those that compute */
  if (!why && warps > 0 && warps != simt_stage_queue_warps(r)) why = "the kernel has another number of warps";
  if (!why) c->in->queue = r;
  return why;
}

int simt_stage_queue_warps(const struct simt_stage_queue *r) { return GROUP_THREADS / 32 * r->consumers; }
int simt_stage_queue_threads(const struct simt_stage_queue *r) { return GROUP_THREADS * (r->consumers + 1); }

/* ---- code -------------------------------------------------------------------------------------------------------- */

static ir_op *effect(simt *c, const char *name, int n, ir_value *const *v) { return ir_build0(&c->b, name, n, v); }

static void set_int(simt *c, ir_op *op, const char *name, int64_t v) {
  if (!op || !ir_set_attr(op, name, ir_attr_int(c->m, v))) c->b.failed = true;
}

static ir_value *shared_at(simt *c, tsr_dtype t, int64_t at) {
  const ir_type *type = ir_type_get(c->m, &(ir_type){.kind = IR_T_PTR, .dtype = t, .use = "shared"});
  ir_value *p = type ? sx_op(c, TG_SHARED, type, 0, NULL) : NULL;
  if (p) set_int(c, p->def, "offset", at);
  return p;
}

static tsr_status set_up(simt *c, struct simt_stage_queue *r) {
  for (int i = 0; i < r->n; i++) {
    stage_queue_tile *t = &r->tile[i];
    tgb b = {c->m, c->b};
    t->map = simt_tma_map(&b, simt_of(t->arg)->mem.ptr, t->view, PER_LINE, (int)t->rows);
    c->b = b.b;
    t->ptr = shared_at(c, t->shared->type->dtype, t->at);
    simt_val *s = simt_bind(c, (ir_value *)t->shared, SV_MEM);
    if (!s || !t->map || !t->ptr) return st_oom();
    s->mem =
        (simt_mem){.ptr = t->ptr, .dtype = t->shared->type->dtype, .shared = true, .rank = 2, .base = sx_int(c, 0)};
    memcpy(s->mem.dims, t->shared->type->dims, sizeof s->mem.dims);
  }
  r->full = shared_at(c, TSR_I64, r->at_full);
  r->empty = shared_at(c, TSR_I64, r->at_empty);
  r->once = shared_at(c, TSR_I64, r->at_once);
  ir_op *one = sx_if(c, sx_compare(c, "eq", c->tid, sx_int(c, 0)), 0, NULL, false);
  for (int s = 0; s < r->stages; s++) {
    set_int(c, effect(c, NAME("mbar_init"), 2, (ir_value *[]){r->full, sx_int(c, s)}), "count", 1);
    set_int(c, effect(c, NAME("mbar_init"), 2, (ir_value *[]){r->empty, sx_int(c, s)}), "count",
            simt_stage_queue_warps(r));
  }
  if (r->has_once) set_int(c, effect(c, NAME("mbar_init"), 2, (ir_value *[]){r->once, sx_int(c, 0)}), "count", 1);
  ir_op *fence = effect(c, NAME("fence"), 0, NULL);
  if (!fence || !ir_set_attr(fence, "kind", ir_attr_str(c->m, "mbarrier_init"))) return st_oom();
  sx_close(c, one, 0, NULL);
  effect(c, NAME("barrier"), 0, NULL);
  return c->b.failed ? st_oom() : NULL;
}

static void registers(simt *c, const struct simt_stage_queue *r, bool is_consumer) {
  const int n = simt_role_registers(r->consumers, is_consumer);
  if (!n) return;
  ir_op *op = effect(c, NAME("setmaxnreg"), 0, NULL);
  set_int(c, op, "registers", n);
  if (op && is_consumer && !ir_set_attr(op, "increase", ir_attr_bool(c->m, true))) c->b.failed = true;
}

static tsr_status addresses(simt *c, const ir_block *b) {
  for (ir_op *op = b->first; op; op = op->next)
    if (tile_is_address_op(op) || simt_stage_queue_is(op, T_LOAD_SCALAR)) TSR_TRY(c->in->lower(c, op));
  return NULL;
}

/* The boxes of a tile, 64 elements of each line. */
static void load_tile(simt *c, const struct simt_stage_queue *r, const stage_queue_tile *t, ir_value *bar) {
  const ir_type *view = t->view;
  int dims[TSR_MAX_RANK], n = simt_tma_dims(view, dims);
  ir_value *at = t->streamed ? sx_muli(c, r->stage, r->stage_bytes / 2) : sx_int(c, 0);
  for (int64_t box = 0; box < t->cols / PER_LINE; box++) {
    ir_value *v[4 + 5] = {t->map, t->ptr, sx_addi(c, at, box * t->rows * PER_LINE), bar};
    for (int i = 0; i < n && i < 5; i++) {
      v[4 + i] = simt_of(t->window->operands[1 + dims[i]])->v;
      if (!i) v[4] = sx_addi(c, v[4], box * PER_LINE);
    }
    effect(c, NAME("tma_load"), 4 + n, v);
  }
}

static ir_value *bar_of(simt *c, ir_value *bars, ir_value *stage) {
  return sx_op(c, TG_PTR_ADD, bars ? bars->type : NULL, 2, (ir_value *[]){bars, stage});
}

static int64_t bytes_of(const struct simt_stage_queue *r, bool streamed) {
  int64_t sum = 0;
  for (int i = 0; i < r->n; i++)
    if (r->tile[i].streamed == streamed) sum += r->tile[i].rows * r->tile[i].cols * 2;
  return sum;
}

static tsr_status producer(simt *c, struct simt_stage_queue *r) {
  const ir_op *loop = r->loop;
  const simt_val *from = simt_of(loop->operands[0]), *to = simt_of(loop->operands[1]),
                 *step = simt_of(loop->operands[2]);
  ir_op *one = sx_if(c, sx_compare(c, "eq", c->tid, sx_int(c, (int64_t)GROUP_THREADS * r->consumers)), 0, NULL, false),
        *f;
  ir_value *v[2] = {sx_int(c, 0), sx_int(c, 0)}, *next[2];
  if (r->has_once)
    set_int(c, effect(c, NAME("mbar_expect"), 2, (ir_value *[]){r->once, sx_int(c, 0)}), "bytes", bytes_of(r, false));
  for (int i = 0; i < r->n; i++)
    if (!r->tile[i].streamed) load_tile(c, r, &r->tile[i], r->once);
  TSR_TRY(simt_begin_for(c, from->v, to->v, step->v, 2, v, &f));
  set_int(c, f, "unroll_by", 1);
  r->stage = v[0], r->phase = v[1];
  simt_bind_counter(c, loop, f->regions[0]->args[0], 0);
  TSR_TRY(addresses(c, loop->regions[0]));
  effect(c, NAME("mbar_wait"), 3, (ir_value *[]){r->empty, r->stage, sx_sub(c, sx_int(c, 1), r->phase)});
  set_int(c, effect(c, NAME("mbar_expect"), 2, (ir_value *[]){r->full, r->stage}), "bytes", bytes_of(r, true));
  for (int i = 0; i < r->n; i++)
    if (r->tile[i].streamed) load_tile(c, r, &r->tile[i], bar_of(c, r->full, r->stage));
  simt_stage_queue_advance(c, r, next);
  TSR_TRY(simt_end_for(c, f, 2, next));
  sx_close(c, one, 0, NULL);
  effect(c, NAME("warp_barrier"), 0, NULL);
  return c->b.failed ? st_oom() : NULL;
}

/* The loop as the consumers run it: a stage is full before its tiles are used, and released after. */
static tsr_status consumer_loop(simt *c, ir_op *op) {
  struct simt_stage_queue *r = c->in->queue;
  simt_frag *shape;
  ir_value **v, *next[2];
  ir_op *loop;
  int n;
  if (r->overlaps && simt_of(op->operands[0])->hi < simt_of(op->operands[1])->lo)
    return simt_stage_queue_overlap(c, op);
  TSR_TRY(simt_carry(c, op, &shape, &v, &n));
  ir_value **all = arena_array(&c->m->arena, ir_value *, n + 2);
  if (!all) return st_oom();
  memcpy(all, v, sizeof *v * (size_t)n);
  all[n] = all[n + 1] = sx_int(c, 0);
  TSR_TRY(simt_begin_for(c, simt_of(op->operands[0])->v, simt_of(op->operands[1])->v, simt_of(op->operands[2])->v,
                         n + 2, all, &loop));
  set_int(c, loop, "unroll_by", 1);
  r->stage = all[n], r->phase = all[n + 1];
  simt_bind_counter(c, op, loop->regions[0]->args[0], 0);
  TSR_TRY(simt_carry_in(c, op, shape, all));
  TSR_TRY(simt_lower_block(c, op->regions[0]));
  simt_stage_queue_release(c, r->stage);
  TSR_TRY(simt_carry_yield(c, op, all));
  simt_stage_queue_advance(c, r, next);
  all[n] = next[0], all[n + 1] = next[1];
  TSR_TRY(simt_end_for(c, loop, n + 2, all));
  return simt_carry_out(c, op, shape, all);
}

tsr_status simt_stage_queue_op(simt *c, ir_op *op, bool *done) {
  struct simt_stage_queue *r = c->in->queue;
  bool inside = op->parent == r->loop->regions[0];
  *done = true;
  switch (op->def->code) {
  case T_FOR: return consumer_loop(c, op);
  case T_COPY:
    if (!inside && !r->waited) effect(c, NAME("mbar_wait"), 3, (ir_value *[]){r->once, sx_int(c, 0), sx_int(c, 0)});
    if (!inside) r->waited = true;
    break;
  case T_WAIT:
    if (inside) effect(c, NAME("mbar_wait"), 3, (ir_value *[]){r->full, r->stage, r->phase});
    break;
  case T_ALLOC: break;
  default: *done = false;
  }
  return c->b.failed ? st_oom() : NULL;
}

tsr_status simt_stage_queue_lower(simt *c) {
  struct simt_stage_queue *r = c->in->queue;
  int64_t lo;
  TSR_TRY(simt_shared_alloc(c, c->tile, r->shared, 0, INT32_MAX, &lo));
  c->why = arena_fmt(&c->m->arena, "%d stages by TMA, %d+1 warpgroups%s", r->stages, r->consumers,
                     r->overlaps ? r->consumers == 2 ? ", overlapped, ping-pong" : ", overlapped" : "");
  TSR_TRY(addresses(c, c->tile->regions[0]));
  TSR_TRY(set_up(c, r));
  ir_op *role = sx_if(c, sx_compare(c, "lt", c->warp, sx_int(c, simt_stage_queue_warps(r))), 0, NULL, true);
  registers(c, r, true);
  TSR_TRY(simt_lower_block(c, c->tile->regions[0]));
  sx_else(c, role, 0, NULL);
  registers(c, r, false);
  TSR_TRY(producer(c, r));
  sx_close(c, role, 0, NULL);
  return c->b.failed ? st_oom() : NULL;
}
