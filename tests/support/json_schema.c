/* tests/support/json_schema.c - see json_schema.h. */
#include "tests/support/json_schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_type(const json *v, const char *name) {
  static const char *const names[] = {"null", "boolean", "number", "string", "array", "object"};
  if (!strcmp(name, "integer")) return v->type == JSON_NUMBER && v->number == floor(v->number);
  return !strcmp(name, names[v->type]);
}

/* Scalars only. */
static bool equal(const json *a, const json *b) {
  if (a->type != b->type) return false;
  if (a->type == JSON_STRING) return !strcmp(a->string, b->string);
  return a->type == JSON_NUMBER ? a->number == b->number
         : a->type == JSON_BOOL ? a->boolean == b->boolean
                                : a->type == JSON_NULL;
}

static bool one_of(const json *choices, const json *v) {
  for (const json *c = choices->first; c; c = c->next)
    if (equal(c, v)) return true;
  return false;
}

static bool has_type(const json *types, const json *v) {
  if (types->type == JSON_STRING) return is_type(v, types->string);
  for (const json *t = types->first; t; t = t->next)
    if (is_type(v, t->string)) return true;
  return false;
}

static bool has_all(const json *names, const json *v, const char *place) {
  for (const json *n = names->first; n; n = n->next)
    if (!json_get(v, n->string)) return printf("%s: \"%s\" is missing\n", place, n->string), false;
  return true;
}

static bool properties_hold(const json *schema, const json *v, const char *place) {
  const json *props = json_get(schema, "properties"), *others = json_get(schema, "additionalProperties");
  for (const json *m = v->first; m; m = m->next) {
    char at[256];
    const json *s = props ? json_get(props, m->key) : NULL;
    snprintf(at, sizeof at, "%.180s.%.60s", place, m->key);
    if (s && !json_schema_holds(s, m, at)) return false;
    if (!s && others && others->type == JSON_BOOL && !others->boolean)
      return printf("%s: not in the schema\n", at), false;
  }
  return true;
}

static bool keyword_holds(const json *k, const json *schema, const json *v, const char *place) {
  const char *name = k->key;
  if (!strcmp(name, "type")) return has_type(k, v);
  if (!strcmp(name, "const")) return equal(k, v);
  if (!strcmp(name, "enum")) return one_of(k, v);
  if (!strcmp(name, "minimum")) return v->type != JSON_NUMBER || v->number >= k->number;
  if (!strcmp(name, "maximum")) return v->type != JSON_NUMBER || v->number <= k->number;
  if (!strcmp(name, "minLength")) return v->type != JSON_STRING || (double)strlen(v->string) >= k->number;
  if (!strcmp(name, "required")) return v->type != JSON_OBJECT || has_all(k, v, place);
  if (!strcmp(name, "properties")) return v->type != JSON_OBJECT || properties_hold(schema, v, place);
  if (!strcmp(name, "items")) {
    int i = 0;
    for (const json *e = v->type == JSON_ARRAY ? v->first : NULL; e; e = e->next) {
      char at[256];
      snprintf(at, sizeof at, "%.200s[%d]", place, i++);
      if (!json_schema_holds(k, e, at)) return false;
    }
    return true;
  }
  static const char *const annotations[] = {"$schema", "title", "description", "additionalProperties"};
  for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++)
    if (!strcmp(name, annotations[i])) return true;
  return printf("%s: keyword %s is not known here\n", place, name), false;
}

bool json_schema_holds(const json *schema, const json *v, const char *place) {
  for (const json *k = schema->first; k; k = k->next)
    if (!keyword_holds(k, schema, v, place)) return printf("%s: fails \"%s\"\n", place, k->key), false;
  return true;
}
