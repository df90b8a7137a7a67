/* core/emit/text_prelude_common.c - the part of every C-like translation unit that is the same in all dialects: element
 * types, their exact conversions (core/base/dtype.h), vectors, the scalar semantics of core/ir/scalar_ops.h and butterfly
 * reductions. Written over the primitives of core/emit/text.h. */
#include "core/emit/text.h"

static const char types[] =
    "#ifndef COPY\n"
    "#define COPY __builtin_memcpy\n"
    "#endif\n"
    "template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) vec {\n"
    "  T v[N];\n"
    "  FN T &operator[](int i) { return v[i]; }\n"
    "  FN const T &operator[](int i) const { return v[i]; }\n"
    "};\n"
    "template <class To, class From> FN To bits(From from) {\n"
    "  static_assert(sizeof(To) == sizeof(From), \"sizes differ\");\n"
    "  To to;\n"
    "  COPY(&to, &from, sizeof to);\n"
    "  return to;\n"
    "}\n"
    "template <class T> FN T least() {\n"
    "  return T(-1) > T(0) ? T(0) : T(1ull << (8 * sizeof(T) - 1));\n"
    "}\n"
    "template <class T> FN T most() {\n"
    "  return T(~least<T>());\n"
    "}\n"
    "/* Float to integer: toward zero, saturating, NaN gives 0. */\n"
    "template <class T, class F> FN T to_int(F x) {\n"
    "  return x != x ? T(0) : x >= F(most<T>()) ? most<T>() : x <= F(least<T>()) ? least<T>() : T(x);\n"
    "}\n"
    "template <class T> FN T idiv(T a, T b) {\n"
    "  return b == 0 ? T(0) : b == T(-1) && T(-1) < T(0) ? T(0ull - (unsigned long long)a) : T(a / b);\n"
    "}\n"
    "template <class T> FN T irem(T a, T b) {\n"
    "  return b == 0 || (b == T(-1) && T(-1) < T(0)) ? T(0) : T(a % b);\n"
    "}\n"
    "template <class T> FN T ipow(T a, T b) {\n"
    "  T r = 1;\n"
    "  if (b < 0) return a == 1 ? T(1) : a == T(-1) ? (b & 1 ? T(-1) : T(1)) : T(0);\n"
    "  for (; b; b = T(b >> 1), a = T((unsigned long long)a * (unsigned long long)a))\n"
    "    if (b & 1) r = T((unsigned long long)r * (unsigned long long)a);\n"
    "  return r;\n"
    "}\n"
    "template <class T> FN T imin(T a, T b) { return b < a ? b : a; }\n"
    "template <class T> FN T imax(T a, T b) { return a < b ? b : a; }\n"
    "template <int N, class T> FN vec<T, N> take(const T *p) {\n"
    "  vec<T, N> r;\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < N; i++) r[i] = p[i];\n"
    "  return r;\n"
    "}\n"
    "template <int N, class T> FN void put(T *p, const vec<T, N> &v) {\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < N; i++) p[i] = v[i];\n"
    "}\n";

static const char odd[] =
    "/* Double to float, to odd: a second rounding then gives what a single one would. */\n"
    "FN float to_odd(double x) {\n"
    "  float f = float(x);\n"
    "  unsigned u = bits<unsigned>(f);\n"
    "  if (x != x || (u & 0x7fffffff) == 0x7f800000 || double(f) == x) return f;\n"
    "  if ((f < 0 ? -double(f) : double(f)) > (x < 0 ? -x : x)) u--;\n"
    "  return bits<float>(u | 1);\n"
    "}\n";

static const char f16_type[] =
    "struct f16 {\n"
    "  unsigned short u;\n"
    "  f16() = default;\n"
    "  FN explicit f16(float x) : u(f16_bits(x)) {}\n"
    "  FN explicit f16(double x) : u(f16_bits(to_odd(x))) {}\n"
    "  FN explicit f16(int x) : u(f16_bits(float(x))) {}\n"
    "  FN operator float() const { return f16_value(u); }\n"
    "};\n";

