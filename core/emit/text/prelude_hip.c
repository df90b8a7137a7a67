/* core/emit/text/prelude_hip.c - the primitives of core/emit/text/prelude.h for HIP C++ by clang's own AMDGPU builtins:
 * no ROCm header and no device library, so the scalar functions are written out here. */
#include "core/emit/text/prelude.h"
#include "core/device/arch.h"
#include "core/emit/text/vendor.h"

static const char base[] =
    "#define FN __attribute__((device, always_inline)) inline\n"
    "#define KERNEL(threads) extern \"C\" __attribute__((global, amdgpu_flat_work_group_size(threads, threads))) void\n"
    "#define WAVES(n) __attribute__((amdgpu_waves_per_eu(n)))\n"
    "#pragma clang diagnostic ignored \"-Wpass-failed\" /* shared memory may leave room for fewer */\n"
    "#define SHARED_MEMORY(bytes) __attribute__((shared, aligned(1024))) unsigned char smem[bytes]\n"
    "#define GRID_CONSTANT\n"
    "#define COPY __builtin_memcpy\n"
    "template <int AXIS> FN int thread_id() {\n"
    "  return AXIS == 0 ? __builtin_amdgcn_workitem_id_x() : AXIS == 1 ? __builtin_amdgcn_workitem_id_y() : __builtin_amdgcn_workitem_id_z();\n"
    "}\n"
    "template <int AXIS> FN int block_id() {\n"
    "  return AXIS == 0 ? __builtin_amdgcn_workgroup_id_x() : AXIS == 1 ? __builtin_amdgcn_workgroup_id_y() : __builtin_amdgcn_workgroup_id_z();\n"
    "}\n"
    "/* Blocks are one-dimensional. */\n"
    "FN int lane_id() { return __builtin_amdgcn_workitem_id_x() & (WAVE - 1); }\n"
    "FN int warp_id() { return __builtin_amdgcn_readfirstlane(__builtin_amdgcn_workitem_id_x() / WAVE); }\n"
    "FN void barrier() {\n"
    "  __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\");\n"
    "  __builtin_amdgcn_s_barrier();\n"
    "  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");\n"
    "}\n"
    "FN void warp_barrier() {\n"
    "  __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"wavefront\");\n"
    "  __builtin_amdgcn_wave_barrier();\n"
    "  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"wavefront\");\n"
    "}\n"
    "typedef unsigned u32x2 __attribute__((ext_vector_type(2)));\n"
    "typedef unsigned u32x4 __attribute__((ext_vector_type(4)));\n"
    "#define LD_STREAM(p) __builtin_nontemporal_load(p)\n"
    "#define ST_STREAM(p, w) __builtin_nontemporal_store(w, p)\n";

static const char functions[] =
    "FN float fmin_nan(float a, float b) { return a < b || a != a ? a : b; }\n"
    "FN float fmax_nan(float a, float b) { return a > b || a != a ? a : b; }\n"
    "FN double fmin_nan(double a, double b) { return a < b || a != a ? a : b; }\n"
    "FN double fmax_nan(double a, double b) { return a > b || a != a ? a : b; }\n"
    "FN float ffma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }\n"
    "FN double ffma(double a, double b, double c) { return __builtin_fma(a, b, c); }\n"
    "FN float fabs_(float x) { return __builtin_fabsf(x); }\n"
    "FN double fabs_(double x) { return __builtin_fabs(x); }\n"
    "FN float ffloor(float x) { return __builtin_floorf(x); }\n"
    "FN double ffloor(double x) { return __builtin_floor(x); }\n"
    "FN float frint(float x) { return __builtin_rintf(x); }\n"
    "FN double frint(double x) { return __builtin_rint(x); }\n"
    "FN float fsqrt(float x) { return __builtin_sqrtf(x); }\n"
    "FN double fsqrt(double x) { return __builtin_sqrt(x); }\n"
    "FN float frsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }\n"
    "FN double frsqrt(double x) { return 1.0 / __builtin_sqrt(x); }\n"
    "/* Exact, by long division: LLVM expands __builtin_fmod inline to a - b * trunc(a / b), which loses whole quotients. */\n"
    "template <class F, class U, int MANT> FN F long_rem(F a, F b) {\n"
    "  constexpr U one = U(1) << MANT, inf = U(~U(0)) >> 1 >> MANT << MANT;\n"
    "  U wa = __builtin_bit_cast(U, a), x = wa << 1 >> 1, y = __builtin_bit_cast(U, b) << 1 >> 1, sign = wa ^ x;\n"
    "  if (x >= inf || y > inf || y == 0) return F(__builtin_nan(\"\"));\n"
    "  if (x < y) return a;\n"
    "  int ea = int(x >> MANT), eb = int(y >> MANT);\n"
    "  x = ea ? (x & (one - 1)) | one : x;\n"
    "  y = eb ? (y & (one - 1)) | one : y;\n"
    "  ea += ea == 0;\n"
    "  eb += eb == 0;\n"
    "  int left = ea - eb;\n"
    "  do {\n"
    "    int step = left < int(8 * sizeof(U)) - 1 - MANT ? left : int(8 * sizeof(U)) - 1 - MANT;\n"
    "    x = (x << step) % y;\n"
    "    left -= step;\n"
    "  } while (left > 0);\n"
    "  if (x == 0) return __builtin_bit_cast(F, sign);\n"
    "  int up = __builtin_clzll((unsigned long long)x) - (63 - MANT);\n"
    "  up = up < eb - 1 ? up : eb - 1;\n"
    "  x <<= up;\n"
    "  return __builtin_bit_cast(F, U(sign | (x >= one ? (U(eb - up) << MANT) + (x - one) : x)));\n"
    "}\n"
    "FN float ffmod(float a, float b) { return long_rem<float, unsigned, 23>(a, b); }\n"
    "FN double ffmod(double a, double b) { return long_rem<double, unsigned long long, 52>(a, b); }\n";

