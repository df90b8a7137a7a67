/* core/coll/lane.h - bytes that are to go to, or come from, one peer over a link, piece by piece in order. */
#ifndef CORE_COLL_LANE_H
#define CORE_COLL_LANE_H
#include "core/coll/transport.h"
#include "core/coll/value.h"

/* Goes ahead of the values of a message. */
typedef struct coll_frame { uint32_t call, message; uint64_t bytes; } coll_frame;

typedef struct coll_piece {
  coll_frame head;
  bool framed;       /* the bytes are those of `head` */
  char *data;
  size_t bytes, at;
  coll_value *keeps; /* the value that they are of, counted; NULL: none */
  uint64_t arrival;  /* the caller's number of what they belong to */
} coll_piece;

typedef struct coll_lane { coll_piece *v; size_t first, n, cap; } coll_lane;

static inline bool coll_lane_is_empty(const coll_lane *l) { return l->first == l->n; }
/* False: out of memory. */
bool coll_lane_put(const tsr_allocator *al, coll_lane *l, coll_piece p);
void coll_lane_clear(coll_lane *l, const coll_math *m);
void coll_lane_free(coll_lane *l, const coll_math *m, const tsr_allocator *al);
/* As far as the link takes it; true: something moved. Values are let go of when they are written. */
bool coll_lane_write(coll_lane *l, const coll_math *m, coll_link *link, int32_t peer);
/* `done` is told of each piece that is whole; false: no more is read. */
bool coll_lane_read(coll_lane *l, coll_link *link, int32_t peer,
                    bool (*done)(void *user, int32_t peer, const coll_piece *p), void *user);
#endif
