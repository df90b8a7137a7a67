/* core/coll/mailbox.h - ranks that share a piece of memory, in one process or in several of one machine: for each pair
 * of them a ring of bytes with one writer and one reader, and for each rank a place to sleep at. Nobody ever waits for
 * a lock, so that a rank that is killed in the middle of anything leaves the others free to go on and to meet their
 * deadlines. */
#ifndef CORE_COLL_MAILBOX_H
#define CORE_COLL_MAILBOX_H
#include "core/coll/transport.h"

typedef struct coll_box coll_box; /* at the start of the shared memory */

/* Bytes of a ring: a power of two, so that all of them together take at most about 16 MiB. */
size_t coll_box_ring(int32_t n_ranks);
size_t coll_box_bytes(int32_t n_ranks, size_t ring);
/* Memory of coll_box_bytes, all zero. */
void coll_box_init(coll_box *b, int32_t n_ranks, size_t ring);
/* Is it such memory, of so many ranks? For processes that have just mapped it. */
bool coll_box_fits(const coll_box *b, int32_t n_ranks, size_t bytes);

/* As coll_link_ops has them. */
size_t coll_box_write(coll_box *b, int32_t me, int32_t peer, const void *data, size_t bytes);
size_t coll_box_read(coll_box *b, int32_t me, int32_t peer, void *data, size_t bytes);
/* `crowded`: there are more ranks than cores. */
void coll_box_wait(coll_box *b, int32_t me, uint32_t idle, int64_t until_ns, bool crowded);
/* Milliseconds since the rank last waited for something. */
int64_t coll_box_silent_ms(const coll_box *b, int32_t rank);
void coll_box_stop(coll_box *b, tsr_code code, const char *cause);
bool coll_box_stopped(coll_box *b, tsr_code *code, char *cause);

/* A link over memory that outlives it: for the ranks of one process. */
TSR_MUST_USE tsr_status coll_box_link(const tsr_allocator *al, coll_box *b, int32_t rank, coll_link **out);
#endif
