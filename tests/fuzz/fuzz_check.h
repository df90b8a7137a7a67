/* tests/fuzz/fuzz_check.h - what the libFuzzer targets demand of every reader: a refusal is one status with one line of
 * text, and what was read prints to text that reads and prints the same. A broken demand shows both texts and aborts,
 * which libFuzzer reports. */
#ifndef TESTS_FUZZ_FUZZ_CHECK_H
#define TESTS_FUZZ_FUZZ_CHECK_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/status.h"
#include "core/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_die(const char *what, const strb *a, const strb *b) {
  fprintf(stderr, "%s\n--- first\n%s\n--- second\n%s\n", what, strb_text(a), b ? strb_text(b) : "");
  abort();
}

/* True if there is a status, which is freed. */
static inline bool fuzz_refused(tsr_status st) {
  if (!st) return false;
  const char *message = tsr_status_message(st);
  if (!*message || strchr(message, '\n')) {
    fprintf(stderr, "not one line: %s\n", message);
    abort();
  }
  tsr_status_free(st);
  return true;
}

/* `st` is of reading what was printed: it must be NULL. */
static inline void fuzz_reads_back(tsr_status st, const strb *printed) {
  if (!st) return;
  fprintf(stderr, "%s\n", tsr_status_message(st));
  fuzz_die("the printed text does not parse", printed, NULL);
}

static inline void fuzz_same(const strb *a, const strb *b) {
  if (strcmp(strb_text(a), strb_text(b))) fuzz_die("printing is not stable", a, b);
}
#endif
