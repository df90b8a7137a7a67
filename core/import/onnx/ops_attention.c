/* core/import/onnx/ops_attention.c - ONNX's Attention and RotaryEmbedding. Attention is written as its products about a
 * softmax, which Graph IR's rewrites take as one kernel where they can. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/heads.h"
#include "core/import/onnx/tables.h"

ir_value *cv_heads_first(cv *c, ir_value *x, int64_t heads) {
  if (cv_rank(x) != 3) return x;
  if (heads < 1 || x->type->dims[2] % heads) return cv_refuse(c, "%lld heads", (long long)heads);
  const int64_t dims[4] = {x->type->dims[0], x->type->dims[1], heads, x->type->dims[2] / heads};
  return cv_swap(c, cv_reshape(c, x, 4, dims), 1, 2);
}

ir_value *cv_heads_last(cv *c, ir_value *x) {
  x = cv_swap(c, x, 1, 2);
  if (!x) return NULL;
  const int64_t *d = x->type->dims;
  return cv_reshape(c, x, 3, (int64_t[]){d[0], d[1], d[2] * d[3]});
}

/* Heads of keys and values, each for so many of the queries'. */
static ir_value *repeated(cv *c, ir_value *x, int64_t heads) {
  const int64_t have = cv_dim(x, 1);
  if (!x || have == heads) return x;
  if (have < 1 || heads % have) return cv_refuse(c, "%lld heads of keys for %lld", (long long)have, (long long)heads);
  const int64_t *d = x->type->dims, split[5] = {d[0], have, 1, d[2], d[3]},
                wide[5] = {d[0], have, heads / have, d[2], d[3]};
  return cv_reshape(c, cv_broadcast(c, cv_reshape(c, x, 5, split), 5, wide), 4, (int64_t[]){d[0], heads, d[2], d[3]});
}

typedef struct masking {
  ir_value *bias;  /* is added; NULL: none */
  ir_value *allow; /* bool; NULL: all */
} masking;

static ir_value *both(cv *c, ir_value *x, ir_value *y) { return !x ? y : !y ? x : cv_op2(c, G_AND, x, y); }

static masking read_mask(cv *c, tsr_dtype t, int64_t queries, int64_t keys, int64_t past) {
  masking m = {NULL, NULL};
  ir_value *mask = cv_in(c, 3);
  if (mask) {
    const int last = mask->type->rank - 1;
    const int64_t short_of = last < 0 ? 0 : keys - mask->type->dims[last];
    int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
    if (short_of > 0 && mask->type->dims[last] > 1) { /* keys behind it aren't seen */
      high[last] = short_of;
      const int64_t n = mask->type->dims[last], dims[2] = {1, keys};
      m.allow = cv_compare(c, "lt", cv_iota(c, TSR_I32, 2, dims, 1), cv_number(c, TSR_I32, (double)n));
    }
    const bool is_bool = mask->type->dtype == TSR_BOOL;
    if (high[last < 0 ? 0 : last])
      mask = is_bool ? cv_cast(c, cv_pad(c, cv_cast(c, mask, TSR_U8), low, high, 0), TSR_BOOL)
                     : cv_pad(c, mask, low, high, 0);
    if (is_bool) m.allow = both(c, m.allow, mask);
    else m.bias = cv_cast(c, mask, t);
  }
  if (cv_int(c, "is_causal", 0)) {
    const int64_t dims[2] = {queries, keys};
    ir_value *row = cv_iota(c, TSR_I32, 2, dims, 0), *column = cv_iota(c, TSR_I32, 2, dims, 1);
    m.allow = both(c, m.allow, cv_compare(c, "le", column, cv_op2(c, G_ADD, row, cv_number(c, TSR_I32, (double)past))));
  }
  if (cv_has(c, 6)) { /* how many keys each entry of the batch has */
    ir_value *n = cv_need(c, 6);
    const int64_t dims[4] = {1, 1, 1, keys};
    ir_value *at = cv_iota(c, n ? n->type->dtype : TSR_I64, 4, dims, 3);
    m.allow = both(c, m.allow, cv_compare(c, "lt", at, cv_along(c, n, 0, 4)));
  }
  return m;
}

