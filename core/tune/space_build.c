/* core/tune/space_build.c - the spaces of the kernel families, made from a device's limits. One table row a knob; one
 * rule a family names the limit that prunes. Output: a space whose every legal point the lowering accepts. */
#include "core/tune/space.h"

#include <stdio.h>
#include <string.h>

#include "core/base/int_math.h"

enum { PER_CORE = -1 }; /* in place of a value: as many as the device has cores */

typedef struct knob_row {
  sched_knob_id knob;
  bool keeps_order; /* vectorize and warps move it in a GPU's row reductions */
  int32_t n;
  int32_t value[12];
} knob_row;

static const knob_row gpu_matmul[] = {
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
    {KNOB_stream_k, false, 2, {0, PER_CORE}},
};
static const knob_row cpu_matmul[] = {
    {KNOB_m, true, 7, {16, 32, 64, 96, 128, 192, 256}},
    {KNOB_n, true, 7, {32, 64, 96, 128, 192, 256, 512}},
    {KNOB_k, false, 5, {64, 128, 256, 384, 512}},
    {KNOB_split_k, false, 3, {1, 2, 4}},
    {KNOB_raster, true, 3, {0, 1, 4}}, /* down the columns, along the rows, groups of rows */
    {KNOB_pipeline_stages, true, 2, {1, 2}},
    {KNOB_matrix_path, false, 2, {0, 1}},
};
static const knob_row gpu_row[] = {
    {KNOB_m, true, 4, {1, 2, 4, 8}},
    {KNOB_vectorize, false, 4, {1, 2, 4, 8}},
    {KNOB_use_shared, false, 2, {0, 1}},
    {KNOB_warps, false, 6, {1, 2, 4, 8, 16, 32}},
    {KNOB_cluster, false, 4, {1, 2, 4, 8}},
};
static const knob_row cpu_row[] = {
    {KNOB_m, true, 9, {1, 2, 4, 8, 16, 32, 64, 128, 256}},
    {KNOB_vectorize, true, 4, {1, 128, 256, 512}}, /* 1: the backend's own strip */
};
static const knob_row gpu_elementwise[] = {
    {KNOB_m, true, 6, {256, 512, 1024, 2048, 4096, 8192}},
    {KNOB_vectorize, true, 4, {1, 2, 4, 8}},
    {KNOB_warps, true, 5, {1, 2, 4, 8, 16}},
};
static const knob_row cpu_elementwise[] = {
    {KNOB_m, true, 8, {1024, 4096, 8192, 16384, 32768, 65536, 131072, 262144}},
    {KNOB_vectorize, true, 4, {1, 128, 256, 512}},
};

#define ROWS(t) t, sizeof t / sizeof *t
static const struct family_rows {
  const knob_row *row;
  size_t n;
} families[N_FAMILIES][2] = {
    [FAMILY_MATMUL] = {{ROWS(gpu_matmul)}, {ROWS(cpu_matmul)}},
    [FAMILY_ROW] = {{ROWS(gpu_row)}, {ROWS(cpu_row)}},
    [FAMILY_ELEMENTWISE] = {{ROWS(gpu_elementwise)}, {ROWS(cpu_elementwise)}},
};

/* What a launch has without tuning; the lowering's own default replaces it through space_options. */
static tune_config family_default(const tune_device *d, const tune_problem *p) {
  tune_config c = {.vectorize = 4, .pipeline_stages = 1, .split_k = 1, .warps = 8, .cluster = 1};
  if (p->family == FAMILY_MATMUL) {
    c.m = c.n = 128;
    c.k = d->is_cpu ? 256 : 64;
    c.use_shared = !d->is_cpu;
    c.pipeline_stages = 2;
    c.async_copy = d->async_copy;
    c.matrix_path = tune_device_matrix(d, p->in) != NULL;
  } else if (p->family == FAMILY_ROW) {
    c.m = d->is_cpu ? 16 : 1;
    c.n = (int32_t)(p->n < INT32_MAX ? p->n : INT32_MAX);
  } else {
    c.m = d->is_cpu ? 16384 : 1024;
  }
  return c;
}

#define REFUSE(...) return (void)snprintf(why, why_bytes, __VA_ARGS__), false

static int64_t at_least(int64_t v, int64_t lo) { return v > lo ? v : lo; }

/* A tile beyond the problem only adds padding, but the smallest listed one always stays. */
static bool beyond(int64_t tile, int64_t extent, int64_t smallest) {
  return tile > smallest && tile > pow2_ceil(extent);
}

