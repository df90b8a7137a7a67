/* core/coll/schedule.h - a collective as plain data: which chunk goes from which rank to which, in which round, and
 * whether it is added to what is there or replaces it. One generator per algorithm (rows.h) makes the steps; the
 * checker, the executor, the simulator and the planner read them.
 *
 * Rounds: in a round every rank sends what it held when the round began, and receives; a round of a rank is over when
 * all that it sends and receives in it has arrived. Steps stand in order of their rounds.
 * Chunks: the elements of a collective are cut into n_chunks pieces, as even as can be (coll_chunk_range): the first
 * ones are one element longer. What a chunk is, by operation:
 *   all_reduce, reduce, broadcast   a piece of the vector
 *   reduce_scatter, all_gather      chunk r is the block of rank r of the whole vector; blocks may be uneven or empty
 *   all_to_all                      chunk s * n + d is what rank s has for rank d: block d of its vector
 *   send_recv                       chunk r is the vector of rank r, which rank r + 1 (mod n) gets
 *   barrier                         chunk r is the arrival of rank r, without bytes: all ranks learn of all */
#ifndef CORE_COLL_SCHEDULE_H
#define CORE_COLL_SCHEDULE_H
#include "core/base/status.h"

typedef enum coll_op {
  COLL_ALL_REDUCE,
  COLL_REDUCE_SCATTER,
  COLL_ALL_GATHER,
  COLL_ALL_TO_ALL,
  COLL_BROADCAST,
  COLL_REDUCE,
  COLL_SEND_RECV,
  COLL_BARRIER,
  N_COLL_OPS
} coll_op;

#define COLL_BIT(op) (1u << (op))

/* Ranks that a schedule is generated for; the planner's closed forms go further. */
enum { COLL_MAX_RANKS = 256 };

typedef struct coll_op_info {
  const char *name;
  bool reduces;   /* contributions of all ranks are combined */
  bool has_root;
  const char *bus; /* what algbw is multiplied with for busbw, in words */
} coll_op_info;

const coll_op_info *coll_op_get(coll_op op);
/* N_COLL_OPS: unknown. */
coll_op coll_op_parse(const char *name);
/* busbw = algbw x this (nccl-tests' formulas). */
double coll_bus_factor(coll_op op, int64_t ranks);

typedef struct coll_step {
  int32_t round, src, dst, chunk;
  bool reduce; /* combined with what dst has; else it takes its place */
} coll_step;

typedef struct coll_schedule {
  tsr_allocator al;
  coll_op op;
  const char *algorithm;
  int32_t n_ranks, root, group, n_chunks, n_rounds;
  size_t n_steps, cap;
  coll_step *steps;
  bool failed; /* out of memory while it was made */
} coll_schedule;

/* What a generator is asked for. */
typedef struct coll_request {
  coll_op op;
  int32_t n_ranks, root;
  int32_t group; /* ranks in a group (hierarchical); 0: coll_default_group */
  const void *user; /* of the row, for its functions */
} coll_request;

/* One row per algorithm; users hand in rows of their own (coll_set). */
typedef struct coll_algorithm {
  const char *name, *help;
  uint32_t ops;       /* COLL_BIT of those that it does */
  const char *others; /* why it does no others: a sentence */
  /* What it needs beyond that; NULL: nothing, or the sentence that says what is wrong. May be NULL. */
  const char *(*limit)(const coll_request *q);
  int32_t (*chunks)(const coll_request *q);
  void (*generate)(const coll_request *q, coll_schedule *s);
  /* Chunks that go from src to dst, in closed form: what the schedule is held against. NULL (users' rows): not known.
   */
  int64_t (*link)(const coll_request *q, int32_t src, int32_t dst);
  const void *user; /* of users' rows */
} coll_algorithm;

/* For generators: appends; without effect where src is dst. */
void coll_step_put(coll_schedule *s, int32_t round, int32_t src, int32_t dst, int32_t chunk, bool reduce);
/* The first round behind all that are there. */
int32_t coll_round_end(const coll_schedule *s);
void coll_schedule_free(coll_schedule **s);
/* Puts the steps in order of round, src, dst, chunk: those of one round from one rank to another are one message. */
void coll_schedule_sort(coll_schedule *s);

/* Tells schedules apart whose steps differ. */
uint64_t coll_schedule_hash(const coll_schedule *s);

/* The largest divisor of n that is at most 8 and not n, or n where there is none but 1. */
int32_t coll_default_group(int32_t n);

typedef struct coll_range { int64_t first, n; } coll_range;
/* Piece i of `count` elements in `pieces`. */
coll_range coll_split(int64_t count, int32_t pieces, int32_t i);
/* Elements of a chunk. `count` is the length of the vector: the whole one for reduce_scatter and all_gather, one rank's
 * for all others. */
int64_t coll_chunk_elements(const coll_schedule *s, int64_t count, int32_t chunk);
/* Where a chunk lies in what a rank puts in and gets out; n = 0 with first = -1: not there. */
coll_range coll_chunk_in(const coll_schedule *s, int64_t count, int32_t rank, int32_t chunk);
coll_range coll_chunk_out(const coll_schedule *s, int64_t count, int32_t rank, int32_t chunk);
/* Elements that a rank puts in and gets out. */
int64_t coll_in_elements(coll_op op, int64_t count, int32_t n_ranks, int32_t rank, int32_t root);
int64_t coll_out_elements(coll_op op, int64_t count, int32_t n_ranks, int32_t rank, int32_t root);
/* Does a rank hold a chunk at the start, and must it at the end? */
bool coll_starts_with(const coll_schedule *s, int32_t rank, int32_t chunk);
bool coll_ends_with(const coll_schedule *s, int32_t rank, int32_t chunk);

static inline int32_t coll_mod(int64_t v, int32_t n) { return (int32_t)(((v % n) + n) % n); }
#endif
