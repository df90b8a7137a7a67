/* backends/cpu/places.h - elements of memory at indices that a program computed: collected into a line, or written from
 * one, in the order of the line. */
#ifndef BACKENDS_CPU_PLACES_H
#define BACKENDS_CPU_PLACES_H
#include "backends/cpu/operand.h"

/* Element e of a line has the indices at[k][e], or at[k][0] where they don't vary. */
typedef struct places {
  const cpu_desc *d;
  const int64_t *ext;
  const int32_t *at[TSR_MAX_RANK];
  bool varies[TSR_MAX_RANK];
  const uint8_t *valid; /* which elements there are; NULL: all */
  bool valid_varies;
} places;

/* memory: of d, elements of `size` bytes. Indices outside it, and elements that are not valid: line gets 0, memory
 * nothing. */
void places_take(places *p, const char *memory, size_t size, int64_t n, char *line);
void places_put(places *p, char *memory, size_t size, int64_t n, const char *line);
#endif
