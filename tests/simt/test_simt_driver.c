/* tests/simt/test_simt_driver.c - the CUDA and HIP backends whole, above a driver whose launches are run by the
 * emulator (tests/fake, fake_runner): what the driver gets is what a GPU would get, tensor maps, clusters and captured
 * graphs included. Results agree with the CPU backend's. Tolerance: a few roundings of the result's type on top of what
 * f32 sums of the programs' lengths may differ by. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "tessera/cuda.h"
#include "tessera/hip.h"
#include "tessera/tessera.h"
#include "tests/fake/fake_driver.h"
#include "tests/simt/emu_check.h"
#include "tests/simt/simt.h"

enum { MAX_MODULES = 32, MAX_INPUTS = 3 };

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static struct { char *text; char kernel[128]; emu_module *m; } modules[MAX_MODULES];
static int n_modules, warp = 32, n_clustered, n_maps;
static bool compute = true; /* false: launches do nothing */

static emu_module *module_of(const fake_launch *l) {
  for (int i = 0; i < n_modules; i++)
    if (!strcmp(modules[i].text, l->text) && !strcmp(modules[i].kernel, l->kernel)) return modules[i].m;
  assert_true(n_modules < MAX_MODULES);
  char *log;
  emu_module *m = emu_compile(&(emu_compile_desc){.source = l->text, .kernels = &l->kernel, .n_kernels = 1}, &log);
  if (!m) fail_msg("%s", log);
  modules[n_modules].text = strdup(l->text);
  snprintf(modules[n_modules].kernel, sizeof modules->kernel, "%s", l->kernel);
  return modules[n_modules++].m = m;
}

static int run_launch(const fake_launch *l) {
  static emu_report r;
  static emu_range ranges[FAKE_MAX_BLOCKS];
  if (!compute) return 0;
  emu_run_desc d = {.kernel = l->kernel,
                    .warp = warp,
                    .shared_bytes = l->shared ? l->shared : 65536,
                    .args = l->params,
                    .n_args = l->n_params,
                    .ranges = ranges};
  memset(&r, 0, sizeof r);
  for (int i = 0; i < l->n_memory; i++)
    if (l->memory[i].bytes) ranges[d.n_ranges++] = (emu_range){l->memory[i].p, l->memory[i].bytes, true};
  for (int i = 0; i < 3; i++)
    d.grid[i] = (int)l->grid[i], d.block[i] = (int)l->block[i], d.cluster[i] = (int)l->cluster[i];
  n_clustered += l->cluster[0] > 1;
  n_maps += strstr(l->text, "tensor_map map0") != NULL;
  bool ran = emu_run(module_of(l), &d, &r);
  if (r.n_findings) emu_report_print(&r, stderr);
  return ran && !r.n_findings ? 0 : 719;
}

/* ---- the drivers ------------------------------------------------------------------------------------------------- */

static struct {
  void (*arch)(int, int), (*gfx)(const char *);
  int (*live)(void), (*graph_launches)(void), (*reaches)(int, int), (*users)(int);
} fakes[2];
static tsr_context *ctx;

static void load_fake(int i, const char *lib, const char *lib_knob, const char *rtc_knob) {
  void *h = dlopen(lib, RTLD_NOW);
  if (!h) fail_msg("%s", dlerror());
  *(void **)&fakes[i].arch = dlsym(h, "fake_arch");
  *(void **)&fakes[i].gfx = dlsym(h, "fake_gfx");
  *(void **)&fakes[i].live = dlsym(h, "fake_live");
  *(void **)&fakes[i].graph_launches = dlsym(h, "fake_graph_launches");
  *(void **)&fakes[i].reaches = dlsym(h, "fake_reaches");
  *(void **)&fakes[i].users = dlsym(h, "fake_context_users");
  *(fake_run_fn *)dlsym(h, "fake_runner") = run_launch;
  setenv(lib_knob, lib, 1);
  setenv(rtc_knob, lib, 1);
}

static int side_of(const char *device) { return !strncmp(device, "hip", 3); }

