/* backends/coll/nccl_load.c - finding NCCL or RCCL, and of the driver the one function that says whether a stream is
 * done. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "backends/coll/nccl.h"
#include "core/base/knob.h"

const nccl_library nccl_of_nvidia = {
    .name = "nccl",
    .knob = "TSR_NCCL",
    .files = {"libnccl.so.2", "libnccl.so", NULL},
    .driver_knob = "TSR_LIBCUDA",
    .drivers = {"libcuda.so.1", "libcuda.so", NULL},
    .stream_query = "cuStreamQuery",
    .install = "NCCL comes from NVIDIA's packages (libnccl2) or PyPI's",
};
const nccl_library nccl_of_amd = {
    .name = "rccl",
    .knob = "TSR_RCCL",
    .files = {"librccl.so.1", "librccl.so", NULL},
    .driver_knob = "TSR_LIBHIP",
    .drivers = {"libamdhip64.so", "libamdhip64.so.6", NULL},
    .stream_query = "hipStreamQuery",
    .install = "RCCL comes with ROCm, or as Debian's librccl1",
};

static struct {
  pthread_mutex_t lock;
  nccl_api api[2];
  bool is[2];
} loaded = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The file of the knob, or the first of the names. */
static void *open_first(const char *knob, const char *const *names, char *name, size_t cap) {
  const char *wanted = knob_str(knob), *only[] = {wanted, NULL};
  void *lib = NULL;
  if (*wanted) names = only;
  for (; *names && !lib; names++) {
    snprintf(name, cap, "%s", *names);
    lib = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
  }
  return lib;
}

static tsr_status find(const tsr_allocator *al, const nccl_library *l, nccl_api *api) {
  char name[512];
  st_where where = ST_WHERE("collective", l->name, l->install);
  void *lib = open_first(l->knob, l->files, name, sizeof name);
  if (!lib) return st_make(al, TSR_UNAVAILABLE, where, "%s isn't here", name);
#define LOAD(field, entry, result, arguments)                                                                          \
  *(void **)&api->field = dlsym(lib, entry);                                                                           \
  if (!api->field) return st_make(al, TSR_UNAVAILABLE, where, "%s has no %s: it is too old", name, entry);
  NCCL_CALLS(LOAD)
#undef LOAD
  if (!(lib = open_first(l->driver_knob, l->drivers, name, sizeof name)))
    return st_make(al, TSR_UNAVAILABLE, where, "the driver %s isn't here", name);
  *(void **)&api->stream_query = dlsym(lib, l->stream_query);
  return api->stream_query ? NULL : st_make(al, TSR_UNAVAILABLE, where, "%s has no %s", name, l->stream_query);
}

tsr_status nccl_load(const tsr_allocator *al, const nccl_library *l, const nccl_api **out) {
  int i = l == &nccl_of_amd;
  pthread_mutex_lock(&loaded.lock);
  tsr_status st = loaded.is[i] ? NULL : find(al, l, &loaded.api[i]);
  if (!st) loaded.is[i] = true;
  pthread_mutex_unlock(&loaded.lock);
  *out = &loaded.api[i];
  return st;
}
