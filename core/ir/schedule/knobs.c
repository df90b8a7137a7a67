/* core/ir/schedule/knobs.c - see knobs.h. */
#include "core/ir/schedule/knobs.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/status.h"
#include "core/ir/schedule/schedule.h"

#define FOR_PRODUCTS (1u << SPACE_CONTRACTION)
#define FOR_ROWS (1u << SPACE_ROWS)
#define FOR_ALL (1u << SPACE_ELEMENTS | FOR_ROWS | FOR_PRODUCTS)

#define ROW(name, primitive, attr, kind, least, most, dflt, spaces, on_cpu, help)                                   \
  {#name,    attr,   primitive, SCHED_##kind, least, most, dflt, spaces, on_cpu, help, offsetof(sched_params, name), \
   offsetof(tsr_schedule, name)},
const sched_knob sched_knobs[N_SCHED_KNOBS] = {SCHED_KNOBS(ROW)};
#undef ROW

/* The public struct has the same fields with the same types. */
#define SAME(name, ...)                                                                       \
  _Static_assert(sizeof(((sched_params *)0)->name) == sizeof(((tsr_schedule *)0)->name) &&    \
                     _Generic(((tsr_schedule *)0)->name, int64_t: 1, int: 2, bool: 3, default: 4) ==  \
                         _Generic(((sched_params *)0)->name, int64_t: 1, int: 2, bool: 3, default: 4), \
                 "tsr_schedule." #name " has another type");
SCHED_KNOBS(SAME)
#undef SAME

#define NAME(name, ...) ", " #name
static const char names[] = SCHED_KNOBS(NAME);
#undef NAME
const char *sched_knob_names(void) { return names + 2; }

bool sched_knob_is_for(const sched_knob *k, sched_family f) {
  const kernel_family_row *row = kernel_family(f);
  return row->tuned_as == f && f != FAMILY_NONE && k->spaces >> row->space & 1;
}

const sched_knob *sched_knob_find(const char *name) {
  for (int i = 0; i < N_SCHED_KNOBS; i++)
    if (!strcmp(sched_knobs[i].name, name)) return &sched_knobs[i];
  return NULL;
}

const matrix_path *sched_path_of(const sched_params *p) {
  const matrix_path *path = p->matrix_path ? matrix_path_find(p->matrix_path) : NULL;
  return path ? path : matrix_path_find("auto");
}

/* ---- fields ---------------------------------------------------------------------------------------------------- */

static int64_t get_at(const sched_knob *k, const void *from) {
  switch (k->kind) {
  case SCHED_SWITCH: return *(const int *)from;
  case SCHED_FLAG: return *(const bool *)from;
  default: return *(const int64_t *)from;
  }
}

static void set_at(const sched_knob *k, void *to, int64_t v) {
  switch (k->kind) {
  case SCHED_SWITCH: *(int *)to = (int)v; break;
  case SCHED_FLAG: *(bool *)to = v != 0; break;
  default: *(int64_t *)to = v;
  }
}

int64_t sched_get(const sched_knob *k, const sched_params *p) { return get_at(k, (const char *)p + k->at); }
void sched_set(const sched_knob *k, sched_params *p, int64_t v) { set_at(k, (char *)p + k->at, v); }

bool sched_is_set(const sched_knob *k, const sched_params *p) {
  return k->kind == SCHED_PATH ? p->matrix_path != NULL : sched_get(k, p) != 0;
}

bool sched_any_set(const sched_params *p) {
  for (int i = 0; i < N_SCHED_KNOBS; i++)
    if (sched_knobs[i].kind != SCHED_FLAG && sched_is_set(&sched_knobs[i], p)) return true;
  return false;
}

bool sched_equal(const sched_params *a, const sched_params *b) {
  for (int i = 0; i < N_SCHED_KNOBS; i++)
    if (sched_knobs[i].kind != SCHED_PATH && sched_get(&sched_knobs[i], a) != sched_get(&sched_knobs[i], b))
      return false;
  return a->matrix_path && b->matrix_path ? !strcmp(a->matrix_path, b->matrix_path) : a->matrix_path == b->matrix_path;
}

void sched_merge(sched_params *base, const sched_params *over) {
  for (int i = 0; i < N_SCHED_KNOBS; i++)
    if (sched_knobs[i].kind != SCHED_PATH && sched_is_set(&sched_knobs[i], over))
      sched_set(&sched_knobs[i], base, sched_get(&sched_knobs[i], over));
  if (over->matrix_path) base->matrix_path = over->matrix_path;
}

sched_params sched_from_public(const tsr_schedule *s) {
  sched_params p = {.matrix_path = s->matrix_path};
  for (int i = 0; i < N_SCHED_KNOBS; i++)
    if (sched_knobs[i].kind != SCHED_PATH)
      sched_set(&sched_knobs[i], &p, get_at(&sched_knobs[i], (const char *)s + sched_knobs[i].public_at));
  return p;
}

tsr_schedule sched_to_public(const sched_params *p) {
  tsr_schedule s = {.matrix_path = p->matrix_path};
  for (int i = 0; i < N_SCHED_KNOBS; i++)
    if (sched_knobs[i].kind != SCHED_PATH)
      set_at(&sched_knobs[i], (char *)&s + sched_knobs[i].public_at, sched_get(&sched_knobs[i], p));
  return s;
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

void sched_knob_values(const sched_knob *k, char *out, size_t cap) {
  size_t n = 0;
  switch (k->kind) {
  case SCHED_COUNT:
  case SCHED_PADDING: snprintf(out, cap, "%lld to %lld", (long long)k->least, (long long)k->most); break;
  case SCHED_POWER:
    for (int64_t v = k->least; v <= k->most && n < cap; v *= 2)
      n += (size_t)snprintf(out + n, cap - n, "%s%lld", n ? ", " : "", (long long)v);
    break;
  case SCHED_SWITCH:
  case SCHED_FLAG: snprintf(out, cap, "on, off"); break;
  case SCHED_PATH: snprintf(out, cap, "%s", SCHED_PATH_WORDS); break;
  }
}

bool sched_knob_takes(const sched_knob *k, int64_t v) {
  if (k->kind == SCHED_SWITCH || k->kind == SCHED_PADDING)
    if (v == -1) return true;
  return v >= k->least && v <= k->most && (k->kind != SCHED_POWER || !(v & (v - 1)));
}

tsr_status sched_check(const tsr_allocator *al, const sched_params *p) {
  char values[512];
  for (int i = 0; i < N_SCHED_KNOBS; i++) {
    const sched_knob *k = &sched_knobs[i];
    bool known = k->kind == SCHED_PATH ? !p->matrix_path || matrix_path_find(p->matrix_path)
                                       : !sched_is_set(k, p) || sched_knob_takes(k, sched_get(k, p));
    if (known) continue;
    sched_knob_values(k, values, sizeof values);
    if (k->kind == SCHED_PATH)
      return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("schedule", k->name, values), "no path \"%.64s\"",
                     p->matrix_path);
    return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("schedule", k->name, values), "%lld is none of its values",
                   (long long)sched_get(k, p));
  }
  return NULL;
}

