/* What the Vulkan backend gives to the driver, counted: barriers only where a launch waits, submissions cut to the time
 * that one may take, one pipeline for kernels of the same code; and no message from the validation layers. */
#include "tests/conformance/vulkan_chain.h"

static vr dev;

static int n_barriers, n_submits;
static PFN_vkCmdPipelineBarrier2 real_barrier;
static PFN_vkQueueSubmit2 real_submit;

static void VKAPI_PTR counting_barrier(VkCommandBuffer cmd, const VkDependencyInfo *info) {
  n_barriers++;
  real_barrier(cmd, info);
}

static VkResult VKAPI_PTR counting_submit(VkQueue q, uint32_t n, const VkSubmitInfo2 *info, VkFence fence) {
  n_submits++;
  return real_submit(q, n, info, fence);
}

/* Runs ten launches, of which launch i waits for waits_for(i) (-1: none), and counts barriers of the recording and
 * submissions. */
static void counted(be_module *m, int (*waits_for)(int), be_buffer *const b[2], const char *budget_ms) {
  static const int ab[] = {0, 1};
  be_launch l[10];
  int waits[10];
  if (budget_ms) setenv("TSR_SUBMIT_MS", budget_ms, 1);
  for (int i = 0; i < 10; i++) waits[i] = waits_for(i), l[i] = (be_launch){m, 0, ab, &waits[i], waits[i] >= 0};
  be_program *p;
  VR_OK(vulkan_backend.program_create(dev.d, &(be_program_desc){l, 10, 2}, &p));
  real_barrier = dev.d->fn.vkCmdPipelineBarrier2, real_submit = dev.d->fn.vkQueueSubmit2;
  dev.d->fn.vkCmdPipelineBarrier2 = counting_barrier, dev.d->fn.vkQueueSubmit2 = counting_submit;
  n_barriers = n_submits = 0;
  tsr_status st = vulkan_backend.program_run(dev.s, p, (be_range[]){{b[0], 0, 4 * N}, {b[1], 0, 4 * N}}, NULL);
  dev.d->fn.vkCmdPipelineBarrier2 = real_barrier, dev.d->fn.vkQueueSubmit2 = real_submit;
  VR_OK(st);
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  vulkan_backend.program_destroy(p);
  if (budget_ms) unsetenv("TSR_SUBMIT_MS");
}

static int none(int i) { return -1; }
static int the_one_before(int i) { return i - 1; }
static int the_first(int i) { return i ? 0 : -1; }

static void barriers_only_where_a_launch_waits(void **state) {
  static float x[N];
  be_module *m = vr_module(&dev, step_kernel("add", 1, N, "same")); /* all write the same values */
  be_buffer *b[2] = {buffer(&dev, sizeof x, x), buffer(&dev, sizeof x, NULL)};
  counted(m, none, b, NULL);
  assert_int_equal(n_barriers, 2); /* the first and the last thing in a command buffer */
  counted(m, the_first, b, NULL);
  assert_int_equal(n_barriers, 3); /* one separates the first from all others */
  counted(m, the_one_before, b, NULL);
  assert_int_equal(n_barriers, 2 + 9);
  assert_int_equal(n_submits, 1);
  vulkan_backend.module_destroy(m);
  for (int i = 0; i < 2; i++) vulkan_backend.buffer_destroy(b[i]);
}

static void submissions_cut_to_the_budget(void **state) {
  static float x[N], y[N];
  char *s = malloc(8192), *flops;
  strcpy(s, step_kernel("add", 1, N, "slow"));
  assert_non_null(flops = strstr(s, "flops = "));
  strcpy(flops, "flops = 1000000000000000} : () -> ()\n"); /* modelled as many seconds: each launch is cut, too */
  be_module *m = vr_module(&dev, s);
  for (int i = 0; i < N; i++) x[i] = (float)i;
  be_buffer *b[2] = {buffer(&dev, sizeof x, x), buffer(&dev, sizeof x, NULL)};
  counted(m, the_one_before, b, "100");
  assert_true(n_submits >= 10 * N / 64); /* down to single blocks */
  VR_OK(vulkan_backend.read(dev.s, (be_range){b[1], 0, sizeof y}, y));
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  for (int i = 0; i < N; i++) assert_float_equal(y[i], x[i] + 1, 0);
  free(s);
  vulkan_backend.module_destroy(m);
  for (int i = 0; i < 2; i++) vulkan_backend.buffer_destroy(b[i]);
}

static int n_pipelines;
static PFN_vkCreateComputePipelines real_pipelines;

static VkResult VKAPI_PTR counting_pipelines(VkDevice d, VkPipelineCache cache, uint32_t n,
                                             const VkComputePipelineCreateInfo *info, const VkAllocationCallbacks *al,
                                             VkPipeline *out) {
  n_pipelines += (int)n;
  return real_pipelines(d, cache, n, info, al, out);
}

static void kernels_of_the_same_code_share_a_pipeline(void **state) {
  static float x[N], y[N];
  char *s = calloc(1, 1 << 14);
  strcat(s, step_kernel("add", 1, N, "plus"));
  strcat(s, step_kernel("mul", 2, N, "times"));
  strcat(s, step_kernel("add", 1, N, "plus_again"));
  be_module *m = vr_module(&dev, s);
  static const int ab[] = {0, 1}, ba[] = {1, 0}, waits[] = {0, 1};
  const be_launch l[] = {{m, 0, ab, NULL, 0}, {m, 1, ba, waits, 1}, {m, 2, ab, waits + 1, 1}};
  be_program *p;
  real_pipelines = dev.d->fn.vkCreateComputePipelines;
  dev.d->fn.vkCreateComputePipelines = counting_pipelines;
  tsr_status st = vulkan_backend.program_create(dev.d, &(be_program_desc){l, 3, 2}, &p);
  dev.d->fn.vkCreateComputePipelines = real_pipelines;
  VR_OK(st);
  assert_int_equal(n_pipelines, 2);
  for (int i = 0; i < N; i++) x[i] = (float)i;
  be_buffer *a = buffer(&dev, sizeof x, x), *b = buffer(&dev, sizeof x, NULL);
  VR_OK(vulkan_backend.program_run(dev.s, p, (be_range[]){{a, 0, sizeof x}, {b, 0, sizeof x}}, NULL));
  VR_OK(vulkan_backend.read(dev.s, (be_range){b, 0, sizeof y}, y));
  VR_OK(vulkan_backend.stream_sync(dev.s, -1));
  for (int i = 0; i < N; i++) assert_float_equal(y[i], 2 * (x[i] + 1) + 1, 0);
  vulkan_backend.program_destroy(p);
  vulkan_backend.module_destroy(m);
  vulkan_backend.buffer_destroy(a);
  vulkan_backend.buffer_destroy(b);
  free(s);
}

/* The self-test's kernels for a device that is not here: every shape is emitted, a workgroup's with tensor addressing.
 */
int main(void) {
  if (!vr_open_validated(&dev)) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(barriers_only_where_a_launch_waits),
                                     cmocka_unit_test(submissions_cut_to_the_budget),
                                     cmocka_unit_test(kernels_of_the_same_code_share_a_pipeline)};
  int r = cmocka_run_group_tests(tests, NULL, NULL), messages = vr_close(&dev);
  printf("%d validation messages\n", messages);
  return r || messages;
}
