/* core/emit/cpu/gen.h - what the files of the CPU emitter share: a code image (emit/cpu/code.h) while it is written.
 * Its tables grow, references are indices into them; a register is its value's scratch. Only the sources beside it
 * include it. */
#ifndef CORE_EMIT_CPU_GEN_H
#define CORE_EMIT_CPU_GEN_H
#include <string.h>

#include "core/base/dtype.h"
#include "core/emit/cpu/code.h"
#include "core/ir/target/target.h"

typedef struct gen_table {
  void *v;
  size_t n, cap, size;
} gen_table;

typedef struct gen {
  arena *a;
  const tsr_allocator *al;
  gen_table kernels, instrs, descs, strips, programs, extra;
  cpu_kernel k;
  int32_t strip; /* of the kernel's elementwise programs */
  bool oom;
} gen;

/* The place of a row that was added; 0 and oom set where there is no memory. */
int gen_push(gen *g, gen_table *t, const void *row);
int gen_instr(gen *g, cpu_opcode op, int n, const int *a, int64_t imm, int extra);
#define INSTR(g, op, imm, extra, ...) \
  gen_instr(g, op, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__}, imm, extra)
/* The first place in the extra table. */
int gen_ints(gen *g, const int64_t *v, int n);
/* The descriptor of a tile or view value. */
int gen_desc(gen *g, const ir_value *v);
/* A constant as an integer of its type: infinities, the identities of reductions, saturate; NaN is 0; integers wrap. */
int64_t gen_whole(const ir_op *op);
/* COMPARE's predicate; of NOT whether it is logical. */
int gen_variant(const ir_op *op);

static inline bool gen_is_float(const ir_type *t) { return t->kind == IR_T_SCALAR && dtype_is_float(t->dtype); }
static inline int gen_reg(const ir_value *v) { return (int)v->scratch; }
static inline int64_t gen_bits(double f) {
  int64_t i;
  memcpy(&i, &f, sizeof i);
  return i;
}


/* emit/cpu/strips.c: the region of op as an elementwise program. args_are_indices: gather and scatter regions get
 * coordinates, map regions get elements. */
tsr_status gen_program(gen *g, const ir_op *op, bool args_are_indices, int first_input, int last, int *out);
/* emit/cpu/calls.c: a call of a micro-kernel. */
tsr_status gen_call(gen *g, ir_op *op);
#endif
