/* core/base/sha256.h - SHA-256 (FIPS 180-4), for content addresses and checksums of compiled binaries. */
#ifndef CORE_TUNE_SHA256_H
#define CORE_TUNE_SHA256_H
#include <stddef.h>
#include <stdint.h>

typedef struct sha256 {
  uint32_t h[8];
  uint64_t bytes;
  uint8_t block[64];
} sha256;

void sha256_begin(sha256 *s);
void sha256_add(sha256 *s, const void *p, size_t n);
void sha256_end(sha256 *s, uint8_t out[32]);
/* 64 hex digits and a zero. */
void sha256_hex(const uint8_t digest[32], char out[65]);
#endif
