/* tests/simt/wgmma.c - wgmma.mma_async. Each warp of a warpgroup makes its 16 rows of the 64; the work is done at the
 * wait for its group, until then the accumulator registers hold NaN and the shared operands count as being read.
 * Registers: the lane maps of the instructions' rows (lanes.h), those of the first warp. Shared memory: PTX ISA,
 * "Shared Memory Matrix Layout" and "Matrix Descriptor Format"; the canonical layouts as written in the comments of
 * CUTLASS, include/cute/atom/mma_traits_sm90_gmma.hpp:
 *   K-major   rows of `span` bytes (the swizzle, 16 without), 8-row groups SBO apart; without swizzle 16-byte columns
 *             LBO apart
 *   MN-major  k rows of `span` bytes, spans LBO apart, groups of 8 k SBO apart; without swizzle the two offsets change
 *             places */
#include <stdlib.h>
#include <string.h>

#include "tests/simt/lanes.h"
#include "tests/simt/sim.h"

enum { MAX_ACC = 128 };
typedef struct accumulators { /* of one warp, while operations on them are in flight */
  void *reg[32];
  uint32_t value[32][MAX_ACC];
  int refs, words;
} accumulators;

struct wgmma_op {
  emu_wgmma_desc d;
  emu_wgmma_operand a, b;
  uint32_t a_at, b_at, a_regs[32][4];
  bool in_regs;
  accumulators *acc;
  int group, line;
};

static uint32_t swizzled(uint32_t at, int swizzle) {
  uint32_t mask = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
  return at ^ ((at >> 7 & mask) << 4);
}

/* Shared offset of element (i, k): i is the row of A or the column of B. */
static uint32_t operand_at(const emu_wgmma_operand *o, uint32_t start, int i, int k, int size) {
  int span = o->swizzle ? o->swizzle : 16;
  uint32_t at = start;
  if (!o->transpose) {
    int kb = k * size;
    at += (uint32_t)(i / 8 * o->sbo + i % 8 * span + (o->swizzle ? kb : kb / 16 * o->lbo + kb % 16));
  } else {
    int ib = i * size, across = o->swizzle ? o->lbo : o->sbo, down = o->swizzle ? o->sbo : o->lbo;
    at += (uint32_t)(ib / span * across + ib % span + k / 8 * down + k % 8 * span);
  }
  return swizzled(at, o->swizzle);
}

typedef void chunk_fn(sim_thread *t, sim_block *b, uint32_t at, int bytes, int line);
/* Calls `f` for each 16 bytes that rows first .. first + n of an operand occupy. */
static void each_chunk(sim_warp *w, const wgmma_op *op, const emu_wgmma_operand *o, uint32_t start, int type, int first,
                       int n, chunk_fn *f) {
  int size = fp_bits(type) / 8, per = 16 / size;
  for (int i = first; i < first + n; i += o->transpose ? per : 1)
    for (int k = 0; k < op->d.k; k += o->transpose ? 1 : per) {
      uint32_t at = operand_at(o, start, i, k, size);
      if ((int64_t)at + 16 > S.d->shared_bytes) {
        sim_find(EMU_OUT_OF_BOUNDS, op->line, 0, "wgmma operand reaches shared byte %u of %lld", at + 16,
                 (long long)S.d->shared_bytes);
        sim_stop();
      }
      f(w->lanes[0], w->block, at, 16, op->line);
    }
}

static void operands(sim_warp *w, const wgmma_op *op, chunk_fn *f) {
  if (!op->in_regs) each_chunk(w, op, &op->a, op->a_at, op->d.a, 16 * (w->in_block % 4), 16, f);
  each_chunk(w, op, &op->b, op->b_at, op->d.b, 0, op->d.n, f);
}

