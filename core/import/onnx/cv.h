/* core/import/onnx/cv.h - what the functions of the op table work with: the node's operands and attributes, and a
 * builder of Graph IR that checks each op as it is made. cv_ stands for the conversion of one node.
 *
 * Failure is sticky until the node ends: cv_refuse keeps the first reason, and every function given a NULL operand
 * gives NULL. So a row's function builds on without looking, and whoever called it asks once. */
#ifndef CORE_IMPORT_ONNX_CV_H
#define CORE_IMPORT_ONNX_CV_H
#include "core/base/dtype.h"
#include "core/import/onnx/options.h"
#include "core/import/onnx_data.h"
#include "core/ir/graph/ops.h"

enum { CV_MOST_OPERANDS = 64 };

typedef struct cv_scope cv_scope;
/* The call of one of the model's functions around the node. */
typedef struct cv_call {
  const onnx_node *node;
  const onnx_function *function;
  const struct cv_call *outer;
} cv_call;

typedef struct cv cv;
struct cv {
  onnx_model *m;
  const onnx_options *o;
  onnx_report *report;
  ir_builder b;
  ir_block *block; /* the function's */
  cv_scope *scope;
  const cv_call *call;
  const onnx_node *node;
  int64_t version; /* of the opset that the node is of */
  struct {
    const char **v;
    size_t n, cap;
  } arguments; /* of the function: the names that options know them by */
  const char **types; /* of the outputs of the body that was built last (type_name.h) */
  size_t n_types;
  int depth, regions; /* regions: how many are being built, one inside the other (region.h) */
  arena a;        /* of the conversion */
  size_t n_nodes; /* converted so far */
  bool failed, lacks_operand, oom, stopped;
  char why[256];
  /* Builds the nodes of a graph inside this one's. False: failed. */
  bool (*graph)(cv *c, const onnx_graph *g, ir_value *const *inputs, size_t n_inputs, ir_value **outputs);
};

typedef void (*cv_fn)(cv *c);
typedef struct cv_row {
  const char *op;
  int since; /* the first version of the opset that this function takes */
  cv_fn fn;
} cv_row;

/* ---- the node ---------------------------------------------------------------------------------------------------- */

/* Says why the node can't be converted. NULL. */
void *cv_refuse(cv *c, const char *fmt, ...) TSR_PRINTF(2, 3);
bool cv_has(const cv *c, int i);
/* Operand i; cv_in: NULL where it is left out, cv_need: then the node is refused. */
ir_value *cv_in(cv *c, int i);
/* The same, which may stand for a sequence (sequence.h). */
ir_value *cv_any(cv *c, int i);
ir_value *cv_need(cv *c, int i);
/* What ONNX calls the type of operand i where the library holds it in a wider one, else "". */
const char *cv_type_name(cv *c, int i);
bool cv_wants(const cv *c, int i);
void cv_out(cv *c, int i, ir_value *v);
/* The same of a value whose type ONNX calls so. */
void cv_out_as(cv *c, int i, ir_value *v, const char *type);
/* Attributes; the value that is given where the node has none. */
const onnx_attr *cv_attr(const cv *c, const char *name);
int64_t cv_int(cv *c, const char *name, int64_t dflt);
double cv_float(cv *c, const char *name, double dflt);
const char *cv_str(cv *c, const char *name, const char *dflt);
bool cv_is(cv *c, const char *name, const char *dflt, const char *word);
/* How many there are; -1: no such attribute. More than cap are refused. */
int cv_ints(cv *c, const char *name, int64_t *out, int cap);
/* An axis counted from the front; refused outside of rank. */
int cv_axis(cv *c, int64_t axis, int rank);

/* Why a node is refused whose result has as many elements as the inputs make of it. */
#define CV_HOW_MANY "how many there are depends on what the inputs hold"

/* ---- what is known ----------------------------------------------------------------------------------------------- */

/* The value as a constant: computed from constants and, if inputs, from what the caller knows of inputs. NULL without a
 * reason where it isn't known. */
ir_value *cv_fold(cv *c, ir_value *v, bool inputs);
/* Operand i as integers or numbers; how many; -1 and refused where they aren't known or too many. */
int cv_known_ints(cv *c, int i, int64_t *out, int cap);
int cv_known_floats(cv *c, int i, double *out, int cap);
/* Operand i, or attribute `name` up to version `last`, as a list: how many; -1: there is neither. */
int cv_list(cv *c, const char *name, int i, int64_t *out, int cap);
/* One number of operand i; dflt where it is left out. */
double cv_known_number(cv *c, int i, double dflt);
int64_t cv_known_int(cv *c, int i, int64_t dflt);

/* ---- building ---------------------------------------------------------------------------------------------------- */

