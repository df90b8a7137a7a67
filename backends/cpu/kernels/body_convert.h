/* Conversions between storage types. Included once per instruction set, after vec_<isa>.h.
 *
 * Everything goes through f32: each type has a reader (to VF floats) and a writer (from VF floats), a pair is a reader
 * and a writer in one loop. f64, i32 and i64 don't fit in f32: they're read with round-to-odd (Boldo and Melquiond
 * 2008), which keeps a later rounding to 22 or fewer bits exact; the pairs among f32, f64, i32 and i64 are direct. */

/* ---- fp8 ---- */

/* To an fp8 format of `mb` mantissa bits and bias `bias`: v is finite or infinite, not NaN; what is beyond becomes the
 * bits `max`, the largest number of a format without infinity. */
VINL vi f8_round(vi m, const int mb, const int bias, const int max) {
  const int shift = 23 - mb, min_exp = 127 - bias + 1;
  vu odd = ((vu)m >> shift) & 1;
  vi norm = (vi)(((vu)m - ((127u - (unsigned)bias) << 23) + ((1u << (shift - 1)) - 1) + odd) >> shift);
  /* Denormals: adding 1.5 * 2^(23 + unit exponent) makes the adder round to the format's smallest unit. */
  vf magic = v_set1(0);
  magic = (vf)((vi)magic + ((min_exp - mb + 23) << 23));
  vi den = (vi)((vu)((vf)m + magic) - (vu)magic);
  vi r = vi_sel(vi_lt(m, vi_set1(min_exp << 23)), den, norm);
  return vi_sel(vi_lt(vi_set1(max), r), vi_set1(max), r);
}
VINL vi v_to_e4m3(vf a) {
  vi x = (vi)a, sign = (vi)((vu)x >> 24) & 0x80;
  vi r = f8_round(x & 0x7fffffff, 3, 7, 0x7e);
  return vi_sel(v_isnan(a), vi_set1(0x7f), r) | sign;
}
VINL vi v_to_e5m2(vf a) {
  vi x = (vi)a, sign = (vi)((vu)x >> 24) & 0x80;
  vi r = f8_round(x & 0x7fffffff, 2, 15, 0x7c);
  return vi_sel(v_isnan(a), vi_set1(0x7e), r) | sign;
}
VINL vf v_from_e4m3(vi b) {
  vi em = b & 0x7f;
  vf r = (vf)(em << 20) * v_set1(0x1p120f); /* denormals come out right */
  vi bits = vi_sel(vi_eq(em, vi_set1(0x7f)), vi_set1(0x7fc00000), (vi)r);
  return (vf)(bits | ((b & 0x80) << 24));
}

/* ---- readers and writers: VF elements at p; p has VF elements ---- */

VINL float round_to_odd(double d) {
  float f = (float)d;
  uint32_t u;
  memcpy(&u, &f, 4);
  if ((double)f != d && d == d && !(u & 1)) u += fabs((double)f) < fabs(d) ? 1u : -1u;
  memcpy(&f, &u, 4);
  return f;
}
/* As a double of 51 significant bits whose last one says that something was cut off: round_to_odd of it is that of x.
 */
VINL double i64_cut(int64_t x) {
  uint64_t m = x < 0 ? 0u - (uint64_t)x : (uint64_t)x;
  if (m >> 53) m = (m & ~(uint64_t)0xfff) | ((m & 0xfff) != 0 ? 0x1000 : 0);
  return x < 0 ? -(double)m : (double)m;
}
VINL vf clamp(vf a, float lo, float hi) { /* NaN gives 0 */
  a = v_sel(v_isnan(a), v_set1(0), a);
  return v_min_raw(v_max_raw(a, v_set1(lo)), v_set1(hi));
}

VINL vf toward_zero(vf a) { return v_sel(v_le(v_set1(0), a), v_floor(a), v_set1(0) - v_floor(v_set1(0) - a)); }

