/* Timed runs through the Vulkan backend's own table, by the device's clock where it has one (software devices) and by
 * timestamps: launches that do more take longer, empty ones take nothing, all together are most of the time between two
 * events and never more; no message from the validation layers. */
#include "tests/conformance/vulkan_run.h"

static vr dev;

enum { BIG = 1 << 21, SMALL = 1 << 12, ROUNDS = 300 };

/* out[i] = in[i] + 1 over n elements in blocks of 64. */
static void add_kernel(char *s, size_t cap, int n, const char *name) {
  snprintf(s, cap,
           "\"tessera.target.kernel\"() ({\n^bb0(%%a: !tessera.ptr<f32, \"global\">, %%o: !tessera.ptr<f32, \"global\">):\n"
           "%%i = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n%%b = \"tessera.target.block_id\"() {axis = 0} : () -> index\n"
           "%%c = \"tessera.target.const\"() {value = 64} : () -> index\n%%m = \"tessera.target.mul\"(%%b, %%c) : (index, index) -> index\n%%t = \"tessera.target.add\"(%%m, %%i) : (index, index) -> index\n"
           "%%x = \"tessera.target.load\"(%%a, %%t) : (!tessera.ptr<f32, \"global\">, index) -> f32\n%%v = \"tessera.target.const\"() {value = 1.0} : () -> f32\n"
           "%%r = \"tessera.target.add\"(%%x, %%v) : (f32, f32) -> f32\n\"tessera.target.store\"(%%r, %%o, %%t) : (f32, !tessera.ptr<f32, \"global\">, index) -> ()\n"
           "\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"%s\", dialect = \"spirv\", grid = [%d, 1, 1], block = [64, 1, 1]} : () -> ()\n",
           name, n / 64);
}

typedef struct work {
  be_module *m;
  be_program *p;
  be_buffer *a;
  be_range r;
} work;

enum { LAUNCHES = 4 }; /* big, nothing, small, big: on the same buffer, so that each waits for the one before */

static work make_work(vr *v) {
  static const int bindings[] = {0, 0}, waits[] = {0, 1, 2};
  char text[8192];
  work w;
  add_kernel(text, 2048, BIG, "big");
  add_kernel(text + strlen(text), 2048, SMALL, "small");
  add_kernel(text + strlen(text), 2048, 0, "nothing");
  w.m = vr_module(v, text);
  const be_launch l[LAUNCHES] = {{w.m, 0, bindings, NULL, 0},
                                 {w.m, 2, bindings, waits, 1},
                                 {w.m, 1, bindings, waits + 1, 1},
                                 {w.m, 0, bindings, waits + 2, 1}};
  VR_OK(vulkan_backend.program_create(v->d, &(be_program_desc){l, LAUNCHES, 1}, &w.p));
  VR_OK(vulkan_backend.buffer_create(v->d, 4 * BIG, BE_DEVICE_LOCAL, &w.a));
  VR_OK(vulkan_backend.fill(v->s, (be_range){w.a, 0, 4 * BIG}, 0));
  w.r = (be_range){w.a, 0, 4 * BIG};
  return w;
}

static void drop_work(work *w) {
  vulkan_backend.program_destroy(w->p);
  vulkan_backend.module_destroy(w->m);
  vulkan_backend.buffer_destroy(w->a);
}

/* 512 times the work takes longer, the same work about as long, and little is left beside the launches. */
static bool is_plausible(const double *ns, double share) {
  return ns[0] > 2 * ns[2] && ns[3] > 2 * ns[2] && ns[0] < 4 * ns[3] && ns[3] < 4 * ns[0] && share > 0.5;
}

/* Other programs may hold the processor between any two launches: the best of so many rounds counts as a busy machine
 * needs. The two clocks of the comparison below are right to 0.2 % of each other; 2 % is far from that and from what a
 * wrong unit or a row too many would give. */
