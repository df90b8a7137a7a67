/* tests/fake/fake_driver.c - a driver and a run-time compiler for machines without one: built once as a CUDA and once
 * as a HIP library (FAKE_HIP). Each entry point counts as one step; fake_fail makes the n-th step fail with a code.
 * fake_live tells how many handles and allocations exist. Everything is done at once on the host; kernels are run by
 * the test's fake_runner, if there is one. Arguments that a driver refuses are refused, tensor maps above all (CUDA
 * driver API, cuTensorMapEncodeTiled). The device's clock, which events read, goes on by 10 microseconds a launch, 100
 * a copy, and what another fake library adds. */
#include "tests/fake/fake_driver.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simt/simt_rt.h"

#ifdef FAKE_HIP
#define N(cuda, hip) hip
#else
#define N(cuda, hip) cuda
#endif
#define EXPORT __attribute__((visibility("default")))

/* PARAM_BYTES: a tensor map, the largest. */
enum { INVALID = 1, N_DEVICES = 2, MAX_NODES = 128, MAX_FUNCTIONS = 32, PARAM_BYTES = 128 };
static long steps, fail_at = -1;
static int fail_code, live, version = N(13000, 60000000), launched, graph_launches, arch_minor, arch_major = 9;
static char gfx[32] = "gfx942";
static double clock_us;
EXPORT void fake_tick(double us) { clock_us += us; }
EXPORT fake_run_fn fake_runner;

/* What exists, so that a reset can free what a lost device leaves behind. */
static fake_memory kept[FAKE_MAX_BLOCKS];
static int n_kept;

static void *keep(void *p, size_t bytes) {
  if (n_kept < FAKE_MAX_BLOCKS) kept[n_kept++] = (fake_memory){p, bytes};
  live++;
  return p;
}

/* Contexts: one a device, gone with its last user; who may reach whom. */
static struct context { int device, users, reaches[N_DEVICES]; } contexts[N_DEVICES];
static struct context *current;

/* Also frees what the last life left, as the end of its context would. */
EXPORT void fake_fail(long nth, int code) {
  steps = 0, fail_at = nth, fail_code = code;
  while (n_kept) free(kept[--n_kept].p);
  live = 0;
  memset(contexts, 0, sizeof contexts);
}
/* The same without an end of anything: the n-th step from here. */
EXPORT void fake_fail_later(long nth, int code) { steps = 0, fail_at = nth, fail_code = code; }
/* Of the allocation that begins at p; 0: there is none. */
EXPORT size_t fake_bytes_at(const void *p) {
  for (int i = 0; i < n_kept; i++)
    if (kept[i].p == p) return kept[i].bytes;
  return 0;
}
EXPORT long fake_steps(void) { return steps; }
EXPORT int fake_live(void) { return live; }
EXPORT int fake_launched(void) { return launched; }
EXPORT int fake_graph_launches(void) { return graph_launches; }
EXPORT void fake_version(int v) { version = v; }
EXPORT void fake_arch(int major, int minor) { arch_major = major, arch_minor = minor; }
EXPORT void fake_gfx(const char *name) { snprintf(gfx, sizeof gfx, "%s", name); }
EXPORT int fake_reaches(int from, int to) {
  return contexts[from].users && contexts[to].users && contexts[from].reaches[to];
}
EXPORT int fake_context_users(int device) { return contexts[device].users; }

static const char *failed = "";
EXPORT const char *fake_failed(void) { return failed; } /* the call that failed last */

static int step_of(const char *call) {
  if (steps++ != fail_at) return 0;
  failed = call;
  return fail_code;
}
#define step() step_of(__func__)
#define STEP()               \
  do {                       \
    int code_ = step();      \
    if (code_) return code_; \
  } while (0)

static int make(void **out) {
  STEP();
  *out = keep(malloc(16), 0);
  return 0;
}
/* A release that fails leaves nothing that its caller could still do: it counts as gone. */
static int drop(void *p) {
  int code = step();
  live--;
  if (code) return code;
  for (int i = 0; i < n_kept; i++)
    if (kept[i].p == p) kept[i] = kept[--n_kept];
  free(p);
  return 0;
}
static int allocate(void **out, size_t bytes) {
  STEP();
  void *p = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!p) return 2;
  *out = keep(memset(p, 0, bytes), bytes);
  return 0;
}

