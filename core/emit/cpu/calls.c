/* core/emit/cpu/calls.c - calls of micro-kernels: one row each, with its name, what it asks of its operands and how it
 * is written down. Reductions over rows, unfold and convolve, which have operands of their own, are asked in
 * emit/cpu/check.c. */
#include "core/emit/cpu/check.h"
#include "core/emit/cpu/gen.h"
#include "core/ir/reducer.h"

/* ---- what they ask ----------------------------------------------------------------------------------------------- */

#define TYPE(op, i) ((op)->operands[i]->type)

static bool same_shape(const ir_type *a, const ir_type *b) {
  return a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof a->dims[0] * (size_t)a->rank);
}

static bool shapes_multiply(const ir_op *op, const ir_type *c, const ir_type *a, const ir_type *b) {
  int ta = ir_get_bool(op, "transpose_a", false), tb = ir_get_bool(op, "transpose_b", false);
  return a->rank == 2 && b->rank == 2 && c->rank == 2 && c->dims[0] == a->dims[ta] && a->dims[!ta] == b->dims[tb] &&
         c->dims[1] == b->dims[!tb];
}

static bool reduce_fits(const ir_op *op, const ir_type *out, const ir_type *in) {
  int64_t axis = ir_get_int(op, "axis", 0);
  bool fits = out->rank == in->rank && axis >= 0 && axis < in->rank && out->dtype == in->dtype && out->dims[axis] == 1;
  for (int i = 0; fits && i < in->rank; i++) fits = i == axis || out->dims[i] == in->dims[i];
  return fits;
}

static bool transpose_fits(const ir_op *op) {
  const ir_type *out = TYPE(op, 0), *in = TYPE(op, 1);
  int64_t perm[TSR_MAX_RANK];
  unsigned seen = 0;
  bool fits = out->kind == IR_T_ARRAY && in->kind == IR_T_ARRAY && out->rank == in->rank && out->rank > 0 &&
              out->dtype == in->dtype && ir_get_ints(op, "perm", perm, TSR_MAX_RANK) == in->rank;
  for (int i = 0; fits && i < in->rank; i++) {
    fits = perm[i] >= 0 && perm[i] < in->rank && out->dims[i] == in->dims[perm[i]] && !(seen >> perm[i] & 1);
    seen |= fits ? 1u << perm[i] : 0;
  }
  return fits;
}

static bool fft_fits(const ir_op *op) {
  const ir_type *t = op->operands[0]->type;
  int64_t radix = ir_get_int(op, "radix", 2), span = ir_get_int(op, "span", 1);
  bool fits = t->rank > 0 && (t->dtype == TSR_F32 || t->dtype == TSR_F64) && radix >= 2 && radix <= 16 && span >= 1 &&
              span <= t->dims[t->rank - 1] / radix && t->dims[t->rank - 1] % (radix * span) == 0;
  for (int i = 0; fits && i < 4; i++)
    fits = op->operands[i]->type->kind == IR_T_ARRAY && op->operands[i]->type->dtype == t->dtype &&
           same_shape(op->operands[i]->type, t) && !op->operands[i]->type->pad;
  return fits;
}

/* Memory that is no window, parts of which need not be there. */
static bool is_whole(const ir_value *v) {
  return v->type->kind == IR_T_VIEW && (v->owner || (v->def && v->def->def->code == TG_VIEW));
}

static bool dft_fits(const ir_op *op) {
  const ir_type *y = TYPE(op, 0), *x = TYPE(op, 1);
  const int rank = x->rank - 1;
  const int64_t axis = ir_get_int(op, "axis", 0), to = ir_get_int(op, "to", axis);
  bool fits = is_whole(op->operands[0]) && is_whole(op->operands[1]) && op->operands[2]->type->kind == IR_T_INDEX &&
              rank > 0 && y->rank == x->rank && x->dtype == y->dtype && (x->dtype == TSR_F32 || x->dtype == TSR_F64) &&
              axis >= 0 && axis < rank && to >= 0 && to < rank && ir_get_int(op, "lines", 0) > 0;
  if (!fits) return false;
  fits = x->dims[rank] == 2 && y->dims[rank] == 2 && x->dims[axis] > 0 && x->dims[axis] <= 1 << 13;
  for (int i = 0; i < rank; i++) {
    const int rest = i - (i > to);
    fits &= y->dims[i] == x->dims[i == to ? axis : rest + (rest >= axis)];
  }
  return fits && (!ir_get_bool(op, "twiddle", false) || (axis == to && axis + 1 < rank));
}

