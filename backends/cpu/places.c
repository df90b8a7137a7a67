/* backends/cpu/places.c - see places.h. Indices that are the same for the line are looked at once, and neighbours in
 * memory move as one. */
#include "backends/cpu/places.h"

#include <string.h>

/* Where a line's elements are: base, and what the indices that vary add. */
typedef struct line_plan {
  int64_t base;
  int axis[TSR_MAX_RANK]; /* those that vary */
  int n_axes;
} line_plan;

/* False: none of the line exists. */
static bool plan(places *p, line_plan *l) {
  *l = (line_plan){0};
  if (p->valid && !p->valid_varies) {
    if (!*p->valid) return false;
    p->valid = NULL;
  }
  for (int k = 0; k < p->d->rank; k++) {
    if (p->varies[k]) {
      l->axis[l->n_axes++] = k;
      continue;
    }
    const int64_t x = *p->at[k];
    if (x < 0 || x >= p->ext[k]) return false;
    l->base += x * p->d->strides[k];
  }
  return p->d->rank || p->d->kind == CPU_D_TILE || p->ext[0];
}

static bool follow_each_other(const int32_t *x, int64_t n) {
  uint32_t odd = 0;
  for (int64_t i = 1; i < n; i++) odd |= (uint32_t)x[i] - (uint32_t)x[i - 1] - 1;
  return !odd;
}

/* Elements [*from, *to) of the line are neighbours in memory from *at on, the others outside it. */
static bool is_run(const places *p, const line_plan *l, int64_t n, int64_t *from, int64_t *to, int64_t *at) {
  const int k = l->axis[0];
  if (l->n_axes != 1 || p->valid || p->d->strides[k] != 1 || !follow_each_other(p->at[k], n)) return false;
  const int64_t first = p->at[k][0], end = p->ext[k] - first;
  *from = first >= 0 ? 0 : -first < n ? -first : n;
  *to = end < *from ? *from : end < n ? end : n;
  *at = l->base + first + *from;
  return true;
}

static bool find(const places *p, const line_plan *l, int64_t e, int64_t *at) {
  if (p->valid && !p->valid[e]) return false;
  *at = l->base;
  for (int i = 0; i < l->n_axes; i++) {
    const int64_t x = p->at[l->axis[i]][e];
    if (x < 0 || x >= p->ext[l->axis[i]]) return false;
    *at += x * p->d->strides[l->axis[i]];
  }
  return true;
}

#define EACH(BODY)                                      \
  switch (size) {                                       \
  case 1: for (int64_t e = 0; e < n; e++) BODY(1) break; \
  case 2: for (int64_t e = 0; e < n; e++) BODY(2) break; \
  case 4: for (int64_t e = 0; e < n; e++) BODY(4) break; \
  default: for (int64_t e = 0; e < n; e++) BODY(8) break; \
  }
#define TAKE(bytes)                                                       \
  {                                                                       \
    if (find(p, &l, e, &at)) memcpy(line + e * bytes, memory + at * bytes, bytes); \
    else memset(line + e * bytes, 0, bytes);                              \
  }
#define PUT(bytes) \
  if (find(p, &l, e, &at)) memcpy(memory + at * bytes, line + e * bytes, bytes);

void places_take(places *p, const char *memory, size_t size, int64_t n, char *line) {
  const int64_t bytes = (int64_t)size;
  int64_t from = 0, to = 0, at = 0;
  line_plan l;
  if (plan(p, &l) && !is_run(p, &l, n, &from, &to, &at)) {
    EACH(TAKE)
    return;
  }
  if (from) memset(line, 0, (size_t)(from * bytes));
  if (to > from) memcpy(line + from * bytes, memory + at * bytes, (size_t)((to - from) * bytes));
  if (to < n) memset(line + to * bytes, 0, (size_t)((n - to) * bytes));
}

void places_put(places *p, char *memory, size_t size, int64_t n, const char *line) {
  const int64_t bytes = (int64_t)size;
  int64_t from, to, at;
  line_plan l;
  if (!plan(p, &l)) return;
  if (!is_run(p, &l, n, &from, &to, &at)) {
    EACH(PUT)
    return;
  }
  if (to > from) memcpy(memory + at * bytes, line + from * bytes, (size_t)((to - from) * bytes));
}
