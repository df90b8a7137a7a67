/* core/import/onnx/cv_fold.c - values that are known while converting: what comes from shapes and constants is computed
 * by the reference evaluator, on a function of its own that has what leads to the value. */
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/cv.h"
#include "core/ir/graph/eval.h"

enum { MOST_OPS = 2000, MOST_ELEMENTS = 1 << 18 };

typedef struct slice {
  cv *c;
  bool inputs;
  ir_op **ops; /* sorted by where their first result's scratch says: each follows its operands */
  size_t n, cap;
  ir_value **args;
  size_t n_args, cap_args;
  int64_t elements, finished;
} slice;

static bool is_constant(const ir_value *v) { return graph_is(v->def, G_CONSTANT); }

static const void *known_input(const slice *s, const ir_value *v) {
  const onnx_options *o = s->c->o;
  if (!s->inputs || !o->elements || v->owner != s->c->block) return NULL;
  const int64_t n = ir_type_count(v->type);
  if (n < 0 || v->index >= (int)s->c->arguments.n) return NULL;
  const size_t bytes = (size_t)ir_type_bytes(v->type);
  return o->elements(o->user, s->c->arguments.v[v->index], v->type->dtype, bytes);
}

static bool add_arg(slice *s, ir_value *v) {
  for (size_t i = 0; i < s->n_args; i++)
    if (s->args[i] == v) return true;
  if (!known_input(s, v) || !al_grow(NULL, &s->args, &s->cap_args, s->n_args + 1, sizeof *s->args)) return false;
  s->args[s->n_args++] = v;
  return true;
}

/* An op's mark while it is being looked at: 1 begun, 2 in the list. */
static bool add(slice *s, ir_value *v) {
  ir_op *op = v->def;
  if (!op) return add_arg(s, v);
  if (op->scratch) return op->scratch == 2;
  if (s->n >= MOST_OPS || op->n_regions || !op->n_results || !al_grow(NULL, &s->ops, &s->cap, s->n + 1, sizeof *s->ops))
    return false;
  for (int i = 0; i < op->n_results; i++) {
    const int64_t n = ir_type_count(op->results[i]->type);
    if (n < 0 || (s->elements += n) > MOST_ELEMENTS) return false;
  }
  op->scratch = 1;
  s->ops[s->n++] = op;
  bool ok = true;
  for (int i = 0; i < op->n_operands && ok; i++) ok = add(s, op->operands[i]);
  op->scratch = ok ? 2 : 1;
  op->results[0]->scratch = s->finished++;
  return ok;
}

static ir_value *mapped(void *user, ir_value *v) { return v->data; }

static int by_place(const void *a, const void *b) {
  const int64_t x = (*(ir_op *const *)a)->results[0]->scratch, y = (*(ir_op *const *)b)->results[0]->scratch;
  return (x > y) - (x < y);
}