/* Micro-kernels reduce in the types that they compute with, into a tile. */
static bool reduces(const ir_op *op) {
  const ir_type *out = TYPE(op, 0), *in = TYPE(op, 1);
  return reduce_fits(op, out, in) && out->kind == IR_T_ARRAY && in->dtype == cpu_compute_type(in->dtype) &&
         in->dtype != TSR_BOOL && ir_reducer_named(ir_get_str(op, "op", ir_reducers[REDUCER_SUM].name));
}

/* What the packed operands take can be counted. */
static bool sizes_fit(const ir_op *op, const ir_type *c, const ir_type *a) {
  const double most = 1LL << 40, m = (double)c->dims[0], n = (double)c->dims[1],
               k = (double)a->dims[!ir_get_bool(op, "transpose_a", false)];
  return m * n <= most && m * k <= most && k * n <= most;
}

static bool product_fits(const ir_op *op) {
  const ir_type *c = TYPE(op, 0), *a = TYPE(op, 1);
  return shapes_multiply(op, c, a, TYPE(op, 2)) && sizes_fit(op, c, a);
}

static bool copy_fits(const ir_op *op) { return same_shape(TYPE(op, 0), TYPE(op, 1)); }
static bool fill_fits(const ir_op *op) { return TYPE(op, 0)->kind == IR_T_ARRAY; }
static bool splat_fits(const ir_op *op) {
  return fill_fits(op) && (TYPE(op, 1)->kind == IR_T_SCALAR || TYPE(op, 1)->kind == IR_T_INDEX);
}

/* Tiles move in memory order when nothing pads their rows. */
static bool move_fits(const ir_op *op) {
  const ir_type *out = TYPE(op, 0), *in = TYPE(op, 1);
  if (same_shape(out, in)) return true;
  return out->kind == IR_T_ARRAY && in->kind == IR_T_ARRAY && !out->pad && !in->pad &&
         ir_type_count(out) == ir_type_count(in);
}

/* A coordinate for each of the view's dimensions, and perhaps whether the element exists. */
static bool indices_fit(const ir_op *op) {
  const ir_type *tile = TYPE(op, 0), *view = TYPE(op, 1);
  const ir_block *r = op->n_regions == 1 ? op->regions[0] : NULL;
  bool gather = !strcmp(ir_get_str(op, "fn", ""), "gather"); /* into memory, row by row, as well */
  int64_t strides[TSR_MAX_RANK];
  ir_type_strides(tile, strides);
  bool rows = tile->rank > 0 && (tile->kind == IR_T_ARRAY ||
                                 (gather && (strides[tile->rank - 1] == 1 || tile->dims[tile->rank - 1] == 1)));
  bool fits = r && r->last && rows && r->n_args == tile->rank &&
              (r->last->n_operands == view->rank || r->last->n_operands == view->rank + 1);
  for (int i = 0; fits && i < r->last->n_operands; i++) {
    const ir_type *t = r->last->operands[i]->type;
    fits = i < view->rank ? t->kind == IR_T_INDEX || (t->kind == IR_T_SCALAR && t->dtype == TSR_I32)
                          : t->kind == IR_T_SCALAR && t->dtype == TSR_BOOL;
  }
  return fits;
}

/* ---- how they are written ---------------------------------------------------------------------------------------- */

static int reduce_code(const ir_op *op) { return (int)(ir_reducer_of(op) - ir_reducers); }

static cpu_order order_of(const ir_op *op) {
  const tsr_policy p = ir_policy(op);
  return p == TSR_POLICY_KAHAN_SUM ? CPU_ORDER_KAHAN : p == TSR_POLICY_DETERMINISTIC ? CPU_ORDER_FIXED : CPU_ORDER_ANY;
}

static tsr_status gen_row(gen *g, ir_op *op, const char *name) {
  static const char *const optional[] = {"mean", "factor", "scale", "shift", "sums"};
  enum { N = 5 };
  int fn = 0, d[N], n = 2;
  bool has[N];
  while (fn < CPU_N_ROW_FN && strcmp(cpu_row_infos[fn].name, name)) fn++;
  if (fn == CPU_N_ROW_FN) return ir_error(op, NULL, "no micro-kernel \"%s\"", ir_get_str(op, "fn", ""));
  for (int i = 0; i < N; i++) n += has[i] = ir_get_bool(op, optional[i], false);
  TSR_TRY(emit_cpu_check_row(op, n, N, has, (cpu_row_fn)fn));
  int out = gen_desc(g, op->operands[0]), x = gen_desc(g, op->operands[1]);
  n = 2;
  for (int i = 0; i < N; i++) d[i] = has[i] ? gen_desc(g, op->operands[n++]) : -1;
  int extra = -1;
  if (cpu_row_infos[fn].whole)
    extra = gen_ints(g,
                     (int64_t[]){gen_bits(ir_get_float(op, "mean_scale", 0)),
                                 gen_bits(ir_get_float(op, "square_scale", 0)), gen_bits(ir_get_float(op, "eps", 0))},
                     3);
  INSTR(g, CPU_ROW, 0, extra, fn, out, x, d[0], d[1], d[2], d[3], d[4]);
  return NULL;
}

