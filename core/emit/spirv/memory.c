/* core/emit/spirv/memory.c - loads and stores of Target IR in SPIR-V: global memory by 64-bit addresses, shared memory
 * as one range of bytes seen through aliased arrays (VK_KHR_workgroup_memory_explicit_layout) or, where that is
 * missing, as 32-bit words; register arrays as Function variables.
 *
 * An access of n elements is cut into chunks of at most 16 bytes, each one SPIR-V load or store of 32-bit words where
 * the alignment allows it (one 128-bit access for 8 f16), else of single elements. */
#include <string.h>

#include "core/base/int_math.h"
#include "core/device/dialect.h"
#include "core/emit/spirv/internal.h"

static bool is_shared(const ir_type *p) { return p->use && !strcmp(p->use, "shared"); }
/* bool is a byte in memory; bf16 and fp8 are integers. */
static uint32_t mem_elem(emitter *e, tsr_dtype t) { return t == TSR_BOOL ? e_int(e, 8) : e_reg(e, t, 1); }

static uint32_t add_const(emitter *e, uint32_t x, int64_t c, int bits) {
  return c ? VAL(&e->s, OpIAdd, e_int(e, bits), x, e_const_int(e, bits, c, 1)) : x;
}

static int log2_size(size_t bytes) { return bytes == 16 ? 4 : bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0; }

/* A byte offset into shared memory. */
static uint32_t shared_bytes(emitter *e, const sv *index, size_t elem) {
  if (index->is_const) return e_const_int(e, 32, wrap_mul(index->c, (int64_t)elem), 1);
  uint32_t x = index->part[0];
  if (e->wide) x = VAL(&e->s, OpUConvert, e_int(e, 32), x);
  return elem == 1 ? x : VAL(&e->s, OpIMul, e_int(e, 32), x, e_const_int(e, 32, (int64_t)elem, 1));
}

/* The address of ptr[index]: 64-bit address or 32-bit offset. */
static uint32_t address(emitter *e, const ir_value *ptr, const ir_value *index) {
  bool shared = is_shared(ptr->type);
  const sv *i = e_value(e, index), *p = e_value(e, ptr);
  size_t elem = tsr_dtype_size(ptr->type->dtype);
  if (shared && p->is_const && i->is_const) return e_u32(e, (uint32_t)((uint64_t)p->c + (uint64_t)i->c * elem));
  if (i->is_const && i->c == 0) return p->part[0];
  if (shared) return VAL(&e->s, OpIAdd, e_int(e, 32), p->part[0], shared_bytes(e, i, elem));
  return e_address_add(e, p->part[0], i, log2_size(elem));
}

/* `bytes` further on. */
static uint32_t further(emitter *e, bool shared, uint32_t at, int64_t bytes) {
  return shared ? add_const(e, at, bytes, 32) : e_address_add_const(e, at, bytes);
}

/* ---- shared memory ---- */

/* The Workgroup variable that shows the block's memory as an array of `type` (bytes wide). */
static uint32_t shared_var(emitter *e, uint32_t type, int bytes) {
  for (int i = 0; i < e->n_shared_vars; i++)
    if (e->shared_vars[i].type == type) return e->shared_vars[i].var;
  if (e->n_shared_vars == (int)(sizeof e->shared_vars / sizeof *e->shared_vars)) {
    e->full = "views of shared memory";
    e->s.failed = true;
    return 1;
  }
  int64_t n = (e->shared_bytes + bytes - 1) / bytes;
  uint32_t count = e_u32(e, (uint32_t)(n > 0 ? n : 1)), array = spv_id(&e->s), holder = array, var;
  SPV(&e->s, SEC_TYPES, OpTypeArray, array, type, count);
  if (e->caps->shared_layout) {
    /* Not deduplicated: a Workgroup block has its own decorated types. */
    SPV(&e->s, SEC_DECORATIONS, OpDecorate, array, DecArrayStride, (uint32_t)bytes);
    holder = spv_id(&e->s);
    SPV(&e->s, SEC_TYPES, OpTypeStruct, holder, array);
    SPV(&e->s, SEC_DECORATIONS, OpDecorate, holder, DecBlock);
    SPV(&e->s, SEC_DECORATIONS, OpMemberDecorate, holder, 0, DecOffset, 0);
    spv_capability(&e->s, CapWorkgroupMemoryExplicitLayout);
    spv_extension(&e->s, "SPV_KHR_workgroup_memory_explicit_layout");
  }
  uint32_t pointer = e_ptr(e, StorageWorkgroup, holder);
  var = spv_id(&e->s);
  SPV(&e->s, SEC_TYPES, OpVariable, pointer, var, StorageWorkgroup);
  if (e->caps->shared_layout) SPV(&e->s, SEC_DECORATIONS, OpDecorate, var, DecAliased);
  e_interface(e, var);
  e->shared_vars[e->n_shared_vars].type = type;
  e->shared_vars[e->n_shared_vars++].var = var;
  return var;
}

