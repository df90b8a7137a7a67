/* A driver with a family of queues for transfers alone (tests/fake/second_queue.c in front of lavapipe): large copies
 * of one stream are over while another stream still computes, and the order of a stream's own work, and of streams that
 * wait for each other's events, is what it is with one queue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/json.h"
#include "tessera/profile.h"
#include "tests/support/api_check.h"

static const char product[] =
    "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<512x512xf32>, %B: tensor<512x512xf32>):\n%0 = "
    "\"tessera.graph.matmul\"(%A, %B)\n\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n";
enum { PRODUCT_BYTES = 512 * 512 * 4, LARGE = 4 << 20, HUGE_COPY = 64 << 20, SMALL = 1 << 10 };

static tsr_context *ctx;
static tsr_device *dev;
static char manifest[64];

static tsr_buffer *buffer(size_t bytes) {
  tsr_buffer *b;
  OK(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &b));
  return b;
}

/* Is the stream's work over? */
static bool is_over(tsr_stream *s) {
  tsr_status st = tsr_stream_sync(s, 0);
  bool over = !st;
  if (st && tsr_status_code(st) != TSR_TIMEOUT) fail_msg("%s", tsr_status_message(st));
  tsr_status_free(st);
  return over;
}

/* Copies behind products that another stream queued: over while those go on. */
static void copies_go_on_beside_kernels(void **state) {
  enum { RUNS = 100 };
  tsr_graph *g;
  tsr_program *p;
  tsr_stream *computes, *copies;
  tsr_buffer *a = buffer(PRODUCT_BYTES), *b = buffer(PRODUCT_BYTES), *c = buffer(PRODUCT_BYTES), *from = buffer(LARGE),
             *to = buffer(LARGE);
  OK(tsr_graph_parse(ctx, product, sizeof product - 1, "product", &g));
  OK(tsr_program_compile(dev, g, NULL, &p));
  OK(tsr_stream_create(dev, 0, &computes));
  OK(tsr_stream_create(dev, 0, &copies));
  uint32_t *x = malloc(LARGE), *y = malloc(LARGE);
  for (int i = 0; i < LARGE / 4; i++) x[i] = (uint32_t)i * 2654435761u;
  OK(tsr_buffer_write(from, 0, x, LARGE));
  tsr_binding in[2] = {{a, 0}, {b, 0}}, out = {c, 0};
  OK(tsr_program_run(p, computes, in, &out)); /* the driver compiles */
  OK(tsr_stream_sync(computes, -1));
  for (int i = 0; i < RUNS; i++) OK(tsr_program_run(p, computes, in, &out));
  OK(tsr_stream_copy(copies, to, 0, from, 0, LARGE));
  OK(tsr_stream_sync(copies, -1));
  assert_false(is_over(computes));
  OK(tsr_stream_sync(computes, -1));
  OK(tsr_buffer_read(to, 0, y, LARGE));
  assert_memory_equal(x, y, LARGE);
  /* with one queue they would have waited: a small copy takes the kernels' */
  for (int i = 0; i < RUNS; i++) OK(tsr_program_run(p, computes, in, &out));
  OK(tsr_stream_copy(copies, to, 0, from, 0, SMALL));
  OK(tsr_stream_sync(copies, -1));
  assert_true(is_over(computes));
  free(x), free(y);
  tsr_stream_destroy(&computes), tsr_stream_destroy(&copies);
  tsr_program_destroy(&p), tsr_graph_destroy(&g);
  tsr_buffer *all[] = {a, b, c, from, to};
  for (int i = 0; i < 5; i++) tsr_buffer_destroy(&all[i]);
}

/* From one event to a later one of the device, whatever queues they were recorded on. */
static double ns_between(tsr_event *from, tsr_event *to) {
  double ns;
  OK(tsr_event_elapsed(from, to, &ns));
  return ns;
}

/* How much of the time of a copy lay within that of another stream's kernels, both by the queues' timestamps; the copy
 * may wait for the kernels. *whole: the copy's time. */
