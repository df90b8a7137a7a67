/* bench/baselines/peer.h - other libraries that `tessera bench` compares with, loaded at run time.
 *
 * A peer that isn't installed is TSR_UNAVAILABLE, and something that it can't compute is TSR_UNSUPPORTED; both statuses
 * say why, so that a bench row can too. Nothing here is needed to build or link: no headers, no libraries.
 * Every peer runs with the fastest kernels it has for this machine (their defaults are often not), one thread a core.
 * Threads: one thread at a time for everything in this file; peers keep thread pools of their own. */
#ifndef BENCH_BASELINES_PEER_H
#define BENCH_BASELINES_PEER_H
#include "tessera/base.h"

typedef struct peer peer;
typedef struct peer_job peer_job;

typedef enum peer_op {
  PEER_MATMUL,    /* [batch,m,k] x [batch,k,n] -> [batch,m,n] */
  PEER_SOFTMAX,   /* over the last axis of [m,n] */
  PEER_RMSNORM,   /* over the last axis of [m,n], no scale, epsilon 1e-5 */
  PEER_LAYERNORM, /* over the last axis of [m,n], no scale and bias, epsilon 1e-5 */
  PEER_ADD,       /* [m,n] + [m,n] */
  PEER_FFT,       /* of [m,n], along the last axis */
  PEER_IFFT2      /* of both dimensions of [m,n], unscaled */
} peer_op;
static inline bool peer_is_transform(peer_op op) { return op == PEER_FFT || op == PEER_IFFT2; }

#define PEER_EPSILON 1e-5f

/* By its name in Graph IR; false where peers have no such op. */
bool peer_op_named(const char *name, peer_op *out);

/* What is computed. Zero fields mean the defaults given beside them. */
typedef struct peer_desc {
  peer_op op;
  tsr_dtype dtype;     /* of the operands: f32, f16, bf16; matmul also i8, and u8 for u8 x i8; fft: complex */
  tsr_dtype
      out_dtype; /* none: the operands' type, i32 for integers; where a peer has only another one (ggml: f32), that */
  int64_t batch;       /* matmul only; 1 */
  int64_t m, n, k;
  bool packed_b;      /* the matmul's B is a constant, brought ahead of time into the peer's own layout */
  int n_sets;         /* independent sets of operands and results, to run with a cold cache; 1 */
  int threads;        /* one a core */
  const char *device; /* "cpu" or a backend's name; "cpu" */
  int index;          /* which device of that name; peers on GPUs of the same kind take it */
} peer_desc;

/* The i-th peer, NULL past the last; by name (openblas, blis, onednn, ggml, fftw), NULL if none has that name. */
const peer *peer_at(size_t i);
const peer *peer_find(const char *name);
const char *peer_name(const peer *p);
/* Loads the library if that has not happened yet. The first call may take a second: it tries out the peer's kernels. */
tsr_status peer_available(const peer *p) TSR_MUST_USE;
/* Version and kernels in use, "openblas 0.3.29 SkylakeX"; the name alone while it isn't loaded. Valid until the process
 * ends. */
const char *peer_describe(const peer *p);
/* A peer's idle threads may go on spinning after a run: wait until they sleep before timing something else. */

/* Allocates operands (all zero) and results. Fails with TSR_UNAVAILABLE, TSR_UNSUPPORTED or TSR_OUT_OF_MEMORY. */
tsr_status peer_create(const peer *p, const peer_desc *desc, peer_job **out) TSR_MUST_USE;
/* Copies in an operand (0 or 1), dense and row-major. A layout that the peer wants is made here, outside any timing. */
tsr_status peer_write(peer_job *job, int set, int operand, const void *data) TSR_MUST_USE;
/* Computes one set: what is to be timed, together with a peer_wait after the last of a series. Peers on a GPU only put
 * it on their stream; for the others peer_wait has nothing left to do. */
tsr_status peer_run(peer_job *job, int set) TSR_MUST_USE;
tsr_status peer_wait(peer_job *job) TSR_MUST_USE;
/* The peer's own clock on its GPU, around what is run between the two; the second waits. Only where peer_has_clock. */
bool peer_has_clock(const peer_job *job);
tsr_status peer_clock_start(peer_job *job) TSR_MUST_USE;
tsr_status peer_clock_stop(peer_job *job, double *us) TSR_MUST_USE;
/* Copies a result out, dense and row-major, of type peer_out_dtype. */
void peer_read(peer_job *job, int set, void *out);
tsr_dtype peer_out_dtype(const peer_job *job);
/* Accepts NULL and pointers to NULL. */
void peer_destroy(peer_job **job);

/* Elements of operand 0, operand 1 (0 if there is none) and the result (index 2). */
size_t peer_count(const peer_desc *desc, int which);
#endif
