/* core/passes/tile/contraction.c - a product as a tessera.tile.contract: its windows, with elementwise prologues on the
 * operands and the epilogue that computes what is stored. */
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/tile/contract.h"
#include "core/passes/tile/contraction.h"
#include "core/passes/tile/unfold.h"

/* A side's space: the batch dimensions of the result, then the operand's own two. */
/* A side's space: the batch dimensions of the result, then the operand's own two; t0 x t1 of its m or k, k or n a tile.
 */
static void mm_side(contraction *x, mm_operand *s, ir_value *v, bool transpose, int64_t d0, int64_t d1, int64_t t0,
             int64_t t1) {
  s->value = v;
  s->transpose = transpose;
  s->orig = v->type;
  s->s = x->c;
  s->s.plain = true;
  int r = s->s.rank;
  s->s.dims[r - 2] = transpose ? d1 : d0;
  s->s.dims[r - 1] = transpose ? d0 : d1;
  s->s.tm = transpose ? t1 : t0;
  s->s.tn = transpose ? t0 : t1;
}

/* A cast that loses nothing can be done by the copy. */
static bool copy_converts(const kb_kernel *k, const ir_value *v, const ir_value **from, tsr_dtype *to) {
  *from = v;
  *to = v->type->dtype;
  if (v->def && graph_is(v->def, G_CAST)) {
    kb_node *n = v->def->operands[0]->data;
    if (kb_copy_may_convert(v->def->operands[0]->type->dtype, v->type->dtype) && n && n->is_mem) {
      *from = v->def->operands[0];
      return true;
    }
  }
  kb_node *n = v->data;
  return n && n->is_mem;
}

/* From, to and step of the loop over k: all of it, or this block's part. */
static void mm_bounds(kb_kernel *k, const contraction *x, ir_value *bounds[3]) {
  bounds[0] = k->zero, bounds[1] = kb_index(k, x->g.k), bounds[2] = kb_index(k, x->bk);
  if (x->from) bounds[0] = x->from, bounds[1] = x->to;
  if (!x->part) return;
  bounds[0] = kb_op2(k, "tessera.tile.mul", x->part, kb_index(k, x->chunk));
  bounds[1] = kb_op2(k, "tessera.tile.min", kb_op2(k, "tessera.tile.add", bounds[0], kb_index(k, x->chunk)), bounds[1]);
}

/* ---- the structured op ----------------------------------------------------------------------------------------- */

typedef struct contract {
  ir_op *op;
  char maps[4 * 4 * MAX_LEAVES]; /* of the operands added so far: each role has at most MAX_LEAVES */
  int n;
} contract;

static void note_map(contract *c, contract_role role, bool swapped) {
  const char *const names[CONTRACT_N_ROLES][2] = {{"mk", "km"}, {"kn", "nk"}, {"mn", "nm"}, {"mn", "nm"}};
  const bool first = !c->n || c->maps[c->n - 1] == '>';
  c->n += snprintf(c->maps + c->n, sizeof c->maps - (size_t)c->n, "%s%s", first ? "" : ",", names[role][swapped]);
}

/* The side's element is one of memory, in the type that it is staged in. */
static tsr_status plain_side(kb_kernel *k, contract *c, const mm_operand *s, const ir_value *from, tsr_dtype to,
                             ir_block *region) {
  const kb_mem *m = &((kb_node *)from->data)->m;
  int64_t strides[TSR_MAX_RANK + 2];
  bool flipped = false;
  ir_value *w;
  kb_space_strides(m, &s->s, FORM_FULL, strides);
  TSR_TRY(kb_window(k, m, &s->s, strides, s->in_order ? NULL : &flipped, &w));
  note_map(c, region == c->op->regions[1] ? CONTRACT_B : CONTRACT_A, s->transpose ^ flipped);
  ir_value *x = ir_block_arg(k->m, region, ir_type_scalar(k->m, to), NULL);
  ir_builder r = ir_at_end(k->m, region);
  return x && ir_add_operand(c->op, w) && ir_build0(&r, "tessera.tile.yield", 1, &x) ? NULL : st_oom();
}

