/* core/passes/simt/whole/lds_direct_plan.c - see lds_direct_plan.h. */
#include "core/passes/simt/whole/lds_direct_plan.h"

#include "core/passes/simt/matrix/amd.h"
#include "core/passes/simt/matrix/fnuz.h"
#include "core/passes/simt/matrix/operands.h"

enum { MAX_REGISTERS = 216 };

static const char *plan_side(const dl_plan *p, const simt_side *s, bool is_a, int64_t waves, dl_side *out) {
  int64_t strides[TSR_MAX_RANK], mn = is_a ? p->mm.bm : p->mm.bn, threads = (int64_t)p->waves * DL_WAVE,
                                 each = threads * p->granule;
  *out = (dl_side){.s = s, .across = is_a == s->transposed, .wave = mn / waves};
  out->quad = out->across || (!is_a && out->wave % 64 == 0);
  out->blocks = (int)(out->wave / 16);
  out->line = (out->across ? mn : p->mm.bk) * p->size;
  out->lines = out->across ? p->mm.bk : mn;
  if (out->across && p->size != 2) return "8 and 32-bit operands must run along k";
  if (out->wave % (out->quad ? 64 : 16)) return "a wave's part is not a multiple of the instruction's shape";
  if (each % out->line || simt_direct_stage_bytes(out) % each || out->line % DL_SPAN)
    return "the tile is not a whole number of direct loads of the block";
  ir_type_strides(s->view, strides);
  if (s->view->offset * p->size % p->granule || s->view->dims[s->col] % (p->granule / p->size))
    return "rows are not a multiple of one lane's load";
  for (int d = 0; d < s->view->rank; d++)
    if (d != s->col && strides[d] * p->size % p->granule) return "rows are not a multiple of one lane's load";
  return NULL;
}

static const char *plan(const simt_matmul *mm, const tsr_caps *caps, bool pingpong, dl_plan *p) {
  const char *why;
  simt_gemm g = {.m = mm->bm, .n = mm->bn, .k = mm->bk, .a = mm->a.dtype, .b = mm->b.dtype, .c = mm->c};
  *p = (dl_plan){.mm = *mm, .size = (int)tsr_dtype_size(mm->a.dtype), .pingpong = pingpong};
  if (mm->a.dtype == TSR_F64 || !(p->in = simt_amd_instruction(caps, &g)))
    return "no matrix instruction for these element types";
  p->fnuz = simt_is_fnuz(caps, mm->a.dtype);
  p->granule = caps->lds_load_bytes;
  p->words = p->in->k / 4 * p->size / 4;
  p->chunks = p->words > 4 ? 2 : 1;
  p->spans = (int)(mm->bk * p->size / DL_SPAN / p->chunks);
  int64_t warps = ir_get_int(mm->kernel, "warps", 0);
  p->waves = pingpong ? 8 : warps ? (int)warps : mm->bm * mm->bn >= 128 * 256 ? 8 : 4;
  p->total_k = mm->a.view->dims[mm->a.transposed ? mm->a.row : mm->a.col];
  if (mm->bk * p->size % DL_SPAN || !p->words) return "a step must be a multiple of 64 bytes along k";
  if (p->total_k % mm->bk || mm->k % mm->bk || p->total_k != mm->b.view->dims[mm->b.transposed ? mm->b.col : mm->b.row])
    return "the depth is not a multiple of the tile's";
  int down, across;
  simt_split_warps(p->waves, mm->bm, mm->bn, mm->a.transposed ? 64 : 16, mm->b.transposed ? 16 : 64, &down, &across);
  p->across = across;
  if (down * across != p->waves) return "the tile doesn't divide among the waves";
  if ((why = plan_side(p, &p->mm.a, true, down, &p->a)) || (why = plan_side(p, &p->mm.b, false, across, &p->b)))
    return why;
  int64_t registers = p->a.wave * p->b.wave / DL_WAVE + (p->a.blocks + p->b.blocks) * 4 * p->chunks;
  if (registers > MAX_REGISTERS) return "the accumulator does not fit the registers";
  p->stage_bytes = simt_direct_stage_bytes(&p->a) + simt_direct_stage_bytes(&p->b);
  p->stages = !pingpong && mm->stages >= 4 && 4 * p->stage_bytes <= caps->shared_bytes ? 4 : 2;
  if (p->stages * p->stage_bytes > caps->shared_bytes) return "two stages don't fit shared memory";
  p->b.at = p->stages * simt_direct_stage_bytes(&p->a);
  return NULL;
}

const char *simt_direct_plan_kernel(const ir_op *kernel, const tsr_caps *caps, bool pingpong, dl_plan *p) {
  const char *why;
  simt_matmul mm;
  if (!caps->lds_load_bytes) return "the device has no loads straight to LDS";
  return simt_matmul_match(kernel, &mm, &why) ? plan(&mm, caps, pingpong, p) : why;
}
