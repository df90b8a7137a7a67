/* OpenBLAS and BLIS through cblas_sgemm, oneDNN through its C interface (oneapi-src/oneDNN, include/oneapi/dnnl/dnnl.h, 3.x). */
#include "bench/kernels/peers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct peer_matmul {
  size_t m, n, k;
  bool b_trans;
  void *prim, *mem_a, *mem_b, *mem_c, *packed_b, *raw_b;
};

/* ---- BLAS ---- */

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta,
                      float *c, int ldc);
static sgemm_fn *openblas_sgemm, *blis_sgemm;

static peer_matmul *blas_prepare(cpuk_gemm_kind kind, size_t m, size_t n, size_t k, bool prepack, bool b_trans) {
  if (kind != CPUK_GEMM_F32 || prepack) return NULL;
  peer_matmul *op = calloc(1, sizeof *op);
  if (op != NULL) op->m = m, op->n = n, op->k = k, op->b_trans = b_trans;
  return op;
}
static void blas_run(sgemm_fn *f, peer_matmul *op, const void *a, const void *b, void *c) {
  f(101, 111, op->b_trans ? 112 : 111, (int)op->m, (int)op->n, (int)op->k, 1, a, (int)op->k, b, (int)(op->b_trans ? op->k : op->n), 0, c, (int)op->n);
}
static void openblas_run(peer_matmul *op, const void *a, const void *b, void *c) { blas_run(openblas_sgemm, op, a, b, c); }
static void blis_run(peer_matmul *op, const void *a, const void *b, void *c) { blas_run(blis_sgemm, op, a, b, c); }
static void blas_free(peer_matmul *op) { free(op); }

/* ---- oneDNN ---- */

enum { DNNL_F32 = 3, DNNL_BF16 = 2, DNNL_S32 = 4, DNNL_S8 = 5, DNNL_U8 = 6, DNNL_ANY = 1, DNNL_AB = 3, DNNL_BA = 14, DNNL_CPU = 1 };
enum { ARG_SRC = 1, ARG_DST = 17, ARG_WEIGHTS = 33, ARG_FROM = 1, ARG_TO = 17, QUERY_WEIGHTS = 131 };
typedef struct dnnl_exec_arg {
  int arg;
  void *memory;
} dnnl_exec_arg;
#define DNNL_API(X)                                                                                   \
  X(engine_create, int, (void **, int, size_t))                                                       \
  X(stream_create, int, (void **, void *, unsigned))                                                  \
  X(stream_wait, int, (void *))                                                                       \
  X(memory_desc_create_with_tag, int, (void **, int, const int64_t *, int, int))                      \
  X(memory_desc_destroy, int, (void *))                                                               \
  X(memory_desc_get_size, size_t, (const void *))                                                     \
  X(matmul_primitive_desc_create, int, (void **, void *, const void *, const void *, const void *, const void *, const void *)) \
  X(reorder_primitive_desc_create, int, (void **, const void *, void *, const void *, void *, const void *)) \
  X(primitive_desc_query_md, const void *, (const void *, int, int))                                  \
  X(primitive_desc_destroy, int, (void *))                                                            \
  X(primitive_create, int, (void **, const void *))                                                   \
  X(primitive_execute, int, (const void *, void *, int, const dnnl_exec_arg *))                       \
  X(primitive_destroy, int, (void *))                                                                 \
  X(memory_get_memory_desc, int, (const void *, const void **))                                       \
  X(memory_create, int, (void **, const void *, void *, void *))                                      \
  X(memory_set_data_handle, int, (void *, void *))                                                    \
  X(memory_destroy, int, (void *))
#define DECLARE(name, ret, args) static ret(*dnnl_##name) args;
DNNL_API(DECLARE)
static void *dnnl_engine, *dnnl_stream;

