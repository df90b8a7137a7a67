/* core/emit/spirv/types.c - types, constants and small helpers of the SPIR-V emitter; see emit/spirv/internal.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/emit/spirv/internal.h"

uint32_t e_void(emitter *e) { return spv_once(&e->s, OpTypeVoid, NULL, 0, false); }
uint32_t e_bool(emitter *e) { return spv_once(&e->s, OpTypeBool, NULL, 0, false); }

uint32_t e_int(emitter *e, int bits) {
  if ((bits == 16 && !e->caps->i16) || (bits == 8 && !e->caps->i8)) bits = 32; /* emit/spirv/narrow.c */
  uint32_t *known = &e->ints[bits / 16];
  if (*known) return *known;
  if (bits != 32) spv_capability(&e->s, bits == 64 ? CapInt64 : bits == 16 ? CapInt16 : CapInt8);
  return *known = TYPE(&e->s, OpTypeInt, (uint32_t)bits, 0);
}

uint32_t e_float(emitter *e, int bits) {
  uint32_t *known = &e->floats[bits / 16];
  if (*known) return *known;
  if (bits != 32) spv_capability(&e->s, bits == 64 ? CapFloat64 : CapFloat16);
  return *known = TYPE(&e->s, OpTypeFloat, (uint32_t)bits);
}

uint32_t e_vec(emitter *e, uint32_t elem, int n) {
  return n == 1 ? elem : TYPE(&e->s, OpTypeVector, elem, (uint32_t)n);
}
uint32_t e_ptr(emitter *e, int storage, uint32_t type) { return TYPE(&e->s, OpTypePointer, (uint32_t)storage, type); }

uint32_t e_reg(emitter *e, tsr_dtype t, int n) {
  uint32_t s;
  switch (t) {
  case TSR_F64: s = e_float(e, 64); break;
  case TSR_F32:
  case TSR_TF32: s = e_float(e, 32); break;
  case TSR_F16: s = e->caps->f16 ? e_float(e, 16) : e_int(e, 16); break;
  case TSR_BOOL: s = e_bool(e); break;
  case TSR_I64: s = e_int(e, e->pairs ? 32 : 64); break; /* emit/spirv/pair_ops.c */
  default: s = e_int(e, 8 * (int)tsr_dtype_size(t)); break;
  }
  return e_vec(e, s, n);
}

static uint32_t e_splat_const(emitter *e, uint32_t elem_type, uint32_t scalar, int n) {
  if (n == 1) return scalar;
  uint32_t w[5] = {e_vec(e, elem_type, n), scalar, scalar, scalar, scalar};
  return spv_once(&e->s, OpConstantComposite, w, n + 1, true);
}

uint32_t e_const_int(emitter *e, int bits, int64_t v, int n) {
  uint32_t t = e_int(e, bits), c;
  if (bits == 64) c = CONST(&e->s, OpConstant, t, (uint32_t)(uint64_t)v, (uint32_t)((uint64_t)v >> 32));
  else if (bits == 32 || t == e_int(e, 32)) c = CONST(&e->s, OpConstant, t, (uint32_t)v); /* and of narrower ones */
  else c = CONST(&e->s, OpConstant, t, (uint32_t)v & ((1u << bits) - 1));
  return e_splat_const(e, t, c, n);
}

uint32_t e_u32(emitter *e, uint32_t v) {
  enum { N_SMALL = sizeof e->small / sizeof *e->small };
  if (v >= N_SMALL) return e_const_int(e, 32, v, 1);
  return e->small[v] ? e->small[v] : (e->small[v] = e_const_int(e, 32, v, 1));
}

uint32_t e_const_f32(emitter *e, double v, int n) {
  float f = (float)v;
  uint32_t u, t = e_float(e, 32);
  memcpy(&u, &f, 4);
  return e_splat_const(e, t, CONST(&e->s, OpConstant, t, u), n);
}

uint32_t e_const_f64(emitter *e, double v, int n) {
  uint64_t u;
  uint32_t t = e_float(e, 64);
  memcpy(&u, &v, 8);
  return e_splat_const(e, t, CONST(&e->s, OpConstant, t, (uint32_t)u, (uint32_t)(u >> 32)), n);
}

