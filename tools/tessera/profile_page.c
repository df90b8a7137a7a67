/* tools/tessera/profile_page.c - see profile_page.h. */
#include "tools/tessera/profile_page.h"

#include <string.h>

#include "core/base/json.h"
#include "core/profile/page_data.h"

enum { WIDTH = 1160, LABEL = 260, ROW = 18, MOST_BARS = 600, MOST_OPS = 64, N_COLORS = 8 };

static const char style[] =
    "<style>\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:#1d2430;max-width:1200px;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}p{color:#667085;margin:.2rem 0}\n"
    "div{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.3rem .6rem;border-bottom:1px solid #d8dde6;text-align:right;white-space:nowrap}\n"
    "th.t,td.t{text-align:left}td.w{text-align:left;white-space:normal;color:#667085}th{color:#667085}\n"
    "svg{display:block;background:#f7f8fa;border-radius:8px}svg text{font:11px system-ui,sans-serif;fill:#1d2430}\n"
    "</style>\n";
static const char *const colors[N_COLORS] = {"#4878b0", "#b05048", "#50a060", "#d8a048",
                                             "#8060a8", "#40a0a8", "#a87840", "#707888"};

/* What the kernels of an op took together, in all steps. */
typedef struct op_sum {
  const char *op;
  double ns, bytes; /* bytes: as modelled; of kernels that can't tell 0 */
  bool unknown;     /* there was such a kernel */
} op_sum;

typedef struct profile_page {
  const json *rows, *events, *overlap;
  op_sum ops[MOST_OPS]; /* the last one: all others */
  int n_ops;
  double step; /* the last */
  strb *out;
} profile_page;

static const json *children(const json *array) { return array ? array->first : NULL; }

static int op_index(profile_page *p, const char *op) {
  for (int i = 0; i < p->n_ops; i++)
    if (!strcmp(p->ops[i].op, op)) return i;
  if (p->n_ops == MOST_OPS) return MOST_OPS - 1;
  p->ops[p->n_ops].op = p->n_ops == MOST_OPS - 1 ? "others" : op;
  return p->n_ops++;
}

static void sum_up(profile_page *p) {
  for (const json *r = children(p->rows); r; r = r->next) {
    op_sum *s = &p->ops[op_index(p, json_str(r, "op", ""))];
    const double bytes = json_num(r, "bytes_modelled", -1);
    s->ns += json_num(r, "total_ns", 0);
    if (bytes >= 0) s->bytes += bytes * json_num(r, "count", 0);
    else s->unknown = true;
  }
  for (const json *e = children(p->events); e; e = e->next) {
    const double step = json_num(json_get(e, "args"), "step", -1);
    if (step > p->step) p->step = step;
  }
}

static const char *color_of(profile_page *p, const char *kernel) {
  for (const json *r = children(p->rows); r; r = r->next)
    if (!strcmp(json_str(r, "kernel", ""), kernel)) return colors[op_index(p, json_str(r, "op", "")) % N_COLORS];
  return colors[N_COLORS - 1];
}

static bool in_last_step(const profile_page *p, const json *e) {
  return json_get(e, "dur") && json_num(json_get(e, "args"), "step", -1) >= p->step;
}

static void bar(strb *out, int row, double from, double width, const char *color, const char *label, const char *what) {
  strb_printf(out, "<text x=\"4\" y=\"%d\">", row * ROW + 13);
  page_text(out, label);
  strb_printf(out, "</text><rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>", LABEL + from,
              row * ROW + 2, width < 0.5 ? 0.5 : width, ROW - 4, color);
  page_text(out, label);
  strb_printf(out, ": %s</title></rect>", what);
  strb_printf(out, "<text x=\"%.2f\" y=\"%d\">%s</text>\n", LABEL + from + width + 4, row * ROW + 13, what);
}

static void open_chart(strb *out, int rows) {
  strb_printf(out, "<div><svg width=\"%d\" height=\"%d\">\n", WIDTH, rows * ROW + 4);
}

/* How much of the copies went on beside kernels, in words. */
static void overlap(profile_page *p) {
  for (const json *o = children(p->overlap); o; o = o->next) {
    const double part = json_num(o, "overlap", -1);
    strb_puts(p->out, "<p>Copies on ");
    page_text(p->out, json_str(o, "device", ""));
    strb_printf(p->out, ": %.6g us, kernels beside them %.6g us, both at once %.6g us", json_num(o, "copy_ns", 0) / 1e3,
                json_num(o, "kernel_ns", 0) / 1e3, json_num(o, "both_ns", 0) / 1e3);
    if (part >= 0) strb_printf(p->out, ", %.0f%% of the shorter of the two", 100 * part);
    strb_puts(p->out, *json_str(o, "waits", "") ? ": " : "");
    page_text(p->out, json_str(o, "waits", ""));
    strb_puts(p->out, ".</p>\n");
  }
}

