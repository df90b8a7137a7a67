/* examples/charlm/train.h - what a trainer consists of: for train.c, which runs its steps, and state.c, which takes its
 * state out and in. */
#ifndef EXAMPLES_CHARLM_TRAIN_H
#define EXAMPLES_CHARLM_TRAIN_H
#include "charlm.h"

enum { STATES = 3 }; /* parameters, first and second moments */

/* Of a chunk of a stage's layers: one, but for interleaved stages. */
struct trainer {
  config c;
  model m;
  const place *stage; /* the stage's */
  place chunk;        /* the same, `s` being the chunk's place among the chunks of all stages */
  const place *at;    /* chunk */
  trainer *next;      /* the stage's next chunk; NULL: there is none */
  /* split: the input's gradient, which the stage before waits for, by a program of its own. */
  program forward, input_gradient, gradients, add, squares, update;
  bool split;
  tsr_pipeline *pipeline; /* of the first chunk; NULL: one stage */
  tensor x, y, key, counters, rate, step, scaled, loss, squares_of, all_squares, norm;
  tensor scale[2], held[2]; /* of the loss; steps since it changed */
  tensor state[2][STATES][MAX_PARAMETERS], grad[MAX_PARAMETERS];
  tensor zero[MAX_PARAMETERS], sum[2][MAX_PARAMETERS]; /* of several microbatches: what their gradients are added to */
  int now;   /* which set is current */
  int n_sum; /* microbatches that sum[n_sum % 2] has */
  int number; /* of the step */
  const int32_t *tokens, *targets;
  float mean; /* of the microbatches' losses so far */
};

/* state.c: what a run begins with, as trainer_get_state has it. */
void trainer_first_values(const trainer *t, float *state);
#endif
