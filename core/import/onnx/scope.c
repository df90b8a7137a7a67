/* core/import/onnx/scope.c - see scope.h. Open addressing over borrowed names. */
#include "core/import/onnx/scope.h"

#include <string.h>

#include "core/base/hash.h"

static cv_name *place_of(cv_name *v, size_t cap, const char *name) {
  size_t at = (size_t)hash_mix(hash_str(HASH_SEED, name)) & (cap - 1);
  while (v[at].name && strcmp(v[at].name, name)) at = (at + 1) & (cap - 1);
  return &v[at];
}

cv_name *cv_scope_find(cv_scope *s, const char *name) {
  for (; s; s = s->outer) {
    cv_name *x = s->cap ? place_of(s->v, s->cap, name) : NULL;
    if (x && x->name) return x;
  }
  return NULL;
}

cv_name *cv_scope_set(cv_scope *s, const char *name, ir_value *v) {
  if (2 * (s->n + 1) > s->cap) {
    const size_t cap = s->cap ? 2 * s->cap : 64;
    cv_name *more = al_zalloc(NULL, cap * sizeof *more);
    if (!more) return NULL;
    for (size_t i = 0; i < s->cap; i++)
      if (s->v[i].name) *place_of(more, cap, s->v[i].name) = s->v[i];
    al_free_array(NULL, s->v, s->cap);
    s->v = more;
    s->cap = cap;
  }
  cv_name *x = place_of(s->v, s->cap, name);
  s->n += !x->name;
  *x = (cv_name){.name = name, .v = v};
  return x;
}

void cv_scope_clear(cv_scope *s) {
  al_free_array(NULL, s->v, s->cap);
  *s = (cv_scope){.outer = s->outer};
}