static const char f16_base[] =
    "FN unsigned short f16_bits(float x) { return __builtin_bit_cast(unsigned short, (_Float16)x); }\n"
    "FN float f16_value(unsigned short x) { return __builtin_bit_cast(_Float16, x); }\n";

static const char bf16_base[] =
    "FN unsigned short bf16_bits(float x) {\n"
    "  unsigned u = __builtin_bit_cast(unsigned, x), rounded = u + 0x7fff + (u >> 16 & 1); /* outside of the choice: else it is a branch */\n"
    "  return (unsigned short)((x != x ? u | 0x400000 : rounded) >> 16);\n"
    "}\n";

static const char math[] =
    "FN double fexp(double x) {\n"
    "  if (x != x) return x;\n"
    "  if (x > 709.78) return __builtin_inf();\n"
    "  if (x < -745.2) return 0;\n"
    "  double k = __builtin_rint(x * 1.4426950408889634074), r = ffma(-k, 1.9082149292705877e-10, ffma(-k, 6.93147180369123816490e-01, x)), p = 1;\n"
    "#pragma unroll\n"
    "  for (int n = 14; n > 0; n--) p = ffma(p, r / n, 1.0);\n"
    "  int h = (int)k / 2;\n"
    "  return p * __builtin_bit_cast(double, (long long)(1023 + h) << 52) * __builtin_bit_cast(double, (long long)(1023 + (int)k - h) << 52);\n"
    "}\n"
    "FN double flog(double x) {\n"
    "  if (x != x || x < 0) return __builtin_nan(\"\");\n"
    "  if (x == 0) return -__builtin_inf();\n"
    "  if (x == __builtin_inf()) return x;\n"
    "  int e = 0;\n"
    "  if (x < 2.3e-308) x *= 18014398509481984.0, e = -54;\n"
    "  long long u = __builtin_bit_cast(long long, x);\n"
    "  e += (int)(u >> 52) - 1023;\n"
    "  double m = __builtin_bit_cast(double, (u & 0xfffffffffffffll) | 0x3ff0000000000000ll);\n"
    "  if (m > 1.4142135623730951) m *= 0.5, e++;\n"
    "  double s = (m - 1) / (m + 1), z = s * s, p = 0;\n"
    "#pragma unroll\n"
    "  for (int n = 23; n > 1; n -= 2) p = ffma(p, z, 1.0 / n);\n"
    "  return ffma(e, 6.93147180369123816490e-01, ffma(e, 1.9082149292705877e-10, 2 * ffma(p * z, s, s)));\n"
    "}\n"
    "FN float fexp(float x) { return __builtin_expf(x); }\n"
    "FN float flog(float x) { return __builtin_logf(x); }\n"
    "FN float ftanh(float x) {\n"
    "  float a = fabs_(x), z = x * x;\n"
    "  if (a < 0.625f) {\n"
    "    float p = ffma(ffma(ffma(ffma(-5.70498872745e-3f, z, 2.06390887954e-2f), z, -5.37397155531e-2f), z, 1.33314422036e-1f), z, -3.33332819422e-1f);\n"
    "    return ffma(p * z, x, x);\n"
    "  }\n"
    "  float r = 1.0f - 2.0f / (fexp(2.0f * a) + 1.0f);\n"
    "  return x < 0 ? -r : r;\n"
    "}\n"
    "FN double ftanh(double x) {\n"
    "  double a = fabs_(x), z = x * x;\n"
    "  if (a < 0.05) return x * (1 + z * (-1.0 / 3 + z * (2.0 / 15 + z * (-17.0 / 315 + z * (62.0 / 2835 - z * 1382.0 / 155925)))));\n"
    "  double r = 1 - 2 / (fexp(2 * a) + 1);\n"
    "  return x < 0 ? -r : r;\n"
    "}\n"
    "FN float ferf(float x) {\n"
    "  float t = fabs_(x), s = x * x, r, u;\n"
    "  if (t > 0.927734375f) {\n"
    "    r = ffma(-1.72853470e-5f, t, 3.83197126e-4f);\n"
    "    u = ffma(-3.88396438e-3f, t, 2.42546219e-2f);\n"
    "    r = ffma(ffma(ffma(ffma(ffma(r, s, u), t, -1.06777877e-1f), t, -6.34846687e-1f), t, -1.28717512e-1f), t, -t);\n"
    "    r = 1.0f - fexp(r);\n"
    "    return x < 0 ? -r : r;\n"
    "  }\n"
    "  r = ffma(ffma(ffma(ffma(ffma(-5.96761703e-4f, s, 4.99119423e-3f), s, -2.67681349e-2f), s, 1.12819925e-1f), s, -3.76125336e-1f), s, 1.28379166e-1f);\n"
    "  return ffma(r, x, x);\n"
    "}\n"
    "FN double ferf(double x) {\n"
    "  double a = fabs_(x), term = a, sum = a;\n"
    "  if (x != x) return x;\n"
    "  if (a > 6) return x < 0 ? -1 : 1;\n"
    "  for (int n = 1; n < 120; n++) term *= 2 * a * a / (2 * n + 1), sum += term;\n"
    "  double r = 1.1283791670955125739 * fexp(-a * a) * sum;\n"
    "  return x < 0 ? -r : r;\n"
    "}\n"
    "/* Sine of x + quarter * pi / 2; good to 1e9. */\n"
    "FN double fsine(double x, int quarter) {\n"
    "  double k = __builtin_rint(x * 0.63661977236758134308);\n"
    "  double r = ffma(-k, 2.0222662487959506e-21, ffma(-k, 6.07710050650619224932e-11, ffma(-k, 1.57079632673412561417e+00, x))), z = r * r, p;\n"
    "  int q = ((int)(k - 4 * __builtin_floor(k * 0.25)) + quarter) & 3;\n"
    "  if (q & 1)\n"
    "    p = 1 + z * (-1.0 / 2 + z * (1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800 + z * (1.0 / 479001600 - z / 87178291200.0))))));\n"
    "  else\n"
    "    p = r * (1 + z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 + z * (-1.0 / 39916800 + z * (1.0 / 6227020800.0 - z / 1307674368000.0)))))));\n"
    "  return q & 2 ? -p : p;\n"
    "}\n"
    "FN double fsin(double x) { return fsine(x, 0); }\n"
    "FN double fcos(double x) { return fsine(x, 1); }\n"
    "/* Of a float of any size: beyond 1e5 by the bits of 2 / pi that matter (Payne and Hanek 1983). */\n"
    "FN float fsine(float x, int quarter) {\n"
    "  if (!(fabs_(x) >= 1e5f)) return (float)fsine((double)x, quarter);\n"
    "  if (fabs_(x) == __builtin_inff()) return __builtin_nanf(\"\");\n"
    "  constexpr unsigned table[8] = {0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};\n"
    "  unsigned u = __builtin_bit_cast(unsigned, x), mant = (u & 0x7fffff) | 0x800000, at = (u >> 23 & 255) - 120, shift = at & 31, w[3];\n"
    "  for (int i = 0; i < 3; i++) w[i] = table[(at >> 5) + i] << shift | table[(at >> 5) + i + 1] >> 1 >> (31 - shift);\n"
    "  unsigned long long f = ((unsigned long long)(mant * w[0]) << 32) + (unsigned long long)mant * w[1] + ((unsigned long long)mant * w[2] >> 32);\n"
    "  double r = (double)(long long)(f << 2) * (1.5707963267948966192 / 18446744073709551616.0);\n"
    "  int q = (int)((f + (1ull << 61)) >> 62);\n"
    "  return (float)(x < 0 ? fsine(-r, quarter - q) : fsine(r, quarter + q));\n"
    "}\n"
    "FN float fsin(float x) { return fsine(x, 0); }\n"
    "FN float fcos(float x) { return fsine(x, 1); }\n"
    "FN double fpow(double a, double b) {\n"
    "  if (b == 0 || a == 1) return 1;\n"
    "  if (a != a || b != b) return a + b;\n"
    "  double m = fabs_(a), inf = __builtin_inf();\n"
    "  double r = m == 0 ? (b < 0 ? inf : 0) : m == inf ? (b < 0 ? 0 : inf) : m == 1 ? 1 : fexp(b * flog(m));\n"
    "  if (a > 0 || (a == 0 && 1 / a > 0)) return r;\n"
    "  bool whole = __builtin_floor(b) == b, is_odd = whole && __builtin_floor(b * 0.5) * 2 != b;\n"
    "  return is_odd ? -r : whole || m == 0 || m == inf ? r : __builtin_nan(\"\");\n"
    "}\n"
    "FN float fpow(float a, float b) { return (float)fpow((double)a, (double)b); }\n";

