/* core/profile/page.c - see page.h. Charts are page_chart.c. */
#include "core/profile/page.h"

#include "core/base/number.h"
#include "core/profile/page_chart.h"

#include <stdio.h>
#include <string.h>

static const char style[] =
    "<style>\n"
    ":root{--ink:#1d2430;--soft:#667085;--line:#d8dde6;--bg:#fff;--card:#f7f8fa;--a:#2457c5;--b:#b54708;--good:#067647;--bad:#b42318}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#98a2b3;--line:#344054;--bg:#12161d;--card:#1a2029;--a:#84a9ff;--b:#fdb022;--good:#47cd89;--bad:#f97066}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--bg);max-width:1200px;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.6rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}p.note{color:var(--soft);margin:.2rem 0}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}\n"
    "th:first-child,td:first-child,td.t,th.t{text-align:left}td.why{white-space:normal;color:var(--soft)}th{color:var(--soft);font-weight:600}\n"
    ".ok{color:var(--good)}.bad{color:var(--bad);font-weight:700}.win{color:var(--good)}.lose{color:var(--b)}\n"
    ".curves{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(28rem,100%),1fr));gap:1.2rem}figure{margin:0}figcaption{color:var(--soft);font-size:.9rem;margin:.2rem 0 .4rem}\n"
    "svg{display:block;width:100%;height:auto;background:var(--card);border-radius:8px}\n"
    "svg text{fill:var(--soft);font:11px system-ui,sans-serif}svg .axis{stroke:var(--line)}svg .roof{stroke:var(--ink);stroke-width:2;fill:none}\n"
    "svg .roof2{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:5 4;fill:none}svg .dot{fill:var(--a)}svg .dotbad{fill:var(--bad)}\n"
    ".curves svg text{font-size:17px}svg .curve{stroke:var(--a);stroke-width:2;fill:none}svg .ref{stroke:var(--b);stroke-dasharray:5 4}\n"
    "</style>\n";

static void cell(strb *out, const char *text) {
  strb_puts(out, "<td class=t>");
  page_text(out, text);
  strb_puts(out, "</td>");
}

static void number(strb *out, double v, const char *unit) {
  char s[32];
  if (v > 0) number_print(s, sizeof s, v < 10 ? "%.2f" : v < 1000 ? "%.1f" : "%.0f", v);
  strb_printf(out, "<td>%s%s</td>", v > 0 ? s : "n/a", v > 0 ? unit : "");
}

static void correctness(strb *out, const page_row *r) {
  if (!r->checked) strb_puts(out, "<td class=t>not checked</td>");
  else
    strb_printf(out, "<td class=\"t %s\" title=\"error %.2e, tolerance %.2e\">%s %.0e</td>", r->ok ? "ok" : "bad",
                r->error, r->tolerance, r->ok ? "right" : "WRONG", r->error);
}

/* The reason takes the place of the figures. */
static void row_without(strb *out, const page_row *r, int n_peers) {
  strb_printf(out, "<td class=\"t %s\">%s</td><td class=\"t why\" colspan=%d>", strcmp(r->none, "failed") ? "" : "bad",
              r->none, 5 + n_peers);
  page_text(out, r->why);
  strb_puts(out, "</td></tr>\n");
}

static void row(strb *out, const page_row *r, const char *const *peers, int n_peers) {
  strb_puts(out, "<tr>");
  cell(out, r->op), cell(out, r->shape), cell(out, r->dtype), cell(out, r->device);
  if (r->none) {
    row_without(out, r, n_peers);
    return;
  }
  correctness(out, r);
  cell(out, r->tile);
  number(out, r->median_us, ""), number(out, r->gflops, ""), number(out, r->gbytes_per_s, "");
  number(out, 100 * r->peak_fraction, "%");
  for (int p = 0; p < n_peers; p++) {
    double ratio = 0;
    for (int k = 0; k < r->n_peers; k++)
      if (!strcmp(r->peer[k].name, peers[p])) ratio = r->peer[k].ratio;
    if (ratio > 0) strb_printf(out, "<td class=%s>%.2f</td>", ratio >= 1 ? "win" : "lose", ratio);
    else strb_puts(out, "<td>n/a</td>");
  }
  strb_puts(out, "</tr>\n");
}

