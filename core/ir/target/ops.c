/* core/ir/target/ops.c - the op table of Target IR, see target.h: the groups of its files. */
#include "core/ir/tables.h"
#include "core/ir/target/row.h"

const ir_rows *target_ops(size_t group) {
  static const ir_rows *const groups[] = {&target_common_ops, &target_spirv_ops, &target_cuda_ops, &target_amd_ops,
                                               &target_cpu_ops};
  return group < sizeof groups / sizeof *groups ? groups[group] : NULL;
}