/* ---- modules, launches, graphs ----------------------------------------------------------------------------------- */

typedef struct module module;
typedef struct function { module *m; char name[128]; int n_params, is_map[FAKE_MAX_PARAMS]; } function;
struct module { int n_functions; function functions[MAX_FUNCTIONS]; char text[]; };

/* A launch with its parameters' values, as a graph keeps it. */
typedef struct node {
  const function *f;
  unsigned grid[3], block[3], cluster[3], shared;
  unsigned char bytes[FAKE_MAX_PARAMS * PARAM_BYTES] __attribute__((aligned(64)));
} node;
typedef struct graph { int n; node nodes[] __attribute__((aligned(64))); } graph;
static node captured[MAX_NODES];
static int n_captured, capturing;

/* The parameters of "KERNEL(384) name(const bf16 *a, const GRID_CONSTANT tensor_map map0)": which of them are tensor
 * maps. */
static void scan_signature(function *f) {
  char head[160];
  snprintf(head, sizeof head, " %s(", f->name);
  const char *p = strstr(f->m->text, head), *end = p ? strchr(p, ')') : NULL;
  for (p = p ? p + strlen(head) : NULL; p && p < end && f->n_params < FAKE_MAX_PARAMS; f->n_params++) {
    const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end, *map = strstr(p, "tensor_map");
    f->is_map[f->n_params] = map && map < stop;
    p = comma ? comma + 1 : end;
  }
}

static int run_node(const node *n) {
  void *params[FAKE_MAX_PARAMS];
  fake_launch l = {.text = n->f->m->text,
                   .kernel = n->f->name,
                   .shared = n->shared,
                   .params = params,
                   .n_params = n->f->n_params,
                   .device = current ? current->device : 0,
                   .memory = kept,
                   .n_memory = n_kept};
  const unsigned char *at = n->bytes;
  launched++;
  clock_us += 10;
  for (int i = 0; i < n->f->n_params; at += PARAM_BYTES) params[i++] = (void *)(uintptr_t)at;
  for (int i = 0; i < 3; i++) l.grid[i] = n->grid[i], l.block[i] = n->block[i], l.cluster[i] = n->cluster[i];
  return fake_runner ? fake_runner(&l) : 0;
}

static int launch(const function *f, const unsigned grid[3], const unsigned block[3], const unsigned cluster[3],
                  unsigned shared, void **params) {
  node one = {.f = f, .shared = shared}, *n = capturing ? &captured[n_captured] : &one;
  STEP();
  if (!grid[0] || !grid[1] || !grid[2] || block[0] * block[1] * block[2] > 1024) return INVALID;
  if (capturing && n_captured++ == MAX_NODES - 1) return 2;
  *n = one;
  for (int i = 0; i < 3; i++) n->grid[i] = grid[i], n->block[i] = block[i], n->cluster[i] = cluster[i];
  for (int i = 0; i < f->n_params; i++) memcpy(n->bytes + i * PARAM_BYTES, params[i], f->is_map[i] ? PARAM_BYTES : 8);
  return capturing ? 0 : run_node(n);
}

static int copy_graph(const node *nodes, int n, void **out) {
  STEP();
  graph *g = aligned_alloc(64, sizeof *g + sizeof *nodes * (size_t)n);
  if (!g) return 2;
  g->n = n;
  memcpy(g->nodes, nodes, sizeof *nodes * (size_t)n);
  *out = keep(g, 0);
  return 0;
}

/* In place, as long as the functions stay the same. */
static int update_graph(graph *exec, const graph *g) {
  STEP();
  if (exec->n != g->n) return INVALID;
  for (int i = 0; i < g->n; i++)
    if (exec->nodes[i].f != g->nodes[i].f) return INVALID;
  memcpy(exec->nodes, g->nodes, sizeof *g->nodes * (size_t)g->n);
  return 0;
}

