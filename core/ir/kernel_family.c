/* core/ir/kernel_family.c - see kernel_family.h. */
#include "core/ir/kernel_family.h"

#include <string.h>

#define ROW(code, name, fuses, n, extents, lowering, rules, tuned, help) \
  [FAMILY_##code] = {#name, FUSES_##fuses, n, extents, FAMILY_named_##tuned, help},
static const kernel_family_row rows[N_FAMILIES] = {KERNEL_FAMILIES(ROW)};

const kernel_family_row *kernel_family(sched_family f) { return &rows[f]; }
const char *sched_family_name(sched_family f) { return (unsigned)f < N_FAMILIES ? rows[f].name : "?"; }

sched_family sched_family_parse(const char *name) {
  for (int i = 0; i < N_FAMILIES; i++)
    if (rows[i].fuses != FUSES_BY_HAND && !strcmp(name, rows[i].name)) return (sched_family)i;
  return N_FAMILIES;
}
