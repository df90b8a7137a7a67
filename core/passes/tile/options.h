/* core/passes/tile/options.h - for which device, and how, schedules become block programs. */
#ifndef CORE_PASSES_TILE_OPTIONS_H
#define CORE_PASSES_TILE_OPTIONS_H
#include "core/device/backend.h"

typedef struct tile_options {
  const tsr_caps *caps;
  const char *policy; /* "fast", ... */
  /* The backend's own default for a contraction, see be_vtable.suggest_tile; may be NULL. */
  bool (*suggest)(void *user, const be_matmul *desc, int64_t tile[3]);
  void *user;
  bool by_parts; /* the CPU's reduction kernels, which see to the range of norms, are switched off */
} tile_options;
#endif
