/* core/passes/simt/raster.h - the order in which blocks take tiles. */
#ifndef CORE_PASSES_SIMT_RASTER_H
#define CORE_PASSES_SIMT_RASTER_H
#include "core/passes/simt/state.h"
#include "core/passes/target/build.h"

void simt_raster(simt *c); /* other blocks for block_id[], after the path is known */

/* NVIDIA and AMD: does the kernel leave the order of its tiles open (and has enough of them), and which tile (block[0],
 * block[1]) is taken by the block that has these numbers in an nx x ny grid. */
bool simt_raster_wanted(const ir_op *kernel);
void simt_raster_order(tgb *t, const tsr_caps *caps, int64_t nx, int64_t ny, ir_value *block[2]);

#endif
