/* core/runtime/internal.h - the structs behind the public handles. Each file of core/runtime owns the functions of one
 * of them. */
#ifndef CORE_RUNTIME_INTERNAL_H
#define CORE_RUNTIME_INTERNAL_H
#include <pthread.h>

#include "core/base/name_set.h"
#include "core/base/status.h"
#include "core/device/backend.h"
#include "core/ir/ir.h"
#include "core/passes/pipeline.h"
#include "core/passes/trace.h"
#include "tessera/tessera.h"

enum { RT_MAX_BACKENDS = 16, RT_MAX_NOT_BUILT = 3 };

struct graph_evaluator;

/* All backends compiled in, in order of preference for listing; ended by NULL. registry.c is the only file that names
 * them. */
extern const be_vtable *const rt_backends[];
/* Those that the library has and this build has not, with the reason; ended by a NULL name. */
typedef struct rt_not_built { const char *name, *why; } rt_not_built;
extern const rt_not_built rt_backends_not_built[];

/* A backend within a context: its driver is loaded once, on first use. */
typedef struct rt_backend {
  const be_vtable *vt;
  be_instance *instance;
  bool tried;
  char why[512]; /* not available: one line */
} rt_backend;

struct tsr_context {
  tsr_allocator al;
  be_env env;
  void (*log)(void *user, tsr_log_level level, const char *text);
  void *log_user;
  tsr_log_level log_level;
  tsr_policy policy;
  tsr_fallback fallback;
  char *cache_dir; /* "" = none */
  size_t cache_dir_bytes;
  rt_backend backends[RT_MAX_BACKENDS];
  int n_backends;
  tsr_backend_info infos[RT_MAX_BACKENDS + RT_MAX_NOT_BUILT]; /* made once, under the lock */
  int n_infos;
  struct rt_probe *probe; /* probe.c */
  arena devices_arena; /* device infos, made once */
  tsr_device_info *devices;
  int n_devices;
  bool listed;
  pthread_mutex_t lock; /* loading and listing */
  struct rt_custom *custom;
  struct rt_rule *rules; /* rule.c; under the lock */
  uint64_t
      last_number; /* of the devices and programs made so far; begins at the time, so that other contexts have others */
  struct rt_tune_state {
    struct tune_cache *cache;
    char name[64];
    uint64_t measurements, lookups, hits, used, unseen, fallbacks; /* unseen: of those used */
    pthread_mutex_t lock; /* recursive: who compiles with the cache, or asks it, is alone */
  } tune; /* tune.c */
};

struct tsr_device {
  tsr_context *ctx;
  const be_vtable *vt;
  be_device *be;      /* NULL: an architecture without hardware, compiles only */
  tsr_caps caps;
  tsr_device_info info;
  arena arena;
  tsr_stream *stream; /* the device's own */
  uint64_t number;
  struct tune_device *profile; /* the user's; NULL: none */
  be_instance *shell; /* of an imported device: stands in for the backend's instance */
  int64_t bytes_now, bytes_most; /* of buffers; atomically */
};

struct tsr_buffer {
  tsr_device *dev;
  be_buffer *be;
  size_t bytes;
  bool counted; /* in the device's bytes */
};

struct tsr_stream {
  tsr_device *dev;
  be_stream *be;
  bool capturing; /* calls are recorded (memory.c); those that can't be are refused by rt_no_capture */
  bool foreign; /* has waited for something outside the library: waiting for the stream here may be for ever */
  struct rt_command *recorded, **tail;
};

struct tsr_event {
  tsr_device *dev;
  be_event *be;
  bool recorded, foreign; /* foreign: of a stream that is */
};

struct tsr_graph {
  tsr_context *ctx;
  ir_module *m;
  ir_op *func;
  ir_value **values; /* tsr_value - 1 */
  size_t n_values, cap_values;
  name_set inputs;  /* their names */
  bool closed;      /* parsed: has its return already */
  bool within_pass; /* what could not be built is told at the end of that pass */
};

