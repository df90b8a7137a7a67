/* tessera/coll.h - collectives: operations that the ranks of a team do together on vectors in host memory, or, by NCCL
 * and RCCL, in a device's.
 *
 * A team's ranks are threads of this process (transport "local"), or the processes of an MPI program ("mpi"); engines
 * that do whole collectives themselves ("ucc", "nccl", "rccl") are opened on such a team. All ranks make the same calls
 * in the same order; what they ask for is compared before any rank reads another's data, and a difference is
 * TSR_COLLECTIVE_MISMATCH on all of them. Every call has a deadline: a rank that is killed, stopped or slow makes all
 * others return TSR_TIMEOUT by then, with an error that names rank, operation, count, type and peer. A team that was
 * stopped stays so: later calls return the same error at once, and a new team is made. (Of a call of ucc's that met its
 * deadline the memory must stay: UCC has no way to take a call back.)
 *
 * Bits: sums and products of floats follow a fixed tree over the ranks, so that the result is the same to the bit on
 * every rank, whatever transport, algorithm and timing (ucc, nccl and rccl have orders of their own). f16, bf16 and fp8
 * are added in f32 and rounded once.
 *
 * Threads: a local team is one object that all ranks use, each on its own thread; a rank makes one call at a time. */
#ifndef TESSERA_COLL_H
#define TESSERA_COLL_H
#include "tessera/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_team tsr_team;
typedef struct tsr_pending tsr_pending;

typedef enum tsr_coll_op {
  TSR_COLL_ALL_REDUCE,     /* in: count; out: count */
  TSR_COLL_REDUCE_SCATTER, /* in: count; out: this rank's block of the result */
  TSR_COLL_ALL_GATHER,     /* in: this rank's block; out: count */
  TSR_COLL_ALL_TO_ALL,     /* in: count, a block for each rank; out: a block from each */
  TSR_COLL_BROADCAST,      /* in: count, on the root; out: count */
  TSR_COLL_REDUCE,         /* in: count; out: count, on the root */
  TSR_COLL_SEND_RECV,      /* in: count, for the next rank; out: count, from the one before */
  TSR_COLL_BARRIER,
  TSR_N_COLL_OPS
} tsr_coll_op;

typedef enum tsr_redop { TSR_SUM, TSR_PROD, TSR_MAX, TSR_MIN, TSR_MEAN, TSR_N_REDOPS } tsr_redop;

/* ---- teams ----------------------------------------------------------------------------------------------------- */

typedef struct tsr_team_desc {
  const tsr_allocator *allocator; /* copied; NULL = the C library's */
  const char *transport;          /* NULL = "local" */
  int n_ranks;                    /* local: how many; elsewhere 0, or what is expected */
  /* mpi: the address of the host program's MPI_Comm, of which a duplicate is made; NULL: MPI_COMM_WORLD, and MPI is
   * started, and ended at exit, if the program hasn't. Creating the team is collective. */
  const void *communicator;
  /* ucc, nccl, rccl: a team of another transport, through which the ranks find each other and compare their calls; it
   * must live as long. Creating the team is collective: each rank of `parent` has a handle of its own, for nccl and
   * rccl on the device that is the calling thread's current one. So is destroying it for ucc. */
  tsr_team *parent;
  int parent_rank;                /* of the caller */
  int64_t deadline_ms;            /* of the creation, and of calls that name none; 0 = 30,000 */
} tsr_team_desc;

/* TSR_UNAVAILABLE where the transport isn't here; the message says what is missing. */
TSR_API TSR_MUST_USE tsr_status tsr_team_create(const tsr_team_desc *desc, tsr_team **out);
/* After all calls have returned; pending ones are waited for. Every owner of a handle gives back its own: the one of
 * tsr_team_create, and each that tsr_team_split gave out. */
TSR_API void tsr_team_destroy(tsr_team **team);
TSR_API int tsr_team_size(const tsr_team *team);
/* The rank of this process; -1: all ranks are here. */
TSR_API int tsr_team_rank(const tsr_team *team);
/* How bytes get from this process to a rank: "memory of one process", "shared memory", "MPI messages". */
TSR_API const char *tsr_team_path(const tsr_team *team, int peer);

/* Collective: ranks of the same colour (>= 0) become a team of their own, in the order of `key`, then of their ranks; a
 * negative colour: none (*out is NULL). `rank`: of the caller in `team`, `new_rank` in the new one. The new team's
 * calls are independent of the old one's, which must live as long. */
TSR_API TSR_MUST_USE tsr_status tsr_team_split(tsr_team *team, int rank, int colour, int key, tsr_team **out,
                                               int *new_rank);
/* A rank that won't make another call says so: the others don't wait for their deadline. Local teams. */
TSR_API TSR_MUST_USE tsr_status tsr_team_leave(tsr_team *team, int rank);
/* Bytes that this process (local: all ranks) has sent from one rank to another. */
TSR_API uint64_t tsr_team_bytes(const tsr_team *team, int src, int dst);