/* The side's element is computed in the region; the tile is staged in the operand's own type, or not at all. */
static tsr_status computed_side(kb_kernel *k, contract *c, const mm_operand *s, ir_block *region, tsr_dtype staged) {
  const bool is_b = region == c->op->regions[1];
  kb_scalars scalars = {.op = c->op, .operands = k->b, .region = region, .in_order = s->in_order};
  ir_value *y = NULL;
  ir_builder outside = k->b;
  k->b = ir_at_end(k->m, region);
  k->scalars = &scalars;
  tsr_status st = kb_value(k, s->value, &s->s, s->orig, FORM_FULL, &y);
  if (!st && !ir_build0(&k->b, "tessera.tile.yield", 1, &y)) st = st_oom();
  k->scalars = NULL;
  outside.failed |= k->b.failed;
  k->b = outside;
  TSR_TRY(st);
  for (int i = 0; i < scalars.n; i++)
    note_map(c, is_b ? CONTRACT_B : CONTRACT_A, s->transpose ^ scalars.transposed[i]);
  const char *type = dtype_get(staged)->name;
  return ir_set_attr(c->op, is_b ? "b_type" : "a_type", ir_attr_str(k->m, type)) ? NULL : st_oom();
}

/* The path takes neighbouring columns of b at once, so that they have to lie side by side. */
static bool reads_rows_of_b(const kb_kernel *k) {
  return k->params.matrix_path && !strcmp(k->params.matrix_path, "lane_n");
}

/* The side's elements are those of an image, wherever the windows have them. */
static tsr_status unfolded_side(kb_kernel *k, contract *c, const mm_operand *s, ir_block *region) {
  ir_value *v, *x = ir_block_arg(k->m, region, ir_type_scalar(k->m, s->orig->dtype), NULL);
  const bool is_b = region == c->op->regions[1], swapped = is_b && s->transpose && reads_rows_of_b(k);
  TSR_TRY(kb_unfold(k, s->value->def, &s->s, swapped, &v));
  note_map(c, is_b ? CONTRACT_B : CONTRACT_A, s->transpose ^ swapped);
  ir_builder r = ir_at_end(k->m, region);
  return x && ir_add_operand(c->op, v) && ir_build0(&r, "tessera.tile.yield", 1, &x) ? NULL : st_oom();
}

static tsr_status operand_side(kb_kernel *k, contract *c, const contraction *x, mm_operand *s, ir_block *region) {
  const ir_value *from;
  tsr_dtype to;
  if (graph_is_kind(s->value->def, GRAPH_WINDOWS)) return unfolded_side(k, c, s, region);
  return copy_converts(k, s->value, &from, &to)
             ? plain_side(k, c, s, from, to, region)
             : computed_side(k, c, s, region, x->by_rows ? x->g.accum : s->value->type->dtype);
}

static bool set_attributes(const kb_kernel *k, const contraction *x, const contract *c) {
  ir_module *m = k->m;
  ir_op *op = c->op;
  const sched_params *p = &k->params;
  return ir_set_attr(op, "maps", ir_attr_str(m, c->maps)) &&
         ir_set_attr(op, "tile", ir_attr_ints(m, (int64_t[]){x->bm, x->bn, x->bk}, 3)) &&
         (p->use_shared >= 0 || ir_set_attr(op, "use_shared", ir_attr_bool(m, false))) &&
         (p->pipeline_stages <= 0 || ir_set_attr(op, "stages", ir_attr_int(m, p->pipeline_stages))) &&
         (p->padding <= 0 || ir_set_attr(op, "padding", ir_attr_int(m, p->padding))) &&
         (!x->by_rows || ir_set_attr(op, "by_rows", ir_attr_bool(m, true))) &&
         (p->async_copy >= 0 || ir_set_attr(op, "async", ir_attr_bool(m, false))) &&
         ir_set_attr(op, "policy", ir_attr_str(m, k->opts->policy));
}