EXPORT int N(cuInit, hipInit)(unsigned f) { STEP(); return 0; }
EXPORT int N(cuDriverGetVersion, hipDriverGetVersion)(int *v) { STEP(); *v = version; return 0; }
EXPORT int N(cuDeviceGetCount, hipGetDeviceCount)(int *n) { STEP(); *n = N_DEVICES; return 0; }
EXPORT int N(cuDeviceGet, hipDeviceGet)(int *d, int i) { STEP(); *d = i; return 0; }
EXPORT int N(cuDeviceGetName, hipDeviceGetName)(char *s, int n, int d) {
  STEP();
  snprintf(s, (size_t)n, "Fake device %d", d);
  return 0;
}
EXPORT int N(cuDeviceTotalMem_v2, hipDeviceTotalMem)(size_t *n, int d) { STEP(); *n = (size_t)1 << 30; return 0; }
EXPORT int N(cuDeviceGetUuid_v2, hipDeviceGetUuid)(void *u, int d) { STEP(); memset(u, d + 1, 16); return 0; }
EXPORT int N(cuDeviceCanAccessPeer, hipDeviceCanAccessPeer)(int *can, int d, int p) { STEP(); *can = 1; return 0; }
EXPORT int N(cuDeviceGetAttribute, hipDeviceGetAttribute)(int *v, int a, int d) {
  STEP();
  *v = a == 75 ? arch_major : a == 76 ? arch_minor : a == 16 || a == 63 ? 4 : 0;
  return 0;
}
EXPORT int N(cuDevicePrimaryCtxRetain, hipDevicePrimaryCtxRetain)(void **c, int d) {
  STEP();
  contexts[d].device = d;
  contexts[d].users++;
  *c = &contexts[d];
  live++;
  return 0;
}
EXPORT int N(cuDevicePrimaryCtxRelease_v2, hipDevicePrimaryCtxRelease)(int d) {
  step();
  live--;
  if (--contexts[d].users) return 0;
  memset(contexts[d].reaches, 0, sizeof contexts[d].reaches);
  for (int i = 0; i < N_DEVICES; i++) contexts[i].reaches[d] = 0;
  return 0;
}
EXPORT int N(cuDevicePrimaryCtxReset_v2, hipDevicePrimaryCtxReset)(int d) { step(); return 0; }
EXPORT int N(cuCtxSetCurrent, hipCtxSetCurrent)(void *c) {
  STEP();
  current = c >= (void *)contexts && c < (void *)(contexts + N_DEVICES) ? c : NULL; /* else an application's own */
  return 0;
}
EXPORT int N(cuMemAlloc_v2, hipMalloc)(uint64_t *p, size_t n) {
  void *q;
  int code = allocate(&q, n);
  if (!code) *p = (uint64_t)(uintptr_t)q;
  return code;
}
EXPORT int N(cuMemFree_v2, hipFree)(uint64_t p) { return drop((void *)(uintptr_t)p); }
EXPORT int N(cuMemHostAlloc, hipHostMalloc)(void **p, size_t n, unsigned f) { return allocate(p, n); }
EXPORT int N(cuMemFreeHost, hipHostFree)(void *p) { return drop(p); }
EXPORT int N(cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync)(uint64_t to, const void *from, size_t n, void *s) {
  STEP();
  clock_us += 100;
  memcpy((void *)(uintptr_t)to, from, n);
  return 0;
}
EXPORT int N(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync)(void *to, uint64_t from, size_t n, void *s) {
  STEP();
  clock_us += 100;
  memcpy(to, (void *)(uintptr_t)from, n);
  return 0;
}
EXPORT int N(cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync)(uint64_t to, uint64_t from, size_t n, void *s) {
  STEP();
  clock_us += 100;
  memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, n);
  return 0;
}
EXPORT int N(cuMemcpyHtoD_v2, hipMemcpyHtoD)(uint64_t to, const void *from, size_t n) {
  STEP();
  memcpy((void *)(uintptr_t)to, from, n);
  return 0;
}
EXPORT int N(cuMemcpyDtoH_v2, hipMemcpyDtoH)(void *to, uint64_t from, size_t n) {
  STEP();
  memcpy(to, (void *)(uintptr_t)from, n);
  return 0;
}
EXPORT int N(cuCtxSynchronize, hipDeviceSynchronize)(void) { STEP(); return 0; }
EXPORT int N(cuMemsetD32Async, hipMemsetD32Async)(uint64_t p, int v, size_t n, void *s) {
  STEP();
  for (size_t i = 0; i < n; i++) ((int *)(uintptr_t)p)[i] = v;
  return 0;
}
EXPORT int N(cuStreamCreateWithPriority, hipStreamCreateWithPriority)(void **s, unsigned f, int p) { return make(s); }
EXPORT int N(cuStreamDestroy_v2, hipStreamDestroy)(void *s) { return drop(s); }
EXPORT int N(cuStreamSynchronize, hipStreamSynchronize)(void *s) { STEP(); return 0; }
EXPORT int N(cuStreamQuery, hipStreamQuery)(void *s) { STEP(); return 0; }
EXPORT int N(cuStreamWaitEvent, hipStreamWaitEvent)(void *s, void *e, unsigned f) { STEP(); return 0; }
EXPORT int N(cuEventCreate, hipEventCreateWithFlags)(void **e, unsigned f) { return make(e); }
EXPORT int N(cuEventDestroy_v2, hipEventDestroy)(void *e) { return drop(e); }
EXPORT int N(cuEventRecord, hipEventRecord)(void *e, void *s) { STEP(); *(double *)e = clock_us; return 0; }
EXPORT int N(cuEventSynchronize, hipEventSynchronize)(void *e) { STEP(); return 0; }
EXPORT int N(cuEventElapsedTime, hipEventElapsedTime)(float *ms, void *a, void *b) {
  STEP();
  *ms = (float)((*(double *)b - *(double *)a) / 1e3);
  return 0;
}
EXPORT int N(cuModuleLoadData, hipModuleLoadData)(void **out, const void *image) {
  STEP();
  size_t n = strlen(image) + 1;
  module *m = calloc(1, sizeof *m + n);
  if (!m) return 2;
  memcpy(m->text, image, n);
  *out = keep(m, 0);
  return 0;
}
EXPORT int N(cuModuleUnload, hipModuleUnload)(void *m) { return drop(m); }
EXPORT int N(cuModuleGetFunction, hipModuleGetFunction)(void **f, void *m, const char *name) {
  STEP();
  module *in = m;
  if (in->n_functions == MAX_FUNCTIONS) return 2;
  function *x = &in->functions[in->n_functions++];
  x->m = in;
  snprintf(x->name, sizeof x->name, "%s", name);
  scan_signature(x);
  *f = x;
  return 0;
}
EXPORT int N(cuFuncGetAttribute, hipFuncGetAttribute)(int *v, int a, void *f) {
  STEP();
  *v = a == 4 ? 32 : 0;
  return 0;
}
EXPORT int N(cuOccupancyMaxActiveBlocksPerMultiprocessor,
             hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)(int *n, void *f, int t, size_t s) {
  STEP();
  *n = 2;
  return 0;
}
EXPORT int N(cuLaunchKernel, hipModuleLaunchKernel)(void *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                                                    unsigned g, unsigned h, void *s, void **p, void **x) {
  return launch(f, (unsigned[]){a, b, c}, (unsigned[]){d, e, g}, (unsigned[]){1, 1, 1}, h, p);
}
EXPORT int N(cuStreamBeginCapture_v2, hipStreamBeginCapture)(void *s, int mode) {
  STEP();
  capturing = 1, n_captured = 0;
  return 0;
}
EXPORT int N(cuStreamEndCapture, hipStreamEndCapture)(void *s, void **g) {
  capturing = 0;
  return copy_graph(captured, n_captured, g);
}
EXPORT int N(cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags)(void **e, void *g, unsigned long long f) {
  return copy_graph(((graph *)g)->nodes, ((graph *)g)->n, e);
}
EXPORT int N(cuGraphLaunch, hipGraphLaunch)(void *e, void *s) {
  STEP();
  graph_launches++;
  for (int i = 0, code; i < ((graph *)e)->n; i++)
    if ((code = run_node(&((graph *)e)->nodes[i]))) return code;
  return 0;
}
EXPORT int N(cuGraphDestroy, hipGraphDestroy)(void *g) { return drop(g); }
EXPORT int N(cuGraphExecDestroy, hipGraphExecDestroy)(void *e) { return drop(e); }
#ifdef FAKE_HIP
EXPORT const char *hipGetErrorName(int code) { return "hipErrorFake"; }
EXPORT int hipGraphExecUpdate(void *e, void *g, void **n, int *r) { return update_graph(e, g); }
EXPORT int hipDeviceEnablePeerAccess(int d, unsigned f) {
  STEP();
  if (!current) return INVALID;
  if (current->reaches[d]) return 704; /* already enabled */
  current->reaches[d] = 1;
  return 0;
}
EXPORT int hipGetDevicePropertiesR0600(void *p, int d) {
  STEP();
  snprintf((char *)p + 200, 64, "%s:sramecc+:xnack-", gfx);
  return 0;
}
#else
EXPORT int cuGetErrorName(int code, const char **s) { *s = "CUDA_ERROR_FAKE"; return 0; }
EXPORT int cuGraphExecUpdate_v2(void *e, void *g, void *info) { return update_graph(e, g); }
EXPORT int cuCtxEnablePeerAccess(void *c, unsigned f) {
  STEP();
  struct context *to = c;
  if (!current || to == current || !to->users) return INVALID;
  if (current->reaches[to->device]) return 704; /* already enabled */
  current->reaches[to->device] = 1;
  return 0;
}
EXPORT int cuStreamCreate(void **s, unsigned f) { return make(s); }
EXPORT int cuFuncSetAttribute(void *f, int a, int v) { STEP(); return 0; }
typedef struct launch_config { /* CUlaunchConfig, CUlaunchAttribute */
  unsigned grid[3], block[3], shared;
  void *stream;
  const struct {
    int id;
    char pad[4];
    union {
      char bytes[64];
      unsigned cluster[3];
      void *aligned;
    } value;
  } * attributes;
  unsigned n_attributes;
} launch_config;
EXPORT int cuLaunchKernelEx(const launch_config *c, void *f, void **p, void **x) {
  unsigned cluster[3] = {1, 1, 1};
  for (unsigned i = 0; i < c->n_attributes; i++) {
    if (c->attributes[i].id != 4) return INVALID; /* cluster dimension */
    memcpy(cluster, c->attributes[i].value.cluster, sizeof cluster);
  }
  for (int i = 0; i < 3; i++)
    if (!cluster[i] || c->grid[i] % cluster[i]) return INVALID;
  return launch(f, c->grid, c->block, cluster, c->shared, p);
}
EXPORT int cuTensorMapEncodeTiled(void *out, int type, unsigned rank, void *address, const uint64_t *dims,
                                  const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                                  int swizzle, int l2, int fill) {
  static const int bytes_of[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}, spans[] = {0, 32, 64, 128};
  STEP();
  if (type < 0 || type > 12 || rank < 1 || rank > 5 || interleave || swizzle < 0 || swizzle > 3 || l2 < 0 || l2 > 3 ||
      fill || (uintptr_t)out % 64 || (uintptr_t)address % 16)
    return INVALID;
  int size = bytes_of[type];
  emu_tensor_map m = {.base = address, .rank = (int32_t)rank, .swizzle = spans[swizzle], .elem_bytes = (int16_t)size};
  for (unsigned i = 0; i < rank; i++) {
    if (!dims[i] || dims[i] > 1ull << 32 || !box[i] || box[i] > 256 || steps[i] != 1) return INVALID;
    if (i && (!strides[i - 1] || strides[i - 1] % 16 || strides[i - 1] >> 40)) return INVALID;
    m.dims[i] = (int64_t)dims[i];
    m.box[i] = (int16_t)box[i];
    m.strides[i] = i ? (int64_t)strides[i - 1] : size;
  }
  if (box[0] * (unsigned)size % 16 || (swizzle && box[0] * (unsigned)size > (unsigned)spans[swizzle])) return INVALID;
  memcpy(memset(out, 0, 128), &m, sizeof m);
  return 0;
}
#endif

