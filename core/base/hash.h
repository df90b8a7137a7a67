/* core/base/hash.h - 64-bit hashing (FNV-1a with a final mix): names and cache keys, not security. */
#ifndef CORE_BASE_HASH_H
#define CORE_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_SEED 0xcbf29ce484222325ull

static inline uint64_t hash_bytes(uint64_t h, const void *p, size_t n) {
  const unsigned char *c = p;
  for (size_t i = 0; i < n; i++) h = (h ^ c[i]) * 0x100000001b3ull;
  return h;
}
static inline uint64_t hash_str(uint64_t h, const char *s) { return hash_bytes(h, s, strlen(s) + 1); }
static inline uint64_t hash_u64(uint64_t h, uint64_t v) { return hash_bytes(h, &v, sizeof v); }
/* A word in one step, for tables in memory; what is stored is hashed byte by byte. */
static inline uint64_t hash_word(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0xff51afd7ed558ccdull;
  return h ^ h >> 32;
}
static inline uint64_t hash_mix(uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdull;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53ull;
  return h ^ (h >> 33);
}
#endif
