/* tests/support/ir_fuzz.h - mutates modules that verify and uses every mutant that verifies, in child processes: a
 * crash, a sanitizer's report, a hang and a broken promise each name the mutant and leave its text in a file; programs
 * that only take long are counted.
 *   TSR_TEST_IR_FUZZ        mutants to accept (default: the caller's number)
 *   TSR_TEST_IR_FUZZ_SEED   where the random numbers start (default 1); printed
 *   TSR_TEST_IR_FUZZ_ONLY   tries this mutant alone, here and now, for a debugger */
#ifndef TESTS_SUPPORT_IR_FUZZ_H
#define TESTS_SUPPORT_IR_FUZZ_H
#include "core/ir/ir.h"

typedef struct ir_fuzz {
  const char *name;
  ir_module *const *bases;
  int n_bases;
  int accept; /* mutants that verify, before it ends */
  /* Uses a module that verifies, and its text. A status is a refusal, which is well; but TSR_INTERNAL is a fault. */
  tsr_status (*use)(void *user, ir_module *m, const char *text);
  void *user;
} ir_fuzz;

/* The number of faults. */
int ir_fuzz_run(const ir_fuzz *f);

#endif
