/* tessera/tessera.h - the library: contexts, devices, buffers, streams, graphs, programs.
 *
 * Life of a program: tsr_context -> tsr_device -> tsr_graph (built by calls or parsed from IR text) -> tsr_program
 * (compiled for a device) -> tsr_program_run on buffers. Everything a call creates is destroyed by the caller with the
 * matching destroy call, which accepts NULL and sets the handle to NULL; a parent must outlive its children (context >
 * device > buffer, program, ...). Arguments: a pointer that may be NULL says so where it is declared, as do counts and
 * enums their values; anything else is TSR_INVALID_ARGUMENT, and the functions that return no status then return NULL,
 * zero or "". An array of no elements may be NULL. Threads: different contexts never share state. Within one context,
 * calls on different objects may run on different threads; one object is used by one thread at a time. Nothing is kept
 * in global variables. Guides: docs/programming-guide.md, docs/runtime-abi.md. */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include "tessera/base.h"
#include "tessera/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_context tsr_context;
typedef struct tsr_device tsr_device;
typedef struct tsr_buffer tsr_buffer;
typedef struct tsr_stream tsr_stream;
typedef struct tsr_event tsr_event;
typedef struct tsr_graph tsr_graph;
typedef struct tsr_program tsr_program;
typedef struct tsr_recording tsr_recording;

/* ---- context --------------------------------------------------------------------------------------------------- */

typedef enum tsr_log_level { TSR_LOG_ERROR, TSR_LOG_WARN, TSR_LOG_INFO, TSR_LOG_DEBUG } tsr_log_level;

/* Numerics policy (docs/precision.md): how sums are ordered. The innermost scope that names one decides:
 * tsr_compile_options, then the function's attribute `policy` in IR text, then the context. docs/precision.md has the
 * table. */
typedef enum tsr_policy {
  TSR_POLICY_DEFAULT,       /* the enclosing scope's; "fast" at the top */
  TSR_POLICY_FAST,          /* benchmarking, inference */
  TSR_POLICY_DETERMINISTIC, /* debugging, reproducible training: the same bits for every run and thread count */
  TSR_POLICY_KAHAN_SUM      /* sensitive PDEs, physics training: compensated sums */
} tsr_policy;
/* "fast", "deterministic", "kahan_sum"; TSR_NOT_FOUND for other names. */
TSR_API TSR_MUST_USE tsr_status tsr_policy_parse(const char *name, tsr_policy *out);
TSR_API const char *tsr_policy_name(tsr_policy p);
/* The policy's use case in one line. A constant string. */
TSR_API const char *tsr_policy_help(tsr_policy p);

/* Precision mode (docs/precision.md) of a compiled graph, which else its function's attribute `precision` names. Sums
 * of floats of up to 32 bits are f32 in all of them. standard: the types are those of the graph; safe: narrower floats
 * are computed in f32; aggressive: products have fp8 operands with scales, attention bf16 ones; deterministic: the
 * policy of that name; tf32: products and attention of f32 have operands rounded to tf32. What goes in and comes out
 * keeps its type. */
typedef enum tsr_precision {
  TSR_PRECISION_STANDARD,
  TSR_PRECISION_SAFE,
  TSR_PRECISION_AGGRESSIVE,
  TSR_PRECISION_DETERMINISTIC,
  TSR_PRECISION_TF32
} tsr_precision;
/* "standard", "safe", "aggressive", "deterministic", "tf32"; TSR_NOT_FOUND for other names. */
TSR_API TSR_MUST_USE tsr_status tsr_precision_parse(const char *name, tsr_precision *out);
TSR_API const char *tsr_precision_name(tsr_precision p);
/* What the mode does, in one line. A constant string. */
TSR_API const char *tsr_precision_help(tsr_precision p);

/* What happens where a device lacks a capability. */
typedef enum tsr_fallback {
  TSR_FALLBACK_DEFAULT,
  TSR_FALLBACK_ERROR,
  TSR_FALLBACK_WARN,
  TSR_FALLBACK_ALLOW
} tsr_fallback;