static void assert_times_are_the_launches(vr *v) {
  double least[LAUNCHES] = {1e18, 1e18, 1e18, 1e18}, share = 0;
  int rounds = 0;
  float x[SMALL];
  be_event *from, *to;
  work w = make_work(v);
  VR_OK(vulkan_backend.event_create(v->d, &from));
  VR_OK(vulkan_backend.event_create(v->d, &to));
  for (; rounds < ROUNDS && !(rounds > 3 && is_plausible(least, share)); rounds++) {
    double ns[LAUNCHES], all, sum = 0;
    VR_OK(vulkan_backend.event_record(v->s, from));
    VR_OK(vulkan_backend.program_run(v->s, w.p, &w.r, ns));
    VR_OK(vulkan_backend.event_record(v->s, to));
    VR_OK(vulkan_backend.stream_sync(v->s, -1));
    VR_OK(vulkan_backend.event_elapsed(from, to, &all));
    for (int i = 0; i < LAUNCHES; i++) {
      sum += ns[i];
      if (ns[i] < least[i]) least[i] = ns[i];
    }
    assert_true(sum <= 1.02 * all);
    if (sum / all > share) share = sum / all;
  }
  assert_true(least[1] == 0 && least[2] > 0 && is_plausible(least, share));
  VR_OK(vulkan_backend.read(v->s, (be_range){w.a, 0, sizeof x}, x));
  VR_OK(vulkan_backend.stream_sync(v->s, -1));
  for (int i = 0; i < SMALL; i++) assert_float_equal(x[i], 3 * (float)rounds, 0);
  vulkan_backend.event_destroy(from);
  vulkan_backend.event_destroy(to);
  drop_work(&w);
}

static void launches_timed_by_the_devices_clock(void **state) {
  if (!dev.d->features.clock) skip(); /* a GPU's timestamps cost little */
  assert_times_are_the_launches(&dev);
  assert_true(dev.d->clock.tried && dev.d->clock.ns_per_tick > 0);
}

static int dispatches;
static PFN_vkCmdDispatch real_dispatch;
static void VKAPI_PTR count_dispatch(VkCommandBuffer c, uint32_t x, uint32_t y, uint32_t z) {
  dispatches++;
  real_dispatch(c, x, y, z);
}

/* Kernels are dispatched with a base: the plain dispatches are the clock's. Recorded at the second timed run, when it
 * is known that runs are short. */
static void clock_read_before_the_first_launch_and_after_each(void **state) {
  double ns[LAUNCHES];
  bool ready;
  if (!dev.d->features.clock) skip();
  VR_OK(vk_clock_ready(dev.s, &ready));
  work w = make_work(&dev);
  real_dispatch = dev.d->fn.vkCmdDispatch;
  dev.d->fn.vkCmdDispatch = count_dispatch;
  tsr_status st = vulkan_backend.program_run(dev.s, w.p, &w.r, ns);
  int at_first = dispatches;
  for (int i = 0; !st && i < 20 && (i < 2 || !dispatches); i++) st = vulkan_backend.program_run(dev.s, w.p, &w.r, ns);
  dev.d->fn.vkCmdDispatch = real_dispatch;
  VR_OK(st);
  assert_int_equal(at_first, dev.d->limits.timestamp_bits ? 0 : LAUNCHES);
  assert_int_equal(dispatches, LAUNCHES); /* one of them is empty, and none is after that */
  drop_work(&w);
}

static void launches_timed_by_timestamps(void **state) {
  bool clock = dev.d->features.clock;
  if (!dev.d->limits.timestamp_bits) skip();
  dev.d->features.clock = false;
  assert_times_are_the_launches(&dev);
  dev.d->features.clock = clock;
}

/* The clock's readings are told apart for a while only: longer runs have timestamps, and where there are none no times.
 */
static void long_runs_not_timed_by_the_clock(void **state) {
  double ns[LAUNCHES];
  uint32_t bits = dev.d->limits.timestamp_bits;
  bool ready;
  if (!dev.d->features.clock) skip();
  VR_OK(vk_clock_ready(dev.s, &ready));
  assert_true(ready);
  double tick = dev.d->clock.ns_per_tick;
  dev.d->clock.ns_per_tick = 1e-6; /* a span of 2 us */
  assert_times_are_the_launches(&dev);
  work w = make_work(&dev);
  dev.d->limits.timestamp_bits = 0;
  tsr_status st = vulkan_backend.program_run(dev.s, w.p, &w.r, ns);
  dev.d->clock.ns_per_tick = tick;
  VR_OK(st);
  for (int i = 0; i < LAUNCHES; i++) assert_true(ns[i] == 0);
  st = vulkan_backend.program_run(dev.s, w.p, &w.r, ns);
  dev.d->limits.timestamp_bits = bits;
  VR_OK(st);
  assert_true(ns[0] > 0 && ns[1] == 0 && ns[2] > 0);
  drop_work(&w);
}

