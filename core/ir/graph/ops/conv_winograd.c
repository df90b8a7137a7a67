/* core/ir/graph/ops/conv_winograd.c - convolutions by Winograd's transforms: which ones, by tiles of how many results,
 * and what they cost beside direct ones. The arithmetic is the CPU's (backends/cpu/winograd.c). */
#include "core/ir/graph/ops/conv_winograd.h"

#include "core/base/int_math.h"

enum { MOST_TILE = 4 };

const char *conv_winograd_refusal(const patches *p, tsr_dtype t) {
  const image_window *w = &p->w;
  if (t != TSR_F32) return "Winograd's transforms are for f32";
  if (p->last) return "Winograd's transforms are for channels that are axis 1";
  if (p->groups != 1) return "Winograd's transforms are for one group of channels";
  if (w->n != 2) return "Winograd's transforms are for two spatial axes";
  if (!patches_are_3x3(w)) return "Winograd's transforms are for windows of 3x3 neighbours at all places";
  if (p->channels > 1 << 20 || w->a[1].out > 1 << 20 ||
      (p->channels > 0 && w->a[1].out > 0 && PATCHES_WINOGRAD_PLACES(p->channels, w->a[1].out) < MOST_TILE))
    return "Winograd's transforms are for images whose lines of windows have less than 2^20 elements";
  return w->a[1].out == 1 ? "Winograd's transforms are for lines of several places" : NULL;
}

/* Cycles of a core with vectors of eight, as measured (docs/performance-log.md). Of a multiply-add of products, direct
 * and by points; of transforms, for each point of a tile and channel; of each point and weight that is read from
 * memory, and that is made. */
static const double direct_madd = 0.112, point_madd = 0.088, image_point = 0.9, result_point = 0.6, read_weight = 0.35,
                    make_weight = 1.5;

double conv_direct_cycles(const patches *p, int64_t n, int64_t out) {
  double madds = (double)n * (double)out * (double)p->channels;
  for (int i = 0; i < p->w.n; i++) madds *= (double)p->w.a[i].out * (double)p->w.a[i].kernel;
  return madds * direct_madd;
}

/* By tiles of m x m. */
static double cycles(const patches *p, int64_t n, int64_t out, int64_t m, bool constant) {
  enum { LANES = 8 };
  const double points = (double)((m + 2) * (m + 2)), in = (double)p->channels, to = (double)out;
  const int64_t each = ceil_div(p->w.a[0].out, m) * ceil_div(p->w.a[1].out, m);
  const double tiles = (double)n * (double)each, filled = (double)n * (double)round_up(each, LANES);
  return points * (filled * in * to * point_madd + tiles * (in * image_point + to * result_point) +
                   in * to * (read_weight + (constant ? 0 : make_weight)));
}

double conv_winograd_cycles(const patches *p, int64_t n, int64_t out, bool constant, int *m) {
  const double two = cycles(p, n, out, 2, constant), four = cycles(p, n, out, 4, constant);
  *m = four <= two ? 4 : 2;
  return four <= two ? four : two;
}
