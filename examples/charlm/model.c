/* examples/charlm/model.c - the loss of a decoder: embedding, blocks of attention and an MLP before whose parts the
 * rows are normalized, a projection to the bytes' logits, cross entropy. Modes differ in the type of the products'
 * operands; sums, parameters and all else are f32. */
#include <math.h>
#include <string.h>

#include "charlm.h"

static const char by_rows[] = "row", by_columns[] = "col";

enum { PER_LAYER = 12 };

typedef struct builder {
  tsr_graph *g;
  int64_t batch;
  int next; /* number of the next parameter */
  const config *c;
  model *m;
  tsr_value key, counters;
  int site; /* dropouts so far */
} builder;

static tsr_value op(builder *b, const char *name, int n, const tsr_value *x, int n_attrs, const tsr_attr *attrs) {
  tsr_value v;
  check(tsr_graph_op(b->g, name, x, n, attrs, n_attrs, &v));
  return v;
}

static tsr_value op2(builder *b, const char *name, tsr_value x, tsr_value y) {
  return op(b, name, 2, (tsr_value[]){x, y}, 0, NULL);
}

static tsr_value input(builder *b, const char *name, tsr_dtype t, tsr_shape s) {
  tsr_value v;
  check(tsr_graph_input(b->g, name, t, s, &v));
  return v;
}

static tsr_value reshape(builder *b, tsr_value x, int rank, const int64_t *dims) {
  const tsr_attr a = TSR_INTS("shape", dims, rank);
  return op(b, "reshape", 1, &x, 1, &a);
}

static tsr_value transpose(builder *b, tsr_value x, const int64_t perm[4]) {
  const tsr_attr a = TSR_INTS("perm", perm, 4);
  return op(b, "transpose", 1, &x, 1, &a);
}

static tsr_value parameter_of(builder *b, const char *name, int layer, tsr_shape s, float spread, const char *cut) {
  parameter *p = &b->m->p[b->m->n];
  *p = (parameter){.shape = s, .n = 1, .spread = spread, .cut = cut, .number = b->next++, .layer = layer};
  if (layer < 0) snprintf(p->name, sizeof p->name, "%s", name);
  else snprintf(p->name, sizeof p->name, "%s%d", name, layer);
  for (int i = 0; i < s.rank; i++) p->n *= s.dims[i];
  return b->m->values[b->m->n++] = input(b, p->name, TSR_F32, s);
}

static tsr_value matrix(builder *b, const char *name, int layer, int64_t rows, int64_t columns, double spread,
                        const char *cut) {
  return parameter_of(b, name, layer, (tsr_shape){2, {rows, columns}}, (float)spread, cut);
}

static tsr_value vector(builder *b, const char *name, int layer, int64_t n, bool ones, const char *cut) {
  tsr_value v = parameter_of(b, name, layer, (tsr_shape){1, {n}}, 0, cut);
  b->m->p[b->m->n - 1].ones = ones;
  return v;
}

static tsr_value cast(builder *b, tsr_value x, const char *dtype) {
  const tsr_attr a = TSR_STRING("dtype", dtype);
  return op(b, "cast", 1, &x, 1, &a);
}

static const char *half(const builder *b) { return b->c->half ? "f16" : "bf16"; }

/* As operand of a product. */
static tsr_value narrow(builder *b, tsr_value x) {
  return b->c->mode == MODE_STANDARD     ? cast(b, x, half(b))
         : b->c->mode == MODE_AGGRESSIVE ? cast(b, x, "fp8_e4m3")
                                         : x;
}

/* x w + bias, x [.., k], all f32. Tensor parallel, w is cut by columns, where each makes its own of what follows, or by
 * rows, where each has its own of what went before. */
static tsr_value linear(builder *b, tsr_value x, const char *name, int layer, int64_t k, int64_t n, double spread,
                        const char *cut) {
  char bias[24];
  snprintf(bias, sizeof bias, "%s_bias", name);
  const tsr_attr sums = TSR_STRING("out_dtype", "f32");
  const tsr_value v[2] = {narrow(b, x), narrow(b, matrix(b, name, layer, k, n, spread, cut))};
  const tsr_value y = op(b, "matmul", 2, v, 1, &sums);
  return op2(b, "add", y, vector(b, bias, layer, n, false, cut == by_columns ? "0" : NULL));
}

static tsr_value norm(builder *b, tsr_value x, const char *name, int layer) {
  char scale[24], shift[24];
  snprintf(scale, sizeof scale, "%s_scale", name);
  snprintf(shift, sizeof shift, "%s_shift", name);
  tsr_value v[3] = {x, vector(b, scale, layer, b->c->width, true, NULL),
                    vector(b, shift, layer, b->c->width, false, NULL)};
  return op(b, "layernorm", 3, v, 0, NULL);
}

/* Each place has bits of its own, each step other ones: by its row of the counters. */
static tsr_value dropout(builder *b, tsr_value x) {
  const int64_t start = 4 * b->site++, size = 4;
  const tsr_attr cut[2] = {TSR_INTS("starts", &start, 1), TSR_INTS("sizes", &size, 1)};
  const tsr_attr p = TSR_FLOAT("p", b->c->dropout);
  if (b->c->dropout == 0) return x;
  tsr_value counter = op(b, "slice", 1, &b->counters, 2, cut);
  return op(b, "dropout", 3, (tsr_value[]){x, b->key, counter}, 1, &p);
}

/* The columns of qkv are those of the first head's queries, keys and values, then the next one's: ranks that have a
 * part of the columns have whole heads. */
