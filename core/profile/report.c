/* core/profile/report.c - see report.h. */
#include "core/profile/report.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "core/ir/graph/ops.h"
#include "core/profile/overlap.h"

/* Of ops that Graph IR has no row for; the rows say theirs. */
static const struct spelling {
  const char *op, *shown;
} spellings[] = {{"fft", "FFT"},
                 {"ifft", "IFFT"},
                 {"moe", "MoE"}};

static void camel(const char *op, char *out, size_t n) {
  const graph_row *row = graph_row_named(op);
  if (row && row->shown) {
    snprintf(out, n, "%s", row->shown);
    return;
  }
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
    if (!strcmp(op, spellings[i].op)) {
      snprintf(out, n, "%s", spellings[i].shown);
      return;
    }
  if (strchr(op, '.')) { /* an application's own name */
    snprintf(out, n, "%s", op);
    return;
  }
  size_t at = 0;
  bool up = true;
  for (; *op && at + 1 < n; op++) {
    if (*op == '_') up = true;
    else {
      out[at++] = (char)(up ? toupper((unsigned char)*op) : *op);
      up = false;
    }
  }
  out[at] = 0;
}

/* "softmax+exp" -> "Softmax+Exp". */
static void camel_parts(const char *ops, char *out, size_t n) {
  out[0] = 0;
  for (size_t at = 0; *ops && at + 1 < n; at = strlen(out)) {
    char one[64], shown[64];
    size_t len = strcspn(ops, "+");
    snprintf(one, sizeof one, "%.*s", (int)(len < sizeof one ? len : sizeof one - 1), ops);
    camel(one, shown, sizeof shown);
    snprintf(out + at, n - at, "%s%s", at ? "+" : "", shown);
    ops += len + (ops[len] == '+');
  }
}

void report_label(const prof_event *e, char *out, size_t out_bytes) {
  char op[64], parts[128];
  camel(e->op, op, sizeof op);
  camel_parts(e->detail, parts, sizeof parts);
  if (e->kind == PROF_FUSED) snprintf(out, out_bytes, "FusedOp[%s]", e->detail[0] ? parts : op);
  else if (e->detail[0]) snprintf(out, out_bytes, "%s[%s]", op, e->detail);
  else snprintf(out, out_bytes, "%s", op);
}

/* Two significant digits under ten, whole numbers above. */
static void scaled(double v, const char *unit, char *out, size_t n) {
  if (v < 9.95) number_print(out, n, "%.1f%s", v, unit);
  else number_print(out, n, "%.0f%s", v, unit);
}

void report_time(double ns, char out[16]) {
  if (!(ns >= 0)) snprintf(out, 16, "n/a");
  else if (ns < 999.5) snprintf(out, 16, "%.0fns", ns);
  else if (ns < 999.5e3) scaled(ns / 1e3, "µs", out, 16);
  else if (ns < 999.5e6) scaled(ns / 1e6, "ms", out, 16);
  else scaled(ns / 1e9, "s", out, 16);
}

void report_bandwidth(double g, char out[16]) {
  if (!(g >= 0)) snprintf(out, 16, "n/a");
  else if (g >= 999.5) scaled(g / 1e3, "TB/s", out, 16);
  else if (g >= 0.9995) scaled(g, "GB/s", out, 16);
  else scaled(g * 1e3, "MB/s", out, 16);
}

static void percent(double share, char out[16]) {
  if (share >= 0) snprintf(out, 16, "%.0f%%", 100 * share);
  else snprintf(out, 16, "n/a");
}

static void count(double v, char out[16]) {
  if (v >= 0) snprintf(out, 16, "%.0f", v);
  else snprintf(out, 16, "n/a");
}

/* Pads to `width` columns; a UTF-8 continuation byte takes none. At least two spaces follow. */
static void column(strb *out, const char *text, int width) {
  int used = 0;
  for (const char *c = text; *c; c++) used += (*c & 0xc0) != 0x80;
  strb_puts(out, text);
  for (int i = 0; i < 2 || used + i < width; i++) strb_putc(out, ' ');
}

