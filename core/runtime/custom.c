/* core/runtime/custom.c - users' own ops: registration, inference, and their place in a program: a kernel where the op
 * has a source for the device, else its CPU kernel. Input: graph.custom, tile.custom and target.custom ops; each is
 * checked against what is registered. */
#include "core/runtime/custom.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/dtype.h"
#include "core/ir/graph/eval.h"
#include "core/ir/target/target.h"
#include "core/ir/tile/tile.h"
#include "core/runtime/control.h"
#include "core/runtime/routine.h"

static const rt_custom *find(tsr_context *c, const char *name) {
  pthread_mutex_lock(&c->lock);
  const rt_custom *x = c->custom;
  while (x && strcmp(x->op.name, name)) x = x->next;
  pthread_mutex_unlock(&c->lock);
  return x;
}

tsr_status tsr_custom_op_register(tsr_context *c, const tsr_custom_op *op) {
  RT_NEED("custom_op_register", "ctx", c);
  RT_NEED("custom_op_register", "op", op);
  if (!op->name || !*op->name || !op->infer || !op->cpu || op->n_operands < 0 || op->n_operands > RT_CUSTOM_OPERANDS)
    return RT_BAD(c, "custom_op_register", NULL, "needs a name, infer, cpu and 0 to %d operands", RT_CUSTOM_OPERANDS);
  if (find(c, op->name)) return RT_BAD(c, "custom_op_register", NULL, "\"%s\" is registered already", op->name);
  rt_custom *x = al_new(&c->al, rt_custom);
  if (!x) return st_oom();
  x->op = *op;
  x->name_bytes = strlen(op->name) + 1;
  char *name = al_alloc(&c->al, x->name_bytes, 16);
  if (!name) {
    al_delete(&c->al, x);
    return st_oom();
  }
  memcpy(name, op->name, x->name_bytes);
  x->op.name = name;
  pthread_mutex_lock(&c->lock);
  x->next = c->custom;
  c->custom = x;
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

void rt_custom_clear(tsr_context *c) {
  for (rt_custom *x = c->custom, *next; x; x = next) {
    next = x->next;
    al_free(&c->al, (void *)(uintptr_t)x->op.name, x->name_bytes, 16);
    al_delete(&c->al, x);
  }
  c->custom = NULL;
}

/* ---- one op's call ---------------------------------------------------------------------------------------------- */

tsr_custom_tensor rt_custom_tensor(const ir_type *t) {
  tsr_custom_tensor x = {.dtype = t->dtype, .shape.rank = t->rank};
  memcpy(x.shape.dims, t->dims, sizeof x.shape.dims);
  return x;
}

static bool has_float(const ir_attr *x) {
  bool has = false;
  for (int i = 0; i < x->u.array.n; i++) has |= x->u.array.v[i]->kind == IR_A_FLOAT;
  return has;
}

/* A list of integers, or of floats where one of them is. */
static bool list_of(arena *a, const ir_attr *x, tsr_attr *to) {
  const int n = x->u.array.n;
  int64_t *ints = arena_array(a, int64_t, n + 1);
  double *floats = arena_array(a, double, n + 1);
  if (!ints || !floats) return false;
  for (int i = 0; i < n; i++) {
    const ir_attr *v = x->u.array.v[i];
    if (v->kind == IR_A_FLOAT) floats[i] = v->u.f;
    else ints[i] = v->u.i, floats[i] = (double)v->u.i;
  }
  if (has_float(x)) to->kind = TSR_ATTR_FLOATS, to->floats = floats, to->n_floats = n;
  else to->kind = TSR_ATTR_INTS, to->ints = ints, to->n_ints = n;
  return true;
}

/* False: out of memory. Attributes of other kinds (types, dense) are not passed on. */
static bool attr_of(arena *a, const ir_named_attr *from, tsr_attr *to) {
  const ir_attr *x = from->attr;
  *to = (tsr_attr){.name = arena_str(a, from->name)};
  switch (x->kind) {
  case IR_A_UNIT:
  case IR_A_BOOL: to->kind = TSR_ATTR_BOOL, to->i = x->kind == IR_A_UNIT || x->u.i; break;
  case IR_A_INT: to->kind = TSR_ATTR_INT, to->i = x->u.i; break;
  case IR_A_FLOAT: to->kind = TSR_ATTR_FLOAT, to->f = x->u.f; break;
  case IR_A_STR: to->kind = TSR_ATTR_STRING, to->s = arena_str(a, x->u.s); return to->name && to->s;
  default: return list_of(a, x, to) && to->name;
  }
  return to->name;
}

static bool passes(const ir_named_attr *a) {
  if (!strcmp(a->name, "callee")) return false;
  if (a->attr->kind == IR_A_TYPE || a->attr->kind == IR_A_DENSE) return false;
  if (a->attr->kind != IR_A_ARRAY) return true;
  for (int i = 0; i < a->attr->u.array.n; i++)
    if (a->attr->u.array.v[i]->kind != IR_A_INT && a->attr->u.array.v[i]->kind != IR_A_FLOAT) return false;
  return true;
}

tsr_status rt_custom_call(tsr_context *c, arena *a, const ir_op *op, int n, rt_host_call *h) {
  const char *name = ir_get_str(op, "callee", "");
  *h = (rt_host_call){.custom = find(c, name)};
  if (!h->custom)
    return ir_error_at(op, op->loc, TSR_NOT_FOUND, "tsr_custom_op_register makes it known",
                       "no custom operation \"%s\" in this context", name);
  if (n != h->custom->op.n_operands)
    return ir_error(op, NULL, "%s takes %d operands, has %d", name, h->custom->op.n_operands, n);
  for (int i = 0; i < n; i++) h->tensors[i] = rt_custom_tensor(op->operands[i]->type);
  h->attrs = arena_array(a, tsr_attr, op->n_attrs + 1);
  if (!h->attrs) return st_oom();
  h->call = (tsr_custom_call){.operands = h->tensors, .n_operands = n, .attrs = h->attrs, .result = &h->tensors[n]};
  for (int i = 0; i < op->n_attrs; i++)
    if (passes(&op->attrs[i]) && !attr_of(a, &op->attrs[i], &h->attrs[h->call.n_attrs++])) return st_oom();
  return NULL;
}

static tsr_status infer(tsr_context *c, const ir_op *op, rt_host_call *h) {
  const tsr_custom_op *x = &h->custom->op;
  char why[256] = "";
  *h->call.result = (tsr_custom_tensor){0};
  bool fits = x->infer(x->user, &h->call, why, sizeof why);
  why[sizeof why - 1] = 0; /* written by the user */
  if (!fits)
    return ir_error_at(op, op->loc, TSR_SHAPE_MISMATCH, NULL, "%s: %s", x->name, *why ? why : "the operands don't fit");
  const tsr_shape *s = &h->call.result->shape;
  bool possible = tsr_dtype_size(h->call.result->dtype) && s->rank >= 0 && s->rank <= TSR_MAX_RANK;
  ir_type t = {.kind = IR_T_TENSOR, .dtype = h->call.result->dtype, .rank = possible ? s->rank : 0};
  if (possible) memcpy(t.dims, s->dims, sizeof t.dims);
  for (int i = 0; i < t.rank; i++) possible &= t.dims[i] >= 0;
  if (!possible || ir_type_count(&t) < 0) return ir_error(op, NULL, "%s inferred an impossible type", x->name);
  return NULL;
}

tsr_status rt_custom_infer(tsr_graph *g, const char *name, ir_op *op, const ir_type **result, bool *found) {
  rt_host_call h;
  *found = name && find(g->ctx, name);
  if (!*found) return NULL;
  TSR_TRY(rt_custom_call(g->ctx, &g->m->arena, op, op->n_operands, &h));
  TSR_TRY(infer(g->ctx, op, &h));
  *result = ir_type_tensor(g->m, h.call.result->dtype, h.call.result->shape.rank, h.call.result->shape.dims);
  return *result ? NULL : st_oom();
}

/* Of a tile.custom or target.custom op, whose last operand is the result; it must have the type that the op infers. */
static tsr_status checked_call(tsr_program *p, const ir_op *op, rt_host_call *h) {
  const ir_type *t = op->operands[op->n_operands - 1]->type;
  TSR_TRY(rt_custom_call(p->ctx, &p->arena, op, op->n_operands - 1, h));
  TSR_TRY(infer(p->ctx, op, h));
  const tsr_custom_tensor *r = h->call.result;
  if (r->dtype != t->dtype || r->shape.rank != t->rank ||
      memcmp(r->shape.dims, t->dims, sizeof *t->dims * (size_t)t->rank))
    return ir_error_at(op, op->loc, TSR_SHAPE_MISMATCH, "write the type it infers",
                       "the result's type is not what %s infers", h->custom->op.name);
  return NULL;
}

tsr_status rt_custom_bind(tsr_program *p, const ir_op *op, rt_host_call **out) {
  rt_host_call *h = *out = arena_new(&p->arena, rt_host_call);
  if (!h) return st_oom();
  *h = (rt_host_call){0};
  if (op->def->code == TG_CONTROL) return rt_control_bind(p, op, &h->control);
  return op->def->code == TG_ROUTINE ? routine_bind(p, op, &h->routine) : checked_call(p, op, h);
}

int rt_custom_outputs(const rt_host_call *h) {
  return h->control ? rt_control_outputs(h->control) : h->routine ? h->routine->n_results : 1;
}

const char *rt_custom_describe(const rt_host_call *h, double *flops) {
  if (h->routine) *flops = h->routine->flops;
  return h->control ? "control" : h->routine ? "routine" : "custom";
}

tsr_status rt_custom_build(tsr_program *p, const rt_host_call *h) {
  return h->control ? rt_control_build(p, h->control) : NULL;
}

void rt_custom_drop(const rt_host_call *h) {
  if (h->control) rt_control_clear(h->control);
}

bool rt_custom_is_control(const rt_host_call *h) { return h->control != NULL; }

/* ---- sources ---------------------------------------------------------------------------------------------------- */

static ir_op *only_kernel(ir_module *m) {
  ir_op *k = NULL;
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_TILE || o->def->code != T_KERNEL || k) return NULL;
    k = o;
  }
  return k;
}

