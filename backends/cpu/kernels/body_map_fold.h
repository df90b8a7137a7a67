/* Folds of elementwise programs (map_fold.h): the elements of a line at once, results in registers, operands where they
 * lie, next to each other or every other one. Lines shorter than a vector are one that is partly loaded. Included once
 * per instruction set, before body_map.h. */
#include "backends/cpu/kernels/map_fold.h"

#define MAP_FOLD_WIDE 4 /* vectors at once */

/* Element i of an operand is p[i], p[2 i] or p[0], if `move` from vector to vector is VF, 2 VF or 0. */
typedef struct map_tap {
  const float *p;
  ptrdiff_t move;
} map_tap;

/* Elements p[0], p[2], .., p[2 VF - 2] in an order that is the same for all, by shuffles within lanes of 16 bytes where
 * others cost more, and what puts that order right. */
#if VF == 8
VINL vf map_even(const float *p) {
  const vi a = *(const copy_vi *)(const void *)p, b = *(const copy_vi *)(const void *)(p + VF - 1);
  return (vf)__builtin_shufflevector(a, b, 0, 2, 9, 11, 4, 6, 13, 15);
}
VINL vf map_even_sort(vf v) { return __builtin_shufflevector(v, v, 0, 1, 4, 5, 2, 3, 6, 7); }
#else
VINL vf map_even(const float *p) { return (vf)copy_even((const copy_u32 *)(const void *)p); }
VINL vf map_even_sort(vf v) { return v; }
#endif

/* The first n of them, n <= VF; what lies behind isn't read. */
VINL vf map_even_n(const float *p, size_t n) {
  const size_t all = 2 * n - 1, first = all < VF ? all : VF;
#if VF == 8
  const vf a = v_load_n(p, first), b = all >= VF ? v_load_n(p + VF - 1, all - VF + 1) : v_set1(0);
  return __builtin_shufflevector(a, b, 0, 2, 9, 11, 4, 6, 13, 15);
#else
  float t[2 * VF];
  v_store(t, v_load_n(p, first));
  v_store(t + VF, all > VF ? v_load_n(p + VF, all - VF) : v_set1(0));
  return map_even(t);
#endif
}

VINL vf map_join(const int code, vf x, vf y) {
  if (code == SC_ADD) return x + y;
  return code == SC_MIN ? v_min(x, y) : v_max(x, y);
}

/* Where vector k of w begins that cover n elements, the last ones reaching back: n from w / 2 VF to w VF. */
VINL size_t map_fold_at(const int w, int k, size_t n) {
  return 2 * k < w && w > 1 ? (size_t)k * VF : n - (size_t)(w - k) * VF;
}

/* How a fold's taps move, if it is the same for all: the loads of each kind need no branch. */
enum { MAP_FOLD_NEXT, MAP_FOLD_EVEN, MAP_FOLD_MIXED, MAP_FOLD_KINDS };

VINL void map_tap_load(const int w, const int kind, const map_tap *x, ptrdiff_t off, size_t i, size_t n, vf *v) {
  const float *p = x->p + off;
  CPUK_UNROLL
  for (int k = 0; k < w; k++) {
    const size_t at = i + map_fold_at(w, k, n);
    if (kind == MAP_FOLD_NEXT) v[k] = v_load(p + at);
    else if (kind == MAP_FOLD_EVEN) v[k] = map_even(p + 2 * at);
    else if (x->move == 2 * VF) v[k] = map_even_sort(map_even(p + 2 * at));
    else v[k] = v_load(x->move ? p + at : x->p);
  }
}

/* n elements from i on, by w vectors. */
VINL void map_fold_part(const int code, const int w, const int kind, const map_tap *x, size_t taps, ptrdiff_t off,
                        size_t i, size_t n, float *d) {
  vf sum[MAP_FOLD_WIDE], v[MAP_FOLD_WIDE];
  map_tap_load(w, kind, x, off, i, n, sum);
  CPUK_NO_UNROLL
  for (size_t t = 1; t < taps; t++) {
    map_tap_load(w, kind, x + t, off, i, n, v);
    CPUK_UNROLL
    for (int k = 0; k < w; k++) sum[k] = map_join(code, sum[k], v[k]);
  }
  CPUK_UNROLL
  for (int k = 0; k < w; k++)
    v_store(d + i + map_fold_at(w, k, n), kind == MAP_FOLD_EVEN ? map_even_sort(sum[k]) : sum[k]);
}

