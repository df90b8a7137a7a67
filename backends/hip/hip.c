/* backends/hip/hip.c - the hooks in which HIP differs from CUDA, and the backend's table.
 * Constants: hip_runtime_api.h (hipDeviceAttribute_t, hipError_t) of ROCm 6. */
#include "backends/hip/backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "backends/simt/simt.h"
#include "core/device/arch.h"
#include "tessera/hip.h"

static const char *error_name(void *lib, int code) {
  const char *(*name)(int);
  *(void **)&name = dlsym(lib, "hipGetErrorName");
  return name ? name(code) : "HIP error";
}

enum { ATTR_CORES = 63, PROPERTIES_BYTES = 4096 };

/* hipDeviceProp_t changes between releases, but the architecture's name ("gfx942:sramecc+:xnack-") is the only text in
 * it that starts with "gfx". */
static const char *find_arch(const unsigned char *p, size_t n, char *out, size_t cap) {
  for (size_t i = 0; i + 8 < n; i++) {
    if (memcmp(p + i, "gfx", 3)) continue;
    size_t len = 0;
    while (len + 1 < cap && i + len < n && p[i + len] > ' ' && p[i + len] != ':' && p[i + len] < 127) len++;
    memcpy(out, p + i, len);
    out[len] = 0;
    return out;
  }
  return NULL;
}

static tsr_status device_caps(const simt_api *api, int device, tsr_caps *out) {
  _Alignas(16) unsigned char properties[PROPERTIES_BYTES] = {0};
  int (*get)(void *, int);
  char arch[32];
  int v = 0;
  *(void **)&get = dlsym(api->lib, "hipGetDevicePropertiesR0600");
  if (!get) *(void **)&get = dlsym(api->lib, "hipGetDeviceProperties");
  if (!get || get(properties, device) || !find_arch(properties, sizeof properties, arch, sizeof arch))
    return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("hip", "device properties", NULL),
                   "the driver does not tell the architecture");
  tsr_status known = arch_caps_of(DIALECT_HIP, arch, out);
  if (known) {
    tsr_status st =
        st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("hip", NULL, tsr_status_hint(known)), "architecture %s", arch);
    tsr_status_free(known);
    return st;
  }
  if (!api->device_attribute(&v, ATTR_CORES, device) && v > 0) arch_set_processors(out, v);
  return NULL;
}

static int options(const char *arch, char *buf, const char **o) {
  snprintf(buf, 256, "--offload-arch=%s", arch);
  o[0] = buf;
  o[1] = "-std=c++17";
  o[2] = "-O3";
  return 3;
}

static int graph_update(void *lib, void *exec, void *graph) {
  void *node = NULL;
  int result = 0, (*update)(void *, void *, void **, int *);
  *(void **)&update = dlsym(lib, "hipGraphExecUpdate");
  return update ? update(exec, graph, &node, &result) : 1;
}

static int peer_enable(void *lib, void *context, int device) {
  int (*enable)(int, unsigned);
  *(void **)&enable = dlsym(lib, "hipDeviceEnablePeerAccess");
  (void)context;
  return enable ? enable(device, 0) : 801;
}

static tsr_status import_device(const void *desc, int *device, void **context, void **stream) {
  const tsr_hip_import *i = desc;
  if (!i || !i->context)
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("hip", "import", "hipDevicePrimaryCtxRetain gives one"),
                   "no hipCtx_t given");
  *device = i->device;
  *context = i->context;
  *stream = i->stream;
  return NULL;
}

static uint64_t import_pointer(const void *desc) { return ((const tsr_hip_pointer *)desc)->address; }

static const char *const libs[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so", NULL};
static const char *const rtcs[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so", NULL};

static const char *const tool_libs[] = {"lib/libhiprtc.so*", "lib64/libhiprtc.so*", NULL};

static void driver_text(int version, char *out, size_t n) {
  snprintf(out, n, "HIP %d.%d", version / 10000000, version / 100000 % 100);
}

static const simt_dialect dialect = {
    .name = "hip", .label = "HIP", .dialect = DIALECT_HIP, .lib_knob = "TSR_LIBHIP", .rtc_knob = "TSR_HIPRTC", .libs = libs, .rtcs = rtcs, .min_driver = 50000000,
    .vendor = "AMD", .column = 1, .tool = "hipcc", .tool_libs = tool_libs, .toolkit_libs = "/opt/rocm*/lib/libhiprtc.so*",
    .no_rtc = "no hipRTC", .rtc_hint = "install ROCm or set TSR_HIPRTC",
    .host_flags = 1 /* hipHostMallocPortable */, .stats_in_object = true, .driver_text = driver_text,
    .lost_codes = {700, 702, 710, 718, 719, 999},
    .error_name = error_name, .device_caps = device_caps, .options = options, .graph_update = graph_update, .peer_enable = peer_enable,
    .import = import_device, .import_pointer = import_pointer,
};

static tsr_status instance_create(const be_env *env, be_instance **out) {
  return simt_instance_create(env, &dialect, out);
}
static tsr_status arch_caps(const char *arch, tsr_caps *out) { return arch_caps_of(DIALECT_HIP, arch, out); }

static tsr_status compile(const be_env *env, const char *arch, const char *source, void **code, size_t *bytes,
                          char **log) {
  simt_code c;
  TSR_TRY(simt_compile_source(env, &dialect, arch, source, &c));
  *code = c.code;
  *bytes = c.bytes;
  *log = c.log;
  return NULL;
}

const be_vtable hip_backend = {.abi = BE_ABI,
                               .name = "hip",
                               .dialect = DIALECT_HIP,
                               .instance_create = instance_create,
                               .arch_caps = arch_caps,
                               .compile = compile,
                               SIMT_VTABLE(dialect)};
