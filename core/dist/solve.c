/* core/dist/solve.c - see solve.h. */
#include "core/dist/solve.h"

#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/dist/taken.h"

#define BAD(op, hint, ...) st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("shard", op, hint), __VA_ARGS__)

/* ---- the problem ------------------------------------------------------------------------------------------------- */

static void number_values(dist_problem *p) {
  const ir_block *body = p->func->regions[0];
  for (int i = 0; i < body->n_args; i++) body->args[i]->scratch = p->n_values++;
  p->n_args = p->n_values;
  for (ir_op *o = body->first; o; o = o->next) {
    o->scratch = p->n_nodes++;
    for (int i = 0; i < o->n_results; i++) o->results[i]->scratch = p->n_values++;
  }
}

/* What one device adds up as it computes it is rounded once, not twice: what is computed in a sum's kernel must be
 * gathered before, where sums keep their order. */
static void find_summed(dist_problem *p) {
  for (int i = p->n_nodes - 1; i >= 0; i--) {
    const dist_node *n = &p->nodes[i];
    const bool sums = graph_is_kind(n->op, GRAPH_REDUCTION), within = graph_is_kind(n->op, GRAPH_POINTWISE);
    const uint32_t summed = within && n->op->n_results == 1 ? dist_value_of(p, n->op->results[0])->summed : 0;
    for (int k = 0; k < n->n_classes && (sums || within); k++) {
      const dist_class *c = &n->classes[k];
      if (sums ? c->result >= 0 || !c->rounds : !(summed >> c->result & 1)) continue;
      for (int x = 0; x < n->op->n_operands; x++) {
        dist_value *v = dist_value_of(p, n->op->operands[x]);
        if (c->dim[x] >= 0 && v->v->n_uses == 1) v->summed |= 1u << c->dim[x];
      }
    }
  }
}

static tsr_status describe(dist_problem *p, ir_op *op, bool taken, dist_node *n) {
  graph_space space;
  n->op = op;
  if (graph_is_kind(op, GRAPH_COLLECTIVE))
    return ir_error_at(op, op->loc, TSR_INVALID_ARGUMENT,
                       "leave it out, or write a whole program of a rank, without shards",
                       "collectives of a graph with shards are put in, not written");
  if (!(n->want = arena_array(&p->arena, dist_spec, op->n_operands + 1))) return st_oom();
  if (!dist_classes(&p->arena, op, &n->classes, &n->n_classes)) return st_oom();
  if (op->n_results && op->n_operands && graph_space_of(op, &space)) {
    const bool free = taken || graph_is_alias(op) || graph_is_kind(op, GRAPH_COLLECTIVE);
    n->flops = space.flops, n->bytes = free ? 0 : space.bytes;
  }
  return NULL;
}

tsr_status dist_problem_init(dist_problem *p, ir_op *func, const dist_mesh *mesh, const dist_machine *machine,
                             const dist_rules *rules) {
  *p = (dist_problem){.func = func, .mesh = *mesh, .rules = *rules};
  arena_init(&p->arena, &func->module->arena.al);
  tsr_status st = dist_links_init(&p->links, machine, &p->mesh);
  number_values(p);
  p->values = arena_array(&p->arena, dist_value, p->n_values + 1);
  p->nodes = arena_array(&p->arena, dist_node, p->n_nodes + 1);
  const bool *taken = dist_taken(&p->arena, func);
  if (!st && (!p->values || !p->nodes || !taken)) st = st_oom();
  const ir_block *body = func->regions[0];
  for (int i = 0; i < body->n_args && !st; i++) p->values[i] = (dist_value){.v = body->args[i]};
  for (ir_op *o = body->first; o && !st; o = o->next) {
    for (int i = 0; i < o->n_results; i++) p->values[o->results[i]->scratch] = (dist_value){.v = o->results[i]};
    st = describe(p, o, taken[o->scratch], &p->nodes[o->scratch]);
  }
  for (int i = 0; i < p->n_values && !st; i++) p->values[i].wanted = p->values[i].v->shard;
  if (!st && p->rules.keep_order) find_summed(p);
  if (st) dist_problem_clear(p);
  return st;
}

void dist_problem_clear(dist_problem *p) {
  dist_links_clear(&p->links);
  arena_clear(&p->arena);
}

/* ---- what moves cost --------------------------------------------------------------------------------------------- */

double dist_moves_us(dist_problem *p, const dist_move *moves, int n, const dist_spec *from, const ir_value *v) {
  double us = 0;
  for (int i = 0; i < n; i++, from = &moves[i - 1].after) {
    const double bytes = dist_move_bytes(&p->mesh, &moves[i], from, v->type, dist_part_dtype(v, from));
    us += dist_coll_us(&p->links, dist_coll_op(moves[i].code), moves[i].axes, bytes, NULL);
  }
  return us;
}

