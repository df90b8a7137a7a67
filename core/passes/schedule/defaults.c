/* core/passes/schedule/defaults.c - see schedule/defaults.h. */
#include "core/passes/schedule/defaults.h"

#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/ir/graph/ops.h"
#include "core/passes/schedule/gemm_heuristics.h"

/* The table of docs/tuning.md, "Default tiles"; rows marked * are for types that were left out at first. */
static const struct { const char *op; tsr_dtype t; int64_t m, n, k, warps; } table[] = {
    {"gemm", TSR_BF16, 128, 128, 64, 0},
    {"gemm", TSR_F16, 128, 128, 64, 0},
    {"gemm", TSR_F8E4M3, 256, 128, 128, 0},
    {"gemm", TSR_F8E5M2, 256, 128, 128, 0},
    {"gemm", TSR_I8, 128, 128, 64, 0},  /* * */
    {"gemm", TSR_U8, 128, 128, 64, 0},  /* * */
    {"gemm", TSR_F32, 128, 128, 32, 0}, /* * */
    {"gemm", TSR_F64, 64, 64, 16, 0},   /* * */
    {"gemm", TSR_DTYPE_NONE, 64, 64, 16, 0},
    {"conv2d", TSR_DTYPE_NONE, 128, 128, 32, 0},
    {"flash_attention", TSR_DTYPE_NONE, 128, 64, 64, 0},
    {"layernorm", TSR_DTYPE_NONE, 8, 0, 0, 8}, /* 256 threads, one row per warp of 32 */
};

bool sched_recommended_row(size_t i, const char **op, tsr_dtype *t, sched_params *out) {
  *out = (sched_params){0};
  if (i >= sizeof table / sizeof *table) return false;
  *op = table[i].op, *t = table[i].t;
  out->m = table[i].m, out->n = table[i].n, out->k = table[i].k, out->warps = table[i].warps;
  return true;
}

bool sched_recommended(const char *op, tsr_dtype t, sched_params *out) {
  *out = (sched_params){0};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].op, op) && (table[i].t == t || !table[i].t)) {
      out->m = table[i].m, out->n = table[i].n, out->k = table[i].k, out->warps = table[i].warps;
      return true;
    }
  return false;
}

/* ---- reading a kernel ------------------------------------------------------------------------------------------ */

static const ir_op *contraction(const ir_op *kernel) {
  for (const ir_op *o = kernel->regions[0]->first; o; o = o->next)
    if (graph_is(o, G_MATMUL)) return o;
  return NULL;
}

static sched_family family_of(const ir_op *kernel) { return sched_family_parse(ir_get_str(kernel, "family", "")); }

int64_t sched_element_bytes(const ir_op *kernel) {
  int64_t most = 1;
  for (int i = 0; i < kernel->n_operands; i++) {
    int64_t b = (int64_t)tsr_dtype_size(kernel->operands[i]->type->dtype);
    if (b > most) most = b;
  }
  for (int i = 0; i < kernel->n_results; i++) {
    int64_t b = (int64_t)tsr_dtype_size(kernel->results[i]->type->dtype);
    if (b > most) most = b;
  }
  return most;
}

static int64_t row_length(const ir_op *kernel) {
  int64_t space[4] = {0};
  return ir_get_ints(kernel, "space", space, 4) == 2 ? space[1] : 0;
}

/* The matrix instruction that divides the tile; if none does, the smallest. */
static const tsr_matrix_shape *matrix_shape(const ir_op *product, const tsr_caps *c, const sched_params *p) {
  if (p->matrix_path &&
      (!strcmp(p->matrix_path, "fma") || !strcmp(p->matrix_path, "scalar") || !strcmp(p->matrix_path, "stream")))
    return NULL;
  tsr_dtype a = product->operands[0]->type->dtype, b = product->operands[1]->type->dtype,
            acc = graph_matmul_get(product).accum;
  const tsr_matrix_shape *best = NULL;
  for (int i = 0; i < c->n_matrix; i++) {
    const tsr_matrix_shape *x = &c->matrix[i];
    if (!x->enabled || x->a != a || x->b != b || x->c != acc) continue;
    if (p->m > 0 && p->m % x->m == 0 && p->n % x->n == 0 && p->k % x->k == 0) return x;
    if (!best || x->m * x->n * x->k < best->m * best->n * best->k) best = x;
  }
  return best;
}

