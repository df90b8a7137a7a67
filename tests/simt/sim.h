/* tests/simt/sim.h - the emulator's state, shared by its source files; see simt.h for what it does.
 *
 * The unit that runs at once is a cluster (one block where there are none). Every thread has a vector clock over the
 * threads of the cluster and its mbarriers' asynchronous agents; barriers join clocks; each byte of shared memory and
 * of written global memory remembers its last write and the reads since, so that a race is found in whatever order the
 * fibers ran. */
#ifndef TSR_SIM_H
#define TSR_SIM_H
#include "tests/simt/simt.h"

enum {
  SIM_MAX_THREADS = 2048,
  SIM_MAX_WARP = 64,
  SIM_MAX_BARS = 128,
  SIM_MAX_NAMED = 16,
  SIM_LOG = 256,
  SIM_MAX_BLOCKS = 16,
  WGMMA_HISTORY = 64
};

typedef struct fiber fiber;
typedef enum wait_kind {
  WAIT_NONE,
  WAIT_BARRIER,
  WAIT_NAMED,
  WAIT_WARP,
  WAIT_MBAR,
  WAIT_CLUSTER,
  WAIT_REGISTERS,
  WAIT_EXITED
} wait_kind;

/* What a lane brings to a collective of its warp. */
typedef enum warp_op {
  OP_SYNC,
  OP_SHUFFLE,
  OP_BALLOT,
  OP_ELECT,
  OP_LDMATRIX,
  OP_STMATRIX,
  OP_MMA,
  OP_WGMMA,
  OP_WGMMA_FENCE,
  OP_WGMMA_COMMIT,
  OP_WGMMA_WAIT,
  OP_SETMAXNREG,
  OP_MFMA,
  OP_WMMA,
  OP_LDS_LOAD,
  OP_WAITCNT
} warp_op;
typedef struct warp_call {
  warp_op op;
  int line, i0, i1, i2;
  uint64_t bits;
  const void *p0, *p1, *p2, *p3;
  void *out;
} warp_call;

typedef struct shared_access { int line, bytes; uint32_t at; bool write; } shared_access;

typedef struct copy_op { /* one cp.async of a thread */
  uint8_t *to;
  const uint8_t *from;
  int bytes, valid, group, line;
} copy_op;

typedef struct sim_block sim_block;
typedef struct sim_warp sim_warp;
typedef struct sim_thread {
  fiber *f;
  sim_block *block;
  sim_warp *warp;
  int id, in_block, lane, pos[3]; /* id: in the cluster */
  wait_kind wait;
  int wait_line, wait_arg, wait_parity;
  void *wait_on;
  warp_call call;
  uint32_t *clock;       /* vector clock; own entry clock[id] */
  uint32_t *fence_clock; /* what was known at the last async proxy fence */
  copy_op *copies;       /* cp.async in flight, oldest first */
  int n_copies, cap_copies, copy_group;
  int store_group;       /* TMA store groups committed */
  int cluster_arrivals, cluster_waits; /* halves of cluster barriers passed */
  int n_log;
  shared_access log[SIM_LOG]; /* last: what a new block's thread leaves as it was */
} sim_thread;

typedef struct wgmma_op wgmma_op;
typedef struct lds_op { uint8_t *to; const uint8_t *from[SIM_MAX_WARP]; int bytes, line; } lds_op;
struct sim_warp {
  sim_block *block;
  sim_thread *lanes[SIM_MAX_WARP];
  int n_lanes, in_block, registers;
  wgmma_op *wgmma; /* in flight, oldest first */
  int n_wgmma, cap_wgmma, wgmma_group, wgmma_count, wgmma_lines[WGMMA_HISTORY];
  bool wgmma_fenced, registers_set;
  lds_op *lds;
  int n_lds, cap_lds;
};

typedef struct sim_mbar {
  sim_block *block;
  uint32_t at; /* offset in shared memory */
  int count, pending;
  long tx;
  unsigned phase; /* completed phases */
  int agent;      /* component of the clocks; data landing in phase p has clock p + 1 there */
  int init_thread;
  uint32_t init_clock;
  bool fenced;    /* since the initialisation */
  struct { int thread; uint32_t clock; int line; } remote[SIM_MAX_BLOCKS]; /* the last arrival from each other block */
  uint32_t *gather, *done; /* clocks released into the running phase; of the last complete one */
} sim_mbar;

typedef struct tma_op {
  bool store, committed, landed, read_done;
  emu_tensor_map map;
  int coord[5];
  sim_block *block; /* load: destination */
  uint32_t at;
  sim_mbar *bar;
  sim_thread *by;
  int group, line;
} tma_op;

typedef struct sim_named { int threads, arrived, line; uint32_t *gather; } sim_named;

typedef struct reader { uint16_t thread, line; uint32_t clock; } reader;
enum { CELL_WRITTEN = 1, CELL_IN_FLIGHT = 2, CELL_GENERIC = 4, CELL_MBAR = 8 };
typedef struct cell { /* what is known of bytes that were only ever touched together */
  uint8_t state, reading; /* reading: asynchronous reads in flight */
  uint16_t w_thread, w_line;
  uint16_t n_readers, cap_readers;
  uint32_t w_clock, w_cluster, r_cluster; /* global memory: cluster + 1 of the last write, of the last read */
  reader one, *readers;
} cell;
typedef struct shadow_map { /* of a stretch of memory, see shadow.c */
  cell *cells;
  uint8_t *cuts;
  size_t grains;
} shadow_map;

