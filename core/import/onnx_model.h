/* core/import/onnx_model.h - an ONNX model as its readers fill it and its users look at it. Strings are the model's,
 * UTF-8 without control characters. */
#ifndef CORE_IMPORT_ONNX_MODEL_H
#define CORE_IMPORT_ONNX_MODEL_H
#include "core/base/arena.h"
#include "core/import/wire.h"
#include "tessera/tessera.h"

typedef struct onnx_dim {
  int64_t value;    /* TSR_ANY_DIM: not known */
  const char *name; /* of a symbolic dimension, else NULL */
} onnx_dim;

typedef struct onnx_value {
  const char *name, *type; /* "f32", or what ONNX calls a type that the library lacks; "" without one */
  int rank;                /* -1: not known */
  onnx_dim *dims;
} onnx_value;

typedef struct onnx_tensor {
  const char *name, *type;
  int rank;
  int64_t *dims;
  uint64_t elements, bytes; /* in memory; bytes is 0 of strings */
  wire_message raw;         /* raw_data in the file; empty where there is none */
  const char *location;     /* external data: the file beside the model, else NULL */
  uint64_t offset, length;  /* in there; length 0: to the end */
  bool initializer;         /* of the main graph */
} onnx_tensor;

typedef struct onnx_node {
  const char *domain, *op; /* domain "" is ai.onnx */
  uint64_t at;             /* in the file */
} onnx_node;

typedef struct onnx_opset {
  const char *domain;
  int64_t version;
} onnx_opset;

#define ONNX_LIST(type) struct { type *v; size_t n, cap; }
typedef struct onnx_model {
  wire_file file;
  int64_t ir_version;
  const char *producer;
  ONNX_LIST(onnx_opset) opsets;
  ONNX_LIST(onnx_value) inputs, outputs; /* of the main graph; inputs that are no initializers */
  ONNX_LIST(onnx_tensor) tensors;        /* initializers, and constants in attributes, of all graphs */
  ONNX_LIST(onnx_node) nodes;            /* of all graphs */
  size_t n_functions;
  arena a;
  bool mapped;
} onnx_model;
#endif
