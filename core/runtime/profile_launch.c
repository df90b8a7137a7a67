/* core/runtime/profile_launch.c - see profile_launch.h. */
#include "core/runtime/profile_launch.h"

#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"
#include "core/passes/schedule/gemm_heuristics.h"
#include "core/runtime/tune.h"
#include "core/tune/families.h"

/* The schedule.kernel that a launch came from; NULL when the program began below that level. */
static const ir_op *source_of(const tsr_program *p, const char *kernel) {
  const ir_module *m = p->levels[TSR_LEVEL_SCHEDULE];
  for (const ir_op *prog = m ? m->root->regions[0]->first : NULL; prog; prog = prog->next)
    for (const ir_op *o = prog->n_regions ? prog->regions[0]->first : NULL; o; o = o->next)
      if (o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL && !strcmp(ir_get_str(o, "sym_name", ""), kernel))
        return o;
  return NULL;
}

bool rt_profile_work(const tsr_program *p, const char *kernel, tile_work *out) {
  const ir_module *m = p->levels[TSR_LEVEL_TILE];
  for (const ir_op *o = m ? m->root->regions[0]->first : NULL; o; o = o->next)
    if (o->def->level == IR_TILE && o->def->code == T_KERNEL && !strcmp(ir_get_str(o, "sym_name", ""), kernel))
      return tile_work_count(o, out), true;
  *out = (tile_work){.flops = -1, .bytes = -1, .contiguous = -1, .stages = -1};
  return false;
}

/* An application's own op by the name that it has there. */
static const char *op_name(const ir_op *o) {
  if (graph_is_kind(o, GRAPH_CUSTOM)) return ir_get_str(o, "callee", "custom");
  return ir_short_name(o->def);
}

/* Moving data about and constants say little of what a kernel does. */
static bool is_work(const ir_op *o) {
  return o->def->level == IR_GRAPH && !graph_is_kind(o, GRAPH_MOVE) && !graph_is_kind(o, GRAPH_CONSTANT) &&
         !graph_is(o, G_CAST);
}

/* A contraction keeps its name whatever is fused to it; other fused kernels are FusedOp[a+b]. */
static void name_launch(const ir_op *src, const tsr_kernel_info *k, prof_event *e, char op[64], char detail[128]) {
  int n = 0;
  op[0] = detail[0] = 0;
  for (const ir_op *o = src ? src->regions[0]->first : NULL; o; o = o->next) {
    if (!is_work(o)) continue;
    size_t at = strlen(detail);
    if (graph_is_kind(o, GRAPH_CONTRACTION) || !op[0]) snprintf(op, 64, "%s", op_name(o));
    snprintf(detail + at, 128 - at, "%s%s", at ? "+" : "", op_name(o));
    n++;
  }
  for (const ir_op *o = src && !op[0] ? src->regions[0]->first : NULL; o && !op[0];
       o = o->next) /* nothing but moves: by the first of them */
    if (o->def->level == IR_GRAPH && !graph_is(o, G_CONSTANT)) snprintf(op, 64, "%s", op_name(o));
  if (!op[0]) snprintf(op, 64, "%s", k->name);
  bool product = src && graph_contraction(src->regions[0]);
  if (!strncmp(op, "flash_attention", 15) ||
      !strcmp(k->family, "attention")) { /* the latter: a block program that says so of itself */
    e->kind = PROF_FUSED;
    snprintf(detail, 128, "FlashAttn");
  } else if (product && k->tile[0] > 0) {
    snprintf(detail, 128, "%lldx%lldx%lld", (long long)k->tile[0], (long long)k->tile[1], (long long)k->tile[2]);
  } else if (n > 1 && !product) {
    e->kind = PROF_FUSED;
  } else if (k->tile[0] > 0) {
    snprintf(detail, 128, k->tile[1] > 0 ? "%lldx%lld" : "%lld", (long long)k->tile[0], (long long)k->tile[1]);
  } else {
    detail[0] = 0;
  }
  e->op = op;
  e->detail = detail;
}

/* What the driver told, or the calculator from the driver's registers; negative when registers are not known. */
static double occupancy_of(const tsr_kernel_info *k, const tune_device *d) {
  if (k->occupancy >= 0) return k->occupancy;
  int threads = k->block[0] * (k->block[1] > 0 ? k->block[1] : 1) * (k->block[2] > 0 ? k->block[2] : 1);
  if (d->is_cpu || k->registers <= 0 || d->max_warps <= 0 || d->regs_per_core <= 0 || threads <= 0) return -1;
  occ_result r = occ_compute(d, &(occ_input){.warps = (threads + d->warp_size - 1) / d->warp_size,
                                             .regs = k->registers,
                                             .shared_bytes = k->shared_bytes});
  return r.known ? r.fraction : -1;
}

static double first_known(double a, double b) { return a > 0 ? a : b >= 0 ? b : -1; }