static double time_beside_kernels(bool waits, double *whole) {
  enum { START, BEGIN, KERNELS, COPY, COPIED, EVENTS, RUNS = 50 };
  tsr_graph *g;
  tsr_program *p;
  tsr_stream *computes, *copies;
  tsr_event *e[EVENTS];
  tsr_buffer *b[] = {buffer(PRODUCT_BYTES), buffer(PRODUCT_BYTES), buffer(PRODUCT_BYTES), buffer(LARGE), buffer(LARGE)};
  OK(tsr_graph_parse(ctx, product, sizeof product - 1, "product", &g));
  OK(tsr_program_compile(dev, g, NULL, &p));
  OK(tsr_stream_create(dev, 0, &computes));
  OK(tsr_stream_create(dev, 0, &copies));
  for (int i = START; i < EVENTS; i++) OK(tsr_event_create(dev, &e[i]));
  tsr_binding in[2] = {{b[0], 0}, {b[1], 0}}, out = {b[2], 0};
  OK(tsr_program_run(p, computes, in, &out));
  OK(tsr_event_record(e[START], computes));
  OK(tsr_stream_sync(computes, -1));
  OK(tsr_stream_copy(copies, b[4], 0, b[3], 0, LARGE)); /* what follows it is recorded on its queue */
  OK(tsr_stream_sync(copies, -1));
  OK(tsr_event_record(e[BEGIN], computes));
  for (int i = 0; i < RUNS; i++) OK(tsr_program_run(p, computes, in, &out));
  OK(tsr_event_record(e[KERNELS], computes));
  OK(tsr_event_sync(e[BEGIN]));
  if (waits) OK(tsr_stream_wait(copies, e[KERNELS]));
  for (int again = 0; again < 2; again++) { /* an event's second time counts */
    OK(tsr_event_record(e[COPY], copies));
    OK(tsr_stream_copy(copies, b[4], 0, b[3], 0, LARGE));
    OK(tsr_event_record(e[COPIED], copies));
  }
  OK(tsr_stream_sync(copies, -1));
  OK(tsr_stream_sync(computes, -1));
  double t[EVENTS];
  for (int i = BEGIN; i < EVENTS; i++) t[i] = ns_between(e[START], e[i]);
  *whole = t[COPIED] - t[COPY];
  double from = t[COPY] > t[BEGIN] ? t[COPY] : t[BEGIN], to = t[COPIED] < t[KERNELS] ? t[COPIED] : t[KERNELS];
  for (int i = START; i < EVENTS; i++) tsr_event_destroy(&e[i]);
  for (int i = 0; i < 5; i++) tsr_buffer_destroy(&b[i]);
  tsr_stream_destroy(&computes), tsr_stream_destroy(&copies);
  tsr_program_destroy(&p), tsr_graph_destroy(&g);
  return to > from ? to - from : 0;
}

static void timestamps_show_that_queues_overlap(void **state) {
  double whole, beside = time_beside_kernels(false, &whole);
  print_message("%.0f of %.0f us of a copy beside kernels\n", beside / 1e3, whole / 1e3);
  assert_true(whole > 0 && beside > 0);
  beside = time_beside_kernels(true, &whole);
  assert_true(whole > 0);
  assert_true(beside == 0);
}

/* A profile of one product with COPIES copies on another stream, queued before it, or behind it and waiting. They are
 * few, so that none has to wait for a command buffer before the product is queued, and as long as it takes for that. */
