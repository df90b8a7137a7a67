/* tests/simt/record.c - see record.h. */
#include "tests/simt/record.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINES = 8192, MAX_LINE = 192 };
static char *seen[MAX_LINES]; /* open addressing */
static int n_seen;

static bool first_time(const char *line) {
  uint32_t h = 2166136261u;
  for (const char *s = line; *s; s++) h = (h ^ (uint8_t)*s) * 16777619u;
  for (h %= MAX_LINES; seen[h]; h = (h + 1) % MAX_LINES)
    if (!strcmp(seen[h], line)) return false;
  if (n_seen == MAX_LINES / 2) return false;
  n_seen++;
  return (seen[h] = strdup(line)) != NULL;
}

static void put(FILE *f, const char *arch, const char *what, size_t n) {
  char line[MAX_LINE];
  snprintf(line, sizeof line, "%s\t%.*s", arch, (int)n, what);
  if (first_time(line)) fprintf(f, "%s\n", line);
}

static bool in_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The end of `<...>` at s, or s if that isn't an argument list. */
static const char *after_arguments(const char *s) {
  int depth = 0;
  for (const char *p = s; *p == '<' || *p == '>' || in_name(*p) || *p == ',' || *p == ' ' || *p == '-' || *p == ':';
       p++) {
    depth += (*p == '<') - (*p == '>');
    if (!depth) return p + 1;
  }
  return s;
}

static void put_calls(FILE *f, const char *arch, const char *s, const char *end) {
  while (s < end) {
    const char *name = s;
    if (!in_name(*s)) {
      s++;
      continue;
    }
    while (in_name(*s)) s++;
    if (isdigit((unsigned char)*name) || (name > end - 2)) continue;
    const char *after = *s == '<' ? after_arguments(s) : s;
    if (*after == '(') put(f, arch, name, (size_t)(after - name));
  }
}

void emu_record(const emu_unit *u, int kernel) {
  const char *file = getenv("TSR_SIMT_RECORD");
  char head[160];
  snprintf(head, sizeof head, "\n/* %s", u->kernels[kernel].name);
  const char *at = file ? strstr(u->source, head) : NULL;
  FILE *f = at ? fopen(file, "a") : NULL;
  static char room[1 << 16];
  if (!f) return;
  setvbuf(f, room, _IOFBF,
          sizeof room); /* one write a kernel: tests that run at the same time don't cut each other's lines */
  const char *end = strstr(at, "\n}\n"), *stop = strstr(at, ": blocks of"), *comma = at + strlen(head);
  char path[160];
  if (*comma == ',' && stop) {
    snprintf(path, sizeof path, "path: %.*s", (int)(stop - comma - 2), comma + 2);
    put(f, u->caps.arch, path, strlen(path));
  }
  if (end && stop) put_calls(f, u->caps.arch, stop, end);
  fclose(f);
}
