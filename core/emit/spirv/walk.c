/* core/emit/spirv/walk.c - control flow and the remaining ops of Target IR; see emit/spirv/internal.h.
 * Loops are structured (header with OpPhi, merge, continue); carried matrices live in Function variables, since drivers
 * are used to those. A loop marked `unroll` with known bounds is written out, so that array indices become constants.
 */
#include <string.h>

#include "core/base/int_math.h"
#include "core/emit/spirv/internal.h"

enum { MAX_CARRIED = 4096, MAX_UNROLL = 512, MAX_DEPTH = 200 };

static bool is_matrix(const ir_value *v) { return v->type->kind == IR_T_MATRIX; }
static void branch(emitter *e, uint32_t to) { SPV(&e->s, e->s.body, OpBranch, to); }

/* ---- carried values: parts as phis, matrices as variables ---- */

/* Where buffers have descriptors, a pointer is into one that is known. */
static int one_buffer(emitter *e, int a, int b) {
  if (a != b) e->full = "buffers that one pointer may be into", e->s.failed = true;
  return a;
}

typedef struct carried {
  uint32_t var;             /* matrices */
  uint32_t id[SV_PARTS];    /* phis */
  size_t patch[SV_PARTS];   /* word of the phi's second value */
  int parts, buffer;
} carried;

static void carry_begin(emitter *e, carried *c, const ir_value *v, const sv *init) {
  c->parts = e_parts(e, v->type);
  c->buffer = init->buffer;
  c->var = 0;
  if (!is_matrix(v)) return;
  c->var = e_local(e, e_type(e, v->type));
  SPV(&e->s, e->s.body, OpStore, c->var, init->part[0]);
}

static void carry_phis(emitter *e, carried *c, const ir_value *v, const sv *init, uint32_t pre, uint32_t cont) {
  if (c->var) return;
  uint32_t type = e_type(e, v->type);
  for (int p = 0; p < c->parts; p++) {
    c->id[p] = spv_id(&e->s);
    SPV(&e->s, e->s.body, OpPhi, type, c->id[p], init->part[p], pre, 0, cont);
    c->patch[p] = e->s.sec[e->s.body].n - 2;
  }
}

static sv carry_value(emitter *e, const carried *c, const ir_value *v) {
  sv r = {.part = {0}, .buffer = c->buffer};
  if (c->var) r.part[0] = VAL(&e->s, OpLoad, e_type(e, v->type), c->var);
  else memcpy(r.part, c->id, sizeof r.part);
  return r;
}

static void carry_next(emitter *e, const carried *c, const sv *next) {
  one_buffer(e, c->buffer, next->buffer);
  if (c->var) {
    SPV(&e->s, e->s.body, OpStore, c->var, next->part[0]);
    return;
  }
  for (int p = 0; p < c->parts; p++)
    if (spv_ok(&e->s)) e->s.sec[e->s.body].w[c->patch[p]] = next->part[p];
}

/* ---- for ---- */

static tsr_status region(emitter *e, const ir_op *op, int r, const ir_op **end) {
  *end = NULL;
  TSR_TRY(e_ops(e, op->regions[r], end));
  return *end ? NULL : e_fail(e, op, TSR_VERIFY_ERROR, NULL, "a region does not end in yield");
}

/* Runs the body once with the induction value and `cur` bound, leaving the yielded values in `cur`. */
static tsr_status iterate(emitter *e, const ir_op *op, sv i, sv *cur, int n) {
  const ir_block *b = op->regions[0];
  const ir_op *end;
  e_define(e, b->args[0], i);
  for (int k = 0; k < n; k++) e_define(e, b->args[1 + k], cur[k]);
  TSR_TRY(region(e, op, 0, &end));
  if (end->n_operands != n)
    return e_fail(e, op, TSR_VERIFY_ERROR, NULL, "yields %d values for %d carried", end->n_operands, n);
  for (int k = 0; k < n; k++) cur[k] = *e_value(e, end->operands[k]);
  return NULL;
}

