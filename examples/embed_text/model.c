/* examples/embed_text/model.c - a BERT encoder as a graph whose weights stay in their safetensors file: embeddings,
 * layers of attention and MLP, each with a residual and a layer norm, the mean over the tokens. Lengths are rounded up,
 * so that few programs are made: tokens behind the length are not seen. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "embed.h"

enum { HEAD = 32, STEP = 16, MOST_LAYERS = 48, N_PLANS = MOST_TOKENS / STEP };

/* One length. */
typedef struct plan {
  tsr_program *program;
  tsr_buffer *ids, *length, *out;
} plan;

struct model {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_weights *w;
  const char *path;
  int width, layers;
  plan plans[N_PLANS];
};

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static tsr_shape shape_of(const model *m, const char *name) {
  const int i = tsr_weights_find(m->w, name);
  if (i < 0) fail(EXIT_INPUT, "%s has no tensor %s: it is no BERT encoder", m->path, name);
  return tsr_weights_tensor(m->w, i).shape;
}

model *model_create(tsr_context *ctx, tsr_device *dev, const char *path, int vocabulary_size) {
  model *m = get_memory(NULL, 1, sizeof *m);
  char name[96];
  *m = (model){.ctx = ctx, .dev = dev, .path = path};
  check(tsr_weights_open(ctx, path, &m->w));
  const tsr_shape words = shape_of(m, "embeddings.word_embeddings.weight"),
                  places = shape_of(m, "embeddings.position_embeddings.weight");
  if (words.rank != 2 || places.rank != 2 || words.dims[1] != places.dims[1] || words.dims[1] < HEAD ||
      words.dims[1] > 1 << 16 || words.dims[1] % HEAD || places.dims[0] < MOST_TOKENS)
    fail(EXIT_INPUT, "%s: embeddings of other dimensions", path);
  if (words.dims[0] < vocabulary_size)
    fail(EXIT_INPUT, "%s has %lld tokens, the vocabulary %d", path, (long long)words.dims[0], vocabulary_size);
  m->width = (int)words.dims[1];
  do snprintf(name, sizeof name, "encoder.layer.%d.output.dense.weight", m->layers);
  while (m->layers < MOST_LAYERS && tsr_weights_find(m->w, name) >= 0 && ++m->layers);
  if (!m->layers) fail(EXIT_INPUT, "%s has no tensor encoder.layer.0.output.dense.weight: it is no BERT encoder", path);
  return m;
}

void model_destroy(model **m) {
  for (int i = 0; i < N_PLANS; i++) {
    plan *p = &(*m)->plans[i];
    tsr_buffer_destroy(&p->ids);
    tsr_buffer_destroy(&p->length);
    tsr_buffer_destroy(&p->out);
    tsr_program_destroy(&p->program);
  }
  tsr_weights_close(&(*m)->w);
  free(*m);
  *m = NULL;
}

int model_width(const model *m) { return m->width; }

/* ---- the graph --------------------------------------------------------------------------------------------------- */

typedef struct builder {
  model *m;
  tsr_graph *g;
  int64_t n;
  tsr_value seen; /* [1, 1, 1, n]: which tokens there are */
} builder;

static tsr_value op(const builder *b, const char *name, int n, const tsr_value *x, const tsr_attr *attrs, int n_attrs) {
  tsr_value v;
  check(tsr_graph_op(b->g, name, x, n, attrs, n_attrs, &v));
  return v;
}

#define OP1(name, x, ...) \
  op(b, name, 1, (tsr_value[]){x}, (tsr_attr[]){__VA_ARGS__}, sizeof((tsr_attr[]){__VA_ARGS__}) / sizeof(tsr_attr))
#define OP2(name, x, y, ...)                                        \
  op(b, name, 2, (tsr_value[]){x, y}, (tsr_attr[]){__VA_ARGS__}, \
     sizeof((tsr_attr[]){__VA_ARGS__}) / sizeof(tsr_attr))
#define DIMS(...) TSR_INTS("shape", ((int64_t[]){__VA_ARGS__}), sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static tsr_value add(const builder *b, tsr_value x, tsr_value y) {
  return op(b, "add", 2, (tsr_value[]){x, y}, NULL, 0);
}

static tsr_value weight(const builder *b, const char *before, const char *name, const char *last) {
  char full[160];
  tsr_value v;
  if (snprintf(full, sizeof full, "%s%s%s", before, name, last) >= (int)sizeof full) fail(EXIT_FAILED, "a long name");
  check(tsr_graph_weight(b->g, b->m->w, full, &v));
  return v;
}

/* x w^T + b */
static tsr_value dense(const builder *b, tsr_value x, const char *before, const char *name) {
  x = OP2("matmul", x, weight(b, before, name, ".weight"), TSR_BOOLEAN("transpose_b", true));
  return add(b, x, weight(b, before, name, ".bias"));
}

static tsr_value norm(const builder *b, tsr_value x, const char *before, const char *name) {
  const tsr_value v[] = {x, weight(b, before, name, ".weight"), weight(b, before, name, ".bias")};
  return op(b, "layernorm", 3, v, &(tsr_attr)TSR_FLOAT("eps", 1e-12), 1);
}

/* [n, width] to [1, heads, n, HEAD] */
static tsr_value heads(const builder *b, tsr_value x) {
  const int64_t perm[] = {0, 2, 1, 3};
  return OP1("transpose", OP1("reshape", x, DIMS(1, b->n, b->m->width / HEAD, HEAD)), TSR_INTS("perm", perm, 4));
}

