/* core/import/block_format.h - how GGUF files keep tensors: as plain elements, or as blocks of 32 or 256 small integers
 * with scales. One row a format: its number in files, elements and bytes of a block, and what the block stands for.
 * Format: the GGUF specification (docs/gguf.md of ggml) for the numbers, ggml's block structures for the bits, which
 * are written out beside each function. Fields of more than one byte are little-endian, wherever they lie. */
#ifndef CORE_IMPORT_BLOCK_FORMAT_H
#define CORE_IMPORT_BLOCK_FORMAT_H
#include "tessera/base.h"

enum { BLOCK_MOST_ELEMENTS = 256 };

typedef struct block_format {
  const char *name;        /* "q4_1"; of a plain type the library's word for it, "f32" */
  uint32_t code;           /* in files */
  uint32_t elements, bytes; /* of a block */
  tsr_dtype dtype;         /* of plain elements; TSR_DTYPE_NONE of blocks */
  /* One block to as many f32. NULL: of the block no more than its size is known, or the elements are integers. */
  void (*dequantize)(const unsigned char *block, float *out);
} block_format;

/* The row of a number in files; NULL: unknown. */
const block_format *block_format_by_code(uint32_t code);
const block_format *block_format_by_name(const char *name);
/* Row i of the table, NULL behind the last. */
const block_format *block_format_at(size_t i);
#endif
