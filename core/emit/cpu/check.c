/* core/emit/cpu/check.c - see emit/cpu/check.h. One row a micro-kernel: how many operands, and what they must be. */
#include "core/emit/cpu/check.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/reducer.h"

/* Needs n tile or view operands. */
static tsr_status need(const ir_op *op, int n) {
  if (op->n_operands != n) return ir_error(op, NULL, "takes %d operands, has %d", n, op->n_operands);
  for (int i = 0; i < n; i++)
    if (op->operands[i]->type->kind != IR_T_ARRAY && op->operands[i]->type->kind != IR_T_VIEW &&
        strcmp(ir_get_str(op, "fn", ""), "splat") && (strcmp(ir_get_str(op, "fn", ""), "dft") || i < 2))
      return ir_error(op, NULL, "operand %d must be a tile or a view", i);
  return NULL;
}

const cpu_row_info cpu_row_infos[CPU_N_ROW_FN] = {
    [CPU_ROW_MAX] = {.name = "max"},
    [CPU_ROW_SUM] = {.name = "sum"},
    [CPU_ROW_EXP] = {.name = "exp", .per_element = true, .need = 1 | 16, .may = 1 | 16},
    [CPU_ROW_SQDEV] = {.name = "sqdev", .may = 1},
    [CPU_ROW_NORM] = {.name = "norm", .per_element = true, .need = 2, .may = 15},
    [CPU_ROW_SOFTMAX] = {.name = "softmax", .per_element = true, .whole = true},
    [CPU_ROW_NORMALIZE] = {.name = "normalize", .per_element = true, .whole = true, .may = 12}};

tsr_status emit_cpu_check_row(const ir_op *op, int n, int n_optional, const bool *has, cpu_row_fn fn) {
  TSR_TRY(need(op, n));
  const ir_type *out = op->operands[0]->type, *x = op->operands[1]->type;
  const cpu_row_info *info = &cpu_row_infos[fn];
  int mask = 0;
  for (int i = 0; i < n_optional; i++) mask |= has[i] << i;
  if ((mask & info->need) != info->need || mask & ~info->may)
    return ir_error(op, NULL, "has not the operands that \"%s\" takes", ir_get_str(op, "fn", ""));
  bool full = info->per_element;
  if (x->rank != 2 || out->rank != 2 || out->dims[0] != x->dims[0] || out->dims[1] != (full ? x->dims[1] : 1))
    return ir_error(op, NULL, "takes rows, and one result a row or a result of the same shape");
  if (fn == CPU_ROW_EXP && out->dtype != TSR_F32) return ir_error(op, NULL, "writes f32");
  for (int i = 0, k = 2; i < n_optional; i++) {
    if (!has[i]) continue;
    const ir_type *t = op->operands[k++]->type;
    bool repeated = i == 2 || i == 3;
    int64_t strides[TSR_MAX_RANK];
    ir_type_strides(t, strides);
    if (t->dtype != TSR_F32 || t->rank != 2 || t->dims[0] != (repeated ? 1 : x->dims[0]) ||
        t->dims[1] != (repeated ? x->dims[1] : 1) || (repeated && strides[1] != 1) ||
        (!repeated && t->kind != IR_T_ARRAY))
      return ir_error(op, NULL, "takes f32 operands, a number a row or one row for all");
  }
  for (int i = 0; i < 2; i++) {
    const ir_type *t = op->operands[i]->type;
    int64_t strides[TSR_MAX_RANK];
    ir_type_strides(t, strides);
    bool whole = i || full;
    if ((whole && strides[1] != 1) ||
        (t->dtype != TSR_F32 && !(whole && (t->dtype == TSR_BF16 || t->dtype == TSR_F16))) ||
        (!whole && t->kind != IR_T_ARRAY))
      return ir_error(op, NULL, "takes dense rows of f32, bf16 or f16");
  }
  return NULL;
}

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
  bool rows = tile->rank > 0 && (tile->kind == IR_T_ARRAY || (gather && (strides[tile->rank - 1] == 1 ||
                                                                          tile->dims[tile->rank - 1] == 1)));
  bool fits = r && r->last && rows && r->n_args == tile->rank &&
              (r->last->n_operands == view->rank || r->last->n_operands == view->rank + 1);
  for (int i = 0; fits && i < r->last->n_operands; i++) {
    const ir_type *t = r->last->operands[i]->type;
    fits = i < view->rank ? t->kind == IR_T_INDEX || (t->kind == IR_T_SCALAR && t->dtype == TSR_I32)
                          : t->kind == IR_T_SCALAR && t->dtype == TSR_BOOL;
  }
  return fits;
}

