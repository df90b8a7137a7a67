/* backends/cpu/kernels/blocks_read.h - the block formats as the vector kernels tell them apart: one row each. */
#ifndef BACKENDS_CPU_KERNELS_BLOCKS_READ_H
#define BACKENDS_CPU_KERNELS_BLOCKS_READ_H
#include <string.h>

#include "core/base/block_format.h"

/* What is known where a kernel is expanded: a row of `reads` each. */
typedef enum read_kind {
  READ_Q4_0, READ_Q4_1, READ_Q5_0, READ_Q5_1, READ_Q8_0, READ_IQ4_NL,
  READ_Q2_K, READ_Q3_K, READ_Q4_K, READ_Q5_K, READ_Q6_K, N_READS
} read_kind;

/* halves: those of a run have scales of their own. shift: what is added to the integers, times the scale; 1 where there
 * are offsets. Of formats whose blocks are runs besides: where a block has its fifth bits (0: it has none) and its
 * integers; the scale comes first, then the offset. */
typedef struct read_row {
  const char *name;
  int elements, bytes, shift, at_fifth, at_q;
  bool has_offset, negative, halves;
} read_row;

static const read_row reads[N_READS] = {
    [READ_Q4_0] = {"q4_0", 32, 18, -8, 0, 2},
    [READ_Q4_1] = {"q4_1", 32, 20, 1, 0, 4, .has_offset = true},
    [READ_Q5_0] = {"q5_0", 32, 22, -16, 2, 6},
    [READ_Q5_1] = {"q5_1", 32, 24, 1, 4, 8, .has_offset = true},
    [READ_Q8_0] = {"q8_0", 32, 34, 0, 0, 2, .negative = true},
    [READ_IQ4_NL] = {"iq4_nl", 32, 18, 0, 0, 2, .negative = true},
    [READ_Q2_K] = {"q2_k", 256, 84, 1, .has_offset = true, .halves = true},
    [READ_Q3_K] = {"q3_k", 256, 110, -4, .halves = true},
    [READ_Q4_K] = {"q4_k", 256, 144, 1, .has_offset = true},
    [READ_Q5_K] = {"q5_k", 256, 176, 1, .has_offset = true},
    [READ_Q6_K] = {"q6_k", 256, 210, -32, .halves = true}};

/* Products are asked for in formats that have a row. */
static inline read_kind read_kind_of(const block_format *f) {
  int i = 0;
  while (i + 1 < N_READS && strcmp(f->name, reads[i].name) != 0) i++;
  return (read_kind)i;
}
#endif
