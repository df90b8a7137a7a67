/* tessera/profile.h - what a program's kernels did: rows, JSON (docs/profile.md), a Chrome/Perfetto trace, and the
 * checklist for performance tuning (docs/checklist.md) as an audit. A field that a device can't tell is n/a or null,
 * never invented. Threads: one call at a time per profile. */
#ifndef TESSERA_PROFILE_H
#define TESSERA_PROFILE_H
#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_profile tsr_profile;

/* An empty profile; programs of any device may be recorded into it. */
TSR_API TSR_MUST_USE tsr_status tsr_profile_create(tsr_context *ctx, tsr_profile **out);
TSR_API void tsr_profile_destroy(tsr_profile **p);
/* Runs the program once, timing each kernel on the device, and adds the step. Bindings as for tsr_program_run. */
TSR_API TSR_MUST_USE tsr_status tsr_profile_step(tsr_profile *p, tsr_program *prog, tsr_stream *s,
                                                 const tsr_binding *inputs, const tsr_binding *outputs);
/* As tsr_stream_copy, with the time that the device takes for it: on the trace beside the kernels of steps that run
 * meanwhile, and part of the copies' overlap with kernels in text and JSON. It belongs to the step that comes next. The
 * profile is told of it at the next text, JSON or trace, or by the 256th copy after it, which wait for it; until then,
 * or tsr_profile_destroy, the device stays open. TSR_UNSUPPORTED: the device's queues have no timestamps. */
TSR_API TSR_MUST_USE tsr_status tsr_profile_copy(tsr_profile *p, tsr_stream *s, tsr_buffer *dst, size_t dst_offset,
                                                 tsr_buffer *src, size_t src_offset, size_t bytes);
/* Calls `step` with 0, 1, ... `steps` times; what it runs through tsr_profile_step belongs to one step,
 * however many programs that are. Ends with the first status that it returns. */
typedef tsr_status (*tsr_step_fn)(void *user, tsr_profile *p, int step);
TSR_API TSR_MUST_USE tsr_status tsr_profile_steps(tsr_profile *p, int steps, tsr_step_fn step, void *user);
/* Compiles the graph and profiles `steps` runs (0: 10) on random inputs, after 3 that are not recorded. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_profile(tsr_device *dev, const tsr_graph *g,
                                                  const tsr_compile_options *options, int steps, tsr_profile **out);
/* The same for IR text of any level. */
TSR_API TSR_MUST_USE tsr_status tsr_text_profile(tsr_device *dev, const char *text, size_t bytes, const char *file,
                                                 const tsr_compile_options *options, int steps, tsr_profile **out);

/* Text belongs to the caller: tsr_text_free. Rows as `MatMul[128x128x64]  latency=2.3us   occupancy=92%` (with the
 * micro sign); `wide` adds bandwidth, tiles, time per tile, modelled against measured bytes, the bound and the next
 * knob. */
TSR_API TSR_MUST_USE tsr_status tsr_profile_text(const tsr_profile *p, bool wide, char **text);
TSR_API TSR_MUST_USE tsr_status tsr_profile_json(const tsr_profile *p, char **text);
/* JSON in the Trace Event Format, which ui.perfetto.dev opens. */
TSR_API TSR_MUST_USE tsr_status tsr_profile_trace(const tsr_profile *p, char **text);

/* The audit of what was profiled: lines of text, or JSON. *failed receives the number of failed points. */
TSR_API TSR_MUST_USE tsr_status tsr_profile_check(const tsr_profile *p, bool needs_reproducible, bool json, char **text,
                                                  int *failed);

/* What a device can do, by loops of multiply-adds in registers (of matrix instructions too, where it has them for the
 * type) and by a large copy: measured when first asked for, then kept in the cache by device and driver. Verdicts, the
 * audit, the cost model and `tessera bench` use these. 0: it can't be told. */
typedef struct tsr_peaks {
  double gflops;              /* multiply-adds of the type, two operations each */
  double matrix_gflops;       /* the same by matrix instructions; 0: none for the type */
  double copy_gbytes_per_s;   /* read and written */
  double measured_on;         /* seconds since 1970 */
  bool kept;                  /* nothing was measured by this call */
} tsr_peaks;
/* t: f32, f16, bf16, f64, i8, i32, ...; bf16 and fp8 are computed in f32, 8-bit integers in i32. `again` measures
 * anew, since a machine may have been busy, and keeps the larger figures. */
TSR_API TSR_MUST_USE tsr_status tsr_device_peaks(tsr_device *dev, tsr_dtype t, bool again, tsr_peaks *out);

#ifdef __cplusplus
}
#endif
#endif
