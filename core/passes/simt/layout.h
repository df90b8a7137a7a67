/* core/passes/simt/layout.h - layouts of fragments: analysis of a kernel, and places of registers. */
#ifndef CORE_PASSES_SIMT_LAYOUT_H
#define CORE_PASSES_SIMT_LAYOUT_H
#include "core/passes/simt/state.h"

/* Offset of register r along dimension d, apart from the thread's part. */
int64_t simt_reg_offset(const simt_layout *l, int r, int d);
/* The thread's part of the coordinate along d. */
ir_value *simt_thread_offset(simt *c, const simt_layout *l, int d);
/* Largest value of the thread's part. */
int64_t simt_thread_max(const simt_layout *l, int d);
/* Lane digit and warp digit of the thread along d. */
ir_value *simt_lane_of(simt *c, const simt_layout *l, int d);
ir_value *simt_warp_of(simt *c, const simt_layout *l, int d);
/* True in the one thread of several that hold the same element; NULL if no element is held twice. */
ir_value *simt_owner(simt *c, const simt_layout *l);
tsr_status simt_analyse(simt *c);
tsr_status simt_choose_threads(simt *c);
const simt_layout *simt_layout_of(simt *c, const ir_value *frag, tsr_status *st);
const simt_layout *simt_layout_intern(simt *c, const simt_layout *l);
simt_group *simt_group_of(const ir_value *v);
/* Layout of a copy of dims: neighbouring threads along the last dimension, v elements each. */
const simt_layout *simt_copy_layout(simt *c, int rank, const int64_t *dims, int vec);
#endif