/* ---- NVRTC, hipRTC: the code is the source ----------------------------------------------------------------------- */
typedef struct program { char *source; } program;
static const char log_text[] = "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
                               "ptxas info    : Function properties for first\n"
                               "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads\n"
                               "ptxas info    : Used 168 registers, used 3 barriers\n"
                               "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x in function 'second'\n"
                               "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
                               "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                               "ptxas info    : Used 40 registers, 2048 bytes smem\n";
/* Each kernel of a source with these words in it spills, or has its wgmma serialized. "" = no source. */
static char heavy_words[64];
static int heavy_spill, heavy_serialized;
EXPORT void fake_heavy(const char *words, int spill_bytes, int serialized) {
  snprintf(heavy_words, sizeof heavy_words, "%s", words);
  heavy_spill = spill_bytes, heavy_serialized = serialized;
}
/* The log of a source: of each kernel in it if it is a text of the library's, else the one above. */
static char *log_of(const char *source) {
  size_t cap = sizeof log_text + strlen(source) + 65536, n = 0;
  char *text = malloc(cap), name[256];
  int heavy = heavy_words[0] && strstr(source, heavy_words);
  text[0] = 0;
  for (const char *p = source; (p = strstr(p, "\nKERNEL(")); p++) {
    if (sscanf(p, "\nKERNEL(%*d) %255[A-Za-z0-9_]", name) != 1 || n + 1024 > cap) continue;
    if (heavy && heavy_serialized)
      n += (size_t)sprintf(text + n,
                           "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
                           "serialized due to x in function '%s'\n",
                           name);
    n += (size_t)sprintf(text + n,
                         "ptxas info    : Compiling entry function '%s' for 'sm_90a'\n    0 bytes stack frame, %d "
                         "bytes spill stores, 0 bytes spill loads\nptxas info    : Used 168 registers\n",
                         name, heavy ? heavy_spill : 0);
  }
  if (!n) strcpy(text, log_text);
  return text;
}
EXPORT int N(nvrtcVersion, hiprtcVersion)(int *a, int *b) { *a = 13, *b = 0; return 0; }
EXPORT int N(nvrtcCreateProgram, hiprtcCreateProgram)(void **p, const char *s, const char *n, int c,
                                                      const char *const *h, const char *const *i) {
  STEP();
  program *x = malloc(sizeof *x);
  x->source = strdup(s);
  *p = x;
  live++;
  return 0;
}
EXPORT int N(nvrtcCompileProgram, hiprtcCompileProgram)(void *p, int n, const char *const *o) {
  STEP();
  return strstr(((program *)p)->source, "#error") ? 6 : 0;
}
EXPORT int N(nvrtcGetCUBINSize, hiprtcGetCodeSize)(void *p, size_t *n) {
  STEP();
  *n = strlen(((program *)p)->source) + 1;
  return 0;
}
EXPORT int N(nvrtcGetCUBIN, hiprtcGetCode)(void *p, char *s) { STEP(); strcpy(s, ((program *)p)->source); return 0; }
EXPORT int N(nvrtcGetProgramLogSize, hiprtcGetProgramLogSize)(void *p, size_t *n) {
  STEP();
  char *text = log_of(((program *)p)->source);
  *n = strlen(text) + 1;
  free(text);
  return 0;
}
EXPORT int N(nvrtcGetProgramLog, hiprtcGetProgramLog)(void *p, char *s) {
  STEP();
  char *text = log_of(((program *)p)->source);
  strcpy(s, text);
  free(text);
  return 0;
}
EXPORT int N(nvrtcDestroyProgram, hiprtcDestroyProgram)(void **p) {
  free(((program *)*p)->source);
  free(*p);
  *p = NULL;
  live--;
  return 0;
}