static void wide_part(const prof_row *r, strb *out) {
  char v[16], m[16];
  const prof_event *e = &r->first;
  if (e->kind != PROF_COLLECTIVE && e->kind != PROF_COPY) {
    report_bandwidth(r->gbytes_per_s, v);
    strb_printf(out, "  bandwidth=%s", v);
  }
  if (e->kind != PROF_FUSED) {
    count(e->tiles, v);
    strb_printf(out, "  tiles=%s", v);
  }
  report_time(r->tile_ns, v);
  strb_printf(out, "  tile=%s", v);
  if (r->tile_min_ns >= 0 && r->tile_max_ns >= 0) {
    report_time(r->tile_min_ns, v);
    report_time(r->tile_max_ns, m);
    strb_printf(out, " (%s to %s)", v, m);
  }
  if (e->bytes >= 0) number_print(v, sizeof v, "%.4gMB", e->bytes / 1e6);
  else snprintf(v, sizeof v, "n/a");
  if (r->bytes_measured >= 0) number_print(m, sizeof m, "%.4gMB", r->bytes_measured / 1e6);
  else snprintf(m, sizeof m, "n/a");
  strb_printf(out, "  modelled=%s measured=%s  n=%zu  share=%.1f%%  bound=%s", v, m, r->count, 100 * r->share,
              prof_limit_name(r->bound.limit));
  if (r->bound.part >= 0) strb_printf(out, " (%.0f%%)", 100 * r->bound.part);
  strb_printf(out, "  next: %s", r->bound.next);
  if (*e->original) strb_printf(out, "  asked for, or in the table: %s", e->original);
}

/* One line; `wide` adds bandwidth, tiles, time per tile, modelled against measured bytes, and the bound with the next
 * knob. */
static void report_row(const prof_row *r, bool wide, strb *out) {
  char label[128], v[16], field[48];
  report_label(&r->first, label, sizeof label);
  column(out, label, 20);
  report_time(r->median_ns, v);
  snprintf(field, sizeof field, "latency=%s", v);
  column(out, field, 16);
  switch (r->first.kind) {
  case PROF_KERNEL:
  case PROF_HOST:
    percent(r->occupancy, v);
    strb_printf(out, "occupancy=%s", v);
    break;
  case PROF_COLLECTIVE:
  case PROF_COPY:
    report_bandwidth(r->gbytes_per_s, v);
    strb_printf(out, "bandwidth=%s", v);
    break;
  case PROF_FUSED:
    count(r->first.tiles, v);
    strb_printf(out, "tiles=%s", v);
    break;
  }
  if (wide) wide_part(r, out);
  strb_putc(out, '\n');
}

/* All rows of one op on one device, whatever their tiles and kernels; of what was fused, those of the same ops. */
typedef struct op_total {
  char op[128];
  size_t kernels, count;
  double total_ns, share;
} op_total;

static void op_of(const prof_row *r, char out[128]) {
  if (r->first.kind == PROF_FUSED) report_label(&r->first, out, 128);
  else camel(r->first.op, out, 128);
}

/* False when row i's op stood in an earlier row. */
static bool sum_op(const prof_row *rows, size_t n, size_t i, op_total *t) {
  char other[128];
  *t = (op_total){.kernels = 0};
  op_of(&rows[i], t->op);
  for (size_t k = 0; k < n; k++) {
    op_of(&rows[k], other);
    if (strcmp(other, t->op) || strcmp(rows[k].first.device, rows[i].first.device)) continue;
    if (k < i) return false;
    t->kernels++, t->count += rows[k].count, t->total_ns += rows[k].total_ns, t->share += rows[k].share;
  }
  return true;
}

static void ops_text(const prof_row *rows, size_t n, strb *out) {
  op_total t;
  char total[16];
  strb_puts(out, "per op:\n");
  for (size_t i = 0; i < n; i++) {
    if (!sum_op(rows, n, i, &t)) continue;
    column(out, t.op, 20);
    report_time(t.total_ns, total);
    strb_printf(out, "total=%s  share=%.1f%%  n=%zu  kernels=%zu  %s\n", total, 100 * t.share, t.count, t.kernels,
                rows[i].first.device);
  }
}

static void ops_json(const prof_row *rows, size_t n, strb *out) {
  op_total t;
  bool any = false;
  strb_puts(out, "], \"ops\": [");
  for (size_t i = 0; i < n; i++) {
    if (!sum_op(rows, n, i, &t)) continue;
    strb_puts(out, any ? ",\n  {\"op\": " : "\n  {\"op\": ");
    strb_json(out, t.op);
    strb_puts(out, ", \"device\": ");
    strb_json(out, rows[i].first.device);
    strb_printf(out, ", \"kernels\": %zu, \"count\": %zu, \"total_ns\": %.10g, \"share\": %.10g}", t.kernels, t.count,
                t.total_ns, t.share);
    any = true;
  }
}

