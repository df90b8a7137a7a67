/* core/ir/scalar_ops.h - the scalar operations: one list, and all that is known of each. Graph IR makes its elementwise
 * ops of it, Tile IR (in map regions and for block-uniform index arithmetic) and Target IR (per thread, also on
 * vectors) their scalar ops; the oracle and the CPU's interpreter compute by its meaning, GPUs by its expansion.
 *
 * X(CODE, name, operands, types, help, level, traits, F64, INTEGER, ERROR, DERIVATIVE, EXPANSION)
 *   types       A any numeric type, F floats only, I integers, index and bool
 *   level       GRAPH: also an elementwise op of Graph IR, whose row is made from this one; OWN: also one of Graph IR,
 *               whose row stands in ir/graph/ops/pointwise.c; KERNEL: of Tile and Target IR alone
 *   traits      SCALAR_* below
 *   F64         the meaning on doubles a, b, c, the reference that every backend is held against: also at 0, infinity
 *               and NaN; NONE where there is none. `variant`: COMPARE's predicate
 *   INTEGER     the same on int64_t, the caller wraps to the type; `variant`: NOT's, 1 = of a bool
 *   ERROR       what an implementation may be off by, in units of the roundoff of the type it computes in; m is the
 *               result's magnitude. Vulkan's allowances for exp, log and pow (the loosest in the field), a few ulp for
 *               the rest; of gelu the cancellation for negative a, of rem that b * trunc(a / b), about a, is rounded
 *   DERIVATIVE  the gradients of the operands, ';' between them, of the operands a, b, c, the result y and its gradient
 *               g, in the notation of scalar_read; one left out is none; NULL: not differentiable. At a kink one side's
 *               is taken (relu'(0) = 0, abs'(0) = 1, of equal operands max and min choose the first)
 *   EXPANSION   how GPUs compute it from other scalar ops, NULL: by a function of their own. CPUs have kernels for all,
 *               which tests compare with F64
 * ir/scalar_composites.h continues the list with ops of Graph IR alone, whose expansion is all that computes them:
 * SCALAR_COMPOSITE is a trait of every row there. */
#ifndef CORE_IR_SCALAR_OPS_H
#define CORE_IR_SCALAR_OPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/ir/scalar_composites.h"

enum {
  SCALAR_FUNCTION = 1 << 0, /* a dozen instructions or more on a GPU */
  SCALAR_EXACT = 1 << 1,    /* on floats the result is never rounded */
  SCALAR_COMMUTES = 1 << 2, /* a op b is b op a */
  SCALAR_WRAPS = 1 << 3,    /* an integer result is wrapped to its type */
  SCALAR_OF_BOOL = 1 << 4,  /* also defined on bool, where types is A or I */
  SCALAR_FLOATS = 1 << 5,   /* types is F */
  SCALAR_INTEGERS = 1 << 6, /* types is I */
  SCALAR_COMPLEX = 1 << 7,  /* the op of Graph IR takes complex numbers too (ir/graph/ops/complex.c) */
  SCALAR_SCALES = 1 << 8,   /* of a tensor and numbers it changes sign, scale or type alone: as cheap as reading */
  SCALAR_COMPOSITE = 1 << 9, /* of Graph IR alone: in Tile IR its expansion stands */
};