static tsr_device *open_as(const char *device, const char *arch) {
  int side = side_of(device), number = side ? 0 : atoi(arch + 3);
  tsr_device *dev;
  if (side) fakes[1].gfx(arch);
  else fakes[0].arch(number / 10, number % 10);
  warp = side && strncmp(arch, "gfx1", 4) ? 64 : 32;
  ok(tsr_device_open(ctx, device, &dev), device);
  return dev;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

typedef struct job {
  tsr_program *p;
  tsr_binding in[MAX_INPUTS], out;
  tsr_tensor_info result;
} job;

static void fill_inputs(const job *j, unsigned seed) {
  for (int i = 0; i < tsr_program_n_inputs(j->p); i++) {
    tsr_tensor_info t = tsr_program_input(j->p, i);
    void *data = malloc(t.bytes);
    for (size_t e = 0; e < t.bytes / tsr_dtype_size(t.dtype); e++) {
      seed = seed * 1664525 + 1013904223;
      dtype_store(t.dtype, data, e, (double)(seed >> 8) / (1 << 23) - 1);
    }
    ok(tsr_buffer_write(j->in[i].buffer, 0, data, t.bytes), "write");
    free(data);
  }
}

static void make_buffers(job *j, tsr_device *dev) {
  for (int i = 0; i < tsr_program_n_inputs(j->p); i++)
    ok(tsr_buffer_create(dev, tsr_program_input(j->p, i).bytes, TSR_MEMORY_DEVICE, &j->in[i].buffer), "buffer");
  j->result = tsr_program_output(j->p, 0);
  ok(tsr_buffer_create(dev, j->result.bytes, TSR_MEMORY_DEVICE, &j->out.buffer), "buffer");
}

static job make_job(tsr_device *dev, const char *text) {
  job j = {0};
  ok(tsr_program_parse(dev, text, strlen(text), "text", NULL, &j.p), "compile");
  make_buffers(&j, dev);
  return j;
}

static void drop_buffers(job *j) {
  for (int i = 0; i < MAX_INPUTS; i++) tsr_buffer_destroy(&j->in[i].buffer);
  tsr_buffer_destroy(&j->out.buffer);
}

static void *run_job(job *j, unsigned seed) {
  void *data = malloc(j->result.bytes);
  fill_inputs(j, seed);
  ok(tsr_program_run(j->p, NULL, j->in, &j->out), "run");
  ok(tsr_buffer_read(j->out.buffer, 0, data, j->result.bytes), "read");
  return data;
}

static void compare(const tsr_tensor_info *t, const void *got, const void *want, const char *what) {
  double largest = 0;
  size_t n = t->bytes / tsr_dtype_size(t->dtype);
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(dtype_load(t->dtype, want, i)));
  for (size_t i = 0; i < n; i++) {
    double x = dtype_load(t->dtype, want, i), y = dtype_load(t->dtype, got, i);
    if (!(fabs(x - y) <= 2 * dtype_get(t->dtype)->eps * fabs(x) + 1e-5 * largest))
      fail_msg("%s: element %zu is %g, on the CPU %g", what, i, y, x);
  }
}

/* Runs the text on the device with two sets of buffers: the first ones twice, the others twice, the first again; or the
 * beginning of that. */
static void check_text(tsr_device *dev, const char *text, const char *what, unsigned rounds) {
  tsr_device *cpu;
  ok(tsr_device_open(ctx, "cpu:0", &cpu), "cpu");
  job mine = make_job(dev, text), other = {.p = mine.p}, theirs = make_job(cpu, text);
  make_buffers(&other, dev);
  for (unsigned round = 0; round < rounds; round++) {
    void *want = run_job(&theirs, round), *got = run_job(round / 2 == 1 ? &other : &mine, round);
    compare(&theirs.result, got, want, what);
    free(want);
    free(got);
  }
  drop_buffers(&mine);
  drop_buffers(&other);
  drop_buffers(&theirs);
  tsr_program_destroy(&mine.p);
  tsr_program_destroy(&theirs.p);
  tsr_device_close(&cpu);
}

#define FUNC(args, body, result) \
  "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(" args "):\n" body "\"tessera.graph.return\"(" result ")\n}) {sym_name = \"main\"} }) : () -> ()\n"
static const char product[] = FUNC("%A: tensor<120x192xbf16>, %B: tensor<192x136xbf16>, %v: tensor<136xbf16>",
                                   "%0 = \"tessera.graph.matmul\"(%A, %B)\n%1 = \"tessera.graph.add\"(%0, %v)\n%2 = \"tessera.graph.gelu\"(%1)\n", "%2");
static const char batched[] =
    FUNC("%A: tensor<3x64x96xf16>, %B: tensor<3x96x64xf16>", "%0 = \"tessera.graph.matmul\"(%A, %B)\n", "%0");
/* Three launches: it is no attention, whose weights stand on the left. */
static const char chain[] = FUNC("%A: tensor<64x64xf32>, %B: tensor<64x64xf32>",
                                 "%0 = \"tessera.graph.matmul\"(%A, %B)\n%1 = \"tessera.graph.softmax\"(%0) {axis = "
                                 "1}\n%2 = \"tessera.graph.matmul\"(%A, %1)\n",
                                 "%2");
