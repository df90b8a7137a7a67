/* core/ir/graph/ops/compose_product.c - composite ops around products, and the ones that move blocks between channels
 * and places: rows, shape rules, expansions. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/compose.h"

/* x [.., k] by w [k, n]; *dims gets the result's dimensions. */
static tsr_status infer_product(ir_op *op, const ir_type *x, const ir_type *w, int64_t *dims) {
  char a[128], c[128];
  if (w->dtype != x->dtype)
    return ir_error(op, graph_no_cast, "weights are %s for %s", tsr_dtype_name(w->dtype), tsr_dtype_name(x->dtype));
  if (x->rank < 2 || w->rank != 2 || shape_differs(w->dims[0], x->dims[x->rank - 1]))
    return ir_error(op, "[.., k] by [k, n]", "can't multiply %s by %s", shape_text(x, a, sizeof a),
                    shape_text(w, c, sizeof c));
  memcpy(dims, x->dims, sizeof *dims * TSR_MAX_RANK);
  dims[x->rank - 1] = w->dims[1];
  return NULL;
}

static tsr_status check_bias(ir_op *op, int i, int64_t n) {
  const ir_type *v = op->n_operands > i ? TYPE(i) : NULL;
  char a[128];
  if (v && v->dtype != TYPE(0)->dtype)
    return ir_error(op, graph_no_cast, "bias is %s for %s", tsr_dtype_name(v->dtype), tsr_dtype_name(TYPE(0)->dtype));
  if (v && (v->rank != 1 || shape_differs(v->dims[0], n)))
    return ir_error(op, "one element per column", "bias is %s for %lld columns", shape_text(v, a, sizeof a),
                    (long long)n);
  return NULL;
}

/* ---- qkv_projection ---------------------------------------------------------------------------------------------- */

static tsr_status infer_qkv(ir_op *op, const ir_type **results) {
  int64_t dims[TSR_MAX_RANK], sizes[3] = {0};
  TSR_TRY(shape_floats(op));
  const ir_type *x = TYPE(0);
  TSR_TRY(infer_product(op, x, TYPE(1), dims));
  const int64_t n = TYPE(1)->dims[1];
  TSR_TRY(check_bias(op, 2, n));
  TSR_TRY(shape_list_attr(op, "sizes", 3, true, n == IR_DYNAMIC ? n : n / 3, sizes));
  if (!ir_get_attr(op, "sizes") && n != IR_DYNAMIC && n % 3)
    return ir_error(op, "give sizes", "%lld columns in 3 equal parts", (long long)n);
  for (int i = 0; i < 3; i++)
    if (ir_get_attr(op, "sizes") && (sizes[i] < 0 || sizes[i] > INT64_MAX / 4))
      return ir_error(op, NULL, "size %lld of result %d is out of range", (long long)sizes[i], i);
  if (ir_get_attr(op, "sizes") && n != IR_DYNAMIC && sizes[0] + sizes[1] + sizes[2] != n)
    return ir_error(op, "every column goes to one result", "sizes add up to %lld, there are %lld columns",
                    (long long)(sizes[0] + sizes[1] + sizes[2]), (long long)n);
  for (int i = 0; i < 3; i++) {
    dims[x->rank - 1] = sizes[i];
    TSR_TRY(shape_finish(op, x->dtype, x->rank, dims, &results[i]));
  }
  return NULL;
}

EXPAND(expand_qkv) {
  int64_t starts[TSR_MAX_RANK] = {0};
  const int last = TYPE(0)->rank - 1;
  ir_value *y = compose_product(b, IN(0), IN(1));
  if (op->n_operands > 2) y = ADD(y, IN(2));
  for (int i = 0; i < 3; i++) {
    out[i] = graph_cut(b, y, starts, op->results[i]->type->dims);
    starts[last] += op->results[i]->type->dims[last];
  }
  DONE;
}

/* ---- factorized_matmul ------------------------------------------------------------------------------------------- */

static tsr_status infer_factorized(ir_op *op, const ir_type **results) {
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(shape_floats(op));
  const ir_type *x = TYPE(0), *v = TYPE(2);
  TSR_TRY(infer_product(op, x, TYPE(1), dims));
  const ir_type *between = ir_type_tensor(op->module, x->dtype, x->rank, dims);
  if (!between) return st_oom();
  TSR_TRY(infer_product(op, between, v, dims));
  TSR_TRY(check_bias(op, 3, v->dims[1]));
  return shape_finish(op, x->dtype, x->rank, dims, results);
}