static tsr_value attention(const builder *b, tsr_value x, const char *before) {
  static const char *const names[] = {"attention.self.query", "attention.self.key", "attention.self.value"};
  const int64_t perm[] = {0, 2, 1, 3};
  tsr_value v[4];
  for (int i = 0; i < 3; i++) v[i] = heads(b, dense(b, x, before, names[i]));
  v[3] = b->seen;
  tsr_value y = op(b, "flash_attention", 4, v, NULL, 0);
  y = OP1("reshape", OP1("transpose", y, TSR_INTS("perm", perm, 4)), DIMS(b->n, b->m->width));
  return dense(b, y, before, "attention.output.dense");
}

static tsr_value layer(const builder *b, tsr_value x, int i) {
  char before[64];
  snprintf(before, sizeof before, "encoder.layer.%d.", i);
  x = norm(b, add(b, x, attention(b, x, before)), before, "attention.output.LayerNorm");
  tsr_value y = op(b, "gelu", 1, (tsr_value[]){dense(b, x, before, "intermediate.dense")}, NULL, 0);
  y = dense(b, y, before, "output.dense");
  return norm(b, add(b, x, y), before, "output.LayerNorm");
}

/* Rows from 0 on. */
static tsr_value rows(const builder *b, tsr_value x, int64_t n) {
  const int64_t starts[] = {0, 0}, sizes[] = {n, b->m->width};
  return OP1("slice", x, TSR_INTS("starts", starts, 2), TSR_INTS("sizes", sizes, 2));
}

/* The mean of the rows that are there, by its length. */
static tsr_value pooled(const builder *b, tsr_value x) {
  const int64_t first = 0;
  const float nothing = 0;
  tsr_value zero;
  check(tsr_graph_constant(b->g, TSR_F32, (tsr_shape){0}, &nothing, &zero));
  tsr_value there = OP1("reshape", b->seen, DIMS(b->n, 1));
  x = op(b, "select", 3, (tsr_value[]){there, x, zero}, NULL, 0);
  tsr_value sum = OP1("reduce_sum", x, TSR_INTS("axes", &first, 1)); /* its direction is the mean's */
  tsr_value length = OP1("reduce_sum", op(b, "mul", 2, (tsr_value[]){sum, sum}, NULL, 0), TSR_INTS("axes", &first, 1));
  return op(b, "div", 2, (tsr_value[]){sum, op(b, "sqrt", 1, &length, NULL, 0)}, NULL, 0);
}

static void build(builder *b) {
  tsr_value ids, length, x;
  check(tsr_graph_create(b->m->ctx, NULL, &b->g));
  check(tsr_graph_input(b->g, "ids", TSR_I32, (tsr_shape){1, {b->n}}, &ids));
  check(tsr_graph_input(b->g, "length", TSR_I32, (tsr_shape){0}, &length));
  const tsr_attr all[] = {DIMS(b->n), TSR_INT("axis", 0), TSR_STRING("dtype", "i32")};
  tsr_value places = op(b, "iota", 0, NULL, all, 3);
  b->seen = OP1("reshape", OP2("compare", places, length, TSR_STRING("predicate", "lt")), DIMS(1, 1, 1, b->n));
  x = OP2("gather", weight(b, "embeddings.", "word_embeddings", ".weight"), ids, TSR_INT("axis", 0));
  x = add(b, x, rows(b, weight(b, "embeddings.", "token_type_embeddings", ".weight"), 1));
  x = add(b, x, rows(b, weight(b, "embeddings.", "position_embeddings", ".weight"), b->n));
  x = norm(b, x, "embeddings.", "LayerNorm");
  for (int i = 0; i < b->m->layers; i++) x = layer(b, x, i);
  check(tsr_graph_output(b->g, pooled(b, x)));
}

static plan *plan_of(model *m, int n) {
  plan *p = &m->plans[(n - 1) / STEP];
  if (p->program) return p;
  builder b = {.m = m, .n = ((n - 1) / STEP + 1) * STEP};
  build(&b);
  check(tsr_program_compile(m->dev, b.g, NULL, &p->program));
  tsr_graph_destroy(&b.g);
  check(tsr_buffer_create(m->dev, (size_t)b.n * sizeof(int32_t), TSR_MEMORY_DEVICE, &p->ids));
  check(tsr_buffer_create(m->dev, sizeof(int32_t), TSR_MEMORY_DEVICE, &p->length));
  check(tsr_buffer_create(m->dev, (size_t)m->width * sizeof(float), TSR_MEMORY_DEVICE, &p->out));
  return p;
}

void model_embed(model *m, const int32_t *tokens, int n, float *out) {
  plan *p = plan_of(m, n);
  int32_t ids[MOST_TOKENS] = {0};
  const int32_t length = n;
  memcpy(ids, tokens, (size_t)n * sizeof *ids);
  check(tsr_buffer_write(p->ids, 0, ids, tsr_buffer_bytes(p->ids)));
  check(tsr_buffer_write(p->length, 0, &length, sizeof length));
  check(tsr_program_run(p->program, NULL, (tsr_binding[]){{p->ids, 0}, {p->length, 0}}, &(tsr_binding){p->out, 0}));
  check(tsr_buffer_read(p->out, 0, out, (size_t)m->width * sizeof(float)));
}
