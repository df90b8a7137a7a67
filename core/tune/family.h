/* core/tune/family.h - what a kernel family adds to the tuner: its problem, work, search space, resources and cost. A
 * row of core/ir/kernel_family.h says what it is tuned as; that stands in family_NAME.c as tune_family_NAME;
 * core/tune/families.h has the table. Nothing else in this room asks which family a problem is of. */
#ifndef CORE_TUNE_FAMILY_H
#define CORE_TUNE_FAMILY_H
#include <stdio.h>

#include "core/base/int_math.h"
#include "core/device/caps.h"
#include "core/ir/schedule/schedule.h"
#include "core/tune/cost_parts.h"
#include "core/tune/space.h"

typedef struct tune_knob_row {
  sched_knob_id knob;
  bool keeps_order; /* of every sum; vectorize and warps move it in a GPU's row reductions */
  int32_t n;
  int32_t value[12];
} tune_knob_row;
enum { TUNE_PER_CORE = -1 }; /* in place of a value: as many as the device has cores */

typedef struct tune_knob_rows {
  const tune_knob_row *row;
  int32_t n;
} tune_knob_rows;
#define TUNE_KNOB_ROWS(rows) {rows, sizeof rows / sizeof *rows}

/* None is NULL unless it says what that means. */
typedef struct tune_family {
  /* Those of a problem that tell it apart, in the order of its name: of b, m, n, k; b only above 1. */
  const char *extents;

  /* What p, all 1 and with the types of the first operand and result, has of the kernel's space. False: nothing to
   * tune. NULL: no schedule.kernel is of it. */
  bool (*problem)(const ir_op *kernel, const int64_t *space, tune_problem *p);
  /* Arithmetic and the least traffic. */
  double (*flops)(const tune_problem *p), (*bytes)(const tune_problem *p);
  /* "128x128x64" */
  void (*tile)(const tune_problem *p, const tune_config *c, char *out, size_t out_bytes);

  tune_knob_rows knobs[2]; /* of GPUs, of CPUs; none: such kernels are estimated, never searched */
  /* What a launch has without tuning; the lowering's own default replaces it through space_options. On entry what
   * families share. */
  void (*untuned)(const tune_device *d, const tune_problem *p, tune_config *c);
  /* c.m of the lowering's own blocks where no schedule says it; NULL: 0. */
  int64_t (*block)(const ir_op *kernel, const tsr_caps *caps);
  /* Values besides those of the row and of the default, v. NULL: none. */
  void (*widen)(const tune_space *s, sched_knob_id knob, int32_t v, space_knob *k);
  /* Names the limit that prunes, but for what resources it takes. */
  bool (*legal)(const tune_space *s, const tune_config *c, char *why, size_t why_bytes);

  /* Registers per thread besides addresses, shared bytes of a block, ways of the worst bank conflict; see occupancy.h.
   * bank_ways NULL: nothing is staged in banks. */
  int64_t (*regs)(const tune_device *d, const tune_problem *p, const tune_config *c, int64_t threads);
  int64_t (*shared_bytes)(const tune_problem *p, const tune_config *c);
  int32_t (*bank_ways)(const tune_device *d, const tune_problem *p, const tune_config *c);
  /* Sets what the kernel is made of, see cost_parts.h. */
  void (*cost)(const cost_task *x, cost_estimate *e);
} tune_family;

/* What every family that is searched for defines, by these names in its file. */
#define TUNE_FAMILY_OWN                                                                                        \
  .problem = problem, .flops = flops, .bytes = bytes, .tile = tile, .untuned = untuned, .legal = legal,       \
  .knobs = {TUNE_KNOB_ROWS(on_gpu), TUNE_KNOB_ROWS(on_cpu)}, .regs = regs, .shared_bytes = shared_bytes

/* ---- for the families' rules ------------------------------------------------------------------------------------- */

/* In a legal(): why not, if anybody asks, and false. */
#define TUNE_REFUSE(...)                                  \
  do {                                                    \
    if (why_bytes) snprintf(why, why_bytes, __VA_ARGS__); \
    return false;                                         \
  } while (0)
/* What an unset extent counts as. */
static inline double tune_rows(const tune_problem *p) { /* of a batch */
  return (double)(p->batch > 0 ? p->batch : 1) * (double)(p->m > 0 ? p->m : 1);
}
static inline int64_t tune_threads(const tune_space *s, const tune_config *c) {
  return (int64_t)(c->warps > 0 ? c->warps : 1) * s->device.warp_size;
}
/* A tile beyond the problem only adds padding, but the smallest listed one always stays. */
static inline bool tune_is_beyond(int64_t tile, int64_t extent, int64_t smallest) {
  return tile > smallest && tile > pow2_ceil(extent);
}
/* Of kernels that read a stream of elements: one access, and the tile along the first knob within `extent`. */
static inline bool tune_stream_legal(const tune_space *s, const tune_config *c, int64_t extent, char *why,
                                     size_t why_bytes) {
  if (!s->device.is_cpu && c->vectorize * (int64_t)tsr_dtype_size(s->problem.in) > 16)
    TUNE_REFUSE("vector wider than 16 bytes");
  if (tune_is_beyond(c->m, extent, s->knob[0].value[0])) TUNE_REFUSE("tile is larger than the problem");
  return true;
}
#endif
