/* core/tune/occupancy.c - see occupancy.h. */
#include "core/tune/occupancy.h"

#include "core/base/int_math.h"

static int64_t whole_units(int64_t v, int64_t unit) { return unit > 1 ? occ_product(occ_pieces(v, unit), unit) : v; }

static void limit_to(occ_result *r, int64_t blocks, const char *by) {
  if (blocks >= r->blocks) return;
  r->blocks = (int32_t)(blocks > 0 ? blocks : 0);
  r->limiter = by;
}

occ_result occ_compute(const tune_device *d, const occ_input *in) {
  occ_result r = {0};
  if (d->is_cpu || d->max_warps <= 0 || in->warps <= 0) return r;
  r.known = true;
  r.blocks = d->max_warps / in->warps;
  r.limiter = "warps";
  if (d->max_blocks > 0) limit_to(&r, d->max_blocks, "blocks");
  if (d->max_barriers > 0 && in->warps > 1) limit_to(&r, d->max_barriers, "barriers");
  if (in->regs > 0 && d->regs_per_core > 0) {
    int64_t per_warp = whole_units((int64_t)in->regs * d->warp_size, d->reg_granule);
    bool over = d->regs_per_thread > 0 && in->regs > d->regs_per_thread;
    int64_t parts = d->core_parts > 0 ? d->core_parts : 1, warps = d->regs_per_core / parts / per_warp * parts;
    limit_to(&r, over ? 0 : warps / in->warps, "registers");
  }
  if (in->shared_bytes > 0 && d->shared_per_core > 0) {
    bool over = !d->advisory && d->shared_per_block > 0 && in->shared_bytes > d->shared_per_block;
    limit_to(&r,
             over ? 0
                  : d->shared_per_core / occ_sum(whole_units(in->shared_bytes, d->shared_granule), d->shared_reserved),
             "shared");
  }
  r.active_warps = r.blocks * in->warps; /* at most max_warps */
  r.fraction = (double)r.active_warps / d->max_warps;
  return r;
}

int32_t occ_bank_conflict(const tune_device *d, tsr_dtype in, int32_t row_elems, int32_t padding, int32_t access) {
  enum { MOST = 256 };
  int64_t banks = d->banks > 0 ? d->banks : 32, words = access > 4 ? access / 4 : 1;
  int64_t stride = max64((int64_t)row_elems + padding, 0) * (int64_t)tsr_dtype_size(in);
  int32_t hits[MOST] = {0}, worst = 1;
  int64_t last_word[MOST];
  if (banks > MOST) banks = MOST;
  for (int64_t lane = 0; lane < banks / words; lane++)
    for (int64_t w = 0; w < words; w++) {
      int64_t word = lane * stride / 4 + w, bank = word % banks;
      if (hits[bank] && last_word[bank] == word) continue; /* the same word is broadcast */
      last_word[bank] = word;
      if (++hits[bank] > worst) worst = hits[bank];
    }
  return worst;
}
