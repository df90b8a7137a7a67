/* core/passes/graph/fuse.c - see graph/fuse.h. Ops are visited in program order; each starts as a group of its own and
 * is merged with the groups of its operands where a rule allows it. */
#include "core/passes/graph/fuse.h"

#include <string.h>

#include "core/ir/graph/ops.h"

#define NAME(id, name) name,
const char *const fuse_rule_names[N_FUSE_RULES] = {FUSE_RULES(NAME)};
#undef NAME

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

static bool same_shape(const ir_type *a, const ir_type *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i] || a->dims[i] == IR_DYNAMIC) return false;
  return true;
}

/* How a value lies in the space [.., m, n] of a reduction kernel. */
typedef enum row_class { ROW_FULL, ROW_KEPT /* [.., m, 1] */, ROW_DROPPED /* [.., m] */, ROW_NONE } row_class;

static row_class class_of(const ir_type *space, const ir_type *t) {
  if (same_shape(space, t)) return ROW_FULL;
  for (int i = 0; i + 1 < space->rank; i++)
    if (i >= t->rank || space->dims[i] != t->dims[i]) return ROW_NONE;
  if (t->rank == space->rank && t->dims[t->rank - 1] == 1) return ROW_KEPT;
  return t->rank == space->rank - 1 ? ROW_DROPPED : ROW_NONE;
}

/* May op, inside a reduction kernel over space, read v from the same kernel? */
static bool row_edge_ok(const ir_type *space, const ir_op *op, int operand) {
  row_class from = class_of(space, op->operands[operand]->type), to = class_of(space, op->results[0]->type);
  if (from == ROW_NONE || to == ROW_NONE) return false;
  if (op->def->flags & IR_REDUCES) return from == ROW_FULL && operand == 0;
  if (graph_reshapes(op)) return from != ROW_FULL && to != ROW_FULL;
  if (graph_is_kind(op, GRAPH_MOVE) && !graph_repeats(op))
    return false; /* of the rows' shape or not: elements come from other rows */
  if (from == to) return true;
  return to == ROW_FULL && (from == ROW_KEPT || op->operands[operand]->type->rank == 0);
}

/* ---- groups ---------------------------------------------------------------------------------------------------- */

static int group_of(const graph_groups *g, const ir_value *v) { return v->def ? g->group[v->def->scratch] : -1; }

static sched_family family_of(const ir_op *op) {
  switch (graph_kind_of(op)) {
  case GRAPH_CONTRACTION: return FAMILY_MATMUL;
  case GRAPH_COPY: return FAMILY_COPY;
  case GRAPH_GATHER: return FAMILY_GATHER;
  case GRAPH_SCATTER: return FAMILY_SCATTER;
  case GRAPH_WINDOWS: return FAMILY_WINDOWS;
  case GRAPH_CUSTOM: return FAMILY_CUSTOM;
  case GRAPH_ROUTINE: return FAMILY_ROUTINE;
  case GRAPH_CONTROL: return FAMILY_CONTROL;
  case GRAPH_ATTENTION: return FAMILY_ATTENTION;
  case GRAPH_ATTENTION_BACKWARD: return FAMILY_ATTENTION_BACKWARD;
  case GRAPH_DFT: return FAMILY_TRANSFORM;
  case GRAPH_REDUCTION:
  case GRAPH_NORM: return FAMILY_ROW;
  default: return FAMILY_ELEMENTWISE;
  }
}

/* Of a function (graph_is_function); the steps of a row op in Tile IR. */
enum { ROW_WORK = 8, FUNCTION_WORK = 4 };

static int work_of(const ir_op *op) {
  if (graph_is_row_op(op)) return ROW_WORK;
  return graph_is_function(op) ? FUNCTION_WORK : 1;
}

static bool has_space(const fuse_group *g, family_space space) { return kernel_family(g->family)->space == space; }

