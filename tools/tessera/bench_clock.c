/* tools/tessera/bench_clock.c - a GPU's own time between two events, and the clocks and power that it runs at: from
 * NVML (loaded at run time) or, on AMD, from the files of the amdgpu driver below /sys. What can't be read is 0.
 * TSR_LIBNVML names another library. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/knob.h"
#include "tools/tessera/bench.h"

tsr_status bench_timer_create(tsr_device *dev, bench_timer *t) {
  tsr_status st = tsr_event_create(dev, &t->from);
  if (!st) st = tsr_event_create(dev, &t->to);
  if (st) bench_timer_destroy(t);
  return st;
}

void bench_timer_destroy(bench_timer *t) {
  tsr_event_destroy(&t->from);
  tsr_event_destroy(&t->to);
}

tsr_status bench_timer_start(bench_timer *t) { return tsr_event_record(t->from, t->stream); }

tsr_status bench_timer_stop(bench_timer *t, double *us) {
  double ns = 0;
  tsr_status st = tsr_event_record(t->to, t->stream);
  if (!st) st = tsr_event_sync(t->to);
  if (!st) st = tsr_event_elapsed(t->from, t->to, &ns);
  *us = ns / 1e3;
  return st;
}

/* ---- clocks and power -------------------------------------------------------------------------------------------- */

/* "0000:19:00.0" of the device that the driver counts as `index`. */
static bool bus_id(const char *knob, const char *lib, const char *call, int index, char out[32]) {
  const char *wanted = knob_str(knob);
  void *h = dlopen(*wanted ? wanted : lib, RTLD_NOW);
  int (*get)(char *, int, int);
  if (!h) return false;
  *(void **)&get = dlsym(h, call);
  return get && !get(out, 32, index);
}

/* Nothing is closed: NVML keeps state of its own, and a bench asks again. */
static void read_nvml(const char *bus, bench_clocks *out) {
  const char *wanted = knob_str("TSR_LIBNVML");
  static void *h;
  int (*init)(void), (*find)(const char *, void **), (*clock)(void *, int, unsigned *), (*power)(void *, unsigned *),
      (*heat)(void *, int, unsigned *);
  void *dev = NULL;
  unsigned core = 0, memory = 0, milliwatts = 0, celsius = 0;
  if (!h && !(h = dlopen(*wanted ? wanted : "libnvidia-ml.so.1", RTLD_NOW))) return;
  *(void **)&init = dlsym(h, "nvmlInit_v2");
  *(void **)&find = dlsym(h, "nvmlDeviceGetHandleByPciBusId_v2");
  *(void **)&clock = dlsym(h, "nvmlDeviceGetClockInfo");
  *(void **)&power = dlsym(h, "nvmlDeviceGetPowerUsage");
  *(void **)&heat = dlsym(h, "nvmlDeviceGetTemperature");
  if (!init || !find || !clock || !power || !heat || init() || find(bus, &dev)) return;
  if (!clock(dev, 1 /* SM */, &core)) out->core_mhz = core;
  if (!clock(dev, 2 /* memory */, &memory)) out->memory_mhz = memory;
  if (!power(dev, &milliwatts)) out->watts = milliwatts / 1e3;
  if (!heat(dev, 0, &celsius)) out->celsius = celsius;
}

static double read_number(const char *dir, const char *file) {
  char path[600];
  double v = 0;
  snprintf(path, sizeof path, "%s/%s", dir, file);
  FILE *f = fopen(path, "r");
  if (f && fscanf(f, "%lf", &v) != 1) v = 0;
  if (f) fclose(f);
  return v;
}

/* hwmon: Hz, microwatts, thousandths of a degree. */
static void read_amdgpu(const char *bus, bench_clocks *out) {
  char path[256], dir[512];
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/hwmon", bus);
  DIR *d = opendir(path);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    snprintf(dir, sizeof dir, "%.250s/%.200s", path, e->d_name);
    double watts = read_number(dir, "power1_average");
    out->core_mhz = read_number(dir, "freq1_input") / 1e6;
    out->memory_mhz = read_number(dir, "freq2_input") / 1e6;
    out->watts = (watts > 0 ? watts : read_number(dir, "power1_input")) / 1e6;
    out->celsius = read_number(dir, "temp1_input") / 1e3;
  }
  if (d) closedir(d);
}

bench_clocks bench_read_clocks(const tsr_device_info *d) {
  bench_clocks c = {0};
  char bus[32] = "";
  const char *colon = strchr(d->id, ':');
  int index = colon ? atoi(colon + 1) : 0;
  if (!strcmp(d->backend, "cuda") && bus_id("TSR_LIBCUDA", "libcuda.so.1", "cuDeviceGetPCIBusId", index, bus))
    read_nvml(bus, &c);
  if (!strcmp(d->backend, "hip") && bus_id("TSR_LIBHIP", "libamdhip64.so", "hipDeviceGetPCIBusId", index, bus))
    read_amdgpu(bus, &c);
  return c;
}