/* The map as vm_unfold_map reads it. */
static int unfold_map(gen *g, const tile_unfold *u) {
  int64_t map[UNFOLD_N_INDICES + TSR_MAX_RANK + UNFOLD_MOST_DIGITS * (TSR_MAX_RANK + 1)];
  int n = 0, digits = 0;
  for (int i = 0; i < UNFOLD_N_INDICES; i++) digits += u->n[i], map[n++] = u->n[i];
  for (int d = 0; d < u->rank; d++) map[n++] = u->origin[d];
  for (int i = 0; i < digits; i++) {
    map[n++] = u->extent[i];
    for (int d = 0; d < u->rank; d++) map[n++] = u->step[i][d];
  }
  return gen_ints(g, map, n);
}

static tsr_status gen_unfold(gen *g, ir_op *op) {
  tile_unfold u;
  TSR_TRY(emit_cpu_read_unfold(op, &u));
  ir_value **v = op->operands;
  INSTR(g, CPU_UNFOLD, ir_get_bool(op, "transposed", false), unfold_map(g, &u), gen_desc(g, v[0]), gen_desc(g, v[1]),
        gen_reg(v[2]), gen_reg(v[3]), gen_reg(v[4]));
  return NULL;
}

static tsr_status gen_convolve(gen *g, ir_op *op) {
  tile_unfold u;
  int64_t reach;
  TSR_TRY(emit_cpu_read_convolve(op, &u, &reach));
  ir_value **v = op->operands;
  INSTR(g, CPU_CONVOLVE, reach, unfold_map(g, &u), gen_desc(g, v[0]), gen_desc(g, v[1]), gen_desc(g, v[2]),
        gen_reg(v[3]), gen_reg(v[4]), u.winograd);
  g->k.has_matmul |= u.winograd != 0;
  return NULL;
}

/* A move is a reinterpretation of dense tiles of one count (reshape); a copy keeps coordinates, and so does a move of
 * padded rows. */
static tsr_status gen_move(gen *g, ir_op *op) {
  INSTR(g, CPU_COPY, !TYPE(op, 0)->pad && !TYPE(op, 1)->pad, -1, gen_desc(g, op->operands[0]),
        gen_desc(g, op->operands[1]));
  return NULL;
}

static tsr_status gen_copy(gen *g, ir_op *op) {
  INSTR(g, CPU_COPY, 0, -1, gen_desc(g, op->operands[0]), gen_desc(g, op->operands[1]));
  return NULL;
}

static tsr_status gen_fill(gen *g, ir_op *op) {
  const ir_attr *a = ir_get_attr(op, "value");
  const tsr_dtype t = TYPE(op, 0)->dtype;
  const bool integer = a && a->kind == IR_A_INT && !dtype_is_float(t);
  INSTR(g, CPU_FILL, integer ? dtype_wrap(t, a->u.i) : gen_bits(ir_get_float(op, "value", 0)), -1,
        gen_desc(g, op->operands[0]), !integer);
  return NULL;
}

static tsr_status gen_splat(gen *g, ir_op *op) {
  INSTR(g, CPU_SPLAT, 0, -1, gen_desc(g, op->operands[0]), gen_reg(op->operands[1]), gen_is_float(TYPE(op, 1)));
  return NULL;
}

static tsr_status gen_reduce(gen *g, ir_op *op) {
  INSTR(g, CPU_REDUCE, 0, -1, gen_desc(g, op->operands[0]), gen_desc(g, op->operands[1]),
        (int)ir_get_int(op, "axis", 0), reduce_code(op), order_of(op));
  return NULL;
}

static void product(gen *g, const ir_op *op, cpu_opcode code, int last) {
  ir_value **v = op->operands;
  INSTR(g, code, 0, -1, gen_desc(g, v[0]), gen_desc(g, v[1]), gen_desc(g, v[2]), ir_get_bool(op, "transpose_a", false),
        ir_get_bool(op, "transpose_b", false), order_of(op), last);
}

static tsr_status gen_gemm(gen *g, ir_op *op) {
  product(g, op, CPU_GEMM, ir_get_bool(op, "accumulate", true));
  return NULL;
}

static tsr_status gen_matmul(gen *g, ir_op *op) {
  const int64_t k = ir_get_int(op, "k", 0);
  g->k.has_matmul = 1;
  product(g, op, CPU_MATMUL, (int)(k < 0 || k > INT32_MAX ? 0 : k));
  return NULL;
}