VINL vf read_f32(const float *p) { return v_load(p); }
VINL vf read_f16(const uint16_t *p) { return v_from_f16(vh_load(p)); }
VINL vf read_bf16(const uint16_t *p) { return v_from_bf16(vh_load(p)); }
VINL vf read_i8(const int8_t *p) { return vi_to_float(vi_load_i8(p)); }
VINL vf read_i16(const int16_t *p) {
  return vi_to_float((vh_widen(vh_load((const uint16_t *)(const void *)p)) << 16) >> 16);
}
VINL vf read_u8(const uint8_t *p) { return vi_to_float(vi_load_u8(p)); }
VINL vf read_truth(const uint8_t *p) {
  vi b = vi_load_u8(p);
  return v_sel(vi_eq(b, vi_set1(0)), v_set1(0), v_set1(1));
}
VINL vf read_e4m3(const uint8_t *p) { return v_from_e4m3(vi_load_u8(p)); }
VINL vf read_e5m2(const uint8_t *p) { return v_from_f16(vi_narrow(vi_load_u8(p) << 8)); }

VINL void write_f32(float *p, vf a) { v_store(p, a); }
VINL void write_f64(double *p, vf a) {
  float t[VF];
  v_store(t, a);
  for (int i = 0; i < VF; i++) p[i] = t[i];
}
VINL void write_f16(uint16_t *p, vf a) { vh_store(p, v_to_f16(a)); }
VINL void write_bf16(uint16_t *p, vf a) { vh_store(p, v_to_bf16(a)); }
VINL void write_i8(int8_t *p, vf a) { vi_store_u8((uint8_t *)p, v_to_int(toward_zero(clamp(a, -128, 127)))); }
VINL void write_i16(int16_t *p, vf a) {
  vh_store((uint16_t *)(void *)p, vi_narrow(v_to_int(toward_zero(clamp(a, -32768, 32767)))));
}
VINL void write_u8(uint8_t *p, vf a) { vi_store_u8(p, v_to_int(toward_zero(clamp(a, 0, 255)))); }
VINL void write_i32(int32_t *p, vf a) {
  vi r = v_to_int(toward_zero(clamp(a, -0x1p31f, 0x1.fffffep30f)));
  vi_store(p, vi_sel(v_le(v_set1(0x1p31f), a), vi_set1(INT32_MAX), r));
}
VINL void write_truth(uint8_t *p, vf a) { vm_store_u8(p, vm_not(v_eq(a, v_set1(0)))); }
VINL void write_e4m3(uint8_t *p, vf a) { vi_store_u8(p, v_to_e4m3(a)); }
VINL void write_e5m2(uint8_t *p, vf a) { vi_store_u8(p, v_to_e5m2(a)); }

/* ---- pairs ---- */

#define T_f32 float
#define T_f64 double
#define T_f16 uint16_t
#define T_bf16 uint16_t
#define T_i8 int8_t
#define T_u8 uint8_t
#define T_i32 int32_t
#define T_i16 int16_t
#define T_i64 int64_t
#define T_truth uint8_t /* the name bool is a macro */
#define T_e4m3 uint8_t
#define T_e5m2 uint8_t

#define CONVERT_PAIR(from, to)                                              \
  static void convert_##from##_##to(void *dst, const void *src, size_t n) { \
    const T_##from *s = src;                                                \
    T_##to *d = dst;                                                        \
    size_t i = 0;                                                           \
    for (; i + VF <= n; i += VF) write_##to(d + i, read_##from(s + i));     \
    if (i < n) {                                                            \
      T_##from in[VF] = {0};                                                \
      T_##to out[VF];                                                       \
      memcpy(in, s + i, (n - i) * sizeof *in);                              \
      write_##to(out, read_##from(in));                                     \
      memcpy(d + i, out, (n - i) * sizeof *out);                            \
    }                                                                       \
  }

/* Between f32 and the others: one loop each. */
#define CONVERT_WITH_F32(t) CONVERT_PAIR(f32, t) CONVERT_PAIR(t, f32)
CONVERT_WITH_F32(f16)
CONVERT_WITH_F32(bf16)
CONVERT_WITH_F32(i8)
CONVERT_WITH_F32(u8)
CONVERT_WITH_F32(i16)
CONVERT_WITH_F32(truth)
CONVERT_WITH_F32(e4m3)
CONVERT_WITH_F32(e5m2)
CONVERT_PAIR(f32, f64)
CONVERT_PAIR(f32, i32)

