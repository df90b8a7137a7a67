/* core/passes/simt/whole/head.h - the Target IR kernel that takes a whole kernel's place: its arguments and what it
 * says of itself. */
#ifndef CORE_PASSES_SIMT_WHOLE_HEAD_H
#define CORE_PASSES_SIMT_WHOLE_HEAD_H
#include "core/device/caps.h"
#include "core/passes/target/build.h"

typedef struct simt_whole_head {
  const ir_op *kernel; /* of Tile IR */
  const char *path;    /* the attribute `path` */
  int subgroup;
  int64_t threads, shared_bytes;
  int64_t grid[3];
} simt_whole_head;

/* Appends the kernel to t->m's root; args gets its pointers, and t->b then stands in it. NULL: out of memory. */
ir_op *simt_whole_begin(tgb *t, const tsr_caps *caps, const simt_whole_head *h, ir_value **args);
/* Ends it; *done where there was memory for all. */
tsr_status simt_whole_end(tgb *t, ir_op *k, bool *done);

/* Registers of a thread where one producer warpgroup and so many consumers share the 65536 of a core; 0: they are left
 * as they are, since all have as many as there can be. */
int simt_role_registers(int consumers, bool is_consumer);
#endif
