/* core/tune/tuner.h - the whole decision for one kernel: cached? then that; else search, compare the winner with the
 * reference, store it with its runner-up. What can run and how it is compared comes through a table, so the tuner knows
 * no device. With a bucket: no decision for the shape but one for its bucket is taken as it is, moved to the nearest
 * legal point, and in TUNE_FULL compared with the reference first; what a search finds is the bucket's decision if it
 * has none. Invariants: a second call with the same key measures nothing, also from another process; a winner that is
 * wrong or can't launch is never stored; trials are kept as they are measured, so a killed search goes on where it
 * stopped. */
#ifndef CORE_TUNE_TUNER_H
#define CORE_TUNE_TUNER_H
#include "core/tune/cache.h"
#include "core/tune/record.h"
#include "core/tune/search.h"
#include "core/tune/timing.h"

typedef enum tune_mode { TUNE_OFF, TUNE_CACHED, TUNE_FULL } tune_mode; /* TSR_TUNE */
/* False when the name is none of off, cached, full. */
bool tune_mode_parse(const char *name, tune_mode *out);

/* The thing that is tuned. All callbacks get `user`; candidates are numbered by the tuner and released in any order. */
typedef struct tune_target {
  void *user;
  /* Compiles a candidate and binds scratch copies of the operands. TSR_UNSUPPORTED and compile errors make it a failed
   * trial; TSR_DEVICE_LOST, TSR_OUT_OF_MEMORY and TSR_CANCELLED end the search. */
  tsr_status (*prepare)(void *user, const tune_config *c, void **kernel);
  /* Runs once, waits; *ns as in timing_subject. */
  tsr_status (*run)(void *user, void *kernel, double *ns);
  /* Runs once on known inputs and compares with the reference within the derived tolerance. */
  tsr_status (*check)(void *user, void *kernel, bool *right);
  void (*release)(void *user, void *kernel);
  /* Registers per thread as the driver tells, negative if not; may be NULL. */
  double (*registers)(void *user, void *kernel);
} tune_target;

/* One decision for all ranks of a mesh: rank 0 decides, the others take it. NULL: alone. */
typedef struct tune_agree {
  int rank;
  /* Sends `bytes` from rank 0 into everyone's `data`. Called once per tuner_run by every rank. */
  tsr_status (*broadcast)(void *user, void *data, size_t bytes);
  void *user;
} tune_agree;

typedef struct tuner_desc {
  const tsr_allocator *al;
  tune_mode mode;
  const tune_device *device;
  const tune_problem *problem;
  const tune_space *space;
  const tune_config *dflt;
  const tune_target *target;   /* may be NULL unless mode is TUNE_FULL */
  tune_cache *cache;           /* may be NULL */
  tune_key key;
  const char *bucket;          /* shape text of the bucket whose decision serves too; NULL or "": none */
  const search_strategy *strategy;
  const cost_model *model;
  cost_objective objective;
  void *objective_user;
  const tune_agree *agree;
  bool (*progress)(void *user, const search_progress *p);
  void *progress_user;
  size_t samples;
  bool samples_fixed;
  bool again;                  /* search although an answer is stored, and replace it */
  double stop_fraction;
  uint64_t seed;
  timing_options timing;
} tuner_desc;

typedef enum tune_source {
  TUNE_FROM_DEFAULT,
  TUNE_FROM_CACHE,
  TUNE_FROM_SEARCH,
  TUNE_FROM_MODEL,
  TUNE_FROM_RANK0,
  TUNE_FROM_BUCKET
} tune_source;
const char *tune_source_name(tune_source s);

typedef struct tuner_result {
  tune_config config, runner_up;
  bool has_runner_up, cancelled, stopped_early, stored;
  tune_source source;
  double best_ns, default_ns, predicted_ns,
      roofline_ns;                        /* a cancelled search: the best so far, source stays TUNE_FROM_DEFAULT */
  size_t measurements, samples, rejected; /* timed now; samples behind the decision; winners that were wrong */
} tuner_result;

/* Without a target, or TUNE_CACHED and a miss: the default. Errors: device lost, out of memory, empty space. */
TSR_MUST_USE tsr_status tuner_run(const tuner_desc *d, tuner_result *out);
/* Has the stored winner run to its end on this device, in a program? And: it has now. */
bool tuner_winner_seen(const tuner_desc *d);
void tuner_winner_ran(const tuner_desc *d);
/* What a compilation takes: the point of d's space at the stored winner. False: none is stored. */
bool tuner_winner_config(const tuner_desc *d, tune_config *out);
/* At launch time: the stored winner failed. Gives the runner-up, else the default, and remembers. */
void tuner_winner_failed(const tuner_desc *d, tuner_result *io);

/* Measures every legal point of the space (in blocks whose runs are interleaved with the default's) into `out`, whose
 * space holds the same knobs. For recorded spaces; nothing is cached. */
TSR_MUST_USE tsr_status tuner_measure_all(const tuner_desc *d, record *out);
#endif
