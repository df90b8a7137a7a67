/* bench/baselines/onnxruntime.c - ONNX Runtime's CPU provider as a row of model_peer.h. The library's interface is one
 * table of functions, whose order doesn't change from release to release: the places that are used here are named
 * below. */
#include "bench/baselines/model_peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/status.h"

enum { API_VERSION = 11 };
/* Places in OrtApi of version 1 (onnxruntime_c_api.h). */
enum {
  ERROR_MESSAGE = 2,
  CREATE_ENV = 3,
  CREATE_SESSION = 7,
  RUN = 9,
  CREATE_OPTIONS = 10,
  SET_OPTIMIZATION = 23,
  SET_THREADS = 24,
  CREATE_TENSOR = 49,
  TENSOR_DATA = 51,
  CREATE_CPU_MEMORY = 69,
  RELEASE_ENV = 92,
  RELEASE_STATUS = 93,
  RELEASE_MEMORY = 94,
  RELEASE_SESSION = 95,
  RELEASE_VALUE = 96,
  RELEASE_OPTIONS = 100
};

typedef struct ort_base {
  const void *(*api)(uint32_t version);
  const char *(*version)(void);
} ort_base;

typedef struct ort_job {
  const void *api; /* the table */
  void *env, *options, *session, *memory;
  void *in[MODEL_MOST_TENSORS], *out[MODEL_MOST_TENSORS];
  const char *in_names[MODEL_MOST_TENSORS], *out_names[MODEL_MOST_TENSORS];
  int n_in, n_out;
  const char *version;
} ort_job;

static uintptr_t address(const ort_job *j, int place) {
  uintptr_t fn;
  memcpy(&fn, (const char *)j->api + (size_t)place * sizeof fn, sizeof fn);
  return fn;
}

#define CALL(place, ...) ((void *(*)(__VA_ARGS__))address(j, place))

/* A status of the library's, NULL for none, as ours. */
static tsr_status said(const ort_job *j, void *status) {
  if (!status) return NULL;
  const char *text = ((const char *(*)(const void *))address(j, ERROR_MESSAGE))(status);
  tsr_status st = st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", NULL, NULL), "onnxruntime: %s", text);
  ((void (*)(void *))address(j, RELEASE_STATUS))(status);
  return st;
}

/* ONNXTensorElementDataType; 0: none. */
static int element_type(tsr_dtype t) {
  switch (t) {
    case TSR_F32: return 1;
    case TSR_U8: return 2;
    case TSR_I8: return 3;
    case TSR_I16: return 5;
    case TSR_I32: return 6;
    case TSR_I64: return 7;
    case TSR_BOOL: return 9;
    case TSR_F16: return 10;
    case TSR_F64: return 11;
    case TSR_BF16: return 16;
    default: return 0;
  }
}

static tsr_status open_session(ort_job *j, const char *model, int threads) {
  TSR_TRY(said(j, CALL(CREATE_ENV, int, const char *, void **)(3, "tessera", &j->env)));
  TSR_TRY(said(j, CALL(CREATE_OPTIONS, void **)(&j->options)));
  TSR_TRY(said(j, CALL(SET_OPTIMIZATION, void *, int)(j->options, 99)));
  TSR_TRY(said(j, CALL(SET_THREADS, void *, int)(j->options, threads)));
  TSR_TRY(said(j, CALL(CREATE_SESSION, const void *, const char *, const void *, void **)(j->env, model, j->options,
                                                                                          &j->session)));
  return said(j, CALL(CREATE_CPU_MEMORY, int, int, void **)(1, 0, &j->memory));
}

static tsr_status bind(ort_job *j, const model_tensor *in, int i) {
  const int type = element_type(in->dtype);
  if (!type)
    return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", NULL, NULL), "onnxruntime: inputs of type %s",
                   tsr_dtype_name(in->dtype));
  j->in_names[i] = in->name;
  j->n_in++;
  return said(j, CALL(CREATE_TENSOR, const void *, void *, size_t, const int64_t *, size_t, int, void **)(
                     j->memory, in->data, in->bytes, in->shape.dims, (size_t)in->shape.rank, type, &j->in[i]));
}

static void release(const ort_job *j, int place, void *p) {
  if (p) ((void (*)(void *))address(j, place))(p);
}

static void ort_destroy(void *job) {
  ort_job *j = job;
  if (!j) return;
  for (int i = 0; i < j->n_out && j->api; i++) release(j, RELEASE_VALUE, j->out[i]);
  for (int i = 0; i < j->n_in && j->api; i++) release(j, RELEASE_VALUE, j->in[i]);
  if (j->api) {
    release(j, RELEASE_MEMORY, j->memory);
    release(j, RELEASE_SESSION, j->session);
    release(j, RELEASE_OPTIONS, j->options);
    release(j, RELEASE_ENV, j->env);
  }
  free(j);
}

static tsr_status ort_create(const char *model, int threads, const model_tensor *in, int n_in, const char *const *out,
                             int n_out, void **job) {
  tsr_status st = NULL;
  *job = NULL;
  void *lib = model_peer_load("onnxruntime"), *symbol = lib ? dlsym(lib, "OrtGetApiBase") : NULL;
  if (!symbol)
    return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL),
                   "onnxruntime does not load (LD_LIBRARY_PATH is to name the folder of libonnxruntime.so.*): %s",
                   dlerror());
  const ort_base *(*base)(void);
  memcpy(&base, &symbol, sizeof base);
  ort_job *j = calloc(1, sizeof *j);
  if (!j || n_in > MODEL_MOST_TENSORS || n_out > MODEL_MOST_TENSORS) TSR_GOTO(st_oom());
  j->api = base()->api(API_VERSION);
  j->version = base()->version();
  TSR_GOTO(
      j->api ? open_session(j, model, threads)
             : st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL), "onnxruntime %s is too old", j->version));
  for (int i = 0; i < n_in; i++) TSR_GOTO(bind(j, &in[i], i));
  for (j->n_out = 0; j->n_out < n_out; j->n_out++) j->out_names[j->n_out] = out[j->n_out];
  *job = j;
  return NULL;
done:
  ort_destroy(j);
  return st;
}

static tsr_status ort_run(void *job) {
  ort_job *j = job;
  for (int i = 0; i < j->n_out; i++) release(j, RELEASE_VALUE, j->out[i]), j->out[i] = NULL;
  return said(
      j, CALL(RUN, void *, const void *, const char *const *, void *const *, size_t, const char *const *, size_t,
              void **)(j->session, NULL, j->in_names, j->in, (size_t)j->n_in, j->out_names, (size_t)j->n_out, j->out));
}

static const void *ort_result(void *job, int i, size_t bytes) {
  const ort_job *j = job;
  void *data = NULL;
  (void)bytes;
  if (i < 0 || i >= j->n_out || !j->out[i]) return NULL;
  tsr_status_free(said(j, CALL(TENSOR_DATA, void *, void **)(j->out[i], &data)));
  return data;
}

static const char *ort_version(const void *job) { return ((const ort_job *)job)->version; }

const model_peer model_peer_onnxruntime = {"onnxruntime", ort_create,  ort_run, ort_result,
                                          ort_version,   ort_destroy, NULL};
