/* bench/kernels/precision.h - how far a device's scalar functions are from the f64 oracle (tsr_graph_reference), in
 * units in the last place of the result's type. Used by the driver that writes docs/precision.md's table and by the
 * test that holds it. */
#ifndef BENCH_KERNELS_PRECISION_H
#define BENCH_KERNELS_PRECISION_H
#include "tessera/tessera.h"

enum { PRECISION_MAX_OPS = 80 };

typedef struct precision_op {
  const char *name, *attrs; /* of tessera.graph; attrs "" or " {...}" */
  int n_in;
  bool of_argument; /* gelu cancels for negative arguments, hardswish near -3: the unit is the argument's where that
                       is larger */
  bool zero_sign;   /* the sign of a zero result counts */
  char kind;        /* f: floats only, a: integers too, i: integers only */
} precision_op;

extern const precision_op precision_ops[];
extern const int n_precision_ops;

typedef struct precision_result {
  double ulp, at[2];                  /* the largest error of results that are neither NaN nor infinite, and where */
  long wrong; /* NaN, infinity or the sign of a zero in the wrong place; for integers any difference */
  double wrong_at[2], got, want;      /* the first of these */
  long beyond; /* of floats: outside of the oracle's tolerance, which bounds what no table does */
  double beyond_at[2], beyond_got, beyond_want; /* the first of these */
  long n;
} precision_result;

/* The op over special values of the type (all pairs of them), then: every value of an 8 or 16-bit type for one operand,
 * else `n` values of which half are random bits and half of ordinary size. TSR_UNSUPPORTED is the device's. On devices
 * whose subnormals of the type that computes may be flushed (tsr_device_info), a subnormal operand may count as 0, and
 * errors up to 2^-120 (of f64 2^-1016) don't count: of results and of what functions compute on the way. */
TSR_MUST_USE tsr_status precision_measure(tsr_context *ctx, tsr_device *dev, const precision_op *op, tsr_dtype t,
                                          long n, precision_result *out);

#endif
