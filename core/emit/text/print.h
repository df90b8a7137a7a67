/* core/emit/text/print.h - the state of the C-like printer while it walks a kernel; shared by text.c (structure),
 * emit/text/scalar.c (scalar ops) and emit/text/vendor.c (vendor ops). The C++ expression of each value is kept in
 * ir_value.data. */
#ifndef CORE_EMIT_TEXT_PRINT_H
#define CORE_EMIT_TEXT_PRINT_H
#include "core/emit/text/text.h"

typedef struct text_printer {
  strb *b;
  arena *a;            /* expression strings */
  const tsr_caps *caps;
  bool wide;           /* index is 64 bits */
  int indent, next, n_maps;
  const char **names;  /* taken in this kernel */
  size_t n_names, cap_names;
  bool failed;
} text_printer;

/* The C++ type of a value, in the arena; storage types, so tf32 is float. */
const char *text_value_type(text_printer *p, const ir_type *t);
const char *text_storage(tsr_dtype t);
static inline const char *text_expr(const ir_value *v) { return v->data ? (const char *)v->data : "0"; }
/* "v", or "v[e]" for a vector when e is not NULL. */
const char *text_operand(text_printer *p, const ir_op *op, int i, const char *e);
/* A formatted string in the arena; out of memory sets failed and gives "". */
const char *text_fmt(text_printer *p, const char *fmt, ...) TSR_PRINTF(2, 3);
void text_line(text_printer *p, const char *fmt, ...) TSR_PRINTF(2, 3);
/* Picks a fresh C++ name for v and makes it v's expression. */
const char *text_name(text_printer *p, ir_value *v);
/* "const TYPE name = expr;" */
void text_define(text_printer *p, ir_value *v, const char *expr);
/* "pointer + index" of operands i and i + 1. */
const char *text_address(text_printer *p, const ir_op *op, int i);

/* The expression of a scalar op on element e (NULL: whole scalars). emit/text/scalar.c */
const char *text_scalar(text_printer *p, const ir_op *op, const char *e);
/* The functions that scalar ops with an expansion become. */
void text_expansions(text_printer *p);
const char *text_const(text_printer *p, const ir_type *t, const ir_attr *value);
/* Vendor ops; false if the code is not one. emit/text/vendor.c */
bool text_vendor_op(text_printer *p, ir_op *op);
void text_vendor_use(const ir_op *op, text_use *u);

#endif
