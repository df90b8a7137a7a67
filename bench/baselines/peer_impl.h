/* bench/baselines/peer_impl.h - what a peer's file implements, and the help it gets from peer.c.
 * A peer that computes in host memory leaves `write` and `read` NULL and finds its operands in peer_job.host. */
#ifndef BENCH_BASELINES_PEER_IMPL_H
#define BENCH_BASELINES_PEER_IMPL_H
#include "bench/baselines/peer.h"
#include "core/base/status.h"

struct peer {
  const char *name;
  tsr_status (*open)(void);           /* loads the library; called again only after a failure */
  const char *(*describe)(void);      /* called after open has succeeded */
  tsr_status (*create)(peer_job *job); /* fills in what follows the base; out_dtype may be changed */
  tsr_status (*write)(peer_job *job, int set, int operand, const void *data);
  tsr_status (*written)(peer_job *job, int set, int operand); /* host peers: the operand is in place; may be NULL */
  tsr_status (*run)(peer_job *job, int set);
  tsr_status (*wait)(peer_job *job);   /* run is asynchronous; may be NULL */
  tsr_status (*clock_start)(peer_job *job); /* may be NULL, and clock_stop with it */
  tsr_status (*clock_stop)(peer_job *job, double *us);
  void (*read)(peer_job *job, int set, void *out);
  void (*destroy)(peer_job *job); /* half-created jobs too; may be NULL */
  size_t job_size;                /* of the peer's struct, which begins with peer_job */
};

typedef struct peer_host {
  void *operand[2], *out;
} peer_host;

struct peer_job {
  const peer *peer;
  peer_desc desc; /* defaults filled in */
  peer_host *host; /* one a set; NULL for peers with `write` */
};

extern const peer peer_openblas, peer_blis, peer_onednn, peer_ggml, peer_cublaslt, peer_hipblaslt, peer_glsl, peer_fftw;

/* ---- loading --------------------------------------------------------------------------------------------------- */

typedef struct peer_symbol {
  const char *name;
  void *fn; /* address of the function pointer to set */
} peer_symbol;

/* Opens the first of `names` (NULL-terminated) that loads. TSR_UNAVAILABLE names the package that has it. */
tsr_status peer_load(const char *const *names, const char *package, void **lib);
/* TSR_UNAVAILABLE naming the first missing symbol. */
tsr_status peer_symbols(void *lib, const peer_symbol *symbols, size_t n);

/* What `probe` returns in a child process, with the environment variable set (`var` may be NULL); 0 if the child dies
 * or takes more than 20 seconds. For trying out a library without loading it here. */
double peer_probe(const char *var, const char *value, double (*probe)(void));
/* Sets environment variable `var` to the candidate (NULL-terminated list) whose `probe` reports the highest rate, the
 * earlier one where two are within 3 %. Each probe runs in a process of its own, so that the library is loaded afresh
 * and a kernel that this machine can't execute is merely no candidate. Whatever the environment said before counts for
 * nothing. Call before the library is loaded. */
void peer_force_kernels(const char *var, const char *const *candidates, double (*probe)(void));

/* TSR_UNSUPPORTED "peer: what". */
tsr_status peer_unsupported(const peer *p, const char *what);
int peer_cores(void);
double peer_now(void); /* seconds, monotonic */

/* ---- peers behind the CBLAS interface --------------------------------------------------------------------------- */

typedef void (*cblas_sgemm_fn)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                               const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*cblas_sgemv_fn)(int order, int trans, int m, int n, float alpha, const float *a, int lda, const float *x,
                               int incx, float beta, float *y, int incy);

typedef struct cblas_api {
  cblas_sgemm_fn sgemm;
  cblas_sgemv_fn sgemv;
} cblas_api;

tsr_status cblas_check(const peer_job *job);
void cblas_matmul(const cblas_api *api, const peer_job *job, int set);
/* GFLOP/s of a 512 cubed product, the best of a few: on one thread, which other load on the machine disturbs least. */
double cblas_probe(const cblas_api *api);
#endif
