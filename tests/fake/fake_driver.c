/* tests/fake/fake_driver.c - a driver and a run-time compiler that do nothing, for tests of failures: built once as a CUDA and once as a
 * HIP library (FAKE_HIP). Each entry point counts as one step; fake_fail makes the n-th step fail with a code. fake_live tells how
 * many handles and allocations exist. Copies are done at once on the host. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FAKE_HIP
#define N(cuda, hip) hip
#else
#define N(cuda, hip) cuda
#endif
#define EXPORT __attribute__((visibility("default")))

static long steps, fail_at = -1;
static int fail_code, live, version = N(13000, 60000000), capturing, launched, arch_minor, arch_major = 9;

/* What exists, so that a reset can free what a lost device leaves behind. */
static void *handles[4096];
static int n_handles;

static void *keep(void *p) {
  if (n_handles < 4096) handles[n_handles++] = p;
  live++;
  return p;
}

/* Also frees what the last life left, as the end of its context would. */
EXPORT void fake_fail(long nth, int code) {
  steps = 0, fail_at = nth, fail_code = code;
  while (n_handles) free(handles[--n_handles]);
  live = 0;
}
EXPORT long fake_steps(void) { return steps; }
EXPORT int fake_live(void) { return live; }
EXPORT int fake_launched(void) { return launched; }
EXPORT void fake_version(int v) { version = v; }
EXPORT void fake_arch(int major, int minor) { arch_major = major, arch_minor = minor; }

static int step(void) { return steps++ == fail_at ? fail_code : 0; }
#define STEP()               \
  do {                       \
    int code_ = step();      \
    if (code_) return code_; \
  } while (0)

static int make(void **out) {
  STEP();
  *out = keep(malloc(16));
  return 0;
}
/* A release that fails leaves nothing that its caller could still do: it counts as gone. */
static int drop(void *p) {
  int code = step();
  live--;
  if (code) return code;
  for (int i = 0; i < n_handles; i++)
    if (handles[i] == p) handles[i] = handles[--n_handles];
  free(p);
  return 0;
}

