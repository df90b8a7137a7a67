/* core/ir/attrs.h - equality of attributes, also of different modules. */
#ifndef CORE_IR_ATTRS_H
#define CORE_IR_ATTRS_H
#include "core/ir/ir.h"

/* Floats by their bits. */
bool ir_attr_same(const ir_attr *a, const ir_attr *b);
#endif