static bool is_full(const contraction *x, const ir_value *window) {
  return window->type->dims[0] == x->bm && window->type->dims[1] == x->bn;
}

/* What is stored, as scalars of the region; the sum stands for the product. */
static tsr_status stored_values(kb_kernel *k, contraction *x, ir_value *sum, ir_value *const *windows, ir_value **y) {
  if (k->split == SPLIT_PARTS) return *y = sum, NULL;
  const ir_op *yield = k->src->regions[0]->last;
  kb_node *n = kb_node_of(k, x->op->results[0]);
  if (!n || !(sum = kb_wrap(k, sum, x->orig->dtype))) return st_oom();
  n->n_frags = 1;
  n->frags[0].s = &x->c;
  n->frags[0].f = FORM_FULL;
  n->frags[0].frag = sum;
  for (int i = 0, n_y = 0; i < yield->n_operands; i++)
    if (is_full(x, windows[i])) TSR_TRY(kb_value(k, yield->operands[i], &x->c, x->orig, FORM_FULL, &y[n_y++]));
  return NULL;
}

/* Results that repeat along a dimension of the tile don't depend on the product: they are stored before it. */
static tsr_status store_narrow(kb_kernel *k, contraction *x, ir_value *const *windows) {
  for (int i = 0; i < k->src->n_results && k->split != SPLIT_PARTS; i++)
    if (!is_full(x, windows[i])) TSR_TRY(kb_store_result(k, i, &x->before, x->orig, windows[i]));
  return NULL;
}

static tsr_status epilogue(kb_kernel *k, contract *c, contraction *x, ir_value *const *windows) {
  ir_block *region = c->op->regions[2];
  x->before = x->c;
  kb_scalars scalars = {.op = c->op, .operands = k->b, .region = region, .in_order = x->by_rows,
                        .before = x->by_rows ? NULL : &x->before};
  ir_value *sum = ir_block_arg(k->m, region, ir_type_scalar(k->m, x->g.accum), NULL), *y[MAX_LEAVES];
  const int n = k->split == SPLIT_PARTS ? 1 : k->src->n_results;
  int full = 0;
  for (int i = 0; i < n; i++) full += is_full(x, windows[i]);
  TSR_TRY(store_narrow(k, x, windows));
  ir_builder outside = k->b;
  if (!sum) return st_oom();
  k->b = ir_at_end(k->m, region);
  k->scalars = &scalars;
  tsr_status st = stored_values(k, x, sum, windows, y);
  if (!st && !ir_build0(&k->b, "tessera.tile.yield", full, y)) st = st_oom();
  k->scalars = NULL;
  outside.failed |= k->b.failed;
  k->b = outside;
  TSR_TRY(st);
  for (int i = 0; i < scalars.n; i++) note_map(c, CONTRACT_OTHER, scalars.transposed[i]);
  c->n += snprintf(c->maps + c->n, sizeof c->maps - (size_t)c->n, "->");
  for (int i = 0; i < n; i++) {
    if (!is_full(x, windows[i])) continue;
    if (!ir_add_operand(c->op, windows[i])) return st_oom();
    note_map(c, CONTRACT_OUT, false);
  }
  return NULL;
}

static tsr_status build(kb_kernel *k, contraction *x, ir_value *const *windows) {
  int r = x->c.rank;
  ir_value *bounds[3];
  mm_bounds(k, x, bounds);
  contract c = {.op = ir_op_new(&k->b, ir_find_op("tessera.tile.contract"), 2, bounds, 0, NULL, 3)};
  if (!c.op) return st_oom();
  ir_builder after = k->b;
  k->b = ir_before(c.op);
  x->a.s.at[r - 1 - x->a.transpose] = k->zero;
  x->b.s.at[r - 2 + x->b.transpose] = k->zero;
  TSR_TRY(operand_side(k, &c, x, &x->a, c.op->regions[0]));
  TSR_TRY(operand_side(k, &c, x, &x->b, c.op->regions[1]));
  TSR_TRY(epilogue(k, &c, x, windows));
  after.failed |= k->b.failed;
  k->b = after;
  return !k->b.failed && set_attributes(k, x, &c) ? NULL : st_oom();
}