static tsr_status indexed(gen *g, const ir_op *op, cpu_opcode code) {
  int p;
  TSR_TRY(gen_program(g, op, true, 0, TYPE(op, 0)->rank - 1, &p));
  INSTR(g, code, 0, -1, gen_desc(g, op->operands[0]), gen_desc(g, op->operands[1]), p,
        op->regions[0]->last->n_operands);
  return NULL;
}

static tsr_status gen_gather(gen *g, ir_op *op) { return indexed(g, op, CPU_GATHER); }
static tsr_status gen_scatter(gen *g, ir_op *op) { return indexed(g, op, CPU_SCATTER); }

static tsr_status gen_fft_stage(gen *g, ir_op *op) {
  ir_value **v = op->operands;
  INSTR(g, CPU_FFT, ir_get_int(op, "span", 1), -1, gen_desc(g, v[0]), gen_desc(g, v[1]), gen_desc(g, v[2]),
        gen_desc(g, v[3]), (int)ir_get_int(op, "radix", 2), ir_get_bool(op, "inverse", false));
  return NULL;
}

static tsr_status gen_dft(gen *g, ir_op *op) {
  const int axis = (int)ir_get_int(op, "axis", 0);
  INSTR(g, CPU_DFT, gen_bits(ir_get_float(op, "scale", 1)), gen_ints(g, (int64_t[]){ir_get_int(op, "lines", 1)}, 1),
        gen_desc(g, op->operands[0]), gen_desc(g, op->operands[1]), gen_reg(op->operands[2]), axis,
        (int)ir_get_int(op, "to", axis), ir_get_bool(op, "inverse", false), ir_get_bool(op, "twiddle", false));
  return NULL;
}

static tsr_status gen_transpose(gen *g, ir_op *op) {
  int64_t perm[TSR_MAX_RANK];
  ir_get_ints(op, "perm", perm, TSR_MAX_RANK);
  INSTR(g, CPU_TRANSPOSE, 0, gen_ints(g, perm, TYPE(op, 1)->rank), gen_desc(g, op->operands[0]),
        gen_desc(g, op->operands[1]));
  return NULL;
}

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

static const struct {
  const char *fn;
  int n, n_tiles; /* operands; how many of them, from the first on, must be tiles or views */
  bool (*fits)(const ir_op *);
  const char *takes; /* what fits asks for */
  tsr_status (*write)(gen *g, ir_op *op);
} calls[] = {
    {"copy", 2, 2, copy_fits, "a tile and one of its shape", gen_copy},
    {"move", 2, 2, move_fits, "dense tiles of one count, or one shape", gen_move},
    {"fill", 1, 1, fill_fits, "a tile", gen_fill},
    {"splat", 2, 0, splat_fits, "a tile and a scalar", gen_splat},
    {"reduce", 2, 2, reduces, "a tile of the source's shape and type with extent 1 on axis", gen_reduce},
    {"gemm", 3, 3, product_fits, "[m, n], [m, k] and [k, n]", gen_gemm},
    {"matmul", 3, 3, product_fits, "[m, n], [m, k] and [k, n]", gen_matmul},
    {"gather", 2, 2, indices_fit, "a tile, a view, and a region with an index for each dimension", gen_gather},
    {"scatter", 2, 2, indices_fit, "a tile, a view, and a region with an index for each dimension", gen_scatter},
    {"fft_stage", 4, 4, fft_fits, "four f32 or f64 tiles of one shape, and radix * span that divides their rows",
     gen_fft_stage},
    {"transpose", 2, 2, transpose_fits, "a tile of the source's type and permuted shape", gen_transpose},
    {"dft", 3, 2, dft_fits, "two views of pairs of f32 or f64, up to 8192 points, and the first line", gen_dft},
};

tsr_status gen_call(gen *g, ir_op *op) {
  const char *fn = ir_get_str(op, "fn", "");
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (strcmp(calls[i].fn, fn)) continue;
    TSR_TRY(emit_cpu_check_operands(op, calls[i].n, calls[i].n_tiles));
    if (!calls[i].fits(op)) return ir_error(op, NULL, "\"%s\" takes %s", fn, calls[i].takes);
    return calls[i].write(g, op);
  }
  if (!strcmp(fn, "unfold")) return gen_unfold(g, op);
  if (!strcmp(fn, "convolve")) return gen_convolve(g, op);
  if (!strncmp(fn, "row_", 4)) return gen_row(g, op, fn + 4);
  return ir_error(op, NULL, "no micro-kernel \"%s\"", fn);
}
