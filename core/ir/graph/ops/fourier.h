/* core/ir/graph/ops/fourier.h - the numbers of discrete Fourier transforms: roots of one, a transform in f64 (the
 * oracle's, and what constants are made with), and the bound of what devices may be off by. */
#ifndef CORE_IR_GRAPH_OPS_FOURIER_H
#define CORE_IR_GRAPH_OPS_FOURIER_H
#include <stdbool.h>
#include <stdint.h>

#include "core/base/alloc.h"
#include "core/base/dtype.h"

/* exp(2 pi i p / n), of an angle that is reduced as an integer before it is rounded. */
void fourier_root(int64_t p, int64_t n, double out[2]);
/* In place: x[k] = sum over j of x[j] exp(sign 2 pi i j k / n), unscaled. False: out of memory. */
bool fourier_transform(const tsr_allocator *al, double (*x)[2], int64_t n, int sign);

/* What goes into a transform: sums over the parts of its numbers. */
typedef struct fourier_sums {
  double n;                  /* numbers */
  double abs, square, error; /* of magnitudes, of squares, of squared tolerances */
  bool finite;
} fourier_sums;
void fourier_sums_add(fourier_sums *s, double weight, double v, double carried);
/* The error of a device that computes with elements of type t, before a part of the result is rounded. */
double fourier_own_error(const fourier_sums *s, tsr_dtype t, double scale, double rounding_of_zero);
/* Of a part of the result, v, what the operand's tolerances are in it. */
double fourier_inherited(const fourier_sums *s, double scale, double v);
#endif
