/* core/ir/tile/structured.h - what tessera.tile.contract and tessera.tile.row have in common: regions of scalars, and
 * how operands lie. For the files that read and check the two. */
#ifndef CORE_IR_TILE_STRUCTURED_H
#define CORE_IR_TILE_STRUCTURED_H
#include "core/ir/ir.h"

/* Region r has arguments, all scalars, and yields `least` to `most` scalars; `yields` says what these are. */
tsr_status tile_check_region(const ir_op *op, int r, int least, int most, const char *yields);
/* Two letters at *at, behind which it then stands: `first` and `second`, or the two swapped. False: neither. */
bool tile_read_map(const char **at, char first, char second, bool *swapped);
/* Of the extents of a tile: each in the range of indices, and the attribute has so many. */
tsr_status tile_read_extents(const ir_op *op, int n, int64_t *out);
#endif