static const char long_rows[] =
    FUNC("%A: tensor<2x20000xf32>", "%0 = \"tessera.graph.softmax\"(%A) {axis = 1}\n", "%0");

static void hopper_kernels_get_their_maps_and_clusters(void **state) {
  tsr_device *dev = open_as("cuda:0", "sm_90");
  n_maps = n_clustered = 0;
  check_text(dev, product, "product on sm_90a", 3);
  assert_int_equal(n_maps, 3);
  check_text(dev, batched, "batched on sm_90a", 3);
  assert_true(n_maps > 4);
  check_text(dev, long_rows, "long rows on sm_90a", 3);
  assert_true(n_clustered > 0);
  tsr_device_close(&dev);
  assert_int_equal(fakes[0].live(), 0);
}

/* Kernels read 16 bytes at once, and tensor maps begin at multiples of 16: tensors elsewhere are computed on all the
 * same, and nothing beside them changes. */
static void tensors_at_odd_places_are_computed_on(void **state) {
  static const struct {
    const char *device, *arch, *text;
    size_t odd;
  } list[] = {{"cuda:0", "sm_90", product, 2}, {"cuda:1", "sm_80", chain, 12}, {"hip:0", "gfx942", chain, 4}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    tsr_device *dev = open_as(list[i].device, list[i].arch), *cpu;
    ok(tsr_device_open(ctx, "cpu:0", &cpu), "cpu");
    job theirs = make_job(cpu, list[i].text), mine = {0};
    ok(tsr_program_parse(dev, list[i].text, strlen(list[i].text), "text", NULL, &mine.p), "compile");
    mine.result = theirs.result;
    size_t bytes = mine.result.bytes, odd = list[i].odd;
    unsigned char *want = run_job(&theirs, 7), *got = malloc(bytes + 32);
    for (int k = 0; k < tsr_program_n_inputs(mine.p); k++) {
      size_t n = tsr_program_input(mine.p, k).bytes;
      ok(tsr_buffer_create(dev, n + 32, TSR_MEMORY_DEVICE, &mine.in[k].buffer), "buffer");
      mine.in[k].offset = odd;
      void *data = malloc(n);
      ok(tsr_buffer_read(theirs.in[k].buffer, 0, data, n), "read");
      ok(tsr_buffer_write(mine.in[k].buffer, odd, data, n), "write");
      free(data);
    }
    ok(tsr_buffer_create(dev, bytes + 32, TSR_MEMORY_DEVICE, &mine.out.buffer), "buffer");
    mine.out.offset = odd;
    memset(got, 0x5a, bytes + 32);
    ok(tsr_buffer_write(mine.out.buffer, 0, got, bytes + 32), "write");
    ok(tsr_program_run(mine.p, NULL, mine.in, &mine.out), "run");
    ok(tsr_buffer_read(mine.out.buffer, 0, got, bytes + 32), "read");
    compare(&mine.result, got + odd, want, list[i].arch);
    for (size_t b = 0; b < bytes + 32; b++)
      if ((b < odd || b >= odd + bytes) && got[b] != 0x5a) fail_msg("byte %zu beside the result was written", b);
    free(want);
    free(got);
    drop_buffers(&mine);
    drop_buffers(&theirs);
    tsr_program_destroy(&mine.p);
    tsr_program_destroy(&theirs.p);
    tsr_device_close(&dev);
    tsr_device_close(&cpu);
    assert_int_equal(fakes[side_of(list[i].device)].live(), 0);
  }
}

/* Several launches: captured when addresses come again, one by one until then; new addresses are brought into the
 * graph. */
static void graphs_are_replayed_with_new_addresses(void **state) {
  static const struct {
    const char *device, *arch;
  } list[] = {{"cuda:0", "sm_80"}, {"cuda:1", "sm_90"}, {"hip:0", "gfx942"}, {"hip:1", "gfx1100"}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    tsr_device *dev = open_as(list[i].device, list[i].arch);
    int side = side_of(list[i].device), before = fakes[side].graph_launches();
    check_text(dev, chain, list[i].arch, 5);
    assert_int_equal(fakes[side].graph_launches() - before, 2);
    tsr_device_close(&dev);
    assert_int_equal(fakes[side].live(), 0);
  }
}

