/* core/ir/tables.h - the op tables, one function per level: its row i, NULL behind the last. */
#ifndef CORE_IR_TABLES_H
#define CORE_IR_TABLES_H
#include "core/ir/ir.h"

const ir_opdef *builtin_ops(size_t i);
const ir_opdef *graph_ops(size_t i);
const ir_opdef *schedule_ops(size_t i);
const ir_opdef *tile_ops(size_t i);
const ir_opdef *target_ops(size_t i);

/* A level's check of where an op stands among those around it, made before its regions are verified; may be NULL. */
ir_verify_fn ir_place_check(ir_level l);
#endif