static void table(strb *out, const page_desc *d) {
  enum { MOST = 8 };
  const char *peers[MOST];
  int n = 0;
  for (size_t i = 0; i < d->n_rows; i++)
    for (int k = 0; k < d->rows[i].n_peers; k++) {
      bool known = n == MOST;
      for (int p = 0; p < n; p++) known |= !strcmp(peers[p], d->rows[i].peer[k].name);
      if (!known) peers[n++] = d->rows[i].peer[k].name;
    }
  strb_puts(out, "<h2>Kernels</h2><p class=note>Median of interleaved runs. A ratio is the peer's time over ours: "
                 "above 1 we are faster. The result column is the error against the f64 reference.</p>\n"
                 "<div class=scroll><table><thead><tr><th>op</th><th class=t>shape</th><th class=t>type</th><th "
                 "class=t>device</th><th class=t>result</th><th class=t>tile</th>"
                 "<th>&micro;s</th><th>Gflop/s</th><th>GB/s</th><th>of peak</th>");
  for (int p = 0; p < n; p++) {
    strb_puts(out, "<th>vs ");
    page_text(out, peers[p]);
    strb_puts(out, "</th>");
  }
  strb_puts(out, "</tr></thead><tbody>\n");
  for (size_t i = 0; i < d->n_rows; i++) row(out, &d->rows[i], peers, n);
  strb_puts(out, "</tbody></table></div>\n");
}

/* What the table holds, in one line; cases without figures are named where there are any. */
static void totals(const page_desc *d, strb *out) {
  size_t wrong = 0, unchecked = 0, unsupported = 0, failed = 0;
  for (size_t i = 0; i < d->n_rows; i++) {
    const page_row *r = &d->rows[i];
    if (r->none && strcmp(r->none, "failed")) unsupported++;
    else if (r->none) failed++;
    else wrong += r->checked && !r->ok, unchecked += !r->checked;
  }
  strb_printf(out, "</p><p class=%s>%zu results, %zu wrong, %zu not checked", wrong || failed ? "bad" : "ok",
              d->n_rows - unsupported - failed, wrong, unchecked);
  if (unsupported) strb_printf(out, ", %zu cases unsupported", unsupported);
  if (failed) strb_printf(out, ", %zu cases failed", failed);
  strb_puts(out, "</p>\n");
}

tsr_status page_write(const page_desc *d, strb *out) {
  strb_puts(out, "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
                 "content=\"width=device-width,initial-scale=1\"><title>");
  page_text(out, d->title);
  strb_puts(out, "</title>\n");
  strb_puts(out, style);
  strb_puts(out, "</head><body>\n<h1>");
  page_text(out, d->title);
  strb_puts(out, "</h1><p class=note>");
  page_text(out, d->when);
  strb_puts(out, " &middot; ");
  page_text(out, d->environment);
  totals(d, out);
  for (size_t i = 0; i < d->n_devices; i++) page_roofline(out, &d->devices[i], d->rows, d->n_rows);
  table(out, d);
  if (d->n_curves)
    strb_puts(out, "<h2>Tuning</h2><p class=note>Best so far against samples, as the search timed them; the caption "
                   "has the winner timed once more against the untuned schedule. Dashed: the untuned kernel, and the "
                   "roofline of the modelled bytes, below which operands came from a cache.</p>\n");
  if (d->n_curves) strb_puts(out, "<div class=curves>\n");
  for (size_t i = 0; i < d->n_curves; i++) page_tuning_curve(out, &d->curves[i]);
  if (d->n_curves) strb_puts(out, "</div>\n");
  strb_puts(out, "</body></html>\n");
  return strb_ok(out) ? NULL : st_oom();
}
