/* The public interface from several threads on the CPU, and with several threads of its own. */
#include "tests/unit/product_rig.h"

#include <pthread.h>
#include <unistd.h>

static void deterministic_bits_do_not_depend_on_threads(void **state) {
  enum { M = 130, N = 70, K = 1000 };
  static float first[M * N], again[M * N];
  tsr_compile_options o = {.policy = TSR_POLICY_DETERMINISTIC};
  for (int threads = 1; threads <= 5; threads += 2) {
    char text[16];
    snprintf(text, sizeof text, "%d", threads);
    setenv("TSR_THREADS", text, 1);
    rig r = open_rig();
    run_product(&r, &o, M, N, K, threads == 1 ? first : again);
    if (threads > 1) assert_memory_equal(first, again, sizeof first);
    close_rig(&r);
  }
  unsetenv("TSR_THREADS");
}

static void *worker(void *v) {
  enum { M = 33, N = 65, K = 129 };
  float *out = v;
  for (int i = 0; i < 5; i++) {
    rig r = open_rig();
    run_product(&r, NULL, M, N, K, out);
    close_rig(&r);
  }
  return NULL;
}

static void two_contexts_on_two_threads_do_not_disturb_each_other(void **state) {
  enum { COUNT = 33 * 65 };
  static float a[COUNT], b[COUNT];
  pthread_t t[2];
  assert_int_equal(pthread_create(&t[0], NULL, worker, a), 0);
  assert_int_equal(pthread_create(&t[1], NULL, worker, b), 0);
  pthread_join(t[0], NULL);
  pthread_join(t[1], NULL);
  assert_memory_equal(a, b, sizeof a);
}

typedef struct shared_context {
  rig r;
  float out[33 * 65];
} shared_context;

static void *same_device_worker(void *v) {
  shared_context *s = v;
  for (int i = 0; i < 5; i++) run_product(&s->r, NULL, 33, 65, 129, s->out);
  return NULL;
}

static void *own_device_worker(void *v) {
  shared_context *s = v;
  for (int i = 0; i < 5; i++) {
    rig r = {.ctx = s->r.ctx};
    OK(tsr_device_open(r.ctx, "cpu:0", &r.dev));
    run_product(&r, NULL, 33, 65, 129, s->out);
    tsr_device_close(&r.dev);
  }
  return NULL;
}

/* Objects of their own, on one device and on devices that are opened at once. */
static void one_context_serves_several_threads(void **state) {
  static shared_context s[4];
  pthread_t t[4];
  rig r = open_rig();
  for (int i = 0; i < 4; i++) {
    s[i].r = r;
    assert_int_equal(pthread_create(&t[i], NULL, i < 2 ? same_device_worker : own_device_worker, &s[i]), 0);
  }
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
  for (int i = 1; i < 4; i++) assert_memory_equal(s[0].out, s[i].out, sizeof s[i].out);
  close_rig(&r);
}

/* Long enough for the other threads to come upon lists that are being made. */
static void *slow_alloc(void *user, size_t size, size_t align) {
  void *p = NULL;
  usleep(200);
  return posix_memalign(&p, align < sizeof p ? sizeof p : align, size) ? NULL : p;
}

static void slow_free(void *user, void *p, size_t size, size_t align) { free(p); }

typedef struct listing {
  tsr_context *ctx;
  const tsr_device_info *devices;
  const tsr_backend_info *backends;
  int n_devices, n_backends;
} listing;

static void *list_worker(void *v) {
  listing *l = v;
  OK(tsr_devices(l->ctx, &l->devices, &l->n_devices));
  OK(tsr_backends(l->ctx, &l->backends, &l->n_backends));
  for (int i = 0; i < l->n_devices; i++)
    for (int k = 0; k < i; k++) assert_string_not_equal(l->devices[i].id, l->devices[k].id);
  return NULL;
}

/* Whoever asks first, the lists are made once. */
static void devices_are_listed_by_several_threads(void **state) {
  listing l[4] = {{0}};
  pthread_t t[4];
  const tsr_allocator al = {slow_alloc, slow_free, NULL};
  tsr_context *ctx;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .allocator = &al}, &ctx));
  for (int i = 0; i < 4; i++) {
    l[i].ctx = ctx;
    assert_int_equal(pthread_create(&t[i], NULL, list_worker, &l[i]), 0);
  }
  for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
  assert_true(l[0].n_devices > 0 && l[0].n_backends > 0);
  for (int i = 1; i < 4; i++) {
    assert_ptr_equal(l[i].devices, l[0].devices);
    assert_ptr_equal(l[i].backends, l[0].backends);
    assert_int_equal(l[i].n_devices, l[0].n_devices);
    assert_int_equal(l[i].n_backends, l[0].n_backends);
  }
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(deterministic_bits_do_not_depend_on_threads),
      cmocka_unit_test(two_contexts_on_two_threads_do_not_disturb_each_other),
      cmocka_unit_test(one_context_serves_several_threads),
      cmocka_unit_test(devices_are_listed_by_several_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
