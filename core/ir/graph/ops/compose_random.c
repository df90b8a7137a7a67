/* core/ir/graph/ops/compose_random.c - random numbers without state: rows, shape rules, expansions. An element is a
 * function of a key, a counter and its own place, by Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random
 * numbers: as easy as 1, 2, 3", SC 2011), in integers of 32 bits that wrap: the same bits on every device, however work
 * is shared out. Elements 4 i .. 4 i + 3 are the four words of the block of counter + i. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/compose.h"

enum { KEY_WORDS = 2, COUNTER_WORDS = 4, ROUNDS = 10 };

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* 32 bits: a value of type i32, or where v is NULL the same known number everywhere. */
typedef struct word {
  ir_value *v;
  uint32_t c;
} word;

static ir_value *of_word(ir_builder *b, word x) {
  return x.v ? x.v : graph_number(b, TSR_I32, (double)(int32_t)x.c);
}

static word known(uint32_t c) { return (word){NULL, c}; }

static word two(ir_builder *b, graph_code c, word x, word y) {
  return (word){graph_op2(b, c, of_word(b, x), of_word(b, y)), 0};
}

static word add(ir_builder *b, word x, word y) {
  if (!x.v && !y.v) return known(x.c + y.c);
  return !y.v && !y.c ? x : !x.v && !x.c ? y : two(b, G_ADD, x, y);
}

static word exclusive_or(ir_builder *b, word x, word y) {
  if (!x.v && !y.v) return known(x.c ^ y.c);
  return !y.v && !y.c ? x : !x.v && !x.c ? y : two(b, G_XOR, x, y);
}

/* Both halves of the product of 64 bits. */
static void multiply(ir_builder *b, word x, uint32_t by, word *high, word *low) {
  const uint64_t p = (uint64_t)x.c * by;
  *high = x.v ? two(b, G_MUL_HIGH, x, known(by)) : known((uint32_t)(p >> 32));
  *low = x.v ? two(b, G_MUL, x, known(by)) : known((uint32_t)p);
}

/* The upper `bits` of a word, as a number from 0 on. */
static ir_value *upper(ir_builder *b, word x, int bits) {
  word r = two(b, G_SHIFT_RIGHT, x, known(32 - (uint32_t)bits));
  return two(b, G_AND, r, known((UINT32_C(1) << bits) - 1)).v;
}

static ir_value *is_set(ir_builder *b, word x, uint32_t bit) {
  return graph_compare(b, CMP_NE, of_word(b, two(b, G_AND, x, known(bit))), graph_number(b, TSR_I32, 0));
}

static word choose(ir_builder *b, ir_value *c, word x, word y) { return (word){SELECT(c, x.v, y.v), 0}; }

/* ---- Philox ------------------------------------------------------------------------------------------------------ */

static void philox(ir_builder *b, word c[COUNTER_WORDS], word k[KEY_WORDS]) {
  for (int r = 0; r < ROUNDS; r++) {
    word high[2], low[2];
    multiply(b, c[0], 0xd2511f53, &high[0], &low[0]);
    multiply(b, c[2], 0xcd9e8d57, &high[1], &low[1]);
    c[0] = exclusive_or(b, exclusive_or(b, high[1], c[1]), k[0]);
    c[1] = low[1];
    c[2] = exclusive_or(b, exclusive_or(b, high[0], c[3]), k[1]);
    c[3] = low[0];
    if (r + 1 == ROUNDS) break;
    k[0] = add(b, k[0], known(0x9e3779b9));
    k[1] = add(b, k[1], known(0xbb67ae85));
  }
}

/* Element i of a vector as a tensor of shape t: a view of memory, so that all that is computed of it is computed where
 * the other words are, in one kernel. */
static word element(ir_builder *b, ir_value *x, int64_t i, const ir_type *t) {
  ir_value *y = graph_cut(b, x, &i, (int64_t[]){1});
  return (word){t->rank ? graph_broadcast(b, y, t->rank, t->dims) : graph_reshape(b, y, 0, NULL), 0};
}

