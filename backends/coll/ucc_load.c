/* backends/coll/ucc_load.c - finding UCC: TSR_UCC, or the library's usual name. */
#include <dlfcn.h>
#include <pthread.h>

#include "backends/coll/ucc.h"
#include "core/base/knob.h"

static struct {
  pthread_mutex_t lock;
  ucc_api api;
  bool is;
} loaded = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Global symbols: its components are libraries of their own, which look for UCC's functions there. */
static tsr_status find(const tsr_allocator *al, ucc_api *api) {
  const char *wanted = knob_str("TSR_UCC"), *name = *wanted ? wanted : "libucc.so.1";
  st_where where = ST_WHERE("collective", "ucc", "UCC is Debian's libucc1, from Debian 14 on; TSR_UCC names another");
  void *lib = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!lib) return st_make(al, TSR_UNAVAILABLE, where, "%s isn't here", name);
#define LOAD(field, entry, result, arguments)                                                                          \
  *(void **)&api->field = dlsym(lib, entry);                                                                           \
  if (!api->field) return st_make(al, TSR_UNAVAILABLE, where, "%s has no %s: it is too old", name, entry);
  UCC_CALLS(LOAD)
#undef LOAD
  return NULL;
}

tsr_status ucc_load(const tsr_allocator *al, const ucc_api **out) {
  pthread_mutex_lock(&loaded.lock);
  tsr_status st = loaded.is ? NULL : find(al, &loaded.api);
  if (!st) loaded.is = true;
  pthread_mutex_unlock(&loaded.lock);
  *out = &loaded.api;
  return st;
}
