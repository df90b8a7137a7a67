/* core/profile/page_chart.c - see page_chart.h. */
#include "core/profile/page_chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"

enum { WIDTH = 1000, HEIGHT = 420, LEFT = 60, RIGHT = 24, TOP = 24, BOTTOM = 44 };

/* A logarithmic or linear axis onto pixels. */
typedef struct axis {
  double lo, hi, from, to;
  bool log;
} axis;

static double at(const axis *a, double v) {
  double t = a->log ? (log10(v) - log10(a->lo)) / (log10(a->hi) - log10(a->lo)) : (v - a->lo) / (a->hi - a->lo);
  return a->from + (t < 0 ? 0 : t > 1 ? 1 : t) * (a->to - a->from);
}

static void svg_open(strb *out, const char *label) {
  strb_printf(out, "<svg viewBox=\"0 0 %d %d\" role=img aria-label=\"", WIDTH, HEIGHT);
  page_text(out, label);
  strb_puts(out, "\">\n");
}

static void line(strb *out, const char *class, double x1, double y1, double x2, double y2) {
  strb_printf(out, "<line class=%s x1=%.1f y1=%.1f x2=%.1f y2=%.1f />\n", class, x1, y1, x2, y2);
}

static void note(strb *out, double x, double y, const char *anchor, const char *text) {
  strb_printf(out, "<text x=%.1f y=%.1f text-anchor=%s>", x, y, anchor);
  page_text(out, text);
  strb_puts(out, "</text>\n");
}

/* Grid lines at the powers of ten. */
static void decades(strb *out, const axis *x, const axis *y) {
  char s[32];
  for (double v = x->lo; v <= x->hi * 1.001; v *= 10) {
    line(out, "axis", at(x, v), y->to, at(x, v), y->from);
    number_print(s, sizeof s, "%g", v);
    note(out, at(x, v), y->from + 16, "middle", s);
  }
  for (double v = y->lo; v <= y->hi * 1.001; v *= 10) {
    line(out, "axis", x->from, at(y, v), x->to, at(y, v));
    number_print(s, sizeof s, "%g", v);
    note(out, x->from - 6, at(y, v) + 4, "end", s);
  }
}

/* The slope up to the ridge, then flat. */
static void roof(strb *out, const char *class, const axis *x, const axis *y, double peak, double gbps,
                 const char *name) {
  char s[64];
  double ridge = peak / gbps, left = x->lo * gbps > y->lo ? x->lo : y->lo / gbps;
  if (!(peak > 0)) return;
  strb_printf(out, "<polyline class=%s points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>\n", class, at(x, left),
              at(y, left * gbps), at(x, ridge), at(y, peak), at(x, x->hi), at(y, peak));
  number_print(s, sizeof s, "%s %.4g Gflop/s", name, peak);
  note(out, x->to - 4, at(y, peak) - 6, "end", s);
}

static void dot(strb *out, const axis *x, const axis *y, const page_row *r) {
  double intensity = r->flops / r->bytes, gflops = r->flops / (r->median_us * 1e3);
  strb_printf(out, "<circle class=%s cx=%.1f cy=%.1f r=4.5><title>", r->checked && !r->ok ? "dotbad" : "dot",
              at(x, intensity), at(y, gflops));
  page_text(out, r->op), strb_putc(out, ' '), page_text(out, r->shape), strb_putc(out, ' '), page_text(out, r->dtype);
  strb_printf(out, ": %.4g Gflop/s at %.3g flop/byte, %.4g us</title></circle>\n", gflops, intensity, r->median_us);
}

static bool on_chart(const page_device *d, const page_row *r) {
  return !strcmp(r->device, d->id) && r->flops > 0 && r->bytes > 0 && r->median_us > 0;
}

