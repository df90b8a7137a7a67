/* bench/baselines/model_peer.h - what `tessera bench MODEL.onnx` compares with: libraries, loaded at run time by their
 * C interfaces, and programs of PATH; one row each. */
#ifndef BENCH_BASELINES_MODEL_PEER_H
#define BENCH_BASELINES_MODEL_PEER_H
#include "tessera/tessera.h"

enum { MODEL_MOST_TENSORS = 64 };

typedef struct model_tensor {
  const char *name;
  tsr_dtype dtype;
  tsr_shape shape;
  void *data;
  size_t bytes;
} model_tensor;

typedef struct model_peer {
  const char *name;
  /* Loads the model with all optimizations, computing in the model's own types, and so many threads, for inputs of
   * these shapes. TSR_UNAVAILABLE where the library isn't there. The tensors' memory is used while the job lives. */
  tsr_status (*create)(const char *model, int threads, const model_tensor *in, int n_in, const char *const *out,
                       int n_out, void **job);
  tsr_status (*run)(void *job);
  /* Result i of the last run, row-major, of so many bytes; NULL: there is none. */
  const void *(*result)(void *job, int i, size_t bytes);
  const char *(*version)(const void *job);
  void (*destroy)(void *job); /* NULL is allowed */
  /* How long the last run but the first took, in microseconds, where it computes in processes of its own and times
   * itself; NULL: it computes in this one, and `run` takes as long as it computes. */
  double (*time_us)(const void *job);
} model_peer;

/* NULL past the end. */
const model_peer *model_peer_at(size_t i);
extern const model_peer model_peer_onnxruntime, model_peer_openvino, model_peer_iree;

/* Opens lib<name>.so, or what lib<name>.so.* finds in the folders of LD_LIBRARY_PATH. NULL: dlerror says why. */
void *model_peer_load(const char *name);
#endif