static void check_operand(const emu_wgmma_operand *o, uint32_t at, int type, const char *name, int line) {
  if (o->swizzle != 0 && o->swizzle != 32 && o->swizzle != 64 && o->swizzle != 128)
    sim_find(EMU_BAD_ARGUMENT, line, 0, "%s: swizzle %d", name, o->swizzle);
  if (at % 16 || o->lbo % 16 || o->sbo % 16 || o->lbo < 0 || o->sbo < 0 || o->lbo >= 1 << 18 || o->sbo >= 1 << 18)
    sim_find(EMU_BAD_ARGUMENT, line, 0, "%s: start %u, offsets %d and %d must be multiples of 16 below 2^18", name, at,
             o->lbo, o->sbo);
  if (o->swizzle && at / 128 % (unsigned)(o->swizzle / 16))
    sim_find(EMU_BAD_ARGUMENT, line, 0, "%s: start %u is not where the swizzle pattern of %d bytes repeats", name, at,
             o->swizzle * 8);
  if (o->transpose && fp_bits(type) != 16)
    sim_find(EMU_BAD_ARGUMENT, line, 0, "%s: only 16-bit types can be MN-major", name);
}

/* The four warps of a warpgroup must issue the same sequence; the last lines of each are compared. */
static void check_sequence(sim_warp *w, int line) {
  sim_warp *first = &w->block->warps[w->in_block / 4 * 4];
  int n = w->wgmma_count++;
  w->wgmma_lines[n % WGMMA_HISTORY] = line;
  for (sim_warp *o = first; o < first + 4; o++)
    if (o != w && o->wgmma_count > n && o->wgmma_count <= n + WGMMA_HISTORY &&
        o->wgmma_lines[n % WGMMA_HISTORY] != line)
      sim_find(EMU_DIVERGENT, line, o->wgmma_lines[n % WGMMA_HISTORY],
               "another warp of the warpgroup issues the wgmma of line %d instead", o->wgmma_lines[n % WGMMA_HISTORY]);
}

static void check(sim_warp *w, const wgmma_op *op) {
  const emu_wgmma_desc *d = &op->d;
  bool shape =
      d->n >= 8 && d->n <= 256 && d->n % 8 == 0 && d->k * fp_bits(d->a) == 256 && fp_bits(d->a) == fp_bits(d->b);
  if (d->c == EMU_I32 && !(d->n == 8 || d->n == 24 || d->n % 16 == 0)) shape = false;
  if ((d->c == EMU_I32) != (d->a == EMU_I8 || d->a == EMU_U8)) shape = false;
  if (!shape || w->n_lanes != 32 || w->block->n_warps % 4) {
    sim_find(EMU_BAD_ARGUMENT, op->line, 0, "no wgmma m64n%dk%d of types %d, %d, %d in a block of %d warps", d->n, d->k,
             d->a, d->b, d->c, w->block->n_warps);
    sim_stop();
  }
  if (!op->in_regs) check_operand(&op->a, op->a_at, d->a, "a", op->line);
  check_operand(&op->b, op->b_at, d->b, "b", op->line);
  if (!w->wgmma_fenced)
    sim_find(EMU_ASYNC_FENCE, op->line, 0, "wgmma without wgmma_fence since the registers were last accessible");
  check_sequence(w, op->line);
}

/* The record of the accumulators at these registers, made and poisoned if nothing is in flight on them. */
static accumulators *take_accumulators(sim_warp *w, int words) {
  for (int i = 0; i < w->n_wgmma; i++)
    if (w->wgmma[i].acc->reg[0] == w->lanes[0]->call.out) return w->wgmma[i].acc;
  accumulators *acc = calloc(1, sizeof *acc);
  if (!acc) abort();
  acc->words = words;
  for (int l = 0; l < 32; l++) {
    acc->reg[l] = w->lanes[l]->call.out;
    memcpy(acc->value[l], acc->reg[l], (size_t)words * 4);
    memset(acc->reg[l], 0xff, (size_t)words * 4);
  }
  return acc;
}