/* One launch a line, at its time. */
static void timeline(profile_page *p) {
  double first = -1, end = 0;
  int n = 0, row = 0;
  for (const json *e = children(p->events); e; e = e->next) {
    if (!in_last_step(p, e)) continue;
    const double from = json_num(e, "ts", 0), to = from + json_num(e, "dur", 0);
    if (first < 0 || from < first) first = from;
    if (to > end) end = to;
    n++;
  }
  if (!n) return;
  const double scale = (WIDTH - LABEL - 80) / (end > first ? end - first : 1);
  strb_printf(p->out, "<h2>Launches over time</h2><p>The last of the steps: %d launches, %.6g us on the device", n,
              end - first);
  if (n > MOST_BARS) strb_printf(p->out, "; the first %d of them", MOST_BARS);
  strb_puts(p->out, ". Gaps between launches are not shown.</p>\n");
  open_chart(p->out, n < MOST_BARS ? n : MOST_BARS);
  for (const json *e = children(p->events); e && row < MOST_BARS; e = e->next) {
    char what[64];
    if (!in_last_step(p, e)) continue;
    const double us = json_num(e, "dur", 0);
    snprintf(what, sizeof what, "%.4g us", us);
    bar(p->out, row++, (json_num(e, "ts", 0) - first) * scale, us * scale,
        color_of(p, json_str(json_get(e, "args"), "kernel", "")), json_str(e, "name", ""), what);
  }
  strb_puts(p->out, "</svg></div>\n");
  overlap(p);
}

/* Time, or bytes, of each op as a share of the most. */
static void by_op(profile_page *p, bool bytes) {
  double most = 0, all = 0;
  for (int i = 0; i < p->n_ops; i++) {
    const double v = bytes ? p->ops[i].bytes : p->ops[i].ns;
    most = v > most ? v : most;
    all += v;
  }
  strb_printf(p->out, "<h2>%s by op</h2><p>Of all steps%s.</p>\n", bytes ? "Bytes" : "Time",
              bytes ? ", as the algebra needs them: each operand of a kernel once" : "");
  open_chart(p->out, p->n_ops);
  for (int i = 0; i < p->n_ops; i++) {
    const op_sum *s = &p->ops[i];
    const double v = bytes ? s->bytes : s->ns;
    char what[64];
    snprintf(what, sizeof what, bytes ? "%.4g MB, %.1f%%%s" : "%.4g us, %.1f%%%s", v / (bytes ? 1e6 : 1e3),
             all > 0 ? 100 * v / all : 0, bytes && s->unknown ? " (not of all kernels)" : "");
    bar(p->out, i, 0, most > 0 ? (WIDTH - LABEL - 220) * v / most : 0, colors[i % N_COLORS], s->op, what);
  }
  strb_puts(p->out, "</svg></div>\n");
}

static void number_cell(strb *out, const json *row, const char *key, double scale) {
  const double v = json_num(row, key, -1);
  if (v >= 0) strb_printf(out, "<td>%.4g</td>", v * scale);
  else strb_puts(out, "<td>n/a</td>");
}

static void text_cell(strb *out, const json *row, const char *key, const char *class) {
  strb_printf(out, "<td class=%s>", class);
  page_text(out, json_str(row, key, ""));
  strb_puts(out, "</td>");
}

static void table(profile_page *p) {
  strb_puts(p->out, "<h2>Kernels</h2>\n<div><table><thead><tr><th class=t>kernel</th><th class=t>name</th><th>runs</th>"
                    "<th>median &micro;s</th><th>% of time</th><th>Gflop/s</th><th>GB/s</th><th>occupancy %</th>"
                    "<th class=t>bound</th><th class=t>next</th></tr></thead><tbody>\n");
  for (const json *r = children(p->rows); r; r = r->next) {
    strb_puts(p->out, "<tr>");
    text_cell(p->out, r, "label", "t"), text_cell(p->out, r, "kernel", "t");
    number_cell(p->out, r, "count", 1), number_cell(p->out, r, "median_ns", 1e-3);
    number_cell(p->out, r, "share", 100), number_cell(p->out, r, "gflops", 1);
    number_cell(p->out, r, "gbytes_per_s", 1), number_cell(p->out, r, "occupancy", 100);
    text_cell(p->out, r, "bound", "t"), text_cell(p->out, r, "next", "w");
    strb_puts(p->out, "</tr>\n");
  }
  strb_puts(p->out, "</tbody></table></div>\n");
}

static void page(profile_page *p, const char *what) {
  const char *device = json_str(children(p->rows), "device", "");
  strb_puts(p->out, "<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>");
  page_text(p->out, what);
  strb_puts(p->out, "</title>\n");
  strb_puts(p->out, style);
  strb_puts(p->out, "</head><body>\n<h1>");
  page_text(p->out, what);
  strb_puts(p->out, "</h1>\n<p>");
  page_text(p->out, device);
  strb_puts(p->out, "</p>\n");
  timeline(p);
  by_op(p, false);
  by_op(p, true);
  table(p);
  strb_puts(p->out, "</body></html>\n");
}

int profile_page_write(const char *path, const char *what, const char *profile, const char *trace) {
  arena a;
  strb out;
  json *rows = NULL, *events = NULL;
  arena_init(&a, NULL);
  strb_init(&out, NULL);
  tsr_status st = json_parse(&a, profile, strlen(profile), "profile", &rows);
  if (!st) st = json_parse(&a, trace, strlen(trace), "trace", &events);
  int rc = EXIT_OK;
  if (!st) {
    profile_page p = {.rows = json_get(rows, "rows"),
                      .events = json_get(events, "traceEvents"),
                      .overlap = json_get(rows, "overlap"),
                      .out = &out};
    sum_up(&p);
    page(&p, what);
    if (!strb_ok(&out)) st = st_oom();
    else rc = cli_write_text("profile", path, strb_text(&out));
  }
  strb_clear(&out);
  arena_clear(&a);
  return st ? cli_fail(st) : rc;
}
