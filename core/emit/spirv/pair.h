/* core/emit/spirv/pair.h - 64-bit integers as two 32-bit words, of n components; see emit/spirv/mx.h for the first of
 * them. Only core/emit/spirv/pair*.c include it. */
#ifndef CORE_EMIT_SPIRV_PAIR_H
#define CORE_EMIT_SPIRV_PAIR_H
#include "core/emit/spirv/mx.h"

mx_pair mx_pair_k(mx m, int64_t v);
mx_pair mx_pair_not(mx m, mx_pair a);
mx_pair mx_pair_abs(mx m, mx_pair a); /* of the smallest number: 2^63, as an unsigned one */
mx_pair mx_pair_mul(mx m, mx_pair a, mx_pair b);
mx_pair mx_pair_shl_far(mx m, mx_pair x, uint32_t by); /* by 0 to 63 */
/* By 0 to 31. op: OpShiftRightLogical or OpShiftRightArithmetic. */
mx_pair mx_pair_shr(mx m, int op, mx_pair x, uint32_t by);
/* Unsigned: the quotient, and what remains. By 0: of no meaning. */
mx_pair mx_pair_divide(mx m, mx_pair a, mx_pair b, mx_pair *rest);
uint32_t mx_pair_equal(mx m, mx_pair a, mx_pair b);
uint32_t mx_pair_less(mx m, bool is_signed, mx_pair a, mx_pair b);
uint32_t mx_pair_negative(mx m, mx_pair a);

/* Conversions of emit/spirv/pair_cast.c: from and to any type but i64. */
mx_pair pair_from(mx m, tsr_dtype from, uint32_t x);
uint32_t pair_to(mx m, mx_pair a, tsr_dtype to);

#endif
