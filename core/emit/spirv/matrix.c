/* core/emit/spirv/matrix.c - cooperative matrices: SPV_KHR_cooperative_matrix for all that it can do, and of
 * SPV_NV_cooperative_matrix2 each piece only where the device reports it (per-element operations, reductions,
 * conversions, workgroup scope, tensor addressing). bf16 and fp8 components have their own float types here, and only
 * here. */
#include <string.h>

#include "core/emit/spirv/internal.h"
#include "core/ir/reducer.h"

enum { MAX_MAP_OPERANDS = 8, MAX_CAPTURES = 8 };

/* Register form of a component (bf16 and fp8 are bits there) and back. */
static uint32_t to_register(emitter *e, tsr_dtype t, uint32_t x) {
  return e_component(e, t) == e_reg(e, t, 1) ? x : VAL(&e->s, OpBitcast, e_reg(e, t, 1), x);
}
static uint32_t to_component(emitter *e, tsr_dtype t, uint32_t x) {
  return e_component(e, t) == e_reg(e, t, 1) ? x : VAL(&e->s, OpBitcast, e_component(e, t), x);
}

static void use_nv2(emitter *e, uint32_t cap) {
  spv_capability(&e->s, cap);
  spv_extension(&e->s, "SPV_NV_cooperative_matrix2");
}

/* ---- memory ---- */

/* A row or column count as 32 bits, at least 0. */
static uint32_t extent(emitter *e, const ir_value *v) {
  const sv *s = e_value(e, v);
  uint32_t i32 = e_int(e, 32), zero = e_u32(e, 0);
  if (s->is_const) return e_u32(e, s->c < 0 ? 0 : s->c > INT32_MAX ? INT32_MAX : (uint32_t)s->c);
  uint32_t x = e->wide ? VAL(&e->s, OpUConvert, i32, s->part[0]) : s->part[0],
           positive = VAL(&e->s, OpSGreaterThan, e_bool(e), x, zero);
  return VAL(&e->s, OpSelect, i32, positive, x, zero);
}

/* A tensor layout that starts at the matrix's first element, for OpCooperativeMatrix*TensorNV. limits: two values (rows
 * and columns that exist), or NULL for the matrix's own size. */
static uint32_t tensor_layout(emitter *e, const ir_type *t, uint32_t stride, bool col, ir_value *const *limits) {
  use_nv2(e, CapCoopmatTensorAddressingNV);
  spv_capability(&e->s, CapTensorAddressingNV);
  spv_extension(&e->s, "SPV_NV_tensor_addressing");
  uint32_t type = TYPE(&e->s, OpTypeTensorLayoutNV, e_u32(e, 2), e_u32(e, limits ? ClampConstant : ClampUndefined));
  uint32_t rows = e_u32(e, (uint32_t)t->dims[0]), cols = e_u32(e, (uint32_t)t->dims[1]), one = e_u32(e, 1);
  uint32_t l = spv_val_n(&e->s, OpCreateTensorLayoutNV, type, NULL, 0);
  l = VAL(&e->s, OpTensorLayoutSetDimensionNV, type, l, limits ? extent(e, limits[0]) : rows,
          limits ? extent(e, limits[1]) : cols);
  l = VAL(&e->s, OpTensorLayoutSetStrideNV, type, l, col ? one : stride, col ? stride : one);
  return VAL(&e->s, OpTensorLayoutSliceNV, type, l, e_u32(e, 0), rows, e_u32(e, 0), cols);
}

static uint32_t stride_of(emitter *e, const ir_value *v, uint32_t scale_log2) {
  const sv *s = e_value(e, v);
  if (s->is_const) return e_u32(e, (uint32_t)(s->c >> scale_log2));
  uint32_t x = e->wide ? VAL(&e->s, OpUConvert, e_int(e, 32), s->part[0]) : s->part[0];
  return scale_log2 ? VAL(&e->s, OpShiftRightLogical, e_int(e, 32), x, e_u32(e, scale_log2)) : x;
}

static int memory_operands(const emitter *e, const ir_op *op, const ir_type *pointer, bool global, uint32_t *w) {
  uint32_t align = (uint32_t)ir_get_int(op, "align", 0);
  if (!align) align = (uint32_t)tsr_dtype_size(pointer->dtype);
  w[0] = e_seen_by_block(e, global);
  w[1] = align;
  return w[0] & AccessAligned ? 2 : w[0] ? 1 : 0;
}

