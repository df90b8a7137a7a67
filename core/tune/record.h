/* core/tune/record.h - a recorded space: the knobs, what every point (or some) took, and the device it was on.
 * Recording is a JSON file (in bench/tune); replaying is a search_measure that looks up instead of running, so that
 * strategies are compared without noise and a choice can be repeated bit for bit. */
#ifndef CORE_TUNE_RECORD_H
#define CORE_TUNE_RECORD_H
#include "core/base/arena.h"
#include "core/tune/search.h"

typedef struct record {
  arena mem;
  char label[64];
  tune_device device;
  tune_problem problem;
  tune_config dflt;
  tune_space space;      /* the recorded points are its legal ones; do not move the record */
  search_known *samples; /* unordered */
  size_t n_samples, cap_samples;
  uint32_t *index;       /* hash to sample */
  size_t n_index;
  size_t lookups;        /* measurements answered by a replay */
} record;

void record_init(record *r, const tsr_allocator *al);
void record_clear(record *r);
TSR_MUST_USE tsr_status record_add(record *r, const space_point *p, const search_result *result);
const search_result *record_find(const record *r, const space_point *p);

TSR_MUST_USE tsr_status record_load(const char *path, record *r);
TSR_MUST_USE tsr_status record_parse(const char *text, size_t n, const char *file, record *r);
void record_print(const record *r, strb *out);

/* The measurer of a replay; user is the record. An unrecorded point is an error: the replay would not be one. */
search_measure record_replay(record *r);
/* The least time of all samples; 0 without any. */
double record_best(const record *r);
#endif
