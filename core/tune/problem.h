/* core/tune/problem.h - what is tuned (a problem) and what is chosen for it (a config), shared by the whole module.
 * A config has the fields of Schedule IR's sched_params under the same names, each an integer that a knob can step: 0
 * is "off" for switches (there -1), vectorize 0 is the lowering's own width, raster 0 the device's own order,
 * matrix_path 0 is plain multiply-adds, 1 the device's own, 2 "direct" and 3 "pingpong" (CDNA: operands straight to
 * LDS), 4 "lane_n" (lavapipe: n-major lane layout). */
#ifndef CORE_TUNE_PROBLEM_H
#define CORE_TUNE_PROBLEM_H
#include "core/ir/schedule/knobs.h"

/* matmul: [batch, m, k] x [k, n]; row: m rows of n elements, `passes` reads of each row; elementwise: n elements,
 * `passes` operands read; attention: `batch` heads of m queries against n keys and values, k wide (estimated, not
 * searched), a config's m by n the tile of scores. A config's m is rows per block of
 * a reduction kernel, elements per block of an elementwise one. */
typedef struct tune_problem {
  sched_family family;
  char op[32];
  int64_t batch, m, n, k;
  tsr_dtype in, acc, out;
  int32_t passes;
  bool deterministic; /* only knobs that keep the order of every sum may leave their default */
  bool reduces;       /* row: one element a row is written */
  bool causal;        /* attention: query i sees keys 0..i */
  bool collects_b;    /* product: b are windows over an image, with zeros beyond their edges */
  bool compensated;   /* sums carry their rounding errors along: they are not cut into parts */
} tune_problem;

#define TUNE_FIELD_COUNT(name) int32_t name;
#define TUNE_FIELD_POWER(name) int32_t name;
#define TUNE_FIELD_PADDING(name) int32_t name;
#define TUNE_FIELD_SWITCH(name) int32_t name;
#define TUNE_FIELD_PATH(name) int32_t name;
#define TUNE_FIELD_FLAG(name)
#define TUNE_FIELD(name, primitive, attr, kind, ...) TUNE_FIELD_##kind(name)
typedef struct tune_config {
  SCHED_KNOBS(TUNE_FIELD)
} tune_config; /* cluster 1: none */
#undef TUNE_FIELD
#endif
