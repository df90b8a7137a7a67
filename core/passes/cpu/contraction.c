/* core/passes/cpu/contraction.c - products over all of k at once: one `matmul` call, for which the backend packs b once
 * per launch, or where b is the windows over an image one `convolve` call, and where the op has an epilogue one map.
 * The sum is made where the result goes, if the epilogue allows that. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/emit/cpu/check.h"
#include "core/emit/cpu/code.h"
#include "core/ir/tile/tile.h"
#include "core/ir/tile/unfold.h"
#include "core/passes/cpu/lower.h"
#include "core/passes/cpu/patterns.h"
#include "core/passes/cpu/takes.h"

static tsr_status whole_window(lower *l, ir_builder *b, const cpu_contraction *c, ir_op *w, int k_dim, ir_value **out) {
  int64_t sizes[TSR_MAX_RANK];
  ir_value *operands[1 + TSR_MAX_RANK];
  int n = ir_get_ints(w, "sizes", sizes, TSR_MAX_RANK);
  for (int i = 0; i < w->n_operands; i++) operands[i] = cpu_at(i == 1 + k_dim ? c->from_value : w->operands[i]);
  sizes[k_dim] = c->to - c->from;
  ir_op *op = ir_op_new(b, ir_find_op("tessera.target.window"), w->n_operands, operands, 1, NULL, 0);
  if (!op || !ir_set_attr(op, "sizes", ir_attr_ints(l->m, sizes, n))) return st_oom();
  TSR_TRY(op->def->infer(op, &op->results[0]->type));
  *out = op->results[0];
  return NULL;
}

/* The window at k = 0 served to say where the product reads. */
static void drop_window(const ir_op *w) {
  if (w->def->code == T_UNFOLD) return; /* it became nothing */
  ir_op *lowered = cpu_at(w->results[0]) ? cpu_at(w->results[0])->def : NULL;
  if (w->results[0]->n_uses == 1 && lowered && lowered->parent) ir_op_remove(lowered);
}

/* Lines along the digit that is next to itself in memory: along the rows where the tile is better collected so. */
static bool runs_along_rows(const tile_unfold *u, const ir_type *view) {
  int64_t strides[TSR_MAX_RANK], run[2] = {0, 0};
  ir_type_strides(view, strides);
  for (int i = 0; i < 2; i++) {
    const int last = tile_unfold_first(u, UNFOLD_ROW + i) + u->n[UNFOLD_ROW + i] - 1;
    int64_t step = 0;
    for (int d = 0; d < u->rank; d++) step += u->step[last][d] * strides[d];
    if (u->n[UNFOLD_ROW + i] && step >= -4 && step <= 4) run[i] = u->extent[last];
  }
  return run[0] > run[1];
}

tsr_status cpu_unfold(lower *l, ir_builder *b, const ir_op *unfold, ir_value *tile, bool transposed) {
  static const char *const map[] = {"counts", "extents", "steps", "origin", "sizes", NULL};
  ir_value *operands[5] = {tile};
  int64_t sizes[2] = {tile->type->dims[transposed], tile->type->dims[!transposed]};
  for (int i = 0; i < unfold->n_operands; i++) operands[1 + i] = cpu_at(unfold->operands[i]);
  ir_op *call = cpu_call(l, b, "unfold", 5, operands);
  return call && cpu_copy_attrs(call, unfold, map) && ir_set_attr(call, "sizes", ir_attr_ints(l->m, sizes, 2)) &&
                 (!transposed || ir_set_attr(call, "transposed", ir_attr_bool(l->m, true)))
             ? NULL
             : st_oom();
}

/* A tile with all of k of an unfolded side, which lies the other way than it says if *transposed comes back true. */
static tsr_status collect(lower *l, ir_builder *b, const cpu_contraction *c, const ir_op *w, int k_dim, const ir_op *op,
                          bool *transposed, ir_value **out) {
  enum { PAGE = 1024, PAD_BYTES = 64 }; /* rows that far apart fall on the same cache sets */
  tile_unfold u;
  TSR_TRY(tile_unfold_get(w, &u));
  u.size[k_dim - UNFOLD_ROW] = c->to - c->from;
  *transposed = runs_along_rows(&u, w->operands[0]->type);
  const tsr_dtype t = w->operands[0]->type->dtype;
  ir_type type = {.kind = IR_T_SHARED, .dtype = t, .rank = 2, .dims = {u.size[*transposed], u.size[!*transposed]}};
  const int64_t bytes = (int64_t)tsr_dtype_size(t);
  if (type.dims[1] * bytes % PAGE == 0) type.pad = PAD_BYTES / bytes;
  TSR_TRY(cpu_new_tile(l, b, op, &type, op->scratch, scratch_end(op), out));
  return cpu_unfold(l, b, w, *out, *transposed);
}

