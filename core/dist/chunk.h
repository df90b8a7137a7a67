/* core/dist/chunk.h - products whose sums are added up over ranks, in chunks of rows: a chunk's collective goes beside
 * the next chunk's product. In: a rank's program; out: the same with slices of the products' first operand, a product
 * and a collective (with the attribute `chunk`) for each, and the chunks joined. Elements are computed as they were. */
#ifndef CORE_DIST_CHUNK_H
#define CORE_DIST_CHUNK_H
#include "core/dist/estimate.h"

typedef struct dist_chunk_options {
  int chunks; /* of each product whose rows can be cut so; 1: none; 0: as many as the planner takes to be fastest */
  dist_schedule_options schedule;
} dist_chunk_options;

/* links must be of p's mesh. notes may be NULL. */
TSR_MUST_USE tsr_status dist_chunk(dist_program *p, dist_links *links, const dist_chunk_options *o,
                                   const dist_notes *notes);
#endif