static ir_value *capped(cv *c, ir_value *x, double cap) {
  if (!(cap > 0)) return x;
  ir_value *k = cv_like(c, x, cap);
  return cv_op2(c, G_MUL, cv_op1(c, G_TANH, cv_op2(c, G_DIV, x, k)), k);
}

static ir_value *with_mask(cv *c, ir_value *x, const masking *m) {
  if (m->bias) x = cv_op2(c, G_ADD, x, m->bias);
  return m->allow ? cv_where(c, m->allow, x, cv_like(c, x, -INFINITY)) : x;
}

/* A row that sees nothing gives zeros. */
static ir_value *softmax(cv *c, ir_value *x, const masking *m) {
  ir_value *y = cv_at1(c, G_SOFTMAX, x, TSR_INT("axis", -1));
  if (!m->allow && !m->bias) return y;
  const int64_t axis = cv_rank(x) - 1;
  ir_value *best = cv_reduce(c, G_REDUCE_MAX, x, &axis, 1, true);
  return cv_where(c, cv_compare(c, "gt", best, cv_like(c, x, -INFINITY)), y, cv_like(c, x, 0));
}

static ir_value *extended(cv *c, ir_value *x, int past, int64_t *length) {
  if (!cv_has(c, past)) return x;
  ir_value *before = cv_need(c, past);
  *length = cv_dim(before, 2);
  return cv_concat(c, 2, (ir_value *[]){before, x}, 2);
}

static void op_attention(cv *c) {
  ir_value *q = cv_need(c, 0), *k = cv_need(c, 1), *v = cv_need(c, 2);
  const bool flat = cv_rank(q) == 3;
  int64_t past = 0;
  q = cv_heads_first(c, q, cv_int(c, "q_num_heads", 0));
  k = extended(c, cv_heads_first(c, k, cv_int(c, "kv_num_heads", 0)), 4, &past);
  v = extended(c, cv_heads_first(c, v, cv_int(c, "kv_num_heads", 0)), 5, &past);
  if (cv_rank(q) != 4 || cv_rank(k) != 4 || cv_rank(v) != 4)
    return cv_out(c, 0, cv_refuse(c, "operands of other dimensions"));
  if (cv_wants(c, 1)) cv_out(c, 1, k);
  if (cv_wants(c, 2)) cv_out(c, 2, v);
  const int64_t heads = cv_dim(q, 1), mode = cv_int(c, "qk_matmul_output_mode", 0);
  const masking m = read_mask(c, q->type->dtype, cv_dim(q, 2), cv_dim(k, 2), past);
  const double root = sqrt(cv_float(c, "scale", 1 / sqrt((double)cv_dim(q, 3)))), cap = cv_float(c, "softcap", 0);
  ir_value *factor = cv_like(c, q, root);
  ir_value *scores = cv_at2(c, G_MATMUL, cv_op2(c, G_MUL, q, factor), cv_op2(c, G_MUL, repeated(c, k, heads), factor),
                            TSR_BOOLEAN("transpose_b", true));
  /* Until 25 what a mask adds is capped too; a key that is hidden stays so in all versions. */
  const bool cap_last = c->version < 25;
  ir_value *first = cap_last ? with_mask(c, scores, &m) : capped(c, scores, cap);
  ir_value *second = cap_last ? capped(c, first, cap) : with_mask(c, first, &m);
  if (cap_last && cap > 0 && m.allow) second = cv_where(c, m.allow, second, cv_like(c, second, -INFINITY));
  ir_value *shown = mode == 0 ? scores : mode == 1 ? first : second;
  ir_value *wide = cv_cast(c, second, q->type->dtype == TSR_F64 ? TSR_F64 : TSR_F32);
  ir_value *p = cv_cast(c, softmax(c, wide, &m), q->type->dtype);
  ir_value *y = cv_op2(c, G_MATMUL, p, repeated(c, v, heads));
  cv_out(c, 0, flat ? cv_heads_last(c, y) : y);
  if (cv_wants(c, 3)) cv_out(c, 3, mode == 3 ? p : shown);
}

