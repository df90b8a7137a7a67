/* Failures of the CUDA and HIP backends against a fake driver: each gives a clear status, nothing is leaked, other work
 * goes on. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "backends/cuda/backend.h"
#include "backends/hip/backend.h"
#include "core/base/status.h"
#include "tessera/cuda.h"
#include "tessera/hip.h"

typedef struct side {
  const be_vtable *be;
  const char *lib, *lib_knob, *rtc_knob;
} side;
static const side sides[] = {{&cuda_backend, TSR_BINARY_DIR "/tests/libfakecuda.so", "TSR_LIBCUDA", "TSR_NVRTC"},
                             {&hip_backend, TSR_BINARY_DIR "/tests/libfakehip.so", "TSR_LIBHIP", "TSR_HIPRTC"}};

typedef struct control {
  void (*fail_at)(long, int), (*fail_later)(long, int);
  long (*steps)(void);
  int (*live)(void);
  int (*launched)(void);
  void (*version)(int);
  void (*arch)(int, int), (*gfx)(const char *);
} control;

/* An allocator that counts what it gave. */
static long outstanding, allocations, refuse_at = -1;
static void *count_alloc(void *user, size_t n, size_t align) {
  void *p = NULL;
  if (allocations++ == refuse_at) return NULL;
  if (posix_memalign(&p, align < 16 ? 16 : align, n ? n : 1)) return NULL;
  outstanding++;
  return p;
}
static void count_free(void *user, void *p, size_t n, size_t align) {
  if (p) outstanding--;
  free(p);
}
static const tsr_allocator counting = {count_alloc, count_free, NULL};
static void quiet(void *user, int level, const char *text) {}
static const be_env env = {.al = &counting, .log = quiet};

static control take(const side *s) {
  control c;
  void *lib = dlopen(s->lib, RTLD_NOW);
  assert_non_null(lib);
  *(void **)&c.fail_at = dlsym(lib, "fake_fail");
  *(void **)&c.fail_later = dlsym(lib, "fake_fail_later");
  *(void **)&c.steps = dlsym(lib, "fake_steps");
  *(void **)&c.live = dlsym(lib, "fake_live");
  *(void **)&c.launched = dlsym(lib, "fake_launched");
  *(void **)&c.version = dlsym(lib, "fake_version");
  *(void **)&c.arch = dlsym(lib, "fake_arch");
  *(void **)&c.gfx = dlsym(lib, "fake_gfx");
  setenv(s->lib_knob, s->lib, 1);
  setenv(s->rtc_knob, s->lib, 1);
  c.fail_at(-1, 0);
  return c;
}