/* Pointer to the array element of `type` at byte offset `at`. */
static uint32_t shared_pointer(emitter *e, uint32_t type, int bytes, uint32_t at) {
  uint32_t var = shared_var(e, type, bytes), u32 = e_int(e, 32), pt = e_ptr(e, StorageWorkgroup, type);
  int lg = log2_size((size_t)bytes);
  uint32_t i = lg ? VAL(&e->s, OpShiftRightLogical, u32, at, e_u32(e, (uint32_t)lg)) : at;
  if (e->caps->shared_layout) return VAL(&e->s, OpAccessChain, pt, var, e_u32(e, 0), i);
  return VAL(&e->s, OpAccessChain, pt, var, i);
}

/* Capabilities for narrow types in memory. */
static void need_storage(emitter *e, bool shared, int elem_bytes) {
  if (elem_bytes >= 4) return;
  if (!shared) spv_capability(&e->s, elem_bytes == 2 ? CapStorageBuffer16BitAccess : CapStorageBuffer8BitAccess);
  else if (e->caps->shared_layout)
    spv_capability(&e->s, elem_bytes == 2 ? CapWorkgroupMemoryExplicitLayout16 : CapWorkgroupMemoryExplicitLayout8);
}

/* ---- chunks ---- */

/* On a subgroup that is a SIMD register of a CPU every lane's access is scalar code, so half as many of twice the width
 * are nearly twice as fast. */
static bool by_64(const emitter *e, bool shared, int words) {
  return !shared && words >= 2 && !e->pairs && caps_simd_like(e->caps);
}

/* One SPIR-V access: `words` 32-bit words, or a single element when words is 0. */
typedef struct chunk { int first, n, words; } chunk;

static chunk next_chunk(const emitter *e, tsr_dtype t, int first, int n, int align, bool shared) {
  int size = (int)tsr_dtype_size(t), left = (n - first) * size;
  if (size == 8) return (chunk){first, 1, 0};
  int bytes = 16;
  while (bytes > 4 && (bytes > left || bytes > align || (first * size) % bytes)) bytes /= 2;
  if (shared && !e->caps->shared_layout && bytes > 4) bytes = 4;
  if (bytes > left || align < 4 || (first * size) % 4) return (chunk){first, 1, 0};
  return (chunk){first, bytes / size, bytes / 4};
}

/* Register type of a chunk's elements as SPIR-V sees memory: words of u32, or the element. */
static uint32_t words_type(emitter *e, int words) { return e_vec(e, e_int(e, 32), words); }

uint32_t e_seen_by_block(const emitter *e, bool physical) {
  uint32_t flags = physical ? AccessAligned : 0;
  if (physical && !e->has_barrier) return flags;
  if (!e->caps->glsl_memory_model) return flags | AccessNonPrivate;
  return flags | (physical ? AccessVolatile : 0); /* no variable that could be Coherent */
}

