/* Lines of a transform between memory, where complex numbers are pairs, and the kernel's buffer, where an element is
 * that of DFT_LANES lines, real parts before imaginary ones. Included by body_dft.h for each element type. */

/* v[i][j] -> v[j][i]: blocks of 1, 2, 4, .. are exchanged across the diagonal. */
#define DFT_FROM(i, s) ((i) & (s) ? DFT_LANES + (i) - (s) : (i))
#define DFT_INTO(i, s) ((i) & (s) ? DFT_LANES + (i) : (i) + (s))
#define DFT_EXCHANGE(s)                                                                               \
  CPUK_UNROLL for (int i = 0; i < DFT_LANES; i++) {                                                   \
    if (i & (s)) continue;                                                                            \
    const DFT_V a = v[i], b = v[i + (s)];                                                             \
    v[i] = __builtin_shufflevector(a, b, DFT_LIST(DFT_FROM, s));                                      \
    v[i + (s)] = __builtin_shufflevector(a, b, DFT_LIST(DFT_INTO, s));                                \
  }
VINL void D(transpose)(DFT_V *v) {
  DFT_EXCHANGE(1)
#if DFT_LANES > 2
  DFT_EXCHANGE(2)
#endif
#if DFT_LANES > 4
  DFT_EXCHANGE(4)
#endif
#if DFT_LANES > 8
  DFT_EXCHANGE(8)
#endif
}
#undef DFT_EXCHANGE
#undef DFT_FROM
#undef DFT_INTO

#define DFT_EVEN(i, s) (2 * (i))
#define DFT_ODD(i, s) (2 * (i) + 1)
#define DFT_LOW(i, s) ((i) / 2 + ((i) & 1) * DFT_LANES)
#define DFT_HIGH(i, s) (DFT_LANES / 2 + (i) / 2 + ((i) & 1) * DFT_LANES)

/* Neighbouring lines are neighbours in memory: element k of `count` of them. */
VINL D(z) D(z_gather)(const DFT_T *p, size_t count) {
  DFT_V a, b = DFT_SET1(0);
  if (count == DFT_LANES) {
    a = DFT_LOAD(p), b = DFT_LOAD(p + DFT_LANES);
  } else if (2 * count <= DFT_LANES) {
    a = DFT_LOAD_N(p, 2 * count);
  } else {
    a = DFT_LOAD(p), b = DFT_LOAD_N(p + DFT_LANES, 2 * count - DFT_LANES);
  }
  return (D(z)){__builtin_shufflevector(a, b, DFT_LIST(DFT_EVEN, 0)),
                __builtin_shufflevector(a, b, DFT_LIST(DFT_ODD, 0))};
}
VINL void D(z_scatter)(DFT_T *p, D(z) v, size_t count) {
  const DFT_V a = __builtin_shufflevector(v.re, v.im, DFT_LIST(DFT_LOW, 0)),
              b = __builtin_shufflevector(v.re, v.im, DFT_LIST(DFT_HIGH, 0));
  if (count == DFT_LANES) {
    DFT_STORE(p, a);
    DFT_STORE(p + DFT_LANES, b);
  } else if (2 * count <= DFT_LANES) {
    DFT_STORE_N(p, a, 2 * count);
  } else {
    DFT_STORE(p, a);
    DFT_STORE_N(p + DFT_LANES, b, 2 * count - DFT_LANES);
  }
}
#undef DFT_EVEN
#undef DFT_ODD
#undef DFT_LOW
#undef DFT_HIGH

/* Lines whose points are neighbours: as many points of each as a vector has, transposed. swap: real and imaginary parts
 * change places. */
static void D(load_rows)(const DFT_T *x, const ptrdiff_t *line, size_t n, size_t count, bool swap, DFT_T *to) {
  for (size_t j = 0; j < n; j += DFT_LANES / 2) {
    const size_t left = 2 * (n - j);
    DFT_V v[DFT_LANES];
    if (count == DFT_LANES && left >= DFT_LANES) {
      CPUK_UNROLL for (int i = 0; i < DFT_LANES; i++) v[i] = DFT_LOAD(x + line[i] + 2 * j);
    } else {
      CPUK_UNROLL for (int i = 0; i < DFT_LANES; i++)
        v[i] = DFT_LOAD_N(x + line[(size_t)i < count ? i : 0] + 2 * j, left < DFT_LANES ? left : DFT_LANES);
    }
    D(transpose)(v);
    DFT_T *at = to + j * 2 * DFT_LANES;
    CPUK_UNROLL for (int i = 0; i < DFT_LANES; i++)
      if ((size_t)i < left) DFT_STORE(at + (i ^ (int)swap) * DFT_LANES, v[i]);
  }
}

