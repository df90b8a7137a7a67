/* backends/vulkan/clock.c - the clock of software devices, read by a kernel of one invocation (VK_KHR_shader_clock);
 * timed runs put it between their launches. llvmpipe makes of a timestamp a scene for the threads of its rasteriser,
 * which wake, meet twice and go back to sleep: 40 to 50 us, during which the next barrier waits. A dispatch is 2 to 15
 * us, and what it wrote is memory that the host reads without a call. What a tick lasts nobody says: it is measured
 * once per device, against the host's clock. Of the 64 bits only VK_CLOCK_BITS are believed: lavapipe 26.1 counts
 * nanoseconds and leaves the upper word 0. So runs that may be longer than half of what these count (2 s) keep to
 * timestamps. */
#include <time.h>

#include "backends/vulkan/vk.h"
#include "core/base/clock.h"
#include "core/emit/spirv/words.h"

/* ---- the kernel ---- */

/* *address = clock of the device; the address is the only push constant, as for kernels of one argument. */
static uint32_t *clock_words(const tsr_allocator *al, arena *a, size_t *n) {
  const uint32_t caps[] = {CapShader, CapInt64, CapVulkanMemoryModel, CapPhysicalStorageBufferAddresses,
                           CapShaderClock};
  spv s;
  spv_init(&s, al);
  for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) spv_capability(&s, caps[i]);
  spv_extension(&s, "SPV_KHR_shader_clock");
  uint32_t main_id = spv_id(&s), block = spv_id(&s), var = spv_id(&s);
  uint32_t u32 = TYPE(&s, OpTypeInt, 32, 0), u64 = TYPE(&s, OpTypeInt, 64, 0),
           none = spv_once(&s, OpTypeVoid, NULL, 0, false), function = TYPE(&s, OpTypeFunction, none);
  SPV(&s, SEC_MODEL, OpMemoryModel, AddressingPhysical64, ModelVulkan);
  SPV(&s, SEC_MODES, OpExecutionMode, main_id, ModeLocalSize, 1, 1, 1);
  SPV(&s, SEC_TYPES, OpTypeStruct, block, u64);
  SPV(&s, SEC_DECORATIONS, OpDecorate, block, DecBlock);
  SPV(&s, SEC_DECORATIONS, OpMemberDecorate, block, 0, DecOffset, 0);
  uint32_t whole = TYPE(&s, OpTypePointer, StoragePushConstant, block),
           member = TYPE(&s, OpTypePointer, StoragePushConstant, u64),
           memory = TYPE(&s, OpTypePointer, StoragePhysical, u64);
  SPV(&s, SEC_TYPES, OpVariable, whole, var, StoragePushConstant);
  SPV(&s, SEC_HEAD, OpFunction, none, main_id, 0, function);
  SPV(&s, SEC_HEAD, OpLabel, spv_id(&s));
  uint32_t address = VAL(&s, OpLoad, u64, VAL(&s, OpAccessChain, member, var, CONST(&s, OpConstant, u32, 0)));
  uint32_t ticks = VAL(&s, OpReadClockKHR, u64, CONST(&s, OpConstant, u32, ScopeDevice));
  SPV(&s, SEC_BODY, OpStore, VAL(&s, OpConvertUToPtr, memory, address), ticks, AccessAligned, 8);
  spv_put(&s, SEC_BODY, OpReturn, NULL, 0);
  spv_put(&s, SEC_BODY, OpFunctionEnd, NULL, 0);
  spv_string(&s, SEC_ENTRY, OpEntryPoint, (const uint32_t[]){5 /* GLCompute */, main_id}, 2, "main", &var, 1);
  uint32_t *words = spv_finish(&s, a, n);
  spv_clear(&s);
  return words;
}

static tsr_status make_module(be_device *d) {
  arena a;
  size_t n;
  arena_init(&a, d->env->al);
  const uint32_t *words = clock_words(d->env->al, &a, &n);
  be_kernel_desc k = {
      .name = "clock", .grid = {1, 1, 1}, .block = {1, 1, 1}, .cluster = {1, 1, 1}, .n_args = 1, .n_outputs = 1};
  const size_t offsets[] = {0, 4 * n};
  tsr_status st = words ? vk_module_create(d,
                                           &(be_module_desc){.format = BE_SPIRV,
                                                             .code = words,
                                                             .code_bytes = 4 * n,
                                                             .offsets = offsets,
                                                             .kernels = &k,
                                                             .n_kernels = 1},
                                           &d->clock.kernel)
                        : st_oom();
  arena_clear(&a);
  return st;
}

