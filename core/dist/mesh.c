/* core/dist/mesh.c - see mesh.h. */
#include "core/dist/mesh.h"

#include <stdio.h>
#include <string.h>

#include "core/base/int_math.h"
#include "core/ir/shard.h"

#define BAD(...) st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("mesh", "create", NULL), __VA_ARGS__)

/* The k factors of n whose largest is the least possible, and of those whose sum is; descending. */
static void balanced(int64_t n, int k, int64_t most, int64_t *now, int at, int64_t *best) {
  if (at == k) {
    if (n != 1) return;
    int64_t sum = 0, best_sum = 0;
    for (int i = 0; i < k; i++) sum += now[i], best_sum += best[i];
    if (!best[0] || now[0] < best[0] || (now[0] == best[0] && sum < best_sum))
      memcpy(best, now, sizeof *now * (size_t)k);
    return;
  }
  for (int64_t f = 1; f <= most && f <= n; f++) {
    if (n % f) continue;
    now[at] = f;
    balanced(n / f, k, f, now, at + 1, best);
  }
}

static tsr_status fill(dist_mesh *m, int64_t ranks) {
  int64_t given = 1, now[DIST_MAX_AXES], best[DIST_MAX_AXES] = {0};
  int missing = 0, open = 0; /* the first that is missing */
  for (int i = 0; i < m->n; i++) {
    if (m->size[i]) given *= m->size[i];
    else if (!missing++) open = i;
    if (given > DIST_MAX_RANKS) return BAD("more than %d ranks", DIST_MAX_RANKS);
  }
  if (!ranks && missing)
    return BAD("axis %d \"%s\" has no size, and the number of ranks isn't said", open, m->name[open]);
  if (ranks && (ranks % given || (!missing && ranks != given)))
    return BAD("the sizes make %lld ranks, there are %lld", (long long)given, (long long)ranks);
  m->ranks = ranks ? ranks : given;
  if (missing) balanced(ranks / given, missing, ranks / given, now, 0, best);
  for (int i = 0, k = 0; i < m->n; i++)
    if (!m->size[i]) m->size[i] = best[k++];
  return NULL;
}

static tsr_status check_axis(int i, const char *name, int64_t size) {
  char of[40] = "without a size";
  if (size) snprintf(of, sizeof of, "of size %lld", (long long)size);
  if (!name || !*name) return BAD("axis %d %s has no name", i, of);
  if (strlen(name) >= DIST_NAME)
    return BAD("axis %d \"%.*s...\" %s: a name has at most %d characters", i, DIST_NAME - 1, name, of, DIST_NAME - 1);
  if (size < 0 || size > DIST_MAX_RANKS)
    return BAD("axis %d \"%s\" %s; 1 to %d, 0: to be chosen", i, name, of, DIST_MAX_RANKS);
  return NULL;
}

tsr_status dist_mesh_make(const char *const *names, const int64_t *sizes, int n, int64_t ranks, dist_mesh *out) {
  char text[DIST_MAX_AXES * (DIST_NAME + 24)] = "", fault[IR_MESH_FAULT];
  *out = (dist_mesh){.n = n};
  if (n < 1 || n > DIST_MAX_AXES) return BAD("%d axes; 1 to %d", n, DIST_MAX_AXES);
  if (ranks < 0 || ranks > DIST_MAX_RANKS) return BAD("%lld ranks; at most %d", (long long)ranks, DIST_MAX_RANKS);
  for (int i = 0; i < n; i++) {
    TSR_TRY(check_axis(i, names ? names[i] : NULL, sizes ? sizes[i] : 0));
    strcpy(out->name[i], names[i]);
    out->size[i] = sizes ? sizes[i] : 0;
    const size_t at = strlen(text);
    snprintf(text + at, sizeof text - at, "%s%s=1", i ? "," : "", names[i]);
  }
  const char *why = ir_mesh_fault(text, fault);
  return why ? BAD("%s", why) : fill(out, ranks);
}

