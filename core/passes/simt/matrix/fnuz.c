/* core/passes/simt/matrix/fnuz.c - OCP fp8 bits for gfx942, which reads fp8 in the FNUZ encoding: there the same bits
 * mean half the value (so a product of two comes out a fourth: callers scale it), but for -0, which is its NaN, and for
 * the codes that are NaN or infinity in OCP. Those become 0 and NaN. Four elements at a time, in 8 (e4m3) or 10 (e5m2)
 * instructions. */
#include "core/passes/simt/matrix/fnuz.h"
#include "core/passes/simt/matrix/operands.h"

static ir_value *op2(tgb *t, const char *name, ir_value *a, ir_value *b) {
  return tg_value(t, name, a ? a->type : NULL, TG_V(a, b));
}
static ir_value *word(tgb *t, uint32_t v) { return tg_number(t, TSR_I32, (double)(int32_t)v); }

bool simt_is_fnuz(const tsr_caps *caps, tsr_dtype d) { return caps->fnuz && (d == TSR_F8E4M3 || d == TSR_F8E5M2); }

ir_value *simt_fnuz_word(tgb *t, ir_value *x, tsr_dtype d) {
  static const char and[] = "tessera.target.and", or [] = "tessera.target.or", add[] = "tessera.target.add",
                    sub[] = "tessera.target.sub", shl[] = "tessera.target.shl", shr[] = "tessera.target.shr";
  ir_value *seven = word(t, 0x7f7f7f7f), *low = op2(t, and, x, seven);
  /* 1 in each byte that is no number: its lower seven bits plus this reach the top bit */
  ir_value *first = word(t, d == TSR_F8E4M3 ? 0x01010101 : 0x04040404),
           *odd = op2(t, and, op2(t, shr, op2(t, add, low, first), word(t, 7)), word(t, 0x01010101));
  /* the top bit where the sign is set and others are */
  ir_value *sign = op2(t, and, op2(t, and, x, op2(t, add, low, seven)), word(t, 0x80808080)), *rest;
  if (d == TSR_F8E4M3) { /* 0x7f + 1 */
    rest = op2(t, add, low, odd);
  } else {
    ir_value *top = op2(t, shl, odd, word(t, 7)), *keep = op2(t, sub, seven, op2(t, sub, top, odd));
    rest = op2(t, or, op2(t, and, low, keep), top);
  }
  return op2(t, or, rest, sign);
}
