/* core/ir/tile/contract.c - see tile/contract.h: what a contraction's parts are, and which are well formed. */
#include "core/ir/tile/contract.h"

#include <limits.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/tile/structured.h"
#include "core/ir/tile/tile.h"
#include "core/ir/tile/unfold.h"

/* How an operand of each role lies by its map's two letters. */
static const char letters[CONTRACT_N_ROLES][2] = {{'m', 'k'}, {'k', 'n'}, {'m', 'n'}, {'m', 'n'}};
static const char *const role_names[CONTRACT_N_ROLES] = {"a", "b", "other", "output"};

static int64_t extent(const tile_contract *c, char letter) {
  return letter == 'm' ? c->m : letter == 'n' ? c->n_ : c->k;
}

static int first_of(const tile_contract *c, contract_role role) {
  int at = 0;
  for (int r = 0; r < (int)role; r++) at += c->n[r];
  return at;
}

bool tile_contract_swapped(const tile_contract *c, contract_role role, int i) {
  return c->swapped[first_of(c, role) + i];
}

bool tile_contract_gives_argument(const ir_block *region, int yield, int argument) {
  return region->last && region->last->def->code == T_YIELD && region->last->n_operands > yield &&
         region->last->operands[yield] == region->args[argument];
}

bool tile_contract_is_plain(const tile_contract *c, contract_role side) {
  const ir_type *t = c->v[side][0]->type;
  const ir_block *p = c->prologue[side];
  const tsr_dtype staged = c->staged[side];
  if (tile_is_unfold(c->v[side][0])) return false;
  if (p && (!tile_contract_gives_argument(p, 0, 0) || p->args[0]->type->dtype != staged)) return false;
  return c->n[side] == 1 && t->dtype == staged && ir_type_count(t) == c->k * (side == CONTRACT_A ? c->m : c->n_);
}

bool tile_contract_gives_sum(const tile_contract *c) {
  if (!c->epilogue) return true;
  return !c->n[CONTRACT_OUT] && c->op->n_results == 1 && tile_contract_gives_argument(c->epilogue, 0, 0);
}

bool tile_const_index(const ir_value *v, int64_t *out) {
  if (!v->def || v->def->def->code != T_CONST || v->type->kind != IR_T_INDEX) return false;
  *out = ir_get_int(v->def, "value", 0);
  return *out >= 0 && *out <= INT32_MAX; /* no view is as long */
}

/* The next map of the list: two letters of the role's, in either order, then a comma, the arrow or the end. */
static tsr_status read_map(const ir_op *op, const char **at, contract_role role, int i, bool *swapped) {
  if (!tile_read_map(at, letters[role][0], letters[role][1], swapped))
    return ir_error(op, "one map an operand: mk or km of a, kn or nk of b, mn or nm of others; -> before the outputs'",
                    "maps doesn't say how %s operand %d lies", role_names[role], i);
  return NULL;
}

static tsr_status read_maps(const ir_op *op, tile_contract *c) {
  const char *at = ir_get_str(op, "maps", "");
  for (int role = 0, n = 0; role < CONTRACT_N_ROLES; role++) {
    if (role == CONTRACT_OUT && strncmp(at, "->", 2)) return ir_error(op, NULL, "maps has no -> before the outputs");
    if (role == CONTRACT_OUT) at += 2;
    for (int i = 0; i < c->n[role]; i++, n++) {
      if (n && !(role == CONTRACT_OUT && !i) && *at++ != ',')
        return ir_error(op, NULL, "maps has fewer operands than the op");
      TSR_TRY(read_map(op, &at, role, i, &c->swapped[n]));
    }
  }
  return *at ? ir_error(op, NULL, "maps goes on after the last output: \"%s\"", at) : NULL;
}

