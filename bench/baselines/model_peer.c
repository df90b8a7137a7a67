/* bench/baselines/model_peer.c - see model_peer.h. */
#include "bench/baselines/model_peer.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const model_peer *model_peer_at(size_t i) {
  static const model_peer *const rows[] = {&model_peer_onnxruntime, &model_peer_openvino, &model_peer_iree};
  return i < sizeof rows / sizeof *rows ? rows[i] : NULL;
}

void *model_peer_load(const char *name) {
  static const char *const endings[] = {".so", ".so.1"};
  char folders[4096], path[4400], *rest = folders;
  void *lib = NULL;
  for (size_t i = 0; i < sizeof endings / sizeof *endings && !lib; i++) {
    snprintf(path, sizeof path, "lib%s%s", name, endings[i]);
    lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  snprintf(folders, sizeof folders, "%s", getenv("LD_LIBRARY_PATH") ? getenv("LD_LIBRARY_PATH") : "");
  for (char *f = strtok_r(folders, ":", &rest); f && !lib; f = strtok_r(NULL, ":", &rest)) {
    glob_t found;
    snprintf(path, sizeof path, "%s/lib%s.so.*", f, name);
    if (glob(path, 0, NULL, &found)) continue;
    for (size_t i = 0; i < found.gl_pathc && !lib; i++) lib = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
  }
  return lib;
}
