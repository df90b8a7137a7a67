/* Pipelines whose stages are threads: what reaches each stage, in which order, by every schedule, on meshes of several
 * ranks; stages that disagree, that fail, and what can't be. In the row of all stages' chunks number s multiplies by
 * s + 2 forward, and backward adds the product of what it kept and its number to the gradient: what one device has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/coll.h"
#include "tests/support/dist_rig.h"

enum { MOST_STAGES = 5, ELEMENTS = 7, MOST_TASKS = 128 };

typedef struct stage_run {
  dist_rig rig;
  tsr_team *team;
  int stage, stages, microbatches, chunks, fails_at, n, elements;
  const char *schedule, *mesh;
  int done[MOST_TASKS]; /* number of the microbatch and chunk + 1 forward, its negative backward */
  int weights;          /* gradients of weights, in the order of the backward tasks */
  bool put_off;         /* one of them came behind the next backward task */
  bool wrong;
  tsr_status st;
  pthread_t thread;
} stage_run;

/* What goes from stage to stage in this microbatch, and comes back. */
static double activation(int stage, int microbatch, int i) {
  double x = 1 + microbatch + 0.25 * i;
  for (int s = 0; s < stage; s++) x *= s + 2;
  return x;
}
static double gradient(int stage, int stages, int microbatch, int i) { /* of the stage's input */
  double x = 0;
  for (int s = stages - 1; s >= stage; s--) x += activation(s, microbatch, i) * s;
  return x;
}

static void put(stage_run *r, tsr_dist_tensor *t, double (*value)(int, int, int), int stage, int microbatch) {
  float v[ELEMENTS];
  for (int i = 0; i < r->elements; i++) v[i] = (float)value(stage, microbatch, i);
  tsr_status st = tsr_dist_tensor_scatter(t, v);
  if (st) r->wrong = true, tsr_status_free(st);
}

static void expect(stage_run *r, tsr_dist_tensor *t, bool back, int stage, int microbatch) {
  float v[ELEMENTS];
  tsr_status st = tsr_dist_tensor_gather(t, v);
  for (int i = 0; i < r->elements && !st; i++)
    r->wrong |= v[i] != (float)(back ? gradient(stage, r->stages * r->chunks, microbatch, i)
                                     : activation(stage, microbatch, i));
  if (st) r->wrong = true, tsr_status_free(st);
}

static int stages_now;
static double gradient_now(int stage, int microbatch, int i) { return gradient(stage, stages_now, microbatch, i); }

static tsr_status work(void *user, const tsr_pipeline_step *s) {
  stage_run *r = user;
  const int at = s->chunk * r->stages + r->stage;
  const bool forward = s->task == TSR_PIPELINE_FORWARD, first = !at, last = at + 1 == r->stages * r->chunks;
  const bool weights = s->task == TSR_PIPELINE_WEIGHTS;
  if (r->n == r->fails_at) return tsr_dist_tensor_part(s->in ? s->in : s->out, -1, NULL, NULL, NULL);
  const int number = s->chunk * r->microbatches + s->microbatch + 1;
  r->wrong |= s->chunk < 0 || s->chunk >= r->chunks;
  if (weights) r->wrong |= s->out || s->microbatch != r->weights++;
  else r->done[r->n++] = forward ? number : -number;
  int backward = 0;
  for (int i = 0; i < r->n; i++) backward += r->done[i] < 0;
  r->put_off |= !weights && backward > r->weights + 1;
  r->wrong |= (s->in != NULL) == (forward ? first : last);
  r->wrong |= !weights && (s->out != NULL) == (forward ? last : first);
  r->wrong |= (s->kept != NULL) == (forward || first);
  if (s->in) expect(r, s->in, !forward, forward ? at : at + 1, s->microbatch);
  if (s->kept) expect(r, s->kept, false, at, s->microbatch);
  if (s->out) put(r, s->out, forward ? activation : gradient_now, forward ? at + 1 : at, s->microbatch);
  return NULL;
}

