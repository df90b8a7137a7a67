/* core/dist/partition.c - see partition.h. */
#include "core/dist/partition.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/dist/local.h"
#include "core/ir/graph/collective.h"

bool dist_has_shards(const ir_op *func) {
  const ir_block *body = func->regions[0];
  for (int i = 0; i < body->n_args; i++)
    if (body->args[i]->shard) return true;
  for (const ir_op *o = body->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++)
      if (o->results[i]->shard) return true;
  return false;
}

/* ---- values on a rank -------------------------------------------------------------------------------------------- */

enum { MOST_LOCAL = 2 + DIST_ALTS };

typedef struct local {
  ir_value *v[MOST_LOCAL];
  dist_spec spec[MOST_LOCAL];
  int n;
} local;

typedef struct emitter {
  dist_problem *p;
  const dist_notes *notes;
  ir_builder b;
  local *locals; /* by value */
  dist_program *out;
  const ir_op *reader; /* for whom operands are brought together */
} emitter;

static void keep(emitter *e, const ir_value *v, ir_value *x, const dist_spec *s) {
  local *l = &e->locals[v->scratch];
  const int at = l->n < MOST_LOCAL ? l->n++ : MOST_LOCAL - 1;
  l->v[at] = x, l->spec[at] = *s;
}

static void tell(emitter *e, const char *rule, bool fired, const char *fmt, ...) TSR_PRINTF(4, 5);
static void tell(emitter *e, const char *rule, bool fired, const char *fmt, ...) {
  char text[400];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (e->notes && e->notes->note) e->notes->note(e->notes->user, e->reader, rule, fired, text);
}

static const char *short_name(const ir_op *op) { return op ? strrchr(op->def->name, '.') + 1 : "an output"; }

static void tell_move(emitter *e, const dist_move *v, double bytes, const char *why) {
  char axes[DIST_MAX_AXES * DIST_NAME];
  const char *algorithm = NULL;
  const double us = dist_coll_us(&e->p->links, dist_coll_op(v->code), v->axes, bytes, &algorithm);
  dist_mesh_axes_text(&e->p->mesh, v->axes, axes, sizeof axes);
  if (v->code == G_SHARD_SLICE) return;
  tell(e, strrchr(graph_def(v->code)->name, '.') + 1, true, "[%s] %.0f bytes, %.4g us by %s, for %s%s", axes, bytes, us,
       algorithm ? algorithm : "nothing", short_name(e->reader), why);
  e->out->n_collectives++;
}

static ir_value *collective(emitter *e, ir_value *x, const dist_move *v) {
  char axes[DIST_MAX_AXES * DIST_NAME];
  dist_mesh_axes_text(&e->p->mesh, v->axes, axes, sizeof axes);
  const bool reduces = v->code == G_ALL_REDUCE || v->code == G_REDUCE_SCATTER;
  return graph_collective_build(&e->b, v->code, x,
                                &(graph_collective){.axes = axes,
                                                    .ranks = dist_mesh_extent(&e->p->mesh, v->axes),
                                                    .dim = v->dim,
                                                    .to = v->to,
                                                    .reduction = reduces ? dist_how_name(v->how) : NULL});
}

/* x in the type that its value has: parts of sums of narrow floats are f32, of which the sum is rounded once. */
static ir_value *narrowed(emitter *e, ir_value *x, tsr_dtype t) {
  return x && x->type->dtype != t ? graph_cast(&e->b, x, t) : x;
}

/* An all-reduce as its two halves, where the tensor can be cut: the same bytes, and each half can be overlapped. The
 * second moves the type t of the sum. */
static ir_value *halves(emitter *e, ir_value *x, const dist_move *v, double bytes, tsr_dtype t) {
  const double wide = (double)tsr_dtype_size(x->type->dtype);
  dist_links *l = &e->p->links;
  const int64_t n = dist_mesh_extent(&e->p->mesh, v->axes);
  const double whole = dist_coll_us(l, COLL_ALL_REDUCE, v->axes, bytes, NULL);
  const double both = dist_coll_us(l, COLL_REDUCE_SCATTER, v->axes, bytes, NULL) +
                      dist_coll_us(l, COLL_ALL_GATHER, v->axes, bytes, NULL);
  int d = 0;
  while (d < x->type->rank && (x->type->dims[d] % n || !x->type->dims[d])) d++;
  if (d == x->type->rank || both > whole * 1.001) {
    tell_move(e, v, bytes, "");
    return collective(e, x, v);
  }
  dist_move half = *v;
  half.dim = d;
  half.code = G_REDUCE_SCATTER;
  tell_move(e, &half, bytes, ", in place of half an all_reduce");
  x = collective(e, x, &half);
  x = narrowed(e, x, t);
  half.code = G_ALL_GATHER;
  tell_move(e, &half, x ? bytes / wide * (double)tsr_dtype_size(t) : 0, ", in place of half an all_reduce");
  return x ? collective(e, x, &half) : NULL;
}

