/* core/passes/schedule/rematerialize.c - see schedule/rematerialize.h. A program's ops are numbered in order; an op of
 * it that writes temporaries is a node. A plan says which nodes run again; its cost and what lives at each op follow
 * from it in one walk backwards. The plans that are tried first keep every s-th node of those that live at the peak (a
 * chain of n then lives in about n / s + s); from the best of these, single nodes are added and taken away. */
#include "core/passes/schedule/rematerialize.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/ir/graph/ops.h"
#include "core/ir/schedule/schedule.h"

enum { NEVER = INT32_MAX, MOST_STRIDE = 64, MOST_TRIED = 128 };
enum { MOST_STEPS = 1 << 28 }; /* nodes looked at by all evaluations: a second or so */
/* Operations that take as long as moving a byte, about, of what runs fast: costs need an order, no unit. */
static const double FLOPS_A_BYTE = 16;

/* Op number i of the program. */
typedef struct node {
  ir_op *op;
  int64_t bytes;      /* of the temporaries that it writes */
  double flops, cost; /* of one more run; cost in bytes moved */
  int *reads, n_reads; /* nodes of its operands */
  int *readers, n_readers;
  bool may;           /* run again */
  bool overwritten;   /* a kernel writes into its memory */
  /* By the plan: */
  bool again;
  int early;          /* its last reader before the gap; its own number if it has none */
  int at, last;       /* it runs again before op `at`; the last that reads it */
} node;

typedef struct remat {
  const tsr_allocator *al;
  ir_block *block;
  node *v;
  int n;
  int64_t budget, steps, *live; /* by op */
  ir_value **copies;     /* of results, by value->scratch */
} remat;

/* What a plan comes to. */
typedef struct outcome {
  double over, cost, flops; /* over: bytes beyond the budget, summed over the ops */
  int64_t peak;
  int at, runs;
} outcome;

static bool is_kernel(const ir_op *o) { return o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL; }

/* What an alias is an alias of. */
static ir_value *root_of(ir_value *v) {
  while (v->def && graph_is_alias(v->def)) v = v->def->operands[0];
  return v;
}

static int64_t value_bytes(const ir_type *t) {
  return round_up(ir_type_bytes(t), 256);
}

/* ---- the program as nodes -------------------------------------------------------------------------------------- */

static void count_work(node *x) {
  for (const ir_op *o = x->op->regions[0]->first; o; o = o->next) {
    graph_space s;
    if (o->def->level == IR_GRAPH && o->n_results && graph_space_of(o, &s)) x->flops += s.flops;
  }
  x->cost = x->flops / FLOPS_A_BYTE + (double)x->bytes;
  for (int i = 0; i < x->op->n_operands; i++) x->cost += (double)value_bytes(x->op->operands[i]->type);
}

/* Marks the memory that a kernel writes into: its contents are then gone. Of arguments in their scratch. */
static void mark_overwritten(remat *r) {
  for (int i = 0; i < r->block->n_args; i++) r->block->args[i]->scratch = 0;
  for (int i = 0; i < r->n; i++) {
    const ir_op *o = r->v[i].op;
    if (!is_kernel(o) || !ir_get_attr(o, "in_place")) continue;
    ir_value *root = root_of(o->operands[ir_get_int(o, "in_place", 0)]);
    r->v[i].overwritten = true; /* its result is in that memory */
    if (root->def) r->v[root->def->scratch].overwritten = true;
    else root->scratch = 1;
  }
}

static bool may_run_again(const remat *r, const node *x) {
  bool may = x->bytes && !x->overwritten;
  for (int i = 0; i < x->op->n_operands && may; i++) {
    const ir_value *root = root_of(x->op->operands[i]);
    may = root->def ? !r->v[root->def->scratch].overwritten : !root->scratch;
  }
  return may;
}

static node *read_node(remat *r, const ir_op *op, int operand) {
  const ir_value *root = root_of(op->operands[operand]);
  return root->def && is_kernel(root->def) && !graph_is_alias(op) ? &r->v[root->def->scratch] : NULL;
}

