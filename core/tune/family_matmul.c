/* core/tune/family_matmul.c - products in the tuner: problem, knobs and the limits that prune them, resources. Their
 * cost: family_matmul_cost.c. */
#include <stdio.h>

#include "core/ir/graph/ops.h"
#include "core/passes/schedule/kernel.h"
#include "core/tune/family_matmul.h"

static bool problem(const ir_op *kernel, const int64_t *s, tune_problem *p) {
  const ir_op *product = sched_contraction(kernel);
  if (!product) return false;
  p->batch = s[0], p->m = s[1], p->n = s[2], p->k = s[3];
  p->in = product->operands[0]->type->dtype;
  p->acc = graph_contract_get(product).accum;
  p->collects_b = graph_is_kind(product->operands[1]->def, GRAPH_WINDOWS);
  return true;
}

static double result_elements(const tune_problem *p) { return tune_rows(p) * (double)p->n; }

static double flops(const tune_problem *p) { return 2 * result_elements(p) * (double)p->k; }

static double bytes(const tune_problem *p) {
  double b = (double)(p->batch > 0 ? p->batch : 1), in = (double)tsr_dtype_size(p->in),
         out = (double)tsr_dtype_size(p->out);
  double m = (double)(p->m > 0 ? p->m : 1), n = (double)p->n, k = (double)p->k;
  return b * (m * k * in + m * n * out) + k * n * in;
}

static void tile(const tune_problem *p, const tune_config *c, char *out, size_t out_bytes) {
  snprintf(out, out_bytes, "%dx%dx%d", c->m, c->n, c->k);
}

/* ---- space ------------------------------------------------------------------------------------------------------- */

static const tune_knob_row on_gpu[] = {
    {KNOB_m, true, 5, {16, 32, 64, 128, 256}},
    {KNOB_n, true, 5, {16, 32, 64, 128, 256}},
    {KNOB_k, false, 4, {16, 32, 64, 128}},
    {KNOB_vectorize, true, 5, {1, 2, 4, 8, 16}},
    {KNOB_use_shared, true, 2, {0, 1}},
    {KNOB_padding, true, 3, {0, 1, 8}},
    {KNOB_async_copy, true, 2, {0, 1}},
    {KNOB_pipeline_stages, true, 4, {1, 2, 3, 4}},
    {KNOB_split_k, false, 4, {1, 2, 4, 8}},
    {KNOB_warps, true, 5, {1, 2, 4, 8, 16}},
    {KNOB_raster, true, 3, {0, 4, 8}},
    {KNOB_matrix_path, false, 2, {0, 1}},
    {KNOB_stream_k, false, 2, {0, TUNE_PER_CORE}},
};
static const tune_knob_row on_cpu[] = {
    {KNOB_m, true, 7, {16, 32, 64, 96, 128, 192, 256}},
    {KNOB_n, true, 7, {32, 64, 96, 128, 192, 256, 512}},
    {KNOB_k, false, 5, {64, 128, 256, 384, 512}},
    {KNOB_split_k, false, 3, {1, 2, 4}},
    {KNOB_raster, true, 3, {0, 1, 4}}, /* down the columns, along the rows, groups of rows */
    {KNOB_pipeline_stages, true, 2, {1, 2}},
    {KNOB_matrix_path, false, 2, {0, 1}},
};

static void untuned(const tune_device *d, const tune_problem *p, tune_config *c) {
  c->m = c->n = 128;
  c->k = d->is_cpu ? 256 : 64;
  c->use_shared = !d->is_cpu;
  c->pipeline_stages = 2;
  c->async_copy = d->async_copy;
  c->matrix_path = tune_device_matrix(d, p->in) != NULL;
}

/* A CPU's kernels take any tile, so fractions and multiples of the lowering's own choice and the whole extent are worth
 * a try; a default far from the list then still has near neighbours. */
static void include_around(space_knob *k, int32_t v, int64_t extent) {
  if (v < 1) return;
  space_knob_include(k, v);
  if (v >= 32) space_knob_include(k, v / 2), space_knob_include(k, v * 3 / 4);
  if (v < extent && v <= INT32_MAX / 2) space_knob_include(k, v * 2);
  if (extent <= 1 << 14) space_knob_include(k, (int32_t)extent);
}

