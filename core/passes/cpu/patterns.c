/* core/passes/cpu/patterns.c - see cpu/patterns.h. Every test is conservative: "no" only costs a copy. */
#include "core/passes/cpu/patterns.h"

#include "core/base/dtype.h"
#include "core/emit/cpu/check.h"
#include "core/emit/cpu/code.h"
#include "core/ir/tile/tile.h"
#include "core/ir/tile/unfold.h"
#include "core/passes/cpu/lower.h"
#include "core/passes/cpu/row_takes.h"

static bool inside(const ir_op *op, const ir_op *loop) {
  for (; op; op = op->parent ? op->parent->parent : NULL)
    if (op == loop) return true;
  return false;
}

/* The steps' windows meet, and end where the whole one does. */
static bool reaches_end(const ir_op *w, int k_dim, const cpu_contraction *c) {
  int64_t sizes[TSR_MAX_RANK] = {0};
  if (w->def->code == T_UNFOLD) return true; /* it is all of k */
  ir_get_ints(w, "sizes", sizes, TSR_MAX_RANK);
  if (sizes[k_dim] != c->step) return false;
  return w->operands[0]->type->dims[k_dim] == c->to || (c->to - c->from) % c->step == 0;
}

static bool both_reach_end(const cpu_contraction *c) {
  return reaches_end(c->window_a, c->k_dim_a, c) && reaches_end(c->window_b, c->k_dim_b, c);
}

static bool known_range(const cpu_contraction *c) {
  int64_t depth;
  return c->step >= 1 && c->to > c->from && !__builtin_sub_overflow(c->to, c->from, &depth);
}

/* Are the elements read where the image has them (contraction.c), so that no tile is collected? */
static bool is_read_in_place(const tile_contract *c, contract_role side, tile_unfold *u, int64_t k) {
  u->size[1] = k;
  return side == CONTRACT_B && tile_contract_k_offset(c, side, 0) == UNFOLD_COLUMN && c->sum == TSR_F32 &&
         c->staged[CONTRACT_A] == TSR_F32 && !tile_is_unfold(c->v[CONTRACT_A][0]) &&
         !tile_contract_swapped(c, CONTRACT_A, 0) && ir_policy(c->attrs) != TSR_POLICY_KAHAN_SUM &&
         emit_cpu_convolve_reach(u, c->v[side][0]->def->operands[0]->type) >= 0;
}

/* A tile of all of k is collected before the product, if it isn't too large to stay in a cache. */
static bool take_unfold(const tile_contract *c, contract_role side, const cpu_contraction *range, ir_op **window,
                        int *k_dim) {
  enum { MOST_BYTES = 4 << 20 };
  tile_unfold u;
  tsr_status st = tile_unfold_get(c->v[side][0]->def, &u);
  const bool bad = st != NULL;
  tsr_status_free(st);
  *window = c->v[side][0]->def;
  *k_dim = tile_contract_k_offset(c, side, 0);
  const int64_t across = side == CONTRACT_A ? c->m : c->n_, k = range->to - range->from;
  return !bad && !c->counter && range->from == 0 && k == tile_unfold_extent(&u, *k_dim) &&
         (across * k * (int64_t)tsr_dtype_size(c->staged[side]) <= MOST_BYTES || is_read_in_place(c, side, &u, k));
}

/* One window whose elements are multiplied as they are, all of them. */
static bool take_side(const tile_contract *c, contract_role side, const cpu_contraction *range, ir_op **window,
                      int *k_dim) {
  if (tile_is_unfold(c->v[side][0])) return take_unfold(c, side, range, window, k_dim);
  if (!tile_contract_is_plain(c, side)) return false;
  *window = c->v[side][0]->def;
  *k_dim = tile_contract_k_offset(c, side, 0);
  return c->counter || !tile_contract_repeats(c, side, 0) || range->to - range->from <= range->step;
}

/* The window's own offset along k is where the range counts from. */
static bool starts_at_zero(const ir_op *w, int k_dim) {
  int64_t at;
  return tile_const_index(w->operands[1 + k_dim], &at) && at == 0;
}

static bool both_start_at_zero(const cpu_contraction *c) {
  return starts_at_zero(c->window_a, c->k_dim_a) && starts_at_zero(c->window_b, c->k_dim_b);
}

bool cpu_take_epilogue(const tile_contract *c) {
  for (int role = CONTRACT_OTHER; role < CONTRACT_N_ROLES; role++)
    for (int i = 0; i < c->n[role]; i++)
      if (tile_contract_swapped(c, (contract_role)role, i)) return false;
  return c->epilogue->n_args + c->epilogue->last->n_operands <= EMIT_CPU_MOST_OPERANDS;
}

bool cpu_take_sum(const tile_contract *c, cpu_contraction *out) {
  *out = (cpu_contraction){.from_value = c->from,
                           .step = c->k,
                           .attrs = c->attrs,
                           .transpose_a = tile_contract_swapped(c, CONTRACT_A, 0),
                           .transpose_b = tile_contract_swapped(c, CONTRACT_B, 0)};
  return tile_const_index(c->from, &out->from) && tile_const_index(c->to, &out->to) && known_range(out) &&
         take_side(c, CONTRACT_A, out, &out->window_a, &out->k_dim_a) &&
         take_side(c, CONTRACT_B, out, &out->window_b, &out->k_dim_b) && (c->counter || both_start_at_zero(out)) &&
         both_reach_end(out);
}

