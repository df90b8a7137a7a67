/* core/tune/record.c - see record.h. */
#include "core/tune/record.h"

#include "core/base/dtype.h"
#include "core/base/file.h"
#include "core/base/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void record_init(record *r, const tsr_allocator *al) {
  memset(r, 0, sizeof *r);
  arena_init(&r->mem, al);
}

void record_clear(record *r) {
  al_free_array(&r->mem.al, r->samples, r->cap_samples);
  al_free_array(&r->mem.al, r->index, r->n_index);
  arena_clear(&r->mem);
  memset(r, 0, sizeof *r);
}

/* Slot of the point in the open-addressed index: its own or the free one where it belongs. */
static uint32_t *slot_of(const record *r, const space_point *p) {
  size_t mask = r->n_index - 1, at = space_point_hash(&r->space, p) & mask;
  while (r->index[at] && !space_point_equal(&r->space, &r->samples[r->index[at] - 1].point, p)) at = (at + 1) & mask;
  return &r->index[at];
}

static bool grow_index(record *r) {
  if (r->n_index && r->n_samples * 2 < r->n_index) return true;
  size_t n = r->n_index ? r->n_index * 2 : 256;
  uint32_t *v = al_zalloc(&r->mem.al, n * sizeof *v);
  if (!v) return false;
  al_free_array(&r->mem.al, r->index, r->n_index);
  r->index = v;
  r->n_index = n;
  for (size_t i = 0; i < r->n_samples; i++) *slot_of(r, &r->samples[i].point) = (uint32_t)i + 1;
  return true;
}

tsr_status record_add(record *r, const space_point *p, const search_result *result) {
  if (!grow_index(r) || !al_grow(&r->mem.al, &r->samples, &r->cap_samples, r->n_samples + 1, sizeof *r->samples))
    return st_oom();
  uint32_t *slot = slot_of(r, p);
  if (*slot) {
    r->samples[*slot - 1].result = *result;
    return NULL;
  }
  r->samples[r->n_samples++] = (search_known){*p, *result};
  *slot = (uint32_t)r->n_samples;
  return NULL;
}

const search_result *record_find(const record *r, const space_point *p) {
  if (!r->n_index) return NULL;
  uint32_t at = *slot_of(r, p);
  return at ? &r->samples[at - 1].result : NULL;
}

static bool recorded(const void *user, const int32_t *values, char *why, size_t why_bytes) {
  const record *r = user;
  space_point p = {{0}};
  for (int32_t i = 0; i < r->space.n_knobs; i++)
    while (r->space.knob[i].value[p.i[i]] != values[i]) p.i[i]++;
  if (record_find(r, &p)) return true;
  snprintf(why, why_bytes, "not recorded");
  return false;
}

static tsr_status bad(const char *file, const char *what) {
  return st_make(NULL, TSR_PARSE_ERROR, ST_WHERE("tune", "record", "written by `tessera tune --record`"), "%s: %s",
                 file, what);
}

static bool read_problem(const json *j, tune_problem *p) {
  memset(p, 0, sizeof *p);
  p->family = sched_family_parse(json_str(j, "family", ""));
  if (!json_copy_str(j, "op", "?", p->op, sizeof p->op)) return false;
  p->batch = json_i64(j, "batch", 1);
  p->m = json_i64(j, "m", 1);
  p->n = json_i64(j, "n", 1);
  p->k = json_i64(j, "k", 1);
  p->passes = json_i32(j, "passes", 1);
  p->in = dtype_parse_real(json_str(j, "in", ""));
  p->acc = dtype_parse_real(json_str(j, "acc", "f32"));
  p->out = dtype_parse_real(json_str(j, "out", ""));
  return p->family < N_FAMILIES && kernel_family(p->family)->tuned_as == p->family && p->in && p->out && p->m > 0 &&
         p->n > 0 && p->k > 0;
}

static bool read_knobs(const json *list, record *r) {
  space_knob knobs[SPACE_MAX_KNOBS];
  int32_t n = 0;
  for (const json *k = list && list->type == JSON_ARRAY ? list->first : NULL; k; k = k->next) {
    const json *values = json_get(k, "values");
    if (n == SPACE_MAX_KNOBS || !values || values->n < 1 || values->n > SPACE_MAX_VALUES || !json_get(k, "name"))
      return false;
    space_knob *o = &knobs[n++];
    *o = (space_knob){.name = arena_str(&r->mem, json_str(k, "name", "")),
                      .keeps_order = json_num(k, "keeps_order", 0) != 0};
    for (const json *v = values->first; v; v = v->next) {
      if (v->type != JSON_NUMBER || !(fabs(v->number) <= INT32_MAX)) return false;
      o->value[o->n++] = (int32_t)v->number;
    }
  }
  return n && space_custom(knobs, n, recorded, r, &r->space);
}

/* One sample is [index per knob..., nanoseconds]; 0 ns is a failed candidate. */
static tsr_status read_samples(const json *list, const char *file, record *r) {
  for (const json *s = list && list->type == JSON_ARRAY ? list->first : NULL; s; s = s->next) {
    space_point p = {{0}};
    const json *v = s->first;
    for (int32_t i = 0; i < r->space.n_knobs; i++, v = v->next) {
      if (!v || v->type != JSON_NUMBER || v->number < 0 || v->number >= r->space.knob[i].n)
        return bad(file, "a sample's index is out of range");
      p.i[i] = (uint8_t)v->number;
    }
    if (!v || v->type != JSON_NUMBER || v->next) return bad(file, "a sample needs an index per knob and nanoseconds");
    search_result res = {v->number, v->number > 0 ? SAMPLE_OK : SAMPLE_FAILED};
    TSR_TRY(record_add(r, &p, &res));
  }
  return r->n_samples ? NULL : bad(file, "no samples");
}

