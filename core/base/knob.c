/* core/base/knob.c - the table of environment knobs. */
#include "core/base/knob.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const knob knobs[] = {
    {"TSR_BACKEND", "", KNOB_STRING, "device used when none is named: cpu, vulkan, cuda, hip, an id such as vulkan:1, or a list of them of which the first that is there is taken"},
    {"TSR_THREADS", "0", KNOB_INT, "threads of the CPU backend; 0 = one per core"},
    {"TSR_CPU_BIND", "1", KNOB_BOOL, "bind each thread of the CPU backend to a core of its own"},
    {"TSR_CPU_ISA", "auto", KNOB_STRING, "CPU micro-kernels: auto, portable, avx2, avx512, amx, neon"},
    {"TSR_DUMP", "", KNOB_LIST, "levels written to standard error when a program is compiled: graph,schedule,tile,target,source"},
    {"TSR_DISABLE", "", KNOB_LIST, "switches off: rewrites, fusion, tiling, mma, pipeline (of products), row_kernels (CPU), or any rule by name"},
    {"TSR_POLICY", "fast", KNOB_STRING, "numerics policy of new contexts: fast, deterministic, kahan_sum"},
    {"TSR_FALLBACK", "warn", KNOB_STRING, "when a device lacks a capability: error, warn or allow the slower path"},
    {"TSR_MATRIX", "auto", KNOB_STRING, "matrix path: auto, coopmat, coopmat2, subgroup, columns, scalar"},
    {"TSR_CACHE_DIR", ".tessera/cache", KNOB_STRING, "folder of the tuning and binary caches"},
    {"TSR_TUNE", "cached", KNOB_STRING, "tuning of compiled programs: off, cached, full"},
    {"TSR_LOG", "warn", KNOB_STRING, "messages on standard error: error, warn, info, debug"},
    {"TSR_NVRTC", "", KNOB_STRING, "path of the NVRTC library; empty = search"},
    {"TSR_HIPRTC", "", KNOB_STRING, "path of the hipRTC library; empty = search"},
    {"TSR_LIBCUDA", "", KNOB_STRING, "path of the CUDA driver library; empty = search"},
    {"TSR_LIBNVML", "", KNOB_STRING, "path of NVML, which tells a bench clocks and power of NVIDIA devices; empty = search"},
    {"TSR_LIBHIP", "", KNOB_STRING, "path of the HIP run-time library; empty = search"},
    {"TSR_SUBMIT_MS", "500", KNOB_INT, "longest estimated milliseconds of work in one GPU submission"},
    {"TSR_VK_VALIDATION", "0", KNOB_BOOL, "run Vulkan under the validation layers, synchronization validation included; each message counts as an error"},
    {"TSR_VK_FAULT", "", KNOB_STRING, "testing: oom:N and lost:N make the Nth allocation or submission of a Vulkan device fail"},
};

const knob *knob_table(size_t *n) {
  *n = sizeof knobs / sizeof *knobs;
  return knobs;
}

static const knob *find(const char *name) {
  for (size_t i = 0; i < sizeof knobs / sizeof *knobs; i++)
    if (!strcmp(knobs[i].name, name)) return &knobs[i];
  assert(!"knob is not in the table");
  return NULL;
}

const char *knob_str(const char *name) {
  const knob *k = find(name);
  const char *v = getenv(name);
  return v && *v ? v : k ? k->dflt : "";
}

int64_t knob_int(const char *name) { return strtoll(knob_str(name), NULL, 10); }

bool knob_bool(const char *name) {
  const char *v = knob_str(name);
  return *v && strcmp(v, "0") && strcasecmp(v, "off") && strcasecmp(v, "false") && strcasecmp(v, "no");
}

bool knob_has(const char *name, const char *item) {
  size_t n = strlen(item);
  for (const char *v = knob_str(name); *v;) {
    size_t len = strcspn(v, ",");
    if (len == n && !strncmp(v, item, n)) return true;
    v += len + (v[len] == ',');
  }
  return false;
}
