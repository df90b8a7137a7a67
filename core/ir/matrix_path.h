/* core/ir/matrix_path.h - the matrix paths that a schedule, a kernel or TSR_MATRIX may ask for, one row each. Those
 * that a kernel then takes are core/passes/simt/matrix/paths.c. */
#ifndef CORE_IR_MATRIX_PATH_H
#define CORE_IR_MATRIX_PATH_H
#include <stdbool.h>
#include <stdint.h>

/* Lowerings of whole kernels, which come before the paths. */
typedef enum whole_lowering { WHOLE_NONE, WHOLE_WGMMA, WHOLE_DIRECT, WHOLE_PINGPONG } whole_lowering;

/* Numbers of the paths that a search chooses from: a tuner's config has them, so caches and records do, too. */
typedef enum path_config { PATH_NONE = -1, PATH_FMA, PATH_AUTO, PATH_DIRECT, PATH_PINGPONG, PATH_LANE_N } path_config;

/* X(name, number in a tuner's config, matrix instructions, staged tiles, whole kernels by, allows, what it is).
 * "auto" is what a schedule does by itself. allows: what a kernel may take besides fma, names with ',' between them;
 * "*": any, the first that fits. */
#define MATRIX_PATHS(X)                                                                                                \
  X("auto", PATH_AUTO, true, true, WHOLE_WGMMA, "*", "")                                                               \
  X("coopmat", PATH_NONE, true, true, WHOLE_NONE, "coopmat", "")                                                       \
  X("coopmat2", PATH_NONE, true, true, WHOLE_NONE, "coopmat,coopmat2_workgroup", "") /* NV's pieces serve both scopes */ \
  X("coopmat2_workgroup", PATH_NONE, true, true, WHOLE_NONE, "coopmat2_workgroup", "")                                 \
  X("subgroup", PATH_NONE, true, true, WHOLE_NONE, "dot", "")                                                          \
  X("dot", PATH_NONE, true, true, WHOLE_NONE, "dot", "")                                                               \
  X("mma", PATH_NONE, true, true, WHOLE_NONE, "mma", "")                                                               \
  X("wgmma", PATH_NONE, true, true, WHOLE_WGMMA, "wgmma", "")                                                          \
  X("mfma", PATH_NONE, true, true, WHOLE_NONE, "mfma", "")                                                             \
  X("wmma", PATH_NONE, true, true, WHOLE_NONE, "wmma", "")                                                             \
  X("fma", PATH_FMA, false, true, WHOLE_NONE, "", "")                                                                  \
  X("scalar", PATH_NONE, false, true, WHOLE_NONE, "", " (as fma)")                                                     \
  X("gemv", PATH_NONE, false, false, WHOLE_NONE, "", " (at most 4 rows: b is read once)")                              \
  X("direct", PATH_DIRECT, true, true, WHOLE_DIRECT, "*", " (CDNA: operands go straight to LDS)")                      \
  X("pingpong", PATH_PINGPONG, true, true, WHOLE_PINGPONG, "*", " (the same, by two groups of four waves)")            \
  X("lane_n", PATH_LANE_N, true, true, WHOLE_NONE, "lane_n",                                                           \
    " (subgroups that are SIMD registers of a CPU: neighbouring columns in their lanes)")

typedef struct matrix_path {
  const char *name;
  path_config config;
  bool has_matrix; /* it may use matrix instructions */
  bool has_tiles;  /* it stages tiles */
  whole_lowering whole;
  const char *allows;
} matrix_path;

/* NULL: there is no path of that name, of that number. */
const matrix_path *matrix_path_find(const char *name);
const matrix_path *matrix_path_of_config(int64_t number);
/* May a kernel that asks for it take the path of this name? */
bool matrix_path_allows(const matrix_path *asked, const char *name);
/* Does it leave the choice open, to TSR_MATRIX? */
bool matrix_path_is_open(const matrix_path *asked);
#endif
