/* core/runtime/routine_linalg_body.h - the routines of matrices for one element type: included once each with T, NAME,
 * SQRT, ABS and EPS defined. Sums of products go by lanes, which compilers vectorise without reordering them. */

typedef T NAME(lanes) __attribute__((vector_size(16)));
enum { NAME(WIDTH) = 16 / sizeof(T) };

static NAME(lanes) NAME(load)(const T *p) {
  NAME(lanes) v;
  memcpy(&v, p, sizeof v);
  return v;
}

static T NAME(total)(NAME(lanes) v) {
  T s = 0;
  for (int i = 0; i < NAME(WIDTH); i++) s += v[i];
  return s;
}

static T NAME(dot)(const T *a, const T *b, int64_t n) {
  enum { W = NAME(WIDTH) };
  NAME(lanes) s[4] = {{0}};
  int64_t i = 0;
  for (; i + 4 * W <= n; i += 4 * W)
    for (int k = 0; k < 4; k++) s[k] += NAME(load)(a + i + k * W) * NAME(load)(b + i + k * W);
  T sum = NAME(total)((s[0] + s[1]) + (s[2] + s[3]));
  for (; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* y -= x f */
static void NAME(subtract)(T *restrict y, const T *restrict x, T f, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] -= x[i] * f;
}

static void NAME(scale)(T *x, T f, int64_t n) {
  for (int64_t i = 0; i < n; i++) x[i] *= f;
}

/* ---- tri_solve --------------------------------------------------------------------------------------------------- */

enum { NAME(PANEL) = 64 }; /* columns of b that are solved together */

typedef struct NAME(solve) {
  const T *a, *b;
  T *x;
  int64_t n, columns;
  bool upper, transpose, unit;
} NAME(solve);

/* x -= t_j x_j over four rows j, which are read once for each row of x. */
static void NAME(eliminate)(const NAME(solve) *s, T *x, int64_t i, int64_t from, int64_t to, int64_t width) {
  const int64_t step = s->transpose ? s->n : 1, n = s->columns;
  const T *t = s->transpose ? s->a + i : s->a + i * s->n;
  const T *first = s->x + (x - (s->x + i * n));
  int64_t j = from;
  for (; j + 4 <= to; j += 4) {
    const T t0 = t[j * step], t1 = t[(j + 1) * step], t2 = t[(j + 2) * step], t3 = t[(j + 3) * step];
    const T *restrict p = first + j * n, *restrict q = p + n, *restrict r = q + n, *restrict u = r + n;
    T *restrict y = x;
    for (int64_t k = 0; k < width; k++) y[k] -= (t0 * p[k] + t1 * q[k]) + (t2 * r[k] + t3 * u[k]);
  }
  for (; j < to; j++) NAME(subtract)(x, first + j * n, t[j * step], width);
}

/* Substitution for one panel of columns. */
static void NAME(solve_panel)(void *arg, int64_t item, int worker) {
  const NAME(solve) *s = arg;
  const int64_t n = s->n, at = item * NAME(PANEL), left = s->columns - at,
                width = left < NAME(PANEL) ? left : NAME(PANEL);
  const bool backwards = s->upper != s->transpose;
  for (int64_t k = 0; k < n; k++) {
    const int64_t i = backwards ? n - 1 - k : k;
    T *x = s->x + i * s->columns + at;
    memcpy(x, s->b + i * s->columns + at, (size_t)width * sizeof *x);
    const int64_t from = backwards ? i + 1 : 0, to = backwards ? n : i;
    if (s->columns == 1 && !s->transpose) *x -= NAME(dot)(s->a + i * n + from, s->x + from, to - from);
    else NAME(eliminate)(s, x, i, from, to, width);
    if (s->unit) continue;
    const T d = s->a[i * n + i];
    for (int64_t c = 0; c < width; c++) x[c] /= d;
  }
}

static void NAME(tri_solve)(const matrices *x) {
  NAME(solve) s = {.a = x->data[0], .b = x->data[1], .x = x->data[2], .n = x->n};
  s.columns = x->c->tensor[1].dims[x->c->tensor[1].rank - 1];
  s.upper = x->c->flag[0], s.transpose = x->c->flag[1], s.unit = x->c->flag[2];
  const int64_t panels = (s.columns + NAME(PANEL) - 1) / NAME(PANEL);
  if (splits(x)) routine_spread(x->c, NAME(solve_panel), &s, panels);
  else
    for (int64_t i = 0; i < panels; i++) NAME(solve_panel)(&s, i, 0);
}

/* ---- cholesky ---------------------------------------------------------------------------------------------------- */

enum { NAME(BLOCK) = 64, NAME(ROWS) = 32 };

typedef struct NAME(block) {
  T *l;
  int64_t n, from, to; /* columns of the block that was factored */
} NAME(block);

/* Rows below the block: l_ij = (a_ij - l_i . l_j) / l_jj along the block. */
static void NAME(solve_rows)(const NAME(block) *b, int64_t first, int64_t last) {
  const int64_t n = b->n, from = b->from;
  for (int64_t i = first; i < last; i++)
    for (int64_t j = from; j < b->to; j++) {
      T *l = b->l + i * n;
      l[j] = (l[j] - NAME(dot)(l + from, b->l + j * n + from, j - from)) / b->l[j * n + j];
    }
}

static void NAME(below)(void *arg, int64_t item, int worker) {
  const NAME(block) *b = arg;
  const int64_t first = b->to + item * NAME(ROWS), last = first + NAME(ROWS) < b->n ? first + NAME(ROWS) : b->n;
  NAME(solve_rows)(b, first, last);
}

/* Two rows by two of l l^T, along the block. */
static void NAME(corner)(const NAME(block) *b, int64_t i, int64_t j) {
  enum { W = NAME(WIDTH) };
  const int64_t n = b->n, size = b->to - b->from;
  const T *p = b->l + i * n + b->from, *q = p + n, *u = b->l + j * n + b->from, *v = u + n;
  NAME(lanes) pu = {0}, pv = {0}, qu = {0}, qv = {0};
  int64_t k = 0;
  for (; k + W <= size; k += W) {
    const NAME(lanes) x = NAME(load)(p + k), y = NAME(load)(q + k), z = NAME(load)(u + k), w = NAME(load)(v + k);
    pu += x * z, pv += x * w, qu += y * z, qv += y * w;
  }
  T s[4] = {NAME(total)(pu), NAME(total)(pv), NAME(total)(qu), NAME(total)(qv)};
  for (; k < size; k++) s[0] += p[k] * u[k], s[1] += p[k] * v[k], s[2] += q[k] * u[k], s[3] += q[k] * v[k];
  T *to = b->l + i * n + j;
  to[0] -= s[0], to[1] -= s[1], to[n] -= s[2], to[n + 1] -= s[3];
}

/* What is right of the block and below, of these rows: a_ij -= l_i . l_j. */
static void NAME(trailing)(void *arg, int64_t item, int worker) {
  const NAME(block) *b = arg;
  const int64_t n = b->n, size = b->to - b->from, first = b->to + item * NAME(ROWS),
                last = first + NAME(ROWS) < n ? first + NAME(ROWS) : n;
  for (int64_t i = first; i < last; i++) {
    int64_t j = b->to;
    for (; i % 2 == first % 2 && i + 1 < last && j + 1 <= i; j += 2) NAME(corner)(b, i, j);
    if (i % 2 != first % 2 && i > first) j = b->to + (i - b->to) / 2 * 2; /* the corners had those */
    for (; j <= i; j++) b->l[i * n + j] -= NAME(dot)(b->l + i * n + b->from, b->l + j * n + b->from, size);
  }
}

/* The triangle that is read becomes the lower one, zeros above it. */
static void NAME(take_triangle)(const T *a, T *l, int64_t n, bool upper) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j <= i; j++) l[i * n + j] = upper ? a[j * n + i] : a[i * n + j];
    memset(l + i * n + i + 1, 0, (size_t)(n - 1 - i) * sizeof *l);
  }
}