static tsr_status load_store(emitter *e, const ir_op *op) {
  bool load = op->def->code == TG_MAT_LOAD, global;
  int first = load ? 0 : 1;
  const ir_type *mt = load ? op->results[0]->type : op->operands[0]->type, *pt = op->operands[first]->type;
  uint32_t scale, type = e_matrix_type(e, mt);
  uint32_t p = e_element_pointer(e, op->operands[first], op->operands[first + 1], &scale, &global);
  bool col = !strcmp(ir_get_str(op, "layout", "row"), "col"), limited = op->n_operands > first + 3,
       tensor = limited || ir_get_bool(op, "tensor", false);
  uint32_t stride = stride_of(e, op->operands[first + 2], scale), layout = e_u32(e, col);
  uint32_t w[8] = {p};
  int n = 1;
  if (tensor && !e->caps->coopmat2_tensor)
    return e_fail(e, op, TSR_UNSUPPORTED, "go through shared memory",
                  "rows and columns that end need cooperativeMatrixTensorAddressing");
  if (tensor && (!global || pt->dtype != mt->dtype || (limited && op->n_operands != first + 5)))
    return e_fail(e, op, TSR_VERIFY_ERROR, NULL,
                  "tensor addressing needs global memory of the matrix's own type, and both rows and columns");
  if (!load) w[n++] = e_value(e, op->operands[0])->part[0];
  if (tensor && load) { /* what clamped elements keep */
    uint32_t zero = to_component(e, mt->dtype, e_const(e, mt->dtype, 0, 1));
    w[n++] = VAL(&e->s, OpCompositeConstruct, type, zero);
  }
  if (tensor) w[n++] = tensor_layout(e, mt, stride, col, limited ? op->operands + first + 3 : NULL);
  else w[n++] = layout, w[n++] = stride;
  int extra = memory_operands(e, op, pt, global, w + n);
  n += extra;
  if (tensor) w[n++] = 0; /* no tensor addressing operands */
  if (load)
    e_define(e, op->results[0],
             (sv){.part = {spv_val_n(&e->s, tensor ? OpCooperativeMatrixLoadTensorNV : OpCooperativeMatrixLoadKHR, type,
                                     w, n)}});
  else spv_put(&e->s, e->s.body, tensor ? OpCooperativeMatrixStoreTensorNV : OpCooperativeMatrixStoreKHR, w, n);
  return NULL;
}

/* ---- multiplication ---- */

static tsr_status multiply(emitter *e, const ir_op *op) {
  tsr_dtype a = op->operands[0]->type->dtype, b = op->operands[1]->type->dtype, c = op->operands[2]->type->dtype;
  uint32_t flags = 0, type = e_matrix_type(e, op->results[0]->type);
  if (a == TSR_I8) flags |= MatrixASigned;
  if (b == TSR_I8) flags |= MatrixBSigned;
  if (c == TSR_I32 && a == TSR_I8 && b == TSR_I8) flags |= MatrixCSigned | MatrixResultSigned;
  uint32_t w[4];
  for (int i = 0; i < 3; i++) w[i] = e_value(e, op->operands[i])->part[0];
  w[3] = flags;
  e_define(e, op->results[0], (sv){.part = {spv_val_n(&e->s, OpCooperativeMatrixMulAddKHR, type, w, flags ? 4 : 3)}});
  return NULL;
}

/* ---- elementwise ---- */

typedef struct body {
  const ir_op *op;
  const ir_type *from, *to;
} body; /* op is mat_map, or mat_cast with a plain conversion */

