/* core/coll/transport.h - how ranks reach each other: the table of transports with what each can do as data, and the
 * link that one of them opens for the rank of this process. A link moves bytes in order between pairs of ranks and says
 * when the team is stopped; schedules, types and the order of sums stand above it (remote.h), so that results have the
 * same bits on all of them.
 * The ranks of one process need no link: they read each other's memory (team.h). */
#ifndef CORE_COLL_TRANSPORT_H
#define CORE_COLL_TRANSPORT_H
#include "core/coll/engine.h"

typedef struct coll_link coll_link;

typedef struct coll_link_ops {
  /* As many of the bytes as go now, without waiting. A piece that follows others (`more`) need not be told of yet. */
  size_t (*write)(coll_link *l, int32_t peer, const void *data, size_t bytes);
  size_t (*read)(coll_link *l, int32_t peer, void *data, size_t bytes);
  /* Waits a little for something to change; `idle` counts the calls since something did. Returns by `until_ns`
   * (clock_ns). */
  void (*wait)(coll_link *l, uint32_t idle, int64_t until_ns);
  /* Tells all other ranks that the team is stopped, as well as it can be done without waiting. */
  void (*stop)(coll_link *l, tsr_code code, const char *cause);
  /* Has another rank stopped the team? `cause` holds 512 bytes. */
  bool (*stopped)(coll_link *l, tsr_code *code, char *cause);
  /* Milliseconds since a rank was last seen at work in a call; -1: not known. */
  int64_t (*silent_ms)(const coll_link *l, int32_t peer);
  /* What the link consists of, for reports: "shared memory", "MPI messages". */
  const char *(*path)(const coll_link *l, int32_t peer);
  /* A link between some of the ranks, members[0..n) in the new order, the caller's among them. `number` tells links of
   * the same ranks apart: no less than next_number of any of them, and the same on all. */
  int32_t (*next_number)(const coll_link *l);
  tsr_status (*split)(coll_link *l, const int32_t *members, int32_t n, int32_t number, int64_t deadline_ms,
                      coll_link **out);
  void (*close)(coll_link **l);
} coll_link_ops;

struct coll_link {
  const coll_link_ops *ops;
  int32_t rank, n_ranks;
  bool one_thread; /* it may be used by the thread that opened it alone */
};

/* What a transport is opened with. */
typedef struct coll_open {
  const tsr_allocator *al;
  const void *handle;  /* the host program's: the address of an MPI_Comm; NULL: the engine's own start */
  int64_t deadline_ms; /* 0: 30,000 */
} coll_open;

typedef struct coll_transport {
  const char *name, *help;
  bool processes;      /* ranks are processes, on one machine or several */
  bool device_memory;  /* it takes addresses of a device's memory */
  bool stream_ordered; /* a call is put on a stream, its end is an event */
  bool abortable;      /* a call that waits for a dead rank can be ended */
  bool fixed_order;    /* it runs our schedules: sums in the fixed tree's order */
  uint32_t ops;        /* COLL_BIT of what it does */
  /* NULL: it needs none, the ranks are threads. TSR_UNAVAILABLE with what is missing. */
  tsr_status (*open)(const coll_open *o, coll_link **out);
  /* NULL: it runs our schedules. Else whole collectives, between ranks of a team of another transport. */
  const coll_engine_ops *engine;
} coll_transport;
#endif
