/* core/passes/tile/from_schedule.h - Schedule IR to Tile IR: every schedule.kernel becomes a block program.
 *
 * All families work on an iteration space [outer..., m, n] cut into [Tm, Tn] tiles; outer dimensions are walked by the
 * grid. Memory operands are strided views aligned to the space (stride 0 where they repeat), so transposes, slices and
 * broadcasts cost no launch. */
#ifndef CORE_PASSES_TILE_FROM_SCHEDULE_H
#define CORE_PASSES_TILE_FROM_SCHEDULE_H
#include "core/device/backend.h"
#include "core/ir/ir.h"
#include "core/ir/schedule/schedule.h"

typedef struct tile_options {
  const tsr_caps *caps;
  const char *policy; /* "fast", ... */
  /* The backend's own default for a contraction, see be_vtable.suggest_tile; may be NULL. */
  bool (*suggest)(void *user, const be_matmul *desc, int64_t tile[3]);
  void *user;
} tile_options;

tsr_status schedule_to_tile(const ir_module *schedule, const tile_options *opts, ir_module **out);

/* Inlines producers of maps into their only consumer. */
tsr_status tile_fuse_maps(ir_module *m);
#endif
