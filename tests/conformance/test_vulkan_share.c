/* What a Vulkan device shares and tells through the public interface: memory by file descriptor, within a process and
 * with another one; signals by sync file; programs made ready before their first run; peaks and cores measured once and
 * kept. Under the validation layers where they are installed. Called with an argument it is that other process. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tessera/profile.h"
#include "tessera/vulkan.h"
#include "tests/support/api_check.h"

enum { N = 1 << 18, BYTES = 4 * N };
static int n_messages; /* of the validation layers */

static void on_log(void *user, tsr_log_level level, const char *text) {
  if (strncmp(text, "Vulkan validation", 17)) return;
  n_messages++;
  fprintf(stderr, "%s\n", text);
}

static void refused(tsr_status st, tsr_code code, const char *says) {
  if (tsr_status_code(st) != code || !strstr(tsr_status_message(st), says))
    fail_msg("expected %s with \"%s\", got %s", tsr_code_name(code), says, tsr_status_message(st));
  if (strchr(tsr_status_message(st), '\n')) fail_msg("more than one line: %s", tsr_status_message(st));
  tsr_status_free(st);
}

typedef struct place {
  tsr_context *ctx;
  tsr_device *dev;
} place;

static bool open_place(place *p, const char *cache) {
  *p = (place){0};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = cache, .log = on_log}, &p->ctx));
  tsr_status st = tsr_device_open(p->ctx, "vulkan:0", &p->dev);
  if (!st) return true;
  print_message("no Vulkan device: %s\n", tsr_status_message(st));
  tsr_status_free(st);
  tsr_context_destroy(&p->ctx);
  return false;
}

static void close_place(place *p) {
  tsr_device_close(&p->dev);
  tsr_context_destroy(&p->ctx);
}

/* False, and said: the driver has no such extension. */
static bool can(tsr_status st) {
  if (tsr_status_code(st) != TSR_UNSUPPORTED) {
    OK(st);
    return true;
  }
  print_message("skipped: %s\n", tsr_status_message(st));
  tsr_status_free(st);
  return false;
}

static uint32_t value(int i, uint32_t of) { return (uint32_t)i * 2654435761u + of; }

static void write_values(tsr_buffer *b, uint32_t of) {
  uint32_t *v = malloc(BYTES);
  for (int i = 0; i < N; i++) v[i] = value(i, of);
  OK(tsr_buffer_write(b, 0, v, BYTES));
  free(v);
}

static int wrong_values(tsr_buffer *b, uint32_t of) {
  uint32_t *v = malloc(BYTES);
  int wrong = 0;
  OK(tsr_buffer_read(b, 0, v, BYTES));
  for (int i = 0; i < N; i++) wrong += v[i] != value(i, of);
  free(v);
  return wrong;
}

/* ---- memory ---- */

static void memory_is_shared_by_two_devices_of_a_process(void **state) {
  place a, b;
  tsr_buffer *mine, *theirs;
  int fd;
  if (!open_place(&a, "")) skip();
  if (!can(tsr_buffer_create_shared(a.dev, BYTES, &mine))) {
    close_place(&a);
    skip();
  }
  assert_true(open_place(&b, ""));
  OK(tsr_buffer_export_fd(mine, &fd));
  assert_true(fd >= 0);
  OK(tsr_buffer_import_fd(b.dev, fd, BYTES, &theirs));
  assert_int_equal(tsr_buffer_bytes(theirs), BYTES);
  write_values(mine, 1);
  assert_int_equal(wrong_values(theirs, 1), 0);
  write_values(theirs, 2);
  assert_int_equal(wrong_values(mine, 2), 0);
  tsr_buffer_destroy(&mine); /* the memory lives as long as either */
  assert_int_equal(wrong_values(theirs, 2), 0);
  tsr_buffer_destroy(&theirs);
  close_place(&a), close_place(&b);
}

/* The other process: finds what the first one wrote, and writes something else. */
static int other_process(int fd) {
  place p;
  tsr_buffer *b;
  if (!open_place(&p, "")) return 2;
  OK(tsr_buffer_import_fd(p.dev, fd, BYTES, &b));
  int wrong = wrong_values(b, 3);
  write_values(b, 4);
  tsr_buffer_destroy(&b);
  close_place(&p);
  return wrong || n_messages ? 1 : 0;
}