struct sim_block {
  int index, pos[3], rank; /* linear index; rank in the cluster */
  sim_thread *threads;
  int n_threads, n_live, n_warps, n_barrier;
  sim_warp *warps;
  uint8_t *shared;
  shadow_map shadow;
  sim_named named[SIM_MAX_NAMED];
  struct {
    int thread;
    uint32_t clock;
    int line;
  } stored[SIM_MAX_BLOCKS]; /* the last remote store from each other block */
};

typedef struct sim_range { emu_range r; shadow_map shadow; } sim_range; /* of what may be written */

typedef struct sim {
  const emu_run_desc *d;
  emu_report *report;
  void (*entry)(void **);
  int grid[3], block[3], cluster[3], warp, banks, n_threads, n_blocks,
      n_comp; /* of the cluster; n_comp: clock components */
  uint32_t cluster_index;
  sim_block blocks[SIM_MAX_BLOCKS];
  sim_thread *threads[SIM_MAX_THREADS];
  sim_thread *now;
  sim_mbar bars[SIM_MAX_BARS];
  int n_bars;
  tma_op *tma;
  int n_tma, cap_tma;
  sim_range *ranges;
  uint32_t *join; /* scratch clock */
  int last_site;  /* of the report, counted last */
  int n_cluster;       /* threads that arrived at the running cluster barrier */
  int cluster_phase;   /* complete cluster barriers */
  uint32_t *cluster_gather, *cluster_done; /* clocks brought to the running one; of the last complete one */
  bool stop;
  unsigned random;
  uint8_t *shared_base;
  size_t shared_stride;
} sim;
extern sim S;

/* fiber.c */
fiber *fiber_get(int index, void (*run)(void *), void *arg); /* a fresh fiber on the index-th stack */
void fiber_enter(fiber *f);                                  /* scheduler -> fiber, until it leaves */
void fiber_leave(void);                                      /* fiber -> scheduler */
bool fiber_owns(const void *p);                              /* on some fiber's stack */

/* report.c */
void sim_find(emu_kind kind, int line, int other_line, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
_Noreturn void sim_stop(void); /* abandons the launch from inside a fiber */

/* sched.c */
void sim_block_on(wait_kind k, void *on, int line); /* suspends the running thread until its wait is cleared */
void clock_join(uint32_t *to, const uint32_t *from);
void clock_tick(sim_thread *t);

/* shadow.c */
void shadow_map_make(shadow_map *m, size_t bytes);
void shadow_map_clear(shadow_map *m); /* as made */
void shadow_map_drop(shadow_map *m);
void shadow_mbar(sim_block *b, uint32_t at); /* 8 bytes become an mbarrier */
sim_block *shadow_block_of(const void *p);
uint32_t shadow_offset(const void *p, int bytes, int line); /* in its block's shared memory; stops where it isn't */
void shadow_global(const void *p, int bytes, bool write, int line);
void shadow_shared(sim_thread *t, sim_block *b, uint32_t at, int bytes, bool write, int line);
void shadow_async_begin(sim_thread *t, sim_block *b, uint32_t at, int bytes, int line); /* poison: data is on its way */
void shadow_async_end(sim_thread *t, int agent, sim_block *b, uint32_t at, int bytes, int line); /* landed */
void shadow_async_read(sim_thread *t, sim_block *b, uint32_t at, int bytes,
                       int line); /* starts reading through the async proxy */
void shadow_async_read_end(sim_thread *t, sim_block *b, uint32_t at, int bytes, int line);

/* banks.c */
void banks_log(sim_thread *t, uint32_t at, int bytes, bool write, int line);
void banks_flush(sim_warp *w);
void banks_count(int line, int bytes, bool write, const uint32_t *at, int n); /* one warp-wide access */

/* collect.c: runs the collective when the last lane arrives */
void warp_collect(const warp_call *c);

/* the collectives, once all lanes have arrived */
void warp_mma(sim_warp *w), warp_ldmatrix(sim_warp *w), warp_stmatrix(sim_warp *w);
void warp_wgmma(sim_warp *w), warp_wgmma_commit(sim_warp *w), warp_wgmma_wait(sim_warp *w),
    warp_wgmma_fence(sim_warp *w);
void wgmma_check_register(const void *p,
                          int line); /* a thread touches its registers in memory: are they an accumulator in flight? */
void warp_setmaxnreg(sim_warp *w);
void warp_mfma(sim_warp *w), warp_wmma(sim_warp *w), warp_lds_load(sim_warp *w), warp_waitcnt(sim_warp *w);

/* mbar.c, tma.c */
sim_mbar *mbar_at(sim_block *b, uint32_t at);
bool mbar_ready(const sim_mbar *m, int parity);
void mbar_complete_tx(sim_mbar *m, long bytes);
void mbar_block_exit(sim_block *b);
void cluster_block_exit(sim_block *b);
bool tma_land_one(void); /* lets one copy land; false if none is in flight */
void tma_block_exit(sim_block *b);
int registers_at_launch(int threads);
bool registers_free(sim_warp *w, int registers);

/* fp.c: elements of a type at an index of packed memory, as doubles; storing rounds */
int fp_bits(int type);
double fp_get(const void *p, int type, int index);
void fp_put(void *p, int type, int index, double v);
/* acc plus n products of fp8 as a tensor core adds them that keeps so many bits (0: exactly). */
double fp_f8_sum(double acc, const double *products, int n, int bits);
#endif