/* One side of the product, all of its k; *transposed: it lies the other way than it says. */
static tsr_status whole_side(lower *l, ir_builder *b, const cpu_contraction *c, const ir_op *op, contract_role side,
                             bool *transposed, ir_value **out) {
  ir_op *w = side == CONTRACT_A ? c->window_a : c->window_b;
  const int k_dim = side == CONTRACT_A ? c->k_dim_a : c->k_dim_b;
  *transposed = false;
  return w->def->code == T_UNFOLD ? collect(l, b, c, w, k_dim, op, transposed, out)
                                  : whole_window(l, b, c, w, k_dim, out);
}

/* b is places of an image's lines, each with all elements of its window: *u, its map. a: what its side became. */
static bool convolves(const cpu_contraction *c, const ir_value *sum, const ir_value *a, tile_unfold *u) {
  int64_t strides[2][TSR_MAX_RANK];
  const ir_op *b = c->window_b;
  if (b->def->code != T_UNFOLD || c->window_a->def->code == T_UNFOLD || c->k_dim_b != UNFOLD_COLUMN ||
      c->transpose_a || ir_policy(c->attrs) == TSR_POLICY_KAHAN_SUM)
    return false;
  tsr_status st = tile_unfold_get(b, u);
  if (st) return tsr_status_free(st), false;
  u->size[1] = c->to - c->from;
  u->winograd = tile_winograd_tile(u, u->size[0]);
  ir_type_strides(sum->type, strides[0]);
  ir_type_strides(a->type, strides[1]);
  return sum->type->dtype == TSR_F32 && a->type->dtype == TSR_F32 && strides[0][1] == 1 && strides[1][1] == 1 &&
         emit_cpu_convolve_reach(u, b->operands[0]->type) >= 0;
}

static tsr_status convolve(lower *l, ir_builder *b, const ir_op *unfold, const tile_unfold *u, ir_value *sum,
                           ir_value *a) {
  ir_value *const *at = unfold->operands;
  ir_op *call = cpu_call(l, b, "convolve", 5, (ir_value *[]){sum, a, cpu_at(at[0]), cpu_at(at[1]), cpu_at(at[2])});
  return call && tile_unfold_set(call, u) ? NULL : st_oom();
}

/* sum = the product. */
static tsr_status product(lower *l, ir_builder *b, const cpu_contraction *c, const ir_op *op, ir_value *sum) {
  static const char *const policy[] = {"policy", NULL};
  ir_value *x, *y;
  bool transposed[2];
  tile_unfold u;
  TSR_TRY(whole_side(l, b, c, op, CONTRACT_A, &transposed[0], &x));
  if (convolves(c, sum, x, &u)) return convolve(l, b, c->window_b, &u, sum, x);
  TSR_TRY(whole_side(l, b, c, op, CONTRACT_B, &transposed[1], &y));
  ir_op *m = cpu_call(l, b, "matmul", 3, (ir_value *[]){sum, x, y});
  if (!m || !ir_set_attr(m, "transpose_a", ir_attr_bool(l->m, c->transpose_a != transposed[0])) ||
      !ir_set_attr(m, "transpose_b", ir_attr_bool(l->m, c->transpose_b != transposed[1])) ||
      !cpu_copy_attrs(m, c->attrs, policy) || !ir_set_attr(m, "k", ir_attr_int(l->m, c->step)))
    return st_oom();
  return NULL;
}

/* The product reads memory that v shows a part of: it must not be overwritten block by block. */
static bool reads(const cpu_contraction *c, const ir_value *v) {
  const ir_value *m = cpu_memory_of(v);
  return m == cpu_memory_of(c->window_a->operands[0]) || m == cpu_memory_of(c->window_b->operands[0]);
}

/* r: the sum as later ops read it. It goes to the memory that they write, if they allow that, else to a tile. */
tsr_status cpu_lower_contraction(lower *l, ir_builder *b, const cpu_contraction *c, ir_value *r) {
  ir_op *store = NULL;
  ir_value *memory = cpu_store_target(r, &store);
  if (!memory) memory = cpu_epilogue_target(r);
  if (memory && cpu_at(memory) && memory->type->dtype == cpu_compute_type(r->type->dtype) && !reads(c, memory)) {
    r->data = cpu_at(memory);
    if (store) store->data = store; /* done */
  } else {
    TSR_TRY(cpu_tile_for(l, b, r));
  }
  return product(l, b, c, r->def, cpu_at(r));
}

/* ---- tessera.tile.contract ------------------------------------------------------------------------------------- */

