/* tests/support/mlir_opt.h - whether MLIR's own reader takes a file of dumps, split at "// -----". True, and said, where mlir-opt is not installed. */
#ifndef TESTS_SUPPORT_MLIR_OPT_H
#define TESTS_SUPPORT_MLIR_OPT_H
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline bool mlir_opt_reads(const char *file) {
  char command[256];
  const char *opt = !system("command -v mlir-opt-19 >/dev/null 2>&1") ? "mlir-opt-19" : !system("command -v mlir-opt >/dev/null 2>&1") ? "mlir-opt" : NULL;
  if (!opt) {
    printf("skipped: mlir-opt is not installed\n");
    return true;
  }
  snprintf(command, sizeof command, "%s --allow-unregistered-dialect --split-input-file %s >/dev/null", opt, file);
  return system(command) == 0;
}
#endif
