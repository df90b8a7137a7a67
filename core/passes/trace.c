/* core/passes/trace.c - see trace.h. */
#include "core/passes/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"

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
  char reason[640]; /* two whole schedules and why */
  va_list ap;
  va_start(ap, fmt);
  number_vprint(reason, sizeof reason, fmt, ap);
  va_end(ap);
  const char *name = op->n_results && op->results[0]->name ? op->results[0]->name : NULL;
  trace_entry e = {pass,    rule,  name ? arena_fmt(&t->arena, "%s %%%s", op->def->name, name) : op->def->name,
                   op->loc, fired, arena_str(&t->arena, reason),
                   NULL,    NULL,  false};
  if (!e.op || !e.reason || !al_grow(&t->arena.al, &t->v, &t->cap, t->n + 1, sizeof *t->v)) {
    t->failed = true;
    return;
  }
  t->v[t->n++] = e;
}

void trace_schedule(pass_trace *t, const ir_op *op, const trace_change *c) {
  if (!t) return;
  size_t before = t->n;
  trace_add(t, "schedule", c->rule, op, true, "%s: %s -> %s: %s", c->kernel, c->original, c->chosen, c->why);
  if (t->n == before) return;
  trace_entry *e = &t->v[before];
  e->asked = c->asked;
  e->kernel = arena_str(&t->arena, c->kernel);
  e->original = arena_str(&t->arena, c->original);
  if (e->kernel && e->original) return;
  t->failed = true;
  e->kernel = e->original = NULL;
}

static int by_kernel(const void *a, const void *b) {
  const trace_entry *x = *(const trace_entry *const *)a, *y = *(const trace_entry *const *)b;
  int c = strcmp(x->kernel, y->kernel);
  return c ? c : x < y ? -1 : x > y;
}

bool trace_changes_make(const pass_trace *t, trace_changes *out) {
  *out = (trace_changes){0};
  for (size_t i = 0; i < t->n; i++) {
    if (!t->v[i].kernel) continue;
    if (!al_grow(&t->arena.al, &out->v, &out->cap, out->n + 1, sizeof *out->v)) {
      trace_changes_clear(t, out);
      return false;
    }
    out->v[out->n++] = &t->v[i];
  }
  if (out->n) qsort(out->v, out->n, sizeof *out->v, by_kernel);
  return true;
}

const trace_entry *trace_changes_find(const trace_changes *c, const char *kernel) {
  size_t from = 0, to = c->n; /* the first entry of a greater name */
  while (from < to) {
    size_t mid = from + (to - from) / 2;
    if (strcmp(c->v[mid]->kernel, kernel) <= 0) from = mid + 1;
    else to = mid;
  }
  return from && !strcmp(c->v[from - 1]->kernel, kernel) ? c->v[from - 1] : NULL;
}

void trace_changes_clear(const pass_trace *t, trace_changes *c) {
  al_free_array(&t->arena.al, c->v, c->cap);
  *c = (trace_changes){0};
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
