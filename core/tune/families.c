/* core/tune/families.c - see families.h. */
#include "core/tune/families.h"

#include "core/tune/family.h"

#define FAMILY(code, name, fuses, space, n, extents, lowering, rules, tuned, ...) \
  extern const tune_family tune_family_##tuned;
KERNEL_FAMILIES(FAMILY)
#undef FAMILY
const tune_family tune_family_none = {0};
#define ROW(code, name, fuses, space, n, extents, lowering, rules, tuned, ...) [FAMILY_##code] = &tune_family_##tuned,
static const tune_family *const families[N_FAMILIES] = {KERNEL_FAMILIES(ROW)};
#undef ROW

const tune_family *tune_family_of(sched_family f) {
  return (unsigned)f < N_FAMILIES && families[f] != &tune_family_none ? families[f] : NULL;
}

int tune_problem_extents(const tune_problem *p, int64_t out[4]) {
  int n = 0;
  for (const char *at = tune_family_of(p->family)->extents; *at; at++)
    switch (*at) {
    case 'b':
      if (p->batch > 1) out[n++] = p->batch;
      break;
    case 'm': out[n++] = p->m; break;
    case 'n': out[n++] = p->n; break;
    default: out[n++] = p->k;
    }
  return n;
}

bool tune_problem_contracts(const tune_problem *p) {
  return kernel_family(p->family)->space == SPACE_CONTRACTION;
}
double tune_problem_flops(const tune_problem *p) { return tune_family_of(p->family)->flops(p); }
double tune_problem_bytes(const tune_problem *p) { return tune_family_of(p->family)->bytes(p); }

void tune_config_tile(const tune_problem *p, const tune_config *c, char *out, size_t out_bytes) {
  tune_family_of(p->family)->tile(p, c, out, out_bytes);
}

static int32_t threads_of(const tune_device *d, const tune_config *c) {
  int64_t t = (int64_t)(c->warps > 0 ? c->warps : 4) * (d->warp_size > 0 ? d->warp_size : 32);
  return (int32_t)(t < 1 ? 1 : t > 65536 ? 65536 : t);
}

int32_t occ_regs(const tune_device *d, const tune_problem *p, const tune_config *c) {
  enum { ADDRESSES = 24 };
  int64_t regs = occ_sum(ADDRESSES, tune_family_of(p->family)->regs(d, p, c, threads_of(d, c)));
  return (int32_t)(regs > INT32_MAX ? INT32_MAX : regs);
}

int64_t occ_shared_bytes(const tune_problem *p, const tune_config *c) {
  return tune_family_of(p->family)->shared_bytes(p, c);
}

occ_result occ_of_config(const tune_device *d, const tune_problem *p, const tune_config *c) {
  occ_input in = {
      .warps = c->warps > 0 ? c->warps : 4, .regs = occ_regs(d, p, c), .shared_bytes = occ_shared_bytes(p, c)};
  return occ_compute(d, &in);
}

int32_t occ_bank_ways(const tune_device *d, const tune_problem *p, const tune_config *c) {
  const tune_family *f = tune_family_of(p->family);
  return f->bank_ways ? f->bank_ways(d, p, c) : 0;
}
