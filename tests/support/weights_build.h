/* tests/support/weights_build.h - puts together files of weights byte by byte, right and wrong ones. */
#ifndef TESTS_SUPPORT_WEIGHTS_BUILD_H
#define TESTS_SUPPORT_WEIGHTS_BUILD_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct bytes_buf {
  unsigned char p[65536];
  size_t n;
} bytes_buf;

static inline void put_raw(bytes_buf *b, const void *p, size_t n) {
  if (n) memcpy(b->p + b->n, p, n);
  b->n += n;
}

static inline void put_le(bytes_buf *b, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++, v >>= 8) b->p[b->n++] = (unsigned char)v;
}

/* ---- safetensors */

static inline void build_safetensors(bytes_buf *b, const char *header, const void *data, size_t bytes) {
  b->n = 0;
  put_le(b, strlen(header), 8);
  put_raw(b, header, strlen(header));
  put_raw(b, data, bytes);
}

/* ---- GGUF */

static inline void gguf_text(bytes_buf *b, const char *s) {
  put_le(b, strlen(s), 8);
  put_raw(b, s, strlen(s));
}

static inline void gguf_begin(bytes_buf *b, unsigned version, uint64_t tensors, uint64_t keys) {
  b->n = 0;
  put_raw(b, "GGUF", 4);
  put_le(b, version, 4);
  put_le(b, tensors, 8);
  put_le(b, keys, 8);
}

static inline void gguf_key(bytes_buf *b, const char *key, unsigned type, uint64_t v, int bytes) {
  gguf_text(b, key);
  put_le(b, type, 4);
  put_le(b, v, bytes);
}

static inline void gguf_tensor(bytes_buf *b, const char *name, int rank, const uint64_t *dims, unsigned type,
                               uint64_t offset) {
  gguf_text(b, name);
  put_le(b, (uint64_t)rank, 4);
  for (int i = 0; i < rank; i++) put_le(b, dims[i], 8);
  put_le(b, type, 4);
  put_le(b, offset, 8);
}

static inline void gguf_align(bytes_buf *b, size_t to) {
  while (b->n % to) b->p[b->n++] = 0;
}

/* ---- zip: entries with their contents, then the table, then the end */

typedef struct zip_part {
  char name[64];
  uint32_t crc, method, size, packed, header;
} zip_part;

typedef struct zip_build {
  bytes_buf b;
  zip_part part[16];
  int n;
} zip_build;

static inline uint32_t zip_crc(const unsigned char *p, size_t n) {
  uint32_t c = 0xffffffffu;
  for (size_t i = 0; i < n; i++) {
    c ^= p[i];
    for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
  }
  return ~c;
}

/* Deflate with the fixed codes (RFC 1951, 3.2.6): literals, and runs of a byte as matches of 258 at distance 1. */
static inline size_t deflate_fixed(const unsigned char *p, size_t n, unsigned char *out) {
  size_t at = 0;
  unsigned hold = 0, held = 0;
#define PUT_BIT(v) \
  do { \
    hold |= (unsigned)((v) & 1) << held; \
    if (++held == 8) out[at++] = (unsigned char)hold, hold = held = 0; \
  } while (0)
#define PUT_CODE(code, bits) \
  for (int bit_ = (bits) - 1; bit_ >= 0; bit_--) PUT_BIT((code) >> bit_)
  PUT_CODE(6, 3); /* the last block, fixed codes */
  for (size_t i = 0; i < n;) {
    size_t run = 0;
    while (i && run < 258 && i + run < n && p[i + run] == p[i - 1]) run++;
    if (run == 258) {
      PUT_CODE(0xc5, 8);
      PUT_CODE(0, 5);
      i += run;
    } else {
      if (p[i] < 144) PUT_CODE(0x30u + p[i], 8);
      else PUT_CODE(0x190u + p[i] - 144, 9);
      i++;
    }
  }
  PUT_CODE(0, 7);
  while (held) PUT_BIT(0);
#undef PUT_CODE
#undef PUT_BIT
  return at;
}

static inline void zip_add(zip_build *z, const char *name, const unsigned char *p, size_t n, int deflated) {
  static unsigned char packed[65536];
  zip_part *e = &z->part[z->n++];
  size_t bytes = deflated ? deflate_fixed(p, n, packed) : n;
  snprintf(e->name, sizeof e->name, "%s", name);
  *e = (zip_part){.crc = zip_crc(p, n), .method = deflated ? 8 : 0, .size = (uint32_t)n, .packed = (uint32_t)bytes,
                  .header = (uint32_t)z->b.n};
  snprintf(e->name, sizeof e->name, "%s", name);
  put_raw(&z->b, "PK\3\4\24\0\0\0", 8);
  put_le(&z->b, e->method, 2);
  put_le(&z->b, 0, 4);
  put_le(&z->b, e->crc, 4);
  put_le(&z->b, e->packed, 4);
  put_le(&z->b, e->size, 4);
  put_le(&z->b, strlen(name), 2);
  put_le(&z->b, 0, 2);
  put_raw(&z->b, name, strlen(name));
  put_raw(&z->b, deflated ? packed : p, bytes);
}

static inline void zip_end(zip_build *z) {
  size_t table = z->b.n;
  for (int i = 0; i < z->n; i++) {
    const zip_part *e = &z->part[i];
    put_raw(&z->b, "PK\1\2\24\0\24\0\0\0", 10);
    put_le(&z->b, e->method, 2);
    put_le(&z->b, 0, 4);
    put_le(&z->b, e->crc, 4);
    put_le(&z->b, e->packed, 4);
    put_le(&z->b, e->size, 4);
    put_le(&z->b, strlen(e->name), 2);
    put_le(&z->b, 0, 12);
    put_le(&z->b, e->header, 4);
    put_raw(&z->b, e->name, strlen(e->name));
  }
  size_t bytes = z->b.n - table;
  put_raw(&z->b, "PK\5\6\0\0\0\0", 8);
  put_le(&z->b, (uint64_t)z->n, 2);
  put_le(&z->b, (uint64_t)z->n, 2);
  put_le(&z->b, bytes, 4);
  put_le(&z->b, table, 4);
  put_le(&z->b, 0, 2);
}

/* An array as .npy; the number of bytes. */
static inline size_t build_npy(unsigned char *p, const char *descr, const char *order, const char *shape,
                               const void *data, size_t bytes) {
  int n = sprintf((char *)p + 10, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr, order, shape);
  memcpy(p, "\x93NUMPY\1\0", 8);
  p[8] = (unsigned char)n, p[9] = (unsigned char)(n >> 8);
  if (bytes) memcpy(p + 10 + n, data, bytes);
  return 10 + (size_t)n + bytes;
}
#endif