static tsr_status check_kernel(const ir_op *k, const ir_op *op, const char *name) {
  const ir_block *r = k->regions[0];
  if (r->n_args != op->n_operands || ir_get_int(k, "outputs", 1) != 1)
    return ir_error(k, NULL, "the kernel of %s must have %d arguments, the last one written", name, op->n_operands);
  for (int i = 0; i < r->n_args; i++)
    if (r->args[i]->type->dtype != op->operands[i]->type->dtype ||
        ir_type_count(r->args[i]->type) != ir_type_count(op->operands[i]->type))
      return ir_error(k, NULL, "argument %d of the kernel of %s is not a view of its operand", i, name);
  return NULL;
}

enum { MOST_SOURCE = 1 << 24 };

/* The op's kernel for this backend, copied into m as `name`; *out is NULL where it has none. */
static tsr_status add_kernel(tsr_program *p, ir_module *m, const ir_op *op, const rt_host_call *h, ir_op **out) {
  const tsr_custom_op *x = &h->custom->op;
  const char *backend = p->dev->info.backend;
  *out = NULL;
  size_t n = x->source ? x->source(x->user, backend, &h->call, NULL, 0) : 0;
  if (!n) return NULL;
  if (n > MOST_SOURCE)
    return ir_error_at(op, op->loc, TSR_INVALID_ARGUMENT, "it returns what snprintf does, without errors",
                       "the source of %s for %s has %zu bytes; at most %d", x->name, backend, n, MOST_SOURCE);
  tsr_status st = NULL;
  ir_module *parsed = NULL;
  char file[160], *text = al_alloc(&p->ctx->al, n + 1, 16);
  if (!text) return st_oom();
  snprintf(file, sizeof file, "<%s for %s>", x->name, backend);
  size_t again = x->source(x->user, backend, &h->call, text, n + 1);
  text[n] = 0;
  if (again != n || strlen(text) != n)
    TSR_GOTO(ir_error_at(op, op->loc, TSR_INVALID_ARGUMENT, "equal calls give equal text",
                         "the source of %s for %s has %zu bytes when asked for its length, then %zu", x->name, backend,
                         n, again != n ? again : strlen(text)));
  TSR_GOTO(ir_parse(&p->ctx->al, text, n, file, &parsed));
  ir_op *k = only_kernel(parsed);
  if (!k)
    TSR_GOTO(st_make(&p->ctx->al, TSR_VERIFY_ERROR, ST_WHERE("tile", x->name, NULL),
                     "%s:1:1: expected one tessera.tile.kernel", file));
  TSR_GOTO(check_kernel(k, op, x->name));
  ir_builder end = ir_at_end(m, m->root->regions[0]);
  k = ir_op_copy(&end, k, NULL, NULL);
  if (!k || !ir_set_attr(k, "family", ir_attr_str(m, "custom"))) TSR_GOTO(st_oom());
  *out = k;
done:
  ir_module_destroy(&parsed);
  al_free(&p->ctx->al, text, n + 1, 16);
  return st;
}

