/* core/runtime/routine_recurrence.c - the routine `recurrence`: the loop of rnn, gru and lstm over its steps, in one
 * call (routine_recurrence_body.h), for f32 and f64. A step's states go to cores in blocks of neighbouring ones, as
 * wide as there are cores for, since each row of r then has more lines next to each other; entries of the batch go
 * together, so that a block's part of r is read once a step for several. */
#include <math.h>
#include <string.h>

#include "core/base/int_math.h"
#include "core/runtime/routine_call.h"

typedef enum recurrent_cell { RNN, GRU, LSTM } recurrent_cell;

typedef struct recurrence {
  routine_call *c;
  recurrent_cell cell;
  bool reverse, reset_after, relu;
  int64_t steps, batch, n, gates, t; /* n: states of an entry; t: the step that is computed */
  int64_t width;          /* states of an item */
  int phase;              /* gru: the second product needs all reset states */
  const void *x, *r, *bias;
  const int32_t *lengths; /* NULL: all steps */
  void *before, *after, *cells, *y; /* states */
  void *kept, *reset;     /* gru: z, and the state times the reset gate */
} recurrence;

static bool has_step(const recurrence *q, int64_t entry) { return !q->lengths || q->t < q->lengths[entry]; }

#define T float
#define NAME(x) x##_f32
#define EXP expf
#define TANH tanhf
#include "core/runtime/routine_recurrence_body.h"
#undef T
#undef NAME
#undef EXP
#undef TANH
#define T double
#define NAME(x) x##_f64
#define EXP exp
#define TANH tanh
#include "core/runtime/routine_recurrence_body.h"

static recurrence described(routine_call *c) {
  enum { X, R, BIAS, H0, C0, LENGTHS };
  const bool lengths = c->n_tensors - c->n_results > LENGTHS;
  recurrence q = {.c = c, .reverse = c->flag[0], .reset_after = c->flag[1]};
  q.cell = !strcmp(c->word[0], "gru") ? GRU : !strcmp(c->word[0], "lstm") ? LSTM : RNN;
  q.relu = !strcmp(c->word[1], "relu");
  q.steps = c->tensor[X].dims[0], q.batch = c->tensor[X].dims[1];
  q.n = c->tensor[R].dims[0], q.gates = q.cell == RNN ? 1 : q.cell == GRU ? 3 : 4;
  q.x = c->tensor[X].data, q.r = c->tensor[R].data, q.bias = c->tensor[BIAS].data;
  q.lengths = lengths ? c->tensor[LENGTHS].data : NULL;
  q.y = c->tensor[c->n_tensors - 3].data;
  q.cells = c->tensor[c->n_tensors - 1].data;
  return q;
}

/* A step that takes less isn't worth a thread. */
enum { WORTH_A_THREAD = 200000 };

/* States of an item: an even share for each core, in whole lines. */
static int64_t item_width(const routine_call *c, int64_t n, int64_t most, int64_t line) {
  const int64_t cores = c->dev && c->dev->caps.n_cores > 1 ? c->dev->caps.n_cores : 1;
  return min64(most, round_up(ceil_div(n, cores), line));
}

tsr_status routine_recurrence(routine_call *c) {
  recurrence q = described(c);
  const size_t size = tsr_dtype_size(c->type), state = (size_t)(q.batch * q.n) * size;
  void (*fn)(void *, int64_t, int) = c->type == TSR_F64 ? step_f64 : step_f32;
  if (!state) return NULL;
  q.width = item_width(c, q.n, c->type == TSR_F64 ? UNITS_f64 : UNITS_f32, (int64_t)(64 / size));
  const int64_t blocks = ceil_div(q.n, q.width);
  const bool spread = 2 * q.batch * q.n * q.n * q.gates >= WORTH_A_THREAD;
  char *scratch = al_alloc(c->al, 4 * state, 64);
  if (!scratch) return st_oom();
  q.before = scratch, q.after = scratch + state, q.kept = scratch + 2 * state, q.reset = scratch + 3 * state;
  memcpy(q.before, c->tensor[3].data, state);
  memcpy(q.cells, c->tensor[4].data, state);
  for (int64_t s = 0; s < q.steps; s++) {
    q.t = q.reverse ? q.steps - 1 - s : s;
    for (q.phase = q.cell == GRU && !q.reset_after ? 0 : 1; q.phase < 2; q.phase++)
      if (spread) routine_spread(c, fn, &q, blocks);
      else
        for (int64_t i = 0; i < blocks; i++) fn(&q, i, 0);
    void *swap = q.before;
    q.before = q.after, q.after = swap;
  }
  memcpy(c->tensor[c->n_tensors - 2].data, q.before, state);
  al_free(c->al, scratch, 4 * state, 64);
  return NULL;
}
