/* core/ir/target/ops.c - the op table of Target IR, see target.h: the groups of its files. */
#include "core/ir/tables.h"
#include "core/ir/target/row.h"

const ir_opdef *target_ops(size_t i) {
  static const target_group *const groups[] = {&target_common_ops, &target_spirv_ops, &target_cuda_ops, &target_amd_ops,
                                               &target_cpu_ops};
  for (size_t g = 0; g < sizeof groups / sizeof *groups; i -= groups[g++]->n)
    if (i < groups[g]->n) return &groups[g]->rows[i];
  return NULL;
}
