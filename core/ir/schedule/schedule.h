/* core/ir/schedule/schedule.h - Schedule IR: what becomes a kernel, and how.
 *
 *   "tessera.schedule.program"() ({
 *   ^bb0(%A: tensor<...>, ...):                         program inputs
 *     %w = "tessera.graph.constant"() ...                constants and reshapes (free aliases) stay at program level
 *     %0 = "tessera.schedule.kernel"(%A, %w) ({
 *     ^bb0(%a: tensor<...>, %b: tensor<...>):
 *       "tessera.schedule.tile"(%a, %b) {m = 128, n = 128, k = 64, autotune = false}     primitives, any subset
 *       "tessera.schedule.pipeline_stages"() {n = 2}
 *       %m = "tessera.graph.matmul"(%a, %b) ...            the body is Graph IR; every op of it is fused
 *       "tessera.schedule.yield"(%m)
 *     }) {sym_name = "matmul_0", family = "matmul"}
 *     "tessera.schedule.return"(%0)
 *   }) {sym_name = "main", policy = "fast"}
 *
 * sched_params is the same information as a struct: what users set by hand, the tuner searches and the cache stores. */
#ifndef CORE_IR_SCHEDULE_SCHEDULE_H
#define CORE_IR_SCHEDULE_SCHEDULE_H
#include "core/ir/ir.h"
#include "core/ir/kernel_family.h"

typedef enum sched_code {
  S_PROGRAM,
  S_RETURN,
  S_KERNEL,
  S_YIELD,
  S_TILE,
  S_VECTORIZE,
  S_SHARED,
  S_ASYNC,
  S_STAGES,
  S_SPLIT_K,
  S_WARPS,
  S_RASTER,
  S_CLUSTER,
  S_STREAM_K,
  S_MATRIX_PATH,
  S_LEGALIZED,
  S_PACK,
  S_STREAM,
  S_MEMORY
} sched_code;

enum { SCHED_LEAST_STRIP = 64, SCHED_MOST_CLUSTER = 8 };

/* Zero in any field = "not set": the default of sched_default applies. */
typedef struct sched_params {
  int64_t m, n, k;
  int64_t vectorize;  /* elements per thread access; on a CPU, from SCHED_LEAST_STRIP on, those an elementwise program
                         takes at once */
  int use_shared;     /* 1 on, -1 off */
  int64_t padding;    /* elements per shared row; -1 = none asked for explicitly */
  int async_copy;     /* 1 on, -1 off */
  int64_t stages;     /* buffers of the k loop; 1 = no overlap, 2 = double buffering (the default) */
  int64_t split_k;
  int64_t warps;
  int64_t cluster;    /* reduction kernels: blocks that hold one row together; 1 = none */
  int64_t stream_k;   /* blocks among which all steps of a contraction are shared out evenly; 0 = one block a tile */
  int64_t raster;     /* blocks per raster group along m; 1 = plain row order */
  const char *matrix_path; /* one of sched_path_list; NULL = auto */
  bool autotune;
} sched_params;

/* Matrix paths that a schedule may name, and all of them with what they are in one line: "auto, coopmat, ...". */
bool sched_path_known(const char *name);
const char *sched_path_list(void);
/* Reads the primitives of a schedule.kernel; later ones win. */
void sched_read(const ir_op *kernel, sched_params *out);
/* Replaces the kernel's primitives by what is set in p. False when out of memory. */
bool sched_write(ir_op *kernel, const sched_params *p);
/* Whether a value of the kernel's body is an argument that the program binds to a constant, reshaped or not. */
bool sched_is_constant(const ir_op *kernel, const ir_value *v);
/* Fields of `over` that are set replace those of `base`. */
void sched_merge(sched_params *base, const sched_params *over);
/* "128x128x64 stages=2 vectorize=4 ..."; for reports. */
void sched_print(strb *b, const sched_params *p);

#endif
