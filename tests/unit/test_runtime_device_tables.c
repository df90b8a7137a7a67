/* A profile loaded from a file changes what estimates and the audit take the device for; the table of default tiles is
 * readable, as it stands and as devices run it; a damaged tuning cache is told to who asks; streams say whether they
 * have priorities. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "tessera/tune.h"
#include "tests/support/api_check.h"

static tsr_context *ctx;
static char dir[64];
static int told;

static void note(void *user, tsr_log_level level, const char *text) { told += strstr(text, "no priorities") != NULL; }

static int set_up(void **state) {
  setenv("TSR_LOG", "info", 1);
  snprintf(dir, sizeof dir, "/tmp/test_device_tables.XXXXXX");
  assert_non_null(mkdtemp(dir));
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = dir, .log = note}, &ctx));
  return 0;
}

static int tear_down(void **state) {
  char command[128];
  tsr_context_destroy(&ctx);
  snprintf(command, sizeof command, "rm -rf %s", dir);
  return system(command);
}

static const char *file(const char *name, const char *text) {
  static char path[160];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
  return path;
}

static void expect(tsr_device *dev, const char *path, tsr_code code, const char *says) {
  tsr_status st = tsr_device_load_profile(dev, path);
  if (tsr_status_code(st) != code || !strstr(tsr_status_message(st), says))
    fail_msg("%s: %s: %s", path, tsr_code_name(tsr_status_code(st)), tsr_status_message(st));
  tsr_status_free(st);
}

static bool profile_has(tsr_device *dev, const char *line) {
  char *text;
  OK(tsr_device_print_profile(dev, &text));
  bool found = strstr(text, line) != NULL;
  tsr_text_free(ctx, &text);
  return found;
}

static bool explain_has(tsr_device *dev, const char *what) {
  tsr_graph *g;
  tsr_value v[2];
  char *text;
  const tsr_shape s = {2, {1024, 1024}};
  OK(tsr_graph_create(ctx, "main", &g));
  for (int i = 0; i < 2; i++) OK(tsr_graph_input(g, i ? "B" : "A", TSR_BF16, s, &v[i]));
  OK(tsr_graph_op(g, "matmul", v, 2, NULL, 0, &v[0]));
  OK(tsr_graph_output(g, v[0]));
  OK(tsr_graph_tune_explain(dev, g, NULL, NULL, &text));
  bool found = strstr(text, what) != NULL;
  tsr_text_free(ctx, &text);
  tsr_graph_destroy(&g);
  return found;
}

static void a_profile_from_a_file_decides(void **state) {
  tsr_device *dev;
  OK(tsr_device_open(ctx, "cuda:sm_90a", &dev));
  assert_false(explain_has(dev, "777 cores"));
  OK(tsr_device_load_profile(
      dev,
      file(
          "mine.profile",
          "# mine\nname = Example 9000\ncores = 777\nmax_warps = 96\nregs_ideal = 48\ntier = memory 1e11 4321 600\n")));
  assert_true(profile_has(dev, "name = Example 9000\n") && profile_has(dev, "cores = 777\n") &&
              profile_has(dev, "max_warps = 96\n") && profile_has(dev, "regs_ideal = 48\n"));
  assert_true(profile_has(dev, "warp_size = 32\n")); /* what it does not say stays */
  assert_true(explain_has(dev, "Example 9000") && explain_has(dev, "777 cores") && explain_has(dev, "4321 GB/s"));
  OK(tsr_device_load_profile(dev, NULL));
  assert_false(explain_has(dev, "777 cores") || profile_has(dev, "Example"));
  OK(tsr_device_load_profile(
      dev,
      TSR_SOURCE_DIR "/core/tune/profiles/gb200.profile")); /* the rows that come with the library are such files */
  assert_true(profile_has(dev, "max_warps = 96\n"));
  tsr_device_close(&dev);
}

static void a_bad_profile_is_one_line_and_changes_nothing(void **state) {
  tsr_device *dev, *cpu;
  char pipe[160];
  OK(tsr_device_open(ctx, "cuda:sm_90a", &dev));
  OK(tsr_device_open(ctx, "cpu:0", &cpu));
  expect(dev, "/nonexistent/p", TSR_IO_ERROR, "/nonexistent/p");
  expect(dev, dir, TSR_IO_ERROR, "is a directory");
  snprintf(pipe, sizeof pipe, "%s/pipe", dir);
  assert_int_equal(mkfifo(pipe, 0600), 0);
  expect(dev, pipe, TSR_IO_ERROR, "not a regular file");
  expect(dev, file("a", "name = x\nspeed = 3\n"), TSR_PARSE_ERROR, "a:2:1:");
  expect(dev, file("b", "name = x\ncores = -3\n"), TSR_PARSE_ERROR, "b:2:1:");
  expect(dev, file("c", "name = x\ncores = 1e12\n"), TSR_PARSE_ERROR, "c:2:1:");
  expect(dev, file("d", "name = x\ncores = nan\n"), TSR_PARSE_ERROR, "d:2:1:");
  expect(dev, file("e", "cores = 3\n"), TSR_PARSE_ERROR, "no name");
  expect(dev, file("f", ""), TSR_PARSE_ERROR, "no name");
  expect(cpu, file("g", "name = x\nmax_warps = 64\n"), TSR_ARCH_MISMATCH, "is a profile of a GPU");
  expect(dev, file("h", "name = x\nis_cpu = 1\n"), TSR_ARCH_MISMATCH, "is a profile of a CPU");
  assert_false(profile_has(dev, "name = x\n"));
  tsr_device_close(&cpu);
  tsr_device_close(&dev);
}

