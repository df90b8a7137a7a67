/* tests/simt/lanes.c - see lanes.h. */
#include "tests/simt/lanes.h"

#include <stdlib.h>
#include <string.h>

static tsr_dtype dtype_of(int type) {
  switch (type) {
  case EMU_F64: return TSR_F64;
  case EMU_F32: return TSR_F32;
  case EMU_TF32: return TSR_TF32;
  case EMU_F16: return TSR_F16;
  case EMU_BF16: return TSR_BF16;
  case EMU_I8: return TSR_I8;
  case EMU_U8: return TSR_U8;
  case EMU_E5M2: case EMU_E5M2_FNUZ: return TSR_F8E5M2;
  default: return TSR_F8E4M3;
  }
}

typedef struct entry { matrix_kind kind; emu_mma_desc d; const char *arch; lane_places places; } entry;

static entry *made[256]; /* kept: a test has few shapes; launches come one at a time */
static int n_made;

const lane_places *lane_places_of(matrix_kind kind, const emu_mma_desc *d, const char *arch) {
  for (int i = 0; i < n_made; i++)
    if (made[i]->kind == kind && !memcmp(&made[i]->d, d, sizeof *d) && made[i]->arch == arch) return &made[i]->places;
  const lane_map *map = matrix_instr_maps(kind, d->m, dtype_of(d->a), arch);
  if (!map) return NULL;
  matrix_instr x = {.kind = kind, .m = d->m, .n = {d->n}, .k = d->k, .a = dtype_of(d->a), .b = dtype_of(d->b),
                    .c = dtype_of(d->c), .wave = kind == MATRIX_MFMA ? 64 : 32, .map = map};
  entry *e = calloc(1, sizeof *e);
  if (!e || n_made == (int)(sizeof made / sizeof *made)) abort();
  *e = (entry){.kind = kind, .d = *d, .arch = arch};
  for (int of = 0; of < 3; of++) {
    if (!map[of].lanes[0]) continue; /* in shared memory */
    int n = e->places.values[of] = matrix_instr_values(&x, of), at[2];
    if (n < 1 || n * x.wave > LANES_MOST) abort();
    for (int i = 0; i < n * x.wave; i++) {
      matrix_instr_place(&x, of, i / n, i % n, at);
      for (int k = 0; k < 2; k++) e->places.at[of][i][k] = (short)at[k];
    }
  }
  made[n_made++] = e;
  return &e->places;
}