kb_mem mm_workspace(const kb_kernel *k, const contraction *x, int64_t part) {
  kb_mem m = {.arg = k->workspace, .dtype = x->g.accum, .rank = x->orig->rank};
  memcpy(m.dims, x->orig->dims, sizeof m.dims);
  ir_type_strides(x->orig, m.strides);
  m.offset = part * ir_type_count(x->orig);
  return m;
}

/* Parts are further block columns of the grid: block x = part * columns + column. */
tsr_status mm_split_grid(kb_kernel *k, contraction *x) {
  int64_t columns = (x->g.n + x->bn - 1) / x->bn, grid[3];
  kb_space wide = x->c; /* x->c.tm, tn: the block's tile */
  wide.dims[wide.rank - 1] = columns * x->bn * k->params.split_k;
  k->params.raster = 0;
  TSR_TRY(kb_space_grid(k, &wide));
  if (ir_get_ints(k->op, "grid", grid, 3) != 3) return st_oom();
  memcpy(x->c.at, wide.at, sizeof wide.at);
  ir_value *span = kb_index(k, columns * x->bn), *at = wide.at[wide.rank - 1];
  x->part = kb_op2(k, "tessera.tile.div", at, span);
  x->c.at[x->c.rank - 1] = kb_op2(k, "tessera.tile.rem", at, span);
  return k->b.failed ? st_oom() : NULL;
}

/* The accumulator's window in the workspace, at this block's part. */
tsr_status mm_part_window(kb_kernel *k, const contraction *x, const kb_space *at, ir_value **out) {
  kb_mem m = mm_workspace(k, x, 0);
  int64_t strides[TSR_MAX_RANK + 2];
  kb_space s = *at;
  kb_space_strides(&m, &s, FORM_FULL, strides);
  /* The part is one more outer dimension. */
  if (s.rank + 1 > TSR_MAX_RANK + 2) return ir_error(k->src, NULL, "too many dimensions for split_k");
  memmove(s.dims + 1, s.dims, sizeof *s.dims * (size_t)s.rank);
  memmove(s.at + 1, s.at, sizeof *s.at * (size_t)s.rank);
  memmove(strides + 1, strides, sizeof *strides * (size_t)s.rank);
  s.rank++;
  s.dims[0] = k->params.split_k;
  s.at[0] = x->part;
  strides[0] = ir_type_count(x->orig);
  return kb_window(k, &m, &s, strides, NULL, out);
}

/* A's tile lies along k as B's does, so that a row of it meets B's elements where they are. */
static void lie_as_b(const contraction *x, mm_operand *a) {
  const int r = a->s.rank;
  const kb_space s = a->s;
  a->in_order = true;
  if (a->transpose == !x->b.transpose) return;
  a->transpose = !a->transpose;
  a->s.dims[r - 2] = s.dims[r - 1], a->s.dims[r - 1] = s.dims[r - 2];
  a->s.from[r - 2] = s.from[r - 1], a->s.from[r - 1] = s.from[r - 2];
  a->s.tm = s.tn, a->s.tn = s.tm;
}

tsr_status mm_contract(kb_kernel *k, contraction *x, ir_value *const *windows) {
  int r = x->c.rank;
  mm_side(x, &x->a, x->op->operands[0], x->g.transpose_a, x->g.m, x->g.k, x->bm, x->bk);
  mm_side(x, &x->b, x->op->operands[1], x->g.transpose_b, x->g.k, x->g.n, x->bk, x->bn);
  if (x->by_rows) lie_as_b(x, &x->a);
  x->a.s.at[r - 2 + x->a.transpose] = x->c.at[r - 2];
  x->b.s.at[r - 1 - x->b.transpose] = x->c.at[r - 1];
  return build(k, x, windows);
}
