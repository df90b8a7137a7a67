/* bench/baselines/onednn.c - oneDNN 3.x through its C interface, declared here as far as it is used.
 * Plain operands use plain row-major formats throughout; with packed_b the weights have the format that oneDNN itself
 * asks for (format `any`), into which they are reordered when they are written. */
#include "bench/baselines/peer_impl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Values of oneDNN's enumerations (dnnl_types.h and dnnl_common_types.h, the same in all of 3.x). */
enum { DNNL_F16 = 1, DNNL_BF16 = 2, DNNL_F32 = 3, DNNL_S32 = 4, DNNL_S8 = 5, DNNL_U8 = 6 };
enum { DNNL_FORMAT_ANY = 1, DNNL_AB = 3, DNNL_ABC = 4, DNNL_CPU = 1, DNNL_STREAM_IN_ORDER = 1 };
enum { DNNL_ARG_SRC = 1, DNNL_ARG_DST = 17, DNNL_ARG_WEIGHTS = 33 };
enum { DNNL_QUERY_WEIGHTS_MD = 131, DNNL_MAX_NDIMS = 12 };
enum { OLDEST_MINOR = 0, NEWEST_MINOR = 40 };

typedef struct dnnl_object *dnnl_object;
typedef int64_t dnnl_dims[DNNL_MAX_NDIMS];
typedef struct dnnl_arg {
  int arg;
  dnnl_object memory;
} dnnl_arg;
typedef struct dnnl_version_info {
  int major, minor, patch;
  const char *hash;
  unsigned cpu_runtime, gpu_runtime;
} dnnl_version_info;

#define ENTRY_POINTS(X)                                                                                          \
  X(const dnnl_version_info *, version, (void))                                                                  \
  X(int, engine_create, (dnnl_object *, int kind, size_t index))                                                 \
  X(int, stream_create, (dnnl_object *, dnnl_object engine, unsigned flags))                                     \
  X(int, stream_wait, (dnnl_object))                                                                             \
  X(int, memory_desc_create_with_tag, (dnnl_object *, int ndims, const dnnl_dims dims, int type, int tag))       \
  X(int, memory_desc_destroy, (dnnl_object))                                                                     \
  X(int, memory_create, (dnnl_object *, dnnl_object desc, dnnl_object engine, void *handle))                     \
  X(int, memory_destroy, (dnnl_object))                                                                          \
  X(int, matmul_primitive_desc_create,                                                                           \
    (dnnl_object *, dnnl_object engine, dnnl_object src, dnnl_object weights, dnnl_object bias, dnnl_object dst, \
     dnnl_object attr))                                                                                          \
  X(int, reorder_primitive_desc_create,                                                                          \
    (dnnl_object *, dnnl_object src, dnnl_object src_engine, dnnl_object dst, dnnl_object dst_engine,            \
     dnnl_object attr))                                                                                          \
  X(dnnl_object, primitive_desc_query_md, (dnnl_object, int what, int index))                                    \
  X(int, primitive_desc_destroy, (dnnl_object))                                                                  \
  X(int, primitive_create, (dnnl_object *, dnnl_object desc))                                                    \
  X(int, primitive_execute, (dnnl_object, dnnl_object stream, int n, const dnnl_arg *))                          \
  X(int, primitive_destroy, (dnnl_object))

static struct {
#define DECLARE(type, name, args) type(*name) args;
  ENTRY_POINTS(DECLARE)
#undef DECLARE
} dnnl;
static void *lib;
static dnnl_object engine, stream;
static void (*set_num_threads)(int);

typedef struct onednn_set {
  dnnl_object src, weights, packed, dst; /* memories; packed is NULL with plain operands */
} onednn_set;

typedef struct onednn_job {
  peer_job base;
  dnnl_object src_desc, weights_desc, dst_desc; /* plain memory descriptors */
  dnnl_object desc, matmul, reorder;            /* primitive descriptor, primitives */
  onednn_set *sets;
} onednn_job;

static tsr_status failed(const char *call, int status) {
  static const char *const words[] = {"success",           "out of memory", "invalid arguments", "unimplemented",
                                      "last impl reached", "runtime error", "not required"};
  bool known = status >= 0 && status < (int)(sizeof words / sizeof *words);
  return st_make(NULL,
                 status == 1   ? TSR_OUT_OF_MEMORY
                 : status == 3 ? TSR_UNSUPPORTED
                               : TSR_LAUNCH_FAILED,
                 ST_WHERE("bench", NULL, NULL), "onednn: %s: %s", call, known ? words[status] : "unknown status");
}

