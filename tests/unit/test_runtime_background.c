/* tests/unit/test_runtime_background.c - sets of programs that are made in the background: what covers a list serves
 * until its own program is there; a list that fails is told once and not tried again; one list at a time. The thread
 * that compiles is held in the allocator, so that nothing depends on how fast it is. */
#include "tests/unit/product_rig.h"

#include <pthread.h>

enum { K = 3, MOST = 200 };

/* Where threads other than the test's wait while the gate is closed. */
typedef struct gate {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t tester;
  bool closed, fails; /* fails: they get no memory */
  int held; /* threads that have come so far */
} gate;

static void *gate_alloc(void *user, size_t size, size_t align) {
  gate *g = user;
  void *p = NULL;
  pthread_mutex_lock(&g->lock);
  const bool none = g->fails && !pthread_equal(pthread_self(), g->tester);
  if (g->closed && !pthread_equal(pthread_self(), g->tester)) {
    g->held++;
    pthread_cond_broadcast(&g->changed);
    while (g->closed) pthread_cond_wait(&g->changed, &g->lock);
  }
  pthread_mutex_unlock(&g->lock);
  return none || posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size ? size : 1) ? NULL : p;
}

static void gate_free(void *user, void *p, size_t size, size_t align) {
  (void)user, (void)size, (void)align;
  free(p);
}

static void set_gate(gate *g, bool closed) {
  pthread_mutex_lock(&g->lock);
  g->closed = closed;
  pthread_cond_broadcast(&g->changed);
  pthread_mutex_unlock(&g->lock);
}

static void until_held(gate *g, int n) {
  pthread_mutex_lock(&g->lock);
  while (g->held < n) pthread_cond_wait(&g->changed, &g->lock);
  pthread_mutex_unlock(&g->lock);
}

typedef struct sets {
  gate g;
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *graph;
  tsr_program_set *s;
} sets;

/* y = relu(a b), a [?, 3], b [3, ?]. */
static void open_sets(sets *x, int most) {
  static const char text[] =
      "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<?x3xf32>, %b: tensor<3x?xf32>):\n"
      "  %0 = \"tessera.graph.matmul\"(%a, %b)\n  %1 = \"tessera.graph.relu\"(%0)\n"
      "  \"tessera.graph.return\"(%1)\n}) {sym_name = \"main\"} : () -> ()\n";
  *x = (sets){.g = {.tester = pthread_self()}};
  pthread_mutex_init(&x->g.lock, NULL);
  pthread_cond_init(&x->g.changed, NULL);
  const tsr_allocator al = {.user = &x->g, .alloc = gate_alloc, .free = gate_free};
  OK(tsr_context_create(&(tsr_context_desc){.allocator = &al, .cache_dir = ""}, &x->ctx));
  OK(tsr_device_open(x->ctx, "cpu:0", &x->dev));
  OK(tsr_graph_parse(x->ctx, text, sizeof text - 1, "set.mlir", &x->graph));
  OK(tsr_program_set_create(x->dev, x->graph, NULL, most, &x->s));
}

static void close_sets(sets *x) {
  tsr_program_set_destroy(&x->s);
  tsr_graph_destroy(&x->graph);
  tsr_device_close(&x->dev);
  tsr_context_destroy(&x->ctx);
  pthread_cond_destroy(&x->g.changed);
  pthread_mutex_destroy(&x->g.lock);
}

/* Asks for rows by columns: a program for `rows` by `columns`. */
static tsr_program *serve(sets *x, int64_t m, int64_t n, int64_t rows, int64_t columns) {
  tsr_shape served[2];
  tsr_program *p;
  OK(tsr_program_set_serve(x->s, (tsr_shape[]){{2, {m, K}}, {2, {K, n}}}, 2, served, &p));
  assert_int_equal(served[0].dims[0], rows);
  assert_int_equal(served[1].dims[1], columns);
  assert_int_equal(served[0].dims[1], K);
  assert_int_equal(tsr_program_output(p, 0).shape.dims[0], rows);
  assert_int_equal(tsr_program_output(p, 0).shape.dims[1], columns);
  return p;
}

