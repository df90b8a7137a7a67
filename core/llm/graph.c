/* core/llm/graph.c - see graph.h. Errors are kept in the builder and looked at once. */
#include "core/llm/graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct builder {
  const llm_params *p;
  tsr_graph *g;
  tsr_status st;
  int64_t tokens, cache;
  bool blocks, joined;
  const tsr_mesh *mesh;                 /* NULL: one device */
  tsr_value in[LLM_IN_CACHES], *caches; /* inputs; then what the caches become */
  llm_graph *out;
  tsr_value *inputs; /* by weight */
  int layer;
} builder;

static tsr_value op(builder *b, const char *name, const tsr_value *x, int n, const tsr_attr *attrs, int n_attrs) {
  tsr_value v = 0;
  if (!b->st) b->st = tsr_graph_op(b->g, name, x, n, attrs, n_attrs, &v);
  return v;
}

static tsr_value op1(builder *b, const char *name, tsr_value x) { return op(b, name, &x, 1, NULL, 0); }
static tsr_value op2(builder *b, const char *name, tsr_value x, tsr_value y) {
  return op(b, name, (tsr_value[]){x, y}, 2, NULL, 0);
}

static tsr_value input(builder *b, const char *name, tsr_dtype type, tsr_shape shape) {
  tsr_value v = 0;
  if (!b->st) b->st = tsr_graph_input(b->g, name, type, shape, &v);
  return v;
}

/* Its dimension `dim`, of n, is cut by the mesh, if that is even; else all ranks have it whole. */
static tsr_value cut(builder *b, tsr_value v, const char *dim, int64_t n) {
  static const char *const axis[] = {LLM_MESH_AXIS};
  if (!b->mesh || b->st) return v;
  const tsr_shardspec s = {.partition = &dim, .mesh_axes = axis, .n = n % tsr_mesh_ranks(b->mesh) == 0};
  b->st = tsr_graph_shard(b->g, v, b->mesh, &s);
  return v;
}

static tsr_value reshape(builder *b, tsr_value x, int rank, const int64_t *dims) {
  const tsr_attr a = TSR_INTS("shape", dims, rank);
  return op(b, "reshape", &x, 1, &a, 1);
}

static tsr_value slice(builder *b, tsr_value x, int rank, const int64_t *starts, const int64_t *sizes) {
  const tsr_attr a[2] = {TSR_INTS("starts", starts, rank), TSR_INTS("sizes", sizes, rank)};
  return op(b, "slice", &x, 1, a, 2);
}

