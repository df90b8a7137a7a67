/* Baselines cublaslt and hipblaslt of `tessera bench` against libraries that compute on the host and refuse what the
 * real ones refuse (tests/fake): layouts, transposes, leading dimensions, compute and scale types, workspace, the
 * clock, failures of each call, no algorithm, missing libraries. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/baselines/peer.h"
#include "core/base/dtype.h"
#include "core/base/status.h"

#define FAKE(name) TSR_BINARY_DIR "/tests/libfake" name ".so"

typedef struct fake_blaslt_state { /* as in tests/fake/fake_blaslt.c */
  int live, fail_call, no_algorithm, fnuz_only, compute, scale, fast_sums, turn_a, turn_b, type_a, type_c;
  size_t workspace;
  long products;
} fake_blaslt_state;

typedef struct side {
  const char *peer, *lib;
  int plain, transposed, f32, f64, tf32, i32;
} side;
static const side sides[2] = {{"cublaslt", FAKE("cublaslt"), 0, 1, 68, 70, 77, 72},
                              {"hipblaslt", FAKE("hipblaslt"), 111, 112, 2, 7, 6, 9}};

static fake_blaslt_state *state_of(const side *s) {
  void *lib = dlopen(s->lib, RTLD_NOW);
  assert_non_null(lib);
  return dlsym(lib, "fake_blaslt");
}

static void fill(tsr_dtype t, void *p, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    dtype_store(t, p, i, (double)(int)(seed >> 28) - 8); /* small integers: exact in every type */
  }
}

/* Creates a job, writes operands, runs it and compares what comes back, times `scale`, with sums in f64. */
static void computes(const side *s, tsr_dtype t, int64_t batch, double scale) {
  peer_desc d = {
      .op = PEER_MATMUL, .dtype = t, .batch = batch, .m = 24, .n = 40, .k = 32, .n_sets = 2, .device = "gpu"};
  peer_job *j = NULL;
  assert_null(peer_create(peer_find(s->peer), &d, &j));
  size_t na = peer_count(&d, 0), nb = peer_count(&d, 1), nc = peer_count(&d, 2);
  double a[3 * 24 * 32], b[3 * 32 * 40];
  unsigned char got[3 * 24 * 40 * 8];
  assert_true(na * 8 <= sizeof a && nb * 8 <= sizeof b && nc * 8 <= sizeof got);
  for (int set = 0; set < 2; set++) {
    fill(t, a, na, 3u + (uint32_t)set);
    fill(t, b, nb, 5u + (uint32_t)set);
    assert_null(peer_write(j, set, 0, a));
    assert_null(peer_write(j, set, 1, b));
    assert_null(peer_run(j, set));
    assert_null(peer_wait(j));
    peer_read(j, set, got);
    tsr_dtype out = peer_out_dtype(j);
    for (size_t i = 0; i < nc; i++) {
      double want = 0, have = dtype_load(out, got, i) * scale;
      size_t z = i / (24 * 40), row = i / 40 % 24, column = i % 40;
      for (size_t k = 0; k < 32; k++)
        want += dtype_load(t, a, z * 24 * 32 + row * 32 + k) * dtype_load(t, b, z * 32 * 40 + k * 40 + column);
      if (fabs(have - want) > 2 * dtype_get(out)->eps * fabs(want))
        fail_msg("%s %s batch %d [%zu]: %g, expected %g", s->peer, tsr_dtype_name(t), (int)batch, i, have, want);
    }
  }
  peer_destroy(&j);
}

static void products_are_row_major_in_every_type(void **state) {
  static const tsr_dtype types[] = {TSR_F32, TSR_TF32, TSR_F16, TSR_BF16, TSR_F64, TSR_I8, TSR_F8E4M3, TSR_F8E5M2};
  for (int v = 0; v < 2; v++) {
    const side *s = &sides[v];
    fake_blaslt_state *f = state_of(s);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
      tsr_dtype t = types[i];
      bool narrow = tsr_dtype_size(t) == 1, f8 = t == TSR_F8E4M3 || t == TSR_F8E5M2;
      computes(s, t, 1, 1);
      assert_int_equal(f->compute, t == TSR_I8     ? s->i32
                                   : t == TSR_TF32 ? s->tf32
                                   : t == TSR_F64  ? s->f64
                                                   : s->f32); /* f32 is not tf32, sums are never 16 bits wide */
      assert_int_equal(f->scale, t == TSR_I8 ? 10 : t == TSR_F64 ? 1 : 0);
      assert_int_equal(f->turn_a,
                       narrow ? s->transposed : s->plain); /* the libraries' A is our B: 8-bit kinds want it along k */
      assert_int_equal(f->turn_b, s->plain);
      assert_int_equal(f->fast_sums, f8 && v == 0);
      assert_true(f->workspace == (size_t)64 << 20);
      computes(s, t, 3, 1);
    }
    f->fnuz_only = v;
    if (v) computes(s, TSR_F8E4M3, 1, 4); /* gfx942: the same bits mean half as much there */
    f->fnuz_only = 0;
  }
}

