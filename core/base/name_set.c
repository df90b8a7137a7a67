/* core/base/name_set.c - see name_set.h. At most half of the table is taken, and its size is a power of two. */
#include "core/base/name_set.h"

#include <string.h>

#include "core/base/hash.h"

/* Where the name is, or the free place for it. */
static size_t place_of(const char **v, size_t cap, const char *name) {
  size_t at = hash_mix(hash_str(HASH_SEED, name)) & (cap - 1);
  while (v[at] && strcmp(v[at], name)) at = (at + 1) & (cap - 1);
  return at;
}

static bool grow(name_set *s) {
  size_t cap = s->cap ? 2 * s->cap : 64;
  const char **v = al_zalloc(s->al, cap * sizeof *v);
  if (!v) return false;
  for (size_t i = 0; i < s->cap; i++)
    if (s->v[i]) v[place_of(v, cap, s->v[i])] = s->v[i];
  al_free_array(s->al, s->v, s->cap);
  s->v = v;
  s->cap = cap;
  return true;
}

bool name_set_has(const name_set *s, const char *name) { return s->cap && s->v[place_of(s->v, s->cap, name)]; }

bool name_set_add(name_set *s, const char *name) {
  if (2 * (s->n + 1) > s->cap && !grow(s)) {
    s->failed = true;
    return false;
  }
  size_t at = place_of(s->v, s->cap, name);
  if (s->v[at]) return false;
  s->v[at] = name;
  s->n++;
  return true;
}

void name_set_clear(name_set *s) {
  al_free_array(s->al, s->v, s->cap);
  s->v = NULL;
  s->n = s->cap = 0;
}
