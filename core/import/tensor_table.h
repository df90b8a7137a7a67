/* core/import/tensor_table.h - what the readers of weight files fill and their users look at: a table of tensors with
 * names, types, shapes and places in the file, and what the file says about itself. */
#ifndef CORE_IMPORT_TENSOR_TABLE_H
#define CORE_IMPORT_TENSOR_TABLE_H
#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/base/block_format.h"
#include "tessera/tessera.h"

struct zip_entry;

typedef struct weights_tensor {
  const char *name;
  const char *type;          /* the library's word ("f32"), a block format's ("q4_1"), else the file's own */
  tsr_dtype dtype;           /* of plain elements; else TSR_DTYPE_NONE */
  const block_format *block; /* of quantised ones; else NULL */
  tsr_shape shape;           /* outermost dimension first */
  uint64_t offset;           /* in the file: of the first element; of compressed data their start */
  uint64_t bytes;            /* of the elements as they are in the file, uncompressed; 0 where the type is unknown */
  const struct zip_entry *entry; /* .npz: what holds it; the array starts `skip` bytes into its uncompressed data */
  uint64_t skip;
  bool deflated, swapped, fortran; /* .npz: compressed; big-endian; the first dimension is the innermost */
} weights_tensor;

typedef enum weights_kind {
  WEIGHTS_UINT, WEIGHTS_INT, WEIGHTS_FLOAT, WEIGHTS_BOOL, WEIGHTS_STRING, WEIGHTS_ARRAY
} weights_kind;

/* What a file says about itself: GGUF's key-values, safetensors' __metadata__. */
typedef struct weights_meta {
  const char *key;
  uint64_t at; /* of the value, in the file */
  weights_kind kind;
  union {
    uint64_t u; /* UINT, BOOL */
    int64_t i;
    double f;
    const char *s;
    struct { uint32_t type; uint64_t n, offset; } array; /* GGUF's number of the elements' type; where the first is */
  } v;
} weights_meta;

typedef struct weights {
  const char *format; /* "safetensors", "npz", "gguf" */
  const char *file;   /* for messages */
  const unsigned char *p;
  uint64_t size;
  weights_tensor *tensors;
  weights_meta *meta;
  size_t n_tensors, n_meta, cap_tensors, cap_meta;
  arena a; /* names and entries */
  bool mapped;
} weights;

/* The next place in a table, zeroed; NULL: out of memory. */
weights_tensor *weights_add(weights *w);
weights_meta *weights_add_meta(weights *w);
/* TSR_PARSE_ERROR with the file and the offset. */
tsr_status weights_bad(const weights *w, uint64_t offset, const char *fmt, ...) TSR_PRINTF(3, 4);
/* Elements of a shape; false where the product of the dimensions that aren't 0 is above INT64_MAX. */
bool weights_count(const tsr_shape *s, uint64_t *out);
/* Names, keys and types are UTF-8 without control characters, texts are UTF-8; names and keys occur once; tensors don't
 * overlap. */
tsr_status weights_check(const weights *w);
#endif