typedef struct tsr_context_desc {
  uint32_t abi_version;           /* TSR_ABI_VERSION, or 0 = don't check */
  const tsr_allocator *allocator; /* copied; NULL = the C library's */
  void (*log)(void *user, tsr_log_level level, const char *text); /* NULL = standard error, by the knob TSR_LOG */
  void *log_user;
  tsr_policy policy;
  tsr_fallback fallback;
  const char *cache_dir;          /* NULL = the knob TSR_CACHE_DIR; "" = keep nothing on disk */
  const void *const *extra_backends; /* tables of core/device/backend.h, NULL-terminated, for tests and out-of-tree
                                        devices; may be NULL */
  /* Drivers are tried in a process of their own, so that one which crashes or hangs costs the path that was tried and
   * not the application. This function starts such a process and returns its exit status, minus the signal that ended
   * it, or TSR_PROBE_HUNG or TSR_PROBE_NOT_STARTED. NULL: the program `probe_program` does, of which main hands its
   * arguments to tsr_probe_main ("/proc/self/exe": the application itself); NULL too: the knob TSR_PROBE, else
   * tessera/tessera-probe beside the shared library. Where there is none drivers are tried in this process. */
  int (*probe)(void *user, const tsr_probe_call *call);
  void *probe_user;
  const char *probe_program;
} tsr_context_desc;

/* desc may be NULL. Drivers are loaded when devices are first listed or opened, not here. */
TSR_API TSR_MUST_USE tsr_status tsr_context_create(const tsr_context_desc *desc, tsr_context **out);
TSR_API void tsr_context_destroy(tsr_context **ctx);
/* What a program begins with that the library may start to try drivers (tsr_context_desc.probe_program):
 * `int rc = tsr_probe_main(argc, argv); if (rc >= 0) return rc;`. -1: these are other arguments. */
TSR_API int tsr_probe_main(int argc, char **argv);

/* ---- devices --------------------------------------------------------------------------------------------------- */

typedef struct tsr_matrix_info {
  int m, n, k;
  tsr_dtype a, b, c;
  const char *scope;  /* "subgroup", "workgroup", "warpgroup", "core" */
  bool enabled;
  const char *reason; /* why it was demoted by the self-test; "" if enabled */
} tsr_matrix_info;

/* A family of a driver's queues. Its place in the list is its number. */
typedef struct tsr_queue_info {
  int count, timestamp_bits; /* queues; bits of their timestamps that count, 0: they have none */
  bool compute, transfer, graphics; /* what the driver says that they do */
  const char *used_for; /* "compute": all kernels; "transfer": large copies, beside kernels; "": nothing */
} tsr_queue_info;

/* What the library tried on the device when it was first used, that failed, and so is not used. Matrix shapes have
 * their reasons in tsr_matrix_info. */
typedef struct tsr_demotion_info {
  const char *step;    /* docs/vulkan.md lists them: "words", "matrices", "clock" */
  const char *reason;  /* "crashed (signal 11)", "known bad: ..." */
  const char *instead; /* what is done */
} tsr_demotion_info;

typedef struct tsr_device_info {
  const char *id;      /* "cpu:0", "vulkan:1" */
  const char *backend; /* "cpu", "vulkan", "cuda", "hip" */
  const char *name, *driver, *arch;
  bool software;
  int n_matrix;
  const tsr_matrix_info *matrix;
  int n_cores, subgroup, max_threads, vector_bytes;
  int64_t shared_bytes, max_buffer_bytes, memory_bytes, max_range_bytes;
  bool stream_priorities; /* tsr_stream_create's is taken, else ignored */
  /* Arithmetic keeps subnormal operands and results of these types (bf16 is computed in f32); else it may take them for
   * 0. */
  bool subnormals_f16, subnormals_f32, subnormals_f64;
  const char *fallbacks; /* what takes the place of what the driver lacks (docs/vulkan.md); "" = nothing does */
  /* "driver": an extension reports n_cores; "host": the processors of a device that runs on them; "measured": by time,
   * once; "listed": a table of architectures; "unknown": n_cores is 0, and treated as such. Measured ones come with
   * tsr_device_get_info of an open device. */
  const char *cores_from;
  /* Of backends whose drivers have them (Vulkan); else 0. An imported device has none listed. */
  int n_queues, n_demotions;
  const tsr_queue_info *queues;
  const tsr_demotion_info *demotions;
} tsr_device_info;

