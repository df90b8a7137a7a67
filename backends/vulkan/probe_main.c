/* backends/vulkan/probe_main.c - the process in which drivers are tried: takes each step of using each device, after
 * announcing it (probe.c has the lines). What crashes here ends this process alone. */
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/vk.h"

/* A step that failed without a crash: its cause where the driver is at fault, else nothing is known against it. */
static void ended(be_device *d, const char *step, tsr_status st) {
  tsr_code c = tsr_status_code(st);
  char value[128] = "ok";
  if (c == TSR_LAUNCH_FAILED || c == TSR_UNAVAILABLE || c == TSR_DEVICE_LOST)
    snprintf(value, sizeof value, "bad %.110s", tsr_status_cause(st));
  vk_did(&d->instance->probe, &d->limits.id, step, value);
}

static bool is_lost(be_device *d) {
  vk_probe *p = &d->instance->probe;
  if (!atomic_load(&d->lost)) return false;
  vk_did(p, &p->now, p->now_step, "bad lost the device");
  return true;
}

static tsr_status try_clock(be_device *d) {
  be_stream *s = NULL;
  bool ready;
  tsr_status st = vk_stream_create(d, 0, &s);
  if (!st) st = vk_clock_ready(s, &ready);
  vk_stream_destroy(s);
  return st;
}

/* Where addresses are pairs of words, any kernel tells whether the driver can put them together. False: it can't, or
 * the device is lost; another process opens it with descriptors (caps.c). */
static bool takes_pairs(be_device *d) {
  vk_probe *p = &d->instance->probe;
  char why[128];
  if (d->caps.i64 || !d->features.bda) return true;
  if (!vk_may(p, &d->limits.id, "words", why)) return false;
  tsr_status st = vk_selftest_basic(d);
  ended(d, "words", st);
  tsr_status_free(st);
  return !is_lost(d) && !vk_is_bad(p, &d->limits.id, "words", why);
}

/* False: the device was lost, and with it the rest of this process's tests; or it is to be opened another way. */
static bool use(be_device *d) {
  vk_probe *p = &d->instance->probe;
  const vk_id *id = &d->limits.id;
  char why[128];
  tsr_status st = NULL;
  if (!takes_pairs(d)) return false;
  if (!vk_may(p, id, "kernel", why)) return true;
  ended(d, "kernel", st = vk_selftest_basic(d));
  bool works = !st;
  tsr_status_free(st);
  if (!works) return !is_lost(d);
  d->caps.no_pack64 = d->caps.i64 && !vk_may(p, id, "words", why);
  if (d->caps.i64 && !d->caps.no_pack64) {
    ended(d, "words", st = vk_selftest_words(d));
    tsr_status_free(st);
    if (is_lost(d)) return false;
  }
  if (d->features.binaries && vk_may(p, id, "binaries", why)) {
    ended(d, "binaries", st = vk_binaries_try(d));
    tsr_status_free(st);
    if (is_lost(d)) return false;
  }
  tsr_status_free(vk_selftest(d));
  if (is_lost(d)) return false;
  tsr_status_free(vk_cores(d));
  if (is_lost(d)) return false;
  if (d->features.clock && vk_may(p, id, "clock", why)) {
    ended(d, "clock", st = try_clock(d));
    tsr_status_free(st);
  }
  return !is_lost(d);
}

static bool try_device(be_instance *in, int index) {
  be_device *d = NULL;
  tsr_caps caps;
  char why[128];
  tsr_status_free(vk_device_open(in, index, NULL, &d, &caps));
  if (!d) return true;
  vk_id id = d->limits.id;
  bool go_on = use(d);
  if (!go_on || !vk_may(&in->probe, &id, "close", why)) return go_on; /* left open: the process ends soon */
  vk_device_close(d);
  vk_did(&in->probe, &id, "close", "ok");
  return true;
}

static bool try_all(be_instance *in) {
  char why[128];
  vk_id drivers;
  vk_drivers_id(&drivers);
  if (!vk_may(&in->probe, &drivers, "instance", why)) return true;
  tsr_status_free(vk_instance_load(in)); /* the process that asks gets the same answer */
  vk_did(&in->probe, &drivers, "instance", "ok");
  for (int i = 0; i < in->n_devices; i++)
    if (!try_device(in, i)) return false;
  return true;
}

void vk_probe_main(const be_env *env, char **args) {
  be_instance *in = NULL;
  tsr_status st = vk_instance_import(env, &in);
  if (st) {
    tsr_status_free(st);
    return;
  }
  in->probe.in_child = true;
  for (; *args; args++) { /* "KEY<TAB>STEP<TAB>VALUE": what runs before this one failed in */
    char key[17], step[96], *tab = strchr(*args, '\t'), *value = tab ? strchr(tab + 1, '\t') : NULL;
    if (!value) continue;
    snprintf(key, sizeof key, "%.*s", (int)(tab - *args), *args);
    snprintf(step, sizeof step, "%.*s", (int)(value - tab - 1), tab + 1);
    vk_note_set(&in->probe, key, step, value + 1, false);
  }
  bool whole = try_all(in);
  puts(whole ? "done" : "again");
  fflush(stdout); /* how drivers end may crash as it likes */
  if (whole) vk_instance_destroy(in);
}
