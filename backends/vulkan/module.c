/* backends/vulkan/module.c - SPIR-V modules and their pipelines, made when a program first needs them, several at once,
 * by threads that are waited for as long as TSR_VK_DEADLINE_MS without another one coming. */
#include <string.h>
#include <time.h>

#include "backends/vulkan/vk.h"
#include "core/base/clock.h"
#include "core/emit/spirv/enum.h"
#include "core/emit/spirv/spirv.h"

enum { MAX_COMPILERS = 16 };

/* Layers of a network repeat their kernels; the grid is no part of the code. */
static bool same_code(const vk_kernel *a, const vk_kernel *b) {
  return a->n_words == b->n_words && a->desc.subgroup == b->desc.subgroup &&
         !memcmp(a->desc.block, b->desc.block, sizeof a->desc.block) && !memcmp(a->words, b->words, 4 * a->n_words);
}

static bool copy_slabs(arena *a, be_kernel_desc *k) {
  if (!k->n_slabs) return true;
  be_slab *s = arena_dup(a, k->slabs, sizeof *s * (size_t)k->n_slabs);
  for (int i = 0; s && i < k->n_slabs; i++)
    if (!(s[i].from = arena_dup(a, s[i].from, sizeof *s[i].from * (size_t)k->n_args)) ||
        !(s[i].to = arena_dup(a, s[i].to, sizeof *s[i].to * (size_t)k->n_args)))
      return false;
  k->slabs = s;
  return s;
}

tsr_status vk_module_create(be_device *d, const be_module_desc *desc, be_module **out) {
  *out = NULL;
  if (desc->format != BE_SPIRV)
    return st_make(d->env->al, TSR_ARCH_MISMATCH, ST_WHERE("vulkan", "module", NULL), "not SPIR-V");
  be_module *m = al_new(d->env->al, be_module);
  arena *a = al_new(d->env->al, arena);
  if (!m || !a) goto oom;
  arena_init(a, d->env->al);
  pthread_mutex_init(&m->mutex, NULL);
  atomic_init(&m->refs, 1);
  m->d = d;
  m->a = a;
  m->kernels = arena_array(a, vk_kernel, desc->n_kernels + 1);
  const char *code = arena_dup(a, desc->code, desc->code_bytes + !desc->code_bytes);
  if (!m->kernels || !code) {
    vk_module_destroy(m);
    return st_oom();
  }
  m->n_kernels = desc->n_kernels;
  for (int i = 0; i < desc->n_kernels; i++) {
    vk_kernel *k = &m->kernels[i];
    k->desc = desc->kernels[i];
    k->desc.name = arena_str(a, desc->kernels[i].name ? desc->kernels[i].name : "");
    k->words = (const uint32_t *)(const void *)(code + desc->offsets[i]);
    k->n_words = (desc->offsets[i + 1] - desc->offsets[i]) / 4;
    if (!copy_slabs(a, &k->desc)) {
      vk_module_destroy(m);
      return st_oom();
    }
    for (k->twin = 0; k->twin < i && !same_code(&m->kernels[k->twin], k); k->twin++) continue;
  }
  *out = m;
  return NULL;
oom:
  if (m) al_delete(d->env->al, m);
  if (a) al_delete(d->env->al, a);
  return st_oom();
}

void vk_module_destroy(be_module *m) {
  if (!m || atomic_fetch_sub(&m->refs, 1) > 1) return;
  be_device *d = m->d;
  arena *a = m->a;
  for (int i = 0; i < m->n_kernels; i++) vk_variants_destroy(d, &m->kernels[i]);
  for (int i = 0; i < m->n_kernels; i++)
    if (m->kernels[i].pipeline) d->fn.vkDestroyPipeline(d->vk, m->kernels[i].pipeline, NULL);
  pthread_mutex_destroy(&m->mutex);
  arena_clear(a);
  al_delete(d->env->al, a);
  al_delete(d->env->al, m);
}

/* The kernel's words with other bindings. */
static uint32_t *rebound(be_device *d, const vk_kernel *k, const uint8_t *binding) {
  uint32_t *w = al_alloc(d->env->al, 4 * k->n_words, 16);
  if (!w) return NULL;
  memcpy(w, k->words, 4 * k->n_words);
  for (size_t i = 5; i < k->n_words && w[i] >> 16; i += w[i] >> 16)
    if ((w[i] & 0xffff) == OpDecorate && w[i + 2] == DecBinding) w[i + 3] = binding[w[i + 3]];
  return w;
}