/* The product of m by n, padded to what the program is for, in its leading part. */
static void run(sets *x, tsr_program *p, int64_t m, int64_t n) {
  static float a[MOST * K], b[K * MOST], y[MOST * MOST];
  const int64_t rows = tsr_program_output(p, 0).shape.dims[0], columns = tsr_program_output(p, 0).shape.dims[1];
  memset(a, 0, sizeof a), memset(b, 0, sizeof b);
  for (int64_t i = 0; i < m * K; i++) a[i] = (float)(i % 7) - 3;
  for (int64_t k = 0; k < K; k++)
    for (int64_t j = 0; j < n; j++) b[k * columns + j] = (float)((k * n + j) % 5) - 2;
  const size_t bytes[3] = {(size_t)(rows * K) * 4, (size_t)(K * columns) * 4, (size_t)(rows * columns) * 4};
  tsr_buffer *v[3];
  for (int i = 0; i < 3; i++) OK(tsr_buffer_create(x->dev, bytes[i], TSR_MEMORY_DEVICE, &v[i]));
  OK(tsr_buffer_write(v[0], 0, a, bytes[0]));
  OK(tsr_buffer_write(v[1], 0, b, bytes[1]));
  OK(tsr_program_run(p, NULL, (tsr_binding[]){{v[0], 0}, {v[1], 0}}, &(tsr_binding){v[2], 0}));
  OK(tsr_buffer_read(v[2], 0, y, bytes[2]));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float want = 0;
      for (int64_t k = 0; k < K; k++) want += a[i * K + k] * b[k * columns + j];
      assert_true(y[i * columns + j] == (want > 0 ? want : 0)); /* small integers: exact */
    }
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&v[i]);
}

static void covering_program_serves_until_its_own_is_there(void **state) {
  sets x;
  setenv("TSR_THREADS", "1", 1); /* no threads but the set's */
  open_sets(&x, 0);
  set_gate(&x.g, true);
  tsr_program *large = serve(&x, 70, 100, 96, 128); /* nothing covers it: its bucket, at once */
  until_held(&x.g, 1);
  assert_int_equal(tsr_program_set_count(x.s), 1);
  run(&x, large, 70, 100); /* while the other one is being compiled */
  assert_ptr_equal(serve(&x, 70, 100, 96, 128), large);
  assert_ptr_equal(serve(&x, 96, 128, 96, 128), large); /* its own */
  assert_ptr_equal(serve(&x, 1, 65, 96, 128), large);   /* isn't begun: one at a time */
  set_gate(&x.g, false);
  OK(tsr_program_set_wait(x.s));
  assert_int_equal(tsr_program_set_count(x.s), 2);
  tsr_program *own = serve(&x, 70, 100, 70, 100);
  assert_ptr_not_equal(own, large);
  run(&x, own, 70, 100);
  set_gate(&x.g, true);
  assert_ptr_equal(serve(&x, 60, 90, 70, 100), own); /* the smaller one of two that cover */
  set_gate(&x.g, false);
  OK(tsr_program_set_wait(x.s));
  serve(&x, 60, 90, 60, 90);
  set_gate(&x.g, true);
  serve(&x, 97, 5, 128, 5); /* one dimension is larger: covered by none */
  set_gate(&x.g, false);
  OK(tsr_program_set_wait(x.s));
  assert_int_equal(tsr_program_set_count(x.s), 5);
  tsr_program *p; /* get waits for a list that is being made, and makes no second one */
  set_gate(&x.g, true);
  serve(&x, 3, 4, 97, 5);
  set_gate(&x.g, false);
  OK(tsr_program_set_get(x.s, (tsr_shape[]){{2, {3, K}}, {2, {K, 4}}}, 2, &p));
  run(&x, p, 3, 4);
  assert_int_equal(tsr_program_set_count(x.s), 6);
  assert_ptr_equal(serve(&x, 3, 4, 3, 4), p);
  close_sets(&x);
  unsetenv("TSR_THREADS");
}

