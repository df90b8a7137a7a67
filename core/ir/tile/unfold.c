/* core/ir/tile/unfold.c - see tile/unfold.h: its parts, and which are well formed. */
#include "core/ir/tile/unfold.h"

#include <string.h>

#include "core/base/int_math.h"
#include "core/ir/tile/tile.h"

bool tile_is_unfold(const ir_value *v) {
  return v->def && v->def->def->level == IR_TILE && v->def->def->code == T_UNFOLD;
}

int tile_unfold_first(const tile_unfold *u, int index) {
  int n = 0;
  for (int i = 0; i < index; i++) n += u->n[i];
  return n;
}

int64_t tile_unfold_extent(const tile_unfold *u, int index) {
  int64_t n = 1;
  const int first = tile_unfold_first(u, index);
  for (int i = first; i < first + u->n[index]; i++) n *= u->extent[i];
  return n;
}

bool tile_unfold_has_lines(const tile_unfold *u, const int64_t *strides, int *axis, int64_t *step) {
  const int first = tile_unfold_first(u, UNFOLD_ROW), last = first + u->n[UNFOLD_ROW] - 1;
  *axis = -1;
  for (int d = 0; d < u->rank && last >= first; d++) {
    if (!u->step[last][d]) continue;
    if (*axis >= 0) return false;
    *axis = d;
  }
  if (*axis < 0 || strides[*axis] < 1 || strides[*axis] > (u->winograd ? 1 : UNFOLD_MOST_APART)) return false;
  *step = u->step[last][*axis];
  for (int i = first; i < last; i++)
    if (u->step[i][*axis]) return false;
  return *step >= 1 && *step <= UNFOLD_MOST_LINE_STEP;
}

int64_t tile_unfold_grid(const tile_unfold *u, int d) {
  const int first = tile_unfold_first(u, UNFOLD_ROW), last = first + u->n[UNFOLD_ROW] - 1,
            end = last + 1 + u->n[UNFOLD_COLUMN];
  int64_t grid = 0;
  for (int i = first; i < end; i++)
    if (u->extent[i] > 1 || i == last) grid = gcd64(grid, u->step[i][d] < 0 ? -u->step[i][d] : u->step[i][d]);
  return grid ? grid : 1;
}

void tile_unfold_reach(const tile_unfold *u, int64_t n, int64_t *reach) {
  const int first = tile_unfold_first(u, UNFOLD_ROW), end = first + u->n[UNFOLD_ROW] + u->n[UNFOLD_COLUMN];
  const int64_t rows = tile_unfold_extent(u, UNFOLD_ROW);
  for (int d = 0; d < u->rank; d++) reach[d] = 1;
  for (int i = first; i < end; i++) {
    int64_t values = u->extent[i];
    /* The first digit's values follow one another; of those behind it, all may come. */
    if (i < first + u->n[UNFOLD_ROW] && n == 1) values = 1;
    else if (i == first && u->n[UNFOLD_ROW]) values = min64(values, (n - 1) / (rows / u->extent[i]) + 2);
    for (int d = 0; d < u->rank; d++)
      reach[d] += (values - 1) * ((u->step[i][d] < 0 ? -u->step[i][d] : u->step[i][d]) / tile_unfold_grid(u, d));
  }
}

/* The next digit of *at..end that has several values; -1: there is none. */
static int next_digit(const tile_unfold *u, int *at, int end) {
  while (*at < end && u->extent[*at] == 1) ++*at;
  return *at < end ? (*at)++ : -1;
}

/* The digits of an index, but those of one value, step by one along `axes` in this order; n: their extents, 1 of an
 * axis that has none. */
