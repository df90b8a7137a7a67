/* core/ir/scalar_composites.h - scalar operations of Graph IR that are made of those of ir/scalar_ops.h, whose list of
 * columns this one has. They become their expansion where a graph op is lowered to tiles (passes/tile/composite.c), in
 * the type that computes the op: Tile and Target IR, backends and emitters don't know them. The expansion holds over
 * the whole range of f32 and f64: infinities, NaN, signs of zeros, and nothing on the way overflows where the result
 * doesn't.
 *
 * b and c behind an op's operands are its number attributes, in the order of its row in ir/graph/ops/pointwise.c. An
 * expansion may use other composites; those of level PART serve for that alone and are no ops of the graph. What
 * compilers of shaders would simplify ((1 + a) - 1, say) can't be relied on. ERROR follows from the allowances of the
 * ops that it is made of. Only ir/scalar_ops.h includes this. */
#ifndef CORE_IR_SCALAR_COMPOSITES_H
#define CORE_IR_SCALAR_COMPOSITES_H

/* 1 + z/3 + z^2/5 + ... of atanh(s) / s, with signs that alternate of atan(s) / s: z = s^2 up to 0.043, where the first
 * term that is left out is below 2^-55. */
#define SCALAR_SERIES(z, sign)                                                                                     \
  "fma(" z ", fma(" z ", fma(" z ", fma(" z ", fma(" z ", fma(" z ", fma(" z ", fma(" z ", fma(" z ", fma(" z ", " \
  "0.0476190476190476, " sign "0.0526315789473684), 0.0588235294117647), " sign "0.0666666666666667), "            \
  "0.0769230769230769), " sign "0.0909090909090909), 0.111111111111111), " sign "0.142857142857143), 0.2), " sign  \
  "0.333333333333333), 1)"
/* e^(a/2), multiplied in steps: e^a may be too large where its half isn't, or subnormal where a * e^a isn't. */
#define SCALAR_ROOT "exp(mul(a, 0.5))"
#define SCALAR_HALF "tanh(mul(a, 0.5))"
/* Of what is a itself near 0: half of it may be subnormal, and devices take that for 0. */
#define SCALAR_BUT_TINY(f) "select(lt(abs(a), TINY), a, " f ")"
/* For allowances that grow with the argument. */
#define SCALAR_UP_TO(a) fmin(fabs(a), 1000)