/* Everything a program does once. The first failure ends it; all is torn down. */
static tsr_status whole_life(const side *s) {
  const be_vtable *be = s->be;
  be_instance *in = NULL;
  be_device *dev = NULL;
  be_buffer *a = NULL, *h = NULL;
  be_stream *st1 = NULL;
  be_event *e1 = NULL, *e2 = NULL;
  be_module *m = NULL;
  be_program *p = NULL;
  tsr_caps caps;
  tsr_status st;
  be_device_info info;
  double ns, times[2];
  uint32_t x[64] = {7}, y[64] = {0};
  be_tensor_map map = {
      .arg = 0, .dtype = TSR_BF16, .rank = 2, .dims = {64, 64}, .strides = {0, 128}, .box = {64, 64}, .swizzle = 128};
  be_kernel_desc kernels[2] = {
      {.name = "first",
       .grid = {4, 1, 1},
       .block = {384, 1, 1},
       .cluster = {2, 1, 1},
       .shared_bytes = 100000,
       .n_args = 1,
       .n_outputs = 1,
       .maps = &map,
       .n_maps = be == &cuda_backend},
      {.name = "second", .grid = {4, 1, 1}, .block = {128, 1, 1}, .cluster = {1, 1, 1}, .n_args = 1, .n_outputs = 1}};
  be_module_desc md = {.format = BE_TEXT, .code = "kernel text", .code_bytes = 11, .kernels = kernels, .n_kernels = 2};
  int binding = 0;
  be_launch launches[2];
  TSR_GOTO(be->instance_create(&env, &in));
  TSR_GOTO(be->device_info(in, 1, &info));
  assert_string_equal(info.name, "Fake device 1");
  TSR_GOTO(be->device_open(in, 0, NULL, &dev, &caps));
  assert_true(caps.n_cores >= 4);
  TSR_GOTO(be->buffer_create(dev, 256, BE_DEVICE_LOCAL, &a));
  TSR_GOTO(be->buffer_create(dev, 256, BE_HOST_VISIBLE, &h));
  assert_non_null(be->buffer_map(h));
  TSR_GOTO(be->stream_create(dev, 0, &st1));
  TSR_GOTO(be->event_create(dev, &e1));
  TSR_GOTO(be->event_create(dev, &e2));
  TSR_GOTO(be->module_create(dev, &md, &m));
  launches[0] = (be_launch){.module = m, .kernel = 0, .bindings = &binding};
  launches[1] = (be_launch){.module = m, .kernel = 1, .bindings = &binding};
  TSR_GOTO(be->program_create(dev, &(be_program_desc){.launches = launches, .n_launches = 2, .n_bindings = 1}, &p));
  TSR_GOTO(be->event_record(st1, e1));
  TSR_GOTO(be->write(st1, (be_range){a, 0, 256}, x));
  TSR_GOTO(be->fill(st1, (be_range){a, 4, 4}, 9));
  TSR_GOTO(be->copy(st1, (be_range){h, 0, 256}, (be_range){a, 0, 256}));
  for (int i = 0; i < 4; i++)
    TSR_GOTO(be->program_run(st1, p, &(be_range){i < 2 ? a : h, 0, 256},
                             NULL)); /* one by one and as a graph, captured and updated */
  TSR_GOTO(be->program_run(st1, p, &(be_range){a, 0, 256}, times));
  TSR_GOTO(be->read(st1, (be_range){h, 0, 256}, y));
  TSR_GOTO(be->event_record(st1, e2));
  TSR_GOTO(be->stream_wait(st1, e1));
  TSR_GOTO(be->stream_sync(st1, 1000000));
  TSR_GOTO(be->stream_sync(st1, -1));
  TSR_GOTO(be->event_sync(e2));
  TSR_GOTO(be->event_elapsed(e1, e2, &ns));
  assert_int_equal(y[0], 7);
  assert_int_equal(y[1], 9);
  assert_true(fabs(ns - 1e3 * (3 * 100 + 10 * 10)) < 50 &&
              fabs(times[0] - 10000) < 50); /* by the fake's clock: three copies, ten launches; float milliseconds */
done:
  be->program_destroy(p);
  be->module_destroy(m);
  be->event_destroy(e1);
  be->event_destroy(e2);
  be->stream_destroy(st1);
  be->buffer_destroy(a);
  be->buffer_destroy(h);
  be->device_close(dev);
  be->instance_destroy(in);
  return st;
}

static void life_without_faults_works(void **state) {
  for (int i = 0; i < 2; i++) {
    control c = take(&sides[i]);
    int before = c.launched();
    outstanding = 0;
    tsr_status st = whole_life(&sides[i]);
    if (st) print_message("%s\n", tsr_status_message(st));
    assert_null(st);
    assert_int_equal(outstanding, 0);
    assert_int_equal(c.live(), 0);
    assert_true(c.launched() > before);
  }
}

/* Every driver call fails once, with each kind of code. A status that names the code, or success where the call was
 * optional; in both cases nothing is left on the host, nor in the driver. */
static void each_failing_call_gives_a_status_and_leaks_nothing(void **state) {
  static const int codes[] = {2, 1, 700, 209};
  for (int i = 0; i < 2; i++) {
    control c = take(&sides[i]);
    tsr_status st = whole_life(&sides[i]);
    assert_null(st);
    long n = c.steps();
    assert_true(n > 40);
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
      int failed = 0;
      for (long at = 0; at < n; at++) {
        outstanding = 0;
        c.fail_at(at, codes[k]);
        st = whole_life(&sides[i]);
        if (st) {
          tsr_code code = tsr_status_code(st);
          failed++;
          assert_true(strlen(tsr_status_message(st)) > 10);
          assert_true(code == TSR_OUT_OF_MEMORY || code == TSR_LAUNCH_FAILED || code == TSR_DEVICE_LOST ||
                      code == TSR_UNAVAILABLE || code == TSR_ARCH_MISMATCH || code == TSR_INTERNAL);
          if (codes[k] == 700 && code == TSR_DEVICE_LOST) assert_non_null(strstr(tsr_status_hint(st), "open it again"));
        }
        /* of a lost device nothing can be released, and one handle stays where its context can't be entered to release
         * it */
        if (codes[k] != 700) assert_in_range(c.live(), 0, !st);
        tsr_status_free(st);
        assert_int_equal(outstanding, 0);
      }
      assert_true(failed > n / 2);
    }
    c.fail_at(-1, 0);
  }
}

/* The host's memory ends at each allocation in turn. A call may do without (a log, a name), else it is out of memory.
 */