static ir_op *copy_slice(slice *s, ir_module *m, ir_value *v) {
  ir_builder b = ir_at_end(m, m->root->regions[0]);
  ir_op *func = ir_op_new(&b, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  if (!func) return NULL;
  ir_builder in = ir_at_end(m, func->regions[0]);
  for (size_t i = 0; i < s->n_args; i++) {
    s->args[i]->data = ir_block_arg(m, func->regions[0], ir_type_get(m, s->args[i]->type), NULL);
    if (!s->args[i]->data) return NULL;
  }
  for (size_t i = 0; i < s->n; i++) {
    ir_op *copy = ir_op_copy(&in, s->ops[i], mapped, NULL);
    if (!copy) return NULL;
    for (int r = 0; r < copy->n_results; r++) s->ops[i]->results[r]->data = copy->results[r];
  }
  ir_value *result = v->data;
  return result && ir_op_new(&in, graph_def(G_RETURN), 1, &result, 0, NULL, 0) ? func : NULL;
}

static void clear_marks(slice *s) {
  for (size_t i = 0; i < s->n_args; i++) s->args[i]->data = NULL;
  for (size_t i = 0; i < s->n; i++) {
    s->ops[i]->scratch = 0;
    for (int r = 0; r < s->ops[i]->n_results; r++) s->ops[i]->results[r]->data = NULL;
  }
}

static void *evaluate(slice *s, ir_value *v) {
  ir_module *m = NULL;
  const size_t size = (size_t)ir_type_bytes(v->type);
  void *out = arena_alloc(&s->c->a, size + 8);
  const void **inputs = arena_array(&s->c->a, const void *, s->n_args + 1);
  tsr_status st = out && inputs ? ir_module_create(NULL, &m) : st_oom();
  for (size_t i = 0; i < s->n_args && !st; i++)
    if (!(inputs[i] = known_input(s, s->args[i]))) st = st_oom();
  if (s->n > 1) qsort(s->ops, s->n, sizeof *s->ops, by_place);
  ir_op *func = st ? NULL : copy_slice(s, m, v);
  clear_marks(s);
  if (!st && !func) st = st_oom();
  if (!st) st = graph_eval(func, inputs, (void *[]){out}, NULL);
  ir_module_destroy(&m);
  const bool ok = !st;
  tsr_status_free(st);
  return ok ? out : NULL;
}

ir_value *cv_fold(cv *c, ir_value *v, bool inputs) {
  slice s = {.c = c, .inputs = inputs};
  if (!v || is_constant(v)) return v;
  void *data = NULL;
  if (add(&s, v)) data = evaluate(&s, v);
  clear_marks(&s);
  al_free_array(NULL, s.ops, s.cap);
  al_free_array(NULL, s.args, s.cap_args);
  return data ? cv_constant(c, v->type->dtype, v->type->rank, v->type->dims, data) : NULL;
}

/* Element i, of any type; false: it is no whole number of 64 bits. */
static bool int_at(const ir_value *v, int64_t i, int64_t *x) {
  const ir_attr *a = ir_get_attr(v->def, "value");
  if (v->type->dtype != TSR_I64) {
    const double d = graph_constant_at(v->def, i);
    *x = dtype_whole(TSR_I64, d);
    return d >= -0x1p63 && d < 0x1p63 && (double)*x == d;
  }
  *x = dtype_load_int(TSR_I64, a->u.dense.data, a->u.dense.splat ? 0 : (size_t)i);
  return true;
}

static ir_value *known(cv *c, int i, int cap) {
  ir_value *v = cv_fold(c, cv_need(c, i), true);
  if (!v) return cv_refuse(c, "operand %d depends on what the inputs hold", i);
  if (ir_type_count(v->type) > cap)
    return cv_refuse(c, "operand %d has %lld elements, at most %d", i, (long long)ir_type_count(v->type), cap);
  return v;
}

int cv_known_ints(cv *c, int i, int64_t *out, int cap) {
  const ir_value *v = known(c, i, cap);
  if (!v) return -1;
  const int n = (int)ir_type_count(v->type);
  for (int k = 0; k < n; k++)
    if (!int_at(v, k, &out[k])) {
      cv_refuse(c, "operand %d is to hold whole numbers and has %g", i, graph_constant_at(v->def, k));
      return -1;
    }
  return n;
}

int cv_known_floats(cv *c, int i, double *out, int cap) {
  const ir_value *v = known(c, i, cap);
  if (!v) return -1;
  const int n = (int)ir_type_count(v->type);
  for (int k = 0; k < n; k++) out[k] = graph_constant_at(v->def, k);
  return n;
}

int cv_list(cv *c, const char *name, int i, int64_t *out, int cap) {
  if (cv_has(c, i)) return cv_known_ints(c, i, out, cap);
  return name ? cv_ints(c, name, out, cap) : -1;
}

double cv_known_number(cv *c, int i, double dflt) {
  double x = dflt;
  if (cv_has(c, i) && cv_known_floats(c, i, &x, 1) == 0) cv_refuse(c, "operand %d is empty", i);
  return x;
}

int64_t cv_known_int(cv *c, int i, int64_t dflt) {
  int64_t x = dflt;
  if (cv_has(c, i) && cv_known_ints(c, i, &x, 1) == 0) cv_refuse(c, "operand %d is empty", i);
  return x;
}
