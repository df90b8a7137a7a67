/* tests/support/random_values.c - elements of random inputs, see tests/conformance/random_graph.h: integers from the
 * type's whole range with its corners, floats small, of any exponent, or with the special values among them. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tests/conformance/random_graph.h"

static void store_integer(tsr_dtype t, void *data, size_t i, int64_t v) {
  if (dtype_packed(t)) dtype_store_int(t, data, i, dtype_wrap(t, v));
  else memcpy((char *)data + i * tsr_dtype_size(t), &v, tsr_dtype_size(t)); /* little-endian: the low bytes */
}

/* Small and large values alike: a random number of the type's bits. Corners: both ends of the range and their
 * neighbours. */
static void integer(rng *r, tsr_dtype t, void *data, size_t i, bool positive) {
  int bits = dtype_bits(t), is_signed = dtype_get(t)->is_signed;
  int64_t high = (int64_t)(UINT64_MAX >> (64 - bits + is_signed)), low = is_signed ? -high - 1 : 0;
  const int64_t corners[] = {low, high, low + 1, high - 1, 0, 1, is_signed ? -1 : high};
  uint64_t x = rng_next(r) >> (64 - bits) >> rng_range(r, 0, bits - 1);
  int64_t v =
      rng_range(r, 0, 15) ? (int64_t)(is_signed && rng_range(r, 0, 1) ? 0 - x : x) : corners[rng_range(r, 0, 6)];
  if (positive) v = (v & high) ? (v & high) : 1;
  store_integer(t, data, i, v);
}

typedef enum float_draw { SMALL, ANY_EXPONENT, SPECIALS } float_draw;

/* Finite, with every exponent of the type as likely as any other. */
static double any_exponent(rng *r, tsr_dtype t) {
  const dtype_info *d = dtype_get(t);
  int most = (int)ceil(log2(d->max)) - 1, least = t == TSR_F64                                     ? -1074
                                                  : t == TSR_F32 || t == TSR_BF16 || t == TSR_TF32 ? -149
                                                  : t == TSR_F16                                   ? -24
                                                  : t == TSR_F8E4M3                                ? -9
                                                                                                   : -16;
  double v = ldexp(1 + rng_unit(r), (int)rng_range(r, least, most));
  if (v > d->max) v = d->max;
  return rng_range(r, 0, 1) ? -v : v;
}

static double special(rng *r, tsr_dtype t) {
  double max = dtype_get(t)->max, tiny = t == TSR_F64      ? 0x1p-1074
                                         : t == TSR_F16    ? 0x1p-24
                                         : t == TSR_F8E4M3 ? 0x1p-9
                                         : t == TSR_F8E5M2 ? 0x1p-16
                                         : t == TSR_BF16   ? 0x1p-133
                                                           : 0x1p-149;
  const double v[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, tiny, -3 * tiny, max, -max, 1};
  return v[rng_range(r, 0, 9)];
}

static float_draw choose(rng *r) {
  int64_t x = rng_range(r, 0, 7);
  return x < 5 ? SMALL : x < 6 ? ANY_EXPONENT : SPECIALS;
}

static void floats(rng *r, tsr_dtype t, void *data, size_t n, bool positive) {
  float_draw kind = r->no_extremes ? SMALL : choose(r);
  int64_t rare = (int64_t)4 << 2 * rng_range(r, 0, 3); /* of how many elements one is special */
  for (size_t i = 0; i < n; i++) {
    double v = positive ? 0.25 + 2 * rng_unit(r) : 4 * rng_unit(r) - 2;
    if (kind == ANY_EXPONENT) v = any_exponent(r, t);
    if (kind == SPECIALS && rng_range(r, 0, rare - 1) == 0) v = special(r, t);
    if (positive) v = fabs(v);
    dtype_store(t, data, i, v);
    double smallest = t == TSR_F64      ? 0x1p-1022
                      : t == TSR_F16    ? 0x1p-14
                      : t == TSR_F8E4M3 ? 0x1p-6
                      : t == TSR_F8E5M2 ? 0x1p-14
                                        : 0x1p-126;
    if (r->no_denormals && fabs(dtype_load(t, data, i)) < smallest) dtype_store(t, data, i, copysign(0, v));
  }
}

void random_fill(rng *r, tsr_dtype t, void *data, size_t n, bool positive) {
  t = dtype_part(t);
  if (dtype_is_float(t)) {
    floats(r, t, data, n, positive);
    return;
  }
  for (size_t i = 0; i < n; i++)
    if (t == TSR_BOOL) store_integer(t, data, i, rng_next(r) & 1);
    else integer(r, t, data, i, positive);
}
