/* backends/vulkan/buffer.c - device memory. One allocation a buffer: the runtime's planner makes few and large ones.
 * Kernels know addresses alone, so a buffer may exceed maxStorageBufferRange, and maxBufferSize too. */
#include <string.h>

#include "backends/vulkan/reported.h"
#include "backends/vulkan/vk.h"

/* The first memory type that the buffer allows with all of `want`, in the largest heap. */
static int find_type(const be_device *d, uint32_t allowed, VkMemoryPropertyFlags want, VkMemoryPropertyFlags avoid) {
  int best = -1;
  VkDeviceSize size = 0;
  for (uint32_t i = 0; i < d->memory.memoryTypeCount; i++) {
    VkMemoryPropertyFlags f = d->memory.memoryTypes[i].propertyFlags;
    VkDeviceSize heap = d->memory.memoryHeaps[d->memory.memoryTypes[i].heapIndex].size;
    if (!(allowed & 1u << i) || (f & want) != want || (f & avoid) || heap <= size) continue;
    best = (int)i;
    size = heap;
  }
  return best;
}

/* Device-local memory that the host can also reach is taken where it costs nothing: unified memory. With a separate
 * card its window may be small, so plain device-local memory is preferred there. */
static int choose_type(const be_device *d, uint32_t allowed, be_memory kind) {
  const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                              local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  const VkMemoryPropertyFlags never = VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
  VkMemoryPropertyFlags order[4];
  int n = 0;
  if (kind == BE_HOST_VISIBLE) {
    order[n++] = host | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    order[n++] = host;
  } else {
    if (d->limits.unified) order[n++] = local | host;
    order[n++] = local;
    order[n++] = 0;
  }
  for (int i = 0; i < n; i++) {
    int t = find_type(d, allowed, order[i], never);
    if (t >= 0) return t;
  }
  return -1;
}

static tsr_status too_large(const be_device *d, size_t bytes) {
  return st_make(d->env->al, TSR_OUT_OF_MEMORY, ST_WHERE("vulkan", "buffer", "split the tensor"),
                 "%zu bytes; the driver's largest buffer has %llu", bytes, (unsigned long long)d->limits.max_buffer);
}

/* `size` bytes as VkBuffers of at most the driver's largest. What they ask of memory, all together, in *req. */
static tsr_status make_pieces(be_device *d, be_buffer *b, size_t size, const void *next, VkMemoryRequirements *req) {
  const bool both = d->queue[VK_TRANSFER] != VK_NULL_HANDLE;
  VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = next,
                             .sharingMode = both ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE,
                             .queueFamilyIndexCount = both ? VK_QUEUES : 0,
                             .pQueueFamilyIndices = d->family,
                             .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | (d->features.bda ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0)};
  *req = (VkMemoryRequirements){.memoryTypeBits = UINT32_MAX};
  b->piece = size;
  if (d->limits.max_buffer && size > d->limits.max_buffer)
    b->piece = d->limits.max_buffer / VK_PIECE_ALIGN * VK_PIECE_ALIGN;
  int most = d->features.bda && !b->shared ? VK_MAX_PIECES : 1;
  if (!b->piece || size > b->piece * (size_t)most) return too_large(d, b->bytes);
  for (size_t at = 0; at < size; at += b->piece) {
    VkMemoryRequirements one;
    VkBuffer vk;
    info.size = size - at < b->piece ? size - at : b->piece;
    VK_TRY(d, d->fn.vkCreateBuffer(d->vk, &info, NULL, &vk));
    b->vk[b->n_pieces++] = vk;
    d->fn.vkGetBufferMemoryRequirements(d->vk, vk, &one);
    if (at + b->piece < size && one.size > b->piece)
      return too_large(d, b->bytes); /* the next one would not follow at once */
    if (at && VK_PIECE_ALIGN % one.alignment) return too_large(d, b->bytes);
    req->size = at + one.size;
    req->memoryTypeBits &= one.memoryTypeBits;
  }
  return NULL;
}

/* Where a VkBuffer is; without addresses a number of its own, which its bytes count from. */
static VkDeviceAddress address_of(be_device *d, VkBuffer vk) {
  VkBufferDeviceAddressInfo where = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = vk};
  return d->features.bda ? d->fn.vkGetBufferDeviceAddress(d->vk, &where)
                         : (VkDeviceAddress)(atomic_fetch_add(&d->n_buffers, 1) + 1) << 40;
}

/* Kernels count on what tsr_caps.host_addresses says. */
static tsr_status check_pointer(const be_device *d, VkDeviceAddress address) {
  if (!d->caps.host_addresses || !(address >> CAPS_HOST_ADDRESS_BITS)) return NULL;
  return st_make(d->env->al, TSR_UNSUPPORTED, ST_WHERE("vulkan", "buffer", "use the CPU's own backend"),
                 "a buffer at %#llx, which is no plain pointer", (unsigned long long)address);
}

