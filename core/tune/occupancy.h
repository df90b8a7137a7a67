/* core/tune/occupancy.h - how many warps of a kernel fit on one core, what limits them. Explained in
 * docs/occupancy.md; the allocation rules are those of CUDA's calculator and of LLVM's AMDGPU subtargets. Verdicts on
 * it: core/profile/verdict.h. A CPU has no occupancy: the result's `known` is false and reports print n/a. */
#ifndef CORE_TUNE_OCCUPANCY_H
#define CORE_TUNE_OCCUPANCY_H
#include "core/tune/device.h"
#include "core/tune/problem.h"

/* What the kernel takes; regs and shared_bytes of 0 are estimated from the tile. */
typedef struct occ_input {
  int32_t warps;        /* per block */
  int32_t regs;         /* per thread */
  int64_t shared_bytes; /* per block */
} occ_input;

typedef struct occ_result {
  bool known;
  int32_t blocks;       /* resident per core; 0: one block does not fit */
  int32_t active_warps;
  double fraction;      /* of max_warps */
  const char *limiter;  /* "warps", "blocks", "barriers", "registers", "shared" */
} occ_result;

occ_result occ_compute(const tune_device *d, const occ_input *in);
/* The same from a tile: registers and shared memory estimated below. */
occ_result occ_of_config(const tune_device *d, const tune_problem *p, const tune_config *c);

/* Registers per thread: accumulators, two sets of fragments, addresses. An estimate; the driver's figure is better. */
int32_t occ_regs(const tune_device *d, const tune_problem *p, const tune_config *c);
/* Shared bytes per block: stages x (padded A tile + padded B tile), or the row buffers of a reduction kernel. */
int64_t occ_shared_bytes(const tune_problem *p, const tune_config *c);
/* How many ways a column access of the padded tile conflicts, a lane a row: 1 is free. Banks are 4 bytes wide. Lanes
 * take `access` bytes each (4 or less: a word); so many at once as fill all banks. */
int32_t occ_bank_conflict(const tune_device *d, tsr_dtype in, int32_t row_elems, int32_t padding, int32_t access);
/* The same of a candidate: a matrix instruction's lane takes its part of the operand, at most 16 bytes; plain
 * multiply-adds a word. 0: nothing is staged in banks. */
int32_t occ_bank_ways(const tune_device *d, const tune_problem *p, const tune_config *c);
#endif
