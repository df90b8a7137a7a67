/* The AMX tile instructions in plain C, after the operation sections of the Intel SDM, for tests on machines without
 * AMX. Eight full-size tiles per thread; a tile's number must be a constant below 8, as in the real instructions. */
#ifndef BACKENDS_CPU_KERNELS_AMX_EMULATED_H
#define BACKENDS_CPU_KERNELS_AMX_EMULATED_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static _Thread_local uint8_t amx_tiles[8][16][64];

static inline void amx_zero(int t) { memset(amx_tiles[t], 0, sizeof amx_tiles[t]); }
static inline void amx_load(int t, const void *p, size_t stride) {
  for (int r = 0; r < 16; r++) memcpy(amx_tiles[t][r], (const char *)p + r * (ptrdiff_t)stride, 64);
}
static inline void amx_store(int t, void *p, size_t stride) {
  for (int r = 0; r < 16; r++) memcpy((char *)p + r * (ptrdiff_t)stride, amx_tiles[t][r], 64);
}
/* C[m][n] += sum over k groups and i of A[m][4k + i] B[k][4n + i]. */
static inline void amx_dp_bytes(int c, int a, int b, int a_signed) {
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 16; n++) {
      uint32_t s;
      memcpy(&s, &amx_tiles[c][m][4 * n], 4);
      for (int k = 0; k < 16; k++)
        for (int i = 0; i < 4; i++) {
          int x = amx_tiles[a][m][4 * k + i];
          if (a_signed) x = (int8_t)x;
          s += (uint32_t)(x * (int8_t)amx_tiles[b][k][4 * n + i]);
        }
      memcpy(&amx_tiles[c][m][4 * n], &s, 4);
    }
}
/* Denormals, as operands and as results, are zeros. */
static inline float amx_flushed(float f) { return fabsf(f) < 0x1p-126f ? copysignf(0, f) : f; }
static inline float amx_bf16(const uint8_t *p) {
  uint16_t h;
  float f;
  memcpy(&h, p, 2);
  uint32_t u = (uint32_t)h << 16;
  memcpy(&f, &u, 4);
  return amx_flushed(f);
}
/* Even and odd products are summed apart and added at the end of each row of k, as the SDM has it. */
static inline void amx_dp_bf16(int c, int a, int b) {
  for (int m = 0; m < 16; m++)
    for (int n = 0; n < 16; n++) {
      float s, even = 0, odd = 0;
      memcpy(&s, &amx_tiles[c][m][4 * n], 4);
      for (int k = 0; k < 16; k++) {
        even = amx_flushed(fmaf(amx_bf16(&amx_tiles[a][m][4 * k]), amx_bf16(&amx_tiles[b][k][4 * n]), even));
        odd = amx_flushed(fmaf(amx_bf16(&amx_tiles[a][m][4 * k + 2]), amx_bf16(&amx_tiles[b][k][4 * n + 2]), odd));
      }
      s = amx_flushed(amx_flushed(s) + amx_flushed(even + odd));
      memcpy(&amx_tiles[c][m][4 * n], &s, 4);
    }
}

#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbf16ps
#undef _tile_dpbssd
#undef _tile_dpbusd
#define _tile_zero(t) amx_zero(t)
#define _tile_loadd(t, p, stride) amx_load(t, p, stride)
#define _tile_stored(t, p, stride) amx_store(t, p, stride)
#define _tile_dpbf16ps(c, a, b) amx_dp_bf16(c, a, b)
#define _tile_dpbssd(c, a, b) amx_dp_bytes(c, a, b, 1)
#define _tile_dpbusd(c, a, b) amx_dp_bytes(c, a, b, 0)

#endif
