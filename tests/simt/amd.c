/* tests/simt/amd.c - MFMA, WMMA and direct-to-LDS loads. Lane maps, held against those of the AMD Matrix Instruction
 * Calculator by test_simt_lanes.c, and the ISA documents:
 * MFMA MxMxK on a wave of 64, e elements of A and B per lane, lane l:
 *   A: row l mod M, k = e (l / M) + i          B: column l mod M, the same k
 *   D: column l mod M, row 4 (64 / M) (r / 4) + 4 (l / M) + r mod 4; f64 16x16x4: row 4 r + l / 16
 * f8f6f4 (gfx950, K 64 and 128): A and B as above is right for products without scales only, where any order of k that
 * both share will do. gfx90a takes subnormal f16 and bf16 as 0, and gives 0 for subnormal sums of them (MIOpen's
 * documentation). WMMA 16x16x16 on a wave of 32: gfx11  A: row l mod 16, k = i (16 elements; lanes 16 to 31 repeat 0 to
 * 15)   D: row 2 r + l / 16, column l mod 16 gfx12  A: row l mod 16, 8 elements; D: row 8 (l / 16) + r, column l
 * mod 16. 8-bit types: k = 8 (l / 16) + i; 16-bit types: k = 8 (i / 4) + 4 (l / 16) + i mod 4 (as B has the same k in
 * the same place, loading 8 neighbours is right too) */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"

static bool flushes(const emu_mma_desc *d) { return S.d->mfma_flushes && (d->a == EMU_F16 || d->a == EMU_BF16); }
static double flushed(double x, int type) { return fabs(x) < ldexp(1, type == EMU_F16 ? -14 : -126) ? 0 : x; }

static void multiply(sim_warp *w, const emu_mma_desc *d, double a[32][128], double b[128][32],
                     int (*row)(const emu_mma_desc *, int lane, int r), int n_out) {
  for (int l = 0; l < w->n_lanes; l++)
    for (int r = 0; r < n_out; r++) {
      int i = row(d, l, r), j = l % d->n;
      double s = fp_get(w->lanes[l]->call.p3, d->c, r);
      for (int k = 0; k < d->k; k++) s += a[i][k] * b[k][j];
      fp_put(w->lanes[l]->call.out, d->c, r, flushes(d) ? flushed(s, d->c) : s);
    }
}

static int mfma_row(const emu_mma_desc *d, int l, int r) {
  if (d->a == EMU_F64) return 4 * r + l / 16;
  return 4 * (64 / d->m) * (r / 4) + 4 * (l / d->m) + r % 4;
}

static double tile_a[32][128], tile_b[128][32];

void warp_mfma(sim_warp *w) {
  const emu_mma_desc *d = w->lanes[0]->call.p0;
  int e = d->m * d->k / 64;
  if (w->n_lanes != 64 || d->m != d->n || (d->m != 16 && d->m != 32) || d->k > 128 || e < 1 || e * 64 != d->m * d->k) {
    sim_find(EMU_BAD_ARGUMENT, w->lanes[0]->call.line, 0, "no mfma %dx%dx%d on %d lanes", d->m, d->n, d->k, w->n_lanes);
    sim_stop();
  }
  for (int l = 0; l < 64; l++)
    for (int i = 0; i < e; i++) {
      int k = e * (l / d->m) + i;
      tile_a[l % d->m][k] = fp_get(w->lanes[l]->call.p1, d->a, i);
      tile_b[k][l % d->n] = fp_get(w->lanes[l]->call.p2, d->b, i);
      if (!flushes(d)) continue;
      tile_a[l % d->m][k] = flushed(tile_a[l % d->m][k], d->a);
      tile_b[k][l % d->n] = flushed(tile_b[k][l % d->n], d->b);
    }
  multiply(w, d, tile_a, tile_b, mfma_row, d->m * d->n / 64);
}

static int wmma11_row(const emu_mma_desc *d, int l, int r) { return 2 * r + l / 16; }
static int wmma12_row(const emu_mma_desc *d, int l, int r) { return 8 * (l / 16) + r; }

/* gfx11 reads both halves of the wave: they must hold the same. */
static void check_halves(const sim_warp *w, const emu_mma_desc *d) {
  size_t bytes = (size_t)(16 * fp_bits(d->a) / 8);
  for (int l = 0; l < 16; l++)
    if (memcmp(w->lanes[l]->call.p1, w->lanes[l + 16]->call.p1, bytes) ||
        memcmp(w->lanes[l]->call.p2, w->lanes[l + 16]->call.p2, bytes)) {
      sim_find(EMU_BAD_ARGUMENT, w->lanes[l]->call.line, 0, "wmma: lane %d doesn't repeat lane %d", l + 16, l);
      return;
    }
}