/* f32, f64, i32 and i64 among themselves. */
#define CONVERT_DIRECT(from, to, expr)                                      \
  static void convert_##from##_##to(void *dst, const void *src, size_t n) { \
    const T_##from *s = src;                                                \
    T_##to *d = dst;                                                        \
    for (size_t i = 0; i < n; i++) d[i] = (T_##to)(expr);                   \
  }
VINL double f64_to_i32_range(double x) {
  return x != x ? 0 : x < -0x1p31 ? -0x1p31 : x > 2147483647.0 ? 2147483647.0 : x;
}
CONVERT_DIRECT(f64, f32, s[i])
CONVERT_DIRECT(i32, f32, s[i])
CONVERT_DIRECT(i32, f64, s[i])
CONVERT_DIRECT(f64, i32, f64_to_i32_range(s[i]))
VINL int64_t f64_to_i64(double x) {
  return x != x ? 0 : x < -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}
CONVERT_DIRECT(f64, i64, f64_to_i64(s[i]))
CONVERT_DIRECT(f32, i64, f64_to_i64(s[i]))
CONVERT_DIRECT(i32, i64, s[i])
CONVERT_DIRECT(i64, f32, s[i])
CONVERT_DIRECT(i64, f64, s[i])
CONVERT_DIRECT(i64, i32, s[i] < INT32_MIN ? INT32_MIN : s[i] > INT32_MAX ? INT32_MAX : s[i])

/* The other pairs: the same two halves with a piece of f32 in L1 between them. */
#define CONVERT_ODD(from, expr)                                            \
  static void convert_odd_##from(void *dst, const void *src, size_t n) {   \
    const T_##from *s = src;                                               \
    float *d = dst;                                                        \
    for (size_t i = 0; i < n; i++) d[i] = round_to_odd(expr);              \
  }
