/* core/runtime/rule.c - rewrite rules of the application within a context: registration, and what a compilation is
 * handed of them (core/passes/graph/user_rule.h). Rules are never changed or removed, so that compilations read them
 * without the lock. */
#include "core/runtime/rule.h"

#include <string.h>

#include "core/passes/graph/simplify.h"
#include "core/runtime/custom.h"
#include "tessera/transform.h"

struct rt_rule {
  struct rt_rule *next;
  user_rule rule;
  tsr_context *ctx;
  bool (*fits)(void *user, const tsr_rule_hole *holes, int n_holes, char *why, size_t why_bytes);
  void *user;
  char *strings; /* the name and the text */
  size_t n_strings;
};

/* ---- what a rule calls ----------------------------------------------------------------------------------------- */

static bool fits(void *user, const user_rule *r, ir_value *const *values, char *why, size_t n) {
  const rt_rule *x = user;
  tsr_rule_hole holes[RULE_MOST_VALUES];
  const ir_block *args = r->pattern->regions[0];
  for (int i = 0; i < args->n_args; i++) {
    const ir_value *v = values[i];
    const tsr_custom_tensor t = rt_custom_tensor(v->type);
    const char *name = args->args[i]->name;
    holes[i] = (tsr_rule_hole){.name = name ? name : "", .dtype = t.dtype, .shape = t.shape};
    const ir_attr *c = graph_is_kind(v->def, GRAPH_CONSTANT) ? ir_get_attr(v->def, "value") : NULL;
    if (!c) continue;
    holes[i].data = c->u.dense.data;
    holes[i].n_data = c->u.dense.splat ? 1 : ir_type_count(v->type);
  }
  const bool yes = x->fits(x->user, holes, args->n_args, why, n);
  why[n - 1] = 0; /* written by the user */
  for (char *c = why; *c; c++)
    if (*c == '\n') *c = 0;
  return yes;
}

static tsr_status infer(void *user, ir_op *op, const ir_type **result) {
  const rt_rule *x = user;
  tsr_graph g = {.ctx = x->ctx, .m = op->module, .func = op->parent->parent, .within_pass = true};
  const char *name = ir_get_str(op, "callee", "");
  bool found = false;
  TSR_TRY(rt_custom_infer(&g, name, op, result, &found));
  return found ? NULL : ir_error(op, "tsr_custom_op_register makes it known", "no custom operation \"%s\"", name);
}

/* ---- registration ---------------------------------------------------------------------------------------------- */

static void destroy(rt_rule *x) {
  const tsr_allocator *al = &x->ctx->al;
  user_rule_clear(&x->rule);
  if (x->strings) al_free(al, x->strings, x->n_strings, 16);
  al_delete(al, x);
}

static bool is_taken(const tsr_context *c, const char *name) {
  for (const rt_rule *x = c->rules; x; x = x->next)
    if (!strcmp(x->rule.name, name)) return true;
  return false;
}

enum { MOST_NAME = 60, MOST_TEXT = 1 << 20 }; /* a switch's longest word; bytes of text */

static tsr_status check_desc(tsr_context *c, const tsr_rule *r) {
  if (!r->name || strlen(r->name) > MOST_NAME || !ir_name_is_plain(r->name) || !strchr(r->name, '.'))
    return RT_BAD(c, "rule_register", "\"mylib.fold_scale\": letters, digits and _ . $ -, and a '.' among them",
                  "the name can't be a rule's");
  RT_NEED("rule_register", "text", r->text);
  if (strlen(r->text) > MOST_TEXT) return RT_BAD(c, r->name, NULL, "the text is longer than %d bytes", MOST_TEXT);
  if (r->unchecked && !r->fits)
    return RT_BAD(c, r->name, NULL, "what isn't compared (`unchecked`) needs a condition (`fits`)");
  return NULL;
}