void warp_wmma(sim_warp *w) {
  const emu_mma_desc *d = w->lanes[0]->call.p0;
  int gen = w->lanes[0]->call.i0, e = gen == EMU_GFX11 ? 16 : 8;
  if (w->n_lanes != 32 || d->m != 16 || d->n != 16 || d->k != 16) {
    sim_find(EMU_BAD_ARGUMENT, w->lanes[0]->call.line, 0, "no wmma %dx%dx%d on %d lanes", d->m, d->n, d->k, w->n_lanes);
    sim_stop();
  }
  if (gen == EMU_GFX11) check_halves(w, d);
  for (int l = 0; l < 32; l++)
    for (int i = 0; i < e; i++) {
      int k = gen == EMU_GFX11 ? i : fp_bits(d->a) == 16 ? 8 * (i / 4) + 4 * (l / 16) + i % 4 : 8 * (l / 16) + i;
      tile_a[l % 16][k] = fp_get(w->lanes[l]->call.p1, d->a, i);
      tile_b[k][l % 16] = fp_get(w->lanes[l]->call.p2, d->b, i);
    }
  multiply(w, d, tile_a, tile_b, gen == EMU_GFX11 ? wmma11_row : wmma12_row, 8);
}

void emu_mfma(const emu_mma_desc *d, const void *a, const void *b, const void *c, void *out, int line) {
  warp_collect(&(warp_call){.op = OP_MFMA, .line = line, .p0 = d, .p1 = a, .p2 = b, .p3 = c, .out = out});
}

void emu_wmma(const emu_mma_desc *d, int gen, const void *a, const void *b, const void *c, void *out, int line) {
  warp_collect(&(warp_call){.op = OP_WMMA, .line = line, .i0 = gen, .p0 = d, .p1 = a, .p2 = b, .p3 = c, .out = out});
}

/* ---- direct to LDS: lands at the wait that needs it
 * ------------------------------------------------------------------------ */

void warp_lds_load(sim_warp *w) {
  const warp_call *first = &w->lanes[0]->call;
  int bytes = first->i0;
  if (bytes != 4 && bytes != 16) sim_find(EMU_BAD_ARGUMENT, first->line, 0, "direct-to-LDS load of %d bytes", bytes);
  if (w->n_lds == w->cap_lds) {
    w->cap_lds = w->cap_lds ? 2 * w->cap_lds : 16;
    w->lds = realloc(w->lds, (size_t)w->cap_lds * sizeof *w->lds);
    if (!w->lds) abort();
  }
  lds_op *o = &w->lds[w->n_lds++];
  *o = (lds_op){.to = (uint8_t *)(uintptr_t)first->p0, .bytes = bytes, .line = first->line};
  uint32_t at = shadow_offset(first->p0, bytes * w->n_lanes, first->line);
  for (int l = 0; l < w->n_lanes; l++) {
    const warp_call *c = &w->lanes[l]->call;
    if (c->p0 != first->p0) {
      sim_find(EMU_BAD_ARGUMENT, c->line, 0, "direct-to-LDS base differs between lanes 0 and %d", l);
      sim_stop();
    }
    o->from[l] = c->p1;
    shadow_global(c->p1, bytes, false, c->line);
    shadow_async_begin(w->lanes[l], w->block, at + (uint32_t)(bytes * l), bytes, c->line);
  }
}

void warp_waitcnt(sim_warp *w) {
  int keep = w->lanes[0]->call.i0;
  if (keep < 0) return;
  int n = w->n_lds - keep;
  for (int i = 0; i < n; i++) {
    lds_op *o = &w->lds[i];
    uint32_t at = (uint32_t)(o->to - w->block->shared);
    for (int l = 0; l < w->n_lanes; l++) {
      memcpy(o->to + o->bytes * l, o->from[l], (size_t)o->bytes);
      shadow_async_end(w->lanes[l], 0, w->block, at + (uint32_t)(o->bytes * l), o->bytes, o->line);
    }
  }
  if (n <= 0) return;
  memmove(w->lds, w->lds + n, (size_t)(w->n_lds - n) * sizeof *w->lds);
  w->n_lds -= n;
}

void emu_lds_load(void *shared_wave_base, const void *global, int bytes, int line) {
  warp_collect(&(warp_call){.op = OP_LDS_LOAD, .line = line, .i0 = bytes, .p0 = shared_wave_base, .p1 = global});
}

void emu_waitcnt(int vmcnt, int lgkmcnt, int line) {
  warp_collect(&(warp_call){.op = OP_WAITCNT, .line = line, .i0 = vmcnt, .i1 = lgkmcnt});
}
