/* core/passes/schedule/from_graph.c - writes the fusion groups out as kernels; see schedule/from_graph.h. Works on a
 * copy of the graph whose values' data fields hold what they have become. */
#include "core/passes/schedule/from_graph.h"

#include <string.h>

#include "core/ir/graph/ops.h"
#include "core/ir/schedule/schedule.h"
#include "core/passes/graph/canonical.h"
#include "core/passes/graph/fuse.h"
#include "core/passes/schedule/in_place.h"

typedef struct place { /* of a value of the graph, in the new module */
  ir_value *program;   /* at program level */
  ir_value *body;      /* in the kernel with number `kernel` */
  int kernel;
  bool escapes;        /* read outside its group */
} place;

typedef struct emitter {
  ir_module *m;
  ir_builder at; /* end of the program */
  graph_groups g;
  place *places;
  size_t n_places;
  enum { WAITING, ENTERED, EMITTED } *state; /* per group */
  int *stack; /* groups that wait for those above them */
  int n_kernels;
} emitter;

static place *of(const ir_value *v) { return v->data; }

static tsr_status make_places(emitter *e, ir_op *func) {
  const ir_block *r = func->regions[0];
  e->n_places = (size_t)r->n_args;
  for (ir_op *o = r->first; o; o = o->next) e->n_places += (size_t)o->n_results;
  e->places = al_zalloc(&e->m->arena.al, e->n_places * sizeof *e->places);
  e->state = al_zalloc(&e->m->arena.al, (size_t)e->g.n_ops * sizeof *e->state);
  e->stack = al_zalloc(&e->m->arena.al, (size_t)e->g.n_ops * sizeof *e->stack);
  if (!e->places || !e->state || !e->stack) return st_oom();
  place *next = e->places;
  for (int i = 0; i < r->n_args; i++) r->args[i]->data = next++;
  for (ir_op *o = r->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = next++;
  for (ir_op *o = r->first; o; o = o->next)
    for (int i = 0; i < o->n_operands; i++) {
      const ir_op *d = o->operands[i]->def;
      if (d && (e->g.group[d->scratch] < 0 || e->g.group[d->scratch] != e->g.group[o->scratch]))
        of(o->operands[i])->escapes = true;
    }
  return NULL;
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

typedef struct kernel {
  int number, group;
  ir_op *op;
  ir_builder body;
} kernel;

static bool set_body(kernel *k, ir_value *v, ir_value *b) {
  of(v)->body = b;
  of(v)->kernel = k->number;
  return b != NULL;
}

/* Is v, read in the group's kernel, computed or viewed there rather than read as a tensor of the program? A custom op
 * reads tensors. */
static bool inlined(const emitter *e, const ir_value *v, int group) {
  const ir_op *d = v->def;
  const kernel_family_row *f = kernel_family(e->g.v[group].family);
  if (!d || e->g.group[d->scratch] >= 0 || f->space == SPACE_CALL) return false;
  double number; /* that a kernel's text holds: others are tensors */
  if (graph_is(d, G_CONSTANT)) /* not what products read, nor kernels that move memory */
    return ir_type_count(v->type) == 1 && graph_splat(d, &number) && f->fuses != FUSES_ALONE &&
           !e->g.notes[d->scratch].feeds_product;
  if (graph_is_kind(d, GRAPH_INDEX) || graph_is_kind(d, GRAPH_WINDOWS)) return true;
  return graph_is_window(d);
}

static ir_value *map_operand(void *user, ir_value *v) { return of(v)->body; }

/* A copy of op at b, whose operands are looked up in the bodies. */
static tsr_status copy_into(kernel *k, ir_op *op) {
  ir_op *c = ir_op_copy(&k->body, op, map_operand, NULL);
  if (!c) return st_oom();
  for (int i = 0; i < op->n_results; i++)
    if (!set_body(k, op->results[i], c->results[i])) return st_oom();
  return NULL;
}

static tsr_status bring(emitter *e, kernel *k, ir_value *v);

static tsr_status bring_operands(emitter *e, kernel *k, ir_op *op) {
  for (int i = 0; i < op->n_operands; i++) TSR_TRY(bring(e, k, op->operands[i]));
  return NULL;
}

/* Makes v readable in k's body: as itself, as a copied view or number, or as an argument. Recursion ends after
 * SCHED_MOST_VIEWS views. */
static tsr_status bring(emitter *e, kernel *k, ir_value *v) {
  if (of(v)->kernel == k->number && of(v)->body) return NULL;
  if (inlined(e, v, k->group)) {
    TSR_TRY(bring_operands(e, k, v->def));
    return copy_into(k, v->def);
  }
  ir_value *p = of(v)->program;
  if (!p) return ir_error(v->def, NULL, "used before the kernel that makes it");
  ir_value *arg = ir_block_arg_like(e->m, k->op->regions[0], p->type, v);
  if (!arg || !ir_add_operand(k->op, p)) return st_oom();
  return set_body(k, v, arg) ? NULL : st_oom();
}

static ir_value *map_program(void *user, ir_value *v) { return of(v)->program; }

/* v at program level, where the kernel that makes it is there: copies the constant or the reshapes that it is, the one
 * nearest to memory first. An op's data is, on the way back, the one that reads it. */
static tsr_status materialize(emitter *e, ir_value *v) {
  if (of(v)->program) return NULL;
  ir_op *d = v->def, *reader = NULL;
  for (;; d = d->operands[0]->def) {
    if (e->g.group[d->scratch] >= 0)
      return ir_error_at(d, d->loc, TSR_INTERNAL, NULL, "used before the kernel that makes it");
    d->data = reader;
    reader = d;
    if (!d->n_operands || of(d->operands[0])->program) break;
  }
  for (; d; d = d->data) {
    ir_op *c = ir_op_copy(&e->at, d, map_program, NULL);
    if (!c) return st_oom();
    of(d->results[0])->program = c->results[0];
  }
  return NULL;
}

/* The group whose kernel must come before v is there at program level; -1 = none. */
static int awaited(const emitter *e, const ir_value *v) {
  for (; !of(v)->program; v = v->def->operands[0]) {
    int group = e->g.group[v->def->scratch];
    if (group >= 0) return e->state[group] == EMITTED ? -1 : group;
    if (!v->def->n_operands) return -1;
  }
  return -1;
}

/* All that op, of the group or a view in it, reads from memory must be at program level before the kernel. `wait` gets
 * a group that is to come first, unless it has one already. */
static tsr_status materialize_inputs(emitter *e, ir_op *op, int group, int *wait) {
  for (int i = 0; i < op->n_operands && *wait < 0; i++) {
    ir_value *v = op->operands[i];
    if (v->def && e->g.group[v->def->scratch] == group) continue;
    if (inlined(e, v, group)) {
      TSR_TRY(materialize_inputs(e, v->def, group, wait));
      continue;
    }
    if ((*wait = awaited(e, v)) < 0) TSR_TRY(materialize(e, v));
  }
  return NULL;
}

/* The product of n dimensions; negative if one is unknown. */
static int64_t count(const int64_t *dims, int n) {
  int64_t product = 1;
  for (int i = 0; i < n; i++) {
    if (dims[i] < 0) return -1;
    product *= dims[i];
  }
  return product;
}

static bool set_space(kernel *k, const fuse_group *g, const ir_op *lead) {
  int64_t s[4] = {1, 1, 1, 1};
  const int n = kernel_family(g->family)->n_extents;
  graph_contract d;
  graph_attention a;
  switch (kernel_family(g->family)->space) {
  case SPACE_CONTRACTION:
    d = graph_contract_get(g->contraction);
    s[0] = count(d.batch, d.n_batch);
    s[1] = d.m, s[2] = d.n, s[3] = d.k;
    break;
  case SPACE_ATTENTION:
    a = graph_attention_get(lead);
    s[0] = count((int64_t[]){a.batch, a.heads}, 2);
    s[1] = a.m, s[2] = a.n, s[3] = a.k;
    break;
  case SPACE_ROWS:
    s[0] = count(g->space->dims, g->space->rank - 1);
    s[1] = g->space->dims[g->space->rank - 1];
    break;
  default:
    if (g->space) s[0] = ir_type_count(g->space);
  }
  for (int i = 0; i < n; i++)
    if (s[i] < 0) return true; /* unknown until specialised */
  return ir_set_attr(k->op, "space", ir_attr_ints(k->op->module, s, n));
}

/* The op that the kernel is named after and, in messages, found at. */
static const ir_op *lead_of(const emitter *e, const fuse_group *g) {
  if (g->contraction) return g->contraction;
  bool rows = kernel_family(g->family)->space == SPACE_ROWS;
  for (int at = g->head; at >= 0 && rows; at = e->g.next[at])
    if (e->g.ops[at]->def->flags & IR_REDUCES) return e->g.ops[at];
  return e->g.ops[g->head];
}

static bool name_kernel(emitter *e, kernel *k, const fuse_group *g) {
  char rules[256] = "";
  for (int r = 0; r < N_FUSE_RULES; r++)
    if (g->rules >> r & 1) {
      if (*rules) strcat(rules, ",");
      strcat(rules, fuse_rule_names[r]);
    }
  const char *name = arena_fmt(&e->m->arena, "%s_%d", ir_short_name(lead_of(e, g)->def), k->number - 1);
  return name && ir_set_attr(k->op, "sym_name", ir_attr_str(e->m, name)) &&
         ir_set_attr(k->op, "family", ir_attr_str(e->m, sched_family_name(g->family))) &&
         (!*rules || ir_set_attr(k->op, "fused", ir_attr_str(e->m, rules))) && set_space(k, g, lead_of(e, g));
}

static tsr_status emit_kernel(emitter *e, int group) {
  const fuse_group *g = &e->g.v[group];
  e->state[group] = EMITTED;
  kernel k = {.number = ++e->n_kernels, .group = group};
  ir_value *yields[SCHED_MOST_RESULTS];
  const ir_type *types[SCHED_MOST_RESULTS];
  int n = 0;
  for (int at = g->head; at >= 0; at = e->g.next[at])
    for (int i = 0; i < e->g.ops[at]->n_results; i++) {
      ir_value *v = e->g.ops[at]->results[i];
      if (!of(v)->escapes) continue;
      if (n == SCHED_MOST_RESULTS)
        return ir_error_at(v->def, v->def->loc, TSR_INTERNAL, "switch a fusion rule off",
                           "the kernel has too many results");
      types[n] = ir_type_get(e->m, v->type);
      yields[n++] = v;
    }
  e->at.loc = lead_of(e, g)->loc;
  k.op = ir_op_new(&e->at, ir_find_op("tessera.schedule.kernel"), 0, NULL, n, types, 1);
  if (!k.op || !name_kernel(e, &k, g)) return st_oom();
  k.body = ir_at_end(e->m, k.op->regions[0]);
  for (int at = g->head; at >= 0; at = e->g.next[at]) {
    TSR_TRY(bring_operands(e, &k, e->g.ops[at]));
    TSR_TRY(copy_into(&k, e->g.ops[at]));
  }
  ir_value *values[SCHED_MOST_RESULTS];
  for (int i = 0; i < n; i++) {
    values[i] = of(yields[i])->body;
    of(yields[i])->program = k.op->results[i];
    if (yields[i]->name && !(k.op->results[i]->name = arena_str(&e->m->arena, yields[i]->name))) return st_oom();
  }
  return ir_build0(&k.body, "tessera.schedule.yield", n, values) ? NULL : st_oom();
}

/* ---- program level --------------------------------------------------------------------------------------------- */

/* The group's kernel, after those of the groups that it needs: a stack of groups, however deep they are above one
 * another. */
static tsr_status emit_group(emitter *e, int group) {
  int n = 0;
  e->stack[n++] = group;
  while (n) {
    int top = e->stack[n - 1], wait = -1;
    e->state[top] = ENTERED;
    for (int at = e->g.v[top].head; at >= 0 && wait < 0; at = e->g.next[at])
      TSR_TRY(materialize_inputs(e, e->g.ops[at], top, &wait));
    if (wait >= 0) {
      if (e->state[wait] == ENTERED)
        return ir_error_at(e->g.ops[e->g.v[wait].head], (ir_loc){0}, TSR_INTERNAL, "switch a fusion rule off",
                           "its kernel depends on itself");
      e->stack[n++] = wait;
      continue;
    }
    TSR_TRY(emit_kernel(e, top));
    n--;
  }
  return NULL;
}

static tsr_status emit_program(emitter *e, ir_op *func, const pass_options *opts) {
  static const char *const kept[] = {"policy", "precision", "symbolic", "memory_budget"};
  ir_builder top = ir_at_end(e->m, e->m->root->regions[0]);
  top.loc = func->loc;
  ir_op *program = ir_op_new(&top, ir_find_op("tessera.schedule.program"), 0, NULL, 0, NULL, 1);
  if (!program || !ir_set_attr(program, "sym_name", ir_attr_str(e->m, ir_get_str(func, "sym_name", "main"))))
    return st_oom();
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (ir_get_attr(func, kept[i]) && !ir_set_attr(program, kept[i], ir_attr_copy(e->m, ir_get_attr(func, kept[i]))))
      return st_oom();
  e->at = ir_at_end(e->m, program->regions[0]);
  const ir_block *r = func->regions[0];
  for (int i = 0; i < r->n_args; i++) {
    ir_value *v = r->args[i];
    of(v)->program = ir_block_arg_like(e->m, program->regions[0], ir_type_get(e->m, v->type), v);
    if (!of(v)->program) return st_oom();
  }
  /* In program order, so that kernels stay where the author put them. */
  for (int i = 0; i < e->g.n_ops; i++) {
    int group = e->g.group[i];
    if (group >= 0 && e->state[group] == WAITING && e->g.next[i] < 0) TSR_TRY(emit_group(e, group));
  }
  ir_value **results = arena_array(&e->m->arena, ir_value *, r->last->n_operands + 1);
  if (!results) return st_oom();
  for (int i = 0; i < r->last->n_operands; i++) {
    int wait = awaited(e, r->last->operands[i]);
    if (wait >= 0) TSR_TRY(emit_group(e, wait));
    TSR_TRY(materialize(e, r->last->operands[i]));
    results[i] = of(r->last->operands[i])->program;
  }
  e->at.loc = r->last->loc;
  if (!ir_build0(&e->at, "tessera.schedule.return", r->last->n_operands, results)) return st_oom();
  return sched_mark_in_place(program, opts);
}

/* n_kernels: of the functions before, as kernels have names of their own. */
static tsr_status lower_func(ir_module *m, ir_op *func, const pass_options *opts, int *n_kernels) {
  emitter e = {.m = m, .n_kernels = *n_kernels};
  tsr_status st = NULL;
  TSR_GOTO(graph_canonicalize(func, opts));
  TSR_GOTO(graph_fuse(func, opts, &e.g));
  TSR_GOTO(make_places(&e, func));
  TSR_GOTO(emit_program(&e, func, opts));
  *n_kernels = e.n_kernels;
done:
  al_free_array(&m->arena.al, e.places, e.n_places);
  al_free_array(&m->arena.al, e.state, (size_t)e.g.n_ops);
  al_free_array(&m->arena.al, e.stack, (size_t)e.g.n_ops);
  graph_groups_clear(&e.g);
  return st;
}

tsr_status graph_to_schedule(const ir_module *graph, const pass_options *opts, ir_module **out) {
  static const pass_options none = {0};
  ir_module *work = NULL, *m = NULL;
  tsr_status st = NULL;
  int n_kernels = 0;
  *out = NULL;
  TSR_GOTO(ir_module_clone(graph, &work));
  TSR_GOTO(ir_module_create(&graph->arena.al, &m));
  if (graph->file && !(m->file = arena_str(&m->arena, graph->file))) TSR_GOTO(st_oom());
  for (ir_op *f = work->root->regions[0]->first; f; f = f->next)
    if (graph_is(f, G_FUNC)) TSR_GOTO(lower_func(m, f, opts ? opts : &none, &n_kernels));
  TSR_GOTO(ir_verify(m));
done:
  if (st && m) st = ir_cause(m, work, st);
  if (st) ir_module_destroy(&m);
  ir_module_destroy(&work);
  *out = m;
  return st;
}