static tsr_value number(builder *b, double x) {
  const float f = (float)x;
  tsr_value v = 0;
  if (!b->st) b->st = tsr_graph_constant(b->g, TSR_F32, (tsr_shape){0}, &f, &v);
  return v;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

const void *llm_weight_data(const weights *w, const llm_weight *x, int i, size_t *bytes) {
  const weights_tensor *t = x->tensors[i];
  uint64_t n = 0;
  (void)weights_count(&t->shape, &n); /* it was checked when the file was read */
  *bytes = x->blocks ? (size_t)t->bytes : (size_t)n * tsr_dtype_size(x->dtype);
  return t->block && !x->blocks ? NULL : weights_data(w, t);
}

static bool is_blocks(const builder *b, const weights_tensor *t) {
  return b->blocks && t->block && t->block->unpack && t->shape.rank == 2;
}

/* The input of tensors that follow one another, made the first time that it is asked for. */
static tsr_value joined_weight(builder *b, const weights_tensor *const *t, int n) {
  if (b->st) return 0;
  for (int i = 0; i < b->out->n_weights; i++)
    if (b->out->weights[i].tensors[0] == t[0] && b->out->weights[i].n == n) return b->inputs[i];
  const int i = b->out->n_weights++;
  const bool blocks = is_blocks(b, t[0]);
  tsr_shape shape = t[0]->shape;
  if (blocks) shape.dims[1] = shape.dims[1] / t[0]->block->elements * t[0]->block->bytes;
  llm_weight *w = &b->out->weights[i];
  *w = (llm_weight){.n = n, .dtype = blocks ? TSR_U8 : weights_read_type(t[0]), .blocks = blocks};
  for (int k = 0; k < n; k++) w->tensors[k] = t[k];
  for (int k = 1; k < n; k++) shape.dims[0] += t[k]->shape.dims[0];
  b->inputs[i] = input(b, t[0]->name, w->dtype, shape);
  return shape.rank == 2 ? cut(b, b->inputs[i], "0", shape.dims[0]) : b->inputs[i];
}

/* 0: there is none. */
static tsr_value weight(builder *b, llm_slot slot) {
  const weights_tensor *t = llm_tensor(b->p, slot, b->layer);
  return t ? joined_weight(b, &t, 1) : 0;
}

/* As f32, for what is added or multiplied element by element. */
static tsr_value vector(builder *b, llm_slot slot) {
  const weights_tensor *t = llm_tensor(b->p, slot, b->layer);
  const tsr_value v = weight(b, slot);
  const tsr_attr to = TSR_STRING("dtype", "f32");
  return v && weights_read_type(t) != TSR_F32 ? op(b, "cast", &v, 1, &to, 1) : v;
}

/* x W^T of tensors whose rows follow one another. */
static tsr_value joined_product(builder *b, tsr_value x, const weights_tensor *const *t, int n) {
  const tsr_value operands[2] = {x, joined_weight(b, t, n)};
  const tsr_attr transposed = TSR_BOOLEAN("transpose_b", true);
  if (!is_blocks(b, t[0])) return op(b, "matmul", operands, 2, &transposed, 1);
  const char *format = t[0]->block->name;
  const bool has_offset = !strcmp(format, "q4_1") || !strcmp(format, "q5_1"); /* as other programs round x for them */
  const tsr_attr a[2] = {TSR_STRING("format", format), TSR_STRING("activations", has_offset ? "q8_1" : "q8_0")};
  return op(b, "block_matmul", operands, 2, a, 2);
}

static tsr_value product(builder *b, tsr_value x, llm_slot matrix) {
  const weights_tensor *t = llm_tensor(b->p, matrix, b->layer);
  return joined_product(b, x, &t, 1);
}

/* y + bias, where there is one. */
static tsr_value biased(builder *b, tsr_value y, llm_slot bias) {
  const tsr_value c = vector(b, bias);
  return c ? op2(b, "add", y, c) : y;
}

/* x W^T + bias. */
static tsr_value linear(builder *b, tsr_value x, llm_slot matrix, llm_slot bias) {
  return biased(b, product(b, x, matrix), bias);
}

static tsr_value columns(builder *b, tsr_value y, int64_t from, int64_t n) {
  return slice(b, y, 2, (int64_t[]){0, from}, (int64_t[]){b->tokens, n});
}

static bool same_format(const weights_tensor *x, const weights_tensor *y) {
  return x->block == y->block && weights_read_type(x) == weights_read_type(y);
}

/* x W^T of n matrices: those of one format that follow one another as one product, which rounds and reads x once.
 * Returns how many of them the first product has. */
static int products(builder *b, tsr_value x, const llm_slot *slots, int n, tsr_value *out, tsr_value *first) {
  const weights_tensor *t[LLM_MOST_JOINED];
  int n_first = 0;
  for (int i = 0; i < n; i++) t[i] = llm_tensor(b->p, slots[i], b->layer);
  for (int i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && b->joined && same_format(t[i], t[end]);) end++;
    const tsr_value y = joined_product(b, x, t + i, end - i);
    int64_t at = 0;
    for (int k = i; k < end; at += t[k++]->shape.dims[0])
      out[k] = end - i == 1 ? y : columns(b, y, at, t[k]->shape.dims[0]);
    if (!i) *first = y, n_first = end;
  }
  return n_first;
}