/* clang-format off */
#define SCALAR_OPS(X)                                                                                                  \
  X(ADD, "add", 2, A, "a + b; integers wrap", GRAPH, SCALAR_COMMUTES | SCALAR_WRAPS | SCALAR_COMPLEX, a + b, WRAP(a, +, b), 0, "g; g", NULL)        \
  X(SUB, "sub", 2, A, "a - b; integers wrap", GRAPH, SCALAR_WRAPS | SCALAR_COMPLEX, a - b, WRAP(a, -, b), 0, "g; neg(g)", NULL)                     \
  X(MUL, "mul", 2, A, "a * b; integers wrap", GRAPH, SCALAR_COMMUTES | SCALAR_WRAPS | SCALAR_COMPLEX | SCALAR_SCALES, a * b, WRAP(a, *, b), 0, "mul(g, b); mul(g, a)", NULL) \
  X(DIV, "div", 2, A, "a / b; integers round toward zero, x / 0 is 0", GRAPH, SCALAR_WRAPS | SCALAR_COMPLEX | SCALAR_SCALES, a / b,                             \
    b == 0 ? 0 : b == -1 ? WRAP(0, -, a) : a / b, 5 * m, "div(g, b); neg(div(mul(g, y), b))", NULL)                    \
  X(REM, "rem", 2, A, "a - b * trunc(a / b): the sign of a; integer x rem 0 is x", GRAPH, SCALAR_WRAPS, fmod(a, b),            \
    b == 0 ? a : b == -1 ? 0 : a % b, m + 2 * fabs(a), "g; neg(mul(g, div(sub(a, y), b)))", NULL)                      \
  X(POW, "pow", 2, A, "a to the power b; integers wrap, a negative exponent gives 0 but for bases 1 and -1", GRAPH,            \
    SCALAR_FUNCTION | SCALAR_WRAPS, pow(a, b), int_pow(a, b), m * (16 + 4 * fabs(b * log(fabs(a) + 1e-300))),          \
    "mul(g, mul(b, pow(select(eq(b, 0), 1, a), sub(b, 1)))); mul(g, mul(y, log(select(gt(a, 0), a, 1))))", NULL)                                    \
  X(MIN, "min", 2, A, "the smaller; NaN if either is", GRAPH, SCALAR_EXACT | SCALAR_COMMUTES | SCALAR_WRAPS | SCALAR_OF_BOOL,  \
    isnan(a) || isnan(b) ? NAN : a < b ? a : b, a < b ? a : b, 0,                                                      \
    "select(le(a, b), g, 0); select(le(a, b), 0, g)", NULL)                                                            \
  X(MAX, "max", 2, A, "the larger; NaN if either is", GRAPH, SCALAR_EXACT | SCALAR_COMMUTES | SCALAR_WRAPS | SCALAR_OF_BOOL,   \
    isnan(a) || isnan(b) ? NAN : a > b ? a : b, a > b ? a : b, 0,                                                      \
    "select(ge(a, b), g, 0); select(ge(a, b), 0, g)", NULL)                                                            \
  X(AND, "and", 2, I, "bitwise and; logical of bools", GRAPH, SCALAR_COMMUTES | SCALAR_WRAPS | SCALAR_OF_BOOL, NONE, a & b, 0, "", NULL) \
  X(OR, "or", 2, I, "bitwise or; logical of bools", GRAPH, SCALAR_COMMUTES | SCALAR_WRAPS | SCALAR_OF_BOOL, NONE, a | b, 0, "", NULL) \
  X(XOR, "xor", 2, I, "bitwise exclusive or; logical of bools", GRAPH, SCALAR_COMMUTES | SCALAR_WRAPS | SCALAR_OF_BOOL, NONE, a ^ b, 0, "", NULL) \
  X(MUL_HIGH, "mul_high", 2, I, "bits 32 to 63 of the product of the low 32 bits of a and b, both unsigned", OWN, SCALAR_COMMUTES | SCALAR_WRAPS, NONE, \
    (int64_t)(((uint64_t)(uint32_t)a * (uint32_t)b) >> 32), 0, "", NULL) \
  X(SHL, "shl", 2, I, "a << b", KERNEL, SCALAR_WRAPS, NONE, b >= 0 && b < 64 ? (int64_t)((uint64_t)a << b) : 0, 0, NULL, NULL) \
  X(SHR, "shr", 2, I, "a >> b; keeps the sign of signed types", KERNEL, SCALAR_WRAPS, NONE, a >> (b < 0 || b > 63 ? 63 : b), 0, NULL, NULL) \
  X(NOT, "not", 1, I, "bitwise complement; logical not of a bool", GRAPH, SCALAR_WRAPS | SCALAR_OF_BOOL, NONE, variant ? !a : ~a, 0, "", NULL) \
  X(NEG, "neg", 1, A, "-a; integers wrap", GRAPH, SCALAR_EXACT | SCALAR_WRAPS | SCALAR_COMPLEX | SCALAR_SCALES, -a, WRAP(0, -, a), 0, "neg(g)", NULL)               \
  X(ABS, "abs", 1, A, "|a|; integers wrap", GRAPH, SCALAR_EXACT | SCALAR_WRAPS | SCALAR_COMPLEX, fabs(a), a < 0 ? WRAP(0, -, a) : a, 0,             \
    "select(lt(a, 0), neg(g), g)", NULL)                                                                                       \
  X(EXP, "exp", 1, F, "e^a", GRAPH, SCALAR_FUNCTION, exp(a), NONE, m * (6 + 4 * fabs(a)), "mul(g, y)", NULL)                   \
  X(LOG, "log", 1, F, "natural logarithm; -inf at 0, NaN below", GRAPH, SCALAR_FUNCTION, log(a), NONE,                         \
    6 * m + (a > 0.5 && a < 2 ? 8 : 0), "div(g, a)", NULL)                                                             \
  X(SQRT, "sqrt", 1, F, "square root; NaN below 0", GRAPH, 0, sqrt(a), NONE, 12 * m, "div(mul(g, 0.5), y)", NULL)              \
  X(RSQRT, "rsqrt", 1, F, "1 / sqrt(a)", GRAPH, 0, 1 / sqrt(a), NONE, 12 * m, "mul(mul(g, -0.5), mul(y, mul(y, y)))", NULL)    \
  X(TANH, "tanh", 1, F, "hyperbolic tangent", GRAPH, SCALAR_FUNCTION, tanh(a), NONE, 12 * m, "mul(g, sub(1, mul(y, y)))", NULL) \
  X(ERF, "erf", 1, F, "error function", GRAPH, SCALAR_FUNCTION, erf(a), NONE, 12 * m,                                          \
    "mul(g, mul(2_RSQRT_PI, exp(neg(mul(a, a)))))", NULL)                                                                      \
  X(SIN, "sin", 1, F, "sine, radians", GRAPH, SCALAR_FUNCTION, sin(a), NONE, 8, "mul(g, cos(a))", NULL)                        \
  X(COS, "cos", 1, F, "cosine, radians", GRAPH, SCALAR_FUNCTION, cos(a), NONE, 8, "neg(mul(g, sin(a)))", NULL)                 \
  X(FLOOR, "floor", 1, F, "largest integer not above a", GRAPH, SCALAR_EXACT, floor(a), NONE, 0, "", NULL)                     \
  X(ROUND, "round", 1, F, "nearest integer, of two equally near the even one", GRAPH, SCALAR_EXACT, nearbyint(a), NONE, 0, "", NULL) \
  X(SIGMOID, "sigmoid", 1, F, "1 / (1 + exp(-a))", GRAPH, SCALAR_FUNCTION, a < 0 ? exp(a) / (1 + exp(a)) : 1 / (1 + exp(-a)), NONE, 12 * m, \
    "mul(g, mul(y, sub(1, y)))", "div(1, add(1, exp(neg(a))))")                                                                \
  X(RELU, "relu", 1, A, "max(a, 0)", GRAPH, SCALAR_EXACT, a < 0 ? 0 : a, a < 0 ? 0 : a, 0, "select(gt(a, 0), g, 0)", "max(a, 0)") \
  X(GELU, "gelu", 1, F, "a * (1 + erf(a / sqrt 2)) / 2", OWN, SCALAR_FUNCTION,                                                 \
    a == -INFINITY ? -0.0 : 0.5 * a * erfc(-a * 0.70710678118654752440), NONE, 8 * m + 4 * fabs(a),                    \
    "mul(g, add(mul(0.5, add(1, erf(mul(a, SQRT_HALF)))), mul(a, mul(RSQRT_2_PI, exp(mul(mul(a, a), -0.5))))))",               \
    "mul(mul(0.5, finite(a)), add(1, erf(mul(a, SQRT_HALF))))")                                                                \
  X(GELU_TANH, "gelu_tanh", 1, F, "gelu by the tanh formula", KERNEL, SCALAR_FUNCTION,                                         \
    a == -INFINITY ? -0.0 : 0.5 * a * (1 + tanh(0.79788456080286535588 * (a + 0.044715 * a * a * a))), NONE,           \
    8 * m + 4 * fabs(a),                                                                                               \
    "mul(g, mul(0.5, add(add(1, tanh(mul(mul(SQRT_2_PI, a), add(1, mul(0.044715, mul(a, a)))))), "                             \
    "mul(mul(a, sub(1, mul(tanh(mul(mul(SQRT_2_PI, a), add(1, mul(0.044715, mul(a, a))))), "                                   \
    "tanh(mul(mul(SQRT_2_PI, a), add(1, mul(0.044715, mul(a, a)))))))), mul(SQRT_2_PI, add(1, mul(0.134145, mul(a, a))))))))", \
    "mul(mul(0.5, finite(a)), add(1, tanh(mul(SQRT_2_PI, fma(mul(mul(a, a), a), 0.044715, a)))))")                             \
  X(SILU, "silu", 1, F, "a * sigmoid(a)", GRAPH, SCALAR_FUNCTION, \
    a == -INFINITY ? -0.0 : a < 0 ? a * exp(a) / (1 + exp(a)) : a / (1 + exp(-a)), NONE, 12 * m, \
    "mul(g, add(sigmoid(a), mul(y, sub(1, sigmoid(a)))))",                                                                    \
    "mul(div(finite(a), add(1, exp(neg(add(a, select(lt(a, -64), 16, 0)))))), select(lt(a, -64), EXP_MINUS_16, 1))")                              \
  X(FMA, "fma", 3, A, "a * b + c, rounded once for floats", KERNEL, 0, fma(a, b, c),                                           \
    (int64_t)((uint64_t)a * (uint64_t)b + (uint64_t)c), 0, NULL, NULL)                                                 \
  X(COMPARE, "compare", 2, A, "attribute predicate: eq, ne, lt, le, gt, ge; the result is a bool, of NaN only ne holds", OWN, SCALAR_OF_BOOL,        \
    holds(variant, a < b ? -1 : a > b, isnan(a) || isnan(b)), holds(variant, a < b ? -1 : a > b, false), 0, "", NULL)  \
  X(SELECT, "select", 3, A, "condition ? a : b; the condition is a bool", OWN,                \
    SCALAR_EXACT | SCALAR_OF_BOOL | SCALAR_COMPLEX, a != 0 ? b : c, a ? b : c, 0,                                      \
    "; select(a, g, 0); select(a, 0, g)", NULL)                                                                        \
  X(CAST, "cast", 1, A, "to the result's type; to narrower floats rounds to nearest even, to integers saturates", KERNEL,      \
    SCALAR_OF_BOOL | SCALAR_SCALES, a, a, 0, NULL, NULL)
