/* core/emit/spirv/subgroup.c - shuffles and reductions over the lanes of a subgroup. Reductions are butterflies of
 * shuffles, not the driver's own reduction: the order of the additions is then fixed, and NaN comes through min and
 * max. Values of less than 32 bits travel as u32, of 64 as two, so that no extended-types feature is needed. */
#include <string.h>

#include "core/emit/spirv/internal.h"
#include "core/ir/reducer.h"

/* Then there is no integer of its bits; they travel as an f32. */
static bool f16_without_i16(const emitter *e, vt v) { return v.t == TSR_F16 && e->caps->f16 && !e->caps->i16; }

/* To and from the words that are shuffled, of types of at most 32 bits. */
static uint32_t pack(emitter *e, uint32_t x, vt v) {
  int bits = 8 * (int)tsr_dtype_size(v.t);
  if (v.t == TSR_BOOL) return e_cast(e, x, TSR_BOOL, TSR_I32, v.n);
  if (f16_without_i16(e, v)) return pack(e, e_cast(e, x, TSR_F16, TSR_F32, v.n), (vt){TSR_F32, v.n});
  if (v.t == TSR_F16 && e->caps->f16) x = VAL(&e->s, OpBitcast, e_vec(e, e_int(e, 16), v.n), x);
  else if (dtype_is_float(v.t) && bits == 32) return VAL(&e->s, OpBitcast, e_vec(e, e_int(e, 32), v.n), x);
  return e_resize(e, OpUConvert, bits, 32, v.n, x);
}

static uint32_t unpack(emitter *e, uint32_t x, vt v) {
  int size = 8 * (int)tsr_dtype_size(v.t);
  if (v.t == TSR_BOOL) return e_cast(e, x, TSR_I32, TSR_BOOL, v.n);
  if (f16_without_i16(e, v)) return e_cast(e, unpack(e, x, (vt){TSR_F32, v.n}), TSR_F32, TSR_F16, v.n);
  x = e_resize(e, OpUConvert, 32, size, v.n, x);
  bool bits = (v.t == TSR_F16 && e->caps->f16) || (dtype_is_float(v.t) && size == 32);
  return bits ? VAL(&e->s, OpBitcast, e_reg(e, v.t, v.n), x) : x;
}

static uint32_t shuffle_words(emitter *e, int op, uint32_t type, uint32_t x, uint32_t lane) {
  return VAL(&e->s, op, type, e_u32(e, ScopeSubgroup), x, lane);
}

/* Each element of 64 bits as two words. */
static uint32_t shuffle_wide(emitter *e, int op, vt v, uint32_t x, uint32_t lane) {
  uint32_t two = e_vec(e, e_int(e, 32), 2), one = e_reg(e, v.t, 1), out[4];
  for (int i = 0; i < v.n; i++) {
    uint32_t c = v.n == 1 ? x : VAL(&e->s, OpCompositeExtract, one, x, (uint32_t)i);
    out[i] = e_of_two(e, one, shuffle_words(e, op, two, VAL(&e->s, OpBitcast, two, c), lane));
  }
  return v.n == 1 ? out[0] : spv_val_n(&e->s, OpCompositeConstruct, e_reg(e, v.t, v.n), out, v.n);
}

static uint32_t shuffle_part(emitter *e, int op, vt v, uint32_t x, uint32_t lane) {
  spv_capability(&e->s, CapGroupNonUniformShuffle);
  if (tsr_dtype_size(v.t) == 8) return shuffle_wide(e, op, v, x, lane);
  return unpack(e, shuffle_words(e, op, e_vec(e, e_int(e, 32), v.n), pack(e, x, v), lane), v);
}