/* One memory object that a program's launches use. */
typedef enum rt_binding_kind { BINDING_INPUT, BINDING_OUTPUT, BINDING_TEMP, BINDING_CONST } rt_binding_kind;
typedef struct rt_binding {
  rt_binding_kind kind;
  int index;     /* input or output number */
  size_t bytes, offset; /* TEMP: in the workspace */
  tsr_buffer *buffer; /* CONST; INPUT, OUTPUT: the aligned copy of a tensor that begins where a GPU's kernels can't read
                         it, or NULL */
  const ir_attr *data;  /* CONST */
  int written_from; /* OUTPUT: 1 + the binding of the input that it is written into; 0 = none */
  ir_loc loc;
} rt_binding;

typedef struct rt_launch {
  const char *kernel;
  int kernel_index, *bindings, n_bindings, n_outputs, *waits, n_waits;
  struct rt_host_call *host; /* a custom op whose CPU kernel runs; kernel_index is -1 then */
} rt_launch;

/* Neighbouring launches that the device runs as one recorded sequence, or (be == NULL) one call on the host. */
typedef struct rt_part {
  be_program *be;
  int first, n;
} rt_part;

/* An output that no launch writes: an input or a constant passed through. */
typedef struct rt_pass_through { int output, binding; } rt_pass_through;

struct tsr_program {
  tsr_context *ctx;
  tsr_device *dev;
  uint64_t number; /* no other program or device had or gets it */
  arena arena;
  ir_module *levels[TSR_LEVEL_TARGET + 1];
  pass_trace trace;
  struct rt_tuned { /* a schedule.kernel whose schedule came from the tuner */
    const char *kernel;
    struct rt_tuned *next;
  } *tuned;
  pass_cost *costs;       /* of each pass */
  const char *kept_after; /* tsr_compile_options.keep_after: the IR after that pass; NULL = none */
  tsr_policy policy;
  be_module_desc desc;
  be_module *module;
  rt_part *parts;
  int n_parts, n_fallbacks;
  void *staging; /* host copies of what host calls read and write, where the device's memory isn't the host's */
  size_t staging_bytes;
  tsr_tensor_info *inputs, *outputs;
  int n_inputs, n_outputs;
  rt_binding *bindings;
  int n_bindings;
  rt_launch *launches;
  int n_launches;
  rt_pass_through *passes;
  int n_passes;
  int *donors; /* by output: the input that it is written into; -1 = none */
  tsr_buffer *workspace;
  size_t workspace_bytes;
  be_range *ranges, *returned; /* scratch of a run: of the bindings, of the outputs */
  tsr_kernel_info *kernels;
  struct rt_spare *spare; /* fallback.h: of a program with tuned kernels */
  tsr_program *retired;   /* what this one fell back from */
  const struct rt_inner_calls *inner_calls;
  tsr_program *inner, *next_inner; /* those that its control flow runs, a list; they share levels, code and module */
  const ir_op *program;   /* of Target IR */
  const tsr_program *outer; /* of an inner one */
  int n_falls;
};

/* text.c */
void rt_log(tsr_context *ctx, tsr_log_level level, const char *fmt, ...) TSR_PRINTF(3, 4);
#define RT_WHERE(fn, hint) ST_WHERE("runtime", fn, hint)
#define RT_BAD(ctx, fn, hint, ...) st_make(&(ctx)->al, TSR_INVALID_ARGUMENT, RT_WHERE(fn, hint), __VA_ARGS__)