/* In the order that takes fewer multiplications. */
EXPAND(expand_factorized) {
  const ir_type *x = TYPE(0), *u = TYPE(1), *v = TYPE(2);
  double m = 1, k = (double)u->dims[0], r = (double)u->dims[1], n = (double)v->dims[1];
  for (int i = 0; i + 1 < x->rank; i++) m *= (double)x->dims[i];
  const bool factors_first = r * k * n + m * k * n < m * r * (k + n);
  ir_value *y = factors_first ? compose_product(b, IN(0), compose_product(b, IN(1), IN(2)))
                              : compose_product(b, compose_product(b, IN(0), IN(1)), IN(2));
  out[0] = op->n_operands > 3 ? ADD(y, IN(3)) : y;
  DONE;
}

/* ---- depth_to_space, space_to_depth ------------------------------------------------------------------------------ */

/* Where channels and the two places stand. */
typedef struct image {
  int c, h, w;
} image;

static image image_of(const ir_op *op) {
  return strcmp(ir_get_str(op, "layout", "nchw"), "nhwc") ? (image){1, 2, 3} : (image){3, 1, 2};
}

static tsr_status check_image(ir_op *op, int64_t block) {
  const char *layout = ir_get_str(op, "layout", "nchw"), *order = ir_get_str(op, "order", "dcr");
  TSR_TRY(shape_tensors(op));
  if (TYPE(0)->rank != 4)
    return ir_error(op, "[batch, channels, height, width]", "needs images, not rank %d", TYPE(0)->rank);
  if (strcmp(layout, "nchw") && strcmp(layout, "nhwc"))
    return ir_error(op, "nchw or nhwc", "unknown layout \"%s\"", layout);
  if (strcmp(order, "dcr") && strcmp(order, "crd")) return ir_error(op, "dcr or crd", "unknown order \"%s\"", order);
  return block > 0 && block < 1 << 15 ? NULL : ir_error(op, NULL, "block %lld is out of range", (long long)block);
}

static tsr_status divide(const ir_op *op, int64_t *d, int64_t n, const char *what) {
  if (*d == IR_DYNAMIC) return NULL;
  if (*d % n) return ir_error(op, NULL, "%lld %s in parts of %lld", (long long)*d, what, (long long)n);
  *d /= n;
  return NULL;
}

static tsr_status multiply(const ir_op *op, int64_t *d, int64_t n) {
  return *d == IR_DYNAMIC || !__builtin_mul_overflow(*d, n, d) ? NULL
                                                               : ir_error(op, NULL, "the result overflows 64 bits");
}

static tsr_status infer_depth_to_space(ir_op *op, const ir_type **results) {
  const int64_t n = ir_get_int(op, "block", 0);
  TSR_TRY(check_image(op, n));
  int64_t dims[TSR_MAX_RANK];
  const image at = image_of(op);
  memcpy(dims, TYPE(0)->dims, sizeof dims);
  TSR_TRY(divide(op, &dims[at.c], n * n, "channels"));
  TSR_TRY(multiply(op, &dims[at.h], n));
  TSR_TRY(multiply(op, &dims[at.w], n));
  return shape_finish(op, TYPE(0)->dtype, 4, dims, results);
}

static tsr_status infer_space_to_depth(ir_op *op, const ir_type **results) {
  const int64_t n = ir_get_int(op, "block", 0);
  TSR_TRY(check_image(op, n));
  int64_t dims[TSR_MAX_RANK];
  const image at = image_of(op);
  memcpy(dims, TYPE(0)->dims, sizeof dims);
  TSR_TRY(multiply(op, &dims[at.c], n * n));
  TSR_TRY(divide(op, &dims[at.h], n, "rows"));
  TSR_TRY(divide(op, &dims[at.w], n, "columns"));
  return shape_finish(op, TYPE(0)->dtype, 4, dims, results);
}

/* The six axes of the split image as they stand on the deep side: batch, then channels as [block, block, c] (dcr) or
 * [c, block, block] (crd), then height and width, or those first (nhwc). perm: where the wide side's axes
 * [batch, c, h, block, w, block], or [batch, h, block, w, block, c], come from. */
