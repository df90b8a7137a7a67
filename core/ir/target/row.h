/* core/ir/target/row.h - what the files of Target IR's rows share. Each is the ops that one kind of device has; only
 * they and the table, ir/target/ops.c, include this. */
#ifndef CORE_IR_TARGET_ROW_H
#define CORE_IR_TARGET_ROW_H
#include "core/ir/tables.h"
#include "core/ir/target/rules.h"
#include "core/ir/target/target.h"
#include "core/ir/tile/place.h"
#include "core/ir/tile/rules.h"
#include "core/ir/tile/tile.h"

extern const ir_rows target_common_ops, target_spirv_ops, target_cuda_ops, target_amd_ops, target_cpu_ops;

#define A_END {NULL, IR_A_UNIT, false, NULL, NULL}
#define ATTRS(...) (const ir_attr_def[]){__VA_ARGS__, A_END}
#define I(n, req, d, h) {n, IR_A_INT, req, d, h}
#define B(n, d, h) {n, IR_A_BOOL, false, d, h}
#define S(n, req, d, h) {n, IR_A_STR, req, d, h}
#define L(n, req, h) {n, IR_A_ARRAY, req, NULL, h}
#define NAME(s) .name = "tessera.target." s, .level = IR_TARGET
#define IN(lo, hi, letters, doc) .min_operands = lo, .max_operands = hi, .kinds = letters, .operands_doc = doc
#define ANY IR_VARIADIC
#endif