static void memory_is_shared_by_two_processes(void **state) {
  place a;
  tsr_buffer *b;
  int fd, status = -1;
  char number[16];
  if (!open_place(&a, "")) skip();
  if (!can(tsr_buffer_create_shared(a.dev, BYTES, &b))) {
    close_place(&a);
    skip();
  }
  write_values(b, 3);
  OK(tsr_buffer_export_fd(b, &fd));
  fcntl(fd, F_SETFD, 0);
  snprintf(number, sizeof number, "%d", fd);
  pid_t pid = fork();
  if (!pid) {
    execl("/proc/self/exe", "other", number, (char *)NULL);
    _exit(3);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_int_equal(wrong_values(b, 4), 0);
  close(fd);
  tsr_buffer_destroy(&b);
  close_place(&a);
}

static void descriptors_that_are_none_are_refused(void **state) {
  place a, c = {0};
  tsr_buffer *b = NULL, *plain, *shared;
  int fd, ends[2];
  if (!open_place(&a, "")) skip();
  if (!can(tsr_buffer_create_shared(a.dev, BYTES, &shared))) {
    close_place(&a);
    skip();
  }
  OK(tsr_buffer_create(a.dev, 64, TSR_MEMORY_DEVICE, &plain));
  refused(tsr_buffer_export_fd(plain, &fd), TSR_INVALID_ARGUMENT, "tsr_buffer_create_shared");
  assert_int_equal(fd, -1);
  refused(tsr_buffer_import_fd(a.dev, -1, 64, &b), TSR_INVALID_ARGUMENT, "no file descriptor");
  refused(tsr_buffer_import_fd(a.dev, 1000, 64, &b), TSR_INVALID_ARGUMENT, "not an open file descriptor");
  refused(tsr_buffer_create_shared(a.dev, 0, &b), TSR_INVALID_ARGUMENT, "0 bytes");
  assert_int_equal(pipe(ends), 0);
  refused(tsr_buffer_import_fd(a.dev, ends[0], 64, &b), TSR_INVALID_ARGUMENT, "a pipe");
  refused(tsr_stream_wait_fd(NULL, ends[0]), TSR_INVALID_ARGUMENT, "s");
  assert_true(fcntl(ends[0], F_GETFD) >= 0); /* what is refused stays the caller's */
  close(ends[0]), close(ends[1]);
  FILE *f = tmpfile();
  assert_non_null(f);
  assert_int_equal(fwrite("x", 1, 1, f), 1);
  fflush(f);
  refused(tsr_buffer_import_fd(a.dev, fileno(f), 64, &b), TSR_INVALID_ARGUMENT, "bytes of memory");
  fclose(f);
  OK(tsr_buffer_export_fd(shared, &fd));
  refused(tsr_buffer_import_fd(a.dev, fd, (size_t)BYTES << 8, &b), TSR_INVALID_ARGUMENT, "");
  close(fd);
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &c.ctx));
  OK(tsr_device_open(c.ctx, "cpu:0", &c.dev));
  refused(tsr_buffer_create_shared(c.dev, 64, &b), TSR_UNSUPPORTED, "cpu:0 shares nothing");
  tsr_buffer_destroy(&plain), tsr_buffer_destroy(&shared);
  close_place(&c), close_place(&a);
}

static void more_than_a_budget_or_an_allocation_is_refused(void **state) {
  place a;
  tsr_buffer *b = NULL;
  if (!open_place(&a, "")) skip();
  const tsr_device_info *d = tsr_device_get_info(a.dev);
  size_t all = (size_t)d->memory_bytes;
  if (strstr(d->fallbacks, "memory budgets")) { /* Debian 12's lavapipe: nobody knows what there is */
    close_place(&a);
    skip();
  }
  refused(tsr_buffer_create(a.dev, all + 4096, TSR_MEMORY_DEVICE, &b), TSR_OUT_OF_MEMORY, "bytes");
  assert_null(b);
  refused(tsr_buffer_create(a.dev, all, TSR_MEMORY_DEVICE, &b), TSR_OUT_OF_MEMORY, "bytes");
  assert_null(b);
  close_place(&a);
}

