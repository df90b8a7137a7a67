/* The Vulkan backend through its own table: order of work, replay, large grids, many arguments, lost devices, out of
 * memory, two devices at once, warm starts, and no message from the validation layers. Large buffers are in
 * test_vulkan_buffers.c, what it gives the driver is counted in test_vulkan_counted.c. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "core/base/blob.h"
#include "core/emit/spirv/caps.h"
#include "tests/conformance/vulkan_chain.h"

static vr dev;
static char text[1 << 15];

static void program_replayed_with_other_buffers_right(void **state) {
  static float x[N], y[N];
  be_module *m = two_kernels(&dev);
  be_program *p = chain(&dev, m);
  be_buffer *b[6];
  for (int i = 0; i < 6; i++) b[i] = buffer(&dev, sizeof x, NULL);
  for (int round = 0; round < 40; round++) {
    int k = 2 * (round % 3);
    for (int i = 0; i < N; i++) x[i] = (float)(i % 97 + round);
    VR_OK(vulkan_backend.write(dev.s, (be_range){b[k], 0, sizeof x}, x));
    VR_OK(vulkan_backend.program_run(dev.s, p, (be_range[]){{b[k], 0, sizeof x}, {b[k + 1], 0, sizeof x}}, NULL));
    if (round % 5) continue;
    VR_OK(vulkan_backend.read(dev.s, (be_range){b[k + 1], 0, sizeof y}, y));
    VR_OK(vulkan_backend.stream_sync(dev.s, -1));
    for (int i = 0; i < N; i++) assert_float_equal(y[i], 2 * (x[i] + 1) + 1, 0);
  }
  double ns[3];
  VR_OK(vulkan_backend.program_run(dev.s, p, (be_range[]){{b[0], 0, sizeof x}, {b[1], 0, sizeof x}}, ns));
  for (int i = 0; i < 3; i++) assert_true(ns[i] > 0 && ns[i] < 1e9);
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(m);
  for (int i = 0; i < 6; i++) vulkan_backend.buffer_destroy(b[i]);
}

static void copies_and_fills_in_order(void **state) {
  enum { BYTES = 3 << 20 };
  unsigned char *x = malloc(BYTES), *y = malloc(BYTES);
  for (int i = 0; i < BYTES; i++) x[i] = (unsigned char)(i * 31 + i / 997);
  be_buffer *a = buffer(&dev, BYTES, x), *b = buffer(&dev, BYTES, NULL);
  VR_OK(vulkan_backend.copy(dev.s, (be_range){b, 16, BYTES - 16}, (be_range){a, 0, BYTES - 16}));
  VR_OK(vulkan_backend.fill(dev.s, (be_range){b, 1024, 4096}, 0x01020304u));
  VR_OK(vulkan_backend.read(dev.s, (be_range){b, 16, BYTES - 16}, y));
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  assert_memory_equal(y, x, 1008);
  for (int i = 0; i < 4096; i += 4) assert_int_equal(y[1008 + i], 4);
  assert_memory_equal(y + 1008 + 4096, x + 1008 + 4096, BYTES - 16 - 1008 - 4096);
  vulkan_backend.buffer_destroy(a);
  vulkan_backend.buffer_destroy(b);
  free(x);
  free(y);
}

static void streams_wait_for_each_others_events(void **state) {
  static float x[N], y[N];
  be_module *m = two_kernels(&dev);
  be_program *p = chain(&dev, m);
  be_stream *other;
  be_event *done, *later;
  double ns = -1;
  VR_OK(vulkan_backend.stream_create(dev.d, 0, &other));
  VR_OK(vulkan_backend.event_create(dev.d, &done));
  VR_OK(vulkan_backend.event_create(dev.d, &later));
  for (int i = 0; i < N; i++) x[i] = (float)i;
  be_buffer *a = buffer(&dev, sizeof x, x), *b = buffer(&dev, sizeof x, NULL), *c = buffer(&dev, sizeof x, NULL);
  VR_OK(vulkan_backend.program_run(dev.s, p, (be_range[]){{a, 0, sizeof x}, {b, 0, sizeof x}}, NULL));
  VR_OK(vulkan_backend.event_record(dev.s, done));
  VR_OK(vulkan_backend.stream_wait(other, done));
  VR_OK(vulkan_backend.copy(other, (be_range){c, 0, sizeof x}, (be_range){b, 0, sizeof x}));
  VR_OK(vulkan_backend.event_record(other, later));
  VR_OK(vulkan_backend.event_sync(later));
  VR_OK(vulkan_backend.event_elapsed(done, later, &ns));
  assert_true(ns >= 0);
  VR_OK(vulkan_backend.read(other, (be_range){c, 0, sizeof y}, y));
  VR_OK(vulkan_backend.stream_sync(other, -1));
  for (int i = 0; i < N; i++) assert_float_equal(y[i], 2 * (x[i] + 1) + 1, 0);
  vulkan_backend.event_destroy(done);
  vulkan_backend.event_destroy(later);
  vulkan_backend.stream_destroy(other);
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(m);
  vulkan_backend.buffer_destroy(a);
  vulkan_backend.buffer_destroy(b);
  vulkan_backend.buffer_destroy(c);
}

static void self_tests_of_recorded_devices_emitted(void **state) {
  tsr_caps caps;
  int wide = 0;
  VR_OK(spirv_caps_read(&al_default, TSR_SOURCE_DIR "/tests/vulkan/nvidia-h200.json", &caps));
  for (int i = 0; i < caps.n_matrix; i++) {
    const tsr_matrix_shape *x = &caps.matrix[i];
    const vk_selftest_problem p = {x->a, x->b, x->c, 8 * x->m, 8 * x->n, 8 * x->k};
    ir_module *m = NULL;
    be_module_desc desc;
    strb s, out;
    arena a;
    strb_init(&s, NULL);
    strb_init(&out, NULL);
    arena_init(&a, &al_default);
    vk_selftest_kernel(&s, &p, x, caps.subgroup, caps.coopmat2_tensor);
    VR_OK(ir_parse(&al_default, strb_text(&s), strlen(strb_text(&s)), "selftest", &m));
    VR_OK(emit_spirv(m, &caps, &a, &desc));
    emit_spirv_disassemble((const uint32_t *)desc.code, desc.code_bytes / 4, &out);
    assert_int_equal(strstr(strb_text(&out), "OpCooperativeMatrixLoadTensorNV") != NULL, x->scope == SCOPE_WORKGROUP);
    wide += x->scope == SCOPE_WORKGROUP;
    ir_module_destroy(&m);
    arena_clear(&a);
    strb_clear(&s);
    strb_clear(&out);
  }
  assert_true(wide >= 8);
}

static void figures_of_drivers_understood(void **state) {
  be_kernel_stats s = {-1, -1, 0, -1, false, -1};
  assert_true(vk_stats_add(&s, "Register Count", 96)); /* NVIDIA */
  assert_true(vk_stats_add(&s, "Local Memory Size", 64));
  assert_true(s.registers == 96 && s.spill_bytes == 64);
  s = (be_kernel_stats){-1, -1, 0, -1, false, -1};
  assert_true(vk_stats_add(&s, "VGPRs", 128) && vk_stats_add(&s, "Spilled VGPRs", 3) &&
              vk_stats_add(&s, "LDS size", 20480) && vk_stats_add(&s, "Scratch size", 12)); /* RADV */
  assert_true(s.registers == 128 && s.spill_bytes == 12 && s.shared_bytes == 20480 && s.scratch_bytes == 12);
  assert_true(vk_stats_add(&s, "Spill count", 5)); /* ANV */
  assert_int_equal(s.spill_bytes, 20);
  assert_false(vk_stats_add(&s, "Instruction Count", 1e6));
  be_module *m = vr_module(&dev, step_kernel("add", 1, N, "asked"));
  VR_OK(vulkan_backend.kernel_stats(m, 0, &s));
  assert_true(s.registers >= -1 && s.spill_bytes >= -1 && s.shared_bytes >= 0);
  if (!dev.d->features.statistics) assert_int_equal(s.registers, -1);
  vulkan_backend.module_destroy(m);
}