#define DNNL_TRY(call, args)                              \
  do {                                                    \
    int dnnl_status_ = dnnl.call args;                    \
    if (dnnl_status_) return failed(#call, dnnl_status_); \
  } while (0)

/* Distributions name the file after the minor version; the unversioned name is a developer's. */
static tsr_status load_library(void) {
  char minors[NEWEST_MINOR - OLDEST_MINOR + 1][24];
  const char *names[NEWEST_MINOR - OLDEST_MINOR + 4] = {"libdnnl.so.3"};
  size_t n = 1;
  for (int minor = NEWEST_MINOR; minor >= OLDEST_MINOR; minor--, n++) {
    snprintf(minors[n - 1], sizeof minors[0], "libdnnl.so.3.%d", minor);
    names[n] = minors[n - 1];
  }
  names[n] = "libdnnl.so";
  return peer_load(names, "libdnnl3.6", &lib);
}

static tsr_status open_once(void) {
  if (stream) return NULL;
  TSR_TRY(load_library());
#define ROW(type, name, args) {"dnnl_" #name, &dnnl.name},
  const peer_symbol symbols[] = {ENTRY_POINTS(ROW)};
#undef ROW
  TSR_TRY(peer_symbols(lib, symbols, sizeof symbols / sizeof *symbols));
  if (dnnl.version()->major != 3)
    return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL), "onednn: version %d, needed is 3",
                   dnnl.version()->major);
  void *fn = dlsym(lib, "omp_set_num_threads"); /* from the OpenMP run-time it is linked to */
  memcpy(&set_num_threads, &fn, sizeof fn);
  if (!engine) DNNL_TRY(engine_create, (&engine, DNNL_CPU, 0));
  DNNL_TRY(stream_create, (&stream, engine, DNNL_STREAM_IN_ORDER));
  return NULL;
}

static const char *describe(void) {
  static char text[64];
  const dnnl_version_info *v = dnnl.version();
  snprintf(text, sizeof text, "onednn %d.%d.%d", v->major, v->minor, v->patch);
  return text;
}

static int type_of(tsr_dtype t) {
  switch (t) {
    case TSR_F32: return DNNL_F32;
    case TSR_F16: return DNNL_F16;
    case TSR_BF16: return DNNL_BF16;
    case TSR_I8: return DNNL_S8;
    case TSR_U8: return DNNL_U8;
    case TSR_I32: return DNNL_S32;
    default: return 0;
  }
}

static tsr_status create_primitives(onednn_job *j) {
  const peer_desc *d = &j->base.desc;
  const bool batched = d->batch > 1;
  const int ndims = batched ? 3 : 2, tag = batched ? DNNL_ABC : DNNL_AB;
  const int64_t sizes[3][3] = {{d->batch, d->m, d->k}, {d->batch, d->k, d->n}, {d->batch, d->m, d->n}};
  dnnl_dims dims[3] = {{0}};
  for (int i = 0; i < 3; i++) memcpy(dims[i], sizes[i] + !batched, (size_t)ndims * sizeof(int64_t));
  int weights_type = type_of(d->dtype == TSR_U8 ? TSR_I8 : d->dtype);
  DNNL_TRY(memory_desc_create_with_tag, (&j->src_desc, ndims, dims[0], type_of(d->dtype), tag));
  DNNL_TRY(memory_desc_create_with_tag, (&j->weights_desc, ndims, dims[1], weights_type, tag));
  DNNL_TRY(memory_desc_create_with_tag, (&j->dst_desc, ndims, dims[2], type_of(d->out_dtype), tag));
  dnnl_object any = NULL;
  if (d->packed_b) DNNL_TRY(memory_desc_create_with_tag, (&any, ndims, dims[1], weights_type, DNNL_FORMAT_ANY));
  int status = dnnl.matmul_primitive_desc_create(&j->desc, engine, j->src_desc, any ? any : j->weights_desc, NULL,
                                                 j->dst_desc, NULL);
  dnnl.memory_desc_destroy(any);
  if (status) return failed("matmul_primitive_desc_create", status);
  DNNL_TRY(primitive_create, (&j->matmul, j->desc));
  if (!d->packed_b) return NULL;
  dnnl_object reorder_desc = NULL;
  DNNL_TRY(reorder_primitive_desc_create,
           (&reorder_desc, j->weights_desc, engine, dnnl.primitive_desc_query_md(j->desc, DNNL_QUERY_WEIGHTS_MD, 0),
            engine, NULL));
  status = dnnl.primitive_create(&j->reorder, reorder_desc);
  dnnl.primitive_desc_destroy(reorder_desc);
  return status ? failed("primitive_create", status) : NULL;
}

