/* core/tune/space.c - points, enumeration, neighbours, hashing and text of a search space. Builders: space_build.c. */
#include "core/tune/space.h"

#include "core/base/hash.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a knob stands in a config; -1: it is none of the tuner's. */
static const int16_t config_fields[N_SCHED_KNOBS] = {
#define FIELD_COUNT(name) [KNOB_##name] = offsetof(tune_config, name),
#define FIELD_POWER FIELD_COUNT
#define FIELD_PADDING FIELD_COUNT
#define FIELD_SWITCH FIELD_COUNT
#define FIELD_PATH FIELD_COUNT
#define FIELD_FLAG(name) [KNOB_##name] = -1,
#define FIELD(name, primitive, attr, kind, ...) FIELD_##kind(name)
    SCHED_KNOBS(FIELD)
#undef FIELD
};

static int32_t *config_at(tune_config *c, int knob) { return (int32_t *)((char *)c + config_fields[knob]); }

int32_t *tune_config_at(tune_config *c, const sched_knob *knob) {
  int i = (int)(knob - sched_knobs);
  return config_fields[i] < 0 ? NULL : config_at(c, i);
}

static int config_field_index(const char *name) {
  const sched_knob *k = sched_knob_find(name);
  return k && config_fields[k - sched_knobs] >= 0 ? (int)(k - sched_knobs) : -1;
}

int32_t *tune_config_field(tune_config *c, const char *name) {
  int i = config_field_index(name);
  return i < 0 ? NULL : config_at(c, i);
}

static int32_t fit32(int64_t v) { return (int32_t)(v > INT32_MAX ? INT32_MAX : v < 0 ? 0 : v); }

int32_t tune_path_of(const char *path) {
  const matrix_path *row = path ? matrix_path_find(path) : NULL;
  return !row ? PATH_AUTO : row->config != PATH_NONE ? row->config : row->has_matrix ? PATH_AUTO : PATH_FMA;
}

void tune_config_merge(tune_config *c, const sched_params *p) {
  for (int i = 0; i < N_SCHED_KNOBS; i++) {
    const sched_knob *k = &sched_knobs[i];
    if (config_fields[i] < 0 || !sched_is_set(k, p)) continue;
    *config_at(c, i) = k->kind == SCHED_PATH ? tune_path_of(p->matrix_path) : fit32(sched_get(k, p));
  }
}

bool space_custom(const space_knob *knobs, int32_t n, space_legal_fn legal, const void *user, tune_space *out) {
  memset(out, 0, sizeof *out);
  if (n < 1 || n > SPACE_MAX_KNOBS) return false;
  for (int32_t i = 0; i < n; i++) {
    if (knobs[i].n < 1 || knobs[i].n > SPACE_MAX_VALUES || !knobs[i].name) return false;
    out->knob[i] = knobs[i];
    out->field[i] = (int8_t)config_field_index(knobs[i].name);
  }
  out->n_knobs = n;
  out->legal = legal;
  out->user = user;
  return true;
}

void space_restrict(tune_space *s, const char *knobs, const tune_config *dflt) {
  tune_config d = *dflt;
  for (int32_t i = 0; i < s->n_knobs; i++) {
    space_knob *k = &s->knob[i];
    size_t n = strlen(k->name);
    bool kept = false;
    for (const char *at = knobs; *at; at += strcspn(at, ","), at += *at == ',')
      kept |= strcspn(at, ",") == n && !strncmp(at, k->name, n);
    if (kept || s->field[i] < 0) continue;
    k->n = 1;
    k->value[0] = *config_at(&d, s->field[i]);
  }
}

void space_knob_include(space_knob *k, int32_t v) {
  int32_t at = 0;
  while (at < k->n && k->value[at] < v) at++;
  if ((at < k->n && k->value[at] == v) || k->n == SPACE_MAX_VALUES) return;
  memmove(&k->value[at + 1], &k->value[at], (size_t)(k->n - at) * sizeof k->value[0]);
  k->value[at] = v;
  k->n++;
}

static void space_values(const tune_space *s, const space_point *p, int32_t *values) {
  for (int32_t i = 0; i < s->n_knobs; i++) values[i] = s->knob[i].value[p->i[i]];
}

bool space_is_legal(const tune_space *s, const space_point *p, char *why, size_t why_bytes) {
  int32_t v[SPACE_MAX_KNOBS];
  if (why_bytes) why[0] = 0;
  for (int32_t i = 0; i < s->n_knobs; i++)
    if (p->i[i] >= s->knob[i].n) return false;
  if (!s->legal) return true;
  space_values(s, p, v);
  return s->legal(s->user, v, why, why_bytes);
}

void space_config_set(const tune_space *s, const int32_t *values, tune_config *c) {
  for (int32_t i = 0; i < s->n_knobs; i++)
    if (s->field[i] >= 0) *config_at(c, s->field[i]) = values[i];
}