static tsr_status unrolled(emitter *e, const ir_op *op, int64_t from, int64_t step, uint64_t trips, sv *cur, int n) {
  for (uint64_t t = 0; t < trips; t++, from = wrap_add(from, step))
    TSR_TRY(iterate(e, op, e_index_const(e, from), cur, n));
  for (int k = 0; k < n; k++) e_define(e, op->results[k], cur[k]);
  return NULL;
}

/* x or y, by the block that control comes from. */
static sv merged(emitter *e, const ir_type *t, const sv *x, uint32_t x_from, const sv *y, uint32_t y_from) {
  sv r = {.part = {0}, .buffer = one_buffer(e, x->buffer, y->buffer)};
  for (int p = 0; p < e_parts(e, t); p++)
    r.part[p] = VAL(&e->s, OpPhi, e_type(e, t), x->part[p], x_from, y->part[p], y_from);
  return r;
}

/* Around a loop that may not run at all; where a subgroup is a CPU's SIMD register, around any. Mesa moves constants
 * (NIR's opt_sink) into the body of a loop that always runs, as the code after it is behind that body, and then carries
 * each out of it as a value of its own: later addresses aren't constants to LLVM any more, whole vectors are selected
 * where a lane leaves, and a block that begins there parts the body's loads from what would make vectors of them
 * (a norm of rows of 4096 on lavapipe: 17.8 ms so, 11.1 under a condition). */
typedef struct guard { uint32_t before, after; sv *init; } guard;

static uint32_t before_end(emitter *e, sv from, sv to) {
  return VAL(&e->s, OpSLessThan, e_bool(e), from.part[0], to.part[0]);
}

static uint32_t always(emitter *e) {
  return VAL(&e->s, OpIEqual, e_bool(e), e->hidden_zero, e_const_int(e, 64, 0, 1));
}

static tsr_status guard_begin(emitter *e, guard *g, uint32_t any, const sv *cur, int n) {
  if (!(g->init = arena_dup(e->a, cur, sizeof *cur * (size_t)(n + 1)))) return st_oom();
  uint32_t enter = spv_id(&e->s);
  g->before = e->label;
  g->after = spv_id(&e->s);
  SPV(&e->s, e->s.body, OpSelectionMerge, g->after, 0);
  SPV(&e->s, e->s.body, OpBranchConditional, any, enter, g->after);
  e_block(e, enter);
  return NULL;
}

static void guard_end(emitter *e, const guard *g, const carried *c, const ir_op *op, sv *cur, int n) {
  uint32_t last = e->label;
  branch(e, g->after);
  e_block(e, g->after);
  for (int k = 0; k < n; k++)
    if (!c[k].var) cur[k] = merged(e, op->results[k]->type, &g->init[k], g->before, &cur[k], last);
}

/* The test stands at the end, and under a condition before the loop unless the body `runs` at least once. llvmpipe
 * makes this necessary: it goes through a body whose test at the top has failed once more with all lanes off, makes the
 * loads at lane-uniform addresses all the same, and does so with counters of inner loops as they were left: reads up to
 * two steps behind the end. It does branch around what stands under a condition, if that has a loop in it. */
