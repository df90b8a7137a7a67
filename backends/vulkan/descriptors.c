/* backends/vulkan/descriptors.c - storage buffers of kernels where there are no buffer addresses: push descriptors
 * (VK_KHR_push_descriptor), or a set for each launch from the pool of its recording. Argument i is binding i and starts
 * at most an alignment behind what is bound. A kernel with more arguments than the device binds has those in one
 * VkBuffer (heap.c) share a binding: its pipeline is made for the way in which they do, by other numbers in its
 * decorations. */
#include <string.h>

#include "backends/vulkan/vk.h"
#include "core/emit/spirv/spirv.h"

struct vk_variant {
  vk_variant *next;
  uint8_t binding[EMIT_SPIRV_MAX_BINDINGS];
  VkPipeline pipeline;
};

typedef struct window {
  VkBuffer vk;
  VkDeviceSize from, to;
} window;

tsr_status vk_set_layout_create(be_device *d, VkDescriptorSetLayout *out) {
  VkDescriptorSetLayoutBinding b[EMIT_SPIRV_MAX_BINDINGS];
  for (uint32_t i = 0; i < d->limits.n_bindings; i++)
    b[i] = (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
  const VkDescriptorSetLayoutCreateFlags push = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
  VkDescriptorSetLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                          .flags = d->features.push_descriptor ? push : 0,
                                          .bindingCount = d->limits.n_bindings,
                                          .pBindings = b};
  return vk_status(d, d->fn.vkCreateDescriptorSetLayout(d->vk, &info, NULL, out), "vkCreateDescriptorSetLayout");
}

tsr_status vk_sets_reset(be_device *d, vk_sets *s, int n) {
  if (d->features.bda || d->features.push_descriptor || !n) return NULL;
  if (s->pool && s->n >= (uint32_t)n)
    return vk_status(d, d->fn.vkResetDescriptorPool(d->vk, s->pool, 0), "vkResetDescriptorPool");
  if (s->pool) d->fn.vkDestroyDescriptorPool(d->vk, s->pool, NULL);
  s->pool = VK_NULL_HANDLE, s->n = (uint32_t)n;
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, (uint32_t)n * d->limits.n_bindings};
  VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                     .maxSets = (uint32_t)n,
                                     .poolSizeCount = 1,
                                     .pPoolSizes = &size};
  return vk_status(d, d->fn.vkCreateDescriptorPool(d->vk, &info, NULL, &s->pool), "vkCreateDescriptorPool");
}

/* Bytes `from` to `to` of a range. */
static window window_of(const be_device *d, const be_range *r, VkDeviceSize from, VkDeviceSize to) {
  if (!r->buffer) return (window){VK_NULL_HANDLE, 0, 0};
  VkDeviceSize at = r->buffer->offset + r->offset, a = d->limits.range_alignment;
  return (window){r->buffer->vk[0], (at + from) / a * a, at + to};
}

static tsr_status no_room(const be_device *d, const be_kernel_desc *k, const char *what, uint64_t has, uint64_t most) {
  return st_make(d->env->al, TSR_UNSUPPORTED, ST_WHERE("vulkan", k->name, "use smaller tensors, or fuse less"),
                 "%s: %llu; without bufferDeviceAddress the device takes %llu", what, (unsigned long long)has,
                 (unsigned long long)most);
}

static bool fit_together(const be_device *d, const window *a, const window *b) {
  VkDeviceSize from = a->from < b->from ? a->from : b->from, to = a->to > b->to ? a->to : b->to;
  return a->vk == b->vk && to - from <= d->limits.max_range;
}

/* Puts arguments that lie in one VkBuffer, and near enough to each other, into one window, where every one of its own
 * would be too many. */
static tsr_status assign(const be_device *d, const be_kernel_desc *k, const window *args, window *w, int *n_windows,
                         uint8_t *binding) {
  bool own = (uint32_t)k->n_args <= d->limits.n_bindings;
  int n = 0;
  for (int i = 0; i < k->n_args; i++) {
    int j = own ? n : 0;
    while (j < n && !fit_together(d, &w[j], &args[i])) j++;
    if (j == n) w[n++] = args[i];
    binding[i] = (uint8_t)j;
    if (args[i].from < w[j].from) w[j].from = args[i].from;
    if (args[i].to > w[j].to) w[j].to = args[i].to;
    if (w[j].to - w[j].from > d->limits.max_range)
      return no_room(d, k, "bytes of a buffer", w[j].to - w[j].from, d->limits.max_range);
  }
  *n_windows = n;
  return (uint32_t)n <= d->limits.n_bindings ? NULL
                                             : no_room(d, k, "buffers of a kernel", (uint64_t)n, d->limits.n_bindings);
}

/* The descriptors of b, for `set`; of none they are pushed. */
static uint32_t write_descriptors(const vk_bound *b, VkDescriptorSet set, VkWriteDescriptorSet *writes) {
  for (uint32_t i = 0; i < b->n_pushed; i++)
    writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = set,
                                       .dstBinding = b->binding[i],
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &b->pushed[i]};
  return b->n_pushed;
}