/* c += x, of 128 bits. */
static void advance(ir_builder *b, word c[COUNTER_WORDS], word x) {
  const word sign = known(UINT32_C(1) << 31); /* signed comparison of what it is changed in is an unsigned one */
  ir_value *carry = NULL, *one = graph_number(b, TSR_I32, 1), *zero = graph_number(b, TSR_I32, 0);
  for (int i = 0; i < COUNTER_WORDS && !b->failed; i++) {
    const word added = i ? (word){SELECT(carry, one, zero), 0} : x, sum = two(b, G_ADD, c[i], added);
    ir_value *wraps = i ? graph_compare(b, CMP_EQ, sum.v, zero)
                        : graph_compare(b, CMP_LT, exclusive_or(b, sum, sign).v, exclusive_or(b, x, sign).v);
    carry = i ? graph_op2(b, G_AND, carry, wraps) : wraps;
    c[i] = sum;
  }
}

/* The place of each element in row-major order; of one element the number 0. */
static word places(ir_builder *b, const ir_type *t) {
  word at = known(0);
  int64_t stride = 1;
  for (int i = t->rank - 1; i >= 0; stride *= t->dims[i--]) {
    if (t->dims[i] == 1) continue;
    word axis = {graph_iota(b, TSR_I32, t, i), 0};
    at = add(b, at, stride == 1 ? axis : two(b, G_MUL, axis, known((uint32_t)stride)));
  }
  return at;
}

/* The four words of the block of each element of a tensor of shape t, blocks being shared by 2^shift neighbours; *at:
 * its place. The key is operand `key`, the counter the one behind it. */
static bool blocks(ir_builder *b, const ir_op *op, int key, const ir_type *t, int shift, word *at, word out[4]) {
  const bool counted = op->n_operands > key + 1;
  word k[KEY_WORDS];
  *at = places(b, t);
  word block = at->v ? two(b, G_SHIFT_RIGHT, *at, known((uint32_t)shift)) : *at;
  for (int i = 0; i < KEY_WORDS; i++) k[i] = element(b, IN(key), i, t);
  for (int i = 0; i < COUNTER_WORDS; i++) out[i] = counted ? element(b, IN(key + 1), i, t) : known(0);
  if (!counted) out[0] = block;
  else if (block.v) advance(b, out, block);
  philox(b, out, k);
  return !b->failed;
}

/* A word for each element: that of its place in its block. */
static word word_of_each(ir_builder *b, const ir_op *op, int key, const ir_type *t) {
  word at, w[4];
  if (!blocks(b, op, key, t, 2, &at, w) || !at.v) return b->failed ? (word){NULL, 0} : w[0];
  ir_value *odd = is_set(b, at, 1);
  return choose(b, is_set(b, at, 2), choose(b, odd, w[3], w[2]), choose(b, odd, w[1], w[0]));
}

/* ---- shape rules ------------------------------------------------------------------------------------------------- */

tsr_status shape_key(ir_op *op, int first) {
  static const char *const names[] = {"key", "counter"};
  char a[128];
  for (int i = first; i < op->n_operands; i++) {
    const ir_type *t = TYPE(i);
    const int64_t n = i == first ? KEY_WORDS : COUNTER_WORDS;
    if (t->dtype != TSR_I32 || t->rank != 1 || shape_differs(t->dims[0], n))
      return ir_error(op, i == first ? "two words of 32 bits: i32[2]" : "four words of 32 bits: i32[4]", "the %s is %s",
                      names[i - first], shape_text(t, a, sizeof a));
  }
  return NULL;
}

static tsr_status check_count(const ir_op *op, int rank, const int64_t *dims) {
  int64_t n = 1;
  for (int i = 0; i < rank; i++)
    if (dims[i] != IR_DYNAMIC && __builtin_mul_overflow(n, dims[i] ? dims[i] : 1, &n)) n = INT64_MAX;
  return n <= INT32_MAX ? NULL : ir_error(op, "draw parts, each with a counter", "more than 2147483647 elements");
}