tune_config space_config(const tune_space *s, const space_point *p) {
  int32_t v[SPACE_MAX_KNOBS];
  tune_config c = {0};
  space_values(s, p, v);
  space_config_set(s, v, &c);
  return c;
}

static double log2_of(int32_t v) { return v > 0 ? log2(v) : v == 0 ? -1 : -2; }

bool space_nearest(const tune_space *s, const tune_config *c, space_point *out) {
  tune_config want = *c;
  memset(out, 0, sizeof *out);
  for (int32_t i = 0; i < s->n_knobs; i++) {
    int32_t v = s->field[i] >= 0 ? *config_at(&want, s->field[i]) : s->knob[i].value[0];
    double best = INFINITY;
    for (int32_t j = 0; j < s->knob[i].n; j++) {
      double d = fabs(log2_of(s->knob[i].value[j]) - log2_of(v));
      if (d >= best) continue;
      best = d;
      out->i[i] = (uint8_t)j;
    }
  }
  if (space_is_legal(s, out, NULL, 0)) return true;
  /* Not legal as a whole: the legal point with the least summed distance. */
  space_point *all = NULL, near = *out;
  size_t n = 0;
  bool cut;
  tsr_status st = space_enumerate(s, NULL, 1u << 20, &all, &n, &cut);
  if (st) {
    tsr_status_free(st);
    return false;
  }
  double best = INFINITY;
  for (size_t a = 0; a < n; a++) {
    double d = 0;
    for (int32_t i = 0; i < s->n_knobs; i++)
      d += fabs(log2_of(s->knob[i].value[all[a].i[i]]) - log2_of(s->knob[i].value[near.i[i]]));
    if (d >= best) continue;
    best = d;
    *out = all[a];
  }
  al_free_array(NULL, all, n);
  return n > 0;
}

uint64_t space_size(const tune_space *s) {
  uint64_t n = s->n_knobs > 0;
  for (int32_t i = 0; i < s->n_knobs; i++) {
    if (n > UINT64_MAX / (uint64_t)s->knob[i].n) return UINT64_MAX;
    n *= (uint64_t)s->knob[i].n;
  }
  return n;
}

/* Odometer with the last knob fastest; false after the last point. */
static bool advance(const tune_space *s, space_point *p) {
  for (int32_t i = s->n_knobs; i-- > 0;) {
    if (++p->i[i] < s->knob[i].n) return true;
    p->i[i] = 0;
  }
  return false;
}

tsr_status space_enumerate(const tune_space *s, const tsr_allocator *al, size_t max, space_point **out, size_t *n_out,
                           bool *truncated) {
  space_point *v = NULL, p = {{0}};
  size_t n = 0, cap = 0;
  *out = NULL;
  *n_out = 0;
  *truncated = false;
  if (s->n_knobs < 1) return NULL;
  do {
    if (!space_is_legal(s, &p, NULL, 0)) continue;
    if (n == max) {
      *truncated = true;
      break;
    }
    if (!al_grow(al, &v, &cap, n + 1, sizeof *v)) {
      al_free_array(al, v, cap);
      return st_oom();
    }
    v[n++] = p;
  } while (advance(s, &p));
  if (n < cap) { /* exact size, so that the count frees it */
    space_point *exact = n ? al_alloc(al, n * sizeof *exact, 16) : NULL;
    if (n && exact) memcpy(exact, v, n * sizeof *exact);
    al_free_array(al, v, cap);
    if (n && !exact) return st_oom();
    v = exact;
  }
  *out = v;
  *n_out = n;
  return NULL;
}

size_t space_neighbours(const tune_space *s, const space_point *p, space_point out[2 * SPACE_MAX_KNOBS]) {
  size_t n = 0;
  for (int32_t i = 0; i < s->n_knobs; i++)
    for (int step = -1; step <= 1; step += 2) {
      space_point q = *p;
      if ((step < 0 && !p->i[i]) || (step > 0 && p->i[i] + 1 >= s->knob[i].n)) continue;
      q.i[i] = (uint8_t)(q.i[i] + step);
      if (space_is_legal(s, &q, NULL, 0)) out[n++] = q;
    }
  return n;
}

uint64_t space_point_hash(const tune_space *s, const space_point *p) {
  return hash_mix(hash_bytes(HASH_SEED, p->i, (size_t)s->n_knobs));
}

bool space_point_equal(const tune_space *s, const space_point *a, const space_point *b) {
  return !memcmp(a->i, b->i, (size_t)s->n_knobs);
}

int32_t space_coords(const tune_space *s, const space_point *p, double *out) {
  int32_t n = 0;
  for (int32_t i = 0; i < s->n_knobs; i++) {
    const space_knob *k = &s->knob[i];
    if (k->n < 2) continue;
    double lo = log2_of(k->value[0]), hi = log2_of(k->value[k->n - 1]);
    out[n++] = hi > lo ? (log2_of(k->value[p->i[i]]) - lo) / (hi - lo) : (double)p->i[i] / (k->n - 1);
  }
  return n;
}