typedef struct row { const char *op; tsr_dtype t; int64_t m, n, k, warps; } row;

static bool find(tsr_device *dev, const row *want, tsr_tile_default *out) {
  for (int i = 0;; i++) {
    tsr_status st = tsr_tile_default_get(dev, i, out);
    if (st) {
      assert_int_equal(tsr_status_code(st), TSR_NOT_FOUND);
      tsr_status_free(st);
      return false;
    }
    if (!strcmp(out->op, want->op) && out->dtype == want->t)
      return out->m == want->m && out->n == want->n && out->k == want->k && out->warps == want->warps;
  }
}

/* The rows of docs/tuning.md, "Default tiles". */
static void the_table_of_tiles_is_readable(void **state) {
  static const row rows[] = {{"gemm", TSR_BF16, 128, 128, 64, 0},
                             {"gemm", TSR_F8E4M3, 256, 128, 128, 0},
                             {"conv2d", TSR_DTYPE_NONE, 128, 128, 32, 0},
                             {"flash_attention", TSR_DTYPE_NONE, 128, 64, 64, 0},
                             {"layernorm", TSR_DTYPE_NONE, 8, 0, 0, 8}};
  static const char *const devices[] = {NULL, "cuda:sm_90a", "cuda:sm_80", "hip:gfx942", "null:spirv", "cpu:0"};
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
    tsr_device *dev = NULL;
    if (devices[d]) OK(tsr_device_open(ctx, devices[d], &dev));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      tsr_tile_default t;
      if (!find(dev, &rows[i], &t)) fail_msg("%s is not as docs/tuning.md has it", rows[i].op);
      bool same = t.legal_m == t.m && t.legal_n == t.n && t.legal_k == t.k && t.legal_warps == t.warps;
      if (!dev) assert_true(same && !*t.why);
      if (same == (*t.why != 0)) fail_msg("%s on %s: %s", t.op, devices[d], same ? t.why : "changed without a word");
      if (dev) assert_true(t.legal_m >= 0 && t.legal_m <= t.m && t.legal_k <= t.k);
    }
    tsr_device_close(&dev);
  }
}

static void a_damaged_cache_is_told(void **state) {
#ifdef TSR_HAVE_SQLITE
  tsr_context *c;
  char own[128], path[160];
  snprintf(own, sizeof own, "%s/damaged", dir);
  snprintf(path, sizeof path, "%s/default.sqlite", own);
  assert_int_equal(mkdir(own, 0700), 0);
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = own, .log = note}, &c));
  OK(tsr_context_check_cache(c, NULL)); /* none is sound */
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  fputs("no database at all, whatever its name is", f);
  fclose(f);
  tsr_status st = tsr_context_check_cache(c, NULL);
  assert_int_equal(tsr_status_code(st), TSR_CACHE_CORRUPT);
  assert_non_null(strstr(tsr_status_message(st), "1 file(s) set aside"));
  tsr_status_free(st);
  tsr_context_destroy(&c);
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = own, .log = note}, &c)); /* the new file is sound */
  OK(tsr_context_check_cache(c, "default"));
  tsr_context_destroy(&c);
  st = tsr_context_check_cache(ctx, "no/name");
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
#endif
}

static void priorities_are_taken_or_said_to_be_ignored(void **state) {
  tsr_device *dev;
  tsr_stream *s;
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  assert_false(tsr_device_get_info(dev)->stream_priorities);
  told = 0;
  OK(tsr_stream_create(dev, 0, &s));
  tsr_stream_destroy(&s);
  assert_int_equal(told, 0);
  OK(tsr_stream_create(dev, 3, &s));
  tsr_stream_destroy(&s);
  assert_int_equal(told, 1);
  tsr_device_close(&dev);
  OK(tsr_device_open(ctx, "cuda:sm_90a", &dev));
  assert_true(tsr_device_get_info(dev)->stream_priorities);
  tsr_device_close(&dev);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_profile_from_a_file_decides),
      cmocka_unit_test(a_bad_profile_is_one_line_and_changes_nothing),
      cmocka_unit_test(the_table_of_tiles_is_readable),
      cmocka_unit_test(a_damaged_cache_is_told),
      cmocka_unit_test(priorities_are_taken_or_said_to_be_ignored),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