/* A context, a stream and memory of the application's own. */
static void foreign_memory_is_computed_on(void **state) {
  for (int side = 0; side < 2; side++) {
    tsr_device *owner = open_as(side ? "hip:0" : "cuda:0", side ? "gfx90a" : "sm_80"), *dev;
    job mine = make_job(owner, batched);
    int mark = 0;
    tsr_cuda_import cuda = {.device = 1, .context = &mark, .stream = &mark};
    tsr_hip_import hip = {.device = 1, .context = &mark, .stream = &mark};
    ok(tsr_device_import(ctx, side ? "hip" : "cuda", side ? (void *)&hip : &cuda, &dev), "import");
    /* the application's allocations: those of the owner's buffers are as good as any */
    float *x = aligned_alloc(256, 4096), *y = aligned_alloc(256, 4096);
    tsr_buffer *bx, *by;
    uint64_t ax = (uint64_t)(uintptr_t)x, ay = (uint64_t)(uintptr_t)y;
    ok(tsr_buffer_import(dev, side ? (void *)&(tsr_hip_pointer){ax} : &(tsr_cuda_pointer){ax}, 4096, &bx), "import");
    ok(tsr_buffer_import(dev, side ? (void *)&(tsr_hip_pointer){ay} : &(tsr_cuda_pointer){ay}, 4096, &by), "import");
    tsr_stream *s;
    ok(tsr_stream_create(dev, 0, &s), "stream");
    for (int i = 0; i < 1024; i++) x[i] = (float)i;
    ok(tsr_stream_copy(s, by, 0, bx, 0, 4096), "copy");
    ok(tsr_stream_sync(s, -1), "sync");
    assert_memory_equal(x, y, 4096);
    tsr_stream_destroy(&s);
    tsr_buffer_destroy(&bx);
    tsr_buffer_destroy(&by);
    tsr_device_close(&dev);
    drop_buffers(&mine);
    tsr_program_destroy(&mine.p);
    tsr_device_close(&owner);
    free(x);
    free(y);
    assert_int_equal(fakes[side].live(), 0);
  }
}

/* Two devices: no context before a device is opened, access both ways after, copies and waits from one to the other. */
static void devices_reach_each_other(void **state) {
  for (int side = 0; side < 2; side++) {
    tsr_device *a = open_as(side ? "hip:0" : "cuda:0", side ? "gfx942" : "sm_90"), *b, *cpu;
    assert_int_equal(fakes[side].users(1), 0);
    ok(tsr_device_open(ctx, side ? "hip:1" : "cuda:1", &b), "second device");
    assert_true(fakes[side].reaches(0, 1) && fakes[side].reaches(1, 0));
    job x = make_job(a, chain), y = make_job(b, chain);
    void *want = run_job(&x, 5), *got = malloc(y.result.bytes);
    tsr_stream *s;
    tsr_event *e;
    ok(tsr_stream_create(b, 0, &s), "stream");
    ok(tsr_event_create(a, &e), "event");
    ok(tsr_event_record(e, NULL), "record");
    ok(tsr_stream_wait(s, e), "wait");
    for (int i = 0; i < 2; i++)
      ok(tsr_stream_copy(s, y.in[i].buffer, 0, x.in[i].buffer, 0, tsr_buffer_bytes(x.in[i].buffer)), "copy");
    ok(tsr_program_run(y.p, s, y.in, &y.out), "run");
    ok(tsr_stream_sync(s, -1), "sync");
    ok(tsr_buffer_read(y.out.buffer, 0, got, y.result.bytes), "read");
    assert_memory_equal(want, got, y.result.bytes);
    /* another backend's memory is refused, and so is a copy by a third device's stream */
    tsr_buffer *host;
    ok(tsr_device_open(ctx, "cpu:0", &cpu), "cpu");
    ok(tsr_buffer_create(cpu, 64, TSR_MEMORY_DEVICE, &host), "buffer");
    tsr_status st = tsr_stream_copy(s, host, 0, y.in[0].buffer, 0, 64);
    assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
    tsr_status_free(st);
    st = tsr_stream_copy(s, x.in[0].buffer, 0, x.in[1].buffer, 0, 64);
    assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
    tsr_status_free(st);
    tsr_buffer_destroy(&host);
    tsr_device_close(&cpu);
    tsr_event_destroy(&e);
    tsr_stream_destroy(&s);
    free(want);
    free(got);
    drop_buffers(&x);
    drop_buffers(&y);
    tsr_program_destroy(&x.p);
    tsr_program_destroy(&y.p);
    tsr_device_close(&a);
    tsr_device_close(&b);
    assert_int_equal(fakes[side].live(), 0);
  }
}

