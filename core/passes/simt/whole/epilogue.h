/* core/passes/simt/whole/epilogue.h - sm_90a: a tile of results from the accumulators of wgmma through shared memory by
 * TMA, for results of 8, 16 and 32 bits. In shared memory it is columns of 128 bytes (swizzled), each with the block's
 * rows. Where the whole tile would leave too little room for the stage queue it goes out in passes of some columns,
 * through two buffers alternately if there are that many. */
#ifndef CORE_PASSES_SIMT_WHOLE_EPILOGUE_H
#define CORE_PASSES_SIMT_WHOLE_EPILOGUE_H
#include "core/passes/simt/whole/match.h"

typedef struct simt_tile_store {
  int size, per_line;            /* bytes of an element, elements of 128 bytes */
  int columns, per_pass, buffers; /* of 128 bytes: of the tile, of a pass; buffers of a pass's columns */
  int64_t bytes;                 /* of shared memory */
  int consumers, blocks;         /* warpgroups; 64-row blocks of each */
  ir_value *map, *shared;        /* made by begin */
  ir_value *acc, *group, *thread, *warp, *lane; /* thread and warp: within the warpgroup `group` */
} simt_tile_store;

/* Whether the kernel's one result suits; then the n-th way to cut it into passes, the fewest first. False when there
 * are no more. */
bool simt_tile_store_plan(const simt_matmul *mm, int n, simt_tile_store *out);
/* The tile in shared memory at byte `at`, a multiple of 1024, and the map of the result. */
void simt_tile_store_begin(const simt_place *p, simt_tile_store *s, int64_t at);
/* A tile's results: epilogue, conversion, stores under way. All threads of the consumers. */
void simt_tile_store_emit(const simt_place *p, const simt_tile_store *s);
/* Before the block ends: shared memory has been read. */
void simt_tile_store_end(const simt_place *p, const simt_tile_store *s);

#endif