/* The bits of the types that a list names. */
static tsr_status read_types(tsr_context *c, const tsr_rule *r, uint64_t *out) {
  for (const char *at = r->types ? r->types : ""; *at;) {
    char word[16];
    at += strspn(at, ", ");
    const size_t n = strcspn(at, ", ");
    if (!n) break;
    memcpy(word, at, n < sizeof word ? n : sizeof word - 1);
    word[n < sizeof word ? n : sizeof word - 1] = 0;
    const tsr_dtype t = tsr_dtype_parse(word);
    if (!t || n >= sizeof word) return RT_BAD(c, r->name, NULL, "no element type is called \"%.32s\"", at);
    *out |= 1ull << t;
    at += n;
  }
  return NULL;
}

static tsr_status make(tsr_context *c, const tsr_rule *r, rt_rule *x) {
  const size_t n_name = strlen(r->name) + 1, n_text = strlen(r->text) + 1;
  x->ctx = c;
  x->n_strings = n_name + n_text;
  if (!(x->strings = al_alloc(&c->al, x->n_strings, 16))) return st_oom();
  memcpy(x->strings, r->name, n_name);
  memcpy(x->strings + n_name, r->text, n_text);
  x->fits = r->fits;
  x->user = r->user;
  x->rule = (user_rule){.name = x->strings,
                        .text = x->strings + n_name,
                        .text_bytes = n_text - 1,
                        .any_shape = r->any_shape,
                        .rounds = r->rounds,
                        .shared = r->shared,
                        .unchecked = r->unchecked,
                        .fits = r->fits ? fits : NULL,
                        .infer = infer,
                        .eval = rt_custom_eval,
                        .user = x,
                        .eval_user = c};
  TSR_TRY(read_types(c, r, &x->rule.types));
  TSR_TRY(user_rule_make(&c->al, &x->rule));
  TSR_TRY(graph_rule_ends(&c->al, &x->rule));
  return x->rule.unchecked ? NULL : user_rule_check_values(&c->al, &x->rule);
}

/* At the end of the list; false: another has the name by now. */
static bool add(tsr_context *c, rt_rule *x) {
  pthread_mutex_lock(&c->lock);
  const bool may = !is_taken(c, x->rule.name);
  rt_rule **last = &c->rules;
  while (*last) last = &(*last)->next;
  if (may) *last = x;
  pthread_mutex_unlock(&c->lock);
  return may;
}

tsr_status tsr_rule_register(tsr_context *c, const tsr_rule *r) {
  RT_NEED("rule_register", "ctx", c);
  RT_NEED("rule_register", "rule", r);
  TSR_TRY(check_desc(c, r));
  rt_rule *x = al_new(&c->al, rt_rule);
  if (!x) return st_oom();
  tsr_status st = make(c, r, x);
  if (!st && !add(c, x)) st = RT_BAD(c, "rule_register", NULL, "\"%s\" is registered already", r->name);
  if (st) destroy(x);
  return st;
}

void rt_rule_clear(tsr_context *c) {
  for (rt_rule *x = c->rules, *next; x; x = next) {
    next = x->next;
    destroy(x);
  }
  c->rules = NULL;
}

/* Each word of the list with a '.' is a rule of o. */
static tsr_status check_switches(const tsr_allocator *al, const pass_options *o) {
  for (const char *list = o->disable; list && *list;) {
    size_t len = strcspn(list, ",");
    bool found = !memchr(list, '.', len);
    for (int i = 0; !found && i < o->n_rules; i++)
      found = strlen(o->rules[i]->name) == len && !memcmp(o->rules[i]->name, list, len);
    if (!found)
      return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("runtime", "disable", "tsr_rule_register makes it known"),
                     "no rule of this context is called \"%.*s\"", (int)len, list);
    list += len + (list[len] == ',');
  }
  return NULL;
}

tsr_status rt_rules(tsr_context *c, arena *a, pass_options *o) {
  pthread_mutex_lock(&c->lock);
  int n = 0;
  for (const rt_rule *x = c->rules; x; x = x->next) n++;
  const user_rule **rules = arena_array(a, const user_rule *, n + 1);
  int i = 0;
  for (const rt_rule *x = c->rules; rules && x; x = x->next) rules[i++] = &x->rule;
  pthread_mutex_unlock(&c->lock);
  o->rules = rules;
  o->n_rules = n;
  return rules ? check_switches(&c->al, o) : st_oom();
}
