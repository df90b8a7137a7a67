/* core/import/onnx/type_name.c - what ONNX calls the types of a model's values that the library holds in wider ones:
 * those of inputs and initializers are declared, a node's results have its operands' or what the node says. */
#include "core/import/onnx/type_name.h"

#include <string.h>

#include "core/import/onnx/sequence.h"
#include "core/import/onnx_data.h"

static const char *widened(const char *type) {
  return type && (onnx_narrow_bits(type) || onnx_small_float_of(type)) ? type : NULL;
}

static const char *of_name(cv *c, const char *name) {
  const cv_name *x = *name ? cv_scope_find(c->scope, name) : NULL;
  const char *type = x && x->tensor ? widened(x->tensor->type) : x ? x->type : NULL;
  return type ? type : "";
}

const char *cv_type_name(cv *c, int i) { return cv_has(c, i) ? of_name(c, c->node->in[i]) : ""; }

void cv_set_type_name(cv_scope *s, const char *name, const char *type) {
  cv_name *x = *name ? cv_scope_find(s, name) : NULL;
  if (x) x->type = widened(type);
}

void cv_out_as(cv *c, int i, ir_value *v, const char *type) {
  cv_out(c, i, v);
  if (cv_wants(c, i)) cv_set_type_name(c->scope, c->node->out[i], type);
}

void cv_keep_types(cv *c, const onnx_graph *g) {
  c->n_types = 0;
  c->types = arena_array(&c->a, const char *, g->n_outputs + 1);
  if (!c->types) c->oom = true;
  for (size_t i = 0; !c->oom && i < g->n_outputs; i++) c->types[c->n_types++] = of_name(c, g->outputs[i].name);
}

static bool is_one_of(const char *op, const char *const *names) {
  for (; *names; names++)
    if (!strcmp(op, *names)) return true;
  return false;
}

/* The result of a node with a body. A Loop may have no step: what it carries has the operand's type. */
static const char *of_body(cv *c, size_t i) {
  const bool loops = !strcmp(c->node->op, "Loop");
  if (loops && i + 2 < c->node->n_in) return cv_type_name(c, (int)i + 2);
  return i + loops < c->n_types ? c->types[i + loops] : "";
}

void cv_name_types(cv *c) {
  static const char *const bodies[] = {"If", "Loop", "Scan", NULL};
  static const char *const say[] = {"Cast", "CastLike", "QuantizeLinear", "DequantizeLinear", NULL};
  const onnx_node *n = c->node;
  const bool has_body = is_one_of(n->op, bodies);
  const char *type = "";
  if (is_one_of(n->op, say)) return;
  for (size_t i = 0; i < n->n_in && !*type; i++) type = cv_type_name(c, (int)i);
  for (size_t i = 0; i < n->n_out; i++) {
    cv_name *x = *n->out[i] ? cv_scope_find(c->scope, n->out[i]) : NULL;
    if (!x || !x->v || x->type) continue;
    const char *of = has_body ? of_body(c, i) : type;
    if (*of && (cv_is_sequence(x->v) || onnx_dtype(of) == x->v->type->dtype)) x->type = of;
  }
}
