/* core/emit/spirv/memory.c - loads and stores of Target IR in SPIR-V.
 *
 * An access of n elements is cut into chunks of at most 16 bytes, each one SPIR-V load or store of 32-bit words where
 * the alignment allows it (one 128-bit access for 8 f16), else of single elements: by accesses of their own size or,
 * where the device has none, by the 32-bit words that hold them. */
#include <string.h>

#include "core/base/int_math.h"
#include "core/device/dialect.h"
#include "core/emit/spirv/internal.h"

static bool is_shared(const ir_type *p) { return p->use && !strcmp(p->use, "shared"); }
/* bool is a byte in memory; bf16 and fp8 are integers. */
static uint32_t mem_elem(emitter *e, tsr_dtype t) { return t == TSR_BOOL ? e_int(e, 8) : e_element(e, t); }

uint32_t e_add_const(emitter *e, uint32_t x, int64_t c, int bits) {
  return c ? VAL(&e->s, OpIAdd, e_int(e, bits), x, e_const_int(e, bits, c, 1)) : x;
}

static e_place place_of(emitter *e, const ir_value *ptr) {
  return (e_place){is_shared(ptr->type), e_value(e, ptr)->buffer};
}

static int log2_size(size_t bytes) { return bytes == 16 ? 4 : bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0; }

/* A byte offset into shared memory. */
static uint32_t shared_bytes(emitter *e, const sv *index, size_t elem) {
  if (index->is_const) return e_const_int(e, 32, wrap_mul(index->c, (int64_t)elem), 1);
  uint32_t x = index->part[0];
  if (e->wide) x = VAL(&e->s, OpUConvert, e_int(e, 32), x);
  return elem == 1 ? x : VAL(&e->s, OpIMul, e_int(e, 32), x, e_const_int(e, 32, (int64_t)elem, 1));
}

/* The address of ptr[index], of shared memory an offset into it. */
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
  return shared ? e_add_const(e, at, bytes, 32) : e_address_add_const(e, at, bytes);
}