/* The expression on scalars x (already in register form); gives the result in register form. */
static tsr_status expression(emitter *e, const body *b, const uint32_t *x, int n, const uint32_t *coords,
                             uint32_t *out) {
  if (b->op->def->code == TG_MAT_CAST) {
    *out = e_cast(e, x[0], b->from->dtype, b->to->dtype, 1);
    return NULL;
  }
  const ir_block *r = b->op->regions[0];
  const ir_op *end = NULL;
  if (r->n_args < n + (coords ? 2 : 0))
    return e_fail(e, b->op, TSR_VERIFY_ERROR, NULL, "the region has %d arguments for %d matrices", r->n_args, n);
  for (int i = 0; i < n; i++) e_define(e, r->args[i], (sv){.part = {x[i]}});
  for (int i = 0; i < 2 && coords; i++) e_define(e, r->args[n + i], (sv){.part = {coords[i]}});
  TSR_TRY(e->put_ops(e, r, &end));
  if (!end || end->n_operands < 1) return e_fail(e, b->op, TSR_VERIFY_ERROR, NULL, "the region yields nothing");
  *out = e_value(e, end->operands[0])->part[0];
  return NULL;
}

/* for (i < length) out[i] = f(in0[i], in1[i], ...), through Function variables, which is how SPIR-V addresses
 * components. */
static tsr_status component_loop(emitter *e, const body *b, const ir_op *op) {
  uint32_t u32 = e_int(e, 32), out_type = e_matrix_type(e, b->to), vars[MAX_MAP_OPERANDS], x[MAX_MAP_OPERANDS], r;
  int n = op->n_operands;
  for (int i = 0; i < n; i++) {
    vars[i] = e_local(e, e_matrix_type(e, op->operands[i]->type));
    SPV(&e->s, e->s.body, OpStore, vars[i], e_value(e, op->operands[i])->part[0]);
  }
  uint32_t out = e_local(e, out_type), length = VAL(&e->s, OpCooperativeMatrixLengthKHR, u32, out_type);
  uint32_t pre = e->label, head = spv_id(&e->s), in = spv_id(&e->s), cont = spv_id(&e->s), merge = spv_id(&e->s),
           i = spv_id(&e->s), next = spv_id(&e->s);
  SPV(&e->s, e->s.body, OpBranch, head);
  e_block(e, head);
  SPV(&e->s, e->s.body, OpPhi, u32, i, e_u32(e, 0), pre, next, cont);
  uint32_t more = VAL(&e->s, OpULessThan, e_bool(e), i, length);
  SPV(&e->s, e->s.body, OpLoopMerge, merge, cont, LoopUnroll);
  SPV(&e->s, e->s.body, OpBranchConditional, more, in, merge);
  e_block(e, in);
  for (int k = 0; k < n; k++) {
    tsr_dtype t = op->operands[k]->type->dtype;
    uint32_t ct = e_component(e, t), p = VAL(&e->s, OpAccessChain, e_ptr(e, StorageFunction, ct), vars[k], i);
    x[k] = to_register(e, t, VAL(&e->s, OpLoad, ct, p));
  }
  TSR_TRY(expression(e, b, x, n, NULL, &r));
  uint32_t ct = e_component(e, b->to->dtype), p = VAL(&e->s, OpAccessChain, e_ptr(e, StorageFunction, ct), out, i);
  SPV(&e->s, e->s.body, OpStore, p, to_component(e, b->to->dtype, r));
  SPV(&e->s, e->s.body, OpBranch, cont);
  e_block(e, cont);
  SPV(&e->s, e->s.body, OpIAdd, u32, next, i, e_u32(e, 1));
  SPV(&e->s, e->s.body, OpBranch, head);
  e_block(e, merge);
  e_define(e, op->results[0], (sv){.part = {VAL(&e->s, OpLoad, out_type, out)}});
  return NULL;
}

/* ---- functions for NV per-element operations and reductions ---- */

typedef struct fn { spv_section body; uint32_t label, id, result; } fn;

static fn fn_begin(emitter *e, uint32_t result, const uint32_t *types, uint32_t *params, int n) {
  fn f = {e->s.body, e->label, spv_id(&e->s), result};
  uint32_t w[2 + 2 + MAX_MAP_OPERANDS + MAX_CAPTURES] = {result};
  for (int i = 0; i < n; i++) w[1 + i] = types[i];
  uint32_t type = spv_once(&e->s, OpTypeFunction, w, 1 + n, false);
  e->s.body = SEC_FUNCTIONS;
  SPV(&e->s, SEC_FUNCTIONS, OpFunction, result, f.id, 0, type);
  for (int i = 0; i < n; i++) {
    params[i] = spv_id(&e->s);
    SPV(&e->s, SEC_FUNCTIONS, OpFunctionParameter, types[i], params[i]);
  }
  e_block(e, spv_id(&e->s));
  return f;
}

