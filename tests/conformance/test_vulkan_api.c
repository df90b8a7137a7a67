/* A Vulkan device through the public interface when things go wrong, and several at once: a lost device is a status,
 * all goes away cleanly, and a new context gives the same bits; running out of device memory at any point is a status
 * that leaks nothing; contexts in threads of their own don't disturb each other. Under the validation layers where they
 * are installed. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/support/api_check.h"

enum { M = 37, N = 29, K = 23 };
static int n_messages; /* of the validation layers */

static void on_log(void *user, tsr_log_level level, const char *text) {
  if (strncmp(text, "Vulkan validation", 17)) return;
  __atomic_add_fetch(&n_messages, 1, __ATOMIC_RELAXED);
  print_error("%s\n", text);
}

/* All that a run creates; what is NULL was not reached. */
typedef struct run {
  counting mem;
  tsr_allocator al;
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_buffer *in[2], *out;
  float result[M * N];
} run;

static tsr_status open_device(run *r, const char *device) {
  *r = (run){.mem = {.left = 1L << 40}};
  r->al = (tsr_allocator){.alloc = count_alloc, .free = count_free, .user = &r->mem};
  tsr_status st = tsr_context_create(&(tsr_context_desc){.allocator = &r->al, .cache_dir = "", .log = on_log}, &r->ctx);
  return st ? st : tsr_device_open(r->ctx, device, &r->dev);
}

static tsr_status build(run *r) {
  tsr_value x, y, v;
  tsr_status st = tsr_graph_create(r->ctx, "main", &r->g);
  if (!st) st = tsr_graph_input(r->g, "X", TSR_F32, (tsr_shape){2, {M, K}}, &x);
  if (!st) st = tsr_graph_input(r->g, "Y", TSR_F32, (tsr_shape){2, {K, N}}, &y);
  if (!st) st = tsr_graph_op(r->g, "matmul", (tsr_value[]){x, y}, 2, NULL, 0, &v);
  if (!st) st = tsr_graph_op(r->g, "softmax", &v, 1, NULL, 0, &v);
  if (!st) st = tsr_graph_op(r->g, "gelu", &v, 1, NULL, 0, &v);
  if (!st) st = tsr_graph_output(r->g, v);
  if (!st) st = tsr_program_compile(r->dev, r->g, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &r->p);
  return st;
}

static tsr_status execute(run *r) {
  static float data[2][M * K + K * N];
  tsr_status st = NULL;
  for (int i = 0; i < 2 && !st; i++) {
    size_t bytes = tsr_program_input(r->p, i).bytes;
    for (size_t k = 0; k < bytes / 4; k++) data[i][k] = (float)((k * 37 + (size_t)i) % 101) / 31 - 1.5f;
    if (!r->in[i]) st = tsr_buffer_create(r->dev, bytes, TSR_MEMORY_DEVICE, &r->in[i]);
    if (!st) st = tsr_buffer_write(r->in[i], 0, data[i], bytes);
  }
  if (!st && !r->out) st = tsr_buffer_create(r->dev, sizeof r->result, TSR_MEMORY_DEVICE, &r->out);
  for (int i = 0; i < 3 && !st; i++)
    st = tsr_program_run(r->p, NULL, (tsr_binding[]){{r->in[0], 0}, {r->in[1], 0}}, &(tsr_binding){r->out, 0});
  return st ? st : tsr_buffer_read(r->out, 0, r->result, sizeof r->result);
}

static tsr_status whole(run *r, const char *device) {
  tsr_status st = open_device(r, device);
  if (!st) st = build(r);
  return st ? st : execute(r);
}

/* Everything of the run goes, whatever state it is in; nothing may stay behind. */
static void end(run *r) {
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&r->in[i]);
  tsr_buffer_destroy(&r->out);
  tsr_program_destroy(&r->p);
  tsr_graph_destroy(&r->g);
  tsr_device_close(&r->dev);
  tsr_context_destroy(&r->ctx);
  assert_int_equal(r->mem.live, 0);
}

static tsr_code code_of(tsr_status st) {
  tsr_code c = tsr_status_code(st);
  tsr_status_free(st);
  return c;
}

static float right[M * N]; /* of an undisturbed run */

static void lost_device_is_a_status_and_a_new_context_gives_the_same_bits(void **state) {
  static run r;
  int lost = 0, i;
  for (i = 0; i < 64; i++) { /* the first, second, ... submission finds the device gone */
    char fault[32];
    snprintf(fault, sizeof fault, "lost:%d", i);
    setenv("TSR_VK_FAULT", fault, 1);
    tsr_code c = code_of(whole(&r, "vulkan:0"));
    unsetenv("TSR_VK_FAULT");
    if (c == TSR_OK) break;
    assert_int_equal(c, TSR_DEVICE_LOST);
    lost++;
    if (r.p) { /* it stays lost, for all that is asked of it */
      tsr_buffer *b = NULL;
      tsr_stream *s = NULL;
      assert_int_equal(code_of(execute(&r)), TSR_DEVICE_LOST);
      assert_int_equal(code_of(tsr_buffer_create(r.dev, 64, TSR_MEMORY_DEVICE, &b)), TSR_DEVICE_LOST);
      assert_int_equal(code_of(tsr_stream_create(r.dev, 0, &s)), TSR_DEVICE_LOST);
      assert_null(b);
      assert_null(s);
      /* Also within the same context the device can be opened again. */
      tsr_device *again = NULL;
      OK(tsr_device_open(r.ctx, "vulkan:0", &again));
      tsr_device_close(&again);
    }
    end(&r);
    OK(whole(&r, "vulkan:0"));
    assert_memory_equal(r.result, right, sizeof right);
    end(&r);
  }
  end(&r);
  print_message("lost at each of %d submissions\n", lost);
  assert_true(lost >= 3 && i < 64);
}

