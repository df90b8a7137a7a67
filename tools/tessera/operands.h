/* tools/tessera/operands.h - memory for what a program takes and gives. Inputs hold what their files say, else random
 * numbers of a seed. */
#ifndef TOOLS_TESSERA_OPERANDS_H
#define TOOLS_TESSERA_OPERANDS_H
#include "tools/tessera/named_files.h"

typedef struct operands {
  const char *command, *file; /* for messages */
  tsr_device *dev;
  const tsr_program *prog;
  uint64_t seed;
  /* Behind the first 64 MiB of random inputs those of the same type and size take turns with the same memory. */
  bool share;
  tsr_binding *in, *out; /* from here on by operands_make */
  int n_in, n_out;
  size_t drawn;      /* bytes of random inputs */
  int *next, *again; /* per drawn input: the next of its type and size, round and round; of the first of them, which is
                        shared next, else -1 */
  bool *shared;      /* per input: its memory is another one's */
} operands;

/* With the fields down to `share` set and zeros behind. 0, else one line was printed; to be cleared in both cases.
 * Where there is a file of weights it must have all inputs that no .npy file gives. */
int operands_make(operands *o, const input_source *from);
void operands_clear(operands *o);
#endif
