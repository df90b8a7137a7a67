/* core/emit/spirv/address.c - addresses of global memory. 64-bit integers, or, on devices without shaderInt64, vectors
 * of two words (low, high) that OpBitcast makes pointers; 32-bit offsets into the buffer of a descriptor on those
 * without bufferDeviceAddress. Offsets are then 32-bit indices: signed, and scaled over both words, so that all that an
 * index reaches is reached. */
#include "core/emit/spirv/internal.h"

static bool in_buffer(const emitter *e) { return e->caps->descriptors; }

uint32_t e_address_type(emitter *e) {
  if (in_buffer(e)) return e_int(e, 32);
  return e->pairs ? e_vec(e, e_int(e, 32), 2) : e_int(e, 64);
}

/* address + (high, low) */
static uint32_t add_pair(emitter *e, uint32_t address, uint32_t low, uint32_t high) {
  uint32_t u32 = e_int(e, 32), both = TYPE(&e->s, OpTypeStruct, u32, u32);
  uint32_t sum = VAL(&e->s, OpIAddCarry, both, VAL(&e->s, OpCompositeExtract, u32, address, 0), low);
  uint32_t up = VAL(&e->s, OpIAdd, u32, VAL(&e->s, OpCompositeExtract, u32, address, 1), high);
  up = VAL(&e->s, OpIAdd, u32, up, VAL(&e->s, OpCompositeExtract, u32, sum, 1));
  return VAL(&e->s, OpCompositeConstruct, e_address_type(e), VAL(&e->s, OpCompositeExtract, u32, sum, 0), up);
}

uint32_t e_address_add_const(emitter *e, uint32_t address, int64_t bytes) {
  if (!bytes) return address;
  if (in_buffer(e)) return VAL(&e->s, OpIAdd, e_int(e, 32), address, e_u32(e, (uint32_t)bytes));
  if (!e->pairs) return VAL(&e->s, OpIAdd, e_int(e, 64), address, e_const_int(e, 64, bytes, 1));
  return add_pair(e, address, e_u32(e, (uint32_t)(uint64_t)bytes), e_u32(e, (uint32_t)((uint64_t)bytes >> 32)));
}

uint32_t e_address_add(emitter *e, uint32_t address, const sv *index, int elem_log2) {
  if (index->is_const) return e_address_add_const(e, address, wrap_mul(index->c, (int64_t)1 << elem_log2));
  uint32_t x = index->part[0], u32 = e_int(e, 32);
  if (in_buffer(e)) {
    if (e->wide) x = VAL(&e->s, OpUConvert, u32, x);
    if (elem_log2) x = VAL(&e->s, OpShiftLeftLogical, u32, x, e_u32(e, (uint32_t)elem_log2));
    return VAL(&e->s, OpIAdd, u32, address, x);
  }
  if (e->pairs) {
    uint32_t low = elem_log2 ? VAL(&e->s, OpShiftLeftLogical, u32, x, e_u32(e, (uint32_t)elem_log2)) : x;
    uint32_t high = VAL(&e->s, OpShiftRightArithmetic, u32, x, e_u32(e, elem_log2 ? 32 - (uint32_t)elem_log2 : 31));
    return add_pair(e, address, low, high);
  }
  uint32_t u64 = e_int(e, 64);
  if (!e->wide) x = VAL(&e->s, OpSConvert, u64, x);
  /* A product becomes a shift in the driver, whose new constant stands in the loop: see looped(), emit/spirv/walk.c. */
  if (elem_log2 && e->hidden_zero) x = VAL(&e->s, OpShiftLeftLogical, u64, x, e_const_int(e, 64, elem_log2, 1));
  else if (elem_log2) x = VAL(&e->s, OpIMul, u64, x, e_const_int(e, 64, (int64_t)1 << elem_log2, 1));
  return VAL(&e->s, OpIAdd, u64, address, x);
}

uint32_t e_address_low(emitter *e, uint32_t address) {
  uint32_t u32 = e_int(e, 32);
  if (in_buffer(e)) return address;
  return e->pairs ? VAL(&e->s, OpCompositeExtract, u32, address, 0) : VAL(&e->s, OpUConvert, u32, address);
}

uint32_t e_address_word(emitter *e, uint32_t address) {
  if (in_buffer(e)) return VAL(&e->s, OpBitwiseAnd, e_int(e, 32), address, e_u32(e, ~3u));
  if (!e->pairs) {
    uint32_t mask = e_hide(e, e_const_int(e, 64, ~(int64_t)3, 1), 1);
    return VAL(&e->s, OpBitwiseAnd, e_int(e, 64), address, mask);
  }
  uint32_t low = VAL(&e->s, OpBitwiseAnd, e_int(e, 32), e_address_low(e, address), e_u32(e, ~3u));
  return VAL(&e->s, OpCompositeInsert, e_address_type(e), low, address, 0);
}

uint32_t e_physical(emitter *e, uint32_t type, uint32_t address) {
  return VAL(&e->s, e->pairs ? OpBitcast : OpConvertUToPtr, e_ptr(e, StoragePhysical, type), address);
}
