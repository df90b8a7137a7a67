/* backends/vulkan/binary.c - pipelines kept one by one as the driver's own binaries (VK_KHR_pipeline_binary), each in a
 * file of the store of core/base/blob.h as soon as it is compiled, so that a crash later costs none. A file's name is
 * the hash of the driver's key of the pipeline, its global key and its UUID: what another driver or another set-up of
 * it compiled is never found. What the driver refuses is compiled anew. Drivers that would rather keep pipelines by
 * themselves, or that lack the extension, have the cache of cache.c. Invariant: with a file or without one, the
 * pipeline is the same. */
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/vk.h"
#include "core/base/blob.h"

enum { MOST_BINARIES = 64, ALIGN = 16 };

/* A file: its head, n rows, and the data of each at `at`. Checksums are the store's matter, bounds are ours. */
typedef struct file_head {
  uint32_t n, unused;
} file_head;
typedef struct file_row {
  uint64_t at, bytes;
  uint32_t key_bytes, unused;
  uint8_t key[VK_MAX_PIPELINE_BINARY_KEY_SIZE_KHR];
} file_row;

typedef struct kept {
  void *p;
  size_t n;
} kept;

static size_t round_size(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static void drop(be_device *d, kept *k) {
  if (k->p) al_free(d->env->al, k->p, k->n, 16);
  *k = (kept){NULL, 0};
}

/* ---- from a pipeline ---- */

static VkResult size_of(be_device *d, VkPipelineBinaryKHR b, file_row *row) {
  VkPipelineBinaryDataInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_DATA_INFO_KHR, .pipelineBinary = b};
  VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
  size_t n = 0;
  VkResult r = d->binaries.vkGetPipelineBinaryDataKHR(d->vk, &info, &key, &n, NULL);
  if (r != VK_SUCCESS) return r;
  if (key.keySize > sizeof row->key) return VK_ERROR_UNKNOWN;
  row->bytes = n, row->key_bytes = key.keySize;
  memcpy(row->key, key.key, key.keySize);
  return r;
}

static VkResult fill(be_device *d, const VkPipelineBinaryKHR *b, uint32_t n, kept *out) {
  file_row rows[MOST_BINARIES] = {{0}};
  size_t at = round_size(sizeof(file_head) + n * sizeof *rows);
  for (uint32_t i = 0; i < n; i++) {
    VkResult r = size_of(d, b[i], &rows[i]);
    if (r != VK_SUCCESS) return r;
    rows[i].at = at;
    at += round_size((size_t)rows[i].bytes);
  }
  if (!(out->p = al_zalloc(d->env->al, at))) return VK_ERROR_OUT_OF_HOST_MEMORY;
  out->n = at;
  memcpy(out->p, &(file_head){.n = n}, sizeof(file_head));
  memcpy((char *)out->p + sizeof(file_head), rows, n * sizeof *rows);
  for (uint32_t i = 0; i < n; i++) {
    VkPipelineBinaryDataInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_DATA_INFO_KHR,
                                        .pipelineBinary = b[i]};
    VkPipelineBinaryKeyKHR key = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
    size_t bytes = (size_t)rows[i].bytes;
    VkResult r = d->binaries.vkGetPipelineBinaryDataKHR(d->vk, &info, &key, &bytes, (char *)out->p + rows[i].at);
    if (r != VK_SUCCESS || bytes != rows[i].bytes) return drop(d, out), r != VK_SUCCESS ? r : VK_INCOMPLETE;
  }
  return VK_SUCCESS;
}

static void destroy(be_device *d, const VkPipelineBinaryKHR *b, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) d->binaries.vkDestroyPipelineBinaryKHR(d->vk, b[i], NULL);
}

/* The binaries of a pipeline that was made to be captured, and lets go of what the driver holds for that. */
static VkResult capture(be_device *d, VkPipeline p, kept *out) {
  VkPipelineBinaryKHR b[MOST_BINARIES] = {VK_NULL_HANDLE};
  VkPipelineBinaryCreateInfoKHR from = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR, .pipeline = p};
  VkPipelineBinaryHandlesInfoKHR to = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR};
  VkResult r = d->binaries.vkCreatePipelineBinariesKHR(d->vk, &from, NULL, &to);
  bool fits = r == VK_SUCCESS && to.pipelineBinaryCount > 0 && to.pipelineBinaryCount <= MOST_BINARIES;
  to.pPipelineBinaries = b;
  if (fits) r = d->binaries.vkCreatePipelineBinariesKHR(d->vk, &from, NULL, &to);
  if (fits && r == VK_SUCCESS) r = fill(d, b, to.pipelineBinaryCount, out);
  if (fits) destroy(d, b, to.pipelineBinaryCount);
  VkReleaseCapturedPipelineDataInfoKHR info = {.sType = VK_STRUCTURE_TYPE_RELEASE_CAPTURED_PIPELINE_DATA_INFO_KHR,
                                               .pipeline = p};
  d->binaries.vkReleaseCapturedPipelineDataKHR(d->vk, &info, NULL);
  return fits ? r : VK_INCOMPLETE;
}

