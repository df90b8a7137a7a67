/* core/emit/text/line.h - what all files of the C-like printer share: the names of types, what a module uses of the
 * primitives (core/emit/text/prelude.h), and the state of the printer while it walks a kernel, with its lines and
 * names. The C++ expression of each value is kept in ir_value.data. */
#ifndef CORE_EMIT_TEXT_LINE_H
#define CORE_EMIT_TEXT_LINE_H
#include "core/device/caps.h"
#include "core/device/matrix_instr.h"
#include "core/ir/target/target.h"

typedef enum text_feature {
  TEXT_MATH = 1 << 0, /* transcendental functions */
  TEXT_F16 = 1 << 1, TEXT_BF16 = 1 << 2, TEXT_F8 = 1 << 3, TEXT_TF32 = 1 << 4,
  TEXT_SHUFFLE = 1 << 5,
  TEXT_CP_ASYNC = 1 << 6, TEXT_LDMATRIX = 1 << 7, TEXT_STMATRIX = 1 << 8,
  TEXT_TMA = 1 << 9, TEXT_MBAR = 1 << 10, TEXT_CLUSTER = 1 << 11,
  TEXT_WGMMA = 1 << 12, /* or what stands around it; wrappers of instructions: text_use.mma */
  TEXT_NAMED = 1 << 13, TEXT_LDS = 1 << 14, TEXT_WAITS = 1 << 15
} text_feature;

/* A matrix instruction that the module uses, for the printers of their wrappers. */
typedef struct text_mma {
  matrix_kind kind;
  bool a_regs; /* wgmma with a in registers */
  int m, n, k, swizzle;
  bool ta, tb;
  tsr_dtype a, b, c;
} text_mma;

typedef struct text_use {
  unsigned features;
  text_mma mma[64];
  int n_mma;
  unsigned tma_ranks; /* bit r: copies of rank r */
  char arch[32];
  bool fnuz; /* caps.fnuz */
  int wave; /* lanes of a subgroup */
} text_use;

/* C++ name of an element type ("bf16", "unsigned char"). */
const char *text_type(tsr_dtype t);

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
/* Could a name be one of C++, and is it one already, of this kernel, of the primitives or of the language? */
bool text_plain(const char *s);
bool text_taken(const text_printer *p, const char *s);
/* Picks a fresh C++ name for v and makes it v's expression. */
const char *text_name(text_printer *p, ir_value *v);
/* "const TYPE name = expr;" */
void text_define(text_printer *p, ir_value *v, const char *expr);
/* "pointer + index" of operands i and i + 1. */
const char *text_address(text_printer *p, const ir_op *op, int i);

#endif
