/* core/ir/tile/overlap.h - a loop of two gemms, the second of which adds to a value that the loop carries: attention's,
 * scores first and then weights by values. The first gemm, the second one's left operand and whatever else the loop
 * carries need nothing of that value, so that a step's first gemm may run beside the second one of the step before. Who
 * writes such a loop says by the attribute `overlap` which value it is, which the verifier checks and a lowering
 * believes; text written by hand needn't say so. */
#ifndef CORE_IR_TILE_OVERLAP_H
#define CORE_IR_TILE_OVERLAP_H
#include "core/ir/ir.h"

enum { TILE_OVERLAP_MOST = 256 };

typedef struct tile_overlap {
  ir_op *head, *tail;           /* the gemms */
  int carried;                  /* the loop's result that tail makes */
  bool late[TILE_OVERLAP_MOST]; /* ops of the body, by place, that need the sums of the step before */
} tile_overlap;

/* The parts of a loop that says so, or that is found to be such a loop. False: it is none. */
bool tile_overlap_get(const ir_op *loop, tile_overlap *out);
/* For the verifier. */
tsr_status tile_verify_overlap(const ir_op *loop);
#endif