/* Is v computed by whoever reads it, from where the element stands? */
static bool is_index(const graph_groups *g, const ir_value *v) {
  while (v->def && g->group[v->def->scratch] < 0 && graph_is_window(v->def)) v = v->def->operands[0];
  return graph_is_kind(v->def, GRAPH_INDEX) && g->group[v->def->scratch] < 0;
}

static int new_group(graph_groups *g, ir_op *op) {
  int at = (int)op->scratch, id = g->n++;
  sched_family f = family_of(op);
  family_space space = kernel_family(f)->space;
  g->v[id] = (fuse_group){f,
                          space == SPACE_ROWS ? op->operands[0]->type
                          : op->n_results     ? op->results[0]->type
                                              : NULL,
                          space == SPACE_CONTRACTION ? op : NULL,
                          0,
                          at,
                          work_of(op),
                          op->def->flags & IR_VIEWLIKE,
                          graph_is_kind(op, GRAPH_INDEX)};
  for (int i = 0; i < op->n_operands; i++) g->v[id].has_index |= is_index(g, op->operands[i]);
  fuse_order_append(&g->order, id);
  g->group[at] = id;
  g->next[at] = -1;
  return id;
}

static int node_of(const graph_groups *g, int at) { return g->group[at] >= 0 ? g->group[at] : g->n_ops + at; }

/* Offers all that the ops of a node read; a kernel waits for all that any op of it needs. True where that is `from`. */
static bool offer_inputs(graph_groups *g, int node, int from, int to) {
  bool grouped = node < g->n_ops;
  for (int at = grouped ? g->v[node].head : node - g->n_ops; at >= 0; at = grouped ? g->next[at] : -1)
    for (int i = 0; i < g->ops[at]->n_operands; i++) {
      const ir_op *d = g->ops[at]->operands[i]->def;
      int input = d ? node_of(g, (int)d->scratch) : -1;
      if (!d || input == node || (node == to && input == from)) continue;
      if (fuse_search_offer(&g->order, from, input)) return true;
    }
  return false;
}

/* Would p and c as one kernel create a cycle: is there a way from group c back to p that leaves both? A search that
 * takes too long counts as yes: refusing is always right. */
static bool creates_cycle(graph_groups *g, int p, int c) {
  bool gave_up = false;
  fuse_search_begin(&g->order, c);
  for (int at = c; at >= 0; at = fuse_search_next(&g->order, &gave_up))
    if (offer_inputs(g, at, p, c)) return true;
  return gave_up;
}

/* What the kernel of groups p and c would read, and what of theirs something else may read: ops that were not visited
 * yet count as outside, so that a group within its limits stays there. */
static void count_tensors(graph_groups *g, int p, int c, int *args, int *results) {
  int64_t stamp = ++g->epoch;
  *args = *results = 0;
  for (int side = 0; side < 2; side++)
    for (int at = g->v[side ? c : p].head; at >= 0; at = g->next[at])
      for (int i = 0; i < g->ops[at]->n_operands; i++) {
        ir_value *v = g->ops[at]->operands[i];
        int from = group_of(g, v);
        if (from == p || from == c) g->inside[v->def->scratch]++;
        else if (v->scratch != stamp) ++*args, v->scratch = stamp;
      }
  for (int side = 0; side < 2; side++)
    for (int at = g->v[side ? c : p].head; at >= 0; at = g->next[at]) {
      int uses = 0;
      for (int i = 0; i < g->ops[at]->n_results; i++) uses += g->ops[at]->results[i]->n_uses;
      if (uses > g->inside[at]) *results += g->ops[at]->n_results;
      g->inside[at] = 0;
    }
}

static const char *check_work(const graph_groups *g, int p, int c) {
  return g->v[p].work + g->v[c].work > SCHED_MOST_WORK ? "the kernel would be too long" : NULL;
}

static const char *check_limits(graph_groups *g, int p, int c) {
  int args, results;
  count_tensors(g, p, c, &args, &results);
  if (args > SCHED_MOST_ARGS) return "the kernel would have too many arguments";
  return results > SCHED_MOST_RESULTS ? "the kernel would have too many results" : NULL;
}

