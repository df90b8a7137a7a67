/* tests/support/ir_run.h - runs IR text of any level on a device with inputs of small numbers, each tensor in memory of
 * its own size, so that the address sanitizer sees what reaches past it. */
#ifndef TESTS_SUPPORT_IR_RUN_H
#define TESTS_SUPPORT_IR_RUN_H
#include "tessera/tessera.h"

enum { IR_RUN_MOST_TENSORS = 16 };

/* Compiles and runs the text once. Inputs are ones and twos alternately; `out`, if not NULL, receives the first `bytes`
 * bytes of the first result. A program with more tensors than IR_RUN_MOST_TENSORS or more than 2^24 bytes in one of
 * them is TSR_UNSUPPORTED. */
tsr_status ir_run(tsr_device *dev, const char *text, void *out, size_t bytes);

#endif
