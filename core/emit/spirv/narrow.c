/* core/emit/spirv/narrow.c - types of 8 and 16 bits on devices without arithmetic for them: values are held in 32-bit
 * registers, integers extended by their sign or by 0, floats as their bits. What arithmetic leaves above the type's
 * bits is taken off at once (e_wrap), so that comparisons, divisions and conversions need no care. In memory several
 * elements share a word; emit/spirv/memory.c cuts them out of it. */
#include "core/emit/spirv/internal.h"

static int bits_of(tsr_dtype t) { return 8 * (int)tsr_dtype_size(t); }
static bool is_signed(tsr_dtype t) { return !dtype_is_float(t) && dtype_get(t)->is_signed; }

bool e_held_wide(const emitter *e, tsr_dtype t) {
  if (t == TSR_F16 && e->caps->f16) return false;
  return t != TSR_BOOL && ((bits_of(t) == 16 && !e->caps->i16) || (bits_of(t) == 8 && !e->caps->i8));
}

static uint32_t field(emitter *e, tsr_dtype t, uint32_t x, int at, int n) {
  return VAL(&e->s, is_signed(t) ? OpBitFieldSExtract : OpBitFieldUExtract, e_vec(e, e_int(e, 32), n), x,
             e_u32(e, (uint32_t)at), e_u32(e, (uint32_t)bits_of(t)));
}

uint32_t e_wrap(emitter *e, vt v, uint32_t x) {
  return dtype_is_float(v.t) || !e_held_wide(e, v.t) ? x : field(e, v.t, x, 0, v.n);
}

uint32_t e_resize(emitter *e, int op, int from_bits, int to_bits, int n, uint32_t x) {
  uint32_t to = e_int(e, to_bits);
  return e_int(e, from_bits) == to ? x : VAL(&e->s, op, e_vec(e, to, n), x);
}

/* An f16 as one half of a word: needs no 16-bit integers. */
static uint32_t halves(emitter *e) { return e_vec(e, e_float(e, 16), 2); }

uint32_t e_to_bits(emitter *e, tsr_dtype t, uint32_t x) {
  uint32_t u32 = e_int(e, 32);
  if (t == TSR_F16 && e->caps->f16)
    return VAL(&e->s, OpBitcast, u32, VAL(&e->s, OpCompositeConstruct, halves(e), x, e_const(e, TSR_F16, 0, 1)));
  if (!e_held_wide(e, t)) return VAL(&e->s, OpUConvert, u32, x);
  return is_signed(t) ? VAL(&e->s, OpBitwiseAnd, u32, x, e_u32(e, (1u << bits_of(t)) - 1)) : x;
}

/* The scalar in the low bits of a word. */
static uint32_t from_bits(emitter *e, tsr_dtype t, uint32_t bits) {
  if (t == TSR_F16 && e->caps->f16)
    return VAL(&e->s, OpCompositeExtract, e_float(e, 16), VAL(&e->s, OpBitcast, halves(e), bits), 0);
  return e_held_wide(e, t) ? field(e, t, bits, 0, 1) : VAL(&e->s, OpUConvert, e_int(e, bits_of(t)), bits);
}

uint32_t e_of_word(emitter *e, tsr_dtype t, uint32_t word, int k) {
  if (e_held_wide(e, t)) return field(e, t, word, k * bits_of(t), 1);
  if (k) word = VAL(&e->s, OpShiftRightLogical, e_int(e, 32), word, e_u32(e, (uint32_t)(k * bits_of(t))));
  return from_bits(e, t, word);
}

uint32_t e_to_word(emitter *e, tsr_dtype t, const uint32_t *x, int n) {
  uint32_t u32 = e_int(e, 32), word = e_to_bits(e, t, x[0]);
  for (int k = 1; k < n; k++)
    word = VAL(&e->s, OpBitwiseOr, u32, word,
               VAL(&e->s, OpShiftLeftLogical, u32, e_to_bits(e, t, x[k]), e_u32(e, (uint32_t)(k * bits_of(t)))));
  return word;
}