static tsr_status fall_back(tsr_program *p, const ir_op *op, tsr_fallback policy) {
  const char *name = ir_get_str(op, "callee", ""), *backend = p->dev->info.backend;
  const bool routine = op->def->code == T_ROUTINE;
  const char *what = routine ? "op" : "custom op";
  if (policy == TSR_FALLBACK_ERROR)
    return ir_error_at(op, op->loc, TSR_UNSUPPORTED,
                       routine ? "allow the fall-back to the host" : "give the op a source, or allow the fall-back",
                       "the %s %s has no kernel for %s", what, name, backend);
  p->n_fallbacks++;
  trace_add(&p->trace, "custom", routine ? "routine_on_host" : "custom_on_host", op, true,
            "fall-back: %s has no kernel for %s, its CPU kernel runs", name, backend);
  if (policy != TSR_FALLBACK_ALLOW)
    rt_log(p->ctx, TSR_LOG_WARN, "%s %s has no kernel for %s: its CPU kernel runs, with copies to and from the host",
           what, name, backend);
  return NULL;
}

/* The op's name as an identifier of every target's language, made unique by the number. NULL: out of memory. */
static const char *kernel_name(arena *a, const char *op, int number) {
  char *name = arena_fmt(a, "custom_%s_%d", op, number);
  for (char *c = name; c && *c; c++)
    if ((unsigned char)*c > 127 || !isalnum((unsigned char)*c)) *c = '_';
  return name;
}

