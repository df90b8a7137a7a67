/* core/runtime/profile_copies.h - the copies of a profile: each stands between two events of its stream, and is told
 * when the device has done it. While any is under way, steps of the profile are placed by events too, so that both
 * stand on one clock of the device. */
#ifndef CORE_RUNTIME_PROFILE_COPIES_H
#define CORE_RUNTIME_PROFILE_COPIES_H
#include "core/profile/profile.h"
#include "core/runtime/internal.h"

typedef struct rt_copies rt_copies;

/* The log is borrowed. */
TSR_MUST_USE tsr_status rt_copies_create(tsr_context *ctx, prof_log *log, rt_copies **out);
void rt_copies_destroy(rt_copies **c);
/* As tsr_stream_copy, noted for a step. Without timestamps nothing is copied: TSR_UNSUPPORTED. */
TSR_MUST_USE tsr_status rt_copies_add(rt_copies *c, int step, tsr_stream *s, tsr_buffer *dst, size_t dst_offset,
                                      tsr_buffer *src, size_t src_offset, size_t bytes);
/* A step begins on s: *event marks it, NULL where no copy of the device is under way. The caller destroys it. */
TSR_MUST_USE tsr_status rt_copies_mark(rt_copies *c, tsr_stream *s, tsr_event **event);
/* When that was, on the clock of the device's copies, and the number of the stream. */
TSR_MUST_USE tsr_status rt_copies_place(rt_copies *c, tsr_stream *s, tsr_event *event, double *start_ns, int *stream);
/* Waits for all copies and puts them into the log. */
TSR_MUST_USE tsr_status rt_copies_settle(rt_copies *c);
#endif