static void out_of_device_memory_anywhere_is_a_status_and_leaks_nothing(void **state) {
  static run r;
  int failed = 0, i;
  for (i = 0; i < 64; i++) {
    char fault[32];
    snprintf(fault, sizeof fault, "oom:%d", i);
    setenv("TSR_VK_FAULT", fault, 1);
    tsr_code c = code_of(whole(&r, "vulkan:0"));
    unsetenv("TSR_VK_FAULT");
    if (c == TSR_OK) break;
    assert_int_equal(c, TSR_OUT_OF_MEMORY);
    failed++;
    if (r.p) { /* the one refusal over, the same program goes on */
      OK(execute(&r));
      assert_memory_equal(r.result, right, sizeof right);
    }
    end(&r);
  }
  end(&r);
  print_message("refused at each of %d allocations\n", failed);
  assert_true(failed >= 3 && i < 64); /* two inputs and the output at least */
}

static void out_of_host_memory_anywhere_is_a_status_and_leaks_nothing(void **state) {
  static run r;
  int failed = 0;
  for (long left = 0;; left = 2 * left + 1) {
    OK(open_device(&r, "vulkan:0"));
    r.mem.left = left;
    tsr_code c = code_of(build(&r));
    if (c == TSR_OK) c = code_of(execute(&r));
    r.mem.left = 1L << 40;
    end(&r);
    if (c == TSR_OK) break;
    assert_int_equal(c, TSR_OUT_OF_MEMORY);
    failed++;
  }
  assert_true(failed > 6);
}

enum { ROUNDS = 3 };
static void *work(void *device) {
  run *r = test_malloc(sizeof *r);
  size_t wrong = 0;
  for (int i = 0; i < ROUNDS; i++) {
    tsr_status st = whole(r, device);
    if (st) wrong++, tsr_status_free(st);
    for (int k = 0; k < M * N; k++)
      wrong += strncmp(device, "vulkan", 6) ? !(r->result[k] - right[k] < 1e-4f && right[k] - r->result[k] < 1e-4f)
                                            : r->result[k] != right[k];
    for (int k = 0; k < 2; k++) tsr_buffer_destroy(&r->in[k]);
    tsr_buffer_destroy(&r->out), tsr_program_destroy(&r->p), tsr_graph_destroy(&r->g), tsr_device_close(&r->dev),
        tsr_context_destroy(&r->ctx);
    wrong += r->mem.live != 0;
  }
  test_free(r);
  return (void *)wrong;
}

static void devices_in_threads_of_their_own_independent(void **state) {
  static char *const devices[] = {"vulkan:0", "vulkan:0", "cpu:0"};
  pthread_t t[3];
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&t[i], NULL, work, devices[i]), 0);
  for (int i = 0; i < 3; i++) {
    void *wrong;
    pthread_join(t[i], &wrong);
    if (wrong) fail_msg("%s: %zu wrong", devices[i], (size_t)wrong);
  }
}

/* Two devices of one context, buffers and programs of each alive at once. */
static void two_devices_of_a_context_independent(void **state) {
  static run a, b;
  OK(whole(&a, "vulkan:0"));
  b = (run){.mem = {.left = 1L << 40}};
  b.ctx = a.ctx;
  OK(tsr_device_open(a.ctx, "vulkan:0", &b.dev));
  OK(build(&b));
  for (int i = 0; i < 3; i++) {
    memset(a.result, 0, sizeof a.result);
    OK(execute(&b));
    OK(execute(&a));
    assert_memory_equal(a.result, right, sizeof right);
    assert_memory_equal(b.result, right, sizeof right);
  }
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&b.in[i]);
  tsr_buffer_destroy(&b.out), tsr_program_destroy(&b.p), tsr_graph_destroy(&b.g), tsr_device_close(&b.dev);
  end(&a);
}

int main(void) {
  static run r;
  setenv("TSR_MATRIX", "scalar", 1); /* no self-test: f32 has no matrix shape here, and each open would try all */
  setenv("TSR_VK_VALIDATION", "1", 0);
  tsr_code c = code_of(whole(&r, "vulkan:0"));
  if (c == TSR_UNAVAILABLE) { /* without the layers the tests still run */
    end(&r);
    unsetenv("TSR_VK_VALIDATION");
    c = code_of(whole(&r, "vulkan:0"));
  }
  if (c != TSR_OK) {
    end(&r);
    printf("no Vulkan device here\n");
    return c == TSR_UNAVAILABLE ? 77 : 1;
  }
  memcpy(right, r.result, sizeof right);
  end(&r);
  const struct CMUnitTest tests[] = {cmocka_unit_test(lost_device_is_a_status_and_a_new_context_gives_the_same_bits),
                                     cmocka_unit_test(out_of_device_memory_anywhere_is_a_status_and_leaks_nothing),
                                     cmocka_unit_test(out_of_host_memory_anywhere_is_a_status_and_leaks_nothing),
                                     cmocka_unit_test(devices_in_threads_of_their_own_independent),
                                     cmocka_unit_test(two_devices_of_a_context_independent)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  printf("%d validation messages\n", n_messages);
  return failed || n_messages;
}
