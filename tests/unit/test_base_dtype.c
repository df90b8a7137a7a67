/* dtype_holds is true exactly where every value of a type of up to 16 bits comes back from the other one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "core/base/dtype.h"

static bool all_come_back(tsr_dtype wide, tsr_dtype narrow) {
  uint32_t n = narrow == TSR_BOOL ? 2 : 1u << (8 * dtype_get(narrow)->size);
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(holds_where_every_value_comes_back),
                                     cmocka_unit_test(wide_types_hold_by_digits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
