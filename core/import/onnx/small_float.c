/* core/import/onnx/small_float.c - rounding to ONNX's floating-point types that the library lacks. A value is rounded
 * in f32 and stays in a wider type that has all of the type's numbers (onnx_data.h). */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/cv.h"

/* The magnitude a, in f32, among those of the type: by the casts that round to nearest even, scaled so that their
 * numbers are the type's. */
static ir_value *small_magnitude(cv *c, ir_value *a, onnx_small_float t) {
  ir_value *two = cv_number(c, TSR_F32, 2), *half = cv_number(c, TSR_F32, 0.5), *doubled = cv_op2(c, G_MUL, a, two);
  if (t == ONNX_F4E2M1) { /* steps of a half up to 2, of 1 up to 4, then of 2 */
    ir_value *low = cv_op2(c, G_MUL, cv_op1(c, G_ROUND, doubled), half);
    ir_value *high = cv_op2(c, G_MUL, cv_op1(c, G_ROUND, cv_op2(c, G_MUL, a, half)), two);
    ir_value *upper = cv_where(c, cv_compare(c, "lt", a, cv_number(c, TSR_F32, 4)), cv_op1(c, G_ROUND, a), high);
    return cv_where(c, cv_compare(c, "lt", a, two), low, upper);
  }
  const tsr_dtype f8 = t == ONNX_F8E4M3FNUZ ? TSR_F8E4M3 : TSR_F8E5M2;
  ir_value *low = cv_op2(c, G_MUL, cv_cast(c, cv_cast(c, doubled, f8), TSR_F32), half);
  if (t == ONNX_F8E5M2FNUZ)
    return cv_where(c, cv_compare(c, "lt", a, cv_number(c, TSR_F32, 1)), low, cv_cast(c, cv_cast(c, a, f8), TSR_F32));
  return cv_where(c, cv_compare(c, "le", a, cv_number(c, TSR_F32, 232)), low, cv_number(c, TSR_F32, 240));
}

/* beyond: half way from the largest number to what would follow. What is beyond is the largest, or with saturate = 0
 * NaN. float4e2m1 always saturates, and has no NaN: that is 0. */
static ir_value *to_signed(cv *c, ir_value *x, onnx_small_float t) {
  static const struct {
    double max, beyond;
  } ends[] = {[ONNX_F8E4M3FNUZ] = {240, 248}, [ONNX_F8E5M2FNUZ] = {57344, 61440}, [ONNX_F4E2M1] = {6, 7}};
  const bool saturates = t == ONNX_F4E2M1 || cv_int(c, "saturate", 1) != 0;
  ir_value *a = cv_op1(c, G_ABS, x), *most = cv_number(c, TSR_F32, saturates ? ends[t].max : NAN);
  ir_value *inside = cv_compare(c, "lt", a, cv_number(c, TSR_F32, ends[t].beyond));
  ir_value *y = cv_where(c, inside, small_magnitude(c, a, t), most);
  y = cv_where(c, cv_compare(c, "lt", x, cv_number(c, TSR_F32, 0)), cv_op1(c, G_NEG, y), y);
  ir_value *of_nan = cv_number(c, TSR_F32, t == ONNX_F4E2M1 ? 0 : NAN);
  return cv_cast(c, cv_where(c, cv_op1(c, G_ISNAN, x), of_nan, y), TSR_F16);
}

/* The largest power of two that isn't above x, which is f32 and at least 2^-127: its exponent by bisection. All on the
 * way is normal, as devices may take other numbers for 0. */
static ir_value *power_below(cv *c, ir_value *x) {
  ir_value *one = cv_number(c, TSR_F32, 1), *least = cv_number(c, TSR_F32, 0x1p-126);
  ir_value *low = cv_compare(c, "lt", x, one), *lowest = cv_compare(c, "lt", x, least);
  ir_value *rest = cv_where(c, low, cv_op2(c, G_MUL, x, cv_number(c, TSR_F32, 0x1p126)), x);
  ir_value *power = cv_where(c, low, least, one);
  for (int step = 64; step; step /= 2) {
    const double by = ldexp(1, step);
    ir_value *above = cv_compare(c, "ge", rest, cv_number(c, TSR_F32, by));
    rest = cv_where(c, above, cv_op2(c, G_MUL, rest, cv_number(c, TSR_F32, 1 / by)), rest);
    power = cv_where(c, above, cv_op2(c, G_MUL, power, cv_number(c, TSR_F32, by)), power);
  }
  return cv_where(c, lowest, cv_number(c, TSR_F32, 0x1p-127), power);
}

/* float8e8m0: the powers of two from 2^-127 to 2^127, and NaN. Without saturation all else is NaN; of what is below 0
 * ONNX says nothing. */
static ir_value *to_power(cv *c, ir_value *x) {
  const char *mode = cv_str(c, "round_mode", "up");
  ir_value *least = cv_number(c, TSR_F32, 0x1p-127), *most = cv_number(c, TSR_F32, 0x1p127);
  ir_value *inside = cv_op2(c, G_MIN, cv_op2(c, G_MAX, x, least), most), *power = power_below(c, inside);
  const bool nearest = !strcmp(mode, "nearest");
  if (nearest || !strcmp(mode, "up")) {
    ir_value *half = nearest ? cv_op2(c, G_MUL, power, cv_number(c, TSR_F32, 1.5)) : power;
    ir_value *up = cv_compare(c, nearest ? "ge" : "gt", inside, half);
    power = cv_where(c, up, cv_op2(c, G_MUL, power, cv_number(c, TSR_F32, 2)), power);
  } else if (strcmp(mode, "down")) return cv_refuse(c, "round_mode \"%s\"", mode);
  ir_value *known = cv_compare(c, "eq", x, cv_int(c, "saturate", 1) ? x : inside);
  return cv_where(c, known, power, cv_number(c, TSR_F32, NAN));
}

ir_value *cv_to_small_float(cv *c, ir_value *x, onnx_small_float t) {
  x = cv_cast(c, x, TSR_F32);
  return t == ONNX_F8E8M0 ? to_power(c, x) : to_signed(c, x, t);
}
