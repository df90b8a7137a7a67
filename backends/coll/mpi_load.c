/* backends/coll/mpi_load.c - finding the module: TSR_MPI_MODULE, or beside the library or the program that holds it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/coll/mpi.h"
#include "core/base/knob.h"

#define MODULE "tessera-mpi.so"

static struct {
  pthread_mutex_t lock;
  const mpi_module *module;
} loaded = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The first that is there. */
static bool find(char *path, size_t cap) {
  static const char *const places[] = {"/tessera/", "/../tessera/", "/../lib/tessera/", "/../" TSR_LIBDIR "/tessera/"};
  const char *wanted = knob_str("TSR_MPI_MODULE");
  Dl_info at;
  char exe[4096];
  if (*wanted) return snprintf(path, cap, "%s", wanted) < (int)cap;
  if (!dladdr((const void *)&loaded, &at) || !at.dli_fname) return false;
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  const char *end = strrchr(at.dli_fname, '/'), *files[2] = {end ? at.dli_fname : NULL, NULL};
  if (n > 0) exe[n] = 0, files[1] = exe;
  for (int f = 0; f < 2; f++)
    for (size_t i = 0; files[f] && i < sizeof places / sizeof *places; i++) {
      int folder = (int)(strrchr(files[f], '/') - files[f]);
      if (snprintf(path, cap, "%.*s%s%s", folder, files[f], places[i], MODULE) < (int)cap && !access(path, R_OK))
        return true;
    }
  return false;
}

/* Global symbols: plugins of some MPIs look for their library's there. */
static const mpi_module *load(char *why, size_t cap) {
  char path[4200];
  if (!find(path, sizeof path)) {
    snprintf(why, cap, "there is no " MODULE " beside the library; it is built where an MPI is installed");
    return NULL;
  }
  void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  mpi_module_entry entry = NULL;
  if (lib) *(void **)&entry = dlsym(lib, MPI_MODULE_ENTRY);
  if (!entry) {
    const char *e = dlerror();
    snprintf(why, cap, "%s", e ? e : "no module");
    if (lib) dlclose(lib);
    return NULL;
  }
  const mpi_module *m = entry();
  if (m->abi == MPI_MODULE_ABI) return m;
  snprintf(why, cap, "%s has version %u of the interface, %d is needed", path, m->abi, MPI_MODULE_ABI);
  dlclose(lib);
  return NULL;
}

const mpi_module *mpi_load(char *why, size_t cap) {
  pthread_mutex_lock(&loaded.lock);
  if (!loaded.module) loaded.module = load(why, cap);
  const mpi_module *m = loaded.module;
  pthread_mutex_unlock(&loaded.lock);
  return m;
}