static bool matrix_rule(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  const tune_matrix *mx = tune_device_matrix(&s->device, s->problem.in);
  if (!mx) REFUSE("no matrix instruction for %s", tsr_dtype_name(s->problem.in));
  if (c->m % mx->m || c->n % mx->n || c->k % mx->k)
    REFUSE("tile is no multiple of the matrix shape %dx%dx%d", mx->m, mx->n, mx->k);
  if (!s->device.is_cpu && (int64_t)c->m * c->n < (int64_t)c->warps * mx->m * mx->n)
    REFUSE("fewer fragments than warps (%d)", c->warps);
  return true;
}

/* What simt/whole/lds_direct.c takes. */
static bool direct_rule(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  int32_t bytes = c->k * (int32_t)tsr_dtype_size(s->problem.in);
  if (!s->device.lds_direct) REFUSE("the device has no loads straight to shared memory");
  if (!c->use_shared || c->padding || c->split_k > 1 || c->stream_k || c->pipeline_stages < 2)
    REFUSE("direct loads need unpadded tiles in two stages");
  if (bytes % 64 || s->problem.k % c->k) REFUSE("direct loads need steps of 64 bytes that divide k");
  if (c->matrix_path == 3 && (c->warps != 8 || c->pipeline_stages != 2 || c->m < 128 || c->n < 128))
    REFUSE("the ping-pong needs 8 warps, 2 stages and large tiles");
  return true;
}

static bool staging_rule(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  if (!c->use_shared && (c->padding || c->async_copy || (c->pipeline_stages > 1 && !s->device.is_cpu)))
    REFUSE("padding, async copy and stages need shared memory");
  if (c->async_copy && !s->device.async_copy) REFUSE("the device has no async copy");
  if (c->async_copy && c->pipeline_stages < 2) REFUSE("async copy needs 2 stages");
  int64_t shared = occ_shared_bytes(&s->problem, c);
  if (s->device.shared_per_block > 0 && shared > s->device.shared_per_block)
    REFUSE("shared memory %lld > %lld bytes per block", (long long)shared, (long long)s->device.shared_per_block);
  return true;
}

static bool thread_rule(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  const tune_device *d = &s->device;
  if (d->is_cpu) return true;
  int64_t threads = (int64_t)c->warps * (d->warp_size > 0 ? d->warp_size : 32);
  if (d->max_threads > 0 && threads > d->max_threads)
    REFUSE("threads %lld > %d per block", (long long)threads, d->max_threads);
  int32_t regs = occ_regs(d, &s->problem, c), most = d->regs_per_thread > 0 ? d->regs_per_thread : 255;
  if (regs > most) REFUSE("registers %d > %d per thread", regs, most);
  occ_result o = occ_of_config(d, &s->problem, c);
  if (o.known && o.blocks < 1) REFUSE("%s: no block fits on a core", o.limiter);
  return true;
}

/* What simt/matrix/lane_n.c reads without gathers. */
static bool lane_n_rule(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  const tune_problem *p = &s->problem;
  int32_t row = s->device.warp_size * 4 / (int32_t)tsr_dtype_size(p->in);
  if (c->n % row) REFUSE("lane_n: a tile's rows are no whole registers of %d", row);
  if (c->use_shared || c->split_k > 1 || c->stream_k)
    REFUSE("lane_n: operands are read straight from memory, by whole products");
  if (p->m % c->m || p->n % c->n || p->k % c->k) REFUSE("lane_n: tiles at an edge are gathered");
  if ((int64_t)c->m * c->n < (int64_t)c->warps * row)
    REFUSE("lane_n: fewer registers than subgroups (%d)", c->warps);
  return true;
}

