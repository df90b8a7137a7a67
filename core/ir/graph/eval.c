/* core/ir/graph/eval.c - the oracle's engine: element storage, demand-driven reads, tolerances; see ir/graph/eval.h.
 * Each value is kept in pages of elements that are computed at most once. */
#include "core/ir/graph/eval.h"

#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/expand.h"

enum { PAGE_BITS = 10, PAGE = 1 << PAGE_BITS, MAX_DEPTH = 500 };

typedef struct graph_slot {
  ir_value *value;
  int64_t count;
  const void *input; /* an argument's memory, else NULL */
  graph_num **pages; /* an element with e < 0 isn't known yet */
} graph_slot;

int64_t graph_numbers(const ir_type *t) {
  int64_t n = ir_type_count(t);
  return n > 0 ? n * dtype_parts(t->dtype) : n;
}

static size_t n_pages(const graph_slot *s) { return (size_t)((s->count + PAGE - 1) >> PAGE_BITS); }

/* Elements of page p: tensors smaller than a page take what they have, as long chains of them would fill the memory. */
static size_t page_elements(const graph_slot *s, size_t p) {
  int64_t left = s->count - (int64_t)(p << PAGE_BITS);
  return left < PAGE ? (size_t)left : PAGE;
}

static tsr_status add_slot(graph_evaluator *e, ir_value *v, const void *input) {
  graph_slot *s = &e->slots[e->n_slots++];
  int64_t n = graph_numbers(v->type);
  *s = (graph_slot){v, n, input, NULL};
  v->data = s;
  if (n < 0)
    return ir_error(v->def ? v->def : e->func, "give every dimension a number", "the oracle needs known dimensions");
  if (input || !n) return NULL;
  s->pages = al_zalloc(e->al, n_pages(s) * sizeof *s->pages);
  return s->pages ? NULL : st_oom();
}

/* The values of the function that was given, where a copy of it is evaluated: each has its counterpart's slot. */
static void share_slot(ir_value *v) { v->data = ((ir_value *)v->data)->data; }
static void forget_slot(ir_value *v) { v->data = NULL; }

static void for_given(graph_evaluator *e, void (*what)(ir_value *v)) {
  ir_block *r = e->given->regions[0];
  for (int i = 0; i < r->n_args; i++) what(r->args[i]);
  for (ir_op *o = r->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++) what(o->results[i]);
}

tsr_status graph_evaluator_create(ir_op *func, const void *const *inputs, graph_evaluator **out) {
  const tsr_allocator *al = &func->module->arena.al;
  graph_evaluator *e = al_new(al, graph_evaluator);
  tsr_status st = NULL;
  *out = NULL;
  if (!e) return st_oom();
  e->al = al;
  e->func = e->given = func;
  if (graph_has_composite(func)) {
    st = graph_expanded_copy(func, &e->scratch, &e->func);
    if (st) {
      for_given(e, forget_slot);
      al_delete(al, e);
      return st;
    }
  }
  ir_block *r = e->func->regions[0];
  size_t n = (size_t)r->n_args;
  for (ir_op *o = r->first; o; o = o->next) n += (size_t)o->n_results;
  e->slots = al_zalloc(al, (n + 1) * sizeof *e->slots);
  if (!e->slots) {
    ir_module_destroy(&e->scratch);
    al_delete(al, e);
    return st_oom();
  }
  for (int i = 0; i < r->n_args; i++) TSR_GOTO(add_slot(e, r->args[i], inputs[i]));
  for (ir_op *o = r->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++) TSR_GOTO(add_slot(e, o->results[i], NULL));
  if (e->scratch) for_given(e, share_slot);
done:
  if (st) graph_evaluator_destroy(&e);
  *out = e;
  return st;
}

void graph_evaluator_set_custom(graph_evaluator *e, graph_custom_fn fn, void *user) {
  e->custom = fn;
  e->custom_user = user;
}

