/* The transforms of Winograd's convolutions, see winograd.h: VF tiles at a time, a vector holding one element of each.
 * Included once per instruction set, after vec_<isa>.h.
 *
 * m = 2: points 0, 1, -1 and infinity. m = 4: 0, +-a, +-b and infinity with a = 11/16, b = 11/8, whose powers up to the
 * third are exact in f32. Of the pairs tried (docs/performance-log.md) they lose least: the transforms' norms are far
 * smaller than at 1 and 2, the usual ones. */

#define WG_A 0.6875
#define WG_B 1.375
#define WG_A2 (WG_A * WG_A)
#define WG_B2 (WG_B * WG_B)
#define WG_MOST ((WINOGRAD_MOST_TILE + 2) * (WINOGRAD_MOST_TILE + 2))

/* ---- four elements of each tile ---------------------------------------------------------------------------------- */

#ifndef v_load_4
/* y[j] = the j-th of the four elements at x + at[lane]. */
VINL void v_load_4(const float *x, const int32_t *at, vf y[4]) {
  float t[4][VF];
  for (int i = 0; i < VF; i++)
    for (int j = 0; j < 4; j++) t[j][i] = x[at[i] + j];
  for (int j = 0; j < 4; j++) y[j] = v_load(t[j]);
}

/* The other way: four elements of each lane, to x + 4 * lane. */
VINL void v_store_4(float *x, const vf y[4]) {
  float t[4][VF];
  for (int j = 0; j < 4; j++) v_store(t[j], y[j]);
  for (int i = 0; i < VF; i++)
    for (int j = 0; j < 4; j++) x[4 * i + j] = t[j][i];
}
#endif

/* ---- along one axis ---------------------------------------------------------------------------------------------- */

/* B^T x. */
VINL void wg_image_2(const vf x[4], vf y[4]) {
  y[0] = x[0] - x[2];
  y[1] = x[1] + x[2];
  y[2] = x[2] - x[1];
  y[3] = x[3] - x[1];
}

VINL void wg_image_4(const vf x[6], vf y[6]) {
  const vf even_a = v_fma(v_set1(-WG_B2), x[2], x[4]), even_b = v_fma(v_set1(-WG_A2), x[2], x[4]),
           odd_a = v_fma(v_set1(-WG_B2), x[1], x[3]), odd_b = v_fma(v_set1(-WG_A2), x[1], x[3]),
           all = v_set1(WG_A2 * WG_B2), both = v_set1(-(WG_A2 + WG_B2));
  y[0] = v_fma(all, x[0], v_fma(both, x[2], x[4]));
  y[1] = v_fma(v_set1(WG_A), odd_a, even_a);
  y[2] = v_fma(v_set1(-WG_A), odd_a, even_a);
  y[3] = v_fma(v_set1(WG_B), odd_b, even_b);
  y[4] = v_fma(v_set1(-WG_B), odd_b, even_b);
  y[5] = v_fma(all, x[1], v_fma(both, x[3], x[5]));
}

/* A^T x. */
VINL void wg_result_2(const vf x[4], vf y[2]) {
  y[0] = x[0] + (x[1] + x[2]);
  y[1] = (x[1] - x[2]) + x[3];
}

VINL void wg_result_4(const vf x[6], vf y[4]) {
  const vf sum_a = x[1] + x[2], sum_b = x[3] + x[4], diff_a = x[1] - x[2], diff_b = x[3] - x[4];
  y[0] = x[0] + (sum_a + sum_b);
  y[1] = v_fma(v_set1(WG_A), diff_a, v_set1(WG_B) * diff_b);
  y[2] = v_fma(v_set1(WG_A2), sum_a, v_set1(WG_B2) * sum_b);
  y[3] = v_fma(v_set1(WG_A2 * WG_A), diff_a, v_fma(v_set1(WG_B2 * WG_B), diff_b, x[5]));
}

/* G x. */
VINL void wg_weights_2(const vf x[3], vf y[4]) {
  const vf even = x[0] + x[2];
  y[0] = x[0];
  y[1] = (even + x[1]) * v_set1(0.5f);
  y[2] = (even - x[1]) * v_set1(0.5f);
  y[3] = x[2];
}

VINL void wg_weights_4(const vf x[3], vf y[6]) {
  const vf by_a = v_set1((float)(1 / (2 * WG_A2 * (WG_A2 - WG_B2)))),
           by_b = v_set1((float)(1 / (2 * WG_B2 * (WG_B2 - WG_A2)))), even_a = v_fma(v_set1(WG_A2), x[2], x[0]),
           even_b = v_fma(v_set1(WG_B2), x[2], x[0]);
  y[0] = x[0] * v_set1((float)(1 / (WG_A2 * WG_B2)));
  y[1] = v_fma(v_set1(WG_A), x[1], even_a) * by_a;
  y[2] = v_fma(v_set1(-WG_A), x[1], even_a) * by_a;
  y[3] = v_fma(v_set1(WG_B), x[1], even_b) * by_b;
  y[4] = v_fma(v_set1(-WG_B), x[1], even_b) * by_b;
  y[5] = x[2];
}

/* ---- along both -------------------------------------------------------------------------------------------------- */

