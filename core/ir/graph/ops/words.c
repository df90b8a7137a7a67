/* core/ir/graph/ops/words.c - u16, u32 and u64 on devices: each op that takes or gives them, built of ops on signed
 * words of the same bits, so that nothing below Graph IR knows these types (passes/graph/words.c). Sums, products and
 * bits are the same of both; what orders, divides, shifts right or converts is written out here. x: the operands,
 * unsigned ones as such words. u16 and u32 are divided and converted in the next wider signed type. */
#include <math.h>
#include <string.h>

#include "core/ir/graph/ops/adjoint.h"

#define WORD(x) ((x)->type->dtype)
#define NUMBER(t, v) graph_number(b, t, v)
#define OP2(CODE, x, y) graph_op2(b, G_##CODE, x, y)
#define TEST(p, x, y) graph_compare(b, CMP_##p, x, y)

/* ---- words and the numbers that they stand for ------------------------------------------------------------------- */

static int bits_of(tsr_dtype t) { return 8 * (int)tsr_dtype_size(t); }
static double sign_of(tsr_dtype word) { return -ldexp(1, bits_of(word) - 1); }
/* Of an unsigned type that devices know, too: u8. */
static tsr_dtype wide_of(tsr_dtype t) { return tsr_dtype_size(t) < 4 ? TSR_I32 : TSR_I64; }

/* Signed order of these is the unsigned order of x. */
static ir_value *flip(ir_builder *b, ir_value *x) { return x ? OP2(XOR, x, NUMBER(WORD(x), sign_of(WORD(x)))) : NULL; }

/* The number that a word of 16 or 32 bits stands for, in the wider type; and back, of which the low bits count. */
static ir_value *widen(ir_builder *b, ir_value *x) {
  if (!x) return NULL;
  const tsr_dtype t = wide_of(WORD(x));
  return OP2(AND, graph_cast(b, x, t), NUMBER(t, ldexp(1, bits_of(WORD(x))) - 1));
}

static ir_value *narrow(ir_builder *b, ir_value *x, tsr_dtype word) {
  if (!x) return NULL;
  const tsr_dtype t = WORD(x);
  ir_value *half = NUMBER(t, -sign_of(word)), *low = OP2(AND, x, NUMBER(t, ldexp(1, bits_of(word)) - 1));
  return graph_cast(b, SUB(OP2(XOR, low, half), half), word);
}

static ir_value *most(ir_builder *b) { return graph_op1(b, G_NOT, NUMBER(TSR_I64, sign_of(TSR_I64))); }
static ir_value *is_high(ir_builder *b, ir_value *x) { return TEST(LT, x, NUMBER(TSR_I64, 0)); }
static ir_value *half_of(ir_builder *b, ir_value *x) {
  return OP2(AND, OP2(SHIFT_RIGHT, x, NUMBER(TSR_I64, 1)), most(b));
}

/* ---- arithmetic of 64 bits --------------------------------------------------------------------------------------- */

/* Half of x by y, twice, is the quotient or one less; by y of 2^63 or more it is 0 or 1. */
static ir_value *quotient64(ir_builder *b, ir_value *x, ir_value *y) {
  ir_value *zero = NUMBER(TSR_I64, 0), *one = NUMBER(TSR_I64, 1);
  ir_value *q = OP2(SHIFT_LEFT, DIV(half_of(b, x), y), one);
  ir_value *rest = SUB(x, MUL(q, y));
  q = ADD(q, SELECT(TEST(GE, flip(b, rest), flip(b, y)), one, zero));
  ir_value *of_high = SELECT(TEST(GE, flip(b, x), flip(b, y)), one, zero);
  return SELECT(is_high(b, y), of_high, SELECT(TEST(EQ, y, zero), zero, q));
}

static ir_value *shifted64(ir_builder *b, ir_value *x, ir_value *n) {
  ir_value *ones = NUMBER(TSR_I64, -1), *one = NUMBER(TSR_I64, 1), *zero = NUMBER(TSR_I64, 0);
  ir_value *above = OP2(SHIFT_LEFT, OP2(SHIFT_LEFT, ones, SUB(NUMBER(TSR_I64, 63), n)), one);
  ir_value *y = OP2(AND, OP2(SHIFT_RIGHT, x, n), graph_op1(b, G_NOT, above));
  return SELECT(TEST(EQ, OP2(AND, n, NUMBER(TSR_I64, -64)), zero), y, zero);
}

