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

/* How many ways a column access of the padded tile conflicts, a lane a row: 1 is free. Banks are 4 bytes wide. Lanes
 * take `access` bytes each (4 or less: a word); so many at once as fill all banks. */
int32_t occ_bank_conflict(const tune_device *d, tsr_dtype in, int32_t row_elems, int32_t padding, int32_t access);

/* Configs come from users and from files: sums and products of what they say stay at the largest number instead of
 * wrapping round. */
static inline int64_t occ_sum(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}
static inline int64_t occ_product(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}
/* ceil_div of any v that isn't negative. */
static inline int64_t occ_pieces(int64_t v, int64_t unit) { return v / unit + (v % unit > 0); }
#endif