tsr_status rt_custom_resolve(tsr_program *p, ir_module *m, tsr_fallback policy, bool *changed) {
  int made = 0;
  for (ir_op *prog = m->root->regions[0]->first; prog; prog = prog->next) {
    if (prog->def->level != IR_TILE || prog->def->code != T_PROGRAM) continue;
    for (ir_op *op = prog->regions[0]->first, *next; op; op = next) {
      next = op->next;
      if (op->def->level == IR_TILE && op->def->code == T_ROUTINE && p->dev->caps.dialect != DIALECT_CPU)
        TSR_TRY(fall_back(p, op, policy));
      if (op->def->level != IR_TILE || op->def->code != T_CUSTOM) continue;
      rt_host_call h;
      ir_op *kernel;
      TSR_TRY(checked_call(p, op, &h));
      TSR_TRY(add_kernel(p, m, op, &h, &kernel));
      if (!kernel) {
        if (p->dev->caps.dialect != DIALECT_CPU) TSR_TRY(fall_back(p, op, policy));
        continue;
      }
      ir_builder at = ir_before(op);
      const char *name = kernel_name(&m->arena, h.custom->op.name, made++);
      ir_op *launch = name ? ir_build0(&at, "tessera.tile.launch", op->n_operands, op->operands) : NULL;
      if (!launch || !ir_set_attr(kernel, "sym_name", ir_attr_str(m, name)) ||
          !ir_set_attr(launch, "kernel", ir_attr_str(m, name)))
        return st_oom();
      ir_op_remove(op);
    }
  }
  *changed |= made > 0;
  return NULL;
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

typedef struct host_job {
  const tsr_custom_op *op;
  const tsr_custom_call *call;
  int64_t rows, step;
  int failed; /* the first one writes why */
  char why[256];
} host_job;

static void run_rows(void *arg, int64_t item, int worker) {
  host_job *j = arg;
  int64_t first = item * j->step, last = first + j->step < j->rows ? first + j->step : j->rows;
  char why[sizeof j->why] = "";
  if (j->op->cpu(j->op->user, j->call, first, last, why, sizeof why)) return;
  why[sizeof why - 1] = 0; /* written by the user */
  if (!__atomic_exchange_n(&j->failed, 1, __ATOMIC_RELAXED)) memcpy(j->why, why, sizeof why);
}

static int64_t elements(const tsr_custom_tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->shape.rank; i++) n *= t->shape.dims[i];
  return n;
}

/* The kernel over all rows of the result, on dev's threads if it has some (NULL: on the caller's). */
static tsr_status run_call(tsr_context *c, tsr_device *dev, const rt_custom *x, const tsr_custom_call *call) {
  const tsr_custom_tensor *r = call->result;
  int64_t n = elements(r);
  if (!n) return NULL;
  host_job j = {.op = &x->op, .call = call, .rows = r->shape.rank ? r->shape.dims[0] : 1};
  bool spread = dev && dev->vt->parallel && n >= 4096; /* less isn't worth a thread */
  int64_t pieces = spread ? 4 * (dev->caps.n_cores > 0 ? dev->caps.n_cores : 1) : 1;
  j.step = (j.rows + pieces - 1) / pieces;
  pieces = (j.rows + j.step - 1) / j.step;
  if (spread) dev->vt->parallel(dev->be, run_rows, &j, pieces);
  else run_rows(&j, 0, 0);
  if (!j.failed) return NULL;
  return st_make(&c->al, TSR_LAUNCH_FAILED, RT_WHERE(x->op.name, NULL), "%s",
                 *j.why ? j.why : "the custom op's kernel failed");
}

