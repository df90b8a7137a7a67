/* tests/simt/mma.c - ldmatrix, stmatrix and mma.sync. Fragment layouts: PTX ISA, "Warp-level Matrix Load Instruction:
 * ldmatrix"; those of mma.sync are the lane maps of the instructions' rows (lanes.h), held against CuTe's layouts by
 * test_simt_lanes.c. m8n8k4 of f64, which has no row: with g = lane / 4 and c = lane % 4 one element of A (g, c), one
 * of B (c, g), two of C (g, 2c + i). */
#include <string.h>

#include "tests/simt/lanes.h"
#include "tests/simt/sim.h"

static void row_address(const sim_warp *w, int lane, uint32_t *at) {
  const warp_call *c = &w->lanes[lane]->call;
  *at = shadow_offset(c->p0, 16, c->line);
  if (*at % 16) {
    sim_find(EMU_MISALIGNED, c->line, 0, "matrix row at shared byte %u, which must be 16-aligned", *at);
    sim_stop();
  }
}

/* Checks the row addresses of all matrices and counts their bank conflicts: a matrix is one phase of 8 rows. */
static bool rows(sim_warp *w, uint32_t at[32], bool write) {
  int count = w->lanes[0]->call.i0;
  if (w->n_lanes != 32 || (count != 1 && count != 2 && count != 4)) {
    sim_find(EMU_BAD_ARGUMENT, w->lanes[0]->call.line, 0, "ldmatrix or stmatrix x%d on %d lanes", count, w->n_lanes);
    return false;
  }
  for (int l = 0; l < 8 * count; l++) {
    row_address(w, l, &at[l]);
    shadow_shared(w->lanes[l], w->block, at[l], 16, write, w->lanes[l]->call.line);
  }
  for (int m = 0; m < count; m++) banks_count(w->lanes[0]->call.line, 16, write, at + 8 * m, 8);
  return true;
}

void warp_ldmatrix(sim_warp *w) {
  uint32_t at[32];
  if (!rows(w, at, false)) return;
  for (int l = 0; l < 32; l++)
    for (int m = 0; m < w->lanes[0]->call.i0; m++) {
      uint16_t half[2];
      for (int e = 0; e < 2; e++) {
        int row = w->lanes[0]->call.i1 ? 2 * (l % 4) + e : l / 4, col = w->lanes[0]->call.i1 ? l / 4 : 2 * (l % 4) + e;
        memcpy(&half[e], w->block->shared + at[8 * m + row] + 2 * col, 2);
      }
      memcpy((uint32_t *)w->lanes[l]->call.out + m, half, 4);
    }
}

void warp_stmatrix(sim_warp *w) {
  uint32_t at[32];
  if (!rows(w, at, true)) return;
  for (int l = 0; l < 32; l++)
    for (int m = 0; m < w->lanes[0]->call.i0; m++) {
      uint16_t half[2];
      memcpy(half, (const uint32_t *)w->lanes[l]->call.p1 + m, 4);
      for (int e = 0; e < 2; e++) {
        int row = w->lanes[0]->call.i1 ? 2 * (l % 4) + e : l / 4, col = w->lanes[0]->call.i1 ? l / 4 : 2 * (l % 4) + e;
        memcpy(w->block->shared + at[8 * m + row] + 2 * col, &half[e], 2);
      }
    }
}

void emu_ldmatrix(uint32_t *out, const void *row, int count, int transpose, int line) {
  warp_collect(&(warp_call){.op = OP_LDMATRIX, .line = line, .i0 = count, .i1 = transpose, .p0 = row, .out = out});
}

void emu_stmatrix(const uint32_t *in, void *row, int count, int transpose, int line) {
  warp_collect(&(warp_call){.op = OP_STMATRIX, .line = line, .i0 = count, .i1 = transpose, .p0 = row, .p1 = in});
}

static bool known_shape(const emu_mma_desc *d) {
  int bits = fp_bits(d->a);
  if (d->a == EMU_F64) return d->m == 8 && d->n == 8 && d->k == 4 && d->c == EMU_F64;
  if (d->m != 16 || d->n != 8 || fp_bits(d->b) != bits || (d->c == EMU_I32) != (d->a == EMU_I8 || d->a == EMU_U8))
    return false;
  if (d->c != EMU_I32 && d->c != EMU_F32 && d->c != EMU_F16) return false;
  return d->k * bits == 256 || (d->k * bits == 128 && (d->a != EMU_E4M3 && d->a != EMU_E5M2));
}

static void f64_mma(sim_warp *w) {
  double a[8][4], b[4][8];
  for (int l = 0; l < 32; l++) {
    a[l / 4][l % 4] = fp_get(w->lanes[l]->call.p1, EMU_F64, 0);
    b[l % 4][l / 4] = fp_get(w->lanes[l]->call.p2, EMU_F64, 0);
  }
  for (int l = 0; l < 32; l++)
    for (int i = 0; i < 2; i++) {
      double s = fp_get(w->lanes[l]->call.p3, EMU_F64, i);
      for (int k = 0; k < 4; k++) s += a[l / 4][k] * b[k][2 * (l % 4) + i];
      fp_put(w->lanes[l]->call.out, EMU_F64, i, s);
    }
}

void warp_mma(sim_warp *w) {
  const emu_mma_desc *d = w->lanes[0]->call.p0;
  if (w->n_lanes != 32 || !known_shape(d)) {
    sim_find(EMU_BAD_ARGUMENT, w->lanes[0]->call.line, 0, "no mma.sync m%dn%dk%d of types %d, %d, %d", d->m, d->n, d->k,
             d->a, d->b, d->c);
    sim_stop();
  }
  if (d->a == EMU_F64) {
    f64_mma(w);
    return;
  }
  double a[16][32], b[32][8];
  const lane_places *p = lane_places_of(MATRIX_MMA, d, NULL);
  for (int l = 0; l < 32; l++) {
    const warp_call *c = &w->lanes[l]->call;
    for (int i = 0; i < p->values[MATRIX_A]; i++) {
      const short *at = p->at[MATRIX_A][l * p->values[MATRIX_A] + i];
      a[at[0]][at[1]] = fp_get(c->p1, d->a, i);
    }
    for (int i = 0; i < p->values[MATRIX_B]; i++) {
      const short *at = p->at[MATRIX_B][l * p->values[MATRIX_B] + i];
      b[at[1]][at[0]] = fp_get(c->p2, d->b, i);
    }
  }
  bool f8 = d->a == EMU_E4M3 || d->a == EMU_E5M2;
  int sum_bits = f8 && d->c == EMU_F32 && !S.d->f8_by_f16 ? S.d->f8_sum_bits : 0;
  double products[32];
  for (int l = 0; l < 32; l++)
    for (int i = 0; i < 4; i++) {
      int row = p->at[MATRIX_C][4 * l + i][0], col = p->at[MATRIX_C][4 * l + i][1];
      double s = fp_get(w->lanes[l]->call.p3, d->c, i);
      for (int k = 0; k < d->k; k++) products[k] = a[row][k] * b[k][col];
      s = fp_f8_sum(s, products, d->k, sum_bits);
      fp_put(w->lanes[l]->call.out, d->c, i, s);
    }
}

void emu_mma(const emu_mma_desc *d, const void *a, const void *b, const void *c, void *out, int line) {
  warp_collect(&(warp_call){.op = OP_MMA, .line = line, .p0 = d, .p1 = a, .p2 = b, .p3 = c, .out = out});
}
