/* core/passes/trace.h - what the passes did and did not do: one line per rule that fired or was refused, with the
 * reason. Users read it as the fusion trace (`tessera dump --trace`, profiles); tests read it to pin decisions. Memory
 * failure is sticky in `failed`, so that recording never interrupts a pass. Not thread-safe: one trace per compilation.
 */
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
  const char *kernel, *original; /* of a schedule that was changed to fit: whose, and what it was; else NULL */
  bool asked;                    /* of such a schedule: it was to run as it was; else it was a start to fit */
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
void trace_add(pass_trace *t, const char *pass, const char *rule, const ir_op *op, bool fired, const char *fmt, ...)
    TSR_PRINTF(6, 7);
/* The kernel's schedule is not the one that was asked for, or that the table of default tiles has: both, and why. */
typedef struct trace_change { const char *rule, *kernel, *original, *chosen, *why; bool asked; } trace_change;
void trace_schedule(pass_trace *t, const ir_op *op, const trace_change *c);
/* Those entries by kernel, for programs of many thousands: the last entry of each counts. False when out of memory. */
typedef struct trace_changes { const trace_entry **v; size_t n, cap; } trace_changes;
bool trace_changes_make(const pass_trace *t, trace_changes *out);
const trace_entry *trace_changes_find(const trace_changes *c,
                                      const char *kernel); /* NULL: its schedule is the one that was asked for */
void trace_changes_clear(const pass_trace *t, trace_changes *c);
/* How many entries of a rule fired (or were refused). */
int trace_count(const pass_trace *t, const char *rule, bool fired);
/* One line per entry; or a JSON array of {pass, rule, op, line, fired, reason}. */
void trace_print(strb *b, const pass_trace *t);
void trace_json(strb *b, const pass_trace *t);
#endif
