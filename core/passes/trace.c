/* core/passes/trace.c - see trace.h. */
#include "core/passes/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void trace_init(pass_trace *t, const tsr_allocator *al) {
  *t = (pass_trace){0};
  arena_init(&t->arena, al);
}

void trace_clear(pass_trace *t) {
  al_free_array(&t->arena.al, t->v, t->cap);
  arena_clear(&t->arena);
  t->v = NULL;
  t->n = t->cap = 0;
  t->failed = false;
}

void trace_add(pass_trace *t, const char *pass, const char *rule, const ir_op *op, bool fired, const char *fmt, ...) {
  if (!t) return;
  char reason[256];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(reason, sizeof reason, fmt, ap);
  va_end(ap);
  const char *name = op->n_results && op->results[0]->name ? op->results[0]->name : NULL;
  trace_entry e = {pass, rule, name ? arena_fmt(&t->arena, "%s %%%s", op->def->name, name) : op->def->name, op->loc, fired, arena_str(&t->arena, reason)};
  if (!e.op || !e.reason || !al_grow(&t->arena.al, &t->v, &t->cap, t->n + 1, sizeof *t->v)) {
    t->failed = true;
    return;
  }
  t->v[t->n++] = e;
}

int trace_count(const pass_trace *t, const char *rule, bool fired) {
  int n = 0;
  for (size_t i = 0; i < t->n; i++) n += t->v[i].fired == fired && !strcmp(t->v[i].rule, rule);
  return n;
}

void trace_print(strb *b, const pass_trace *t) {
  for (size_t i = 0; i < t->n; i++) {
    const trace_entry *e = &t->v[i];
    strb_printf(b, "%s: %s %s %s", e->pass, e->rule, e->fired ? "fired at" : "refused at", e->op);
    if (e->loc.line) strb_printf(b, " (line %d)", e->loc.line);
    if (*e->reason) strb_printf(b, ": %s", e->reason);
    strb_putc(b, '\n');
  }
}

void trace_json(strb *b, const pass_trace *t) {
  strb_putc(b, '[');
  for (size_t i = 0; i < t->n; i++) {
    const trace_entry *e = &t->v[i];
    strb_puts(b, i ? ",\n {\"pass\": " : "\n {\"pass\": ");
    strb_json(b, e->pass);
    strb_puts(b, ", \"rule\": ");
    strb_json(b, e->rule);
    strb_puts(b, ", \"op\": ");
    strb_json(b, e->op);
    strb_printf(b, ", \"line\": %d, \"fired\": %s, \"reason\": ", e->loc.line, e->fired ? "true" : "false");
    strb_json(b, e->reason);
    strb_putc(b, '}');
  }
  strb_puts(b, t->n ? "\n]\n" : "]\n");
}