static const char bf16_type[] =
    "struct bf16 {\n"
    "  unsigned short u;\n"
    "  bf16() = default;\n"
    "  FN explicit bf16(float x) : u(bf16_bits(x)) {}\n"
    "  FN explicit bf16(double x) : u(bf16_bits(to_odd(x))) {}\n"
    "  FN explicit bf16(int x) : u(bf16_bits(float(x))) {}\n"
    "  FN operator float() const { return bits<float>((unsigned)u << 16); }\n"
    "};\n";

static const char f8_types[] =
    "struct f8e4m3fnuz; /* these name how gfx942 reads 8-bit operands */\n"
    "struct f8e5m2fnuz;\n"
    "/* A float as 8 bits with M bits of mantissa, to nearest even; the sign is dropped. */\n"
    "template <int M, int BIAS> FN unsigned f8_round(float x) {\n"
    "  unsigned u = bits<unsigned>(x) & 0x7fffffff;\n"
    "  int e = int(u >> 23) - 127 + BIAS, shift = 23 - M;\n"
    "  unsigned m = (u & 0x7fffff) | 0x800000;\n"
    "  if (u < 0x800000) return 0;\n"
    "  if (e <= 0) {\n"
    "    shift += 1 - e;\n"
    "    if (shift > 25) return 0;\n"
    "  }\n"
    "  unsigned half = 1u << (shift - 1), rest = m & ((1u << shift) - 1), q = m >> shift;\n"
    "  q += rest > half || (rest == half && (q & 1));\n"
    "  return e <= 0 ? q : ((unsigned)e << M) + q - (1u << M);\n"
    "}\n"
    "template <int M, int BIAS> FN float f8_value(unsigned code) {\n"
    "  unsigned e = code >> M, m = code & ((1u << M) - 1);\n"
    "  if (e) return bits<float>(((e + 127 - BIAS) << 23) | (m << (23 - M)));\n"
    "  return float(m) * bits<float>((unsigned)(127 + 1 - BIAS - M) << 23);\n"
    "}\n"
    "struct f8e4m3 {\n"
    "  unsigned char u;\n"
    "  f8e4m3() = default;\n"
    "  FN explicit f8e4m3(float x) {\n"
    "    unsigned code = x != x ? 0x7f : bits<float>(bits<unsigned>(x) & 0x7fffffff) >= 448.0f ? 0x7e : f8_round<3, 7>(x);\n"
    "    u = (unsigned char)((bits<unsigned>(x) >> 24 & 0x80) | (x == x && code > 0x7e ? 0x7e : code));\n"
    "  }\n"
    "  FN explicit f8e4m3(double x) : f8e4m3(to_odd(x)) {}\n"
    "  FN explicit f8e4m3(int x) : f8e4m3(float(x)) {}\n"
    "  FN operator float() const {\n"
    "    float r = (u & 0x7f) == 0x7f ? bits<float>(0x7fc00000u) : f8_value<3, 7>(u & 0x7f);\n"
    "    return u & 0x80 ? -r : r;\n"
    "  }\n"
    "};\n"
    "struct f8e5m2 {\n"
    "  unsigned char u;\n"
    "  f8e5m2() = default;\n"
    "  FN explicit f8e5m2(float x) {\n"
    "    float a = bits<float>(bits<unsigned>(x) & 0x7fffffff);\n"
    "    unsigned code = x != x ? 0x7e : a >= 61440.0f ? 0x7c : f8_round<2, 15>(x);\n"
    "    u = (unsigned char)((bits<unsigned>(x) >> 24 & 0x80) | code);\n"
    "  }\n"
    "  FN explicit f8e5m2(double x) : f8e5m2(to_odd(x)) {}\n"
    "  FN explicit f8e5m2(int x) : f8e5m2(float(x)) {}\n"
    "  FN operator float() const {\n"
    "    unsigned c = u & 0x7f;\n"
    "    float r = c > 0x7c ? bits<float>(0x7fc00000u) : c == 0x7c ? bits<float>(0x7f800000u) : f8_value<2, 15>(c);\n"
    "    return u & 0x80 ? -r : r;\n"
    "  }\n"
    "};\n";