static void fn_end(emitter *e, const fn *f, uint32_t value) {
  SPV(&e->s, SEC_FUNCTIONS, OpReturnValue, value);
  spv_put(&e->s, SEC_FUNCTIONS, OpFunctionEnd, NULL, 0);
  e->s.body = f->body;
  e->label = f->label;
}

/* Values from outside that the region reads and that aren't constants of the module: parameters of the function. */
static int captures(emitter *e, const ir_op *map, const ir_value **out) {
  int n = 0;
  const ir_block *r = map->regions[0];
  for (const ir_op *o = r->first; o; o = o->next)
    for (int i = 0; i < o->n_operands; i++) {
      const ir_value *v = o->operands[i];
      bool inside = v->def ? v->def->parent == r : v->owner == r;
      if (inside || (v->def && v->def->def->code == TG_CONST) || e_value(e, v)->is_const) continue;
      bool known = false;
      for (int k = 0; k < n; k++) known |= out[k] == v;
      if (known) continue;
      if (n == MAX_CAPTURES || e_parts(e, v->type) > 1) return -1;
      out[n++] = v;
    }
  return n;
}

static tsr_status per_element(emitter *e, const body *b, const ir_op *op) {
  const ir_value *outer[MAX_CAPTURES];
  sv saved[MAX_CAPTURES];
  int n = op->n_operands, n_outer = captures(e, op, outer);
  if (n_outer < 0) return e_fail(e, op, TSR_UNSUPPORTED, NULL, "the region uses too many values from outside");
  uint32_t u32 = e_int(e, 32), types[2 + MAX_MAP_OPERANDS + MAX_CAPTURES] = {u32, u32},
           params[2 + MAX_MAP_OPERANDS + MAX_CAPTURES], x[MAX_MAP_OPERANDS], r;
  uint32_t w[2 + MAX_MAP_OPERANDS + MAX_CAPTURES], coords[2];
  for (int i = 0; i < n; i++) types[2 + i] = e_component(e, op->operands[i]->type->dtype);
  for (int i = 0; i < n_outer; i++) types[2 + n + i] = e_type(e, outer[i]->type), saved[i] = *e_value(e, outer[i]);
  use_nv2(e, CapCoopmatPerElementNV);
  tsr_dtype to = b->to->dtype;
  fn f = fn_begin(e, e_component(e, to), types, params, 2 + n + n_outer);
  for (int i = 0; i < 2; i++) coords[i] = e->wide ? VAL(&e->s, OpUConvert, e_int(e, 64), params[i]) : params[i];
  for (int i = 0; i < n; i++) x[i] = to_register(e, op->operands[i]->type->dtype, params[2 + i]);
  for (int i = 0; i < n_outer; i++) e_define(e, outer[i], (sv){.part = {params[2 + n + i]}});
  tsr_status st = expression(e, b, x, n, ir_get_bool(op, "coords", false) ? coords : NULL, &r);
  for (int i = 0; i < n_outer; i++) e_define(e, outer[i], saved[i]);
  if (st) return st;
  fn_end(e, &f, to_component(e, to, r));
  int k = 0;
  w[k++] = e_value(e, op->operands[0])->part[0];
  w[k++] = f.id;
  for (int i = 1; i < n; i++) w[k++] = e_value(e, op->operands[i])->part[0];
  for (int i = 0; i < n_outer; i++) w[k++] = saved[i].part[0];
  e_define(e, op->results[0],
           (sv){.part = {spv_val_n(&e->s, OpCooperativeMatrixPerElementOpNV, e_matrix_type(e, b->to), w, k)}});
  return NULL;
}

static tsr_status map(emitter *e, const ir_op *op) {
  body b = {op, op->operands[0]->type, op->results[0]->type};
  bool coords = ir_get_bool(op, "coords", false), same_type = b.from->dtype == b.to->dtype;
  if (op->n_operands > MAX_MAP_OPERANDS)
    return e_fail(e, op, TSR_UNSUPPORTED, NULL, "more than %d matrices", MAX_MAP_OPERANDS);
  for (int i = 1; i < op->n_operands; i++) same_type &= op->operands[i]->type == op->operands[0]->type;
  if (coords && !e->caps->coopmat2_per_element)
    return e_fail(e, op, TSR_UNSUPPORTED, "go through shared memory",
                  "coordinates need cooperativeMatrixPerElementOperations");
  if (coords && !same_type)
    return e_fail(e, op, TSR_UNSUPPORTED, "cast first", "per-element operations with coordinates need one matrix type");
  const ir_value *outer[MAX_CAPTURES];
  bool function = e->caps->coopmat2_per_element && same_type && captures(e, op, outer) >= 0;
  return coords || function ? per_element(e, &b, op) : component_loop(e, &b, op);
}

