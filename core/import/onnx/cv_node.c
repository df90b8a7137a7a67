/* core/import/onnx/cv_node.c - a node's operands, results and attributes; see cv.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/import/onnx/scope.h"
#include "core/import/onnx/sequence.h"

void *cv_refuse(cv *c, const char *fmt, ...) {
  if (c->failed) return NULL;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(c->why, sizeof c->why, fmt, ap);
  va_end(ap);
  c->failed = true;
  return NULL;
}

/* An operand of the model's own function that its caller left out. */
static bool is_left_out(const cv *c, const char *name) {
  const onnx_function *f = c->call ? c->call->function : NULL;
  for (size_t i = 0; f && i < f->n_in; i++)
    if (!strcmp(f->in[i], name)) return !cv_scope_find(c->scope, name);
  return false;
}

bool cv_has(const cv *c, int i) {
  return i >= 0 && (size_t)i < c->node->n_in && *c->node->in[i] && !is_left_out(c, c->node->in[i]);
}

/* Where all regions see it. */
static ir_value *initializer(cv *c, const onnx_tensor *t) {
  const ir_builder here = c->b;
  if (c->regions) c->b = ir_at_end(c->b.m, c->block);
  ir_value *v = cv_tensor(c, t);
  c->b = here;
  return v;
}

/* An initializer becomes a constant when a node first reads it. */
ir_value *cv_any(cv *c, int i) {
  if (!cv_has(c, i)) return NULL;
  cv_name *x = cv_scope_find(c->scope, c->node->in[i]);
  if (!x) return cv_refuse(c, "operand \"%.80s\" is defined nowhere before it", c->node->in[i]);
  if (!x->v && x->tensor) x->v = initializer(c, x->tensor);
  if (!x->v && !c->failed) {
    c->lacks_operand = true;
    cv_refuse(c, "an operand can't be computed");
  }
  return x->v;
}

ir_value *cv_in(cv *c, int i) {
  ir_value *v = cv_any(c, i);
  return cv_is_sequence(v) ? cv_refuse(c, "operand %d is a sequence", i) : v;
}

ir_value *cv_need(cv *c, int i) { return cv_has(c, i) ? cv_in(c, i) : cv_refuse(c, "operand %d is missing", i); }

bool cv_wants(const cv *c, int i) { return (size_t)i < c->node->n_out && *c->node->out[i]; }

void cv_out(cv *c, int i, ir_value *v) {
  if (!v && !c->failed) cv_refuse(c, "it can't be built");
  if (cv_wants(c, i) && !cv_scope_set(c->scope, c->node->out[i], c->failed ? NULL : v)) c->oom = true;
}

static const onnx_attr *named(const onnx_attr *a, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (!strcmp(a[i].name, name)) return &a[i];
  return NULL;
}

static const onnx_attr *of_call(const cv_call *call, const char *name) {
  if (!call) return NULL;
  const onnx_attr *a = named(call->node->attrs, call->node->n_attrs, name);
  if (a && a->of_function) return of_call(call->outer, a->of_function);
  return a ? a : named(call->function->defaults, call->function->n_defaults, name);
}

const onnx_attr *cv_attr(const cv *c, const char *name) {
  const onnx_attr *a = named(c->node->attrs, c->node->n_attrs, name);
  return a && a->of_function ? of_call(c->call, a->of_function) : a;
}

static const onnx_attr *attr_of_kind(cv *c, const char *name, onnx_attr_kind kind) {
  const onnx_attr *a = cv_attr(c, name);
  if (a && a->kind != kind) return cv_refuse(c, "attribute %s is of another type", name);
  return a;
}

int64_t cv_int(cv *c, const char *name, int64_t dflt) {
  const onnx_attr *a = attr_of_kind(c, name, ONNX_INT);
  return a ? a->i : dflt;
}

double cv_float(cv *c, const char *name, double dflt) {
  const onnx_attr *a = attr_of_kind(c, name, ONNX_FLOAT);
  return a ? a->f : dflt;
}

const char *cv_str(cv *c, const char *name, const char *dflt) {
  const onnx_attr *a = attr_of_kind(c, name, ONNX_STRING);
  return a ? a->s : dflt;
}

bool cv_is(cv *c, const char *name, const char *dflt, const char *word) { return !strcmp(cv_str(c, name, dflt), word); }

int cv_ints(cv *c, const char *name, int64_t *out, int cap) {
  const onnx_attr *a = attr_of_kind(c, name, ONNX_INTS);
  if (!a) return -1;
  if (a->n > (size_t)cap) return cv_refuse(c, "attribute %s has %zu numbers, at most %d", name, a->n, cap), -1;
  if (a->n) memcpy(out, a->ints, a->n * sizeof *out);
  return (int)a->n;
}

int cv_axis(cv *c, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    cv_refuse(c, "axis %lld of %d dimensions", (long long)axis, rank);
    return 0;
  }
  return (int)(axis < 0 ? axis + rank : axis);
}
