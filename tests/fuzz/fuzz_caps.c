/* tests/fuzz/fuzz_caps.c - libFuzzer target of the capabilities files that `--device null:FILE` takes (tests/vulkan).
 * What is accepted must lie in the ranges that emission relies on. */
#include "core/emit/spirv/caps.h"
#include "tests/fuzz/fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tsr_caps c;
  if (fuzz_refused(spirv_caps_parse(NULL, (const char *)data, size, "fuzz", &c))) return 0;
  bool good = c.n_cores >= 0 && c.subgroup_min >= 4 && c.subgroup_min <= c.subgroup && c.subgroup <= c.subgroup_max &&
              c.subgroup_max <= 128 && c.n_matrix >= 0 && c.n_matrix <= TSR_MAX_MATRIX;
  for (int i = 0; good && i < c.n_matrix; i++)
    good = c.matrix[i].m > 0 && c.matrix[i].n > 0 && c.matrix[i].k > 0 && c.matrix[i].threads >= 0 &&
           c.matrix[i].threads <= c.max_threads;
  if (!good) abort();
  return 0;
}
