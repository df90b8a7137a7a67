/* core/device/dialect.c - see dialect.h. */
#include "core/device/dialect.h"

const char *target_dialect_name(tsr_dialect d) {
  static const char *const names[N_DIALECTS] = {"cpu", "spirv", "cuda", "hip", "host"};
  return names[d];
}
