/* bench/baselines/fftw.c - FFTW: transforms along the last axis, or of two dimensions, by plans that it measured. */
#include "bench/baselines/peer_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORWARD = -1, BACKWARD = 1, MEASURE = 0 };
typedef void *(*plan_fn)(int rank, const int *n, int howmany, void *in, const int *inembed, int istride, int idist,
                         void *out, const int *onembed, int ostride, int odist, int sign, unsigned flags);

/* Single and double precision are two libraries. */
typedef struct fftw_api {
  void *lib;
  plan_fn plan;
  void (*execute)(const void *plan), (*destroy)(void *plan);
  int (*init_threads)(void);
  void (*with_threads)(int n);
  const char *version;
} fftw_api;

typedef struct fftw_job {
  peer_job base;
  const fftw_api *api;
  void **plans;
} fftw_job;

static fftw_api apis[2];

static tsr_status load(fftw_api *a, const char *const *names, const char *package, const char *prefix) {
  static const char *const functions[] = {"plan_many_dft", "execute", "destroy_plan", "init_threads",
                                          "plan_with_nthreads", "version"};
  char full[6][48];
  void *const to[6] = {&a->plan, &a->execute, &a->destroy, &a->init_threads, &a->with_threads, &a->version};
  peer_symbol symbols[6];
  if (a->lib) return NULL;
  for (int i = 0; i < 6; i++) {
    snprintf(full[i], sizeof full[i], "%s_%s", prefix, functions[i]);
    symbols[i] = (peer_symbol){full[i], to[i]};
  }
  TSR_TRY(peer_load(names, package, &a->lib));
  tsr_status st = peer_symbols(a->lib, symbols, 6);
  if (!st) a->init_threads();
  else a->lib = NULL;
  return st;
}

static tsr_status open_both(void) {
  TSR_TRY(load(&apis[0], (const char *const[]){"libfftw3f_threads.so.3", NULL}, "libfftw3-single3", "fftwf"));
  return load(&apis[1], (const char *const[]){"libfftw3_threads.so.3", NULL}, "libfftw3-double3", "fftw");
}

static const char *describe(void) { return apis[0].version; }

static void destroy(peer_job *job) {
  fftw_job *j = (fftw_job *)job;
  for (int i = 0; j->plans && i < job->desc.n_sets; i++)
    if (j->plans[i]) j->api->destroy(j->plans[i]);
  free(j->plans);
}

/* Measuring writes to the arrays: operands come after it. */
static tsr_status create(peer_job *job) {
  fftw_job *j = (fftw_job *)job;
  const peer_desc *d = &job->desc;
  const bool plane = d->op == PEER_IFFT2;
  const int m = (int)d->m, n = (int)d->n, dims[2] = {plane ? m : n, n};
  if (strcmp(d->device, "cpu")) return peer_unsupported(job->peer, "runs on the CPU only");
  if (d->op != PEER_FFT && !plane) return peer_unsupported(job->peer, "computes Fourier transforms only");
  if (d->dtype != TSR_COMPLEX64 && d->dtype != TSR_COMPLEX128)
    return peer_unsupported(job->peer, "computes complex64 and complex128 only");
  if (d->m > INT32_MAX || d->n > INT32_MAX) return peer_unsupported(job->peer, "dimension beyond 32 bits");
  j->api = &apis[d->dtype == TSR_COMPLEX128];
  j->plans = calloc((size_t)d->n_sets, sizeof *j->plans);
  if (!j->plans) return st_oom();
  j->api->with_threads(d->threads);
  for (int i = 0; i < d->n_sets; i++) {
    const peer_host *h = &job->host[i];
    j->plans[i] = j->api->plan(plane ? 2 : 1, dims, plane ? 1 : m, h->operand[0], NULL, 1, n, h->out, NULL, 1, n,
                               plane ? BACKWARD : FORWARD, MEASURE);
    if (!j->plans[i]) return peer_unsupported(job->peer, "no plan");
  }
  return NULL;
}

static tsr_status run(peer_job *job, int set) {
  fftw_job *j = (fftw_job *)job;
  j->api->execute(j->plans[set]);
  return NULL;
}

const peer peer_fftw = {.name = "fftw", .open = open_both, .describe = describe, .create = create, .run = run,
                        .destroy = destroy, .job_size = sizeof(fftw_job)};