EXPORT int N(cuInit, hipInit)(unsigned f) { STEP(); return 0; }
EXPORT int N(cuDriverGetVersion, hipDriverGetVersion)(int *v) { STEP(); *v = version; return 0; }
EXPORT int N(cuDeviceGetCount, hipGetDeviceCount)(int *n) { STEP(); *n = 2; return 0; }
EXPORT int N(cuDeviceGet, hipDeviceGet)(int *d, int i) { STEP(); *d = i; return 0; }
EXPORT int N(cuDeviceGetName, hipDeviceGetName)(char *s, int n, int d) { STEP(); snprintf(s, (size_t)n, "Fake device %d", d); return 0; }
EXPORT int N(cuDeviceTotalMem_v2, hipDeviceTotalMem)(size_t *n, int d) { STEP(); *n = (size_t)1 << 30; return 0; }
EXPORT int N(cuDeviceGetUuid_v2, hipDeviceGetUuid)(void *u, int d) { STEP(); memset(u, d + 1, 16); return 0; }
EXPORT int N(cuDeviceCanAccessPeer, hipDeviceCanAccessPeer)(int *can, int d, int p) { STEP(); *can = 1; return 0; }
EXPORT int N(cuDeviceGetAttribute, hipDeviceGetAttribute)(int *v, int a, int d) {
  STEP();
  *v = a == 75 ? arch_major : a == 76 ? arch_minor : a == 16 || a == 63 ? 4 : 0;
  return 0;
}
static int context;
EXPORT int N(cuDevicePrimaryCtxRetain, hipDevicePrimaryCtxRetain)(void **c, int d) { STEP(); *c = &context; live++; return 0; }
EXPORT int N(cuDevicePrimaryCtxRelease_v2, hipDevicePrimaryCtxRelease)(int d) { step(); live--; return 0; }
EXPORT int N(cuDevicePrimaryCtxReset_v2, hipDevicePrimaryCtxReset)(int d) { step(); return 0; }
EXPORT int N(cuCtxSetCurrent, hipCtxSetCurrent)(void *c) { STEP(); return 0; }
EXPORT int N(cuMemAlloc_v2, hipMalloc)(uint64_t *p, size_t n) {
  STEP();
  *p = (uint64_t)(uintptr_t)keep(calloc(1, n));
  return 0;
}
EXPORT int N(cuMemFree_v2, hipFree)(uint64_t p) { return drop((void *)(uintptr_t)p); }
EXPORT int N(cuMemHostAlloc, hipHostMalloc)(void **p, size_t n, unsigned f) { STEP(); *p = keep(calloc(1, n)); return 0; }
EXPORT int N(cuMemFreeHost, hipHostFree)(void *p) { return drop(p); }
EXPORT int N(cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync)(uint64_t to, const void *from, size_t n, void *s) { STEP(); memcpy((void *)(uintptr_t)to, from, n); return 0; }
EXPORT int N(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync)(void *to, uint64_t from, size_t n, void *s) { STEP(); memcpy(to, (void *)(uintptr_t)from, n); return 0; }
EXPORT int N(cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync)(uint64_t to, uint64_t from, size_t n, void *s) { STEP(); memmove((void *)(uintptr_t)to, (void *)(uintptr_t)from, n); return 0; }
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
EXPORT int N(cuEventRecord, hipEventRecord)(void *e, void *s) { STEP(); return 0; }
EXPORT int N(cuEventSynchronize, hipEventSynchronize)(void *e) { STEP(); return 0; }
EXPORT int N(cuEventElapsedTime, hipEventElapsedTime)(float *ms, void *a, void *b) { STEP(); *ms = 0.5f; return 0; }
EXPORT int N(cuModuleLoadData, hipModuleLoadData)(void **m, const void *image) { return make(m); }
EXPORT int N(cuModuleUnload, hipModuleUnload)(void *m) { return drop(m); }
EXPORT int N(cuModuleGetFunction, hipModuleGetFunction)(void **f, void *m, const char *name) { STEP(); *f = m; return 0; }
EXPORT int N(cuFuncGetAttribute, hipFuncGetAttribute)(int *v, int a, void *f) { STEP(); *v = a == 4 ? 32 : 0; return 0; }
EXPORT int N(cuOccupancyMaxActiveBlocksPerMultiprocessor, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)(int *n, void *f, int t, size_t s) { STEP(); *n = 2; return 0; }
EXPORT int N(cuLaunchKernel, hipModuleLaunchKernel)(void *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned h, void *s, void **p, void **x) {
  STEP();
  if (!capturing) launched++;
  return 0;
}
EXPORT int N(cuStreamBeginCapture_v2, hipStreamBeginCapture)(void *s, int mode) { STEP(); capturing = 1; return 0; }
EXPORT int N(cuStreamEndCapture, hipStreamEndCapture)(void *s, void **g) { capturing = 0; return make(g); }
EXPORT int N(cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags)(void **e, void *g, unsigned long long f) { return make(e); }
EXPORT int N(cuGraphLaunch, hipGraphLaunch)(void *e, void *s) { STEP(); launched++; return 0; }
EXPORT int N(cuGraphDestroy, hipGraphDestroy)(void *g) { return drop(g); }
EXPORT int N(cuGraphExecDestroy, hipGraphExecDestroy)(void *e) { return drop(e); }
#ifdef FAKE_HIP
EXPORT const char *hipGetErrorName(int code) { return "hipErrorFake"; }
EXPORT int hipGraphExecUpdate(void *e, void *g, void **n, int *r) { STEP(); return 0; }
EXPORT int hipDeviceEnablePeerAccess(int d, unsigned f) { return 0; }
EXPORT int hipGetDevicePropertiesR0600(void *p, int d) { STEP(); strcpy((char *)p + 200, arch_major == 9 ? "gfx942:sramecc+:xnack-" : "gfx803"); return 0; }
#else
EXPORT int cuGetErrorName(int code, const char **s) { *s = "CUDA_ERROR_FAKE"; return 0; }
EXPORT int cuGraphExecUpdate_v2(void *e, void *g, void *info) { STEP(); return 0; }
EXPORT int cuCtxEnablePeerAccess(void *c, unsigned f) { return 0; }
EXPORT int cuFuncSetAttribute(void *f, int a, int v) { STEP(); return 0; }
EXPORT int cuLaunchKernelEx(const void *c, void *f, void **p, void **x) { STEP(); launched++; return 0; }
EXPORT int cuTensorMapEncodeTiled(void *m, int t, unsigned r, void *a, const uint64_t *d, const uint64_t *s, const unsigned *b, const unsigned *e, int i, int w, int l, int f) {
  STEP();
  memset(m, 0, 128);
  return 0;
}
#endif

/* ---- NVRTC, hipRTC: the code is the source ------------------------------------------------------------------------------ */
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
    if (heavy && heavy_serialized) n += (size_t)sprintf(text + n, "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to x in function '%s'\n", name);
    n += (size_t)sprintf(text + n, "ptxas info    : Compiling entry function '%s' for 'sm_90a'\n    0 bytes stack frame, %d bytes spill stores, 0 bytes spill loads\nptxas info    : Used 168 registers\n", name, heavy ? heavy_spill : 0);
  }
  if (!n) strcpy(text, log_text);
  return text;
}
EXPORT int N(nvrtcVersion, hiprtcVersion)(int *a, int *b) { *a = 13, *b = 0; return 0; }
EXPORT int N(nvrtcCreateProgram, hiprtcCreateProgram)(void **p, const char *s, const char *n, int c, const char *const *h, const char *const *i) {
  STEP();
  program *x = malloc(sizeof *x);
  x->source = strdup(s);
  *p = x;
  live++;
  return 0;
}
EXPORT int N(nvrtcCompileProgram, hiprtcCompileProgram)(void *p, int n, const char *const *o) { STEP(); return strstr(((program *)p)->source, "#error") ? 6 : 0; }
EXPORT int N(nvrtcGetCUBINSize, hiprtcGetCodeSize)(void *p, size_t *n) { STEP(); *n = strlen(((program *)p)->source) + 1; return 0; }
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
