/* core/ir/schedule/knobs.h - the knobs of a schedule, one row each. From the rows are made sched_params, the primitives
 * of Schedule IR with their checks, the fields of tsr_schedule and how they are judged, the tuner's config with the
 * text of caches and records, and `tessera knobs --schedule`. A knob has one name in all of them. */
#ifndef CORE_IR_SCHEDULE_KNOBS_H
#define CORE_IR_SCHEDULE_KNOBS_H
#include "core/base/str.h"
#include "core/ir/kernel_family.h"
#include "core/ir/matrix_path.h"
#include "tessera/tessera.h"

/* X(name, primitive, attribute, kind, least, most, default, spaces, on a CPU, what it is). Kinds:
 *   COUNT    a number from least to most; 0 = not set
 *   POWER    the same, powers of two
 *   PADDING  the same from 0 on; -1 = none, asked for explicitly
 *   SWITCH   1 on, -1 off, 0 = not set
 *   PATH     a word of MATRIX_PATHS, NULL = not set
 *   FLAG     a promise rather than a choice: no knob of the tuner
 * default: of the attribute when the primitive is written without it; NULL: it can't be.
 * spaces: of the kernel families that the tuner moves it for. On a CPU: the lowering there reads it. */
#define SCHED_TILE_KNOBS(X)                                                                                            \
  X(m, S_TILE, "m", COUNT, 1, 1 << 24, NULL, FOR_ALL, true, "rows of the block tile (elements per block for elementwise kernels)")             \
  X(n, S_TILE, "n", COUNT, 1, 1 << 24, "1", FOR_PRODUCTS, true, "columns of the block tile")                                                   \
  X(k, S_TILE, "k", COUNT, 1, 1 << 24, "1", FOR_PRODUCTS, true, "depth of one step of the contraction")                                        \
  X(autotune, S_TILE, "autotune", FLAG, 0, 1, "false", FOR_ALL, true, "let the tuner replace this tile")
#define SCHED_VECTORIZE_KNOBS(X)                                                                                       \
  X(vectorize, S_VECTORIZE, "n", POWER, 1, 1024, NULL, FOR_ALL, true, "elements per thread and access")
#define SCHED_SHARED_KNOBS(X)                                                                                          \
  X(use_shared, S_SHARED, "enable", SWITCH, 0, 1, "true", FOR_PRODUCTS, false, "stage tiles through shared memory")                              \
  X(padding, S_SHARED, "padding", PADDING, 0, 1 << 24, "0", FOR_PRODUCTS, false, "elements added to each row against bank conflicts")
#define SCHED_ASYNC_KNOBS(X)                                                                                           \
  X(async_copy, S_ASYNC, "enable", SWITCH, 0, 1, "true", FOR_PRODUCTS, false, "overlap loads with computation")
#define SCHED_STAGES_KNOBS(X)                                                                                          \
  X(pipeline_stages, S_STAGES, "n", COUNT, 1, 16, NULL, FOR_PRODUCTS, false, "buffers of the k loop; 1 = no overlap")
#define SCHED_SPLIT_K_KNOBS(X)                                                                                         \
  X(split_k, S_SPLIT_K, "n", COUNT, 1, 1 << 24, NULL, FOR_PRODUCTS, true, "parts of the contraction computed by different blocks")
#define SCHED_WARPS_KNOBS(X) X(warps, S_WARPS, "n", COUNT, 1, 1 << 24, NULL, FOR_ALL, false, "subgroups per block")
#define SCHED_CLUSTER_KNOBS(X)                                                                                         \
  X(cluster, S_CLUSTER, "n", POWER, 1, SCHED_MOST_CLUSTER, NULL, FOR_ROWS, false, "blocks: 1, 2, 4 or 8")
#define SCHED_STREAM_K_KNOBS(X) X(stream_k, S_STREAM_K, "n", COUNT, 1, 1 << 24, NULL, FOR_PRODUCTS, false, "blocks")
#define SCHED_RASTER_KNOBS(X)                                                                                          \
  X(raster, S_RASTER, "group", COUNT, 1, 1 << 24, NULL, FOR_PRODUCTS, true, "block rows walked together; 1 = plain order")
#define SCHED_MATRIX_PATH_KNOBS(X) \
  X(matrix_path, S_MATRIX_PATH, "path", PATH, 0, 0, NULL, FOR_PRODUCTS, false, SCHED_PATH_WORDS)

/* OP(code, primitive, its knobs, help, more of its ir_opdef): a primitive is written where its first knob is set. */
#define SCHED_PRIMITIVES(OP)                                                                                           \
  OP(S_TILE, "tile", SCHED_TILE_KNOBS, "The block tile of the kernel that computes from these operands. As a result, the tiled contraction itself.", \
     .n_results = IR_VARIADIC, .operands_doc = "operands...", .infer = infer_tile, .implied = implied_tile)                            \
  OP(S_VECTORIZE, "vectorize", SCHED_VECTORIZE_KNOBS, "Vector width of global loads and stores; ragged tails stay correct. On a CPU, from 64 on: elements that an elementwise program takes at once.", .n_results = 0) \
  OP(S_SHARED, "use_shared_memory", SCHED_SHARED_KNOBS, "Staging of operand tiles in shared memory.", .n_results = 0)                   \
  OP(S_ASYNC, "async_copy", SCHED_ASYNC_KNOBS, "Asynchronous copies; emulated by double buffering, and reported so, where the device has none.", .n_results = 0) \
  OP(S_STAGES, "pipeline_stages", SCHED_STAGES_KNOBS, "Depth of the load/compute pipeline.", .n_results = 0)                            \
  OP(S_SPLIT_K, "split_k", SCHED_SPLIT_K_KNOBS, "Splits the contraction; the parts are added in a fixed order.", .n_results = 0)         \
  OP(S_WARPS, "warps", SCHED_WARPS_KNOBS, "Subgroups of a block.", .n_results = 0)                                                      \
  OP(S_CLUSTER, "cluster", SCHED_CLUSTER_KNOBS, "Blocks that hold one row of a reduction kernel together and exchange partial results through each other's shared memory, so that memory is read once.", .n_results = 0) \
  OP(S_STREAM_K, "stream_k", SCHED_STREAM_K_KNOBS, "Shares the k steps of all tiles of a contraction out evenly among n blocks; a tile that is cut is added up by a second kernel in the order of k.", .n_results = 0) \
  OP(S_RASTER, "raster", SCHED_RASTER_KNOBS, "Order in which blocks visit the output, for reuse in the last-level cache.", .n_results = 0) \
  OP(S_MATRIX_PATH, "matrix_path", SCHED_MATRIX_PATH_KNOBS, "Which matrix instruction family to use.", .n_results = 0)

