/* tools/tessera/bench_work.h - what a case of `tessera bench` computes: its graph, and its operands on the host. The
 * same seed draws the same operands. */
#ifndef TOOLS_TESSERA_BENCH_WORK_H
#define TOOLS_TESSERA_BENCH_WORK_H
#include "tools/tessera/bench.h"

typedef struct bench_work {
  long seed;
  tsr_graph *g;
  int n_in;
  void *data[OP_GRAPH_OPERANDS]; /* in the op's order, constants too */
  size_t bytes[OP_GRAPH_OPERANDS];
} bench_work;

/* To be cleared, after failure too. */
tsr_status bench_work_build(tsr_context *ctx, const bench_case *c, long seed, bench_work *out) TSR_MUST_USE;
void bench_work_clear(bench_work *w);

#endif
