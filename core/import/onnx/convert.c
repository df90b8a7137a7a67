/* core/import/onnx/convert.c - the walk over a model's nodes; see convert.h. */
#include "core/import/onnx/convert.h"

#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/import/onnx/input_shape.h"
#include "core/import/onnx/rows.h"
#include "core/import/onnx/scope.h"
#include "core/import/onnx/sequence.h"
#include "core/import/onnx/type_name.h"
#include "core/import/onnx_value.h"

enum { OLDEST = 1, NEWEST = 24, MOST_CALLS = 32, MOST_FOLDED = 16384, MOST_NODES = 200000,
       MOST_IN_SEQUENCE = 256 };
#define MOST_DIM (INT64_C(1) << 40) /* so that a few may be added and multiplied by attributes */

static const char *plain_name(arena *a, const char *name) {
  char *s = ascii_letter(*name) || *name == '_' ? arena_str(a, name) : arena_fmt(a, "_%s", name);
  for (char *p = s; p && *p; p++)
    if (!ascii_alnum(*p) && !strchr("_.$-", *p)) *p = '_';
  return s;
}

void onnx_report_clear(onnx_report *r) {
  al_free_array(NULL, r->problems.v, r->problems.cap);
  arena_clear(&r->a);
  memset(&r->problems, 0, sizeof r->problems);
}

/* ---- problems ---------------------------------------------------------------------------------------------------- */

static void add_problem(cv *c, const char *op, const char *why) {
  onnx_report *r = c->report;
  for (size_t i = 0; i < r->problems.n; i++)
    if (!strcmp(r->problems.v[i].op, op) && !strcmp(r->problems.v[i].why, why)) {
      r->problems.v[i].count++;
      return;
    }
  onnx_problem p = {arena_str(&r->a, op), arena_str(&r->a, why), 1};
  if (!p.op || !p.why || !al_grow(NULL, &r->problems.v, &r->problems.cap, r->problems.n + 1, sizeof p)) c->oom = true;
  else r->problems.v[r->problems.n++] = p;
}

static void report_node(cv *c, const onnx_node *n, const char *why) {
  const char *op = *n->domain ? arena_fmt(&c->a, "%s/%s", n->domain, n->op) : n->op;
  if (op) add_problem(c, op, why);
  else c->oom = true;
}

static tsr_status all_problems(const cv *c) {
  strb b;
  size_t total = 0;
  strb_init(&b, NULL);
  for (size_t i = 0; i < c->report->problems.n; i++) {
    const onnx_problem *p = &c->report->problems.v[i];
    total += p->count;
    strb_printf(&b, "%s%s", i ? "; " : "", p->op);
    if (p->count > 1) strb_printf(&b, " x%zu", p->count);
    strb_printf(&b, " (%s)", p->why);
  }
  tsr_status st =
      st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("onnx", NULL, NULL), "%s: %zu of %zu nodes can't be converted: %s",
              c->m->file.name, total, c->m->nodes.n, strb_text(&b));
  strb_clear(&b);
  return st;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static int64_t version_in(const onnx_opset *v, size_t n, const char *domain) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(v[i].domain, domain)) return v[i].version;
  return 0;
}

static int64_t version_of(const cv *c, const char *domain) {
  const int64_t own = c->call ? version_in(c->call->function->opsets.v, c->call->function->opsets.n, domain) : 0;
  return own ? own : version_in(c->m->opsets.v, c->m->opsets.n, domain);
}

static const onnx_function *function_of(const cv *c, const onnx_node *n) {
  for (size_t i = 0; i < c->m->n_functions; i++)
    if (!strcmp(c->m->functions[i].name, n->op) && !strcmp(c->m->functions[i].domain, n->domain))
      return &c->m->functions[i];
  return NULL;
}

static void lose_outputs(cv *c, const onnx_node *n) {
  for (size_t i = 0; i < n->n_out; i++)
    if (*n->out[i] && !cv_scope_set(c->scope, n->out[i], NULL)) c->oom = true;
}

/* What is computed from small constants alone is computed now; weights stay integers, as their products may be. */
static void fold_outputs(cv *c, const onnx_node *n) {
  if (!strcmp(n->op, "DequantizeLinear")) return;
  for (size_t i = 0; i < n->n_in; i++) {
    const cv_name *x = *n->in[i] ? cv_scope_find(c->scope, n->in[i]) : NULL;
    if (x && (!x->v || !graph_is(x->v->def, G_CONSTANT) || ir_type_count(x->v->type) > MOST_FOLDED)) return;
  }
  for (size_t i = 0; i < n->n_out; i++) {
    cv_name *x = *n->out[i] ? cv_scope_find(c->scope, n->out[i]) : NULL;
    if (!x || !x->v || ir_type_count(x->v->type) > MOST_FOLDED) continue;
    ir_value *known = cv_fold(c, x->v, false);
    if (known) x->v = known;
  }
}