/* Binds the pieces; false in *follow where an address does not go on from the one before. */
static tsr_status bind_pieces(be_device *d, be_buffer *b, bool *follow) {
  *follow = true;
  for (int i = 0; i < b->n_pieces; i++) {
    VK_TRY(d, d->fn.vkBindBufferMemory(d->vk, b->vk[i], b->memory, (VkDeviceSize)i * b->piece));
    VkDeviceAddress address = address_of(d, b->vk[i]);
    if (!i) b->address = address;
    TSR_TRY(check_pointer(d, address));
    *follow &= address == b->address + (VkDeviceSize)i * b->piece;
  }
  return NULL;
}

/* What is left of the heap's budget for this process (VK_EXT_memory_budget); UINT64_MAX: nobody says. */
static uint64_t budget_left(const be_device *d, uint32_t heap) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT b = {.sType =
                                                     VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 p = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, .pNext = &b};
  if (!d->features.budget || !d->instance->fn.vkGetPhysicalDeviceMemoryProperties2) return UINT64_MAX;
  d->instance->fn.vkGetPhysicalDeviceMemoryProperties2(d->physical, &p);
  if (!b.heapBudget[heap]) return UINT64_MAX;
  return b.heapBudget[heap] > b.heapUsage[heap] ? b.heapBudget[heap] - b.heapUsage[heap] : 0;
}

/* Refused before the driver is asked: what would take memory from other programs, or fail later. */
static tsr_status check_room(const be_device *d, const be_buffer *b, uint64_t size, int type) {
  enum { SMALL = 1 << 20 }; /* not worth a question */
  if (size > d->limits.max_allocation)
    return st_make(d->env->al, TSR_OUT_OF_MEMORY, ST_WHERE("vulkan", "buffer", "split the tensor"),
                   "%zu bytes; the driver's largest allocation has %llu", b->bytes,
                   (unsigned long long)d->limits.max_allocation);
  uint64_t left = size > SMALL ? budget_left(d, d->memory.memoryTypes[type].heapIndex) : UINT64_MAX;
  if (size <= left) return NULL;
  return st_make(d->env->al, TSR_OUT_OF_MEMORY, ST_WHERE("vulkan", "buffer", "use smaller tensors or free others"),
                 "%zu bytes; the memory's budget has %llu left", b->bytes, (unsigned long long)left);
}

static tsr_status allocate(be_device *d, be_buffer *b, size_t size, be_memory kind, vk_share_chain *share) {
  VkMemoryRequirements req;
  bool follow;
  TSR_TRY(make_pieces(d, b, size, share ? &share->buffer : NULL, &req));
  b->whole = size;
  int type = choose_type(d, req.memoryTypeBits, kind);
  if (type < 0)
    return st_make(d->env->al, TSR_OUT_OF_MEMORY, ST_WHERE("vulkan", "buffer", NULL), "no suitable memory type");
  TSR_TRY(check_room(d, b, req.size, type));
  VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                     .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                               .pNext = d->features.bda ? &flags : NULL,
                               .allocationSize = req.size,
                               .memoryTypeIndex = (uint32_t)type};
  if (share) {
    share->dedicated.buffer = b->vk[0];
    if (share->alone) share->import.pNext = share->export.pNext = &share->dedicated;
    flags.pNext = share->import.fd >= 0 ? (void *)&share->import : (void *)&share->export;
    if (!d->features.bda) info.pNext = flags.pNext;
  }
  VkResult r =
      vk_fault(&d->fault_oom) ? VK_ERROR_OUT_OF_DEVICE_MEMORY : d->fn.vkAllocateMemory(d->vk, &info, NULL, &b->memory);
  if (r == VK_ERROR_OUT_OF_DEVICE_MEMORY)
    return st_make(d->env->al, TSR_OUT_OF_MEMORY, ST_WHERE("vulkan", "buffer", "use smaller tensors or free others"),
                   "out of device memory for %zu bytes", b->bytes);
  VK_TRY(d, r);
  TSR_TRY(bind_pieces(d, b, &follow));
  if (!follow) return too_large(d, b->bytes);
  VkMemoryPropertyFlags f = d->memory.memoryTypes[type].propertyFlags;
  bool mappable = (f & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) && (f & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
  if (kind == BE_DEVICE_LOCAL && vk_hides("mapping")) mappable = false;
  if (mappable) VK_TRY(d, d->fn.vkMapMemory(d->vk, b->memory, 0, VK_WHOLE_SIZE, 0, &b->host));
  return NULL;
}

tsr_status vk_buffer_allocate(be_device *d, be_buffer *b, size_t size, be_memory kind) {
  return allocate(d, b, size, kind, NULL);
}

