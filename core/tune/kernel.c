/* core/tune/kernel.c - see kernel.h. */
#include "core/tune/kernel.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/policy.h"
#include "core/device/arch.h"
#include "core/device/dialect.h"
#include "core/ir/graph/ops.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/schedule/kernel.h"
#include "core/passes/schedule/legalize.h"
#include "core/tune/families.h"
#include "core/tune/family.h"

static void copy_rates(const tsr_caps *c, tune_device *d) {
  tune_origin from = dialect_of(c)->rates_measured ? TUNE_REACHED : TUNE_LISTED;
  d->fma_gflops = c->peak_flops_f32 / 1e9;
  d->matrix_gflops = c->peak_flops_matrix / 1e9;
  d->launch_ns = c->launch_ns;
  if (d->fma_gflops > 0) d->fma_from = from;
  if (d->matrix_gflops > 0) d->matrix_from = from;
  for (int i = 0; i < d->n_tiers; i++)
    if (!strcmp(d->tier[i].name, "memory")) d->tier[i].gbps = c->bytes_per_s / 1e9;
}

static void add_tier(tune_device *d, const char *name, int64_t bytes) {
  if (bytes <= 0 || d->n_tiers == TUNE_MAX_TIERS) return;
  tune_tier *t = &d->tier[d->n_tiers++];
  *t = (tune_tier){.bytes = (double)bytes};
  snprintf(t->name, sizeof t->name, "%s", name);
}

/* No driver tells the rate: that of the device's profile (core/tune/profiles), else of its architecture. */
static void add_link(const char *arch, const tune_device *guide, tune_device *d) {
  if (!guide) guide = tune_device_find(arch_part(arch));
  const tune_tier *link = guide ? tune_device_tier(guide, "link") : NULL;
  if (link && d->n_tiers < TUNE_MAX_TIERS) d->tier[d->n_tiers++] = *link;
}

tune_device tune_device_from_caps(const tsr_caps *c, const char *name) {
  tune_device d = {.is_cpu = c->dialect == DIALECT_CPU,
                   .async_copy = c->async_copy,
                   .cores = c->n_cores > 0 ? c->n_cores : 1,
                   .warp_size = c->dialect == DIALECT_CPU ? (c->vector_bytes > 0 ? c->vector_bytes / 4 : 8)
                                : c->subgroup > 0         ? c->subgroup
                                                          : 32,
                   .max_warps = c->max_warps_per_core,
                   .max_blocks = c->max_blocks_per_core,
                   .max_barriers = c->max_barriers_per_core,
                   .core_parts = c->core_parts,
                   .reg_granule = c->register_granule,
                   .shared_granule = c->shared_granule,
                   .shared_reserved = c->shared_reserved,
                   .max_threads = c->max_threads,
                   .regs_per_thread = c->max_registers,
                   .shared_per_block = c->dialect == DIALECT_CPU ? c->l2_bytes : c->shared_bytes,
                   .shared_per_core = c->shared_per_core,
                   .banks = c->shared_banks,
                   .warpgroup_matrix = c->wgmma,
                   .clusters = c->clusters,
                   .lds_direct = c->lds_load_bytes > 0};
  snprintf(d.name, sizeof d.name, "%s", name && *name ? name : c->arch);
  d.regs_per_core = (int32_t)(c->registers_per_core < INT32_MAX ? c->registers_per_core : INT32_MAX);
  add_tier(&d, d.is_cpu ? "l1" : "shared", d.is_cpu ? c->l1_bytes : c->shared_per_core);
  add_tier(&d, "l2", c->l2_bytes);
  if (d.is_cpu) add_tier(&d, "l3", c->l3_bytes);
  add_tier(&d, "memory", c->memory_bytes);
  for (int i = 0; i < c->n_matrix && d.n_matrix < TUNE_MAX_MATRIX; i++) {
    const tsr_matrix_shape *m = &c->matrix[i];
    if (m->enabled && m->a == m->b) d.matrix[d.n_matrix++] = (tune_matrix){m->m, m->n, m->k, m->a, m->c, m->rate};
  }
  copy_rates(c, &d);
  const tune_device *guide = tune_device_find(name);
  if (guide) { /* advice and listed rates, never limits */
    d.regs_ideal = guide->regs_ideal;
    d.shared_ideal = guide->shared_per_block;
    if (!d.fma_gflops) d.fma_gflops = guide->fma_gflops;
    if (!d.matrix_gflops) d.matrix_gflops = guide->matrix_gflops;
    for (int i = 0; i < d.n_tiers; i++) {
      const tune_tier *t = tune_device_tier(guide, d.tier[i].name);
      if (t && !(d.tier[i].gbps > 0)) d.tier[i].gbps = t->gbps, d.tier[i].latency_cycles = t->latency_cycles;
    }
  }
  add_link(c->arch, guide, &d);
  return d;
}