static void convert_nodes(cv *c, const onnx_node *nodes, size_t n);

/* The model's own function, in the node's place. */
static void call_function(cv *c, const onnx_node *n, const onnx_function *f) {
  cv_scope inside = {.outer = NULL}, *outside = c->scope;
  const cv_call call = {n, f, c->call};
  ir_value *v[CV_MOST_OPERANDS] = {NULL};
  if (c->depth >= MOST_CALLS || f->n_in > CV_MOST_OPERANDS) {
    report_node(c, n, "functions that call each other too deeply, or have too many operands");
    lose_outputs(c, n);
    return;
  }
  for (size_t i = 0; i < f->n_in; i++) v[i] = cv_has(c, (int)i) ? cv_any(c, (int)i) : NULL;
  for (size_t i = 0; i < f->n_in; i++) {
    if (!cv_has(c, (int)i)) continue;
    if (!cv_scope_set(&inside, f->in[i], v[i])) c->oom = true;
    cv_set_type_name(&inside, f->in[i], cv_type_name(c, (int)i));
  }
  c->failed = c->lacks_operand = false;
  c->depth++;
  c->call = &call;
  c->scope = &inside;
  convert_nodes(c, f->nodes, f->n_nodes);
  c->scope = outside;
  c->call = call.outer;
  c->depth--;
  for (size_t i = 0; i < n->n_out && i < f->n_out; i++) {
    cv_name *x = cv_scope_find(&inside, f->out[i]);
    if (*n->out[i] && !cv_scope_set(outside, n->out[i], x ? x->v : NULL)) c->oom = true;
    if (x) cv_set_type_name(outside, n->out[i], x->type);
  }
  cv_scope_clear(&inside);
}

static void convert_node(cv *c, const onnx_node *n) {
  const onnx_node *outer = c->node;
  const int64_t version = c->version;
  const onnx_function *f = function_of(c, n);
  c->node = n;
  c->version = version_of(c, n->domain);
  c->failed = c->lacks_operand = false;
  const cv_row *row = f ? NULL : onnx_row(n->domain, n->op, c->version);
  if (f) call_function(c, n, f);
  else if (!row) {
    report_node(c, n,
                onnx_row(n->domain, n->op, 0) ? "this opset's version of it isn't converted"
                                              : "there is no conversion of it");
    lose_outputs(c, n);
  } else {
    row->fn(c);
    if (c->failed) {
      if (!c->lacks_operand) report_node(c, n, c->why);
      lose_outputs(c, n);
    } else {
      cv_name_types(c);
      fold_outputs(c, n);
    }
  }
  c->node = outer;
  c->version = version;
  c->failed = c->lacks_operand = false;
}

static void convert_nodes(cv *c, const onnx_node *nodes, size_t n) {
  for (size_t i = 0; i < n && !c->oom && !c->stopped; i++) {
    if (c->n_nodes++ < MOST_NODES) convert_node(c, &nodes[i]);
    else {
      report_node(c, &nodes[i], "too many nodes when loops and functions are written out");
      c->stopped = true;
    }
  }
}

static void add_initializers(cv *c, const onnx_graph *g) {
  for (size_t i = 0; i < g->n_tensors; i++) {
    cv_name *x = cv_scope_set(c->scope, g->tensors[i].name, NULL);
    if (x) x->tensor = &g->tensors[i];
    else c->oom = true;
  }
}

/* An output of a graph may be one of its initializers. */
static ir_value *output_of(cv *c, const char *name) {
  const onnx_node *outer = c->node;
  const onnx_node reader = {.domain = "", .op = "", .name = "", .in = &name, .n_in = 1};
  c->node = &reader;
  ir_value *v = cv_any(c, 0);
  c->node = outer;
  return v;
}