static void each_refused_host_allocation_is_out_of_memory(void **state) {
  for (int i = 0; i < 2; i++) {
    take(&sides[i]);
    int refused = 0;
    refuse_at = -1, allocations = 0;
    assert_null(whole_life(&sides[i]));
    long n = allocations;
    assert_true(n > 8);
    for (long at = 0; at < n; at++) {
      control c = take(&sides[i]);
      outstanding = allocations = 0;
      refuse_at = at;
      tsr_status st = whole_life(&sides[i]);
      refuse_at = -1;
      if (st) assert_int_equal(tsr_status_code(st), TSR_OUT_OF_MEMORY);
      refused += st != NULL;
      tsr_status_free(st);
      assert_int_equal(outstanding, 0);
      assert_int_equal(c.live(), 0);
    }
    assert_true(refused > n / 2);
  }
}

/* A module that doesn't load says so; the device and its next module are none the worse for it. */
static void failed_module_load_leaves_the_device_usable(void **state) {
  for (int i = 0; i < 2; i++) {
    control c = take(&sides[i]);
    const be_vtable *be = sides[i].be;
    be_instance *in;
    be_device *dev;
    be_module *m;
    be_kernel_desc k = {.name = "first", .block = {128, 1, 1}, .cluster = {1, 1, 1}};
    be_module_desc md = {.format = BE_TEXT, .code = "x", .code_bytes = 1, .kernels = &k, .n_kernels = 1};
    int failed = 0;
    assert_null(be->instance_create(&env, &in));
    assert_null(be->device_open(in, 0, NULL, &dev, NULL));
    for (long at = 0; at < 12; at++) {
      c.fail_later(at, 209); /* no binary for this device */
      tsr_status st = be->module_create(dev, &md, &m);
      if (st) {
        failed++;
        assert_null(m);
        assert_true(strlen(tsr_status_message(st)) > 10);
      }
      if (!st) be->module_destroy(m);
      tsr_status_free(st);
      c.fail_later(-1, 0);
      assert_null(be->module_create(dev, &md, &m));
      be->module_destroy(m);
    }
    assert_true(failed > 3);
    be->device_close(dev);
    be->instance_destroy(in);
  }
}

/* cuda.h of CUDA 13.0: the codes that leave "the process in an inconsistent state and any further CUDA work will return
 * the same error". Those around them don't. */
static void code_after_which_nothing_works_loses_the_device(void **state) {
  static const int lost[] = {226, 700, 702, 714, 715, 716, 717, 718, 719, 721, 911},
                   other[] = {1, 2, 100, 225, 227, 701, 703, 713, 720, 722, 910, 912};
  enum { N_LOST = sizeof lost / sizeof *lost, N_OTHER = sizeof other / sizeof *other };
  for (int i = 0; i < N_LOST + N_OTHER; i++) {
    control c = take(&sides[0]);
    be_instance *in;
    be_device *dev;
    be_buffer *b = NULL;
    assert_null(cuda_backend.instance_create(&env, &in));
    assert_null(cuda_backend.device_open(in, 0, NULL, &dev, NULL));
    c.fail_later(1, i < N_LOST ? lost[i] : other[i - N_LOST]);
    tsr_code code = st_take_code(cuda_backend.buffer_create(dev, 64, BE_DEVICE_LOCAL, &b));
    assert_int_not_equal(code, TSR_OK);
    assert_int_equal(code == TSR_DEVICE_LOST, i < N_LOST);
    c.fail_later(-1, 0);
    cuda_backend.device_close(dev);
    cuda_backend.instance_destroy(in);
  }
}

static void sticky_error_stays_until_the_device_is_reopened(void **state) {
  control c = take(&sides[0]);
  const be_vtable *be = sides[0].be;
  be_instance *in;
  be_device *dev;
  be_buffer *b = NULL;
  assert_null(be->instance_create(&env, &in));
  assert_null(be->device_open(in, 0, NULL, &dev, NULL));
  c.fail_later(1, 719);
  tsr_status st = be->buffer_create(dev, 64, BE_DEVICE_LOCAL, &b);
  assert_int_equal(st_take_code(st), TSR_DEVICE_LOST);
  assert_null(b);
  c.fail_later(-1, 0);
  assert_int_equal(st_take_code(be->buffer_create(dev, 64, BE_DEVICE_LOCAL, &b)), TSR_DEVICE_LOST);
  take(&sides[1]); /* the other backend doesn't notice */
  assert_null(whole_life(&sides[1]));
  take(&sides[0]);
  be->device_close(dev);
  assert_null(be->device_open(in, 0, NULL, &dev, NULL));
  assert_null(be->buffer_create(dev, 64, BE_DEVICE_LOCAL, &b));
  be->buffer_destroy(b);
  be->device_close(dev);
  be->instance_destroy(in);
}

