/* core/ir/target/fold.h - what index arithmetic of Target IR comes to where operands are constants. */
#ifndef CORE_IR_TARGET_FOLD_H
#define CORE_IR_TARGET_FOLD_H
#include "core/ir/ir.h"

/* It is the operation itself; an operand; a number; or another operation on the first operand and a number. */
typedef enum target_fold_kind { FOLD_NONE, FOLD_FIRST, FOLD_SECOND, FOLD_NUMBER, FOLD_OTHER } target_fold_kind;
typedef struct target_folded {
  target_fold_kind kind;
  int64_t number;
  int code; /* SC_SHR or SC_AND */
} target_folded;

/* The value of a constant of type index. */
bool target_index_const(const ir_value *v, int64_t *out);
/* a and b are indices; those of SC_DIV and SC_REM are not negative. Sums wrap, a quotient by 0 is 0. */
target_folded target_fold(int code, const ir_value *a, const ir_value *b);
#endif