VINL vf map_tap_short(const int kind, const map_tap *x, ptrdiff_t off, size_t n) {
  const float *p = x->p + off;
  if (kind == MAP_FOLD_NEXT) return v_load_n(p, n);
  if (kind == MAP_FOLD_EVEN) return map_even_n(p, n);
  if (x->move == 2 * VF) return map_even_sort(map_even_n(p, n));
  return x->move ? v_load_n(p, n) : v_load(x->p);
}

VINL void map_fold_short(const int code, const int kind, const map_tap *x, size_t taps, ptrdiff_t off, float *d,
                         size_t n) {
  vf sum = map_tap_short(kind, x, off, n);
  for (size_t t = 1; t < taps; t++) sum = map_join(code, sum, map_tap_short(kind, x + t, off, n));
  v_store_n(d, kind == MAP_FOLD_EVEN ? map_even_sort(sum) : sum, n);
}

VINL void map_fold_line(const int code, const int kind, const map_tap *x, size_t taps, ptrdiff_t off, float *d,
                        size_t n) {
  size_t i = 0;
  if (n < VF) {
    map_fold_short(code, kind, x, taps, off, d, n);
    return;
  }
  for (; n - i > MAP_FOLD_WIDE * VF; i += MAP_FOLD_WIDE * VF)
    map_fold_part(code, MAP_FOLD_WIDE, kind, x, taps, off, i, MAP_FOLD_WIDE * VF, d);
  if (n - i > 2 * VF) map_fold_part(code, MAP_FOLD_WIDE, kind, x, taps, off, i, n - i, d);
  else if (n - i > VF) map_fold_part(code, 2, kind, x, taps, off, i, n - i, d);
  else map_fold_part(code, 1, kind, x, taps, off, n - VF, VF, d);
}

#define MAP_FOLD(name, code, kind)                                                          \
  static void name(const map_tap *x, size_t taps, ptrdiff_t off, float *d, size_t n) {      \
    map_fold_line(code, kind, x, taps, off, d, n);                                          \
  }
MAP_FOLD(map_fold_add, SC_ADD, MAP_FOLD_NEXT)
MAP_FOLD(map_fold_min, SC_MIN, MAP_FOLD_NEXT)
MAP_FOLD(map_fold_max, SC_MAX, MAP_FOLD_NEXT)
MAP_FOLD(map_fold_add_even, SC_ADD, MAP_FOLD_EVEN)
MAP_FOLD(map_fold_min_even, SC_MIN, MAP_FOLD_EVEN)
MAP_FOLD(map_fold_max_even, SC_MAX, MAP_FOLD_EVEN)
MAP_FOLD(map_fold_add_mixed, SC_ADD, MAP_FOLD_MIXED)
MAP_FOLD(map_fold_min_mixed, SC_MIN, MAP_FOLD_MIXED)
MAP_FOLD(map_fold_max_mixed, SC_MAX, MAP_FOLD_MIXED)

/* d[i] = all taps of element i joined, the first one first, i < n. Taps that move begin `off` elements behind their p.
 * d is none of the taps. */
typedef void (*map_fold_fn)(const map_tap *x, size_t taps, ptrdiff_t off, float *d, size_t n);

/* For taps that move as these do. */
static map_fold_fn map_fold_of(int code, const map_tap *x, size_t taps) {
  static const map_fold_fn folds[3][MAP_FOLD_KINDS] = {{map_fold_add, map_fold_add_even, map_fold_add_mixed},
                                                       {map_fold_min, map_fold_min_even, map_fold_min_mixed},
                                                       {map_fold_max, map_fold_max_even, map_fold_max_mixed}};
  bool even = true, next = true;
  for (size_t t = 0; t < taps; t++) even &= x[t].move == 2 * VF, next &= x[t].move == VF;
  const int kind = next ? MAP_FOLD_NEXT : even ? MAP_FOLD_EVEN : MAP_FOLD_MIXED;
  return folds[code == SC_ADD ? 0 : code == SC_MIN ? 1 : 2][kind];
}