/* True: *v is the value as the field has it. */
static bool parse_value(const sched_knob *k, const char *text, int64_t *v) {
  char *end;
  *v = strtoll(text, &end, 10);
  bool number = end != text && !*end;
  if (k->kind == SCHED_SWITCH || k->kind == SCHED_FLAG) {
    bool on = !strcmp(text, "on") || (number && *v == 1), off = !strcmp(text, "off") || (number && *v == 0);
    *v = on ? 1 : k->kind == SCHED_FLAG ? 0 : -1;
    return on || off;
  }
  if (k->kind == SCHED_PADDING && number && *v == 0) return *v = -1, true;
  return number && *v > 0 && sched_knob_takes(k, *v);
}

tsr_status sched_parse(const tsr_allocator *al, const char *name, const char *value, sched_params *p) {
  char values[512];
  const sched_knob *k = sched_knob_find(name);
  if (!k)
    return st_make(al, TSR_NOT_FOUND, ST_WHERE("schedule", "knobs", sched_knob_names()), "no knob \"%.64s\"", name);
  const matrix_path *path = k->kind == SCHED_PATH ? matrix_path_find(value) : NULL;
  int64_t v = 0;
  if (k->kind == SCHED_PATH ? !path : !parse_value(k, value, &v)) {
    sched_knob_values(k, values, sizeof values);
    return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("schedule", k->name, values), "\"%.64s\" is none of its values",
                   value);
  }
  if (path) p->matrix_path = path->name;
  else sched_set(k, p, v);
  return NULL;
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

void sched_print(strb *b, const sched_params *p) {
  strb_printf(b, "%lldx%lldx%lld", (long long)p->m, (long long)p->n, (long long)p->k);
  for (int i = KNOB_autotune + 1; i < N_SCHED_KNOBS; i++) {
    const sched_knob *k = &sched_knobs[i];
    if (!sched_is_set(k, p)) continue;
    int64_t v = k->kind == SCHED_PATH ? 0 : sched_get(k, p);
    if (k->kind == SCHED_PATH) strb_printf(b, " %s=%s", k->name, p->matrix_path);
    else if (k->kind == SCHED_SWITCH) strb_printf(b, " %s=%s", k->name, v > 0 ? "on" : "off");
    else strb_printf(b, " %s=%lld", k->name, (long long)(v > 0 ? v : 0));
  }
}