static void profile_copies(tsr_device *d, size_t bytes, bool waits, double *both, double *copied, char why[128]) {
  enum { COPIES = 4 };
  tsr_context *c = ctx;
  tsr_graph *g;
  tsr_program *p;
  tsr_stream *copies;
  tsr_event *over;
  tsr_profile *prof;
  tsr_buffer *b[5];
  for (int i = 0; i < 5; i++)
    OK(tsr_buffer_create(d, i < 3 ? PRODUCT_BYTES : HUGE_COPY, TSR_MEMORY_DEVICE, &b[i]));
  OK(tsr_graph_parse(c, product, sizeof product - 1, "product", &g));
  OK(tsr_program_compile(d, g, NULL, &p));
  OK(tsr_stream_create(d, 0, &copies));
  OK(tsr_event_create(d, &over));
  OK(tsr_profile_create(c, &prof));
  tsr_binding in[2] = {{b[0], 0}, {b[1], 0}}, out = {b[2], 0};
  OK(tsr_profile_step(prof, p, NULL, in, &out)); /* the driver compiles */
  for (int i = 0; i < COPIES && !waits; i++) OK(tsr_profile_copy(prof, copies, b[4], 0, b[3], 0, bytes));
  for (int i = 0; waits && i < COPIES; i++) {
    if (i == 1) OK(tsr_profile_step(prof, p, NULL, in, &out));
    if (i == 1) OK(tsr_event_record(over, NULL));
    if (i == 1) OK(tsr_stream_wait(copies, over));
    OK(tsr_profile_copy(prof, copies, b[4], 0, b[3], 0, bytes));
    if (!i) OK(tsr_stream_sync(copies, -1)); /* before the step begins */
  }
  if (!waits) OK(tsr_profile_step(prof, p, NULL, in, &out));
  char *text;
  arena a;
  json *j;
  OK(tsr_profile_json(prof, &text));
  arena_init(&a, NULL);
  OK(json_parse(&a, text, strlen(text), "profile", &j));
  const json *o = json_get(j, "overlap");
  assert_int_equal(o->n, 1);
  *both = json_num(o->first, "both_ns", -1), *copied = json_num(o->first, "copy_ns", -1);
  snprintf(why, 128, "%s", json_str(o->first, "waits", ""));
  arena_clear(&a);
  tsr_text_free(c, &text);
  tsr_profile_destroy(&prof), tsr_event_destroy(&over), tsr_stream_destroy(&copies);
  tsr_program_destroy(&p), tsr_graph_destroy(&g);
  for (int i = 0; i < 5; i++) tsr_buffer_destroy(&b[i]);
}

static void profile_tells_the_overlap(void **state) {
  double both, copied;
  char why[128];
  profile_copies(dev, HUGE_COPY, false, &both, &copied, why);
  print_message("%.0f of %.0f us of copies beside kernels\n", both / 1e3, copied / 1e3);
  assert_true(both > 0 && copied >= both);
  assert_string_equal(why, "");
  profile_copies(dev, LARGE, true, &both, &copied, why);
  assert_true(both == 0 && copied > 0);
  profile_copies(dev, SMALL, false, &both, &copied, why);
  assert_true(both == 0 && copied > 0);
  assert_non_null(strstr(why, "take the kernels' queue"));
}

/* The same driver without its second queue: the last test, since the fake one knows one device at a time. */
static void profile_of_one_queue_says_so(void **state) {
  double both, copied;
  char why[128];
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  setenv("TSR_VK_HIDE", "coopmat,cores,transfers", 1);
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "vulkan:0", &dev));
  profile_copies(dev, LARGE, false, &both, &copied, why);
  assert_true(both == 0 && copied > 0);
  assert_non_null(strstr(why, "one queue"));
}

/* Fills and small copies (on the kernels' queue) and large ones (on the other) in any order, on one stream or on two
 * that wait for each other: what a model in memory says. */
