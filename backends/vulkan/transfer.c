/* backends/vulkan/transfer.c - host to device and back, copies and fills. Host-visible memory is copied by the CPU once the
 * stream is idle; other memory goes through two staging buffers in turn. */
#include <string.h>

#include "backends/vulkan/vk.h"

static char *host_of(const be_range *r) { return r->buffer->host ? (char *)r->buffer->host + r->offset : NULL; }
static VkDeviceSize at(const be_range *r) { return r->buffer->offset + r->offset; }

static tsr_status staging(be_stream *s, int i) {
  if (!s->staging[i]) return vk_buffer_create(s->d, VK_STAGING_BYTES, BE_HOST_VISIBLE, &s->staging[i]);
  return vk_stream_reach(s, s->staging_value[i], -1);
}

/* One piece between staging buffer i and device memory. */
static tsr_status piece(be_stream *s, int i, const be_range *r, size_t done, size_t n, bool to_device) {
  VkCommandBuffer cmd;
  TSR_TRY(vk_stream_begin(s, &cmd));
  VkBufferCopy c = {.srcOffset = to_device ? 0 : at(r) + done, .dstOffset = to_device ? at(r) + done : 0, .size = n};
  VkBuffer src = to_device ? s->staging[i]->vk : r->buffer->vk, dst = to_device ? r->buffer->vk : s->staging[i]->vk;
  s->d->fn.vkCmdCopyBuffer(cmd, src, dst, 1, &c);
  TSR_TRY(vk_end(s, cmd));
  TSR_TRY(vk_stream_submit(s, &cmd, 1));
  s->staging_value[i] = s->submitted;
  return NULL;
}

tsr_status vk_write(be_stream *s, be_range dst, const void *src) {
  if (!dst.bytes) return NULL;
  if (host_of(&dst)) {
    TSR_TRY(vk_stream_sync(s, -1));
    memcpy(host_of(&dst), src, dst.bytes);
    return NULL;
  }
  int i = 0;
  for (size_t done = 0; done < dst.bytes; i ^= 1) {
    size_t n = dst.bytes - done < VK_STAGING_BYTES ? dst.bytes - done : VK_STAGING_BYTES;
    TSR_TRY(staging(s, i));
    memcpy(s->staging[i]->host, (const char *)src + done, n);
    TSR_TRY(piece(s, i, &dst, done, n, true));
    done += n;
  }
  return NULL;
}

tsr_status vk_read(be_stream *s, be_range src, void *dst) {
  if (!src.bytes) return NULL;
  if (host_of(&src)) {
    TSR_TRY(vk_stream_sync(s, -1));
    memcpy(dst, host_of(&src), src.bytes);
    return NULL;
  }
  /* Piece k is copied out while piece k + 1 is on its way. */
  size_t last_at = 0, last_n = 0;
  int i = 0;
  for (size_t done = 0; done < src.bytes; i ^= 1) {
    size_t n = src.bytes - done < VK_STAGING_BYTES ? src.bytes - done : VK_STAGING_BYTES;
    TSR_TRY(staging(s, i));
    TSR_TRY(piece(s, i, &src, done, n, false));
    if (last_n) {
      TSR_TRY(vk_stream_reach(s, s->staging_value[i ^ 1], -1));
      memcpy((char *)dst + last_at, s->staging[i ^ 1]->host, last_n);
    }
    last_at = done;
    last_n = n;
    done += n;
  }
  TSR_TRY(vk_stream_reach(s, s->staging_value[i ^ 1], -1));
  memcpy((char *)dst + last_at, s->staging[i ^ 1]->host, last_n);
  return NULL;
}

tsr_status vk_copy(be_stream *s, be_range dst, be_range src) {
  VkCommandBuffer cmd;
  if (!dst.bytes) return NULL;
  TSR_TRY(vk_stream_begin(s, &cmd));
  VkBufferCopy c = {.srcOffset = at(&src), .dstOffset = at(&dst), .size = dst.bytes};
  s->d->fn.vkCmdCopyBuffer(cmd, src.buffer->vk, dst.buffer->vk, 1, &c);
  TSR_TRY(vk_end(s, cmd));
  return vk_stream_submit(s, &cmd, 1);
}

tsr_status vk_fill(be_stream *s, be_range dst, uint32_t pattern) {
  VkCommandBuffer cmd;
  if (!dst.bytes) return NULL;
  TSR_TRY(vk_stream_begin(s, &cmd));
  s->d->fn.vkCmdFillBuffer(cmd, dst.buffer->vk, at(&dst), dst.bytes, pattern);
  TSR_TRY(vk_end(s, cmd));
  return vk_stream_submit(s, &cmd, 1);
}
