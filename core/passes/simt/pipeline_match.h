/* core/passes/simt/pipeline_match.h - which pipelined loops (ir/tile/pipelined.h) run in stages, and in how many; see
 * simt/pipeline.c. */
#ifndef CORE_PASSES_SIMT_PIPELINE_MATCH_H
#define CORE_PASSES_SIMT_PIPELINE_MATCH_H
#include "core/ir/tile/pipelined.h"
#include "core/passes/simt/state.h"

/* Is the loop one that wants its tiles in stages? */
bool simt_pipeline_match(const simt *c, const ir_op *loop, tile_pipelined *p);

/* Copies that a pipelined loop wants of a tile, 1 = none. */
int simt_pipeline_stages(const simt *c, const ir_value *shared);

#endif