bool cpu_find_contraction(ir_op *loop, cpu_contraction *out) {
  tile_contract c;
  return tile_contract_of_loop(loop, &c) && cpu_take_sum(&c, out);
}

static bool writes_memory(const ir_op *op) {
  if (op->def->code == T_STORE || op->def->code == T_COPY || op->def->code == T_SCATTER || op->def->code == T_DFT ||
      op->def->code == T_GATHER || op->def->code == T_CONTRACT)
    return true;
  for (int r = 0; r < op->n_regions; r++)
    for (const ir_op *o = op->regions[r]->first; o; o = o->next)
      if (writes_memory(o)) return true;
  return false;
}

/* The kernel reads rows and weights of f32; a map before or behind a sum reads anything. */
static bool row_can_read(const ir_op *row, const ir_op *load) {
  tile_row r;
  tsr_status st = tile_row_get(row, &r);
  const bool in_map = !st && !r.recipe->per_element && cpu_row_reads(&r) != load->results[0];
  tsr_status_free(st);
  return in_map || (load->operands[0]->type->dtype == TSR_F32 && rows_inside(load->operands[0]));
}

static bool can_read_memory(const ir_op *user, const ir_op *load) {
  tsr_dtype t = load->operands[0]->type->dtype;
  switch (user->def->code) {
  case T_MAP: case T_STORE: return true;
  case T_REDUCE: return t == cpu_compute_type(t);
  case T_ROW: return row_can_read(user, load);
  case T_GEMM: return user->operands[0] != load->results[0];
  default: return false;
  }
}

bool cpu_load_is_view(const ir_op *load) {
  const ir_value *v = load->results[0];
  tsr_dtype t = load->operands[0]->type->dtype;
  if (v->type->dtype != t || (v->n_uses > 1 && t != cpu_compute_type(t))) return false;
  int seen = 0;
  for (const ir_op *o = load->next; o && seen < v->n_uses; o = o->next) {
    for (int i = 0; i < o->n_operands; i++)
      if (o->operands[i] == v) {
        if (!can_read_memory(o, load)) return false;
        seen++;
      }
    if (seen < v->n_uses && writes_memory(o)) return false;
  }
  return seen == v->n_uses; /* uses inside nested regions don't count: they read later */
}

ir_value *cpu_store_target(const ir_value *v, ir_op **store) {
  if (v->n_uses != 1 || !v->def) return NULL;
  for (ir_op *o = v->def->next; o; o = o->next) {
    if (o->def->code == T_STORE && o->operands[0] == v) {
      ir_value *m = o->operands[1];
      if (m->def && (m->def->parent != v->def->parent ? inside(m->def, v->def) : m->def->scratch > v->def->scratch))
        return NULL;
      *store = o;
      return m;
    }
    /* Other results of the same producer are stored at once too; anything else in between must not touch memory. */
    bool sibling = o->def->code == T_STORE && o->operands[0]->def == v->def;
    bool quiet = ir_is_scalar(o) || o->def->code == T_CONST || o->def->code == T_WINDOW || o->def->code == T_VIEW ||
                 o->def->code == T_BLOCK_ID;
    if (!sibling && !quiet) return NULL;
  }
  return NULL;
}

const ir_value *cpu_memory_of(const ir_value *v) {
  while (v->def && (v->def->def->code == T_WINDOW || v->def->def->code == T_VIEW || v->def->def->code == T_UNFOLD))
    v = v->def->operands[0];
  return v;
}

ir_value *cpu_epilogue_target(const ir_value *r) {
  const ir_op *map = r->def->next;
  while (map && (map->def->code == T_LOAD || map->def->code == T_CONST || map->def->code == T_WINDOW ||
                 map->def->code == T_VIEW))
    map = map->next;
  if (!map || map->def->code != T_MAP || map->n_results != 1 || map->results[0]->type != r->type) return NULL;
  ir_op *store;
  ir_value *memory = cpu_store_target(map->results[0], &store);
  if (!memory) return NULL;
  int uses = 0;
  for (int i = 0; i < map->n_operands; i++) {
    const ir_value *x = map->operands[i];
    if (x == r) uses++;
    else if (x->def && x->def->def->code == T_LOAD && cpu_memory_of(x->def->operands[0]) == cpu_memory_of(memory))
      return NULL; /* read after the product is written */
  }
  return uses == r->n_uses ? memory : NULL;
}

bool cpu_fill_is_implied(const ir_op *op) {
  if (op->results[0]->n_uses != 1 || ir_get_float(op, "value", 1) != 0) return false;
  for (ir_op *o = op->next; o; o = o->next) {
    cpu_contraction c;
    if (o->def->code == T_FOR && o->n_operands == 4 && o->operands[3] == op->results[0])
      return cpu_find_contraction(o, &c);
    if (o->def->code == T_GEMM && o->operands[0] == op->results[0]) return true;
  }
  return false;
}
