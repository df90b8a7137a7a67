/* examples/ocr/boxes.c - from a map of likelihoods to boxes of text, as differentiable binarization has it (Liao et al.
 * 2020, arXiv 1911.08947, section 3.4): connected pixels above a threshold, the rectangle of least area around them,
 * grown by what the detector was trained to leave out. Thresholds are those of the models' own pipeline. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ocr.h"

#define PIXEL_IS_TEXT 0.3
#define BOX_IS_TEXT   0.5
#define GROW          1.6 /* times area / perimeter */
#define LEAST_SIDE    3.0

typedef struct point { int x, y; } point;

/* Text or a neighbour of it to the left or above: strokes that are a pixel apart become one. */
static unsigned char *text_mask(const float *map, int height, int width) {
  unsigned char *mask = get_memory(NULL, (size_t)height * (size_t)width, 1);
  memset(mask, 0, (size_t)height * (size_t)width);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      if ((double)map[(size_t)y * (size_t)width + (size_t)x] > PIXEL_IS_TEXT)
        for (int i = 0; i < 4; i++) {
          const int to_x = x + (i & 1), to_y = y + (i >> 1);
          if (to_x < width && to_y < height) mask[(size_t)to_y * (size_t)width + (size_t)to_x] = 1;
        }
  return mask;
}

/* The pixels that touch `first`, also by a corner: they are erased from the mask. found has room for all. */
static int take_component(unsigned char *mask, int height, int width, point first, point *found) {
  int n = 1;
  found[0] = first;
  mask[(size_t)first.y * (size_t)width + (size_t)first.x] = 0;
  for (int i = 0; i < n; i++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        const point p = {found[i].x + dx, found[i].y + dy};
        if (p.x < 0 || p.y < 0 || p.x >= width || p.y >= height) continue;
        unsigned char *at = &mask[(size_t)p.y * (size_t)width + (size_t)p.x];
        if (*at) found[n++] = p, *at = 0;
      }
  return n;
}

static int by_row(const void *a, const void *b) {
  const point *p = a, *q = b;
  return p->y != q->y ? (p->y > q->y) - (p->y < q->y) : (p->x > q->x) - (p->x < q->x);
}

/* > 0: a, b, c turn left. */
static int64_t turn(point a, point b, point c) {
  return (int64_t)(b.x - a.x) * (c.y - a.y) - (int64_t)(b.y - a.y) * (c.x - a.x);
}

/* The convex hull of n points (Andrew's monotone chain), which are sorted; hull has room for 2 n. */
static int convex_hull(point *p, int n, point *hull) {
  int m = 0;
  qsort(p, (size_t)n, sizeof *p, by_row);
  for (int half = 0; half < 2; half++) {
    const int begin = m; /* the second half begins with the first one's end */
    for (int i = 0; i < n; i++) {
      const point next = p[half ? n - 1 - i : i];
      while (m >= begin + 2 && turn(hull[m - 2], hull[m - 1], next) <= 0) m--;
      hull[m++] = next;
    }
    m--;
  }
  return m ? m : 1; /* one point alone: it is there */
}

/* The rectangle along (ux, uy) around the hull. Centres of pixels are at halves. */
static box around(const point *hull, int n, double ux, double uy) {
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (int i = 0; i < n; i++) {
    const double at[2] = {(hull[i].x + 0.5) * ux + (hull[i].y + 0.5) * uy,
                          (hull[i].y + 0.5) * ux - (hull[i].x + 0.5) * uy};
    for (int k = 0; k < 2; k++) low[k] = fmin(low[k], at[k]), high[k] = fmax(high[k], at[k]);
  }
  const double along = (low[0] + high[0]) / 2, across = (low[1] + high[1]) / 2;
  return (box){along * ux - across * uy, along * uy + across * ux, ux, uy, high[0] - low[0], high[1] - low[1]};
}

/* One side of the rectangle of least area is on an edge of the hull. */
static box least_rectangle(const point *hull, int n) {
  box best = around(hull, n, 1, 0);
  for (int i = 0; i < n; i++) {
    const point a = hull[i], b = hull[(i + 1) % n];
    const double x = b.x - a.x, y = b.y - a.y, length = hypot(x, y);
    if (length == 0) continue;
    const box r = around(hull, n, x / length, y / length);
    if (r.width * r.height < best.width * best.height - 1e-9) best = r;
  }
  return best;
}

