/* core/ir/types.h - equality of types of different modules; within one, equal types are the same pointer. */
#ifndef CORE_IR_TYPES_H
#define CORE_IR_TYPES_H
#include "core/ir/ir.h"

bool ir_type_same(const ir_type *a, const ir_type *b);
#endif