/* clang-format on */

typedef enum scalar_code {
#define SCALAR_ENUM(CODE, ...) SC_##CODE,
  SCALAR_OPS(SCALAR_ENUM)
  SC_N, /* of Tile and Target IR */
  /* finite(a) in expansions: a, but some finite number below 0 in place of -inf. For a factor of what becomes 0 there:
   * the product is then -0 and not NaN. It may lose a NaN, which the other factor has too. */
  SCALAR_FINITE = SC_N,
  SCALAR_COMPOSITES(SCALAR_ENUM)
#undef SCALAR_ENUM
  SC_ALL /* of Graph IR too; SC_N itself is no op */
} scalar_code;
#define SCALAR_ALL(X) SCALAR_OPS(X) SCALAR_COMPOSITES(X)

/* COMPARE's predicates. Every one but NE is false where an operand is NaN. */
enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, N_CMP };
const char *scalar_predicate_name(int predicate);
/* N_CMP if unknown. */
int scalar_predicate(const char *name);

/* x has three elements, whatever the op takes. */
typedef struct scalar_row {
  const char *name;
  int operands;
  unsigned traits;
  double (*f64)(int variant, const double *x);       /* NULL: not on floats */
  int64_t (*integer)(int variant, const int64_t *x); /* NULL: not on integers */
  double (*error)(const double *x, double m);        /* as f64 */
  const char *derivative, *expansion;
} scalar_row;
extern const scalar_row scalar_rows[SC_ALL];
static inline bool scalar_is_composite(int code) { return (scalar_rows[code].traits & SCALAR_COMPOSITE) != 0; }
/* The meaning on u64, which are their bits: as INTEGER's but where that sees a sign. */
int64_t scalar_u64(int code, int variant, const int64_t *x);

/* What scalar_read makes of an expression; which member holds is the reader's choice. */
typedef union scalar_value {
  uint32_t id;
  double v;
  void *p;
} scalar_value;
typedef struct scalar_reader {
  void *user;
  scalar_value (*name)(void *user, char name); /* a, b, c, y, g; behind the operands the op's number attributes */
  scalar_value (*number)(void *user, double v);
  /* code: SC_* or SCALAR_FINITE; variant: COMPARE's predicate, 0 else */
  scalar_value (*apply)(void *user, int code, int variant, const scalar_value *x);
} scalar_reader;

/* Reads one expression of a list, from the inside out: `mul(a, add(1, exp(b)))`, with the ops' names, eq .. ge for
 * comparisons, finite, numbers and the constants of scalar_ops.c. *text is moved behind it and behind the ';' that
 * follows. False: there is none here, or at the list's end. The text is these lists' own: an error in it is a broken
 * invariant. */
bool scalar_read(const char **text, const scalar_reader *r, scalar_value *out);
#endif