void graph_evaluator_destroy(graph_evaluator **ep) {
  graph_evaluator *e = *ep;
  if (!e) return;
  size_t n = (size_t)e->func->regions[0]->n_args + 1;
  for (ir_op *o = e->func->regions[0]->first; o; o = o->next) n += (size_t)o->n_results;
  for (size_t i = 0; i < e->n_slots; i++) {
    graph_slot *s = &e->slots[i];
    for (size_t p = 0; s->pages && p < n_pages(s); p++) {
      if (s->pages[p]) al_free(e->al, s->pages[p], page_elements(s, p) * sizeof **s->pages, 16);
    }
    if (s->pages) al_free(e->al, s->pages, n_pages(s) * sizeof *s->pages, 16);
    s->value->data = NULL;
  }
  al_free(e->al, e->slots, n * sizeof *e->slots, 16);
  if (e->scratch) for_given(e, forget_slot);
  ir_module_destroy(&e->scratch);
  tsr_status_free(e->st);
  al_delete(e->al, e);
  *ep = NULL;
}

static void fail(graph_evaluator *e, tsr_status st) {
  if (e->st) tsr_status_free(st);
  else e->st = st;
}

static graph_num *element(graph_evaluator *e, graph_slot *s, int64_t i) {
  graph_num **page = &s->pages[i >> PAGE_BITS];
  if (!*page) {
    const size_t n = page_elements(s, (size_t)(i >> PAGE_BITS));
    *page = al_alloc(e->al, n * sizeof **page, 16);
    if (!*page) {
      fail(e, st_oom());
      return NULL;
    }
    for (size_t k = 0; k < n; k++) (*page)[k] = (graph_num){0, -1, 0};
  }
  return &(*page)[i & (PAGE - 1)];
}

graph_num graph_read(graph_evaluator *e, ir_value *v, int64_t i) {
  graph_slot *s = v->data;
  v = s->value; /* of the function that is evaluated */
  if (s->input) { /* in a file, perhaps, and then not aligned */
    const int64_t whole = dtype_is_long(v->type->dtype) ? dtype_load_int(v->type->dtype, s->input, (size_t)i) : 0;
    return (graph_num){dtype_load(v->type->dtype, s->input, (size_t)i), 0, 0, whole};
  }
  graph_num *x = e->st ? NULL : element(e, s, i);
  if (!x) return (graph_num){0, 0, 0};
  if (x->e >= 0) return *x;
  const graph_row *row = graph_ext(v->def);
  if (!row || (!row->eval && !(graph_is_kind(v->def, GRAPH_CUSTOM) && e->custom))) {
    fail(e, ir_error(v->def, NULL, "the oracle can't evaluate it"));
    return (graph_num){0, 0, 0};
  }
  if (++e->depth > MAX_DEPTH) {
    e->first.value = v;
    e->first.at = i;
    fail(e, st_oom()); /* any status: graph_element takes it off again */
  } else {
    tsr_status st = row->eval ? row->eval(e, v->def, i) : e->custom(e->custom_user, e, v->def);
    if (st) fail(e, st);
  }
  e->depth--;
  return e->st ? (graph_num){0, 0, 0} : *x;
}

void graph_write(graph_evaluator *e, ir_value *v, int64_t i, graph_num x) {
  graph_num *p = e->st ? NULL : element(e, v->data, i); /* after a failure, what was read is not what is there */
  if (!p) return;
  if (isnan(x.e)) x.e = isnan(x.v) ? 0 : INFINITY;
  if (e->rounded && !dtype_is_long(v->type->dtype)) {
    uint64_t bits = 0;
    dtype_store(v->type->dtype, &bits, 0, x.v);
    x.v = dtype_load(v->type->dtype, &bits, 0);
  }
  if (dtype_is_float(dtype_part(v->type->dtype)) && isfinite(x.v) && fabs(x.v) + x.e > dtype_get(v->type->dtype)->max)
    x.r = INFINITY;
  *p = x;
}

static tsr_status take_error(graph_evaluator *e) {
  tsr_status st = e->st;
  e->st = NULL;
  return st;
}