enum { ARGS = 24 };

/* The last argument = the sum of all others, 64 elements; returns the end of the text. */
static char *many_kernel(char *p, const char *end, const char *name, int grid) {
  p += snprintf(p, (size_t)(end - p), "\"tessera.target.kernel\"() ({\n^bb0(");
  for (int i = 0; i < ARGS; i++)
    p += snprintf(p, (size_t)(end - p), "%s%%a%d: !tessera.ptr<f32, \"global\">", i ? ", " : "", i);
  p += snprintf(p, (size_t)(end - p),
                "):\n%%t = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n%%s0 = \"tessera.target.const\"() "
                "{value = 0.0} : () -> f32\n");
  for (int i = 0; i < ARGS - 1; i++)
    p += snprintf(p, (size_t)(end - p),
                  "%%x%d = \"tessera.target.load\"(%%a%d, %%t) : (!tessera.ptr<f32, \"global\">, index) -> f32\n%%s%d "
                  "= \"tessera.target.add\"(%%s%d, %%x%d) : (f32, f32) -> f32\n",
                  i, i, i + 1, i, i);
  return p + snprintf(p, (size_t)(end - p),
                      "\"tessera.target.store\"(%%s%d, %%a%d, %%t) : (f32, !tessera.ptr<f32, \"global\">, index) -> "
                      "()\n\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"%s\", dialect = \"spirv\", grid = "
                      "[%d, 1, 1], block = [64, 1, 1]} : () -> ()\n",
                      ARGS - 1, ARGS - 1, name, grid);
}

