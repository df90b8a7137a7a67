/* core/ir/tile/rules.h - inference and verification rules of Tile IR ops, used by the table in ir/tile/ops.c. */
#ifndef CORE_IR_TILE_RULES_H
#define CORE_IR_TILE_RULES_H
#include "core/ir/ir.h"

static inline bool tile_is_memory(const ir_type *t) { return t->kind == IR_T_VIEW || t->kind == IR_T_SHARED; }
static inline bool tile_is_index(const ir_type *t) { return t->kind == IR_T_INDEX; }
static inline bool tile_same_dims(const ir_type *a, const ir_type *b) {
  return a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank);
}

tsr_status tile_infer_constant(ir_op *op, const ir_type **results);
tsr_status tile_infer_index(ir_op *op, const ir_type **results);
tsr_status tile_infer_axis(ir_op *op, const ir_type **results); /* of block_id and thread_id */
tsr_status tile_infer_const(ir_op *op, const ir_type **results);
tsr_status tile_infer_window(ir_op *op, const ir_type **results);
tsr_status tile_infer_load(ir_op *op, const ir_type **results);
tsr_status tile_infer_gemm(ir_op *op, const ir_type **results);
tsr_status tile_infer_mma(ir_op *op, const ir_type **results);
tsr_status tile_infer_map(ir_op *op, const ir_type **results);
tsr_status tile_infer_reduce(ir_op *op, const ir_type **results);
tsr_status tile_infer_for(ir_op *op, const ir_type **results);
tsr_status tile_infer_if(ir_op *op, const ir_type **results);
tsr_status tile_infer_fft(ir_op *op, const ir_type **results);
tsr_status tile_infer_transpose(ir_op *op, const ir_type **results);
tsr_status tile_infer_load_scalar(ir_op *op, const ir_type **results);
/* First and one-past-last element that a view or an array can touch, relative to its origin. False on overflow. */
bool tile_range(const ir_type *v, int64_t *lo, int64_t *hi);
const ir_type *tile_implied_mma(ir_op *op, int i);

/* Where op stands and what its region holds (ir/tile/place.c): for the walk over a whole module, since it asks the ops
 * around. */
tsr_status tile_verify_place(const ir_op *op);
/* The attributes grid and outputs of a kernel. */
tsr_status tile_verify_grid(const ir_op *op);
tsr_status tile_verify_frag(const ir_op *op);
tsr_status tile_verify_alloc(const ir_op *op);
tsr_status tile_verify_buffer(const ir_op *op);
tsr_status tile_verify_splat(const ir_op *op);
tsr_status tile_verify_reshape(const ir_op *op);
tsr_status tile_verify_alias(const ir_op *op);
tsr_status tile_verify_launch(const ir_op *op);
tsr_status tile_verify_custom(const ir_op *op);
tsr_status tile_verify_control(const ir_op *op);
tsr_status tile_verify_kernel(const ir_op *op);
tsr_status tile_verify_view(const ir_op *op);
tsr_status tile_verify_load(const ir_op *op);
tsr_status tile_verify_store(const ir_op *op);
tsr_status tile_verify_copy(const ir_op *op);
tsr_status tile_verify_gather(const ir_op *op);
tsr_status tile_verify_scatter(const ir_op *op);
tsr_status tile_verify_dft(const ir_op *op);
#endif
