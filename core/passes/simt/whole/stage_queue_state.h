/* core/passes/simt/whole/stage_queue_state.h - what the files of the sm_90a stage queue of TMA and wgmma share; see
 * simt/whole/stage_queue.c. */
#ifndef CORE_PASSES_SIMT_WHOLE_STAGE_QUEUE_STATE_H
#define CORE_PASSES_SIMT_WHOLE_STAGE_QUEUE_STATE_H
#include "core/ir/tile/overlap.h"
#include "core/passes/simt/state.h"
#include "core/passes/simt/whole/tma.h"

enum {
  STAGE_QUEUE_MAX_TILES = 8,
  PER_LINE = SIMT_TMA_LINE / 2,
  GROUP_ROWS = 64,
  GROUP_THREADS = 128
};

typedef struct stage_queue_tile {
  const ir_value *shared; /* the alloc's result */
  const ir_op *window;
  ir_value *arg;          /* of the kernel, whose memory is looked at as `view` */
  const ir_type *view;
  bool streamed;          /* in the loop: one per stage */
  int64_t rows, cols, at; /* at: bytes from the start, or within a stage */
  ir_value *map, *ptr;
} stage_queue_tile;

struct simt_stage_queue {
  const ir_op *loop;
  stage_queue_tile tile[STAGE_QUEUE_MAX_TILES];
  int n, consumers, stages;
  int64_t sums; /* registers of accumulators, and of A where it lies in registers */
  int64_t once_bytes, stage_bytes, at_full, at_empty, at_once, shared;
  ir_value *full, *empty, *once, *stage, *phase;
  bool has_once, waited;
  /* overlap (simt/whole/stage_queue_overlap.c): the last gemm of an iteration runs beside the next one's first gemm and
   * the ops after that */
  bool overlaps;
  tile_overlap overlap;
};

stage_queue_tile *simt_stage_queue_tile(struct simt_stage_queue *r,
                                        const ir_value *v); /* NULL: not a tile that TMA copies */
static inline bool simt_stage_queue_is(const ir_op *op, int code) {
  return op && op->def->level == IR_TILE && op->def->code == code;
}

/* A gemm under way: `pending` of simt_stage_queue_finish later groups may still be when its sums are read. */
typedef struct stage_queue_product {
  const simt_layout *layout;
  tsr_dtype dtype;
  ir_value *sums, *a; /* register arrays; a NULL = A is a tile */
  int n;
} stage_queue_product;

/* a: the registers of A, g->k / 4 of them; NULL = A is a tile. */
tsr_status simt_stage_queue_issue(simt *c, const simt_gemm *g, const simt_frag *acc, ir_value *const *a,
                                  stage_queue_product *out);
tsr_status simt_stage_queue_finish(simt *c, const stage_queue_product *p, int pending, simt_frag *out);
/* A's registers, four a step, of an accumulator f. */
tsr_status simt_stage_queue_pack(simt *c, const simt_gemm *g, const simt_frag *f, ir_value **out);

/* Says in r whether the loop can overlap, and lowers it so; the caller has made sure that it runs at least once. */
void simt_stage_queue_plan_overlap(struct simt_stage_queue *r, int registers);
tsr_status simt_stage_queue_overlap(simt *c, ir_op *op);
void simt_stage_queue_release(simt *c, ir_value *stage); /* this warp has read a stage */
void simt_stage_queue_advance(simt *c, const struct simt_stage_queue *r, ir_value **next);

#endif
