/* core/tune/strategy.c - see strategy.h. */
#include "core/tune/strategy.h"

const char *sample_state_name(sample_state s) {
  static const char *const names[] = {"ok", "failed", "wrong"};
  return names[s];
}

uint64_t search_rand(uint64_t *state, uint64_t n) {
  uint64_t x = *state ? *state : 0x9e3779b97f4a7c15ull;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *state = x;
  return n ? ((x * 0x2545f4914f6cdd1dull) >> 11) % n : 0;
}
