/* tools/tessera/graph_text.h - what the commands want to know of Graph IR text beyond the public interface: which ops
 * it has, how often, and what its results are called. */
#ifndef TOOLS_TESSERA_GRAPH_TEXT_H
#define TOOLS_TESSERA_GRAPH_TEXT_H
#include "core/ir/ir.h"

/* How often something occurs; in the order of the first time. */
typedef struct tally {
  const char *name;
  size_t n;
} tally;
typedef struct tallies {
  tally *v;
  size_t n, cap;
} tallies;

/* False: out of memory. The name is kept as it is given. */
bool tally_add(tallies *t, const char *name);
void tally_clear(tallies *t);

typedef struct graph_text {
  ir_module *m;
  ir_op *func, *ret;
  tallies ops, custom;        /* names without the level; callees of custom ops */
  uint64_t parameters, bytes; /* of constants, and what the text gives of them: a splat is one element */
} graph_text;

/* Parses and counts. `out` is to be cleared in any case. */
TSR_MUST_USE tsr_status graph_text_read(const char *text, size_t bytes, const char *file, graph_text *out);
/* The result that is called this, -1: none. */
int graph_text_find_output(const graph_text *g, const char *name, size_t n);
/* "" where it has no name. */
const char *graph_text_output_name(const graph_text *g, int i);
void graph_text_clear(graph_text *g);
#endif
