/* core/passes/tile/fuse_maps.h - joins the maps of Tile IR kernels. */
#ifndef CORE_PASSES_TILE_FUSE_MAPS_H
#define CORE_PASSES_TILE_FUSE_MAPS_H
#include "core/ir/ir.h"

enum { TILE_MAP_OPERANDS = 24 }; /* a map doesn't come to as many by what it takes in */

/* How often op itself reads v. */
static inline int tile_reads(const ir_op *op, const ir_value *v) {
  int n = 0;
  for (int i = 0; i < op->n_operands; i++) n += op->operands[i] == v;
  return n;
}

/* Inlines producers of maps into their only consumer. */
tsr_status tile_fuse_maps(ir_module *m);
tsr_status tile_fuse_maps_of(ir_op *kernel);
/* The row ops of a module's kernels take in what only they read: loads become views, a map of the rows the prologue
 * (which a reduction keeps for those that read it later); and a map that alone reads the result becomes the epilogue.
 */
tsr_status tile_fuse_rows(ir_module *m);
/* Sums and maxima of rows in text that was written by hand become row ops, for a device that takes these whole. */
tsr_status tile_raise_rows(ir_module *m);
/* A map x - number[r] whose squares a row op sums is computed in each op that reads it. Run after tile_raise_rows. */
tsr_status tile_sink_maps(ir_module *m);
#endif