static void merge(graph_groups *g, int p, int c, enum fuse_rule rule) {
  fuse_group *a = &g->v[p], *b = &g->v[c];
  int x = a->head, y = b->head, head = -1, *link = &head;
  while (x >= 0 || y >= 0) {
    int *from = y < 0 || (x >= 0 && x < y) ? &x : &y;
    *link = *from;
    link = &g->next[*from];
    *from = *link;
  }
  *link = -1;
  if (kernel_family(a->family)->fuses == FUSES_LEADS) b->family = a->family, b->space = a->space;
  if (a->contraction) b->contraction = a->contraction;
  b->rules |= a->rules | 1u << rule;
  b->work += a->work;
  b->has_view |= a->has_view;
  b->has_index |= a->has_index;
  b->head = head;
  fuse_order_merge(&g->order, p, c);
  a->head = -1;
  for (int at = head; at >= 0; at = g->next[at]) g->group[at] = c;
}

/* ---- rules: NULL, or the reason for refusing ------------------------------------------------------------------- */

static const char *check_prologue(const graph_groups *g, int p, const ir_op *product, const ir_value *operand) {
  int64_t inside = 0, uses = 0;
  /* Tiles have zeros behind the last of k, which stay zeros: not where they, or a number's one element along a k of 1,
   * are what is divided by. */
  if (graph_is_kind(product, GRAPH_CONTRACTION) && graph_contract_get(product).k == 1) return "its sums have one term";
  for (int i = 0; i < product->n_operands; i++)
    if (graph_is(product->operands[i]->def, G_PATCHES) && ir_get_int(product->operands[i]->def, "winograd", 0))
      return "Winograd's transforms read it in memory";
  for (int at = g->v[p].head; at >= 0; at = g->next[at]) {
    const ir_op *op = g->ops[at];
    if (!graph_is_kind(op, GRAPH_POINTWISE) || !(scalar_rows[graph_scalar(op)].traits & SCALAR_SCALES))
      return "it would be computed again for every tile";
    bool number = false;
    if (graph_scalar(op) == SC_DIV && ir_type_count(op->operands[1]->type) != 1)
      return "the zeros behind a tile's end would be divided by";
    for (int i = 0; i < op->n_operands; i++) {
      number |= ir_type_count(op->operands[i]->type) == 1;
      inside += group_of(g, op->operands[i]) == p;
    }
    if (op->n_operands > 1 && !number) return "it reads a second tensor, again for every tile";
    uses += op->results[0]->n_uses;
  }
  for (int i = 0; i < product->n_operands; i++) inside += product->operands[i] == operand;
  return uses == inside ? NULL : "something else needs its result";
}

static const char *check_epilogue(const graph_groups *g, int other, const ir_op *product) {
  if (!same_shape(g->v[other].space, product->results[0]->type)) return "its shape is not the product's";
  for (int i = 0; i < product->n_operands; i++)
    if (group_of(g, product->operands[i]) == other) return "the product itself needs a value of it";
  return NULL;
}

static const char *check_row(const graph_groups *g, int p, int c) {
  const fuse_group *a = &g->v[p], *b = &g->v[c];
  if (has_space(a, SPACE_ROWS) && has_space(b, SPACE_ROWS) && !same_shape(a->space, b->space))
    return "the rows differ in shape";
  const ir_type *space = has_space(b, SPACE_ROWS) ? b->space : a->space;
  if (class_of(space, a->space) == ROW_NONE || class_of(space, b->space) == ROW_NONE)
    return "its shape is not the rows'";
  for (int side = 0; side < 2; side++)
    for (int at = g->v[side ? c : p].head; at >= 0; at = g->next[at])
      for (int i = 0; i < g->ops[at]->n_operands; i++)
        if (group_of(g, g->ops[at]->operands[i]) == (side ? p : c) && !row_edge_ok(space, g->ops[at], i))
          return "it reads across rows";
  return NULL;
}

/* Does a view in one of the groups read what the other computes? Kernels compute element by element, and only rows
 * repeat what they have. */
