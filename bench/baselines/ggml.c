/* bench/baselines/ggml.c - ggml's CPU and Vulkan backends through its C interface, declared here as far as it is used.
 * ggml multiplies by a weight matrix kept transposed, [n,k], which its users prepare once: peer_write does so, and
 * plain and packed-ahead B are the same here. Results of matmul are always f32. For Vulkan ggml leaves CPU drivers such
 * as lavapipe out unless GGML_VK_VISIBLE_DEVICES names them: where it finds no other device, this file names the first.
 */
#include "bench/baselines/peer_impl.h"
#include "core/base/dtype.h"

#include <stdlib.h>
#include <string.h>
#include <stdio.h>

enum { GGML_TYPE_F32 = 0, GGML_TYPE_F16 = 1, GGML_TYPE_BF16 = 30 };
enum { GGML_STATUS_SUCCESS = 0 };
#define VISIBLE "GGML_VK_VISIBLE_DEVICES"

typedef struct ggml_object *ggml_object; /* context, tensor, graph, device, backend, buffer, registry */
typedef struct ggml_init_params {
  size_t mem_size;
  void *mem_buffer;
  bool no_alloc;
} ggml_init_params;

#define BASE_ENTRY_POINTS(X)                                                                   \
  X(ggml_object, init, (ggml_init_params))                                                     \
  X(void, free, (ggml_object context))                                                         \
  X(const char *, version, (void))                                                             \
  X(void, log_set, (void (*)(int level, const char *text, void *user), void *user))             \
  X(size_t, tensor_overhead, (void))                                                           \
  X(size_t, graph_overhead, (void))                                                            \
  X(ggml_object, new_tensor_3d, (ggml_object context, int type, int64_t, int64_t, int64_t))     \
  X(ggml_object, mul_mat, (ggml_object context, ggml_object weights, ggml_object a))           \
  X(ggml_object, soft_max, (ggml_object context, ggml_object a))                               \
  X(ggml_object, rms_norm, (ggml_object context, ggml_object a, float epsilon))                \
  X(ggml_object, norm, (ggml_object context, ggml_object a, float epsilon))                    \
  X(ggml_object, add, (ggml_object context, ggml_object a, ggml_object b))                     \
  X(ggml_object, new_graph, (ggml_object context))                                             \
  X(void, build_forward_expand, (ggml_object graph, ggml_object tensor))                       \
  X(ggml_object, backend_alloc_ctx_tensors, (ggml_object context, ggml_object backend))        \
  X(void, backend_buffer_free, (ggml_object buffer))                                           \
  X(void, backend_buffer_clear, (ggml_object buffer, uint8_t value))                           \
  X(void, backend_tensor_set, (ggml_object tensor, const void *, size_t offset, size_t bytes)) \
  X(void, backend_tensor_get, (ggml_object tensor, void *, size_t offset, size_t bytes))       \
  X(bool, backend_supports_op, (ggml_object backend, ggml_object tensor))                      \
  X(int, backend_graph_compute, (ggml_object backend, ggml_object graph))                      \
  X(void, backend_free, (ggml_object backend))                                                 \
  X(ggml_object, backend_dev_init, (ggml_object device, const char *params))                   \
  X(const char *, backend_dev_name, (ggml_object device))                                      \
  X(const char *, backend_dev_description, (ggml_object device))                               \
  X(ggml_object, backend_dev_backend_reg, (ggml_object device))                                \
  X(void *, backend_reg_get_proc_address, (ggml_object registry, const char *name))
#define LOADER_ENTRY_POINTS(X)            \
  X(void, backend_load_all, (void))       \
  X(size_t, backend_dev_count, (void))    \
  X(ggml_object, backend_dev_get, (size_t))

static struct {
#define DECLARE(type, name, args) type(*name) args;
  BASE_ENTRY_POINTS(DECLARE)
  LOADER_ENTRY_POINTS(DECLARE)
#undef DECLARE
} ggml;
static void *base_lib, *lib;

typedef struct ggml_set {
  ggml_object operand[2], out, graph;
} ggml_set;

typedef struct ggml_job {
  peer_job base;
  ggml_object backend, context, buffer;
  int a_type; /* of the matmul's operand 0 as ggml holds it */
  ggml_set *sets;
} ggml_job;

static void no_log(int level, const char *text, void *user) {}

static tsr_status load(void) {
  static const char *const base_names[] = {"libggml-base.so.0", NULL}, *const names[] = {"libggml.so.0", NULL};
  TSR_TRY(peer_load(base_names, "libggml0", &base_lib));
  TSR_TRY(peer_load(names, "libggml0", &lib));
#define ROW(type, name, args) {"ggml_" #name, &ggml.name},
  const peer_symbol base_symbols[] = {BASE_ENTRY_POINTS(ROW)}, symbols[] = {LOADER_ENTRY_POINTS(ROW)};
#undef ROW
  TSR_TRY(peer_symbols(base_lib, base_symbols, sizeof base_symbols / sizeof *base_symbols));
  return peer_symbols(lib, symbols, sizeof symbols / sizeof *symbols);
}

