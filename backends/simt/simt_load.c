/* backends/simt/simt_load.c - finding and loading the driver and the run-time compiler; every failure says what was
 * looked for. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/simt/simt.h"
#include "core/base/knob.h"

void simt_close_lib(void **lib) {
  if (*lib) dlclose(*lib);
  *lib = NULL;
}

static tsr_status missing(const be_env *env, const simt_dialect *d, const char *what, const char *detail,
                          const char *hint) {
  return st_make(env->al, TSR_UNAVAILABLE, ST_WHERE(d->name, NULL, hint), "%s: %s", what, detail);
}

static void *open_first(const char *const *names, char *path, size_t cap) {
  for (; *names; names++) {
    void *lib = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (lib) return snprintf(path, cap, "%s", *names), lib;
  }
  return NULL;
}

tsr_status simt_load_api(const be_env *env, const simt_dialect *d, simt_api *out) {
  const char *wanted = knob_str(d->lib_knob), *list[2] = {wanted, NULL};
  char path[256], text[300];
  memset(out, 0, sizeof *out);
  out->lib = open_first(*wanted ? list : d->libs, path, sizeof path);
  if (!out->lib) {
    snprintf(text, sizeof text, "no %s driver (%s not found)", d->label, *wanted ? wanted : d->libs[0]);
    return missing(env, d, d->label, text, "install the vendor's driver");
  }
#define NAME(d, cuda, hip) ((const char *const[]){cuda, hip})[(d)->column]
#define LOAD(field, cuda, hip, required, args) \
  *(void **)&out->field = dlsym(out->lib, NAME(d, cuda, hip)); \
  if (required && !out->field) { \
    snprintf(text, sizeof text, "%s has no %s", path, NAME(d, cuda, hip)); \
    simt_close_lib(&out->lib); \
    return missing(env, d, "the driver is too old", text, "update the driver"); \
  }
  SIMT_CALLS(LOAD)
#undef LOAD
  return NULL;
}

/* ---- run-time compiler ------------------------------------------------------------------------------------------- */

/* The newest file that matches the pattern. */
static void *open_glob(const char *pattern, char *path, size_t cap) {
  glob_t g;
  void *lib = NULL;
  if (glob(pattern, 0, NULL, &g)) return NULL;
  for (size_t i = g.gl_pathc; i-- > 0 && !lib;) {
    if (strstr(g.gl_pathv[i], "alt") || strstr(g.gl_pathv[i], "builtins")) continue;
    lib = dlopen(g.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    if (lib) snprintf(path, cap, "%s", g.gl_pathv[i]);
  }
  globfree(&g);
  return lib;
}

/* The folder of the compiler driver on the PATH, links resolved: the toolkit's library lies beside it. */
static void *open_beside(const char *tool, const char *const *patterns, char *path, size_t cap) {
  const char *env = getenv("PATH");
  char file[512], real[4096], pattern[4200];
  while (env && *env) {
    size_t n = strcspn(env, ":");
    snprintf(file, sizeof file, "%.*s/%s", (int)(n < 400 ? n : 400), env, tool);
    env += n + (env[n] == ':');
    if (access(file, X_OK) || !realpath(file, real)) continue;
    *strrchr(real, '/') = 0;
    for (int i = 0; patterns[i]; i++) {
      snprintf(pattern, sizeof pattern, "%s/../%s", real, patterns[i]);
      void *lib = open_glob(pattern, path, cap);
      if (lib) return lib;
    }
  }
  return NULL;
}

static void *find_rtc(const simt_dialect *d, char *path, size_t cap) {
  void *lib = open_first(d->rtcs, path, cap);
  if (!lib) lib = open_beside(d->tool, d->tool_libs, path, cap);
  return lib ? lib : open_glob(d->toolkit_libs, path, cap);
}

tsr_status simt_load_rtc(const be_env *env, const simt_dialect *d, simt_rtc *out) {
  const char *wanted = knob_str(d->rtc_knob), *list[2] = {wanted, NULL};
  char text[300];
  memset(out, 0, sizeof *out);
  out->lib = *wanted ? open_first(list, out->path, sizeof out->path) : find_rtc(d, out->path, sizeof out->path);
  if (!out->lib) {
    snprintf(text, sizeof text, "%s not found", *wanted ? wanted : d->rtcs[0]);
    return missing(env, d, d->no_rtc, text, d->rtc_hint);
  }
#define LOAD(field, cuda, hip, args) \
  *(void **)&out->field = dlsym(out->lib, NAME(d, cuda, hip)); \
  if (!out->field) { \
    snprintf(text, sizeof text, "%s has no %s", out->path, NAME(d, cuda, hip)); \
    simt_close_lib(&out->lib); \
    return missing(env, d, "the run-time compiler is too old", text, "update it"); \
  }
  SIMT_RTC_CALLS(LOAD)
#undef LOAD
  return NULL;
}