static uint32_t memory_operand(emitter *e, const ir_op *op, bool shared, uint32_t bytes, uint32_t w[3]) {
  uint32_t flags = e_seen_by_block(e, !shared);
  if (!shared && ir_get_bool(op, "streaming", false)) flags |= AccessNontemporal;
  w[0] = flags;
  w[1] = bytes;
  return shared ? 1 : 2;
}

static uint32_t load_raw(emitter *e, const ir_op *op, bool shared, uint32_t type, int bytes, int align, uint32_t at) {
  uint32_t p = shared ? shared_pointer(e, type, bytes, at) : e_physical(e, type, at), w[4] = {p};
  uint32_t n = memory_operand(e, op, shared, (uint32_t)align, w + 1);
  return spv_val_n(&e->s, OpLoad, type, w, 1 + (int)n);
}

static void store_raw(emitter *e, const ir_op *op, bool shared, uint32_t type, int bytes, int align, uint32_t at,
                      uint32_t x) {
  uint32_t p = shared ? shared_pointer(e, type, bytes, at) : e_physical(e, type, at), w[5] = {p, x};
  uint32_t n = memory_operand(e, op, shared, (uint32_t)align, w + 2);
  spv_put(&e->s, e->s.body, OpStore, w, 2 + (int)n);
}

/* A narrow element of shared memory kept as words: cut out of its word. */
static uint32_t load_sub_word(emitter *e, const ir_op *op, int bytes, uint32_t at) {
  uint32_t u32 = e_int(e, 32), word = load_raw(e, op, true, u32, 4, 4, at);
  uint32_t byte = VAL(&e->s, OpBitwiseAnd, u32, at, e_u32(e, 3)),
           sh = VAL(&e->s, OpShiftLeftLogical, u32, byte, e_u32(e, 3));
  uint32_t x = VAL(&e->s, OpShiftRightLogical, u32, word, sh);
  return VAL(&e->s, OpUConvert, e_int(e, 8 * bytes), x);
}

/* Neighbours of other threads share the word, so it is changed by atomics: clear, then set. */
static void store_sub_word(emitter *e, int bytes, uint32_t at, uint32_t x) {
  uint32_t u32 = e_int(e, 32), p = shared_pointer(e, u32, 4, at);
  uint32_t sh = VAL(&e->s, OpShiftLeftLogical, u32, VAL(&e->s, OpBitwiseAnd, u32, at, e_u32(e, 3)), e_u32(e, 3));
  uint32_t mask = VAL(&e->s, OpNot, u32, VAL(&e->s, OpShiftLeftLogical, u32, e_u32(e, bytes == 2 ? 0xffff : 0xff), sh));
  uint32_t v = VAL(&e->s, OpShiftLeftLogical, u32, VAL(&e->s, OpUConvert, u32, x), sh);
  VAL(&e->s, OpAtomicAnd, u32, p, e_u32(e, ScopeWorkgroup), e_u32(e, 0), mask);
  VAL(&e->s, OpAtomicOr, u32, p, e_u32(e, ScopeWorkgroup), e_u32(e, 0), v);
}

/* Elements of a loaded chunk as register scalars or a vector of `n`: u32 words are cast to the element type. */
static uint32_t words_to_elems(emitter *e, uint32_t x, int words, tsr_dtype t, int n) {
  tsr_dtype bits = t == TSR_BOOL ? TSR_U8 : t;
  uint32_t type = e_reg(e, bits, n);
  if (type != words_type(e, words)) x = VAL(&e->s, OpBitcast, type, x);
  return x;
}

typedef struct access { const ir_op *op; bool shared; tsr_dtype t; int align; uint32_t at; } access;

static int gcd_align(int align, int offset) {
  return offset ? (offset & -offset) < align ? (offset & -offset) : align : align;
}
static bool words_only(const emitter *e, const access *m) { return m->shared && !e->caps->shared_layout; }