void rt_profile_describe(const tsr_program *p, int i, const tune_device *d, const tile_work *w, prof_event *e,
                         char op[64], char detail[128]) {
  tsr_kernel_info k = tsr_program_kernel(p, i);
  const ir_op *src = source_of(p, k.name);
  tune_problem problem;
  *e = prof_event_init(PROF_KERNEL, "");
  name_launch(src, &k, e, op, detail);
  bool known = src && tune_kernel_problem(src, "", &problem);
  e->kernel = k.name;
  e->device = p->dev->info.id;
  e->original = k.original;
  e->original_why = k.original_why;
  e->flops = first_known(k.flops, known ? tune_problem_flops(&problem) : w->flops);
  e->bytes = first_known(k.bytes, known ? tune_problem_bytes(&problem) : w->bytes);
  e->occupancy = occupancy_of(&k, d);
  e->registers = k.registers;
  e->spill_bytes = k.spill_bytes;
  e->shared_bytes = d->is_cpu ? -1 : (double)k.shared_bytes;
  e->tiles = k.grid[0] > 0
                 ? (double)k.grid[0] * (double)(k.grid[1] > 0 ? k.grid[1] : 1) * (double)(k.grid[2] > 0 ? k.grid[2] : 1)
                 : -1;
  e->parallel = d->is_cpu ? d->cores : -1;
  const tune_tier *mem = tune_device_tier(d, "memory");
  tsr_dtype in = known ? problem.in : w->has_gemm ? w->in : TSR_F32;
  bool matrix = (known ? tune_problem_contracts(&problem) : w->has_gemm) && tune_device_matrix(d, in);
  e->peaks = (prof_peaks){.gflops = tune_device_peak(d, in, matrix),
                          .gbytes_per_s = mem ? mem->gbps : 0,
                          .launch_ns = d->launch_ns,
                          .matrix_path = matrix && tsr_dtype_size(in) < 4};
}

/* ---- facts for the audit --------------------------------------------------------------------------------------- */

/* Bytes of one access of a lane, ways of the worst bank conflict: of lowered kernels, whose schedule says it. */
static void access_facts(const ir_op *src, const tune_problem *problem, const tune_device *d, audit_kernel *k) {
  sched_params s;
  sched_read(src, &s);
  k->bytes_per_access = s.vectorize > 0 ? s.vectorize * (int64_t)tsr_dtype_size(problem->in) : -1;
  tune_config staged = {.k = (int32_t)s.k,
                        .padding = s.padding > 0 ? (int32_t)s.padding : 0,
                        .use_shared = s.use_shared >= 0,
                        .matrix_path = tune_path_of(s.matrix_path)};
  k->bank_ways = occ_bank_ways(d, problem, &staged);
}

/* Is the tile a multiple of some matrix instruction of the type? CPU tiles are cache blocks, cut to registers inside.
 */
static void tile_facts(const ir_op *src, const tune_device *d, const tile_work *w, audit_kernel *k) {
  tune_problem problem;
  sched_params s;
  bool listed = false;
  k->tile_fits = 1;
  if (d->is_cpu || !w->has_gemm) return;
  k->tile_fits = -1;
  if (!src || !tune_kernel_problem(src, "", &problem)) return;
  sched_read(src, &s);
  k->tile_fits = s.m > 0 ? 1 : -1;
  if (s.m <= 0 || !sched_path_of(&s)->has_matrix) return;
  k->tile[0] = s.m, k->tile[1] = s.n, k->tile[2] = s.k;
  k->tile_fits = 0;
  for (int i = 0; i < d->n_matrix; i++) {
    const tune_matrix *x = &d->matrix[i];
    if (x->in != problem.in) continue;
    listed = true;
    if (s.m % x->m == 0 && s.n % x->n == 0 && s.k % x->k == 0) k->tile_fits = 1;
  }
  if (!listed) k->tile_fits = 1, k->tile[0] = 0; /* no such instruction: nothing to be a multiple of */
}

audit_kernel rt_profile_facts(arena *mem, const tsr_program *p, const prof_event *e, const tune_device *d,
                              const tile_work *w, bool has_work) {
  const ir_op *src = source_of(p, e->kernel);
  tune_problem problem;
  audit_kernel k = {.name = arena_str(mem, e->kernel),
                    .op = arena_str(mem, e->op),
                    .occupancy = e->occupancy,
                    .spill_bytes = e->spill_bytes >= 0 ? (int64_t)e->spill_bytes : -1,
                    .registers = e->registers > 0 ? (int)e->registers : 0,
                    .registers_ideal = d->regs_ideal,
                    .contiguous = w->contiguous,
                    .bytes_per_access = -1,
                    .bank_ways = -1,
                    .stages = -1,
                    .async_copy = -1,
                    .async_possible = d->async_copy,
                    .tuned = src ? rt_was_tuned(p, e->kernel) : -1,
                    .shared_bytes = e->shared_bytes >= 0 ? (int64_t)e->shared_bytes : -1,
                    .shared_ideal = d->shared_ideal};
  k.flops_per_byte = e->flops > 0 && e->bytes > 0 ? e->flops / e->bytes : -1;
  k.ridge = e->peaks.gflops > 0 && e->peaks.gbytes_per_s > 0 ? e->peaks.gflops / e->peaks.gbytes_per_s : 0;
  bool caches_stage = cost_stages_by_cache(d);
  if (d->is_cpu) k.bank_ways = 0; /* no banks */
  if (has_work) {
    /* Operands of a product that don't go through shared memory are loaded when they are needed: one buffer. */
    k.stages = !w->has_gemm || caches_stage ? 0 : w->stages ? w->stages : 1;
    k.async_copy = w->async_copy && d->async_copy;
  }
  tile_facts(src, d, w, &k);
  if (src && !d->is_cpu && tune_kernel_problem(src, "", &problem)) access_facts(src, &problem, d, &k);
  return k;
}