static tsr_status looped(emitter *e, const ir_op *op, sv from, sv to, sv step, int64_t by, bool runs, sv *cur, int n) {
  const ir_block *b = op->regions[0];
  carried *c = arena_array(e->a, carried, n + 1);
  uint32_t type = e_reg(e, INDEX_DTYPE(e), 1);
  guard g = {0};
  if (!c) return st_oom();
  for (int k = 0; k < n; k++) carry_begin(e, &c[k], b->args[1 + k], &cur[k]);
  const bool guarded = !runs || e->hidden_zero;
  if (guarded) TSR_TRY(guard_begin(e, &g, runs ? always(e) : before_end(e, from, to), cur, n));
  uint32_t pre = e->label, head = spv_id(&e->s), in = spv_id(&e->s), cont = spv_id(&e->s), merge = spv_id(&e->s),
           i = spv_id(&e->s), next = spv_id(&e->s);
  branch(e, head);
  e_block(e, head);
  SPV(&e->s, e->s.body, OpPhi, type, i, from.part[0], pre, next, cont);
  for (int k = 0; k < n; k++) carry_phis(e, &c[k], b->args[1 + k], &cur[k], pre, cont);
  SPV(&e->s, e->s.body, OpLoopMerge, merge, cont, ir_get_bool(op, "unroll", false) ? LoopUnroll : 0);
  branch(e, in);
  e_block(e, in);
  for (int k = 0; k < n; k++) cur[k] = carry_value(e, &c[k], b->args[1 + k]);
  sv at = {.part = {i}};
  for (int64_t u = 0; u < by; u++) {
    TSR_TRY(iterate(e, op, at, cur, n));
    if (u + 1 < by) at.part[0] = VAL(&e->s, OpIAdd, type, at.part[0], step.part[0]);
  }
  for (int k = 0; k < n; k++) carry_next(e, &c[k], &cur[k]);
  branch(e, cont);
  e_block(e, cont);
  uint32_t stride = by > 1 ? e_index_const(e, wrap_mul(step.c, by)).part[0] : step.part[0];
  SPV(&e->s, e->s.body, OpIAdd, type, next, i, stride);
  SPV(&e->s, e->s.body, OpBranchConditional, VAL(&e->s, OpSLessThan, e_bool(e), next, to.part[0]), head, merge);
  e_block(e, merge);
  if (guarded) guard_end(e, &g, c, op, cur, n);
  for (int k = 0; k < n; k++) e_define(e, op->results[k], c[k].var ? carry_value(e, &c[k], b->args[1 + k]) : cur[k]);
  return NULL;
}

static tsr_status loop(emitter *e, const ir_op *op) {
  int n = op->n_operands - 3;
  sv from = *e_value(e, op->operands[0]), to = *e_value(e, op->operands[1]), step = *e_value(e, op->operands[2]), *cur;
  if (n > MAX_CARRIED) return e_fail(e, op, TSR_UNSUPPORTED, NULL, "more than %d carried values", MAX_CARRIED);
  if (!(cur = arena_array(e->a, sv, n + 1))) return st_oom();
  for (int k = 0; k < n; k++) cur[k] = *e_value(e, op->operands[3 + k]);
  bool known = from.is_const && to.is_const && step.is_const && step.c > 0;
  if (step.is_const && step.c <= 0) return e_fail(e, op, TSR_VERIFY_ERROR, NULL, "the step must be positive");
  const uint64_t trips = known ? loop_trips(from.c, to.c, step.c) : 0;
  const int64_t by = ir_get_int(op, "unroll_by", 0);
  if (known && (trips <= 1 || (ir_get_bool(op, "unroll", false) && trips <= MAX_UNROLL)))
    return unrolled(e, op, from.c, step.c, trips, cur, n);
  bool split = known && by > 1 && by <= 32 && trips % (uint64_t)by == 0;
  return looped(e, op, from, to, step, split ? by : 1, trips > 0, cur, n);
}

/* ---- if ---- */

