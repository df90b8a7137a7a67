/* core/tune/generator.c - the hash of the sources that make code; the build writes the header, so that a change of the
 * compiler makes all cached decisions of the old one misses. */
#include "core/tune/kernel.h"

#include "tune_generator.h"

const char *tune_generator(void) { return TUNE_GENERATOR; }
