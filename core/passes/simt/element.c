/* core/passes/simt/element.c - scalar arithmetic with ranges, map regions inlined per register. */
#include <string.h>

#include "core/passes/simt/build.h"
#include "core/passes/simt/element.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/registers.h"
#include "core/passes/simt/simd.h"
#include "core/passes/simt/state.h"

/* ---- index ranges ------------------------------------------------------------------------------------------------ */

typedef struct range { int64_t lo, hi, mult; bool overflows; } range;

/* No number is known that it stays below (above): INT64_MAX (INT64_MIN) says so. */
static bool is_open(const simt_val *v) { return v->lo != v->hi && (v->lo == INT64_MIN || v->hi == INT64_MAX); }

/* Sums and products wrap: of what may be any number, so may they be. */
static range range_of(int code, const simt_val *a, const simt_val *b) {
  static const range any = {INT64_MIN, INT64_MAX, 1, false}, beyond = {INT64_MIN, INT64_MAX, 1, true};
  const bool open = is_open(a) || is_open(b);
  range r = {.mult = gcd64(a->mult, b->mult)};
  switch (code) {
  case SC_ADD:
    if (open) return any;
    return __builtin_add_overflow(a->lo, b->lo, &r.lo) || __builtin_add_overflow(a->hi, b->hi, &r.hi) ? beyond : r;
  case SC_SUB:
    if (open) return any;
    return __builtin_sub_overflow(a->lo, b->hi, &r.lo) || __builtin_sub_overflow(a->hi, b->lo, &r.hi) ? beyond : r;
  case SC_MUL: {
    int64_t p[4];
    if (open) return any;
    if (__builtin_mul_overflow(a->lo, b->lo, &p[0]) || __builtin_mul_overflow(a->lo, b->hi, &p[1]) ||
        __builtin_mul_overflow(a->hi, b->lo, &p[2]) || __builtin_mul_overflow(a->hi, b->hi, &p[3]))
      return beyond;
    if (__builtin_mul_overflow(a->mult, b->mult, &r.mult)) r.mult = 1;
    r.lo = min64(min64(p[0], p[1]), min64(p[2], p[3])), r.hi = max64(max64(p[0], p[1]), max64(p[2], p[3]));
    return r;
  }
  case SC_MIN: return (range){min64(a->lo, b->lo), min64(a->hi, b->hi), r.mult, false};
  case SC_MAX: return (range){max64(a->lo, b->lo), max64(a->hi, b->hi), r.mult, false};
  case SC_DIV: /* x / 0 is 0 */
    if (a->lo >= 0 && b->lo >= 0) return (range){0, b->lo > 0 && a->hi != INT64_MAX ? a->hi / b->lo : a->hi, 1, false};
    return any;
  case SC_REM: /* of multiples of g: the tile of a block along n ends with n where n is a multiple of the tile */
    if (a->lo >= 0 && b->lo >= 0) {
      int64_t g = a->hi < b->lo ? a->mult : gcd64(a->mult, b->mult), hi = min64(a->hi, max64(b->hi, 1) - 1);
      return (range){0, g > 1 && hi != INT64_MAX ? hi / g * g : hi, g, false};
    }
    return any;
  default: return any;
  }
}

/* A quotient or remainder of numbers from 0 on. Where indices have 64 bits, those that fit 31 are divided in 32: SIMD
 * registers have no wide product of which a division by a constant could be made. */
static ir_value *divide(simt *c, int code, const simt_val *a, const simt_val *b) {
  int64_t k;
  const bool narrow = c->wide_index && simt_is_simd(c) && a->hi <= INT32_MAX && b->lo > 0 && b->hi <= INT32_MAX &&
                      sx_const(b->v, &k);
  if (!narrow) return code == SC_DIV ? sx_div(c, a->v, b->v) : sx_rem(c, a->v, b->v);
  ir_value *y = sx_num(c, TSR_I32, (double)k);
  ir_value *q = sx_op(c, code, NULL, 2, (ir_value *[]){sx_cast(c, a->v, TSR_I32), y});
  return q ? sx_op(c, SC_CAST, ir_type_index(c->m), 1, &q) : NULL;
}

