/* core/passes/tile_to_simt_raster.c - the order in which blocks take the tiles of a matmul on NVIDIA and AMD devices.
 * Blocks that run at the same time should share operands in L2: tiles go in groups of 8 rows, rows fastest within a group. CDNA 3
 * and later deal blocks out to 8 dies in turn, each with an L2 of its own, so first each die gets a contiguous run of tiles:
 * block i of n takes tile (i mod 8) * (n / 8) + i / 8, where 8 divides n; the rest keep their places. */
#include <string.h>

#include "core/passes/tile_to_simt_impl.h"

enum { GROUP_ROWS = 8, DIES = 8, LEAST_TILES = 64 };

static bool has_dies(const tsr_caps *c) { return !strncmp(c->arch, "gfx94", 5) || !strncmp(c->arch, "gfx95", 5); }

void simt_raster(simt *c) {
  int64_t grid[3] = {1, 1, 1};
  const char *path = c->path->name;
  ir_get_ints(c->tile, "grid", grid, 3);
  if (ir_get_int(c->tile, "raster", 0) > 0) return; /* the schedule has its own order */
  int64_t nx = grid[0], ny = grid[1], n = nx * ny;
  if (strcmp(path, "mma") && strcmp(path, "mfma") && strcmp(path, "wmma")) return;
  if (n < LEAST_TILES || n > INT32_MAX / 2 || nx < 2 || ny < 2) return;
  ir_value *i = sx_add(c, sx_muli(c, c->in->block_id[1], nx), c->in->block_id[0]);
  if (has_dies(c->caps)) {
    int64_t each = n / DIES, whole = each * DIES;
    ir_value *moved = sx_add(c, sx_muli(c, sx_rem(c, i, sx_int(c, DIES)), each), sx_div(c, i, sx_int(c, DIES)));
    i = whole == n ? moved : sx_select(c, sx_compare(c, "lt", i, sx_int(c, whole)), moved, i);
  }
  int64_t group = ny < GROUP_ROWS ? ny : GROUP_ROWS;
  ir_value *band = sx_div(c, i, sx_int(c, group * nx)), *in = sx_rem(c, i, sx_int(c, group * nx)), *first = sx_muli(c, band, group);
  ir_value *height = ny % group ? sx_min(c, sx_sub(c, sx_int(c, ny), first), sx_int(c, group)) : sx_int(c, group);
  c->in->block_id[1] = sx_add(c, first, sx_rem(c, in, height));
  c->in->block_id[0] = sx_div(c, in, height);
}
