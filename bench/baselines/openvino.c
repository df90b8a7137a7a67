/* bench/baselines/openvino.c - OpenVINO's CPU plugin as a row of model_peer.h, by its C interface (openvino/c). */
#include "bench/baselines/model_peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/baselines/peer_impl.h"
#include "core/base/status.h"

typedef struct ov_shape {
  int64_t rank, *dims;
} ov_shape;
typedef struct ov_dimension {
  int64_t min, max;
} ov_dimension;
typedef struct ov_partial_shape {
  ov_dimension rank, *dims;
} ov_partial_shape;
typedef struct ov_version {
  const char *build, *description;
} ov_version;

/* The functions that are used; each gives 0 for success. */
typedef struct ov_api {
  int (*get_version)(ov_version *);
  void (*version_free)(ov_version *);
  const char *(*last_error)(void);
  int (*core_create)(void **);
  int (*read_model)(void *core, const char *model, const char *weights, void **out);
  int (*reshape)(void *model, const char **names, const ov_partial_shape *shapes, size_t n);
  int (*compile)(void *core, void *model, const char *device, size_t n_words, void **out, ...);
  int (*create_request)(void *compiled, void **out);
  int (*get_tensor)(void *request, const char *name, void **out);
  int (*set_shape)(void *tensor, ov_shape shape);
  int (*byte_size)(void *tensor, size_t *out);
  int (*data)(void *tensor, void **out);
  int (*infer)(void *request);
  void (*tensor_free)(void *);
  void (*request_free)(void *);
  void (*compiled_free)(void *);
  void (*model_free)(void *);
  void (*core_free)(void *);
} ov_api;

typedef struct ov_job {
  ov_api api;
  void *core, *model, *compiled, *request;
  void *out[MODEL_MOST_TENSORS];
  int n_out;
  char version[64];
} ov_job;

static tsr_status find(ov_api *a) {
  const peer_symbol wanted[] = {
      {"ov_get_openvino_version", &a->get_version},
      {"ov_version_free", &a->version_free},
      {"ov_get_last_err_msg", &a->last_error},
      {"ov_core_create", &a->core_create},
      {"ov_core_read_model", &a->read_model},
      {"ov_model_reshape", &a->reshape},
      {"ov_core_compile_model", &a->compile},
      {"ov_compiled_model_create_infer_request", &a->create_request},
      {"ov_infer_request_get_tensor", &a->get_tensor},
      {"ov_tensor_set_shape", &a->set_shape},
      {"ov_tensor_get_byte_size", &a->byte_size},
      {"ov_tensor_data", &a->data},
      {"ov_infer_request_infer", &a->infer},
      {"ov_tensor_free", &a->tensor_free},
      {"ov_infer_request_free", &a->request_free},
      {"ov_compiled_model_free", &a->compiled_free},
      {"ov_model_free", &a->model_free},
      {"ov_core_free", &a->core_free},
  };
  void *lib = model_peer_load("openvino_c");
  if (!lib)
    return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL),
                   "openvino does not load (LD_LIBRARY_PATH is to name the folder of libopenvino_c.so.*): %s",
                   dlerror());
  return peer_symbols(lib, wanted, sizeof wanted / sizeof *wanted);
}

/* The library's own words of a call that failed, in one line. */
static tsr_status said(const ov_job *j, const char *doing, int code) {
  if (!code) return NULL;
  const char *text = j->api.last_error();
  char line[200];
  snprintf(line, sizeof line, "%s", text ? text : "");
  for (char *c = line; *c; c++)
    if (*c == '\n' || *c == '\r') *c = ' ';
  return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", NULL, NULL), "openvino: %s: %s (%d)", doing, line, code);
}

/* All inputs at once: shapes may depend on each other. */
static tsr_status reshape(ov_job *j, const model_tensor *in, int n_in) {
  const char *names[MODEL_MOST_TENSORS];
  ov_partial_shape shapes[MODEL_MOST_TENSORS];
  ov_dimension dims[MODEL_MOST_TENSORS][TSR_MAX_RANK];
  for (int i = 0; i < n_in; i++) {
    const int64_t rank = in[i].shape.rank;
    names[i] = in[i].name;
    for (int64_t k = 0; k < rank; k++) dims[i][k] = (ov_dimension){in[i].shape.dims[k], in[i].shape.dims[k]};
    shapes[i] = (ov_partial_shape){{rank, rank}, dims[i]};
  }
  return said(j, "reshape", j->api.reshape(j->model, names, shapes, (size_t)n_in));
}

