/* tests/support/gate_list.h - the kernels that test_compile_gates compiles: every family, the default plans, the files
 * of tests/tile. */
#ifndef TESTS_SUPPORT_GATE_LIST_H
#define TESTS_SUPPORT_GATE_LIST_H
#include "core/device/caps.h"

typedef struct gate {
  char name[96];
  char *text,
      *plain; /* for devices with a matrix instruction for the types; without (smaller tiles), NULL = the same */
  size_t n, n_plain;
  bool graph;  /* the text is a graph, planned by default for each device */
  bool matrix; /* a matmul of types that matrix instructions take */
  bool overlap; /* AMD: loads must be in flight during the arithmetic */
  bool whole;   /* AMD: whole tiles, nothing is done by some lanes alone */
  bool always;  /* in every sample, see is_always */
  const char *only; /* for these architectures; NULL = all */
  tsr_dtype in;
} gate;

/* Static memory. Samples are taken by places in it, so what is new goes to the end. Aborts where there is no memory. */
gate *gate_list(int *n);
#endif
