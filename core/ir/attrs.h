/* core/ir/attrs.h - equality of attributes, also of different modules, and constants that stay in a file. */
#ifndef CORE_IR_ATTRS_H
#define CORE_IR_ATTRS_H
#include "core/ir/ir.h"

/* Floats by their bits. */
bool ir_attr_same(const ir_attr *a, const ir_attr *b);
/* Have two ops attributes of the same names and values, in whatever order? */
bool ir_attrs_same(const ir_op *a, const ir_op *b);
/* *out: a constant's value of type t whose elements stay in a file, row-major from `offset` on and at any alignment:
 * #tessera.file<"PATH", OFFSET> : tensor<4x4xf32>. Fails where the file can't be opened or is too short. */
TSR_MUST_USE tsr_status ir_attr_in_file(ir_module *m, const ir_type *t, const char *path, uint64_t offset,
                                        ir_attr **out);
#endif