/* ---- calls ----------------------------------------------------------------------------------------------------- */

typedef struct tsr_coll {
  tsr_coll_op op;
  tsr_dtype dtype;
  tsr_redop redop;       /* of all_reduce, reduce_scatter, reduce */
  int64_t count;         /* elements of the vector: the whole one of reduce_scatter and all_gather */
  int root;              /* of broadcast and reduce */
  const char *algorithm; /* NULL: chosen by operation, size and ranks */
  int group;             /* ranks in a group of "hierarchical"; 0 = chosen */
  /* Sums in the order in which the algorithm brings them together: fewer bytes for some, bits that depend on it. */
  bool any_order;
  /* f32 and f64 data: what it is rounded to for its way, TSR_BF16, TSR_F16, TSR_F8E4M3, TSR_F8E5M2 or TSR_I8; 0 =
   * itself. Each contribution is rounded once and the result once more, sums are f32. f16 and fp8 have one scale, a
   * power of two, for all ranks and elements of the call, which an all-reduce of one number finds first. i8 has a scale
   * for each 32 elements (36 bytes go for 128), the largest magnitude being 127, and algorithms of its own: direct
   * exchanges, whatever `algorithm` says. A block with an element that isn't finite becomes NaN. */
  tsr_dtype wire;
  const void *in;        /* tsr_coll_in_count elements; may be NULL where that is 0 */
  void *out;             /* tsr_coll_out_count elements; may be `in`, overlap it, or hold it where it belongs */
  int64_t deadline_ms;   /* 0 = the team's */
  void *stream;          /* nccl, rccl: a CUstream or hipStream_t; NULL = the default one */
} tsr_coll;

/* Elements that a rank of n puts in and gets out. Blocks are as even as can be, the first ones longer; -1: impossible.
 */
TSR_API int64_t tsr_coll_in_count(tsr_coll_op op, int64_t count, int n, int rank, int root);
TSR_API int64_t tsr_coll_out_count(tsr_coll_op op, int64_t count, int n, int rank, int root);

/* Returns when the rank's part is done: `in` and `out` are the caller's again, and nobody touches them any more, also
 * after a failure. */
TSR_API TSR_MUST_USE tsr_status tsr_team_run(tsr_team *team, int rank, const tsr_coll *call);

/* nccl, rccl: tsr_team_run returns when the call is on its stream, and `in` and `out`, addresses of the device's
 * memory, are the stream's. This waits for a stream; at the deadline (0 = the team's) the communicator is aborted, so
 * that all that waits in it ends, and the team is of no use any more. Other transports: nothing to wait for. */
TSR_API TSR_MUST_USE tsr_status tsr_team_sync(tsr_team *team, void *stream, int64_t deadline_ms);

/* Starts a call and returns at once: a thread of the library's works it off, after the rank's earlier ones. `call` is
 * copied, the memory that it names must stay. Over MPI's messages that needs MPI_THREAD_MULTIPLE;
 * nccl and rccl start every call so, on a stream. */
TSR_API TSR_MUST_USE tsr_status tsr_team_start(tsr_team *team, int rank, const tsr_coll *call, tsr_pending **out);
/* Is it done? Its outcome comes with tsr_pending_wait. */
TSR_API bool tsr_pending_is_done(const tsr_pending *pending);
/* The outcome of the call, when it is done; it has a deadline of its own. Ends the handle, also on failure. */
TSR_API TSR_MUST_USE tsr_status tsr_pending_wait(tsr_pending **pending);

/* ---- algorithms ------------------------------------------------------------------------------------------------ */

typedef struct tsr_coll_request { tsr_coll_op op; int n_ranks, root, group; } tsr_coll_request;
typedef struct tsr_coll_steps tsr_coll_steps;

/* In `round`, chunk `chunk` goes from rank `src` to `dst`, where it is combined with what is there (`reduce`) or takes
 * its place. In a round every rank sends what it held when the round began. What a chunk is: docs/distributed.md. */
TSR_API void tsr_coll_step(tsr_coll_steps *steps, int round, int src, int dst, int chunk, bool reduce);

typedef struct tsr_coll_algorithm {
  const char *name;
  uint32_t ops;                                                /* bits 1 << tsr_coll_op */
  int (*chunks)(void *user, const tsr_coll_request *request);  /* pieces that the vector is cut into */
  void (*generate)(void *user, const tsr_coll_request *request, tsr_coll_steps *steps);
  void *user;
} tsr_coll_algorithm;

/* Adds an algorithm to a team, before its first call, on all ranks; calls ask for it by name. Copied but for `user`. A
 * schedule that it makes is checked before it runs: each contribution once in each result, no deadlock. */
TSR_API TSR_MUST_USE tsr_status tsr_team_add_algorithm(tsr_team *team, const tsr_coll_algorithm *algorithm);

#ifdef __cplusplus
}
#endif
#endif
