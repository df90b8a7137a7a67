/* backends/cuda/cuda.c - the hooks in which CUDA differs from HIP, and the backend's table.
 * Constants: CUDA driver API reference (CUdevice_attribute, CUresult, CUtensorMap*, CUlaunchAttributeID). */
#include "backends/cuda/backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "backends/simt/simt.h"
#include "core/device/arch.h"
#include "core/base/dtype.h"
#include "tessera/cuda.h"

static const char *error_name(void *lib, int code) {
  int (*name)(int, const char **);
  const char *s = NULL;
  *(void **)&name = dlsym(lib, "cuGetErrorName");
  return name && !name(code, &s) && s ? s : "CUDA error";
}

/* ---- capabilities ------------------------------------------------------------------------------------------------ */

enum {
  ATTR_CORES = 16,
  ATTR_L2 = 38,
  ATTR_MAJOR = 75,
  ATTR_MINOR = 76,
  ATTR_SHARED_PER_CORE = 81,
  ATTR_REGISTERS_PER_CORE = 82,
  ATTR_SHARED_OPTIN = 97
};

static tsr_status device_caps(const simt_api *api, int device, tsr_caps *out) {
  int major = 0, minor = 0, v = 0;
  if (api->device_attribute(&major, ATTR_MAJOR, device) || api->device_attribute(&minor, ATTR_MINOR, device))
    return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("cuda", "device attributes", NULL),
                   "the driver does not tell the compute capability");
  const char *arch = arch_of_capability(major, minor);
  if (!arch)
    return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("cuda", NULL, "compute capability 8.0 or later is needed"),
                   "compute capability %d.%d", major, minor);
  TSR_TRY(arch_caps_of(DIALECT_CUDA, arch, out));
  if (!api->device_attribute(&v, ATTR_CORES, device) && v > 0) arch_set_processors(out, v);
  if (!api->device_attribute(&v, ATTR_L2, device) && v > 0) out->l2_bytes = v;
  if (!api->device_attribute(&v, ATTR_SHARED_OPTIN, device) && v > 0) out->shared_bytes = v;
  if (!api->device_attribute(&v, ATTR_SHARED_PER_CORE, device) && v > 0) out->shared_per_core = v;
  if (!api->device_attribute(&v, ATTR_REGISTERS_PER_CORE, device) && v > 0) out->registers_per_core = v;
  return NULL;
}

static int options(const char *arch, char *buf, const char **o) {
  snprintf(buf, 256, "--gpu-architecture=%s", arch);
  o[0] = buf;
  o[1] = "--std=c++17";
  o[2] = "--ptxas-options=-v";
  return 3;
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

typedef struct launch_attribute { /* CUlaunchAttribute */
  int id;
  char pad[4];
  union { char bytes[64]; struct { unsigned x, y, z; } cluster; } value;
} launch_attribute;

typedef struct launch_config { /* CUlaunchConfig */
  unsigned grid[3], block[3], shared;
  void *stream;
  launch_attribute *attributes;
  unsigned n_attributes;
} launch_config;

static int launch_cluster(void *lib, void *function, const be_kernel_desc *k, void *stream, void **params) {
  int (*launch)(const launch_config *, void *, void **, void **);
  *(void **)&launch = dlsym(lib, "cuLaunchKernelEx");
  if (!launch) return 801; /* CUDA_ERROR_NOT_SUPPORTED */
  launch_attribute a = {.id = 4 /* cluster dimension */};
  a.value.cluster.x = (unsigned)k->cluster[0];
  a.value.cluster.y = (unsigned)k->cluster[1];
  a.value.cluster.z = (unsigned)k->cluster[2];
  launch_config c = {.shared = (unsigned)k->shared_bytes, .stream = stream, .attributes = &a, .n_attributes = 1};
  for (int i = 0; i < 3; i++) {
    c.grid[i] = (unsigned)k->grid[i];
    c.block[i] = (unsigned)k->block[i];
  }
  return launch(&c, function, params, NULL);
}

static int map_type(tsr_dtype t) {
  switch (t) {
  case TSR_U8: case TSR_I8: case TSR_BOOL: case TSR_F8E4M3: case TSR_F8E5M2: return 0;
  case TSR_I32: return 3;
  case TSR_I64: return 5;
  case TSR_F16: return 6;
  case TSR_F32: return 7;
  case TSR_F64: return 8;
  case TSR_BF16: return 9;
  case TSR_TF32: return 11;
  case TSR_I16: return 1;
  default: return -1;
  }
}

typedef int (*encode_fn)(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                         const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                         int swizzle, int l2, int fill);

static encode_fn find_encoder(void *lib) {
  int (*get)(const char *, void **, int, uint64_t, int *);
  void *f = NULL;
  int found = 1;
  *(void **)&get = dlsym(lib, "cuGetProcAddress_v2");
  if (!get || get("cuTensorMapEncodeTiled", &f, 12000, 0, &found) || !f) f = dlsym(lib, "cuTensorMapEncodeTiled");
  encode_fn e;
  *(void **)&e = f;
  return e;
}

static tsr_status tensor_map(void *lib, const be_tensor_map *m, uint64_t address, void *out) {
  encode_fn encode = find_encoder(lib);
  uint64_t dims[5], strides[5];
  unsigned box[5], steps[5] = {1, 1, 1, 1, 1};
  if (!encode)
    return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("cuda", "tensor map", "update the driver"),
                   "the driver has no cuTensorMapEncodeTiled");
  for (int i = 0; i < m->rank; i++) {
    dims[i] = (uint64_t)m->dims[i];
    box[i] = (unsigned)m->box[i];
    if (i) strides[i - 1] = (uint64_t)m->strides[i]; /* the driver's begin with those of dimension 1 */
  }
  int code =
      encode(out, map_type(m->dtype), (unsigned)m->rank, (void *)(uintptr_t)address, dims, strides, box, steps, 0,
             m->swizzle == 128  ? 3
             : m->swizzle == 64 ? 2
             : m->swizzle == 32 ? 1
                                : 0,
             2 /* 128 bytes at a time into L2 */, 0);
  if (code)
    return st_make(NULL, TSR_INTERNAL, ST_WHERE("cuda", "tensor map", NULL), "%s (%d)", error_name(lib, code), code);
  return NULL;
}