bool tune_kernel_problem(const ir_op *kernel, const char *policy, tune_problem *p) {
  sched_family f = sched_family_of(kernel);
  int64_t s[4] = {0};
  int n = ir_get_ints(kernel, "space", s, 4);
  memset(p, 0, sizeof *p);
  if (kernel->n_operands < 1 || kernel->n_results < 1) return false;
  for (int i = 0; i < n && i < 4; i++)
    if (s[i] < 1) return false;
  p->deterministic = policy_named(policy) == TSR_POLICY_DETERMINISTIC;
  p->compensated = policy_named(policy) == TSR_POLICY_KAHAN_SUM;
  p->batch = p->m = p->n = p->k = 1;
  p->passes = kernel->n_operands;
  p->in = kernel->operands[0]->type->dtype;
  p->out = kernel->results[0]->type->dtype;
  p->acc = TSR_F32;
  const tune_family *t = tune_family_of(f);
  if (!t || !t->problem || n != kernel_family(f)->n_extents) return false;
  p->family = kernel_family(f)->tuned_as;
  snprintf(p->op, sizeof p->op, "%s", kernel_family(f)->name);
  if (!t->problem(kernel, s, p)) return false;
  return tsr_dtype_size(p->in) && tsr_dtype_size(p->out);
}

static void append(char *out, size_t cap, const char *sep, const char *text) {
  size_t n = strlen(out);
  if (n + 1 < cap) snprintf(out + n, cap - n, "%s%s", n ? sep : "", text);
}

/* "matmul+add+gelu": the body's ops in order. A body too long for the field is told by its hash. */
static void body_name(const ir_op *kernel, char *out, size_t cap) {
  uint64_t h = HASH_SEED;
  size_t full = 0;
  out[0] = 0;
  for (const ir_op *o = kernel->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_GRAPH) continue;
    const char *name = ir_short_name(o->def);
    h = hash_str(h, name);
    h = hash_u64(h, (uint64_t)graph_variant(o));
    full += strlen(name) + 1;
    append(out, cap - 24, "+", name);
  }
  if (full < cap - 24) return;
  char tail[24];
  snprintf(tail, sizeof tail, "#%016llx", (unsigned long long)hash_mix(h));
  size_t n = strlen(out);
  snprintf(out + n, cap - n, "%s", tail);
}

/* Types of the operands and of the first result: "f32,f32->f32". */
static void type_names(const ir_op *kernel, char *out, size_t cap) {
  out[0] = 0;
  for (int i = 0; i < kernel->n_operands; i++)
    append(out, cap - 16, ",", tsr_dtype_name(kernel->operands[i]->type->dtype));
  append(out, cap, "->", tsr_dtype_name(kernel->results[0]->type->dtype));
}

/* "c": a constant, packed ahead; "p": made by a prologue; "": read from memory. */
static const char *operand_kind(const ir_op *kernel, const ir_value *v) {
  if (v->def) return "p";
  const ir_value *from = v->index < kernel->n_operands ? kernel->operands[v->index] : NULL;
  return from && from->def && graph_is(from->def, G_CONSTANT) ? "c" : "";
}

tune_key tune_kernel_make_key(const ir_op *kernel, const tune_problem *p, const tsr_caps *caps, const char *driver,
                              const char *policy, const char *mesh, tune_kernel_key *t) {
  const ir_op *mm = sched_contraction(kernel);
  memset(t, 0, sizeof *t);
  body_name(kernel, t->op, sizeof t->op);
  type_names(kernel, t->dtype, sizeof t->dtype);
  int64_t extents[4];
  for (int i = 0, n = tune_problem_extents(p, extents); i < n; i++) {
    char one[24];
    snprintf(one, sizeof one, "%lld", (long long)extents[i]);
    append(t->shape, sizeof t->shape, "x", one);
  }
  if (mm) {
    graph_contract g = graph_contract_get(mm);
    snprintf(t->layout, sizeof t->layout, "%c%c%s", g.transpose_a ? 't' : 'n', g.transpose_b ? 't' : 'n',
             operand_kind(kernel, mm->operands[1]));
  } else {
    snprintf(t->layout, sizeof t->layout, "row");
  }
  snprintf(t->arch, sizeof t->arch, "%s/%d", caps->arch, caps->n_cores);
  snprintf(t->generator, sizeof t->generator, "%s", tune_generator());
  return (tune_key){t->op, t->shape, t->dtype, t->layout, policy, mesh, t->arch, driver, t->generator};
}

