/* dtype_holds is true exactly where every value of a type of up to 16 bits comes back from the other one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "core/base/dtype.h"

static bool all_come_back(tsr_dtype wide, tsr_dtype narrow) {
  uint32_t n = narrow == TSR_BOOL ? 2 : 1u << dtype_bits(narrow);
  for (uint32_t bits = 0; bits < n; bits++) {
    uint64_t there = 0;
    double v = dtype_load(narrow, &bits, 0);
    dtype_store(wide, &there, 0, v);
    double back = dtype_load(wide, &there, 0);
    if (!(back == v || (isnan(back) && isnan(v)))) return false;
  }
  return true;
}

static void holds_where_every_value_comes_back(void **state) {
  for (int w = TSR_DTYPE_NONE + 1; w < TSR_N_DTYPES; w++)
    for (int n = TSR_DTYPE_NONE + 1; n < TSR_N_DTYPES; n++)
      if (dtype_get((tsr_dtype)n)->size <= 2 && !dtype_is_complex((tsr_dtype)w))
        assert_int_equal(dtype_holds((tsr_dtype)w, (tsr_dtype)n), all_come_back((tsr_dtype)w, (tsr_dtype)n));
}

/* Of the wider ones, whose values can't all be tried. */
static void wide_types_hold_by_digits(void **state) {
  assert_true(dtype_holds(TSR_COMPLEX128, TSR_COMPLEX32) && dtype_holds(TSR_COMPLEX64, TSR_COMPLEX64));
  assert_false(dtype_holds(TSR_COMPLEX32, TSR_COMPLEX64) || dtype_holds(TSR_F64, TSR_COMPLEX64) ||
               dtype_holds(TSR_COMPLEX64, TSR_BOOL)); /* no cast leads back from complex to real */
  assert_true(dtype_holds(TSR_F64, TSR_F32) && dtype_holds(TSR_F64, TSR_I32) && dtype_holds(TSR_I64, TSR_I32));
  assert_false(dtype_holds(TSR_F32, TSR_F64) || dtype_holds(TSR_F32, TSR_I32) || dtype_holds(TSR_F64, TSR_I64) ||
               dtype_holds(TSR_I64, TSR_F32) || dtype_holds(TSR_I32, TSR_I64));
}

/* Two to a byte, the even one in the low bits; what is beside an element stays. */
static void packed_elements_share_bytes(void **state) {
  unsigned char b[3] = {0xff, 0xff, 0xff};
  const double v[] = {-8, 7, -1, 9, -100};
  for (int i = 4; i >= 0; i--) dtype_store(TSR_I4, b, (size_t)i, v[i]);
  assert_memory_equal(b, ((unsigned char[]){0x78, 0x7f, 0xf8}), 3); /* 9 and -100 are the ends; what is beside stays */
  assert_true(dtype_load(TSR_I4, b, 0) == -8 && dtype_load(TSR_I4, b, 1) == 7 && dtype_load(TSR_I4, b, 2) == -1);
  assert_true(dtype_load(TSR_U4, b, 0) == 8 && dtype_load(TSR_U4, b, 2) == 15 && dtype_load_int(TSR_U4, b, 3) == 7);
  for (int i = 0; i < 5; i++) dtype_store_int(TSR_U4, b, (size_t)i, 5 * i - 1);
  assert_memory_equal(b, ((unsigned char[]){0x40, 0xe9, 0xff}), 3);
  for (int64_t i = -40; i < 40; i++) {
    assert_int_equal(dtype_wrap(TSR_U4, i), i & 15);
    assert_int_equal((dtype_wrap(TSR_I4, i) - i) % 16, 0);
    assert_true(dtype_wrap(TSR_I4, i) >= -8 && dtype_wrap(TSR_I4, i) <= 7);
  }
  for (int t = TSR_I4; t <= TSR_U4; t++) {
    assert_int_equal(tsr_dtype_size((tsr_dtype)t), 0);
    assert_int_equal(tsr_dtype_parse(tsr_dtype_name((tsr_dtype)t)), t);
    assert_int_equal(tsr_dtype_parse(dtype_get((tsr_dtype)t)->mlir), t);
    for (size_t n = 0; n < 6; n++) assert_int_equal(tsr_dtype_bytes((tsr_dtype)t, n), (n + 1) / 2);
  }
  assert_int_equal(tsr_dtype_bytes(TSR_F32, 3), 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(holds_where_every_value_comes_back),
                                     cmocka_unit_test(wide_types_hold_by_digits),
                                     cmocka_unit_test(packed_elements_share_bytes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