void space_point_print(const tune_space *s, const space_point *p, strb *out) {
  for (int32_t i = 0; i < s->n_knobs; i++)
    strb_printf(out, "%s%s=%d", i ? " " : "", s->knob[i].name, s->knob[i].value[p->i[i]]);
}

/* One "name=value" from *text; false at the end or when malformed (*bad). */
static bool next_pair(const char **text, char name[32], long *value, bool *bad) {
  const char *p = *text + strspn(*text, " ");
  if (!*p) return false;
  size_t n = strcspn(p, "= ");
  char *end = NULL;
  *bad = n == 0 || n > 31 || p[n] != '=';
  if (*bad) return false;
  memcpy(name, p, n);
  name[n] = 0;
  *value = strtol(p + n + 1, &end, 10);
  *bad = end == p + n + 1 || (*end && *end != ' ') || *value > INT32_MAX || *value < INT32_MIN;
  *text = end;
  return !*bad;
}

bool space_point_parse(const tune_space *s, const char *text, space_point *out) {
  char name[32];
  long value;
  bool bad = false;
  uint32_t seen = 0;
  memset(out, 0, sizeof *out);
  while (next_pair(&text, name, &value, &bad)) {
    int32_t i = 0, j = 0;
    while (i < s->n_knobs && strcmp(s->knob[i].name, name)) i++;
    if (i == s->n_knobs || (seen & (1u << i))) return false;
    while (j < s->knob[i].n && s->knob[i].value[j] != value) j++;
    if (j == s->knob[i].n) return false;
    out->i[i] = (uint8_t)j;
    seen |= 1u << i;
  }
  return !bad && seen == (1u << s->n_knobs) - 1;
}

void tune_config_print(const tune_config *c, strb *out) {
  tune_config copy = *c;
  for (int i = 0; i < N_SCHED_KNOBS; i++)
    if (config_fields[i] >= 0) strb_printf(out, "%s%s=%d", i ? " " : "", sched_knobs[i].name, *config_at(&copy, i));
}

bool tune_config_parse(const char *text, tune_config *out) {
  char name[32];
  long value;
  bool bad = false;
  memset(out, 0, sizeof *out);
  while (next_pair(&text, name, &value, &bad)) {
    int32_t *f = tune_config_field(out, name);
    if (!f || value < 0) return false;
    *f = (int32_t)value;
  }
  return !bad;
}

typedef struct prune_count {
  char why[96];
  uint64_t n;
} prune_count;

/* Reasons are grouped by their first word(s) up to a digit, so that "shared memory 98304 > 49152" is one row; the first
 * of a group stands for it. */
static void count_reason(prune_count *rows, size_t n_rows, const char *why) {
  size_t len = strcspn(why, "0123456789");
  for (size_t i = 0; i < n_rows; i++) {
    if (!rows[i].n) snprintf(rows[i].why, sizeof rows[i].why, "%s", why);
    if (strncmp(rows[i].why, why, len) || strcspn(rows[i].why, "0123456789") != len) continue;
    rows[i].n++;
    return;
  }
}

tsr_status space_print(const tune_space *s, const tsr_allocator *al, strb *out) {
  prune_count rows[24] = {{{0}, 0}};
  uint64_t legal = 0, size = space_size(s), seen = 0;
  enum { MOST = 1 << 22 };
  strb_printf(out, "%-12s %-6s %s\n", "knob", "order", "values");
  for (int32_t i = 0; i < s->n_knobs; i++) {
    strb_printf(out, "%-12s %-6s", s->knob[i].name, s->knob[i].keeps_order ? "keeps" : "moves");
    for (int32_t j = 0; j < s->knob[i].n; j++) strb_printf(out, " %d", s->knob[i].value[j]);
    strb_putc(out, '\n');
  }
  space_point p = {{0}};
  char why[96];
  if (s->n_knobs) do {
      if (space_is_legal(s, &p, why, sizeof why)) legal++;
      else count_reason(rows, sizeof rows / sizeof *rows, why);
    } while (++seen < MOST && advance(s, &p));
  strb_printf(out, "points %llu, legal %llu%s, pruned %llu\n", (unsigned long long)size, (unsigned long long)legal,
              seen < size ? " (of the first 4194304)" : "", (unsigned long long)(seen - legal));
  for (size_t i = 0; i < sizeof rows / sizeof *rows && rows[i].n; i++)
    strb_printf(out, "  pruned %10llu  %s%s\n", (unsigned long long)rows[i].n, rows[i].why,
                rows[i].why[strcspn(rows[i].why, "0123456789")] ? " (and the like)" : "");
  return strb_ok(out) ? NULL : st_oom();
}
