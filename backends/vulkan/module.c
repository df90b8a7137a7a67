/* backends/vulkan/module.c - SPIR-V modules and their pipelines, made when a program first needs them, several at once.
 */
#include <string.h>

#include "backends/vulkan/vk.h"

enum { MAX_COMPILERS = 16 };

/* Layers of a network repeat their kernels; the grid is no part of the code. */
static bool same_code(const vk_kernel *a, const vk_kernel *b) {
  return a->n_words == b->n_words && a->desc.subgroup == b->desc.subgroup &&
         !memcmp(a->desc.block, b->desc.block, sizeof a->desc.block) && !memcmp(a->words, b->words, 4 * a->n_words);
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
  if (!m) return;
  be_device *d = m->d;
  arena *a = m->a;
  for (int i = 0; i < m->n_kernels; i++)
    if (m->kernels[i].pipeline) d->fn.vkDestroyPipeline(d->vk, m->kernels[i].pipeline, NULL);
  pthread_mutex_destroy(&m->mutex);
  arena_clear(a);
  al_delete(d->env->al, a);
  al_delete(d->env->al, m);
}

static VkResult make_pipeline(be_device *d, const vk_kernel *k, VkPipeline *out) {
  VkShaderModuleCreateInfo code = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = 4 * k->n_words, .pCode = k->words};
  VkShaderModule module;
  VkResult r = d->fn.vkCreateShaderModule(d->vk, &code, NULL, &module);
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
  r = d->fn.vkCreateComputePipelines(d->vk, d->cache, 1, &info, NULL, out);
  d->fn.vkDestroyShaderModule(d->vk, module, NULL);
  return r;
}

/* ---- several at once ---- */

typedef struct batch {
  be_device *d;
  const vk_need *needs;
  int n;
  _Atomic int next;
  _Atomic int result; /* the first VkResult that isn't success */
  _Atomic int failed;
} batch;

static void *worker(void *user) {
  batch *b = user;
  for (int i; (i = atomic_fetch_add(&b->next, 1)) < b->n;) {
    const vk_need *w = &b->needs[i];
    vk_kernel *k = &w->m->kernels[w->kernel];
    pthread_mutex_lock(&w->m->mutex);
    bool done = k->pipeline != VK_NULL_HANDLE;
    pthread_mutex_unlock(&w->m->mutex);
    if (done) continue;
    VkPipeline p = VK_NULL_HANDLE;
    VkResult r = make_pipeline(b->d, k, &p);
    int expected = VK_SUCCESS;
    if (r != VK_SUCCESS && atomic_compare_exchange_strong(&b->result, &expected, (int)r)) atomic_store(&b->failed, i);
    if (r != VK_SUCCESS) continue;
    pthread_mutex_lock(&w->m->mutex);
    if (k->pipeline) b->d->fn.vkDestroyPipeline(b->d->vk, p, NULL); /* another thread was first */
    else k->pipeline = p;
    pthread_mutex_unlock(&w->m->mutex);
  }
  return NULL;
}

tsr_status vk_pipelines(be_device *d, const vk_need *needs, int n) {
  batch b = {.d = d, .needs = needs, .n = n};
  pthread_t threads[MAX_COMPILERS];
  int missing = 0, started = 0;
  for (int i = 0; i < n; i++) missing += !needs[i].m->kernels[needs[i].kernel].pipeline;
  if (!missing) return NULL;
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  int want = (missing < MAX_COMPILERS ? missing : MAX_COMPILERS) - 1;
  while (started < want && !pthread_create(&threads[started], NULL, worker, &b)) started++;
  worker(&b);
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  int r = atomic_load(&b.result);
  if (r == VK_SUCCESS) return NULL;
  if (r == VK_ERROR_DEVICE_LOST || r == VK_ERROR_OUT_OF_HOST_MEMORY || r == VK_ERROR_OUT_OF_DEVICE_MEMORY)
    return vk_status(d, (VkResult)r, "vkCreateComputePipelines");
  const vk_need *w = &needs[atomic_load(&b.failed)];
  return st_make(
      d->env->al, TSR_LAUNCH_FAILED,
      ST_WHERE("vulkan", w->m->kernels[w->kernel].desc.name, "TSR_MATRIX=scalar avoids the matrix paths of the driver"),
      "the driver refused the kernel (%d)", r);
}
