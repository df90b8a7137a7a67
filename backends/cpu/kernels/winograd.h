/* Winograd's convolutions of 3x3 windows (Winograd 1980; Lavin and Gray 2016): the transforms around the products, one
 * table per instruction set. Tiles of m x m results come from tiles of (m + 2) x (m + 2) elements of the image, which
 * overlap by two; of each of the (m + 2)^2 points of transformed tiles and weights, channels are summed by a product of
 * matrices. General rules as in kernels.h. */
#ifndef BACKENDS_CPU_KERNELS_WINOGRAD_H
#define BACKENDS_CPU_KERNELS_WINOGRAD_H
#include <stddef.h>
#include <stdint.h>

enum { WINOGRAD_WINDOW = 3, WINOGRAD_MOST_TILE = 4 };

static inline size_t winograd_points(size_t m) { return (m + WINOGRAD_WINDOW - 1) * (m + WINOGRAD_WINDOW - 1); }

/* Weights [k][3][3] of one row: u[p * apart + c] = (G w G^T)[p] of channel c. */
typedef struct cpuk_winograd_weights {
  const float *w;
  size_t k;
  float *u;
  ptrdiff_t apart;
} cpuk_winograd_weights;

/* Tiles of one channel: point p of tile t is B^T d B, written to to[p * apart + t / panel * panel_apart + t % panel].
 * Tile t's element (y, x) is image[at[t] + y * pitch + x]; `at` has entries up to a multiple of the lanes, of which
 * results are written as well, and two elements behind each tile's lines may be read. panel is a multiple of the
 * lanes. */
typedef struct cpuk_winograd_image {
  const float *image;
  ptrdiff_t pitch;
  const int32_t *at;
  size_t n, panel;
  float *to;
  ptrdiff_t apart, panel_apart;
} cpuk_winograd_image;

/* Where the results of a tile go: rows x columns of them, from `to` on. */
typedef struct cpuk_winograd_place {
  int32_t to;
  int16_t rows, columns;
} cpuk_winograd_place;

/* Sums of one row of weights: tile t's point p is w[p * apart + t], its results A^T w A are written to `to`, whose
 * lines are `pitch` apart. Sums up to a multiple of the lanes are read. */
typedef struct cpuk_winograd_result {
  const float *w;
  ptrdiff_t apart;
  float *to;
  ptrdiff_t pitch;
  const cpuk_winograd_place *place;
  size_t n;
} cpuk_winograd_result;

/* By m / 2 - 1. */
typedef struct cpuk_winograd {
  size_t lanes;
  void (*weights[2])(const cpuk_winograd_weights *args);
  void (*image[2])(const cpuk_winograd_image *args);
  void (*result[2])(const cpuk_winograd_result *args);
} cpuk_winograd;

extern const cpuk_winograd cpuk_winograd_portable, cpuk_winograd_avx2, cpuk_winograd_avx512, cpuk_winograd_neon;

#endif
