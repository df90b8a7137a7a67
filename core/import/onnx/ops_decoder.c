/* core/import/onnx/ops_decoder.c - com.microsoft's ops of decoders: products with matrices of 4 and 8 bits, rotary
 * positions, attention of grouped queries with a cache, and SimplifiedLayerNormalization, which ONNX Runtime writes in
 * ONNX's own domain. */
#include <math.h>
#include <string.h>

#include "core/base/block_format.h"
#include "core/base/dtype.h"
#include "core/import/onnx/heads.h"
#include "core/import/onnx/tables.h"

static void op_simplified_norm(cv *c) {
  ir_value *x = cv_need(c, 0);
  if (cv_axis(c, cv_int(c, "axis", -1), cv_rank(x)) != cv_rank(x) - 1) cv_refuse(c, "another axis than the last");
  for (int i = 1; i < 3; i++)
    if (cv_wants(c, i)) cv_refuse(c, "its statistics");
  cv_out(c, 0, cv_at2(c, G_RMSNORM, x, cv_need(c, 1), TSR_FLOAT("eps", cv_float(c, "epsilon", 1e-5f))));
}

/* ---- products with few bits -------------------------------------------------------------------------------------- */

static ir_value *with_bias(cv *c, ir_value *y) { return cv_has(c, 5) ? cv_op2(c, G_ADD, y, cv_need(c, 5)) : y; }

static const unsigned char *bytes_of(const ir_value *v) {
  const ir_attr *a = v && graph_is(v->def, G_CONSTANT) ? ir_get_attr(v->def, "value") : NULL;
  return a && !a->u.dense.splat ? a->u.dense.data : NULL;
}

/* Constant weights of 4 bits around 8, with scales that f16 holds, are blocks of q4_0, which products read as they lie.
 * NULL: they aren't. */
static ir_value *by_blocks(cv *c, ir_value *x, ir_value *packed, ir_value *scales, int64_t k, int64_t n,
                           int64_t block) {
  const int64_t bytes = block_format_by_name("q4_0")->bytes;
  const unsigned char *p = bytes_of(packed);
  const int64_t rows = n * (k / BLOCK_RUN), each = block / BLOCK_RUN;
  if (cv_int(c, "bits", 4) != 4 || cv_has(c, 3) || !p || !graph_is(scales->def, G_CONSTANT) || k % block ||
      block % BLOCK_RUN || x->type->dtype != TSR_F32 || packed->type->dtype != TSR_U8 ||
      ir_type_count(packed->type) != n * k / 2 || ir_type_count(scales->type) != n * (k / block))
    return NULL;
  unsigned char *blocks = arena_alloc(&c->a, (size_t)(rows * bytes) + 1);
  if (!blocks) return NULL;
  for (int64_t i = 0; i < rows; i++) {
    unsigned char *to = blocks + i * bytes;
    const unsigned char *from = p + i * (BLOCK_RUN / 2);
    const double scale = graph_constant_at(scales->def, i / each);
    dtype_store(TSR_F16, to, 0, scale);
    if (dtype_load(TSR_F16, to, 0) != scale) return NULL;
    uint8_t q[BLOCK_RUN];
    for (int e = 0; e < BLOCK_RUN; e++) q[e] = from[e / 2] >> 4 * (e % 2) & 15;
    block_q4_0_put(q, to);
  }
  const int64_t dims[2] = {n, k / BLOCK_RUN * bytes};
  ir_value *w = cv_at1(c, G_DEQUANTIZE, cv_constant(c, TSR_U8, 2, dims, blocks), TSR_STRING("format", "q4_0"));
  return cv_at2(c, G_MATMUL, x, w, TSR_BOOLEAN("transpose_b", true));
}

