/* bench/baselines/blaslt.c - cuBLASLt and hipBLASLt: one interface twice, loaded at run time with the vendor's driver.
 * Matmuls are computed as the transposed product in column-major order; 8-bit B is brought into the [n, k] layout that
 * the libraries want for it when it is written. The heuristic's first algorithm with 64 MiB of workspace is used. fp8
 * sums as our kernels do, in the matrix unit's own precision (cuBLASLt calls that fast accumulation). gfx942 knows
 * 8-bit floats of the FNUZ kind only: it is given those, with the same bits. TSR_CUBLASLT and TSR_HIPBLASLT name other
 * libraries, TSR_LIBCUDA and TSR_LIBHIP other drivers. Sources: cuBLASLt and hipBLASLt API references; the two differ
 * in the values of some enumerations (table `vendors`). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/baselines/peer_impl.h"
#include "core/base/knob.h"

enum { WORKSPACE = 64 << 20, HEURISTIC_BYTES = 96 };

#define LT_CALLS(X)                                                                              \
  X(Create, (void **handle))                                                                     \
  X(MatmulDescCreate, (void **desc, int compute, int scale))                                     \
  X(MatmulDescSetAttribute, (void *desc, int attr, const void *value, size_t bytes))             \
  X(MatmulDescDestroy, (void *desc))                                                             \
  X(MatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld))     \
  X(MatrixLayoutSetAttribute, (void *layout, int attr, const void *value, size_t bytes))         \
  X(MatrixLayoutDestroy, (void *layout))                                                         \
  X(MatmulPreferenceCreate, (void **preference))                                                 \
  X(MatmulPreferenceSetAttribute, (void *preference, int attr, const void *value, size_t bytes)) \
  X(MatmulPreferenceDestroy, (void *preference))                                                 \
  X(MatmulAlgoGetHeuristic, (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int n, void *results, int *found)) \
  X(Matmul, (void *handle, void *desc, const void *alpha, const void *a, void *la, const void *b, void *lb, const void *beta, const void *c, void *lc, \
             void *d, void *ld, const void *algo, void *workspace, size_t bytes, void *stream))

typedef struct vendor {
  const char *name, *prefix, *package, *lib_knob, *driver_knob;
  const char *libs[5], *drivers[5];
  const char *init, *retain, *current, *alloc, *release, *to_device, *to_host, *sync, *event_create, *event_destroy,
      *event_record, *event_sync, *event_elapsed;
  int compute_f32, compute_f64, compute_tf32, compute_i32, trans_a, trans, batch_count, batch_stride,
      fast_sums; /* trans: the value "transposed"; fast_sums: an attribute, -1 = none */
  void *lib, *driver, *context, *handle, *workspace, *from, *to;
  int index;
  char text[64];
#define FIELD(field, args) int(*field) args;
  LT_CALLS(FIELD)
#undef FIELD
  int (*retain_context)(void **, int), (*make_current)(void *), (*mem_alloc)(void **, size_t), (*mem_free)(void *),
      (*write)(void *, const void *, size_t), (*read)(void *, void *, size_t), (*wait)(void);
  int (*new_event)(void **, unsigned), (*end_event)(void *), (*record)(void *, void *), (*wait_event)(void *),
      (*elapsed)(float *, void *, void *);
} vendor;

static vendor vendors[2] = {
    {.name = "cublaslt", .prefix = "cublasLt", .package = "the CUDA toolkit", .lib_knob = "TSR_CUBLASLT", .driver_knob = "TSR_LIBCUDA",
     .libs = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", "/usr/local/cuda/lib64/libcublasLt.so"},
     .drivers = {"libcuda.so.1"}, .init = "cuInit", .retain = "cuDevicePrimaryCtxRetain", .current = "cuCtxSetCurrent", .alloc = "cuMemAlloc_v2", .release = "cuMemFree_v2",
     .to_device = "cuMemcpyHtoD_v2", .to_host = "cuMemcpyDtoH_v2", .sync = "cuCtxSynchronize", .event_create = "cuEventCreate", .event_destroy = "cuEventDestroy_v2", .event_record = "cuEventRecord",
     .event_sync = "cuEventSynchronize", .event_elapsed = "cuEventElapsedTime", .compute_f32 = 68, .compute_f64 = 70, .compute_tf32 = 77, .compute_i32 = 72, .trans_a = 3, .trans = 1, .batch_count = 5,
     .batch_stride = 6, .fast_sums = 25},
    {.name = "hipblaslt", .prefix = "hipblasLt", .package = "ROCm", .lib_knob = "TSR_HIPBLASLT", .driver_knob = "TSR_LIBHIP",
     .libs = {"libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so", "/opt/rocm/lib/libhipblaslt.so"},
     .drivers = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so"}, .init = "hipInit", .retain = "hipDevicePrimaryCtxRetain", .current = "hipCtxSetCurrent", .alloc = "hipMalloc",
     .release = "hipFree", .to_device = "hipMemcpyHtoD", .to_host = "hipMemcpyDtoH", .sync = "hipDeviceSynchronize", .event_create = "hipEventCreateWithFlags", .event_destroy = "hipEventDestroy",
     .event_record = "hipEventRecord", .event_sync = "hipEventSynchronize", .event_elapsed = "hipEventElapsedTime", .compute_f32 = 2, .compute_f64 = 7, .compute_tf32 = 6, .compute_i32 = 9, .trans_a = 0,
     .trans = 112, .batch_count = 0, .batch_stride = 1, .fast_sums = -1},
};