static tsr_status conditional(emitter *e, const ir_op *op) {
  int n = op->n_results;
  uint32_t yes = spv_id(&e->s), no = spv_id(&e->s), merge = spv_id(&e->s), *vars, from[2];
  bool has_else = op->n_regions > 1;
  sv *v[2];
  if (n > MAX_CARRIED) return e_fail(e, op, TSR_UNSUPPORTED, NULL, "more than %d results", MAX_CARRIED);
  if (n && !has_else) return e_fail(e, op, TSR_VERIFY_ERROR, NULL, "results need an else region");
  for (int r = 0; r < 2; r++)
    if (!(v[r] = arena_array(e->a, sv, n + 1))) return st_oom();
  if (!(vars = arena_array(e->a, uint32_t, n + 1))) return st_oom();
  for (int k = 0; k < n; k++)
    if (is_matrix(op->results[k])) vars[k] = e_local(e, e_type(e, op->results[k]->type));
  SPV(&e->s, e->s.body, OpSelectionMerge, merge, 0);
  SPV(&e->s, e->s.body, OpBranchConditional, e_value(e, op->operands[0])->part[0], yes, has_else ? no : merge);
  for (int r = 0; r < (has_else ? 2 : 1); r++) {
    const ir_op *end = NULL;
    bool exact = e->exact;
    e_block(e, r ? no : yes);
    e->exact |= r && ir_get_bool(op, "likely", false);
    TSR_TRY(e_ops(e, op->regions[r], &end));
    e->exact = exact;
    if (n && (!end || end->n_operands != n))
      return e_fail(e, op, TSR_VERIFY_ERROR, NULL, "a branch yields the wrong number of values");
    for (int k = 0; k < n; k++) {
      v[r][k] = *e_value(e, end->operands[k]);
      if (vars[k]) SPV(&e->s, e->s.body, OpStore, vars[k], v[r][k].part[0]);
    }
    from[r] = e->label;
    branch(e, merge);
  }
  e_block(e, merge);
  for (int k = 0; k < n; k++) {
    const ir_type *t = op->results[k]->type;
    e_define(e, op->results[k], vars[k] ? (sv){.part = {0}} : merged(e, t, &v[0][k], from[0], &v[1][k], from[1]));
  }
  for (int k = 0; k < n; k++) /* loads come after all phis */
    if (vars[k])
      e_define(e, op->results[k], (sv){.part = {VAL(&e->s, OpLoad, e_type(e, op->results[k]->type), vars[k])}});
  return NULL;
}

/* ---- the rest ---- */

static void e_barrier(emitter *e, int scope) {
  uint32_t semantics = SemAcquireRelease | SemWorkgroupMemory | SemUniformMemory;
  if (!e->caps->glsl_memory_model) semantics |= SemMakeAvailable | SemMakeVisible;
  uint32_t s = e_u32(e, (uint32_t)scope);
  SPV(&e->s, e->s.body, OpControlBarrier, s, s, e_u32(e, semantics));
}

static void constant(emitter *e, const ir_op *op) {
  const ir_type *t = op->results[0]->type;
  const ir_attr *a = ir_get_attr(op, "value");
  double d = a->kind == IR_A_INT ? (double)a->u.i : ir_get_float(op, "value", 0);
  vt v = e_part(e, t);
  sv r = {.part = {0}};
  if (t->kind == IR_T_INDEX) {
    r = e_index_const(e, a->kind == IR_A_INT ? a->u.i : (int64_t)d);
  } else if (e_is_pair(e, t)) {
    int64_t c = a->kind == IR_A_INT ? a->u.i : dtype_whole(TSR_I64, d);
    for (int p = 0; p < e_parts(e, t); p++) r.part[p] = e_const_int(e, 32, (int64_t)((uint64_t)c >> 32 * (p % 2)), v.n);
  } else if (a->kind == IR_A_INT && !dtype_is_float(v.t) && v.t != TSR_BOOL) {
    int bits = 8 * (int)tsr_dtype_size(v.t);
    r.is_const = true, r.c = dtype_wrap(v.t, a->u.i);
    for (int p = 0; p < e_parts(e, t); p++) r.part[p] = e_const_int(e, bits, r.c, v.n);
  } else {
    for (int p = 0; p < e_parts(e, t); p++) r.part[p] = e_const(e, v.t, d, v.n);
  }
  e_define(e, op->results[0], r);
}

static void vector_op(emitter *e, const ir_op *op) {
  int code = op->def->code, at = (int)ir_get_int(op, "at", 0);
  sv r = {.part = {0}};
  const ir_type *t = code == TG_EXTRACT ? op->operands[0]->type : op->results[0]->type;
  vt v = e_part(e, t);
  int words = e_is_pair(e, t) ? 2 : 1, part = words * (at / 4);
  uint32_t type = e_reg(e, v.t, v.n);
  if (code == TG_INSERT) r = *e_value(e, op->operands[1]);
  for (int i = 0; i < words && code != TG_VECTOR; i++) {
    uint32_t x = e_value(e, op->operands[0])->part[code == TG_EXTRACT ? part + i : i];
    if (code == TG_EXTRACT)
      r.part[i] = v.n == 1 ? x : VAL(&e->s, OpCompositeExtract, e_reg(e, v.t, 1), x, (uint32_t)(at % 4));
    else
      r.part[part + i] =
          v.n == 1 ? x : VAL(&e->s, OpCompositeInsert, type, x, r.part[part + i], (uint32_t)(at % 4));
  }
  for (int p = 0; p < e_parts(e, t) && code == TG_VECTOR; p++) {
    uint32_t w[4];
    for (int k = 0; k < v.n; k++) w[k] = e_value(e, op->operands[4 * (p / words) + k])->part[p % words];
    r.part[p] = v.n == 1 ? w[0] : spv_val_n(&e->s, OpCompositeConstruct, type, w, v.n);
  }
  e_define(e, op->results[0], r);
}

