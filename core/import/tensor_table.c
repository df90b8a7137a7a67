/* core/import/tensor_table.c - see tensor_table.h. */
#include "core/import/tensor_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/name_set.h"
#include "core/base/utf8.h"

weights_tensor *weights_add(weights *w) {
  if (!al_grow(&w->a.al, &w->tensors, &w->cap_tensors, w->n_tensors + 1, sizeof *w->tensors)) return NULL;
  weights_tensor *t = &w->tensors[w->n_tensors++];
  memset(t, 0, sizeof *t);
  return t;
}

weights_meta *weights_add_meta(weights *w) {
  if (!al_grow(&w->a.al, &w->meta, &w->cap_meta, w->n_meta + 1, sizeof *w->meta)) return NULL;
  weights_meta *m = &w->meta[w->n_meta++];
  memset(m, 0, sizeof *m);
  return m;
}

tsr_status weights_bad(const weights *w, uint64_t offset, const char *fmt, ...) {
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return st_make(&w->a.al, TSR_PARSE_ERROR, ST_WHERE("weights", NULL, NULL), "%s: offset %llu: %s", w->file,
                 (unsigned long long)offset, text);
}

bool weights_count(const tsr_shape *s, uint64_t *out) {
  int64_t n = 1;
  bool none = false;
  for (int i = 0; i < s->rank; i++) {
    if (s->dims[i] < 0 || (s->dims[i] && __builtin_mul_overflow(n, s->dims[i], &n))) return false;
    none |= !s->dims[i];
  }
  *out = none ? 0 : (uint64_t)n;
  return true;
}

static tsr_status check_name(const weights *w, name_set *seen, uint64_t at, const char *what, const char *name) {
  if (!utf8_is_text(name, false))
    return weights_bad(w, at, "the name of a %s is not UTF-8 without control characters", what);
  if (name_set_add(seen, name)) return NULL;
  return seen->failed ? st_oom() : weights_bad(w, at, "a second %s \"%s\"", what, name);
}

static int by_offset(const void *a, const void *b) {
  const weights_tensor *x = *(const weights_tensor *const *)a, *y = *(const weights_tensor *const *)b;
  return x->offset < y->offset ? -1 : x->offset > y->offset ? 1 : x < y ? -1 : x > y;
}

/* Two names of one range would be two owners. Entries of an archive were checked as entries. */
static tsr_status check_overlap(const weights *w) {
  size_t n = 0;
  const weights_tensor **v = al_alloc(&w->a.al, (w->n_tensors + 1) * sizeof *v, 16);
  if (!v) return st_oom();
  for (size_t i = 0; i < w->n_tensors; i++)
    if (!w->tensors[i].entry && w->tensors[i].bytes) v[n++] = &w->tensors[i];
  qsort(v, n, sizeof *v, by_offset);
  tsr_status st = NULL;
  for (size_t i = 1; i < n && !st; i++)
    if (v[i]->offset - v[i - 1]->offset < v[i - 1]->bytes)
      st = weights_bad(w, v[i]->offset, "tensor \"%s\" overlaps \"%s\", which ends at %llu", v[i]->name,
                       v[i - 1]->name, (unsigned long long)(v[i - 1]->offset + v[i - 1]->bytes));
  al_free_array(&w->a.al, v, w->n_tensors + 1);
  return st;
}

tsr_status weights_check(const weights *w) {
  name_set names = {.al = &w->a.al}, keys = {.al = &w->a.al};
  tsr_status st = NULL;
  for (size_t i = 0; i < w->n_meta && !st; i++) {
    const weights_meta *m = &w->meta[i];
    st = check_name(w, &keys, m->at, "key", m->key);
    if (!st && m->kind == WEIGHTS_STRING && !utf8_is_text(m->v.s, true))
      st = weights_bad(w, m->at, "the text of \"%s\" is not UTF-8", m->key);
  }
  for (size_t i = 0; i < w->n_tensors && !st; i++) {
    const weights_tensor *t = &w->tensors[i];
    st = check_name(w, &names, t->offset, "tensor", t->name);
    if (!st && !utf8_is_text(t->type, false))
      st = weights_bad(w, t->offset, "the type of \"%s\" is not UTF-8 without control characters", t->name);
  }
  if (!st) st = check_overlap(w);
  name_set_clear(&names);
  name_set_clear(&keys);
  return st;
}