typedef struct lt_job {
  peer_job base;
  void *desc, *a, *b, *c;
  unsigned char found[HEURISTIC_BYTES];
  void **device; /* three a set */
} lt_job;

static vendor *vendor_of(const peer_job *j) { return &vendors[!strcmp(j->peer->name, "hipblaslt")]; }

static tsr_status failed(const vendor *v, const char *call, int code) {
  return st_make(NULL, TSR_LAUNCH_FAILED, ST_WHERE("bench", NULL, NULL), "%s: %s: status %d", v->name, call, code);
}
#define LT_TRY(v, call, args)                          \
  do {                                                 \
    int code_ = (v)->call args;                        \
    if (code_) return failed(v, #call, code_);         \
  } while (0)

/* The library that the variable names, alone, or the usual ones. */
static tsr_status open_library(const char *wanted, const char *const *usual, const char *package, void **lib) {
  const char *const list[2] = {wanted, NULL};
  return peer_load(wanted && *wanted ? list : usual, package, lib);
}

static tsr_status open_vendor(vendor *v) {
  char name[64];
  int (*init)(unsigned);
  if (v->lib && v->driver && v->Create) return NULL;
  TSR_TRY(open_library(knob_str(v->driver_knob), v->drivers, "the GPU's driver", &v->driver));
  TSR_TRY(open_library(knob_str(v->lib_knob), v->libs, v->package, &v->lib));
  const peer_symbol driver[] = {{v->init, &init},
                                {v->retain, &v->retain_context},
                                {v->current, &v->make_current},
                                {v->alloc, &v->mem_alloc},
                                {v->release, &v->mem_free},
                                {v->to_device, &v->write},
                                {v->to_host, &v->read},
                                {v->sync, &v->wait},
                                {v->event_create, &v->new_event},
                                {v->event_destroy, &v->end_event},
                                {v->event_record, &v->record},
                                {v->event_sync, &v->wait_event},
                                {v->event_elapsed, &v->elapsed}};
  TSR_TRY(peer_symbols(v->driver, driver, sizeof driver / sizeof *driver));
  int code = init(0);
  if (code) return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL), "%s: no device (%d)", v->name, code);
#define LOAD(field, args)                                           \
  snprintf(name, sizeof name, "%s" #field, v->prefix);              \
  TSR_TRY(peer_symbols(v->lib, &(peer_symbol){name, &v->field}, 1));
  LT_CALLS(LOAD)
#undef LOAD
  snprintf(v->text, sizeof v->text, "%s", v->name);
  return NULL;
}

/* Handle, workspace and events on the device that is measured; made once, for the first job. */
static tsr_status use_device(vendor *v, int index) {
  void *context = NULL;
  if (v->handle && v->index != index)
    return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", NULL, NULL), "%s: in use on device %d of this process",
                   v->name, v->index);
  if (!v->context) {
    LT_TRY(v, retain_context, (&context, index));
    v->context = context;
    v->index = index;
  }
  LT_TRY(v, make_current, (v->context));
  if (v->handle) return NULL;
  if (!v->workspace) LT_TRY(v, mem_alloc, (&v->workspace, WORKSPACE));
  if (!v->from) LT_TRY(v, new_event, (&v->from, 0));
  if (!v->to) LT_TRY(v, new_event, (&v->to, 0));
  LT_TRY(v, Create, (&v->handle));
  return NULL;
}

