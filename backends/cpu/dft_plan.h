/* backends/cpu/dft_plan.h - how lines of n points are transformed: the passes, and their tables of roots, made once. */
#ifndef BACKENDS_CPU_DFT_PLAN_H
#define BACKENDS_CPU_DFT_PLAN_H
#include "backends/cpu/kernels/kernels.h"
#include "core/base/alloc.h"

typedef struct dft_plan {
  cpuk_dft_plan p;
  char *tables;
  size_t bytes, used;
} dft_plan;

/* n: at least 1. twiddled: as in cpuk_dft_plan. NULL: out of memory. */
dft_plan *dft_plan_create(const tsr_allocator *al, const cpuk_dft *k, bool f64, size_t n, size_t twiddled);
void dft_plan_destroy(const tsr_allocator *al, dft_plan **plan);
/* Of the passes over a line of n points. */
size_t dft_plan_length(size_t n);
#endif
