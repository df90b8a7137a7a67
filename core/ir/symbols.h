/* core/ir/symbols.h - the kernels of a module by name: of its top level, and of the programs there. Where a name stands
 * twice, the first op counts; the verifier refuses that, of functions too. The table lives as long as the module's ops
 * keep their names and places. */
#ifndef CORE_IR_SYMBOLS_H
#define CORE_IR_SYMBOLS_H
#include "core/ir/ir.h"

typedef struct ir_symbols {
  const tsr_allocator *al;
  ir_op **v; /* open addressing; NULL = empty */
  size_t n, cap;
  const ir_op *twice; /* the first whose name another kernel of its level, or function, has; NULL: none */
} ir_symbols;

tsr_status ir_symbols_make(const ir_module *m, ir_symbols *out);
/* NULL if there is none. */
ir_op *ir_symbols_find(const ir_symbols *s, const char *name);
void ir_symbols_clear(ir_symbols *s);
#endif