static void D(store_rows)(const DFT_T *from, const ptrdiff_t *line, size_t n, size_t count, bool swap, DFT_T *y) {
  for (size_t j = 0; j < n; j += DFT_LANES / 2) {
    const size_t left = 2 * (n - j);
    const DFT_T *at = from + j * 2 * DFT_LANES;
    DFT_V v[DFT_LANES];
    CPUK_UNROLL for (int i = 0; i < DFT_LANES; i++)
      v[i] = (size_t)i < left ? DFT_LOAD(at + (i ^ (int)swap) * DFT_LANES) : DFT_SET1(0);
    D(transpose)(v);
    if (count == DFT_LANES && left >= DFT_LANES) {
      CPUK_UNROLL for (int i = 0; i < DFT_LANES; i++) DFT_STORE(y + line[i] + 2 * j, v[i]);
    } else {
      CPUK_UNROLL for (int i = 0; i < DFT_LANES; i++)
        if ((size_t)i < count) DFT_STORE_N(y + line[i] + 2 * j, v[i], left < DFT_LANES ? left : DFT_LANES);
    }
  }
}

/* Lines that are neighbours. */
static void D(load_columns)(const DFT_T *x, ptrdiff_t point, size_t n, size_t count, bool swap, DFT_T *to) {
  for (size_t j = 0; j < n; j++, to += 2 * DFT_LANES, x += point) {
    const D(z) v = D(z_gather)(x, count);
    D(z_store)(to, swap ? (D(z)){v.im, v.re} : v);
  }
}

static void D(store_columns)(const DFT_T *from, ptrdiff_t point, size_t n, size_t count, bool swap, DFT_T *y) {
  for (size_t j = 0; j < n; j++, from += 2 * DFT_LANES, y += point) {
    const D(z) v = D(z_load)(from);
    D(z_scatter)(y, swap ? (D(z)){v.im, v.re} : v, count);
  }
}

VINL bool D(are_neighbours)(const cpuk_dft_side *s, size_t count) {
  bool are = s->part == 1;
  for (size_t i = 1; i < count; i++) are &= s->line[i] == s->line[0] + (ptrdiff_t)(2 * i);
  return are;
}

static void D(load)(const cpuk_dft_args *q, DFT_T *to) {
  const cpuk_dft_side *s = &q->in;
  const DFT_T *x = q->x;
  const size_t n = q->plan->n, count = q->n_lines;
  if (s->part == 1 && s->point == 2) {
    D(load_rows)(x, s->line, n, count, q->inverse, to);
  } else if (D(are_neighbours)(s, count)) {
    D(load_columns)(x + s->line[0], s->point, n, count, q->inverse, to);
  } else {
    for (size_t j = 0; j < n; j++, to += 2 * DFT_LANES)
      for (size_t i = 0; i < DFT_LANES; i++) {
        const DFT_T *p = x + s->line[i < count ? i : 0] + s->point * (ptrdiff_t)j;
        to[i] = p[q->inverse ? s->part : 0], to[DFT_LANES + i] = p[q->inverse ? 0 : s->part];
      }
  }
}

static void D(store)(const cpuk_dft_args *q, const DFT_T *from) {
  const cpuk_dft_side *s = &q->out;
  DFT_T *y = q->y;
  const size_t n = q->plan->n, count = q->n_lines;
  if (s->part == 1 && s->point == 2) {
    D(store_rows)(from, s->line, n, count, q->inverse, y);
  } else if (D(are_neighbours)(s, count)) {
    D(store_columns)(from, s->point, n, count, q->inverse, y + s->line[0]);
  } else {
    for (size_t j = 0; j < n; j++, from += 2 * DFT_LANES)
      for (size_t i = 0; i < count; i++) {
        DFT_T *p = y + s->line[i] + s->point * (ptrdiff_t)j;
        p[q->inverse ? s->part : 0] = from[i], p[q->inverse ? 0 : s->part] = from[DFT_LANES + i];
      }
  }
}