static bool convert_graph(cv *c, const onnx_graph *g, ir_value *const *inputs, size_t n_inputs, ir_value **outputs) {
  cv_scope inside = {.outer = c->scope}, *outside = c->scope;
  const size_t before = c->report->problems.n;
  if (c->depth >= MOST_CALLS) return cv_refuse(c, "graphs inside graphs, too deep") != NULL;
  c->scope = &inside;
  c->depth++;
  add_initializers(c, g);
  for (size_t i = 0; i < n_inputs && i < g->n_inputs; i++) {
    if (!cv_scope_set(&inside, g->inputs[i].name, inputs[i])) c->oom = true;
    cv_set_type_name(&inside, g->inputs[i].name, g->inputs[i].type);
  }
  convert_nodes(c, g->nodes, g->n_nodes);
  cv_keep_types(c, g);
  for (size_t i = 0; i < g->n_outputs; i++) outputs[i] = output_of(c, g->outputs[i].name);
  if (c->report->problems.n > before) c->lacks_operand = true; /* said already */
  c->scope = outside;
  c->depth--;
  cv_scope_clear(&inside);
  return !c->failed;
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static bool refuse_input(cv *c, const onnx_value *v) {
  const char *why = arena_fmt(&c->a, "input %s is of type %s", v->name, *v->type ? v->type : "unknown");
  add_problem(c, "input", why ? why : "");
  return cv_scope_set(c->scope, v->name, NULL) != NULL;
}

/* An argument of the function. */
static tsr_status add_argument(cv *c, const onnx_value *v, ir_value **out) {
  tsr_shape s = {0};
  if (!v->name) return st_oom();
  TSR_TRY(onnx_input_shape(c->m, c->o, v, &s));
  const ir_type *type = ir_type_tensor(c->b.m, onnx_dtype(v->type), s.rank, s.dims);
  bool too_large = false;
  for (int k = 0; k < s.rank; k++) too_large |= s.dims[k] > MOST_DIM;
  if (type && (too_large || ir_type_count(type) < 0))
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("onnx", NULL, NULL), "%s: input %s is too large",
                   c->m->file.name, v->name);
  const char *name = plain_name(&c->a, v->name);
  for (int k = 0; name && k < c->block->n_args; k++)
    if (c->block->args[k]->name && !strcmp(c->block->args[k]->name, name))
      name = arena_fmt(&c->a, "%s.%d", name, c->block->n_args);
  if (!al_grow(NULL, &c->arguments.v, &c->arguments.cap, c->arguments.n + 1, sizeof *c->arguments.v)) return st_oom();
  c->arguments.v[c->arguments.n++] = v->name;
  *out = type && name ? ir_block_arg(c->b.m, c->block, type, name) : NULL;
  return *out ? NULL : st_oom();
}

static bool is_given(const cv *c, const onnx_value *v) {
  tsr_shape s;
  return v->name && c->o->shape && c->o->shape(c->o->user, v->name, &s);
}

/* As many tensors as are given, or where none are and dimensions may be anything, two; NAME[] says that there are none.
 * They are arguments one behind the other. */
static tsr_status add_sequence(cv *c, const onnx_value *v, ir_value **out) {
  ir_value *part[MOST_IN_SEQUENCE];
  int64_t n = 0;
  const onnx_value first = onnx_element(&c->a, v, 0);
  const bool any = c->o->any_dim && !is_given(c, &first);
  for (; n <= MOST_IN_SEQUENCE; n++) {
    const onnx_value e = onnx_element(&c->a, v, n);
    if (!(any ? n < 2 : is_given(c, &e))) break;
    if (n == MOST_IN_SEQUENCE)
      return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("onnx", NULL, NULL), "%s: input %s has more than %d tensors",
                     c->m->file.name, v->name, MOST_IN_SEQUENCE);
    TSR_TRY(add_argument(c, &e, &part[n]));
  }
  const onnx_value none = onnx_element(&c->a, v, -1);
  if (!n && !is_given(c, &none))
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("onnx", NULL, NULL),
                   "%s: input %s is a sequence of unknown length "
                   "(--shape %s[0]=2x3 --shape %s[1]=.. give its tensors)",
                   c->m->file.name, v->name, v->name, v->name);
  *out = cv_sequence(c, n ? n : v->is_optional ? -1 : 0, part);
  return *out ? NULL : st_oom();
}

static tsr_status add_inputs(cv *c) {
  for (size_t i = 0; i < c->m->inputs.n; i++) {
    const onnx_value *v = &c->m->inputs.v[i];
    const onnx_value none = onnx_element(&c->a, v, -1);
    ir_value *x = NULL;
    if (!onnx_dtype(v->type)) {
      if (!refuse_input(c, v)) c->oom = true;
      continue;
    }
    if (v->is_sequence) TSR_TRY(add_sequence(c, v, &x));
    else if (v->is_optional && is_given(c, &none)) x = cv_sequence(c, -1, NULL);
    else TSR_TRY(add_argument(c, v, &x));
    if (!x || !cv_scope_set(c->scope, v->name, x)) return st_oom();
    cv_set_type_name(c->scope, v->name, v->type);
  }
  return NULL;
}