/* The lane that a shuffle reads from, within aligned groups of `width`; out of range reads the own lane. */
static uint32_t source_lane(emitter *e, const char *mode, uint32_t by, int width) {
  uint32_t u32 = e_int(e, 32), bt = e_bool(e), lane = e->lane,
           low = VAL(&e->s, OpBitwiseAnd, u32, lane, e_u32(e, (uint32_t)width - 1));
  uint32_t base = VAL(&e->s, OpISub, u32, lane, low);
  if (!strcmp(mode, "index"))
    return VAL(&e->s, OpIAdd, u32, base, VAL(&e->s, OpBitwiseAnd, u32, by, e_u32(e, (uint32_t)width - 1)));
  if (!strcmp(mode, "up")) {
    uint32_t ok = VAL(&e->s, OpUGreaterThanEqual, bt, low, by);
    return VAL(&e->s, OpSelect, u32, ok, VAL(&e->s, OpISub, u32, lane, by), lane);
  }
  uint32_t to = VAL(&e->s, OpIAdd, u32, low, by), ok = VAL(&e->s, OpULessThan, bt, to, e_u32(e, (uint32_t)width));
  return VAL(&e->s, OpSelect, u32, ok, VAL(&e->s, OpIAdd, u32, base, to), lane);
}

/* What each part of a value is shuffled as. */
static vt words_of(const emitter *e, const ir_type *t) {
  vt v = e_part(e, t);
  return e_is_pair(e, t) ? (vt){TSR_I32, v.n} : v;
}

static tsr_status shuffle(emitter *e, const ir_op *op, int width) {
  const char *mode = ir_get_str(op, "mode", "xor");
  const ir_type *t = op->operands[0]->type, *lt = op->operands[1]->type;
  vt v = words_of(e, t);
  uint32_t by = e_value(e, op->operands[1])->part[0];
  if (tsr_dtype_size(e_dtype(e, lt)) != 4) by = VAL(&e->s, OpUConvert, e_int(e, 32), by);
  bool is_xor = !strcmp(mode, "xor");
  uint32_t lane = is_xor ? by : source_lane(e, mode, by, width);
  sv r = {.part = {0}};
  for (int p = 0; p < e_parts(e, t); p++)
    r.part[p] = shuffle_part(e, is_xor ? OpGroupNonUniformShuffleXor : OpGroupNonUniformShuffle, v,
                             e_value(e, op->operands[0])->part[p], lane);
  e_define(e, op->results[0], r);
  return NULL;
}

static tsr_status reduce(emitter *e, const ir_op *op, int width) {
  const ir_type *t = op->operands[0]->type;
  vt v = e_part(e, t), w = words_of(e, t);
  int code = ir_reducer_of(op)->code, step = e_is_pair(e, t) ? 2 : 1;
  sv r = *e_value(e, op->operands[0]);
  r.is_const = false;
  for (int p = 0; p < e_parts(e, t); p += step)
    for (int d = 1; d < width; d *= 2) {
      uint32_t other[2];
      for (int i = 0; i < step; i++)
        other[i] = shuffle_part(e, OpGroupNonUniformShuffleXor, w, r.part[p + i], e_u32(e, (uint32_t)d));
      /* Both partners must add in the same order to get the same bits only for operations that don't commute; these do.
       */
      if (step == 2) e_pair_combine(e, code, v.n, r.part + p, other);
      else r.part[p] = e_combine(e, code, v, r.part[p], other[0]);
    }
  e_define(e, op->results[0], r);
  return NULL;
}

tsr_status e_subgroup_op(emitter *e, const ir_op *op) {
  int subgroup = (int)ir_get_int(e->kernel, "subgroup", 0), width = (int)ir_get_int(op, "width", 0);
  if (subgroup <= 0) subgroup = e->caps->subgroup;
  if (width <= 0) width = subgroup;
  if (width > subgroup || (width & (width - 1)))
    return e_fail(e, op, TSR_VERIFY_ERROR, NULL, "width %d must be a power of two up to the subgroup's %d lanes", width,
                  subgroup);
  if (!e->caps->subgroup_shuffle) return e_fail(e, op, TSR_UNSUPPORTED, NULL, "the device has no subgroup shuffle");
  return op->def->code == TG_SHUFFLE ? shuffle(e, op, width) : reduce(e, op, width);
}