static tsr_status infer_rng(ir_op *op, const ir_type **results) {
  int64_t dims[TSR_MAX_RANK];
  const int rank = ir_get_ints(op, "shape", dims, TSR_MAX_RANK);
  tsr_dtype t;
  TSR_TRY(shape_tensors(op));
  TSR_TRY(shape_key(op, 0));
  TSR_TRY(shape_dtype_attr(op, "dtype", &t));
  if (rank < 0) return ir_error(op, NULL, "shape must be a list of integers");
  if (rank > TSR_MAX_RANK) return ir_error(op, NULL, "shape has %d entries, at most %d", rank, TSR_MAX_RANK);
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0) return ir_error(op, NULL, "shape entry %lld is negative", (long long)dims[i]);
  if (!dtype_is_float(t) && (t != TSR_I32 || op->def->code == G_RNG_NORMAL))
    return ir_error(op, op->def->code == G_RNG_NORMAL ? "a float" : "a float, or i32 for the bits", "no numbers of %s",
                    tsr_dtype_name(t));
  TSR_TRY(check_count(op, rank, dims));
  return shape_finish(op, t, rank, dims, results);
}

static tsr_status infer_stochastic(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  TSR_TRY(shape_floats(op));
  TSR_TRY(shape_key(op, 1));
  TSR_TRY(shape_dtype_attr(op, "dtype", &t));
  if (TYPE(0)->dtype == TSR_F64) return ir_error(op, "cast it to f32 first", "takes no f64");
  if (!dtype_is_float(t) || tsr_dtype_size(t) > 2)
    return ir_error(op, "bf16, f16, fp8_e4m3 or fp8_e5m2", "dtype is %s", tsr_dtype_name(t));
  TSR_TRY(check_count(op, TYPE(0)->rank, TYPE(0)->dims));
  return shape_finish(op, t, TYPE(0)->rank, TYPE(0)->dims, results);
}

