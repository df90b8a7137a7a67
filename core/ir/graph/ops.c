/* core/ir/graph/ops.c - the op table of Graph IR, one row per op, and reading an op's attributes; see ir/graph/ops.h.
 * To add an op: its code in ir/graph/ops.h, its row here, its rule in ir/graph/infer.c, its evaluation, its test. */
#include "core/ir/graph/ops.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/table.h"
#include "core/ir/tables.h"

static const char *const shard_names[] = {"none", "replicate", "elementwise", "broadcast", "contract", "reduce",
                                          "row",  "reshape",   "permute",     "slice",     "concat",   "opaque"};
const char *graph_shard_name(graph_shard s) {
  return (unsigned)s < sizeof shard_names / sizeof *shard_names ? shard_names[s] : "?";
}

static tsr_status verify_func(const ir_op *op) {
  const ir_block *r = op->regions[0];
  if (!graph_is(r->last, G_RETURN)) return ir_error(op, NULL, "the body must end with tessera.graph.return");
  for (int i = 0; i < r->n_args; i++)
    if (!r->args[i]->type || r->args[i]->type->kind != IR_T_TENSOR)
      return ir_error(op, NULL, "argument %d must be a tensor", i);
  for (const ir_op *o = r->first; o; o = o->next)
    if (o->def->level != IR_GRAPH)
      return ir_error(o, "a function holds operations of its level only", "is no operation of Graph IR");
  return NULL;
}

static const ir_type *signature(const ir_op *func) {
  const ir_block *r = func->regions[0];
  arena *a = &func->module->arena;
  const ir_type **in = arena_array(a, const ir_type *, r->n_args + 1),
                **out = arena_array(a, const ir_type *, r->last->n_operands + 1);
  if (!in || !out) return NULL;
  for (int i = 0; i < r->n_args; i++) in[i] = r->args[i]->type;
  for (int i = 0; i < r->last->n_operands; i++) out[i] = r->last->operands[i]->type;
  return ir_type_function(func->module, in, r->n_args, out, r->last->n_operands);
}

bool graph_sign(ir_op *func) {
  if (!ir_get_attr(func, "function_type")) return true;
  const ir_type *t = signature(func);
  return t && ir_set_attr(func, "function_type", ir_attr_type(func->module, t));
}

static tsr_status verify_return(const ir_op *op) {
  for (int i = 0; i < op->n_operands; i++)
    if (op->operands[i]->type->kind != IR_T_TENSOR) return ir_error(op, NULL, "result %d must be a tensor", i);
  const ir_op *func = op->parent ? op->parent->parent : NULL;
  if (!graph_is(func, G_FUNC)) return ir_error(op, NULL, "must be inside tessera.graph.func");
  const ir_attr *given = ir_get_attr(func, "function_type");
  if (!given || op->next) return NULL;
  const ir_type *t = signature(func);
  if (!t) return st_oom();
  return given->u.type == t ? NULL : ir_error(func, NULL, "function_type does not say %.400s", t->use);
}

static tsr_status verify_gelu(const ir_op *op) {
  const char *a = ir_get_str(op, "approximate", "none");
  return !strcmp(a, "none") || !strcmp(a, "tanh") ? NULL
                                                  : ir_error(op, "none or tanh", "unknown approximation \"%s\"", a);
}

#define A_END {NULL, IR_A_UNIT, false, NULL, NULL}
#define ATTRS(...) (const ir_attr_def[]){__VA_ARGS__, A_END}
#define ROW(...) &(const graph_row){__VA_ARGS__}
#define NAME(CODE, s) .name = "tessera.graph." s, .level = IR_GRAPH, .code = G_##CODE
#define EW .flags = IR_PURE | IR_ELEMENTWISE
#define EWC .flags = IR_PURE | IR_ELEMENTWISE | IR_COMMUTES

#define FLOATS "f64, f32, f16, bf16, fp8"
#define NUMBERS FLOATS ", i64, i32, i16, i8, u8"
#define ANY NUMBERS ", bool"