/* One row per backend. Where it has no device here, "why" is the reason in one line; it begins with "not built: " where
 * this build was configured without the backend. */
typedef struct tsr_backend_info {
  const char *name;
  bool available;
  const char *why; /* "" when available */
} tsr_backend_info;

/* Lists every device of every backend; loads drivers on the first call. Strings belong to the context. */
TSR_API TSR_MUST_USE tsr_status tsr_devices(tsr_context *ctx, const tsr_device_info **out, int *n);
TSR_API TSR_MUST_USE tsr_status tsr_backends(tsr_context *ctx, const tsr_backend_info **out, int *n);

/* id: "cpu:0", "vulkan" (= ":0"), "" or NULL (the knob TSR_BACKEND, else cpu:0), a list "cuda,hip,vulkan,cpu" (the
 * first that is there). An architecture instead of a number ("cuda:sm_90a", "hip:gfx942", "null:spirv") opens a device
 * that compiles and dumps but has no memory and runs nothing. TSR_UNAVAILABLE says why. */
TSR_API TSR_MUST_USE tsr_status tsr_device_open(tsr_context *ctx, const char *id, tsr_device **out);
/* An application's own device: `import` is a tsr_vulkan_import, tsr_cuda_import or tsr_hip_import (tessera/vulkan.h,
 * ...). Borrowed. */
TSR_API TSR_MUST_USE tsr_status tsr_device_import(tsr_context *ctx, const char *backend, const void *import,
                                                  tsr_device **out);
TSR_API void tsr_device_close(tsr_device **dev);
TSR_API const tsr_device_info *tsr_device_get_info(const tsr_device *dev);

/* ---- buffers --------------------------------------------------------------------------------------------------- */

typedef enum tsr_memory { TSR_MEMORY_DEVICE, TSR_MEMORY_HOST } tsr_memory;

/* Memory of `bytes` bytes, aligned to at least 256; contents undefined. TSR_MEMORY_HOST can be mapped. bytes may be 0.
 */
TSR_API TSR_MUST_USE tsr_status tsr_buffer_create(tsr_device *dev, size_t bytes, tsr_memory kind, tsr_buffer **out);
/* The caller's memory, not copied and not owned: a host pointer on the CPU (aligned to the element), a native handle
 * elsewhere (see tessera/vulkan.h, tessera/cuda.h). Must outlive the buffer. */
TSR_API TSR_MUST_USE tsr_status tsr_buffer_import(tsr_device *dev, const void *handle, size_t bytes, tsr_buffer **out);
TSR_API void tsr_buffer_destroy(tsr_buffer **buf);
/* Bytes of all buffers that tsr_buffer_create has made on the device, with those that programs and tensors of meshes
 * have for themselves: now, and the most that there were at once. Either may be NULL. */
TSR_API void tsr_device_memory(const tsr_device *dev, int64_t *now, int64_t *most);
TSR_API size_t tsr_buffer_bytes(const tsr_buffer *buf);
/* Host address, or NULL where the memory is not visible to the host. Contents are current after the stream was
 * synchronised. */
TSR_API void *tsr_buffer_map(tsr_buffer *buf);
/* Blocking copies between host memory and a buffer. */
TSR_API TSR_MUST_USE tsr_status tsr_buffer_write(tsr_buffer *buf, size_t offset, const void *src, size_t bytes);
TSR_API TSR_MUST_USE tsr_status tsr_buffer_read(tsr_buffer *buf, size_t offset, void *dst, size_t bytes);

/* ---- streams and events ---------------------------------------------------------------------------------------- */