static void expect_unavailable(const side *s, const char *part) {
  be_instance *in;
  tsr_status st = s->be->instance_create(&env, &in);
  assert_non_null(st);
  assert_null(in);
  assert_int_equal(tsr_status_code(st), TSR_UNAVAILABLE);
  assert_non_null(strstr(tsr_status_message(st), part));
  tsr_status_free(st);
}

static void missing_and_old_drivers_say_so(void **state) {
  for (int i = 0; i < 2; i++) {
    control c = take(&sides[i]);
    setenv(sides[i].lib_knob, "/nonexistent/libnothing.so", 1);
    expect_unavailable(&sides[i], "/nonexistent/libnothing.so not found");
    setenv(sides[i].lib_knob, "libm.so.6", 1);
    expect_unavailable(&sides[i], "has no");
    take(&sides[i]);
    c.version(11000);
    expect_unavailable(&sides[i], "older than");
    c.version(i ? 60000000 : 13000);
    c.fail_at(0, 100);
    expect_unavailable(&sides[i], "does not start");
    c.fail_at(-1, 0);
  }
}

static void missing_compiler_fails_the_module_only(void **state) {
  for (int i = 0; i < 2; i++) {
    take(&sides[i]);
    setenv(sides[i].rtc_knob, "/nonexistent/librtc.so", 1);
    void *code;
    size_t n;
    char *log;
    tsr_status st = sides[i].be->compile(&env, "sm_90a", "text", &code, &n, &log);
    assert_int_equal(tsr_status_code(st), TSR_UNAVAILABLE);
    assert_non_null(strstr(tsr_status_message(st), "/nonexistent/librtc.so"));
    tsr_status_free(st);
    control c = take(&sides[i]);
    static const struct {
      int step, code;
      tsr_code expect;
    } faults[] = {{0, 1, TSR_OUT_OF_MEMORY}, {1, 1, TSR_OUT_OF_MEMORY}, {1, 5, TSR_ARCH_MISMATCH}};
    for (int k = 0; k < 3; k++) {
      c.fail_at(faults[k].step, faults[k].code);
      assert_int_equal(st_take_code(sides[i].be->compile(&env, "sm_90a", "text", &code, &n, &log)), faults[k].expect);
      assert_int_equal(c.live(), 0);
    }
    take(&sides[i]);
    st = sides[i].be->compile(&env, "sm_90a", "#error here", &code, &n, &log);
    assert_int_equal(tsr_status_code(st), TSR_INTERNAL);
    tsr_status_free(st);
  }
}

static void old_architecture_is_unsupported(void **state) {
  control c = take(&sides[0]);
  be_instance *in;
  be_device *dev;
  assert_null(cuda_backend.instance_create(&env, &in));
  c.arch(7, 0);
  assert_int_equal(st_take_code(cuda_backend.device_open(in, 0, NULL, &dev, NULL)), TSR_UNSUPPORTED);
  c.arch(9, 0);
  cuda_backend.instance_destroy(in);
  c = take(&sides[1]);
  assert_null(hip_backend.instance_create(&env, &in));
  c.gfx("gfx803");
  assert_int_equal(st_take_code(hip_backend.device_open(in, 0, NULL, &dev, NULL)), TSR_UNSUPPORTED);
  c.gfx("gfx942");
  hip_backend.instance_destroy(in);
  tsr_caps caps;
  tsr_status st = cuda_backend.arch_caps("sm_70", &caps);
  assert_int_equal(tsr_status_code(st), TSR_NOT_FOUND);
  assert_non_null(strstr(tsr_status_hint(st), "sm_90a"));
  tsr_status_free(st);
}

static void compile_log_becomes_statistics(void **state) {
  take(&sides[0]);
  be_instance *in;
  be_device *dev;
  be_module *m;
  be_kernel_stats s;
  be_kernel_desc k[2] = {{.name = "first", .block = {128, 1, 1}}, {.name = "second", .block = {128, 1, 1}}};
  assert_null(cuda_backend.instance_create(&env, &in));
  assert_null(cuda_backend.device_open(in, 0, NULL, &dev, NULL));
  assert_null(cuda_backend.module_create(
      dev, &(be_module_desc){.format = BE_TEXT, .code = "x", .code_bytes = 1, .kernels = k, .n_kernels = 2}, &m));
  assert_null(cuda_backend.kernel_stats(m, 0, &s));
  assert_int_equal(s.spill_bytes, 28);
  assert_false(s.serialized);
  assert_null(cuda_backend.kernel_stats(m, 1, &s));
  assert_int_equal(s.spill_bytes, 0);
  assert_true(s.serialized);
  assert_true(s.occupancy > 0);
  cuda_backend.module_destroy(m);
  cuda_backend.device_close(dev);
  cuda_backend.instance_destroy(in);
}

