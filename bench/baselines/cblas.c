/* bench/baselines/cblas.c - what the peers behind the CBLAS interface share: f32 matrix products in host memory. */
#include "bench/baselines/peer_impl.h"

#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

tsr_status cblas_check(const peer_job *job) {
  const peer_desc *d = &job->desc;
  const int64_t most = INT32_MAX;
  if (strcmp(d->device, "cpu")) return peer_unsupported(job->peer, "runs on the CPU only");
  if (d->op != PEER_MATMUL) return peer_unsupported(job->peer, "computes matmul only");
  if (d->dtype != TSR_F32 || d->out_dtype != TSR_F32) return peer_unsupported(job->peer, "computes f32 only");
  if (d->packed_b) return peer_unsupported(job->peer, "has no interface for an operand packed ahead");
  if (d->m > most || d->n > most || d->k > most) return peer_unsupported(job->peer, "dimension beyond 32 bits");
  return NULL;
}

void cblas_matmul(const cblas_api *api, const peer_job *job, int set) {
  const peer_desc *d = &job->desc;
  const int m = (int)d->m, n = (int)d->n, k = (int)d->k;
  const float *a = job->host[set].operand[0], *b = job->host[set].operand[1];
  float *c = job->host[set].out;
  for (int64_t i = 0; i < d->batch; i++, a += d->m * d->k, b += d->k * d->n, c += d->m * d->n) {
    if (m == 1) api->sgemv(ROW_MAJOR, TRANS, k, n, 1, b, n, a, 1, 0, c, 1);
    else if (n == 1) api->sgemv(ROW_MAJOR, NO_TRANS, m, k, 1, a, k, b, 1, 0, c, 1);
    else api->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1, a, k, b, n, 0, c, n);
  }
}

double cblas_probe(const cblas_api *api) {
  enum { N = 512, RUNS = 12 };
  float *a = calloc(3 * N * N, sizeof *a);
  if (!a) return 0;
  double best = 1e9;
  for (int i = 0; i < RUNS; i++) {
    double t = peer_now();
    api->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, N, N, N, 1, a, N, a + N * N, N, 0, a + 2 * N * N, N);
    t = peer_now() - t;
    if (t < best) best = t;
  }
  free(a);
  return 2e-9 * N * N * N / best;
}
