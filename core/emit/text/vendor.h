/* core/emit/text/vendor.h - NVIDIA's and AMD's ops of Target IR. */
#ifndef CORE_EMIT_TEXT_VENDOR_H
#define CORE_EMIT_TEXT_VENDOR_H
#include "core/emit/text/line.h"

/* Prints it; false if the code is not one of them. */
bool text_vendor_op(text_printer *p, ir_op *op);
/* What it needs of the primitives. */
void text_vendor_use(const ir_op *op, text_use *u);

#endif