static bool view_between(const graph_groups *g, int p, int c) {
  for (int side = 0; side < 2; side++) {
    int mine = side ? c : p, other = side ? p : c;
    for (int at = g->v[mine].has_view ? g->v[mine].head : -1; at >= 0; at = g->next[at])
      if (g->ops[at]->def->flags & IR_VIEWLIKE && group_of(g, g->ops[at]->operands[0]) == other) return true;
  }
  return false;
}

static const char *check(graph_groups *g, int p, int c, const ir_op *op, const ir_value *v, enum fuse_rule *rule) {
  const fuse_group *a = &g->v[p], *b = &g->v[c];
  bool row = has_space(a, SPACE_ROWS) || has_space(b, SPACE_ROWS), product = a->contraction || b->contraction;
  *rule = FUSE_ELEMENTWISE;
  if (kernel_family(a->family)->fuses == FUSES_ALONE || kernel_family(b->family)->fuses == FUSES_ALONE)
    return "concat, pad, gathers, scatters, attention, transforms, routines and custom ops have kernels of their own";
  if (product) *rule = row ? FUSE_ROW : b->contraction == op ? FUSE_MATMUL_PROLOGUE : FUSE_MATMUL_EPILOGUE;
  if (a->contraction && b->contraction) return "a kernel holds one contraction";
  if (product && (a->has_index || b->has_index)) return "a product's tile doesn't know where its elements stand";
  if (product && row) return "a row needs all its columns in one block, a product's tile has only some";
  if (!row && view_between(g, p, c)) return "a view's elements must lie in memory before it reads them";
  if (product)
    return b->contraction == op
               ? check_prologue(g, p, op, v)
               : check_epilogue(g, a->contraction ? c : p, a->contraction ? a->contraction : b->contraction);
  if (row)
    *rule = graph_is_kind(op, GRAPH_REDUCTION) && has_space(a, SPACE_ELEMENTS) ? FUSE_REDUCE_PRODUCER : FUSE_ROW;
  if (row) return check_row(g, p, c);
  return same_shape(a->space, b->space) ? NULL : "the shapes differ";
}

static void try_merge(graph_groups *g, ir_op *op, ir_value *v, const pass_options *opts) {
  int p = group_of(g, v), c = g->group[op->scratch];
  if (p < 0 || p == c) return;
  enum fuse_rule rule;
  const char *why = check(g, p, c, op, v, &rule);
  if (!pass_enabled(opts, "fusion", fuse_rule_names[rule])) why = "switched off";
  if (!why) why = check_work(g, p, c); /* the search is the dearest, and a full kernel takes no more */
  if (!why && creates_cycle(g, p, c)) why = "another kernel lies between them";
  if (!why) why = check_limits(g, p, c);
  trace_add(opts->trace, "fuse", fuse_rule_names[rule], op, !why, "with %s%s%s", v->def->def->name, why ? ": " : "",
            why ? why : "");
  if (!why) merge(g, p, c, rule);
}

/* ---- the walk -------------------------------------------------------------------------------------------------- */

/* Does it repeat rows or columns of its matrices? A product's tiles are windows of memory that has them all. */
static bool repeats_matrix(const ir_op *view) {
  const ir_type *from = view->operands[0]->type, *to = view->results[0]->type;
  if (!graph_repeats(view)) return false;
  for (int i = 1; i <= 2 && i <= to->rank; i++)
    if (i > from->rank || from->dims[from->rank - i] != to->dims[to->rank - i]) return true;
  return false;
}

/* The product's operand has none of its batch dimensions, or all of them. */
static bool has_batch(const ir_op *product, const ir_type *t) {
  const ir_type *all = product->results[0]->type;
  return t->rank == 2 || (t->rank == all->rank && !memcmp(t->dims, all->dims, sizeof *t->dims * (size_t)(t->rank - 2)));
}