static VkResult make_shader(be_device *d, const vk_kernel *k, const uint8_t *binding, VkShaderModule *out) {
  uint32_t *other = binding ? rebound(d, k, binding) : NULL;
  if (binding && !other) return VK_ERROR_OUT_OF_HOST_MEMORY;
  VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                   .codeSize = 4 * k->n_words,
                                   .pCode = other ? other : k->words};
  VkResult r = d->fn.vkCreateShaderModule(d->vk, &code, NULL, out);
  if (other) al_free(d->env->al, other, 4 * k->n_words, 16);
  return r;
}

VkResult vk_make_pipeline(be_device *d, const vk_kernel *k, const uint8_t *binding, VkPipeline *out) {
  VkShaderModule module;
  VkResult r = make_shader(d, k, binding, &module);
  if (r != VK_SUCCESS) return r;
  int threads = k->desc.block[0] * k->desc.block[1] * k->desc.block[2];
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = (uint32_t)k->desc.subgroup};
  bool sized = vk_may_require(&d->features, &d->limits, &d->caps, k->desc.subgroup, threads);
  bool full = sized && d->features.full_subgroups && k->desc.block[0] % k->desc.subgroup == 0 &&
              threads % k->desc.subgroup == 0;
  VkPipelineShaderStageCreateInfo stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                           .pNext = sized ? &size : NULL,
                                           .flags =
                                               full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
                                           .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                           .module = module,
                                           .pName = "main"};
  VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                      .flags =
                                          VK_PIPELINE_CREATE_DISPATCH_BASE_BIT |
                                          (d->features.statistics ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR : 0),
                                      .stage = stage,
                                      .layout = d->layout};
  r = d->binaries.mode == VK_BINARIES_OFF ? d->fn.vkCreateComputePipelines(d->vk, d->cache, 1, &info, NULL, out)
                                          : vk_binaries_pipeline(d, &info, out);
  d->fn.vkDestroyShaderModule(d->vk, module, NULL);
  return r;
}

/* ---- several at once ---- */

/* Shared by the caller and its threads, which may outlive the call: a driver's compiler can't be stopped. */
typedef struct batch {
  be_device *d;
  vk_need *needs;
  int n, next, n_done, result, failed; /* result: the first VkResult that isn't success, of needs[failed] */
  int refs;
  pthread_mutex_t mutex;
  pthread_cond_t done;
} batch;

static void batch_release(batch *b) {
  be_device *d = b->d;
  pthread_mutex_lock(&b->mutex);
  bool last = --b->refs == 0;
  pthread_mutex_unlock(&b->mutex);
  if (!last) return;
  for (int i = 0; i < b->n; i++) vk_module_destroy(b->needs[i].m);
  pthread_cond_destroy(&b->done);
  pthread_mutex_destroy(&b->mutex);
  al_free_array(d->env->al, b->needs, (size_t)b->n);
  al_delete(d->env->al, b);
}

static batch *batch_new(be_device *d, const vk_need *needs, int n) {
  batch *b = al_new(d->env->al, batch);
  pthread_condattr_t monotonic;
  if (!b) return NULL;
  *b = (batch){.d = d, .n = n, .refs = 1, .needs = al_zalloc(d->env->al, sizeof *needs * (size_t)n)};
  if (!b->needs) {
    al_delete(d->env->al, b);
    return NULL;
  }
  memcpy(b->needs, needs, sizeof *needs * (size_t)n);
  for (int i = 0; i < n; i++) atomic_fetch_add(&needs[i].m->refs, 1);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&b->done, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&b->mutex, NULL);
  return b;
}

/* A pipeline that comes too late for its program is kept: the next one finds it. */
static VkResult make_one(be_device *d, const vk_need *w) {
  vk_kernel *k = &w->m->kernels[w->kernel];
  pthread_mutex_lock(&w->m->mutex);
  bool made = k->pipeline != VK_NULL_HANDLE;
  pthread_mutex_unlock(&w->m->mutex);
  if (made) return VK_SUCCESS;
  VkPipeline p = VK_NULL_HANDLE;
  static const uint8_t all_in_one[EMIT_SPIRV_MAX_BINDINGS];
  bool shared = !d->features.bda && (uint32_t)k->desc.n_args > d->limits.n_bindings;
  VkResult r = vk_make_pipeline(d, k, shared ? all_in_one : NULL, &p);
  if (r != VK_SUCCESS) return r;
  pthread_mutex_lock(&w->m->mutex);
  if (k->pipeline) d->fn.vkDestroyPipeline(d->vk, p, NULL); /* another thread was first */
  else k->pipeline = p;
  pthread_mutex_unlock(&w->m->mutex);
  return r;
}