static tsr_status infer_dropout(ir_op *op, const ir_type **results) {
  const double p = ir_get_float(op, "p", 0.5);
  TSR_TRY(shape_floats(op));
  TSR_TRY(shape_key(op, 1));
  if (!(p >= 0 && p <= 1)) return ir_error(op, "0 to 1", "p is %g", p);
  TSR_TRY(check_count(op, TYPE(0)->rank, TYPE(0)->dims));
  results[0] = TYPE(0);
  return NULL;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* How many bits a number of t from 1/2 on below 1 has. */
static int digits(tsr_dtype t) { return -ilogb(dtype_get(t)->eps); }

/* 53 bits of two words, in [0, 1). */
static ir_value *fraction_of_two(ir_builder *b, word x, word y) {
  ir_value *high = graph_cast(b, upper(b, x, 27), TSR_F64), *low = graph_cast(b, upper(b, y, 26), TSR_F64);
  if (b->failed) return NULL;
  return MUL(ADD(MUL(high, LIKE(high, 0x1p26)), low), LIKE(high, 0x1p-53));
}

/* The upper bits of a word, as many as a t has, in [0, 1): nothing is rounded. */
static ir_value *fraction(ir_builder *b, word x, tsr_dtype t) {
  ir_value *y = graph_cast(b, upper(b, x, digits(t)), TSR_F32);
  return y ? graph_cast(b, MUL(y, LIKE(y, ldexp(1, -digits(t)))), t) : NULL;
}

EXPAND(expand_rng_uniform) {
  const ir_type *t = OUT->type;
  word at, w[4];
  if (t->dtype == TSR_F64) {
    if (!blocks(b, op, 0, t, 1, &at, w)) return false;
    if (at.v) {
      ir_value *odd = is_set(b, at, 1);
      w[0] = choose(b, odd, w[2], w[0]), w[1] = choose(b, odd, w[3], w[1]);
    }
    out[0] = fraction_of_two(b, w[0], w[1]);
  } else {
    word x = word_of_each(b, op, 0, t);
    if (b->failed) return false;
    out[0] = t->dtype == TSR_I32 ? x.v : fraction(b, x, t->dtype);
  }
  DONE;
}

/* Box and Muller: sqrt(-2 log u) cos(2 pi v), u in (0, 1]. */
static ir_value *normal(ir_builder *b, ir_value *u, ir_value *v) {
  if (!u || !v) return NULL;
  ir_value *radius = graph_op1(b, G_SQRT, MUL(graph_op1(b, G_LOG, u), LIKE(u, -2)));
  return MUL(radius, graph_op1(b, G_COS, MUL(v, LIKE(v, 6.283185307179586477))));
}

/* Neighbours share a pair of words: the second is a quarter of a turn behind the first. */
static ir_value *normals(ir_builder *b, const ir_op *op) {
  word at, w[4];
  if (!blocks(b, op, 0, OUT->type, 2, &at, w)) return NULL;
  ir_value *odd = NULL;
  if (at.v) {
    ir_value *later = is_set(b, at, 2);
    odd = is_set(b, at, 1);
    w[0] = choose(b, later, w[2], w[0]), w[1] = choose(b, later, w[3], w[1]);
  }
  ir_value *one = graph_number(b, TSR_I32, 1), *bits = upper(b, w[0], 24), *v = fraction(b, w[1], TSR_F32);
  if (b->failed) return NULL;
  ir_value *u = graph_cast(b, ADD(bits, one), TSR_F32);
  if (odd) v = SUB(v, SELECT(odd, LIKE(v, 0.25), LIKE(v, 0)));
  return normal(b, MUL(u, LIKE(u, 0x1p-24)), v);
}

/* Each element has a block of its own. */
static ir_value *wide_normals(ir_builder *b, const ir_op *op) {
  word at, w[4];
  if (!blocks(b, op, 0, OUT->type, 0, &at, w)) return NULL;
  ir_value *u = fraction_of_two(b, w[0], w[1]), *v = fraction_of_two(b, w[2], w[3]);
  return u && v ? normal(b, ADD(u, LIKE(u, 0x1p-53)), v) : NULL;
}

EXPAND(expand_rng_normal) {
  const ir_type *t = OUT->type;
  ir_value *y = t->dtype == TSR_F64 ? wide_normals(b, op) : normals(b, op);
  out[0] = graph_cast(b, y, t->dtype);
  DONE;
}

/* ---- dropout ----------------------------------------------------------------------------------------------------- */

/* Which elements stay is decided by integers. What they are made of isn't differentiable: the gradient goes through the
 * same elements, by the same bits. */
EXPAND(expand_dropout) {
  const double p = ir_get_float(op, "p", 0.5), threshold = nearbyint(p * 0x1p24);
  ir_value *x = IN(0);
  out[0] = x;
  if (threshold == 0) DONE;
  word drawn = word_of_each(b, op, 1, x->type);
  if (b->failed) return false;
  ir_value *stays = graph_compare(b, CMP_GE, upper(b, drawn, 24), graph_number(b, TSR_I32, threshold));
  const tsr_dtype t = compose_float(x->type->dtype);
  ir_value *y = MUL(graph_cast(b, x, t), graph_number(b, t, p < 1 ? 1 / (1 - p) : 1));
  out[0] = graph_cast(b, SELECT(stays, y, graph_number(b, t, 0)), x->type->dtype);
  DONE;
}

/* ---- stochastic rounding ----------------------------------------------------------------------------------------- */

/* The number of t on the other side of x from `near`, which is x rounded to the nearest, `off` = x - near: near moved
 * by five eighths of the distance of numbers there, which is exact and nearest to the one beside it, whether that is as
 * far away or, below a power of two, half as far. */
static ir_value *beside(ir_builder *b, ir_value *near, ir_value *off, tsr_dtype t) {
  const int digits = dtype_get(t)->mantissa_bits, exponent_bits = 8 * (int)tsr_dtype_size(t) - 1 - digits;
  const double distance = ldexp(1, -digits), least = ldexp(distance, 2 - (1 << (exponent_bits - 1)));
  ir_value *move = MUL(graph_op1(b, G_ABS, near), LIKE(near, 0.625 * distance));
  move = graph_op2(b, G_MAX, move, LIKE(near, 0.625 * least));
  ir_value *up = graph_compare(b, CMP_GT, off, LIKE(near, 0));
  ir_value *moved = SELECT(up, ADD(near, move), SUB(near, move));
  return graph_cast(b, graph_cast(b, moved, t), TSR_F32);
}

/* All in f32 and exact, so that every device gives the same bits: the other neighbour with the probability of how far x
 * is on the way to it, in steps of 2^-24. What isn't finite once it is rounded has no other. */
EXPAND(expand_stochastic) {
  const tsr_dtype t = OUT->type->dtype;
  ir_value *x = graph_cast(b, IN(0), TSR_F32);
  word drawn = word_of_each(b, op, 1, x->type);
  if (b->failed) return false;
  ir_value *near = graph_cast(b, graph_cast(b, x, t), TSR_F32), *off = near ? SUB(x, near) : NULL;
  ir_value *other = off ? beside(b, near, off, t) : NULL, *u = graph_cast(b, upper(b, drawn, 24), TSR_F32);
  if (b->failed) return false;
  ir_value *way = MUL(graph_op1(b, G_ABS, SUB(other, near)), MUL(u, LIKE(u, 0x1p-24)));
  ir_value *goes = graph_compare(b, CMP_LT, way, graph_op1(b, G_ABS, off));
  goes = graph_op2(b, G_AND, goes, graph_compare(b, CMP_LT, graph_op1(b, G_ABS, near), LIKE(near, INFINITY)));
  out[0] = graph_cast(b, SELECT(goes, other, near), t);
  DONE;
}

/* As a cast's. */
BEGIN(adjoint_stochastic) {
  grads[0] = graph_cast(b, g, IN(0)->type->dtype);
  END;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define DRAWN(dtypes)                                                      \
  ATTRS({"shape", IR_A_ARRAY, true, NULL, "the result's dimensions"},      \
        {"dtype", IR_A_STR, false, "f32", dtypes})
#define PLACES \
  "Element i is a function of the key, i32[2], the counter, i32[4] (0 if absent), and i alone, by Philox 4x32-10: "
#define SHARDS " A part that begins at element 4 n is the same with n added to the counter."

static const ir_opdef rows[] = {
    {COMPOSITE(RNG_UNIFORM, "rng_uniform", 1, 2, 1), .operands_doc = "key, counter", .types_doc = "i32",
     .infer = infer_rng, BY(expand_rng_uniform), .attrs = DRAWN("a float; i32: all 32 bits"),
     .help = PLACES "word i mod 4 of the block of counter + i / 4, the same bits on every device. Floats are multiples "
             "of 2^-24 in [0, 1), of types with fewer digits of as many as they have; f64 takes two words." SHARDS},
    {COMPOSITE(RNG_NORMAL, "rng_normal", 1, 2, 1), .operands_doc = "key, counter", .types_doc = "i32",
     .infer = infer_rng, BY(expand_rng_normal), .attrs = DRAWN("a float"),
     .help = PLACES "Box and Muller's sqrt(-2 log u) cos(2 pi v) of the same bits on every device, in f32 or f64 with "
             "the device's functions, whose roundings may differ. Mean 0, variance 1, at most 5.8 (of f64 8.6) from 0." SHARDS},
    {COMPOSITE(DROPOUT, "dropout", 2, 3, 1), .operands_doc = "x, key, counter", .types_doc = FLOATS,
     .infer = infer_dropout, BY(expand_dropout),
     .attrs = ATTRS({"p", IR_A_FLOAT, false, "0.5", "the share of elements that become 0"}),
     .help = "x / (1 - p) where rng_uniform of the key, i32[2], and the counter, i32[4] (0 if absent), is at least p, "
             "else 0, whatever x is there. Its gradient goes through the same elements." SHARDS},
    {COMPOSITE(STOCHASTIC_CAST, "stochastic_cast", 2, 3, 1), .operands_doc = "x, key, counter",
     .types_doc = "f32, f16, bf16, fp8", .infer = infer_stochastic,
     .ext = ROW(GRAPH_COMPOSITE, .expand = expand_stochastic, .adjoint = adjoint_stochastic),
     .attrs = ATTRS({"dtype", IR_A_STR, true, NULL, "bf16, f16, fp8_e4m3 or fp8_e5m2"}),
     .help = "x rounded to one of the two numbers of dtype about it, to the farther one with the probability of how far x "
             "is on the way to it, by 24 bits of rng_uniform of the key, i32[2], and the counter, i32[4] (0 if absent): the "
             "mean is x, the same bits on every device. What cast makes infinite or NaN is so here. The gradient goes "
             "through as if nothing were rounded." SHARDS},
};

const ir_rows graph_compose_random_ops = {rows, sizeof rows / sizeof *rows};