/* clang-format off */
#define SCALAR_COMPOSITES(X) \
  X(CEIL, "ceil", 1, F, "smallest integer not below a", GRAPH, SCALAR_EXACT, ceil(a), NONE, 0, "", "neg(floor(neg(a)))")       \
  X(TRUNC, "trunc", 1, F, "the integer next to a toward zero", GRAPH, SCALAR_EXACT, trunc(a), NONE, 0, "", "select(lt(a, 0), neg(floor(neg(a))), floor(a))") \
  X(SIGN, "sign", 1, A, "-1 below 0, 1 above, else a (a zero of its sign, or NaN)", GRAPH, SCALAR_EXACT, a > 0 ? 1 : a < 0 ? -1 : a, \
    (a > 0) - (a < 0), 0, "", "select(gt(a, 0), 1, select(lt(a, 0), -1, a))") \
  X(ISNAN, "isnan", 1, F, "whether a is NaN; the result is a bool", OWN, SCALAR_EXACT, isnan(a) ? 1 : 0, NONE, 0, "", "ne(a, a)") \
  X(ISINF, "isinf", 1, F, "whether a is infinite, of either sign; the result is a bool", OWN, SCALAR_EXACT, isinf(a) ? 1 : 0, NONE, 0, "", "eq(abs(a), INF)") \
  X(HARDSIGMOID, "hardsigmoid", 1, F, "max(0, min(1, alpha * a + beta))", OWN, 0, isnan(a * b) ? NAN : fmax(0, fmin(1, a * b + c)), NONE, 4 * (1 + fabs(c)), \
    "select(gt(y, 0), select(lt(y, 1), mul(g, b), 0), 0)", "max(0, min(1, add(mul(a, b), c)))")                                \
  X(HARDSWISH, "hardswish", 1, F, "a * max(0, min(1, a / 6 + 0.5))", GRAPH, 0, a <= -3 ? -0.0 : a >= 3 ? a : a * (a / 6 + 0.5), NONE, fabs(a) < 4 ? 4 * fabs(a) : 0, \
    "select(lt(a, -3), 0, select(gt(a, 3), g, mul(g, add(div(a, 3), 0.5))))", "mul(min(add(mul(max(a, -3), 0.166666666666666667), 0.5), 1), max(a, -3))") \
  X(LEAKY_RELU, "leaky_relu", 1, F, "alpha * a below 0, else a", OWN, 0, a < 0 ? a * b : a, NONE, 2 * m, "select(lt(a, 0), mul(g, b), g)", "select(lt(a, 0), mul(a, b), a)") \
  X(PRELU, "prelu", 2, F, "a * b where a is below 0, else a: b is the slope, broadcast", GRAPH, 0, a < 0 ? a * b : a, NONE, 0, \
    "select(lt(a, 0), mul(g, b), g); select(lt(a, 0), mul(g, a), 0)", "select(lt(a, 0), mul(a, b), a)")                        \
  X(ELU, "elu", 1, F, "a above 0, else alpha * (e^a - 1)", OWN, SCALAR_FUNCTION, a > 0 ? a : b * expm1(a), NONE, a > 0 ? 0 : 34 * m, \
    "select(gt(a, 0), g, mul(g, mul(b, exp(a))))", "select(gt(a, 0), a, mul(b, expm1(a)))")                                    \
  X(CELU, "celu", 1, F, "a above 0, else alpha * (e^(a / alpha) - 1)", OWN, SCALAR_FUNCTION, a > 0 ? a : b * expm1(a / b), NONE, a > 0 ? 0 : 36 * m, \
    "select(gt(a, 0), g, mul(g, exp(div(a, b))))", "select(gt(a, 0), a, mul(b, expm1(div(a, b))))")                            \
  X(SELU, "selu", 1, F, "1.0507 * (a above 0, else 1.67326 * (e^a - 1)), the constants of Klambauer et al. 2017", GRAPH, SCALAR_FUNCTION, \
    1.0507009873554804934 * (a > 0 ? a : 1.6732632423543772848 * expm1(a)), NONE, a > 0 ? 2 * m : 38 * m, \
    "mul(g, select(gt(a, 0), SELU_SCALE, mul(SELU_PRODUCT, exp(a))))", "select(gt(a, 0), mul(SELU_SCALE, a), mul(SELU_PRODUCT, expm1(a)))") \
  X(SOFTPLUS, "softplus", 1, F, "log(1 + e^a)", GRAPH, SCALAR_FUNCTION, fmax(0, a) + log1p(exp(-fabs(a))), NONE, m * (40 + (a < 0 ? 4 * SCALAR_UP_TO(a) : 0)), \
    "mul(g, sigmoid(a))", "add(max(a, 0), log1p(exp(neg(abs(a)))))")                                                           \
  X(MISH, "mish", 1, F, "a * tanh(log(1 + e^a))", GRAPH, SCALAR_FUNCTION, a == -INFINITY ? -0.0 : a * tanh(log1p(exp(a))), NONE, m * (24 + (a < 0 ? 4 * SCALAR_UP_TO(a) : 0)), \
    "mul(g, add(tanh(softplus(a)), mul(mul(a, sigmoid(a)), sub(1, mul(tanh(softplus(a)), tanh(softplus(a)))))))",                         \
    "select(gt(a, 20), a, mul(mul(finite(a), " SCALAR_ROOT "), div(mul(" SCALAR_ROOT ", add(mul(" SCALAR_ROOT ", " SCALAR_ROOT "), 2)), " \
    "add(mul(mul(" SCALAR_ROOT ", " SCALAR_ROOT "), add(mul(" SCALAR_ROOT ", " SCALAR_ROOT "), 2)), 2))))")                   \
  X(SOFTSIGN, "softsign", 1, F, "a / (1 + |a|); of an infinity 1 with its sign", GRAPH, 0, isinf(a) ? copysign(1, a) : a / (1 + fabs(a)), NONE, 4 * m, \
    "div(g, mul(add(1, abs(a)), add(1, abs(a))))", "select(lt(abs(a), INF), div(a, add(1, abs(a))), sign(a))")                 \
  X(EXPM1, "expm1", 1, F, "e^a - 1, accurate near 0 too", GRAPH, SCALAR_FUNCTION, expm1(a), NONE, fabs(a) < 1 ? 32 * m : (m + 1) * (6 + 4 * SCALAR_UP_TO(a)), \
    "mul(g, exp(a))", SCALAR_BUT_TINY("select(lt(abs(a), 1), div(mul(2, " SCALAR_HALF "), sub(1, " SCALAR_HALF ")), sub(exp(a), 1))"))              \
  X(LOG1P, "log1p", 1, F, "log(1 + a), accurate near 0 too; -inf at -1, NaN below", GRAPH, SCALAR_FUNCTION, log1p(a), NONE, 30 * m, \
    "div(g, add(a, 1))", SCALAR_BUT_TINY("select(lt(abs(sub(a, 0.08)), 0.41), mul(2, atanh_small(div(a, add(a, 2)))), log(add(a, 1)))"))         \
  X(TAN, "tan", 1, F, "tangent, radians", GRAPH, SCALAR_FUNCTION, tan(a), NONE, 4 * m + 8 * (1 + m) * sqrt(1 + m * m), "mul(g, add(1, mul(y, y)))", "div(sin(a), cos(a))") \
  X(ASIN, "asin", 1, F, "inverse sine, -pi/2 to pi/2; NaN outside [-1, 1]", GRAPH, SCALAR_FUNCTION, asin(a), NONE, 40 * m,     \
    "div(g, sqrt(mul(sub(1, a), add(1, a))))", "atan(div(a, sqrt(mul(sub(1, a), add(1, a)))))")                                \
  X(ACOS, "acos", 1, F, "inverse cosine, 0 to pi; NaN outside [-1, 1]", GRAPH, SCALAR_FUNCTION, acos(a), NONE, 40 * m,         \
    "neg(div(g, sqrt(mul(sub(1, a), add(1, a)))))", "mul(2, atan(sqrt(div(sub(1, a), add(1, a)))))")                           \
  X(ATAN, "atan", 1, F, "inverse tangent, -pi/2 to pi/2", GRAPH, SCALAR_FUNCTION, atan(a), NONE, 30 * m, "div(g, add(1, mul(a, a)))", \
    SCALAR_BUT_TINY("with_sign(select(gt(abs(a), 1), sub(HALF_PI, atan_unit(select(gt(abs(a), 1), div(1, abs(a)), abs(a)))), " \
    "atan_unit(select(gt(abs(a), 1), div(1, abs(a)), abs(a)))), a)"))                                                           \
  X(SINH, "sinh", 1, F, "hyperbolic sine", GRAPH, SCALAR_FUNCTION, sinh(a), NONE, m * (30 + 6 * SCALAR_UP_TO(a)), "mul(g, cosh(a))", \
    SCALAR_BUT_TINY("select(lt(abs(a), 1), div(mul(2, " SCALAR_HALF "), mul(sub(1, " SCALAR_HALF "), add(1, " SCALAR_HALF "))), "                    \
    "sub(mul(mul(0.5, " SCALAR_ROOT "), " SCALAR_ROOT "), div(div(0.5, " SCALAR_ROOT "), " SCALAR_ROOT ")))")) \
  X(COSH, "cosh", 1, F, "hyperbolic cosine", GRAPH, SCALAR_FUNCTION, cosh(a), NONE, m * (30 + 6 * SCALAR_UP_TO(a)), "mul(g, sinh(a))", \
    "add(mul(mul(0.5, " SCALAR_ROOT "), " SCALAR_ROOT "), div(div(0.5, " SCALAR_ROOT "), " SCALAR_ROOT "))")                                               \
  X(ASINH, "asinh", 1, F, "inverse hyperbolic sine", GRAPH, SCALAR_FUNCTION, asinh(a), NONE, 50 * m, "div(g, sqrt(add(1, mul(a, a))))", \
    "with_sign(select(gt(abs(a), 268435456), add(log(abs(a)), LN_2), "                                                         \
    "log1p(add(abs(a), div(mul(a, a), add(1, sqrt(add(1, mul(a, a)))))))), a)")                                                \
  X(ACOSH, "acosh", 1, F, "inverse hyperbolic cosine, at least 0; NaN below 1", GRAPH, SCALAR_FUNCTION, acosh(a), NONE, 64 * m, \
    "div(g, mul(sqrt(sub(a, 1)), sqrt(add(a, 1))))",                                                                           \
    "select(gt(a, 268435456), add(log(a), LN_2), log1p(add(sub(a, 1), mul(sqrt(sub(a, 1)), sqrt(add(a, 1))))))")               \
  X(ATANH, "atanh", 1, F, "inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond", GRAPH, SCALAR_FUNCTION, atanh(a), NONE, 40 * m, \
    "div(g, mul(sub(1, a), add(1, a)))", "with_sign(mul(0.5, log1p(div(mul(2, abs(a)), sub(1, abs(a))))), a)")                 \
  X(SHIFT_LEFT, "shift_left", 2, I, "a * 2^b, what leaves the type is lost; 0 where b is negative or at least the type's width", OWN, SCALAR_WRAPS, NONE, \
    b >= 0 && b < 64 ? (int64_t)((uint64_t)a << b) : 0, 0, "", "shl(a, b)") \
  X(SHIFT_RIGHT, "shift_right", 2, I, "a / 2^b rounded down; -1 for a negative a and 0 for others where b is negative or at least the type's width", OWN, SCALAR_WRAPS, NONE, \
    a >> (b < 0 || b > 63 ? 63 : b), 0, "", "shr(a, b)") \
  X(WITH_SIGN, "with_sign", 2, F, "of r = f(|b|): r for positive b, -r for negative, b of zeros and NaN", PART, 0, b < 0 ? -a : b > 0 ? a : b, NONE, 0, NULL, \
    "select(lt(b, 0), neg(a), select(gt(b, 0), a, b))")                                                                        \
  X(HALF_ANGLE, "half_angle", 1, F, "the tangent of half the angle whose tangent is a", PART, 0, a / (1 + sqrt(1 + a * a)), NONE, fabs(a) <= 1 ? 12 * m : INFINITY, NULL, \
    "div(a, add(1, sqrt(fma(a, a, 1))))")                                                                                      \
  X(ATANH_SMALL, "atanh_small", 1, F, "atanh up to 0.2", PART, 0, atanh(a), NONE, fabs(a) <= 0.2 ? 4 * m : INFINITY, NULL, "mul(a, " SCALAR_SERIES("mul(a, a)", "") ")") \
  X(ATAN_SMALL, "atan_small", 1, F, "atan up to 0.2", PART, 0, atan(a), NONE, fabs(a) <= 0.2 ? 4 * m : INFINITY, NULL, "mul(a, " SCALAR_SERIES("mul(a, a)", "-") ")") \
  X(ATAN_UNIT, "atan_unit", 1, F, "atan up to 1: the angle is halved twice", PART, 0, atan(a), NONE, fabs(a) <= 1 ? 28 * m : INFINITY, NULL, \
    "mul(4, atan_small(half_angle(half_angle(a))))")
/* clang-format on */
#endif