void warp_wgmma(sim_warp *w) {
  const warp_call *c = &w->lanes[0]->call;
  wgmma_op op = {.d = *(const emu_wgmma_desc *)c->p0,
                 .in_regs = c->p3 != NULL,
                 .b = *(const emu_wgmma_operand *)c->p2,
                 .group = w->wgmma_group,
                 .line = c->line};
  op.b_at = shadow_offset(op.b.at, 16, op.line);
  if (op.in_regs) {
    for (int l = 0; l < 32; l++) memcpy(op.a_regs[l], w->lanes[l]->call.p3, sizeof op.a_regs[l]);
  } else {
    op.a = *(const emu_wgmma_operand *)c->p1;
    op.a_at = shadow_offset(op.a.at, 16, op.line);
  }
  check(w, &op);
  op.acc = take_accumulators(w, op.d.n / 2 / (op.d.c == EMU_F16 ? 2 : 1));
  op.acc->refs++;
  operands(w, &op, shadow_async_read);
  if (w->n_wgmma == w->cap_wgmma) {
    w->cap_wgmma = w->cap_wgmma ? 2 * w->cap_wgmma : 16;
    w->wgmma = realloc(w->wgmma, (size_t)w->cap_wgmma * sizeof *w->wgmma);
    if (!w->wgmma) abort();
  }
  w->wgmma[w->n_wgmma++] = op;
}

static double tile_a[16][32], tile_b[32][256];

static void load_operands(sim_warp *w, const wgmma_op *op, const lane_places *p) {
  int size = fp_bits(op->d.a) / 8;
  for (int i = 0; i < 16 && !op->in_regs; i++)
    for (int k = 0; k < op->d.k; k++)
      tile_a[i][k] =
          fp_get(w->block->shared + operand_at(&op->a, op->a_at, 16 * (w->in_block % 4) + i, k, size), op->d.a, 0);
  for (int l = 0; l < 32 && op->in_regs; l++)
    for (int i = 0; i < p->values[MATRIX_A]; i++) {
      const short *at = p->at[MATRIX_A][l * p->values[MATRIX_A] + i];
      tile_a[at[0]][at[1]] = fp_get(op->a_regs[l], op->d.a, i);
    }
  for (int j = 0; j < op->d.n; j++)
    for (int k = 0; k < op->d.k; k++)
      tile_b[k][j] = fp_get(w->block->shared + operand_at(&op->b, op->b_at, j, k, size), op->d.b, 0);
}

static void land(sim_warp *w, const wgmma_op *op) {
  bool f8 = op->d.a == EMU_E4M3 || op->d.a == EMU_E5M2;
  int sum_bits = f8 ? S.d->f8_sum_bits : 0;
  double products[32];
  const emu_mma_desc shape = {64, op->d.n, op->d.k, op->d.a, op->d.b, op->d.c};
  const lane_places *p = lane_places_of(MATRIX_WGMMA, &shape, NULL);
  load_operands(w, op, p);
  for (int l = 0; l < 32; l++)
    for (int i = 0; i < p->values[MATRIX_C]; i++) {
      const short *at = p->at[MATRIX_C][l * p->values[MATRIX_C] + i];
      int row = at[0], col = at[1];
      double s = fp_get(op->acc->value[l], op->d.c, i);
      for (int k = 0; k < op->d.k; k++) products[k] = tile_a[row][k] * tile_b[k][col];
      s = fp_f8_sum(s, products, op->d.k, sum_bits);
      fp_put(op->acc->value[l], op->d.c, i, s);
    }
  operands(w, op, shadow_async_read_end);
  accumulators *acc = op->acc;
  if (--acc->refs) return;
  bool touched = false;
  for (int l = 0; l < 32; l++) {
    const uint32_t *reg = acc->reg[l];
    for (int i = 0; i < acc->words; i++) touched |= reg[i] != 0xffffffffu;
    memcpy(acc->reg[l], acc->value[l], (size_t)acc->words * 4);
  }
  if (touched) sim_find(EMU_ASYNC_EARLY, op->line, 0, "accumulator registers were written while wgmma was in flight");
  free(acc);
}