static ir_value *apply(emitter *e, ir_value *x, const dist_move *v, const dist_spec *before, const ir_type *whole) {
  const dist_mesh *m = &e->p->mesh;
  const int64_t k = dist_mesh_extent(m, v->axes),
                after = dist_spec_extent(m, &v->after, v->dim, whole->rank ? whole->dims[v->dim] : 1);
  const double bytes = dist_move_bytes(m, v, before, whole, x->type->dtype);
  if (v->code == G_ALL_REDUCE) return halves(e, x, v, bytes, whole->dtype);
  if (v->code != G_ALL_GATHER) x = dist_resize(&e->b, x, v->dim, after * k);
  if (!x) return NULL;
  tell_move(e, v, bytes, "");
  x = collective(e, x, v);
  return v->code == G_ALL_GATHER ? dist_resize(&e->b, x, v->dim, after) : x;
}

/* v as it is wanted: as it is, or by the cheapest moves from what there is of it. */
static ir_value *get(emitter *e, const ir_value *v, const dist_spec *want) {
  local *l = &e->locals[v->scratch];
  dist_move best[DIST_MAX_MOVES], moves[DIST_MAX_MOVES];
  int n_best = -1, from = 0;
  double least = INFINITY;
  for (int i = 0; i < l->n; i++) {
    if (dist_spec_same(&l->spec[i], want)) return narrowed(e, l->v[i], v->type->dtype);
    const int n = dist_reshard(&e->p->mesh, &l->spec[i], want, v->type->dims, moves);
    const double us = n < 0 ? INFINITY : dist_moves_us(e->p, moves, n, &l->spec[i], v);
    if (n < 0 || (n_best >= 0 && us >= least)) continue;
    n_best = n, from = i, least = us;
    memcpy(best, moves, sizeof best);
  }
  if (n_best < 0) return ir_lacks(e->b.m, short_name(e->reader), "an operand can't be brought together");
  ir_value *x = l->v[from];
  for (int i = 0; i < n_best && x; i++) {
    x = apply(e, x, &best[i], i ? &best[i - 1].after : &l->spec[from], v->type);
    if (!best[i].after.partial) x = narrowed(e, x, v->type->dtype);
  }
  if (x) keep(e, v, x, want);
  return narrowed(e, x, v->type->dtype);
}

/* ---- ops --------------------------------------------------------------------------------------------------------- */

/* Padding of what is reduced must not count. */
static ir_value *masked(emitter *e, const dist_node *n, int operand, ir_value *x) {
  const ir_value *v = n->op->operands[operand];
  char axes[DIST_MAX_AXES * DIST_NAME];
  for (int c = 0; c < n->n_classes && x; c++) {
    const dist_class *k = &n->classes[c];
    const int d = k->dim[operand];
    bool picked = false;
    for (int a = 0; a < e->p->mesh.n; a++) picked |= n->pick[a] == c;
    if (!picked || k->result >= 0 || d < 0) continue;
    const uint32_t cut = n->want[operand].dim[d];
    const int64_t pieces = dist_mesh_extent(&e->p->mesh, cut);
    if (v->type->dims[d] % pieces == 0) continue;
    dist_mesh_axes_text(&e->p->mesh, cut, axes, sizeof axes);
    x = graph_collective_build(
        &e->b, G_SHARD_MASK, x,
        &(graph_collective){
            .axes = axes, .ranks = pieces, .dim = d, .extent = v->type->dims[d], .reduction = dist_how_name(k->how)});
  }
  return x;
}

/* False: the op's attributes don't follow, *again is set and it must be whole. */
static tsr_status emit_op(emitter *e, dist_node *n, bool *again) {
  ir_op *op = n->op;
  ir_value *few[DIST_MAX_OPERANDS], **x = few;
  e->reader = op;
  e->b.loc = op->loc;
  if (op->n_operands > DIST_MAX_OPERANDS && !(x = arena_array(&e->p->arena, ir_value *, op->n_operands)))
    return st_oom();
  for (int i = 0; i < op->n_operands; i++) {
    x[i] = get(e, op->operands[i], &n->want[i]);
    if (x[i] && i < DIST_MAX_OPERANDS) x[i] = masked(e, n, i, x[i]);
    if (!x[i]) return st_oom();
  }
  if (graph_is(op, G_RETURN)) {
    for (int i = 0; i < op->n_operands; i++) e->out->outputs[i] = n->want[i];
    return ir_op_new(&e->b, op->def, op->n_operands, x, 0, NULL, 0) ? NULL : st_oom();
  }
  ir_op *made = NULL;
  TSR_TRY(dist_build_local(e->p, n, &e->b, x, &made, again));
  for (int i = 0; i < op->n_results && !*again; i++) {
    dist_value *v = dist_value_of(e->p, op->results[i]);
    dist_spec spec;
    dist_result_spec(e->p, n, op->results[i]->type->rank, &spec);
    ir_value *y = i ? made->results[i] : dist_unmean(e->p, n, &e->b, made->results[i]);
    if (!y) return st_oom();
    y->name = op->results[i]->name ? arena_str(&e->b.m->arena, op->results[i]->name) : NULL;
    keep(e, v->v, y, &spec);
    if (!dist_spec_same(&spec, &v->spec) && !get(e, v->v, &v->spec)) return st_oom();
  }
  return NULL;
}

