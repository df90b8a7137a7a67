/* examples/charlm/report.c - what a run tells: a progress bar on a terminal (elsewhere ten lines), the rows as CSV, a
 * page with the curve that needs nothing else. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "charlm.h"

void progress(int step, int steps, const outcome *o, double seconds, int64_t bytes) {
  enum { BAR = 30 };
  const bool terminal = isatty(2), last = step == steps;
  const int tenth = steps >= 10 ? steps / 10 : 1, done = (int)((int64_t)BAR * step / steps);
  if (!terminal && step % tenth && !last) return;
  if (terminal) {
    fputs("\r[", stderr);
    for (int i = 0; i < BAR; i++) fputc(i < done ? '#' : '.', stderr);
    fputs("] ", stderr);
  }
  fprintf(stderr, "step %d of %d, loss %.4f, norm %.3f, %.0f bytes a second%s", step, steps, (double)o->loss,
          (double)o->norm, seconds > 0 ? (double)bytes / seconds : 0, terminal && !last ? "  " : "\n");
}

/* %.9g keeps every bit of a float. */
void write_csv(const char *path, const history *h) {
  FILE *f = fopen(path, "w");
  if (!f) fail("can't write %s", path);
  fputs("step,loss,gradient_norm,rate,loss_scale\n", f);
  for (int i = 0; i < h->n; i++)
    fprintf(f, "%d,%.9g,%.9g,%.9g,%.9g\n", i + 1, (double)h->rows[i].loss, (double)h->rows[i].norm,
            (double)h->rows[i].rate, (double)h->rows[i].scale);
  if (fclose(f)) fail("can't write %s", path);
}

enum { WIDE = 860, HIGH = 420, LEFT = 60, TOP = 20 }; /* the plot, inside the page's picture */

static double mean_of(const history *h, int from, int to) {
  double sum = 0;
  for (int i = from; i < to; i++) sum += (double)h->rows[i].loss;
  return to > from ? sum / (to - from) : 0;
}

static double at_x(const history *h, double step) { return LEFT + WIDE * step / (h->n > 1 ? h->n : 1); }
static double at_y(double loss, double most) { return TOP + HIGH * (1 - fmin(fmax(loss, 0), most) / most); }

/* span 1: each step; else means of as many. */
static void put_curve(FILE *f, const history *h, int span, double most, const char *style) {
  fprintf(f, "<polyline fill=\"none\" %s points=\"", style);
  for (int i = 0; i < h->n; i += span) {
    const int to = i + span < h->n ? i + span : h->n;
    fprintf(f, "%.1f,%.1f ", at_x(h, (i + to + 1) / 2.0), at_y(mean_of(h, i, to), most));
  }
  fputs("\"/>\n", f);
}

static void put_plot(FILE *f, const history *h) {
  double most = 1;
  for (int i = 0; i < h->n; i++)
    if ((double)h->rows[i].loss > most && isfinite(h->rows[i].loss)) most = (double)h->rows[i].loss;
  most = ceil(most);
  fprintf(f, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n",
          LEFT + WIDE + 20, TOP + HIGH + 50, LEFT + WIDE + 20);
  for (int i = 0; i <= (int)most; i++)
    fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>"
               "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n",
            LEFT, LEFT + WIDE, at_y(i, most), at_y(i, most), LEFT - 8, at_y(i, most) + 4, i);
  for (int i = 0; i <= 5; i++)
    fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>\n", at_x(h, h->n * i / 5.0),
            TOP + HIGH + 20, h->n * i / 5);
  fprintf(f, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step</text>\n", LEFT + WIDE / 2, TOP + HIGH + 40);
  fprintf(f,
          "<text x=\"14\" y=\"%d\" transform=\"rotate(-90 14 %d)\" text-anchor=\"middle\">loss, nats a byte"
          "</text>\n",
          TOP + HIGH / 2, TOP + HIGH / 2);
  const int span = h->n > 1000 ? h->n / 1000 : 1, mean = h->n > 50 ? h->n / 50 : 1;
  put_curve(f, h, span, most, "stroke=\"#9bc\" stroke-width=\"1\"");
  if (mean > 1) put_curve(f, h, mean, most, "stroke=\"#036\" stroke-width=\"2\"");
  fputs("</svg>\n", f);
}

void write_html(const char *path, const config *c, const history *h, const char *device, int64_t n_parameters) {
  FILE *f = fopen(path, "w");
  if (!f) fail("can't write %s", path);
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>charlm</title>"
        "<style>body{font-family:sans-serif;max-width:60em;margin:2em auto}td{padding-right:2em}</style></head><body>\n"
        "<h1>charlm: loss by step</h1>\n", f);
  put_plot(f, h);
  fprintf(f, "<table>\n<tr><td>device</td><td>%s</td></tr>\n<tr><td>mode</td><td>%s</td></tr>\n"
             "<tr><td>parameters</td><td>%lld</td></tr>\n"
             "<tr><td>layers, width, heads</td><td>%d, %d, %d</td></tr>\n"
             "<tr><td>batch</td><td>%d of %d bytes</td></tr>\n<tr><td>rate, dropout</td><td>%g, %g</td></tr>\n",
          device, mode_names[c->mode], (long long)n_parameters, c->layers, c->width, c->heads, c->batch, c->length,
          (double)c->rate, (double)c->dropout);
  const int tail = h->n > 50 ? h->n / 50 : 1;
  fprintf(f, "<tr><td>loss, first and last</td><td>%.4f, %.4f (mean of %d)</td></tr>\n</table>\n</body></html>\n",
          h->n ? (double)h->rows[0].loss : 0, mean_of(h, h->n - tail < 0 ? 0 : h->n - tail, h->n), tail);
  if (fclose(f)) fail("can't write %s", path);
}