static void *worker(void *user) {
  batch *b = user;
  be_device *d = b->d;
  for (;;) {
    pthread_mutex_lock(&b->mutex);
    int i = b->next++;
    pthread_mutex_unlock(&b->mutex);
    if (i >= b->n) break;
    VkResult r = make_one(d, &b->needs[i]);
    pthread_mutex_lock(&b->mutex);
    if (r != VK_SUCCESS && b->result == VK_SUCCESS) b->result = r, b->failed = i;
    b->n_done++;
    pthread_cond_signal(&b->done);
    pthread_mutex_unlock(&b->mutex);
  }
  batch_release(b);
  atomic_fetch_sub(&d->n_compiling, 1); /* the last that it does with the device: vk_device_close waits for it */
  return NULL;
}

static int start(batch *b, int want, pthread_t *threads) {
  int n = 0;
  for (bool ok = true; ok && n < want; n += ok) {
    pthread_mutex_lock(&b->mutex);
    b->refs++;
    pthread_mutex_unlock(&b->mutex);
    atomic_fetch_add(&b->d->n_compiling, 1);
    ok = !pthread_create(&threads[n], NULL, worker, b);
    if (ok) continue;
    atomic_fetch_sub(&b->d->n_compiling, 1);
    batch_release(b);
  }
  return n;
}

/* The kernel that was not ready when no pipeline came for as long as the deadline; NULL: all are there. */
static const char *wait_for_all(batch *b, int64_t deadline_ms) {
  const char *slow = NULL;
  pthread_mutex_lock(&b->mutex);
  for (int before = -1; b->n_done < b->n && !slow;) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + deadline_ms % 1000 * 1000000;
    until.tv_sec += deadline_ms / 1000 + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    before = b->n_done;
    while (b->n_done == before && !slow)
      if (pthread_cond_timedwait(&b->done, &b->mutex, &until) && b->n_done == before) slow = "";
  }
  for (int i = 0; slow && !*slow && i < b->n; i++) {
    const vk_need *w = &b->needs[i];
    pthread_mutex_lock(&w->m->mutex);
    if (!w->m->kernels[w->kernel].pipeline) slow = w->m->kernels[w->kernel].desc.name;
    pthread_mutex_unlock(&w->m->mutex);
  }
  b->next = slow ? b->n : b->next; /* what has not begun is left */
  pthread_mutex_unlock(&b->mutex);
  return slow;
}

static tsr_status make_all(be_device *d, batch *b, int missing) {
  int64_t deadline_ms = knob_int("TSR_VK_DEADLINE_MS");
  pthread_t threads[MAX_COMPILERS];
  int n = start(b, missing < MAX_COMPILERS ? missing : MAX_COMPILERS, threads);
  if (!n) {
    b->refs++;
    atomic_fetch_add(&d->n_compiling, 1);
    worker(b); /* no threads to be had: here, for as long as it takes */
  }
  const char *slow = wait_for_all(b, deadline_ms);
  for (int i = 0; i < n; i++) slow ? pthread_detach(threads[i]) : pthread_join(threads[i], NULL);
  if (slow)
    return st_make(d->env->al, TSR_TIMEOUT,
                   ST_WHERE("vulkan", slow, "a larger TSR_VK_DEADLINE_MS waits longer; a smaller tile compiles faster"),
                   "the driver did not compile the kernel in %.3g s", (double)deadline_ms * 1e-3);
  pthread_mutex_lock(&b->mutex);
  int r = b->result;
  const vk_need *w = &b->needs[b->failed];
  pthread_mutex_unlock(&b->mutex);
  if (r == VK_SUCCESS) return NULL;
  if (r == VK_ERROR_DEVICE_LOST || r == VK_ERROR_OUT_OF_HOST_MEMORY || r == VK_ERROR_OUT_OF_DEVICE_MEMORY)
    return vk_status(d, (VkResult)r, "vkCreateComputePipelines");
  return st_make(
      d->env->al, TSR_LAUNCH_FAILED,
      ST_WHERE("vulkan", w->m->kernels[w->kernel].desc.name, "TSR_MATRIX=scalar avoids the matrix paths of the driver"),
      "the driver refused the kernel (%d)", r);
}

tsr_status vk_pipelines(be_device *d, const vk_need *needs, int n) {
  int missing = 0;
  for (int i = 0; i < n; i++) missing += !needs[i].m->kernels[needs[i].kernel].pipeline;
  if (!missing) return NULL;
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  batch *b = batch_new(d, needs, n);
  if (!b) return st_oom();
  tsr_status st = make_all(d, b, missing);
  batch_release(b);
  return st;
}

bool vk_compiled(be_device *d) {
  int64_t from = clock_ns(), patience = knob_int("TSR_VK_DEADLINE_MS") * 1000000;
  while (atomic_load(&d->n_compiling)) {
    if (clock_ns() - from > patience) return false;
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  }
  return true;
}
