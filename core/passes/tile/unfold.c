/* core/passes/tile/unfold.c - see tile/unfold.h. */
#include "core/passes/tile/unfold.h"

#include <string.h>

#include "core/base/int_math.h"
#include "core/ir/graph/winograd.h"

/* ---- the op ------------------------------------------------------------------------------------------------------ */

static ir_value *view_of(kb_kernel *k, const kb_mem *m) {
  ir_type t = {.kind = IR_T_VIEW, .dtype = m->dtype, .rank = m->rank, .has_strides = true, .offset = m->offset};
  memcpy(t.dims, m->dims, sizeof t.dims);
  memcpy(t.strides, m->strides, sizeof t.strides);
  const ir_type *type = ir_type_get(k->m, &t);
  ir_builder entry = {k->m, k->op->regions[0], k->zero->def->next, k->b.failed};
  ir_value *v = type ? ir_build1(&entry, "tessera.tile.view", type, 1, (ir_value *const *)&m->arg) : NULL;
  k->b.failed |= entry.failed;
  return v;
}

/* All dimensions of s but the last two as one row-major index. */
static ir_value *batch_of(kb_kernel *k, const kb_space *s) {
  ir_value *at = NULL;
  for (int i = 0; i < s->rank - 2; i++) {
    if (s->dims[i] == 1) continue;
    at = at ? kb_op2(k, "tessera.tile.add", kb_op2(k, "tessera.tile.mul", at, kb_index(k, s->dims[i])), s->at[i])
            : s->at[i];
  }
  return at ? at : k->zero;
}

/* The digits of w but those of one value, which move along nothing: what is next to each other in memory is then the
 * last digit wherever a spatial axis has one place. Each index that has digits keeps one.
 * swapped: those of rows and columns change places. */
static void take_digits(tile_unfold *u, const graph_windows *w, bool swapped) {
  int to = 0;
  for (int i = 0; i < UNFOLD_N_INDICES; i++) {
    const int of = swapped && i ? UNFOLD_ROW + UNFOLD_COLUMN - i : i, first = to;
    int from = 0;
    for (int j = 0; j < of; j++) from += w->n[j];
    for (int k = 0; k < w->n[of]; k++, from++) {
      const bool needed = w->extent[from] != 1 || (k == w->n[of] - 1 && to == first);
      if (!needed) continue;
      u->extent[to] = w->extent[from];
      memcpy(u->step[to++], w->step[from], sizeof *w->step);
    }
    u->n[i] = to - first;
  }
}

int64_t kb_unfold_places(const ir_op *op, int64_t n) {
  enum { MOST_BYTES = 256 << 10 }; /* of the image: a part of L2 */
  const ir_type *image = op->operands[0]->type;
  const graph_windows w = graph_windows_get(op);
  tile_unfold u = {.rank = image->rank};
  int64_t strides[TSR_MAX_RANK], step, reach[TSR_MAX_RANK];
  int axis;
  if (image->dtype != TSR_F32) return 0;
  take_digits(&u, &w, false);
  ir_type_strides(image, strides);
  if (!tile_unfold_has_lines(&u, strides, &axis, &step)) return 0;
  const int64_t line = u.extent[tile_unfold_first(&u, UNFOLD_ROW) + u.n[UNFOLD_ROW] - 1],
                lines = tile_unfold_extent(&u, UNFOLD_ROW) / line;
  /* A multiple of what n gives, which shares out evenly over the threads. */
  const int64_t share = clamp64(ceil_div(lines * line, max64(1, n)), 1, lines);
  int64_t pieces = share;
  for (; pieces + share <= lines; pieces += share) {
    int64_t bytes = (int64_t)sizeof(float);
    tile_unfold_reach(&u, ceil_div(lines, pieces) * line, reach);
    for (int d = 0; d < u.rank && bytes <= MOST_BYTES; d++) bytes *= reach[d];
    if (bytes <= MOST_BYTES) break;
  }
  return ceil_div(lines, pieces) * line;
}

/* Relative cost of a block of so many tiles by so many rows of weights: products of whole vectors; to read a weight is
 * as dear as four tiles, the transforms of an image as eight rows. */
static int64_t winograd_cost(int64_t tiles, int64_t rows) {
  enum { LANES = 8, READ = 4, TRANSFORM = 8 };
  return (round_up(tiles, LANES) + READ) * rows + TRANSFORM * tiles;
}

void kb_winograd_block(const ir_op *op, int64_t batch, int64_t cores, int64_t *m, int64_t *n) {
  const graph_windows w = graph_windows_get(op);
  const int64_t tile = ir_get_int(op, "winograd", 0), *out = w.extent + w.n[0], lines = ceil_div(out[0], tile),
                across = ceil_div(out[1], tile), rows = *m,
                most = max64(1, graph_winograd_lines(op->operands[0]->type->dims[1], out[1]) / tile),
                parts = batch >= 4 * cores ? 1 : cores / gcd64(max64(1, batch), cores),
                share_lines = ceil_div(lines, round_up(ceil_div(lines, most), parts)),
                share_rows = ceil_div(rows, parts);
  const bool by_rows =
      lines <= most && winograd_cost(lines * across, share_rows) < winograd_cost(share_lines * across, rows);
  *m = by_rows ? share_rows : rows;
  *n = by_rows ? out[0] * out[1] : min64(share_lines * tile, out[0]) * out[1];
}