static void NAME(flip)(T *l, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < i; j++) l[j * n + i] = l[i * n + j], l[i * n + j] = 0;
}

/* Block by block: its triangle, the rows below it, then what is right of it (Golub and Van Loan, algorithm 4.2.10). */
static void NAME(cholesky)(const matrices *x) {
  NAME(block) b = {.l = x->data[1], .n = x->n};
  const int64_t n = x->n;
  NAME(take_triangle)(x->data[0], b.l, n, x->c->flag[0]);
  for (b.from = 0; b.from < n; b.from = b.to) {
    b.to = b.from + NAME(BLOCK) < n ? b.from + NAME(BLOCK) : n;
    for (int64_t j = b.from; j < b.to; j++) {
      T *l = b.l + j * n;
      NAME(block) above = {b.l, n, b.from, j};
      NAME(solve_rows)(&above, j, j + 1);
      l[j] = SQRT(l[j] - NAME(dot)(l + b.from, l + b.from, j - b.from));
    }
    const int64_t items = (n - b.to + NAME(ROWS) - 1) / NAME(ROWS);
    for (int step = 0; step < 2; step++) {
      void (*fn)(void *, int64_t, int) = step ? NAME(trailing) : NAME(below);
      if (splits(x)) routine_spread(x->c, fn, &b, items);
      else
        for (int64_t i = 0; i < items; i++) fn(&b, i, 0);
    }
  }
  if (x->c->flag[0]) NAME(flip)(b.l, n);
}

/* ---- qr ---------------------------------------------------------------------------------------------------------- */

