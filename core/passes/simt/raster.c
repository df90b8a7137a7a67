/* core/passes/simt/raster.c - the order in which blocks take the tiles of a matmul on NVIDIA and AMD devices.
 * Blocks that run at the same time should share operands in L2: tiles go in groups of 8 rows, rows fastest within a
 * group. CDNA 3 and later deal blocks out to their dies in turn, each with an L2 of its own, so first each die gets a
 * contiguous run of tiles: of d dies (caps.n_dies) block i of n takes tile (i mod d) * (n / d) + i / d, where d divides
 * n; the rest keep their places. */
#include <string.h>

#include "core/passes/simt/matrix/operands.h"
#include "core/passes/simt/raster.h"
#include "core/passes/simt/state.h"

enum { GROUP_ROWS = 8, LEAST_TILES = 64 };

bool simt_raster_wanted(const ir_op *kernel) {
  int64_t grid[3] = {1, 1, 1};
  ir_get_ints(kernel, "grid", grid, 3);
  if (ir_get_int(kernel, "raster", 0) > 0) return false; /* the schedule has its own order */
  return grid[0] >= 2 && grid[1] >= 2 && grid[0] * grid[1] >= LEAST_TILES && grid[0] * grid[1] <= INT32_MAX / 2;
}

void simt_raster_order(tgb *t, const tsr_caps *caps, int64_t nx, int64_t ny, ir_value *block[2]) {
  int64_t n = nx * ny, dies = caps->n_dies;
  ir_value *i = tg_add(t, tg_muli(t, block[1], nx), block[0]);
  if (dies > 1) {
    int64_t each = n / dies, whole = each * dies;
    ir_value *moved = tg_add(t, tg_muli(t, tg_remi(t, i, dies), each), tg_divi(t, i, dies));
    i = whole == n ? moved : tg_select(t, tg_compare(t, "lt", i, tg_index(t, whole)), moved, i);
  }
  int64_t group = ny < GROUP_ROWS ? ny : GROUP_ROWS;
  ir_value *band = tg_divi(t, i, group * nx), *in = tg_remi(t, i, group * nx), *first = tg_muli(t, band, group);
  ir_value *height = ny % group ? tg_min(t, tg_sub(t, tg_index(t, ny), first), tg_index(t, group)) : tg_index(t, group);
  block[1] = tg_add(t, first, tg_rem(t, in, height));
  block[0] = tg_div(t, in, height);
}

void simt_raster(simt *c) {
  int64_t grid[3] = {1, 1, 1};
  if (!simt_raster_wanted(c->tile) || !c->path->rasters) return;
  ir_get_ints(c->tile, "grid", grid, 3);
  tgb t = {c->m, c->b};
  simt_raster_order(&t, c->caps, grid[0], grid[1], c->in->block_id);
  c->b = t.b;
}
