/* core/profile/chrome_trace.c - see chrome_trace.h. */
#include "core/profile/chrome_trace.h"

#include "core/profile/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEVICES = 256, MAX_STREAMS = 1024 };

/* Index of the event's device among those seen so far; adds it. */
static int device_of(const char **names, int *n, const char *device) {
  for (int i = 0; i < *n; i++)
    if (!strcmp(names[i], device)) return i;
  if (*n == MAX_DEVICES) return MAX_DEVICES - 1;
  names[*n] = device;
  return (*n)++;
}

static void meta(strb *out, bool *any, const char *what, int pid, int tid, const char *name) {
  strb_printf(out, "%s{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"args\": {\"name\": ",
              *any ? ",\n" : "\n", what, pid, tid);
  strb_json(out, name);
  strb_puts(out, "}}");
  *any = true;
}

typedef struct stream_key {
  int pid, tid;
} stream_key;

/* A stream's name before its first event. */
static void name_stream(strb *out, bool *any, stream_key *seen, int *n, int pid, int tid) {
  char name[32];
  for (int i = 0; i < *n; i++)
    if (seen[i].pid == pid && seen[i].tid == tid) return;
  if (*n == MAX_STREAMS) return;
  seen[(*n)++] = (stream_key){pid, tid};
  snprintf(name, sizeof name, "stream %d", tid);
  meta(out, any, "thread_name", pid, tid, name);
}

static void arg(strb *out, const char *name, double v) {
  if (v >= 0 && isfinite(v)) strb_printf(out, ", \"%s\": %.10g", name, v);
}

static void event(strb *out, bool *any, const prof_event *e, int pid, double origin) {
  static const char *const categories[] = {"kernel", "collective", "fused", "copy", "host"};
  char label[128];
  double from = round(e->start_ns - origin),
         to = round(e->end_ns - origin); /* ends before rounding would let neighbours overlap */
  report_label(e, label, sizeof label);
  strb_printf(out, "%s{\"ph\": \"X\", \"name\": ", *any ? ",\n" : "\n");
  strb_json(out, label);
  strb_printf(out, ", \"cat\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": {\"kernel\": ",
              categories[e->kind], pid, e->stream, from / 1e3, (to - from) / 1e3);
  strb_json(out, e->kernel);
  if (e->waits[0]) strb_puts(out, ", \"waits\": "), strb_json(out, e->waits);
  arg(out, "step", e->step), arg(out, "flops", e->flops), arg(out, "bytes", e->bytes),
      arg(out, "bytes_measured", e->bytes_measured);
  arg(out, "occupancy", e->occupancy), arg(out, "registers", e->registers), arg(out, "spill_bytes", e->spill_bytes),
      arg(out, "tiles", e->tiles);
  strb_puts(out, "}}");
  *any = true;
}

tsr_status chrome_trace(const prof_log *l, strb *out) {
  const char *names[MAX_DEVICES];
  double origin[MAX_DEVICES];
  stream_key seen[MAX_STREAMS];
  int n = 0, n_seen = 0;
  bool any = false;
  strb_puts(out, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
  for (size_t i = 0; i < prof_count(l); i++) { /* each device has its own clock */
    const prof_event *e = prof_at(l, i);
    int before = n, d = device_of(names, &n, e->device);
    if (d >= before || e->start_ns < origin[d]) origin[d] = e->start_ns;
    if (d < before) continue;
    meta(out, &any, "process_name", d + 1, 0, e->device[0] ? e->device : "device");
  }
  for (size_t i = 0; i < prof_count(l); i++) {
    const prof_event *e = prof_at(l, i);
    int d = device_of(names, &n, e->device);
    name_stream(out, &any, seen, &n_seen, d + 1, e->stream);
    event(out, &any, e, d + 1, origin[d]);
  }
  strb_puts(out, "\n]}\n");
  return strb_ok(out) ? NULL : st_oom();
}