/* Loads n scalars of a part into out[]: elements of type t (bool as u8). */
static void load_elems(emitter *e, const access *m, int n, uint32_t *out) {
  int size = (int)tsr_dtype_size(m->t);
  tsr_dtype bits = m->t == TSR_BOOL ? TSR_U8 : m->t;
  for (int i = 0; i < n;) {
    chunk c = next_chunk(e, m->t, i, n, m->align, m->shared);
    uint32_t at = further(e, m->shared, m->at, (int64_t)i * size);
    if (!c.words) {
      if (words_only(e, m) && size < 4) {
        out[i] = load_sub_word(e, m->op, size, at);
        if (m->t == TSR_F16) out[i] = VAL(&e->s, OpBitcast, e_float(e, 16), out[i]);
      } else {
        need_storage(e, m->shared, size);
        out[i] = load_raw(e, m->op, m->shared, mem_elem(e, m->t), size, gcd_align(size, 0), at);
      }
      i++;
      continue;
    }
    bool pairs = by_64(e, m->shared, c.words);
    uint32_t type = words_type(e, c.words), raw = pairs ? e_vec(e, e_int(e, 64), c.words / 2) : type;
    uint32_t x =
        load_raw(e, m->op, m->shared, raw, 4 * c.words, gcd_align(m->align < 16 ? m->align : 16, i * size), at);
    if (pairs) x = VAL(&e->s, OpBitcast, type, x);
    int per = size >= 4 ? c.n : 4 / size; /* elements of one bitcast: whole chunk, or those of a word */
    if (size >= 4) {
      x = words_to_elems(e, x, c.words, bits, c.n);
      for (int k = 0; k < c.n; k++)
        out[i + k] = c.n == 1 ? x : VAL(&e->s, OpCompositeExtract, e_reg(e, bits, 1), x, (uint32_t)k);
    } else {
      for (int wd = 0; wd < c.words; wd++) {
        uint32_t word = c.words == 1 ? x : VAL(&e->s, OpCompositeExtract, e_int(e, 32), x, (uint32_t)wd);
        uint32_t v = VAL(&e->s, OpBitcast, e_reg(e, bits, per), word);
        for (int k = 0; k < per; k++)
          out[i + wd * per + k] = VAL(&e->s, OpCompositeExtract, e_reg(e, bits, 1), v, (uint32_t)k);
      }
    }
    i += c.n;
  }
}

static uint32_t assemble(emitter *e, tsr_dtype t, const uint32_t *x, int n) {
  uint32_t w[4];
  for (int i = 0; i < n; i++) w[i] = x[i];
  return n == 1 ? w[0] : spv_val_n(&e->s, OpCompositeConstruct, e_reg(e, t, n), w, n);
}

static int vector_length(const ir_type *t) { return t->kind == IR_T_VECTOR ? (int)t->dims[0] : 1; }

static access access_of(emitter *e, const ir_op *op, const ir_value *ptr, const ir_value *index, int n) {
  tsr_dtype t = ptr->type->dtype;
  int natural = n * (int)tsr_dtype_size(t), align = (int)ir_get_int(op, "align", 0);
  if (align <= 0) align = natural & -natural;
  return (access){op, is_shared(ptr->type), t, align, address(e, ptr, index)};
}

tsr_status e_load(emitter *e, const ir_op *op) {
  const ir_type *rt = op->results[0]->type;
  int n = vector_length(rt), per = n > 4 ? 4 : n;
  uint32_t x[16];
  if (n > 16) return e_fail(e, op, TSR_UNSUPPORTED, NULL, "vectors have at most 16 elements");
  access m = access_of(e, op, op->operands[0], op->operands[1], n);
  load_elems(e, &m, n, x);
  sv r = {.part = {0}};
  for (int p = 0; p * per < n; p++) {
    r.part[p] = assemble(e, m.t == TSR_BOOL ? TSR_U8 : m.t, x + p * per, per);
    if (m.t == TSR_BOOL) r.part[p] = e_cast(e, r.part[p], TSR_U8, TSR_BOOL, per);
  }
  e_define(e, op->results[0], r);
  return NULL;
}