static VkResult VKAPI_PTR refuse_module(VkDevice d, const VkShaderModuleCreateInfo *info,
                                        const VkAllocationCallbacks *al, VkShaderModule *out) {
  return VK_ERROR_INITIALIZATION_FAILED;
}

/* Drivers list what they can't do: the clock's kernel is refused, and timestamps take its place. */
static void refused_clock_falls_back_to_timestamps(void **state) {
  vr v;
  double ns[LAUNCHES];
  if (!dev.d->features.clock) skip();
  assert_true(vr_open(&v));
  work w = make_work(&v);
  PFN_vkCreateShaderModule real = v.d->fn.vkCreateShaderModule;
  vk_module_destroy(v.d->clock.kernel); /* the matrix self-test may have made it */
  v.d->clock.kernel = NULL, v.d->clock.tried = false, v.d->clock.ns_per_tick = 0;
  v.d->fn.vkCreateShaderModule = refuse_module;
  VR_OK(vulkan_backend.program_run(v.s, w.p, &w.r, ns)); /* by timestamps anyway */
  tsr_status st = vulkan_backend.program_run(v.s, w.p, &w.r, ns);
  v.d->fn.vkCreateShaderModule = real;
  VR_OK(st);
  assert_true(v.d->clock.tried && !v.d->clock.ns_per_tick);
  assert_true(ns[0] > 0 && ns[1] == 0 && ns[2] > 0);
  drop_work(&w);
  assert_int_equal(vr_close(&v), 0);
}

static void without_clock_and_timestamps_unsupported(void **state) {
  double ns[LAUNCHES];
  uint32_t bits = dev.d->limits.timestamp_bits;
  bool clock = dev.d->features.clock;
  work w = make_work(&dev);
  dev.d->limits.timestamp_bits = 0, dev.d->features.clock = false;
  tsr_status st = vulkan_backend.program_run(dev.s, w.p, &w.r, ns);
  dev.d->limits.timestamp_bits = bits, dev.d->features.clock = clock;
  assert_int_equal(tsr_status_code(st), TSR_UNSUPPORTED);
  tsr_status_free(st);
  VR_OK(vulkan_backend.program_run(dev.s, w.p, &w.r, NULL));
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  drop_work(&w);
}

/* Queues count 36 to 64 bits. */
static void timestamps_wrap_around(void **state) {
  const uint64_t top = (uint64_t)1 << 36;
  assert_int_equal(vk_ticks(top - 5, 10, 36), 15);
  assert_int_equal(vk_ticks(10, top - 5, 36), -15);
  assert_int_equal(vk_ticks(7, 7, 36), 0);
  assert_int_equal(vk_ticks(0xfffffff0u, 0x10u, 32), 0x20);
  assert_int_equal(vk_ticks(3, 5, 64), 2);
  assert_int_equal(vk_ticks(5, 3, 64), -2);
  assert_int_equal(vk_ticks(UINT64_MAX, 1, 64), 2);
}

int main(void) {
  if (!vr_open_validated(&dev)) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(launches_timed_by_the_devices_clock),
                                     cmocka_unit_test(clock_read_before_the_first_launch_and_after_each),
                                     cmocka_unit_test(launches_timed_by_timestamps),
                                     cmocka_unit_test(long_runs_not_timed_by_the_clock),
                                     cmocka_unit_test(refused_clock_falls_back_to_timestamps),
                                     cmocka_unit_test(without_clock_and_timestamps_unsupported),
                                     cmocka_unit_test(timestamps_wrap_around)};
  int r = cmocka_run_group_tests(tests, NULL, NULL), messages = vr_close(&dev);
  printf("%d validation messages\n", messages);
  return r || messages;
}