/* ---- defaults -------------------------------------------------------------------------------------------------- */

/* Rows in one subgroup's registers as long as these are few enough to compile well; more subgroups meet at barriers. */
static void simd_rows(int64_t length, int64_t lanes, sched_params *p) {
  int64_t most = 128 * lanes;
  p->warps = 1;
  p->m = 1;
  while (length > most * p->warps && p->warps < 32) p->warps *= 2;
  while (length > 0 && 2 * p->m * length <= most && p->m < 64) p->m *= 2;
}

/* Rows that one block can't hold: the fewest blocks of 256 threads with half of their registers' worth each, so that
 * two share a core; then eight of twice the threads. False where even that is too little: a multi-pass reduction.
 * (With 64 elements a thread and a norm's weights beside them, ptxas spills.) */
static bool cluster_rows(int64_t length, int64_t lanes, sched_params *p) {
  int64_t threads = 256, each = SCHED_MOST_PER_THREAD / 2;
  for (int64_t c = 2; c <= SCHED_MOST_CLUSTER; c *= 2)
    if (length <= c * threads * each) {
      p->cluster = c, p->warps = threads / lanes, p->m = 1;
      return true;
    }
  if (length > SCHED_MOST_CLUSTER * 2 * threads * each) return false;
  p->cluster = SCHED_MOST_CLUSTER, p->warps = 2 * threads / lanes, p->m = 1;
  return true;
}

sched_params sched_default(const ir_op *kernel, const tsr_caps *c) {
  sched_params p = {0};
  sched_family f = family_of(kernel);
  if (c->dialect == DIALECT_CPU || f == FAMILY_CUSTOM) return p;
  int64_t lanes = c->subgroup > 0 ? c->subgroup : 32, bytes = sched_element_bytes(kernel), threads = 256;
  if (c->max_threads > 0 && threads > c->max_threads) threads = c->max_threads;
  if (f == FAMILY_MATMUL) {
    const ir_op *product = contraction(kernel);
    if (product) sched_matmul_default(product, c, &p);
    return p;
  }
  if (f == FAMILY_ROW && sched_simd_like(c)) {
    simd_rows(row_length(kernel), lanes, &p);
    return p;
  }
  p.vectorize = bytes < 16 ? 16 / bytes : 1;
  if (f == FAMILY_ROW && c->clusters && c->max_threads >= 512 &&
      row_length(kernel) > SCHED_MOST_PER_THREAD * 2 * threads && cluster_rows(row_length(kernel), lanes, &p))
    return p;
  if (f == FAMILY_ROW && row_length(kernel) > SCHED_MOST_PER_THREAD * threads &&
      (c->max_threads <= 0 || c->max_threads >= 512))
    threads = 512; /* the row stays in registers */
  p.warps = threads >= lanes ? threads / lanes : 1;
  if (f == FAMILY_ROW) p.m = row_length(kernel) > 64 * lanes ? 1 : p.warps; /* a long row takes the whole block */
  else p.m = threads * p.vectorize * 4;
  return p;
}

const char *sched_policy(const ir_op *kernel, const char *otherwise) {
  const ir_op *program = kernel->parent ? kernel->parent->parent : NULL;
  return ir_get_str(kernel, "policy", program ? ir_get_str(program, "policy", otherwise) : otherwise);
}

int64_t sched_block_elements(const tsr_caps *c) { return c->dialect == DIALECT_CPU ? 16384 : 2048; }

/* One softmax or norm and nothing else. */
static bool is_one_norm(const ir_op *kernel) {
  int norms = 0;
  for (const ir_op *o = kernel->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_GRAPH || o->def->flags & IR_VIEWLIKE || !o->n_operands || !o->n_results) continue;
    if (!graph_is(o, G_SOFTMAX) && !graph_is(o, G_LAYERNORM) && !graph_is(o, G_RMSNORM)) return false;
    norms++;
  }
  return norms == 1;
}

