/* core/ir/tables.h - the op tables, one function per level: its rows by the group, in the order of the level's codes;
 * NULL behind the last. */
#ifndef CORE_IR_TABLES_H
#define CORE_IR_TABLES_H
#include "core/ir/ir.h"

typedef struct ir_rows {
  const ir_opdef *rows;
  size_t n;
} ir_rows;
const ir_rows *builtin_ops(size_t group);
const ir_rows *graph_ops(size_t group);
const ir_rows *schedule_ops(size_t group);
const ir_rows *tile_ops(size_t group);
const ir_rows *target_ops(size_t group);

/* A level's check of where an op stands among those around it, made before its regions are verified; may be NULL. */
ir_verify_fn ir_place_check(ir_level l);
#endif