/* The first device whose name begins with `prefix` ("CPU", "Vulkan"), NULL if there is none. */
static ggml_object find_device(const char *prefix) {
  for (size_t i = 0; i < ggml.backend_dev_count(); i++) {
    ggml_object device = ggml.backend_dev_get(i);
    if (!strncmp(ggml.backend_dev_name(device), prefix, strlen(prefix))) return device;
  }
  return NULL;
}

static void load_backends(void) {
  ggml.log_set(no_log, NULL);
  ggml.backend_load_all();
}

static double has_vulkan(void) {
  load_backends();
  return find_device("Vulkan") ? 1 : 0;
}

static tsr_status open_once(void) {
  static bool opened;
  if (opened) return NULL;
  TSR_TRY(load());
  if (!getenv(VISIBLE) && !peer_probe(NULL, NULL, has_vulkan) && peer_probe(VISIBLE, "0", has_vulkan))
    setenv(VISIBLE, "0", 1);
  load_backends();
  if (!find_device("CPU"))
    return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL), "ggml: no CPU backend could be loaded");
  opened = true;
  return NULL;
}

static const char *describe(void) {
  static char text[160];
  ggml_object vulkan = find_device("Vulkan");
  snprintf(text, sizeof text, "ggml %s cpu%s%s", ggml.version(), vulkan ? " and vulkan on " : "",
           vulkan ? ggml.backend_dev_description(vulkan) : "");
  return text;
}

static int type_of(tsr_dtype t) {
  switch (t) {
    case TSR_F32: return GGML_TYPE_F32;
    case TSR_F16: return GGML_TYPE_F16;
    case TSR_BF16: return GGML_TYPE_BF16;
    default: return -1;
  }
}

static tsr_status open_device(ggml_job *j) {
  const peer_desc *d = &j->base.desc;
  bool vulkan = !strcmp(d->device, "vulkan");
  if (!vulkan && strcmp(d->device, "cpu")) return peer_unsupported(j->base.peer, "has no such device here");
  ggml_object device = find_device(vulkan ? "Vulkan" : "CPU");
  if (!device)
    return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, "package libggml0-backend-vulkan; VK_DRIVER_FILES"),
                   "ggml finds no Vulkan device");
  j->backend = ggml.backend_dev_init(device, NULL);
  if (!j->backend)
    return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL), "ggml can't open its %s device", d->device);
  void (*set_n_threads)(ggml_object, int) = NULL;
  void *fn = ggml.backend_reg_get_proc_address(ggml.backend_dev_backend_reg(device), "ggml_backend_set_n_threads");
  memcpy(&set_n_threads, &fn, sizeof fn);
  if (set_n_threads) set_n_threads(j->backend, d->threads);
  return NULL;
}

/* ggml's shapes begin with the innermost dimension. */
static ggml_object row_op(ggml_job *j, ggml_set *s, int type) {
  const peer_desc *d = &j->base.desc;
  for (int i = 0; i < 2; i++)
    if (peer_count(d, i)) s->operand[i] = ggml.new_tensor_3d(j->context, type, d->n, d->m, 1);
  switch (d->op) {
    case PEER_SOFTMAX: return ggml.soft_max(j->context, s->operand[0]);
    case PEER_RMSNORM: return ggml.rms_norm(j->context, s->operand[0], PEER_EPSILON);
    case PEER_LAYERNORM: return ggml.norm(j->context, s->operand[0], PEER_EPSILON);
    default: return ggml.add(j->context, s->operand[0], s->operand[1]);
  }
}

static ggml_object matmul(ggml_job *j, ggml_set *s, int type) {
  const peer_desc *d = &j->base.desc;
  s->operand[0] = ggml.new_tensor_3d(j->context, j->a_type, d->k, d->m, d->batch);
  s->operand[1] = ggml.new_tensor_3d(j->context, type, d->k, d->n, d->batch);
  return ggml.mul_mat(j->context, s->operand[1], s->operand[0]);
}

static void build_graphs(ggml_job *j, int type) {
  for (int i = 0; i < j->base.desc.n_sets; i++) {
    ggml_set *s = &j->sets[i];
    s->out = j->base.desc.op == PEER_MATMUL ? matmul(j, s, type) : row_op(j, s, type);
    s->graph = ggml.new_graph(j->context);
    ggml.build_forward_expand(s->graph, s->out);
  }
}

