/* core/passes/simt/cluster.h - blocks that share a kernel's tile. */
#ifndef CORE_PASSES_SIMT_CLUSTER_H
#define CORE_PASSES_SIMT_CLUSTER_H
#include "core/passes/simt/state.h"

tsr_status
simt_cluster_check(const simt *c);     /* TSR_UNSUPPORTED where the kernel has an op that a cluster can't share */
tsr_status simt_cluster_plan(simt *c); /* shared memory for the exchanges of all reductions */
void simt_cluster_enter(simt *c);      /* rank and warp through the cluster; says that this block runs */
/* Each v, which all threads of a block have alike, of every block: that of block b is all[i * cluster + b]. */
tsr_status simt_cluster_gather(simt *c, tsr_dtype t, int n, ir_value *const *v, ir_value **all);
void simt_cluster_leave(simt *c);

#endif