static void empty_and_small_shapes_are_their_own_bucket(void **state) {
  sets x;
  open_sets(&x, 2);
  set_gate(&x.g, false);
  serve(&x, 0, 1, 0, 1);
  serve(&x, 1, 1, 1, 1);
  OK(tsr_program_set_wait(x.s));
  assert_int_equal(tsr_program_set_count(x.s), 2);
  serve(&x, 5, 5, 5, 5); /* in the place of 0 by 1 */
  assert_int_equal(tsr_program_set_count(x.s), 2);
  serve(&x, 0, 1, 1, 1);
  OK(tsr_program_set_wait(x.s));
  serve(&x, 0, 1, 0, 1);
  assert_int_equal(tsr_program_set_count(x.s), 2);
  close_sets(&x);
}

static void failure_is_told_once_and_not_tried_again(void **state) {
  sets x;
  tsr_program *p;
  setenv("TSR_THREADS", "1", 1);
  open_sets(&x, 0);
  x.g.fails = true;
  tsr_program *large = serve(&x, 70, 100, 96, 128);
  tsr_status st = tsr_program_set_wait(x.s);
  assert_int_equal(tsr_status_code(st), TSR_OUT_OF_MEMORY);
  tsr_status_free(st);
  x.g.fails = false;
  assert_ptr_equal(serve(&x, 70, 100, 96, 128), large);
  OK(tsr_program_set_wait(x.s));
  assert_int_equal(tsr_program_set_count(x.s), 1);
  OK(tsr_program_set_get(x.s, (tsr_shape[]){{2, {70, K}}, {2, {K, 100}}}, 2, &p)); /* the caller's own try */
  run(&x, p, 70, 100);
  assert_ptr_equal(serve(&x, 70, 100, 70, 100), p);
  assert_int_equal(tsr_program_set_count(x.s), 2);
  close_sets(&x);
  unsetenv("TSR_THREADS");
}

static void set_goes_while_one_is_made(void **state) {
  sets x;
  setenv("TSR_THREADS", "1", 1);
  open_sets(&x, 1);
  set_gate(&x.g, true);
  serve(&x, 70, 70, 96, 96);
  until_held(&x.g, 1);
  set_gate(&x.g, false);
  close_sets(&x);
  unsetenv("TSR_THREADS");
}

/* The graph contradicts the bucket: 100 + 30 becomes 128 + 30, and 130 becomes 192. */
static void lists_without_a_bucket_are_made_as_they_are(void **state) {
  static const char text[] =
      "\"tessera.graph.func\"() ({\n^bb0(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>):\n"
      "  %0 = \"tessera.graph.concat\"(%a, %b) {axis = 0}\n  %1 = \"tessera.graph.add\"(%0, %c)\n"
      "  \"tessera.graph.return\"(%1)\n}) {sym_name = \"main\"} : () -> ()\n";
  sets x;
  tsr_program_set *s;
  tsr_graph *g;
  tsr_program *p;
  tsr_shape served[3];
  const tsr_shape fits[] = {{1, {100}}, {1, {30}}, {1, {130}}}, wrong[] = {{1, {100}}, {1, {30}}, {1, {131}}};
  open_sets(&x, 1);
  OK(tsr_graph_parse(x.ctx, text, sizeof text - 1, "set.mlir", &g));
  OK(tsr_program_set_create(x.dev, g, NULL, 0, &s));
  OK(tsr_program_set_serve(s, fits, 3, served, &p));
  assert_int_equal(served[2].dims[0], 130);
  OK(tsr_program_set_wait(s));
  assert_int_equal(tsr_program_set_count(s), 1);
  tsr_status st = tsr_program_set_serve(s, wrong, 3, served, &p);
  assert_non_null(st);
  assert_null(p);
  tsr_status_free(st);
  st = tsr_program_set_serve(s, fits, 2, served, &p);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  st = tsr_program_set_serve(s, fits, 3, NULL, &p);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  st = tsr_program_set_wait(NULL);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  tsr_program_set_destroy(&s);
  tsr_graph_destroy(&g);
  close_sets(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(covering_program_serves_until_its_own_is_there),
      cmocka_unit_test(empty_and_small_shapes_are_their_own_bucket),
      cmocka_unit_test(failure_is_told_once_and_not_tried_again),
      cmocka_unit_test(set_goes_while_one_is_made),
      cmocka_unit_test(lists_without_a_bucket_are_made_as_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