/* The same rectangle with its text from left to right, or downwards where it is a column. */
static box upright(box b) {
  if (fabs(b.ux) < fabs(b.uy)) b = (box){b.cx, b.cy, -b.uy, b.ux, b.height, b.width};
  if (b.ux < 0) b.ux = -b.ux, b.uy = -b.uy;
  if (b.height >= 1.5 * b.width) b = (box){b.cx, b.cy, -b.uy, b.ux, b.height, b.width};
  return b;
}

/* The mean of the map inside of the box. */
static double score(const float *map, int height, int width, const box *b) {
  const double reach_x = (fabs(b->ux) * b->width + fabs(b->uy) * b->height) / 2;
  const double reach_y = (fabs(b->uy) * b->width + fabs(b->ux) * b->height) / 2;
  const int from_x = (int)fmax(floor(b->cx - reach_x), 0), to_x = (int)fmin(ceil(b->cx + reach_x), width);
  const int from_y = (int)fmax(floor(b->cy - reach_y), 0), to_y = (int)fmin(ceil(b->cy + reach_y), height);
  double sum = 0;
  int n = 0;
  for (int y = from_y; y < to_y; y++)
    for (int x = from_x; x < to_x; x++) {
      const double dx = x + 0.5 - b->cx, dy = y + 0.5 - b->cy;
      if (fabs(dx * b->ux + dy * b->uy) > b->width / 2 || fabs(dy * b->ux - dx * b->uy) > b->height / 2) continue;
      sum += (double)map[(size_t)y * (size_t)width + (size_t)x];
      n++;
    }
  return n ? sum / n : 0;
}

int boxes_find(const float *map, int height, int width, box **out) {
  unsigned char *mask = text_mask(map, height, width);
  point *found = get_memory(NULL, (size_t)height * (size_t)width, sizeof *found), *hull = NULL;
  int n = 0, room = 0;
  *out = NULL;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      if (!mask[(size_t)y * (size_t)width + (size_t)x]) continue;
      const int pixels = take_component(mask, height, width, (point){x, y}, found);
      hull = get_memory(hull, 2 * (size_t)pixels, sizeof *hull);
      box b = least_rectangle(hull, convex_hull(found, pixels, hull));
      if (fmin(b.width, b.height) < LEAST_SIDE || score(map, height, width, &b) < BOX_IS_TEXT) continue;
      const double grow = GROW * b.width * b.height / (b.width + b.height); /* both sides together */
      b.width += grow;
      b.height += grow;
      if (fmin(b.width, b.height) < LEAST_SIDE + 2) continue;
      if (n == room) *out = get_memory(*out, (size_t)(room = 2 * room + 16), sizeof **out);
      (*out)[n++] = upright(b);
    }
  free(hull);
  free(found);
  free(mask);
  return n;
}

/* ---- reading order ----------------------------------------------------------------------------------------------- */

/* A box as seen along the page's own direction. */
typedef struct place {
  double along, across, rise; /* its centre, and what it takes across */
  box b;
} place;

static int by_across(const void *a, const void *b) {
  const double x = ((const place *)a)->across, y = ((const place *)b)->across;
  return (x > y) - (x < y);
}

static int by_along(const void *a, const void *b) {
  const double x = ((const place *)a)->along, y = ((const place *)b)->along;
  return (x > y) - (x < y);
}

void boxes_sort(box *b, int n) {
  double ux = 0, uy = 0; /* the direction of most text */
  for (int i = 0; i < n; i++) ux += b[i].ux * b[i].width, uy += b[i].uy * b[i].width;
  const double length = hypot(ux, uy);
  ux = length > 0 ? ux / length : 1;
  uy = length > 0 ? uy / length : 0;
  place *p = get_memory(NULL, (size_t)n, sizeof *p);
  for (int i = 0; i < n; i++) {
    const double cosine = fabs(b[i].ux * ux + b[i].uy * uy), sine = fabs(b[i].ux * uy - b[i].uy * ux);
    p[i] = (place){b[i].cx * ux + b[i].cy * uy, b[i].cy * ux - b[i].cx * uy,
                   sine * b[i].width + cosine * b[i].height, b[i]};
  }
  qsort(p, (size_t)n, sizeof *p, by_across);
  for (int first = 0, i = 1; i <= n; i++)
    /* Of one line is what is within half a height of its first box. */
    if (i == n || p[i].across - p[first].across > 0.5 * fmin(p[i].rise, p[first].rise)) {
      qsort(p + first, (size_t)(i - first), sizeof *p, by_along);
      first = i;
    }
  for (int i = 0; i < n; i++) b[i] = p[i].b;
  free(p);
}
