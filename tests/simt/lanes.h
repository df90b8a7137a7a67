/* tests/simt/lanes.h - where the lanes' values of a matrix instruction belong, by the lane maps of its row
 * (core/device/matrix_instr.c); test_simt_lanes.c holds them against the vendors' figures. */
#ifndef TSR_SIMT_LANES_H
#define TSR_SIMT_LANES_H
#include "core/device/matrix_instr.h"
#include "tests/simt/simt_rt.h"

enum { LANES_MOST = 64 * 64 };
typedef struct lane_places {
  int values[3]; /* of a lane, of a, b and c */
  short at[3][LANES_MOST]
          [2]; /* of value e of lane l, at l * values + e: (m, k), (n, k), (m, n); wgmma: of the first warp */
} lane_places;

/* Of a shape that the emulator runs, which may be one that no row has: maps serve all depths. arch: NULL = any. NULL
 * where the kind has none of these rows and types. */
const lane_places *lane_places_of(matrix_kind kind, const emu_mma_desc *d, const char *arch);

#endif