#define CV_AT(...) (const tsr_attr[]){__VA_ARGS__}, (int)(sizeof((const tsr_attr[]){__VA_ARGS__}) / sizeof(tsr_attr))
ir_value *cv_make(cv *c, graph_code code, int n, ir_value *const *x, const tsr_attr *attrs, int n_attrs);
/* The same of an op with several results. False: failed. */
bool cv_make_n(cv *c, graph_code code, int n, ir_value *const *x, const tsr_attr *attrs, int n_attrs, int n_results,
               ir_value **out);
#define cv_op1(c, code, x)         cv_make(c, code, 1, (ir_value *[]){x}, NULL, 0)
#define cv_op2(c, code, x, y)      cv_make(c, code, 2, (ir_value *[]){x, y}, NULL, 0)
#define cv_op3(c, code, x, y, z)   cv_make(c, code, 3, (ir_value *[]){x, y, z}, NULL, 0)
#define cv_at1(c, code, x, ...)    cv_make(c, code, 1, (ir_value *[]){x}, CV_AT(__VA_ARGS__))
#define cv_at2(c, code, x, y, ...) cv_make(c, code, 2, (ir_value *[]){x, y}, CV_AT(__VA_ARGS__))
ir_value *cv_constant(cv *c, tsr_dtype t, int rank, const int64_t *dims, const void *data);
/* Of a tensor of the model; where it is large and lies in a file as it is, it stays there. */
ir_value *cv_tensor(cv *c, const onnx_tensor *t);
ir_value *cv_ints_constant(cv *c, const int64_t *v, int n);
ir_value *cv_fill(cv *c, tsr_dtype t, int rank, const int64_t *dims, double v);
/* A rank-0 constant of that type; of like's type. */
ir_value *cv_number(cv *c, tsr_dtype t, double v);
ir_value *cv_like(cv *c, const ir_value *like, double v);
ir_value *cv_cast(cv *c, ir_value *x, tsr_dtype t);
ir_value *cv_reshape(cv *c, ir_value *x, int rank, const int64_t *dims);
ir_value *cv_broadcast(cv *c, ir_value *x, int rank, const int64_t *dims);
ir_value *cv_transpose(cv *c, ir_value *x, const int64_t *perm);
ir_value *cv_slice(cv *c, ir_value *x, const int64_t *starts, const int64_t *sizes, const int64_t *strides);
/* Elements from `start` on along one axis. */
ir_value *cv_part(cv *c, ir_value *x, int axis, int64_t start, int64_t size);
ir_value *cv_concat(cv *c, int n, ir_value **x, int axis); /* at least one; overwrites x */
ir_value *cv_compare(cv *c, const char *predicate, ir_value *x, ir_value *y);
ir_value *cv_where(cv *c, ir_value *cond, ir_value *x, ir_value *y);
ir_value *cv_reduce(cv *c, graph_code code, ir_value *x, const int64_t *axes, int n, bool keep);
ir_value *cv_iota(cv *c, tsr_dtype t, int rank, const int64_t *dims, int axis);
ir_value *cv_gather(cv *c, ir_value *x, ir_value *indices, int axis);
ir_value *cv_pad(cv *c, ir_value *x, const int64_t *low, const int64_t *high, double value);
/* ops_quantize.c: x as u8, the scale and the zero point that hold all its elements and 0. */
void cv_quantize_dynamic(cv *c, ir_value *x, ir_value *out[3]);
/* small_float.c: x rounded to the type, in the wider one that holds it; the node's attributes say how. */
ir_value *cv_to_small_float(cv *c, ir_value *x, onnx_small_float t);
/* ops_conv_integer.c: the convolution of the node's windows where both operands are dequantized bytes, as one of bytes
 * whose sums are scaled; NULL where they aren't, or where it was refused. */
ir_value *cv_convolve_dequantized(cv *c, ir_value *x, ir_value *w);
/* With an axis of extent 1 more, or without one that has it. */
ir_value *cv_with_axis(cv *c, ir_value *x, int axis);
ir_value *cv_without_axis(cv *c, ir_value *x, int axis);
/* Two axes swapped. */
ir_value *cv_swap(cv *c, ir_value *x, int i, int k);
/* A vector along one axis of something of that rank: dimensions of 1 are added behind. */
ir_value *cv_along(cv *c, ir_value *vector, int axis, int rank);
static inline int64_t cv_dim(const ir_value *x, int i) {
  return x && i >= 0 && i < x->type->rank ? x->type->dims[i] : 1;
}
static inline int cv_rank(const ir_value *x) { return x ? x->type->rank : 0; }
static inline bool cv_is_float(const ir_value *x) { return x && dtype_is_float(x->type->dtype); }
#endif