static ir_value *index_op(simt *c, int code, const simt_val *a, const simt_val *b) {
  bool positive = a->lo >= 0 && b->lo >= 0;
  switch (code) {
  case SC_ADD: return sx_add(c, a->v, b->v);
  case SC_SUB: return sx_sub(c, a->v, b->v);
  case SC_MUL: return sx_mul(c, a->v, b->v);
  case SC_MIN: return a->hi <= b->lo ? a->v : b->hi <= a->lo ? b->v : sx_min(c, a->v, b->v);
  case SC_DIV: if (positive) return divide(c, code, a, b); break;
  case SC_REM: if (positive) return a->hi < b->lo ? a->v : divide(c, code, a, b); break;
  default: break;
  }
  return sx_op(c, code, NULL, 2, (ir_value *[]){a->v, b->v});
}

/* ---- scalars ----------------------------------------------------------------------------------------------------- */

/* Types without arithmetic on the device are computed in f32. */
static bool needs_f32(const simt *c, const ir_type *t) {
  return t->kind == IR_T_SCALAR && (t->dtype == TSR_BF16 || t->dtype == TSR_F8E4M3 || t->dtype == TSR_F8E5M2 ||
                                    t->dtype == TSR_TF32 || (t->dtype == TSR_F16 && !c->caps->f16));
}

static ir_value *element_op(simt *c, const ir_op *op, ir_value **v) {
  const ir_type *type = ir_type_get(c->m, op->results[0]->type);
  int code = op->def->code, first = code == SC_SELECT ? 1 : 0;
  if (!type) return NULL;
  const ir_value *exact = code == SC_CAST ? simt_of(op->operands[0])->wide : NULL;
  if (exact && type->kind == IR_T_SCALAR && exact->type->dtype == type->dtype) return (ir_value *)exact;
  if (code == SC_CAST) return type->kind == IR_T_INDEX ? sx_op(c, SC_CAST, type, 1, v) : sx_cast(c, v[0], type->dtype);
  if (code == SC_SELECT) return sx_select(c, v[0], v[1], v[2]);
  if (op->operands[first]->type->kind != IR_T_INDEX && needs_f32(c, op->operands[first]->type))
    for (int i = 0; i < op->n_operands; i++) v[i] = sx_cast(c, v[i], TSR_F32);
  if (code == SC_COMPARE) return sx_compare(c, ir_get_str(op, "predicate", "eq"), v[0], v[1]);
  if (code == SC_AND && type->kind == IR_T_SCALAR && type->dtype == TSR_BOOL) return sx_all(c, v[0], v[1]);
  ir_value *r = sx_op(c, code, v[0]->type, op->n_operands, v);
  return type->kind == IR_T_SCALAR ? sx_cast(c, r, type->dtype) : r;
}

tsr_status simt_lower_scalar(simt *c, ir_op *op) {
  ir_value *v[3];
  const simt_val *in[3] = {0};
  for (int i = 0; i < op->n_operands; i++) {
    in[i] = simt_of(op->operands[i]);
    v[i] = in[i]->v;
    if (!v[i]) return st_oom();
  }
  simt_val *s = simt_bind(c, op->results[0], SV_SCALAR);
  if (!s) return st_oom();
  bool is_index = op->results[0]->type->kind == IR_T_INDEX;
  if (is_index && op->n_operands == 2) {
    range r = range_of(op->def->code, in[0], in[1]);
    if (r.overflows) return simt_unsupported(c, op, "use smaller numbers", "an index may exceed 64 bits");
    s->v = index_op(c, op->def->code, in[0], in[1]);
    s->lo = r.lo, s->hi = r.hi, s->mult = r.mult;
    c->wide_index |= !is_open(s) && (s->lo < INT32_MIN || s->hi > INT32_MAX);
  } else {
    s->v = element_op(c, op, v);
    s->lo = INT64_MIN, s->hi = INT64_MAX, s->mult = 1;
    if (is_index && op->def->code == SC_SELECT)
      s->lo = min64(in[1]->lo, in[2]->lo), s->hi = max64(in[1]->hi, in[2]->hi),
      s->mult = gcd64(in[1]->mult, in[2]->mult);
  }
  return c->b.failed ? st_oom() : NULL;
}

