/* core/passes/simt/simd.c - loads for drivers whose subgroup is a SIMD register of a CPU (llvmpipe). These gather every
 * lane's element by scalar code, but load lane-uniform addresses as plain scalars. So where neighbouring lanes read
 * neighbouring words, all words are loaded at uniform addresses and each lane selects its own by constants: the
 * driver's compiler sees a vector made of consecutive words, and loads it with one instruction. (f16 matrix by vector,
 * 1024x14336: 4.4 ms by gathers, 1.1 ms so.) Uniform loads are executed even where no lane takes part, so only code
 * that always runs is changed. */
#include "core/device/dialect.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/simd.h"
#include "core/passes/simt/state.h"

enum { MAX_DEPTH = 24 };

bool simt_is_simd(const simt *c) {
  return caps_simd_lanes(c->caps) == 8;
}

/* v = something uniform + *stride * lane? */
static bool lane_stride(const simt *c, const ir_value *v, int depth, int64_t *stride) {
  int64_t a, b, k;
  *stride = 0;
  if (v == c->lane) return *stride = 1, true;
  if (depth > MAX_DEPTH || v->type->kind != IR_T_INDEX) return false;
  if (!v->def)
    return v->index == 0 && v->owner->parent && v->owner->parent->def->level == IR_TARGET &&
           v->owner->parent->def->code == TG_FOR;
  const ir_op *op = v->def;
  if (op->def->level != IR_TARGET) return false;
  switch (op->def->code) {
  case TG_CONST: case TG_BLOCK_ID: case TG_WARP_ID: return true;
  case SC_ADD:
  case SC_SUB:
  case SC_MUL:
  case SC_DIV:
  case SC_REM:
  case SC_MIN:
  case SC_SHR:
  case SC_SHL:
  case SC_AND: break;
  default: return false;
  }
  if (!lane_stride(c, op->operands[0], depth + 1, &a) || !lane_stride(c, op->operands[1], depth + 1, &b)) return false;
  switch (op->def->code) {
  case SC_ADD: return *stride = wrap_add(a, b), true;
  case SC_SUB: return *stride = wrap_sub(a, b), true;
  case SC_MUL:
    if (a && !b && sx_const(op->operands[1], &k)) return *stride = wrap_mul(a, k), true;
    return !a && !b;
  default: return !a && !b;
  }
}

/* v at lane 0. */
static ir_value *at_lane_0(simt *c, ir_value *v) {
  int64_t stride;
  if (v == c->lane) return sx_int(c, 0);
  if (!v || !lane_stride(c, v, 0, &stride) || !v->def || v->def->n_operands != 2) return v;
  ir_value *a = at_lane_0(c, v->def->operands[0]), *b = at_lane_0(c, v->def->operands[1]);
  if (a == v->def->operands[0] && b == v->def->operands[1]) return v;
  return v->def->def->code == SC_ADD   ? sx_add(c, a, b)
         : v->def->def->code == SC_SUB ? sx_sub(c, a, b)
                                       : sx_mul(c, a, b);
}

/* v without the constants that are added to it, which *k gets. */
static ir_value *without_constants(simt *c, ir_value *v, int64_t *k) {
  int64_t left, right;
  if (sx_const(v, k)) return sx_int(c, 0);
  *k = 0;
  if (!v->def || v->def->def->level != IR_TARGET || v->def->def->code != SC_ADD) return v;
  ir_value *a = without_constants(c, v->def->operands[0], &left),
           *b = without_constants(c, v->def->operands[1], &right);
  *k = wrap_add(left, right);
  return !a || !b || (a == v->def->operands[0] && b == v->def->operands[1]) ? v : sx_add(c, a, b);
}

/* Not under a condition: at the kernel's top, or in loops that run at least once. */
static bool always_runs(const simt *c) {
  for (const ir_block *b = c->b.block; b && b->parent != c->out; b = b->parent->parent) {
    const ir_op *op = b->parent;
    int64_t from, to;
    if (!op || op->def->level != IR_TARGET || op->def->code != TG_FOR) return false;
    if (!sx_const(op->operands[0], &from) || !sx_const(op->operands[1], &to) || from >= to) return false;
  }
  return true;
}

ir_value *simt_simd_load(simt *c, const simt_mem *m, ir_value *index, const ir_type *type, int n) {
  int64_t stride, size = (int64_t)tsr_dtype_size(type->dtype), bytes = n * size;
  if (!simt_is_simd(c) || m->shared || !index || c->b.failed || (bytes != 8 && bytes != 4) || !always_runs(c))
    return NULL;
  if (!lane_stride(c, index, 0, &stride) || stride != n) return NULL;
  tsr_dtype word = bytes == 8 ? TSR_I64 : TSR_I32;
  const ir_type *scalar = ir_type_scalar(c->m, word),
                *ptr = ir_type_get(c->m, &(ir_type){.kind = IR_T_PTR, .dtype = word, .use = "global"});
  if (!scalar || !ptr) return NULL;
  int64_t first;
  ir_value *at = without_constants(c, at_lane_0(c, index), &first),
           *p = sx_op(c, TG_PTR_ADD, m->ptr->type, 2, (ir_value *[]){m->ptr, at}), *v = NULL;
  if (first % n) p = sx_op(c, TG_PTR_ADD, m->ptr->type, 2, (ir_value *[]){p, sx_int(c, first % n)});
  if (word != type->dtype) p = sx_op(c, TG_PTR_CAST, ptr, 1, &p);
  for (int i = 0; i < c->subgroup; i++) {
    ir_value *x = sx_op(c, TG_LOAD, scalar, 2, (ir_value *[]){p, sx_int(c, first / n + i)});
    v = i ? sx_select(c, sx_compare(c, "eq", c->lane, sx_int(c, i)), x, v) : x;
  }
  return scalar == type ? v : sx_op(c, TG_BITCAST, type, 1, &v);
}
