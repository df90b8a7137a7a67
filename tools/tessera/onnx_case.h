/* tools/tessera/onnx_case.h - the recorded data of one of ONNX's test cases: test_data_set_N/input_N.pb and
 * output_N.pb. */
#ifndef TOOLS_TESSERA_ONNX_CASE_H
#define TOOLS_TESSERA_ONNX_CASE_H
#include "core/import/onnx_data.h"

enum { ONNX_CASE_MOST = 256 };

/* A tensor; of a sequence each. */
typedef struct onnx_datum {
  const char *name;     /* the input's or output's; of a sequence's tensors NAME[0] and on */
  const onnx_tensor *t; /* NULL: NAME[], which says that a sequence is empty or an optional value left out */
  tsr_dtype dtype;
  onnx_elements e;
} onnx_datum;

typedef struct onnx_data {
  onnx_datum v[ONNX_CASE_MOST];
  int n;
  onnx_model *file[ONNX_CASE_MOST];
  int n_files;
  arena a; /* of names */
} onnx_data;

/* Of the model's inputs or outputs, in their order: each by the name that its file says, else by the file's number.
 * `what` is "input" or "output"; `all`: each must have a file. TSR_UNSUPPORTED: data of no type that is read. Cleared
 * by onnx_data_clear in any case. */
TSR_MUST_USE tsr_status onnx_data_read(const char *folder, const char *what, const onnx_value *values, size_t n,
                                       bool all, onnx_data *out);
void onnx_data_clear(onnx_data *d);
tsr_shape onnx_datum_shape(const onnx_datum *d);
#endif
