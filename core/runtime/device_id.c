/* core/runtime/device_id.c - what a device may be called: "BACKEND", "BACKEND:NUMBER", "BACKEND:ARCHITECTURE" or, where
 * capabilities are recorded in files, "BACKEND:FILE". Nothing here loads a driver. */
#include <stdio.h>
#include <string.h>

#include "core/base/knob.h"
#include "core/runtime/internal.h"

rt_backend *rt_find_backend(tsr_context *c, const char *name, size_t n) {
  for (int i = 0; i < c->n_backends; i++)
    if (strlen(c->backends[i].vt->name) == n && !strncmp(c->backends[i].vt->name, name, n)) return &c->backends[i];
  return NULL;
}

const char *rt_why_not_built(const char *name, size_t n) {
  for (const rt_not_built *b = rt_backends_not_built; b->name; b++)
    if (strlen(b->name) == n && !strncmp(b->name, name, n)) return b->why;
  return NULL;
}

bool rt_is_device_number(const char *which) {
  size_t n = strlen(which);
  return n > 0 && n < 6 && strspn(which, "0123456789") == n;
}

static void backend_names(const tsr_context *c, char *out, size_t n) {
  size_t at = 0;
  *out = 0;
  for (int i = 0; i < c->n_backends && at < n; i++)
    at += (size_t)snprintf(out + at, n - at, "%s%.12s", at ? ", " : "", c->backends[i].vt->name);
  for (const rt_not_built *b = rt_backends_not_built; b->name && at < n; b++)
    at += (size_t)snprintf(out + at, n - at, ", %s", b->name);
}

static bool is_file(const char *which) {
  size_t n = strlen(which);
  return n > 5 && !strcmp(which + n - 5, ".json");
}

/* An architecture of the backend's table; `known` gets what the table has. */
static bool knows_arch(const rt_backend *b, const char *arch, char *known, size_t n) {
  tsr_caps caps;
  tsr_status st = b->vt->arch_caps ? b->vt->arch_caps(arch, &caps) : NULL;
  bool yes = b->vt->arch_caps && (!st || tsr_status_code(st) == TSR_OUT_OF_MEMORY);
  const char *table = tsr_status_hint(st);
  snprintf(known, n, "%s:0%s%s", b->vt->name, *table ? ", or of its architectures " : "", table);
  tsr_status_free(st);
  return yes;
}

bool rt_knows_device(tsr_context *c, const char *id, char *known, size_t n) {
  size_t name = strcspn(id, ":");
  const rt_backend *b = rt_find_backend(c, id, name);
  const char *which = id[name] ? id + name + 1 : "0";
  *known = 0;
  if (!b && !rt_why_not_built(id, name)) return backend_names(c, known, n), false;
  if (!b || rt_is_device_number(which)) return true; /* of what isn't built here, the architectures aren't known */
  return is_file(which) || knows_arch(b, which, known, n);
}

tsr_status rt_check_backend_knob(tsr_context *c) {
  char known[256];
  backend_names(c, known, sizeof known);
  for (const char *id = knob_str("TSR_BACKEND"); *id; id += *id == ',') {
    size_t whole = strcspn(id, ","), n = strcspn(id, ":,");
    if (n && !rt_find_backend(c, id, n) && !rt_why_not_built(id, n))
      return st_make(&c->al, TSR_INVALID_ARGUMENT, ST_WHERE("environment", "TSR_BACKEND", known),
                     "unknown backend \"%.*s\"", (int)(n < 100 ? n : 100), id);
    id += whole;
  }
  return NULL;
}
