/* core/tune/cache_json.c - the cache as text: export, import, merge, list, show. */
#include "core/tune/cache.h"

#include "core/base/json.h"
#include "core/tune/space.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const key_names[] = {"op",   "shape", "dtype",  "layout",   "policy",
                                        "mesh", "arch",  "driver", "generator"};
enum { N_KEY_NAMES = sizeof key_names / sizeof *key_names };

static const char **key_part(tune_key *k, int i) {
  const char **const p[N_KEY_NAMES] = {&k->op,   &k->shape, &k->dtype,  &k->layout,   &k->policy,
                                       &k->mesh, &k->arch,  &k->driver, &k->generator};
  return p[i];
}

static const struct number_field {
  const char *name;
  size_t at;
} numbers[] = {{"best_ns", offsetof(tune_entry, best_ns)},
               {"runner_up_ns", offsetof(tune_entry, runner_up_ns)},
               {"default_ns", offsetof(tune_entry, default_ns)},
               {"predicted_ns", offsetof(tune_entry, predicted_ns)},
               {"samples", offsetof(tune_entry, samples)}};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

static void put_member(strb *b, const char *name, const char *value) {
  strb_printf(b, "\"%s\": ", name);
  strb_json(b, value);
  strb_puts(b, ", ");
}

/* The members of an entry, without braces and without the trials. */
static void put_entry(strb *b, const tune_key *key, const tune_entry *e) {
  tune_key k = *key;
  for (int i = 0; i < N_KEY_NAMES; i++) put_member(b, key_names[i], *key_part(&k, i) ? *key_part(&k, i) : "");
  put_member(b, "config", e->config);
  put_member(b, "runner_up", e->runner_up);
  put_member(b, "strategy", e->strategy);
  for (int i = 0; i < N_NUMBERS; i++) {
    double v;
    memcpy(&v, (const char *)e + numbers[i].at, sizeof v);
    strb_printf(b, "%s\"%s\": %.17g", i ? ", " : "", numbers[i].name, isfinite(v) ? v : 0);
  }
}

typedef struct writer {
  tune_cache *c;
  strb *b;
  const char *match;
  bool json;
  size_t n, n_trials;
} writer;

static bool put_trial(void *user, const tune_trial *t) {
  writer *w = user;
  strb_puts(w->b, w->n_trials++ ? ",\n    {" : "\n    {");
  put_member(w->b, "config", t->config);
  put_member(w->b, "state", t->state);
  strb_printf(w->b, "\"ns\": %.17g, \"registers\": %.17g}", isfinite(t->ns) ? t->ns : 0,
              isfinite(t->registers) ? t->registers : -1);
  return true;
}

static bool export_entry(void *user, const tune_key *key, const char *text, const tune_entry *e) {
  writer *w = user;
  if (w->match && !strstr(text, w->match)) return true;
  strb_puts(w->b, w->n++ ? ",\n  {" : "\n  {");
  put_entry(w->b, key, e);
  strb_puts(w->b, ", \"trials\": [");
  w->n_trials = 0;
  cache_trials(w->c, key, put_trial, w);
  strb_puts(w->b, "]}");
  return strb_ok(w->b);
}

static size_t export_matching(tune_cache *c, const char *match, strb *out) {
  writer w = {.c = c, .b = out, .match = match};
  strb_puts(out, "{\"schema\": 1, \"entries\": [");
  cache_each(c, export_entry, &w);
  strb_puts(out, "\n]}\n");
  return w.n;
}

tsr_status cache_export(tune_cache *c, strb *out) {
  export_matching(c, NULL, out);
  return strb_ok(out) ? NULL : st_oom();
}

/* A configuration that can be read again. */
static bool read_config(const json *j, const char *name, bool may_be_empty, char out[TUNE_CONFIG_TEXT]) {
  tune_config c;
  return json_copy_str(j, name, "", out, TUNE_CONFIG_TEXT) && (may_be_empty || *out) && tune_config_parse(out, &c);
}

static bool read_entry(const json *j, tune_key *key, tune_entry *e) {
  memset(e, 0, sizeof *e);
  if (j->type != JSON_OBJECT) return false;
  for (int i = 0; i < N_KEY_NAMES; i++) {
    *key_part(key, i) = json_str(j, key_names[i], i < 3 ? NULL : "");
    if (!*key_part(key, i)) return false;
  }
  if (!*key->op || !read_config(j, "config", false, e->config) || !read_config(j, "runner_up", true, e->runner_up) ||
      !json_copy_str(j, "strategy", "", e->strategy, sizeof e->strategy))
    return false;
  for (int i = 0; i < N_NUMBERS; i++) {
    double v = json_num(j, numbers[i].name, 0);
    if (!(v >= 0)) return false;
    memcpy((char *)e + numbers[i].at, &v, sizeof v);
  }
  return true;
}

static void import_trials(tune_cache *c, const tune_key *key, const json *list) {
  for (const json *t = list && list->type == JSON_ARRAY ? list->first : NULL; t; t = t->next) {
    tune_trial trial = {.ns = json_num(t, "ns", 0), .registers = json_num(t, "registers", -1)};
    if (read_config(t, "config", false, trial.config) && json_copy_str(t, "state", "", trial.state, sizeof trial.state))
      cache_keep_trial(c, key, &trial);
  }
}