static void clock_counts_what_runs_between_start_and_stop(void **state) {
  for (int v = 0; v < 2; v++) {
    peer_desc d = {.op = PEER_MATMUL, .dtype = TSR_BF16, .m = 8, .n = 8, .k = 8, .device = "gpu"};
    peer_job *j = NULL;
    double us = 0;
    assert_null(peer_create(peer_find(sides[v].peer), &d, &j));
    assert_true(peer_has_clock(j));
    assert_null(peer_run(j, 0));
    assert_null(peer_clock_start(j));
    for (int i = 0; i < 5; i++) assert_null(peer_run(j, 0));
    assert_null(peer_clock_stop(j, &us));
    assert_true(fabs(us - 100) < 0.01); /* 20 microseconds each by the fake's clock */
    peer_destroy(&j);
  }
}

static void refusals_are_said_and_leave_nothing(void **state) {
  for (int v = 0; v < 2; v++) {
    const side *s = &sides[v];
    fake_blaslt_state *f = state_of(s);
    peer_desc d = {.op = PEER_MATMUL, .dtype = TSR_BF16, .batch = 2, .m = 8, .n = 8, .k = 8, .device = "gpu"},
              rows = {.op = PEER_SOFTMAX, .dtype = TSR_F32, .m = 8, .n = 8, .device = "gpu"};
    peer_job *j = NULL;
    assert_null(peer_create(peer_find(s->peer), &d, &j));
    peer_destroy(&j);
    int live = f->live, n = 1;
    f->no_algorithm = 1;
    tsr_status st = peer_create(peer_find(s->peer), &d, &j);
    assert_int_equal(tsr_status_code(st), TSR_UNSUPPORTED);
    assert_non_null(strstr(tsr_status_message(st), "no algorithm for this shape"));
    tsr_status_free(st);
    f->no_algorithm = 0;
    st = peer_create(peer_find(s->peer), &rows, &j);
    assert_int_equal(tsr_status_code(st), TSR_UNSUPPORTED);
    tsr_status_free(st);
    for (;; n++) { /* each call in turn; a heuristic that fails knows no algorithm */
      f->fail_call = n;
      st = peer_create(peer_find(s->peer), &d, &j);
      bool reached = !f->fail_call;
      f->fail_call = 0;
      if (!st && !reached) break;
      if (st) assert_true(tsr_status_code(st) == TSR_LAUNCH_FAILED || tsr_status_code(st) == TSR_UNSUPPORTED);
      if (st) assert_non_null(strstr(tsr_status_message(st), s->peer));
      if (st) assert_null(j);
      tsr_status_free(st);
      peer_destroy(&j);
      assert_int_equal(f->live, live);
    }
    assert_true(n >= 10);
    f->fail_call = 1;
    st = peer_run(j, 0);
    assert_int_equal(tsr_status_code(st), TSR_LAUNCH_FAILED);
    assert_non_null(strstr(tsr_status_message(st), "Matmul: status 14"));
    tsr_status_free(st);
    peer_destroy(&j);
    assert_int_equal(f->live, live);
  }
}

/* In a process of its own, where nothing is loaded yet: the code, and the message has the words. */
static void unavailable(const char *peer, const char *variable, const char *lib, const char *words) {
  pid_t child = fork();
  if (!child) {
    setenv(variable, lib, 1);
    tsr_status st = peer_available(peer_find(peer));
    bool ok = tsr_status_code(st) == TSR_UNAVAILABLE && strstr(tsr_status_message(st), words);
    if (!ok) fprintf(stderr, "%s: %s\n", peer, st ? tsr_status_message(st) : "available");
    _exit(!ok);
  }
  int status = 1;
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
}

static void missing_libraries_are_named(void **state) {
  unavailable("cublaslt", "TSR_CUBLASLT", "/no/such/lib.so",
              "/no/such/lib.so does not load (package the CUDA toolkit)");
  unavailable("hipblaslt", "TSR_HIPBLASLT", "/no/such/lib.so", "/no/such/lib.so does not load (package ROCm)");
  unavailable("cublaslt", "TSR_LIBCUDA", "/no/such/driver.so",
              "/no/such/driver.so does not load (package the GPU's driver)");
  unavailable("cublaslt", "TSR_CUBLASLT", FAKE("cuda"), "the library has no cublasLtCreate");
}

int main(void) {
  setenv("TSR_LIBCUDA", FAKE("cuda"), 1);
  setenv("TSR_LIBHIP", FAKE("hip"), 1);
  setenv("TSR_CUBLASLT", sides[0].lib, 1);
  setenv("TSR_HIPBLASLT", sides[1].lib, 1);
  const struct CMUnitTest tests[] = {cmocka_unit_test(missing_libraries_are_named),
                                     cmocka_unit_test(products_are_row_major_in_every_type),
                                     cmocka_unit_test(clock_counts_what_runs_between_start_and_stop),
                                     cmocka_unit_test(refusals_are_said_and_leave_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
