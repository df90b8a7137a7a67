/* tests/support/recorded.c - see recorded.h. */
#include "tests/support/recorded.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/json.h"
#include "core/emit/spirv/caps.h"

enum { MAX_DEVICES = 64, MAX_FILE = 1 << 16 };
static recorded_device devices[MAX_DEVICES];
static int n_devices;

static void stop(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(1);
}

static char *read_file(const char *name) {
  char path[512], *text = calloc(1, MAX_FILE);
  snprintf(path, sizeof path, "%s/tests/vulkan/%.63s.json", TSR_SOURCE_DIR, name);
  FILE *f = fopen(path, "rb");
  if (!f || !text) stop("%s can't be read", path);
  if (fread(text, 1, MAX_FILE - 1, f) == MAX_FILE - 1) stop("%s is too long", path);
  fclose(f);
  return text;
}

static void read_device(const char *file) {
  recorded_device *d = &devices[n_devices++];
  arena a;
  json *root = NULL;
  snprintf(d->name, sizeof d->name, "%.*s", (int)strlen(file) - 5, file);
  char *text = read_file(d->name);
  arena_init(&a, &al_default);
  tsr_status st = spirv_caps_parse(&al_default, text, strlen(text), file, &d->caps);
  if (!st) st = json_parse(&a, text, strlen(text), file, &root);
  if (st) stop("%s", tsr_status_message(st));
  snprintf(d->device, sizeof d->device, "%.95s", json_str(root, "device", "?"));
  snprintf(d->vulkan, sizeof d->vulkan, "%.7s", json_str(root, "vulkan", "?"));
  arena_clear(&a);
  free(text);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const recorded_device *)a)->name, ((const recorded_device *)b)->name);
}

const recorded_device *recorded_devices(int *n) {
  DIR *d = n_devices ? NULL : opendir(TSR_SOURCE_DIR "/tests/vulkan");
  for (struct dirent *e; d && (e = readdir(d));)
    if (strstr(e->d_name, ".json")) {
      if (n_devices == MAX_DEVICES) stop("more than %d recorded devices", MAX_DEVICES);
      read_device(e->d_name);
    }
  if (d) closedir(d), qsort(devices, (size_t)n_devices, sizeof *devices, by_name);
  *n = n_devices;
  return devices;
}

const tsr_caps *recorded_caps(const char *name) {
  int n;
  const recorded_device *d = recorded_devices(&n);
  for (int i = 0; i < n; i++)
    if (!strcmp(d[i].name, name)) return &d[i].caps;
  stop("no tests/vulkan/%s.json", name);
  return NULL;
}

/* "2026-11-25" */
static bool is_date(const char *s) {
  int y, m, d, n = 0;
  return sscanf(s, "%4d-%2d-%2d%n", &y, &m, &d, &n) == 3 && n == 10 && !s[n] && y >= 2016 && m >= 1 && m <= 12 &&
         d >= 1 && d <= 31;
}

/* Is the word one of "a, b, c"? */
static bool lists(const char *list, const char *word) {
  size_t n = strlen(word);
  for (const char *p = list; (p = strstr(p, word)); p += n)
    if ((p == list || p[-1] == ' ' || p[-1] == ',') && (!p[n] || p[n] == ',')) return true;
  return false;
}

static const char *check_sources(const json *root) {
  static char why[160];
  const json *sources = json_get(root, "sources");
  for (const json *s = sources ? sources->first : NULL; s; s = s->next) {
    snprintf(why, sizeof why, "the source of %.100s", json_str(s, "what", "?"));
    if (!*json_str(s, "from", "") || !is_date(json_str(s, "date", ""))) return why;
  }
  for (const json *j = root->first; j; j = j->next) {
    int found = 0;
    if (!strcmp(j->key, "device") || !strcmp(j->key, "sources")) continue;
    for (const json *s = sources ? sources->first : NULL; s; s = s->next)
      found += lists(json_str(s, "what", ""), j->key);
    snprintf(why, sizeof why, "%.60s has %d sources", j->key, found);
    if (found != 1) return why;
  }
  return NULL;
}

const char *recorded_sources(const char *name) {
  arena a;
  json *root = NULL;
  char *text = read_file(name);
  arena_init(&a, &al_default);
  tsr_status st = json_parse(&a, text, strlen(text), name, &root);
  if (st) stop("%s", tsr_status_message(st));
  const char *why = check_sources(root);
  arena_clear(&a);
  free(text);
  return why;
}