static tsr_status link_nodes(remat *r, arena *a) {
  for (int i = 0; i < r->n; i++)
    for (int k = 0; k < r->v[i].op->n_operands; k++) {
      node *from = read_node(r, r->v[i].op, k);
      if (from) from->n_readers++;
    }
  for (int i = 0; i < r->n; i++) {
    node *x = &r->v[i];
    x->reads = arena_array(a, int, x->op->n_operands + 1);
    x->readers = arena_array(a, int, x->n_readers + 1);
    if (!x->reads || !x->readers) return st_oom();
    x->n_readers = 0;
  }
  for (int i = 0; i < r->n; i++)
    for (int k = 0; k < r->v[i].op->n_operands; k++) {
      node *from = read_node(r, r->v[i].op, k);
      if (!from) continue;
      r->v[i].reads[r->v[i].n_reads++] = (int)(from - r->v);
      from->readers[from->n_readers++] = i;
    }
  return NULL;
}

static tsr_status make_nodes(remat *r, arena *a) {
  const ir_op *ret = r->block->last;
  int values = 0, n = 0;
  for (ir_op *o = r->block->first; o; o = o->next) r->n++;
  r->v = arena_array(a, node, r->n + 1);
  r->live = arena_array(a, int64_t, r->n + 2);
  if (!r->v || !r->live) return st_oom();
  for (ir_op *o = r->block->first; o; o = o->next) {
    r->v[n] = (node){.op = o};
    o->scratch = n++;
    for (int i = 0; i < o->n_results; i++) o->results[i]->scratch = values++;
  }
  TSR_TRY(link_nodes(r, a));
  bool *given = arena_array(a, bool, values + 1); /* whose memory is the caller's */
  r->copies = arena_array(a, ir_value *, values + 1);
  if (!given || !r->copies) return st_oom();
  memset(given, 0, sizeof *given * (size_t)values);
  for (int k = 0; k < ret->n_operands; k++)
    if (root_of(ret->operands[k])->def) given[root_of(ret->operands[k])->scratch] = true;
  mark_overwritten(r);
  for (int i = 0; i < r->n; i++) {
    node *x = &r->v[i];
    bool any = false;
    if (!is_kernel(x->op)) continue;
    for (int k = 0; k < x->op->n_results; k++) {
      any |= given[x->op->results[k]->scratch];
      x->bytes += given[x->op->results[k]->scratch] ? 0 : value_bytes(x->op->results[k]->type);
    }
    count_work(x);
    x->may = !any && may_run_again(r, x);
  }
  return NULL;
}

/* ---- what a plan comes to -------------------------------------------------------------------------------------- */

/* Node i is read before op `at` by what runs again there. */
static void read_at(remat *r, int i, int at) {
  node *x = &r->v[i];
  if (x->again && at > x->early) x->at = x->at < at ? x->at : at;
  if (x->last < at && (!x->again || at > x->early)) x->last = at;
}

static void add_live(remat *r, int from, int to, int64_t bytes) {
  r->live[from] += bytes;
  r->live[to + 1] -= bytes;
}

static outcome evaluate(remat *r) {
  outcome x = {.at = 0};
  r->steps += r->n;
  memset(r->live, 0, sizeof *r->live * (size_t)(r->n + 2));
  for (int i = 0; i < r->n; i++) {
    r->v[i].at = NEVER;
    r->v[i].last = i;
  }
  for (int i = r->n - 1; i >= 0; i--) { /* readers of i, and what runs again because of them, stand behind it */
    node *o = &r->v[i];
    for (int k = 0; k < o->n_readers; k++) read_at(r, i, o->readers[k]);
    if (!o->again || o->at == NEVER) continue;
    for (int k = 0; k < o->n_reads; k++) read_at(r, o->reads[k], o->at);
    x.cost += o->cost;
    x.flops += o->flops;
    x.runs++;
  }
  for (int i = 0; i < r->n; i++) {
    const node *o = &r->v[i];
    if (!o->bytes) continue;
    add_live(r, i, o->again ? o->early : o->last, o->bytes);
    if (o->again && o->at != NEVER) add_live(r, o->at, o->last, o->bytes);
  }
  int64_t live = 0;
  for (int i = 0; i < r->n; i++) {
    live += r->live[i];
    r->live[i] = live;
    if (live > x.peak) x.peak = live, x.at = i;
    if (live > r->budget) x.over += (double)(live - r->budget);
  }
  return x;
}