/* Weights [n, blocks, bytes] of 4 or 8 bits, the low bits first; scales and zero points of each block. */
static void op_matmul_nbits(cv *c) {
  ir_value *x = cv_need(c, 0), *packed = cv_need(c, 1), *scales = cv_need(c, 2), *y;
  const int64_t k = cv_int(c, "K", 0), n = cv_int(c, "N", 0), bits = cv_int(c, "bits", 4),
                block = cv_int(c, "block_size", 32);
  if (!x || !packed || !scales) return cv_out(c, 0, NULL);
  if ((bits != 4 && bits != 8) || block < 16 || block > 1 << 20 || k < 1 || n < 1 || k > INT32_MAX || n > INT32_MAX)
    return cv_out(c, 0, cv_refuse(c, "%lld bits", (long long)bits));
  if (cv_has(c, 4)) return cv_out(c, 0, cv_refuse(c, "g_idx"));
  const int64_t blocks = (k + block - 1) / block, per = 8 / bits, dims[4] = {n, blocks, block / per, 1};
  if ((y = by_blocks(c, x, packed, scales, k, n, block))) return cv_out(c, 0, with_bias(c, y));
  const tsr_dtype t = x->type->dtype;
  ir_value *q = cv_reshape(c, packed, 4, dims), *zero = cv_number(c, TSR_I32, bits == 4 ? 8 : 128);
  q = cv_cast(c, q, TSR_I32);
  ir_value *mask = cv_number(c, TSR_I32, 15), *shift = cv_number(c, TSR_I32, 4);
  if (bits == 4) q = cv_concat(c, 2, (ir_value *[]){cv_op2(c, G_AND, q, mask), cv_op2(c, G_SHIFT_RIGHT, q, shift)}, 3);
  q = cv_reshape(c, q, 3, (int64_t[]){n, blocks, block});
  if (cv_has(c, 3)) {
    ir_value *z = cv_need(c, 3);
    const int64_t bytes = (blocks + per - 1) / per;
    if (!z || ir_type_count(z->type) != n * bytes || z->type->dtype != TSR_U8)
      return cv_out(c, 0, cv_refuse(c, "zero points of another type"));
    z = cv_cast(c, cv_reshape(c, z, 3, (int64_t[]){n, bytes, 1}), TSR_I32);
    if (bits == 4)
      z = cv_concat(c, 2, (ir_value *[]){cv_op2(c, G_AND, z, mask), cv_op2(c, G_SHIFT_RIGHT, z, shift)}, 2);
    z = cv_part(c, cv_reshape(c, z, 2, (int64_t[]){n, bytes * per}), 1, 0, blocks);
    zero = cv_reshape(c, z, 3, (int64_t[]){n, blocks, 1});
  }
  ir_value *w = cv_cast(c, cv_op2(c, G_SUB, q, zero), t);
  w = cv_op2(c, G_MUL, w, cv_cast(c, cv_reshape(c, scales, 3, (int64_t[]){n, blocks, 1}), t));
  w = cv_part(c, cv_reshape(c, w, 2, (int64_t[]){n, blocks * block}), 1, 0, k);
  cv_out(c, 0, with_bias(c, cv_at2(c, G_MATMUL, x, w, TSR_BOOLEAN("transpose_b", true))));
}

/* ---- rotary positions -------------------------------------------------------------------------------------------- */

/* [batch, length]: the first one's place, or all of them. */
static ir_value *positions_of(cv *c, ir_value *at, int64_t batch, int64_t length) {
  const int64_t dims[2] = {batch, length};
  if (!at || ir_type_count(at->type) == batch * length) return cv_reshape(c, at, 2, dims);
  if (ir_type_count(at->type) != 1) return cv_refuse(c, "positions of other dimensions");
  ir_value *step = cv_iota(c, at->type->dtype, 2, dims, 1);
  return cv_op2(c, G_ADD, step, cv_reshape(c, at, 0, (int64_t[]){0}));
}

static void op_rotary(cv *c) {
  ir_value *x = cv_need(c, 0), *at = cv_need(c, 1), *cos = cv_need(c, 2), *sin = cv_need(c, 3);
  const int rank = cv_rank(x);
  int64_t heads = cv_int(c, "num_heads", 0);
  const int64_t width = cv_int(c, "rotary_embedding_dim", 0);
  if (cv_float(c, "scale", 1) != 1) cv_refuse(c, "scale");
  if (cv_int(c, "is_packed_batching", 0)) cv_refuse(c, "is_packed_batching");
  if ((rank != 3 && rank != 4) || cv_rank(cos) != 2) cv_refuse(c, "operands of other dimensions");
  if (width && !heads) cv_refuse(c, "num_heads is missing");
  if (!heads && cv_dim(cos, 1) > 0) heads = cv_dim(x, 2) / (2 * cv_dim(cos, 1));
  at = c->failed ? NULL : positions_of(c, at, cv_dim(x, 0), cv_dim(x, rank - 2)); /* length is the last but one */
  cv_out(c, 0, c->failed ? NULL : cv_rotary(c, x, cos, sin, at, heads));
}

/* ---- attention of grouped queries -------------------------------------------------------------------------------- */

typedef struct group {
  ir_value *q, *k, *v; /* [batch, heads, length, width] */
  ir_value *keys;      /* [batch]: how many keys there are with the new ones, i32 */
  ir_value *first;     /* [batch]: the place of the first new one */
  int64_t batch, length, past, total;
} group;

/* Queries, keys and values may lie one behind the other in the first operand. */
static void read_group(cv *c, group *g) {
  const int64_t heads = cv_int(c, "num_heads", 0), kv = cv_int(c, "kv_num_heads", 0);
  ir_value *x = cv_need(c, 0);
  if (cv_rank(x) != 3 || heads < 1 || kv < 1 || heads % kv || heads > 1 << 16) {
    cv_refuse(c, "%lld heads of queries, %lld of keys", (long long)heads, (long long)kv);
    return;
  }
  g->batch = cv_dim(x, 0);
  g->length = cv_dim(x, 1);
  const int64_t packed = cv_dim(x, 2) / (heads + 2 * kv);
  if (cv_has(c, 1)) g->q = x, g->k = cv_need(c, 1), g->v = cv_need(c, 2);
  else {
    g->q = cv_part(c, x, 2, 0, heads * packed);
    g->k = cv_part(c, x, 2, heads * packed, kv * packed);
    g->v = cv_part(c, x, 2, (heads + kv) * packed, kv * packed);
  }
  g->q = cv_heads_first(c, g->q, heads);
  g->k = cv_heads_first(c, g->k, kv);
  g->v = cv_heads_first(c, g->v, kv);
}

