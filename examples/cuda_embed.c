/* examples/cuda_embed.c - tessera inside a CUDA application: the application owns the context, the stream and the
 * memory; the library computes relu(A x B) on them without a copy. Nothing of CUDA is linked: the example, too, finds
 * the driver at run time. Exit status 77: no CUDA driver or device here. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tessera/cuda.h>
#include <tessera/tessera.h>

static void check(tsr_status s) {
  if (!s) return;
  fprintf(stderr, "%s\n", tsr_status_message(s));
  exit(1);
}
static void check_cuda(int code, const char *what) {
  if (!code) return;
  fprintf(stderr, "%s: CUDA error %d\n", what, code);
  exit(1);
}

/* The application's own side: six driver calls. */
static int (*cuInit)(unsigned), (*cuDeviceGet)(int *, int), (*cuMemAlloc)(uint64_t *, size_t),
    (*cuStreamCreate)(void **, unsigned);
static int (*cuDevicePrimaryCtxRetain)(void **, int), (*cuCtxSetCurrent)(void *),
    (*cuMemcpyHtoDAsync)(uint64_t, const void *, size_t, void *);
static int (*cuMemcpyDtoHAsync)(void *, uint64_t, size_t, void *), (*cuStreamSynchronize)(void *),
    (*cuMemFree)(uint64_t);

static int load_driver(void) {
  void *lib = dlopen(getenv("TSR_LIBCUDA") ? getenv("TSR_LIBCUDA") : "libcuda.so.1", RTLD_NOW);
  struct {
    const char *name;
    void *to;
  } calls[] = {{"cuInit", &cuInit},
               {"cuDeviceGet", &cuDeviceGet},
               {"cuMemAlloc_v2", &cuMemAlloc},
               {"cuStreamCreate", &cuStreamCreate},
               {"cuDevicePrimaryCtxRetain", &cuDevicePrimaryCtxRetain},
               {"cuCtxSetCurrent", &cuCtxSetCurrent},
               {"cuMemcpyHtoDAsync_v2", &cuMemcpyHtoDAsync},
               {"cuMemcpyDtoHAsync_v2", &cuMemcpyDtoHAsync},
               {"cuStreamSynchronize", &cuStreamSynchronize},
               {"cuMemFree_v2", &cuMemFree}};
  for (size_t i = 0; lib && i < sizeof calls / sizeof *calls; i++)
    if (!(*(void **)calls[i].to = dlsym(lib, calls[i].name))) return 0;
  return lib != NULL;
}

int main(void) {
  enum { N = 256 };
  int device;
  void *cu_context, *stream;
  uint64_t a = 0, b = 0, c = 0;
  if (!load_driver() || cuInit(0)) return puts("no CUDA driver here"), 77;
  check_cuda(cuDeviceGet(&device, 0), "device");
  check_cuda(cuDevicePrimaryCtxRetain(&cu_context, device), "context");
  check_cuda(cuCtxSetCurrent(cu_context), "context");
  check_cuda(cuStreamCreate(&stream, 0), "stream");
  size_t bytes = sizeof(float) * N * N;
  float *host = malloc(bytes), *result = malloc(bytes);
  for (int i = 0; i < N * N; i++) host[i] = (float)((i * 37) % 17 - 8) / 8;
  check_cuda(cuMemAlloc(&a, bytes) || cuMemAlloc(&b, bytes) || cuMemAlloc(&c, bytes), "memory");
  check_cuda(cuMemcpyHtoDAsync(a, host, bytes, stream) || cuMemcpyHtoDAsync(b, host, bytes, stream), "copy");

  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_buffer *in[2], *out;
  tsr_value x, y, v;
  check(tsr_context_create(NULL, &ctx));
  check(tsr_device_import(ctx, "cuda", &(tsr_cuda_import){.device = device, .context = cu_context, .stream = stream},
                          &dev));
  check(tsr_buffer_import(dev, &(tsr_cuda_pointer){a}, bytes, &in[0]));
  check(tsr_buffer_import(dev, &(tsr_cuda_pointer){b}, bytes, &in[1]));
  check(tsr_buffer_import(dev, &(tsr_cuda_pointer){c}, bytes, &out));
  check(tsr_graph_create(ctx, "main", &g));
  check(tsr_graph_input(g, "A", TSR_F32, (tsr_shape){2, {N, N}}, &x));
  check(tsr_graph_input(g, "B", TSR_F32, (tsr_shape){2, {N, N}}, &y));
  check(tsr_graph_op(g, "matmul", (tsr_value[]){x, y}, 2, NULL, 0, &v));
  check(tsr_graph_op(g, "relu", &v, 1, NULL, 0, &v));
  check(tsr_graph_output(g, v));
  check(tsr_program_compile(dev, g, NULL, &p));
  check(tsr_program_run(p, NULL, (tsr_binding[]){{in[0], 0}, {in[1], 0}}, &(tsr_binding){out, 0}));

  /* The application goes on with its own stream: the library's work is in order with it. */
  check_cuda(cuMemcpyDtoHAsync(result, c, bytes, stream), "copy");
  check_cuda(cuStreamSynchronize(stream), "wait");
  double worst = 0;
  for (int i = 0; i < N; i++) {
    double sum = 0;
    for (int k = 0; k < N; k++) sum += (double)host[i * N + k] * host[k * N + i];
    double d = fabs((sum > 0 ? sum : 0) - result[i * N + i]);
    if (d > worst) worst = d;
  }
  printf("largest error on the diagonal: %g\n", worst);

  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_buffer_destroy(&out);
  tsr_buffer_destroy(&in[1]);
  tsr_buffer_destroy(&in[0]);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  cuMemFree(a), cuMemFree(b), cuMemFree(c);
  free(host);
  free(result);
  return worst > 1e-3;
}