/* Odd numbers to the power 2^63 are 1, even ones 0. */
static ir_value *power64(ir_builder *b, ir_value *x, ir_value *n) {
  ir_value *zero = NUMBER(TSR_I64, 0), *even = TEST(EQ, OP2(AND, x, NUMBER(TSR_I64, 1)), zero);
  ir_value *y = OP2(POW, x, OP2(AND, n, most(b)));
  return SELECT(OP2(AND, is_high(b, n), even), zero, y);
}

static ir_value *arithmetic64(ir_builder *b, int code, ir_value *x, ir_value *y) {
  switch (code) {
  case G_DIV: return quotient64(b, x, y);
  case G_REM: return SUB(x, MUL(quotient64(b, x, y), y));
  case G_POW: return power64(b, x, y);
  default: return shifted64(b, x, y);
  }
}

/* ---- pointwise --------------------------------------------------------------------------------------------------- */

static ir_value *of_wider(ir_builder *b, const ir_op *op, ir_value *x, ir_value *y) {
  if (!x || !y) return NULL;
  if (WORD(x) == TSR_I64) return arithmetic64(b, op->def->code, x, y);
  return narrow(b, graph_op2(b, (graph_code)op->def->code, widen(b, x), widen(b, y)), WORD(x));
}

WORDS(words_pointwise) {
  const int code = op->def->code;
  switch (code) {
  case G_DIV: case G_REM: case G_POW: case G_SHIFT_RIGHT: return of_wider(b, op, x[0], x[1]);
  case G_MUL_HIGH: return WORD(x[0]) == TSR_I16 ? of_wider(b, op, x[0], x[1]) : graph_build_like(b, op, x);
  case G_MIN: case G_MAX: return flip(b, graph_op2(b, (graph_code)code, flip(b, x[0]), flip(b, x[1])));
  case G_ABS: case G_RELU: return x[0];
  case G_SIGN:
    return SELECT(TEST(NE, x[0], NUMBER(WORD(x[0]), 0)), NUMBER(WORD(x[0]), 1), NUMBER(WORD(x[0]), 0));
  case G_COMPARE:
    if (graph_variant(op) == CMP_EQ || graph_variant(op) == CMP_NE) return graph_build_like(b, op, x);
    return graph_compare(b, graph_variant(op), flip(b, x[0]), flip(b, x[1]));
  default: return graph_build_like(b, op, x);
  }
}

/* v, a signed number, bool or float, as a word of type t: what lies beyond is the type's end. */
static ir_value *to_unsigned(ir_builder *b, ir_value *v, tsr_dtype t) {
  if (!v) return NULL;
  const tsr_dtype word = dtype_word(t), wide = wide_of(t);
  if (WORD(v) == TSR_BOOL) return graph_cast(b, v, word);
  ir_value *n = OP2(MAX, graph_cast(b, v, wide), NUMBER(wide, 0));
  if (word != TSR_I64) return narrow(b, OP2(MIN, n, NUMBER(wide, dtype_get(t)->max)), word);
  if (!dtype_is_float(WORD(v))) return n;
  ir_value *f = graph_cast(b, v, WORD(v) == TSR_F64 ? TSR_F64 : TSR_F32), *half = f ? NUMBER(WORD(f), 0x1p63) : NULL;
  return half ? SELECT(TEST(GE, f, half), flip(b, graph_cast(b, SUB(f, half), TSR_I64)), n) : NULL;
}

/* A word of 64 bits as a number of another type: half of it, rounded to odd, is a signed one. */
static ir_value *from64(ir_builder *b, ir_value *x, tsr_dtype t) {
  ir_value *one = NUMBER(TSR_I64, 1);
  if (t == TSR_BOOL) return TEST(NE, x, NUMBER(TSR_I64, 0));
  if (!dtype_is_float(t)) {
    ir_value *v = SELECT(is_high(b, x), most(b), x);
    return dtype_word(t) ? to_unsigned(b, v, t) : v ? graph_cast(b, v, t) : NULL;
  }
  ir_value *half = graph_cast(b, OP2(OR, half_of(b, x), OP2(AND, x, one)), t);
  return SELECT(is_high(b, x), MUL(half, NUMBER(t, 2)), graph_cast(b, x, t));
}

WORDS(words_cast) {
  const tsr_dtype from = IN(0)->type->dtype, to = OUT->type->dtype;
  if (from == to) return x[0];
  if (from == TSR_U64) return from64(b, x[0], to);
  ir_value *v = dtype_word(from) ? widen(b, x[0]) : x[0];
  return dtype_word(to) ? to_unsigned(b, v, to) : v ? graph_cast(b, v, to) : NULL;
}