/* Length of a column, without overflow on the way. */
static T NAME(length)(const T *x, int64_t n, int64_t stride) {
  T most = 0, s = 0;
  for (int64_t i = 0; i < n; i++) most = ABS(x[i * stride]) > most ? ABS(x[i * stride]) : most;
  if (!(most > 0) || !isfinite(most)) {
    for (int64_t i = 0; i < n; i++) s += x[i * stride] * x[i * stride]; /* NaN and infinities stay */
    return SQRT(s);
  }
  for (int64_t i = 0; i < n; i++) s += x[i * stride] / most * (x[i * stride] / most);
  return most * SQRT(s);
}

/* to -= f v (v^T to) for the columns from `first` on of rows v is as long as; v is a column of w, its first element 1.
 * row: memory for one. */
static void NAME(reflect)(T *to, int64_t stride, int64_t first, int64_t last, const T *v, int64_t v_stride,
                          int64_t rows, T f, T *row) {
  memcpy(row + first, to + first, (size_t)(last - first) * sizeof *row);
  for (int64_t i = 1; i < rows; i++)
    NAME(subtract)(row + first, to + i * stride + first, -v[i * v_stride], last - first);
  for (int64_t i = 0; i < rows; i++)
    NAME(subtract)(to + i * stride + first, row + first, f * (i ? v[i * v_stride] : 1), last - first);
}

/* Column j of w becomes beta e_1 by the reflection 1 - f v v^T, v below its diagonal; returns f. */
static T NAME(householder)(T *w, int64_t n, int64_t j, int64_t rows) {
  T *x = w + j * n + j;
  const T size = NAME(length)(x, rows, n), below = rows > 1 ? NAME(length)(x + n, rows - 1, n) : 0;
  if (below == 0) return 0;
  const T beta = *x > 0 ? -size : size, f = (beta - *x) / beta, head = *x - beta;
  for (int64_t i = 1; i < rows; i++) x[i * n] /= head;
  *x = beta;
  return f;
}

static void NAME(qr)(const matrices *x) {
  const int64_t m = x->m, n = x->n, k = m < n ? m : n;
  T *w = x->scratch, *row = w + m * n, *f = row + (m > n ? m : n), *q = x->data[1], *r = x->data[2];
  memcpy(w, x->data[0], (size_t)(m * n) * sizeof *w);
  for (int64_t j = 0; j < k; j++) {
    f[j] = NAME(householder)(w, n, j, m - j);
    if (f[j] != 0 && j + 1 < n) NAME(reflect)(w + j * n, n, j + 1, n, w + j * n + j, n, m - j, f[j], row);
  }
  memset(q, 0, (size_t)(m * k) * sizeof *q);
  for (int64_t j = k - 1; j >= 0; j--) {
    q[j * k + j] = 1;
    if (f[j] != 0) NAME(reflect)(q + j * k, k, j, k, w + j * n + j, n, m - j, f[j], row);
  }
  for (int64_t i = 0; i < k; i++) {
    for (int64_t j = 0; j < n; j++) r[i * n + j] = j < i ? 0 : w[i * n + j];
    if (!(r[i * n + i] < 0)) continue;
    NAME(scale)(r + i * n + i, -1, n - i);
    for (int64_t j = 0; j < m; j++) q[j * k + i] = -q[j * k + i];
  }
}

/* ---- svd --------------------------------------------------------------------------------------------------------- */

/* Rows of w, the shorter side's vectors, and of t, what they are of the matrix's. */
typedef struct NAME(rotation) {
  T *w, *t, *s;
  int64_t k, longer, *order;
} NAME(rotation);

static void NAME(turn)(T *restrict x, T *restrict y, T c, T s, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    const T a = x[i], b = y[i];
    x[i] = c * a - s * b;
    y[i] = s * a + c * b;
  }
}

/* One-sided rotations until all vectors are orthogonal (Hestenes 1958; Golub and Van Loan, section 8.6.3). */
static void NAME(orthogonal)(NAME(rotation) *r) {
  const T least = EPS * (4 + SQRT((T)r->longer)); /* what the products themselves are off by */
  bool turned = true;
  for (int sweep = 0; sweep < 40 && turned; sweep++) {
    turned = false;
    for (int64_t p = 0; p < r->k; p++)
      for (int64_t q = p + 1; q < r->k; q++) {
        T *x = r->w + p * r->longer, *y = r->w + q * r->longer;
        const T a = NAME(dot)(x, x, r->longer), b = NAME(dot)(y, y, r->longer), c = NAME(dot)(x, y, r->longer);
        if (!(ABS(c) > least * SQRT(a) * SQRT(b))) continue;
        const T zeta = (b - a) / (2 * c), z = ABS(zeta),
                t = (zeta < 0 ? -1 : 1) / (z + (z < 1 / EPS ? SQRT(1 + z * z) : z)), cosine = 1 / SQRT(1 + t * t);
        turned = true;
        NAME(turn)(x, y, cosine, cosine * t, r->longer);
        NAME(turn)(r->t + p * r->k, r->t + q * r->k, cosine, cosine * t, r->k);
      }
  }
}

