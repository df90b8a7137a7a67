/* core/ir/scalar_ops.h - the scalar operations that Tile IR (in map regions and for block-uniform index arithmetic) and
 * Target IR (per thread, also on vectors) have in common: one list, expanded into both tables.
 * X(CODE, name, operands, kind, help); kind: A arithmetic (any numeric type), F float only, I integer or index or bool.
 */
#ifndef CORE_IR_SCALAR_OPS_H
#define CORE_IR_SCALAR_OPS_H

#define SCALAR_OPS(X)                                                                                         \
  X(ADD, "add", 2, A, "a + b")                                                                                \
  X(SUB, "sub", 2, A, "a - b")                                                                                \
  X(MUL, "mul", 2, A, "a * b")                                                                                \
  X(DIV, "div", 2, A, "a / b; integers round toward zero, x / 0 is 0")                                        \
  X(REM, "rem", 2, A, "a - b * trunc(a / b); integer x rem 0 is x")                                           \
  X(POW, "pow", 2, A, "a to the power b")                                                                     \
  X(MIN, "min", 2, A, "the smaller; NaN if either is")                                                        \
  X(MAX, "max", 2, A, "the larger; NaN if either is")                                                         \
  X(AND, "and", 2, I, "bitwise and")                                                                          \
  X(OR, "or", 2, I, "bitwise or")                                                                             \
  X(XOR, "xor", 2, I, "bitwise exclusive or")                                                                 \
  X(SHL, "shl", 2, I, "a << b")                                                                               \
  X(SHR, "shr", 2, I, "a >> b; keeps the sign of signed types")                                               \
  X(NOT, "not", 1, I, "bitwise complement; logical not of a bool")                                            \
  X(NEG, "neg", 1, A, "-a")                                                                                   \
  X(ABS, "abs", 1, A, "|a|")                                                                                  \
  X(EXP, "exp", 1, F, "e^a")                                                                                  \
  X(LOG, "log", 1, F, "natural logarithm")                                                                    \
  X(SQRT, "sqrt", 1, F, "square root")                                                                        \
  X(RSQRT, "rsqrt", 1, F, "1 / sqrt(a)")                                                                      \
  X(TANH, "tanh", 1, F, "hyperbolic tangent")                                                                 \
  X(ERF, "erf", 1, F, "error function")                                                                       \
  X(SIN, "sin", 1, F, "sine, radians")                                                                        \
  X(COS, "cos", 1, F, "cosine, radians")                                                                      \
  X(FLOOR, "floor", 1, F, "largest integer not above a")                                                      \
  X(SIGMOID, "sigmoid", 1, F, "1 / (1 + exp(-a))")                                                            \
  X(RELU, "relu", 1, A, "max(a, 0)")                                                                          \
  X(GELU, "gelu", 1, F, "a * (1 + erf(a / sqrt 2)) / 2")                                                      \
  X(GELU_TANH, "gelu_tanh", 1, F, "gelu by the tanh formula")                                                 \
  X(SILU, "silu", 1, F, "a * sigmoid(a)")                                                                     \
  X(FMA, "fma", 3, A, "a * b + c, rounded once for floats")                                                   \
  X(COMPARE, "compare", 2, A, "attribute predicate: eq, ne, lt, le, gt, ge; the result is a bool")            \
  X(SELECT, "select", 3, A, "condition ? a : b; the condition is a bool (or an integer mask's zero test)")    \
  X(CAST, "cast", 1, A, "to the result's type; to narrower floats rounds to nearest even, to integers saturates")

typedef enum scalar_code {
#define SCALAR_ENUM(CODE, name, n, kind, help) SC_##CODE,
  SCALAR_OPS(SCALAR_ENUM)
#undef SCALAR_ENUM
  SC_N
} scalar_code;

#endif
