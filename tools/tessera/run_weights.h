/* tools/tessera/run_weights.h - `--weights FILE` of `tessera run` and `profile`: inputs of a program from a file of
 * weights, by name. */
#ifndef TOOLS_TESSERA_RUN_WEIGHTS_H
#define TOOLS_TESSERA_RUN_WEIGHTS_H
#include "core/import/weights.h"
#include "tools/tessera/cli.h"

/* The names of inputs for which there is neither a tensor nor anything else, one line for all of them. `given` says
 * whether an input has its values from elsewhere. */
int run_weights_check(const char *command, const weights *w, const tsr_program *p,
                      bool (*given)(void *user, const char *name), void *user);
/* Writes the tensor to the input's buffer; type and shape must be the input's. Quantised tensors become f32. */
int run_weights_bind(const char *command, const weights *w, const weights_tensor *x, const tsr_tensor_info *t,
                     tsr_buffer *out);
#endif
