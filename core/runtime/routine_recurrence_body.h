/* core/runtime/routine_recurrence_body.h - a block of states of one step of a recurrence, for one element type:
 * included once each with T, NAME, EXP and TANH defined. */

/* States of an item at most, entries whose sums are kept at once, rows of r that one pass adds. */
enum { NAME(UNITS) = 512 / sizeof(T), NAME(ENTRIES) = 8, NAME(ROWS) = 4, NAME(GATES) = 4 };

static T NAME(sigmoid)(T x) { return 1 / (1 + EXP(-x)); }

/* to[j] += h[0] r[j] + h[1] r[stride + j] + .., one row after the other. */
static void NAME(add_rows)(T *restrict to, const T *h, const T *restrict r, int64_t stride, int64_t width) {
  const T *restrict b = r + stride, *restrict c = b + stride, *restrict d = c + stride;
  for (int64_t j = 0; j < width; j++) to[j] = to[j] + h[0] * r[j] + h[1] * b[j] + h[2] * c[j] + h[3] * d[j];
}

static void NAME(add_row)(T *restrict to, const T *h, const T *restrict r, int64_t width) {
  for (int64_t j = 0; j < width; j++) to[j] += h[0] * r[j];
}

/* sums[entry][gate][j] = h r for some gates and entries, whose states are n apart. Rows of r are far apart, a few lines
 * of each: those of the next pass are fetched during this one, which all entries read from L1. */
static void NAME(products)(const T *h, const T *r, int64_t n, int64_t stride, int64_t first, int64_t last,
                           int64_t entries, int64_t width, T (*sums)[NAME(GATES)][NAME(UNITS)]) {
  enum { R = NAME(ROWS), LINE = 64 / sizeof(T) };
  memset(sums, 0, (size_t)entries * sizeof *sums);
  for (int64_t i = 0; i < n; i += R)
    for (int64_t g = first; g < last; g++) {
      const T *rows = r + i * stride + g * n;
      for (int64_t k = R; k < 2 * R && i + k < n; k++)
        for (int64_t j = 0; j < width; j += LINE) __builtin_prefetch(rows + k * stride + j);
      for (int64_t e = 0; e < entries; e++)
        if (i + R <= n) NAME(add_rows)(sums[e][g], h + e * n + i, rows, stride, width);
        else
          for (int64_t k = 0; k < n - i; k++) NAME(add_row)(sums[e][g], h + e * n + i + k, rows + k * stride, width);
    }
}

/* State j of an entry: z are its gates' products with the state before, bias included; x those with the inputs. */
static T NAME(next_state)(const recurrence *q, int64_t at, const T z[NAME(GATES)], const T x[NAME(GATES)], T *cell) {
  const T before = ((const T *)q->before)[at];
  T gate, u;
  switch (q->cell) {
  case LSTM:
    *cell = NAME(sigmoid)(x[2] + z[2]) * *cell + NAME(sigmoid)(x[0] + z[0]) * TANH(x[3] + z[3]);
    return NAME(sigmoid)(x[1] + z[1]) * TANH(*cell);
  case GRU:
    gate = q->reset_after ? NAME(sigmoid)(x[0] + z[0]) : ((const T *)q->kept)[at];
    u = TANH(x[2] + (q->reset_after ? NAME(sigmoid)(x[1] + z[1]) : 1) * z[2]);
    return (1 - gate) * u + gate * before;
  default: u = x[0] + z[0]; return !q->relu ? TANH(u) : u < 0 ? 0 : u;
  }
}

/* What becomes of state j of an entry; where that has no such step, it stays. */
static void NAME(finish_state)(const recurrence *q, int64_t entry, int64_t j, const T *products) {
  const int64_t at = entry * q->n + j, columns = q->gates * q->n;
  const T *x = (const T *)q->x + (q->t * q->batch + entry) * columns + j, *bias = (const T *)q->bias + j;
  T z[NAME(GATES)] = {0}, in[NAME(GATES)] = {0}, *cells = q->cells, cell = cells[at];
  for (int g = 0; g < q->gates; g++) z[g] = products[g] + bias[g * q->n], in[g] = x[g * q->n];
  if (q->phase == 0) {
    ((T *)q->kept)[at] = NAME(sigmoid)(in[0] + z[0]);
    ((T *)q->reset)[at] = NAME(sigmoid)(in[1] + z[1]) * ((const T *)q->before)[at];
    return;
  }
  const bool is = has_step(q, entry);
  const T next = is ? NAME(next_state)(q, at, z, in, &cell) : ((const T *)q->before)[at];
  ((T *)q->after)[at] = next;
  ((T *)q->y)[q->t * q->batch * q->n + at] = is ? next : 0;
  cells[at] = cell;
}

/* Which gates' products a phase needs: of gru's two, z and r, then h of the reset states. */
static void NAME(step)(void *arg, int64_t item, int worker) {
  const recurrence *q = arg;
  const bool two = q->cell == GRU && !q->reset_after;
  const int64_t j = item * q->width, width = min64(q->n - j, q->width), stride = q->gates * q->n,
                first = two && q->phase ? 2 : 0, last = two && !q->phase ? 2 : q->gates;
  const T *states = two && q->phase ? q->reset : q->before;
  T sums[NAME(ENTRIES)][NAME(GATES)][NAME(UNITS)];
  for (int64_t entry = 0; entry < q->batch; entry += NAME(ENTRIES)) {
    const int64_t entries = min64(q->batch - entry, NAME(ENTRIES));
    NAME(products)(states + entry * q->n, (const T *)q->r + j, q->n, stride, first, last, entries, width, sums);
    for (int64_t e = 0; e < entries; e++)
      for (int64_t i = 0; i < width; i++) {
        T z[NAME(GATES)] = {0};
        for (int64_t g = first; g < last; g++) z[g] = sums[e][g][i];
        NAME(finish_state)(q, entry + e, j + i, z);
      }
  }
}