static bool matmul_rule(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  const tune_device *d = &s->device;
  const tune_problem *p = &s->problem;
  int32_t small_m = s->knob[0].value[0], small_n = s->knob[1].value[0], small_k = s->knob[2].value[0];
  if (beyond(c->m, p->m, small_m) || beyond(c->n, p->n, small_n) || beyond(c->k, p->k, small_k))
    REFUSE("tile is larger than the problem");
  if (c->split_k > 1 && (int64_t)c->split_k * c->k > p->k) REFUSE("split_k leaves empty parts");
  if (c->split_k > 1 && c->raster) REFUSE("parts have their own order of blocks");
  if (c->stream_k > 0) {
    int64_t tiles = (p->m + c->m - 1) / c->m * ((p->n + c->n - 1) / c->n) * p->batch, steps = (p->k + c->k - 1) / c->k;
    if (c->split_k > 1 || c->raster) REFUSE("shared steps have their own parts and order");
    if (tiles >= c->stream_k) REFUSE("each block has a tile of its own");
    if (tiles * steps < 2 * (int64_t)c->stream_k) REFUSE("fewer than two steps a block");
  }
  if (c->raster && (c->m >= p->m || c->n >= p->n)) REFUSE("one row or column of blocks has one order");
  if (c->raster > 1 && (int64_t)c->raster * c->m >= 2 * p->m)
    REFUSE("a raster group has more rows of blocks than there are");
  if (c->vectorize * (int64_t)tsr_dtype_size(p->in) > 16 && !d->is_cpu) REFUSE("vector wider than 16 bytes");
  if (!d->is_cpu && c->vectorize && (c->k % c->vectorize || c->n % c->vectorize))
    REFUSE("vector does not divide the tile");
  if (!d->is_cpu && !c->use_shared && c->vectorize != s->dflt.vectorize)
    REFUSE("a vector width is that of staging through shared memory");
  bool lane_n = c->matrix_path == TUNE_PATH_LANE_N;
  if (lane_n && !lane_n_rule(s, c, why, why_bytes)) return false;
  if (c->matrix_path && !lane_n && !d->is_cpu && !matrix_rule(s, c, why, why_bytes)) return false;
  if (c->matrix_path > 1 && !lane_n && !d->is_cpu && !direct_rule(s, c, why, why_bytes)) return false;
  if (!c->matrix_path && !d->is_cpu && (int64_t)c->m * c->n < (int64_t)c->warps * d->warp_size)
    REFUSE("fewer outputs than threads (%d)", c->warps * d->warp_size);
  if (d->is_cpu) { /* the packed panels stay near the second-level cache */
    int64_t panels = ((int64_t)c->m * c->k + (int64_t)c->k * c->n) * (int64_t)tsr_dtype_size(p->in),
            most = 2 * d->shared_per_block;
    if (most > 0 && panels > most) REFUSE("panels %lld > %lld bytes, twice L2", (long long)panels, (long long)most);
    return true;
  }
  return staging_rule(s, c, why, why_bytes) && thread_rule(s, c, why, why_bytes);
}

static bool vector_rule(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  const tune_problem *p = &s->problem;
  bool row = p->family == FAMILY_ROW;
  if (!s->device.is_cpu && c->vectorize * (int64_t)tsr_dtype_size(p->in) > 16) REFUSE("vector wider than 16 bytes");
  if (beyond(c->m, row ? p->m : p->n, s->knob[0].value[0]))
    REFUSE("tile is larger than the problem");
  int64_t threads = (int64_t)(c->warps > 0 ? c->warps : 1) * s->device.warp_size;
  if (row && c->cluster > 1) {
    if (!s->device.clusters) REFUSE("the device has no clusters");
    if (c->m > 1) REFUSE("a cluster holds one row");
    threads *= c->cluster;
    if (p->n > 64 * threads) REFUSE("the cluster can't hold a row");
  }
  if (!s->device.is_cpu && (row ? p->n : c->m) < at_least(c->vectorize, 1) * threads / (row ? 2 : 1) &&
      threads > s->device.warp_size)
    REFUSE("more lanes than elements");
  /* Rows held whole are unrolled over the lanes: beyond this the compiler, then the registers, give up. */
  if (row && !s->device.is_cpu && c->m > 1 && c->m * p->n > 32 * threads) REFUSE("more than 32 elements a lane");
  /* Elementwise blocks are unrolled over the lanes too; drivers take minutes for hundreds of elements. */
  if (!row && !s->device.is_cpu && c->m > 64 * threads) REFUSE("more than 64 elements a lane");
  bool shared_moves =
      row && s->n_knobs > 2 && s->knob[2].n > 1; /* else the lowering takes shared memory where warps share a row */
  if (shared_moves && c->use_shared && c->warps < 2) REFUSE("one warp needs no shared memory");
  if (shared_moves && !c->use_shared && c->warps > c->m && !s->device.is_cpu)
    REFUSE("several warps on a row need shared memory");
  return thread_rule(s, c, why, why_bytes);
}

static bool is_default(const tune_space *s, const int32_t *values) {
  tune_config d = s->dflt;
  for (int32_t i = 0; i < s->n_knobs; i++)
    if (*tune_config_field(&d, s->knob[i].name) != values[i]) return false;
  return true;
}

static bool family_legal(const void *user, const int32_t *values, char *why, size_t why_bytes) {
  const tune_space *s = user;
  tune_config c = {.vectorize = 1, .pipeline_stages = 1, .split_k = 1, .warps = 1, .cluster = 1};
  for (int32_t i = 0; i < s->n_knobs; i++) *tune_config_field(&c, s->knob[i].name) = values[i];
  if (s->dflt_is_legal && is_default(s, values)) return true;
  if (s->problem.family == FAMILY_ROW) c.n = (int32_t)(s->problem.n < INT32_MAX ? s->problem.n : INT32_MAX);
  return s->problem.family == FAMILY_MATMUL ? matmul_rule(s, &c, why, why_bytes) : vector_rule(s, &c, why, why_bytes);
}