tsr_status simt_inline(simt *c, const ir_block *region, ir_value **yields) {
  for (ir_op *op = region->first; op; op = op->next) {
    if (op->def->code == T_YIELD) {
      for (int i = 0; i < op->n_operands; i++) yields[i] = simt_of(op->operands[i])->v;
      return c->b.failed ? st_oom() : NULL;
    }
    if (op->def->code == T_INDEX) {
      int64_t d = ir_get_int(op, "dim", 0);
      simt_val *s = simt_bind(c, op->results[0], SV_SCALAR);
      if (!s) return st_oom();
      if (d < 0 || d >= TSR_MAX_RANK || !c->in->coord[d])
        return simt_unsupported(c, op, NULL, "dimension %lld outside the mapped fragment", (long long)d);
      s->v = c->in->coord[d];
      s->lo = 0, s->hi = c->in->coord_max[d], s->mult = 1;
    } else {
      TSR_TRY(c->in->lower(c, op));
    }
  }
  return NULL;
}

/* ---- map --------------------------------------------------------------------------------------------------------- */

static int regs_along(const simt_layout *l, int d) { return l->reps[d] * l->inner[d] * l->vec[d]; }

int simt_operand_reg(const simt_layout *result, const simt_layout *operand, int r) {
  int at = 0, place = 1;
  for (int d = result->rank - 1; d >= 0; d--) {
    int n = regs_along(result, d), m = regs_along(operand, d);
    if (operand->dims[d] > 1) at += r % n * place;
    r /= n;
    place *= m;
  }
  return at;
}

static bool asks_position(const ir_block *region) {
  for (const ir_op *o = region->first; o; o = o->next)
    if (o->def->code == T_INDEX) return true;
  return false;
}

static tsr_status map_register(simt *c, ir_op *op, const simt_layout *l, const simt_frag *in, int r, bool positions,
                               simt_frag *out) {
  ir_value *y[64];
  const ir_block *region = op->regions[0];
  for (int i = 0; i < op->n_operands; i++) {
    simt_val *s = simt_bind(c, region->args[i], SV_SCALAR);
    if (!s) return st_oom();
    s->v = in[i].splat ? in[i].splat : in[i].v[simt_operand_reg(l, in[i].layout, r)];
  }
  for (int d = 0; d < TSR_MAX_RANK; d++) {
    c->in->coord[d] = NULL;
    if (d >= l->rank || !positions) continue;
    int64_t k = simt_reg_offset(l, r, d);
    c->in->coord[d] = sx_addi(c, simt_thread_offset(c, l, d), k);
    c->in->coord_max[d] = simt_thread_max(l, d) + k;
  }
  TSR_TRY(simt_inline(c, region, y));
  for (int i = 0; i < op->n_results; i++) out[i].v[r] = y[i];
  return NULL;
}

tsr_status simt_lower_map(simt *c, ir_op *op) {
  simt_frag in[64], out[64];
  tsr_status st = NULL;
  if (op->n_operands > 64 || op->n_results > 64)
    return simt_unsupported(c, op, NULL, "more than 64 operands or results");
  if (!op->n_results) return NULL;
  bool done = false;
  if (c->path->map) TSR_TRY(c->path->map(c, op, &done));
  if (done) return NULL;
  const simt_layout *l = simt_layout_of(c, op->results[0], &st);
  if (!l) return st;
  for (int i = 0; i < op->n_operands; i++) {
    const simt_frag *f = &simt_of(op->operands[i])->frag;
    in[i] = *f;
    if (!f->splat) TSR_TRY(simt_regs(c, f, &in[i]));
  }
  for (int i = 0; i < op->n_results; i++) {
    out[i] = (simt_frag){.layout = l,
                         .dtype = op->results[i]->type->dtype,
                         .n = l->n_regs,
                         .v = arena_array(&c->m->arena, ir_value *, l->n_regs)};
    if (!out[i].v) return st_oom();
  }
  const bool positions = asks_position(op->regions[0]);
  for (int r = 0; r < l->n_regs; r++) TSR_TRY(map_register(c, op, l, in, r, positions, out));
  for (int i = 0; i < op->n_results; i++) {
    simt_val *s = simt_bind(c, op->results[i], SV_FRAG);
    if (!s) return st_oom();
    s->frag = out[i];
  }
  return NULL;
}
