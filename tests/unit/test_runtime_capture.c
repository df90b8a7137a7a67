/* Captures of streams: what is recorded in place of being run, and what is refused because it can't be. */
#include "tests/unit/product_rig.h"

#include "tessera/profile.h"

#define REFUSED(e)                                                    \
  do {                                                                \
    tsr_status f_ = (e);                                              \
    assert_int_equal(tsr_status_code(f_), TSR_INVALID_ARGUMENT);      \
    assert_non_null(strstr(tsr_status_message(f_), "captured"));      \
    assert_null(strchr(tsr_status_message(f_), '\n'));                \
    tsr_status_free(f_);                                              \
  } while (0)

enum { N = 8, BYTES = N * N * 4 };

typedef struct captured {
  rig r;
  tsr_graph *g;
  tsr_program *p;
  tsr_stream *s, *other;
  tsr_event *e[2];
  tsr_buffer *b[5];
  tsr_binding in[3], out;
} captured;

static captured open_captured(void) {
  captured c = {.r = open_rig()};
  static const size_t sizes[5] = {N * N, N * N, N, N * N, N * N};
  c.g = product(&c.r, TSR_F32, N, N, N);
  OK(tsr_program_compile(c.r.dev, c.g, NULL, &c.p));
  OK(tsr_stream_create(c.r.dev, 0, &c.s));
  OK(tsr_stream_create(c.r.dev, 0, &c.other));
  for (int i = 0; i < 2; i++) OK(tsr_event_create(c.r.dev, &c.e[i]));
  for (int i = 0; i < 5; i++) c.b[i] = filled(&c.r, sizes[i], (size_t)i);
  for (int i = 0; i < 3; i++) c.in[i] = (tsr_binding){c.b[i], 0};
  c.out = (tsr_binding){c.b[3], 0};
  return c;
}

static void close_captured(captured *c) {
  for (int i = 0; i < 5; i++) tsr_buffer_destroy(&c->b[i]);
  for (int i = 0; i < 2; i++) tsr_event_destroy(&c->e[i]);
  tsr_stream_destroy(&c->s);
  tsr_stream_destroy(&c->other);
  tsr_program_destroy(&c->p);
  tsr_graph_destroy(&c->g);
  close_rig(&c->r);
}

static void never_recorded(tsr_event *e) {
  tsr_status st = tsr_event_sync(e);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
}

/* An event that was recorded at once would be there before the work that it stands behind. */
static void events_in_a_capture_happen_at_the_replay(void **state) {
  captured c = open_captured();
  tsr_recording *rec;
  double ns = -1;
  OK(tsr_capture_begin(c.s));
  OK(tsr_event_record(c.e[0], c.s));
  OK(tsr_program_run(c.p, c.s, c.in, &c.out));
  OK(tsr_stream_wait(c.s, c.e[0])); /* recorded by then: in the replay */
  OK(tsr_stream_copy(c.s, c.b[4], 0, c.b[3], 0, BYTES));
  OK(tsr_event_record(c.e[1], c.s));
  OK(tsr_capture_end(c.s, &rec));
  never_recorded(c.e[0]);
  never_recorded(c.e[1]);
  for (int times = 0; times < 2; times++) {
    OK(tsr_recording_replay(rec, times ? c.other : c.s));
    OK(tsr_event_sync(c.e[1]));
    OK(tsr_event_elapsed(c.e[0], c.e[1], &ns));
    assert_true(ns >= 0);
    assert_memory_equal(tsr_buffer_map(c.b[3]), tsr_buffer_map(c.b[4]), BYTES);
    memset(tsr_buffer_map(c.b[4]), 0xff, BYTES);
  }
  tsr_recording_destroy(&rec);
  close_captured(&c);
}

/* A wait for an event that nobody records is found out when it is replayed. */
static void a_replayed_wait_needs_its_event(void **state) {
  captured c = open_captured();
  tsr_recording *rec;
  OK(tsr_capture_begin(c.s));
  OK(tsr_stream_wait(c.s, c.e[0]));
  OK(tsr_capture_end(c.s, &rec));
  tsr_status st = tsr_recording_replay(rec, c.s);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  assert_non_null(strstr(tsr_status_message(st), "never recorded"));
  tsr_status_free(st);
  OK(tsr_event_record(c.e[0], c.other));
  OK(tsr_recording_replay(rec, c.s));
  tsr_recording_destroy(&rec);
  close_captured(&c);
}

/* Times of a run that didn't happen would be whatever was in the caller's memory. */
static void what_is_known_at_once_is_refused_in_a_capture(void **state) {
  captured c = open_captured();
  tsr_recording *rec;
  tsr_profile *prof;
  char *text;
  double ns[8];
  OK(tsr_profile_create(c.r.ctx, &prof));
  OK(tsr_capture_begin(c.s));
  REFUSED(tsr_program_profile(c.p, c.s, c.in, &c.out, ns));
  REFUSED(tsr_profile_step(prof, c.p, c.s, c.in, &c.out));
  REFUSED(tsr_profile_copy(prof, c.s, c.b[4], 0, c.b[3], 0, BYTES));
  OK(tsr_program_profile(c.p, c.other, c.in, &c.out, ns)); /* another stream is not concerned */
  OK(tsr_program_profile(c.p, NULL, c.in, &c.out, ns));
  OK(tsr_profile_text(prof, false, &text));
  assert_string_equal(text, "");
  tsr_text_free(c.r.ctx, &text);
  OK(tsr_capture_end(c.s, &rec));
  OK(tsr_program_profile(c.p, c.s, c.in, &c.out, ns));
  tsr_recording_destroy(&rec);
  tsr_profile_destroy(&prof);
  close_captured(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(events_in_a_capture_happen_at_the_replay),
      cmocka_unit_test(a_replayed_wait_needs_its_event),
      cmocka_unit_test(what_is_known_at_once_is_refused_in_a_capture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