static tsr_value attention(builder *b, tsr_value x, int layer) {
  const config *c = b->c;
  const double spread = 1 / sqrt((double)c->width);
  const tsr_attr last = TSR_INT("axis", -1), causal = TSR_BOOLEAN("causal", true);
  tsr_value part[3], qkv = linear(b, x, "qkv", layer, c->width, 3 * c->width, spread, by_columns);
  const bool wide = c->mode != MODE_STANDARD && c->mode != MODE_AGGRESSIVE; /* there is none of fp8 */
  if (!wide) qkv = cast(b, qkv, half(b));
  qkv = reshape(b, qkv, 4, (int64_t[]){b->batch, c->length, c->heads, 3 * c->width / c->heads});
  qkv = transpose(b, qkv, (int64_t[]){0, 2, 1, 3});
  check(tsr_graph_op_results(b->g, "split", &qkv, 1, &last, 1, part, 3));
  tsr_value y = transpose(b, op(b, "flash_attention", 3, part, 1, &causal), (int64_t[]){0, 2, 1, 3});
  if (!wide) y = cast(b, y, "f32");
  y = reshape(b, y, 3, (int64_t[]){b->batch, c->length, c->width});
  return linear(b, y, "out", layer, c->width, c->width, spread / sqrt(2.0 * c->layers), by_rows);
}

static tsr_value mlp(builder *b, tsr_value x, int layer) {
  const config *c = b->c;
  const tsr_attr by_tanh = TSR_STRING("approximate", "tanh");
  tsr_value h = linear(b, x, "up", layer, c->width, 4 * c->width, 1 / sqrt((double)c->width), by_columns);
  h = op(b, "gelu", 1, &h, 1, &by_tanh);
  return linear(b, h, "down", layer, 4 * c->width, c->width, 1 / sqrt(8.0 * c->width * c->layers), by_rows);
}

/* The stage's layers, [from, to). */
static int layers_to(const config *c, stage s) { return c->layers * (s.number + 1) / s.of; }
static int layers_from(const config *c, stage s) { return c->layers * s.number / s.of; }

static tsr_value activations(builder *b, stage s, tsr_value x) {
  const config *c = b->c;
  if (stage_is_first(s)) {
    x = op2(b, "embedding", matrix(b, "symbols", -1, SYMBOLS, c->width, 0.1, NULL), x);
    x = op2(b, "add", x, matrix(b, "places", -1, c->length, c->width, 0.02, NULL));
  }
  for (int i = layers_from(c, s); i < layers_to(c, s); i++) {
    x = op2(b, "add", x, dropout(b, attention(b, norm(b, x, "norm_attention", i), i)));
    x = op2(b, "add", x, dropout(b, mlp(b, norm(b, x, "norm_mlp", i), i)));
  }
  return x;
}

static tsr_value loss(builder *b, tsr_value x, tsr_value targets) {
  const config *c = b->c;
  const tsr_attr plain = TSR_FLOAT("eps", 1e-5);
  x = reshape(b, op(b, "layernorm", 1, &x, 1, &plain), 2, (int64_t[]){b->batch * c->length, c->width});
  x = linear(b, x, "head", -1, c->width, SYMBOLS, 0.5 / sqrt((double)c->width), NULL);
  return op2(b, "cross_entropy", x, targets);
}

static tsr_graph *build(tsr_context *ctx, const config *c, stage s, bool forward, model *m) {
  builder b = {.c = c, .m = m, .batch = c->batch / c->microbatches, .site = 2 * layers_from(c, s)};
  const tsr_shape between = {3, {b.batch, c->length, c->width}}, tokens = {2, {b.batch, c->length}};
  const tsr_shape targets = {1, {b.batch * c->length}};
  const bool first = stage_is_first(s), last = stage_is_last(s);
  b.next = first ? 0 : 2 + PER_LAYER * layers_from(c, s);
  m->n = 0;
  check(tsr_graph_create(ctx, forward ? "forward" : "loss", &b.g));
  tsr_value in = input(&b, "x", first ? TSR_I32 : TSR_F32, first ? tokens : between);
  tsr_value y = input(&b, "y", last ? TSR_I32 : TSR_F32, last ? targets : between);
  b.key = input(&b, "key", TSR_I32, (tsr_shape){1, {2}});
  b.counters = input(&b, "counters", TSR_I32, (tsr_shape){1, {8 * c->layers}});
  tsr_value scale = input(&b, "scale", TSR_F32, (tsr_shape){.rank = 0}), x = activations(&b, s, in);
  if (forward) {
    check(tsr_graph_output(b.g, x));
    return b.g;
  }
  if (last) {
    x = loss(&b, x, y);
    check(tsr_graph_output(b.g, op2(&b, "mul", x, scale))); /* what is differentiated */
    check(tsr_graph_output(b.g, x));
  } else {
    const int64_t all[3] = {0, 1, 2};
    const tsr_attr axes = TSR_INTS("axes", all, 3);
    x = op2(&b, "mul", x, y);
    check(tsr_graph_output(b.g, op(&b, "reduce_sum", 1, &x, 1, &axes)));
  }
  m->values[m->n] = in;
  return b.g;
}

void model_build(tsr_context *ctx, const config *c, stage s, model *m) {
  *m = (model){.n = 0};
  if (!stage_is_last(s)) m->forward = build(ctx, c, s, true, m);
  m->loss = build(ctx, c, s, false, m);
}

int model_n_parameters(const config *c) { return 4 + PER_LAYER * c->layers; }
