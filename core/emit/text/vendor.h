/* core/emit/text/vendor.h - NVIDIA's and AMD's ops of Target IR. */
#ifndef CORE_EMIT_TEXT_VENDOR_H
#define CORE_EMIT_TEXT_VENDOR_H
#include "core/emit/text/line.h"

/* An op that is a matrix instruction: its kind of row in core/device/matrix_instr.h, what it needs of the primitives
 * (0: its wrapper alone), which dialects have it (OPS_*), how it is printed; how the wrapper of any is declared, and
 * one printed. NULL: it is another. */
typedef struct text_matrix {
  int code;
  matrix_kind kind;
  text_feature feature;
  int ops;
  void (*put)(text_printer *p, ir_op *op);
  const char *declaration;
  void (*wrapper)(strb *b, const text_mma *i, const text_use *u);
} text_matrix;
const text_matrix *text_matrix_op(const ir_op *op);
/* What stands above kernels that use them. */
void text_matrix_wrappers(strb *b, const text_use *u);

/* Prints it; false if the code is not one of them. */
bool text_vendor_op(text_printer *p, ir_op *op);
/* What it needs of the primitives. */
void text_vendor_use(const ir_op *op, text_use *u);

#endif