static int data_type(tsr_dtype t) {
  switch (t) {
  case TSR_F32: case TSR_TF32: return 0;
  case TSR_F64: return 1;
  case TSR_F16: return 2;
  case TSR_I8: return 3;
  case TSR_I32: return 10;
  case TSR_BF16: return 14;
  case TSR_F8E4M3: return 28;
  case TSR_F8E5M2: return 29;
  default: return -1;
  }
}

static bool narrow(tsr_dtype t) { return tsr_dtype_size(t) == 1; }

static tsr_status set_batch(vendor *v, void *layout, int64_t batch, int64_t stride) {
  int32_t n = (int32_t)batch;
  if (batch == 1) return NULL;
  LT_TRY(v, MatrixLayoutSetAttribute, (layout, v->batch_count, &n, sizeof n));
  LT_TRY(v, MatrixLayoutSetAttribute, (layout, v->batch_stride, &stride, sizeof stride));
  return NULL;
}

static tsr_status make_layouts(vendor *v, lt_job *j, int in) {
  const peer_desc *d = &j->base.desc;
  if (narrow(d->dtype)) LT_TRY(v, MatrixLayoutCreate, (&j->b, in, (uint64_t)d->k, (uint64_t)d->n, d->k));
  else LT_TRY(v, MatrixLayoutCreate, (&j->b, in, (uint64_t)d->n, (uint64_t)d->k, d->n));
  LT_TRY(v, MatrixLayoutCreate, (&j->a, in, (uint64_t)d->k, (uint64_t)d->m, d->k));
  LT_TRY(v, MatrixLayoutCreate, (&j->c, data_type(d->out_dtype), (uint64_t)d->n, (uint64_t)d->m, d->n));
  TSR_TRY(set_batch(v, j->a, d->batch, d->m * d->k));
  TSR_TRY(set_batch(v, j->b, d->batch, d->n * d->k));
  return set_batch(v, j->c, d->batch, d->n * d->m);
}

static void drop_layouts(vendor *v, lt_job *j) {
  if (j->a) v->MatrixLayoutDestroy(j->a);
  if (j->b) v->MatrixLayoutDestroy(j->b);
  if (j->c) v->MatrixLayoutDestroy(j->c);
  j->a = j->b = j->c = NULL;
}

static bool find_algorithm(vendor *v, lt_job *j) {
  void *preference = NULL;
  size_t workspace = WORKSPACE;
  int found = 0;
  if (v->MatmulPreferenceCreate(&preference)) return false;
  v->MatmulPreferenceSetAttribute(preference, 1, &workspace, sizeof workspace);
  int code = v->MatmulAlgoGetHeuristic(v->handle, j->desc, j->b, j->a, j->c, j->c, preference, 1, j->found, &found);
  v->MatmulPreferenceDestroy(preference);
  return !code && found;
}

static tsr_status create(peer_job *job) {
  lt_job *j = (lt_job *)job;
  vendor *v = vendor_of(job);
  peer_desc *d = &job->desc;
  int in = data_type(d->dtype);
  bool f8 = d->dtype == TSR_F8E4M3 || d->dtype == TSR_F8E5M2;
  if (d->op != PEER_MATMUL || in < 0 || d->dtype == TSR_I32) return peer_unsupported(job->peer, "this op or type");
  TSR_TRY(use_device(v, d->index));
  if (f8) d->out_dtype = TSR_BF16;
  if (d->dtype == TSR_TF32) d->out_dtype = TSR_F32;
  int compute = d->dtype == TSR_I8     ? v->compute_i32
                : d->dtype == TSR_TF32 ? v->compute_tf32
                : d->dtype == TSR_F64  ? v->compute_f64
                                       : v->compute_f32;
  LT_TRY(v, MatmulDescCreate, (&j->desc, compute, d->dtype == TSR_I8 ? 10 : d->dtype == TSR_F64 ? 1 : 0));
  if (narrow(d->dtype)) LT_TRY(v, MatmulDescSetAttribute, (j->desc, v->trans_a, &v->trans, sizeof v->trans));
  if (f8 && v->fast_sums >= 0) LT_TRY(v, MatmulDescSetAttribute, (j->desc, v->fast_sums, &(int8_t){1}, 1));
  TSR_TRY(make_layouts(v, j, in));
  bool found = find_algorithm(v, j);
  if (!found && f8 && v == &vendors[1]) {
    drop_layouts(v, j);
    TSR_TRY(make_layouts(v, j, d->dtype == TSR_F8E4M3 ? 1000 : 1001)); /* HIP_R_8F_E4M3_FNUZ, HIP_R_8F_E5M2_FNUZ */
    found = find_algorithm(v, j);
  }
  if (!found) return peer_unsupported(job->peer, "no algorithm for this shape");
  if (!(j->device = calloc((size_t)d->n_sets * 3, sizeof *j->device))) return st_oom();
  for (int s = 0; s < d->n_sets; s++)
    for (int w = 0; w < 3; w++)
      LT_TRY(v, mem_alloc, (&j->device[3 * s + w], peer_count(d, w) * tsr_dtype_size(w < 2 ? d->dtype : d->out_dtype)));
  return NULL;
}

