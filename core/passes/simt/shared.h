/* core/passes/simt/shared.h - shared memory: its plan, scratch, and the barriers that hazards need. */
#ifndef CORE_PASSES_SIMT_SHARED_H
#define CORE_PASSES_SIMT_SHARED_H
#include "core/passes/simt/state.h"

/* A row-major tile of the given dims in that memory, rows padded by pad elements. */
tsr_status simt_scratch_tile(simt *c, tsr_dtype t, int rank, const int64_t *dims, int64_t pad, simt_mem *out);
/* Announce that the block is about to read or write shared bytes [lo, hi): a barrier is inserted if an earlier access
 * since the last barrier conflicts. */
void simt_read(simt *c, int64_t lo, int64_t hi);
void simt_write(simt *c, int64_t lo, int64_t hi);
/* A barrier now; forgets all pending accesses. */
void simt_barrier(simt *c);
tsr_status simt_shared_plan(simt *c);
tsr_status simt_shared_alloc(simt *c, const ir_op *op, int64_t bytes, int from, int to, int64_t *lo);
typedef struct simt_shared_state { simt_access access[SIMT_MAX_ACCESS]; int n_access, n_region; } simt_shared_state;
void simt_shared_save(const simt *c, simt_shared_state *s);
void simt_shared_restore(simt *c, const simt_shared_state *s);
bool simt_shared_join(simt *c, const simt_shared_state *s); /* pending accesses of both; true if s added any */
#endif
