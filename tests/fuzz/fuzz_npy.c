/* tests/fuzz/fuzz_npy.c - libFuzzer target of the .npy reader. Any bytes must give an array whose data has the size
 * that its shape says, or one line. Build and run as fuzz_ir. */
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  npy_array a;
  char why[256] = "";
  if (!npy_parse(data, size, "fuzz", &a, why, sizeof why)) {
    if (!*why || strchr(why, '\n') || a.data) abort();
    return 0;
  }
  size_t n = 1;
  for (int i = 0; i < a.shape.rank; i++) n *= (size_t)a.shape.dims[i];
  if (n * tsr_dtype_size(a.dtype) != a.bytes || a.bytes > size) abort();
  float *wide = malloc(n * sizeof *wide + 1);
  npy_convert(&a, TSR_F32, wide);
  free(wide);
  npy_free(&a);
  return 0;
}