static VkResult compile(be_device *d, const VkComputePipelineCreateInfo *info, VkPipeline *out, kept *binaries) {
  VkPipelineCreateFlags2CreateInfoKHR flags = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR,
                                               .pNext = info->pNext,
                                               .flags = info->flags | VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR};
  VkComputePipelineCreateInfo captured = *info;
  captured.pNext = &flags;
  captured.flags = 0;
  VkResult r = d->fn.vkCreateComputePipelines(d->vk, VK_NULL_HANDLE, 1, &captured, NULL, out);
  if (r == VK_SUCCESS) capture(d, *out, binaries); /* without binaries nothing is kept */
  return r;
}

/* ---- to a pipeline ---- */

static bool read_rows(const kept *k, VkPipelineBinaryKeyKHR *keys, VkPipelineBinaryDataKHR *data, uint32_t *n) {
  file_head head;
  if (k->n < sizeof head) return false;
  memcpy(&head, k->p, sizeof head);
  if (!head.n || head.n > MOST_BINARIES || k->n < sizeof head + head.n * sizeof(file_row)) return false;
  for (uint32_t i = 0; i < head.n; i++) {
    file_row row;
    memcpy(&row, (const char *)k->p + sizeof head + i * sizeof row, sizeof row);
    if (row.key_bytes > sizeof row.key || row.at > k->n || row.bytes > k->n - row.at) return false;
    keys[i] = (VkPipelineBinaryKeyKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR, .keySize = row.key_bytes};
    memcpy(keys[i].key, row.key, row.key_bytes);
    data[i] = (VkPipelineBinaryDataKHR){(size_t)row.bytes, (char *)k->p + row.at};
  }
  *n = head.n;
  return true;
}

static VkResult revive(be_device *d, const VkComputePipelineCreateInfo *info, const kept *k, VkPipeline *out) {
  VkPipelineBinaryKeyKHR keys[MOST_BINARIES];
  VkPipelineBinaryDataKHR data[MOST_BINARIES];
  VkPipelineBinaryKHR b[MOST_BINARIES] = {VK_NULL_HANDLE};
  uint32_t n;
  if (!read_rows(k, keys, data, &n)) return VK_INCOMPLETE;
  VkPipelineBinaryKeysAndDataKHR all = {n, keys, data};
  VkPipelineBinaryCreateInfoKHR from = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR,
                                        .pKeysAndDataInfo = &all};
  VkPipelineBinaryHandlesInfoKHR to = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR, .pipelineBinaryCount = n, .pPipelineBinaries = b};
  VkResult r = d->binaries.vkCreatePipelineBinariesKHR(d->vk, &from, NULL, &to);
  if (r == VK_SUCCESS) {
    VkPipelineBinaryInfoKHR binaries = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR,
                                        .pNext = info->pNext,
                                        .binaryCount = n,
                                        .pPipelineBinaries = b};
    VkComputePipelineCreateInfo made = *info;
    made.pNext = &binaries;
    r = d->fn.vkCreateComputePipelines(d->vk, VK_NULL_HANDLE, 1, &made, NULL, out);
  }
  destroy(d, b, n); /* those that were not made are VK_NULL_HANDLE */
  return r;
}

/* ---- keeping ---- */

/* Under which the pipeline is kept; false: the driver has no key for it. */
static bool id_of(be_device *d, const VkComputePipelineCreateInfo *info, char id[65]) {
  static const char what[] = "vulkan pipeline binaries 1"; /* the number is that of the file's form */
  VkComputePipelineCreateInfo asked = *info;
  VkPipelineCreateInfoKHR of = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR, .pNext = &asked};
  VkPipelineBinaryKeyKHR own = {.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR}, *global = &d->binaries.global;
  if (d->binaries.vkGetPipelineKeyKHR(d->vk, &of, &own) != VK_SUCCESS || own.keySize - 1 >= sizeof own.key)
    return false;
  blob_id((blob_part[]){{what, sizeof what},
                        {d->limits.pipeline_uuid, sizeof d->limits.pipeline_uuid},
                        {global->key, global->keySize},
                        {own.key, own.keySize}},
          4, id);
  return true;
}