static const char shuffle[] =
    "template <int MODE> FN unsigned shuffle_word(unsigned v, int lane, int width) {\n"
    "  int me = lane_id(), first = me & ~(width - 1), from = me;\n"
    "  if (MODE == 0) from = me ^ lane;\n"
    "  if (MODE == 1) from = first + (lane & (width - 1));\n"
    "  if (MODE == 2) from = me - lane;\n"
    "  if (MODE == 3) from = me + lane;\n"
    "  if (from < first || from >= first + width) from = me;\n"
    "  return __builtin_amdgcn_ds_bpermute(from * 4, v);\n"
    "}\n";

/* Not by clang's builtin: LLVM waits for all of its loads before any later read of LDS, as it can't tell the stages
 * apart (and clang 19 fails on it). LDS addresses of a wave come from m0, which must be set one state earlier. */
static void put_lds_load(strb *b, const text_use *u) {
  const arch_assembly *a = arch_assembly_of(u->arch);
  if (!a->lds_word) return;
  strb_puts(b, "template <int BYTES> FN void lds_load(void *to, const void *from) {\n"
               "  unsigned at = __builtin_amdgcn_readfirstlane((unsigned)(unsigned long)(__attribute__((address_space(3))) void *)to);\n");
  if (a->lds_16_bytes)
    strb_printf(b,
                "  if constexpr (BYTES == 16) asm volatile(\"s_nop 0\\n\\t%s\" ::\"v\"(from), \"{m0}\"(at) : "
                "\"memory\");\n  else ",
                a->lds_16_bytes);
  else strb_printf(b, "  static_assert(BYTES == 4, \"%s loads words\");\n  ", u->arch);
  strb_printf(b, "asm volatile(\"s_nop 0\\n\\t%s\" ::\"v\"(from), \"{m0}\"(at) : \"memory\");\n}\n", a->lds_word);
}

