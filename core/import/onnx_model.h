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
  /* A sequence of such tensors; a tensor, or a sequence, that may be left out. Both: the sequence may be. */
  bool is_sequence, is_optional;
} onnx_value;

typedef struct onnx_tensor {
  const char *name, *type;
  int rank;
  int64_t *dims;
  uint64_t elements, bytes; /* in memory; bytes is 0 of strings */
  wire_message raw;         /* raw_data in the file; empty where there is none */
  wire_message whole;       /* the TensorProto */
  const char *location;     /* external data: the file beside the model, else NULL */
  uint64_t offset, length;  /* in there; length 0: to the end */
  bool initializer;         /* of the main graph */
} onnx_tensor;

typedef struct onnx_graph onnx_graph;

/* By AttributeProto.AttributeType. */
typedef enum onnx_attr_kind {
  ONNX_NO_KIND, ONNX_FLOAT, ONNX_INT, ONNX_STRING, ONNX_TENSOR, ONNX_GRAPH, ONNX_FLOATS, ONNX_INTS, ONNX_STRINGS,
  ONNX_N_KINDS, ONNX_OTHER = ONNX_N_KINDS
} onnx_attr_kind;

typedef struct onnx_attr {
  const char *name;
  const char *of_function; /* the attribute of the function around it whose value this one has; NULL: its own */
  onnx_attr_kind kind;
  int64_t i;
  double f;
  const char *s; /* "" where it is no text */
  onnx_tensor *tensor;
  onnx_graph *graph;
  size_t n; /* of the lists */
  int64_t *ints;
  double *floats;
  const char **strings;
} onnx_attr;

typedef struct onnx_node {
  const char *domain, *op; /* domain "" is ai.onnx */
  const char *name;
  uint64_t at;             /* in the file */
  const char **in, **out;  /* "" where one is left out */
  size_t n_in, n_out, n_attrs;
  onnx_attr *attrs;
} onnx_node;

struct onnx_graph {
  onnx_node *nodes;
  onnx_tensor *tensors; /* initializers */
  onnx_value *inputs, *outputs; /* inputs: with those that are initializers too */
  size_t n_nodes, n_tensors, n_inputs, n_outputs, n_sparse;
};

typedef struct onnx_opset {
  const char *domain;
  int64_t version;
} onnx_opset;

#define ONNX_LIST(type) struct { type *v; size_t n, cap; }
/* What the model itself defines: an op whose meaning is a list of nodes. */
typedef struct onnx_function {
  const char *domain, *name;
  const char **in, **out;
  onnx_attr *defaults;
  onnx_node *nodes;
  size_t n_in, n_out, n_defaults, n_nodes;
  ONNX_LIST(onnx_opset) opsets; /* none: the model's */
} onnx_function;

typedef struct onnx_file { /* mapped */
  const char *location, *path;
  const void *p;
  size_t bytes;
} onnx_file;

typedef struct onnx_model {
  wire_file file;
  int64_t ir_version;
  const char *producer;
  ONNX_LIST(onnx_opset) opsets;
  ONNX_LIST(onnx_value) inputs, outputs; /* of the main graph; inputs that are no initializers */
  ONNX_LIST(onnx_tensor) tensors;        /* initializers, and constants in attributes, of all graphs */
  ONNX_LIST(onnx_node) nodes;            /* of all graphs, those of functions aside */
  onnx_graph graph;                      /* the same as a tree */
  onnx_function *functions;
  size_t n_functions;
  ONNX_LIST(onnx_file) external;         /* those that were opened so far */
  arena a;
  bool mapped;
} onnx_model;
#endif
