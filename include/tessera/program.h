/* tessera/program.h - programs: graphs compiled for a device, what they were compiled to, and their runs. Included by
 * tessera/tessera.h, whose rules hold. */
#ifndef TESSERA_PROGRAM_H
#define TESSERA_PROGRAM_H

#include "tessera/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_program tsr_program;
typedef struct tsr_recording tsr_recording;

/* ---- compiling ------------------------------------------------------------------------------------------------- */

typedef enum tsr_level {
  TSR_LEVEL_GRAPH,
  TSR_LEVEL_SCHEDULE,
  TSR_LEVEL_TILE,
  TSR_LEVEL_TARGET,
  TSR_LEVEL_SOURCE,
  TSR_LEVEL_BINARY
} tsr_level;

/* Schedule primitives by hand (docs/tuning.md, docs/memory.md); zero = the default. Applies to the kernels whose name
 * starts with `kernel` (NULL or
 * "" = all that have a tile of that kind; a name that begins none is TSR_INVALID_ARGUMENT, as are values that no device
 * has). Illegal values are legalised for the device; both are reported: in the trace, as a warning under the fall-back
 * policy `warn`, and by tsr_kernel_info.original. */
typedef struct tsr_schedule {
  const char *kernel;
  int64_t m, n, k;      /* tile */
  int64_t vectorize;    /* elements per access: 1, 2, 4, 8, ... */
  int use_shared;       /* 1 on, -1 off */
  int64_t padding;      /* elements per shared row; -1 = none */
  int async_copy;       /* 1 on, -1 off */
  int64_t pipeline_stages;
  int64_t split_k, warps, raster;
  const char *matrix_path; /* a name of tessera.schedule.matrix_path's table row */
  bool autotune;
  int64_t cluster;      /* blocks that hold one row together: 1, 2, 4 or 8 */
  int64_t stream_k;     /* blocks among which the steps of a contraction are shared out; in place of split_k */
} tsr_schedule;

/* "Async copy + multi-stage pipeline" (docs/checklist.md) as one preset: staging through shared memory, copied
 * asynchronously, three stages. The rest is the lowering's; where the device has no asynchronous copies they are
 * emulated and the schedule says so. */
TSR_API tsr_schedule tsr_schedule_pipelined(void);

typedef enum tsr_tune { TSR_TUNE_DEFAULT, TSR_TUNE_OFF, TSR_TUNE_CACHED, TSR_TUNE_FULL } tsr_tune;

typedef struct tsr_compile_options {
  tsr_policy policy;
  tsr_precision precision;
  tsr_fallback fallback;
  tsr_tune tune;
  const char *disable; /* comma-separated passes or rules to switch off, besides the knob TSR_DISABLE; unknown words are
                          TSR_INVALID_ARGUMENT, known ones in its hint */
  const tsr_schedule *schedules;
  int n_schedules;
  const char *cache;    /* named tuning cache; NULL = "default" */
  const char *keep_after; /* a pass (`tessera dump --help` lists them): the IR right after it is kept for
                             tsr_program_dump_after. NULL = none; an unknown one is TSR_INVALID_ARGUMENT */
} tsr_compile_options;

/* options may be NULL. The graph may be destroyed afterwards. */
TSR_API TSR_MUST_USE tsr_status tsr_program_compile(tsr_device *dev, const tsr_graph *g,
                                                    const tsr_compile_options *options, tsr_program **out);
/* The same from IR text of any level: lowering starts at the text's level. A Tile or Target IR text with kernels but no
 * program gets a program that launches its kernels in order. */
TSR_API TSR_MUST_USE tsr_status tsr_program_parse(tsr_device *dev, const char *text, size_t bytes, const char *file,
                                                  const tsr_compile_options *options, tsr_program **out);
TSR_API void tsr_program_destroy(tsr_program **p);