static double moves_us(dist_problem *p, const dist_spec *from, const dist_spec *to, const ir_value *v) {
  dist_move moves[DIST_MAX_MOVES];
  const int n = dist_reshard(&p->mesh, from, to, v->type->dims, moves);
  return n < 0 ? INFINITY : dist_moves_us(p, moves, n, from, v);
}

static bool has_alt(const dist_value *v, const dist_spec *s) {
  if (dist_spec_same(&v->spec, s)) return true;
  for (int i = 0; i < v->n_alts; i++)
    if (dist_spec_same(&v->alts[i], s)) return true;
  return false;
}

static double want_us(dist_problem *p, const ir_value *x, const dist_spec *s) {
  const dist_value *v = dist_value_of(p, x);
  if (has_alt(v, s)) return 0;
  double best = moves_us(p, &v->spec, s, x);
  for (int i = 0; i < v->n_alts; i++) best = fmin(best, moves_us(p, &v->alts[i], s, x));
  return best;
}

/* What outputs lie as where the function doesn't say: nothing is left to add up. */
static dist_spec settled_spec(const dist_problem *p, const ir_value *v, const dist_spec *s) {
  dist_spec r = *s;
  for (int a = 0; a < p->mesh.n; a++) {
    if (!(s->partial >> a & 1)) continue;
    r.partial &= (uint8_t) ~(1u << a);
    for (int d = 0; d < v->type->rank; d++) { /* scattered where that is even, else added up everywhere */
      const uint32_t with = r.dim[d] | 1u << a;
      if (r.dim[d] >> a || v->type->dims[d] % dist_mesh_extent(&p->mesh, with)) continue;
      r.dim[d] = (uint8_t)with;
      break;
    }
  }
  return r;
}

/* ---- one op ------------------------------------------------------------------------------------------------------ */

static bool is_cut(const dist_spec *s, int dim, int axis) { return dim >= 0 && s->dim[dim] >> axis & 1; }

/* Is an operand cut along a dimension that op needs whole? */
static bool needs_whole(const dist_node *n, int operand, const dist_spec *s, int axis) {
  for (int d = 0; d < s->rank; d++) {
    if (!(s->dim[d] >> axis & 1)) continue;
    for (int c = 0; c < n->n_classes; c++)
      if (n->classes[c].dim[operand] == d) return false;
    return true;
  }
  return false;
}

/* May the class be cut by this axis: is an operand cut so already, or along a dimension that must be whole so that it
 * moves anyway, or are there partial sums to scatter? */
static bool may_pick(const dist_problem *p, const dist_node *n, const dist_class *c, int axis) {
  bool cut = false;
  if (c->result < 0 && c->rounds && p->rules.keep_order) return false;
  if (c->result >= 0 && n->op->n_results == 1 && dist_value_of(p, n->op->results[0])->summed >> c->result & 1 &&
      graph_is_kind(n->op, GRAPH_POINTWISE))
    return false;
  for (int i = 0; i < n->op->n_operands; i++) {
    const dist_spec *s = &dist_value_of(p, n->op->operands[i])->spec;
    cut |= is_cut(s, c->dim[i], axis) || (c->dim[i] >= 0 && s->partial >> axis & 1 && c->result >= 0);
    cut |= c->dim[i] >= 0 && c->result >= 0 && needs_whole(n, i, s, axis);
  }
  return cut;
}

/* What op wants of operand i with these picks; false where they can't be. */
static bool wants(const dist_problem *p, const dist_node *n, const int8_t *pick, int i, dist_spec *out) {
  const ir_type *t = n->op->operands[i]->type;
  const dist_spec *has = &dist_value_of(p, n->op->operands[i])->spec;
  *out = (dist_spec){.rank = t->rank};
  for (int a = 0; a < p->mesh.n; a++) {
    const dist_class *c = pick[a] >= 0 ? &n->classes[pick[a]] : NULL;
    if (c && c->dim[i] >= 0) out->dim[c->dim[i]] |= (uint8_t)(1u << a);
    if (pick[a] == DIST_LINEAR) out->partial |= has->partial & (uint8_t)(1u << a);
  }
  out->how = has->how;
  for (int a = 0; a < p->mesh.n; a++) {
    const dist_class *c = pick[a] >= 0 ? &n->classes[pick[a]] : NULL;
    const int d = c ? c->dim[i] : -1;
    if (d >= 0 && c->even && t->dims[d] % dist_mesh_extent(&p->mesh, out->dim[d])) return false;
  }
  for (int d = 0; d < t->rank; d++)
    if (t->dims[d] % dist_mesh_extent(&p->mesh, out->dim[d]) &&
        (p->rules.refuse_uneven || !(out->dim[d] & has->dim[d])))
      return false;
  return true;
}

