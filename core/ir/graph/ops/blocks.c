/* core/ir/graph/ops/blocks.c - tensors in a block format (base/block_format.h), as GGUF files have weights: dequantize,
 * and the product with such a matrix as it lies. Rows and shape rules, evaluation, derivative. Both are calls of the
 * host (GRAPH_ROUTINE), or other ops (compose_blocks.c). */
#include <math.h>
#include <string.h>

#include "core/base/block_format.h"
#include "core/ir/graph/ops/blocks.h"

/* ---- shape rules ------------------------------------------------------------------------------------------------- */

static const block_format *format_of(const ir_op *op) {
  const block_format *f = block_format_by_name(ir_get_str(op, "format", ""));
  return f && f->unpack ? f : NULL;
}

/* The elements of a row of blocks; IR_DYNAMIC where its bytes are unknown. */
static tsr_status row_elements(ir_op *op, int operand, int64_t *out) {
  const block_format *f = format_of(op);
  const ir_type *t = TYPE(operand);
  char a[128];
  if (!f)
    return ir_error(op, "q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl",
                    "no block format \"%s\"", ir_get_str(op, "format", ""));
  if (t->dtype != TSR_U8 || t->rank < 1)
    return ir_error(op, "the bytes of rows of blocks", "blocks are u8[.., bytes], not %s", shape_text(t, a, sizeof a));
  const int64_t bytes = t->dims[t->rank - 1];
  *out = IR_DYNAMIC;
  if (bytes == IR_DYNAMIC) return NULL;
  if (bytes % f->bytes)
    return ir_error(op, "a row is whole blocks", "%lld bytes are no blocks of %s, which have %d", (long long)bytes,
                    f->name, (int)f->bytes);
  if (__builtin_mul_overflow(bytes / f->bytes, (int64_t)f->elements, out))
    return ir_error(op, "64 bits must hold the number of elements", "the result has too many elements");
  return NULL;
}

static tsr_status infer_dequantize(ir_op *op, const ir_type **results) {
  int64_t dims[TSR_MAX_RANK], n;
  TSR_TRY(shape_tensors(op));
  TSR_TRY(row_elements(op, 0, &n));
  memcpy(dims, TYPE(0)->dims, sizeof dims);
  dims[TYPE(0)->rank - 1] = n;
  return shape_finish(op, TSR_F32, TYPE(0)->rank, dims, results);
}