static void widen(const tune_space *s, sched_knob_id knob, int32_t v, space_knob *k) {
  const tune_problem *p = &s->problem;
  bool of_tile = knob == KNOB_m || knob == KNOB_n || knob == KNOB_k;
  if (knob == KNOB_k && tune_device_simd_like(&s->device) && tsr_dtype_size(p->in) == 2)
    space_knob_include(
        k, 256); /* a CPU's SIMD registers: nothing is staged (f16 512 cubed: 3.09 ms, by steps of 64 3.47) */
  if (s->device.is_cpu && of_tile) include_around(k, v, knob == KNOB_m ? p->m : knob == KNOB_n ? p->n : p->k);
}

static bool matrix_rule(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  const tune_matrix *mx = tune_device_matrix(&s->device, s->problem.in);
  if (!mx) TUNE_REFUSE("no matrix instruction for %s", tsr_dtype_name(s->problem.in));
  if (c->m % mx->m || c->n % mx->n || c->k % mx->k)
    TUNE_REFUSE("tile is no multiple of the matrix shape %dx%dx%d", mx->m, mx->n, mx->k);
  if (!s->device.is_cpu && (int64_t)c->m * c->n < (int64_t)c->warps * mx->m * mx->n)
    TUNE_REFUSE("fewer fragments than warps (%d)", c->warps);
  return true;
}

/* What simt/whole/lds_direct.c takes. */
static bool direct_rule(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  int32_t bytes = c->k * (int32_t)tsr_dtype_size(s->problem.in);
  if (!s->device.lds_direct) TUNE_REFUSE("the device has no loads straight to shared memory");
  if (!c->use_shared || c->padding || c->split_k > 1 || c->stream_k || c->pipeline_stages < 2)
    TUNE_REFUSE("direct loads need unpadded tiles in two stages");
  if (bytes % 64 || s->problem.k % c->k) TUNE_REFUSE("direct loads need steps of 64 bytes that divide k");
  if (c->matrix_path == PATH_PINGPONG && (c->warps != 8 || c->pipeline_stages != 2 || c->m < 128 || c->n < 128))
    TUNE_REFUSE("the ping-pong needs 8 warps, 2 stages and large tiles");
  return true;
}

static bool staging_rule(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  if (!c->use_shared && (c->padding || c->async_copy || (c->pipeline_stages > 1 && !s->device.is_cpu)))
    TUNE_REFUSE("padding, async copy and stages need shared memory");
  if (c->async_copy && !s->device.async_copy) TUNE_REFUSE("the device has no async copy");
  if (c->async_copy && c->pipeline_stages < 2) TUNE_REFUSE("async copy needs 2 stages");
  return true;
}

/* What simt/matrix/lane_n.c reads without gathers: rows of a past its end are the last one again. */
static bool lane_n_rule(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  const tune_problem *p = &s->problem;
  int32_t row = s->device.warp_size * 4 / (int32_t)tsr_dtype_size(p->in);
  if (c->n % row) TUNE_REFUSE("lane_n: a tile's rows are no whole registers of %d", row);
  if (c->use_shared || c->split_k > 1 || c->stream_k)
    TUNE_REFUSE("lane_n: operands are read straight from memory, by whole products");
  if ((p->n % c->n && !p->collects_b) || p->k % c->k) TUNE_REFUSE("lane_n: tiles at an edge are gathered");
  if ((int64_t)c->m * c->n < (int64_t)c->warps * row)
    TUNE_REFUSE("lane_n: fewer registers than subgroups (%d)", c->warps);
  return true;
}

