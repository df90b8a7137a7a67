/* core/ir/scalar_ops.c - the rows of scalar_ops.h as functions and data, and the reader of their expressions. */
#include "core/ir/scalar_ops.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

static const char *const predicates[N_CMP] = {"eq", "ne", "lt", "le", "gt", "ge"};

const char *scalar_predicate_name(int p) { return (unsigned)p < N_CMP ? predicates[p] : "?"; }

int scalar_predicate(const char *name) {
  int p = 0;
  while (p < N_CMP && strcmp(name, predicates[p])) p++;
  return p;
}

/* order: -1, 0 or 1 as a is below, equal to or above b. */
static bool holds(int predicate, int order, bool unordered) {
  switch (predicate) {
  case CMP_EQ: return !unordered && order == 0;
  case CMP_NE: return unordered || order != 0;
  case CMP_LT: return !unordered && order < 0;
  case CMP_LE: return !unordered && order <= 0;
  case CMP_GT: return !unordered && order > 0;
  default: return !unordered && order >= 0;
  }
}

static int64_t int_pow(int64_t a, int64_t b) {
  uint64_t base = (uint64_t)a, r = 1;
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
  for (uint64_t e = (uint64_t)b; e; e >>= 1, base *= base)
    if (e & 1) r *= base;
  return (int64_t)r;
}

#define WRAP(a, op, b) ((int64_t)((uint64_t)(a)op(uint64_t)(b)))
#define OPERANDS(T) \
  const T a = x[0], b = x[1], c = x[2]; \
  (void)a, (void)b, (void)c
#define F64_F(CODE, expr, err)                            \
  static double f64_##CODE(int variant, const double *x) { \
    OPERANDS(double);                                     \
    (void)variant;                                        \
    return expr;                                          \
  }                                                       \
  static double error_##CODE(const double *x, double m) { \
    OPERANDS(double);                                     \
    (void)m;                                              \
    return err;                                           \
  }
#define F64_A F64_F
#define F64_I(CODE, expr, err)
#define INTEGER_I(CODE, expr)                                   \
  static int64_t integer_##CODE(int variant, const int64_t *x) { \
    OPERANDS(int64_t);                                          \
    (void)variant;                                              \
    return expr;                                                \
  }
#define INTEGER_A INTEGER_I
#define INTEGER_F(CODE, expr)
#define FUNCTIONS(CODE, name, n, types, help, level, traits, F64, INTEGER, ERROR, ...) \
  F64_##types(CODE, F64, ERROR) INTEGER_##types(CODE, INTEGER)
SCALAR_ALL(FUNCTIONS)