/* Pairs of x, halves or neighbours, by tables of cosines and sines. */
static ir_value *rotate(cv *c, ir_value *x, ir_value *cos, ir_value *sin, bool interleaved) {
  const int last = cv_rank(x) - 1;
  const int64_t width = cv_dim(x, last), half = width / 2;
  ir_value *a, *b;
  if (!x) return NULL;
  int64_t pairs[TSR_MAX_RANK];
  memcpy(pairs, x->type->dims, sizeof pairs);
  pairs[last] = half;
  pairs[last + 1] = 2;
  if (interleaved) {
    ir_value *p = cv_reshape(c, x, last + 2, pairs);
    a = cv_reshape(c, cv_part(c, p, last + 1, 0, 1), last + 1, pairs);
    b = cv_reshape(c, cv_part(c, p, last + 1, 1, 1), last + 1, pairs);
  } else {
    a = cv_part(c, x, last, 0, half);
    b = cv_part(c, x, last, half, half);
  }
  ir_value *re = cv_op2(c, G_SUB, cv_op2(c, G_MUL, cos, a), cv_op2(c, G_MUL, sin, b));
  ir_value *im = cv_op2(c, G_ADD, cv_op2(c, G_MUL, sin, a), cv_op2(c, G_MUL, cos, b));
  if (!interleaved) return cv_concat(c, 2, (ir_value *[]){re, im}, last);
  pairs[last + 1] = 1;
  ir_value *both_parts[2] = {cv_reshape(c, re, last + 2, pairs), cv_reshape(c, im, last + 2, pairs)};
  return cv_reshape(c, cv_concat(c, 2, both_parts, last + 1), last + 1, x->type->dims);
}

ir_value *cv_rotary_pairs(cv *c, ir_value *x, ir_value *cos, ir_value *sin, ir_value *positions, bool interleaved) {
  if (cv_rank(x) != 4 || !cos || !sin) return cv_refuse(c, "operands of other dimensions");
  if (positions) cos = cv_gather(c, cos, positions, 0), sin = cv_gather(c, sin, positions, 0);
  if (cv_rank(cos) == 3) {
    const int64_t *d = cos->type->dims, dims[4] = {d[0], 1, d[1], d[2]};
    cos = cv_reshape(c, cos, 4, dims);
    sin = cv_reshape(c, sin, 4, dims);
  }
  const int64_t width = cv_dim(x, 3), given = cv_int(c, "rotary_embedding_dim", 0), some = given ? given : width;
  if (some < 0 || some > width || some % 2) return cv_refuse(c, "rotary_embedding_dim %lld", (long long)some);
  ir_value *y = rotate(c, cv_part(c, x, 3, 0, some), cos, sin, interleaved);
  if (some < width) y = cv_concat(c, 2, (ir_value *[]){y, cv_part(c, x, 3, some, width - some)}, 3);
  return y;
}

ir_value *cv_rotary(cv *c, ir_value *x, ir_value *cos, ir_value *sin, ir_value *positions, int64_t heads) {
  const bool flat = cv_rank(x) == 3;
  if (flat && !heads) return cv_refuse(c, "num_heads is missing");
  if (flat) x = cv_heads_first(c, x, heads);
  x = cv_rotary_pairs(c, x, cos, sin, positions, cv_int(c, "interleaved", 0) != 0);
  return flat ? cv_heads_last(c, x) : x;
}

static void op_rotary(cv *c) {
  cv_out(c, 0, cv_rotary(c, cv_need(c, 0), cv_need(c, 1), cv_need(c, 2), cv_in(c, 3), cv_int(c, "num_heads", 0)));
}

const cv_row onnx_rows_attention[] = {
    {"Attention", 23, op_attention}, {"RotaryEmbedding", 23, op_rotary}, {NULL, 0, NULL}};
