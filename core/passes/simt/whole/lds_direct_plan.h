/* core/passes/simt/whole/lds_direct_plan.h - which matmul kernels simt/whole/lds_direct.c takes, and how: waves, stages
 * and the shape of the operands' tiles in LDS. */
#ifndef CORE_PASSES_SIMT_WHOLE_LDS_DIRECT_PLAN_H
#define CORE_PASSES_SIMT_WHOLE_LDS_DIRECT_PLAN_H
#include "core/device/matrix_instr.h"
#include "core/passes/simt/whole/match.h"

enum { DL_WAVE = 64, DL_CHUNK = 16, DL_SPAN = 64 }; /* bytes that a lane reads at once; that four lanes read along k */

typedef struct dl_side {
  const simt_side *s;
  bool across;        /* memory runs along m or n */
  bool quad;          /* a lane has four neighbours */
  int64_t line, lines; /* bytes of a line in LDS, lines of a stage */
  int64_t wave;       /* rows or columns of a wave */
  int64_t at;         /* of the first stage, bytes */
  int blocks;         /* of 16 rows or columns of a wave */
} dl_side;

typedef struct dl_plan {
  simt_matmul mm;
  const matrix_instr *in;
  int size, words;    /* bytes of an element; 32-bit words of an operand per lane and instruction */
  int waves, across;  /* waves of a block, and how many of them along n */
  int granule;        /* bytes of one lane's load */
  int stages, chunks; /* buffers; chunks that a lane holds of each operand's 16 rows: one, or two for the instructions
                         that are that deep */
  int spans;          /* parts of a step, of so many chunks */
  bool pingpong, fnuz;
  int64_t total_k, stage_bytes;
  dl_side a, b;
} dl_plan;

static inline int64_t simt_direct_stage_bytes(const dl_side *s) { return s->line * s->lines; }
/* NULL: planned; else why the kernel isn't taken. */
const char *simt_direct_plan_kernel(const ir_op *kernel, const tsr_caps *caps, bool pingpong, dl_plan *p);
#endif