static void many_arguments_through_a_table(void **state) {
  float in[ARGS][64], out[64];
  vr_arg args[ARGS];
  many_kernel(text, text + sizeof text, "many", 1);
  for (int a = 0; a < ARGS; a++) {
    for (int i = 0; i < 64; i++) in[a][i] = (float)(a * 100 + i);
    args[a] = (vr_arg){in[a], a == ARGS - 1 ? out : NULL, sizeof out};
  }
  vr_run(&dev, text, args, ARGS, 1);
  for (int i = 0; i < 64; i++) assert_float_equal(out[i], 100 * (ARGS - 1) * (ARGS - 2) / 2 + (ARGS - 1) * i, 0);
}

/* A launch without blocks has a table too; the next one must not take it for its own. */
static void empty_launch_keeps_its_table(void **state) {
  static float zero[64], one[64], out[64];
  int all_zero[ARGS] = {0}, ones[ARGS];
  for (int i = 0; i < ARGS; i++) ones[i] = i < ARGS - 1 ? 1 : 2;
  for (int i = 0; i < 64; i++) one[i] = 1;
  many_kernel(many_kernel(text, text + sizeof text, "empty", 0), text + sizeof text, "many", 1);
  be_module *m = vr_module(&dev, text);
  const be_launch l[] = {{m, 0, all_zero, NULL, 0}, {m, 1, ones, NULL, 0}};
  be_program *p;
  VR_OK(vulkan_backend.program_create(dev.d, &(be_program_desc){l, 2, 3}, &p));
  be_buffer *b[] = {buffer(&dev, sizeof zero, zero), buffer(&dev, sizeof one, one), buffer(&dev, sizeof out, zero)};
  VR_OK(vulkan_backend.program_run(
      dev.s, p, (be_range[]){{b[0], 0, sizeof out}, {b[1], 0, sizeof out}, {b[2], 0, sizeof out}}, NULL));
  VR_OK(vulkan_backend.read(dev.s, (be_range){b[2], 0, sizeof out}, out));
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  for (int i = 0; i < 64; i++) assert_float_equal(out[i], ARGS - 1, 0);
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(m);
  for (int i = 0; i < 3; i++) vulkan_backend.buffer_destroy(b[i]);
}