#define BINARY(CODE, s, Flags, rule, Types, ADJ, h)                                                                            \
  {NAME(CODE, #s), Flags, .min_operands = 2, .max_operands = 2, .n_results = 1, .operands_doc = "a, b", .types_doc = Types,    \
   .help = h, .infer = rule, .ext = ROW(eval_elementwise, scalar_##s, integer_##s, ADJ, SHARD_ELEMENTWISE)}
#define UNARY(CODE, s, rule, Types, INT, ADJ, h)                                                                               \
  {NAME(CODE, #s), EW, .min_operands = 1, .max_operands = 1, .n_results = 1, .operands_doc = "x", .types_doc = Types, .help = h, \
   .infer = rule, .ext = ROW(eval_elementwise, scalar_##s, INT, ADJ, SHARD_ELEMENTWISE)}
#define REDUCE(CODE, s, Types, ADJ, h)                                                                                         \
  {NAME(CODE, s), .flags = IR_PURE | IR_REDUCES, .min_operands = 1, .max_operands = 1, .n_results = 1, .operands_doc = "x",     \
   .types_doc = Types, .help = h, .infer = graph_infer_reduce, .ext = ROW(eval_reduce, .adjoint = ADJ, .shard = SHARD_REDUCE),               \
   .attrs = ATTRS({"axes", IR_A_ARRAY, false, NULL, "dimensions to reduce; negative ones count from the last; none = all"}, \
                  {"keepdims", IR_A_BOOL, false, "false", "keep reduced dimensions with extent 1"})}

static const ir_attr_def eps_attr[] = {{"eps", IR_A_FLOAT, false, "1e-5", "added to the variance (or mean square)"},
                                       A_END};

static const ir_opdef rows[] = {
    {NAME(FUNC, "func"), .n_regions = 1, .verify = verify_func, .ext = ROW(.shard = SHARD_NONE),
     .attrs = ATTRS({"sym_name", IR_A_STR, false, "main", "the function's name"},
                    {"function_type", IR_A_TYPE, false, NULL,
                     "(argument types) -> result types, as MLIR writes a function's; must be what the body has"},
                    {"policy", IR_A_STR, false, NULL,
                     "numerics policy of this function: fast, deterministic, kahan_sum; the context's if absent"},
                    {"precision", IR_A_STR, false, NULL, "precision mode: only standard is there"},
                    {"symbolic", IR_A_ARRAY, false, NULL,
                     "extents above 64 that were unknown dimensions before the function was specialised: tuning "
                     "decisions are shared per bucket of them"}),
     .help = "A function: block arguments are its inputs, the body ends with return."},
    {NAME(RETURN, "return"), .flags = IR_TERMINATOR, .max_operands = IR_VARIADIC, .operands_doc = "results...",
     .types_doc = ANY, .verify = verify_return, .ext = ROW(.shard = SHARD_NONE),
     .help = "Ends a function; the operands are its outputs."},
    {NAME(CUSTOM, "custom"), .flags = IR_PURE | IR_ANY_ATTRS, .max_operands = IR_VARIADIC, .n_results = 1,
     .operands_doc = "inputs...", .types_doc = ANY,
     .attrs = ATTRS({"callee", IR_A_STR, true, NULL, "name under which the op was registered"}),
     .ext = ROW(.shard = SHARD_OPAQUE),
     .help = "An op registered by the application (tsr_custom_op_register); the result's type is written out and must "
             "be what the op infers. Further attributes are the op's own. Never fused."},
    {NAME(CONSTANT, "constant"), .flags = IR_PURE, .n_results = 1, .types_doc = ANY, .infer = graph_infer_constant,
     .attrs = ATTRS(
         {"value", IR_A_DENSE, true, NULL, "the elements: dense<[[1.0, 2.0]]> : tensor<1x2xf32>, or one for all"}),
     .ext = ROW(eval_constant, .adjoint = adjoint_zero, .shard = SHARD_REPLICATE),
     .help = "A tensor known when the program is compiled."},
    {NAME(MATMUL, "matmul"), .flags = IR_PURE, .min_operands = 2, .max_operands = 2, .n_results = 1,
     .operands_doc = "a, b", .types_doc = NUMBERS "; i8 and u8 give i32; of two float types the wider is the result's",
     .attrs = ATTRS({"transpose_a", IR_A_BOOL, false, "false", "a is [..., k, m]"},
                    {"transpose_b", IR_A_BOOL, false, "false", "b is [..., n, k]"},
                    {"accum_dtype", IR_A_STR, false, NULL,
                     "type of the sums: f32 or f64, i32 or i64; by default f32 for floats of up to 32 bits, else f64; "
                     "i32 for integers of up to 32 bits, else i64"},
                    {"out_dtype", IR_A_STR, false, NULL, "type of the result, rounded once from the sums"},
                    {"tile_shape", IR_A_ARRAY, false, NULL,
                     "[BM, BN, BK]: the block tile to use instead of the default or tuned one"}),
     .infer = graph_infer_matmul, .ext = ROW(eval_matmul, .adjoint = adjoint_matmul, .shard = SHARD_CONTRACT),
     .help =
         "Matrix product of the last two dimensions, [..., m, k] by [..., k, n]; leading dimensions are broadcast."},

    BINARY(ADD, add, EWC, graph_infer_arith, NUMBERS, adjoint_add, "a + b; integers wrap."),
    BINARY(SUB, sub, EW, graph_infer_arith, NUMBERS, adjoint_sub, "a - b; integers wrap."),
    BINARY(MUL, mul, EWC, graph_infer_arith, NUMBERS, adjoint_mul, "a * b; integers wrap."),
    BINARY(DIV, div, EW, graph_infer_arith, NUMBERS, adjoint_div, "a / b; integers round toward zero, x / 0 is 0."),
    BINARY(REM, rem, EW, graph_infer_arith, NUMBERS, adjoint_rem,
           "a - b * trunc(a / b): the sign of a; integer x rem 0 is x."),
    BINARY(POW, pow, EW, graph_infer_arith, NUMBERS, adjoint_pow,
           "a to the power b; integers wrap, a negative exponent gives 0 but for bases 1 and -1."),
    BINARY(MIN, min, EWC, graph_infer_arith, NUMBERS, adjoint_min, "The smaller; NaN if either is."),
    BINARY(MAX, max, EWC, graph_infer_arith, NUMBERS, adjoint_max, "The larger; NaN if either is."),
    BINARY(AND, and, EWC, graph_infer_logic, "bool, i64, i32, i16, i8, u8", adjoint_zero,
           "Logical (bool) or bitwise and."),
    BINARY(OR, or, EWC, graph_infer_logic, "bool, i64, i32, i16, i8, u8", adjoint_zero,
           "Logical (bool) or bitwise or."),

    UNARY(NEG, neg, graph_infer_arith, NUMBERS, integer_neg, adjoint_neg, "-x; integers wrap."),
    UNARY(ABS, abs, graph_infer_arith, NUMBERS, integer_abs, adjoint_abs, "The absolute value; integers wrap."),
    UNARY(EXP, exp, graph_infer_float, FLOATS, NULL, adjoint_exp, "e to the power x."),
    UNARY(LOG, log, graph_infer_float, FLOATS, NULL, adjoint_log, "The natural logarithm; -inf at 0, NaN below."),
    UNARY(SQRT, sqrt, graph_infer_float, FLOATS, NULL, adjoint_sqrt, "The square root; NaN below 0."),
    UNARY(RSQRT, rsqrt, graph_infer_float, FLOATS, NULL, adjoint_rsqrt, "1 / sqrt(x)."),
    UNARY(TANH, tanh, graph_infer_float, FLOATS, NULL, adjoint_tanh, "The hyperbolic tangent."),
    UNARY(ERF, erf, graph_infer_float, FLOATS, NULL, adjoint_erf, "The error function."),
    UNARY(SIGMOID, sigmoid, graph_infer_float, FLOATS, NULL, adjoint_sigmoid, "1 / (1 + exp(-x))."),
    UNARY(RELU, relu, graph_infer_arith, NUMBERS, integer_relu, adjoint_relu, "max(x, 0)."),
    {NAME(GELU, "gelu"), EW, .min_operands = 1, .max_operands = 1, .n_results = 1, .operands_doc = "x",
     .types_doc = FLOATS, .infer = graph_infer_float,
     .attrs = ATTRS({"approximate", IR_A_STR, false, "none", "none: by erf; tanh: by the tanh formula"}),
     .verify = verify_gelu, .ext = ROW(eval_elementwise, scalar_gelu, NULL, adjoint_gelu, SHARD_ELEMENTWISE),
     .help = "x * (1 + erf(x / sqrt 2)) / 2."},
    UNARY(SILU, silu, graph_infer_float, FLOATS, NULL, adjoint_silu, "x * sigmoid(x)."),
    UNARY(SIN, sin, graph_infer_float, FLOATS, NULL, adjoint_sin, "The sine of x radians."),
    UNARY(COS, cos, graph_infer_float, FLOATS, NULL, adjoint_cos, "The cosine of x radians."),
    UNARY(FLOOR, floor, graph_infer_float, FLOATS, NULL, adjoint_zero, "The largest integer not above x."),
    UNARY(NOT, not, graph_infer_logic, "bool, i64, i32, i16, i8, u8", integer_not, adjoint_zero,
          "Logical (bool) or bitwise not."),
    {NAME(COMPARE, "compare"), EW, .min_operands = 2, .max_operands = 2, .n_results = 1, .operands_doc = "a, b",
     .types_doc = ANY, .infer = graph_infer_compare,
     .attrs = ATTRS({"predicate", IR_A_STR, true, NULL, "eq, ne, lt, le, gt or ge"}),
     .ext = ROW(eval_elementwise, scalar_compare, integer_compare, adjoint_zero, SHARD_ELEMENTWISE),
     .help = "A bool per element; with NaN only ne holds."},
    {NAME(SELECT, "select"), EW, .min_operands = 3, .max_operands = 3, .n_results = 1,
     .operands_doc = "condition, a, b", .types_doc = ANY, .infer = graph_infer_select,
     .ext = ROW(eval_elementwise, scalar_select, integer_select, adjoint_select, SHARD_ELEMENTWISE),
     .help = "a where the condition holds, else b; all three broadcast."},
    {NAME(CAST, "cast"), EW, .min_operands = 1, .max_operands = 1, .n_results = 1, .operands_doc = "x",
     .types_doc = ANY, .infer = graph_infer_cast,
     .attrs = ATTRS({"dtype", IR_A_STR, true, NULL, "the type to convert to"}),
     .ext = ROW(eval_cast, .adjoint = adjoint_cast, .shard = SHARD_ELEMENTWISE),
     .help = "Converts the elements. To a narrower float: to nearest even, overflow gives infinity (in fp8_e4m3, which "
             "has none, 448); float to "
             "integer: toward zero, saturating, NaN gives 0; "
             "integer to integer saturates; to bool: is not 0."},
    {NAME(BROADCAST, "broadcast"), .flags = IR_PURE | IR_VIEWLIKE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = ANY,
     .attrs = ATTRS({"shape", IR_A_ARRAY, true, NULL, "the result's dimensions; -1 keeps the operand's"}),
     .infer = graph_infer_broadcast, .ext = ROW(eval_move, .adjoint = adjoint_broadcast, .shard = SHARD_BROADCAST),
     .help = "Repeats dimensions of extent 1 and adds leading ones, aligned at the right."},

    REDUCE(REDUCE_SUM, "reduce_sum", NUMBERS, adjoint_reduce_sum,
           "The sum over axes; 0 of nothing. Floats of up to 32 bits are summed in f32; integers wrap."),
    REDUCE(REDUCE_MEAN, "reduce_mean", FLOATS, adjoint_reduce_mean, "The mean over axes; NaN of nothing."),
    REDUCE(REDUCE_MAX, "reduce_max", NUMBERS, adjoint_reduce_extreme,
           "The largest over axes; -inf (or the least integer) of nothing; NaN if any is."),
    REDUCE(REDUCE_MIN, "reduce_min", NUMBERS, adjoint_reduce_extreme,
           "The smallest over axes; inf (or the greatest integer) of nothing; NaN if any is."),
    REDUCE(REDUCE_PROD, "reduce_prod", NUMBERS, adjoint_reduce_prod,
           "The product over axes; 1 of nothing; integers wrap."),
    {NAME(SOFTMAX, "softmax"), .flags = IR_PURE | IR_REDUCES, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = FLOATS,
     .attrs = ATTRS({"axis", IR_A_INT, false, "-1", "the dimension whose elements sum to 1"}),
     .infer = graph_infer_softmax, .ext = ROW(eval_softmax, .adjoint = adjoint_softmax, .shard = SHARD_ROW),
     .help = "exp(x - max) / sum of exp(x - max), in f32 or wider. A row of only -inf gives NaN."},
    {NAME(LAYERNORM, "layernorm"), .flags = IR_PURE | IR_REDUCES, .min_operands = 1, .max_operands = 3, .n_results = 1,
     .operands_doc = "x, gamma, beta", .types_doc = FLOATS "; gamma and beta x's type or f32", .attrs = eps_attr,
     .infer = graph_infer_norm, .ext = ROW(eval_norm, .adjoint = adjoint_norm, .shard = SHARD_ROW),
     .help =
         "(x - mean) / sqrt(variance + eps) * gamma + beta over the last dimension; gamma and beta may be left out."},
    {NAME(RMSNORM, "rmsnorm"), .flags = IR_PURE | IR_REDUCES, .min_operands = 1, .max_operands = 2, .n_results = 1,
     .operands_doc = "x, gamma", .types_doc = FLOATS "; gamma x's type or f32", .attrs = eps_attr,
     .infer = graph_infer_norm, .ext = ROW(eval_norm, .adjoint = adjoint_norm, .shard = SHARD_ROW),
     .help = "x / sqrt(mean(x * x) + eps) * gamma over the last dimension; gamma may be left out."},

    {NAME(RESHAPE, "reshape"), .flags = IR_PURE | IR_VIEWLIKE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = ANY,
     .attrs = ATTRS({"shape", IR_A_ARRAY, true, NULL, "the result's dimensions; one may be -1 = what is left"}),
     .infer = graph_infer_reshape, .ext = ROW(eval_move, .adjoint = adjoint_reshape, .shard = SHARD_RESHAPE),
     .help = "The same elements in row-major order under another shape."},
    {NAME(TRANSPOSE, "transpose"), .flags = IR_PURE | IR_VIEWLIKE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = ANY,
     .attrs = ATTRS({"perm", IR_A_ARRAY, false, NULL, "result axis i is operand axis perm[i]; reversed if absent"}),
     .infer = graph_infer_transpose, .ext = ROW(eval_move, .adjoint = adjoint_transpose, .shard = SHARD_PERMUTE),
     .help = "Permutes the dimensions."},
    {NAME(SLICE, "slice"), .flags = IR_PURE | IR_VIEWLIKE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = ANY,
     .attrs = ATTRS({"starts", IR_A_ARRAY, true, NULL, "first element per dimension"},
                    {"sizes", IR_A_ARRAY, true, NULL, "elements of the result per dimension; -1 = up to the end"},
                    {"strides", IR_A_ARRAY, false, NULL, "distance of taken elements per dimension; all 1 if absent"}),
     .infer = graph_infer_slice, .ext = ROW(eval_move, .adjoint = adjoint_slice, .shard = SHARD_SLICE),
     .help = "A regular part of x: result[i] = x[starts + i * strides]."},
    {NAME(CONCAT, "concat"), .flags = IR_PURE, .min_operands = 1, .max_operands = IR_VARIADIC, .n_results = 1,
     .operands_doc = "inputs...", .types_doc = ANY,
     .attrs = ATTRS({"axis", IR_A_INT, false, "0", "the dimension along which the inputs follow each other"}),
     .infer = graph_infer_concat, .ext = ROW(eval_concat, .adjoint = adjoint_concat, .shard = SHARD_CONCAT),
     .help = "The inputs one after the other along one dimension."},
    {NAME(PAD, "pad"), .flags = IR_PURE, .min_operands = 1, .max_operands = 1, .n_results = 1, .operands_doc = "x",
     .types_doc = ANY,
     .attrs = ATTRS({"low", IR_A_ARRAY, true, NULL, "elements added before, per dimension"},
                    {"high", IR_A_ARRAY, true, NULL, "elements added after, per dimension"},
                    {"value", IR_A_FLOAT, false, "0.0", "the added elements' value"}),
     .infer = graph_infer_pad, .ext = ROW(eval_pad, .adjoint = adjoint_pad, .shard = SHARD_CONCAT),
     .help = "Surrounds x with a constant."},
};

_Static_assert(sizeof rows / sizeof *rows == G_N_CODES, "one row per code, in the enum's order");

const ir_opdef *graph_ops(size_t *n) {
  *n = G_N_CODES;
  return rows;
}

const ir_opdef *graph_def(graph_code c) { return &rows[c]; }

/* ---- reading attributes ---------------------------------------------------------------------------------------- */

static const char *const predicates[N_CMP] = {"eq", "ne", "lt", "le", "gt", "ge"};
const char *graph_predicate_name(int p) { return (unsigned)p < N_CMP ? predicates[p] : "?"; }

int graph_variant(const ir_op *op) {
  switch (op->def->code) {
  case G_COMPARE: {
    const char *p = ir_get_str(op, "predicate", "");
    for (int i = 0; i < N_CMP; i++)
      if (!strcmp(p, predicates[i])) return i;
    return -1;
  }
  case G_GELU: return !strcmp(ir_get_str(op, "approximate", "none"), "tanh");
  case G_NOT: return op->operands[0]->type->dtype == TSR_BOOL;
  default: return 0;
  }
}

int graph_axis(const ir_op *op) {
  int rank = op->operands[0]->type->rank;
  int64_t a = ir_get_int(op, "axis", rank - 1);
  return (int)(a < 0 ? a + rank : a);
}

int graph_axes(const ir_op *op, bool reduced[TSR_MAX_RANK]) {
  int64_t axes[TSR_MAX_RANK];
  int rank = op->operands[0]->type->rank, n = ir_get_ints(op, "axes", axes, TSR_MAX_RANK);
  for (int i = 0; i < TSR_MAX_RANK; i++) reduced[i] = !n && i < rank;
  for (int i = 0; i < n; i++) reduced[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
  return n ? n : rank;
}

void graph_perm(const ir_op *op, int perm[TSR_MAX_RANK]) {
  int64_t p[TSR_MAX_RANK];
  int rank = op->operands[0]->type->rank, n = ir_get_ints(op, "perm", p, TSR_MAX_RANK);
  for (int i = 0; i < rank; i++) perm[i] = n ? (int)(p[i] < 0 ? p[i] + rank : p[i]) : rank - 1 - i;
}

void graph_slice(const ir_op *op, int64_t starts[TSR_MAX_RANK], int64_t strides[TSR_MAX_RANK]) {
  ir_get_ints(op, "starts", starts, TSR_MAX_RANK);
  if (!ir_get_ints(op, "strides", strides, TSR_MAX_RANK))
    for (int i = 0; i < TSR_MAX_RANK; i++) strides[i] = 1;
}

void graph_pad(const ir_op *op, int64_t low[TSR_MAX_RANK], int64_t high[TSR_MAX_RANK]) {
  ir_get_ints(op, "low", low, TSR_MAX_RANK);
  ir_get_ints(op, "high", high, TSR_MAX_RANK);
}

tsr_dtype graph_accum_default(tsr_dtype t) {
  return t == TSR_F64 || t == TSR_I64 ? t : dtype_is_float(t) ? TSR_F32 : TSR_I32;
}

graph_matmul graph_matmul_get(const ir_op *op) {
  const ir_type *a = op->operands[0]->type, *b = op->operands[1]->type, *c = op->results[0]->type;
  graph_matmul g = {.n_batch = c->rank - 2, .m = c->dims[c->rank - 2], .n = c->dims[c->rank - 1],
                    .transpose_a = ir_get_bool(op, "transpose_a", false), .transpose_b = ir_get_bool(op, "transpose_b", false)};
  memcpy(g.batch, c->dims, sizeof *g.batch * (size_t)g.n_batch);
  g.k = a->dims[a->rank - (g.transpose_a ? 2 : 1)];
  if (g.k == IR_DYNAMIC) g.k = b->dims[b->rank - (g.transpose_b ? 1 : 2)];
  g.accum = tsr_dtype_parse(ir_get_str(op, "accum_dtype", ""));
  if (!g.accum)
    g.accum = graph_accum_default(tsr_dtype_size(a->dtype) > tsr_dtype_size(b->dtype) ? a->dtype : b->dtype);
  if (c->dtype == TSR_I64 && !ir_get_attr(op, "accum_dtype")) g.accum = TSR_I64;
  ir_get_ints(op, "tile_shape", g.tile, 3);
  return g;
}

double graph_constant_at(const ir_op *op, int64_t i) {
  const ir_attr *a = ir_get_attr(op, "value");
  return dtype_load(a->u.dense.type->dtype, a->u.dense.data, a->u.dense.splat ? 0 : (size_t)i);
}

bool graph_splat(const ir_op *op, double *value) {
  if (!graph_is(op, G_CONSTANT)) return false;
  const ir_attr *a = ir_get_attr(op, "value");
  int64_t n = ir_type_count(a->u.dense.type);
  size_t size = tsr_dtype_size(a->u.dense.type->dtype);
  if (n < 1) return false;
  for (int64_t i = 1; i < n && !a->u.dense.splat; i++)
    if (memcmp(a->u.dense.data, (const char *)a->u.dense.data + (size_t)i * size, size)) return false;
  *value = graph_constant_at(op, 0);
  int64_t whole;
  if (a->u.dense.type->dtype != TSR_I64) return true;
  memcpy(&whole, a->u.dense.data, sizeof whole);
  return *value < 0x1p63 && (int64_t)*value == whole; /* else no double holds it */
}

ir_op *graph_find_func(const ir_module *m, const char *name) {
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next)
    if (graph_is(o, G_FUNC) && (!name || !strcmp(name, ir_get_str(o, "sym_name", "")))) return o;
  return NULL;
}
