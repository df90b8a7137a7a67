/* examples/charlm/charlm.h - a byte-level transformer, trained on the public C interface alone: what its files share.
 *   main.c        the command, the loop over steps
 *   model.c       the graph of the loss
 *   place.c       where it runs: a device, or the ranks of a mesh, threads or processes
 *   train.c       the programs of a step and their tensors; train.h what a trainer consists of
 *   state.c       parameters and moments: at first, whole, and in parts
 *   data.c        the text, and which bytes are in a batch
 *   checkpoint.c  the state in a file, replaced at once
 *   report.c      progress bar, CSV, HTML page with the curve */
#ifndef EXAMPLES_CHARLM_H
#define EXAMPLES_CHARLM_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <tessera/coll.h>
#include <tessera/dist.h>
#include <tessera/transform.h>

/* A failed call ends the program with its message. */
void check(tsr_status s);
void fail(const char *fmt, ...);

/* What a run is determined by; a checkpoint has it too. */
typedef struct config {
  int32_t batch, length, width, heads, layers; /* a batch of `length` bytes each; layers of `heads` heads */
  int32_t seed, warmup, mode, microbatches; /* that a batch is cut into */
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
  float spread; /* of the first values */
  bool ones;
  const char *cut; /* tensor parallel: the part of tsr_shardspec that axis tp cuts; NULL: none */
  int number;      /* among those of all stages */
  int layer;       /* -1: of none */
} parameter;

/* A stage of a pipeline has some of the layers, the first one the embedding, the last one the head; without a pipeline
 * there is one stage. */
typedef struct stage { int number, of; } stage;
static inline bool stage_is_first(stage s) { return s.number == 0; }
static inline bool stage_is_last(stage s) { return s.number + 1 == s.of; }

typedef struct model {
  parameter p[MAX_PARAMETERS];
  int n;
  /* Inputs of both graphs: x, of the first stage tokens i32 [batch, length], else activations f32 [batch, length,
   * width]; y, of the last stage targets i32 [batch * length], else the gradient of its activations; key i32 [2],
   * counters i32 [4 a dropout], scale f32, parameters. */
  tsr_value values[MAX_PARAMETERS + 1]; /* the parameters, and x: the same in both */
  tsr_graph *loss;    /* differentiated: the loss times the scale, then the loss; else activations times y, summed */
  tsr_graph *forward; /* activations; NULL: the last stage has none */
} model;
enum { INPUT_X, INPUT_Y, INPUT_KEY, INPUT_COUNTERS, INPUT_SCALE, INPUT_PARAMETERS };

/* Of one microbatch. */
void model_build(tsr_context *ctx, const config *c, stage s, model *out);
int model_n_parameters(const config *c); /* of all stages */

/* ---- place.c ----------------------------------------------------------------------------------------------------- */

/* What the command line says of it. */
typedef struct placement {
  const char *device, *mesh, *transport; /* mesh: "tp=2,dp=2,pp=2" or NULL; transport: "mpi", NULL: ranks are threads */
  const char *plan; /* a folder for the programs' graphs, or NULL */
  tsr_team *stages; /* of threads: the one team of all stages; NULL: no pipeline, or of processes */
  stage s;          /* of threads: the caller's */
} placement;
/* The size of axis pp, 1 without one. */
int placement_stages(const placement *p);

typedef struct place {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_mesh *mesh;          /* the stage's, its axes tp and dp; NULL: the device alone */
  tsr_team *all, *of_mesh; /* processes: all, those of the stage */
  tsr_team *pipe;          /* this place in each stage; NULL: there is one */
  stage s;
  bool speaks; /* of several processes or stages one does */
  const char *plan;
} place;
place place_open(const placement *p);
void place_close(place *p);
int64_t place_ranks(const place *p); /* of all stages */
/* All processes and stages have come here. */
void place_meet(const place *p);
/* v[n] becomes the sum of all stages' v: each has zeros where others have values. */
void place_collect(const place *p, float *v, int n);

/* A tensor, whole as the host sees it; on a mesh all processes read it together. */
typedef struct tensor {
  tsr_buffer *buffer;
  tsr_dist_tensor *spread; /* on a mesh */
  size_t bytes;
} tensor;
tensor tensor_new(const place *p, int64_t elements); /* of 4 bytes; not on a mesh */
void tensor_free(tensor *t);
void tensor_write(const tensor *t, const void *from);
void tensor_read(const tensor *t, void *to);

/* A tensor of a checkpoint. */
typedef struct entry {
  char name[40];
  tsr_dtype dtype;
  tsr_shape shape;
  const tensor *t;
} entry;
/* In a folder, each rank of the mesh its part; they are read on any mesh, and on one device. */
void entries_save(const char *folder, const entry *e, int n);
void entries_load(const place *p, const char *folder, const entry *e, int n);

typedef struct program {
  tsr_program *one;
  tsr_dist_program *spread;
} program;
/* name: of the file in the place's folder for plans. */
program program_compile(const place *p, const tsr_graph *g, const tsr_compile_options *o, const char *name);
void program_free(program *p);
/* On a mesh a new tensor that lies as the program has it, else one of that size. */
tensor program_input(const place *at, const program *p, int i);
tensor program_output(const place *at, const program *p, int i);
void program_run(const program *p, const tensor *in, int n_in, const tensor *out, int n_out);

/* ---- train.c ----------------------------------------------------------------------------------------------------- */

typedef struct trainer trainer;
/* Compiles for the device; the parameters are those of step 0. memory: bytes of the gradients' temporaries, 0: any
 * number. chunks: of the stage's layers, which its schedule interleaves. */
trainer *trainer_create(const place *at, const config *c, int64_t memory, const char *schedule, int chunks);
void trainer_destroy(trainer **t);
typedef struct outcome { float loss, norm, rate, scale; } outcome; /* norm: of the gradients, without the scale */
/* Step number `step`, from 1 on. */
outcome trainer_step(trainer *t, int step, const int32_t *tokens, const int32_t *targets);
/* Of one stage and device. Parameters, both moments, the scale and how long it has held: as bytes of the host. */
size_t trainer_state_bytes(const trainer *t);
void trainer_get_state(const trainer *t, float *out);
void trainer_set_state(trainer *t, const float *state);
/* The same in parts: on a mesh. A folder for each layer, so that other stages find theirs; one device loads it, too. */
void trainer_save(const trainer *t, const char *folder);
void trainer_load(trainer *t, const char *folder);
const place *trainer_place(const trainer *t);
int64_t trainer_n_parameters(const trainer *t); /* of the stage */
/* Bytes that a rank of the stage has sent in collectives so far; 0 on one device. */
int64_t trainer_sent(const trainer *t);
/* "14 kernels", or "9 collectives" of a mesh. */
void trainer_describe(const trainer *t, char *text, size_t cap);

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
/* The file is the old one or the new one, whatever happens meanwhile. A mesh's state is in parts in a folder beside it,
 * PATH.STEP. */
void checkpoint_write(const char *path, const config *c, const history *h, const trainer *t);
/* False where there is no such file. A file of another configuration ends the program; of another mesh it is read. */
bool checkpoint_read(const char *path, const config *c, history *h, trainer *t);

/* ---- report.c ---------------------------------------------------------------------------------------------------- */

void progress(int step, int steps, const outcome *o, double seconds, int64_t bytes);
void write_csv(const char *path, const history *h);
void write_html(const char *path, const config *c, const history *h, const char *device, int64_t n_parameters);
#endif