static tsr_status count_operands(const ir_op *op, tile_contract *c) {
  if (op->n_regions != 3 || op->n_operands < 4) return ir_error(op, NULL, "needs from, to, a and b, and three regions");
  for (int r = 0; r < 3; r++) {
    if (r < 2) TSR_TRY(tile_check_region(op, r, 1, 1, "one scalar"));
    else TSR_TRY(tile_check_region(op, r, op->n_results, INT_MAX, "a scalar for each output and result"));
    if (r < 2) c->prologue[r] = op->regions[r];
    else c->epilogue = op->regions[r];
  }
  c->n[CONTRACT_A] = c->prologue[0]->n_args;
  c->n[CONTRACT_B] = c->prologue[1]->n_args;
  c->n[CONTRACT_OTHER] = c->epilogue->n_args - 1;
  c->n[CONTRACT_OUT] = c->epilogue->last->n_operands - op->n_results;
  int all = 0;
  for (int r = 0; r < CONTRACT_N_ROLES; r++) {
    c->v[r] = op->operands + 2 + all;
    all += c->n[r];
  }
  if (all != op->n_operands - 2)
    return ir_error(op, NULL, "the regions have arguments for %d operands behind from and to, not %d", all,
                    op->n_operands - 2);
  if (all > TILE_CONTRACT_MOST) return ir_error(op, NULL, "%d operands; at most %d", all, TILE_CONTRACT_MOST);
  if (!c->n[CONTRACT_OUT] && !op->n_results) return ir_error(op, NULL, "needs an output or a result");
  return NULL;
}

/* What a tile is staged as: as its attribute says, else what the prologue yields. */
static tsr_status staged_type(const ir_op *op, tile_contract *c, int side) {
  const char *name = ir_get_str(op, side ? "b_type" : "a_type", "");
  const ir_type *y = c->prologue[side]->last->operands[0]->type;
  c->staged[side] = *name ? dtype_parse_real(name) : y ? y->dtype : c->prologue[side]->args[0]->type->dtype;
  return c->staged[side] ? NULL : ir_error(op, NULL, "unknown dtype \"%s\"", name);
}

tsr_status tile_contract_get(const ir_op *op, tile_contract *c) {
  int64_t tile[3];
  memset(c, 0, sizeof *c);
  TSR_TRY(count_operands(op, c));
  TSR_TRY(tile_read_extents(op, 3, tile));
  c->m = tile[0], c->n_ = tile[1], c->k = tile[2];
  c->op = c->attrs = op;
  c->result = op->n_results ? op->results[0] : NULL;
  c->from = op->operands[0], c->to = op->operands[1];
  c->sum = c->epilogue->args[0]->type->dtype;
  c->by_rows = ir_get_bool(op, "by_rows", false);
  for (int side = 0; side < 2; side++) TSR_TRY(staged_type(op, c, side));
  return read_maps(op, c);
}

static bool is_window(const ir_value *v) {
  return v->def && v->def->def->level == IR_TILE && v->def->def->code == T_WINDOW && v->type->kind == IR_T_VIEW;
}

/* Nothing else is computed of an unfolded side: it is gathered as it is. */
static tsr_status check_unfolded(const ir_op *op, const tile_contract *c, contract_role side) {
  bool any = false;
  for (int i = 0; i < c->n[side]; i++) any |= tile_is_unfold(c->v[side][i]);
  const ir_block *p = c->prologue[side];
  const tsr_dtype t = c->v[side][0]->type->dtype;
  if (!any || (c->n[side] == 1 && tile_contract_gives_argument(p, 0, 0) && p->args[0]->type->dtype == t &&
               c->staged[side] == t))
    return NULL;
  return ir_error(op, NULL, "an unfolded %s must be the side's only operand, used as it is", role_names[side]);
}

/* A tile's extents are the contraction's, or 1 where it repeats; an output has all of its elements. */
static tsr_status check_operand(const ir_op *op, const tile_contract *c, contract_role role, int i) {
  const ir_value *v = c->v[role][i];
  const ir_type *t = v->type;
  const bool frag = role == CONTRACT_OTHER && t->kind == IR_T_FRAG, swapped = tile_contract_swapped(c, role, i);
  if (t->rank != 2 || (t->kind != IR_T_VIEW && !frag))
    return ir_error(op, NULL, "%s operand %d must be a view of rank 2%s", role_names[role], i,
                    role == CONTRACT_OTHER ? " or such a fragment" : "");
  for (int d = 0; d < 2; d++) {
    const char letter = letters[role][d != swapped];
    if (t->dims[d] != extent(c, letter) && (t->dims[d] != 1 || role == CONTRACT_OUT))
      return ir_error(op, NULL, "%s operand %d has extent %lld along %c, the tile %lld", role_names[role], i,
                      (long long)t->dims[d], letter, (long long)extent(c, letter));
  }
  if (frag && t->dtype != c->epilogue->args[1 + i]->type->dtype)
    return ir_error(op, "cast it in the region", "other operand %d is a fragment of another type than its argument", i);
  if ((role == CONTRACT_A || role == CONTRACT_B) && !is_window(v) && !tile_is_unfold(v))
    return ir_error(op, "take its window", "%s operand %d must be a window, which moves along k", role_names[role], i);
  return NULL;
}