/* The scalars of a vector value. */
static void scatter(emitter *e, const sv *v, vt part, int n, uint32_t *out) {
  for (int i = 0; i < n; i++)
    out[i] = part.n == 1 ? v->part[0]
                         : VAL(&e->s, OpCompositeExtract, e_reg(e, part.t, 1), v->part[i / 4], (uint32_t)(i % 4));
}

static void store_elems(emitter *e, const access *m, int n, const uint32_t *x) {
  int size = (int)tsr_dtype_size(m->t);
  tsr_dtype bits = m->t == TSR_BOOL ? TSR_U8 : m->t;
  for (int i = 0; i < n;) {
    chunk c = next_chunk(e, m->t, i, n, m->align, m->shared);
    uint32_t at = further(e, m->shared, m->at, (int64_t)i * size);
    if (!c.words && words_only(e, m) && size < 4) {
      store_sub_word(e, size, at, m->t == TSR_F16 ? VAL(&e->s, OpBitcast, e_int(e, 16), x[i]) : x[i]);
    } else if (!c.words) {
      need_storage(e, m->shared, size);
      store_raw(e, m->op, m->shared, mem_elem(e, m->t), size, size, at, x[i]);
    } else {
      uint32_t words[4];
      int per = size >= 4 ? 1 : 4 / size;
      for (int wd = 0; wd < c.words; wd++) {
        uint32_t v = assemble(e, bits, x + i + wd * per, per);
        words[wd] = bits == TSR_I32 ? v : VAL(&e->s, OpBitcast, e_int(e, 32), v);
      }
      uint32_t v =
          c.words == 1 ? words[0] : spv_val_n(&e->s, OpCompositeConstruct, words_type(e, c.words), words, c.words);
      bool pairs = by_64(e, m->shared, c.words);
      uint32_t raw = pairs ? e_vec(e, e_int(e, 64), c.words / 2) : words_type(e, c.words);
      if (pairs) v = VAL(&e->s, OpBitcast, raw, v);
      store_raw(e, m->op, m->shared, raw, 4 * c.words, gcd_align(m->align < 16 ? m->align : 16, i * size), at, v);
    }
    i += c.n;
  }
}

tsr_status e_store(emitter *e, const ir_op *op) {
  const ir_type *t = op->operands[0]->type;
  int n = vector_length(t), per = n > 4 ? 4 : n;
  uint32_t x[16];
  if (n > 16) return e_fail(e, op, TSR_UNSUPPORTED, NULL, "vectors have at most 16 elements");
  sv v = *e_value(e, op->operands[0]);
  vt part = e_part(e, t);
  if (part.t == TSR_BOOL) {
    for (int p = 0; p * per < n; p++) v.part[p] = e_cast(e, v.part[p], TSR_BOOL, TSR_U8, per);
    part.t = TSR_U8;
  }
  scatter(e, &v, part, n, x);
  access m = access_of(e, op, op->operands[1], op->operands[2], n);
  store_elems(e, &m, n, x);
  return NULL;
}

/* ---- pointers ---- */

tsr_status e_ptr_op(emitter *e, const ir_op *op) {
  ir_value *r = op->results[0];
  if (op->def->code == TG_SHARED) {
    int64_t at = ir_get_int(op, "offset", 0);
    if (at < 0 || at >= e->shared_bytes)
      return e_fail(e, op, TSR_VERIFY_ERROR, NULL, "offset %lld lies outside the %lld bytes of shared memory",
                    (long long)at, (long long)e->shared_bytes);
    e_define(e, r, (sv){.part = {e_u32(e, (uint32_t)at)}, .is_const = true, .c = at});
  } else if (op->def->code == TG_PTR_CAST) {
    e_define(e, r, *e_value(e, op->operands[0]));
  } else {
    e_define(e, r, (sv){.part = {address(e, op->operands[0], op->operands[1])}});
  }
  return NULL;
}