tsr_status graph_evaluate_all(graph_evaluator *e) {
  e->whole = true;
  for (ir_op *o = e->func->regions[0]->first; o; o = o->next)
    for (int r = 0; r < o->n_results; r++) {
      int64_t n = graph_numbers(o->results[r]->type);
      for (int64_t i = 0; i < n && !e->st; i++) graph_read(e, o->results[r], i);
      if (e->st) return take_error(e);
    }
  return NULL;
}

/* A read that finds the chain below it too deep ends with the element that it needs first. That one is computed before,
 * from an empty stack; then the read is tried again and finds it. */
tsr_status graph_element(graph_evaluator *e, ir_value *v, int64_t at, graph_num *out) {
  struct wanted { ir_value *value; int64_t at; } *stack = NULL;
  size_t n = 0, cap = 0;
  tsr_status st = NULL;
  for (;;) {
    *out = graph_read(e, n ? stack[n - 1].value : v, n ? stack[n - 1].at : at);
    st = take_error(e);
    if (e->first.value) {
      tsr_status_free(st);
      st = NULL;
      if (!al_grow(e->al, &stack, &cap, n + 1, sizeof *stack)) {
        st = st_oom();
        break;
      }
      stack[n++] = (struct wanted){e->first.value, e->first.at};
      e->first.value = NULL;
    } else if (st || !n--) break;
  }
  e->first.value = NULL;
  al_free_array(e->al, stack, cap);
  return st;
}

tsr_status graph_eval(ir_op *func, const void *const *inputs, void *const *outputs, double *const *tolerance) {
  graph_evaluator *e;
  tsr_status st;
  TSR_TRY(graph_evaluator_create(func, inputs, &e));
  TSR_GOTO(graph_evaluate_all(e));
  const ir_op *ret = func->regions[0]->last;
  for (int o = 0; o < ret->n_operands; o++) {
    ir_value *v = ret->operands[o];
    int64_t n = graph_numbers(v->type);
    if (dtype_packed(v->type->dtype) && n) memset(outputs[o], 0, (size_t)ir_type_bytes(v->type));
    for (int64_t i = 0; i < n; i++) {
      graph_num x = graph_read(e, v, i);
      if (dtype_is_long(v->type->dtype)) ((int64_t *)outputs[o])[i] = x.i;
      else dtype_store(v->type->dtype, outputs[o], (size_t)i, x.v);
      if (tolerance && tolerance[o]) tolerance[o][i] = x.e;
    }
  }
done:
  graph_evaluator_destroy(&e);
  return st;
}

/* ---- tolerances ------------------------------------------------------------------------------------------------ */

/* What an implementation that has no denormals may lose at once. */
static double smallest_normal(tsr_dtype t) { return t == TSR_F64 ? 2.3e-308 : 0x1p-126; }

double graph_rounding(tsr_dtype t, double v) {
  const dtype_info *d = dtype_get(t = dtype_part(t));
  if (!d->is_float || !isfinite(v)) return 0;
  double tiny = t == TSR_F16 ? 0x1p-25 : t == TSR_F8E4M3 ? 0x1p-10 : t == TSR_F8E5M2 ? 0x1p-17 : smallest_normal(t);
  return d->eps * fabs(v) + tiny;
}

double graph_tolerance(tsr_dtype result, tsr_dtype accum, int64_t n, double value, double sum_abs) {
  if (!dtype_is_float(accum)) return graph_rounding(result, value);
  if (sum_abs >= dtype_get(accum)->max) return INFINITY; /* some order of the terms overflows */
  double sum = 2 * sqrt((double)n) * dtype_get(accum)->eps * sum_abs, tiny = (double)n * smallest_normal(accum);
  return sum + tiny + graph_rounding(result, value);
}

bool graph_agrees(tsr_dtype t, double got, graph_num want) {
  if (want.e == INFINITY) return true;
  if (isnan(got) || isnan(want.v)) return isnan(got) && isnan(want.v);
  if (got == want.v) return true;
  double max = dtype_get(t)->max;
  bool overflows = fabs(want.v) + want.e >= max && (got < 0) == (want.v < 0);
  if (isinf(got) || (t == TSR_F8E4M3 && fabs(got) == max)) return overflows; /* e4m3 has no infinity */
  return fabs(got - want.v) <= want.e;
}
