/* core/passes/tile/attention_scores.h - one kernel of the family attention, or of its gradients, under construction:
 * memory, windows, loops, scores and the online softmax. */
#ifndef CORE_PASSES_TILE_ATTENTION_SCORES_H
#define CORE_PASSES_TILE_ATTENTION_SCORES_H
#include "core/passes/tile/build.h"

/* Memory of operands and results. LSE is a result, and read by the gradients' kernel. */
enum {
  ATTEND_Q,
  ATTEND_K,
  ATTEND_V,
  ATTEND_BIAS,
  ATTEND_LENGTHS,
  ATTEND_OUT,
  ATTEND_LSE,
  ATTEND_DY,
  ATTEND_SHIFT,
  ATTEND_DQ,
  ATTEND_DK,
  ATTEND_DV,
  ATTEND_N_MEMORIES
};
enum { ATTEND_BATCH, ATTEND_HEAD, ATTEND_PLACE, ATTEND_WIDTH, ATTEND_RANK };

/* A tile of an operand as a product reads it. */
typedef struct attend_side {
  ir_value *v;
  bool flipped; /* its columns are neighbours in memory, and so the tile's rows */
} attend_side;

typedef struct attend {
  kb_kernel *k;
  graph_attention x; /* with `one_place`, rows of q are heads that share keys: m of them, and kv_heads heads */
  tsr_dtype t;       /* of q, k and v */
  kb_mem mem[ATTEND_N_MEMORIES]; /* arg is NULL of those that there are not */
  bool cpu, direct, scales_queries; /* direct: products read q, k and v where they are */
  bool one_place;    /* all rows of the block stand at one place */
  bool hides_rows;   /* a row may see no key at all: it gives 0 */
  bool may_miss;     /* nor any of the keys so far */
  bool rows_end;     /* rows of a tile behind the last query take part in sums over rows: they see no key */
  int64_t bm, bn, places;  /* places: how many queries stand at the last keys */
  int64_t parts, per_part; /* parts of the keys, and keys of each */
  kb_space rows;     /* of the result: where the block's queries stand */
  ir_value *kv_head, *part, *keys, *first; /* keys: how many there are; first: the place of the block's first query
                                            * among them, may be negative */
  double room; /* c */
  attend_side q;
} attend;

/* What is carried from tile to tile, forward. */
enum { ATTEND_TOP, ATTEND_SUM, ATTEND_ACC, ATTEND_N_CARRIED };

/* Where the operands lie, and those results that anybody reads. */
tsr_status attend_find_memory(attend *a, const ir_op *op);
/* All places of all heads, in tiles of tm by tn. */
kb_space attend_space(const attend *a, int64_t heads, int64_t places, int64_t width, int64_t tm, int64_t tn);
/* How many keys there are, 0 to n: a number of the entry, and perhaps of the head. */
ir_value *attend_key_count(attend *a);
/* acc + x y; x y^T where by_rows. */
ir_value *attend_gemm(attend *a, ir_value *acc, const attend_side *x, const attend_side *y, bool by_rows);
/* The window of a memory for the tile of s. */
tsr_status attend_window(attend *a, int memory, const kb_space *s, attend_side *out);
/* for (at = from; at < to; at += step) body: from -> to of the n_carried values. */
typedef tsr_status (*attend_body)(attend *a, ir_value *at, const void *user, ir_value *const *from, ir_value **to);
typedef struct attend_loop {
  ir_value *from, *to;
  int64_t step;
  int n_carried;
  bool staged; /* through shared memory, pipelined */
  attend_body body;
  const void *user;
} attend_loop;
tsr_status attend_for(attend *a, const attend_loop *l, ir_value **carried);

/* Is place n of no tile's end, so that the last tile holds what is no key? */
static inline bool attend_has_tail(const attend *a) { return a->mem[ATTEND_LENGTHS].arg || a->x.n % a->bn; }
/* What becomes of the products s of the queries with the keys from `keys` on. all_seen: no place hides one. */
tsr_status attend_adjust(attend *a, ir_value *keys, bool all_seen, ir_value **s);
/* exp(x - top); max(top, more + c); what is subtracted from scores below top; old * shrink + more; p as operands are.
 */
ir_value *attend_exp_below(kb_kernel *k, ir_value *x, ir_value *top);
ir_value *attend_raised(attend *a, ir_value *top, ir_value *more);
ir_value *attend_base(attend *a, ir_value *top);
ir_value *attend_fused_sum(kb_kernel *k, ir_value *old, ir_value *shrink, ir_value *more);
ir_value *attend_narrowed(attend *a, ir_value *p);
/* acc / l, of queries that saw no key 0; t + log l. */
ir_value *attend_average(attend *a, ir_value *const *carried);
ir_value *attend_log_sum(attend *a, ir_value *const *carried);
#endif