/* SPIR-V wants matrix loads to point into an array: a runtime array at the address, element 0. Where shared memory is
 * only words, the pointer counts words; scale is log2 of how many elements one of the pointer's holds. */
uint32_t e_element_pointer(emitter *e, const ir_value *ptr, const ir_value *index, uint32_t *scale_log2,
                           bool *is_physical) {
  tsr_dtype t = ptr->type->dtype;
  int size = (int)tsr_dtype_size(t);
  bool shared = is_shared(ptr->type);
  uint32_t at = address(e, ptr, index), elem = mem_elem(e, t);
  *scale_log2 = 0;
  *is_physical = !shared;
  if (shared && !e->caps->shared_layout &&
      size <= 4) { /* one variable for all types, or they would not be the same bytes */
    *scale_log2 = size == 4 ? 0 : size == 2 ? 1 : 2;
    elem = e_int(e, 32), size = 4;
  }
  need_storage(e, shared, size);
  if (shared) return shared_pointer(e, elem, size, at);
  uint32_t before = e->s.next_id, array = TYPE(&e->s, OpTypeRuntimeArray, elem);
  if (array >= before) SPV(&e->s, SEC_DECORATIONS, OpDecorate, array, DecArrayStride, (uint32_t)size);
  before = e->s.next_id;
  uint32_t holder = TYPE(&e->s, OpTypeStruct, array);
  if (holder >= before) {
    SPV(&e->s, SEC_DECORATIONS, OpDecorate, holder, DecBlock);
    SPV(&e->s, SEC_DECORATIONS, OpMemberDecorate, holder, 0, DecOffset, 0);
  }
  uint32_t whole = e_physical(e, holder, at);
  return VAL(&e->s, OpAccessChain, e_ptr(e, StoragePhysical, elem), whole, e_u32(e, 0), e_u32(e, 0));
}

/* ---- register arrays ---- */

static uint32_t array_element(emitter *e, const ir_value *array, const sv *index, int offset, uint32_t *type) {
  tsr_dtype t = array->type->dtype;
  int bits = e->wide ? 64 : 32;
  *type = e_reg(e, t, 1);
  uint32_t i = index->is_const ? e_const_int(e, bits, wrap_add(index->c, offset), 1)
                               : add_const(e, index->part[0], offset, bits);
  return VAL(&e->s, OpAccessChain, e_ptr(e, StorageFunction, *type), e_value(e, array)->part[0], i);
}

tsr_status e_array_op(emitter *e, const ir_op *op) {
  uint32_t type;
  if (op->def->code == TG_LOCAL) {
    const ir_type *t = op->results[0]->type;
    uint32_t array = TYPE(&e->s, OpTypeArray, e_reg(e, t->dtype, 1), e_u32(e, (uint32_t)ir_type_count(t)));
    e_define(e, op->results[0], (sv){.part = {e_local(e, array)}});
    return NULL;
  }
  bool get = op->def->code == TG_GET;
  const ir_value *array = op->operands[get ? 0 : 1];
  const sv *index = e_value(e, op->operands[get ? 1 : 2]);
  const ir_type *vt_ = get ? op->results[0]->type : op->operands[0]->type;
  int n = vector_length(vt_), per = n > 4 ? 4 : n;
  uint32_t x[16];
  if (n > 16) return e_fail(e, op, TSR_UNSUPPORTED, NULL, "vectors have at most 16 elements");
  if (!get) scatter(e, e_value(e, op->operands[0]), e_part(e, vt_), n, x);
  for (int i = 0; i < n; i++) {
    uint32_t p = array_element(e, array, index, i, &type);
    if (get) x[i] = VAL(&e->s, OpLoad, type, p);
    else SPV(&e->s, e->s.body, OpStore, p, x[i]);
  }
  if (!get) return NULL;
  sv r = {.part = {0}};
  for (int p = 0; p * per < n; p++) r.part[p] = assemble(e, array->type->dtype, x + p * per, per);
  e_define(e, op->results[0], r);
  return NULL;
}