static bool read_kept(be_device *d, const char *id, kept *out) {
  pthread_mutex_lock(&d->binaries.mutex);
  bool found = blob_get(d->binaries.store, id, &out->p, &out->n);
  pthread_mutex_unlock(&d->binaries.mutex);
  if (!found) *out = (kept){NULL, 0};
  return found;
}

static void keep(be_device *d, const char *id, const kept *k) {
  pthread_mutex_lock(&d->binaries.mutex);
  blob_put(d->binaries.store, id, k->p, k->n);
  pthread_mutex_unlock(&d->binaries.mutex);
}

/* For the self-test: what was compiled goes, what takes its place comes from its binaries or not at all. */
static VkResult replace(be_device *d, const VkComputePipelineCreateInfo *info, const kept *k, VkPipeline *out) {
  d->fn.vkDestroyPipeline(d->vk, *out, NULL);
  *out = VK_NULL_HANDLE;
  VkResult r = k->p ? revive(d, info, k, out) : VK_ERROR_UNKNOWN;
  return r > 0 ? VK_ERROR_UNKNOWN : r; /* "missing" is no error, but no pipeline either */
}

VkResult vk_binaries_pipeline(be_device *d, const VkComputePipelineCreateInfo *info, VkPipeline *out) {
  char id[65];
  kept k = {NULL, 0};
  const bool tried = d->binaries.mode == VK_BINARIES_TRIED;
  if (!id_of(d, info, id))
    return tried ? VK_ERROR_UNKNOWN : d->fn.vkCreateComputePipelines(d->vk, VK_NULL_HANDLE, 1, info, NULL, out);
  VkResult r = !tried && read_kept(d, id, &k) ? revive(d, info, &k, out) : VK_INCOMPLETE;
  drop(d, &k);
  if (r == VK_SUCCESS) return r;
  r = compile(d, info, out, &k);
  if (r == VK_SUCCESS && tried) r = replace(d, info, &k, out);
  else if (r == VK_SUCCESS && k.p) keep(d, id, &k);
  drop(d, &k);
  return r;
}

/* ---- whether ---- */

static bool load(be_device *d) {
#define LOAD(call)                                                                                                     \
  d->binaries.call = (PFN_##call)d->instance->fn.vkGetDeviceProcAddr(d->vk, #call);                                    \
  if (!d->binaries.call) return false;
  VK_BINARY_CALLS(LOAD)
#undef LOAD
  d->binaries.global = (VkPipelineBinaryKeyKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR};
  VkResult r = d->binaries.vkGetPipelineKeyKHR(d->vk, NULL, &d->binaries.global);
  return r == VK_SUCCESS && d->binaries.global.keySize <= sizeof d->binaries.global.key;
}

tsr_status vk_binaries_try(be_device *d) {
  if (!load(d))
    return st_make(d->env->al, TSR_UNAVAILABLE, ST_WHERE("vulkan", "pipeline binaries", NULL), "the driver has no key");
  d->binaries.mode = VK_BINARIES_TRIED;
  tsr_status st = vk_selftest_basic(d);
  d->binaries.mode = VK_BINARIES_OFF;
  return st;
}

/* Where no process tries drivers, here. */
static bool known_good(be_device *d) {
  vk_probe *p = &d->instance->probe;
  char value[128];
  if (vk_note_get(p, &d->limits.id, "binaries", value)) return vk_may(p, &d->limits.id, "binaries", value);
  tsr_status st = vk_binaries_try(d);
  if (st) snprintf(value, sizeof value, "bad %.110s", tsr_status_cause(st));
  else snprintf(value, sizeof value, "ok");
  tsr_status_free(st);
  vk_did(p, &d->limits.id, "binaries", value);
  return vk_may(p, &d->limits.id, "binaries", value);
}

void vk_binaries_begin(be_device *d) {
  if (!d->features.binaries || !d->env->cache_dir || !known_good(d) || !load(d)) return;
  if ((d->binaries.store = vk_store_open(d->env))) d->binaries.mode = VK_BINARIES_KEPT;
}

void vk_binaries_end(be_device *d) { blob_close(&d->binaries.store); }
