/* core/coll/reduce.c - see reduce.h. */
#include "core/coll/reduce.h"

#include <math.h>
#include <string.h>

static const char *const names[N_COLL_REDOPS] = {"sum", "prod", "max", "min", "mean"};

const char *coll_redop_name(coll_redop r) { return names[r]; }

tsr_dtype coll_partial_type(tsr_dtype t, coll_redop r) {
  bool whole = !dtype_is_float(t);
  const bool no_mean = t == TSR_BOOL || t == TSR_U64; /* sums of u64 leave i64, in which means are taken */
  if (t == TSR_DTYPE_NONE || dtype_is_complex(t) || dtype_packed(t)) return TSR_DTYPE_NONE;
  if (no_mean && r == COLL_MEAN) return TSR_DTYPE_NONE;
  if (r == COLL_MAX || r == COLL_MIN) return t;
  if (whole) return r == COLL_MEAN ? TSR_I64 : t;
  return t == TSR_F64 ? TSR_F64 : TSR_F32;
}

bool coll_is_exact(tsr_dtype t, coll_redop r) { return !dtype_is_float(t) || r == COLL_MAX || r == COLL_MIN; }

/* out may be one of the operands, but never overlaps one otherwise: elements don't depend on each other, which gcc
 * needn't find out at run time (clang does, and warns where it is told to vectorise and can't). -O3 vectorises. */
#if defined(__clang__)
#define EACH for (size_t i = 0; i < n; i++)
#else
#define EACH _Pragma("GCC ivdep") for (size_t i = 0; i < n; i++)
#endif

/* Integers wrap: computed as unsigned ones. */
#define ARITHMETIC(name, T, U)                                              \
  static void name(coll_redop r, T *o, const T *a, const T *b, size_t n) {  \
    if (r == COLL_PROD) EACH o[i] = (T)((U)a[i] * (U)b[i]);                 \
    else if (r == COLL_MAX) EACH o[i] = a[i] > b[i] ? a[i] : b[i];          \
    else if (r == COLL_MIN) EACH o[i] = a[i] < b[i] ? a[i] : b[i];          \
    else EACH o[i] = (T)((U)a[i] + (U)b[i]);                                \
  }
ARITHMETIC(on_i64, int64_t, uint64_t)
ARITHMETIC(on_i32, int32_t, uint32_t)
ARITHMETIC(on_i16, int16_t, uint32_t)
ARITHMETIC(on_i8, int8_t, uint32_t)
ARITHMETIC(on_u8, uint8_t, uint32_t)
ARITHMETIC(on_u64, uint64_t, uint64_t)
ARITHMETIC(on_u32, uint32_t, uint32_t)
ARITHMETIC(on_u16, uint16_t, uint32_t)

#define FLOATING(name, T)                                                   \
  static void name(coll_redop r, T *o, const T *a, const T *b, size_t n) {  \
    if (r == COLL_PROD) EACH o[i] = a[i] * b[i];                            \
    else EACH o[i] = a[i] + b[i];                                           \
  }
FLOATING(on_f32, float)
FLOATING(on_f64, double)

static void on_bool(coll_redop r, uint8_t *o, const uint8_t *a, const uint8_t *b, size_t n) {
  bool both = r == COLL_PROD || r == COLL_MIN;
  for (size_t i = 0; i < n; i++) o[i] = both ? a[i] && b[i] : a[i] || b[i];
}

/* The larger one, by value and then by sign. */
static double above(double a, double b) {
  if (isnan(a) || isnan(b)) return NAN;
  if (a == b) return signbit(a) ? b : a;
  return a > b ? a : b;
}

/* dtype_load is exact for floats, and one of the two is stored again. */
static void order_floats(tsr_dtype t, coll_redop r, void *o, const void *a, const void *b, size_t n) {
  for (size_t i = 0; i < n; i++) {
    double x = dtype_load(t, a, i), y = dtype_load(t, b, i);
    dtype_store(t, o, i, r == COLL_MAX ? above(x, y) : -above(-x, -y));
  }
}

void coll_combine(tsr_dtype t, coll_redop r, void *o, const void *a, const void *b, size_t n) {
  if (dtype_is_float(t) && (r == COLL_MAX || r == COLL_MIN)) {
    order_floats(t, r, o, a, b, n);
    return;
  }
  switch (t) {
  case TSR_F64: on_f64(r, o, a, b, n); break;
  case TSR_F32: on_f32(r, o, a, b, n); break;
  case TSR_I64: on_i64(r, o, a, b, n); break;
  case TSR_I32: on_i32(r, o, a, b, n); break;
  case TSR_I16: on_i16(r, o, a, b, n); break;
  case TSR_I8: on_i8(r, o, a, b, n); break;
  case TSR_U8: on_u8(r, o, a, b, n); break;
  case TSR_U64: on_u64(r, o, a, b, n); break;
  case TSR_U32: on_u32(r, o, a, b, n); break;
  case TSR_U16: on_u16(r, o, a, b, n); break;
  default: on_bool(r, o, a, b, n); break;
  }
}

void coll_widen(tsr_dtype t, tsr_dtype partial, void *out, const void *in, size_t n) {
  if (t == partial || (t == TSR_TF32 && partial == TSR_F32)) memcpy(out, in, n * dtype_get(t)->size);
  else if (partial == TSR_I64)
    for (size_t i = 0; i < n; i++) ((int64_t *)out)[i] = dtype_load_int(t, in, i);
  else
    for (size_t i = 0; i < n; i++) ((float *)out)[i] = (float)dtype_load(t, in, i);
}

static void divide_integers(tsr_dtype t, int32_t of, void *out, const int64_t *in, size_t n) {
  for (size_t i = 0; i < n; i++) {
    int64_t v = in[i] / of;
    if (t == TSR_I64) ((int64_t *)out)[i] = v;
    else dtype_store(t, out, i, (double)v);
  }
}

void coll_finish(tsr_dtype t, coll_redop r, int32_t of, void *out, const void *in, size_t n) {
  tsr_dtype partial = coll_partial_type(t, r);
  if (r == COLL_MEAN && partial == TSR_I64) {
    divide_integers(t, of, out, in, n);
  } else if (r == COLL_MEAN && partial == TSR_F64) {
    for (size_t i = 0; i < n; i++) ((double *)out)[i] = ((const double *)in)[i] / of;
  } else if (t == partial && r != COLL_MEAN) {
    if (out != in) memmove(out, in, n * dtype_get(t)->size);
  } else if (t == TSR_F32) {
    for (size_t i = 0; i < n; i++) ((float *)out)[i] = ((const float *)in)[i] / (float)of;
  } else {
    float by = r == COLL_MEAN ? (float)of : 1;
    for (size_t i = 0; i < n; i++) dtype_store(t, out, i, ((const float *)in)[i] / by);
  }
}