/* Work on one stream runs in order; streams run beside each other. Launch errors surface at tsr_stream_sync. A NULL
 * stream in calls that also take a program, an event or a recording means the device's own, which is created with it;
 * tsr_buffer_write and tsr_buffer_read use that one and wait for it, not for other streams. */
/* priority: of two streams with work ready, that with the larger number goes first; 0 is the usual. CUDA and HIP take
 * it, in the range that the driver has. The CPU runs one launch at a time and a Vulkan device has one queue: there it
 * is ignored (tsr_device_info.stream_priorities is false, and the log says so at level info). */
TSR_API TSR_MUST_USE tsr_status tsr_stream_create(tsr_device *dev, int priority, tsr_stream **out);
TSR_API void tsr_stream_destroy(tsr_stream **s);
/* timeout_ns < 0 waits for ever; TSR_TIMEOUT otherwise. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_sync(tsr_stream *s, int64_t timeout_ns);
/* On CUDA and HIP the event may be another device's of the same backend and context. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_wait(tsr_stream *s, tsr_event *e);
/* The application's own semaphore, e.g. a tsr_vulkan_semaphore: later work of the stream waits for it, or it is
 * signalled once all work so far is done. TSR_UNSUPPORTED where a backend has none. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_wait_external(tsr_stream *s, const void *handle);
TSR_API TSR_MUST_USE tsr_status tsr_stream_signal_external(tsr_stream *s, const void *handle);
/* At least one buffer is of the stream's device; on CUDA and HIP the other may be of another device of the same backend
 * and context, and the copy goes from device to device. Elsewhere such a copy is TSR_INVALID_ARGUMENT: go through the
 * host. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_copy(tsr_stream *s, tsr_buffer *dst, size_t dst_offset, tsr_buffer *src,
                                                size_t src_offset, size_t bytes);
/* offset and bytes must be multiples of 4. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_fill(tsr_stream *s, tsr_buffer *dst, size_t offset, size_t bytes,
                                                uint32_t pattern);
TSR_API TSR_MUST_USE tsr_status tsr_event_create(tsr_device *dev, tsr_event **out);
TSR_API void tsr_event_destroy(tsr_event **e);
TSR_API TSR_MUST_USE tsr_status tsr_event_record(tsr_event *e, tsr_stream *s);
TSR_API TSR_MUST_USE tsr_status tsr_event_sync(tsr_event *e);
/* Nanoseconds between two recorded events of one device. */
TSR_API TSR_MUST_USE tsr_status tsr_event_elapsed(tsr_event *from, tsr_event *to, double *ns);

/* ---- graphs ---------------------------------------------------------------------------------------------------- */

/* A value of a graph; 0 is never one. */
typedef uint32_t tsr_value;

/* A dimension that is known only when the graph is specialised: '?' in IR text. */
#define TSR_ANY_DIM (-1)

typedef struct tsr_shape {
  int rank;
  int64_t dims[TSR_MAX_RANK];
} tsr_shape;

typedef struct tsr_tensor_info {
  const char *name; /* "" for outputs without one */
  tsr_dtype dtype;
  tsr_shape shape;
  size_t bytes;
  int line, column; /* where the text that was parsed defines it; 0 for graphs built by calls */
} tsr_tensor_info;

typedef enum tsr_attr_kind {
  TSR_ATTR_INT,
  TSR_ATTR_FLOAT,
  TSR_ATTR_BOOL,
  TSR_ATTR_STRING,
  TSR_ATTR_INTS,
  TSR_ATTR_FLOATS
} tsr_attr_kind;
/* An attribute of an op, by the name `tessera ops` lists. */
typedef struct tsr_attr {
  const char *name;
  tsr_attr_kind kind;
  int64_t i;
  double f;
  const char *s;
  const int64_t *ints;
  int n_ints;
  const double *floats;
  int n_floats;
} tsr_attr;
#define TSR_INT(name_, v) {.name = (name_), .kind = TSR_ATTR_INT, .i = (v)}
#define TSR_FLOAT(name_, v) {.name = (name_), .kind = TSR_ATTR_FLOAT, .f = (v)}
#define TSR_BOOLEAN(name_, v) {.name = (name_), .kind = TSR_ATTR_BOOL, .i = (v)}
#define TSR_STRING(name_, v) {.name = (name_), .kind = TSR_ATTR_STRING, .s = (v)}
#define TSR_INTS(name_, v, n) {.name = (name_), .kind = TSR_ATTR_INTS, .ints = (v), .n_ints = (n)}
#define TSR_FLOATS(name_, v, n) {.name = (name_), .kind = TSR_ATTR_FLOATS, .floats = (v), .n_floats = (n)}