static tsr_status build(ggml_job *j, int type) {
  size_t n = (size_t)j->base.desc.n_sets;
  ggml_init_params params = {.mem_size = n * (4 * ggml.tensor_overhead() + ggml.graph_overhead()) + 4096,
                             .no_alloc = true};
  if (j->context) ggml.free(j->context);
  j->context = ggml.init(params);
  if (!j->context) return st_oom();
  build_graphs(j, type);
  return NULL;
}

static tsr_status create(peer_job *job) {
  ggml_job *j = (ggml_job *)job;
  peer_desc *d = &job->desc;
  int type = type_of(d->dtype);
  if (type < 0) return peer_unsupported(job->peer, "no plain integer kernels, and no such data type");
  TSR_TRY(open_device(j));
  j->sets = al_zalloc(NULL, (size_t)d->n_sets * sizeof *j->sets);
  if (!j->sets) return st_oom();
  j->a_type = type;
  if (peer_is_transform(d->op)) return peer_unsupported(job->peer, "has no such operation");
  d->out_dtype = d->op == PEER_MATMUL ? TSR_F32 : d->dtype;
  TSR_TRY(build(j, type));
  if (!ggml.backend_supports_op(j->backend, j->sets[0].out) && d->op == PEER_MATMUL) {
    j->a_type = GGML_TYPE_F32; /* what its users have as activations */
    TSR_TRY(build(j, type));
  }
  if (!ggml.backend_supports_op(j->backend, j->sets[0].out))
    return peer_unsupported(job->peer, "no kernel for this operation and data type");
  j->buffer = ggml.backend_alloc_ctx_tensors(j->context, j->backend);
  if (!j->buffer) return st_oom();
  ggml.backend_buffer_clear(j->buffer, 0);
  return NULL;
}

/* [batch,k,n] to [batch,n,k]. */
static void transpose(const peer_desc *d, const char *from, char *to) {
  size_t size = tsr_dtype_size(d->dtype), k = (size_t)d->k, n = (size_t)d->n;
  for (size_t b = 0; b < (size_t)d->batch; b++, from += k * n * size, to += k * n * size)
    for (size_t i = 0; i < k; i++)
      for (size_t j = 0; j < n; j++) memcpy(to + (j * k + i) * size, from + (i * n + j) * size, size);
}

static void put(ggml_job *j, int set, int operand, const void *data, size_t bytes) {
  ggml.backend_tensor_set(j->sets[set].operand[operand], data, 0, bytes);
}

static tsr_status write_operand(peer_job *job, int set, int operand, const void *data) {
  ggml_job *j = (ggml_job *)job;
  const peer_desc *d = &job->desc;
  size_t n = peer_count(d, operand), bytes = n * tsr_dtype_size(d->dtype);
  bool transposed = d->op == PEER_MATMUL && operand == 1;
  bool widened = d->op == PEER_MATMUL && operand == 0 && j->a_type != type_of(d->dtype);
  void *copy = transposed ? malloc(bytes) : widened ? malloc(n * sizeof(float)) : NULL;
  if ((transposed || widened) && !copy) return st_oom();
  if (transposed) {
    transpose(d, data, copy);
    put(j, set, operand, copy, bytes);
  } else if (widened) {
    for (size_t i = 0; i < n; i++) ((float *)copy)[i] = (float)dtype_load(d->dtype, data, i);
    put(j, set, operand, copy, n * sizeof(float));
  } else {
    put(j, set, operand, data, bytes);
  }
  free(copy);
  return NULL;
}

static tsr_status run(peer_job *job, int set) {
  ggml_job *j = (ggml_job *)job;
  int status = ggml.backend_graph_compute(j->backend, j->sets[set].graph);
  if (status == GGML_STATUS_SUCCESS) return NULL;
  return st_make(NULL, TSR_LAUNCH_FAILED, ST_WHERE("bench", NULL, NULL), "ggml: graph_compute failed with status %d",
                 status);
}

static void read_result(peer_job *job, int set, void *out) {
  const ggml_job *j = (const ggml_job *)job;
  ggml.backend_tensor_get(j->sets[set].out, out, 0, peer_count(&job->desc, 2) * tsr_dtype_size(job->desc.out_dtype));
}

static void destroy(peer_job *job) {
  ggml_job *j = (ggml_job *)job;
  if (j->buffer) ggml.backend_buffer_free(j->buffer);
  if (j->context) ggml.free(j->context);
  if (j->backend) ggml.backend_free(j->backend);
  al_free(NULL, j->sets, (size_t)job->desc.n_sets * sizeof *j->sets, 16);
}

const peer peer_ggml = {.name = "ggml",
                        .open = open_once,
                        .describe = describe,
                        .create = create,
                        .write = write_operand,
                        .run = run,
                        .read = read_result,
                        .destroy = destroy,
                        .job_size = sizeof(ggml_job)};