int64_t sched_block_rows(const ir_op *kernel, const tsr_caps *c, int64_t m, int64_t n) {
  bool cpu = c->dialect == DIALECT_CPU;
  int64_t length = n > 0 ? n : 1, rows = clamp64((cpu ? 16384 : 4096) / length, 1, m < 64 ? m : 64);
  /* What works three rows at a time (backends/cpu/rows.c) likes more of them, as long as every thread still gets
   * several blocks. */
  if (cpu && is_one_norm(kernel)) {
    int64_t more = clamp64(65536 / length, 1, 64), share = m / (8 * (c->n_cores > 0 ? c->n_cores : 64));
    if (more > share) more = share;
    if (more > rows) rows = more;
  }
  return rows > 0 ? rows : 1;
}

/* ---- legality -------------------------------------------------------------------------------------------------- */

int64_t sched_shared_bytes(const ir_op *kernel, const sched_params *p) {
  const ir_op *product = contraction(kernel);
  if (!product || p->use_shared < 0 || p->m <= 0) return 0;
  int64_t pad = p->padding > 0 ? p->padding : 0, stages = p->stages > 0 ? p->stages : 1;
  int64_t a = p->m * (p->k + pad) * (int64_t)tsr_dtype_size(product->operands[0]->type->dtype);
  int64_t b = p->k * (p->n + pad) * (int64_t)tsr_dtype_size(product->operands[1]->type->dtype);
  return stages * (a + b);
}

static const char *broken_matmul(const ir_op *kernel, const tsr_caps *c, const sched_params *p, char *why,
                                 size_t size) {
  const ir_op *product = contraction(kernel);
  int64_t shared = sched_shared_bytes(kernel, p), lanes = c->subgroup > 0 ? c->subgroup : 32;
  if (!product || p->m <= 0 || (p->matrix_path && !strcmp(p->matrix_path, "stream"))) return NULL;
  if (c->shared_bytes > 0 && shared > c->shared_bytes) {
    snprintf(why, size, "shared memory per block: needs %lld bytes, the device has %lld", (long long)shared,
             (long long)c->shared_bytes);
    return why;
  }
  int64_t threads = (p->warps > 0 ? p->warps : 1) * lanes, acc = p->m * p->n / threads;
  int64_t limit = c->max_registers > 0 ? c->max_registers : 255;
  if (acc > limit - 24) {
    snprintf(why, size, "registers per thread: %lld accumulators, the device has %lld registers", (long long)acc,
             (long long)limit);
    return why;
  }
  const tsr_matrix_shape *x = matrix_shape(product, c, p);
  if (x && (p->m % x->m || p->n % x->n || p->k % x->k)) {
    snprintf(why, size, "matrix instruction: the tile must be a multiple of %dx%dx%d", x->m, x->n, x->k);
    return why;
  }
  return NULL;
}

const char *sched_broken_limit(const ir_op *kernel, const tsr_caps *c, const sched_params *p, char *why, size_t size) {
  if (c->dialect == DIALECT_CPU) return NULL; /* tiles are cache blocks there: any size runs */
  int64_t lanes = c->subgroup > 0 ? c->subgroup : 32, threads = p->warps * lanes,
          access = p->vectorize * sched_element_bytes(kernel);
  if (c->max_threads > 0 && threads > c->max_threads) {
    snprintf(why, size, "threads per block: %lld, the device has %d", (long long)threads, c->max_threads);
    return why;
  }
  if (p->cluster > 1 && !c->clusters) {
    snprintf(why, size, "clusters: the device has none");
    return why;
  }
  if (p->cluster > 1 && family_of(kernel) == FAMILY_ROW &&
      (p->m > 1 || row_length(kernel) > p->cluster * threads * SCHED_MOST_PER_THREAD)) {
    snprintf(why, size, "registers per thread: a cluster of %lld blocks holds one row of up to %lld elements",
             (long long)p->cluster, (long long)(p->cluster * threads * SCHED_MOST_PER_THREAD));
    return why;
  }
  if (c->vector_bytes > 0 && p->vectorize > 1 && access > c->vector_bytes) {
    snprintf(why, size, "access width: %lld bytes, the device has %d", (long long)access, c->vector_bytes);
    return why;
  }
  return family_of(kernel) == FAMILY_MATMUL ? broken_matmul(kernel, c, p, why, size) : NULL;
}

