/* tests/support/ir_mutate.h - random changes to a module of Tile or Target IR, for fuzzing what its verifier lets
 * through. */
#ifndef TESTS_SUPPORT_IR_MUTATE_H
#define TESTS_SUPPORT_IR_MUTATE_H
#include "core/ir/ir.h"

/* splitmix64: the next number of *state. */
uint64_t mutate_next(uint64_t *state);
/* Makes one to three changes (attributes, operands, types, regions' arguments, ops added, moved or taken out), then
 * most often gives regions' arguments and results the types that follow from the operands, so that a change reaches
 * what uses it. The module need not verify. */
void ir_mutate(ir_module *m, uint64_t *state);

#endif