/* ---- signals ---- */

static void work_waits_for_another_devices(void **state) {
  place a, b;
  tsr_buffer *mine, *theirs;
  tsr_stream *first, *second;
  int fd, signal;
  if (!open_place(&a, "")) skip();
  if (!can(tsr_buffer_create_shared(a.dev, BYTES, &mine))) {
    close_place(&a);
    skip();
  }
  assert_true(open_place(&b, ""));
  OK(tsr_stream_create(a.dev, 0, &first));
  OK(tsr_stream_create(b.dev, 0, &second));
  OK(tsr_buffer_export_fd(mine, &fd));
  OK(tsr_buffer_import_fd(b.dev, fd, BYTES, &theirs));
  for (uint32_t turn = 1; turn < 24; turn++) {
    OK(tsr_stream_fill(first, mine, 0, BYTES, turn));
    if (!can(tsr_stream_signal_fd(first, &signal))) break;
    OK(tsr_stream_wait_fd(second, signal));
    OK(tsr_stream_copy(second, theirs, BYTES / 2, theirs, 0, 4));
    OK(tsr_stream_fill(second, theirs, 4, 4, ~turn));
    OK(tsr_stream_sync(second, -1));
    uint32_t got[2];
    OK(tsr_buffer_read(theirs, 0, got, sizeof got));
    assert_int_equal(got[0], turn);
    assert_int_equal(got[1], ~turn);
  }
  OK(tsr_stream_wait_fd(second, -1)); /* nothing to wait for */
  tsr_stream_destroy(&first), tsr_stream_destroy(&second);
  tsr_buffer_destroy(&mine), tsr_buffer_destroy(&theirs);
  close_place(&a), close_place(&b);
}

/* ---- made ready, measured ---- */

static const char program[] =
    "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<33x70xf32>, %B: tensor<70x29xf32>, %i: tensor<7xi32>):\n"
    "%0 = \"tessera.graph.matmul\"(%A, %B)\n%1 = \"tessera.graph.softmax\"(%0)\n%2 = \"tessera.graph.embedding\"(%1, %i)\n"
    "\"tessera.graph.return\"(%2)\n}) {sym_name = \"main\"}\n";

typedef struct heard { int calls, total, stop_at; char last[64]; } heard;
static bool hear(void *user, int done, int total, const char *kernel) {
  heard *h = user;
  assert_int_equal(done, h->calls);
  h->calls++, h->total = total;
  snprintf(h->last, sizeof h->last, "%s", kernel);
  return h->calls != h->stop_at;
}

static void prewarmed_programs_run_right(void **state) {
  place a;
  tsr_program *p;
  tsr_buffer *in[3], *out;
  float A[33 * 70], B[70 * 29], sum[7] = {0}, got[7 * 29];
  int32_t index[7] = {0, 5, 32, 1, 1, 9, 30};
  if (!open_place(&a, "")) skip();
  OK(tsr_program_parse(a.dev, program, strlen(program), "test", NULL, &p));
  heard h = {.stop_at = 2};
  refused(tsr_program_prewarm(p, hear, &h), TSR_CANCELLED, "ended by the caller");
  h = (heard){0};
  OK(tsr_program_prewarm(p, hear, &h));
  assert_int_equal(h.total, tsr_program_n_kernels(p));
  assert_int_equal(h.calls, h.total + 1);
  OK(tsr_program_prewarm(p, NULL, NULL));
  refused(tsr_program_prewarm(NULL, NULL, NULL), TSR_INVALID_ARGUMENT, "p");
  for (int i = 0; i < 33 * 70; i++) A[i] = (float)(i % 7) - 3;
  for (int i = 0; i < 70 * 29; i++) B[i] = (float)(i % 5) * 0.25f;
  const void *data[3] = {A, B, index};
  for (int i = 0; i < 3; i++) {
    size_t bytes = tsr_program_input(p, i).bytes;
    OK(tsr_buffer_create(a.dev, bytes, TSR_MEMORY_DEVICE, &in[i]));
    OK(tsr_buffer_write(in[i], 0, data[i], bytes));
  }
  OK(tsr_buffer_create(a.dev, sizeof got, TSR_MEMORY_DEVICE, &out));
  OK(tsr_program_run(p, NULL, (tsr_binding[]){{in[0], 0}, {in[1], 0}, {in[2], 0}}, &(tsr_binding){out, 0}));
  OK(tsr_buffer_read(out, 0, got, sizeof got));
  for (int r = 0; r < 7; r++) {
    for (int c = 0; c < 29; c++) sum[r] += got[r * 29 + c];
    if (!(sum[r] > 1 - 1e-5f && sum[r] < 1 + 1e-5f)) fail_msg("row %d sums to %g", r, (double)sum[r]);
  }
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&in[i]);
  tsr_buffer_destroy(&out);
  tsr_program_destroy(&p);
  close_place(&a);
}