uint32_t e_const(emitter *e, tsr_dtype t, double v, int n) {
  uint64_t bits = 0;
  if (t == TSR_F64) return e_const_f64(e, v, n);
  if (t == TSR_F32 || t == TSR_TF32) return e_const_f32(e, v, n);
  if (t == TSR_BOOL) {
    uint32_t c = CONST(&e->s, v != 0 ? OpConstantTrue : OpConstantFalse, e_bool(e));
    return e_splat_const(e, e_bool(e), c, n);
  }
  dtype_store(t, &bits, 0, v);
  if (t == TSR_F16 && e->caps->f16) {
    uint32_t ty = e_float(e, 16);
    return e_splat_const(e, ty, CONST(&e->s, OpConstant, ty, (uint32_t)(bits & 0xffff)), n);
  }
  int64_t value = dtype_is_float(t) ? (int64_t)bits : dtype_wrap(t, (int64_t)bits);
  return e_const_int(e, 8 * (int)tsr_dtype_size(t), value, n);
}

tsr_dtype e_dtype(const emitter *e, const ir_type *t) { return t->kind == IR_T_INDEX ? INDEX_DTYPE(e) : t->dtype; }

bool e_is_pair(const emitter *e, const ir_type *t) {
  return e->pairs && (t->kind == IR_T_SCALAR || t->kind == IR_T_VECTOR) && t->dtype == TSR_I64;
}

int e_parts(const emitter *e, const ir_type *t) {
  int n = t->kind == IR_T_VECTOR && t->dims[0] > 4 ? (int)((t->dims[0] + 3) / 4) : 1;
  return e_is_pair(e, t) ? 2 * n : n;
}

vt e_part(const emitter *e, const ir_type *t) {
  return (vt){e_dtype(e, t), t->kind != IR_T_VECTOR ? 1 : t->dims[0] > 4 ? 4 : (int)t->dims[0]};
}

static const char *path_of(const emitter *e) { return ir_get_str(e->kernel, "path", ""); }

uint32_t e_component(emitter *e, tsr_dtype t) {
  switch (t) {
  case TSR_BF16:
    spv_capability(&e->s, CapBFloat16Type);
    spv_capability(&e->s, CapBFloat16CooperativeMatrix);
    spv_extension(&e->s, "SPV_KHR_bfloat16");
    return TYPE(&e->s, OpTypeFloat, 16, FPEncodingBFloat16);
  case TSR_F8E4M3:
  case TSR_F8E5M2:
    spv_capability(&e->s, CapFloat8);
    spv_capability(&e->s, CapFloat8CooperativeMatrix);
    spv_extension(&e->s, "SPV_EXT_float8");
    return TYPE(&e->s, OpTypeFloat, 8, t == TSR_F8E4M3 ? FPEncodingE4M3 : FPEncodingE5M2);
  default: return e_reg(e, t, 1);
  }
}

uint32_t e_matrix_use(const ir_type *t) {
  return !t->use || !strcmp(t->use, "acc") ? 2 : !strcmp(t->use, "b") ? 1 : 0;
}

uint32_t e_matrix_type(emitter *e, const ir_type *t) {
  bool workgroup = strstr(path_of(e), "workgroup") != NULL;
  spv_capability(&e->s, CapCooperativeMatrix);
  spv_extension(&e->s, "SPV_KHR_cooperative_matrix");
  return TYPE(&e->s, OpTypeCooperativeMatrixKHR, e_component(e, t->dtype),
              e_u32(e, workgroup ? ScopeWorkgroup : ScopeSubgroup), e_u32(e, (uint32_t)t->dims[0]),
              e_u32(e, (uint32_t)t->dims[1]), e_u32(e, e_matrix_use(t)));
}

uint32_t e_type(emitter *e, const ir_type *t) {
  if (t->kind == IR_T_MATRIX) return e_matrix_type(e, t);
  if (t->kind == IR_T_PTR) return t->use && !strcmp(t->use, "shared") ? e_int(e, 32) : e_address_type(e);
  vt v = e_part(e, t);
  return e_reg(e, v.t, v.n);
}