static bool dnnl_load(void) {
  void *so = NULL;
  const char *names[] = {"libdnnl.so.3", "libdnnl.so.3.7", "libdnnl.so.3.6"};
  for (size_t i = 0; so == NULL && i < sizeof names / sizeof *names; i++) so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (so == NULL) return false;
#define LOAD(name, ret, args) \
  *(void **)&dnnl_##name = dlsym(so, "dnnl_" #name); \
  if (dnnl_##name == NULL) return false;
  DNNL_API(LOAD)
  return dnnl_engine_create(&dnnl_engine, DNNL_CPU, 0) == 0 && dnnl_stream_create(&dnnl_stream, dnnl_engine, 1) == 0;
}

static void dnnl_free(peer_matmul *op) {
  if (op->prim != NULL) dnnl_primitive_destroy(op->prim);
  if (op->mem_a != NULL) dnnl_memory_destroy(op->mem_a);
  if (op->mem_b != NULL) dnnl_memory_destroy(op->mem_b);
  if (op->mem_c != NULL) dnnl_memory_destroy(op->mem_c);
  if (op->raw_b != NULL) dnnl_memory_destroy(op->raw_b);
  free(op->packed_b);
  free(op);
}
static peer_matmul *dnnl_prepare(cpuk_gemm_kind kind, size_t m, size_t n, size_t k, bool prepack, bool b_trans) {
  static const int types[CPUK_N_GEMM][3] = {[CPUK_GEMM_F32] = {DNNL_F32, DNNL_F32, DNNL_F32}, [CPUK_GEMM_BF16] = {DNNL_BF16, DNNL_BF16, DNNL_F32},
                                            [CPUK_GEMM_S8S8] = {DNNL_S8, DNNL_S8, DNNL_S32}, [CPUK_GEMM_U8S8] = {DNNL_U8, DNNL_S8, DNNL_S32}};
  const int *t = types[kind], plain = b_trans ? DNNL_BA : DNNL_AB;
  int64_t a[2] = {(int64_t)m, (int64_t)k}, b[2] = {(int64_t)k, (int64_t)n}, c[2] = {(int64_t)m, (int64_t)n};
  void *ma, *mb, *mb_plain, *mc, *pd = NULL;
  peer_matmul *op = calloc(1, sizeof *op);
  if (op == NULL || t[0] == 0) return free(op), NULL;
  dnnl_memory_desc_create_with_tag(&ma, 2, a, t[0], DNNL_AB);
  dnnl_memory_desc_create_with_tag(&mb, 2, b, t[1], prepack ? DNNL_ANY : plain);
  dnnl_memory_desc_create_with_tag(&mb_plain, 2, b, t[1], plain);
  dnnl_memory_desc_create_with_tag(&mc, 2, c, t[2], DNNL_AB);
  if (dnnl_matmul_primitive_desc_create(&pd, dnnl_engine, ma, mb, NULL, mc, NULL) == 0 && dnnl_primitive_create(&op->prim, pd) == 0) {
    const void *md = dnnl_primitive_desc_query_md(pd, QUERY_WEIGHTS, 0);
    op->packed_b = aligned_alloc(64, (dnnl_memory_desc_get_size(md) + 127) / 64 * 64);
    dnnl_memory_create(&op->mem_a, ma, dnnl_engine, NULL);
    dnnl_memory_create(&op->mem_b, md, dnnl_engine, NULL);
    dnnl_memory_create(&op->mem_c, mc, dnnl_engine, NULL);
    dnnl_memory_create(&op->raw_b, mb_plain, dnnl_engine, NULL);
  }
  if (pd != NULL) dnnl_primitive_desc_destroy(pd);
  dnnl_memory_desc_destroy(ma), dnnl_memory_desc_destroy(mb), dnnl_memory_desc_destroy(mb_plain), dnnl_memory_desc_destroy(mc);
  if (op->prim == NULL) return dnnl_free(op), NULL;
  return op;
}
static void dnnl_run(peer_matmul *op, const void *a, const void *b, void *c) {
  dnnl_memory_set_data_handle(op->mem_a, (void *)a);
  dnnl_memory_set_data_handle(op->mem_b, (void *)b);
  dnnl_memory_set_data_handle(op->mem_c, c);
  dnnl_exec_arg args[] = {{ARG_SRC, op->mem_a}, {ARG_WEIGHTS, op->mem_b}, {ARG_DST, op->mem_c}};
  dnnl_primitive_execute(op->prim, dnnl_stream, 3, args);
  dnnl_stream_wait(dnnl_stream);
}
static const void *dnnl_md_of(const void *memory) {
  const void *md = NULL;
  dnnl_memory_get_memory_desc(memory, &md);
  return md;
}
static const void *dnnl_pack(peer_matmul *op, const void *b) {
  void *pd = NULL, *prim = NULL;
  dnnl_memory_set_data_handle(op->raw_b, (void *)b);
  dnnl_memory_set_data_handle(op->mem_b, op->packed_b);
  if (dnnl_reorder_primitive_desc_create(&pd, dnnl_md_of(op->raw_b), dnnl_engine, dnnl_md_of(op->mem_b), dnnl_engine, NULL) == 0 &&
      dnnl_primitive_create(&prim, pd) == 0) {
    dnnl_exec_arg args[] = {{ARG_FROM, op->raw_b}, {ARG_TO, op->mem_b}};
    dnnl_primitive_execute(prim, dnnl_stream, 2, args);
    dnnl_stream_wait(dnnl_stream);
    dnnl_primitive_destroy(prim);
  }
  if (pd != NULL) dnnl_primitive_desc_destroy(pd);
  return op->packed_b;
}

int peers_open(peer out[3], unsigned n_threads) {
  int n = 0;
  char threads[8];
  snprintf(threads, sizeof threads, "%u", n_threads);
  setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  setenv("BLIS_ARCH_TYPE", "skx", 0);
  setenv("OPENBLAS_NUM_THREADS", threads, 0);
  setenv("BLIS_NUM_THREADS", threads, 0);
  setenv("OMP_NUM_THREADS", threads, 0);
  void *so = dlopen("/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (so == NULL) so = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (so != NULL) *(void **)&openblas_sgemm = dlsym(so, "cblas_sgemm");
  if (openblas_sgemm != NULL) out[n++] = (peer){"openblas", blas_prepare, openblas_run, NULL, blas_free};
  so = dlopen("/usr/lib/x86_64-linux-gnu/blis-pthread/libblis.so.4", RTLD_NOW | RTLD_LOCAL);
  if (so == NULL) so = dlopen("libblis.so.4", RTLD_NOW | RTLD_LOCAL);
  if (so != NULL) *(void **)&blis_sgemm = dlsym(so, "cblas_sgemm");
  if (blis_sgemm != NULL) out[n++] = (peer){"blis", blas_prepare, blis_run, NULL, blas_free};
  if (dnnl_load()) out[n++] = (peer){"onednn", dnnl_prepare, dnnl_run, dnnl_pack, dnnl_free};
  return n;
}