/* Micro-kernels by name: the operands that each is called with, and what it asks of them. */
static const struct {
  const char *fn;
  int n;
  bool (*fits)(const ir_op *);
  const char *takes;
} calls[] = {
    {"copy", 2, copy_fits, "a tile and one of its shape"},
    {"move", 2, move_fits, "dense tiles of one count, or one shape"},
    {"fill", 1, fill_fits, "a tile"},
    {"splat", 2, splat_fits, "a tile and a scalar"},
    {"reduce", 2, reduces, "a tile of the source's shape and type with extent 1 on axis"},
    {"gemm", 3, product_fits, "[m, n], [m, k] and [k, n]"},
    {"matmul", 3, product_fits, "[m, n], [m, k] and [k, n]"},
    {"gather", 2, indices_fit, "a tile, a view, and a region with an index for each dimension"},
    {"scatter", 2, indices_fit, "a tile, a view, and a region with an index for each dimension"},
    {"fft_stage", 4, fft_fits, "four f32 or f64 tiles of one shape, and radix * span that divides their rows"},
    {"transpose", 2, transpose_fits, "a tile of the source's type and permuted shape"},
    {"dft", 3, dft_fits, "two views of pairs of f32 or f64, up to 8192 points, and the first line"},
};

tsr_status emit_cpu_check_call(const ir_op *op) {
  const char *fn = ir_get_str(op, "fn", "");
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (strcmp(calls[i].fn, fn)) continue;
    TSR_TRY(need(op, calls[i].n));
    return calls[i].fits(op) ? NULL : ir_error(op, NULL, "\"%s\" takes %s", fn, calls[i].takes);
  }
  return NULL;
}

tsr_status emit_cpu_read_unfold(const ir_op *op, tile_unfold *u) {
  bool fits = op->n_operands == 5;
  for (int i = 2; fits && i < 5; i++) fits = op->operands[i]->type->kind == IR_T_INDEX;
  if (!fits) return ir_error(op, NULL, "\"unfold\" takes a tile, a view, batch, row and column");
  const ir_type *out = op->operands[0]->type, *in = op->operands[1]->type;
  const bool t = ir_get_bool(op, "transposed", false);
  TSR_TRY(tile_unfold_read(op, in, u));
  if (out->kind != IR_T_ARRAY || out->rank != 2 || out->dtype != in->dtype || out->dims[t] != u->size[0] ||
      out->dims[!t] != u->size[1])
    return ir_error(op, NULL, "\"unfold\" fills a tile of its extents, of the view's type");
  return NULL;
}

tsr_status emit_cpu_check_types(const ir_op *op, ir_value *const *v, int n) {
  for (int i = 0; i < n; i++) {
    const ir_type *t = v[i]->type;
    if (ir_type_is_shaped(t) && !cpu_compute_type(t->dtype))
      return ir_error_at(op, op->loc, TSR_UNSUPPORTED, "cast it", "element type %s can't be computed with on the CPU",
                         tsr_dtype_name(t->dtype));
  }
  return NULL;
}

static tsr_dtype computed(const ir_type *t) {
  return t->kind == IR_T_INDEX ? TSR_I32 : t->kind == IR_T_SCALAR ? cpu_compute_type(t->dtype) : TSR_DTYPE_NONE;
}

tsr_status emit_cpu_check_map(const ir_op *op) {
  const int outputs = (int)ir_get_int(op, "outputs", 1);
  const ir_block *r = op->regions[0];
  if (op->n_operands > EMIT_CPU_MOST_OPERANDS)
    return ir_error(op, "split the map", "%d operands; at most %d", op->n_operands, EMIT_CPU_MOST_OPERANDS);
  for (int i = 0; i < op->n_operands; i++) {
    const ir_type *have = i < outputs ? r->last->operands[i]->type : r->args[i - outputs]->type;
    tsr_dtype want = cpu_compute_type(op->operands[i]->type->dtype);
    if (computed(have) != want)
      return ir_error(op, "cast it in the region", "operand %d is computed with as %s, not as its scalar in the region",
                      i, tsr_dtype_name(want));
  }
  return NULL;
}

tsr_status emit_cpu_check_scalars(const ir_op *op, ir_value *const *v, int n) {
  for (int i = 0; i < n; i++)
    if (v[i]->type->kind != IR_T_SCALAR && v[i]->type->kind != IR_T_INDEX)
      return ir_error(op, NULL, "the CPU's registers hold scalars and indices only");
  return NULL;
}