static void position(emitter *e, const ir_op *op) {
  int axis = (int)ir_get_int(op, "axis", 0);
  axis = axis < 0 || axis > 2 ? 0 : axis;
  uint32_t id = op->def->code == TG_THREAD_ID  ? e->thread_id[axis]
                : op->def->code == TG_BLOCK_ID ? e->block_id[axis]
                : op->def->code == TG_LANE_ID  ? e->lane
                                               : e->warp;
  if (op->def->code == TG_THREAD_ID && e->block[axis] == 1) {
    e_define(e, op->results[0], e_index_const(e, 0));
    return;
  }
  e_define(e, op->results[0], (sv){.part = {e->wide ? VAL(&e->s, OpUConvert, e_int(e, 64), id) : id}});
}

static tsr_status e_op(emitter *e, const ir_op *op) {
  int code = op->def->code;
  for (int i = 0; i < op->n_results; i++)
    if (e_length(op->results[i]->type) > SV_ELEMENTS)
      return e_fail(e, op, TSR_UNSUPPORTED, NULL, "vectors have at most %d elements", SV_ELEMENTS);
  if (ir_is_scalar(op)) return e_scalar_op(e, op);
  switch (code) {
  case TG_CONST: constant(e, op); return NULL;
  case TG_THREAD_ID:
  case TG_BLOCK_ID:
  case TG_LANE_ID:
  case TG_WARP_ID: position(e, op); return NULL;
  case TG_LOAD: return e_load(e, op);
  case TG_STORE: return e_store(e, op);
  case TG_SHARED:
  case TG_PTR_CAST:
  case TG_PTR_ADD: return e_ptr_op(e, op);
  case TG_LOCAL:
  case TG_GET:
  case TG_SET: return e_array_op(e, op);
  case TG_FOR: return loop(e, op);
  case TG_IF: return conditional(e, op);
  case TG_BARRIER: e_barrier(e, ScopeWorkgroup); return NULL;
  /* Of a block of one warp, which is several subgroups at most where no lane asks another. */
  case TG_WARP_BARRIER: e_barrier(e, e->in_subgroups ? ScopeSubgroup : ScopeWorkgroup); return NULL;
  case TG_VECTOR:
    if (op->n_operands > SV_ELEMENTS) return e_fail(e, op, TSR_UNSUPPORTED, NULL, "vectors have at most 16 elements");
    /* fall through */
  case TG_EXTRACT:
  case TG_INSERT: vector_op(e, op); return NULL;
  case TG_BITCAST: return e_bitcast(e, op);
  case TG_SHUFFLE:
  case TG_WARP_REDUCE: return e_subgroup_op(e, op);
  default: break;
  }
  if (op->def->flags & IR_COOPMAT) return e_matrix_op(e, op);
  return e_fail(e, op, TSR_UNSUPPORTED, NULL, "this op does not exist on Vulkan");
}

tsr_status e_ops(emitter *e, const ir_block *b, const ir_op **terminator) {
  if (++e->depth > MAX_DEPTH) return e_fail(e, NULL, TSR_UNSUPPORTED, NULL, "regions nested too deeply");
  for (const ir_op *o = b->first; o; o = o->next) {
    if (o->def->flags & IR_TERMINATOR) {
      *terminator = o;
      break;
    }
    TSR_TRY(e_op(e, o));
    if (!spv_ok(&e->s)) return e_stopped(e, o);
  }
  e->depth--;
  return NULL;
}
