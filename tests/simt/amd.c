/* tests/simt/amd.c - MFMA, WMMA and direct-to-LDS loads. Lane maps are those of the instructions' rows (lanes.h), held
 * against AMD's Matrix Instruction Calculator by test_simt_lanes.c; f8f6f4's is right for products without scales only,
 * where any order of k that both operands share will do. gfx90a takes subnormal f16 and bf16 as 0, and gives 0 for
 * subnormal sums of them (MIOpen's documentation). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simt/lanes.h"
#include "tests/simt/sim.h"

static bool flushes(const emu_mma_desc *d) { return S.d->mfma_flushes && (d->a == EMU_F16 || d->a == EMU_BF16); }
static double flushed(double x, int type) { return fabs(x) < ldexp(1, type == EMU_F16 ? -14 : -126) ? 0 : x; }

static double tile_a[32][128], tile_b[128][32];

/* a and b from the lanes, and the product back to them. */
static void multiply(sim_warp *w, const emu_mma_desc *d, const lane_places *p) {
  bool flush = flushes(d);
  for (int l = 0; l < w->n_lanes; l++) {
    const warp_call *c = &w->lanes[l]->call;
    for (int i = 0; i < p->values[MATRIX_A]; i++) {
      const short *at = p->at[MATRIX_A][l * p->values[MATRIX_A] + i];
      double v = fp_get(c->p1, d->a, i);
      tile_a[at[0]][at[1]] = flush ? flushed(v, d->a) : v;
    }
    for (int i = 0; i < p->values[MATRIX_B]; i++) {
      const short *at = p->at[MATRIX_B][l * p->values[MATRIX_B] + i];
      double v = fp_get(c->p2, d->b, i);
      tile_b[at[1]][at[0]] = flush ? flushed(v, d->b) : v;
    }
  }
  for (int l = 0; l < w->n_lanes; l++)
    for (int r = 0; r < p->values[MATRIX_C]; r++) {
      const short *at = p->at[MATRIX_C][l * p->values[MATRIX_C] + r];
      double s = fp_get(w->lanes[l]->call.p3, d->c, r);
      for (int k = 0; k < d->k; k++) s += tile_a[at[0]][k] * tile_b[k][at[1]];
      fp_put(w->lanes[l]->call.out, d->c, r, flush ? flushed(s, d->c) : s);
    }
}

void warp_mfma(sim_warp *w) {
  const emu_mma_desc *d = w->lanes[0]->call.p0;
  int e = d->m * d->k / 64;
  if (w->n_lanes != 64 || d->m != d->n || (d->m != 16 && d->m != 32) || d->k > 128 || e < 1 || e * 64 != d->m * d->k) {
    sim_find(EMU_BAD_ARGUMENT, w->lanes[0]->call.line, 0, "no mfma %dx%dx%d on %d lanes", d->m, d->n, d->k, w->n_lanes);
    sim_stop();
  }
  const lane_places *p = lane_places_of(MATRIX_MFMA, d, NULL);
  if (!p) {
    sim_find(EMU_BAD_ARGUMENT, w->lanes[0]->call.line, 0, "no mfma %dx%d of these types", d->m, d->n);
    sim_stop();
  }
  multiply(w, d, p);
}

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
  int gen = w->lanes[0]->call.i0;
  if (w->n_lanes != 32 || d->m != 16 || d->n != 16 || d->k != 16) {
    sim_find(EMU_BAD_ARGUMENT, w->lanes[0]->call.line, 0, "no wmma %dx%dx%d on %d lanes", d->m, d->n, d->k, w->n_lanes);
    sim_stop();
  }
  if (gen == EMU_GFX11) check_halves(w, d);
  multiply(w, d, lane_places_of(MATRIX_WMMA, d, gen == EMU_GFX11 ? "gfx11" : "gfx12"));
}

void emu_mfma(const emu_mma_desc *d, const void *a, const void *b, const void *c, void *out, int line) {
  warp_collect(&(warp_call){.op = OP_MFMA, .line = line, .p0 = d, .p1 = a, .p2 = b, .p3 = c, .out = out});
}

void emu_wmma(const emu_mma_desc *d, int gen, const void *a, const void *b, const void *c, void *out, int line) {
  warp_collect(&(warp_call){.op = OP_WMMA, .line = line, .i0 = gen, .p0 = d, .p1 = a, .p2 = b, .p3 = c, .out = out});
}

/* ---- direct to LDS: lands at the wait that needs it -------------------------------------------------------------- */

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