static tsr_status make_set(be_device *d, vk_sets *s, vk_bound *b) {
  VkWriteDescriptorSet writes[EMIT_SPIRV_MAX_BINDINGS];
  VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                      .descriptorPool = s->pool,
                                      .descriptorSetCount = 1,
                                      .pSetLayouts = &d->set_layout};
  VK_TRY(d, d->fn.vkAllocateDescriptorSets(d->vk, &info, &b->set));
  d->fn.vkUpdateDescriptorSets(d->vk, write_descriptors(b, b->set, writes), writes, 0, NULL);
  return NULL;
}

void vk_record_bound(be_device *d, VkCommandBuffer cmd, const vk_bound *b) {
  const VkPipelineBindPoint compute = VK_PIPELINE_BIND_POINT_COMPUTE;
  VkWriteDescriptorSet writes[EMIT_SPIRV_MAX_BINDINGS];
  d->fn.vkCmdBindPipeline(cmd, compute, b->pipeline);
  if (!d->features.push_descriptor) d->fn.vkCmdBindDescriptorSets(cmd, compute, d->layout, 0, 1, &b->set, 0, NULL);
  else if (b->n_pushed)
    d->fn.vkCmdPushDescriptorSetKHR(cmd, compute, d->layout, 0, write_descriptors(b, VK_NULL_HANDLE, writes), writes);
}

/* The kernel's pipeline for a way of sharing bindings. */
static tsr_status variant(be_device *d, be_module *m, vk_kernel *k, const uint8_t *binding, VkPipeline *out) {
  pthread_mutex_lock(&m->mutex);
  vk_variant *v = k->variants;
  while (v && memcmp(v->binding, binding, (size_t)k->desc.n_args)) v = v->next;
  tsr_status st = NULL;
  if (!v && (v = al_new(d->env->al, vk_variant))) {
    memcpy(v->binding, binding, (size_t)k->desc.n_args);
    st = vk_status(d, vk_make_pipeline(d, k, binding, &v->pipeline), "vkCreateComputePipelines");
    if (st) al_delete(d->env->al, v);
    else v->next = k->variants, k->variants = v;
  } else if (!v) {
    st = st_oom();
  }
  if (!st) *out = v->pipeline;
  pthread_mutex_unlock(&m->mutex);
  return st;
}

void vk_variants_destroy(be_device *d, vk_kernel *k) {
  for (vk_variant *v = k->variants, *next; v; v = next) {
    next = v->next;
    d->fn.vkDestroyPipeline(d->vk, v->pipeline, NULL);
    al_delete(d->env->al, v);
  }
}

/* Past the end: what is rounded up to a word, and what llvmpipe reads there (buffer.c); a binding may not exceed its
 * VkBuffer. */
static void widen(const be_device *d, window *w, const be_range *r) {
  if (!r->buffer || !r->buffer->whole) return;
  VkDeviceSize to = r->buffer->whole;
  if (to - w->from > d->limits.max_range) to = w->from + d->limits.max_range;
  if (to > w->to) w->to = to;
}

tsr_status vk_bind_buffers(be_device *d, vk_sets *s, const be_launch *l, const be_slab *slab, const be_range *bindings,
                           vk_bound *out) {
  vk_kernel *k = &l->module->kernels[l->kernel], *code = &l->module->kernels[k->twin];
  window args[EMIT_SPIRV_MAX_BINDINGS], w[EMIT_SPIRV_MAX_BINDINGS];
  uint8_t binding[EMIT_SPIRV_MAX_BINDINGS] = {0};
  int n = 0;
  for (int i = 0; i < k->desc.n_args; i++) {
    const be_range *r = &bindings[l->bindings[i]];
    args[i] = slab ? window_of(d, r, (VkDeviceSize)slab->from[i], (VkDeviceSize)slab->to[i])
                   : window_of(d, r, 0, r->bytes);
  }
  TSR_TRY(assign(d, &k->desc, args, w, &n, binding));
  for (int i = 0; i < k->desc.n_args; i++) {
    const be_range *r = &bindings[l->bindings[i]];
    widen(d, &w[binding[i]], r);
    out->start[i] = r->buffer ? (uint32_t)(r->buffer->offset + r->offset - w[binding[i]].from) : 0;
  }
  out->pipeline = code->pipeline;
  if ((uint32_t)k->desc.n_args > d->limits.n_bindings) TSR_TRY(variant(d, l->module, code, binding, &out->pipeline));
  out->n_pushed = 0;
  for (int i = 0; i < n; i++) {
    if (!w[i].vk) continue; /* an empty tensor */
    out->binding[out->n_pushed] = (uint8_t)i;
    out->pushed[out->n_pushed++] = (VkDescriptorBufferInfo){w[i].vk, w[i].from, w[i].to - w[i].from};
  }
  return d->features.push_descriptor ? NULL : make_set(d, s, out);
}