static void peaks_are_measured_once_and_kept(void **state) {
  place a;
  tsr_peaks first, again;
  char dir[] = "/tmp/tsr_peaks_XXXXXX", clean[64];
  assert_non_null(mkdtemp(dir));
  if (!open_place(&a, dir)) skip();
  OK(tsr_device_peaks(a.dev, TSR_F32, false, &first));
  print_message("f32 %.4g GFLOP/s, copy %.4g GB/s\n", first.gflops, first.copy_gbytes_per_s);
  assert_true(first.gflops > 0.1 && first.copy_gbytes_per_s > 0.1 && first.measured_on > 1e9 && !first.kept);
  close_place(&a);
  assert_true(open_place(&a, dir));
  OK(tsr_device_peaks(a.dev, TSR_F32, false, &again));
  if (again.kept) { /* a build without a cache keeps nothing */
    assert_true(again.gflops > 0.999 * first.gflops && again.gflops < 1.001 * first.gflops);
    OK(tsr_device_peaks(a.dev, TSR_F32, true, &again));
    assert_true(!again.kept && again.gflops > 0.999 * first.gflops);
  }
  refused(tsr_device_peaks(a.dev, TSR_BOOL, false, &again), TSR_INVALID_ARGUMENT, "no multiply-adds");
  close_place(&a);
  snprintf(clean, sizeof clean, "rm -rf %s", dir);
  assert_int_equal(system(clean), 0);
}

/* Of a device on the host's processors they are known; hidden, they are counted by time. */
static void cores_are_reported_or_measured(void **state) {
  place a;
  if (!open_place(&a, "")) skip();
  const tsr_device_info *d = tsr_device_get_info(a.dev);
  bool software = d->software;
  if (software) assert_string_equal(d->cores_from, "host");
  assert_true(d->n_cores > 0 || !strcmp(d->cores_from, "unknown"));
  close_place(&a);
  if (!software) return;
  setenv("TSR_VK_HIDE", "cores", 1);
  assert_true(open_place(&a, ""));
  d = tsr_device_get_info(a.dev);
  print_message("%d cores, %s\n", d->n_cores, d->cores_from);
  assert_true(d->n_cores <= 4 * (int)sysconf(_SC_NPROCESSORS_ONLN));
  assert_string_equal(d->cores_from, d->n_cores > 0 ? "measured" : "unknown");
  close_place(&a);
  unsetenv("TSR_VK_HIDE");
}

static void no_message_of_the_validation_layers(void **state) { assert_int_equal(n_messages, 0); }

int main(int argc, char **argv) {
  if (argc == 2) return other_process(atoi(argv[1]));
  setenv("TSR_VK_VALIDATION", "1", 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_shared_by_two_devices_of_a_process),
                                     cmocka_unit_test(memory_is_shared_by_two_processes),
                                     cmocka_unit_test(descriptors_that_are_none_are_refused),
                                     cmocka_unit_test(more_than_a_budget_or_an_allocation_is_refused),
                                     cmocka_unit_test(work_waits_for_another_devices),
                                     cmocka_unit_test(prewarmed_programs_run_right),
                                     cmocka_unit_test(peaks_are_measured_once_and_kept),
                                     cmocka_unit_test(cores_are_reported_or_measured),
                                     cmocka_unit_test(no_message_of_the_validation_layers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