static void fix_knob(space_knob *k, int32_t v) {
  k->n = 1;
  k->value[0] = v;
}

/* Inserts the default's own value, so that the untuned kernel is a point of the space. */
static void include_value(space_knob *k, int32_t v) {
  int32_t at = 0;
  while (at < k->n && k->value[at] < v) at++;
  if ((at < k->n && k->value[at] == v) || k->n == SPACE_MAX_VALUES) return;
  memmove(&k->value[at + 1], &k->value[at], (size_t)(k->n - at) * sizeof k->value[0]);
  k->value[at] = v;
  k->n++;
}

/* A CPU's kernels take any tile, so fractions and multiples of the lowering's own choice and the whole extent are worth
 * a try; a default far from the list then still has near neighbours. */
static void include_around(space_knob *k, int32_t v, int64_t extent) {
  if (v < 1) return;
  include_value(k, v);
  if (v >= 32) include_value(k, v / 2), include_value(k, v * 3 / 4);
  if (v < extent && v <= INT32_MAX / 2) include_value(k, v * 2);
  if (extent <= 1 << 14) include_value(k, (int32_t)extent);
}

void space_build(const tune_device *d, const tune_problem *p, const space_options *opt, tune_space *out) {
  memset(out, 0, sizeof *out);
  out->device = *d;
  out->problem = *p;
  if (out->device.warp_size < 1) out->device.warp_size = d->is_cpu ? 8 : 32;
  tune_config dflt = family_default(&out->device, p);
  if (opt && opt->dflt.m > 0) {
    tune_config own = dflt;
    int32_t *given[] = {&dflt.n, &dflt.k, &dflt.pipeline_stages, &dflt.split_k, &dflt.warps, &dflt.cluster},
            least[] = {own.n, own.k, own.pipeline_stages, own.split_k, own.warps, own.cluster};
    dflt = opt->dflt;
    for (size_t i = 0; i < sizeof given / sizeof *given;
         i++) /* a count of 0 is none given; of the others 0 is a value */
      if (!*given[i]) *given[i] = least[i];
  }
  const struct family_rows *f = &families[p->family][d->is_cpu];
  out->dflt_is_legal = opt && opt->dflt.m > 0;
  uint32_t uses = opt && opt->knobs
                      ? opt->knobs
                      : ~SPACE_KNOB(stream_k); /* that one doubles the space: only where a backend has it */
  for (size_t i = 0; i < f->n; i++) {
    sched_knob_id id = f->row[i].knob;
    space_knob *k = &out->knob[out->n_knobs++];
    *k = (space_knob){.name = sched_knobs[id].name, .keeps_order = f->row[i].keeps_order, .n = f->row[i].n};
    memcpy(k->value, f->row[i].value, sizeof f->row[i].value);
    for (int32_t j = 0; j < k->n; j++)
      if (k->value[j] == PER_CORE) k->value[j] = d->cores > 0 ? d->cores : 1;
    if (p->family == FAMILY_MATMUL && id == KNOB_k && tune_device_simd_like(&out->device) &&
        tsr_dtype_size(p->in) == 2)
      include_value(k,
                    256); /* a CPU's SIMD registers: nothing is staged (f16 512 cubed: 3.09 ms, by steps of 64 3.47) */
    bool is_path = id == KNOB_matrix_path, has_matrix = !is_path || tune_device_matrix(d, p->in);
    bool lane_n = is_path && tune_device_simd_like(&out->device) && tsr_dtype_size(p->in) <= 4;
    if (lane_n && !has_matrix) fix_knob(k, 0);
    if (lane_n) include_value(k, TUNE_PATH_LANE_N);
    if (is_path && d->lds_direct)
      for (int32_t path = 2; path <= 3; path++) include_value(k, path);
    int32_t v = *tune_config_field(&dflt, k->name);
    if (!has_matrix) v = 0;
    if (!(uses >> id & 1) || (p->deterministic && !k->keeps_order) ||
        (p->compensated && (id == KNOB_split_k || id == KNOB_stream_k)) || !(has_matrix || lane_n))
      fix_knob(k, v);
    else if (d->is_cpu && p->family == FAMILY_MATMUL && (id == KNOB_m || id == KNOB_n || id == KNOB_k))
      include_around(k, v, id == KNOB_m ? p->m : id == KNOB_n ? p->n : p->k);
    else include_value(k, v);
    *tune_config_field(&out->dflt, k->name) = v;
  }
  tune_space probe; /* names to config fields */
  if (space_custom(out->knob, out->n_knobs, NULL, NULL, &probe)) memcpy(out->field, probe.field, sizeof out->field);
  out->legal = family_legal;
  out->user = out;
}
