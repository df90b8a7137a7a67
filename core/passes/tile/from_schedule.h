/* core/passes/tile/from_schedule.h - Schedule IR to Tile IR: every schedule.kernel becomes a block program.
 *
 * All families work on an iteration space [outer..., m, n] cut into [Tm, Tn] tiles; outer dimensions are walked by the
 * grid. Memory operands are strided views aligned to the space (stride 0 where they repeat), so transposes, slices and
 * broadcasts cost no launch. */
#ifndef CORE_PASSES_TILE_FROM_SCHEDULE_H
#define CORE_PASSES_TILE_FROM_SCHEDULE_H
#include "core/ir/ir.h"
#include "core/passes/tile/options.h"

tsr_status schedule_to_tile(const ir_module *schedule, const tile_options *opts, ir_module **out);
#endif
