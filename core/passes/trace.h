/* core/passes/trace.h - what the passes did and did not do: one line per rule that fired or was refused, with the reason.
 * Users read it as the fusion trace (`tessera dump --trace`, profiles); tests read it to pin decisions. Memory failure is
 * sticky in `failed`, so that recording never interrupts a pass. Not thread-safe: one trace per compilation. */
#ifndef CORE_PASSES_TRACE_H
#define CORE_PASSES_TRACE_H
#include "core/ir/ir.h"

typedef struct trace_entry {
  const char *pass; /* "simplify", "fuse", "schedule", ... */
  const char *rule;
  const char *op;   /* "tessera.graph.add %name" */
  ir_loc loc;
  bool fired;
  const char *reason; /* why it was refused, or what it made; "" if there is nothing to say */
} trace_entry;

typedef struct pass_trace {
  arena arena;
  trace_entry *v;
  size_t n, cap;
  bool failed;
} pass_trace;

void trace_init(pass_trace *t, const tsr_allocator *al);
void trace_clear(pass_trace *t);
/* t may be NULL: nothing is recorded. */
void trace_add(pass_trace *t, const char *pass, const char *rule, const ir_op *op, bool fired, const char *fmt, ...) TSR_PRINTF(6, 7);
/* How many entries of a rule fired (or were refused). */
int trace_count(const pass_trace *t, const char *rule, bool fired);
/* One line per entry; or a JSON array of {pass, rule, op, line, fired, reason}. */
void trace_print(strb *b, const pass_trace *t);
void trace_json(strb *b, const pass_trace *t);
#endif