/* Can node i be gone at op `at`: may it run again, is it there before and read behind, and not there? */
static bool spans(node *x, int i, int at) {
  int early = i, late = 0;
  if (!x->may || x->again || i >= at) return false;
  for (int k = 0; k < x->n_readers; k++) {
    if (x->readers[k] == at) return false;
    if (x->readers[k] < at && x->readers[k] > early) early = x->readers[k];
    late += x->readers[k] > at;
  }
  x->early = early;
  return late > 0;
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

static void forget(remat *r) {
  for (int i = 0; i < r->n; i++) r->v[i].again = false;
}

/* All that span op `at` but each s-th. */
static void keep_each(remat *r, int at, int s) {
  forget(r);
  for (int i = 0, k = 0; i < r->n; i++)
    if (spans(&r->v[i], i, at)) r->v[i].again = ++k % s != 0;
}

static bool is_better(const remat *r, outcome a, outcome b) {
  if (a.over != b.over) return a.over < b.over;
  if (a.peak > r->budget && a.peak != b.peak) return a.peak < b.peak;
  return a.cost < b.cost;
}

static outcome by_strides(remat *r, outcome best) {
  const int at = best.at;
  int chosen = 1;
  for (int s = 2; s <= MOST_STRIDE; s++) {
    keep_each(r, at, s);
    const outcome x = evaluate(r);
    if (is_better(r, x, best)) best = x, chosen = s;
  }
  keep_each(r, at, chosen);
  if (chosen == 1) forget(r);
  return evaluate(r);
}

/* One more node: that which lowers what is beyond the budget most for its cost. False: none does. */
static bool add_one(remat *r, outcome *now) {
  int best = -1, tried = 0;
  double score = 0;
  for (int i = now->at - 1; i >= 0 && tried < MOST_TRIED && r->steps < MOST_STEPS; i--) {
    node *x = &r->v[i];
    if (!spans(x, i, now->at)) continue;
    x->again = true;
    const outcome with = evaluate(r);
    x->again = false;
    tried++;
    const double gain = (now->over - with.over) / (with.cost - now->cost + 1);
    if (with.over < now->over && gain > score) score = gain, best = i;
  }
  if (best < 0) return false;
  spans(&r->v[best], best, now->at);
  r->v[best].again = true;
  *now = evaluate(r);
  return true;
}

/* From all nodes run once on. */
static outcome search(remat *r) {
  r->steps = 0;
  forget(r);
  outcome now = by_strides(r, evaluate(r));
  while (now.over > 0 && add_one(r, &now)) {}
  return now;
}

/* The least budget within which a search comes, beginning with what one came down to: where it goes depends on it. */
static int64_t least_budget(remat *r, int64_t peak, int64_t found) {
  enum { MOST_TRIES = 8 };
  for (int i = 0; i < MOST_TRIES && found < peak; i++) {
    r->budget = found;
    const outcome now = search(r);
    if (now.over <= 0) return found;
    found = now.peak > found ? now.peak : found + 1;
  }
  return peak;
}

/* Takes away those without which it is as good. */
static void drop_needless(remat *r, outcome *now) {
  for (int i = 0; i < r->n && r->steps < MOST_STEPS; i++) {
    if (!r->v[i].again) continue;
    r->v[i].again = false;
    const outcome without = evaluate(r);
    if (without.over <= now->over && without.cost <= now->cost) *now = without;
    else r->v[i].again = true;
  }
  *now = evaluate(r);
}

/* ---- writing it ------------------------------------------------------------------------------------------------ */

/* What an op in the place of op `at` reads for v: the result of the second run where that is the one that lives. */
static ir_value *value_at(remat *r, ir_builder *b, ir_value *v, int at) {
  const ir_op *def = v->def;
  if (!def) return v;
  if (graph_is_alias(def)) {
    ir_value *from = value_at(r, b, def->operands[0], at);
    return from == def->operands[0] ? v : from ? graph_build_like(b, def, &from) : NULL;
  }
  const node *x = &r->v[def->scratch];
  return x->again && at > x->early ? r->copies[v->scratch] : v;
}

static bool read_anew(remat *r, ir_op *op, int at) {
  ir_builder b = ir_before(op);
  for (int i = 0; i < op->n_operands; i++) {
    ir_value *v = value_at(r, &b, op->operands[i], at);
    if (!v) return false;
    if (v != op->operands[i]) ir_set_operand(op, i, v);
  }
  return true;
}

static tsr_status run_again(remat *r, const node *x, const pass_options *opts) {
  ir_builder b = ir_before(r->v[x->at].op);
  ir_module *m = x->op->module;
  const char *name = ir_get_str(x->op, "sym_name", "?"), *before = ir_get_str(r->v[x->at].op, "sym_name", "the end");
  ir_op *copy = ir_op_copy(&b, x->op, NULL, NULL);
  const char *own = arena_fmt(&m->arena, "%s_again", name);
  if (!copy || !own || !ir_set_attr(copy, "sym_name", ir_attr_str(m, own)) || !read_anew(r, copy, x->at))
    return st_oom();
  for (int i = 0; i < copy->n_results; i++) r->copies[x->op->results[i]->scratch] = copy->results[i];
  trace_add(opts->trace, "rematerialize", "rematerialize", x->op, true,
            "%s runs again before %s: %lld bytes are free meanwhile, for %.4g operations and %.4g bytes moved", name,
            before, (long long)x->bytes, x->flops, x->cost - x->flops / FLOPS_A_BYTE);
  return NULL;
}

static tsr_status write_plan(remat *r, const pass_options *opts) {
  for (int i = 0; i < r->n; i++)
    if (r->v[i].again && r->v[i].at != NEVER) TSR_TRY(run_again(r, &r->v[i], opts));
  for (int i = 0; i < r->n; i++)
    if (!graph_is_alias(r->v[i].op) && !read_anew(r, r->v[i].op, i)) return st_oom();
  for (ir_op *o = r->block->last, *prev; o; o = prev) { /* aliases that nothing reads any more */
    prev = o->prev;
    if (graph_is_alias(o) && !o->results[0]->n_uses) ir_op_remove(o);
  }
  return NULL;
}

static tsr_status fit(remat *r, ir_op *program, const pass_options *opts) {
  const outcome before = evaluate(r);
  double flops = 0;
  for (int i = 0; i < r->n; i++) flops += r->v[i].flops;
  if (before.peak <= r->budget) {
    trace_add(opts->trace, "rematerialize", "rematerialize", program, false,
              "temporaries take %lld bytes, within the budget of %lld", (long long)before.peak, (long long)r->budget);
    return NULL;
  }
  const int64_t budget = r->budget;
  outcome now = search(r);
  if (now.over > 0)
    return ir_error_at(program, program->loc, TSR_INVALID_ARGUMENT, "a larger memory_budget",
                       "temporaries of %lld bytes don't come down to memory_budget = %lld; the least found is %lld",
                       (long long)before.peak, (long long)budget,
                       (long long)least_budget(r, before.peak, now.peak));
  drop_needless(r, &now);
  TSR_TRY(write_plan(r, opts));
  trace_add(opts->trace, "rematerialize", "rematerialize", program, true,
            "temporaries take %lld bytes instead of %lld, budget %lld: %d kernels run again, %.4g operations beside "
            "%.4g (%.1f %%)",
            (long long)now.peak, (long long)before.peak, (long long)r->budget, now.runs, now.flops, flops,
            flops > 0 ? 100 * now.flops / flops : 0);
  return NULL;
}

tsr_status schedule_rematerialize(ir_module *m, const pass_options *opts) {
  bool any = false;
  for (ir_op *p = m->root->regions[0]->first; p; p = p->next) {
    if (p->def->level != IR_SCHEDULE || p->def->code != S_PROGRAM) continue;
    remat r = {.al = &m->arena.al, .block = p->regions[0], .budget = ir_get_int(p, "memory_budget", 0)};
    if (r.budget < 0)
      return ir_error_at(p, p->loc, TSR_INVALID_ARGUMENT, "0 = none", "memory_budget = %lld", (long long)r.budget);
    if (!r.budget) continue;
    arena a;
    arena_init(&a, r.al);
    tsr_status st = NULL;
    any = true;
    st = make_nodes(&r, &a);
    if (!st) st = fit(&r, p, opts);
    arena_clear(&a);
    if (st) return st;
  }
  return any ? ir_verify(m) : NULL;
}
