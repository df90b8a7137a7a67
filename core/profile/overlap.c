/* core/profile/overlap.c - see overlap.h. */
#include "core/profile/overlap.h"

#include <stdlib.h>
#include <string.h>

#include "core/profile/report.h"

/* A beginning or an end of one event. */
typedef struct edge {
  double ns;
  int copies, kernels; /* what changes: +1 or -1 of one of the two */
} edge;

/* Ends before beginnings: what only touches does not overlap. */
static int by_time(const void *a, const void *b) {
  const edge *x = a, *y = b;
  if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
  return x->copies + x->kernels - y->copies - y->kernels;
}

static bool counts(const prof_event *e) { return e->device_clock && e->kind != PROF_HOST && e->end_ns > e->start_ns; }

static void sweep(const prof_log *l, edge *edges, prof_overlap *r) {
  size_t n = 0;
  int copies = 0, kernels = 0;
  for (size_t i = 0; i < prof_count(l); i++) {
    const prof_event *e = prof_at(l, i);
    const bool copy = e->kind == PROF_COPY;
    if (!counts(e) || strcmp(e->device, r->device)) continue;
    edges[n++] = (edge){e->start_ns, copy, !copy};
    edges[n++] = (edge){e->end_ns, -copy, -!copy};
  }
  qsort(edges, n, sizeof *edges, by_time);
  for (size_t i = 0; i + 1 < n; i++) {
    const double ns = edges[i + 1].ns - edges[i].ns;
    copies += edges[i].copies, kernels += edges[i].kernels;
    if (copies) r->copy_ns += ns;
    if (kernels) r->kernel_ns += ns;
    if (copies && kernels) r->both_ns += ns;
  }
  const double shorter = r->copy_ns < r->kernel_ns ? r->copy_ns : r->kernel_ns;
  r->part = shorter > 0 ? r->both_ns / shorter : -1;
}

tsr_status prof_overlaps(const prof_log *l, const tsr_allocator *al, prof_overlap **out, size_t *n_out) {
  prof_overlap *rows = NULL;
  size_t n = 0, cap = 0;
  *out = NULL, *n_out = 0;
  const size_t bytes = (2 * prof_count(l) + 1) * sizeof(edge);
  edge *edges = al_alloc(al, bytes, 16);
  bool ok = edges;
  for (size_t i = 0; ok && i < prof_count(l); i++) {
    const prof_event *e = prof_at(l, i);
    size_t r = 0;
    if (e->kind != PROF_COPY || !e->device_clock) continue;
    while (r < n && strcmp(rows[r].device, e->device)) r++;
    if (r == n) {
      ok = al_grow(al, &rows, &cap, n + 1, sizeof *rows);
      if (ok) rows[n++] = (prof_overlap){.device = e->device, .waits = e->waits, .part = -1};
    } else if (!e->waits[0]) {
      rows[r].waits = "";
    }
  }
  prof_overlap *exact = ok && n ? al_alloc(al, n * sizeof *exact, 16) : NULL; /* the count frees it */
  ok = ok && (!n || exact);
  for (size_t r = 0; ok && r < n; r++) {
    exact[r] = rows[r];
    sweep(l, edges, &exact[r]);
  }
  al_free(al, edges, bytes, 16);
  al_free_array(al, rows, cap);
  if (!ok) return st_oom();
  *out = exact, *n_out = n;
  return NULL;
}

tsr_status overlap_text(const prof_log *l, strb *out) {
  prof_overlap *rows;
  size_t n;
  TSR_TRY(prof_overlaps(l, NULL, &rows, &n));
  for (size_t i = 0; i < n; i++) {
    char copy[16], kernel[16], both[16];
    report_time(rows[i].copy_ns, copy);
    report_time(rows[i].kernel_ns, kernel);
    report_time(rows[i].both_ns, both);
    strb_printf(out, "overlap of %s: copies %s, kernels %s, both at once %s", rows[i].device, copy, kernel, both);
    if (rows[i].part >= 0) strb_printf(out, ": %.0f%% of the shorter", 100 * rows[i].part);
    strb_printf(out, "%s%s\n", rows[i].waits[0] ? "; " : "", rows[i].waits);
  }
  al_free_array(NULL, rows, n);
  return NULL;
}

tsr_status overlap_json(const prof_log *l, strb *out) {
  prof_overlap *rows;
  size_t n;
  TSR_TRY(prof_overlaps(l, NULL, &rows, &n));
  for (size_t i = 0; i < n; i++) {
    strb_puts(out, i ? ",\n  {\"device\": " : "\n  {\"device\": ");
    strb_json(out, rows[i].device);
    strb_printf(out, ", \"copy_ns\": %.10g, \"kernel_ns\": %.10g, \"both_ns\": %.10g, \"overlap\": ", rows[i].copy_ns,
                rows[i].kernel_ns, rows[i].both_ns);
    if (rows[i].part >= 0) strb_printf(out, "%.10g", rows[i].part);
    else strb_puts(out, "null");
    strb_puts(out, ", \"waits\": ");
    strb_json(out, rows[i].waits);
    strb_putc(out, '}');
  }
  al_free_array(NULL, rows, n);
  return NULL;
}