static tsr_status fill(ov_job *j, const model_tensor *in) {
  void *tensor = NULL, *data = NULL;
  size_t bytes = 0;
  int64_t dims[TSR_MAX_RANK];
  memcpy(dims, in->shape.dims, sizeof dims);
  tsr_status st = said(j, in->name, j->api.get_tensor(j->request, in->name, &tensor));
  if (!st) st = said(j, in->name, j->api.set_shape(tensor, (ov_shape){in->shape.rank, dims}));
  if (!st) st = said(j, in->name, j->api.byte_size(tensor, &bytes));
  if (!st) st = said(j, in->name, j->api.data(tensor, &data));
  if (!st && bytes != in->bytes)
    st = st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", NULL, NULL), "openvino: %s has %zu bytes, not %zu", in->name,
                 bytes, in->bytes);
  if (!st) memcpy(data, in->data, bytes);
  if (tensor) j->api.tensor_free(tensor);
  return st;
}

static tsr_status open_model(ov_job *j, const char *model, int threads, const model_tensor *in, int n_in) {
  char n[16];
  ov_version v;
  snprintf(n, sizeof n, "%d", threads);
  if (!j->api.get_version(&v)) {
    snprintf(j->version, sizeof j->version, "%.*s", (int)strcspn(v.build, "-"), v.build);
    j->api.version_free(&v);
  }
  TSR_TRY(said(j, "start", j->api.core_create(&j->core)));
  TSR_TRY(said(j, "read", j->api.read_model(j->core, model, NULL, &j->model)));
  TSR_TRY(reshape(j, in, n_in));
  /* Without the hint it computes f32 models in bf16 where the processor has AMX. */
  TSR_TRY(said(j, "compile",
               j->api.compile(j->core, j->model, "CPU", 6, &j->compiled, "INFERENCE_NUM_THREADS", n,
                              "PERFORMANCE_HINT", "LATENCY", "INFERENCE_PRECISION_HINT", "f32")));
  TSR_TRY(said(j, "request", j->api.create_request(j->compiled, &j->request)));
  for (int i = 0; i < n_in; i++) TSR_TRY(fill(j, &in[i]));
  return NULL;
}

static void ov_destroy(void *job) {
  ov_job *j = job;
  if (!j) return;
  for (int i = 0; i < j->n_out; i++)
    if (j->out[i]) j->api.tensor_free(j->out[i]);
  if (j->request) j->api.request_free(j->request);
  if (j->compiled) j->api.compiled_free(j->compiled);
  if (j->model) j->api.model_free(j->model);
  if (j->core) j->api.core_free(j->core);
  free(j);
}

static tsr_status ov_run(void *job) {
  ov_job *j = job;
  return said(j, "infer", j->api.infer(j->request));
}

static tsr_status ov_create(const char *model, int threads, const model_tensor *in, int n_in, const char *const *out,
                            int n_out, void **job) {
  tsr_status st = NULL;
  *job = NULL;
  ov_job *j = calloc(1, sizeof *j);
  if (!j || n_in > MODEL_MOST_TENSORS || n_out > MODEL_MOST_TENSORS) TSR_GOTO(st_oom());
  TSR_GOTO(find(&j->api));
  TSR_GOTO(open_model(j, model, threads, in, n_in));
  for (; j->n_out < n_out; j->n_out++)
    TSR_GOTO(said(j, out[j->n_out], j->api.get_tensor(j->request, out[j->n_out], &j->out[j->n_out])));
  *job = j;
  return NULL;
done:
  ov_destroy(j);
  return st;
}

static const void *ov_result(void *job, int i, size_t bytes) {
  ov_job *j = job;
  void *data = NULL;
  size_t have = 0;
  if (i < 0 || i >= j->n_out || j->api.byte_size(j->out[i], &have) || have != bytes) return NULL;
  return j->api.data(j->out[i], &data) ? NULL : data;
}

static const char *ov_version_of(const void *job) { return ((const ov_job *)job)->version; }

const model_peer model_peer_openvino = {"openvino",    ov_create,  ov_run, ov_result,
                                        ov_version_of, ov_destroy, NULL};
