/* tests/support/numbers.h - how many numbers a tensor has: its elements, of complex types twice as many. */
#ifndef TESTS_SUPPORT_NUMBERS_H
#define TESTS_SUPPORT_NUMBERS_H
#include "core/base/dtype.h"
#include "tessera/tessera.h"

static inline size_t numbers_of(const tsr_tensor_info *t) {
  size_t n = (size_t)dtype_parts(t->dtype);
  for (int i = 0; i < t->shape.rank; i++) n *= (size_t)t->shape.dims[i];
  return n;
}
#endif
