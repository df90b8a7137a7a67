/* tools/tessera/plan.h - what `tessera plan` shares among collectives, programs and models. */
#ifndef TOOLS_TESSERA_PLAN_H
#define TOOLS_TESSERA_PLAN_H
#include "core/dist/machine.h"
#include "core/dist/model.h"
#include "tools/tessera/cli.h"

/* Options of programs and models; NULL and CLI_NOT_GIVEN: not given. */
typedef struct plan_request {
  const char *what, *mesh, *topology, *schedule, *html, *trace;
  long ranks, microbatches, chunks, batch, zero;
  bool search, json;
} plan_request;

/* One bar of a timeline: a stage or stream, what it does, when (us). */
typedef struct plan_bar {
  int lane;
  const char *kind; /* "forward", "backward", "weights", "compute", "comm" */
  char label[48];
  double from, to;
} plan_bar;

typedef struct plan_timeline {
  const char *title, *lane_name; /* "stage", "stream" */
  const plan_bar *bars;
  int n_bars, n_lanes;
} plan_timeline;

/* Writes the page and the trace that were asked for. An exit status. */
int plan_write_timeline(const plan_request *q, const plan_timeline *t);

/* Links and devices of q->topology, a row's name or a file's. */
int plan_machine(const plan_request *q, arena *a, dist_machine *out);
void plan_print_machine(const dist_machine *m);
void plan_json_machine(const dist_machine *m);
/* The pipeline of q: kind, chunks, microbatches for so many stages, with a warning where they are fewer. */
int plan_training(const plan_request *q, int64_t stages, dist_training *out);

int plan_model(const plan_request *q, const dist_model *m);
int plan_program(const plan_request *q);
#endif