/* An empty graph with the given function name; NULL = "main". */
TSR_API TSR_MUST_USE tsr_status tsr_graph_create(tsr_context *ctx, const char *name, tsr_graph **out);
/* From IR text of the Graph level (any level for tsr_program_parse). `file` is for messages and may be NULL. The graph
 * can't be extended; its inputs are the values 1, 2, ... in order. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_parse(tsr_context *ctx, const char *text, size_t bytes, const char *file,
                                                tsr_graph **out);

/* Of an input of a model that is imported. */
typedef struct tsr_import_input {
  const char *name;
  tsr_shape shape;  /* rank -1: the model's own; so is a dimension of TSR_ANY_DIM. What the model leaves open under a
                       name is what another input's shape here has for that name */
  tsr_dtype dtype;  /* of data */
  const void *data; /* the elements, row-major, where the model's program depends on them (a shape that is an input): it
                       is then made for these. NULL: not known */
} tsr_import_input;

typedef struct tsr_import_desc {
  const char *path; /* of the file */
  const void *data; /* or what it holds, in memory: path is then the name in messages and may be NULL */
  size_t bytes;
  const tsr_import_input *inputs; /* of those that the model leaves open; may be NULL */
  int n_inputs;
  bool bounded; /* a result of as many elements as the inputs make of it (NonZero, NonMaxSuppression) is as long as it
                   can be, with -1 behind the last one; else it is refused where that number isn't known */
} tsr_import_desc;
/* A model file as a graph, by its content: ONNX, or IR text of the Graph level. Of an ONNX model all dimensions become
 * numbers: those that it leaves open are given in desc->inputs. The graph can't be extended; its inputs are the values
 * 1, 2, ... in the model's order, with its names where IR text can hold them, else with _ for characters that it can't.
 * An input that is a sequence is as many tensors as desc->inputs gives shapes of, named NAME[0], NAME[1] and on; one
 * named NAME[], of any shape, says that the sequence is empty, or that an optional input is left out. Each tensor is an
 * input of its own, and so is each of an output that is a sequence.
 * TSR_UNSUPPORTED names everything in the model that can't be converted, with counts. docs/onnx.md. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_import(tsr_context *ctx, const tsr_import_desc *desc, tsr_graph **out);
TSR_API void tsr_graph_destroy(tsr_graph **g);
/* name may be NULL or "": none. Else it is one that IR text can hold: a letter or _, then letters, digits and _ . $ -;
 * and no other input's of the graph (TSR_INVALID_ARGUMENT). */
TSR_API TSR_MUST_USE tsr_status tsr_graph_input(tsr_graph *g, const char *name, tsr_dtype t, tsr_shape shape,
                                                tsr_value *out);
