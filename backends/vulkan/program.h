/* backends/vulkan/program.h - a program and its recordings, for program.c and what times its runs (program_timed.c). */
#ifndef BACKENDS_VULKAN_PROGRAM_H
#define BACKENDS_VULKAN_PROGRAM_H
#include "backends/vulkan/vk.h"

enum { VK_RECORDINGS = 4, VK_TIMED = VK_RECORDINGS, VK_ALL_RECORDINGS };

typedef struct vk_recording {
  VkCommandPool pool;
  VkCommandBuffer *cmds;
  int n_cmds, cap_cmds;
  VkDeviceAddress *key; /* binding addresses it was recorded for */
  bool valid;
  be_buffer *tables;    /* argument tables of launches with many arguments */
  vk_sets sets;         /* without buffer addresses */
  vk_timeline *used; /* last use; NULL: none, or waited for */
  uint64_t value, age;
} vk_recording;

struct be_program {
  be_device *d;
  arena a;
  be_launch *launches;
  int n_launches, n_bindings;
  size_t table_bytes;
  vk_recording recordings[VK_ALL_RECORDINGS]; /* the last one with times */
  VkQueryPool queries;                  /* of that one, made when first asked for: begin and end of each launch */
  be_buffer *clocks; /* readings of the device's clock, before the first launch and after each, instead: where it has
                        one (clock.c) */
  bool by_clock;                        /* what the timed recording does */
  double timed_ns;                      /* how long the last timed run took; 0: none yet */
  VkDeviceAddress *now;
  const be_range *ranges; /* the same as given, during a run */
  uint64_t uses;
  pthread_mutex_t mutex;
};

/* A launch without blocks. */
static inline bool vk_is_empty(const be_launch *l) {
  const int64_t *g = l->module->kernels[l->kernel].desc.grid;
  return g[0] < 1 || g[1] < 1 || g[2] < 1;
}

/* program.c; the program's mutex is held. Is the recording for the addresses of now? */
bool vk_recording_fits(const be_program *p, const vk_recording *r);
/* Records for these, once the device is done with what was there. */
tsr_status vk_recording_make(be_program *p, be_stream *s, vk_recording *r, bool timed);
tsr_status vk_recording_submit(be_program *p, be_stream *s, vk_recording *r);
/* program_timed.c: runs and waits; a time for each launch, 0 where it is not known. */
tsr_status vk_program_run_timed(be_program *p, be_stream *s, double *times_ns);
#endif