/* ---- the others -------------------------------------------------------------------------------------------------- */

WORDS(words_same) { return graph_build_like(b, op, x); }

/* Reductions, also over ranks. */
WORDS(words_reduce) {
  const char *how = ir_get_str(op, "reduction", "");
  const int code = op->def->code;
  const bool orders = code == G_REDUCE_MAX || code == G_REDUCE_MIN || !strcmp(how, "max") || !strcmp(how, "min");
  if (!orders) return graph_build_like(b, op, x);
  if (WORD(x[0]) == TSR_I16) { /* what is given of nothing is the end of the range in which kernels compute */
    ir_value *wide = widen(b, x[0]);
    return wide ? narrow(b, graph_build_like(b, op, &wide), TSR_I16) : NULL;
  }
  ir_value *flipped = flip(b, x[0]);
  return flipped ? flip(b, graph_build_like(b, op, &flipped)) : NULL;
}

WORDS(words_pad) {
  const double v = ir_get_float(op, "value", 0), all = ldexp(1, bits_of(WORD(x[0])));
  const double stays = v >= all ? all - 1 : v > 0 ? trunc(v) : 0; /* of 64 bits all - 1 is all */
  ir_value *y = graph_build_like(b, op, x);
  const double word = stays >= all ? -1 : stays >= all / 2 ? stays - all : stays;
  if (y && !ir_set_attr(y->def, "value", ir_attr_float(b->m, word))) b->failed = true;
  return b->failed ? NULL : y;
}

WORDS(words_iota) {
  const tsr_dtype word = dtype_word(OUT->type->dtype);
  ir_value *y = graph_iota(b, word == TSR_I64 ? word : wide_of(word), OUT->type, graph_iota_axis(op));
  return word == TSR_I64 ? y : narrow(b, y, word);
}

WORDS(words_constant) {
  const ir_attr *a = ir_get_attr(op, "value");
  const ir_type *t = ir_type_tensor(b->m, dtype_word(OUT->type->dtype), OUT->type->rank, OUT->type->dims);
  ir_attr *word = arena_dup(&b->m->arena, a, sizeof *a); /* the same bytes */
  ir_op *n = t ? ir_op_new(b, op->def, 0, NULL, 1, &t, 0) : NULL;
  if (word) word->u.dense.type = t;
  if (!word || !n || !ir_set_attr(n, "value", word)) b->failed = true;
  return b->failed ? NULL : n->results[0];
}

WORDS(words_alias) { return x[0]; }

/* ---- as_signed, as_unsigned -------------------------------------------------------------------------------------- */

static tsr_status infer_as_signed(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = op->operands[0]->type;
  if (!dtype_word(x->dtype)) return ir_error(op, NULL, "takes u16, u32 or u64, not %s", tsr_dtype_name(x->dtype));
  return shape_finish(op, dtype_word(x->dtype), x->rank, x->dims, results);
}

static tsr_status infer_as_unsigned(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = op->operands[0]->type;
  for (int t = 1; t < TSR_N_DTYPES; t++)
    if (dtype_word((tsr_dtype)t) == x->dtype) return shape_finish(op, (tsr_dtype)t, x->rank, x->dims, results);
  return ir_error(op, NULL, "takes i16, i32 or i64, not %s", tsr_dtype_name(x->dtype));
}

static tsr_status eval_alias(graph_evaluator *e, ir_op *op, int64_t at) {
  const graph_num x = graph_read(e, op->operands[0], at);
  graph_num y = num_integer(op->results[0]->type->dtype, num_exact(op->operands[0], x));
  if (x.e > 0) y.e = INFINITY; /* it may cross the end of the range */
  graph_write(e, op->results[0], at, y);
  return NULL;
}

#define ALIAS(CODE, s) \
  NAME(CODE, s), .flags = IR_PURE | IR_VIEWLIKE, .min_operands = 1, .max_operands = 1, .n_results = 1, \
      .operands_doc = "x", .ext = ROW(GRAPH_MOVE, eval_alias, adjoint_none, .words = words_alias, .moves = MOVES_PAIRS)

static const ir_opdef rows[] = {
    {ALIAS(AS_SIGNED, "as_signed"), .types_doc = "u64, u32, u16", .infer = infer_as_signed,
     .help = "The same memory as signed integers."},
    {ALIAS(AS_UNSIGNED, "as_unsigned"), .types_doc = "i64, i32, i16", .infer = infer_as_unsigned,
     .help = "The same memory as unsigned integers."},
};

const ir_rows graph_words_ops = {rows, sizeof rows / sizeof *rows};