/* data: row-major elements, copied. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_constant(tsr_graph *g, tsr_dtype t, tsr_shape shape, const void *data,
                                                   tsr_value *out);
/* op: a name of the table, "add" or "tessera.graph.add", or a registered custom op. One result. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_op(tsr_graph *g, const char *op, const tsr_value *operands, int n_operands,
                                             const tsr_attr *attrs, int n_attrs, tsr_value *out);
/* The same of an op with n_out results ("split"), which out gets in order. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_op_results(tsr_graph *g, const char *op, const tsr_value *operands,
                                                     int n_operands, const tsr_attr *attrs, int n_attrs, tsr_value *out,
                                                     int n_out);
/* Control flow: other graphs of the context, whose inputs are the n operands, become parts of g (copies: they may go or
 * be used again). `if`: the outputs of then_graph where the condition, one bool, is true, else those of else_graph,
 * which have the same types; out gets as many values. `while`: as long as the graph `condition`, whose output is one
 * bool, gives true, and at most max_trips times, the outputs of `body` take the place of the first n_carried operands;
 * out gets what these are in the end. Shapes stay. tessera.graph.if and while (docs/ir.md) say what is differentiable
 * and what a trip costs. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_if(tsr_graph *g, tsr_value condition, const tsr_graph *then_graph,
                                             const tsr_graph *else_graph, const tsr_value *operands, int n,
                                             tsr_value *out);
TSR_API TSR_MUST_USE tsr_status tsr_graph_while(tsr_graph *g, const tsr_graph *condition, const tsr_graph *body,
                                                const tsr_value *operands, int n, int n_carried, int64_t max_trips,
                                                tsr_value *out);
TSR_API TSR_MUST_USE tsr_status tsr_graph_output(tsr_graph *g, tsr_value v);
TSR_API TSR_MUST_USE tsr_status tsr_graph_type(const tsr_graph *g, tsr_value v, tsr_dtype *t, tsr_shape *shape);
/* Reverse-mode derivative: a new graph with g's inputs, whose outputs are g's and then, for each of the n inputs wrt[i]
 * of g, the gradient of g's first output (one float) with respect to it. It can't be extended; its inputs are the
 * values 1, 2, ... in order. TSR_VERIFY_ERROR names an op without a derivative on the way. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_grad(const tsr_graph *g, const tsr_value *wrt, int n, tsr_graph **out);

/* Programs are made for one size each: a new graph in which the inputs of g have the given shapes (one per input; known
 * dimensions must be the same) and every type is inferred anew. It can't be extended; its inputs are the values 1, 2,
 * ... in order. TSR_SHAPE_MISMATCH or TSR_VERIFY_ERROR where the shapes don't fit. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_specialize(const tsr_graph *g, const tsr_shape *shapes, int n,
                                                     tsr_graph **out);

/* Text returned by the library; free with tsr_text_free. */
TSR_API void tsr_text_free(tsr_context *ctx, char **text);
TSR_API TSR_MUST_USE tsr_status tsr_graph_print(const tsr_graph *g, char **text);

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

/* Capture: calls on the stream between begin and end are recorded instead of run; a recording replays them. Buffers and
 * programs must outlive it. */
TSR_API TSR_MUST_USE tsr_status tsr_capture_begin(tsr_stream *s);
TSR_API TSR_MUST_USE tsr_status tsr_capture_end(tsr_stream *s, tsr_recording **out);
TSR_API TSR_MUST_USE tsr_status tsr_recording_replay(tsr_recording *r, tsr_stream *s);
TSR_API void tsr_recording_destroy(tsr_recording **r);

/* ---- reference ------------------------------------------------------------------------------------------------- */

TSR_API int tsr_graph_n_inputs(const tsr_graph *g);
TSR_API int tsr_graph_n_outputs(const tsr_graph *g);
/* i counts from 0; strings belong to the graph; bytes is 0 where a dimension is unknown (TSR_ANY_DIM). */
TSR_API tsr_tensor_info tsr_graph_input_info(const tsr_graph *g, int i);
TSR_API tsr_tensor_info tsr_graph_output_info(const tsr_graph *g, int i);

/* Evaluates the graph in f64 on the host (the oracle). inputs: row-major elements in each input's own type; outputs:
 * arrays of doubles, one per element. tolerance (may be NULL, also its entries) receives per element the largest
 * absolute error that a correct implementation with f32 accumulation may show, derived from data types and reduction
 * lengths. Of complex elements two doubles each, the real and the imaginary part. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_reference(const tsr_graph *g, const void *const *inputs,
                                                    double *const *outputs, double *const *tolerance);
/* The same for n elements (row-major positions, of complex types 2 i for element i's real part and 2 i + 1 for its
 * imaginary one) of one output: for results too large to evaluate whole. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_reference_at(const tsr_graph *g, const void *const *inputs, int output,
                                                       const int64_t *elements, int n, double *values,
                                                       double *tolerance);

/* ---- custom ops ------------------------------------------------------------------------------------------------ */

