/* tests/simt/matmul_run.h - random inputs of a matmul kernel of tests/support/tile_gen.h, and how far its result in the
 * emulator is from sums in f64 over the same rounded inputs. */
#ifndef TSR_SIMT_MATMUL_RUN_H
#define TSR_SIMT_MATMUL_RUN_H
#include "tests/simt/simt.h"
#include "tests/support/tile_gen.h"

typedef struct matmul_data {
  void *a, *b, *bias, *res, *out; /* bias and res NULL where the case has none */
  emu_range buffers[5];           /* as the kernel takes them, the result last */
  int n;
} matmul_data;

/* The same numbers for the same seed; a fifth of the floats is -0, which is NaN's pattern in FNUZ types. */
matmul_data matmul_data_make(const tile_matmul_case *c, uint64_t seed);
void matmul_data_clear(matmul_data *d);
/* The largest error of `out` in units of the tolerance: the accumulator's k roundings of f32 plus one of the result.
 * NaN counts as wrong. */
double matmul_error(const tile_matmul_case *c, const matmul_data *d);

#endif
