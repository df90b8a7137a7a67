/* tests/support/mlir_opt.h - whether MLIR's own reader takes a file of dumps, split at "// -----". True where mlir-opt
 * is not installed: the caller asks mlir_opt() and counts that as skipped. */
#ifndef TESTS_SUPPORT_MLIR_OPT_H
#define TESTS_SUPPORT_MLIR_OPT_H
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline const char *mlir_opt(void) {
  const char *opt = !system("command -v mlir-opt-19 >/dev/null 2>&1") ? "mlir-opt-19"
                    : !system("command -v mlir-opt >/dev/null 2>&1")  ? "mlir-opt"
                                                                      : NULL;
  if (!opt) printf("skipped: mlir-opt is not installed\n");
  return opt;
}

static inline bool mlir_opt_reads(const char *file) {
  char command[256];
  const char *opt = mlir_opt();
  if (!opt) return true;
  snprintf(command, sizeof command, "%s --allow-unregistered-dialect --split-input-file %s >/dev/null", opt, file);
  return system(command) == 0;
}

/* What MLIR prints of the file's one dump; the number of bytes, 0 if it refuses, -1 where it isn't installed. */
static inline long mlir_opt_prints(const char *file, char *text, size_t n) {
  char command[256];
  const char *opt = mlir_opt();
  if (!opt) return -1;
  snprintf(command, sizeof command, "%s --allow-unregistered-dialect --mlir-print-op-generic %s", opt, file);
  FILE *f = popen(command, "r");
  size_t have = f ? fread(text, 1, n - 1, f) : 0;
  text[have] = 0;
  return f && pclose(f) == 0 ? (long)have : 0;
}
#endif
