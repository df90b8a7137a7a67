/* examples/charlm/charlm.h - a byte-level transformer, trained on the public C interface alone: what its files share.
 *   main.c        the command, the loop over steps
 *   model.c       the graph of the loss
 *   train.c       the two programs of a step, their buffers, parameters and state
 *   data.c        the text, and which bytes are in a batch
 *   checkpoint.c  the state in a file, replaced at once
 *   report.c      progress bar, CSV, HTML page with the curve */
#ifndef EXAMPLES_CHARLM_H
#define EXAMPLES_CHARLM_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <tessera/transform.h>

/* A failed call ends the program with its message. */
void check(tsr_status s);
void fail(const char *fmt, ...);

/* What a run is determined by; a checkpoint has it too. */
typedef struct config {
  int32_t batch, length, width, heads, layers; /* a batch of `length` bytes each; layers of `heads` heads */
  int32_t seed, warmup, mode;
  int32_t half, growth; /* half: 16-bit operands are f16, not bf16; growth: good steps until the loss's scale grows */
  float rate, dropout, clip, scale; /* scale: of the loss at first; 0: it isn't scaled */
} config;

enum { MODE_SAFE, MODE_STANDARD, MODE_AGGRESSIVE, MODE_DETERMINISTIC, N_MODES };
extern const char *const mode_names[N_MODES];

enum { SYMBOLS = 256, MAX_LAYERS = 4, MAX_PARAMETERS = 4 + 12 * MAX_LAYERS };

/* ---- model.c ----------------------------------------------------------------------------------------------------- */

typedef struct parameter {
  char name[24];
  tsr_shape shape;
  int64_t n;    /* elements */
  float spread; /* of the first values: 0 about 0, 1 ones */
  bool ones;
} parameter;

typedef struct model {
  parameter p[MAX_PARAMETERS];
  int n;
  tsr_value values[MAX_PARAMETERS]; /* inputs of `loss`, in order behind the others */
  tsr_graph *loss;                  /* inputs: tokens i32 [batch, length], targets i32 [batch * length], key i32 [2],
                                       counters i32 [4 a dropout], parameters; output: the loss */
} model;
enum { INPUT_TOKENS, INPUT_TARGETS, INPUT_KEY, INPUT_COUNTERS, INPUT_PARAMETERS };

void model_build(tsr_context *ctx, const config *c, model *out);

/* ---- train.c ----------------------------------------------------------------------------------------------------- */

typedef struct trainer trainer;
/* Compiles for the device; the parameters are those of step 0. memory: bytes of the gradients' temporaries, 0: any
 * number. */
trainer *trainer_create(tsr_context *ctx, tsr_device *dev, const config *c, int64_t memory);
void trainer_destroy(trainer **t);
typedef struct outcome { float loss, norm, rate, scale; } outcome; /* norm: of the gradients, without the scale */
/* Step number `step`, from 1 on. */
outcome trainer_step(trainer *t, int step, const int32_t *tokens, const int32_t *targets);
/* Parameters, both moments, the scale and how long it has held: as bytes of the host. */
size_t trainer_state_bytes(const trainer *t);
void trainer_get_state(const trainer *t, float *out);
void trainer_set_state(trainer *t, const float *state);
int64_t trainer_n_parameters(const trainer *t);
int trainer_n_kernels(const trainer *t);

/* ---- data.c ------------------------------------------------------------------------------------------------------ */

typedef struct text {
  unsigned char *bytes;
  size_t n;
} text;
/* A file, or all plain files of a folder in the order of their names. */
void text_read(const char *path, text *out);
/* 64 bits that depend on all four: the same for every run. */
uint64_t hash(uint64_t seed, uint64_t a, uint64_t b);
/* The batch of a step: bytes, and for each the one that follows. */
void text_batch(const text *x, const config *c, int step, int32_t *tokens, int32_t *targets);

/* ---- checkpoint.c ------------------------------------------------------------------------------------------------ */

/* What happened so far: a row a step. */
typedef struct history {
  outcome *rows;
  int n;
} history;
/* The file is the old one or the new one, whatever happens meanwhile. */
void checkpoint_write(const char *path, const config *c, const history *h, const trainer *t);
/* False where there is no such file. A file of another configuration ends the program. */
bool checkpoint_read(const char *path, const config *c, history *h, trainer *t);

/* ---- report.c ---------------------------------------------------------------------------------------------------- */

void progress(int step, int steps, const outcome *o, double seconds, int64_t bytes);
void write_csv(const char *path, const history *h);
void write_html(const char *path, const config *c, const history *h, const char *device, int64_t n_parameters);
#endif
