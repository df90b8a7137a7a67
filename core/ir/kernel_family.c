/* core/ir/kernel_family.c - see kernel_family.h. */
#include "core/ir/kernel_family.h"

#include <string.h>

#define ROW(code, name, fuses, space, n, extents, lowering, rules, tuned, help) \
  [FAMILY_##code] = {#name, FUSES_##fuses, SPACE_##space, n, extents, FAMILY_named_##tuned, help},
static const kernel_family_row rows[N_FAMILIES + 1] = {
    KERNEL_FAMILIES(ROW)[FAMILY_NONE] = {"?", FUSES_BY_HAND, SPACE_OWN, 0, "", FAMILY_NONE, ""}};

const kernel_family_row *kernel_family(sched_family f) { return &rows[(unsigned)f < N_FAMILIES ? f : FAMILY_NONE]; }
const char *sched_family_name(sched_family f) { return kernel_family(f)->name; }

sched_family sched_family_parse(const char *name) {
  for (int i = 0; i < N_FAMILIES; i++)
    if (rows[i].fuses != FUSES_BY_HAND && !strcmp(name, rows[i].name)) return (sched_family)i;
  return N_FAMILIES;
}
