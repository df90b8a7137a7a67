/* core/ir/target/rules.h - inference and verification rules of Target IR ops, used by the table in ir/target/ops.c. */
#ifndef CORE_IR_TARGET_RULES_H
#define CORE_IR_TARGET_RULES_H
#include "core/ir/ir.h"

tsr_status target_infer_extract(ir_op *op, const ir_type **results);
tsr_status target_infer_get(ir_op *op, const ir_type **results);
tsr_status target_infer_last(ir_op *op, const ir_type **results);
tsr_status target_infer_same_as_first(ir_op *op, const ir_type **results);
tsr_status target_verify_access(const ir_op *op);
tsr_status target_verify_call(const ir_op *op);
tsr_status target_verify_cluster_store(const ir_op *op);
tsr_status target_verify_cluster_sync(const ir_op *op);
tsr_status target_verify_const(const ir_op *op);
tsr_status target_verify_for(const ir_op *op);
tsr_status target_verify_kernel(const ir_op *op);
tsr_status target_verify_map(const ir_op *op);
tsr_status target_verify_mat_cast(const ir_op *op);
tsr_status target_verify_mat_mma(const ir_op *op);
tsr_status target_verify_pow2_vector(const ir_op *op);
tsr_status target_verify_scratch(const ir_op *op);
tsr_status target_verify_wgmma(const ir_op *op);
tsr_status target_verify_shared(const ir_op *op);
tsr_status target_verify_ptr_cast(const ir_op *op);
tsr_status target_verify_local(const ir_op *op);
tsr_status target_verify_get(const ir_op *op);
tsr_status target_verify_element(const ir_op *op);
tsr_status target_verify_bitcast(const ir_op *op);
tsr_status target_verify_copy_bytes(const ir_op *op);
tsr_status target_verify_tensor_map(const ir_op *op);
tsr_status target_verify_exchange(const ir_op *op);
tsr_status target_verify_named_barrier(const ir_op *op);
tsr_status target_verify_ldmatrix(const ir_op *op);
tsr_status target_verify_product(const ir_op *op);
tsr_status target_verify_mat_map(const ir_op *op);

#endif