/* One of the operands that the op reads lies in the memory of v. */
static bool is_read(const tile_contract *c, const ir_value *v, contract_role first) {
  for (int role = first; role <= CONTRACT_OTHER; role++)
    for (int i = 0; i < c->n[role]; i++)
      if (c->v[role][i]->type->kind == IR_T_VIEW && cpu_memory_of(c->v[role][i]) == cpu_memory_of(v)) return true;
  return false;
}

/* The sum can be made in the only output: the epilogue, element by element, then works in place. */
static bool fits_output(const tile_contract *c, const ir_op *op) {
  const ir_value *out = c->v[CONTRACT_OUT][0];
  const ir_op *y = c->epilogue->last;
  return !op->n_results && c->n[CONTRACT_OUT] == 1 && out->type->dtype == cpu_compute_type(c->sum) &&
         y->operands[0]->type->dtype == c->sum && !is_read(c, out, CONTRACT_A);
}

/* What the epilogue computes, `to` by yielded value (NULL: it hands on the sum), in one map. */
static tsr_status epilogue(lower *l, ir_builder *b, const tile_contract *c, const ir_op *op, ir_value *sum,
                           ir_value *const *to) {
  const ir_block *region = c->epilogue;
  ir_value *operands[TILE_CONTRACT_MOST + 2] = {sum};
  bool any = false;
  for (int i = 0; i < region->last->n_operands; i++) any |= to[i] != NULL;
  if (!any) return NULL;
  for (int i = 0; i < c->n[CONTRACT_OTHER]; i++) {
    const ir_value *v = c->v[CONTRACT_OTHER][i], *arg = region->args[1 + i];
    bool written = false;
    for (int k = 0; k < c->n[CONTRACT_OUT]; k++) written |= cpu_memory_of(c->v[CONTRACT_OUT][k]) == cpu_memory_of(v);
    operands[1 + i] = NULL;
    if (arg->n_uses) TSR_TRY(cpu_read_operand(l, b, op, v, arg->type, written, &operands[1 + i]));
  }
  return cpu_lower_region(l, b, region, operands, to);
}

bool cpu_takes_contract(const ir_op *op, bool *epilogue) {
  tile_contract c;
  cpu_contraction p;
  tsr_status st = tile_contract_get(op, &c);
  const bool takes = !st && cpu_take_sum(&c, &p);
  *epilogue = takes && cpu_take_epilogue(&c);
  tsr_status_free(st);
  return takes;
}

tsr_status cpu_lower_contract(lower *l, ir_builder *b, ir_op *op) {
  tile_contract c;
  cpu_contraction p;
  ir_value *sum, *to[TILE_CONTRACT_MOST] = {NULL};
  TSR_TRY(tile_contract_get(op, &c));
  if (!cpu_take_sum(&c, &p) || !cpu_take_epilogue(&c))
    return ir_error_at(op, op->loc, TSR_UNSUPPORTED, "tile_expand_contract", "has to be written out for the CPU");
  drop_window(p.window_a);
  drop_window(p.window_b);
  const int n_out = c.n[CONTRACT_OUT], n = n_out + op->n_results;
  if (n > TILE_CONTRACT_MOST) return ir_error(op, NULL, "has too many results");
  if (n == 1 && op->n_results && tile_contract_gives_argument(c.epilogue, 0, 0))
    return cpu_lower_contraction(l, b, &p, op->results[0]);
  const ir_type t = {.kind = IR_T_FRAG, .dtype = c.sum, .rank = 2, .dims = {c.m, c.n_}};
  const bool in_place = fits_output(&c, op);
  if (in_place) sum = cpu_at(c.v[CONTRACT_OUT][0]);
  else TSR_TRY(cpu_new_tile(l, b, op, &t, op->scratch, scratch_end(op), &sum));
  TSR_TRY(product(l, b, &p, op, sum));
  for (int i = 0; i < n; i++) {
    if (i >= n_out) TSR_TRY(cpu_tile_for(l, b, op->results[i - n_out]));
    if (!tile_contract_gives_argument(c.epilogue, i, 0))
      to[i] = cpu_at(i < n_out ? c.v[CONTRACT_OUT][i] : op->results[i - n_out]);
  }
  TSR_TRY(epilogue(l, b, &c, op, sum, to));
  for (int i = 0; i < n; i++) { /* last: the epilogue may read the memory */
    ir_value *v = to[i] ? sum : cpu_at(i < n_out ? c.v[CONTRACT_OUT][i] : op->results[i - n_out]);
    if (v != sum && !cpu_call2(l, b, i < n_out ? "copy" : "move", v, sum)) return st_oom();
  }
  return NULL;
}