/* [k, n] of bytes to [n, k], for each of a batch. */
static void transpose(const peer_desc *d, const uint8_t *from, uint8_t *to) {
  for (int64_t z = 0; z < d->batch; z++, from += d->k * d->n, to += d->k * d->n)
    for (int64_t k = 0; k < d->k; k++)
      for (int64_t n = 0; n < d->n; n++) to[n * d->k + k] = from[k * d->n + n];
}

static tsr_status write_operand(peer_job *job, int set, int operand, const void *data) {
  lt_job *j = (lt_job *)job;
  vendor *v = vendor_of(job);
  size_t bytes = peer_count(&job->desc, operand) * tsr_dtype_size(job->desc.dtype);
  void *transposed = NULL;
  if (operand == 1 && narrow(job->desc.dtype)) {
    if (!(transposed = malloc(bytes))) return st_oom();
    transpose(&job->desc, data, transposed);
  }
  int code = v->write(j->device[3 * set + operand], transposed ? transposed : data, bytes);
  free(transposed);
  return code ? failed(v, "copy to the device", code) : NULL;
}

static tsr_status run(peer_job *job, int set) {
  lt_job *j = (lt_job *)job;
  vendor *v = vendor_of(job);
  void **x = &j->device[3 * set];
  static const union { float f; int32_t i; double d; } one[3] = {{.f = 1}, {.i = 1}, {.d = 1}}, zero = {.d = 0};
  const void *alpha = &one[job->desc.dtype == TSR_I8 ? 1 : job->desc.dtype == TSR_F64 ? 2 : 0];
  LT_TRY(v, Matmul,
         (v->handle, j->desc, alpha, x[1], j->b, x[0], j->a, &zero, x[2], j->c, x[2], j->c, j->found, v->workspace,
          WORKSPACE, NULL));
  return NULL;
}

static tsr_status clock_start(peer_job *job) {
  vendor *v = vendor_of(job);
  LT_TRY(v, make_current, (v->context));
  LT_TRY(v, record, (v->from, NULL));
  return NULL;
}

static tsr_status clock_stop(peer_job *job, double *us) {
  vendor *v = vendor_of(job);
  float ms = 0;
  LT_TRY(v, record, (v->to, NULL));
  LT_TRY(v, wait_event, (v->to));
  LT_TRY(v, elapsed, (&ms, v->from, v->to));
  *us = 1e3 * (double)ms;
  return NULL;
}

static tsr_status wait_all(peer_job *job) {
  vendor *v = vendor_of(job);
  LT_TRY(v, wait, ());
  return NULL;
}

static void read_result(peer_job *job, int set, void *out) {
  lt_job *j = (lt_job *)job;
  if (vendor_of(job)->read(out, j->device[3 * set + 2],
                           peer_count(&job->desc, 2) * tsr_dtype_size(job->desc.out_dtype)))
    memset(out, 0xff, peer_count(&job->desc, 2));
}

static void destroy(peer_job *job) {
  lt_job *j = (lt_job *)job;
  vendor *v = vendor_of(job);
  for (int i = 0; j->device && i < 3 * job->desc.n_sets; i++)
    if (j->device[i]) v->mem_free(j->device[i]);
  free(j->device);
  if (j->desc) v->MatmulDescDestroy(j->desc);
  drop_layouts(v, j);
}

static tsr_status open_cuda(void) { return open_vendor(&vendors[0]); }
static tsr_status open_hip(void) { return open_vendor(&vendors[1]); }
static const char *describe_cuda(void) { return vendors[0].text; }
static const char *describe_hip(void) { return vendors[1].text; }

#define LT_PEER(n, o, d) \
  {.name = n, .open = o, .describe = d, .create = create, .write = write_operand, .run = run, .wait = wait_all, .clock_start = clock_start, .clock_stop = clock_stop, .read = read_result, .destroy = destroy, .job_size = sizeof(lt_job)}
const peer peer_cublaslt = LT_PEER("cublaslt", open_cuda, describe_cuda);
const peer peer_hipblaslt = LT_PEER("hipblaslt", open_hip, describe_hip);
