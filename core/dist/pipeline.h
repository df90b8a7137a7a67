/* core/dist/pipeline.h - pipeline parallelism played through: stages that each hold a part of the layers, microbatches
 * that go forward through all and backward again, in the order of one of four schedules. */
#ifndef CORE_DIST_PIPELINE_H
#define CORE_DIST_PIPELINE_H
#include "core/base/arena.h"
#include "core/base/status.h"

typedef enum dist_pipeline_kind {
  PIPELINE_GPIPE,       /* all forward, then all backward */
  PIPELINE_1F1B,        /* one forward, one backward, as soon as that can be */
  PIPELINE_INTERLEAVED, /* the same, each stage holding `chunks` parts that lie apart */
  PIPELINE_ZERO_BUBBLE, /* 1F1B with the weights' gradients put off to where a stage would be idle (ZB-H1) */
  N_PIPELINES
} dist_pipeline_kind;

typedef struct dist_pipeline_row {
  const char *name, *help;
} dist_pipeline_row;
const dist_pipeline_row *dist_pipeline_get(dist_pipeline_kind k);
/* N_PIPELINES: unknown. */
dist_pipeline_kind dist_pipeline_named(const char *name);

typedef struct dist_pipeline {
  dist_pipeline_kind kind;
  int stages, microbatches, chunks;       /* chunks: of interleaved, else 1 */
  const double *forward_us, *backward_us; /* by stage: of one microbatch through all of its chunks */
  double send_us;                         /* from a stage to the next, beside what the stages do */
} dist_pipeline;

typedef enum dist_task_kind { TASK_FORWARD, TASK_BACKWARD, TASK_WEIGHTS } dist_task_kind;
typedef struct dist_task {
  dist_task_kind kind;
  int stage, chunk, microbatch;
  double from, to; /* us */
} dist_task;

typedef struct dist_pipelined {
  double us, busy_us; /* the busiest stage's work */
  double idle_share;  /* of the busiest stage */
  double overhead;    /* us / busy_us - 1 */
  int peak_live;      /* microbatches (chunks of them, of interleaved) whose activations a stage holds at once */
  dist_task *tasks;   /* in the arena, in order of their ends on each stage */
  int n_tasks;
} dist_pipelined;

enum { PIPELINE_MOST_STAGES = 1024, PIPELINE_MOST_TASKS = 1 << 22 };

/* TSR_INVALID_ARGUMENT for what can't be: interleaved needs microbatches that are a multiple of the stages. */
TSR_MUST_USE tsr_status dist_pipeline_run(arena *a, const dist_pipeline *p, dist_pipelined *out);
#endif
