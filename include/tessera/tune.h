/* tessera/tune.h - finding, keeping and explaining schedules. Compiling looks decisions up by itself
 * (tsr_compile_options.tune, knob TSR_TUNE); these calls search on purpose, with the caller's own cost model, strategy
 * or pruning if wanted, and report. Guide: docs/tuning.md. Threads: one call at a time per context. */
#ifndef TESSERA_TUNE_H
#define TESSERA_TUNE_H
#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is tuned: one kernel. matmul: [batch, m, k] x [k, n]; row: m rows of n; elementwise: n elements. */
typedef struct tsr_tune_problem {
  const char *kernel, *op, *shape, *dtype; /* "matmul_0", "matmul+add", "300x200x500", "f32,f32->f32" */
  int64_t batch, m, n, k;
  double flops, bytes; /* the least it needs */
} tsr_tune_problem;

typedef struct tsr_tune_progress {
  const tsr_tune_problem *problem;
  size_t done, budget;
  double last_us, best_us;  /* 0: it failed; nothing has run yet */
  double roofline_fraction; /* of the best; 0: the device's peaks are not known */
} tsr_tune_progress;

/* The user's own parts; every function may be NULL. Candidates are schedules with all fields of the space set. */
typedef struct tsr_tune_hooks {
  /* Predicted nanoseconds; negative: never try it. Ranks candidates and is the prior of the search. */
  double (*cost)(void *user, const tsr_tune_problem *p, const tsr_schedule *candidate);
  /* What is minimised; the default is latency x (1 / throughput). */
  double (*objective)(void *user, const tsr_tune_problem *p, double latency_ns, double work);
  /* The next candidate to measure, n to stop. measured_us[i]: 0 not yet, negative failed. */
  size_t (*next)(void *user, const tsr_tune_problem *p, const tsr_schedule *candidates, const double *measured_us,
                 size_t n, size_t samples_left);
  /* False cancels; what was measured is kept. */
  bool (*progress)(void *user, const tsr_tune_progress *p);
  void *user;
} tsr_tune_hooks;

/* One decision for all ranks of a mesh: rank 0 searches, the others receive its choice, measure nothing, and keep it in
 * their own cache, so that all compile the same schedule. Every rank calls tsr_graph_tune with the same graph. */
typedef struct tsr_tune_mesh {
  int rank;
  /* Sends `bytes` from rank 0 into every rank's `data`; called by all ranks in the same order, once a kernel. Anything
   * but TSR_OK ends the call. */
  tsr_code (*broadcast)(void *user, void *data, size_t bytes);
  void *user;
} tsr_tune_mesh;

/* Zero means the defaults. */
typedef struct tsr_tune_options {
  const char *strategy;  /* "hybrid" (default), "grid", "random", "model-only" */
  size_t samples;        /* 50; fewer when near shapes are in the cache, unless samples_fixed */
  bool samples_fixed;
  bool again;            /* search although an answer is stored, and replace it */
  double stop_fraction; /* of the roofline: 0.97, where the device has known peaks (a reached rate is none: never); 2 or
                           more: never */
  uint64_t seed;
  const char *knobs;     /* only these may move, "m,n,k,warps"; NULL: all that the device has */
  const tsr_tune_hooks *hooks;
  const tsr_tune_mesh *mesh; /* NULL: alone */
} tsr_tune_options;

typedef struct tsr_tune_result {
  tsr_tune_problem problem;
  tsr_schedule schedule, runner_up;
  bool has_runner_up, cancelled, stored;
  const char *tile;    /* "128x64x256" */
  const char *source;  /* "search", "cache", "bucket" (found with another shape of the same bucket), "model", "default",
                          "rank0" */
  double best_us, default_us, predicted_us,
      roofline_us;     /* 0: not known; of a cancelled search the best so far, with its schedule, not checked */
  size_t measurements; /* candidates timed on the device by this call */
  size_t samples;      /* behind the decision, those of earlier runs included */
  size_t rejected;     /* fast candidates whose results were wrong */
  const double *curve_us; /* best so far after each sample of this call */
  size_t n_curve;
  const char *not_stored; /* why what was found was not kept; "" where it was, or where nothing new was found */
} tsr_tune_result;

typedef struct tsr_tune_report tsr_tune_report;