bool sched_legalize(const ir_op *kernel, const tsr_caps *c, sched_params *p) {
  char why[160];
  const ir_op *product = contraction(kernel);
  const tsr_matrix_shape *x = product ? matrix_shape(product, c, p) : NULL;
  int64_t lanes = c->subgroup > 0 ? c->subgroup : 32, least_m = x ? x->m : 1, least_n = x ? x->n : 1,
          least_k = x ? x->k : 1;
  while (c->max_threads > 0 && p->warps > 1 && p->warps * lanes > c->max_threads) p->warps--;
  if (p->cluster > 1 && family_of(kernel) == FAMILY_ROW && c->clusters &&
      sched_broken_limit(kernel, c, p, why, sizeof why)) {
    p->m = 1;
    while (p->cluster < SCHED_MOST_CLUSTER && sched_broken_limit(kernel, c, p, why, sizeof why)) p->cluster *= 2;
    if (sched_broken_limit(kernel, c, p, why, sizeof why)) p->cluster = 1;
  } else if (!c->clusters) {
    p->cluster = p->cluster > 1 ? 1 : p->cluster;
  }
  while (c->vector_bytes > 0 && p->vectorize > 1 && p->vectorize * sched_element_bytes(kernel) > c->vector_bytes)
    p->vectorize /= 2;
  if (x && p->m > 0) p->m = round_up(p->m, least_m), p->n = round_up(p->n, least_n), p->k = round_up(p->k, least_k);
  for (int step = 0; step < 64 && sched_broken_limit(kernel, c, p, why, sizeof why); step++) {
    bool registers = !strncmp(why, "registers", 9);
    int64_t *larger = p->m >= p->n && p->m > least_m ? &p->m : &p->n;
    if (registers && c->max_threads > 0 && 2 * p->warps * lanes <= c->max_threads) p->warps *= 2;
    else if (!registers && p->stages > 2) p->stages--;
    else if (!registers && p->k > 2 * least_k - 1 && p->k > 16) p->k = round_up(p->k / 2, least_k);
    else if (*larger > 16 && *larger > (larger == &p->m ? least_m : least_n))
      *larger = round_up(*larger / 2, larger == &p->m ? least_m : least_n);
    else if (!registers && p->stages > 1) p->stages = 1;
    else if (!registers && p->padding > 0) p->padding = -1;
    else return false;
  }
  return !sched_broken_limit(kernel, c, p, why, sizeof why);
}

static bool lighter_matmul(const sched_params *was, int64_t lanes, int64_t most, bool group, sched_params *p) {
  int64_t least = group ? 64 : 16, threads = was->warps * lanes;
  if (!group && was->m * was->n / threads > 32 && 2 * threads <= most) p->warps *= 2;
  else if (p->n >= p->m && p->n > least) p->n = p->n / 2 > least ? p->n / 2 : least;
  else if (p->m > least) p->m = p->m / 2 > least ? p->m / 2 : least;
  else if (p->n > least) p->n = p->n / 2 > least ? p->n / 2 : least;
  else return false;
  return true;
}

static bool lighter_row(int64_t lanes, int64_t most, sched_params *p) {
  bool wider = 2 * p->warps * lanes <= most;
  if (p->m > 1) p->m /= 2;
  else if (wider) p->warps *= 2;
  else if (p->cluster > 1) p->cluster = 1; /* by chunks */
  else return false;
  return true;
}

bool sched_lighter(const ir_op *kernel, const tsr_caps *c, sched_params *p) {
  sched_params was = *p;
  int64_t lanes = c->subgroup > 0 ? c->subgroup : 32,
          most = c->max_threads > 0 && c->max_threads < 512 ? c->max_threads : 512;
  p->autotune = false;
  switch (family_of(kernel)) {
  case FAMILY_MATMUL:
    if (p->m <= 0 || p->n <= 0 || p->warps <= 0 ||
        !lighter_matmul(&was, lanes, most, c->wgmma && p->m >= 64 && p->n >= 64, p))
      return false;
    break;
  case FAMILY_ROW:
    if (p->m <= 0 || p->warps <= 0 || !lighter_row(lanes, most, p)) return false;
    break;
  default:
    if (p->m > p->warps * lanes && p->warps > 0) p->m /= 2;
    else if (p->vectorize > 1) p->vectorize /= 2;
    else return false;
  }
  return sched_legalize(kernel, c, p) && memcmp(p, &was, sizeof was);
}

