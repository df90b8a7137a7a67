/* tests/cli/cli_llm.h - a small decoder (tests/support/llm_file.h) as a file of a test of the command. */
#ifndef TESTS_CLI_CLI_LLM_H
#define TESTS_CLI_CLI_LLM_H
#include "tests/cli/cli_run.h"
#include "tests/support/llm_file.h"

/* *f stays, to be cleared; cut: bytes that are written, 0 = all. */
static inline void cli_write_llm(const cli *c, llm_file *f, const char *name, const llm_file_options *o, size_t cut) {
  strb file;
  strb_init(&file, NULL);
  llm_file_make(f, o);
  llm_file_bytes(f, &file);
  cli_write(c, name, file.p, cut ? cut : file.n);
  strb_clear(&file);
}

#endif