static void put_waits(strb *b, const arch_assembly *a) {
  if (!a->waitcnt)
    strb_puts(b, "template <int VM, int LGKM> FN void waitcnt() {\n"
                 "  if constexpr (VM >= 0) asm volatile(\"s_wait_loadcnt %0\" ::\"n\"(VM) : \"memory\");\n"
                 "  if constexpr (LGKM >= 0) asm volatile(\"s_wait_dscnt %0\" ::\"n\"(LGKM) : \"memory\");\n"
                 "}\n");
  else
    strb_printf(b,
                "template <int VM, int LGKM> FN void waitcnt() {\n"
                "  constexpr int vm = VM < 0 ? 63 : VM, lgkm = LGKM < 0 ? %d : LGKM;\n"
                "  asm volatile(\"\" ::: \"memory\");\n"
                "  __builtin_amdgcn_s_waitcnt(%s);\n"
                "  asm volatile(\"\" ::: \"memory\");\n"
                "}\n",
                a->any_lgkm, a->waitcnt);
  strb_puts(b, "template <int N> FN void settle(int (&r)[N]) {\n"
               "#pragma unroll\n"
               "  for (int i = 0; i < N; i++) asm volatile(\"\" : \"+v\"(r[i]));\n"
               "}\n"
               "template <int LEVEL> FN void setprio() { __builtin_amdgcn_s_setprio(LEVEL); }\n"
               "template <int MASK> FN void sched_barrier() { __builtin_amdgcn_sched_barrier(MASK); }\n"
               "/* The barrier alone, without waiting for memory. */\n"
               "template <int ID, int THREADS> FN void named_barrier_sync() {\n"
               "  asm volatile(\"\" ::: \"memory\");\n"
               "  __builtin_amdgcn_s_barrier();\n"
               "  asm volatile(\"\" ::: \"memory\");\n"
               "}\n");
}

void text_hip_base(strb *b, const text_use *u) {
  unsigned f = u->features;
  strb_printf(b, "#define WAVE %d\n", u->wave);
  strb_puts(b, base);
  text_common_memory(b);
  strb_puts(b, functions);
  if (f & TEXT_F16) strb_puts(b, f16_base);
  if (f & TEXT_BF16) strb_puts(b, bf16_base);
  if (f & TEXT_MATH) strb_puts(b, math);
  if (f & TEXT_SHUFFLE) strb_puts(b, shuffle);
  if (f & TEXT_LDS) put_lds_load(b, u);
  if (f & (TEXT_WAITS | TEXT_NAMED)) put_waits(b, arch_assembly_of(u->arch));
}

void text_hip_typed(strb *b, const text_use *u) {
  text_matrix_wrappers(b, u);
}