static void *stage_main(void *user) {
  stage_run *r = user;
  static const char *const row[] = {"0"}, *const axis[] = {"dp"};
  const tsr_shardspec cut = {.partition = row, .mesh_axes = axis, .n = 1};
  tsr_dist_tensor *like = NULL;
  tsr_pipeline *p = NULL;
  rig_open(&r->rig);
  tsr_mesh *m = rig_mesh(&r->rig, r->mesh, 2);
  r->st = tsr_dist_tensor_create(m, TSR_F32, (tsr_shape){1, {r->elements}}, &cut, TSR_UNEVEN_PAD, &like);
  const tsr_pipeline_desc d = {.team = r->team, .stage = r->stage, .schedule = r->schedule,
                               .microbatches = r->microbatches, .chunks = r->chunks,
                               .input = r->stage || r->chunks > 1 ? like : NULL,
                               .output = r->stage + 1 < r->stages || r->chunks > 1 ? like : NULL};
  if (!r->st) r->st = tsr_pipeline_create(r->rig.ctx, &d, &p);
  for (int twice = 0; twice < 2 && !r->st; twice++) r->n = r->weights = 0, r->st = tsr_pipeline_run(p, work, r);
  if (p && r->st) {
    tsr_status again = tsr_pipeline_run(p, work, r);
    r->wrong |= !again || !strstr(tsr_status_message(again), "make it anew");
    tsr_status_free(again);
  }
  tsr_pipeline_destroy(&p);
  tsr_dist_tensor_destroy(&like);
  tsr_mesh_destroy(&m);
  rig_close(&r->rig);
  return NULL;
}

/* All stages at once; `change` may make one of them differ. */
static int chunks_now = 1;
static void run_all(stage_run *r, int stages, const char *schedule, int microbatches, const char *mesh,
                    void (*change)(stage_run *)) {
  tsr_team *team;
  assert_null(tsr_team_create(&(tsr_team_desc){.n_ranks = stages, .deadline_ms = 20000}, &team));
  stages_now = stages * chunks_now;
  for (int s = 0; s < stages; s++) {
    r[s] = (stage_run){.team = team, .stage = s, .stages = stages, .schedule = schedule, .microbatches = microbatches,
                       .chunks = chunks_now, .mesh = mesh, .fails_at = -1, .elements = ELEMENTS};
    if (change) change(&r[s]);
    assert_int_equal(pthread_create(&r[s].thread, NULL, stage_main, &r[s]), 0);
  }
  for (int s = 0; s < stages; s++) pthread_join(r[s].thread, NULL);
  tsr_team_destroy(&team);
}

static void every_microbatch_goes_through_all_stages_and_back(void **state) {
  static const char *const schedules[] = {NULL, "gpipe", "1f1b"}, *const meshes[] = {"dp=1", "dp=3"};
  static const int stages[] = {1, 2, 3, 5}, microbatches[] = {1, 2, 5, 0};
  stage_run r[MOST_STAGES];
  for (int i = 0; i < 3 * 4 * 4; i++) {
    const int n = stages[i / 3 % 4], m = microbatches[i / 12], all = m ? m : 2 * n;
    run_all(r, n, schedules[i % 3], m, meshes[i % 2], NULL);
    for (int s = 0; s < n; s++) {
      if (r[s].st) print_error("%s\n", tsr_status_message(r[s].st));
      assert_null(r[s].st);
      assert_false(r[s].wrong);
      assert_int_equal(r[s].n, 2 * all);
      int forward = 0, back = 0, most = 0;
      for (int k = 0; k < r[s].n; k++) {
        if (r[s].done[k] > 0) assert_int_equal(r[s].done[k], ++forward);
        else assert_int_equal(r[s].done[k], -++back);
        if (forward - back > most) most = forward - back;
      }
      const int ahead = i % 3 == 1 ? all : n - s; /* 1f1b: no more than there are stages from here on */
      assert_int_equal(most, ahead < all ? ahead : all);
    }
  }
}