tsr_status record_parse(const char *text, size_t n, const char *file, record *r) {
  arena tmp;
  json *j = NULL;
  arena_init(&tmp, &r->mem.al);
  tsr_status st = json_parse(&tmp, text, n, file, &j);
  if (st) goto done;
  if (json_num(j, "schema", 0) != 1) TSR_GOTO(bad(file, "schema is not 1"));
  if (!json_copy_str(j, "label", "", r->label, sizeof r->label)) TSR_GOTO(bad(file, "a label that is too long"));
  TSR_GOTO(tune_device_parse(json_str(j, "device", ""), file, &r->device));
  if (!read_problem(json_get(j, "problem"), &r->problem)) TSR_GOTO(bad(file, "bad problem"));
  if (!tune_config_parse(json_str(j, "default", ""), &r->dflt)) TSR_GOTO(bad(file, "bad default"));
  if (!read_knobs(json_get(j, "knobs"), r)) TSR_GOTO(bad(file, "bad knobs"));
  st = read_samples(json_get(j, "samples"), file, r);
done:
  arena_clear(&tmp);
  return st;
}

tsr_status record_load(const char *path, record *r) {
  const char *why;
  FILE *f = file_open(path, &why);
  if (!f) return st_make(NULL, TSR_IO_ERROR, ST_WHERE("tune", "record", NULL), "%s: %s", path, why);
  enum { MOST = 64 << 20 };
  char *text = NULL;
  size_t n = 0, cap = 0;
  tsr_status st = NULL;
  for (size_t got = 1; got && !st; n += got) {
    if (n > MOST)
      st = st_make(NULL, TSR_IO_ERROR, ST_WHERE("tune", "record", NULL), "%s: longer than %d MB, so not a record", path,
                   MOST >> 20);
    else if (!al_grow(&r->mem.al, &text, &cap, n + 65536, 1)) st = st_oom();
    else got = fread(text + n, 1, 65536, f);
  }
  fclose(f);
  if (!st) st = record_parse(text, n, path, r);
  al_free_array(&r->mem.al, text, cap);
  return st;
}

void record_print(const record *r, strb *out) {
  const tune_problem *p = &r->problem;
  strb device;
  strb_init(&device, &r->mem.al);
  tune_device_print(&r->device, &device);
  strb_puts(out, "{\"schema\": 1, \"label\": ");
  strb_json(out, r->label);
  strb_puts(out, ",\n\"device\": ");
  strb_json(out, strb_text(&device));
  strb_clear(&device);
  strb_printf(out, ",\n\"problem\": {\"family\": \"%s\", \"op\": ", sched_family_name(p->family));
  strb_json(out, p->op);
  strb_printf(out,
              ", \"batch\": %lld, \"m\": %lld, \"n\": %lld, \"k\": %lld, \"passes\": %d, \"in\": \"%s\", \"acc\": "
              "\"%s\", \"out\": \"%s\"},\n\"default\": \"",
              (long long)p->batch, (long long)p->m, (long long)p->n, (long long)p->k, p->passes, tsr_dtype_name(p->in),
              tsr_dtype_name(p->acc ? p->acc : TSR_F32), tsr_dtype_name(p->out));
  tune_config_print(&r->dflt, out);
  strb_puts(out, "\",\n\"knobs\": [");
  for (int32_t i = 0; i < r->space.n_knobs; i++) {
    const space_knob *k = &r->space.knob[i];
    strb_printf(out, "%s{\"name\": ", i ? ",\n  " : "");
    strb_json(out, k->name);
    strb_printf(out, ", \"keeps_order\": %d, \"values\": [", k->keeps_order);
    for (int32_t v = 0; v < k->n; v++) strb_printf(out, "%s%d", v ? "," : "", k->value[v]);
    strb_puts(out, "]}");
  }
  strb_puts(out, "],\n\"samples\": [");
  for (size_t i = 0; i < r->n_samples; i++) {
    strb_puts(out, i ? ",\n[" : "\n[");
    for (int32_t k = 0; k < r->space.n_knobs; k++) strb_printf(out, "%d,", r->samples[i].point.i[k]);
    const search_result *s = &r->samples[i].result;
    strb_printf(out, "%.17g]", s->state == SAMPLE_OK ? rint(s->ns) : 0);
  }
  strb_puts(out, "\n]}\n");
}

static tsr_status replay_measure(void *user, const tune_space *s, const space_point *points, size_t n,
                                 search_result *out) {
  record *r = user;
  for (size_t i = 0; i < n; i++) {
    const search_result *found = record_find(r, &points[i]);
    if (!found)
      return st_make(&r->mem.al, TSR_NOT_FOUND, ST_WHERE("tune", "replay", "record the space again"),
                     "a point was never recorded");
    out[i] = *found;
  }
  r->lookups += n;
  return NULL;
}

search_measure record_replay(record *r) { return (search_measure){.measure = replay_measure, .user = r}; }

double record_best(const record *r) {
  double best = 0;
  for (size_t i = 0; i < r->n_samples; i++) {
    const search_result *s = &r->samples[i].result;
    if (s->state == SAMPLE_OK && (best == 0 || s->ns < best)) best = s->ns;
  }
  return best;
}
