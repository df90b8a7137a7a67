/* backends/vulkan/known_bad.c - the list of what drivers can't do; its form is told in known_bad.txt. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/vulkan/probe.h"
#include "core/base/file.h"
#include "core/base/knob.h"

static const char ours[] =
#include "known_bad.inc"
    ;

enum { FIELDS = 4 };

/* The fields of a line without the blanks around them; false: there are not four, none of them empty. */
static bool split(const char *line, size_t n, char field[FIELDS][160]) {
  for (int i = 0; i < FIELDS; i++) {
    size_t len = 0;
    while (n && (*line == ' ' || *line == '\t')) line++, n--;
    const char *bar = i + 1 < FIELDS ? memchr(line, '|', n) : NULL;
    if (i + 1 < FIELDS && !bar) return false;
    len = bar ? (size_t)(bar - line) : n;
    size_t whole = len;
    while (len && strchr(" \t\r", line[len - 1])) len--;
    if (!len || len >= sizeof field[i]) return false;
    memcpy(field[i], line, len);
    field[i][len] = 0;
    line += whole + !!bar, n -= whole + !!bar;
  }
  return true;
}

static bool is_row(const char *line, size_t n) {
  size_t at = 0;
  while (at < n && strchr(" \t\r", line[at])) at++;
  return at < n && line[at] != '#';
}

bool vk_known_bad(const char *list, const vk_id *id, const char *step, char why[128]) {
  char f[FIELDS][160];
  for (const char *line = list; line && *line;) {
    size_t n = strcspn(line, "\n");
    if (is_row(line, n) && split(line, n, f) && !fnmatch(f[0], id->name, 0) && !fnmatch(f[1], id->version, 0) &&
        !fnmatch(f[2], step, 0)) {
      snprintf(why, 128, "known bad: %.110s", f[3]);
      return strcmp(f[3], "ok") != 0;
    }
    line += n + (line[n] == '\n');
  }
  return false;
}

static void check(const be_env *env, const char *path, const char *text) {
  char f[FIELDS][160], say[512];
  int number = 1;
  for (const char *line = text; *line; number++) {
    size_t n = strcspn(line, "\n");
    if (is_row(line, n) && !split(line, n, f)) {
      snprintf(say, sizeof say, "vulkan: %.300s:%d is no row \"device | version | step | why\" and is left out", path,
               number);
      env->log(env->log_user, 1, say);
    }
    line += n + (line[n] == '\n');
  }
}

static size_t read_users(const be_env *env, const char *path, char *to, size_t cap) {
  const char *why = "";
  FILE *f = file_open(path, &why);
  size_t n = f ? fread(to, 1, cap, f) : 0;
  if (f) fclose(f);
  if (!f) {
    char say[512];
    snprintf(say, sizeof say, "vulkan: TSR_VK_KNOWN_BAD: %.300s can't be opened: %.100s", path, why);
    env->log(env->log_user, 1, say);
  }
  n = strnlen(to, n);
  to[n] = 0;
  check(env, path, to);
  return n;
}

char *vk_known_bad_read(const be_env *env, size_t *bytes) {
  enum { MOST = 1 << 18 };
  const char *path = knob_str("TSR_VK_KNOWN_BAD");
  *bytes = sizeof ours + 2 + (*path ? MOST : 0);
  char *text = al_zalloc(env->al, *bytes);
  if (!text) return NULL;
  size_t n = *path ? read_users(env, path, text, MOST) : 0;
  text[n] = '\n';
  memcpy(text + n + 1, ours, sizeof ours);
  return text;
}