/* Notes on each op, in one walk from the end: is its result a product's operand, as it is or through what may be fused
 * before the product (casts, signs, factors); must its elements lie in order for an output, an alias or a custom op, or
 * in any order that views leave? */
static void note_users(graph_groups *g) {
  for (int at = g->n_ops - 1; at >= 0; at--) {
    const ir_op *user = g->ops[at];
    bool order =
        graph_is(user, G_RETURN) || graph_is_alias(user) || kernel_family(family_of(user))->space == SPACE_CALL;
    bool product = graph_is_kind(user, GRAPH_CONTRACTION),
         through = user->def->flags & IR_ELEMENTWISE && g->notes[at].feeds_product;
    bool tensor = order || product || kernel_family(family_of(user))->fuses == FUSES_ALONE ||
                  (graph_is_window(user) && g->notes[at].needs_tensor);
    for (int i = 0; i < user->n_operands && (tensor || through); i++) {
      const ir_op *d = user->operands[i]->def;
      bool alone = through;
      if (!d) continue;
      for (int k = 0; k < user->n_operands && alone; k++)
        alone = user->operands[k] == user->operands[i] || ir_type_count(user->operands[k]->type) == 1;
      g->notes[d->scratch].feeds_product |= product || alone;
      g->notes[d->scratch].products += product && has_batch(user, user->operands[i]->type);
      g->notes[d->scratch].needs_order |= order;
      g->notes[d->scratch].needs_tensor |= tensor;
    }
  }
}

/* Must a view's elements be written out in order: for an output, an alias or a custom op, or as a product's operand? */
static bool needs_memory(const ir_op *view, const graph_groups *g) {
  const struct fuse_note *n = &g->notes[view->scratch];
  return n->needs_order || (n->feeds_product && repeats_matrix(view));
}

/* Reshapes and broadcasts of per-row values belong into the reduction kernel. */
static bool is_row_view(const graph_groups *g, const ir_op *op) {
  if (!graph_reshapes(op) && !graph_repeats(op)) return false;
  int p = group_of(g, op->operands[0]);
  return p >= 0 && has_space(&g->v[p], SPACE_ROWS) && class_of(g->v[p].space, op->operands[0]->type) != ROW_FULL &&
         row_edge_ok(g->v[p].space, op, 0);
}

/* A view of a view ... of something in memory: how many above one another. */
static int views_above(const graph_groups *g, const ir_op *op) {
  const ir_op *d = op->operands[0]->def;
  return d && graph_is_window(d) && g->group[d->scratch] < 0 ? g->notes[d->scratch].views + 1 : 1;
}

static void visit_view(graph_groups *g, ir_op *op, const pass_options *opts) {
  bool on = pass_enabled(opts, "fusion", fuse_rule_names[FUSE_VIEW]), memory = needs_memory(op, g);
  int n = views_above(g, op);
  bool deep = n > SCHED_MOST_VIEWS;
  const char *why = !on      ? "switched off"
                    : memory ? "its elements must lie in memory in order"
                    : deep   ? "too many views above one another"
                             : NULL;
  trace_add(opts->trace, "fuse", fuse_rule_names[FUSE_VIEW], op, !why, "%s", why ? why : "a strided load");
  if (why) new_group(g, op);
  else g->notes[op->scratch].views = (uint8_t)n, fuse_order_append(&g->order, node_of(g, (int)op->scratch));
}

/* Windows that products alone read are no tensor: a product reads the image through them. */
static bool visit_windows(graph_groups *g, ir_op *op, const pass_options *opts) {
  const char *why = !pass_enabled(opts, "fusion", fuse_rule_names[FUSE_VIEW]) ? "switched off"
                    : g->notes[op->scratch].products < op->results[0]->n_uses
                        ? "something else than a product reads them"
                        : NULL;
  trace_add(opts->trace, "fuse", fuse_rule_names[FUSE_VIEW], op, !why, "%s",
            why ? why : "a product reads the image through them");
  if (why) return false;
  fuse_order_append(&g->order, node_of(g, (int)op->scratch));
  return true;
}