/* A graph with unknown dimensions as a set of programs: one for each list of input shapes, compiled when first asked
 * for; at most `most` are kept (0: 16), and the one asked for longest ago goes first. Each is compiled for exactly its
 * shapes; tuning decisions are shared by bucket (docs/tuning.md). The device, the graph and what options point to must
 * outlive the set. One call at a time per set. */
typedef struct tsr_program_set tsr_program_set;
TSR_API TSR_MUST_USE tsr_status tsr_program_set_create(tsr_device *dev, const tsr_graph *g,
                                                       const tsr_compile_options *options, int most,
                                                       tsr_program_set **out);
/* One shape per input, as for tsr_graph_specialize, with its errors. *out belongs to the set and lives until `most`
 * other lists were asked for: its work must be done by then. */
TSR_API TSR_MUST_USE tsr_status tsr_program_set_get(tsr_program_set *s, const tsr_shape *shapes, int n,
                                                    tsr_program **out);
/* Without waiting for a compiler, where that can be: *out is the program for these shapes if there is one. Else it is
 * made in the background, and *out is the smallest program meanwhile whose shapes cover them, no dimension being
 * smaller; where there is none, one is compiled before the call returns, whose unknown dimensions are those of the
 * shapes rounded up to their bucket (docs/tuning.md). served, n of them: the shapes that *out is for. Where they are
 * larger, the caller pads inputs and takes of the outputs what isn't padding: for graphs whose results allow that.
 * *out belongs to the set as tsr_program_set_get's does; a list that is made in the background counts as asked for when
 * it is done. One list is made at a time; another one is begun when it is asked for again. Threads: the calls stay
 * those of one thread at a time, which may run the set's programs and use the device meanwhile, as for objects of its
 * own; allocator, log and custom ops may be called from the thread that compiles. */
TSR_API TSR_MUST_USE tsr_status tsr_program_set_serve(tsr_program_set *s, const tsr_shape *shapes, int n,
                                                      tsr_shape *served, tsr_program **out);
/* Returns when nothing is made in the background: why the first list since the last call couldn't be made, which the
 * set won't try in the background again while it remembers it. */
TSR_API TSR_MUST_USE tsr_status tsr_program_set_wait(tsr_program_set *s);
/* Programs that are kept; one that is being made isn't counted. */
TSR_API int tsr_program_set_count(const tsr_program_set *s);
TSR_API void tsr_program_set_destroy(tsr_program_set **s);

TSR_API int tsr_program_n_inputs(const tsr_program *p);
TSR_API int tsr_program_n_outputs(const tsr_program *p);
/* i counts from 0; the strings belong to the program. */
TSR_API tsr_tensor_info tsr_program_input(const tsr_program *p, int i);
TSR_API tsr_tensor_info tsr_program_output(const tsr_program *p, int i);
/* The input whose memory the output may take: bound to the same buffer and offset (the caller donates it) the output is
 * written in place, as a decoder's cache by cache_update; bound elsewhere, each run begins with a copy of the input.
 * -1: none, or no such output. */
TSR_API int tsr_program_donated_input(const tsr_program *p, int output);

/* The program as IR text, source or (TSR_LEVEL_BINARY) bytes at any level it was lowered through. *bytes may be NULL
 * for text. */
TSR_API TSR_MUST_USE tsr_status tsr_program_dump(const tsr_program *p, tsr_level level, char **text, size_t *bytes);
/* The IR right after the pass tsr_compile_options.keep_after; free with tsr_text_free. TSR_NOT_FOUND if none was named,
 * or compilation started behind it. */
TSR_API TSR_MUST_USE tsr_status tsr_program_dump_after(const tsr_program *p, char **text);
/* What fired, what was refused and why, the tiles chosen, fall-backs; time and memory of each pass: lines of text. */
TSR_API TSR_MUST_USE tsr_status tsr_program_explain(const tsr_program *p, char **text);