static bool legal(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  const tune_device *d = &s->device;
  const tune_problem *p = &s->problem;
  int32_t small_m = s->knob[0].value[0], small_n = s->knob[1].value[0], small_k = s->knob[2].value[0];
  if (tune_is_beyond(c->m, p->m, small_m) || tune_is_beyond(c->n, p->n, small_n) || tune_is_beyond(c->k, p->k, small_k))
    TUNE_REFUSE("tile is larger than the problem");
  if (c->split_k > 1 && (int64_t)c->split_k * c->k > p->k) TUNE_REFUSE("split_k leaves empty parts");
  if (c->split_k > 1 && c->raster) TUNE_REFUSE("parts have their own order of blocks");
  if (c->stream_k > 0) {
    int64_t tiles = (p->m + c->m - 1) / c->m * ((p->n + c->n - 1) / c->n) * p->batch, steps = (p->k + c->k - 1) / c->k;
    if (c->split_k > 1 || c->raster) TUNE_REFUSE("shared steps have their own parts and order");
    if (tiles >= c->stream_k) TUNE_REFUSE("each block has a tile of its own");
    if (tiles * steps < 2 * (int64_t)c->stream_k) TUNE_REFUSE("fewer than two steps a block");
  }
  if (c->raster && (c->m >= p->m || c->n >= p->n)) TUNE_REFUSE("one row or column of blocks has one order");
  if (c->raster > 1 && (int64_t)c->raster * c->m >= 2 * p->m)
    TUNE_REFUSE("a raster group has more rows of blocks than there are");
  if (c->vectorize * (int64_t)tsr_dtype_size(p->in) > 16 && !d->is_cpu) TUNE_REFUSE("vector wider than 16 bytes");
  if (!d->is_cpu && c->vectorize && (c->k % c->vectorize || c->n % c->vectorize))
    TUNE_REFUSE("vector does not divide the tile");
  if (!d->is_cpu && !c->use_shared && c->vectorize != s->dflt.vectorize)
    TUNE_REFUSE("a vector width is that of staging through shared memory");
  bool lane_n = c->matrix_path == PATH_LANE_N;
  if (lane_n && !lane_n_rule(s, c, why, why_bytes)) return false;
  if (c->matrix_path && !lane_n && !d->is_cpu && !matrix_rule(s, c, why, why_bytes)) return false;
  const bool direct = c->matrix_path == PATH_DIRECT || c->matrix_path == PATH_PINGPONG;
  if (direct && !d->is_cpu && !direct_rule(s, c, why, why_bytes)) return false;
  if (!c->matrix_path && !d->is_cpu && (int64_t)c->m * c->n < (int64_t)c->warps * d->warp_size)
    TUNE_REFUSE("fewer outputs than threads (%d)", c->warps * d->warp_size);
  if (d->is_cpu) { /* the packed panels stay near the second-level cache */
    int64_t panels = ((int64_t)c->m * c->k + (int64_t)c->k * c->n) * (int64_t)tsr_dtype_size(p->in),
            most = 2 * d->shared_per_block;
    if (most > 0 && panels > most)
      TUNE_REFUSE("panels %lld > %lld bytes, twice L2", (long long)panels, (long long)most);
    return true;
  }
  return staging_rule(s, c, why, why_bytes);
}

/* ---- resources --------------------------------------------------------------------------------------------------- */

static int64_t regs(const tune_device *d, const tune_problem *p, const tune_config *c, int64_t threads) {
  int64_t in_bytes = (int64_t)tsr_dtype_size(p->in), sides = (int64_t)c->m + c->n;
  const tune_matrix *mx = c->matrix_path ? tune_device_matrix(d, p->in) : NULL;
  int64_t step = mx ? mx->k : 1, n = occ_pieces(occ_product(c->m, c->n), threads);
  /* Fragments of one k step, two sets so that loads run ahead. */
  n = occ_sum(n, occ_sum(occ_product(2, occ_product(sides, step * in_bytes) / 4), 2 * threads - 2) / threads);
  /* What a copy without its own path holds on its way to shared memory. */
  if (c->use_shared && !c->async_copy)
    n = occ_sum(n, occ_pieces(occ_product(occ_product(sides, c->k), in_bytes) / 4, threads));
  return n;
}

static int64_t shared_bytes(const tune_problem *p, const tune_config *c) {
  int64_t in_bytes = (int64_t)tsr_dtype_size(p->in), stages = max64(c->pipeline_stages, 1);
  if (!c->use_shared) return 0;
  return occ_product(stages * in_bytes, occ_sum(occ_product(c->m, (int64_t)c->k + c->padding),
                                                occ_product(c->k, (int64_t)c->n + c->padding)));
}

static int32_t bank_ways(const tune_device *d, const tune_problem *p, const tune_config *c) {
  if (!c->use_shared || d->is_cpu) return 0;
  const tune_matrix *x = c->matrix_path ? tune_device_matrix(d, p->in) : NULL;
  const bool usual = c->matrix_path == PATH_FMA || c->matrix_path == PATH_AUTO;
  if (!usual || (x && d->warpgroup_matrix)) return 1; /* swizzled */
  int64_t bytes = x && d->warp_size > 0 ? (int64_t)x->m * x->k / d->warp_size * (int64_t)tsr_dtype_size(p->in) : 4;
  return occ_bank_conflict(d, p->in, c->k, c->padding, bytes >= 16 ? 16 : bytes >= 8 ? 8 : 4);
}

const tune_family tune_family_matmul = {TUNE_FAMILY_OWN, .extents = "bmnk", .widen = widen, .bank_ways = bank_ways,
                                        .cost = tune_matmul_cost};