/* ---- conversions and reductions ---- */

static tsr_status cast(emitter *e, const ir_op *op) {
  const ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
  uint32_t x = e_value(e, op->operands[0])->part[0];
  ir_type mid = *to;
  mid.use = from->use;
  bool floats = dtype_is_float(from->dtype) && dtype_is_float(to->dtype),
       reuse = e_matrix_use(from) != e_matrix_use(to);
  if (reuse && !e->caps->coopmat2_convert)
    return e_fail(e, op, TSR_UNSUPPORTED, "store and load again",
                  "changing a matrix's use needs cooperativeMatrixConversions");
  if (from->dtype != to->dtype && floats && tsr_dtype_size(to->dtype) > 1) {
    x = VAL(&e->s, OpFConvert, e_matrix_type(e, &mid), x);
  } else if (from->dtype == TSR_I32 && dtype_is_float(to->dtype) && tsr_dtype_size(to->dtype) > 1) {
    x = VAL(&e->s, OpConvertSToF, e_matrix_type(e, &mid), x);
  } else if (from->dtype != to->dtype) {
    body b = {op, from, &mid};
    TSR_TRY(component_loop(e, &b, op));
    x = e_value(e, op->results[0])->part[0];
  }
  if (reuse) {
    use_nv2(e, CapCoopmatConversionsNV);
    x = VAL(&e->s, OpCooperativeMatrixConvertNV, e_matrix_type(e, to), x);
  }
  e_define(e, op->results[0], (sv){.part = {x}});
  return NULL;
}

static tsr_status reduce(emitter *e, const ir_op *op) {
  const ir_type *t = op->operands[0]->type;
  if (!e->caps->coopmat2_reduce)
    return e_fail(e, op, TSR_UNSUPPORTED, "go through shared memory",
                  "matrix reductions need cooperativeMatrixReductions");
  use_nv2(e, CapCoopmatReductionsNV);
  uint32_t ct = e_component(e, t->dtype), types[2] = {ct, ct}, params[2];
  fn f = fn_begin(e, ct, types, params, 2);
  uint32_t a = to_register(e, t->dtype, params[0]), b = to_register(e, t->dtype, params[1]);
  uint32_t r = e_combine(e, ir_reducer_of(op)->code, (vt){t->dtype, 1}, a, b);
  fn_end(e, &f, to_component(e, t->dtype, r));
  uint32_t mask = ir_get_int(op, "axis", 1) == 1 ? 1 : 2; /* Row combines along a row */
  e_define(e, op->results[0],
           (sv){.part = {VAL(&e->s, OpCooperativeMatrixReduceNV, e_matrix_type(e, op->results[0]->type),
                             e_value(e, op->operands[0])->part[0], mask, f.id)}});
  return NULL;
}

static tsr_status fill(emitter *e, const ir_op *op) {
  const ir_type *t = op->results[0]->type;
  uint32_t x = to_component(e, t->dtype, e_value(e, op->operands[0])->part[0]);
  e_define(e, op->results[0], (sv){.part = {VAL(&e->s, OpCompositeConstruct, e_matrix_type(e, t), x)}});
  return NULL;
}

tsr_status e_matrix_op(emitter *e, const ir_op *op) {
  if (!e->caps->coopmat)
    return e_fail(e, op, TSR_UNSUPPORTED, "choose the scalar path", "the device has no cooperative matrices");
  switch (op->def->code) {
  case TG_MAT_FILL: return fill(e, op);
  case TG_MAT_LOAD:
  case TG_MAT_STORE: return load_store(e, op);
  case TG_MAT_MMA: return multiply(e, op);
  case TG_MAT_MAP: return map(e, op);
  case TG_MAT_CAST: return cast(e, op);
  default: return reduce(e, op);
  }
}
