/* core/emit/spirv/bitcast.c - values of one type as values of another of the same size. */
#include "core/emit/spirv/internal.h"

/* One piece: ka elements of type a to kb of type b. SPIR-V's vectors have at most 4 components, so 8 bytes and one i64
 * meet at two words. */
static void bitcast_piece(emitter *e, tsr_dtype a, int ka, const uint32_t *in, tsr_dtype b, int kb, uint32_t *out) {
  uint32_t words[2];
  if (ka > 4 || kb > 4) {
    if (ka > kb) {
      for (int i = 0; i < 2; i++) bitcast_piece(e, a, ka / 2, in + i * (ka / 2), TSR_I32, 1, &words[i]);
      bitcast_piece(e, TSR_I32, 2, words, b, kb, out);
    } else {
      bitcast_piece(e, a, ka, in, TSR_I32, 2, words);
      for (int i = 0; i < 2; i++) bitcast_piece(e, TSR_I32, 1, &words[i], b, kb / 2, out + i * (kb / 2));
    }
    return;
  }
  if (e->caps->no_pack64 && ka > 1 && kb == 1 && tsr_dtype_size(b) == 8) {
    for (int i = 0; i < 2; i++) bitcast_piece(e, a, ka / 2, in + i * (ka / 2), TSR_I32, 1, &words[i]);
    uint32_t both = VAL(&e->s, OpCompositeConstruct, e_vec(e, e_int(e, 32), 2), words[0], words[1]);
    out[0] = e_of_two(e, e_reg(e, b, 1), both);
    return;
  }
  uint32_t v = ka == 1 ? in[0] : spv_val_n(&e->s, OpCompositeConstruct, e_reg(e, a, ka), in, ka),
           type = e_reg(e, b, kb);
  if (type != e_reg(e, a, ka)) v = VAL(&e->s, OpBitcast, type, v);
  for (int k = 0; k < kb; k++) out[k] = kb == 1 ? v : VAL(&e->s, OpCompositeExtract, e_reg(e, b, 1), v, (uint32_t)k);
}

/* The words of x, a vector of one load for all lanes. LLVM loads each lane's lower word by itself if the others are cut
 * off, unless something is done to the whole first. */
static void apart(emitter *e, uint32_t x, uint32_t words[2]) {
  uint32_t u32 = e_int(e, 32), both = VAL(&e->s, OpBitcast, e_vec(e, u32, 2), x);
  words[0] = VAL(&e->s, OpUConvert, u32, VAL(&e->s, OpBitwiseOr, e_int(e, 64), x, e->hidden_zero));
  words[1] = VAL(&e->s, OpCompositeExtract, u32, both, 1);
}

/* By way of 32-bit words, for types whose registers are not what they are in memory. */
static void by_words(emitter *e, tsr_dtype a, int na, const uint32_t *in, tsr_dtype b, int nb, uint32_t *out) {
  int sa = (int)tsr_dtype_size(a), sb = (int)tsr_dtype_size(b), per_in = sa < 4 ? 4 / sa : 1;
  int per_out = sb < 4 ? 4 / sb : 1, n = 0;
  uint32_t words[32], u32 = e_int(e, 32), two = e_vec(e, u32, 2);
  for (int i = 0; i < na; i += per_in) {
    if (sa == 8) {
      uint32_t both = e_element(e, a) == two ? in[i] : VAL(&e->s, OpBitcast, two, in[i]);
      for (uint32_t k = 0; k < 2; k++) words[n++] = VAL(&e->s, OpCompositeExtract, u32, both, k);
    } else if (sa == 4) {
      words[n++] = a == TSR_I32 ? in[i] : VAL(&e->s, OpBitcast, u32, in[i]);
    } else {
      words[n++] = e_to_word(e, a, in + i, na - i < per_in ? na - i : per_in);
    }
  }
  for (int i = 0, w = 0; i < nb; i++) {
    if (sb == 8) {
      uint32_t both = VAL(&e->s, OpCompositeConstruct, two, words[w], words[w + 1]);
      out[i] = e_element(e, b) == two ? both : e_of_two(e, e_reg(e, b, 1), both), w += 2;
    } else if (sb == 4) {
      out[i] = b == TSR_I32 ? words[w] : VAL(&e->s, OpBitcast, e_reg(e, b, 1), words[w]), w++;
    } else {
      out[i] = e_of_word(e, b, words[w], i % per_out), w += i % per_out == per_out - 1;
    }
  }
}

/* Same total size; SPIR-V casts between vectors whose sizes match, so values are cut into equal pieces of at most 16
 * bytes. */
tsr_status e_bitcast(emitter *e, const ir_op *op) {
  const ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
  vt a = e_part(e, from), b = e_part(e, to);
  int na = (from->kind == IR_T_VECTOR ? (int)from->dims[0] : 1), nb = to->kind == IR_T_VECTOR ? (int)to->dims[0] : 1;
  int sa = (int)tsr_dtype_size(a.t), sb = (int)tsr_dtype_size(b.t);
  if (a.t == TSR_BOOL || b.t == TSR_BOOL || na * sa != nb * sb || na > 16 || nb > 16)
    return e_fail(e, op, TSR_VERIFY_ERROR, NULL, "sizes differ");
  uint32_t in[SV_ELEMENTS], out[SV_ELEMENTS];
  e_scatter(e, from, e_value(e, op->operands[0]), in);
  /* Pieces of max(sa, sb) bytes: several narrow elements against one wide one. */
  int piece = sa > sb ? sa : sb, ka = piece / sa, kb = piece / sb;
  bool words = e_held_wide(e, a.t) || e_held_wide(e, b.t) || e_is_pair(e, from) || e_is_pair(e, to);
  if (!words && e->hidden_zero && from->kind == IR_T_SCALAR && a.t == TSR_I64) {
    uint32_t low_high[2];
    apart(e, in[0], low_high);
    bitcast_piece(e, TSR_I32, 2, low_high, b.t, nb, out);
  } else if (words) by_words(e, a.t, na, in, b.t, nb, out);
  else
    for (int i = 0; i < na * sa / piece; i++) bitcast_piece(e, a.t, ka, in + i * ka, b.t, kb, out + i * kb);
  e_define(e, op->results[0], e_assemble(e, to, out));
  return NULL;
}