/* The norm of a slot, whose bias is the next one where norms have biases. */
static tsr_value norm(builder *b, tsr_value x, llm_slot slot, bool layer_norm) {
  const tsr_attr eps = TSR_FLOAT("eps", b->p->eps);
  const tsr_value v[3] = {x, vector(b, slot), layer_norm ? vector(b, slot + 1) : 0};
  return op(b, layer_norm ? "layernorm" : "rmsnorm", v, v[2] ? 3 : 2, &eps, 1);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* [heads, tokens, dim] of columns from `from` on of y [tokens, ..], with the norm of each head. */
static tsr_value split_heads(builder *b, tsr_value y, int64_t heads, int64_t dim, llm_slot norm_slot) {
  const int64_t perm[3] = {1, 0, 2};
  const tsr_attr a = TSR_INTS("perm", perm, 3);
  tsr_value x = reshape(b, y, 3, (int64_t[]){b->tokens, heads, dim});
  if (norm_slot && llm_tensor(b->p, norm_slot, b->layer)) x = norm(b, x, norm_slot, false);
  return op(b, "transpose", &x, 1, &a, 1);
}

static tsr_value rotate(builder *b, tsr_value x, int64_t heads) {
  const llm_params *p = b->p;
  const bool local = p->arch->local_base > 0 && llm_is_local(p, b->layer);
  const llm_input table = local ? LLM_IN_LOCAL_COS : LLM_IN_COS;
  const tsr_value cos = b->in[table], sin = b->in[table + 1];
  const tsr_attr pairs = TSR_BOOLEAN("interleaved", p->arch->interleaved), axis = TSR_INT("axis", 2);
  if (p->rope_dim == p->head_dim) return op(b, "rope", (tsr_value[]){x, cos, sin}, 3, &pairs, 1);
  const int64_t rest = p->head_dim - p->rope_dim;
  tsr_value turned = slice(b, x, 3, (int64_t[]){0, 0, 0}, (int64_t[]){heads, b->tokens, p->rope_dim});
  turned = op(b, "rope", (tsr_value[]){turned, cos, sin}, 3, &pairs, 1);
  const tsr_value same = slice(b, x, 3, (int64_t[]){0, 0, p->rope_dim}, (int64_t[]){heads, b->tokens, rest});
  return op(b, "concat", (tsr_value[]){turned, same}, 2, &axis, 1);
}

static tsr_value update(builder *b, int which, tsr_value rows, int64_t dim) {
  rows = reshape(b, rows, 4, (int64_t[]){1, b->p->kv_heads, b->tokens, dim});
  tsr_value *cache = &b->caches[2 * b->layer + which];
  *cache = op(b, "cache_update", (tsr_value[]){*cache, rows, b->in[LLM_IN_START]}, 3, NULL, 0);
  return cut(b, *cache, "1", b->p->kv_heads);
}

/* Queries, keys and values; *both: one value whose first columns are queries and keys, 0 where there is none. */
static void projections(builder *b, tsr_value x, tsr_value out[3], tsr_value *both) {
  static const llm_slot parts[3] = {LLM_Q, LLM_K, LLM_V};
  const llm_params *p = b->p;
  const int64_t n[3] = {p->heads * p->head_dim, p->kv_heads * p->head_dim, p->kv_heads * p->value_dim};
  *both = 0;
  if (llm_tensor(p, LLM_QKV, b->layer)) {
    *both = linear(b, x, LLM_QKV, LLM_QKV_BIAS);
    for (int64_t i = 0, at = 0; i < 3; at += n[i++]) out[i] = columns(b, *both, at, n[i]);
    return;
  }
  tsr_value first;
  bool biases = false;
  const int n_first = products(b, x, parts, 3, out, &first);
  for (int i = 0; i < 3; i++) {
    biases |= llm_tensor(p, LLM_Q_BIAS + 2 * i, b->layer) != NULL;
    out[i] = biased(b, out[i], LLM_Q_BIAS + 2 * i);
  }
  if (n_first > 1 && !biases) *both = first;
}

/* Queries and keys with their rotary positions, [heads, tokens, dim] each: as one where they are one product and have
 * no norms. */
static void rotated_heads(builder *b, const tsr_value y[3], tsr_value both, tsr_value *q, tsr_value *k) {
  const llm_params *p = b->p;
  const int64_t dim = p->head_dim, all = p->heads + p->kv_heads;
  if (!both || llm_tensor(p, LLM_Q_NORM, b->layer) || llm_tensor(p, LLM_K_NORM, b->layer)) {
    *q = rotate(b, split_heads(b, y[0], p->heads, dim, LLM_Q_NORM), p->heads);
    *k = rotate(b, split_heads(b, y[1], p->kv_heads, dim, LLM_K_NORM), p->kv_heads);
    return;
  }
  const tsr_value x = rotate(b, split_heads(b, columns(b, both, 0, all * dim), all, dim, 0), all);
  *q = slice(b, x, 3, (int64_t[]){0, 0, 0}, (int64_t[]){p->heads, b->tokens, dim});
  *k = slice(b, x, 3, (int64_t[]){p->heads, 0, 0}, (int64_t[]){p->kv_heads, b->tokens, dim});
}

static tsr_value attention(builder *b, tsr_value x) {
  const llm_params *p = b->p;
  tsr_value y[3], both, q, k;
  projections(b, x, y, &both);
  rotated_heads(b, y, both, &q, &k);
  const tsr_value v = split_heads(b, y[2], p->kv_heads, p->value_dim, 0);
  const tsr_value operands[4] = {reshape(b, q, 4, (int64_t[]){1, p->heads, b->tokens, p->head_dim}),
                                 update(b, 0, k, p->head_dim), update(b, 1, v, p->value_dim), b->in[LLM_IN_LENGTH]};
  const tsr_attr a[4] = {TSR_BOOLEAN("causal", true), TSR_FLOAT("scale", p->attention_scale),
                         TSR_FLOAT("softcap", p->attention_cap), TSR_INT("window", p->window)};
  tsr_value z = op(b, "flash_attention", operands, 4, a, llm_is_local(p, b->layer) ? 4 : 3);
  const int64_t perm[4] = {0, 2, 1, 3};
  const tsr_attr order = TSR_INTS("perm", perm, 4);
  z = op(b, "transpose", &z, 1, &order, 1);
  z = reshape(b, z, 2, (int64_t[]){b->tokens, p->heads * p->value_dim});
  return linear(b, z, LLM_ATTN_OUT, LLM_ATTN_OUT_BIAS);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static tsr_value activation(builder *b, tsr_value x) {
  const tsr_attr tanh = TSR_STRING("approximate", "tanh");
  return b->p->arch->gelu ? op(b, "gelu", &x, 1, &tanh, 1) : op2(b, "mul", x, op1(b, "sigmoid", x));
}

static tsr_value feed_forward(builder *b, tsr_value x) {
  const llm_params *p = b->p;
  tsr_value up, both[2];
  if (p->gate_in_up) {
    up = linear(b, x, LLM_UP, LLM_UP_BIAS);
    up = op2(b, "mul", activation(b, columns(b, up, 0, p->ffn)), columns(b, up, p->ffn, p->ffn));
  } else if (llm_tensor(p, LLM_GATE, b->layer)) {
    (void)products(b, x, (const llm_slot[]){LLM_GATE, LLM_UP}, 2, both, &up);
    up = op2(b, "mul", activation(b, both[0]), biased(b, both[1], LLM_UP_BIAS));
  } else up = activation(b, linear(b, x, LLM_UP, LLM_UP_BIAS));
  return linear(b, up, LLM_DOWN, LLM_DOWN_BIAS);
}

static tsr_value layer(builder *b, tsr_value x) {
  const llm_params *p = b->p;
  const bool ln = p->arch->layer_norm;
  const tsr_value h = norm(b, x, LLM_ATTN_NORM, ln);
  tsr_value y = attention(b, h);
  if (llm_tensor(p, LLM_ATTN_POST_NORM, b->layer)) y = norm(b, y, LLM_ATTN_POST_NORM, false);
  if (p->arch->parallel) return op2(b, "add", op2(b, "add", x, y), feed_forward(b, h));
  x = op2(b, "add", x, y);
  y = feed_forward(b, norm(b, x, LLM_FFN_NORM, ln));
  if (llm_tensor(p, LLM_FFN_POST_NORM, b->layer)) y = norm(b, y, LLM_FFN_POST_NORM, false);
  return op2(b, "add", x, y);
}

static tsr_value embedding(builder *b) {
  const tsr_attr to = TSR_STRING("dtype", "f32");
  tsr_value x = op2(b, "embedding", weight(b, LLM_EMBEDDING), b->in[LLM_IN_TOKENS]);
  const weights_tensor *t = llm_tensor(b->p, LLM_EMBEDDING, 0);
  if (is_blocks(b, t)) {
    const tsr_attr format = TSR_STRING("format", t->block->name);
    x = op(b, "dequantize", &x, 1, &format, 1);
  } else if (weights_read_type(t) != TSR_F32) x = op(b, "cast", &x, 1, &to, 1);
  return b->p->arch->scaled_embedding ? op2(b, "mul", x, number(b, sqrt((double)b->p->width))) : x;
}

static tsr_value logits(builder *b, tsr_value x) {
  const llm_params *p = b->p;
  x = op2(b, "gather", x, b->in[LLM_IN_LAST]);
  x = norm(b, x, LLM_OUTPUT_NORM, p->arch->layer_norm);
  const llm_slot matrix = llm_tensor(p, LLM_OUTPUT, 0) ? LLM_OUTPUT : LLM_EMBEDDING;
  x = product(b, x, matrix);
  const tsr_value bias = vector(b, LLM_OUTPUT_BIAS);
  if (bias) x = op2(b, "add", x, bias);
  if (p->logit_cap <= 0) return x;
  return op2(b, "mul", op1(b, "tanh", op2(b, "div", x, number(b, p->logit_cap))), number(b, p->logit_cap));
}

static void inputs(builder *b) {
  const llm_params *p = b->p;
  const tsr_shape one = {1, {1}}, row = {1, {b->tokens}}, turn = {2, {b->tokens, p->rope_dim / 2}};
  const tsr_shape local = p->arch->local_base > 0 ? turn : one;
  b->in[LLM_IN_TOKENS] = input(b, "tokens", TSR_I32, row);
  b->in[LLM_IN_START] = input(b, "start", TSR_I32, (tsr_shape){0});
  b->in[LLM_IN_LENGTH] = input(b, "length", TSR_I32, one);
  b->in[LLM_IN_LAST] = input(b, "last", TSR_I32, one);
  b->in[LLM_IN_COS] = input(b, "cos", TSR_F32, turn);
  b->in[LLM_IN_SIN] = input(b, "sin", TSR_F32, turn);
  b->in[LLM_IN_LOCAL_COS] = input(b, "local_cos", TSR_F32, local);
  b->in[LLM_IN_LOCAL_SIN] = input(b, "local_sin", TSR_F32, local);
  for (int i = 0; i < 2 * p->n_layers; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s.%d", i % 2 ? "values" : "keys", i / 2);
    b->caches[i] =
        input(b, name, TSR_F32, (tsr_shape){4, {1, p->kv_heads, b->cache, i % 2 ? p->value_dim : p->head_dim}});
    cut(b, b->caches[i], "1", p->kv_heads);
  }
}

static tsr_status build(builder *b) {
  inputs(b);
  tsr_value x = embedding(b);
  for (b->layer = 0; b->layer < b->p->n_layers; b->layer++) x = layer(b, x);
  b->layer = 0;
  x = logits(b, x);
  if (!b->st) b->st = tsr_graph_output(b->g, x);
  for (int i = 0; !b->st && i < 2 * b->p->n_layers; i++) b->st = tsr_graph_output(b->g, b->caches[i]);
  return b->st;
}

tsr_status llm_graph_build(tsr_context *ctx, const llm_params *p, arena *a, const llm_sizes *n, llm_graph *out) {
  const int most = (1 + p->n_layers) * LLM_N_SLOTS;
  builder b = {.p = p,
               .tokens = n->tokens,
               .cache = n->cache,
               .blocks = n->blocks,
               .joined = n->joined,
               .mesh = n->mesh,
               .out = out};
  *out = (llm_graph){.weights = arena_array(a, llm_weight, most)};
  b.inputs = arena_array(a, tsr_value, most);
  b.caches = arena_array(a, tsr_value, 2 * p->n_layers);
  if (!out->weights || !b.inputs || !b.caches) return st_oom();
  TSR_TRY(tsr_graph_create(ctx, "decoder", &b.g));
  tsr_status st = build(&b);
  if (st) tsr_graph_destroy(&b.g);
  out->g = b.g;
  return st;
}
