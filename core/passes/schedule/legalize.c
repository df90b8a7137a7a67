/* core/passes/schedule/legalize.c - see schedule/legalize.h. What is a family's own stands in family_NAME.c. */
#include "core/passes/schedule/legalize.h"

#include "core/base/int_math.h"
#include "core/passes/schedule/family.h"
#include "core/passes/schedule/kernel.h"

const sched_family_rules sched_rules_none;

static const sched_family_rules *const family_rules[N_FAMILIES + 1] = {
#define RULES(code, name, fuses, space, n, extents, lowering, rules, ...) [FAMILY_##code] = &sched_rules_##rules,
    KERNEL_FAMILIES(RULES)
#undef RULES
    [N_FAMILIES] = &sched_rules_none};

const sched_family_rules *sched_rules_of(const ir_op *kernel) { return family_rules[sched_family_of(kernel)]; }

sched_limit sched_broken_limit(const ir_op *kernel, const tsr_caps *c, const sched_params *p, char *why, size_t size) {
  if (c->dialect == DIALECT_CPU) return SCHED_FITS; /* tiles are cache blocks there: any size runs */
  int64_t threads = p->warps * sched_lanes(c), access = p->vectorize * sched_element_bytes(kernel);
  const sched_family_rules *family = sched_rules_of(kernel);
  if (c->max_threads > 0 && threads > c->max_threads)
    return sched_breaks(SCHED_LIMIT_THREADS, why, size, "%lld, the device has %d", (long long)threads, c->max_threads);
  if (p->cluster > 1 && !c->clusters) return sched_breaks(SCHED_LIMIT_CLUSTERS, why, size, "the device has none");
  if (c->vector_bytes > 0 && p->vectorize > 1 && access > c->vector_bytes)
    return sched_breaks(SCHED_LIMIT_ACCESS, why, size, "%lld bytes, the device has %d", (long long)access,
                        c->vector_bytes);
  return family->broken ? family->broken(kernel, c, p, why, size) : SCHED_FITS;
}

/* One step towards a schedule that keeps the limit that p breaks. False: there is none left. */
static bool shrink(sched_limit broken, const tsr_caps *c, const int64_t least[3], sched_params *p) {
  bool registers = broken == SCHED_LIMIT_REGISTERS;
  bool rows = p->m >= p->n && p->m > least[0];
  int64_t *larger = rows ? &p->m : &p->n, least_larger = least[rows ? 0 : 1];
  if (registers && c->max_threads > 0 && 2 * p->warps * sched_lanes(c) <= c->max_threads) p->warps *= 2;
  else if (!registers && p->pipeline_stages > 2) p->pipeline_stages--;
  else if (!registers && p->k > 2 * least[2] - 1 && p->k > 16) p->k = round_up(p->k / 2, least[2]);
  else if (*larger > 16 && *larger > least_larger) *larger = round_up(*larger / 2, least_larger);
  else if (!registers && p->pipeline_stages > 1) p->pipeline_stages = 1;
  else if (!registers && p->padding > 0) p->padding = -1;
  else if (broken == SCHED_LIMIT_SHARED && p->use_shared >= 0) p->use_shared = -1; /* operands from where they lie */
  else return false;
  return true;
}

bool sched_legalize(const ir_op *kernel, const tsr_caps *c, sched_params *p) {
  char why[160];
  int64_t least[3] = {1, 1, 1};
  sched_limit broken;
  const sched_family_rules *family = sched_rules_of(kernel);
  while (c->max_threads > 0 && p->warps > 1 && p->warps * sched_lanes(c) > c->max_threads) p->warps--;
  if (!c->clusters && p->cluster > 1) p->cluster = 1;
  if (family->prepare) family->prepare(kernel, c, p, least);
  while (c->vector_bytes > 0 && p->vectorize > 1 && p->vectorize * sched_element_bytes(kernel) > c->vector_bytes)
    p->vectorize /= 2;
  for (int step = 0; step < 64 && (broken = sched_broken_limit(kernel, c, p, why, sizeof why)); step++)
    if (!shrink(broken, c, least, p)) return false;
  return sched_broken_limit(kernel, c, p, why, sizeof why) == SCHED_FITS;
}

bool sched_lighter(const ir_op *kernel, const tsr_caps *c, sched_params *p) {
  sched_params was = *p;
  const sched_family_rules *family = sched_rules_of(kernel);
  p->autotune = false;
  if (!family->lighter ||
      !family->lighter(kernel, c, c->max_threads > 0 && c->max_threads < 512 ? c->max_threads : 512, p))
    return false;
  return sched_legalize(kernel, c, p) && !sched_equal(p, &was);
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