/* How many keys there are: the cache's length where that isn't less. */
static void read_lengths(cv *c, group *g) {
  ir_value *last = cv_cast(c, cv_need(c, 5), TSR_I32);
  const int64_t total = cv_known_int(c, 6, -1);
  g->past = cv_has(c, 3) ? cv_dim(cv_need(c, 3), 2) : 0;
  g->total = total > g->past ? total : g->past;
  if (!c->failed && (total < g->length || total > 1 << 24)) cv_refuse(c, "a total length of %lld", (long long)total);
  g->keys = cv_reshape(c, cv_op2(c, G_ADD, last, cv_number(c, TSR_I32, 1)), 1, &g->batch);
  if (total == g->length) g->first = cv_fill(c, TSR_I32, 1, &g->batch, 0); /* a prompt, filled up behind */
  else g->first = cv_op2(c, G_SUB, g->keys, cv_number(c, TSR_I32, (double)g->length));
}

/* The cache with the new rows at their places. */
static ir_value *extended(cv *c, const group *g, int past, ir_value *rows) {
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  ir_value *cache = cv_has(c, past) ? cv_need(c, past) : NULL;
  high[2] = g->total - g->past;
  if (!rows) return NULL;
  const int64_t dims[4] = {g->batch, cv_dim(rows, 1), g->total, cv_dim(rows, 3)};
  if (cache && cv_rank(cache) != 4) return cv_refuse(c, "a past of %d dimensions", cv_rank(cache));
  cache = g->past ? cv_pad(c, cache, low, high, 0) : cv_fill(c, rows->type->dtype, 4, dims, 0);
  return cv_make(c, G_CACHE_UPDATE, 3, (ir_value *[]){cache, rows, g->first}, NULL, 0);
}

static void op_group_query(cv *c) {
  group g = {NULL};
  const int64_t window = cv_int(c, "local_window_size", -1);
  const double scale = cv_float(c, "scale", 0), cap = cv_float(c, "softcap", 0);
  static const char *const none[] = {"smooth_softmax", "qk_output", "kv_cache_bit_width"};
  for (int i = 0; i < 3; i++)
    if (cv_int(c, none[i], 0) > 0) cv_refuse(c, "%s", none[i]);
  for (int i = 10; i < 14; i++)
    if (cv_has(c, i)) cv_refuse(c, "operand %d", i);
  if (cv_wants(c, 3)) cv_refuse(c, "its scores");
  read_group(c, &g);
  if (!c->failed) read_lengths(c, &g);
  if (c->failed) return cv_out(c, 0, NULL);
  if (cv_int(c, "do_rotary", 0)) {
    const int64_t dims[2] = {g.batch, g.length};
    ir_value *at = cv_op2(c, G_ADD, cv_iota(c, TSR_I32, 2, dims, 1), cv_along(c, g.first, 0, 2));
    if (cv_has(c, 9)) at = positions_of(c, cv_need(c, 9), g.batch, g.length);
    g.q = cv_rotary_pairs(c, g.q, cv_need(c, 7), cv_need(c, 8), at, cv_int(c, "rotary_interleaved", 0) != 0);
    g.k = cv_rotary_pairs(c, g.k, cv_need(c, 7), cv_need(c, 8), at, cv_int(c, "rotary_interleaved", 0) != 0);
  }
  g.k = extended(c, &g, 3, g.k);
  g.v = extended(c, &g, 4, g.v);
  /* A prompt's keys behind its end are seen by what is behind it alone. */
  ir_value *ends = cv_op2(c, G_ADD, g.first, cv_number(c, TSR_I32, (double)g.length));
  tsr_attr attrs[4] = {TSR_BOOLEAN("causal", true)};
  int n = 1;
  if (scale != 0) attrs[n++] = (tsr_attr)TSR_FLOAT("scale", scale);
  if (cap > 0) attrs[n++] = (tsr_attr)TSR_FLOAT("softcap", cap);
  if (window > 0) attrs[n++] = (tsr_attr)TSR_INT("window", window);
  cv_out(c, 0, cv_heads_last(c, cv_make(c, G_FLASH_ATTENTION, 4, (ir_value *[]){g.q, g.k, g.v, ends}, attrs, n)));
  if (cv_wants(c, 1)) cv_out(c, 1, g.k);
  if (cv_wants(c, 2)) cv_out(c, 2, g.v);
}

const cv_row onnx_rows_simplified[] = {{"SimplifiedLayerNormalization", 1, op_simplified_norm}, {NULL, 0, NULL}};
const cv_row onnx_rows_decoder[] = {{"MatMulNBits", 1, op_matmul_nbits},
                                    {"RotaryEmbedding", 1, op_rotary},
                                    {"GroupQueryAttention", 1, op_group_query},
                                    {"SimplifiedLayerNormalization", 1, op_simplified_norm},
                                    {NULL, 0, NULL}};
