/* core/passes/schedule/defaults.c - see schedule/defaults.h. */
#include "core/passes/schedule/defaults.h"

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/device/dialect.h"
#include "core/ir/graph/ops.h"
#include "core/passes/schedule/gemm_heuristics.h"
#include "core/passes/schedule/kernel.h"
#include "core/passes/schedule/legalize.h"

sched_params sched_default(const ir_op *kernel, const tsr_caps *c) {
  sched_params p = {0};
  const sched_family_rules *family = sched_rules_of(kernel);
  if (c->dialect != DIALECT_CPU && family->defaults) family->defaults(kernel, c, &p);
  return p;
}

int64_t sched_block_elements(const tsr_caps *c) { return c->dialect == DIALECT_CPU ? 16384 : 2048; }

/* One softmax or norm and nothing else. */
static bool is_one_norm(const ir_op *kernel) {
  int norms = 0;
  for (const ir_op *o = kernel->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_GRAPH || o->def->flags & IR_VIEWLIKE || !o->n_operands || !o->n_results) continue;
    if (!graph_is_kind(o, GRAPH_NORM)) return false;
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

/* ---- the pass -------------------------------------------------------------------------------------------------- */

static void advise(const ir_op *product, const sched_params *p, pass_trace *trace) {
  tsr_dtype t = product->operands[0]->type->dtype;
  if ((t != TSR_BF16 && t != TSR_F16) || (p->m % 64 == 0 && p->n % 64 == 0)) return;
  trace_add(trace, "schedule", "tile_advice", product, false,
            "warning: for %s, BM and BN should be multiples of 64: %lldx%lldx%lld is the nearest to %lldx%lldx%lld",
            tsr_dtype_name(t), (long long)round_up(p->m, 64), (long long)round_up(p->n, 64), (long long)p->k,
            (long long)p->m, (long long)p->n, (long long)p->k);
}

/* c: all but the schedules. */
static void note_change(pass_trace *trace, const ir_op *op, trace_change c, const sched_params *was,
                        const sched_params *now) {
  strb original, chosen;
  if (!trace) return;
  strb_init(&original, &trace->arena.al);
  strb_init(&chosen, &trace->arena.al);
  sched_print(&original, was);
  sched_print(&chosen, now);
  c.original = strb_text(&original);
  c.chosen = strb_text(&chosen);
  if (strb_ok(&original) && strb_ok(&chosen)) trace_schedule(trace, op, &c);
  else trace->failed = true;
  strb_clear(&original);
  strb_clear(&chosen);
}

/* A product that nobody gave a tile starts from the table's; shape and device may make it another one. */
static void note_fitted(const ir_op *kernel, const ir_op *product, const schedule_options *o, const sched_params *p) {
  sched_params table = {0}, now = {.m = p->m, .n = p->n, .k = p->k};
  if (o->caps->dialect == DIALECT_CPU || !p->m) return;
  if (!sched_recommended_product(product, product->operands[0]->type->dtype, &table)) return;
  if (table.m == p->m && table.n == p->n && table.k == p->k) return;
  table = (sched_params){.m = table.m, .n = table.n, .k = table.k};
  note_change(o->trace, product,
              (trace_change){.rule = "tile_fitted",
                             .kernel = ir_get_str(kernel, "sym_name", "?"),
                             .why = "the table's tile, fitted to this shape and device"},
              &table, &now);
}

/* Names in the trace what the author asked for and this device or kernel has no use for; a split that can't be is taken
 * out of p. */
static void note_unused(const ir_op *kernel, const schedule_options *o, const sched_params *asked, sched_params *p) {
  const ir_op *product = sched_contraction(kernel);
  bool cpu = o->caps->dialect == DIALECT_CPU, split = asked->split_k > 1;
  const bool simd = caps_simd_like(o->caps);
  const char *staged = cpu    ? "the CPU packs panels in its caches instead"
                       : simd ? "shared memory of a device on the CPU is memory: operands are read where they lie"
                              : NULL;
  const char *whole = "only a product has a loop over tiles",
             *why_split = product ? NULL : "only a product has a contraction to split";
  if (product && split &&
      (asked->split_k > graph_contract_get(product).k || product->results[0]->type->rank == TSR_MAX_RANK))
    why_split = "it has fewer terms than parts, or too many dimensions";
  const struct { bool asked; const char *name, *why; } rows[] = {
      {asked->vectorize && asked->vectorize < SCHED_LEAST_STRIP, "vectorize", cpu ? "the CPU's kernels have their own vector width" : NULL},
      {asked->use_shared > 0, "use_shared_memory", !product ? whole : staged},
      {asked->async_copy > 0, "async_copy", !product ? whole : cpu ? "the CPU has no asynchronous copies" : !o->caps->async_copy ? "emulated by double buffering: the device has no asynchronous copies" : NULL},
      {asked->pipeline_stages > 1, "pipeline_stages", !product ? whole : cpu ? "the CPU's caches fetch ahead" : staged},
      {split, "split_k", why_split},
      {asked->warps > 0, "warps", cpu ? "blocks run on the device's threads" : NULL},
      {asked->cluster > 1, "cluster", kernel_family(sched_family_of(kernel))->space != SPACE_ROWS ? "only whole rows are shared by a cluster" : cpu ? "blocks run on the device's threads" : NULL},
      {asked->matrix_path != NULL, "matrix_path", !product ? whole : cpu ? "micro-kernels are chosen when the device is opened" : NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].asked && rows[i].why)
      trace_add(o->trace, "schedule", "schedule_unused", product ? product : kernel, false, "%s: %s: %s",
                ir_get_str(kernel, "sym_name", "?"), rows[i].name, rows[i].why);
  if (split && why_split) p->split_k = 0;
  if (simd && product && (asked->use_shared > 0 || asked->pipeline_stages > 1))
    p->use_shared = -1, p->pipeline_stages = 0;
}

static tsr_status apply(ir_op *kernel, const schedule_options *o) {
  const ir_op *product = sched_contraction(kernel);
  sched_params p = sched_default(kernel, o->caps), asked, tile = {0};
  sched_read(kernel, &asked);
  if (product) {
    graph_contract g = graph_contract_get(product);
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
    note_change(o->trace, product ? product : kernel,
                (trace_change){.rule = "schedule_legalize", .kernel = name, .why = why, .asked = true}, &before, &p);
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