static tsr_status create(peer_job *job) {
  onednn_job *j = (onednn_job *)job;
  const peer_desc *d = &job->desc;
  if (strcmp(d->device, "cpu")) return peer_unsupported(job->peer, "runs on the CPU only");
  if (d->op != PEER_MATMUL) return peer_unsupported(job->peer, "is compared in matmul only");
  if (!type_of(d->dtype) || !type_of(d->out_dtype)) return peer_unsupported(job->peer, "no such data type");
  if (set_num_threads) set_num_threads(d->threads);
  TSR_TRY(create_primitives(j));
  j->sets = al_zalloc(NULL, (size_t)d->n_sets * sizeof *j->sets);
  if (!j->sets) return st_oom();
  for (int s = 0; s < d->n_sets; s++) {
    onednn_set *m = &j->sets[s];
    const peer_host *h = &job->host[s];
    DNNL_TRY(memory_create, (&m->src, j->src_desc, engine, h->operand[0]));
    DNNL_TRY(memory_create, (&m->weights, j->weights_desc, engine, h->operand[1]));
    DNNL_TRY(memory_create, (&m->dst, j->dst_desc, engine, h->out));
    if (d->packed_b) { /* (void *)-1: oneDNN allocates, since only it knows the size of its format */
      DNNL_TRY(memory_create,
               (&m->packed, dnnl.primitive_desc_query_md(j->desc, DNNL_QUERY_WEIGHTS_MD, 0), engine, (void *)-1));
    }
  }
  return NULL;
}

static tsr_status written(peer_job *job, int set, int operand) {
  onednn_job *j = (onednn_job *)job;
  if (operand != 1 || !j->reorder) return NULL;
  const dnnl_arg args[] = {{DNNL_ARG_SRC, j->sets[set].weights}, {DNNL_ARG_DST, j->sets[set].packed}};
  DNNL_TRY(primitive_execute, (j->reorder, stream, 2, args));
  DNNL_TRY(stream_wait, (stream));
  return NULL;
}

static tsr_status run(peer_job *job, int set) {
  const onednn_job *j = (const onednn_job *)job;
  const onednn_set *m = &j->sets[set];
  const dnnl_arg args[] = {
      {DNNL_ARG_SRC, m->src}, {DNNL_ARG_WEIGHTS, m->packed ? m->packed : m->weights}, {DNNL_ARG_DST, m->dst}};
  if (set_num_threads) set_num_threads(job->desc.threads);
  DNNL_TRY(primitive_execute, (j->matmul, stream, 3, args));
  DNNL_TRY(stream_wait, (stream));
  return NULL;
}

static void destroy(peer_job *job) {
  onednn_job *j = (onednn_job *)job;
  for (int s = 0; j->sets && s < job->desc.n_sets; s++) {
    dnnl.memory_destroy(j->sets[s].src);
    dnnl.memory_destroy(j->sets[s].weights);
    dnnl.memory_destroy(j->sets[s].packed);
    dnnl.memory_destroy(j->sets[s].dst);
  }
  al_free(NULL, j->sets, (size_t)job->desc.n_sets * sizeof *j->sets, 16);
  dnnl.primitive_destroy(j->reorder);
  dnnl.primitive_destroy(j->matmul);
  dnnl.primitive_desc_destroy(j->desc);
  dnnl.memory_desc_destroy(j->src_desc);
  dnnl.memory_desc_destroy(j->weights_desc);
  dnnl.memory_desc_destroy(j->dst_desc);
}

const peer peer_onednn = {.name = "onednn",
                          .open = open_once,
                          .describe = describe,
                          .create = create,
                          .written = written,
                          .run = run,
                          .destroy = destroy,
                          .job_size = sizeof(onednn_job)};
