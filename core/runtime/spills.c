/* core/runtime/spills.c - see spills.h. */
#include "core/runtime/spills.h"

#include <stdio.h>
#include <string.h>

#include "core/passes/schedule/key.h"
#include "core/passes/schedule/legalize.h"
#include "core/runtime/tuned.h"

/* Does launch i of p spill, or run a serialised wgmma? Says so in why. */
static bool rt_is_heavy(const tsr_program *p, int i, char *why, size_t size) {
  be_kernel_stats s = {-1, -1, -1, -1, false, -1};
  if (p->launches[i].host || !p->module || !p->dev->vt->kernel_stats) return false;
  tsr_status st = p->dev->vt->kernel_stats(p->module, p->launches[i].kernel_index, &s);
  tsr_status_free(st);
  if (st || (s.spill_bytes <= 0 && !s.serialized)) return false;
  if (s.spill_bytes > 0)
    snprintf(why, size, "%d bytes of registers spill%s", s.spill_bytes,
             s.serialized ? ", and wgmma is serialized" : "");
  else snprintf(why, size, "wgmma is serialized");
  return true;
}

tsr_status rt_refuse_heavy(const tsr_program *p) {
  char why[128];
  for (int i = 0; i < p->n_launches; i++)
    if (rt_is_heavy(p, i, why, sizeof why))
      return st_make(&p->ctx->al, TSR_UNSUPPORTED, RT_WHERE("compile", "use a smaller tile or more warps"),
                     "kernel %s: %s", p->launches[i].kernel, why);
  return NULL;
}

/* The schedule.kernel that a launched kernel came from: its own name, or that and "_parts". */
static ir_op *kernel_of(const ir_module *schedule, const char *launched) {
  for (ir_op *f = schedule ? schedule->root->regions[0]->first : NULL; f; f = f->next)
    for (ir_op *k = f->n_regions ? f->regions[0]->first : NULL; k; k = k->next) {
      if (k->def->level != IR_SCHEDULE || k->def->code != S_KERNEL) continue;
      const char *name = ir_get_str(k, "sym_name", "");
      size_t n = strlen(name);
      if (!strncmp(launched, name, n) && (!launched[n] || !strcmp(launched + n, "_parts"))) return k;
    }
  return NULL;
}

static int find(const rt_lighter *l, const char *kernel) {
  for (int i = 0; i < l->n; i++)
    if (!strcmp(l->v[i].kernel, kernel)) return i;
  return -1;
}

void rt_lighter_note_fixed(rt_lighter *l, const ir_module *schedule) {
  for (int i = 0; i < l->n; i++) {
    const ir_op *k = kernel_of(schedule, l->v[i].kernel);
    if (k && rt_tune_is_fixed(k)) l->v[i].kept = true, l->v[i].params = l->v[i].first;
  }
}

/* Kernels that equal this one are launches of the same code: they follow it. */
static tsr_status apply_to_equal(const rt_lighter *l, int i, ir_module *schedule, ir_op *kernel) {
  strb want, have;
  strb_init(&want, &schedule->arena.al);
  strb_init(&have, &schedule->arena.al);
  bool ok = true, keyed = sched_key(kernel, &want);
  for (ir_op *f = schedule->root->regions[0]->first; f && ok; f = f->next)
    for (ir_op *k = f->n_regions ? f->regions[0]->first : NULL; k && ok; k = k->next) {
      if (k->def->level != IR_SCHEDULE || k->def->code != S_KERNEL) continue;
      if (k != kernel && (!keyed || !sched_key(k, &have) || have.n != want.n || memcmp(have.p, want.p, want.n)))
        continue;
      ok = sched_write(k, &l->v[i].params) && sched_note_legalized(k, &l->v[i].first, l->v[i].reason);
    }
  ok &= strb_ok(&want) && strb_ok(&have);
  strb_clear(&want);
  strb_clear(&have);
  return ok ? NULL : st_oom();
}

tsr_status rt_lighter_apply(const rt_lighter *l, ir_module *schedule, pass_trace *trace) {
  for (int i = 0; i < l->n; i++) {
    ir_op *k = kernel_of(schedule, l->v[i].kernel);
    if (!k || sched_equal(&l->v[i].params, &l->v[i].first)) continue;
    TSR_TRY(apply_to_equal(l, i, schedule, k));
    trace_add(trace, "schedule", "spill_retry", k, true, "%s: %s: another schedule is taken", l->v[i].kernel,
              l->v[i].reason);
  }
  return NULL;
}

/* One step on for a heavy kernel; false if there is none. */
static bool advance(rt_lighter *l, tsr_program *p, ir_op *kernel, const char *why) {
  const char *name = ir_get_str(kernel, "sym_name", "");
  int i = find(l, name);
  if (i < 0) {
    if (l->n == RT_MAX_LIGHTER || strlen(name) >= sizeof l->v[0].kernel) return false;
    i = l->n++;
    memset(&l->v[i], 0, sizeof l->v[i]);
    snprintf(l->v[i].kernel, sizeof l->v[i].kernel, "%s", name);
    snprintf(l->v[i].reason, sizeof l->v[i].reason, "%s", why);
    sched_read(kernel, &l->v[i].first);
    l->v[i].first.matrix_path = NULL; /* a string of a module that goes; the default chooses the same */
    l->v[i].params = l->v[i].first;
  }
  if (l->v[i].kept) return false;
  l->v[i].kept = !sched_lighter(kernel, &p->dev->caps, &l->v[i].params);
  return !l->v[i].kept;
}

bool rt_lighter_next(rt_lighter *l, tsr_program *p, bool may) {
  char why[128];
  bool more = false;
  ir_op *heavy[RT_MAX_LIGHTER];
  int n = 0;
  for (int i = 0; i < p->n_launches && may; i++) {
    if (!rt_is_heavy(p, i, why, sizeof why)) continue;
    ir_op *k = kernel_of(p->levels[TSR_LEVEL_SCHEDULE], p->launches[i].kernel);
    bool seen = false;
    for (int j = 0; j < n; j++) seen |= heavy[j] == k;
    if (!k || seen || n == RT_MAX_LIGHTER) continue;
    heavy[n++] = k;
    more |= advance(l, p, k, why);
  }
  if (more) return true;
  for (int i = 0; i < p->n_launches; i++) {
    if (!rt_is_heavy(p, i, why, sizeof why)) continue;
    ir_op *k = kernel_of(p->levels[TSR_LEVEL_SCHEDULE], p->launches[i].kernel);
    trace_add(&p->trace, "schedule", "spill_retry", k ? k : p->levels[TSR_LEVEL_TARGET]->root, false,
              "%s: %s, and there is no other schedule to take", p->launches[i].kernel, why);
    rt_log(p->ctx, TSR_LOG_WARN, "kernel %s: %s, and there is no other schedule to take", p->launches[i].kernel, why);
  }
  return false;
}