#define SCHED_KNOBS(X)                                                                                                 \
  SCHED_TILE_KNOBS(X) SCHED_VECTORIZE_KNOBS(X) SCHED_SHARED_KNOBS(X) SCHED_ASYNC_KNOBS(X) SCHED_STAGES_KNOBS(X) SCHED_SPLIT_K_KNOBS(X) \
  SCHED_WARPS_KNOBS(X) SCHED_CLUSTER_KNOBS(X) SCHED_STREAM_K_KNOBS(X) SCHED_RASTER_KNOBS(X) SCHED_MATRIX_PATH_KNOBS(X)

#define SCHED_PATH_WORD(name, config, matrix, tiles, whole, allows, help) ", " name help
#define SCHED_PATH_WORDS (&(MATRIX_PATHS(SCHED_PATH_WORD))[2])

enum { SCHED_LEAST_STRIP = 64, SCHED_MOST_CLUSTER = 8 };

/* Zero in any field = "not set": the default of sched_default applies. */
#define SCHED_TYPE_COUNT int64_t
#define SCHED_TYPE_POWER int64_t
#define SCHED_TYPE_PADDING int64_t
#define SCHED_TYPE_SWITCH int
#define SCHED_TYPE_PATH const char *
#define SCHED_TYPE_FLAG bool
#define SCHED_FIELD(name, primitive, attr, kind, ...) SCHED_TYPE_##kind name;
typedef struct sched_params {
  SCHED_KNOBS(SCHED_FIELD)
} sched_params;
#undef SCHED_FIELD

#define SCHED_ID(name, ...) KNOB_##name,
typedef enum sched_knob_id { SCHED_KNOBS(SCHED_ID) N_SCHED_KNOBS } sched_knob_id;
#undef SCHED_ID

typedef enum sched_knob_kind {
  SCHED_COUNT,
  SCHED_POWER,
  SCHED_PADDING,
  SCHED_SWITCH,
  SCHED_PATH,
  SCHED_FLAG
} sched_knob_kind;

typedef struct sched_knob {
  const char *name, *attr;
  int primitive; /* sched_code */
  sched_knob_kind kind;
  int64_t least, most;
  const char *dflt;  /* of the attribute; NULL: required */
  unsigned spaces;   /* 1 << family_space */
  bool on_cpu;
  const char *help;
  size_t at, public_at; /* in sched_params, in tsr_schedule */
} sched_knob;

/* The row of the path that p names; that of "auto" where it names none that there is. */
const matrix_path *sched_path_of(const sched_params *p);

/* N_SCHED_KNOBS rows in the order of sched_knob_id. */
extern const sched_knob sched_knobs[N_SCHED_KNOBS];
const sched_knob *sched_knob_find(const char *name); /* NULL: there is none */
/* Does the tuner move it for kernels tuned as f? */
bool sched_knob_is_for(const sched_knob *k, sched_family f);
const char *sched_knob_names(void);                  /* "m, n, k, ..." */

/* Of all kinds but PATH; as the field has it. */
int64_t sched_get(const sched_knob *k, const sched_params *p);
void sched_set(const sched_knob *k, sched_params *p, int64_t v);
bool sched_is_set(const sched_knob *k, const sched_params *p);
/* "1 to 16", "1, 2, 4, ... 1024", "on, off", "auto, coopmat, ..." */
void sched_knob_values(const sched_knob *k, char *out, size_t cap);
/* Is v, other than "not set", one of them? */
bool sched_knob_takes(const sched_knob *k, int64_t v);

/* A value from text: a number (0 = off, none), on, off, or the name of a path, which then lives as long as the program.
 * TSR_NOT_FOUND, TSR_INVALID_ARGUMENT with what is known in the hint. */
TSR_MUST_USE tsr_status sched_parse(const tsr_allocator *al, const char *name, const char *value, sched_params *p);

bool sched_equal(const sched_params *a, const sched_params *b);
/* Is anything set but a promise to the tuner? */
bool sched_any_set(const sched_params *p);
/* Fields of `over` that are set replace those of `base`. */
void sched_merge(sched_params *base, const sched_params *over);
/* "128x128x64 vectorize=4 pipeline_stages=2 ...": what is set; for reports. */
void sched_print(strb *b, const sched_params *p);

sched_params sched_from_public(const tsr_schedule *s);
tsr_schedule sched_to_public(const sched_params *p);
/* TSR_INVALID_ARGUMENT that names the field and, in its hint, what it takes. */
TSR_MUST_USE tsr_status sched_check(const tsr_allocator *al, const sched_params *p);
#endif