/* How the result lies, partial over reduced classes. */
static bool result_of(const dist_problem *p, const dist_node *n, const int8_t *pick, int rank, dist_spec *out) {
  *out = (dist_spec){.rank = rank};
  bool first = true;
  for (int a = 0; a < p->mesh.n; a++) {
    const dist_class *c = pick[a] >= 0 ? &n->classes[pick[a]] : NULL;
    const uint8_t bit = (uint8_t)(1u << a);
    dist_how how = DIST_SUM;
    if (c && c->result >= 0) out->dim[c->result] |= bit;
    if (c && c->result < 0) how = c->how;
    else if (pick[a] != DIST_LINEAR) continue;
    for (int i = 0; i < n->op->n_operands && pick[a] == DIST_LINEAR; i++) {
      const dist_spec *s = &dist_value_of(p, n->op->operands[i])->spec;
      if (s->partial & bit) how = (dist_how)s->how;
    }
    if (!first && out->how != how) return false;
    first = false;
    out->partial |= bit;
    out->how = (uint8_t)how;
  }
  return true;
}

static double share(const dist_problem *p, const int8_t *pick) {
  double n = 1;
  for (int a = 0; a < p->mesh.n; a++) n *= pick[a] >= 0 ? (double)p->mesh.size[a] : 1;
  return 1 / n;
}

typedef struct choice {
  double total, us, moves;
  int8_t pick[DIST_MAX_AXES];
  dist_spec result;
} choice;

/* Time with these picks, what is left to add up included. */
static double price(dist_problem *p, const dist_node *n, choice *c) {
  const ir_op *op = n->op;
  dist_spec want;
  c->moves = 0;
  for (int i = 0; i < op->n_operands && isfinite(c->moves); i++) {
    if (!wants(p, n, c->pick, i, &want)) return INFINITY;
    bool again = false;
    for (int k = 0; k < i; k++) again |= op->operands[k] == op->operands[i];
    c->moves += again ? 0 : want_us(p, op->operands[i], &want);
  }
  if (!result_of(p, n, c->pick, op->results[0]->type->rank, &c->result)) return INFINITY;
  c->us = dist_compute_us(p->links.machine, op->results[0]->type->dtype, n->flops * share(p, c->pick),
                          n->bytes * share(p, c->pick));
  double later = 0;
  if (c->result.partial) {
    const dist_spec after = settled_spec(p, op->results[0], &c->result);
    later = moves_us(p, &c->result, &after, op->results[0]);
  }
  if (dist_value_of(p, op->results[0])->wanted) {
    dist_spec given;
    tsr_status st = dist_spec_parse(&p->mesh, op->results[0]->shard, op->results[0]->type->rank, "", &given);
    if (st) return tsr_status_free(st), INFINITY;
    later = moves_us(p, &c->result, &given, op->results[0]);
  }
  return c->moves + c->us + later;
}

/* Is op linear in what is partial over this axis? */
static bool may_be_linear(const dist_problem *p, const dist_node *n, int axis) {
  uint64_t partial = 0;
  dist_how how = DIST_SUM;
  for (int i = 0; i < n->op->n_operands && i < DIST_MAX_OPERANDS; i++) {
    const dist_spec *s = &dist_value_of(p, n->op->operands[i])->spec;
    if (s->partial >> axis & 1) partial |= 1ull << i, how = (dist_how)s->how;
  }
  return partial && n->op->n_results == 1 && dist_passes_partial(n->op, partial, how);
}

static void try_axis(dist_problem *p, const dist_node *n, int axis, choice *now, choice *best) {
  if (axis == p->mesh.n) {
    now->total = price(p, n, now);
    if (now->total < best->total) *best = *now;
    return;
  }
  for (int k = DIST_LINEAR; k < n->n_classes; k++) {
    if (k == DIST_LINEAR && !may_be_linear(p, n, axis)) continue;
    if (k >= 0 &&
        (p->mesh.size[axis] == 1 || p->rules.spared >> axis & 1 || n->whole || !may_pick(p, n, &n->classes[k], axis)))
      continue;
    now->pick[axis] = (int8_t)k;
    try_axis(p, n, axis + 1, now, best);
  }
}

/* ---- the function ------------------------------------------------------------------------------------------------ */