static tsr_status infer_block_matmul(ir_op *op, const ir_type **results) {
  int64_t dims[TSR_MAX_RANK], n;
  char a[128], c[128];
  TSR_TRY(shape_tensors(op));
  TSR_TRY(row_elements(op, 1, &n));
  const ir_type *x = TYPE(0), *w = TYPE(1);
  const char *activations = ir_get_str(op, "activations", "f32");
  if (strcmp(activations, "f32") && strcmp(activations, "q8_0") && strcmp(activations, "q8_1"))
    return ir_error(op, "f32, q8_0 or q8_1", "no activations \"%s\"", activations);
  if (!strcmp(activations, "q8_1") && format_of(op)->elements != BLOCK_RUN)
    return ir_error(op, "q8_0", "activations q8_1 for blocks of %s, which are longer", format_of(op)->name);
  if (x->dtype != TSR_F32 || x->rank < 1 || w->rank != 2 || shape_differs(x->dims[x->rank - 1], n))
    return ir_error(op, "f32[.., k] and the blocks of [n, k]", "%s by rows of %lld elements in %s",
                    shape_text(x, a, sizeof a), (long long)n, shape_text(w, c, sizeof c));
  memcpy(dims, x->dims, sizeof dims);
  dims[x->rank - 1] = w->dims[0];
  return shape_finish(op, TSR_F32, x->rank, dims, results);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

/* The block at byte `at` of a value. */
static void read_block(graph_evaluator *e, ir_value *v, int64_t at, const block_format *f, float *out) {
  unsigned char block[512];
  for (uint32_t i = 0; i < f->bytes; i++) block[i] = (unsigned char)graph_read(e, v, at + i).v;
  f->dequantize(block, out);
}

/* The formats' scales times integers: a product and a difference, each rounded to f32. */
static graph_num element(float x) { return (graph_num){(double)x, 4 * graph_rounding(TSR_F32, (double)x), 0}; }

/* The block that the element is of. */
static tsr_status eval_dequantize(graph_evaluator *e, ir_op *op, int64_t at) {
  const block_format *f = format_of(op);
  float x[BLOCK_MOST_ELEMENTS];
  const int64_t block = at / f->elements;
  read_block(e, op->operands[0], block * f->bytes, f, x);
  for (uint32_t i = 0; i < f->elements; i++) graph_write(e, op->results[0], block * f->elements + i, element(x[i]));
  return NULL;
}

/* A row of x as the product takes it. */
typedef struct row_of_x {
  double *v, *off; /* elements, and what implementations may be off by */
  double *sum;     /* q8_1: of each run, which offsets are multiplied by; else NULL */
} row_of_x;

/* A run rounded to q8_0 or q8_1, where the product does that: an element near the middle between two multiples of the
 * scale may come out as either. */
static void read_run(graph_evaluator *e, ir_op *op, int64_t at, const char *activations, row_of_x *x, int64_t run) {
  float f[BLOCK_RUN];
  block_q8 q;
  double *v = x->v + run * BLOCK_RUN, *off = x->off + run * BLOCK_RUN;
  for (int i = 0; i < BLOCK_RUN; i++) {
    const graph_num y = graph_read(e, op->operands[0], at + i);
    v[i] = y.v, off[i] = num_carried(y), f[i] = (float)y.v;
  }
  if (!strcmp(activations, "f32")) return;
  block_quantize(f, BLOCK_RUN, x->sum != NULL, &q);
  const double scale = (double)q.scale;
  for (int i = 0; i < BLOCK_RUN; i++) {
    const double steps = scale > 0 ? fabs(v[i]) / scale : 0, near = fabs(steps - floor(steps) - 0.5);
    off[i] = near < 1e-3 || off[i] > 0 ? scale + off[i] : 0;
    v[i] = scale * q.q[i];
  }
  if (x->sum) x->sum[run] = (double)q.sum[0] + (double)q.sum[1];
}

/* Block b of a row of w by the same of x. */
static void add_block(graph_evaluator *e, ir_op *op, const block_format *f, const row_of_x *x, int64_t at, int64_t b,
                      num_sum *s) {
  unsigned char block[512];
  float w[BLOCK_MOST_ELEMENTS];
  block_run r = {.offset = {0}};
  for (uint32_t i = 0; i < f->bytes; i++) block[i] = (unsigned char)graph_read(e, op->operands[1], at + i).v;
  f->dequantize(block, w);
  if (x->sum) f->unpack(block, 0, &r);
  for (uint32_t i = 0; i < f->elements; i++) {
    const double a = x->v[b * f->elements + i], y = (double)w[i], apart = x->sum ? (double)r.offset[0] : 0;
    num_sum_add(s, a * (y - apart), hypot(y * x->off[b * f->elements + i], a * element(w[i]).e));
  }
  if (x->sum) num_sum_add(s, (double)r.offset[0] * x->sum[b], 0);
}

static graph_num dot(graph_evaluator *e, ir_op *op, const block_format *f, const row_of_x *x, int64_t row, int64_t k) {
  /* Elements may be computed as scale q + offset, summed apart: each up to 32 times the element (q2_k .. q6_k). */
  enum { APART = 32 };
  num_sum s = {0};
  for (int64_t b = 0; b < k / f->elements && !e->st; b++)
    add_block(e, op, f, x, (row * (k / f->elements) + b) * f->bytes, b, &s);
  return (graph_num){s.v, num_sum_error(&s, APART * graph_tolerance(TSR_F32, TSR_F32, k, s.v, s.abs)),
                     graph_rounding(TSR_F32, s.v)};
}

/* The row that the element is of, or the element alone. */
static tsr_status eval_block_matmul(graph_evaluator *e, ir_op *op, int64_t at) {
  const block_format *f = format_of(op);
  const ir_type *t = TYPE(0);
  const int64_t k = t->dims[t->rank - 1], n = TYPE(1)->dims[0], row = at / n;
  const char *activations = ir_get_str(op, "activations", "f32");
  const size_t bytes = (size_t)(3 * k + 3) * sizeof(double);
  double *memory = al_alloc(e->al, bytes, 16);
  if (!memory) return st_oom();
  row_of_x x = {memory, memory + k, strcmp(activations, "q8_1") ? NULL : memory + 2 * k};
  for (int64_t i = 0; i < k / BLOCK_RUN; i++) read_run(e, op, row * k + i * BLOCK_RUN, activations, &x, i);
  for (int64_t j = e->whole ? 0 : at % n; j < (e->whole ? n : at % n + 1) && !e->st; j++)
    graph_write(e, op->results[0], row * n + j, dot(e, op, f, &x, j, k));
  al_free(e->al, memory, bytes, 16);
  return NULL;
}

/* Bytes have no derivative. */
static bool adjoint_dequantize(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads) {
  (void)b, (void)op, (void)g, (void)grads;
  return true;
}

/* Of x, as if it weren't rounded: the product with the matrix the other way. */
static bool adjoint_block_matmul(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads) {
  ir_value *w = op->operands[1];
  ir_op *d = ir_op_new(b, graph_def(G_DEQUANTIZE), 1, &w, 1, NULL, 0);
  const char *format = ir_get_str(op, "format", "");
  if (!d || !ir_set_attr(d, "format", ir_attr_str(b->m, format))) return b->failed = true, false;
  tsr_status st = d->def->infer(d, &d->results[0]->type);
  if (st) return ir_refuse(b->m, st), b->failed = true, false;
  grads[0] = compose_product(b, g, d->results[0]);
  return grads[0] != NULL;
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

static double work_dequantize(const ir_op *op) { return 2 * (double)ir_type_count(op->results[0]->type); }

static double work_block_matmul(const ir_op *op) {
  const ir_type *x = TYPE(0);
  double rows = 1;
  for (int i = x->rank > 2 ? x->rank - 2 : 0; i < x->rank - 1; i++) rows *= (double)x->dims[i];
  return 2 * rows * (double)x->dims[x->rank - 1] * (double)TYPE(1)->dims[0];
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define FORMAT {"format", IR_A_STR, true, NULL, "q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl"}
#define ON_THE_HOST                                                                                                  \
  " Other devices than the host compute formats of blocks of 32 by other ops, if x isn't rounded. The rest runs on "  \
  "the host's cores, with copies there and back, which the trace tells."

static const ir_opdef rows[] = {
    {NAME(DEQUANTIZE, "dequantize"), .flags = IR_PURE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = "u8; the result is f32", .infer = infer_dequantize,
     .ext = ROW(GRAPH_ROUTINE, eval_dequantize, adjoint_dequantize, .work = work_dequantize,
                .expand = graph_expand_dequantize, .may_expand = graph_blocks_expand), .attrs = ATTRS(FORMAT),
     .help = "The elements of rows of blocks, x [.., bytes], as GGUF files have them: [.., elements]. A product with "
             "them as its second, transposed operand becomes block_matmul." ON_THE_HOST},
    {NAME(BLOCK_MATMUL, "block_matmul"), .flags = IR_PURE, .min_operands = 2, .max_operands = 2, .n_results = 1,
     .operands_doc = "x, w", .types_doc = "f32; w: u8", .infer = infer_block_matmul,
     .ext = ROW(GRAPH_ROUTINE, eval_block_matmul, adjoint_block_matmul, .work = work_block_matmul,
                .expand = graph_expand_block_matmul, .may_expand = graph_blocks_expand,
                .index = "*mk,nk->*mn"), /* k counts elements of x, bytes of w: it is not cut */
     .attrs = ATTRS(FORMAT, {"activations", IR_A_STR, false, "f32",
                             "f32: x as it is; q8_0: x rounded to that format, each 32 elements with a scale of their "
                             "own, so that integers are multiplied; q8_1: the same, and a block's offset is multiplied "
                             "by the sum of the 32 elements rounded to f16, as that format has it"}),
     .help = "x w^T for x [.., k] and the blocks w [n, bytes] of a matrix [n, k], which are read as they lie: [.., n]. "
             "The derivative is that of x as it is." ON_THE_HOST},
};

const ir_rows graph_blocks_ops = {rows, sizeof rows / sizeof *rows};