static void visit(graph_groups *g, ir_op *op, const pass_options *opts) {
  int at = (int)op->scratch;
  bool row_view = is_row_view(g, op), index = graph_is_kind(op, GRAPH_INDEX) && !g->notes[at].needs_tensor;
  if (index || graph_is(op, G_CONSTANT) || graph_is(op, G_RETURN) || (graph_is_alias(op) && !row_view)) {
    fuse_order_append(&g->order, node_of(g, at));
    return;
  }
  if (graph_is_window(op) && !row_view) {
    visit_view(g, op, opts);
    return;
  }
  if (graph_is_kind(op, GRAPH_WINDOWS) && visit_windows(g, op, opts)) return;
  int id = new_group(g, op);
  for (int i = 0; i < op->n_operands; i++) try_merge(g, op, op->operands[i], opts);
  if (!row_view || g->v[id].head != at || g->next[at] >= 0) return;
  g->group[at] = -1, g->v[id].head = -1;
  g->notes[at].views = (uint8_t)(graph_is_window(op) ? views_above(g, op) : 0);
  fuse_order_append(&g->order, node_of(g, at));
}

/* A view at the end of a reduction kernel is better left to its readers. */
static void shed_views(graph_groups *g) {
  for (int at = g->n_ops - 1; at >= 0; at--) {
    int id = g->group[at];
    if (id < 0 || !(g->ops[at]->def->flags & IR_VIEWLIKE) || !has_space(&g->v[id], SPACE_ROWS)) continue;
    bool used = false;
    for (int k = g->next[at]; k >= 0 && !used; k = g->next[k])
      for (int i = 0; i < g->ops[k]->n_operands; i++) used |= g->ops[k]->operands[i] == g->ops[at]->results[0];
    if (used || (graph_is_window(g->ops[at]) && needs_memory(g->ops[at], g))) continue;
    int *link = &g->v[id].head;
    while (*link != at) link = &g->next[*link];
    *link = g->next[at];
    g->group[at] = -1;
  }
}

tsr_status graph_fuse(ir_op *func, const pass_options *opts, graph_groups *g) {
  *g = (graph_groups){.al = &func->module->arena.al};
  for (ir_op *o = func->regions[0]->first; o; o = o->next) o->scratch = g->n_ops++;
  for (int i = 0; i < func->regions[0]->n_args; i++) func->regions[0]->args[i]->scratch = 0;
  size_t n = (size_t)g->n_ops;
  g->ops = al_zalloc(g->al, n * sizeof *g->ops);
  g->group = al_zalloc(g->al, n * sizeof *g->group);
  g->next = al_zalloc(g->al, n * sizeof *g->next);
  g->inside = al_zalloc(g->al, n * sizeof *g->inside);
  g->notes = al_zalloc(g->al, n * sizeof *g->notes);
  g->v = al_zalloc(g->al, n * sizeof *g->v);
  bool order = fuse_order_init(&g->order, g->al, 2 * g->n_ops);
  if (!g->ops || !g->group || !g->next || !g->inside || !g->notes || !g->v || !order) return st_oom();
  for (ir_op *o = func->regions[0]->first; o; o = o->next) {
    g->ops[o->scratch] = o;
    g->group[o->scratch] = g->next[o->scratch] = -1;
    for (int r = 0; r < o->n_results; r++) o->results[r]->scratch = 0;
  }
  note_users(g);
  for (int i = 0; i < g->n_ops; i++) visit(g, g->ops[i], opts);
  shed_views(g);
  return NULL;
}

void graph_groups_clear(graph_groups *g) {
  size_t n = (size_t)g->n_ops;
  if (!g->al) return;
  al_free_array(g->al, g->ops, n);
  al_free_array(g->al, g->group, n);
  al_free_array(g->al, g->next, n);
  al_free_array(g->al, g->inside, n);
  al_free_array(g->al, g->notes, n);
  fuse_order_clear(&g->order);
  al_free_array(g->al, g->v, n);
  *g = (graph_groups){0};
}