/* Where a call's tensors are in host memory. */
static void **data_of(rt_host_call *h, int i) { return h->routine ? &h->routine->tensor[i].data : &h->tensors[i].data; }

/* Operands to host memory: the buffers themselves on the CPU, else copies in the program's staging memory. */
static tsr_status fetch(tsr_program *p, be_stream *s, const rt_launch *l) {
  char *at = p->staging;
  for (int i = 0; i < l->n_bindings; i++) {
    be_range r = p->ranges[l->bindings[i]];
    if (!p->staging) {
      char *base = r.buffer ? p->dev->vt->buffer_map(r.buffer) : NULL;
      *data_of(l->host, i) = base ? base + r.offset : NULL;
      continue;
    }
    *data_of(l->host, i) = at;
    if (i < l->n_bindings - l->n_outputs && r.bytes) TSR_TRY(p->dev->vt->read(s, r, at));
    at += (r.bytes + 255) & ~(size_t)255;
  }
  return p->dev->vt->stream_sync(s, -1);
}

tsr_status rt_custom_run(tsr_program *p, be_stream *s, const rt_launch *l, double *ns) {
  rt_host_call *h = l->host;
  int64_t from = ns ? clock_ns() : 0;
  if (h->control) {
    TSR_TRY(rt_control_run(p, s, l, h->control));
    if (ns) TSR_TRY(p->dev->vt->stream_sync(s, -1));
    if (ns) *ns = (double)(clock_ns() - from);
    return NULL;
  }
  TSR_TRY(fetch(p, s, l));
  if (h->routine) TSR_TRY(h->routine->row->run(h->routine));
  else TSR_TRY(run_call(p->ctx, p->dev, h->custom, &h->call));
  for (int i = l->n_bindings - l->n_outputs; i < l->n_bindings && p->staging; i++) {
    be_range r = p->ranges[l->bindings[i]];
    if (r.bytes) TSR_TRY(p->dev->vt->write(s, r, *data_of(h, i)));
  }
  if (p->staging) TSR_TRY(p->dev->vt->stream_sync(s, -1));
  if (ns) *ns = (double)(clock_ns() - from);
  return NULL;
}

/* ---- the oracle -------------------------------------------------------------------------------------------------- */

enum { ULPS = 8 }; /* of the result's type: what the kernel's own arithmetic may differ by from another's */

typedef struct evaluation {
  tsr_context *c;
  rt_host_call h;
  arena memory;
  void *result[3]; /* with the operands as they are, moved up, moved down by their tolerance */
} evaluation;

static tsr_status evaluate(evaluation *x, graph_evaluator *e, ir_op *op, int side) {
  for (int i = 0; i <= op->n_operands; i++) {
    tsr_custom_tensor *t = &x->h.tensors[i];
    int64_t n = elements(t);
    if (!(t->data = arena_alloc(&x->memory, (size_t)n * tsr_dtype_size(t->dtype) + 16))) return st_oom();
    for (int64_t k = 0; i < op->n_operands && k < n; k++) {
      graph_num v = graph_read(e, op->operands[i], k);
      dtype_store(t->dtype, t->data, (size_t)k, v.v + (side == 1 ? v.e : side == 2 ? -v.e : 0));
    }
  }
  if (e->st) return NULL; /* the reader reports it */
  x->result[side] = x->h.call.result->data;
  return run_call(x->c, NULL, x->h.custom, &x->h.call);
}

tsr_status rt_custom_eval(void *user, graph_evaluator *e, ir_op *op) {
  evaluation x = {.c = user};
  tsr_status st = NULL;
  arena_init(&x.memory, &x.c->al);
  TSR_GOTO(rt_custom_call(x.c, &x.memory, op, op->n_operands, &x.h));
  *x.h.call.result = rt_custom_tensor(op->results[0]->type);
  for (int side = 0; side < 3 && !e->st; side++) TSR_GOTO(evaluate(&x, e, op, side));
  tsr_dtype t = x.h.call.result->dtype;
  int64_t n = elements(x.h.call.result);
  for (int64_t i = 0; i < n && !e->st; i++) {
    double v = dtype_load(t, x.result[0], (size_t)i), up = fabs(dtype_load(t, x.result[1], (size_t)i) - v),
           down = fabs(dtype_load(t, x.result[2], (size_t)i) - v);
    double r = graph_rounding(t, v);
    graph_write(e, op->results[0], i, (graph_num){v, fmax(up, down) + ULPS * r, r});
  }
done:
  arena_clear(&x.memory);
  return st;
}