typedef struct tsr_kernel_info {
  const char *name, *family;
  int64_t tile[3];
  int64_t grid[3];
  int block[3];
  int64_t shared_bytes;
  double flops, bytes;    /* modelled work */
  int registers, spill_bytes; /* -1 = unknown */
  double occupancy;       /* 0..1; < 0 = unknown */
  const char *path;       /* matrix path taken, "" if none */
  const char *original;   /* the schedule that was asked for, or that the table of default tiles has, where another one
                             runs; else "" */
  const char *original_why; /* that one, the one that runs, and why; "" */
} tsr_kernel_info;
TSR_API int tsr_program_n_kernels(const tsr_program *p);
/* Launches that run on the host because the device lacks them (custom ops without a source for it). */
TSR_API int tsr_program_n_fallbacks(const tsr_program *p);
/* Launches in order; strings belong to the program. */
TSR_API tsr_kernel_info tsr_program_kernel(const tsr_program *p, int i);

/* ---- running --------------------------------------------------------------------------------------------------- */

/* A part of a buffer that holds one tensor. */
typedef struct tsr_binding {
  tsr_buffer *buffer;
  size_t
      offset; /* bytes; a multiple of the element size. On GPUs others than multiples of 16 cost a copy in each run. */
} tsr_binding;

/* Where a schedule from the tuning cache fails, the run goes on with its runner-up or the untuned schedule
 * (tsr_tune_counters.fallbacks, tsr_program_explain); the cache forgets the winner. So that faults of a running kernel
 * are found in time, the first run of a program whose stored schedule was not yet seen to run on this device waits for
 * the stream before and after it; the cache then knows, and no later process waits. If that run loses the device,
 * TSR_DEVICE_LOST says so and the next compilation takes another schedule. Not waited for: streams that wait for a
 * semaphore or an event from outside, and captures (their first replay is). Else asynchronous on the stream; a failure
 * of a schedule that has run before is reported at tsr_stream_sync. A run with donated inputs does not go on with
 * another schedule: they may have been written to. inputs and outputs hold one binding per tensor; outputs must not
 * overlap each other or inputs, but for the one that tsr_program_donated_input names, bound alike. Temporaries and
 * constants belong to the program, so one program runs on one stream at a time. */
TSR_API TSR_MUST_USE tsr_status tsr_program_run(tsr_program *p, tsr_stream *s, const tsr_binding *inputs,
                                                const tsr_binding *outputs);
/* Runs and waits, timing each kernel on the device: ns receives tsr_program_n_kernels entries. */
TSR_API TSR_MUST_USE tsr_status tsr_program_profile(tsr_program *p, tsr_stream *s, const tsr_binding *inputs,
                                                    const tsr_binding *outputs, double *ns);

/* Makes what a program's first run would make: a driver that compiles a kernel at its first launch (lavapipe does)
 * compiles it now, by a launch of one block on scratch memory; caches on disk then have it for later processes too.
 * Pipelines are made at the program's creation already, several at once. Inputs are not needed, nothing of the caller's
 * is written. `progress` may be NULL; it hears of each kernel when it is ready, the first time with done 0; false ends
 * it with TSR_CANCELLED, and what was made stays. */
typedef bool (*tsr_prewarm_fn)(void *user, int done, int total, const char *kernel);
TSR_API TSR_MUST_USE tsr_status tsr_program_prewarm(tsr_program *p, tsr_prewarm_fn progress, void *user);

/* Capture: runs, copies, fills, records of events and waits for them on the stream between begin and end are recorded
 * instead of run; a recording replays them. Buffers, programs and events must outlive it. Other work on the stream
 * meanwhile (semaphores and signals from outside, profiles) is TSR_INVALID_ARGUMENT. */
TSR_API TSR_MUST_USE tsr_status tsr_capture_begin(tsr_stream *s);
TSR_API TSR_MUST_USE tsr_status tsr_capture_end(tsr_stream *s, tsr_recording **out);
TSR_API TSR_MUST_USE tsr_status tsr_recording_replay(tsr_recording *r, tsr_stream *s);
TSR_API void tsr_recording_destroy(tsr_recording **r);

#ifdef __cplusplus
}
#endif
#endif