tsr_status report_text(const prof_log *l, const char *fusion_trace, bool wide, strb *out) {
  prof_row *rows;
  size_t n;
  TSR_TRY(prof_aggregate(l, NULL, &rows, &n));
  for (size_t i = 0; i < n; i++) report_row(&rows[i], wide, out);
  if (wide && n > 1) ops_text(rows, n, out);
  al_free_array(NULL, rows, n);
  TSR_TRY(overlap_text(l, out));
  if (prof_dropped(l)) strb_printf(out, "%zu events were dropped: out of memory\n", prof_dropped(l));
  if (fusion_trace && *fusion_trace) strb_printf(out, "fusion trace:\n%s", fusion_trace);
  return strb_ok(out) ? NULL : st_oom();
}

static void number(strb *out, const char *name, double v) {
  if (v >= 0 && isfinite(v)) strb_printf(out, ", \"%s\": %.10g", name, v);
  else strb_printf(out, ", \"%s\": null", name);
}

static void text(strb *out, const char *name, const char *v) {
  strb_printf(out, ", \"%s\": ", name);
  strb_json(out, v);
}

static void row_json(const prof_row *r, strb *out) {
  static const char *const kinds[] = {"kernel", "collective", "fused", "copy", "host"};
  const prof_event *e = &r->first;
  char label[128];
  report_label(e, label, sizeof label);
  strb_printf(out, "{\"kind\": \"%s\"", kinds[e->kind]);
  text(out, "label", label);
  text(out, "op", e->op);
  text(out, "detail", e->detail);
  text(out, "kernel", e->kernel);
  text(out, "device", e->device);
  text(out, "original", e->original);
  text(out, "original_why", e->original_why);
  strb_printf(out, ", \"stream\": %d, \"count\": %zu, \"steps\": %zu", e->stream, r->count, r->steps);
  number(out, "median_ns", r->median_ns), number(out, "min_ns", r->min_ns), number(out, "max_ns", r->max_ns),
      number(out, "total_ns", r->total_ns);
  number(out, "share", r->share), number(out, "flops", e->flops), number(out, "gflops", r->gflops);
  number(out, "bytes_modelled", e->bytes), number(out, "bytes_measured", r->bytes_measured),
      number(out, "gbytes_per_s", r->gbytes_per_s);
  number(out, "occupancy", r->occupancy), number(out, "registers", e->registers),
      number(out, "spill_bytes", e->spill_bytes);
  number(out, "shared_bytes", e->shared_bytes), number(out, "tiles", e->tiles), number(out, "tile_ns", r->tile_ns);
  number(out, "tile_min_ns", r->tile_min_ns), number(out, "tile_max_ns", r->tile_max_ns);
  text(out, "bound", prof_limit_name(r->bound.limit));
  number(out, "bound_part", r->bound.part);
  text(out, "next", r->bound.next);
  strb_putc(out, '}');
}

static void trace_json(const char *trace, strb *out) {
  bool any = false;
  strb_puts(out, "], \"fusion_trace\": [");
  while (trace && *trace) {
    size_t n = strcspn(trace, "\n");
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), trace);
    trace += n + (trace[n] == '\n');
    if (!n) continue;
    strb_puts(out, any ? ",\n  " : "\n  ");
    strb_json(out, line);
    any = true;
  }
}

tsr_status report_json(const prof_log *l, const char *fusion_trace, strb *out) {
  prof_row *rows;
  size_t n;
  TSR_TRY(prof_aggregate(l, NULL, &rows, &n));
  strb_printf(out, "{\"schema\": 1, \"events\": %zu, \"dropped\": %zu, \"rows\": [", prof_count(l), prof_dropped(l));
  for (size_t i = 0; i < n; i++) {
    strb_puts(out, i ? ",\n  " : "\n  ");
    row_json(&rows[i], out);
  }
  ops_json(rows, n, out);
  al_free_array(NULL, rows, n);
  strb_puts(out, "], \"overlap\": [");
  TSR_TRY(overlap_json(l, out));
  trace_json(fusion_trace, out);
  strb_puts(out, "]}\n");
  return strb_ok(out) ? NULL : st_oom();
}
