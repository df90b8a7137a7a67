/* backends/cpu/kernels/blocks_read.h - the block formats as the vector kernels tell them apart: one row each. */
#ifndef BACKENDS_CPU_KERNELS_BLOCKS_READ_H
#define BACKENDS_CPU_KERNELS_BLOCKS_READ_H
#include <string.h>

#include "core/base/block_format.h"
#include "core/base/block_layout.h"

/* What is known where a kernel is expanded: a row of `reads` each. */
typedef enum read_kind {
#define KIND(CODE, ...) READ_##CODE,
  BLOCK_LAYOUTS(KIND)
#undef KIND
  N_READS
} read_kind;

typedef struct read_row { /* base/block_layout.h */
  const char *name;
  int elements, bytes, shift, at_fifth, at_q;
  bool has_offset, negative, halves;
} read_row;

static const read_row reads[N_READS] = {
#define ROW(CODE, name, ...) {#name, __VA_ARGS__},
    BLOCK_LAYOUTS(ROW)
#undef ROW
};

/* Products are asked for in formats that have a row. */
static inline read_kind read_kind_of(const block_format *f) {
  int i = 0;
  while (i + 1 < N_READS && strcmp(f->name, reads[i].name) != 0) i++;
  return (read_kind)i;
}
#endif