static void out_of_memory_is_a_status_and_leaks_nothing(void **state) {
  vr r;
  assert_true(vr_open(&r));
  if (r.d->features.coopmat) { /* the self-test of matrices already needs memory */
    be_instance *other; /* this one knows the outcome */
    be_device *second;
    tsr_caps caps;
    VR_OK(vulkan_backend.instance_create(&r.env, &other));
    setenv("TSR_VK_FAULT", "oom:1", 1);
    tsr_status failed = vulkan_backend.device_open(other, 0, NULL, &second, &caps);
    unsetenv("TSR_VK_FAULT");
    vulkan_backend.instance_destroy(other);
    assert_int_equal(tsr_status_code(failed), TSR_OUT_OF_MEMORY);
    assert_null(second);
    tsr_status_free(failed);
  }
  int before = atomic_load(&r.d->n_live), failures = 0;
  be_buffer *b[8] = {0};
  atomic_store(&r.d->fault_oom, 4);
  for (int i = 0; i < 8; i++) {
    tsr_status st = vulkan_backend.buffer_create(r.d, 1 << 16, BE_DEVICE_LOCAL, &b[i]);
    if (!st) continue;
    failures++;
    assert_int_equal(tsr_status_code(st), TSR_OUT_OF_MEMORY);
    assert_null(b[i]);
    tsr_status_free(st);
  }
  assert_int_equal(failures, 1);
  for (int i = 0; i < 8; i++) vulkan_backend.buffer_destroy(b[i]);
  assert_int_equal(atomic_load(&r.d->n_live), before);
  be_buffer *huge;
  tsr_status st = vulkan_backend.buffer_create(r.d, (size_t)1 << 50, BE_DEVICE_LOCAL, &huge);
  assert_int_equal(tsr_status_code(st), TSR_OUT_OF_MEMORY);
  tsr_status_free(st);
  assert_int_equal(vr_close(&r), 0);
}

static void lost_device_is_a_status_and_can_be_opened_again(void **state) {
  static float x[N], y[N];
  vr r;
  assert_true(vr_open(&r));
  be_module *m = two_kernels(&r);
  be_program *p = chain(&r, m);
  be_buffer *a = buffer(&r, sizeof x, x), *b = buffer(&r, sizeof x, NULL);
  be_range bindings[2] = {{a, 0, sizeof x}, {b, 0, sizeof x}};
  VR_OK(vulkan_backend.program_run(r.s, p, bindings, NULL));
  VR_OK(vulkan_backend.stream_sync(r.s, -1));
  atomic_store(&r.d->fault_lost, 0);
  for (int i = 0; i < 3; i++) { /* it stays lost */
    tsr_status st = vulkan_backend.program_run(r.s, p, bindings, NULL);
    assert_int_equal(tsr_status_code(st), TSR_DEVICE_LOST);
    tsr_status_free(st);
  }
  tsr_status st = vulkan_backend.stream_sync(r.s, -1);
  assert_int_equal(tsr_status_code(st), TSR_DEVICE_LOST);
  tsr_status_free(st);
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(m);
  vulkan_backend.buffer_destroy(a);
  vulkan_backend.buffer_destroy(b);
  vr_close(&r);
  assert_true(vr_open(&r));
  m = two_kernels(&r);
  p = chain(&r, m);
  a = buffer(&r, sizeof x, x), b = buffer(&r, sizeof x, NULL);
  VR_OK(vulkan_backend.program_run(r.s, p, (be_range[]){{a, 0, sizeof x}, {b, 0, sizeof x}}, NULL));
  VR_OK(vulkan_backend.read(r.s, (be_range){b, 0, sizeof y}, y));
  VR_OK(vulkan_backend.stream_sync(r.s, -1));
  for (int i = 0; i < N; i++) assert_float_equal(y[i], 3, 0);
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(m);
  vulkan_backend.buffer_destroy(a);
  vulkan_backend.buffer_destroy(b);
  vr_close(&r);
}