tsr_status dist_mesh_parse(const char *text, int64_t ranks, dist_mesh *out) {
  char name[DIST_MAX_AXES][DIST_NAME];
  const char *names[DIST_MAX_AXES], *s;
  int64_t sizes[DIST_MAX_AXES];
  int n = 0, len;
  for (const char *at = text; ir_mesh_next(&at, &s, &len, &sizes[n]); n++) {
    if (n + 1 == DIST_MAX_AXES) return BAD("at most %d axes", DIST_MAX_AXES - 1);
    if (sizes[n] < 0)
      return BAD("\"%.60s\": the size of axis %d \"%.*s\" is 1 to %d", text, n, (int)min64(len, DIST_NAME - 1), s,
                 DIST_MAX_RANKS);
    if (len >= DIST_NAME)
      return BAD("axis %d \"%.*s...\": a name has at most %d characters", n, DIST_NAME - 1, s, DIST_NAME - 1);
    snprintf(name[n], DIST_NAME, "%.*s", len, s);
    names[n] = name[n];
  }
  return dist_mesh_make(names, sizes, n, ranks, out);
}

void dist_mesh_print(strb *b, const dist_mesh *m) {
  for (int i = 0; i < m->n; i++) strb_printf(b, "%s%s=%lld", i ? "," : "", m->name[i], (long long)m->size[i]);
}

int dist_mesh_axis(const dist_mesh *m, const char *name, int n) {
  for (int i = 0; i < m->n; i++)
    if ((int)strlen(m->name[i]) == n && !strncmp(m->name[i], name, (size_t)n)) return i;
  return -1;
}

static int64_t stride_of(const dist_mesh *m, int axis) {
  int64_t s = 1;
  for (int i = 0; i < axis; i++) s *= m->size[i];
  return s;
}

int64_t dist_mesh_coord(const dist_mesh *m, int64_t rank, int axis) {
  return rank / stride_of(m, axis) % m->size[axis];
}

int64_t dist_mesh_extent(const dist_mesh *m, uint32_t axes) {
  int64_t n = 1;
  for (int i = 0; i < m->n; i++) n *= axes >> i & 1 ? m->size[i] : 1;
  return n;
}

int64_t dist_mesh_group(const dist_mesh *m, uint32_t axes, int64_t rank, int64_t *member) {
  int64_t group = 0, in = 0, of_group = 1, of_member = 1;
  for (int i = 0; i < m->n; i++) {
    const int64_t c = dist_mesh_coord(m, rank, i);
    if (axes >> i & 1) in += c * of_member, of_member *= m->size[i];
    else group += c * of_group, of_group *= m->size[i];
  }
  *member = in;
  return group;
}

void dist_mesh_axes_text(const dist_mesh *m, uint32_t axes, char *out, size_t size) {
  size_t at = 0;
  *out = 0;
  for (int i = m->n; i-- > 0;)
    if (axes >> i & 1 && at < size) at += (size_t)snprintf(out + at, size - at, "%s%s", at ? "+" : "", m->name[i]);
}

void dist_mesh_axes_told(const dist_mesh *m, uint32_t axes, char out[DIST_AXES_TOLD]) {
  int at = 0;
  *out = 0;
  for (int i = m->n; i-- > 0;)
    if (axes >> i & 1)
      at += snprintf(out + at, (size_t)(DIST_AXES_TOLD - at), "%saxis %d \"%s\" of size %lld", at ? " and " : "", i,
                     m->name[i], (long long)m->size[i]);
}

uint32_t dist_mesh_axes_of(const dist_mesh *m, const char *text) {
  uint32_t axes = 0;
  int last = m->n;
  for (int n; *text; text += n + (text[n] == '+')) {
    n = (int)strcspn(text, "+");
    const int axis = dist_mesh_axis(m, text, n);
    if (axis < 0 || axis >= last) return 0;
    axes |= 1u << (last = axis);
  }
  return axes;
}
