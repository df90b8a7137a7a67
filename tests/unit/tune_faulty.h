/* tests/unit/tune_faulty.h - a stored schedule on a device that fails on command: the CPU's, with compilations and
 * launches that fail, the latter at once or when waited for. A session is a product of that device's, its cache a copy
 * of one that was tuned once: with a winner and a runner-up. */
#ifndef TESTS_UNIT_TUNE_FAULTY_H
#define TESTS_UNIT_TUNE_FAULTY_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/runtime/internal.h"
#include "tessera/profile.h"
#include "tessera/tune.h"
#include "tests/support/api_check.h"

enum { M = 48, N = 40, K = 64 };

static const be_vtable *real;
static be_vtable faulty;
static int failures, launches, warnings;
static tsr_code failure_code;
static const char *compiles; /* what the next compilations do, one letter each: '+' or '-'; past the end they work */
static int async_failures, syncs;
static tsr_code async_code;
static bool pending, lost; /* a launch has failed and nobody knows; everybody does */

static inline tsr_status faulty_run(be_stream *s, be_program *p, const be_range *bindings, double *ns) {
  launches++;
  if (failures > 0) {
    failures--;
    return st_make(NULL, failure_code, ST_WHERE("faulty", "launch", NULL), "injected");
  }
  if (async_failures > 0) {
    async_failures--;
    pending = true;
    return NULL; /* and nothing is computed */
  }
  return real->program_run(s, p, bindings, ns);
}

static inline tsr_status faulty_module(be_device *d, const be_module_desc *desc, be_module **out) {
  *out = NULL;
  if (*compiles && *compiles++ == '-')
    return st_make(NULL, failure_code, ST_WHERE("faulty", "compile", NULL), "injected");
  return real->module_create(d, desc, out);
}

static inline tsr_status faulty_sync(be_stream *s, int64_t timeout) {
  syncs++;
  if (pending) {
    pending = false;
    lost = async_code == TSR_DEVICE_LOST;
    return st_make(NULL, async_code, ST_WHERE("faulty", "sync", NULL), "injected while running");
  }
  return lost ? st_make(NULL, TSR_DEVICE_LOST, ST_WHERE("faulty", "sync", NULL), "is lost")
              : real->stream_sync(s, timeout);
}

static inline tsr_status faulty_external_wait(be_stream *s, const void *handle) { return NULL; }

static inline void note(void *user, tsr_log_level level, const char *text) {
  warnings += strstr(text, "a tuned schedule failed") != NULL;
}

typedef struct session {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_buffer *b[3];
  tsr_binding in[2], out;
} session;

static char dir[64];
static float a[M * K], b[K * N], y[M * N];
static double want[M * N], tolerance[M * N];

static inline void begin(session *s) {
  tsr_value v[2];
  const void *extra[] = {&faulty, NULL};
  *s = (session){0};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = dir, .extra_backends = extra, .log = note}, &s->ctx));
  OK(tsr_device_open(s->ctx, "faulty:0", &s->dev));
  OK(tsr_graph_create(s->ctx, "main", &s->g));
  OK(tsr_graph_input(s->g, "A", TSR_F32, (tsr_shape){2, {M, K}}, &v[0]));
  OK(tsr_graph_input(s->g, "B", TSR_F32, (tsr_shape){2, {K, N}}, &v[1]));
  OK(tsr_graph_op(s->g, "matmul", v, 2, NULL, 0, &v[0]));
  OK(tsr_graph_output(s->g, v[0]));
  OK(tsr_graph_reference(s->g, (const void *[]){a, b}, (double *[]){want}, (double *[]){tolerance}));
}

static inline void compile(session *s, tsr_tune tune) {
  OK(tsr_program_compile(s->dev, s->g, &(tsr_compile_options){.tune = tune}, &s->p));
  OK(tsr_buffer_create(s->dev, sizeof a, TSR_MEMORY_DEVICE, &s->b[0]));
  OK(tsr_buffer_create(s->dev, sizeof b, TSR_MEMORY_DEVICE, &s->b[1]));
  OK(tsr_buffer_create(s->dev, sizeof y, TSR_MEMORY_DEVICE, &s->b[2]));
  OK(tsr_buffer_write(s->b[0], 0, a, sizeof a));
  OK(tsr_buffer_write(s->b[1], 0, b, sizeof b));
  s->in[0] = (tsr_binding){s->b[0], 0}, s->in[1] = (tsr_binding){s->b[1], 0}, s->out = (tsr_binding){s->b[2], 0};
}

static inline void end(session *s) {
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&s->b[i]);
  tsr_program_destroy(&s->p);
  tsr_graph_destroy(&s->g);
  tsr_device_close(&s->dev);
  tsr_context_destroy(&s->ctx);
}

static inline void check_result(session *s) {
  OK(tsr_buffer_read(s->b[2], 0, y, sizeof y));
  for (int i = 0; i < M * N; i++)
    if (!(y[i] - want[i] <= tolerance[i] && want[i] - y[i] <= tolerance[i]))
      fail_msg("element %d: %g, not %g", i, (double)y[i], want[i]);
}

static inline bool explains(session *s, const char *what) {
  char *text;
  OK(tsr_program_explain(s->p, &text));
  bool found = strstr(text, what) != NULL;
  tsr_text_free(s->ctx, &text);
  return found;
}

static uint64_t falls(const session *s) { return tsr_context_tune_counters(s->ctx).fallbacks; }

/* Tunes, once: a cache with a winner and a runner-up. False: built without SQLite. */
static char tuned[64];
static inline bool tune_once(void) {
  session s;
  tsr_tune_report *r;
  if (*tuned) return true;
  snprintf(tuned, sizeof tuned, "/tmp/test_tune_fallback.XXXXXX");
  assert_non_null(mkdtemp(tuned));
  memcpy(dir, tuned, sizeof dir);
  begin(&s);
  OK(tsr_graph_tune(s.dev, s.g, NULL,
                    &(tsr_tune_options){.strategy = "random", .samples = 12, .samples_fixed = true, .again = true},
                    &r));
  tsr_tune_result x = tsr_tune_report_get(r, 0);
  bool stored = x.stored, both = x.has_runner_up;
  tsr_tune_report_destroy(&r);
  end(&s);
  assert_true(!stored || both);
  return stored;
}

static inline int drop(const char *folder) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

/* A copy of that cache for each test. */
static inline int set_up(void **state) {
  for (int i = 0; rt_backends[i]; i++)
    if (!strcmp(rt_backends[i]->name, "cpu")) real = rt_backends[i];
  faulty = *real;
  faulty.name = "faulty", faulty.program_run = faulty_run, faulty.stream_sync = faulty_sync;
  faulty.module_create = faulty_module, faulty.external_wait = faulty_external_wait;
  compiles = "";
  failures = launches = warnings = async_failures = syncs = 0;
  pending = lost = false;
  async_code = TSR_LAUNCH_FAILED;
  failure_code = TSR_LAUNCH_FAILED;
  for (int i = 0; i < M * K; i++) a[i] = (float)(i % 17) / 17;
  for (int i = 0; i < K * N; i++) b[i] = (float)(i % 13) / 13;
  if (!tune_once()) return -1;
  char command[192];
  snprintf(dir, sizeof dir, "/tmp/test_tune_fallback.XXXXXX");
  assert_non_null(mkdtemp(dir));
  snprintf(command, sizeof command, "cp -r %s/. %s", tuned, dir);
  launches = syncs = 0;
  return system(command);
}

static inline int tear_down(void **state) { return drop(dir); }
static inline int tear_down_all(void **state) { return *tuned ? drop(tuned) : 0; }

#endif
