/* core/tune/cost_parts.h - what an estimate is made of: its terms, the rates of the device, and the pieces that the
 * families' cost functions share. A family's cost() gets a task and an estimate that has flops, least_bytes, occupancy,
 * bank_ways, overlap, the rates and one launch; it sets blocks (then cost_spread), padded_flops, the bytes, the terms
 * but COST_LAUNCH, and what else its kernels have. cost_compute (core/tune/cost.h) puts the terms together. */
#ifndef CORE_TUNE_COST_PARTS_H
#define CORE_TUNE_COST_PARTS_H
#include <math.h>

#include "core/tune/occupancy.h"

typedef enum cost_term {
  /* side by side, up to the barrier */
  COST_MATH,    /* padded multiply-adds at the peak of the chosen path, less what the register tile wastes */
  COST_SHARED,  /* shared memory (GPU) or first-level cache (CPU) */
  COST_L2,      /* tiles read by all blocks */
  COST_MEMORY,  /* what misses the last cache */
  COST_EXP,     /* attention: one exponential a score, and the running maximum and sum */
  /* one after the other */
  COST_BARRIER, /* one per k step of each wave */
  COST_FILL,    /* pipeline prologue and epilogue of each wave */
  COST_LAUNCH,
  COST_N_TERMS
} cost_term;
const char *cost_term_name(cost_term t);

typedef struct cost_estimate {
  double term_ns[COST_N_TERMS];
  double flops, padded_flops; /* useful, and with what tiles add */
  double least_bytes;         /* every operand once */
  double memory_bytes, l2_bytes, shared_bytes;
  double blocks, waves, wave_efficiency; /* of the last wave's idle cores: 1 is even */
  int bank_ways;              /* conflicts of the staged tile's column accesses; 0: nothing is staged in banks */
  double steps;               /* k steps of a block (attention: tiles of keys); 0: it has no such loop */
  bool stages;                /* they stage their operands in shared memory */
  bool runs_ahead; /* loads of the next tile don't wait for this one's end: one block a core walks all tiles */
  int64_t reuse;              /* products: times a register of sums is used between two barriers; 0: not told */
  double launches;
  double latency_ns, barrier_ns; /* of the memory; of one step */
  double hiding;              /* share of latency that occupancy and stages hide, 0..1 */
  double overlap;             /* share of the lesser terms that runs under the greatest */
  occ_result occupancy;
  cost_term bound;            /* the greatest of the first five */
  double total_ns;
} cost_estimate;

/* A CPU, or a Vulkan device that is one: caches stage the operands and hide the latency; no copies are scheduled. */
bool cost_stages_by_cache(const tune_device *d);
/* Rates; those that nobody told are assumed: enough to rank. */
typedef struct cost_rates {
  double peak, exps, shared, l2, memory, barrier_ns, launch_ns, latency_ns;
  double lanes, cores;
} cost_rates;

typedef struct cost_task {
  const tune_device *d;
  const tune_problem *p;
  const tune_config *c;
  cost_rates r;
} cost_task;
cost_rates cost_rates_of(const tune_device *d, const tune_problem *p, const tune_config *c);

static inline double cost_ceil_div(double a, double b) { return b > 0 ? ceil(a / b) : 1; }
static inline double cost_clamp(double v, double lo, double hi) { return v < lo ? lo : v > hi ? hi : v; }
static inline double cost_at_least(double v, double lo) { return v > lo ? v : lo; }
static inline double cost_min(double a, double b) { return a < b ? a : b; }

/* Once e->blocks is known: occupancy, waves, how much latency is hidden. */
void cost_spread(const cost_task *x, cost_estimate *e);
/* Blocks that run at a time, of those that there are. */
double cost_resident(const cost_task *x, const cost_estimate *e);
/* Rounds of blocks, resident ones at a time. */
double cost_serial(const cost_task *x, const cost_estimate *e);
/* Share of the issue slots that do arithmetic: loads per multiply-add fall with the register tile's sides. */
double cost_register_tile_efficiency(const cost_task *x);
/* The last cache's bytes; 0: not known. */
double cost_last_cache(const tune_device *d);
/* Kernels that read their operands once, elementwise or along rows: every term from e->blocks and the bytes that are
 * read besides the least. */
void cost_of_streams(const cost_task *x, double more_bytes, cost_estimate *e);
#endif