/* ---- the pass -------------------------------------------------------------------------------------------------- */

static void advise(const ir_op *product, const sched_params *p, pass_trace *trace) {
  tsr_dtype t = product->operands[0]->type->dtype;
  if ((t != TSR_BF16 && t != TSR_F16) || (p->m % 64 == 0 && p->n % 64 == 0)) return;
  trace_add(trace, "schedule", "tile_advice", product, false,
            "warning: for %s, BM and BN should be multiples of 64: %lldx%lldx%lld is the nearest to %lldx%lldx%lld",
            tsr_dtype_name(t), (long long)round_up(p->m, 64), (long long)round_up(p->n, 64), (long long)p->k,
            (long long)p->m, (long long)p->n, (long long)p->k);
}

bool sched_note_legalized(ir_op *kernel, const sched_params *asked, const char *why) {
  ir_module *m = kernel->module;
  strb b;
  strb_init(&b, &m->arena.al);
  sched_print(&b, asked);
  ir_builder at = {m, kernel->regions[0], kernel->regions[0]->first, false};
  ir_op *op = strb_ok(&b) ? ir_build0(&at, "tessera.schedule.legalized", 0, NULL) : NULL;
  bool ok = op && ir_set_attr(op, "original", ir_attr_str(m, strb_text(&b))) &&
            ir_set_attr(op, "reason", ir_attr_str(m, why));
  strb_clear(&b);
  return ok;
}

static void note_change(pass_trace *trace, const ir_op *op, const char *rule, const char *kernel,
                        const sched_params *was, const sched_params *now, const char *why) {
  strb original, chosen;
  if (!trace) return;
  strb_init(&original, &trace->arena.al);
  strb_init(&chosen, &trace->arena.al);
  sched_print(&original, was);
  sched_print(&chosen, now);
  if (strb_ok(&original) && strb_ok(&chosen))
    trace_schedule(trace, op, &(trace_change){rule, kernel, strb_text(&original), strb_text(&chosen), why});
  else trace->failed = true;
  strb_clear(&original);
  strb_clear(&chosen);
}

/* A product that nobody gave a tile starts from the table's; shape and device may make it another one. */
static void note_fitted(const ir_op *kernel, const ir_op *product, const schedule_options *o, const sched_params *p) {
  sched_params table = {0}, now = {.m = p->m, .n = p->n, .k = p->k};
  if (o->caps->dialect == DIALECT_CPU || !p->m || !sched_recommended("gemm", product->operands[0]->type->dtype, &table))
    return;
  if (table.m == p->m && table.n == p->n && table.k == p->k) return;
  table = (sched_params){.m = table.m, .n = table.n, .k = table.k};
  note_change(o->trace, product, "tile_fitted", ir_get_str(kernel, "sym_name", "?"), &table, &now,
              "the table's tile, fitted to this shape and device");
}

/* Names in the trace what the author asked for and this device or kernel has no use for; a split that can't be is taken
 * out of p. */
static void note_unused(const ir_op *kernel, const schedule_options *o, const sched_params *asked, sched_params *p) {
  const ir_op *product = contraction(kernel);
  bool cpu = o->caps->dialect == DIALECT_CPU, split = asked->split_k > 1;
  const char *whole = "only a product has a loop over tiles",
             *why_split = product ? NULL : "only a product has a contraction to split";
  if (product && split &&
      (asked->split_k > graph_matmul_get(product).k || product->results[0]->type->rank == TSR_MAX_RANK))
    why_split = "it has fewer terms than parts, or too many dimensions";
  const struct { bool asked; const char *name, *why; } rows[] = {
      {asked->vectorize && asked->vectorize < SCHED_LEAST_STRIP, "vectorize", cpu ? "the CPU's kernels have their own vector width" : NULL},
      {asked->use_shared > 0, "use_shared_memory", !product ? whole : cpu ? "the CPU packs panels in its caches instead" : NULL},
      {asked->async_copy > 0, "async_copy", !product ? whole : cpu ? "the CPU has no asynchronous copies" : !o->caps->async_copy ? "emulated by double buffering: the device has no asynchronous copies" : NULL},
      {asked->stages > 1, "pipeline_stages", !product ? whole : cpu ? "the CPU's caches fetch ahead" : NULL},
      {split, "split_k", why_split},
      {asked->warps > 0, "warps", cpu ? "blocks run on the device's threads" : NULL},
      {asked->cluster > 1, "cluster", family_of(kernel) != FAMILY_ROW ? "only whole rows are shared by a cluster" : cpu ? "blocks run on the device's threads" : NULL},
      {asked->matrix_path != NULL, "matrix_path", !product ? whole : cpu ? "micro-kernels are chosen when the device is opened" : NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].asked && rows[i].why)
      trace_add(o->trace, "schedule", "schedule_unused", product ? product : kernel, false, "%s: %s: %s",
                ir_get_str(kernel, "sym_name", "?"), rows[i].name, rows[i].why);
  if (split && why_split) p->split_k = 0;
}