/* Arguments of public functions: a pointer that must be there, an out parameter (zeroed), an enum. */
tsr_status rt_missing(const char *fn, const char *name);
#define RT_NEED(fn, name, p) do { if (!(p)) return rt_missing(fn, name); } while (0)
#define RT_OUT(fn, out) do { if (!(out)) return rt_missing(fn, #out); *(out) = 0; } while (0)
/* TSR_INVALID_ARGUMENT unless v is one of `known`, the names from 0 on, separated by commas. */
tsr_status rt_check_enum(const tsr_allocator *al, const char *fn, const char *what, int64_t v, const char *known);
/* arguments.c: everything in the options that can be wrong by itself; NULL is fine. */
tsr_status rt_check_options(const tsr_context *ctx, const char *fn, const tsr_compile_options *o);
tsr_status rt_check_schedule(const tsr_context *ctx, const tsr_schedule *s);
tsr_status rt_check_context_desc(const tsr_context_desc *d);
/* An array that calls of `n` elements are to bring. */
tsr_status rt_check_array(const char *fn, const char *name, const void *v, int64_t n);

static inline uint64_t rt_number(tsr_context *ctx) {
  return __atomic_add_fetch(&ctx->last_number, 1, __ATOMIC_RELAXED);
}
/* device_id.c: NULL where the build has no such backend; why one that the library has isn't in the build, or NULL. */
rt_backend *rt_find_backend(tsr_context *ctx, const char *name, size_t n);
const char *rt_why_not_built(const char *name, size_t n);
bool rt_is_device_number(const char *which);
/* Whether a device may be called so, here or elsewhere; `known` gets what there is where not. */
bool rt_knows_device(tsr_context *ctx, const char *id, char *known, size_t n);
/* Of each id in TSR_BACKEND the backend must be known; whether a device is there is asked when one is opened. */
tsr_status rt_check_backend_knob(tsr_context *ctx);
tsr_stream *rt_stream(tsr_device *dev, tsr_stream *s);
/* memory.c: refuses what has its result at once, on a stream whose calls are recorded. */
tsr_status rt_no_capture(const tsr_stream *s, const char *fn);
/* Copies the text of a builder into memory that tsr_text_free frees. */
tsr_status rt_text(tsr_context *ctx, strb *b, char **text);

/* graph.c: an empty graph without a module; a value gets its number; a graph whose function is complete, with its
 * inputs as values 1, 2, ... */
tsr_status rt_graph_new(tsr_context *ctx, tsr_graph **out);
tsr_status rt_graph_note(tsr_graph *g, ir_value *v, tsr_value *out);
/* Attributes that an application gives to op. */
tsr_status rt_check_attrs(const tsr_graph *g, const char *op, const tsr_attr *a, int n);
tsr_status rt_graph_close(tsr_graph *g, ir_op *func);
/* Is it a shape at all, of a size that 64 bits hold? Dimensions may be TSR_ANY_DIM. */
tsr_status rt_check_shape(const tsr_graph *g, const char *fn, tsr_dtype t, const tsr_shape *s);
/* compile.c: everything below the text or graph, to a runnable program. Takes ownership of m. The tuner and the
 * fall-back, which compile.c calls, get it as a function of this type. */
typedef tsr_status (*rt_compile_fn)(tsr_device *dev, ir_module *m, const tsr_compile_options *o, tsr_program **out);
tsr_status rt_compile(tsr_device *dev, ir_module *m, const tsr_compile_options *o, tsr_program **out);
/* custom.c: checks the custom ops of a Tile IR program against what is registered; those with a source for the device
 * become launches of it, the others are counted as fall-backs (an error by policy) unless the device is the CPU. */