/* VF channels at a time; behind the last one, that one again. */
VINL void wg_weights(const int m, const cpuk_winograd_weights *p) {
  const int n = m + 2;
  for (size_t c = 0; c < p->k; c += VF) {
    const size_t lanes = p->k - c < VF ? p->k - c : VF;
    const float *w = p->w + c * 9;
    int32_t at[VF];
    vf x[12], half[(WINOGRAD_MOST_TILE + 2) * 3];
    for (size_t i = 0; i < VF; i++) at[i] = (int32_t)(9 * (i < lanes ? i : lanes - 1));
    v_load_4(w + 5, at, x + 8);
    x[8] = x[11];
    v_load_4(w, at, x), v_load_4(w + 4, at, x + 4);
    CPUK_UNROLL
    for (int j = 0; j < 3; j++) {
      const vf column[3] = {x[j], x[3 + j], x[6 + j]};
      vf y[WINOGRAD_MOST_TILE + 2];
      if (m == 2) wg_weights_2(column, y);
      else wg_weights_4(column, y);
      CPUK_UNROLL
      for (int i = 0; i < n; i++) half[i * 3 + j] = y[i];
    }
    CPUK_UNROLL
    for (int i = 0; i < n; i++) {
      vf y[WINOGRAD_MOST_TILE + 2];
      if (m == 2) wg_weights_2(half + i * 3, y);
      else wg_weights_4(half + i * 3, y);
      CPUK_UNROLL
      for (int j = 0; j < n; j++) {
        float *u = p->u + (i * n + j) * p->apart + (ptrdiff_t)c;
        if (lanes == VF) v_store(u, y[j]);
        else v_store_n(u, y[j], lanes);
      }
    }
  }
}

VINL void wg_image(const int m, const cpuk_winograd_image *p) {
  const int n = m + 2;
  for (size_t t = 0; t < p->n; t += VF) {
    vf half[WG_MOST];
    float *to = p->to + (ptrdiff_t)(t / p->panel) * p->panel_apart + (ptrdiff_t)(t % p->panel);
    CPUK_UNROLL
    for (int i = 0; i < n; i++) {
      const float *line = p->image + i * p->pitch;
      vf x[8];
      v_load_4(line, p->at + t, x);
      if (m == 2) {
        wg_image_2(x, half + i * n);
      } else {
        v_load_4(line + 4, p->at + t, x + 4);
        wg_image_4(x, half + i * n);
      }
    }
    CPUK_UNROLL
    for (int j = 0; j < n; j++) {
      vf x[WINOGRAD_MOST_TILE + 2], y[WINOGRAD_MOST_TILE + 2];
      CPUK_UNROLL
      for (int i = 0; i < n; i++) x[i] = half[i * n + j];
      if (m == 2) wg_image_2(x, y);
      else wg_image_4(x, y);
      CPUK_UNROLL
      for (int i = 0; i < n; i++) v_store(to + (i * n + j) * p->apart, y[i]);
    }
  }
}

/* Results of VF tiles, of which each has four elements in a row, to where they belong. apart: from one line of a tile
 * to the next. */
VINL void wg_put(const int m, const cpuk_winograd_result *p, size_t t, const float *from, size_t apart) {
  for (size_t i = 0; i < VF && t + i < p->n; i++) {
    const cpuk_winograd_place *s = &p->place[t + i];
    float *to = p->to + s->to;
    for (int y = 0; y < s->rows; y++, to += p->pitch) {
      const float *line = from + (size_t)y * apart + 4 * i;
      if (s->columns == m) memcpy(to, line, sizeof(float) * (size_t)m);
      else
        for (int x = 0; x < s->columns; x++) to[x] = line[x];
    }
  }
}

VINL void wg_result(const int m, const cpuk_winograd_result *p) {
  const int n = m + 2;
  for (size_t t = 0; t < p->n; t += VF) {
    vf half[WG_MOST];
    float line[WINOGRAD_MOST_TILE * WINOGRAD_MOST_TILE * VF];
    CPUK_UNROLL
    for (int j = 0; j < n; j++) {
      vf x[WINOGRAD_MOST_TILE + 2], y[WINOGRAD_MOST_TILE];
      CPUK_UNROLL
      for (int i = 0; i < n; i++) x[i] = v_load(p->w + (i * n + j) * p->apart + (ptrdiff_t)t);
      if (m == 2) wg_result_2(x, y);
      else wg_result_4(x, y);
      CPUK_UNROLL
      for (int i = 0; i < m; i++) half[i * n + j] = y[i];
    }
    vf y[WINOGRAD_MOST_TILE];
    if (m == 2) {
      wg_result_2(half, y), wg_result_2(half + n, y + 2);
      v_store_4(line, y);
    } else {
      CPUK_UNROLL
      for (int i = 0; i < m; i++) {
        wg_result_4(half + i * n, y);
        v_store_4(line + 4 * i * VF, y);
      }
    }
    wg_put(m, p, t, line, m == 2 ? 2 : 4 * VF);
  }
}

static void wg_weights_of_2(const cpuk_winograd_weights *p) { wg_weights(2, p); }
static void wg_weights_of_4(const cpuk_winograd_weights *p) { wg_weights(4, p); }
static void wg_image_of_2(const cpuk_winograd_image *p) { wg_image(2, p); }
static void wg_image_of_4(const cpuk_winograd_image *p) { wg_image(4, p); }
static void wg_result_of_2(const cpuk_winograd_result *p) { wg_result(2, p); }
static void wg_result_of_4(const cpuk_winograd_result *p) { wg_result(4, p); }

const cpuk_winograd CPUK_FN(winograd) = {.lanes = VF,
                                         .weights = {wg_weights_of_2, wg_weights_of_4},
                                         .image = {wg_image_of_2, wg_image_of_4},
                                         .result = {wg_result_of_2, wg_result_of_4}};
