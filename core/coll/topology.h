/* core/coll/topology.h - machines as the planner sees them: at most two levels of links (inside a domain, between
 * domains), each with its constants and where they come from; rows of the library, or a user's JSON file. */
#ifndef CORE_COLL_TOPOLOGY_H
#define CORE_COLL_TOPOLOGY_H
#include "core/base/arena.h"
#include "core/coll/schedule.h"

enum { COLL_LEVELS = 2, COLL_PLAN_RANKS = 16384 };

typedef struct coll_level {
  const char *name;    /* of the links */
  int64_t ranks;       /* in one domain; the last level: the most in all */
  double latency_us;   /* alpha: from one rank to another */
  double overhead_us;  /* each further message that a rank sends at the same time */
  double gbytes_per_s; /* 1/beta: what a rank gets out, and in, with large messages */
  const char *source;
} coll_level;

/* A published measurement that constants are fitted to. */
typedef struct coll_anchor { double bytes, us; } coll_anchor;

typedef struct coll_topology {
  const char *name, *help;
  int32_t n_levels;
  coll_level levels[COLL_LEVELS];
  double reduce_gbytes_per_s; /* 1/gamma: operands that a rank combines; beside the transfer, not after it */
  const char *reduce_source;
  /* All-reduce of anchor_ranks ranks: fits the last level's bandwidth and the ramp, a time that grows with what a rank
   * sends up to ramp_bytes and stays there. Zero: none. */
  int64_t anchor_ranks;
  coll_anchor anchors[2];
  const char *anchor_source;
  double ramp_us, ramp_bytes; /* made by the fit */
} coll_topology;

/* The i-th row; NULL past the last. */
const coll_topology *coll_topology_at(int32_t i);
/* By name, fitted. False: there is none. */
bool coll_topology_find(const char *name, coll_topology *out);
/* From JSON: {"name", "levels": [{"name", "ranks", "latency_us", "overhead_us", "gbytes_per_s", "source"}, ...],
 * "reduce_gbytes_per_s"}. Strings live in the arena. */
TSR_MUST_USE tsr_status coll_topology_parse(arena *a, const char *text, size_t n, const char *file, coll_topology *out);
#endif
