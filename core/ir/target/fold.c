/* core/ir/target/fold.c - see ir/target/fold.h. */
#include "core/ir/target/fold.h"

#include "core/base/int_math.h"
#include "core/ir/target/target.h"

bool target_index_const(const ir_value *v, int64_t *out) {
  const ir_op *op = v ? v->def : NULL;
  if (!op || op->def->code != TG_CONST || op->def->level != IR_TARGET || v->type->kind != IR_T_INDEX) return false;
  *out = ir_get_int(op, "value", 0);
  return true;
}

static target_folded number(int64_t v) { return (target_folded){FOLD_NUMBER, v, 0}; }

static target_folded of_two(int code, int64_t x, int64_t y) {
  switch (code) {
  case SC_ADD: return number(wrap_add(x, y));
  case SC_SUB: return number(wrap_sub(x, y));
  case SC_MUL: return number(wrap_mul(x, y));
  case SC_DIV: return number(y == -1 ? wrap_sub(0, x) : y ? x / y : 0);
  case SC_REM: return number(y && y != -1 ? x % y : 0);
  case SC_MIN: return number(x < y ? x : y);
  case SC_XOR: return number(x ^ y);
  default: return (target_folded){FOLD_NONE, 0, 0};
  }
}

/* Of a product with x, or a sum: which is left of the other operand, as `other`. */
static target_folded beside(int code, int64_t x, target_fold_kind other) {
  if (code == SC_MUL && !x) return number(0);
  return (target_folded){(code == SC_ADD && !x) || (code == SC_MUL && x == 1) ? other : FOLD_NONE, 0, 0};
}

/* Divided by y: a power of two shifts, and what is left is a mask's. */
static target_folded divided(int code, int64_t y) {
  const bool rem = code == SC_REM;
  if (y == 1) return rem ? number(0) : (target_folded){FOLD_FIRST, 0, 0};
  if (y < 1 || (y & (y - 1))) return (target_folded){FOLD_NONE, 0, 0};
  return (target_folded){FOLD_OTHER, rem ? y - 1 : __builtin_ctzll((unsigned long long)y), rem ? SC_AND : SC_SHR};
}

target_folded target_fold(int code, const ir_value *a, const ir_value *b) {
  int64_t x, y;
  const bool first = target_index_const(a, &x), second = target_index_const(b, &y);
  if (first && second) return of_two(code, x, y);
  if (first && (code == SC_ADD || code == SC_MUL)) return beside(code, x, FOLD_SECOND);
  if (second && (code == SC_ADD || code == SC_MUL)) return beside(code, y, FOLD_FIRST);
  if (second && (code == SC_DIV || code == SC_REM)) return divided(code, y);
  if (second && code == SC_SUB && !y) return (target_folded){FOLD_FIRST, 0, 0};
  return (target_folded){FOLD_NONE, 0, 0};
}