static void foreign_context_and_pointer_stay_the_applications(void **state) {
  for (int i = 0; i < 2; i++) {
    control c = take(&sides[i]);
    const be_vtable *be = sides[i].be;
    int mine = 0;
    _Alignas(16) uint32_t memory[8] = {0};
    tsr_cuda_import import = {.device = 0, .context = &mine, .stream = &mine}; /* the HIP one has the same fields */
    be_instance *in;
    be_device *dev;
    be_buffer *b;
    be_stream *s;
    assert_null(be->instance_create(&env, &in));
    int before = c.live();
    assert_null(be->device_open(in, -1, &(be_import){&import}, &dev, NULL));
    assert_int_equal(st_take_code(be->buffer_import(dev, &(tsr_cuda_pointer){(uint64_t)(uintptr_t)memory + 4}, 16, &b)),
                     TSR_INVALID_ARGUMENT); /* kernels read 16 bytes at once */
    assert_null(b);
    assert_null(be->buffer_import(dev, &(tsr_cuda_pointer){(uint64_t)(uintptr_t)memory}, sizeof memory, &b));
    assert_null(be->stream_create(dev, 0, &s));
    assert_null(be->fill(s, (be_range){b, 0, sizeof memory}, 5));
    assert_int_equal(memory[7], 5);
    be->stream_destroy(s);
    be->buffer_destroy(b);
    be->device_close(dev);
    assert_int_equal(c.live(), before);
    import.context = NULL;
    assert_int_equal(st_take_code(be->device_open(in, -1, &(be_import){&import}, &dev, NULL)), TSR_INVALID_ARGUMENT);
    be->instance_destroy(in);
  }
}

static void check_cache(int side) {
  char dir[] = "/tmp/tsr-simt-XXXXXX", file[400] = "", cmd[500];
  control c = take(&sides[side]);
  assert_non_null(mkdtemp(dir));
  be_env cached = env;
  cached.cache_dir = dir;
  void *code;
  size_t n;
  char *log;
  for (int round = 0; round < 4; round++) {
    c.fail_at(-1, 0);
    assert_null(sides[side].be->compile(&cached, side ? "gfx942" : "sm_90a", "some text", &code, &n, &log));
    assert_int_equal(n, strlen("some text") + 1);
    assert_true(round == 1 ? c.steps() == 0 : c.steps() > 0);
    counting.free(NULL, code, n, 16);
    counting.free(NULL, log, 1, 16);
    snprintf(cmd, sizeof cmd, "ls %s/blobs/*.bin", dir);
    FILE *f = popen(cmd, "r");
    assert_non_null(fgets(file, sizeof file, f));
    pclose(f);
    file[strcspn(file, "\n")] = 0;
    if (round == 1) assert_int_equal(chmod(file, 0666), 0); /* others could have written it */
    if (round == 2) {
      FILE *g = fopen(file, "r+");
      fseek(g, -1, SEEK_END);
      fputc('!', g);
      fclose(g);
    }
  }
  snprintf(cmd, sizeof cmd, "rm -r %s", dir);
  assert_int_equal(system(cmd), 0);
}

static void cached_binary_is_used_only_when_whole_and_ours(void **state) {
  for (int side = 0; side < 2; side++) check_cache(side);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(life_without_faults_works),
      cmocka_unit_test(each_failing_call_gives_a_status_and_leaks_nothing),
      cmocka_unit_test(each_refused_host_allocation_is_out_of_memory),
      cmocka_unit_test(failed_module_load_leaves_the_device_usable),
      cmocka_unit_test(code_after_which_nothing_works_loses_the_device),
      cmocka_unit_test(sticky_error_stays_until_the_device_is_reopened),
      cmocka_unit_test(missing_and_old_drivers_say_so),
      cmocka_unit_test(missing_compiler_fails_the_module_only),
      cmocka_unit_test(old_architecture_is_unsupported),
      cmocka_unit_test(compile_log_becomes_statistics),
      cmocka_unit_test(foreign_context_and_pointer_stay_the_applications),
      cmocka_unit_test(cached_binary_is_used_only_when_whole_and_ours),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
