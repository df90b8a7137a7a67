/* core/passes/cpu/reduction_kernels.h - which ops of a Tile IR block become fused reduction kernels on the CPU
 * (softmax, layernorm, rmsnorm and their parts), so that a row is read from cache by few passes and 16-bit rows are
 * never copied to f32 first. Not under kahan_sum. The order of their sums is fixed by the row's length alone, so
 * "deterministic" may use them. The kernel's attribute `reduction_kernels = false` (the switch reduction_kernels)
 * leaves them out. */
#ifndef CORE_PASSES_CPU_REDUCTION_KERNELS_H
#define CORE_PASSES_CPU_REDUCTION_KERNELS_H
#include "core/ir/ir.h"

typedef enum row_kind {
  ROW_NONE,
  ROW_SKIP,   /* nothing left to compute */
  ROW_DIRECT, /* a load: its users read the memory */
  ROW_STAT,   /* out[r] = max or sum of x[r] */
  ROW_EXP,    /* out = exp(x - shift[r]), other[r] = its sums */
  ROW_SQDEV,  /* out[r] = sum of (x[r] - mean[r])^2; mean NULL = 0 */
  ROW_NORM, /* out = (x - mean[r]) * factor[r] * scale + shift; scale and shift repeat for all rows; all but factor may
               be NULL */
  ROW_SOFTMAX,   /* out = softmax of x's rows */
  ROW_LAYERNORM, /* ROW_NORM with mean = sum * mean_scale and factor = rsqrt(squared deviations * square_scale + eps),
                    computed on the way */
  ROW_RMSNORM,   /* the same about 0 */
} row_kind;

typedef struct row_act {
  const ir_op *op;
  row_kind kind;
  ir_value *x, *mean, *factor, *scale, *shift, *other;
  double mean_scale, square_scale, eps;
} row_act;

typedef struct row_plan {
  const tsr_allocator *al;
  row_act *v;
  size_t n, cap;
} row_plan;

/* Plans one block (not its nested regions). Fails only when out of memory. */
tsr_status rows_plan(row_plan *p, const ir_block *block);
/* What to do with op; NULL = lower it as any other. */
const row_act *rows_find(const row_plan *p, const ir_op *op);
void rows_clear(row_plan *p);
/* A type whose rows the kernels read and write: f32, bf16 or f16, neighbours in a row side by side. */
bool rows_type(const ir_type *t);
#endif
