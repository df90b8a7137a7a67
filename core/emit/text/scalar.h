/* core/emit/text/scalar.h - C++ expressions of scalar operations and constants. */
#ifndef CORE_EMIT_TEXT_SCALAR_H
#define CORE_EMIT_TEXT_SCALAR_H
#include "core/emit/text/line.h"

/* The expression of a scalar op on element e (NULL: whole scalars). */
const char *text_scalar(text_printer *p, const ir_op *op, const char *e);
/* The functions that scalar ops with an expansion become. */
void text_expansions(text_printer *p);
const char *text_const(text_printer *p, const ir_type *t, const ir_attr *value);

#endif