tsr_status tile_infer_contract(ir_op *op, const ir_type **results) {
  tile_contract c;
  TSR_TRY(tile_contract_get(op, &c));
  for (int i = 0; i < 2; i++)
    if (op->operands[i]->type->kind != IR_T_INDEX) return ir_error(op, NULL, "from and to must be index");
  const int64_t dims[2] = {c.m, c.n_};
  if (c.m > INT32_MAX / c.n_ || c.m > INT32_MAX / c.k || c.n_ > INT32_MAX / c.k)
    return ir_error(op, "use smaller tiles", "the tile is too large");
  for (int i = 0; i < op->n_results; i++) {
    const ir_type *y = c.epilogue->last->operands[c.n[CONTRACT_OUT] + i]->type;
    if (y && !(results[i] = ir_type_frag(op->module, y->dtype, 2, dims))) return st_oom();
  }
  return NULL;
}

static const ir_value *memory_of(const ir_value *v) {
  while (v->def && v->type->kind == IR_T_VIEW) v = v->def->operands[0];
  return v;
}

/* The epilogue's operands are taken row by row, after rows were written. */
static tsr_status check_rows(const ir_op *op, const tile_contract *c) {
  for (int side = CONTRACT_A; side <= CONTRACT_B; side++)
    for (int i = 0; i < c->n[side]; i++)
      if (!is_window(c->v[side][i])) return ir_error(op, NULL, "by_rows takes windows alone");
  if (c->m > TILE_CONTRACT_ROWS) return ir_error(op, NULL, "by_rows is for at most %d rows", TILE_CONTRACT_ROWS);
  if (op->n_results) return ir_error(op, "store to outputs", "by_rows gives no results");
  for (int role = CONTRACT_OTHER; role < CONTRACT_N_ROLES; role++)
    for (int i = 0; i < c->n[role]; i++) {
      if (!is_window(c->v[role][i]))
        return ir_error(op, NULL, "by_rows takes windows alone: %s operand %d is none", role_names[role], i);
      for (int j = 0; role == CONTRACT_OTHER && j < c->n[CONTRACT_OUT]; j++)
        if (memory_of(c->v[role][i]) == memory_of(c->v[CONTRACT_OUT][j]))
          return ir_error(op, NULL, "by_rows writes memory that other operand %d reads", i);
    }
  return NULL;
}

tsr_status tile_verify_contract(const ir_op *op) {
  tile_contract c;
  TSR_TRY(tile_contract_get(op, &c));
  for (int role = 0; role < CONTRACT_N_ROLES; role++)
    for (int i = 0; i < c.n[role]; i++) TSR_TRY(check_operand(op, &c, role, i));
  for (int side = CONTRACT_A; side <= CONTRACT_B; side++) TSR_TRY(check_unfolded(op, &c, (contract_role)side));
  int64_t stages = ir_get_int(op, "stages", 0), padding = ir_get_int(op, "padding", 0);
  if (stages < 0 || stages > 64) return ir_error(op, NULL, "stages = %lld", (long long)stages);
  if (padding < 0 || padding > 1 << 24) return ir_error(op, NULL, "padding = %lld", (long long)padding);
  if (c.by_rows) TSR_TRY(check_rows(op, &c));
  return ir_check_policy(op);
}

/* The window's dimension that is the first (0) or second of the two kept. */
static int kept_offset(const ir_op *w, int along) {
  if (w->def->code == T_UNFOLD) return UNFOLD_ROW + along; /* its operands are offsets, too */
  int64_t sizes[TSR_MAX_RANK];
  const int rank = ir_get_ints(w, "sizes", sizes, TSR_MAX_RANK);
  for (int d = 0, kept = 0; d < rank; d++)
    if (sizes[d] && kept++ == along) return d;
  return 0; /* not reached: a window of rank 2 has two */
}

int tile_contract_k_offset(const tile_contract *c, contract_role side, int i) {
  return kept_offset(c->v[side][i]->def, (side == CONTRACT_A) != tile_contract_swapped(c, side, i));
}

int tile_contract_row_offset(const tile_contract *c, contract_role role, int i) {
  return kept_offset(c->v[role][i]->def, tile_contract_swapped(c, role, i));
}

bool tile_contract_repeats(const tile_contract *c, contract_role side, int i) {
  const ir_value *v = c->v[side][i];
  return !tile_is_unfold(v) && v->def->operands[0]->type->dims[tile_contract_k_offset(c, side, i)] == 1;
}
