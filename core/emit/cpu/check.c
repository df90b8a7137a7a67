/* core/emit/cpu/check.c - see emit/cpu/check.h. */
#include "core/emit/cpu/check.h"

#include <string.h>

#include "core/base/dtype.h"

tsr_status emit_cpu_check_operands(const ir_op *op, int n, int n_tiles) {
  if (op->n_operands != n) return ir_error(op, NULL, "takes %d operands, has %d", n, op->n_operands);
  for (int i = 0; i < n_tiles; i++)
    if (op->operands[i]->type->kind != IR_T_ARRAY && op->operands[i]->type->kind != IR_T_VIEW)
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
  TSR_TRY(emit_cpu_check_operands(op, n, n));
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

int64_t emit_cpu_convolve_reach(const tile_unfold *u, const ir_type *image) {
  enum { MOST_ELEMENTS = 1 << 20 };
  int64_t strides[TSR_MAX_RANK], reach[TSR_MAX_RANK], step, n = 1;
  int axis;
  ir_type_strides(image, strides);
  if (image->dtype != TSR_F32 || !tile_unfold_has_lines(u, strides, &axis, &step)) return -1;
  tile_unfold_reach(u, u->size[0], reach);
  reach[axis] += 2 * step; /* the steps' phases are equally long */
  for (int d = 0; d < u->rank; d++)
    if (__builtin_mul_overflow(n, reach[d], &n) || n > MOST_ELEMENTS) return -1;
  return n;
}

tsr_status emit_cpu_read_convolve(const ir_op *op, tile_unfold *u, int64_t *reach) {
  bool fits = op->n_operands == 5;
  for (int i = 0; fits && i < 5; i++)
    fits = i < 3 ? ir_type_is_shaped(op->operands[i]->type) : op->operands[i]->type->kind == IR_T_INDEX;
  if (!fits) return ir_error(op, NULL, "\"convolve\" takes a tile, weights, a view, batch and row");
  const ir_type *out = op->operands[0]->type, *a = op->operands[1]->type, *in = op->operands[2]->type;
  int64_t rows[2][TSR_MAX_RANK];
  TSR_TRY(tile_unfold_read(op, in, u));
  fits = out->rank == 2 && a->rank == 2 && out->dtype == TSR_F32 && a->dtype == TSR_F32 &&
         out->dims[0] == a->dims[0] && out->dims[1] == u->size[0] && a->dims[1] == u->size[1] &&
         u->size[1] == tile_unfold_extent(u, UNFOLD_COLUMN);
  if (fits) {
    ir_type_strides(out, rows[0]), ir_type_strides(a, rows[1]);
    *reach = emit_cpu_convolve_reach(u, in);
    fits = rows[0][1] == 1 && rows[1][1] == 1 && *reach >= 0;
  }
  if (!fits) return ir_error(op, NULL, "\"convolve\" takes [m, n], [m, all columns] and lines of an image, of f32");
  if (u->winograd != tile_winograd_tile(u, u->size[0]))
    return ir_error(op, NULL, "\"convolve\" with winograd takes whole lines of its tiles");
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