void wgmma_check_register(const void *p, int line) {
  const sim_thread *t = S.now;
  for (int i = 0; i < t->warp->n_wgmma; i++) {
    const accumulators *acc = t->warp->wgmma[i].acc;
    const uint8_t *reg = acc->reg[t->lane];
    if ((const uint8_t *)p < reg || (const uint8_t *)p >= reg + 4 * acc->words) continue;
    sim_find(EMU_ASYNC_EARLY, line, t->warp->wgmma[i].line,
             "accumulator register %d is used while the wgmma of line %d is in flight",
             (int)((const uint8_t *)p - reg) / 4, t->warp->wgmma[i].line);
    return;
  }
}

void warp_wgmma_fence(sim_warp *w) { w->wgmma_fenced = true; }
void warp_wgmma_commit(sim_warp *w) { w->wgmma_group++; }

void warp_wgmma_wait(sim_warp *w) {
  int keep = w->wgmma_group - w->lanes[0]->call.i0, n = 0;
  for (; n < w->n_wgmma && w->wgmma[n].group < keep; n++) land(w, &w->wgmma[n]);
  memmove(w->wgmma, w->wgmma + n, (size_t)(w->n_wgmma - n) * sizeof *w->wgmma);
  w->n_wgmma -= n;
  if (!w->n_wgmma) w->wgmma_fenced = false;
  /* The reads were recorded for lane 0; the other lanes' releases cover them too, as the wait is executed by the whole
   * warp. */
  for (int l = 1; l < w->n_lanes; l++)
    if (w->lanes[l]->clock[w->lanes[0]->id] < w->lanes[0]->clock[w->lanes[0]->id])
      w->lanes[l]->clock[w->lanes[0]->id] = w->lanes[0]->clock[w->lanes[0]->id];
  clock_tick(w->lanes[0]);
}

void emu_wgmma(const emu_wgmma_desc *d, void *acc, const emu_wgmma_operand *a, const uint32_t *a_regs,
               const emu_wgmma_operand *b, int line) {
  warp_collect(&(warp_call){.op = OP_WGMMA, .line = line, .p0 = d, .p1 = a, .p2 = b, .p3 = a_regs, .out = acc});
}

void emu_wgmma_fence(int line) { warp_collect(&(warp_call){.op = OP_WGMMA_FENCE, .line = line}); }
void emu_wgmma_commit(int line) { warp_collect(&(warp_call){.op = OP_WGMMA_COMMIT, .line = line}); }
void emu_wgmma_wait(int pending, int line) {
  warp_collect(&(warp_call){.op = OP_WGMMA_WAIT, .line = line, .i0 = pending});
}

/* ---- setmaxnreg: what the block got at launch is shared out anew, no more (PTX ISA, "setmaxnreg") ---------------- */

int registers_at_launch(int threads) {
  int n = 65536 / threads / 8 * 8; /* one block a core, as the generated kernels' launch bounds say */
  return n > 248 ? 248 : n;
}

bool registers_free(sim_warp *w, int registers) {
  int used = 0, threads = w->block->n_warps * 32;
  for (int i = 0; i < w->block->n_warps; i++) used += w->block->warps[i].registers * 32;
  return used + (registers - w->registers) * 32 <= registers_at_launch(threads) * threads;
}

void warp_setmaxnreg(sim_warp *w) {
  const warp_call *c = &w->lanes[0]->call;
  if (c->i0 % 8 || c->i0 < 24 || c->i0 > 256 ||
      (w->registers_set && (c->i1 ? c->i0 < w->registers : c->i0 > w->registers)))
    sim_find(EMU_BAD_ARGUMENT, c->line, 0, "setmaxnreg %s to %d registers from %d", c->i1 ? "up" : "down", c->i0,
             w->registers);
  w->registers_set = true; /* what the kernel starts with is the compiler's choice */
}

void emu_setmaxnreg(int registers, int increase, int line) {
  warp_collect(&(warp_call){.op = OP_SETMAXNREG, .line = line, .i0 = registers, .i1 = increase});
  sim_warp *w = S.now->warp;
  S.now->wait_arg = registers;
  if (!registers_free(w, registers)) sim_block_on(WAIT_REGISTERS, w, line);
  w->registers = registers;
}