tsr_status kb_unfold(kb_kernel *k, const ir_op *op, const kb_space *s, bool swapped, ir_value **out) {
  const kb_node *n = kb_node_of(k, op->operands[0]);
  if (!n || !n->is_mem || !n->m.arg) return ir_error(op, NULL, "the operand must lie in memory");
  const graph_windows w = graph_windows_get(op);
  const int row = s->rank - 2 + swapped, column = s->rank - 1 - swapped;
  tile_unfold u = {.rank = n->m.rank, .size = {swapped ? s->tn : s->tm, swapped ? s->tm : s->tn},
                   .winograd = (int)ir_get_int(op, "winograd", 0)};
  take_digits(&u, &w, swapped);
  memcpy(u.origin, w.origin, sizeof u.origin);
  ir_value *operands[] = {view_of(k, &n->m), batch_of(k, s), s->at[row], s->at[column]};
  ir_op *v =
      operands[0] && operands[1] ? ir_op_new(&k->b, ir_find_op("tessera.tile.unfold"), 4, operands, 1, NULL, 0) : NULL;
  if (!v || !tile_unfold_set(v, &u)) return st_oom();
  *out = v->results[0];
  return v->def->infer(v, &v->results[0]->type);
}

/* ---- the gather -------------------------------------------------------------------------------------------------- */

typedef struct region {
  ir_builder b;
  ir_value *digit[UNFOLD_MOST_DIGITS];
} region;

static ir_value *number(region *r, int64_t v) {
  ir_value *x = ir_build1(&r->b, "tessera.tile.const", ir_type_index(r->b.m), 0, NULL);
  return x && ir_set_attr(x->def, "value", ir_attr_int(r->b.m, v)) ? x : NULL;
}

static ir_value *two(region *r, const char *name, ir_value *x, ir_value *y) {
  return x && y ? ir_build1(&r->b, name, NULL, 2, (ir_value *[]){x, y}) : NULL;
}

/* The row-major digits of `at`. */
static bool split(region *r, const tile_unfold *u, int index, ir_value *at) {
  const int first = tile_unfold_first(u, index);
  for (int i = first + u->n[index] - 1; i >= first; i--) {
    r->digit[i] = i == first ? at : two(r, "tessera.tile.rem", at, number(r, u->extent[i]));
    if (!r->digit[i]) return false;
    if (i > first && !(at = two(r, "tessera.tile.div", at, number(r, u->extent[i])))) return false;
  }
  return true;
}

/* The view's coordinate d. */
static ir_value *coordinate(region *r, const tile_unfold *u, int d) {
  ir_value *sum = u->origin[d] ? number(r, u->origin[d]) : NULL;
  const int n = u->n[0] + u->n[1] + u->n[2];
  for (int i = 0; i < n; i++) {
    const int64_t step = u->step[i][d];
    if (!step || u->extent[i] == 1) continue;
    ir_value *x = step == 1 ? r->digit[i] : two(r, "tessera.tile.mul", r->digit[i], number(r, step));
    if (!x || !(sum = sum ? two(r, "tessera.tile.add", sum, x) : x)) return NULL;
  }
  return sum ? sum : number(r, 0);
}

static ir_value *is_less(region *r, ir_value *x, int64_t n) {
  const ir_type *t = ir_type_scalar(r->b.m, TSR_BOOL);
  ir_value *operands[] = {x, number(r, n)};
  ir_op *op = t && operands[1] ? ir_op_new(&r->b, ir_find_op("tessera.tile.compare"), 2, operands, 1, &t, 0) : NULL;
  return op && ir_set_attr(op, "predicate", ir_attr_str(r->b.m, "lt")) ? op->results[0] : NULL;
}

/* Whether row and column are among those that there are; *out NULL: by the tile's extents they are. */
static bool inside(region *r, const tile_unfold *u, ir_value *const at[UNFOLD_N_INDICES], ir_value **out) {
  *out = NULL;
  for (int i = 0; i < 2; i++) {
    const int64_t n = tile_unfold_extent(u, UNFOLD_ROW + i);
    if (n % u->size[i] == 0) continue;
    ir_value *x = is_less(r, at[UNFOLD_ROW + i], n);
    if (!x || !(*out = *out ? two(r, "tessera.tile.and", *out, x) : x)) return false;
  }
  return true;
}

static bool fill(region *r, const tile_unfold *u, ir_value *const *at) {
  ir_value *y[TSR_MAX_RANK + 1], *seen;
  for (int i = 0; i < UNFOLD_N_INDICES; i++)
    if (!at[i] || !split(r, u, i, at[i])) return false;
  for (int d = 0; d < u->rank; d++)
    if (!(y[d] = coordinate(r, u, d))) return false;
  if (!inside(r, u, at, &seen)) return false;
  y[u->rank] = seen;
  return ir_build0(&r->b, "tessera.tile.yield", u->rank + (seen != NULL), y) != NULL;
}

ir_op *unfold_gather(ir_builder *b, const ir_op *unfold, ir_value *const at[UNFOLD_N_INDICES], const ir_type *t,
                     ir_value *shared) {
  tile_unfold u;
  tsr_status st = tile_unfold_get(unfold, &u);
  if (st) return ir_refuse(b->m, st), NULL;
  ir_value *operands[] = {unfold->operands[0], shared}, *place[UNFOLD_N_INDICES] = {at[0]};
  ir_op *g = ir_op_new(b, ir_find_op("tessera.tile.gather"), t ? 1 : 2, operands, t != NULL, t ? &t : NULL, 1);
  if (!g) return NULL;
  region r = {.b = ir_at_end(b->m, g->regions[0])};
  ir_value *within[2];
  for (int i = 0; i < 2; i++)
    if (!(within[i] = ir_block_arg(b->m, g->regions[0], ir_type_index(b->m), NULL))) return NULL;
  for (int i = 0; i < 2; i++) place[UNFOLD_ROW + i] = two(&r, "tessera.tile.add", at[UNFOLD_ROW + i], within[i]);
  return fill(&r, &u, place) ? g : NULL;
}
