/* tests/support/random_recurrent.c - random graphs of rnn, gru and lstm: few steps and states, either direction or
 * both, lengths beyond the steps and below zero, operands left out. */
#include "tests/support/random_build.h"

static bool coin(build *b) { return rng_range(b->r, 0, 1) != 0; }

void random_recurrent(build *b) {
  static const char *const names[] = {"rnn", "gru", "lstm"}, *const ways[] = {"forward", "reverse", "bidirectional"};
  static const int gates[] = {1, 3, 4};
  static const tsr_dtype types[] = {TSR_F32, TSR_F32, TSR_F64, TSR_F16, TSR_BF16};
  const tsr_dtype t = types[rng_range(b->r, 0, 4)];
  const int cell = (int)rng_range(b->r, 0, 2), way = (int)rng_range(b->r, 0, 2);
  const bool many = rng_range(b->r, 0, 9) == 0; /* more than devices run as ops of their own */
  const int64_t d = way == 2 ? 2 : 1, steps = many ? rng_range(b->r, 65, 70) : rng_range(b->r, 0, 4),
                batch = rng_range(b->r, 1, 5), inputs = rng_range(b->r, 1, 20),
                n = many ? rng_range(b->r, 1, 3) : rng_range(b->r, 1, 40), rows = gates[cell] * n;
  const int some = (int)rng_range(b->r, 3, cell == 2 ? 7 : 6);
  tsr_value x[7], y[3];
  for (int i = 0; i < some; i++) {
    const tsr_shape shapes[] = {{3, {steps, batch, inputs}}, {3, {d, rows, inputs}}, {3, {d, rows, n}},
                                {2, {d, 2 * rows}},          {1, {batch}},           {3, {d, batch, n}},
                                {3, {d, batch, n}}};
    x[i] = input(b, i == 4 ? TSR_I32 : t, shapes[i]);
    if (i != 4) continue;
    const int32_t most = (int32_t)steps + 2;
    tsr_value bound = 0;
    if (!b->st) b->st = tsr_graph_constant(b->g, TSR_I32, (tsr_shape){.rank = 0}, &most, &bound);
    x[i] = op2(b, "rem", x[i], bound);
  }
  const tsr_attr reset = TSR_BOOLEAN("linear_before_reset", coin(b)),
                 activation = TSR_STRING("activation", coin(b) ? "relu" : "tanh"),
                 a[2] = {TSR_STRING("direction", ways[way]), cell == 1 ? reset : activation};
  if (!b->st) b->st = tsr_graph_op_results(b->g, names[cell], x, some, a, cell == 2 ? 1 : 2, y, cell == 2 ? 3 : 2);
  say(b, " %s %s", names[cell], ways[way]);
  for (int i = 0; i < (cell == 2 ? 3 : 2); i++) output(b, y[i]);
}