/* *changed: where custom ops became launches, which the caller verifies. */
tsr_status rt_custom_resolve(tsr_program *p, ir_module *tile, tsr_fallback policy, bool *changed);
/* The call of a target.custom or target.routine op, in the program's arena. */
tsr_status rt_custom_bind(tsr_program *p, const ir_op *op, struct rt_host_call **out);
/* How many tensors a call writes; its kernel family, and operations where they are known. */
int rt_custom_outputs(const struct rt_host_call *h);
const char *rt_custom_describe(const struct rt_host_call *h, double *flops);
/* Runs it between launches of the stream: waits for these, and returns when the result is in its binding. */
tsr_status rt_custom_run(tsr_program *p, be_stream *s, const rt_launch *l, double *ns);
/* What a call needs on the device, once p's code is there; and its end. */
tsr_status rt_custom_build(tsr_program *p, const struct rt_host_call *h);
void rt_custom_drop(const struct rt_host_call *h);
bool rt_custom_is_control(const struct rt_host_call *h);
/* The oracle's rule for custom ops; user is the context. */
tsr_status rt_custom_eval(void *user, struct graph_evaluator *e, ir_op *op);
tsr_status rt_custom_infer(tsr_graph *g, const char *name, ir_op *op, const ir_type **result, bool *found);
void rt_custom_clear(tsr_context *ctx);
/* memory.c: a run while its stream captures; `run` is called at each replay. */
typedef tsr_status (*rt_run_fn)(tsr_program *p, tsr_stream *s, const tsr_binding *in, const tsr_binding *out);
tsr_status rt_record_run(tsr_program *p, tsr_stream *s, const tsr_binding *in, const tsr_binding *out, rt_run_fn run);
/* program_plan.c: bindings, launches, waits, workspace from the target program. */
tsr_status rt_plan(tsr_program *p);
/* Of another program of the same module, which control flow (op) runs: planned; then, with p's code, ready to run. It
 * belongs to p. */
tsr_status rt_plan_inner(tsr_program *p, const ir_op *op, ir_op *program, tsr_program **out);
tsr_status rt_build_inner(tsr_program *p, tsr_program *inner);
/* Runs it behind what the stream has; ranges are aligned as kernels need them. */
tsr_status rt_run_inner(tsr_program *p, be_stream *s, const be_range *in, const be_range *out);
/* These three, as the steps of a program call them. */
typedef struct rt_inner_calls {
  tsr_status (*plan)(tsr_program *p, const ir_op *op, ir_op *program, tsr_program **out);
  tsr_status (*build)(tsr_program *p, tsr_program *inner);
  tsr_status (*run)(tsr_program *p, be_stream *s, const be_range *in, const be_range *out);
} rt_inner_calls;
/* Of a kernel about which nothing is known. */
static inline tsr_kernel_info rt_kernel_unknown(void) {
  return (tsr_kernel_info){.name = "",
                           .family = "",
                           .path = "",
                           .original = "",
                           .original_why = "",
                           .registers = -1,
                           .spill_bytes = -1,
                           .occupancy = -1};
}
/* tune.c: cached or searched schedules for kernels that their author left open; closing the context's cache. */
tsr_status rt_tune_schedule(tsr_program *p, ir_module *schedule, const tsr_compile_options *o, rt_compile_fn compile);
/* Is there a cache whose schedules a compilation would take? */
bool rt_tune_cached(tsr_device *dev, const tsr_compile_options *o);
/* A tuned schedule of the program failed: it loses to its runner-up in the cache. Of several, those that fail when
 * `compile`d and run alone, or all if none does or there is no compile. They have run to their end: the cache keeps it.
 * */
void rt_tune_failed(tsr_program *p, const tsr_compile_options *o, rt_compile_fn compile);
void rt_tune_ran(tsr_program *p, const tsr_compile_options *o);
void rt_tune_init(tsr_context *ctx);
void rt_tune_close(tsr_context *ctx);
/* Around a compilation that may ask the cache or measure: one at a time in a context; `begun` goes to the end. */
bool rt_tune_begin(tsr_device *dev, const tsr_compile_options *o);
void rt_tune_end(tsr_device *dev, bool begun);
/* probe.c: how the context's backends start a process in which drivers are tried, be_env.probe. */
tsr_status rt_probe_init(tsr_context *ctx, const tsr_context_desc *desc);
void rt_probe_clear(tsr_context *ctx);
/* device_profile.c: what the user loaded. */
void rt_drop_profile(tsr_device *dev);
/* The block tile of a matmul kernel whose target code does not name it (CPU); left alone otherwise. */
void rt_kernel_tile(const tsr_program *p, const char *name, int64_t tile[3]);
#endif