CONVERT_ODD(f64, s[i])
CONVERT_ODD(i32, (double)s[i])
CONVERT_ODD(i64, i64_cut(s[i]))
static void convert_via_f32(char *dst, size_t dst_bytes, cpuk_convert_fn to, const char *src, size_t src_bytes,
                            cpuk_convert_fn from, size_t n) {
  float t[512];
  for (size_t i = 0; i < n; i += 512) {
    size_t w = n - i < 512 ? n - i : 512;
    from(t, src + i * src_bytes, w);
    to(dst + i * dst_bytes, t, w);
  }
}
#define CONVERT_VIA(from, to, reader)                                                         \
  static void convert_##from##_##to(void *dst, const void *src, size_t n) {                   \
    convert_via_f32(dst, sizeof(T_##to), convert_f32_##to, src, sizeof(T_##from), reader, n); \
  }
#define CONVERT_VIA_NARROW(from, reader)                                                                               \
  CONVERT_VIA(from, f16, reader)                                                                                       \
  CONVERT_VIA(from, bf16, reader) CONVERT_VIA(from, i8, reader) CONVERT_VIA(from, u8, reader)                          \
      CONVERT_VIA(from, truth, reader) CONVERT_VIA(from, e4m3, reader) CONVERT_VIA(from, e5m2, reader)                 \
          CONVERT_VIA(from, i16, reader)
CONVERT_VIA_NARROW(f64, convert_odd_f64)
CONVERT_VIA_NARROW(i32, convert_odd_i32)
CONVERT_VIA_NARROW(i64, convert_odd_i64)
#define VIA(from, to) CONVERT_VIA(from, to, convert_##from##_f32)
VIA(f16, bf16)
VIA(f16, i8) VIA(f16, u8) VIA(f16, truth) VIA(f16, e4m3) VIA(f16, e5m2) VIA(f16, f64) VIA(f16, i32) VIA(f16, i16)
    VIA(f16, i64) VIA(bf16, f16) VIA(bf16, i8) VIA(bf16, u8) VIA(bf16, truth) VIA(bf16, e4m3) VIA(bf16, e5m2)
        VIA(bf16, f64) VIA(bf16, i32) VIA(bf16, i16) VIA(bf16, i64) VIA(i8, f16) VIA(i8, bf16) VIA(i8, u8)
            VIA(i8, truth) VIA(i8, e4m3) VIA(i8, e5m2) VIA(i8, f64) VIA(i8, i32) VIA(i8, i16) VIA(i8, i64) VIA(i16, f16)
                VIA(i16, bf16) VIA(i16, i8) VIA(i16, u8) VIA(i16, truth) VIA(i16, e4m3) VIA(i16, e5m2) VIA(i16, f64)
                    VIA(i16, i32) VIA(i16, i64) VIA(u8, f16) VIA(u8, bf16) VIA(u8, i8) VIA(u8, truth) VIA(u8, e4m3)
                        VIA(u8, e5m2) VIA(u8, f64) VIA(u8, i32) VIA(u8, i16) VIA(u8, i64) VIA(truth, f16)
                            VIA(truth, bf16) VIA(truth, i8) VIA(truth, u8) VIA(truth, truth) VIA(truth, e4m3)
                                VIA(truth, e5m2) VIA(truth, f64) VIA(truth, i32) VIA(truth, i16) VIA(truth, i64)
                                    VIA(e4m3, f16) VIA(e4m3, bf16) VIA(e4m3, i8) VIA(e4m3, u8) VIA(e4m3, truth)
                                        VIA(e4m3, e5m2) VIA(e4m3, f64) VIA(e4m3, i32) VIA(e4m3, i16) VIA(e4m3, i64)
                                            VIA(e5m2, f16) VIA(e5m2, bf16) VIA(e5m2, i8) VIA(e5m2, u8) VIA(e5m2, truth)
                                                VIA(e5m2, e4m3) VIA(e5m2, f64) VIA(e5m2, i32) VIA(e5m2, i16)
                                                    VIA(e5m2, i64)

/* The identities: a copy that permits dst == src. */
#define CONVERT_COPY(name, bytes)                                   \
  static void name(void *dst, const void *src, size_t n) {          \
    if (n != 0) memmove(dst, src, n * (bytes));                     \
  }
                                                        CONVERT_COPY(convert_copy1, 1) CONVERT_COPY(convert_copy2, 2)
                                                            CONVERT_COPY(convert_copy4, 4)
                                                                CONVERT_COPY(convert_copy8, 8)

#define CONVERT_ROW(from)                                                                                         \
  {                                                                                                               \
    convert_##from##_f32, convert_##from##_f64, convert_##from##_f16, convert_##from##_bf16, convert_##from##_i8, \
        convert_##from##_u8, convert_##from##_i32, convert_##from##_truth,                                        \
        convert_##from##_e4m3, convert_##from##_e5m2,                                                             \
        convert_##from##_i16, convert_##from##_i64                                                                \
  }
#define convert_f16_f16 convert_copy2
#define convert_bf16_bf16 convert_copy2
#define convert_i8_i8 convert_copy1
#define convert_u8_u8 convert_copy1
#define convert_i16_i16 convert_copy2
#define convert_i64_i64 convert_copy8
#define convert_e4m3_e4m3 convert_copy1
#define convert_e5m2_e5m2 convert_copy1
#define convert_f32_f32 convert_copy4
#define convert_f64_f64 convert_copy8
#define convert_i32_i32 convert_copy4
#define CONVERT_TABLE                                                                                          \
  {                                                                                                            \
    CONVERT_ROW(f32), CONVERT_ROW(f64), CONVERT_ROW(f16), CONVERT_ROW(bf16), CONVERT_ROW(i8), CONVERT_ROW(u8), \
        CONVERT_ROW(i32), CONVERT_ROW(truth), CONVERT_ROW(e4m3), CONVERT_ROW(e5m2),                            \
        CONVERT_ROW(i16), CONVERT_ROW(i64)                                                                     \
  }

/* What carries over from the largest number is infinite; infinities and NaN stay. */
static void round_tf32(void *dst, const void *src, size_t n) {
  uint32_t *d = dst;
  const uint32_t *s = src;
  for (size_t i = 0; i < n; i++) {
    const uint32_t u = s[i], r = (u + 0xfffu + (u >> 13 & 1)) & ~UINT32_C(0x1fff);
    d[i] = (u & UINT32_C(0x7f800000)) == UINT32_C(0x7f800000) ? u : r;
  }
}