void vk_clock_record(be_device *d, VkCommandBuffer cmd, VkDeviceAddress to) {
  d->fn.vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, d->clock.kernel->kernels[0].pipeline);
  d->fn.vkCmdPushConstants(cmd, d->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof to, &to);
  d->fn.vkCmdDispatch(cmd, 1, 1, 1);
}

/* ---- what a tick lasts ---- */

/* The device's clock stood at `ticks` at some moment between two of the host's. */
typedef struct reading { int64_t from_ns, to_ns; uint64_t ticks; } reading;

static tsr_status read_both(be_stream *s, be_buffer *to, reading *out) {
  VkCommandBuffer cmd;
  TSR_TRY(vk_stream_begin(s, &cmd));
  vk_clock_record(s->d, cmd, to->address);
  TSR_TRY(vk_end(s, cmd));
  out->from_ns = clock_ns();
  TSR_TRY(vk_stream_submit(s, &cmd, 1));
  TSR_TRY(vk_stream_sync(s, -1));
  out->to_ns = clock_ns();
  out->ticks = *(const uint64_t *)to->host;
  return NULL;
}

/* The sharpest of a few, since the first one compiles and other programs may come between. */
static tsr_status read_sharply(be_stream *s, be_buffer *to, reading *out) {
  enum { TRIES = 5 };
  for (int i = 0; i < TRIES; i++) {
    reading r;
    TSR_TRY(read_both(s, to, &r));
    if (!i || r.to_ns - r.from_ns < out->to_ns - out->from_ns) *out = r;
  }
  return NULL;
}

/* Each later reading bounds the rate from both sides; they are taken until it is known to 0.2 % (20 ms on an idle
 * machine), for 0.3 s at most. A nanosecond where that is within the bounds; no rate when the clock stands still. */
static tsr_status calibrate(be_stream *s) {
  const double sharp = 0.004, most_ns = 3e8, pause_ns = 2e6;
  be_device *d = s->d;
  be_buffer *b = NULL;
  reading first, r;
  double least = 0, most = 0;
  tsr_status st = vk_buffer_create(d, sizeof(uint64_t), BE_HOST_VISIBLE, &b);
  if (!st) st = read_sharply(s, b, &first);
  while (!st) {
    nanosleep(&(struct timespec){.tv_nsec = (long)pause_ns}, NULL);
    st = read_both(s, b, &r);
    double ticks = st ? 0 : (double)vk_ticks(first.ticks, r.ticks, VK_CLOCK_BITS);
    if (ticks <= 0) break;
    double low = (double)(r.from_ns - first.to_ns) / ticks, high = (double)(r.to_ns - first.from_ns) / ticks;
    if (low > least) least = low;
    if (!most || high < most) most = high;
    if (most - least > sharp * most && (double)(r.to_ns - first.to_ns) < most_ns) continue;
    d->clock.ns_per_tick = least <= 1 && most >= 1 ? 1 : (least + most) / 2;
    break;
  }
  vk_buffer_destroy(b);
  return st;
}

tsr_status vk_clock_ready(be_stream *s, bool *ready) {
  be_device *d = s->d;
  tsr_status st = NULL;
  *ready = false;
  if (!d->features.clock) return NULL;
  pthread_mutex_lock(&d->clock.mutex);
  if (!d->clock.tried) {
    if (!d->clock.kernel) st = make_module(d);
    if (!st) st = vk_pipelines(d, &(vk_need){d->clock.kernel, 0}, 1);
    if (!st) st = calibrate(s);
    if (st && tsr_status_code(st) == TSR_LAUNCH_FAILED) { /* a driver that lists the extension and refuses the kernel */
      tsr_status_free(st);
      st = NULL;
    }
    d->clock.tried = !st;
  }
  *ready = !st && d->clock.ns_per_tick > 0;
  pthread_mutex_unlock(&d->clock.mutex);
  return st;
}
