/* The transforms of a table's instruction set. */
#include "internal.h"
#include "winograd.h"

const cpuk_winograd *cpuk_winograd_of(const cpuk_table *t) {
#if defined(__x86_64__)
  if (t->lanes == &cpuk_lanes_avx512) return &cpuk_winograd_avx512;
  if (t->lanes == &cpuk_lanes_avx2) return &cpuk_winograd_avx2;
#elif defined(__aarch64__)
  if (t->lanes == &cpuk_lanes_neon) return &cpuk_winograd_neon;
#endif
  return &cpuk_winograd_portable;
}