/* Weights' gradients are put off, and no stage holds more than 1f1b's first. */
static void weights_gradients_come_where_a_stage_is_idle(void **state) {
  static const int stages[] = {1, 2, 3, 5}, microbatches[] = {1, 4, 9};
  stage_run r[MOST_STAGES];
  int put_off = 0;
  for (int i = 0; i < 4 * 3; i++) {
    const int n = stages[i % 4], m = microbatches[i / 4];
    run_all(r, n, "zero_bubble", m, i % 2 ? "dp=2" : "dp=1", NULL);
    for (int s = 0; s < n; s++) {
      if (r[s].st) print_error("%s\n", tsr_status_message(r[s].st));
      assert_null(r[s].st);
      assert_false(r[s].wrong);
      assert_int_equal(r[s].n, 2 * m);
      assert_int_equal(r[s].weights, m);
    }
    if (n > 1 && m > 1) put_off += r[0].put_off || r[n - 1].put_off;
  }
  assert_true(put_off > 0);
}

/* Every chunk of every microbatch, each stage's chunks apart: from the last stage on to the first one's next chunk. */
static void interleaved_stages_hand_on_from_the_last_to_the_first(void **state) {
  static const int stages[] = {2, 3, 5}, chunks[] = {2, 3}, times[] = {1, 2};
  stage_run r[MOST_STAGES];
  for (int i = 0; i < 3 * 2 * 2; i++) {
    const int n = stages[i % 3], m = n * times[i / 6];
    chunks_now = chunks[i / 3 % 2];
    run_all(r, n, "interleaved", m, i % 2 ? "dp=2" : "dp=1", NULL);
    for (int s = 0; s < n; s++) {
      bool forward[MOST_TASKS] = {false}, back[MOST_TASKS] = {false};
      if (r[s].st) print_error("%s\n", tsr_status_message(r[s].st));
      assert_null(r[s].st);
      assert_false(r[s].wrong);
      assert_int_equal(r[s].n, 2 * m * chunks_now);
      for (int k = 0; k < r[s].n; k++) {
        const int d = r[s].done[k];
        if (d < 0) assert_true(forward[-d] && !back[-d]);
        else assert_false(forward[d]);
        (d < 0 ? back : forward)[d < 0 ? -d : d] = true;
      }
    }
  }
  chunks_now = 1;
}

static void other_chunks(stage_run *r) { if (r->stage == 1) r->chunks = 3; }
static void other_schedule(stage_run *r) { if (r->stage == 1) r->schedule = "gpipe"; }
static void other_count(stage_run *r) { if (r->stage == 2) r->microbatches = 7; }
static void other_shape(stage_run *r) { if (r->stage == 1) r->elements = 5; }
static void other_mesh(stage_run *r) { if (r->stage == 2) r->mesh = "dp=2"; }
static void third_task_fails(stage_run *r) { if (r->stage == 1) r->fails_at = 2; }

static void stages_that_disagree_or_fail_end_all(void **state) {
  static const struct { void (*change)(stage_run *); const char *says; int own; } cases[] = {
      {other_schedule, "stage 0 has 4 microbatches by 1f1b, stage 1 4 by gpipe", -1},
      {other_count, "stage 1 has 4 microbatches by 1f1b, stage 2 7 by 1f1b", -1},
      {other_shape, "stage 0 sends 28 bytes a rank, of 1 ranks, stage 1 takes 20 of 1", -1},
      {other_mesh, "stage 1 sends 28 bytes a rank, of 1 ranks, stage 2 takes 16 of 2", -1},
      {third_task_fails, "rank -1 of 1", 1}};
  stage_run r[3];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    run_all(r, 3, "1f1b", 4, "dp=1", cases[i].change);
    for (int s = 0; s < 3; s++) {
      assert_true(rig_says(r[s].st, cases[i].says));
      assert_false(r[s].wrong);
    }
  }
}