typedef struct result_list {
  ir_value **v;
  size_t n, cap;
  const char *missing; /* the first that isn't computed */
} result_list;

static tsr_status add_result(cv *c, result_list *l, ir_value *v, const char *name) {
  if (v && v->def && !v->name) v->name = plain_name(&c->b.m->arena, name);
  if (!v && !l->missing) l->missing = name;
  if (!al_grow(NULL, &l->v, &l->cap, l->n + 1, sizeof *l->v)) return st_oom();
  l->v[l->n++] = v;
  return NULL;
}

/* A sequence's tensors, one behind the other. */
static tsr_status add_output(cv *c, const onnx_value *out, result_list *l) {
  ir_value *const *part = NULL;
  c->failed = c->lacks_operand = false;
  ir_value *v = output_of(c, out->name);
  const int64_t n = cv_is_sequence(v) ? cv_sequence_tensors(v, &part) : 0;
  if (cv_is_sequence(v) && n <= 0) v = cv_refuse(c, n ? "an optional value that is left out" : "an empty sequence");
  if (c->failed && !c->lacks_operand) add_problem(c, "output", c->why);
  for (int64_t i = 0; i < n; i++) {
    const onnx_value e = onnx_element(&c->a, out, i);
    if (!e.name) return st_oom();
    TSR_TRY(add_result(c, l, part[i], e.name));
  }
  return n > 0 ? NULL : add_result(c, l, v, out->name);
}

static tsr_status add_outputs(cv *c) {
  result_list l = {.n = 0};
  tsr_status st = NULL;
  for (size_t i = 0; i < c->m->outputs.n && !st; i++) st = add_output(c, &c->m->outputs.v[i], &l);
  if (!st && c->oom) st = st_oom();
  if (!st && c->report->problems.n) st = all_problems(c);
  if (!st && l.missing) st = wire_bad(&c->m->file, 0, "output \"%s\" is not computed", l.missing);
  if (!st && !ir_op_new(&c->b, graph_def(G_RETURN), (int)l.n, l.v, 0, NULL, 0)) st = st_oom();
  al_free_array(NULL, l.v, l.cap);
  return st;
}

static tsr_status check_opset(const onnx_model *m) {
  const int64_t v = version_in(m->opsets.v, m->opsets.n, "");
  if (!v || (v >= OLDEST && v <= NEWEST + 3)) return NULL;
  return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("onnx", NULL, NULL),
                 "%s: opset %lld; those from %d to %d are converted", m->file.name, (long long)v, OLDEST, NEWEST);
}

static tsr_status convert(cv *c, ir_module *m) {
  c->b = ir_at_end(m, m->root->regions[0]);
  ir_op *func = ir_op_new(&c->b, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  if (!func || !ir_set_attr(func, "sym_name", ir_attr_str(m, "main"))) return st_oom();
  c->block = func->regions[0];
  c->b = ir_at_end(m, c->block);
  if (c->m->graph.n_sparse) add_problem(c, "initializer", "sparse tensors aren't read");
  add_initializers(c, &c->m->graph);
  TSR_TRY(add_inputs(c));
  convert_nodes(c, c->m->graph.nodes, c->m->graph.n_nodes);
  TSR_TRY(add_outputs(c));
  ir_dce(func);
  return graph_sign(func) ? ir_verify(m) : st_oom();
}

tsr_status onnx_convert(onnx_model *model, const onnx_options *o, const tsr_allocator *al, ir_module **out,
                        onnx_report *report) {
  onnx_report own = {.a = {.chunks = NULL}};
  cv_scope names = {.outer = NULL};
  cv c = {.graph = convert_graph, .m = model, .o = o, .report = report ? report : &own, .scope = &names};
  *out = NULL;
  memset(c.report, 0, sizeof *c.report);
  arena_init(&c.report->a, NULL);
  arena_init(&c.a, NULL);
  tsr_status st = check_opset(model);
  if (!st) st = ir_module_create(al, out);
  if (!st) {
    ir_begin(*out);
    st = convert(&c, *out);
    if (tsr_status_code(st) == TSR_OUT_OF_MEMORY) st = ir_cause(*out, NULL, st);
  }
  if (st) ir_module_destroy(out);
  cv_scope_clear(&names);
  al_free_array(NULL, c.arguments.v, c.arguments.cap);
  arena_clear(&c.a);
  if (!report) onnx_report_clear(&own);
  return st;
}
