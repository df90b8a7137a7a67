/* bench/baselines/tool.c - see tool.h. */
#include "bench/baselines/tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/status.h"

enum { DEADLINE_MS = 600000, MOST_WORDS = 160 };

bool tool_find(const char *name, char *out, size_t n) {
  const char *path = getenv("PATH");
  while (path && *path) {
    const int length = (int)strcspn(path, ":");
    const int full = snprintf(out, n, "%.*s/%s", length, path, name);
    if (length && full < (int)n && !access(out, X_OK)) return true;
    path += length + (path[length] == ':');
  }
  return false;
}

typedef struct listener {
  strb *out;
  char error[300]; /* the first line that tells of an error */
} listener;

static void hear(void *user, const char *text) {
  listener *l = user;
  if (l->out) strb_puts(l->out, text), strb_putc(l->out, '\n');
  const char *error = strstr(text, "rror: ");
  if (error && !*l->error) snprintf(l->error, sizeof l->error, ": %.240s", error + strlen("rror: "));
}

tsr_status tool_run(const char *path, const char *const *argv, bool with_errors, strb *out) {
  const char *words[MOST_WORDS] = {"sh", "-c", "exec \"$0\" \"$@\" 2>&1", path};
  size_t n = 4;
  for (size_t i = 1; argv[i]; i++) {
    if (n + 1 >= MOST_WORDS)
      return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", NULL, NULL), "%s: too many words", argv[0]);
    words[n++] = argv[i];
  }
  listener l = {.out = out};
  const tsr_probe_call call = {with_errors ? words : argv, DEADLINE_MS, hear, &l};
  const int rc = child_run(with_errors ? "/bin/sh" : path, &call);
  if (out && !strb_ok(out)) return st_oom();
  if (!rc) return NULL;
  return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL), "%s ends with status %d%s", argv[0], rc,
                 l.error);
}
