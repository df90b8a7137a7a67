/* core/tune/space_build.c - the spaces of the kernel families, made from a device's limits: the knobs and the rule of
 * the family (core/tune/family.h), fitted to what the backend honours and to the default. Output: a space whose every
 * legal point the lowering accepts. */
#include "core/tune/families.h"
#include "core/tune/family.h"

#include <stdio.h>
#include <string.h>

#include "core/base/int_math.h"

/* What a launch has without tuning; the lowering's own default replaces it through space_options. */
static tune_config untuned(const tune_device *d, const tune_problem *p) {
  tune_config c = {.vectorize = 4, .pipeline_stages = 1, .split_k = 1, .warps = 8, .cluster = 1};
  tune_family_of(p->family)->untuned(d, p, &c);
  return c;
}

static bool is_default(const tune_space *s, const int32_t *values) {
  tune_config c = s->dflt;
  space_config_set(s, values, &c);
  return !memcmp(&c, &s->dflt, sizeof c);
}

/* Shared memory, threads, registers and resident blocks of a GPU. */
static bool resources_fit(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  const tune_device *d = &s->device;
  if (d->is_cpu) return true;
  int64_t shared = occ_shared_bytes(&s->problem, c);
  if (d->shared_per_block > 0 && shared > d->shared_per_block)
    TUNE_REFUSE("shared memory %lld > %lld bytes per block", (long long)shared, (long long)d->shared_per_block);
  int64_t threads = (int64_t)c->warps * (d->warp_size > 0 ? d->warp_size : 32);
  if (d->max_threads > 0 && threads > d->max_threads)
    TUNE_REFUSE("threads %lld > %d per block", (long long)threads, d->max_threads);
  int32_t regs = occ_regs(d, &s->problem, c), most = d->regs_per_thread > 0 ? d->regs_per_thread : 255;
  if (regs > most) TUNE_REFUSE("registers %d > %d per thread", regs, most);
  occ_result o = occ_of_config(d, &s->problem, c);
  if (o.known && o.blocks < 1) TUNE_REFUSE("%s: no block fits on a core", o.limiter);
  return true;
}

static bool family_legal(const void *user, const int32_t *values, char *why, size_t why_bytes) {
  const tune_space *s = user;
  tune_config c = {.vectorize = 1, .pipeline_stages = 1, .split_k = 1, .warps = 1, .cluster = 1};
  space_config_set(s, values, &c);
  if (s->dflt_is_legal && is_default(s, values)) return true;
  return tune_family_of(s->problem.family)->legal(s, &c, why, why_bytes) && resources_fit(s, &c, why, why_bytes);
}

static void fix_knob(space_knob *k, int32_t v) {
  k->n = 1;
  k->value[0] = v;
}

void space_build(const tune_device *d, const tune_problem *p, const space_options *opt, tune_space *out) {
  memset(out, 0, sizeof *out);
  out->device = *d;
  out->problem = *p;
  if (out->device.warp_size < 1) out->device.warp_size = d->is_cpu ? 8 : 32;
  tune_config dflt = untuned(&out->device, p);
  if (opt && opt->dflt.m > 0) {
    tune_config own = dflt;
    int32_t *given[] = {&dflt.n, &dflt.k, &dflt.pipeline_stages, &dflt.split_k, &dflt.warps, &dflt.cluster},
            least[] = {own.n, own.k, own.pipeline_stages, own.split_k, own.warps, own.cluster};
    dflt = opt->dflt;
    for (size_t i = 0; i < sizeof given / sizeof *given;
         i++) /* a count of 0 is none given; of the others 0 is a value */
      if (!*given[i]) *given[i] = least[i];
  }
  const tune_family *f = tune_family_of(p->family);
  const tune_knob_rows *knobs = &f->knobs[d->is_cpu];
  out->dflt_is_legal = opt && opt->dflt.m > 0;
  uint32_t uses = opt && opt->knobs
                      ? opt->knobs
                      : ~SPACE_KNOB(stream_k); /* that one doubles the space: only where a backend has it */
  for (int32_t i = 0; i < knobs->n; i++) {
    const tune_knob_row *row = &knobs->row[i];
    sched_knob_id id = row->knob;
    space_knob *k = &out->knob[out->n_knobs++];
    *k = (space_knob){.name = sched_knobs[id].name, .keeps_order = row->keeps_order, .n = row->n};
    memcpy(k->value, row->value, sizeof row->value);
    for (int32_t j = 0; j < k->n; j++)
      if (k->value[j] == TUNE_PER_CORE) k->value[j] = d->cores > 0 ? d->cores : 1;
    bool is_path = id == KNOB_matrix_path, has_matrix = !is_path || tune_device_matrix(d, p->in);
    bool lane_n = is_path && tune_device_simd_like(&out->device) && tsr_dtype_size(p->in) <= 4;
    if (lane_n && !has_matrix) fix_knob(k, PATH_FMA);
    if (lane_n) space_knob_include(k, PATH_LANE_N);
    if (is_path && d->lds_direct)
      space_knob_include(k, PATH_DIRECT), space_knob_include(k, PATH_PINGPONG);
    int32_t v = *tune_config_field(&dflt, k->name);
    if (!has_matrix) v = 0;
    if (!(uses >> id & 1) || (p->deterministic && !k->keeps_order) ||
        (p->compensated && (id == KNOB_split_k || id == KNOB_stream_k)) || !(has_matrix || lane_n))
      fix_knob(k, v);
    else {
      if (f->widen) f->widen(out, id, v, k);
      space_knob_include(k, v); /* so that the untuned kernel is a point of the space */
    }
    *tune_config_field(&out->dflt, k->name) = v;
  }
  tune_space probe; /* names to config fields */
  if (space_custom(out->knob, out->n_knobs, NULL, NULL, &probe)) memcpy(out->field, probe.field, sizeof out->field);
  out->legal = family_legal;
  out->user = out;
}