/* Every kernel of the graph that has something to tune, in order of launch; equal kernels once. Each winner was
 * compared with the f64 reference. Stored in the cache that options->cache names, which later compilations read.
 * TSR_NOT_FOUND: unknown strategy. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_tune(tsr_device *dev, const tsr_graph *g, const tsr_compile_options *options,
                                               const tsr_tune_options *tune, tsr_tune_report **out);
TSR_API int tsr_tune_report_count(const tsr_tune_report *r);
/* Strings belong to the report. */
TSR_API tsr_tune_result tsr_tune_report_get(const tsr_tune_report *r, int i);
TSR_API void tsr_tune_report_destroy(tsr_tune_report **r);

/* The search space of each kernel as a table: knobs, values, what is pruned and why. Of `tune` (may be NULL) only
 * `knobs` counts. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_tune_space(tsr_device *dev, const tsr_graph *g,
                                                     const tsr_compile_options *options, const tsr_tune_options *tune,
                                                     char **text);
/* The cost model's estimate of each kernel term by term, for `candidate` (NULL: the schedule it has now). */
TSR_API TSR_MUST_USE tsr_status tsr_graph_tune_explain(tsr_device *dev, const tsr_graph *g,
                                                       const tsr_compile_options *options,
                                                       const tsr_schedule *candidate, char **text);
/* The same for flash attention (the op, Tile IR, or a custom op): `heads` times batch, tile m x n of scores,
 * warps, pipeline_stages, padding of the candidate (NULL: the table's 128 x 64). Nothing is compiled.
 * TSR_INVALID_ARGUMENT: an extent below 1 or above 2^31 - 1 (width: 2^20), or a type that is none of floats. */
typedef struct tsr_attention {
  int64_t heads, queries, keys, width;
  tsr_dtype dtype;
  bool causal;
} tsr_attention;
TSR_API TSR_MUST_USE tsr_status tsr_tune_explain_attention(tsr_device *dev, const tsr_attention *shape,
                                                           const tsr_schedule *candidate, char **text);
/* Measures every point of the first kernel's space and writes it as a record that strategies can be replayed on. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_tune_record(tsr_device *dev, const tsr_graph *g,
                                                      const tsr_compile_options *options, const char *label,
                                                      const tsr_tune_options *tune, char **text);

/* A profile of the device from a file (`key = value` lines as core/tune/profiles has them and tsr_device_print_profile
 * writes): what it says goes before what the driver, the table and measurements say, in estimates, search spaces,
 * occupancy and the audit of this device handle. What compiles at all is still the device's own limits'. NULL takes it
 * away. TSR_IO_ERROR, TSR_PARSE_ERROR with file:line, TSR_ARCH_MISMATCH for a GPU's on a CPU. */
TSR_API TSR_MUST_USE tsr_status tsr_device_load_profile(tsr_device *dev, const char *path);
/* What is taken for the device now, in that form; tsr_text_free. */
TSR_API TSR_MUST_USE tsr_status tsr_device_print_profile(tsr_device *dev, char **text);

/* A row of the table of default tiles (docs/tuning.md): what it says, and what it comes to on a device. */
typedef struct tsr_tile_default {
  const char *op;         /* "gemm", "conv2d", "flash_attention", or a norm's name in Graph IR */
  tsr_dtype dtype;        /* TSR_DTYPE_NONE: all that have no row of their own */
  int64_t m, n, k, warps; /* 0: left open. Of a norm: m rows a block, one a warp */
  int64_t legal_m, legal_n, legal_k, legal_warps; /* on the device; all 0: nothing of the kind fits it */
  const char *why;        /* the limit that the row breaks there; "" = none. Lives as long as the device */
} tsr_tile_default;
/* Row i, from 0; TSR_NOT_FOUND past the last. dev may be NULL: the row as it stands. */
TSR_API TSR_MUST_USE tsr_status tsr_tile_default_get(tsr_device *dev, int i, tsr_tile_default *out);

/* Reads the whole tuning cache of that name (NULL = "default"). TSR_CACHE_CORRUPT: entries or the file are damaged, or
 * were and have been set aside since this context opened it; TSR_IO_ERROR: it can't be read. No cache, or none that is
 * kept, is sound. */
TSR_API TSR_MUST_USE tsr_status tsr_context_check_cache(tsr_context *ctx, const char *name);

/* Of this context since it was created: candidates timed, cache look-ups and hits, stored schedules that failed (while
 * compiling or at tsr_program_run) and gave way to the runner-up or the untuned schedule. */
typedef struct tsr_tune_counters {
  uint64_t measurements, lookups, hits, fallbacks;
} tsr_tune_counters;
TSR_API tsr_tune_counters tsr_context_tune_counters(const tsr_context *ctx);

#ifdef __cplusplus
}
#endif
#endif
