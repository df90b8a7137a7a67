/* core/runtime/profile_beside.c - a program profiled as an application feeds it whose data comes from the host: while
 * it runs on one set of operands, another stream copies the next inputs to a second set, and the last results back. */
#include "core/runtime/internal.h"
#include "core/runtime/profile.h"

enum { SETS = 2 };

/* Inputs before results. */
typedef struct beside {
  tsr_program *p;
  tsr_profile *prof;
  tsr_stream *copies;
  tsr_event *copied[SETS]; /* the set's inputs are there, its results are away */
  tsr_binding *set[SETS], *host;
  int n_in, n;
} beside;

static tsr_tensor_info info_of(const beside *b, int i) {
  return i < b->n_in ? tsr_program_input(b->p, i) : tsr_program_output(b->p, i - b->n_in);
}

static tsr_status make(beside *b, const tsr_binding *in, const tsr_binding *out) {
  tsr_context *ctx = b->p->ctx;
  tsr_device *dev = b->p->dev;
  for (int s = 0; s < SETS + 1; s++) {
    tsr_binding **v = s < SETS ? &b->set[s] : &b->host;
    if (!(*v = al_zalloc(&ctx->al, (size_t)(b->n + 1) * sizeof **v))) return st_oom();
    for (int i = 0; i < b->n; i++) {
      if (!s) (*v)[i] = i < b->n_in ? in[i] : out[i - b->n_in];
      else
        TSR_TRY(tsr_buffer_create(dev, info_of(b, i).bytes, s < SETS ? TSR_MEMORY_DEVICE : TSR_MEMORY_HOST,
                                  &(*v)[i].buffer));
    }
  }
  TSR_TRY(tsr_stream_create(dev, 0, &b->copies));
  for (int s = 0; s < SETS; s++) TSR_TRY(tsr_event_create(dev, &b->copied[s]));
  return NULL;
}

static void drop(beside *b) {
  tsr_context *ctx = b->p->ctx;
  for (int s = 0; s < SETS; s++) tsr_event_destroy(&b->copied[s]);
  tsr_stream_destroy(&b->copies);
  for (int s = 0; s < SETS + 1; s++) {
    tsr_binding *v = s < SETS ? b->set[s] : b->host;
    for (int i = 0; v && s && i < b->n; i++) tsr_buffer_destroy(&v[i].buffer); /* the first set is the caller's */
    if (v) al_free(&ctx->al, v, (size_t)(b->n + 1) * sizeof *v, 16);
  }
}

/* Where the profile notes nothing, as before the first step, the copies are the same. */
static tsr_status copy(beside *b, bool noted, tsr_binding to, tsr_binding from, size_t bytes) {
  return noted ? tsr_profile_copy(b->prof, b->copies, to.buffer, to.offset, from.buffer, from.offset, bytes)
               : tsr_stream_copy(b->copies, to.buffer, to.offset, from.buffer, from.offset, bytes);
}

static tsr_status feed(beside *b, bool noted, int set) {
  for (int i = 0; i < b->n; i++) {
    tsr_binding here = b->set[set][i], there = b->host[i];
    const bool input = i < b->n_in;
    TSR_TRY(copy(b, noted, input ? here : there, input ? there : here, info_of(b, i).bytes));
  }
  return tsr_event_record(b->copied[set], b->copies);
}

static tsr_status run(beside *b, int steps) {
  for (int i = 0; i < b->n_in; i++) TSR_TRY(copy(b, false, b->host[i], b->set[0][i], info_of(b, i).bytes));
  for (int s = SETS; s-- > 0;) TSR_TRY(feed(b, false, s)); /* the first set's inputs come back to where they were */
  TSR_TRY(tsr_stream_sync(b->copies, -1));
  for (int i = 0; i < steps; i++) {
    tsr_stream *s = rt_stream(b->p->dev, NULL);
    const int now = i % SETS;
    TSR_TRY(tsr_stream_wait(s, b->copied[now]));
    TSR_TRY(feed(b, true, !now)); /* its step is over: tsr_profile_step waits */
    TSR_TRY(tsr_profile_step(b->prof, b->p, s, b->set[now], b->set[now] + b->n_in));
  }
  return tsr_stream_sync(b->copies, -1);
}

tsr_status rt_profile_steps_beside(tsr_profile *prof, tsr_program *p, const tsr_binding *in, const tsr_binding *out,
                                   int steps) {
  beside b = {.p = p, .prof = prof, .n_in = tsr_program_n_inputs(p)};
  b.n = b.n_in + tsr_program_n_outputs(p);
  tsr_status st = make(&b, in, out);
  if (!st) st = run(&b, steps);
  drop(&b);
  return st;
}
