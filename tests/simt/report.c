/* tests/simt/report.c - findings and their printing. The same finding (kind and lines) is kept once, with a count. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"

static const char *const names[EMU_N_KINDS] = {
    "out of bounds", "misaligned", "race", "unwritten shared memory", "divergent collective", "asynchronous data used early",
    "missing fence", "mbarrier misuse", "exit with copies in flight", "deadlock", "bad argument"};

const char *emu_kind_name(emu_kind k) { return k < EMU_N_KINDS ? names[k] : "?"; }

void sim_find(emu_kind kind, int line, int other_line, const char *fmt, ...) {
  emu_report *r = S.report;
  r->n_kind[kind]++;
  for (int i = 0; i < r->n_findings; i++) {
    emu_finding *f = &r->findings[i];
    if (f->kind == kind && f->line == line && f->other_line == other_line) {
      f->count++;
      return;
    }
  }
  if (r->n_findings == EMU_MAX_FINDINGS) return;
  emu_finding *f = &r->findings[r->n_findings++];
  *f = (emu_finding){.kind = kind, .line = line, .other_line = other_line, .count = 1, .block = -1, .thread = -1};
  if (S.now) {
    f->block = S.now->block->index;
    f->thread = S.now->in_block;
  }
  va_list args;
  va_start(args, fmt);
  vsnprintf(f->text, sizeof f->text, fmt, args);
  va_end(args);
}

void sim_stop(void) {
  S.stop = true;
  S.report->stopped = true;
  for (;;) fiber_leave();
}

static long conflicts(const emu_site *s) {
  long n = 0;
  for (int d = 2; d <= EMU_MAX_DEGREE; d++) n += s->degree[d];
  return n;
}

int emu_report_worst_degree(const emu_report *r) {
  int worst = 0;
  for (int i = 0; i < r->n_sites; i++)
    for (int d = 1; d <= EMU_MAX_DEGREE; d++)
      if (r->sites[i].degree[d] && d > worst) worst = d;
  return worst;
}

void emu_report_print(const emu_report *r, FILE *to) {
  for (int i = 0; i < r->n_findings; i++) {
    const emu_finding *f = &r->findings[i];
    fprintf(to, "line %d: %s: %s (block %d, thread %d; %ld times)\n", f->line, emu_kind_name(f->kind), f->text,
            f->block, f->thread, f->count);
  }
  for (int i = 0; i < r->n_sites; i++) {
    const emu_site *s = &r->sites[i];
    if (!conflicts(s)) continue;
    fprintf(to, "line %d: bank conflicts: %ld of %ld %s of %d bytes:", s->line, conflicts(s), s->n,
            s->write ? "writes" : "reads", s->bytes);
    for (int d = 2; d <= EMU_MAX_DEGREE; d++)
      if (s->degree[d]) fprintf(to, " %d-way %ld", d, s->degree[d]);
    fputc('\n', to);
  }
  if (r->stopped) fputs("the launch was stopped\n", to);
}
