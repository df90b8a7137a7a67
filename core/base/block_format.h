/* core/base/block_format.h - how GGUF files keep tensors: as plain elements, or as blocks of 32 or 256 small integers
 * with scales. One row a format: its number in files, elements and bytes of a block, and what the block stands for.
 * Format: the GGUF specification (docs/gguf.md of ggml) for the numbers, ggml's block structures for the bits, which
 * are written out beside each function. Fields of more than one byte are little-endian, wherever they lie. */
#ifndef CORE_BASE_BLOCK_FORMAT_H
#define CORE_BASE_BLOCK_FORMAT_H
#include "tessera/base.h"

enum { BLOCK_MOST_ELEMENTS = 256, BLOCK_RUN = 32 };

/* BLOCK_RUN elements of a block as integers: element i is scale[i / 16] q[i] + offset[i / 16]. */
typedef struct block_run {
  int8_t q[BLOCK_RUN];
  float scale[2], offset[2];
} block_run;

/* BLOCK_RUN elements of a vector, rounded to q8_0: element i is scale q[i]; sum: of the elements of each half. Of q8_1
 * the first is that of all of them, rounded to f16, and the second is 0. */
typedef struct block_q8 {
  float scale, sum[2];
  int8_t q[BLOCK_RUN];
} block_q8;

typedef struct block_format {
  const char *name;        /* "q4_1"; of a plain type the library's word for it, "f32" */
  uint32_t code;           /* in files */
  uint32_t elements, bytes; /* of a block */
  tsr_dtype dtype;         /* of plain elements; TSR_DTYPE_NONE of blocks */
  /* One block to as many f32. NULL: of the block no more than its size is known, or the elements are integers. */
  void (*dequantize)(const unsigned char *block, float *out);
  /* Run i of a block as integers. NULL: the format has none. Their largest magnitude, and whether some are negative. */
  void (*unpack)(const unsigned char *block, int i, block_run *out);
  int largest;
  bool negative;
} block_format;

extern const int8_t block_iq4_nl_levels[16]; /* what the four bits of an iq4_nl stand for */

/* 32 integers of 0 to 15, around 8, behind the scale of a block of q4_0. */
void block_q4_0_put(const uint8_t q[BLOCK_RUN], unsigned char *block);

/* The row of a number in files; NULL: unknown. */
const block_format *block_format_by_code(uint32_t code);
const block_format *block_format_by_name(const char *name);
/* Row i of the table, NULL behind the last. */
const block_format *block_format_at(size_t i);
/* n elements, a multiple of BLOCK_RUN, to q8_0: the scale is the largest magnitude / 127 as f16, each element its
 * nearest multiple (of two the even one). A run that isn't finite gets a NaN for scale. q8_1: the sums are that
 * format's. */
void block_quantize(const float *x, int64_t n, bool q8_1, block_q8 *out);
#endif
