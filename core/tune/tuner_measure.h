/* core/tune/tuner_measure.h - the tuner's measurements: candidates are prepared, and timed in turns with the default,
 * on whose scale all figures are. */
#ifndef CORE_TUNE_TUNER_MEASURE_H
#define CORE_TUNE_TUNER_MEASURE_H
#include "core/tune/tuner.h"

typedef struct tuner_session {
  const tuner_desc *d;
  void *reference;      /* the default, timed beside each candidate */
  double reference_ns;  /* its first median: what the others are scaled to */
  double best_ns;       /* least so far, on the reference's scale */
  double last_registers;
  bool least;           /* take least times instead of medians: for records, which must not hold a busy moment */
} tuner_session;

/* Does a failure with that code end the search, or the candidate alone? */
bool tuner_ends(tsr_code c);
/* Prepares a candidate; NULL with *st NULL: it failed by itself. */
void *tuner_prepare(tuner_session *s, const tune_config *c, tsr_status *st);
/* search_measure.run of a session. */
tsr_status tuner_measure(void *session, const tune_space *sp, const space_point *points, size_t n, search_result *out);
#endif
