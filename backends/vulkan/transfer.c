/* backends/vulkan/transfer.c - host to device and back, copies and fills. Host-visible memory is copied by the CPU once
 * the stream is idle; other memory goes through two staging buffers in turn. Large ones take the queue for transfers,
 * where there is one, so that they go on beside other streams' kernels. */
#include <string.h>

#include "backends/vulkan/vk.h"

static char *host_of(const be_range *r) { return r->buffer->host ? (char *)r->buffer->host + r->offset : NULL; }

/* Copies all of dst from src, both of dst.bytes bytes: as many regions as the pieces of both ask for. */
static void copy_ranges(be_stream *s, VkCommandBuffer cmd, const be_range *dst, const be_range *src) {
  for (size_t done = 0; done < dst->bytes;) {
    VkBuffer to, from;
    VkBufferCopy c;
    size_t n = vk_buffer_part(dst, done, &to, &c.dstOffset), m = vk_buffer_part(src, done, &from, &c.srcOffset);
    c.size = n < m ? n : m;
    s->d->fn.vkCmdCopyBuffer(cmd, from, to, 1, &c);
    done += c.size;
  }
}

/* An application's buffers may belong to its queue's family. */
static vk_queue queue_for(const be_stream *s, const be_range *a, const be_range *b) {
  bool ours = !a->buffer->imported && !b->buffer->imported;
  return s->d->queue[VK_TRANSFER] && ours && a->bytes >= VK_TRANSFER_BYTES ? VK_TRANSFER : VK_COMPUTE;
}

const char *vk_copies_wait(const be_device *d, size_t bytes) {
  if (!d->queue[VK_TRANSFER]) return "the device has one queue, on which copies and kernels take turns";
  return bytes >= VK_TRANSFER_BYTES ? "" : "copies as small as these take the kernels' queue";
}

static tsr_status staging(be_stream *s, int i) {
  if (!s->staging[i]) return vk_buffer_create(s->d, VK_STAGING_BYTES, BE_HOST_VISIBLE, &s->staging[i]);
  return vk_stream_reach(s, s->staging_value[i], -1);
}

/* One piece between staging buffer i and device memory. */
static tsr_status piece(be_stream *s, int i, const be_range *r, size_t done, size_t n, bool to_device) {
  VkCommandBuffer cmd;
  be_range host = {s->staging[i], 0, n}, device = {r->buffer, r->offset + done, n};
  vk_queue queue = queue_for(s, r, &host);
  TSR_TRY(vk_stream_begin_for(s, queue, &cmd));
  copy_ranges(s, cmd, to_device ? &device : &host, to_device ? &host : &device);
  TSR_TRY(vk_end_for(s, queue, cmd));
  TSR_TRY(vk_stream_submit_to(s, queue, &cmd, 1));
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
  vk_queue queue = queue_for(s, &dst, &src);
  TSR_TRY(vk_stream_begin_for(s, queue, &cmd));
  src.bytes = dst.bytes;
  copy_ranges(s, cmd, &dst, &src);
  TSR_TRY(vk_end_for(s, queue, cmd));
  return vk_stream_submit_to(s, queue, &cmd, 1);
}

tsr_status vk_fill(be_stream *s, be_range dst, uint32_t pattern) {
  VkCommandBuffer cmd;
  if (!dst.bytes) return NULL;
  TSR_TRY(vk_stream_begin(s, &cmd));
  for (size_t done = 0, n; done < dst.bytes; done += n) {
    VkBuffer vk;
    VkDeviceSize at;
    n = vk_buffer_part(&dst, done, &vk, &at);
    s->d->fn.vkCmdFillBuffer(cmd, vk, at, n, pattern);
  }
  TSR_TRY(vk_end(s, cmd));
  return vk_stream_submit(s, &cmd, 1);
}