/* Lengths as values in falling order. */
static void NAME(rank_values)(NAME(rotation) *r) {
  for (int64_t i = 0; i < r->k; i++) {
    const T s = NAME(length)(r->w + i * r->longer, r->longer, 1);
    int64_t at = i;
    for (; at > 0 && r->s[at - 1] < s; at--) r->s[at] = r->s[at - 1], r->order[at] = r->order[at - 1];
    r->s[at] = s, r->order[at] = i;
  }
}

/* Vector number j of those in falling order, of length 1; of a value that is as good as zero any that is orthogonal to
 * all before it. */
static void NAME(normalize)(NAME(rotation) *r, int64_t j) {
  T *x = r->w + r->order[j] * r->longer;
  if (r->s[j] > (T)r->longer * EPS * r->s[0]) {
    NAME(scale)(x, 1 / r->s[j], r->longer);
    return;
  }
  for (int64_t start = 0; start < r->longer; start++) {
    memset(x, 0, (size_t)r->longer * sizeof *x);
    x[start] = 1;
    for (int again = 0; again < 2; again++)
      for (int64_t i = 0; i < j; i++) {
        const T *y = r->w + r->order[i] * r->longer;
        NAME(subtract)(x, y, NAME(dot)(x, y, r->longer), r->longer);
      }
    const T left = NAME(length)(x, r->longer, 1);
    if (left * left * (T)r->longer < (T)0.5) continue; /* the largest of them has 1 - j / longer at least */
    NAME(scale)(x, 1 / left, r->longer);
    return;
  }
}

/* The sign of a column of u: its largest element is positive. */
static T NAME(sign)(const T *x, int64_t n) {
  T largest = 0;
  for (int64_t i = 0; i < n; i++)
    if (ABS(x[i]) > ABS(largest)) largest = x[i];
  return largest < 0 ? -1 : 1;
}

/* Factor by which all elements are brought near 1, a power of two; 0: one of them isn't finite. */
static T NAME(near_one)(const T *a, int64_t n) {
  T most = 0;
  int exponent;
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(a[i])) return 0;
    most = ABS(a[i]) > most ? ABS(a[i]) : most;
  }
  if (!(most > 0)) return 1;
  frexp((double)most, &exponent);
  return (T)ldexp(1, exponent < -120 ? 120 : -exponent);
}

static void NAME(write_vectors)(const matrices *x, const NAME(rotation) *r, T by) {
  const bool wide = x->m < x->n;
  const int64_t m = x->m, n = x->n, k = r->k;
  T *u = x->data[1], *s = x->data[2], *v = x->data[3];
  for (int64_t j = 0; j < k; j++) {
    const T *w = r->w + r->order[j] * r->longer, *t = r->t + r->order[j] * k, *left = wide ? t : w,
            *right = wide ? w : t;
    const T sign = NAME(sign)(left, m);
    s[j] = r->s[j] / by;
    for (int64_t i = 0; i < m; i++) u[i * k + j] = sign * left[i];
    for (int64_t i = 0; i < n; i++) v[j * n + i] = sign * right[i];
  }
}

static void NAME(svd)(const matrices *x) {
  const int64_t m = x->m, n = x->n;
  NAME(rotation) r = {.k = m < n ? m : n, .longer = m < n ? n : m};
  const T *a = x->data[0], by = NAME(near_one)(a, m * n);
  T *const results[] = {x->data[1], x->data[2], x->data[3]};
  const int64_t sizes[] = {m * r.k, r.k, r.k * n};
  for (int i = 0; i < 3 && by == 0; i++)
    for (int64_t j = 0; j < sizes[i]; j++) results[i][j] = (T)NAN;
  if (by == 0) return;
  r.order = x->scratch;
  r.w = (T *)(void *)(r.order + r.k);
  r.t = r.w + r.k * r.longer;
  r.s = r.t + r.k * r.k;
  for (int64_t i = 0; i < r.k; i++)
    for (int64_t j = 0; j < r.longer; j++) r.w[i * r.longer + j] = by * (m < n ? a[i * n + j] : a[j * n + i]);
  memset(r.t, 0, (size_t)(r.k * r.k) * sizeof *r.t);
  for (int64_t i = 0; i < r.k; i++) r.t[i * r.k + i] = 1;
  NAME(orthogonal)(&r);
  NAME(rank_values)(&r);
  for (int64_t j = 0; j < r.k; j++) NAME(normalize)(&r, j);
  NAME(write_vectors)(x, &r, by);
}
