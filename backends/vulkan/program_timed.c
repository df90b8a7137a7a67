/* backends/vulkan/program_timed.c - timed runs: the one recording that notes when each launch begins and ends, by the
 * queue's timestamps or by readings of the device's clock (clock.c). */
#include "backends/vulkan/program.h"
#include "core/base/clock.h"

/* How long a run may take whose readings of the clock are to be told apart. */
static double clock_span_ns(const be_device *d) {
  return d->clock.ns_per_tick * (double)((uint64_t)1 << (VK_CLOCK_BITS - 1));
}

/* By the clock when the last timed run was far shorter than that allows; the first one by timestamps where there are
 * any. */
static tsr_status choose_timer(be_program *p, be_stream *s, bool *by_clock) {
  be_device *d = p->d;
  *by_clock = false;
  if (d->limits.timestamp_bits && !p->timed_ns) return NULL;
  TSR_TRY(vk_clock_ready(s, by_clock));
  if (!d->limits.timestamp_bits && !*by_clock)
    return st_make(d->env->al, TSR_UNSUPPORTED, ST_WHERE("vulkan", "timing", NULL), "the queue has no timestamps");
  if (d->limits.timestamp_bits && p->timed_ns > clock_span_ns(d) / 2) *by_clock = false;
  return NULL;
}

static tsr_status make_timer(be_program *p, be_stream *s) {
  be_device *d = p->d;
  bool by_clock;
  TSR_TRY(choose_timer(p, s, &by_clock));
  if (by_clock != p->by_clock) p->recordings[VK_TIMED].valid = false;
  p->by_clock = by_clock;
  if (by_clock)
    return p->clocks ? NULL : vk_buffer_create(d, 8 * ((size_t)p->n_launches + 1), BE_HOST_VISIBLE, &p->clocks);
  if (p->queries) return NULL;
  VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                .queryCount = 2 * (uint32_t)p->n_launches};
  return vk_status(d, d->fn.vkCreateQueryPool(d->vk, &info, NULL, &p->queries), "vkCreateQueryPool");
}

/* All 0, not known, after a run that was too long. */
static void clock_times(const be_program *p, double *times_ns) {
  const uint64_t *t = p->clocks->host;
  bool known = p->timed_ns < clock_span_ns(p->d);
  for (int i = 0, last = 0; i < p->n_launches; i++) {
    bool empty = vk_is_empty(&p->launches[i]);
    times_ns[i] = empty || !known ? 0 : (double)vk_ticks(t[last], t[i + 1], VK_CLOCK_BITS) * p->d->clock.ns_per_tick;
    if (!empty) last = i + 1;
  }
}

static tsr_status query_times(const be_program *p, double *times_ns) {
  be_device *d = p->d;
  uint32_t n = 2 * (uint32_t)p->n_launches;
  uint64_t *t = al_zalloc(d->env->al, 16 * (size_t)n); /* value and availability */
  if (!t) return st_oom();
  tsr_status st = vk_status(d,
                            d->fn.vkGetQueryPoolResults(d->vk, p->queries, 0, n, 16 * (size_t)n, t, 16,
                                                        VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT),
                            "vkGetQueryPoolResults");
  for (int i = 0; !st && i < p->n_launches; i++)
    times_ns[i] = t[4 * i + 1] && t[4 * i + 3] ? (double)vk_ticks(t[4 * i], t[4 * i + 2], d->limits.timestamp_bits) *
                                                     (double)d->limits.timestamp_period
                                               : 0;
  al_free(d->env->al, t, 16 * (size_t)n, 16);
  return st;
}

tsr_status vk_program_run_timed(be_program *p, be_stream *s, double *times_ns) {
  vk_recording *r = &p->recordings[VK_TIMED];
  TSR_TRY(make_timer(p, s));
  if (!vk_recording_fits(p, r)) TSR_TRY(vk_recording_make(p, s, r, true));
  int64_t from_ns = clock_ns();
  TSR_TRY(vk_recording_submit(p, s, r));
  TSR_TRY(vk_stream_sync(s, -1));
  p->timed_ns = (double)(clock_ns() - from_ns);
  if (!p->by_clock) return query_times(p, times_ns);
  clock_times(p, times_ns);
  return NULL;
}
