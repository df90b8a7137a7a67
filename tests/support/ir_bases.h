/* tests/support/ir_bases.h - the modules that the fuzzers of Tile and Target IR start from: small graphs lowered for a
 * device that need not be here, and the hand-written programs of tests/tile. */
#ifndef TESTS_SUPPORT_IR_BASES_H
#define TESTS_SUPPORT_IR_BASES_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

enum { IR_BASES_MOST = 192 };

typedef struct ir_bases {
  ir_module *v[IR_BASES_MOST];
  int n;
} ir_bases;

/* Adds each at Tile and at Target level. False, with a line on standard output, if one can't be made; a device's
 * refusal is none. */
bool ir_bases_add(ir_bases *b, const tsr_caps *caps);
void ir_bases_clear(ir_bases *b);

#endif
