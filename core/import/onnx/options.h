/* core/import/onnx/options.h - what a conversion of an ONNX model is given, and what it says about the model. */
#ifndef CORE_IMPORT_ONNX_OPTIONS_H
#define CORE_IMPORT_ONNX_OPTIONS_H
#include "core/import/onnx_model.h"
#include "core/ir/ir.h"

typedef struct onnx_options {
  /* The shape of an input, TSR_ANY_DIM where it leaves a dimension to the model; false: not known. May be NULL. */
  bool (*shape)(void *user, const char *name, tsr_shape *out);
  /* The elements of an input of that type and size, where the program depends on them (a shape that is an input); NULL:
   * not known. The program is then made for these. May be NULL. */
  const void *(*elements)(void *user, const char *name, tsr_dtype type, size_t bytes);
  void *user;
  bool bounded; /* results whose number depends on what the inputs hold are as long as they can be, with -1 behind */
  int64_t any_dim; /* what dimensions are that nothing gives; 0: that is an error */
} onnx_options;

typedef struct onnx_problem {
  const char *op, *why; /* "com.microsoft/Attention"; why it can't be converted */
  size_t count;
} onnx_problem;

typedef struct onnx_report {
  arena a; /* of the texts */
  ONNX_LIST(onnx_problem) problems;
} onnx_report;
#endif