static tsr_status create(be_device *d, size_t bytes, be_memory kind, vk_share_chain *share, be_buffer **out) {
  *out = NULL;
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  /* llvmpipe executes loads with lane-uniform addresses also where all lanes are switched off (a short branch not
   * taken; loops see to it themselves, core/emit/spirv/walk.c): reads that the program doesn't make may then fall
   * behind the buffer. Pages that nobody touches cost nothing there. */
  const size_t slack = d->limits.software ? 1 << 20 : 0, need = (bytes + 15) / 16 * 16 + (bytes ? 0 : 16);
  size_t size = need + slack;
  if (size > d->limits.max_buffer && need <= d->limits.max_buffer) size = need;
  if (size > d->limits.max_allocation && need <= d->limits.max_allocation) size = need;
  be_buffer *b = al_new(d->env->al, be_buffer);
  if (!b) return st_oom();
  b->d = d;
  b->bytes = bytes;
  b->shared = share != NULL;
  atomic_fetch_add(&d->n_live, 1);
  bool taken = false;
  tsr_status st = share ? NULL : vk_heap_take(d, b, need, kind, &taken);
  if (!st && !taken) st = allocate(d, b, size, kind, share);
  if (st) vk_buffer_destroy(b);
  else *out = b;
  return st;
}

tsr_status vk_buffer_create(be_device *d, size_t bytes, be_memory kind, be_buffer **out) {
  return create(d, bytes, kind, NULL, out);
}

tsr_status vk_buffer_create_shared(be_device *d, size_t bytes, int fd, be_buffer **out) {
  vk_share_chain share;
  *out = NULL;
  TSR_TRY(vk_share_prepare(d, fd, &share));
  return create(d, bytes, BE_DEVICE_LOCAL, &share, out);
}

tsr_status vk_buffer_import(be_device *d, const void *desc, size_t bytes, be_buffer **out) {
  const tsr_vulkan_buffer *v = desc;
  *out = NULL;
  if (!v || !v->buffer || v->offset % 16)
    return st_make(d->env->al, TSR_INVALID_ARGUMENT, ST_WHERE("vulkan", "buffer import", NULL),
                   "needs a VkBuffer and an offset that is a multiple of 16");
  bool by_words = !d->features.bda || !d->features.storage8 || !d->features.storage16;
  if (by_words && bytes % 4)
    return st_make(d->env->al, TSR_INVALID_ARGUMENT, ST_WHERE("vulkan", "buffer import", NULL),
                   "%zu bytes; this device accesses buffers by words of 4", bytes);
  be_buffer *b = al_new(d->env->al, be_buffer);
  if (!b) return st_oom();
  b->d = d;
  b->bytes = bytes;
  b->vk[0] = (VkBuffer)v->buffer;
  b->n_pieces = 1;
  b->piece = SIZE_MAX;
  b->offset = (size_t)v->offset;
  b->host = v->host;
  b->address = address_of(d, b->vk[0]) + v->offset;
  tsr_status st = check_pointer(d, b->address);
  if (st) return al_delete(d->env->al, b), st;
  b->imported = true;
  atomic_fetch_add(&d->n_live, 1);
  *out = b;
  return NULL;
}

/* Who destroys a buffer has waited for its uses, which can't be done on a lost device: work submitted before may still
 * run there. */
static void wait_if_lost(be_device *d) {
  if (!atomic_load(&d->lost)) return;
  vk_queue_lock(d);
  for (int i = 0; i < VK_QUEUES; i++) {
    if (!d->queue[i]) continue;
    VkResult r = d->fn.vkQueueWaitIdle(
        d->queue[i]); /* ends in finite time on a lost device too (Vulkan specification, "Lost Device") */
    tsr_status_free(vk_status(d, r, "vkQueueWaitIdle"));
  }
  vk_queue_unlock(d);
}

void vk_buffer_destroy(be_buffer *b) {
  if (!b) return;
  be_device *d = b->d;
  wait_if_lost(d);
  if (b->chunk) vk_heap_give(b);
  for (int i = 0; i < b->n_pieces && !b->imported && !b->chunk; i++) d->fn.vkDestroyBuffer(d->vk, b->vk[i], NULL);
  if (b->memory) d->fn.vkFreeMemory(d->vk, b->memory, NULL);
  atomic_fetch_sub(&d->n_live, 1);
  al_delete(d->env->al, b);
}

size_t vk_buffer_part(const be_range *r, size_t at, VkBuffer *vk, VkDeviceSize *offset) {
  const be_buffer *b = r->buffer;
  size_t from = b->offset + r->offset + at, i = from / b->piece, left = r->bytes - at,
         here = b->piece - from % b->piece;
  *vk = b->vk[i];
  *offset = from % b->piece;
  return left < here ? left : here;
}

void *vk_buffer_map(be_buffer *b) { return b->host; }
