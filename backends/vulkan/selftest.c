/* backends/vulkan/selftest.c - which matrix shapes of the driver are used. */
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/vk.h"

void vk_apply_matrix_knob(tsr_caps *c) {
  const char *v = knob_str("TSR_MATRIX");
  bool coopmat = !strcmp(v, "coopmat"), coopmat2 = !strcmp(v, "coopmat2"), off = !strcmp(v, "subgroup") || !strcmp(v, "scalar");
  if (coopmat) c->coopmat2 = c->coopmat2_workgroup = c->coopmat2_tensor = c->coopmat2_per_element = c->coopmat2_reduce = c->coopmat2_convert = false;
  for (int i = 0; i < c->n_matrix; i++) {
    tsr_matrix_shape *s = &c->matrix[i];
    if (off || (coopmat && s->scope == SCOPE_WORKGROUP)) {
      s->enabled = false;
      snprintf(s->reason, sizeof s->reason, "TSR_MATRIX=%.20s", v);
    }
  }
  if (!strcmp(v, "scalar")) c->subgroup_shuffle = c->subgroup_arithmetic = false;
  (void)coopmat2;
}

tsr_status vk_selftest(be_device *d, const char *id) {
  vk_apply_matrix_knob(&d->caps);
  return NULL;
}