tune_config tune_kernel_default(const ir_op *kernel, const tsr_caps *caps, const int64_t suggested[3]) {
  sched_params p = sched_default(kernel, caps), own;
  sched_read(kernel, &own);
  if (suggested && suggested[0] > 0 && !p.m) p.m = suggested[0], p.n = suggested[1], p.k = suggested[2];
  sched_merge(&p, &own);
  sched_legalize(kernel, caps, &p);
  const tune_family *f = tune_family_of(sched_family_of(kernel));
  if (!p.m && f && f->block) p.m = f->block(kernel, caps);
  const ir_op *mm = sched_contraction(kernel);
  const int path = mm ? tune_path_of(p.matrix_path) : PATH_FMA;
  const bool there = path == PATH_LANE_N || /* which is no instruction of matrices */
                     (path != PATH_FMA && caps_find_matrix(caps, mm->operands[0]->type->dtype,
                                                           mm->operands[1]->type->dtype,
                                                           graph_contract_get(mm).accum) >= 0);
  tune_config c = {
      .vectorize = caps->dialect == DIALECT_CPU, .pipeline_stages = 1, .split_k = 1, .warps = 1, .cluster = 1};
  tune_config_merge(&c, &p);
  c.matrix_path = there ? path : PATH_FMA;
  return c;
}

static bool has_matrix(const tsr_caps *c, tsr_dtype in) {
  for (int i = 0; i < c->n_matrix; i++)
    if (c->matrix[i].enabled && c->matrix[i].a == in) return true;
  return false;
}

sched_params tune_config_params(const tune_config *c, const tune_problem *problem, const tsr_caps *caps) {
  bool cpu = caps->dialect == DIALECT_CPU;
  sched_params p = {0};
  tune_config from = *c;
  for (int i = 0; i < N_SCHED_KNOBS; i++) {
    const sched_knob *k = &sched_knobs[i];
    const int32_t *v = tune_config_at(&from, k);
    if (!v || !sched_knob_is_for(k, problem->family) || (cpu && !k->on_cpu)) continue;
    switch (k->kind) {
      case SCHED_SWITCH:
      case SCHED_PADDING: sched_set(k, &p, *v ? *v : -1); break;
      case SCHED_PATH: /* without such an instruction the lowering's choice stays open */
        if (*v != 1 && (*v > 1 || has_matrix(caps, problem->in)))
          p.matrix_path = matrix_path_of_config(*v) ? matrix_path_of_config(*v)->name : NULL;
        break;
      default: sched_set(k, &p, *v);
    }
  }
  if (p.cluster == 1) p.cluster = 0;
  if (cpu && p.split_k == 1) p.split_k = 0; /* the micro-kernels choose the rest themselves */
  if (cpu && p.vectorize < SCHED_LEAST_STRIP) p.vectorize = 0;
  return p;
}

static bool kernel_legal(const void *user, const int32_t *values, char *why, size_t why_bytes) {
  const tune_kernel_space *k = user;
  if (!k->family_rule(&k->s, values, why, why_bytes)) return false;
  tune_config c = {0};
  space_config_set(&k->s, values, &c);
  sched_params p = tune_config_params(&c, &k->s.problem, &k->caps);
  const ir_op *mm = c.matrix_path == PATH_LANE_N ? sched_contraction(k->kernel) : NULL;
  const ir_value *b = mm ? mm->operands[1] : NULL;
  const bool lies = mm && !graph_contract_get(mm).transpose_b && !b->def;
  if (mm && (!(lies || k->s.problem.collects_b) || b->type->dtype != k->s.problem.in)) {
    snprintf(why, why_bytes, "lane_n: those of b don't lie side by side in memory");
    return false;
  }
  return !sched_broken_limit(k->kernel, &k->caps, &p, why, why_bytes);
}

/* Those of the family that the backend's kernels honour. */
static uint32_t knobs_of(const tune_problem *p, const tsr_caps *caps) {
  bool cpu = caps->dialect == DIALECT_CPU, streams = dialect_of(caps)->has_arch_table;
  uint32_t bits = 0;
  for (int i = 0; i < N_SCHED_KNOBS; i++)
    if (sched_knob_is_for(&sched_knobs[i], p->family) && (!cpu || sched_knobs[i].on_cpu)) bits |= 1u << i;
  if (!caps->async_copy) bits &= ~SPACE_KNOB(async_copy);
  if (!caps->clusters) bits &= ~SPACE_KNOB(cluster);
  if (!streams) bits &= ~SPACE_KNOB(stream_k);
  return bits;
}

void tune_kernel_space_build(const ir_op *kernel, const tune_device *d, const tune_problem *p, const tune_config *dflt,
                             const tsr_caps *caps, tune_kernel_space *out) {
  space_options opt = {.dflt = *dflt, .knobs = knobs_of(p, caps)};
  space_build(d, p, &opt, &out->s);
  out->kernel = kernel;
  out->caps = *caps;
  out->family_rule = out->s.legal;
  out->s.legal = kernel_legal;
  out->s.user = out;
}