static tsr_status check_even(const dist_problem *p, const ir_value *v, const dist_spec *s) {
  const int d = dist_spec_uneven(&p->mesh, s, v->type->dims);
  if (d < 0 || !p->rules.refuse_uneven) return NULL;
  char by[DIST_AXES_TOLD];
  dist_mesh_axes_told(&p->mesh, s->dim[d], by);
  return BAD(v->name ? v->name : "value", "let it be padded, or cut another dimension",
             "dimension %d of %lld isn't cut evenly into %lld pieces by %s", d, (long long)v->type->dims[d],
             (long long)dist_mesh_extent(&p->mesh, s->dim[d]), by);
}

static tsr_status given(const dist_problem *p, const dist_value *v, dist_spec *out) {
  TSR_TRY(dist_spec_parse(&p->mesh, v->wanted, v->v->type->rank, v->v->name ? v->v->name : "value", out));
  if (ir_type_count(v->v->type) == IR_DYNAMIC)
    return BAD(v->v->name ? v->v->name : "value", "specialise the graph first", "its dimensions must be known");
  return check_even(p, v->v, out);
}

static void note_want(dist_problem *p, dist_node *n, int i, const dist_spec *s) {
  dist_value *v = dist_value_of(p, n->op->operands[i]);
  n->want[i] = *s;
  if (!has_alt(v, s)) {
    p->us += want_us(p, v->v, s);
    if (v->n_alts < DIST_ALTS) v->alts[v->n_alts++] = *s;
  }
}

static tsr_status decide(dist_problem *p, dist_node *n) {
  ir_op *op = n->op;
  choice now = {0}, best = {.total = INFINITY};
  if (graph_is(op, G_RETURN)) {
    for (int i = 0; i < op->n_operands; i++) {
      dist_value *v = dist_value_of(p, op->operands[i]);
      const dist_spec s = settled_spec(p, v->v, &v->spec);
      note_want(p, n, i, &s);
    }
    return NULL;
  }
  if (op->n_operands) try_axis(p, n, 0, &now, &best);
  else best.total = 0, best.result.rank = op->results[0]->type->rank, memset(best.pick, DIST_WHOLE, sizeof best.pick);
  if (!isfinite(best.total) && dist_value_of(p, op->results[0])->wanted)
    return BAD(op->def->name, "a result is partial over axes that cut what it sums up",
               "no way to compute it makes its result lie as its shard says");
  if (!isfinite(best.total))
    return BAD(op->def->name, "let it be padded, or cut another dimension", "its operands can't be brought together");
  memcpy(n->pick, best.pick, sizeof best.pick);
  n->us = best.us, n->moves_us = best.moves;
  for (int i = 0; i < op->n_operands; i++) {
    dist_spec s;
    wants(p, n, n->pick, i, &s);
    note_want(p, n, i, &s);
  }
  p->us += best.us;
  for (int r = 0; r < op->n_results; r++) {
    dist_value *v = dist_value_of(p, op->results[r]);
    dist_spec made;
    result_of(p, n, n->pick, op->results[r]->type->rank, &made);
    v->spec = made;
    if (!v->wanted) continue;
    TSR_TRY(given(p, v, &v->spec));
    const double us = moves_us(p, &made, &v->spec, v->v);
    if (!isfinite(us)) return BAD(op->def->name, NULL, "the result isn't partial over the axes that its shard says");
    p->us += us;
  }
  return NULL;
}

static double bytes_of(const dist_problem *p, const dist_value *v) {
  double bytes = (double)tsr_dtype_size(v->v->type->dtype);
  for (int d = 0; d < v->v->type->rank; d++)
    bytes *= (double)dist_spec_extent(&p->mesh, &v->spec, d, v->v->type->dims[d]);
  return bytes;
}

tsr_status dist_solve(dist_problem *p, const dist_spec *args) {
  p->us = p->memory = 0;
  for (int i = 0; i < p->n_values; i++) {
    p->values[i].n_alts = 0;
    p->values[i].spec = (dist_spec){.rank = p->values[i].v->type->rank};
  }
  for (int i = 0; i < p->n_args; i++) {
    if (args) p->values[i].spec = args[i];
    else if (p->values[i].wanted) TSR_TRY(given(p, &p->values[i], &p->values[i].spec));
    if (dist_spec_cuts(&p->values[i].spec) & p->rules.spared)
      return BAD(p->values[i].v->name ? p->values[i].v->name : "input", NULL, "an axis that cuts it is the pipeline's");
    if (p->values[i].spec.partial)
      return BAD(p->values[i].v->name ? p->values[i].v->name : "input", "an op's result may be",
                 "an input can't be partial");
    p->memory += bytes_of(p, &p->values[i]);
  }
  for (int i = 0; i < p->n_nodes; i++) TSR_TRY(decide(p, &p->nodes[i]));
  return NULL;
}