sv *e_value(emitter *e, const ir_value *v) { return v->data; }

void e_define(emitter *e, const ir_value *v, sv x) {
  ir_value *w = (ir_value *)v; /* `data` is the running pass's */
  if (!w->data && !(w->data = arena_new(e->a, sv))) {
    e->s.failed = true;
    return;
  }
  *(sv *)w->data = x;
}

sv e_index_const(emitter *e, int64_t v) {
  return (sv){.part = {e_const_int(e, e->wide ? 64 : 32, v, 1)}, .is_const = true, .c = v};
}

tsr_status e_fail(const emitter *e, const ir_op *op, tsr_code code, const char *hint, const char *fmt, ...) {
  char text[300];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (!op) op = e->kernel;
  return ir_error_at(op, op->loc, code, hint, "kernel '%s': %s", ir_get_str(e->kernel, "sym_name", "?"), text);
}

tsr_status e_stopped(const emitter *e, const ir_op *op) {
  return e->full ? e_fail(e, op, TSR_UNSUPPORTED, "split the kernel", "it has too many %s", e->full) : st_oom();
}

uint32_t e_glsl(emitter *e, int fn, uint32_t type, const uint32_t *args, int n) {
  uint32_t w[6] = {e->glsl, (uint32_t)fn};
  for (int i = 0; i < n; i++) w[2 + i] = args[i];
  return spv_val_n(&e->s, OpExtInst, type, w, n + 2);
}

void e_block(emitter *e, uint32_t label) {
  SPV(&e->s, e->s.body, OpLabel, label);
  e->label = label;
}

uint32_t e_local(emitter *e, uint32_t type) {
  uint32_t id = spv_id(&e->s);
  SPV(&e->s, SEC_VARS, OpVariable, e_ptr(e, StorageFunction, type), id, StorageFunction);
  return id;
}

void e_interface(emitter *e, int storage, uint32_t var) {
  if (storage != StorageInput && e_before(e, 4)) return;
  if (e->n_interface < (int)(sizeof e->interface / 4)) e->interface[e->n_interface++] = var;
  else e->full = "variables in its interface", e->s.failed = true;
}

uint32_t e_splat(emitter *e, uint32_t elem_type, uint32_t x, int n) {
  uint32_t all[4] = {x, x, x, x};
  return n == 1 ? x : spv_val_n(&e->s, OpCompositeConstruct, e_vec(e, elem_type, n), all, n);
}

uint32_t e_condition(emitter *e, const ir_type *condition, uint32_t c, int n) {
  return condition->kind == IR_T_VECTOR || !e_before(e, 4) ? c : e_splat(e, e_bool(e), c, n);
}

/* ---- 64 bits that a driver can't take apart or put together ---- */

uint32_t e_hide(emitter *e, uint32_t x, int n) {
  if (!e->caps->no_pack64 || !e->hidden_zero) return x;
  return VAL(&e->s, OpIAdd, e_vec(e, e_int(e, 64), n), x, e_splat(e, e_int(e, 64), e->hidden_zero, n));
}

/* Where 64 bits can't be put together of two words (tsr_caps.no_pack64), a shift whose amount compilers don't see. */
uint32_t e_of_two(emitter *e, uint32_t type, uint32_t both) {
  if (!e->caps->no_pack64 || !e->hidden_zero) return VAL(&e->s, OpBitcast, type, both);
  uint32_t u32 = e_int(e, 32), u64 = e_int(e, 64), by = e_hide(e, e_const_int(e, 64, 32, 1), 1);
  uint32_t low = VAL(&e->s, OpUConvert, u64, VAL(&e->s, OpCompositeExtract, u32, both, 0)),
           high = VAL(&e->s, OpUConvert, u64, VAL(&e->s, OpCompositeExtract, u32, both, 1));
  uint32_t r = VAL(&e->s, OpIAdd, u64, VAL(&e->s, OpShiftLeftLogical, u64, high, by), low);
  return type == u64 ? r : VAL(&e->s, OpBitcast, type, r);
}