tsr_status cache_import(tune_cache *c, const char *text, size_t n, const char *file, bool replace,
                        cache_import_count *count) {
  arena a;
  json *j = NULL;
  memset(count, 0, sizeof *count);
  arena_init(&a, NULL);
  tsr_status st = json_parse(&a, text, n, file, &j);
  const json *list = st ? NULL : json_get(j, "entries");
  if (!st && (json_num(j, "schema", 0) != 1 || !list || list->type != JSON_ARRAY))
    st = st_make(NULL, TSR_PARSE_ERROR, ST_WHERE("tune", "cache", "made by `tessera cache export`"),
                 "%s:1:1: expected schema 1 with entries", file);
  for (const json *e = st ? NULL : list->first; e; e = e->next) {
    tune_key key;
    tune_entry entry, there;
    if (!read_entry(e, &key, &entry)) {
      count->refused++;
      continue;
    }
    bool had = cache_lookup(c, &key, &there);
    if (had && !replace) {
      count->kept++;
    } else if (cache_store(c, &key, &entry, replace, NULL)) {
      count->added++;
    } else {
      cache_info info;
      cache_describe(c, &info);
      st = st_make(NULL, TSR_IO_ERROR, ST_WHERE("tune", "cache", NULL), "could not write %.200s: %.200s", info.path,
                   info.why);
      break;
    }
    import_trials(c, &key, json_get(e, "trials"));
  }
  arena_clear(&a);
  return st;
}

tsr_status cache_merge(tune_cache *c, tune_cache *from, bool replace, cache_import_count *count) {
  strb b;
  strb_init(&b, NULL);
  tsr_status st = cache_export(from, &b);
  if (!st) st = cache_import(c, strb_text(&b), b.n, "merge", replace, count);
  cache_check damaged; /* its text has what is sound */
  cache_verify(from, &damaged);
  if (!st) count->refused += damaged.bad_entries + damaged.bad_trials;
  strb_clear(&b);
  return st;
}

/* Knobs that are 0 do not exist on the device, or are left to it. */
static void put_config(strb *b, const char *config) {
  for (const char *at = config; *at;) {
    size_t n = strcspn(at, " ");
    if (n < 2 || memcmp(at + n - 2, "=0", 2)) strb_printf(b, " %.*s", (int)n, at);
    at += n + (at[n] == ' ');
  }
  strb_putc(b, '\n');
}

static bool list_entry(void *user, const tune_key *key, const char *text, const tune_entry *e) {
  writer *w = user;
  if (w->match && !strstr(text, w->match)) return true;
  w->n++;
  if (w->json) {
    strb_putc(w->b, '{');
    put_entry(w->b, key, e);
    strb_puts(w->b, "}\n");
    return true;
  }
  strb_printf(w->b, "%-12s %-20s %-10s %-14s best %10.2f us  default %10.2f us  %3.0f samples ", key->op, key->shape,
              key->dtype, key->arch, e->best_ns / 1e3, e->default_ns / 1e3, e->samples);
  put_config(w->b, e->config);
  return true;
}

size_t cache_list(tune_cache *c, const char *match, bool json, strb *out) {
  writer w = {.c = c, .b = out, .match = match, .json = json};
  cache_each(c, list_entry, &w);
  return w.n;
}

static bool show_trial(void *user, const tune_trial *t) {
  writer *w = user;
  if (!strcmp(t->state, "ok")) strb_printf(w->b, "    %12.2f us ", t->ns / 1e3);
  else strb_printf(w->b, "    %12s    ", t->state);
  if (t->registers > 0) strb_printf(w->b, " %3.0f registers ", t->registers);
  put_config(w->b, t->config);
  return true;
}

static bool show_entry(void *user, const tune_key *key, const char *text, const tune_entry *e) {
  writer *w = user;
  if (w->match && !strstr(text, w->match)) return true;
  w->n++;
  strb_printf(w->b, "%s %s %s\n  layout %s, policy %s, mesh %s, arch %s, driver %s, generator %s\n", key->op,
              key->shape, key->dtype, key->layout, key->policy, *key->mesh ? key->mesh : "none", key->arch, key->driver,
              key->generator);
  strb_printf(w->b, "  best      %12.2f us ", e->best_ns / 1e3);
  put_config(w->b, e->config);
  if (e->runner_up[0]) {
    strb_printf(w->b, "  runner-up %12.2f us ", e->runner_up_ns / 1e3);
    put_config(w->b, e->runner_up);
  }
  strb_printf(w->b, "  default   %12.2f us; predicted %.2f us; %s, %.0f samples; trials:\n", e->default_ns / 1e3,
              e->predicted_ns / 1e3, e->strategy, e->samples);
  cache_trials(w->c, key, show_trial, w);
  return true;
}

size_t cache_show(tune_cache *c, const char *match, bool json, strb *out) {
  if (json) return export_matching(c, match, out);
  writer w = {.c = c, .b = out, .match = match};
  cache_each(c, show_entry, &w);
  return w.n;
}