static void stages_with_other_chunks_are_told(void **state) {
  stage_run r[2];
  chunks_now = 2;
  run_all(r, 2, "interleaved", 4, "dp=1", other_chunks);
  for (int s = 0; s < 2; s++) assert_true(rig_says(r[s].st, "stage 0 has 2 chunks, stage 1 3"));
  chunks_now = 1;
}

/* Who doesn't come is named, with what was waited for. */
static void never(stage_run *r) { if (r->stage == 0) r->fails_at = 0; }
static void an_error_says_stage_direction_and_microbatch(void **state) {
  stage_run r[2];
  run_all(r, 2, NULL, 2, "dp=1", never);
  assert_true(rig_says(r[1].st, "stage 1, the activations of microbatch 0 from stage 0: "));
  tsr_status_free(r[0].st);
}

static void what_can_not_be_is_refused_and_few_microbatches_warned_of(void **state) {
  dist_rig rig;
  tsr_team *team;
  tsr_pipeline *p;
  char *text;
  rig_open(&rig);
  assert_null(tsr_team_create(&(tsr_team_desc){.n_ranks = 1}, &team));
  tsr_pipeline_desc d = {.team = team, .schedule = "zero"};
  assert_true(rig_says(tsr_pipeline_create(rig.ctx, &d, &p), "no schedule \"zero\""));
  d = (tsr_pipeline_desc){.team = team, .chunks = 2};
  assert_true(rig_says(tsr_pipeline_create(rig.ctx, &d, &p), "2 chunks of 1 stages by 1f1b"));
  d = (tsr_pipeline_desc){.team = team, .chunks = 2, .schedule = "interleaved"};
  assert_true(rig_says(tsr_pipeline_create(rig.ctx, &d, &p), "2 chunks of 1 stages by interleaved"));
  d = (tsr_pipeline_desc){.team = team, .chunks = -1};
  assert_true(rig_says(tsr_pipeline_create(rig.ctx, &d, &p), "-1 chunks"));
  d = (tsr_pipeline_desc){.team = team, .microbatches = -1};
  assert_true(rig_says(tsr_pipeline_create(rig.ctx, &d, &p), "-1 microbatches"));
  d = (tsr_pipeline_desc){.team = team, .stage = 1};
  assert_true(rig_says(tsr_pipeline_create(rig.ctx, &d, &p), "stage 1 of a team of 1"));
  d = (tsr_pipeline_desc){.team = NULL};
  assert_true(rig_says(tsr_pipeline_create(rig.ctx, &d, &p), "team"));
  d = (tsr_pipeline_desc){.team = team};
  assert_null(tsr_pipeline_create(rig.ctx, &d, &p));
  assert_int_equal(tsr_pipeline_microbatches(p), 2);
  assert_null(tsr_pipeline_explain(p, &text));
  assert_string_equal(text, "1f1b, stage 0 of 1, 2 microbatches: at most 1 at once, idle 0.0 % of the time where all "
                            "take the same\n");
  tsr_text_free(rig.ctx, &text);
  tsr_pipeline_destroy(&p);
  tsr_team_destroy(&team);
  rig_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_microbatch_goes_through_all_stages_and_back),
      cmocka_unit_test(weights_gradients_come_where_a_stage_is_idle),
      cmocka_unit_test(interleaved_stages_hand_on_from_the_last_to_the_first),
      cmocka_unit_test(stages_with_other_chunks_are_told),
      cmocka_unit_test(stages_that_disagree_or_fail_end_all),
      cmocka_unit_test(an_error_says_stage_direction_and_microbatch),
      cmocka_unit_test(what_can_not_be_is_refused_and_few_microbatches_warned_of),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