static bool steps_along(const tile_unfold *u, int index, const int *axes, int n_axes, int64_t *n) {
  int at = tile_unfold_first(u, index);
  const int end = at + u->n[index];
  for (int i = 0; i < n_axes; i++) {
    const int here = at, digit = next_digit(u, &at, end);
    int moved = 0;
    n[i] = 1;
    if (digit < 0) continue;
    for (int d = 0; d < u->rank; d++) moved += u->step[digit][d] != 0;
    if (moved != 1) return false;
    if (u->step[digit][axes[i]] == 1) n[i] = u->extent[digit];
    else at = here;
  }
  return next_digit(u, &at, end) < 0;
}

bool tile_winograd_of(const tile_unfold *u, tile_winograd *out) {
  int64_t n[3], window[3];
  *out = (tile_winograd){0};
  if (u->rank != 4 || u->origin[0] || u->origin[1]) return false;
  if (!steps_along(u, UNFOLD_BATCH, (int[]){0}, 1, n) || !steps_along(u, UNFOLD_ROW, (int[]){2, 3}, 2, out->out) ||
      !steps_along(u, UNFOLD_COLUMN, (int[]){1, 2, 3}, 3, window))
    return false;
  out->channels = window[0];
  for (int i = 0; i < 2; i++) out->low[i] = -u->origin[2 + i];
  return window[1] == 3 && window[2] == 3;
}

int tile_winograd_tile(const tile_unfold *u, int64_t n) {
  tile_winograd w;
  if (!u->winograd || !tile_winograd_of(u, &w)) return 0;
  return n >= w.out[0] * w.out[1] || n % (w.out[1] * u->winograd) == 0 ? u->winograd : 0;
}

/* Places are computed in 32 bits: how far a digit moves along any dimension. */
static bool is_near(const tile_unfold *u, int digit) {
  for (int d = 0; d < u->rank; d++) {
    const int64_t step = u->step[digit][d] < 0 ? -u->step[digit][d] : u->step[digit][d];
    if (step > INT32_MAX || u->extent[digit] > INT32_MAX / 8 / (step ? step : 1)) return false;
  }
  return true;
}

static tsr_status read_digits(const ir_op *op, tile_unfold *u) {
  int64_t counts[UNFOLD_N_INDICES] = {0}, steps[UNFOLD_MOST_DIGITS * TSR_MAX_RANK];
  int n = 0;
  if (ir_get_ints(op, "counts", counts, UNFOLD_N_INDICES) != UNFOLD_N_INDICES)
    return ir_error(op, NULL, "counts must say how many digits batch, row and column have");
  for (int i = 0; i < UNFOLD_N_INDICES; i++) {
    if (counts[i] < 0 || counts[i] > UNFOLD_MOST_DIGITS)
      return ir_error(op, NULL, "counts entry %d is out of range", i);
    n += u->n[i] = (int)counts[i];
  }
  if (n > UNFOLD_MOST_DIGITS || ir_get_ints(op, "extents", u->extent, UNFOLD_MOST_DIGITS) != n)
    return ir_error(op, NULL, "extents must hold the %d digits that counts says, at most %d", n, UNFOLD_MOST_DIGITS);
  if (ir_get_ints(op, "steps", steps, UNFOLD_MOST_DIGITS * TSR_MAX_RANK) != n * u->rank)
    return ir_error(op, NULL, "steps must hold %d numbers for each of %d digits", u->rank, n);
  for (int i = 0; i < n; i++) {
    memcpy(u->step[i], steps + i * u->rank, sizeof *steps * (size_t)u->rank);
    if (u->extent[i] < 1 || !is_near(u, i)) return ir_error(op, NULL, "digit %d is out of range", i);
  }
  return NULL;
}