typedef struct tsr_custom_tensor {
  tsr_dtype dtype;
  tsr_shape shape;
  void *data; /* row-major; NULL where only types are asked for */
} tsr_custom_tensor;

/* What an op's derivative has and gives: ops added to `graph` by tsr_graph_op or tsr_graph_constant make the gradient
 * of each operand from that of the result. */
typedef struct tsr_custom_adjoint {
  tsr_graph *graph; /* for tsr_graph_op, tsr_graph_constant and tsr_graph_type, during the call alone */
  const tsr_value *operands;
  tsr_value result,
      gradient; /* the op's result, and the derivative of the whole with respect to it, of the same type */
  tsr_value
      *operand_gradients; /* to be filled, each of its operand's type; 0 (as it comes) = the operand has no influence */
} tsr_custom_adjoint;

typedef struct tsr_custom_call {
  const tsr_custom_tensor *operands;
  int n_operands;
  const tsr_attr *attrs; /* those given to tsr_graph_op or written in the text */
  int n_attrs;
  tsr_custom_tensor *result;
} tsr_custom_call;

/* A kernel developer's own op (docs/custom-ops.md): a pure function of its operands and attributes, so that an unused
 * one is left out and equal ones are computed once. It is a launch of its own in the program, never fused. Callbacks
 * may run on any thread, several at once, and (but for adjoint) must not call into the library. Those that return false
 * write one line to why. */
typedef struct tsr_custom_op {
  const char *name; /* "mylib.swish"; used as tsr_graph_op's op, and as callee of "tessera.graph.custom" in IR text */
  int n_operands;
  /* Fills the result's type from the operands' and the attributes, or returns false: TSR_SHAPE_MISMATCH. */
  bool (*infer)(void *user, const tsr_custom_call *call, char *why, size_t why_bytes);
  /* The CPU kernel, also the reference: writes rows first..last-1 of the result's first dimension (0..1 if its rank is
   * 0). Called for disjoint ranges by the CPU device's threads, and not at all for a result without elements. False
   * fails the run with TSR_LAUNCH_FAILED. */
  bool (*cpu)(void *user, const tsr_custom_call *call, int64_t first, int64_t last, char *why, size_t why_bytes);
  /* Optional: a kernel of the op's own for a backend ("vulkan", "cuda", "hip", "cpu", ...): Tile IR text with one
   * tessera.tile.kernel whose arguments are views of the operands and the result, written as snprintf does: at most
   * bytes with the closing zero; returns the length without it (at most 16 MiB, the same in both calls), 0 = none for
   * this backend. Without one the CPU kernel runs between copies to and from the host: tsr_program_run then waits for
   * the device, the launch counts in tsr_program_n_fallbacks, and TSR_FALLBACK_ERROR makes it TSR_UNSUPPORTED. */
  size_t (*source)(void *user, const char *backend, const tsr_custom_call *call, char *text, size_t bytes);
  void *user;
  /* Optional: the op's derivative, for tsr_graph_grad; without one that is an error where the op is on the way. The
   * only callback that may call into the library: the functions named at tsr_custom_adjoint, whose statuses it passes
   * on. */
  tsr_status (*adjoint)(void *user, const tsr_custom_call *call, tsr_custom_adjoint *a);
} tsr_custom_op;
/* *op is copied, its name too. TSR_INVALID_ARGUMENT where the name is taken. */
TSR_API TSR_MUST_USE tsr_status tsr_custom_op_register(tsr_context *ctx, const tsr_custom_op *op);

/* ---- documentation --------------------------------------------------------------------------------------------- */

/* The op tables of all levels as JSON or markdown; free with tsr_text_free. */
TSR_API TSR_MUST_USE tsr_status tsr_ops_json(tsr_context *ctx, char **text);
TSR_API TSR_MUST_USE tsr_status tsr_ops_markdown(tsr_context *ctx, char **text);

#ifdef __cplusplus
}
#endif
#endif
