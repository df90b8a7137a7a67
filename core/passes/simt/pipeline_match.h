/* core/passes/simt/pipeline_match.h - a loop that copies tiles to shared memory, waits and computes; see
 * simt/pipeline.c. */
#ifndef CORE_PASSES_SIMT_PIPELINE_MATCH_H
#define CORE_PASSES_SIMT_PIPELINE_MATCH_H
#include "core/passes/simt/state.h"

enum { SIMT_PIPELINE_TILES = 8 };

typedef struct simt_pipeline {
  const ir_op *wait;
  ir_op *producer[SIMT_PIPELINE_TILES]; /* copies and gathers into shared tiles, before the wait */
  ir_value *tile[SIMT_PIPELINE_TILES];  /* their destinations */
  int n;
} simt_pipeline;

/* Is the loop one that wants its tiles in stages? */
bool simt_pipeline_match(const simt *c, const ir_op *loop, simt_pipeline *p);

bool simt_is_address_op(const ir_op *op);
int simt_pipeline_stages(const simt *c,
                         const ir_value *shared); /* copies that a pipelined loop wants of a tile, 1 = none */

#endif