static void split_image(const ir_op *op, int64_t c, int64_t h, int64_t w, int64_t deep[6], int perm[6]) {
  const int64_t n = ir_get_int(op, "block", 1);
  const bool dcr = strcmp(ir_get_str(op, "order", "dcr"), "crd") != 0, last = image_of(op).c == 3;
  const int first = last ? 3 : 1, ph = last ? 1 : 4, pw = last ? 2 : 5;
  const int pc = first + (dcr ? 2 : 0), bh = first + (dcr ? 0 : 1), bw = first + (dcr ? 1 : 2);
  const int wide_first[6] = {0, pc, ph, bh, pw, bw}, wide_last[6] = {0, ph, bh, pw, bw, pc};
  deep[0] = TYPE(0)->dims[0];
  deep[pc] = c, deep[ph] = h, deep[pw] = w, deep[bh] = deep[bw] = n;
  memcpy(perm, last ? wide_last : wide_first, sizeof wide_first);
}

EXPAND(expand_depth_to_space) {
  const ir_type *x = TYPE(0), *y = OUT->type;
  const image at = image_of(op);
  int64_t deep[6];
  int perm[6];
  split_image(op, y->dims[at.c], x->dims[at.h], x->dims[at.w], deep, perm);
  ir_value *v = graph_reshape(b, IN(0), 6, deep);
  if (!v) return false;
  out[0] = graph_reshape(b, graph_transpose(b, v, perm), 4, y->dims);
  DONE;
}

EXPAND(expand_space_to_depth) {
  const ir_type *x = TYPE(0), *y = OUT->type;
  const image at = image_of(op);
  int64_t deep[6], wide[6];
  int perm[6], inverse[6];
  split_image(op, x->dims[at.c], y->dims[at.h], y->dims[at.w], deep, perm);
  for (int i = 0; i < 6; i++) wide[i] = deep[perm[i]], inverse[perm[i]] = i;
  ir_value *v = graph_reshape(b, IN(0), 6, wide);
  if (!v) return false;
  out[0] = graph_reshape(b, graph_transpose(b, v, inverse), 4, y->dims);
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define IMAGE \
  ATTRS({"block", IR_A_INT, true, NULL, "side of a block"}, \
        {"order", IR_A_STR, false, "dcr", \
         "how channels hold a block: dcr: [row, column, channel]; crd: [channel, row, column]"}, \
        {"layout", IR_A_STR, false, "nchw", "nchw or nhwc"})

static const ir_opdef rows[] = {
    {COMPOSITE(QKV_PROJECTION, "qkv_projection", 2, 3, 3), .operands_doc = "x, weights, bias", .types_doc = FLOATS,
     .infer = infer_qkv, BY(expand_qkv),
     .attrs = ATTRS({"sizes", IR_A_ARRAY, false, NULL, "columns of query, key and value; equal parts if absent"}),
     .help = "Query, key and value of attention as one product: x [.., k] by [k, n], plus bias [n], in three parts."},
    {COMPOSITE(FACTORIZED_MATMUL, "factorized_matmul", 3, 4, 1), .operands_doc = "x, u, v, bias", .types_doc = FLOATS,
     .infer = infer_factorized, BY(expand_factorized),
     .help = "x u v + bias of x [.., k], u [k, r], v [r, n]: a product by a matrix of rank r, in the order that takes "
             "fewer multiplications."},
    {COMPOSITE(DEPTH_TO_SPACE, "depth_to_space", 1, 1, 1), .operands_doc = "x", .types_doc = ANY,
     .infer = infer_depth_to_space, BY(expand_depth_to_space), .attrs = IMAGE,
     .help = "Channels become blocks of the image: [n, c b b, h, w] to [n, c, h b, w b]."},
    {COMPOSITE(SPACE_TO_DEPTH, "space_to_depth", 1, 1, 1), .operands_doc = "x", .types_doc = ANY,
     .infer = infer_space_to_depth, BY(expand_space_to_depth), .attrs = IMAGE,
     .help = "Blocks of the image become channels: [n, c, h b, w b] to [n, c b b, h, w]. Undoes depth_to_space."},
};

const ir_rows graph_compose_product_ops = {rows, sizeof rows / sizeof *rows};