static void two_devices_at_once_independent(void **state) {
  static float x[N], y[N];
  vr other;
  assert_true(vr_open(&other));
  vr *both[2] = {&dev, &other};
  be_module *m[2];
  be_program *p[2];
  be_buffer *a[2], *b[2];
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < N; i++) x[i] = (float)(i + k);
    m[k] = two_kernels(both[k]);
    p[k] = chain(both[k], m[k]);
    a[k] = buffer(both[k], sizeof x, x), b[k] = buffer(both[k], sizeof x, NULL);
    VR_OK(vulkan_backend.program_run(both[k]->s, p[k], (be_range[]){{a[k], 0, sizeof x}, {b[k], 0, sizeof x}}, NULL));
  }
  for (int k = 0; k < 2; k++) {
    VR_OK(vulkan_backend.read(both[k]->s, (be_range){b[k], 0, sizeof y}, y));
    VR_OK(vulkan_backend.stream_sync(both[k]->s, -1));
    for (int i = 0; i < N; i++) assert_float_equal(y[i], 2 * (float)(i + k + 1) + 1, 0);
    vulkan_backend.program_destroy(p[k]);
    vulkan_backend.module_destroy(m[k]);
    vulkan_backend.buffer_destroy(a[k]);
    vulkan_backend.buffer_destroy(b[k]);
  }
  vr_close(&other);
}

static void damaged_cache_files_are_misses(void **state) {
  char dir[] = "/tmp/tessera-vk-XXXXXX", path[256], command[300];
  assert_non_null(mkdtemp(dir));
  setenv("TSR_TEST_CACHE", dir, 1);
  for (int round = 0; round < 3; round++) {
    vr r;
    assert_true(vr_open(&r));
    be_module *m = two_kernels(&r);
    be_program *p = chain(&r, m);
    vulkan_backend.program_destroy(p);
    vulkan_backend.module_destroy(m);
    size_t n;
    void *q = vk_cache_read(&r.env, "probe", &n);
    assert_int_equal(q != NULL, round == 1); /* written in round 0, damaged after round 1 */
    if (q) al_free(&al_default, q, n, 16);
    if (!round) vk_cache_write(&r.env, "probe", "payload", 7);
    vr_close(&r);
    if (round == 1) {
      char id[65];
      blob_id((blob_part[]){{"vulkan", 6}, {"probe", 5}}, 2, id);
      snprintf(path, sizeof path, "%s/blobs/%s.bin", dir, id);
      FILE *f = fopen(path, "r+b");
      assert_non_null(f);
      fseek(f, -1, SEEK_END);
      fputc('X', f);
      fclose(f);
    }
  }
  unsetenv("TSR_TEST_CACHE");
  snprintf(command, sizeof command, "rm -rf %s", dir);
  assert_int_equal(system(command), 0);
}

/* A chain of launches over 4096 elements, the size at which ggml's own test-backend-ops shows its cost of an op. */
static void replay_cost_of_a_launch_is_small(void **state) {
  enum { RUNS = 20, TRIES = 10, ELEMENTS = 4096 };
  struct timespec t0, t1;
  be_module *m = vr_module(&dev, step_kernel("add", 1, ELEMENTS, "tiny"));
  be_buffer *a = buffer(&dev, 4 * ELEMENTS, NULL);
  static const int bindings[] = {0, 0};
  be_launch l[20];
  static int waits[20];
  for (int i = 0; i < 20; i++) waits[i] = i - 1, l[i] = (be_launch){m, 0, bindings, &waits[i], i > 0};
  be_program *p;
  VR_OK(vulkan_backend.program_create(dev.d, &(be_program_desc){l, 20, 1}, &p));
  be_range r = {a, 0, 4 * ELEMENTS};
  VR_OK(vulkan_backend.program_run(dev.s, p, &r, NULL));
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  double best = INFINITY; /* of several tries: a machine may stand still in some */
  for (int t = 0; t < TRIES; t++) {
    clock_gettime(CLOCK_MONOTONIC, &t0);
    for (int i = 0; i < RUNS; i++) VR_OK(vulkan_backend.program_run(dev.s, p, &r, NULL));
    VR_OK(vulkan_backend.stream_sync(dev.s, -1));
    clock_gettime(CLOCK_MONOTONIC, &t1);
    double us = ((double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec)) / RUNS / 20 * 1e-3;
    if (us < best) best = us;
  }
  print_message("replay: %.1f us per launch\n", best);
  assert_true(best < 5000);
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(m);
  vulkan_backend.buffer_destroy(a);
}