#define POINTERS_A(CODE) f64_##CODE, integer_##CODE, error_##CODE
#define POINTERS_F(CODE) f64_##CODE, NULL, error_##CODE
#define POINTERS_I(CODE) NULL, integer_##CODE, NULL
#define TYPES_A 0
#define TYPES_F SCALAR_FLOATS
#define TYPES_I SCALAR_INTEGERS
#define ROW(CODE, name, n, types, help, level, traits, F64, INTEGER, ERROR, DERIVATIVE, EXPANSION) \
  [SC_##CODE] = {name, n, (traits) | TYPES_##types, POINTERS_##types(CODE), DERIVATIVE, EXPANSION},
#define COMPOSITE(CODE, name, n, types, help, level, traits, ...) \
  ROW(CODE, name, n, types, help, level, (traits) | SCALAR_COMPOSITE, __VA_ARGS__)
const scalar_row scalar_rows[SC_ALL] = {SCALAR_OPS(ROW) SCALAR_COMPOSITES(COMPOSITE)};

static int64_t power_u64(uint64_t base, uint64_t n) {
  uint64_t y = 1;
  for (; n; n >>= 1, base *= base)
    if (n & 1) y *= base;
  return (int64_t)y;
}

int64_t scalar_u64(int code, int variant, const int64_t *x) {
  const uint64_t a = (uint64_t)x[0], b = (uint64_t)x[1];
  switch (code) {
  case SC_DIV: return b ? (int64_t)(a / b) : 0;
  case SC_REM: return b ? (int64_t)(a % b) : (int64_t)a;
  case SC_POW: return power_u64(a, b);
  case SC_MIN: return (int64_t)(a < b ? a : b);
  case SC_MAX: return (int64_t)(a > b ? a : b);
  case SC_SHR:
  case SC_SHIFT_RIGHT: return b < 64 ? (int64_t)(a >> b) : 0;
  case SC_ABS:
  case SC_RELU: return (int64_t)a;
  case SC_SIGN: return a > 0;
  case SC_COMPARE: return holds(variant, a < b ? -1 : a > b, false);
  default: return scalar_rows[code].integer(variant, x);
  }
}

/* ---- expressions ----------------------------------------------------------------------------------------------- */

static const struct { const char *name; double v; } constants[] = {
    {"SQRT_HALF", 0.70710678118654752440},
    {"SQRT_2_PI", 0.79788456080286535588},
    {"RSQRT_2_PI", 0.39894228040143267794},
    {"2_RSQRT_PI", 1.12837916709551257390},
    {"EXP_MINUS_16", 1.1253517471925911451e-07},
    {"HALF_PI", 1.57079632679489661923},
    {"LN_2", 0.69314718055994530942},
    {"SELU_SCALE", 1.0507009873554804934},
    {"SELU_PRODUCT", 1.7580993408473768599}, /* of the scale and alpha */
    {"INF", INFINITY},
    {"TINY", 1e-30},
};

static const char *blanks(const char *s) { return s + strspn(s, " "); }

static size_t word_length(const char *s) {
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '.' || s[n] == '-') n++;
  return n;
}

static bool is_word(const char *s, size_t n, const char *word) { return strlen(word) == n && !memcmp(s, word, n); }

/* Decimals of up to 15 digits, correctly rounded: both sides of the quotient are exact. */
static double number_of(const char *s, size_t n) {
  double digits = 0, power = 1;
  bool minus = *s == '-', fraction = false;
  for (size_t i = minus; i < n; i++) {
    if (s[i] == '.') fraction = true;
    else digits = digits * 10 + (s[i] - '0'), power *= fraction ? 10 : 1;
  }
  return (minus ? -digits : digits) / power;
}

static int code_of(const char *s, size_t n, int *variant) {
  *variant = 0;
  for (int p = 0; p < N_CMP; p++)
    if (is_word(s, n, predicates[p])) return *variant = p, SC_COMPARE;
  for (int c = 0; c < SC_ALL; c++)
    if (scalar_rows[c].name && is_word(s, n, scalar_rows[c].name)) return c;
  assert(is_word(s, n, "finite"));
  return SCALAR_FINITE;
}

static scalar_value word_value(const char *s, size_t n, const scalar_reader *r) {
  for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
    if (is_word(s, n, constants[i].name)) return r->number(r->user, constants[i].v);
  return isalpha((unsigned char)*s) ? r->name(r->user, *s) : r->number(r->user, number_of(s, n));
}

static scalar_value expression(const char **text, const scalar_reader *r) {
  const char *word = *text = blanks(*text);
  size_t n = word_length(word);
  *text = blanks(word + n);
  if (**text != '(') return word_value(word, n, r);
  scalar_value x[3] = {{0}, {0}, {0}};
  int variant, code = code_of(word, n, &variant), k = 0;
  do {
    ++*text;
    assert(k < 3);
    x[k++] = expression(text, r);
    *text = blanks(*text);
  } while (**text == ',');
  assert(**text == ')' && (code == SCALAR_FINITE ? k == 1 : k == scalar_rows[code].operands));
  ++*text;
  return r->apply(r->user, code, variant, x);
}

bool scalar_read(const char **text, const scalar_reader *r, scalar_value *out) {
  *text = blanks(*text);
  bool some = **text && **text != ';';
  if (some) *out = expression(text, r);
  *text = blanks(*text);
  if (**text == ';') ++*text;
  return some;
}
