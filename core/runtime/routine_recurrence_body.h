/* core/runtime/routine_recurrence_body.h - a block of states of one step of a recurrence, for one element type:
 * included once each with T, NAME, EXP and TANH defined. */

typedef T NAME(vector) __attribute__((vector_size(16)));
enum { NAME(W) = 16 / sizeof(T), NAME(UNITS) = 4 * NAME(W), NAME(GATES) = 4 };

static T NAME(sigmoid)(T x) { return 1 / (1 + EXP(-x)); }

/* Two rows of h times UNITS columns of r: to = h r. */
static void NAME(two_rows)(const T *h, const T *k, const T *r, int64_t stride, int64_t n, T to[2][NAME(UNITS)]) {
  NAME(vector) s[2][4] = {{{0}}};
  for (int64_t i = 0; i < n; i++)
    for (int v = 0; v < 4; v++) {
      NAME(vector) x;
      memcpy(&x, r + i * stride + v * NAME(W), sizeof x);
      s[0][v] += x * h[i];
      s[1][v] += x * k[i];
    }
  memcpy(to, s, sizeof s);
}

/* The same for fewer columns, a column at a time. */
static void NAME(narrow_rows)(const T *h, const T *k, const T *r, int64_t stride, int64_t n, int64_t width,
                              T to[2][NAME(UNITS)]) {
  for (int64_t j = 0; j < width; j++) {
    T a = 0, b = 0;
    for (int64_t i = 0; i < n; i++) a += h[i] * r[i * stride + j], b += k[i] * r[i * stride + j];
    to[0][j] = a, to[1][j] = b;
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
  const int64_t j = item * NAME(UNITS), left = q->n - j, width = left < NAME(UNITS) ? left : NAME(UNITS),
                stride = q->gates * q->n, first = two && q->phase ? 2 : 0, last = two && !q->phase ? 2 : q->gates;
  const T *states = two && q->phase ? q->reset : q->before;
  for (int64_t entry = 0; entry < q->batch; entry += 2) {
    const bool pair = entry + 1 < q->batch;
    const T *h = states + entry * q->n, *k = pair ? h + q->n : h;
    T products[NAME(GATES)][2][NAME(UNITS)] = {{{0}}};
    for (int64_t g = first; g < last; g++) {
      const T *r = (const T *)q->r + g * q->n + j;
      if (width == NAME(UNITS)) NAME(two_rows)(h, k, r, stride, q->n, products[g]);
      else NAME(narrow_rows)(h, k, r, stride, q->n, width, products[g]);
    }
    for (int row = 0; row <= pair; row++)
      for (int64_t i = 0; i < width; i++) {
        T z[NAME(GATES)];
        for (int g = 0; g < NAME(GATES); g++) z[g] = products[g][row][i];
        NAME(finish_state)(q, entry + row, j + i, z);
      }
  }
}
