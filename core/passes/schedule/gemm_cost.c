/* core/passes/schedule/gemm_cost.c - see schedule/gemm_cost.h. */
#include "core/passes/schedule/gemm_cost.h"

#include <math.h>

#include "core/device/roofline.h"

static double ceil_div(double a, double b) { return b > 0 ? ceil(a / b) : 1; }

/* Rows or columns that are computed. */
static double computed(double extent, double tile, double grain) {
  return grain > 0 ? ceil_div(extent, grain) * grain : ceil_div(extent, tile) * tile;
}

gemm_counts gemm_count(const gemm_tiling *t) {
  gemm_counts c = {.tiles_m = ceil_div(t->m, t->tile_m),
                   .tiles_n = ceil_div(t->n, t->tile_n),
                   .steps = ceil_div(t->k, t->tile_k),
                   .operand_bytes = t->batch * t->in_bytes * (t->m + t->n) * t->k};
  c.tiles = t->batch * c.tiles_m * c.tiles_n;
  c.each = c.steps / t->parts;
  c.blocks = c.tiles * t->parts;
  if (t->parts > 1) c.partial_bytes = 2 * t->parts * t->batch * t->m * t->n * t->acc_bytes;
  if (t->sharing > 0) { /* every block has the same steps but for rounding up to whole ones, and ends within a tile */
    double sharing = t->sharing < c.tiles * c.steps ? t->sharing : c.tiles * c.steps;
    c.each = ceil_div(c.tiles * c.steps, sharing);
    c.blocks = ceil_div(c.tiles * c.steps, c.each);
    c.partial_bytes = 2 * (c.tiles + c.blocks) * t->tile_m * t->tile_n * t->acc_bytes;
  }
  double rows = computed(t->m, t->tile_m, t->grain_m), columns = computed(t->n, t->tile_n, t->grain_n);
  c.flops = 2 * t->batch * rows * columns * (t->grain_m > 0 ? t->k : c.steps * t->tile_k);
  c.block_flops = 2 * t->tile_m * t->tile_n * (ceil(c.each) * t->tile_k);
  return c;
}

double gemm_math_ns(const gemm_counts *c, double peak, double share, double cores) {
  if (!(cores > 0)) return c->flops / peak / share;
  return roofline_rounds(c->blocks, cores) * c->block_flops / (peak / cores * share);
}