static const char tf32_type[] =
    "/* A float rounded to 10 bits of mantissa. */\n"
    "FN float tf32_round(float x) {\n"
    "  unsigned u = bits<unsigned>(x);\n"
    "  return (u & 0x7f800000) == 0x7f800000 ? x : bits<float>((u + 0xfff + (u >> 13 & 1)) & ~0x1fffu);\n"
    "}\n"
    "struct tf32; /* names the element type of a matrix instruction */\n";

static const char math[] =
    "template <class F> FN F sigmoid(F x) { return F(1) / (F(1) + fexp(-x)); }\n"
    "template <class F> FN F gelu(F x) { return x * F(0.5) * (F(1) + ferf(x * F(0.70710678118654752440))); }\n"
    "template <class F> FN F gelu_tanh(F x) {\n"
    "  return x * F(0.5) * (F(1) + ftanh(F(0.79788456080286535588) * ffma(F(0.044715) * x * x, x, x)));\n"
    "}\n"
    "template <class F> FN F silu(F x) { return x * sigmoid(x); }\n";

static const char shuffles[] =
    "template <int MODE, class T> FN T shuffle(T x, int lane, int width) {\n"
    "  if constexpr (sizeof(T) < 4) {\n"
    "    unsigned w = 0;\n"
    "    COPY(&w, &x, sizeof x);\n"
    "    w = shuffle_word<MODE>(w, lane, width);\n"
    "    COPY(&x, &w, sizeof x);\n"
    "    return x;\n"
    "  } else {\n"
    "    unsigned w[sizeof(T) / 4];\n"
    "    COPY(w, &x, sizeof x);\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < int(sizeof(T) / 4); i++) w[i] = shuffle_word<MODE>(w[i], lane, width);\n"
    "    COPY(&x, w, sizeof x);\n"
    "    return x;\n"
    "  }\n"
    "}\n"
    "struct op_sum { template <class T> FN static T of(T a, T b) { return T(a + b); } };\n"
    "struct op_prod { template <class T> FN static T of(T a, T b) { return T(a * b); } };\n"
    "struct op_max {\n"
    "  template <class T> FN static T of(T a, T b) { return imax(a, b); }\n"
    "  FN static float of(float a, float b) { return fmax_nan(a, b); }\n"
    "  FN static double of(double a, double b) { return fmax_nan(a, b); }\n"
    "};\n"
    "struct op_min {\n"
    "  template <class T> FN static T of(T a, T b) { return imin(a, b); }\n"
    "  FN static float of(float a, float b) { return fmin_nan(a, b); }\n"
    "  FN static double of(double a, double b) { return fmin_nan(a, b); }\n"
    "};\n"
    "/* A butterfly over aligned groups of `width` lanes: every lane gets the same bits. */\n"
    "template <class OP, class T> FN T warp_reduce(T x, int width) {\n"
    "#pragma unroll\n"
    "  for (int mask = width / 2; mask > 0; mask /= 2) x = OP::of(x, shuffle<0>(x, mask, width));\n"
    "  return x;\n"
    "}\n"
    "template <class OP, class T, int N> FN vec<T, N> warp_reduce(vec<T, N> x, int width) {\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < N; i++) x[i] = warp_reduce<OP>(x[i], width);\n"
    "  return x;\n"
    "}\n";

void text_common_types(strb *b, const text_use *u) {
  strb_puts(b, types);
  if (u->features & (TEXT_F16 | TEXT_BF16 | TEXT_F8)) strb_puts(b, odd);
  if (u->features & TEXT_F16) strb_puts(b, f16_type);
  if (u->features & TEXT_BF16) strb_puts(b, bf16_type);
  if (u->features & TEXT_F8) strb_puts(b, f8_types);
  if (u->features & TEXT_TF32) strb_puts(b, tf32_type);
}

void text_common_functions(strb *b, const text_use *u) {
  if (u->features & TEXT_MATH) strb_puts(b, math);
  if (u->features & TEXT_SHUFFLE) strb_puts(b, shuffles);
}
