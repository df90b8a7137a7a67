/* core/ir/shard.c - see ir/shard.h. */
#include "core/ir/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ir_shard_next(const char **at, const char *shard, ir_shard_axis *out) {
  const char *p = *at, *bar = strchr(shard, '|');
  while (*p && strchr(",+|*", *p)) p++;
  if (!*p) return *at = p, false;
  *out = (ir_shard_axis){.name = p, .n = (int)strcspn(p, ",+|:"), .dim = -1};
  const char *end = p + out->n;
  if (*end == ':') {
    out->how = end + 1;
    out->n_how = (int)strcspn(end + 1, ",+|");
    end = out->how + out->n_how;
  }
  if (!bar || p < bar) {
    out->dim = 0;
    for (const char *c = shard; c < p; c++) out->dim += *c == ',';
  }
  *at = end;
  return true;
}

static bool is_name(const char *s, int n) {
  if (n < 1 || n > 31 || !(ascii_letter(*s) || *s == '_')) return false;
  for (int i = 1; i < n; i++)
    if (!ascii_alnum(s[i]) && s[i] != '_') return false;
  return true;
}

static bool is_reduction(const char *s, int n) {
  static const char *const known[] = {"sum", "max", "min", "prod"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if ((int)strlen(known[i]) == n && !strncmp(s, known[i], (size_t)n)) return true;
  return false;
}

/* Names joined by +, or *. */
static bool is_entry(const char *s, size_t n) {
  if (n == 1 && *s == '*') return true;
  for (size_t at = 0; at <= n;) {
    const size_t len = strcspn(s + at, "+,|:");
    if (!len || at + len > n || s[at] == '*') return false;
    at += len;
    if (at == n) return true;
    if (s[at] != '+') return s[at] == ':';
    at++;
  }
  return false;
}

const char *ir_shard_fault(const char *shard, int rank) {
  int dims = 0;
  const size_t n = strcspn(shard, "|");
  for (size_t at = 0; at < n; dims++) {
    const size_t len = strcspn(shard + at, ",|");
    if (!is_entry(shard + at, len)) return "an entry of shard is \"*\" or names of axes joined by +";
    at += len + (shard[at + len] == ',');
  }
  if (dims != rank) return "shard needs one entry for each dimension";
  ir_shard_axis a, b;
  for (const char *at = shard; ir_shard_next(&at, shard, &a);) {
    if (!is_name(a.name, a.n)) return "an axis is a letter, then letters, digits and _";
    if (a.how && (a.dim >= 0 || !is_reduction(a.how, a.n_how)))
      return "behind a partial axis may stand :sum, :max, :min or :prod";
    for (const char *rest = at; ir_shard_next(&rest, shard, &b);)
      if (a.n == b.n && !strncmp(a.name, b.name, (size_t)a.n)) return "an axis of the mesh is named twice";
  }
  return NULL;
}

static void put_list(strb *b, const char *s, size_t n) {
  strb_putc(b, '[');
  for (size_t at = 0; at < n;) {
    const size_t len = strcspn(s + at, ",|");
    if (at) strb_puts(b, ", ");
    strb_putc(b, '"');
    strb_put(b, s + at, len);
    strb_putc(b, '"');
    at += len + 1;
  }
  strb_putc(b, ']');
}

void ir_shard_print(strb *b, const char *shard) {
  const size_t n = strcspn(shard, "|");
  strb_puts(b, "shard = ");
  put_list(b, shard, n);
  if (!shard[n]) return;
  strb_puts(b, ", partial = ");
  put_list(b, shard + n + 1, strlen(shard + n + 1));
}

bool ir_mesh_next(const char **at, const char **name, int *n, int64_t *size) {
  const char *p = *at;
  const bool more = *p == ',';
  p += more;
  *name = p, *n = 0, *size = -1;
  if (!*p) return *at = p, more; /* a comma that nothing follows */
  *n = (int)strcspn(p, "=,");
  p += *n;
  *size = 0;
  if (*p == '=') {
    char *end;
    *size = strtoll(p + 1, &end, 10);
    if (!ascii_digit(p[1]) || (*end && *end != ',') || *size < 1 || *size > 1 << 20) *size = -1;
    p = end;
  }
  p += strcspn(p, ",");
  *at = p;
  return true;
}

int64_t ir_mesh_size(const char *mesh, const char *name, int n) {
  const char *axis;
  int len;
  int64_t size;
  while (ir_mesh_next(&mesh, &axis, &len, &size))
    if (len == n && !strncmp(axis, name, (size_t)n)) return size;
  return 0;
}

static const char *axis_fault(const char *name, int n, const char *what, char text[IR_MESH_FAULT]) {
  snprintf(text, IR_MESH_FAULT, "axis \"%.*s\"%s", n < 64 ? n : 64, name, what);
  return text;
}

const char *ir_mesh_fault(const char *mesh, char text[IR_MESH_FAULT]) {
  const char *name, *other;
  int n, m;
  int64_t size, more;
  if (!*mesh) return "it has no axes";
  for (const char *at = mesh; ir_mesh_next(&at, &name, &n, &size);) {
    if (!is_name(name, n)) return axis_fault(name, n, ": a name is a letter, then letters, digits and _", text);
    if (size < 1) return axis_fault(name, n, ": its size is 1 to 1048576", text);
    for (const char *rest = at; ir_mesh_next(&rest, &other, &m, &more);)
      if (n == m && !strncmp(name, other, (size_t)n)) return axis_fault(name, n, " is there twice", text);
  }
  return NULL;
}
