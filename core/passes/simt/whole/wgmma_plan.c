/* core/passes/simt/whole/wgmma_plan.c - see wgmma_plan.h. */
#include "core/passes/simt/whole/wgmma_plan.h"

#include "core/device/matrix_instr.h"
#include "core/passes/simt/whole/tma.h"

enum { BAR_BYTES = 8 };

static const char *plan_side(wgmma_plan *p, const simt_side *s, bool mn_major, int64_t mn, wgmma_side *out) {
  if (s->row != s->view->rank - 2 || !simt_tma_view(s->view))
    return "an operand's layout does not suit TMA (unit stride, rows a multiple of 16 bytes)";
  if (mn_major && p->size != 2) return "8 and 32-bit operands must run along k";
  out->mn_major = mn_major;
  out->box[0] = p->per_atom;
  out->box[1] = (int)(mn_major ? p->mm.bk : mn);
  out->n_boxes = (int)((mn_major ? mn : p->mm.bk) / p->per_atom);
  out->bytes = mn * p->mm.bk * p->size;
  if ((mn_major ? mn : p->mm.bk) % p->per_atom) return "the tile is not a multiple of 128 bytes along memory";
  return out->box[1] <= 256 ? NULL : "the tile is too long for one TMA box";
}

static bool types_fit(const simt_matmul *mm) {
  tsr_dtype a = mm->a.dtype, b = mm->b.dtype;
  bool f8 = (a == TSR_F8E4M3 || a == TSR_F8E5M2) && (b == TSR_F8E4M3 || b == TSR_F8E5M2);
  if (f8 || (a == b && (a == TSR_BF16 || a == TSR_F16 || a == TSR_TF32))) return mm->c == TSR_F32;
  return a == b && (a == TSR_I8 || a == TSR_U8) && mm->c == TSR_I32;
}

/* The result by TMA where three stages then still fit, in as few passes as that takes; else straight from registers. */
static void plan_store(wgmma_plan *p, int64_t per_stage, int64_t room) {
  simt_tile_store s;
  for (int n = 0; simt_tile_store_plan(&p->mm, n, &s); n++)
    if (room - s.bytes >= 3 * per_stage) {
      p->store = s;
      p->store.consumers = p->consumers;
      p->store.blocks = p->blocks;
      p->tma_store = true;
      return;
    }
}

static const char *plan(const simt_matmul *mm, const tsr_caps *caps, wgmma_plan *p) {
  const char *why;
  *p = (wgmma_plan){.mm = *mm};
  if (!types_fit(mm)) return "no wgmma for these element types";
  p->size = (int)tsr_dtype_size(mm->a.dtype);
  p->per_atom = WGMMA_ATOM / p->size;
  p->k_step = 32 / p->size;
  if (mm->bm % 64 || mm->bm > 256 || mm->bn % 8 || mm->bn > 256)
    return "wgmma needs tiles of 64 to 256 rows and up to 256 columns";
  p->consumers = wgmma_groups(mm->bm);
  p->blocks = (int)(mm->bm / 64) / p->consumers;
  p->promote = f8_is_promoted(caps, mm->a.dtype);
  if (!wgmma_holds(caps, mm->a.dtype, mm->bm, mm->bn)) return "the accumulator does not fit the registers";
  if ((why = plan_side(p, &mm->a, mm->a.transposed, mm->bm, &p->a))) return why;
  if ((why = plan_side(p, &mm->b, !mm->b.transposed, mm->bn, &p->b))) return why;
  int64_t per_stage = p->a.bytes + p->b.bytes, room = caps->shared_bytes - 1024;
  plan_store(p, per_stage + 2 * BAR_BYTES, room);
  int64_t fit = (room - p->store.bytes) / (per_stage + 2 * BAR_BYTES);
  p->stages = (int)(fit > 8 ? 8 : fit);
  if (mm->stages >= 3 && mm->stages < p->stages) p->stages = mm->stages;
  if (p->stages < 2) return "fewer than two stages fit shared memory";
  int64_t units = mm->grid[0] * mm->grid[1] * mm->grid[2], cores = caps->n_cores > 0 ? caps->n_cores : 132;
  bool halves = p->b.mn_major ? p->b.n_boxes % 2 == 0 : mm->bn % 16 == 0;
  p->cluster = caps->clusters && !mm->tiles && mm->grid[1] % 2 == 0 && units >= cores && halves && mm->bn >= 64 ? 2 : 1;
  if (mm->tiles) cores = units; /* the schedule has shared out the steps */
  p->ctas = (int)(units < cores ? units : cores) / p->cluster * p->cluster;
  if (p->ctas < p->cluster) p->ctas = p->cluster;
  p->at_a = p->store.bytes;
  p->at_b = p->at_a + p->a.bytes * p->stages;
  p->at_full = p->at_b + p->b.bytes * p->stages;
  p->at_empty = p->at_full + BAR_BYTES * p->stages;
  p->shared = p->at_empty + BAR_BYTES * p->stages;
  return NULL;
}

const char *simt_wgmma_plan_kernel(const ir_op *kernel, const tsr_caps *caps, wgmma_plan *p) {
  const char *why;
  simt_matmul mm;
  if (!caps->wgmma) return "the device has no wgmma";
  return simt_matmul_match(kernel, &mm, &why) ? plan(&mm, caps, p) : why;
}