void page_roofline(strb *out, const page_device *d, const page_row *rows, size_t n) {
  double peak = d->matrix_gflops > d->fma_gflops ? d->matrix_gflops : d->fma_gflops, x_lo = 0.1, x_hi = 1000, y_lo = 0,
         y_hi = peak;
  char s[64];
  strb_puts(out, "<h2>");
  page_text(out, d->id), strb_puts(out, ": "), page_text(out, d->name);
  strb_puts(out, "</h2><p class=note>");
  page_text(out, d->driver);
  if (!(peak > 0) || !(d->gbytes_per_s > 0)) {
    strb_puts(out, " &middot; no roofline: the device's peaks are not known</p>\n");
    return;
  }
  strb_printf(out, " &middot; measured copy %.4g GB/s</p>\n", d->gbytes_per_s);
  for (size_t i = 0; i < n; i++) {
    if (!on_chart(d, &rows[i])) continue;
    double intensity = rows[i].flops / rows[i].bytes, g = rows[i].flops / (rows[i].median_us * 1e3);
    while (intensity < x_lo) x_lo /= 10;
    while (intensity > x_hi) x_hi *= 10;
    if (y_lo == 0 || g < y_lo) y_lo = g;
    if (g > y_hi) y_hi = g;
  }
  while (peak / d->gbytes_per_s > x_hi) x_hi *= 10;
  double floor_y = pow(10, floor(log10(y_lo > 0 && y_lo < peak ? y_lo : peak / 1000))),
         ceil_y = pow(10, ceil(log10(y_hi * 1.05)));
  axis x = {x_lo, x_hi, LEFT, WIDTH - RIGHT, true}, y = {floor_y, ceil_y, HEIGHT - BOTTOM, TOP, true};
  snprintf(s, sizeof s, "Roofline of %.40s", d->id);
  svg_open(out, s);
  decades(out, &x, &y);
  if (d->matrix_gflops > 0) {
    roof(out, "roof", &x, &y, d->matrix_gflops, d->gbytes_per_s, "matrix");
    roof(out, "roof2", &x, &y, d->fma_gflops, d->gbytes_per_s, "multiply-add");
  } else {
    roof(out, "roof", &x, &y, d->fma_gflops, d->gbytes_per_s, "multiply-add");
  }
  for (size_t i = 0; i < n; i++)
    if (on_chart(d, &rows[i])) dot(out, &x, &y, &rows[i]);
  note(out, (x.from + x.to) / 2, HEIGHT - 8, "middle", "flops per byte of memory traffic");
  note(out, 8, TOP - 8, "start", "Gflop/s");
  strb_puts(out, "</svg>\n");
}

/* The largest of 1, 2, 5 times a power of ten up to v. */
static double round_step(double v) {
  double ten = pow(10, floor(log10(v)));
  return v >= 5 * ten ? 5 * ten : v >= 2 * ten ? 2 * ten : ten;
}

static int decimals(double us) { return us < 10 ? 2 : us < 1000 ? 1 : 0; }

void page_tuning_curve(strb *out, const page_curve *c) {
  double most = c->default_us, least = c->roofline_us;
  char s[96];
  for (size_t i = 0; i < c->n; i++) {
    if (c->best_us[i] > most) most = c->best_us[i];
    if (c->best_us[i] > 0 && (least == 0 || c->best_us[i] < least)) least = c->best_us[i];
  }
  if (!c->n || !(most > 0)) return;
  axis x = {1, c->n > 1 ? (double)c->n : 2, LEFT, WIDTH - RIGHT, false},
       y = {0, most * 1.08, HEIGHT - BOTTOM, TOP, false};
  strb_puts(out, "<figure><figcaption>");
  page_text(out, c->label);
  if (c->chosen_us > 0 && c->chosen_us < c->default_us)
    strb_printf(out, ": %.*f &rarr; %.*f &micro;s", decimals(c->default_us), c->default_us, decimals(c->chosen_us),
                c->chosen_us);
  else if (c->default_us > 0)
    strb_printf(out, ": untuned stays, %.*f &micro;s", decimals(c->default_us), c->default_us);
  strb_puts(out, "</figcaption>\n");
  svg_open(out, c->label);
  double tick = round_step(y.hi / 4);
  for (double v = 0; v <= y.hi; v += tick) {
    line(out, "axis", x.from, at(&y, v), x.to, at(&y, v));
    number_print(s, sizeof s, "%.6g", v);
    note(out, x.from - 6, at(&y, v) + 4, "end", s);
  }
  size_t step = c->n > 20 ? c->n / 10 : c->n > 10 ? 2 : 1;
  for (size_t i = 1; i <= c->n; i += step) {
    snprintf(s, sizeof s, "%zu", i);
    note(out, at(&x, (double)i), HEIGHT - BOTTOM + 16, "middle", s);
  }
  if (c->default_us > 0) {
    line(out, "ref", x.from, at(&y, c->default_us), x.to, at(&y, c->default_us));
    note(out, x.to - 4, at(&y, c->default_us) - 5, "end", "untuned");
  }
  if (c->roofline_us > 0) {
    line(out, "ref", x.from, at(&y, c->roofline_us), x.to, at(&y, c->roofline_us));
    note(out, x.from + 4, at(&y, c->roofline_us) + 13, "start",
         "roofline"); /* the curve is far from its left end, and from the right end of 'untuned' */
  }
  strb_puts(out, "<polyline class=curve points=\"");
  double before = 0;
  for (size_t i = 0; i < c->n; i++) {
    if (!(c->best_us[i] > 0)) continue;
    if (before > 0) strb_printf(out, "%.1f,%.1f ", at(&x, (double)i + 1), at(&y, before)); /* a step */
    strb_printf(out, "%.1f,%.1f ", at(&x, (double)i + 1), at(&y, c->best_us[i]));
    before = c->best_us[i];
  }
  strb_puts(out, "\"/>\n");
  note(out, (x.from + x.to) / 2, HEIGHT - 8, "middle", "samples");
  note(out, 8, TOP - 8, "start", "microseconds");
  strb_puts(out, "</svg></figure>\n");
}
