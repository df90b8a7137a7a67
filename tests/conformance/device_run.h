/* tests/conformance/device_run.h - runs IR text of any level on a device: the inputs from memory, all outputs to
 * memory. */
#ifndef TESTS_CONFORMANCE_DEVICE_RUN_H
#define TESTS_CONFORMANCE_DEVICE_RUN_H
#include <stdbool.h>
#include <string.h>

#include "tessera/tessera.h"

enum { DEVICE_RUN_MOST = 8 };

/* TSR_UNSUPPORTED is the device's, and the caller's to count. */
static inline tsr_status device_run(tsr_device *dev, const char *text, const tsr_compile_options *o,
                                    const void *const *in, void *const *out) {
  tsr_program *p = NULL;
  tsr_binding b[2][DEVICE_RUN_MOST] = {{{NULL, 0}}};
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "text", o, &p);
  int n[2] = {st ? 0 : tsr_program_n_inputs(p), st ? 0 : tsr_program_n_outputs(p)};
  for (int side = 0; side < 2; side++)
    for (int i = 0; !st && i < n[side]; i++) {
      size_t bytes = side ? tsr_program_output(p, i).bytes : tsr_program_input(p, i).bytes;
      st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &b[side][i].buffer);
      if (!st && !side) st = tsr_buffer_write(b[side][i].buffer, 0, in[i], bytes);
    }
  if (!st) st = tsr_program_run(p, NULL, b[0], b[1]);
  for (int i = 0; !st && i < n[1]; i++) st = tsr_buffer_read(b[1][i].buffer, 0, out[i], tsr_program_output(p, i).bytes);
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < n[side]; i++) tsr_buffer_destroy(&b[side][i].buffer);
  tsr_program_destroy(&p);
  return st;
}
#endif