tsr_status tile_unfold_read(const ir_op *op, const ir_type *view, tile_unfold *u) {
  *u = (tile_unfold){.rank = view->rank};
  if (view->kind != IR_T_VIEW) return ir_error(op, NULL, "the image must be a view");
  if (ir_get_ints(op, "sizes", u->size, 2) != 2 || u->size[0] < 1 || u->size[1] < 1 || u->size[0] > INT32_MAX ||
      u->size[1] > INT32_MAX)
    return ir_error(op, NULL, "sizes must be the two extents of the tile");
  if (ir_get_ints(op, "origin", u->origin, TSR_MAX_RANK) != u->rank)
    return ir_error(op, NULL, "origin needs one number per dimension of a rank %d view", u->rank);
  for (int d = 0; d < u->rank; d++)
    if (u->origin[d] < -INT32_MAX / 8 || u->origin[d] > INT32_MAX / 8)
      return ir_error(op, NULL, "origin entry %d is out of range", d);
  TSR_TRY(read_digits(op, u));
  tile_winograd w;
  const int64_t tile = ir_get_int(op, "winograd", 0);
  u->winograd = (int)clamp64(tile, 0, 4);
  if (tile && ((tile != 2 && tile != 4) || !tile_winograd_of(u, &w)))
    return ir_error(op, NULL, "winograd takes tiles of 2 or 4, and windows of 3x3 at all places of an image");
  for (int i = 0; i < UNFOLD_N_INDICES; i++) {
    int64_t n = 1;
    const int first = tile_unfold_first(u, i);
    for (int k = first; k < first + u->n[i]; k++)
      if (__builtin_mul_overflow(n, u->extent[k], &n) || n > INT32_MAX / 2)
        return ir_error(op, "split it", "index %d has too many values", i);
  }
  return NULL;
}

tsr_status tile_unfold_get(const ir_op *op, tile_unfold *u) {
  return tile_unfold_read(op, op->operands[0]->type, u);
}

bool tile_unfold_set(ir_op *op, const tile_unfold *u) {
  ir_module *m = op->module;
  int64_t steps[UNFOLD_MOST_DIGITS * TSR_MAX_RANK], counts[UNFOLD_N_INDICES];
  int n = 0, s = 0;
  for (int i = 0; i < UNFOLD_N_INDICES; i++) n += u->n[i], counts[i] = u->n[i];
  for (int i = 0; i < n; i++)
    for (int d = 0; d < u->rank; d++) steps[s++] = u->step[i][d];
  return ir_set_attr(op, "counts", ir_attr_ints(m, counts, UNFOLD_N_INDICES)) &&
         ir_set_attr(op, "extents", ir_attr_ints(m, u->extent, n)) &&
         ir_set_attr(op, "steps", ir_attr_ints(m, steps, s)) &&
         ir_set_attr(op, "origin", ir_attr_ints(m, u->origin, u->rank)) &&
         ir_set_attr(op, "sizes", ir_attr_ints(m, u->size, 2)) &&
         (!u->winograd || ir_set_attr(op, "winograd", ir_attr_int(m, u->winograd)));
}

tsr_status tile_infer_unfold(ir_op *op, const ir_type **results) {
  tile_unfold u;
  TSR_TRY(tile_unfold_get(op, &u));
  for (int i = 0; i < UNFOLD_N_INDICES; i++)
    if (op->operands[1 + i]->type->kind != IR_T_INDEX) return ir_error(op, NULL, "batch, row and column must be index");
  const ir_type t = {
      .kind = IR_T_VIEW, .dtype = op->operands[0]->type->dtype, .rank = 2, .dims = {u.size[0], u.size[1]}};
  return (results[0] = ir_type_get(op->module, &t)) ? NULL : st_oom();
}

/* It is no memory: other ops would read what lies at the image's place. */
tsr_status tile_verify_unfold(const ir_op *op) {
  const ir_value *v = op->results[0];
  int uses = 0;
  for (const ir_op *o = op->next; o; o = o->next) {
    const int code = o->def->level == IR_TILE ? (int)o->def->code : -1;
    if (code == T_CONTRACT)
      for (int i = 2; i < o->n_operands; i++) uses += o->operands[i] == v;
    if (code == T_COPY) uses += o->operands[0] == v && o->operands[1]->type->kind == IR_T_SHARED;
  }
  return uses == v->n_uses ? NULL
                           : ir_error(op, NULL, "is for the contractions and copies into shared tiles behind it");
}