static void order_is_kept(bool two) {
  enum { BUFFERS = 3, STEPS = 300 };
  tsr_buffer *b[BUFFERS];
  tsr_stream *s[2];
  tsr_event *e[2];
  char *model[BUFFERS], *got = malloc(LARGE);
  for (int i = 0; i < 2; i++) OK(tsr_stream_create(dev, 0, &s[i]));
  for (int i = 0; i < 2; i++) OK(tsr_event_create(dev, &e[i]));
  for (int i = 0; i < BUFFERS; i++) b[i] = buffer(LARGE), model[i] = calloc(1, LARGE);
  for (int i = 0; i < BUFFERS; i++) OK(tsr_buffer_write(b[i], 0, model[i], LARGE));
  for (int i = 0, on = 0; i < STEPS; i++) {
    int to = rand() % BUFFERS, from = (to + 1 + rand() % (BUFFERS - 1)) % BUFFERS, kind = rand() % 3;
    size_t bytes = kind == 2 ? 1 << 18 | (size_t)(rand() % (LARGE - (1 << 18))) : (size_t)(1 + rand() % (1 << 17));
    bytes = bytes / 4 * 4 + 4;
    size_t at = (size_t)rand() % (LARGE / 4 - bytes / 4 + 1) * 4,
           source = (size_t)rand() % (LARGE / 4 - bytes / 4 + 1) * 4;
    if (kind) {
      OK(tsr_stream_copy(s[on], b[to], at, b[from], source, bytes));
      memcpy(model[to] + at, model[from] + source, bytes);
    } else {
      OK(tsr_stream_fill(s[on], b[to], at, bytes, (uint32_t)(i & 255) * 0x01010101u));
      memset(model[to] + at, i & 255, bytes);
    }
    if (!two || rand() % 3) continue;
    OK(tsr_event_record(e[on], s[on]));
    OK(tsr_stream_wait(s[!on], e[on]));
    on = !on;
  }
  for (int i = 0; i < 2; i++) OK(tsr_stream_sync(s[i], -1));
  for (int i = 0; i < BUFFERS; i++) {
    OK(tsr_buffer_read(b[i], 0, got, LARGE));
    assert_memory_equal(got, model[i], LARGE);
    tsr_buffer_destroy(&b[i]);
    free(model[i]);
  }
  for (int i = 0; i < 2; i++) tsr_stream_destroy(&s[i]), tsr_event_destroy(&e[i]);
  free(got);
}

static void order_of_one_stream_is_kept(void **state) { order_is_kept(false); }
static void order_of_streams_that_wait_is_kept(void **state) { order_is_kept(true); }

static int begin(void **state) {
  char path[] = "/tmp/tessera-queues-XXXXXX.json";
  int fd = mkstemps(path, 5);
  if (fd < 0) return -1;
  FILE *f = fdopen(fd, "w");
  fprintf(f,
          "{\"file_format_version\": \"1.0.1\", \"ICD\": {\"library_path\": \"%s/tests/libfault_icd.so\", "
          "\"api_version\": \"1.4.0\"}}\n",
          TSR_BINARY_DIR);
  fclose(f);
  snprintf(manifest, sizeof manifest, "%s", path);
  setenv("VK_DRIVER_FILES", path, 1);
  setenv("TSR_TEST_VK_FAULT", "queue:", 1);
  setenv("TSR_VK_HIDE", "coopmat,cores", 1); /* what is tried at the start and not needed here */
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  tsr_status st = tsr_device_open(ctx, "vulkan:0", &dev);
  if (st) print_message("%s\n", tsr_status_message(st));
  tsr_status_free(st);
  return 0;
}

static int end(void **state) {
  unlink(manifest);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}

int main(void) {
  const char *drivers = getenv("VK_DRIVER_FILES");
  const struct CMUnitTest tests[] = {cmocka_unit_test(copies_go_on_beside_kernels),
                                     cmocka_unit_test(timestamps_show_that_queues_overlap),
                                     cmocka_unit_test(profile_tells_the_overlap),
                                     cmocka_unit_test(order_of_one_stream_is_kept),
                                     cmocka_unit_test(order_of_streams_that_wait_is_kept),
                                     cmocka_unit_test(profile_of_one_queue_says_so)};
  if (drivers && access(drivers, R_OK)) {
    printf("skipped: VK_DRIVER_FILES=%s: no Vulkan here\n", drivers);
    return 77;
  }
  begin(NULL);
  if (!dev) {
    end(NULL);
    return 77;
  }
  return cmocka_run_group_tests(tests, NULL, end);
}
