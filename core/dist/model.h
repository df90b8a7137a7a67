/* core/dist/model.h - what a training step of a transformer costs on a mesh with the axes tp (tensor and sequence), pp
 * (pipeline) and dp (data), any of which may be missing: work and bytes of each layer from its dimensions, collectives
 * by core/coll's planner, the pipeline played through, memory of a rank. */
#ifndef CORE_DIST_MODEL_H
#define CORE_DIST_MODEL_H
#include "core/dist/machine.h"
#include "core/dist/pipeline.h"

typedef struct dist_model {
  const char *name, *source;
  int64_t layers, width, heads, kv_heads, hidden, vocab, tokens; /* tokens: of one sequence */
  bool gated;                                                    /* three matrices in the feed-forward part */
} dist_model;

/* The i-th row; NULL past the last. */
const dist_model *dist_model_at(int i);
/* By a row's name, or "layers=4,width=512,heads=8,hidden=2048,vocab=256,tokens=128" (kv_heads as heads, not gated,
 * unless given). False with a sentence. */
bool dist_model_find(const char *text, dist_model *out, const char **why);
/* Weights in all. */
double dist_model_parameters(const dist_model *m);

typedef struct dist_training {
  dist_pipeline_kind schedule;
  int chunks;           /* of an interleaved stage; else 1 */
  int64_t batch;        /* sequences of a step over all ranks; 0: microbatches decide */
  int64_t microbatches; /* of each rank; 0: batch / dp, or twice the depth */
  int zero;             /* 1: the optimiser's state is cut along dp; 2: gradients too; 3: weights too */
} dist_training;

typedef struct dist_step_plan {
  int64_t tp, pp, dp, microbatches;
  double us, compute_us, tp_us, pp_us, dp_us, dp_exposed_us; /* of a step, on the busiest rank */
  dist_pipelined pipeline;
  double weights, gradients, optimiser, activations, memory; /* bytes of a rank; memory: the sum */
  double layer_us, layer_comm_us;                            /* one layer's forward pass of a microbatch */
  const char *tp_algorithm, *dp_algorithm;                   /* of the reduce_scatters */
  double tp_bytes, dp_bytes;                                 /* vectors of these */
  double mfu; /* operations of the model over those of all devices' peaks */
  double tokens_per_s;
  bool fits;
} dist_step_plan;

/* The pipeline's tasks are in the arena. */
TSR_MUST_USE tsr_status dist_model_plan(arena *a, const dist_model *m, const dist_mesh *mesh,
                                        const dist_machine *machine, const dist_training *t, dist_step_plan *out);

typedef struct dist_candidate {
  dist_mesh mesh;
  dist_training training;
  dist_step_plan plan;
} dist_candidate;
/* All ways to cut `ranks` into tp, pp and dp and all schedules, fastest first; those that don't fit into memory last.
 * Returns how many of `most` were found. batch as in t. */
TSR_MUST_USE tsr_status dist_model_search(arena *a, const dist_model *m, int64_t ranks, const dist_machine *machine,
                                          const dist_training *t, dist_candidate *best, int most, int *n, int *tried);
#endif