/* Capabilities for narrow types in memory. */
static void need_storage(emitter *e, bool shared, int elem_bytes) {
  if (elem_bytes >= 4) return;
  if (!shared && elem_bytes == 1 && e_before(e, 5)) spv_extension(&e->s, "SPV_KHR_8bit_storage");
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

uint32_t e_seen_by_block(const emitter *e, bool global) {
  bool physical = global && !e->caps->descriptors;
  uint32_t flags = physical ? AccessAligned : 0;
  if (global && !e->has_barrier) return flags;
  if (!e->caps->glsl_memory_model) return flags | AccessNonPrivate;
  return flags | (physical ? AccessVolatile : 0); /* no variable that could be Coherent */
}

static uint32_t memory_operand(emitter *e, const ir_op *op, bool shared, uint32_t bytes, uint32_t w[3]) {
  uint32_t flags = e_seen_by_block(e, !shared);
  if (!shared && ir_get_bool(op, "streaming", false)) flags |= AccessNontemporal;
  w[0] = flags;
  w[1] = bytes;
  return flags & AccessAligned ? 2 : 1;
}

static uint32_t load_raw(emitter *e, const ir_op *op, e_place in, uint32_t type, int bytes, int align, uint32_t at) {
  uint32_t p = e_pointer(e, in, type, bytes, at), w[4] = {p};
  uint32_t n = memory_operand(e, op, in.shared, (uint32_t)align, w + 1);
  return spv_val_n(&e->s, OpLoad, type, w, 1 + (int)n);
}

static void store_raw(emitter *e, const ir_op *op, e_place in, uint32_t type, int bytes, int align, uint32_t at,
                      uint32_t x) {
  uint32_t p = e_pointer(e, in, type, bytes, at), w[5] = {p, x};
  uint32_t n = memory_operand(e, op, in.shared, (uint32_t)align, w + 2);
  spv_put(&e->s, e->s.body, OpStore, w, 2 + (int)n);
}

/* How far up in its word a narrow element is, in bits. */
static uint32_t shift_in_word(emitter *e, bool shared, uint32_t at) {
  uint32_t u32 = e_int(e, 32), low = shared ? at : e_address_low(e, at);
  return VAL(&e->s, OpShiftLeftLogical, u32, VAL(&e->s, OpBitwiseAnd, u32, low, e_u32(e, 3)), e_u32(e, 3));
}

/* A narrow element of memory that is accessed as words: cut out of its word. */
static uint32_t load_sub_word(emitter *e, const ir_op *op, e_place in, tsr_dtype t, uint32_t at) {
  uint32_t u32 = e_int(e, 32), word = load_raw(e, op, in, u32, 4, 4, in.shared ? at : e_address_word(e, at));
  uint32_t x = VAL(&e->s, OpShiftRightLogical, u32, word, shift_in_word(e, in.shared, at));
  return e_of_word(e, t, x, 0);
}

/* Neighbours of other threads share the word, so it is changed by atomics: clear, then set. Each thread changes its own
 * bits alone, in whatever order. */
static void store_sub_word(emitter *e, e_place in, tsr_dtype t, uint32_t at, uint32_t x) {
  uint32_t u32 = e_int(e, 32), p = e_word_pointer(e, in, at), sh = shift_in_word(e, in.shared, at);
  uint32_t ones = e_u32(e, tsr_dtype_size(t) == 2 ? 0xffff : 0xff),
           mask = VAL(&e->s, OpNot, u32, VAL(&e->s, OpShiftLeftLogical, u32, ones, sh));
  uint32_t v = VAL(&e->s, OpShiftLeftLogical, u32, e_to_bits(e, t, x), sh);
  uint32_t scope = e_u32(e, in.shared                      ? ScopeWorkgroup
                            : e->caps->glsl_memory_model ? ScopeDevice
                                                         : ScopeQueueFamily);
  VAL(&e->s, OpAtomicAnd, u32, p, scope, e_u32(e, 0), mask);
  VAL(&e->s, OpAtomicOr, u32, p, scope, e_u32(e, 0), v);
}

/* Elements of a loaded chunk as register scalars or a vector of `n`: u32 words are cast to the element type. */
static uint32_t words_to_elems(emitter *e, uint32_t x, int words, tsr_dtype t, int n) {
  tsr_dtype bits = t == TSR_BOOL ? TSR_U8 : t;
  uint32_t type = e_reg(e, bits, n);
  if (type != words_type(e, words)) x = VAL(&e->s, OpBitcast, type, x);
  return x;
}

typedef struct access { const ir_op *op; e_place in; tsr_dtype t; int align; uint32_t at; } access;

static int gcd_align(int align, int offset) {
  return offset ? (offset & -offset) < align ? (offset & -offset) : align : align;
}
/* Elements that no access of their own size reaches. */
static bool in_words(const emitter *e, const access *m) {
  int size = (int)tsr_dtype_size(m->t);
  if (size >= 4) return false;
  return m->in.shared ? !e->caps->shared_layout : size == 2 ? !e->caps->storage16 : !e->caps->storage8;
}

/* A narrow type's bits as memory has them: needs no arithmetic on integers of that size. */
static uint32_t stored_int(emitter *e, tsr_dtype t) {
  return TYPE(&e->s, OpTypeInt, 8 * (uint32_t)tsr_dtype_size(t), 0);
}

/* 64 bits of shared memory that is an array of words. */
static uint32_t load_two_words(emitter *e, const access *m, uint32_t at) {
  uint32_t u32 = e_int(e, 32), low = load_raw(e, m->op, m->in, u32, 4, 4, at),
           high = load_raw(e, m->op, m->in, u32, 4, 4, e_add_const(e, at, 4, 32));
  uint32_t both = VAL(&e->s, OpCompositeConstruct, e_vec(e, u32, 2), low, high), type = e_element(e, m->t);
  return type == e_vec(e, u32, 2) ? both : e_of_two(e, type, both);
}

static void store_two_words(emitter *e, const access *m, uint32_t at, uint32_t x) {
  uint32_t u32 = e_int(e, 32), two = e_vec(e, u32, 2);
  if (e_element(e, m->t) != two) x = VAL(&e->s, OpBitcast, two, x);
  for (uint32_t i = 0; i < 2; i++)
    store_raw(e, m->op, m->in, u32, 4, 4, e_add_const(e, at, 4 * i, 32), VAL(&e->s, OpCompositeExtract, u32, x, i));
}

static uint32_t load_element(emitter *e, const access *m, tsr_dtype bits, uint32_t at) {
  int size = (int)tsr_dtype_size(m->t);
  if (size == 8 && m->in.shared && !e->caps->shared_layout) return load_two_words(e, m, at);
  if (in_words(e, m)) return load_sub_word(e, m->op, m->in, bits, at);
  need_storage(e, m->in.shared, size);
  if (!e_held_wide(e, bits)) return load_raw(e, m->op, m->in, mem_elem(e, m->t), size, size, at);
  bool sign = !dtype_is_float(bits) && dtype_get(bits)->is_signed;
  uint32_t x = load_raw(e, m->op, m->in, stored_int(e, bits), size, size, at);
  return VAL(&e->s, sign ? OpSConvert : OpUConvert, e_int(e, 32), x);
}

static void store_element(emitter *e, const access *m, tsr_dtype bits, uint32_t at, uint32_t x) {
  int size = (int)tsr_dtype_size(m->t);
  if (size == 8 && m->in.shared && !e->caps->shared_layout) {
    store_two_words(e, m, at, x);
    return;
  }
  if (in_words(e, m)) {
    store_sub_word(e, m->in, bits, at, x);
    return;
  }
  need_storage(e, m->in.shared, size);
  bool wide = e_held_wide(e, bits);
  if (wide) x = VAL(&e->s, OpUConvert, stored_int(e, bits), x);
  store_raw(e, m->op, m->in, wide ? stored_int(e, bits) : mem_elem(e, m->t), size, size, at, x);
}

/* The elements of a word. */
static void of_word(emitter *e, tsr_dtype bits, uint32_t word, uint32_t *out) {
  int per = 4 / (int)tsr_dtype_size(bits);
  bool wide = e_held_wide(e, bits);
  uint32_t v = wide ? word : VAL(&e->s, OpBitcast, e_reg(e, bits, per), word);
  for (int k = 0; k < per; k++)
    out[k] = wide ? e_of_word(e, bits, word, k) : VAL(&e->s, OpCompositeExtract, e_reg(e, bits, 1), v, (uint32_t)k);
}

/* Loads n scalars of a part into out[]: elements of type t (bool as u8). */
static void load_elems(emitter *e, const access *m, int n, uint32_t *out) {
  int size = (int)tsr_dtype_size(m->t);
  tsr_dtype bits = m->t == TSR_BOOL ? TSR_U8 : m->t;
  for (int i = 0; i < n;) {
    chunk c = next_chunk(e, m->t, i, n, m->align, m->in.shared);
    uint32_t at = further(e, m->in.shared, m->at, (int64_t)i * size);
    if (!c.words) {
      out[i++] = load_element(e, m, bits, at);
      continue;
    }
    bool pairs = by_64(e, m->in.shared, c.words);
    uint32_t type = words_type(e, c.words), raw = pairs ? e_vec(e, e_int(e, 64), c.words / 2) : type;
    uint32_t x =
        load_raw(e, m->op, m->in, raw, 4 * c.words, gcd_align(m->align < 16 ? m->align : 16, i * size), at);
    if (pairs) x = VAL(&e->s, OpBitcast, type, x);
    int per = size >= 4 ? c.n : 4 / size; /* elements of one bitcast: whole chunk, or those of a word */
    if (size >= 4) {
      x = words_to_elems(e, x, c.words, bits, c.n);
      for (int k = 0; k < c.n; k++)
        out[i + k] = c.n == 1 ? x : VAL(&e->s, OpCompositeExtract, e_reg(e, bits, 1), x, (uint32_t)k);
    } else {
      for (int wd = 0; wd < c.words; wd++) {
        uint32_t word = c.words == 1 ? x : VAL(&e->s, OpCompositeExtract, e_int(e, 32), x, (uint32_t)wd);
        of_word(e, bits, word, out + i + wd * per);
      }
    }
    i += c.n;
  }
}

/* A part of n scalars, 1 to 4. */
static uint32_t join(emitter *e, tsr_dtype t, const uint32_t *x, int n) {
  return n == 1 ? x[0] : spv_val_n(&e->s, OpCompositeConstruct, e_reg(e, t, n), x, n);
}

uint32_t e_element(emitter *e, tsr_dtype t) {
  return t == TSR_I64 && e->pairs ? e_vec(e, e_int(e, 32), 2) : e_reg(e, t, 1);
}

int e_length(const ir_type *t) { return t->kind == IR_T_VECTOR ? (int)t->dims[0] : 1; }

static access access_of(emitter *e, const ir_op *op, const ir_value *ptr, const ir_value *index, int n) {
  tsr_dtype t = ptr->type->dtype;
  int natural = n * (int)tsr_dtype_size(t), align = (int)ir_get_int(op, "align", 0);
  if (align <= 0) align = natural & -natural;
  return (access){op, place_of(e, ptr), t, align, address(e, ptr, index)};
}

sv e_assemble(emitter *e, const ir_type *t, const uint32_t *x) {
  vt v = e_part(e, t);
  sv r = {.part = {0}};
  int n = e_length(t), words = e_is_pair(e, t) ? 2 : 1;
  for (int p = 0; p * v.n < n; p++)
    for (int w = 0; w < words; w++) {
      uint32_t one[4];
      for (int k = 0; k < v.n; k++)
        one[k] = words == 1 ? x[p * v.n + k]
                            : VAL(&e->s, OpCompositeExtract, e_int(e, 32), x[p * v.n + k], (uint32_t)w);
      r.part[p * words + w] = join(e, v.t, one, v.n);
    }
  return r;
}

void e_scatter(emitter *e, const ir_type *t, const sv *v, uint32_t *out) {
  vt part = e_part(e, t);
  int words = e_is_pair(e, t) ? 2 : 1;
  for (int i = 0; i < e_length(t); i++) {
    uint32_t w[2];
    for (int k = 0; k < words; k++) {
      uint32_t x = v->part[words * (i / 4) + k];
      w[k] = part.n == 1 ? x : VAL(&e->s, OpCompositeExtract, e_reg(e, part.t, 1), x, (uint32_t)(i % 4));
    }
    out[i] = words == 1 ? w[0] : VAL(&e->s, OpCompositeConstruct, e_element(e, part.t), w[0], w[1]);
  }
}

tsr_status e_load(emitter *e, const ir_op *op) {
  const ir_type *rt = op->results[0]->type;
  int n = e_length(rt);
  uint32_t x[SV_ELEMENTS];
  if (n > SV_ELEMENTS) return e_fail(e, op, TSR_UNSUPPORTED, NULL, "vectors have at most 16 elements");
  access m = access_of(e, op, op->operands[0], op->operands[1], n);
  load_elems(e, &m, n, x);
  for (int i = 0; i < n && m.t == TSR_BOOL; i++) x[i] = e_cast(e, x[i], TSR_U8, TSR_BOOL, 1);
  e_define(e, op->results[0], e_assemble(e, rt, x));
  return NULL;
}

static void store_elems(emitter *e, const access *m, int n, const uint32_t *x) {
  int size = (int)tsr_dtype_size(m->t);
  tsr_dtype bits = m->t == TSR_BOOL ? TSR_U8 : m->t;
  for (int i = 0; i < n;) {
    chunk c = next_chunk(e, m->t, i, n, m->align, m->in.shared);
    uint32_t at = further(e, m->in.shared, m->at, (int64_t)i * size);
    if (!c.words) {
      store_element(e, m, bits, at, x[i]);
    } else {
      uint32_t words[4];
      int per = size >= 4 ? 1 : 4 / size;
      for (int wd = 0; wd < c.words; wd++) {
        const uint32_t *from = x + i + wd * per;
        if (e_held_wide(e, bits)) words[wd] = e_to_word(e, bits, from, per);
        else if (bits == TSR_I32) words[wd] = from[0];
        else words[wd] = VAL(&e->s, OpBitcast, e_int(e, 32), join(e, bits, from, per));
      }
      uint32_t v =
          c.words == 1 ? words[0] : spv_val_n(&e->s, OpCompositeConstruct, words_type(e, c.words), words, c.words);
      bool pairs = by_64(e, m->in.shared, c.words);
      uint32_t raw = pairs ? e_vec(e, e_int(e, 64), c.words / 2) : words_type(e, c.words);
      if (pairs) v = VAL(&e->s, OpBitcast, raw, v);
      store_raw(e, m->op, m->in, raw, 4 * c.words, gcd_align(m->align < 16 ? m->align : 16, i * size), at, v);
    }
    i += c.n;
  }
}

tsr_status e_store(emitter *e, const ir_op *op) {
  const ir_type *t = op->operands[0]->type;
  int n = e_length(t);
  uint32_t x[SV_ELEMENTS];
  if (n > SV_ELEMENTS) return e_fail(e, op, TSR_UNSUPPORTED, NULL, "vectors have at most 16 elements");
  e_scatter(e, t, e_value(e, op->operands[0]), x);
  for (int i = 0; i < n && e_part(e, t).t == TSR_BOOL; i++) x[i] = e_cast(e, x[i], TSR_BOOL, TSR_U8, 1);
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
    uint32_t at = address(e, op->operands[0], op->operands[1]);
    e_define(e, r, (sv){.part = {at}, .buffer = e_value(e, op->operands[0])->buffer});
  }
  return NULL;
}

/* SPIR-V wants matrix loads to point into an array. Where shared memory is only words, the pointer counts words; scale
 * is log2 of how many elements one of the pointer's holds. */
uint32_t e_element_pointer(emitter *e, const ir_value *ptr, const ir_value *index, uint32_t *scale_log2,
                           bool *global) {
  tsr_dtype t = ptr->type->dtype;
  int size = (int)tsr_dtype_size(t);
  e_place in = place_of(e, ptr);
  uint32_t at = address(e, ptr, index), elem = mem_elem(e, t);
  *scale_log2 = 0;
  *global = !in.shared;
  if (in.shared && !e->caps->shared_layout &&
      size <= 4) { /* one variable for all types, or they would not be the same bytes */
    *scale_log2 = size == 4 ? 0 : size == 2 ? 1 : 2;
    elem = e_int(e, 32), size = 4;
  }
  need_storage(e, in.shared, size);
  return e_array_pointer(e, in, elem, size, at);
}