/* Each driver call of a program's life fails in turn, as out of memory and as a failed launch: one clear status,
 * nothing left, the other backends as before, and a new device of the same driver works. */
static tsr_status live_once(const char *device) {
  tsr_device *dev = NULL;
  tsr_program *p = NULL;
  job j = {0};
  float zeros[64 * 64] = {0};
  tsr_status st = tsr_device_open(ctx, device, &dev);
  if (!st) st = tsr_program_parse(dev, chain, strlen(chain), "chain", NULL, &p);
  for (int i = 0; i < 2 && !st; i++) {
    st = tsr_buffer_create(dev, sizeof zeros, i ? TSR_MEMORY_HOST : TSR_MEMORY_DEVICE, &j.in[i].buffer);
    if (!st) st = tsr_buffer_write(j.in[i].buffer, 0, zeros, sizeof zeros);
  }
  if (!st) st = tsr_buffer_create(dev, sizeof zeros, TSR_MEMORY_DEVICE, &j.out.buffer);
  for (int i = 0; i < 2 && !st; i++) st = tsr_program_run(p, NULL, j.in, &j.out);
  if (!st) st = tsr_buffer_read(j.out.buffer, 0, zeros, sizeof zeros);
  drop_buffers(&j);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  return st;
}

static void each_refused_call_is_one_status(void **state) {
  compute = false;
  static const struct {
    int code;
    tsr_code expect;
  } faults[] = {{2, TSR_OUT_OF_MEMORY}, {719, TSR_DEVICE_LOST}, {1, TSR_LAUNCH_FAILED}};
  for (int side = 0; side < 2; side++) {
    const char *device = side ? "hip:0" : "cuda:0";
    void *lib = dlopen(side ? TSR_BINARY_DIR "/tests/libfakehip.so" : TSR_BINARY_DIR "/tests/libfakecuda.so", RTLD_NOW);
    long (*steps)(void);
    const char *(*failed)(void);
    void (*reset)(long, int);
    *(void **)&reset = dlsym(lib, "fake_fail");
    *(void **)&steps = dlsym(lib, "fake_steps");
    *(void **)&failed = dlsym(lib, "fake_failed");
    tsr_device *dev = open_as(device, side ? "gfx942" : "sm_90");
    tsr_device_close(&dev);
    reset(-1, 0);
    ok(live_once(device), device);
    long n = steps();
    for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
      int expected = 0;
      for (long at = 0; at < n; at++) {
        reset(at, faults[k].code);
        tsr_status st = live_once(device);
        expected += tsr_status_code(st) == faults[k].expect;
        if (st && strlen(tsr_status_message(st)) < 10)
          fail_msg("step %ld: \"%s\" says nothing", at, tsr_status_message(st));
        /* one release that fails has nobody to tell, and a lost context takes its handles along */
        if (faults[k].expect != TSR_DEVICE_LOST && fakes[side].live() > !st)
          fail_msg("step %ld of %s, %s with %d: %d left; %s", at, device, failed(), faults[k].code, fakes[side].live(),
                   st ? tsr_status_message(st) : "no status");
        tsr_status_free(st);
      }
      assert_true(expected > n / 4);
      reset(-1, 0);
      ok(live_once(device), device);
      ok(live_once("cpu:0"), "cpu:0");
      ok(live_once(side ? "cuda:0" : "hip:0"), "the other");
      reset(-1, 0);
    }
  }
}

int main(void) {
  if (system("g++ --version >/dev/null 2>&1")) return 77;
  load_fake(0, TSR_BINARY_DIR "/tests/libfakecuda.so", "TSR_LIBCUDA", "TSR_NVRTC");
  load_fake(1, TSR_BINARY_DIR "/tests/libfakehip.so", "TSR_LIBHIP", "TSR_HIPRTC");
  ok(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx), "context");
  const struct CMUnitTest tests[] = {cmocka_unit_test(hopper_kernels_get_their_maps_and_clusters),
                                     cmocka_unit_test(graphs_are_replayed_with_new_addresses),
                                     cmocka_unit_test(tensors_at_odd_places_are_computed_on),
                                     cmocka_unit_test(foreign_memory_is_computed_on),
                                     cmocka_unit_test(devices_reach_each_other),
                                     cmocka_unit_test(each_refused_call_is_one_status)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tsr_context_destroy(&ctx);
  for (int i = 0; i < n_modules; i++) emu_module_destroy(modules[i].m), free(modules[i].text);
  return failed != 0;
}
