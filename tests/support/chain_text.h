/* tests/support/chain_text.h - programs of any length as Graph IR text, for tests and benchmarks of how compilation
 * grows. */
#ifndef TESTS_SUPPORT_CHAIN_TEXT_H
#define TESTS_SUPPORT_CHAIN_TEXT_H
#include "core/base/str.h"

typedef enum chain_kind {
  CHAIN_LAYERS,   /* transformer-like layers of ten ops, with five weights each */
  CHAIN_ADDS,     /* elementwise, one after the other */
  CHAIN_SOFTMAXES,
  CHAIN_SINES,    /* every tenth is returned */
  CHAIN_FAN,      /* one value with n users, which are summed up */
  CHAIN_INPUTS,   /* n inputs, summed up */
  CHAIN_RESULTS,  /* each op is returned */
  CHAIN_RETURNED, /* one value, returned n times */
  CHAIN_VIEWS,    /* transposes and reshapes in turns */
  CHAIN_SLICES,   /* slices and broadcasts, which no rule collapses */
  CHAIN_MIXED,    /* rows, products, views and elementwise ops in turns */
  CHAIN_SKIPS,    /* layers' ends that all read what one op at the beginning made */
  CHAIN_MIRROR,   /* a chain, then ops on its values from the last to the first, as derivatives are */
  CHAIN_CONCAT,   /* n inputs in one concat */
  CHAIN_TWICE,    /* one element; each value is read twice, and seen in another shape now and then */
  N_CHAINS
} chain_kind;

const char *chain_name(chain_kind k);
/* A module of about n ops. Fails like any text builder: see strb_ok. */
void chain_text(chain_kind k, int n, strb *out);
#endif
