/* core/runtime/by_hand.c - see by_hand.h. */
#include "core/runtime/by_hand.h"

#include <stdio.h>
#include <string.h>

#include "core/ir/schedule/schedule.h"
#include "core/passes/schedule/kernel.h"
#include "core/passes/switches.h"

/* Names of the kernels that there are, for who named none of them. */
static tsr_status no_such_kernel(const tsr_allocator *al, const ir_module *m, const char *want) {
  char names[512] = "";
  for (const ir_op *p = m->root->regions[0]->first; p; p = p->next)
    for (const ir_op *k = p->n_regions ? p->regions[0]->first : NULL; k; k = k->next) {
      size_t at = strlen(names);
      if (k->def->level == IR_SCHEDULE && k->def->code == S_KERNEL)
        snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "", ir_get_str(k, "sym_name", ""));
    }
  return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("schedule", "kernel", *names ? names : NULL),
                 "no kernel's name begins with \"%.64s\"", want);
}

static bool is_product(const ir_op *kernel) {
  return kernel_family(sched_family_of(kernel))->space == SPACE_CONTRACTION;
}

tsr_status rt_apply_schedules(const tsr_allocator *al, const tsr_schedule *schedules, int n, ir_module *m) {
  for (int i = 0; i < n; i++) {
    const tsr_schedule *s = &schedules[i];
    const char *want = s->kernel ? s->kernel : "";
    bool found = !*want;
    for (ir_op *p = m->root->regions[0]->first; p; p = p->next)
      for (ir_op *k = p->n_regions ? p->regions[0]->first : NULL; k; k = k->next) {
        if (k->def->level != IR_SCHEDULE || k->def->code != S_KERNEL) continue;
        if (strncmp(ir_get_str(k, "sym_name", ""), want, strlen(want)) ||
            (!*want && !is_product(k)))
          continue;
        sched_params have, over;
        found = true;
        sched_read(k, &have);
        over = sched_from_public(s);
        sched_merge(&have, &over);
        if (!sched_write(k, &have)) return st_oom();
      }
    if (!found) return no_such_kernel(al, m, want);
  }
  return NULL;
}

tsr_status rt_switch_off(const char *disable, pass_trace *trace, ir_module *m) {
  const pass_options opts = {.disable = disable};
  static const struct { const char *name; sched_params p; } rows[] = {
      {"tiling", {.m = 16, .n = 16, .k = 16}}, {"mma", {.matrix_path = "fma"}}, {"pipeline", {.pipeline_stages = 1, .async_copy = -1}}};
  for (ir_op *p = m->root->regions[0]->first; p; p = p->next)
    for (ir_op *k = p->n_regions ? p->regions[0]->first : NULL; k; k = k->next)
      for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (k->def->level != IR_SCHEDULE || k->def->code != S_KERNEL || !is_product(k) ||
            pass_enabled(&opts, rows[i].name, rows[i].name))
          continue;
        sched_params have;
        sched_read(k, &have);
        sched_merge(&have, &rows[i].p);
        if (!sched_write(k, &have)) return st_oom();
        trace_add(trace, "schedule", rows[i].name, k, false, "%s: switched off", ir_get_str(k, "sym_name", "?"));
      }
  return NULL;
}