/* More submissions than are told apart by fences where the device has no timeline semaphores, waited for by a second
 * thread while they come. */
enum { EVENTS = 40 };
static struct { be_event *v[EVENTS]; _Atomic int n; } recorded;

static void *sync_all(void *failed) {
  for (int i = 0; i < EVENTS; i++) {
    while (atomic_load(&recorded.n) <= i) nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
    tsr_status st = vulkan_backend.event_sync(recorded.v[i]);
    if (st) *(bool *)failed = true;
    tsr_status_free(st);
  }
  return NULL;
}

static void many_submissions_waited_for_by_another_thread(void **state) {
  enum { EACH = 9 };
  uint32_t x[64];
  bool failed = false;
  pthread_t waiter;
  be_buffer *b = buffer(&dev, sizeof x, NULL);
  atomic_store(&recorded.n, 0);
  assert_int_equal(pthread_create(&waiter, NULL, sync_all, &failed), 0);
  for (int i = 0; i < EVENTS; i++) {
    for (uint32_t k = 0; k < EACH; k++)
      VR_OK(vulkan_backend.fill(dev.s, (be_range){b, 0, sizeof x}, (uint32_t)i * EACH + k));
    VR_OK(vulkan_backend.event_create(dev.d, &recorded.v[i]));
    VR_OK(vulkan_backend.event_record(dev.s, recorded.v[i]));
    atomic_fetch_add(&recorded.n, 1);
  }
  pthread_join(waiter, NULL);
  assert_false(failed);
  VR_OK(vulkan_backend.event_sync(recorded.v[0])); /* long ago */
  VR_OK(vulkan_backend.read(dev.s, (be_range){b, 0, sizeof x}, x));
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  assert_int_equal(x[63], EVENTS * EACH - 1);
  for (int i = 0; i < EVENTS; i++) vulkan_backend.event_destroy(recorded.v[i]);
  vulkan_backend.buffer_destroy(b);
}

int main(void) {
  if (!vr_open_validated(&dev)) return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(program_replayed_with_other_buffers_right),
      cmocka_unit_test(copies_and_fills_in_order),
      cmocka_unit_test(streams_wait_for_each_others_events),
      cmocka_unit_test(many_submissions_waited_for_by_another_thread),
      cmocka_unit_test(self_tests_of_recorded_devices_emitted),
      cmocka_unit_test(figures_of_drivers_understood),
      cmocka_unit_test(many_arguments_through_a_table),
      cmocka_unit_test(empty_launch_keeps_its_table),
      cmocka_unit_test(out_of_memory_is_a_status_and_leaks_nothing),
      cmocka_unit_test(lost_device_is_a_status_and_can_be_opened_again),
      cmocka_unit_test(two_devices_at_once_independent),
      cmocka_unit_test(damaged_cache_files_are_misses),
      cmocka_unit_test(replay_cost_of_a_launch_is_small),
  };
  int r = cmocka_run_group_tests(tests, NULL, NULL), messages = vr_close(&dev);
  printf("%d validation messages\n", messages);
  return r || messages;
}
