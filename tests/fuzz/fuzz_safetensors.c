/* tests/fuzz/fuzz_safetensors.c - libFuzzer target of the reader of safetensors files; tests/support/weights_check.h
 * says what must hold. Build and run as fuzz_ir. */
#include <stdio.h>

#include "core/import/safetensors.h"
#include "tests/support/weights_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bool refused;
  const char *wrong = safetensors_is(data, size) ? weights_wrong(data, size, &refused) : NULL;
  if (!wrong) return 0;
  fprintf(stderr, "%s\n", wrong);
  abort();
}