static tsr_status apply(ir_op *kernel, const schedule_options *o) {
  const ir_op *product = contraction(kernel);
  sched_params p = sched_default(kernel, o->caps), asked, tile = {0};
  sched_read(kernel, &asked);
  if (product) {
    graph_matmul g = graph_matmul_get(product);
    tile.m = g.tile[0], tile.n = g.tile[1], tile.k = g.tile[2];
    if (tile.m) advise(product, &tile, o->trace);
    else if (asked.m) advise(product, &asked, o->trace);
  }
  bool explicit_tile = tile.m || asked.m;
  if (explicit_tile && product) { /* what was chosen for another tile */
    if (o->caps->dialect != DIALECT_CPU && p.matrix_path && !asked.matrix_path)
      sched_matmul_tiles(product, o->caps, &p);
    p.split_k = p.stream_k = 0;
  }
  if (asked.split_k > 1) p.stream_k = 0;
  sched_merge(&p, &tile);
  sched_merge(&p, &asked);
  note_unused(kernel, o, &asked, &p);
  /* A larger tile of the author's gets the threads it needs, unless they were chosen too. */
  char why[160];
  int64_t lanes = o->caps->subgroup > 0 ? o->caps->subgroup : 32;
  if (explicit_tile && !asked.warps && p.warps && product)
    while (p.m * p.n / (p.warps * lanes) > 64 && (!o->caps->max_threads || 2 * p.warps * lanes <= o->caps->max_threads))
      p.warps *= 2;
  sched_params before = p;
  if (product && !explicit_tile) note_fitted(kernel, product, o, &p);
  if (sched_broken_limit(kernel, o->caps, &p, why, sizeof why)) {
    const char *name = ir_get_str(kernel, "sym_name", "?");
    if (o->error_if_illegal)
      return ir_error(product ? product : kernel, "choose a smaller tile, or let it be legalised",
                      "the schedule of %s breaks a limit: %s", name, why);
    if (!sched_legalize(kernel, o->caps, &p))
      return ir_error(product ? product : kernel, NULL, "no schedule of %s fits the device: %s", name, why);
    note_change(o->trace, product ? product : kernel, "schedule_legalize", name, &before, &p, why);
    if (!sched_note_legalized(kernel, &before, why)) return st_oom();
  }
  sched_shares shares;
  const char *why_not = p.stream_k > 0 ? product ? sched_stream_k(product, o->caps, &p, &shares)
                                                 : "only a product has a contraction to share out"
                                       : NULL;
  if (why_not) {
    trace_add(o->trace, "schedule", "schedule_unused", product ? product : kernel, false, "%s: stream_k: %s",
              ir_get_str(kernel, "sym_name", "?"), why_not);
    p.stream_k = 0;
  }
  if (p.stream_k > 0) p.split_k = p.raster = 0; /* the blocks have their own order */
  return sched_write(kernel, &p) ? NULL : st_oom();
}

static tsr_status apply_to_kernel(ir_op *op, void *user) {
  return op->def->level == IR_SCHEDULE && op->def->code == S_KERNEL ? apply(op, user) : NULL;
}

tsr_status schedule_apply_defaults(ir_module *m, const schedule_options *opts) {
  TSR_TRY(ir_walk(m->root, apply_to_kernel, (void *)opts));
  return ir_verify(m);
}
