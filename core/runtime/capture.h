/* core/runtime/capture.h - what a stream that is being captured records in place of running it. */
#ifndef CORE_RUNTIME_CAPTURE_H
#define CORE_RUNTIME_CAPTURE_H
#include "core/runtime/internal.h"

typedef enum command_kind { CMD_RUN, CMD_COPY, CMD_FILL, CMD_RECORD, CMD_WAIT } command_kind;

typedef struct rt_command {
  struct rt_command *next;
  command_kind kind;
  rt_run_fn run;
  tsr_program *program;
  tsr_binding *bindings; /* inputs, then outputs */
  int n_bindings;
  tsr_buffer *dst, *src;
  tsr_event *event;
  size_t dst_offset, src_offset, bytes;
  uint32_t pattern;
} rt_command;

/* *c is copied; its bindings then belong to the stream. */
tsr_status rt_record(tsr_stream *s, const rt_command *c);
void rt_free_commands(tsr_context *c, rt_command *first);

#endif
