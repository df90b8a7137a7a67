/* bench/baselines/onnxruntime.h - ONNX Runtime as what `tessera bench MODEL.onnx` compares with: its CPU provider,
 * loaded at run time by its C interface. */
#ifndef BENCH_BASELINES_ONNXRUNTIME_H
#define BENCH_BASELINES_ONNXRUNTIME_H
#include "tessera/tessera.h"

typedef struct ort_tensor {
  const char *name;
  tsr_dtype dtype;
  tsr_shape shape;
  void *data;
  size_t bytes;
} ort_tensor;

typedef struct ort_job ort_job;
/* Loads the model with all optimizations and so many threads. TSR_UNAVAILABLE where the library isn't there: it is
 * looked for by its name, and as libonnxruntime.so.* in the folders of LD_LIBRARY_PATH. The tensors' memory is used
 * while the job lives. */
tsr_status ort_create(const char *model, int threads, const ort_tensor *in, int n_in, const char *const *out, int n_out,
                      ort_job **job) TSR_MUST_USE;
tsr_status ort_run(ort_job *job) TSR_MUST_USE;
/* Result i of the last run, row-major; NULL: there is none. */
const void *ort_result(ort_job *job, int i);
const char *ort_version(const ort_job *job);
void ort_destroy(ort_job **job);
#endif