static int set_shared_limit(void *lib, void *function, int bytes) {
  int (*set)(void *, int, int);
  *(void **)&set = dlsym(lib, "cuFuncSetAttribute");
  return set ? set(function, 8 /* MAX_DYNAMIC_SHARED_SIZE_BYTES */, bytes) : 801;
}

static int graph_update(void *lib, void *exec, void *graph) {
  struct { int result; void *node, *from; } info;
  int (*update)(void *, void *, void *);
  *(void **)&update = dlsym(lib, "cuGraphExecUpdate_v2");
  return update ? update(exec, graph, &info) : 1;
}

static int peer_enable(void *lib, void *context, int device) {
  int (*enable)(void *, unsigned);
  *(void **)&enable = dlsym(lib, "cuCtxEnablePeerAccess");
  (void)device;
  return enable ? enable(context, 0) : 801;
}

static tsr_status import_device(const void *desc, int *device, void **context, void **stream) {
  const tsr_cuda_import *i = desc;
  if (!i || !i->context)
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("cuda", "import", NULL), "no CUcontext given");
  *device = i->device;
  *context = i->context;
  *stream = i->stream;
  return NULL;
}

static uint64_t import_pointer(const void *desc) { return ((const tsr_cuda_pointer *)desc)->address; }

static const char *const libs[] = {"libcuda.so.1", "libcuda.so", NULL};
static const char *const rtcs[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", NULL};

static const char *const tool_libs[] = {"lib64/libnvrtc.so*", "lib/libnvrtc.so*", "targets/x86_64-linux/lib/libnvrtc.so*",
                                        NULL};

static void driver_text(int version, char *out, size_t n) {
  snprintf(out, n, "CUDA driver API %d.%d", version / 1000, version % 1000 / 10);
}

static const simt_dialect dialect = {
    .name = "cuda",
    .label = "CUDA",
    .dialect = DIALECT_CUDA,
    .vendor = "NVIDIA",
    .column = 0,
    .tool = "nvcc",
    .tool_libs = tool_libs,
    .toolkit_libs = "/usr/local/cuda*/lib64/libnvrtc.so*",
    .no_rtc = "no NVRTC",
    .rtc_hint = "install the CUDA toolkit or set TSR_NVRTC",
    .host_flags = 3, /* CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP */
    .dynamic_shared = true,
    .driver_text = driver_text,
    .lib_knob = "TSR_LIBCUDA",
    .rtc_knob = "TSR_NVRTC",
    .libs = libs,
    .rtcs = rtcs,
    .min_driver = 12000,
    /* illegal address, launch timeout, assert, hardware stack, illegal instruction, misaligned, address space, program
     * counter, launch failed, tensor memory leak, ECC, NVLink, contained, external device */
    .lost_codes = {700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 214, 220, 226, 911},
    .error_name = error_name,
    .device_caps = device_caps,
    .options = options,
    .launch_cluster = launch_cluster,
    .tensor_map = tensor_map,
    .set_shared_limit = set_shared_limit,
    .graph_update = graph_update,
    .peer_enable = peer_enable,
    .import = import_device,
    .import_pointer = import_pointer,
};

static tsr_status instance_create(const be_env *env, be_instance **out) {
  return simt_instance_create(env, &dialect, out);
}
static tsr_status arch_caps(const char *arch, tsr_caps *out) { return arch_caps_of(DIALECT_CUDA, arch, out); }

static tsr_status compile(const be_env *env, const char *arch, const char *source, void **code, size_t *bytes,
                          char **log) {
  simt_code c;
  TSR_TRY(simt_compile_source(env, &dialect, arch, source, &c));
  *code = c.code;
  *bytes = c.bytes;
  *log = c.log;
  return NULL;
}

const be_vtable cuda_backend = {.abi = BE_ABI,
                                .name = "cuda",
                                .dialect = DIALECT_CUDA,
                                .instance_create = instance_create,
                                .arch_caps = arch_caps,
                                .compile = compile,
                                SIMT_VTABLE(dialect)};