static tsr_status begin(emitter *e) {
  dist_problem *p = e->p;
  const ir_block *from = p->func->regions[0];
  dist_program *o = e->out;
  strb mesh;
  TSR_TRY(ir_module_create(&p->func->module->arena.al, &o->m));
  ir_begin(o->m);
  ir_builder top = ir_at_end(o->m, o->m->root->regions[0]);
  o->func = ir_op_new(&top, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  if (!o->func || !ir_attrs_copy(o->func, p->func)) return st_oom();
  for (int i = 0; i < o->func->n_attrs; i++) /* the signature is another one */
    if (!strcmp(o->func->attrs[i].name, "function_type")) o->func->attrs[i] = o->func->attrs[--o->func->n_attrs];
  strb_init(&mesh, NULL);
  dist_mesh_print(&mesh, &p->mesh);
  const bool set = strb_ok(&mesh) && ir_set_attr(o->func, "mesh", ir_attr_str(o->m, strb_text(&mesh)));
  strb_clear(&mesh);
  if (!set) return st_oom();
  ir_block *to = o->func->regions[0];
  e->b = ir_at_end(o->m, to);
  o->n_inputs = from->n_args, o->n_outputs = from->last->n_operands;
  o->inputs = arena_array(&p->arena, dist_spec, o->n_inputs + 1);
  o->outputs = arena_array(&p->arena, dist_spec, o->n_outputs + 1);
  o->whole_in = arena_array(&o->m->arena, const ir_type *, o->n_inputs + 1);
  o->whole_out = arena_array(&o->m->arena, const ir_type *, o->n_outputs + 1);
  if (!o->inputs || !o->outputs || !o->whole_in || !o->whole_out) return st_oom();
  for (int i = 0; i < from->n_args; i++) {
    const dist_value *v = dist_value_of(p, from->args[i]);
    const ir_type *t = dist_spec_type(&p->mesh, &v->spec, o->m, from->args[i]->type);
    ir_value *arg = t ? ir_block_arg(o->m, to, t, from->args[i]->name) : NULL;
    if (!arg || !(o->whole_in[i] = ir_type_get(o->m, from->args[i]->type))) return st_oom();
    arg->loc = from->args[i]->loc;
    o->inputs[i] = v->spec;
    keep(e, from->args[i], arg, &v->spec);
  }
  for (int i = 0; i < o->n_outputs; i++)
    if (!(o->whole_out[i] = ir_type_get(o->m, from->last->operands[i]->type))) return st_oom();
  return NULL;
}

static tsr_status emit(dist_problem *p, const dist_notes *notes, dist_program *out, bool *again) {
  emitter e = {.p = p, .notes = notes, .out = out};
  *out = (dist_program){.us = p->us};
  *again = false;
  e.locals = arena_array(&p->arena, local, p->n_values + 1);
  tsr_status st = e.locals ? begin(&e) : st_oom();
  for (int i = 0; i < p->n_nodes && !st && !*again; i++) st = emit_op(&e, &p->nodes[i], again);
  if (!st && !*again) {
    ir_dce(out->m->root);
    st = ir_verify(out->m);
  }
  if (st && out->m) st = ir_cause(out->m, NULL, st);
  if (st || *again) ir_module_destroy(&out->m);
  return st;
}

tsr_status dist_partition(dist_problem *p, const dist_spec *args, const dist_notes *notes, dist_program *out) {
  bool again = true;
  while (again) {
    TSR_TRY(dist_solve(p, args));
    TSR_TRY(emit(p, NULL, out, &again)); /* a first time without words: an op may have to be whole after all */
    if (!again) ir_module_destroy(&out->m);
  }
  return emit(p, notes, out, &again);
}

tsr_status dist_check_rank_program(const ir_op *func, const dist_mesh *mesh) {
  for (const ir_op *o = func->regions[0]->first; o; o = o->next) {
    if (!graph_is_kind(o, GRAPH_COLLECTIVE)) continue;
    const graph_collective c = graph_collective_get(o);
    const uint32_t axes = dist_mesh_axes_of(mesh, c.axes);
    if (!axes)
      return ir_error_at(o, o->loc, TSR_INVALID_ARGUMENT, "the outer axis, which the mesh names later, comes first",
                         "the mesh has no axes \"%s\"", c.axes);
    if (dist_mesh_extent(mesh, axes) != c.ranks)
      return ir_error_at(o, o->loc, TSR_INVALID_ARGUMENT, NULL, "%lld ranks, but the mesh has %lld along \"%s\"",
                         (long long)c.ranks, (long long)dist_mesh_extent(mesh, axes), c.axes);
  }
  return NULL;
}
