/* The end of an elementwise program, where each step takes the result of the one before and nothing else does: bias,
 * residual and relu behind a product. Eight vectors at a time stay in registers from step to step, and operands are
 * read where they lie, also the last ones of a row that are no whole vector. The same functions as step by step, so the
 * same bits. Included by body_map.h. */
#include "backends/cpu/kernels/map_fold.h"

static bool map_chains(uint8_t code) {
  switch (code) {
    case SC_ADD: case SC_SUB: case SC_MUL: case SC_DIV: case SC_MIN: case SC_MAX: case SC_FMA: case SC_RELU:
      return true;
    default: return false;
  }
}

/* Step t goes on with the result of step `before`: as its first operand, and as no other. */
static bool map_goes_on(const cpuk_map_step *before, const cpuk_map_step *t) {
  const int others = t->code == SC_RELU ? 0 : t->code == SC_FMA ? 2 : 1;
  return map_chains(t->code) && t->a == before->dst && (others < 1 || t->b != before->dst) &&
         (others < 2 || t->c != before->dst);
}

/* Where the chain begins that ends the program, at `from` or behind; n_steps: there is none. Folds are left alone. */
static size_t map_chain_first(const cpuk_map_args *p, size_t from) {
  for (size_t i = from; i < p->n_steps; i++)
    if (cpuk_map_fold_more(&p->steps[i])) i += cpuk_map_fold_more(&p->steps[i]), from = i + 1;
  size_t first = p->n_steps;
  if (first == from || !map_chains(p->steps[first - 1].code)) return p->n_steps;
  for (first--; first > from && map_goes_on(&p->steps[first - 1], &p->steps[first]); first--) {
    const uint8_t between = p->steps[first - 1].dst;
    bool once = map_chains(p->steps[first - 1].code);
    for (size_t k = first + 1; k < p->n_steps; k++) once &= !cpuk_map_reads(&p->steps[k], between);
    if (!once) break;
  }
  return first;
}

/* w vectors of a register from element `at` on, or the first n of one. */
VINL vf map_chain_load(const map_file *f, uint8_t reg, size_t at, const bool whole, size_t n) {
  const float *p = f->at[reg];
  if (reg >= CPUK_MAP_VARYING) return v_load(p);
  return whole ? v_load(p + at) : v_load_n(p + at, n);
}

#define MAP_CHAIN(expr)                                                       \
  CPUK_UNROLL                                                                 \
  for (int k = 0; k < w; k++) {                                               \
    const vf y = map_chain_load(f, t->b, at + (size_t)k * VF, whole, n);      \
    v[k] = expr;                                                              \
  }                                                                           \
  break

/* Steps [t, end) for w vectors from element `at` on; of one that isn't whole, n elements. */
VINL void map_chain_part(const int w, const bool whole, const cpuk_map_step *t, const cpuk_map_step *end,
                         const map_file *f, size_t at, size_t n, float *out) {
  vf v[8];
  CPUK_UNROLL
  for (int k = 0; k < w; k++) v[k] = map_chain_load(f, t->a, at + (size_t)k * VF, whole, n);
  CPUK_NO_UNROLL
  for (; t < end; t++) switch (t->code) {
      case SC_ADD: MAP_CHAIN(v[k] + y);
      case SC_SUB: MAP_CHAIN(v[k] - y);
      case SC_MUL: MAP_CHAIN(v[k] * y);
      case SC_DIV: MAP_CHAIN(v[k] / y);
      case SC_MIN: MAP_CHAIN(v_min(v[k], y));
      case SC_MAX: MAP_CHAIN(v_max(v[k], y));
      case SC_FMA: MAP_CHAIN(v_fma(v[k], y, map_chain_load(f, t->c, at + (size_t)k * VF, whole, n)));
      default:
        CPUK_UNROLL
        for (int k = 0; k < w; k++) v[k] = v_relu(v[k]);
    }
  CPUK_UNROLL
  for (int k = 0; k < w; k++)
    if (whole) v_store(out + at + (size_t)k * VF, v[k]);
    else v_store_n(out + at, v[k], n);
}
#undef MAP_CHAIN

/* n elements of the result, at out. */
static void map_chain(const cpuk_map_step *t, const cpuk_map_step *end, const map_file *f, float *out, size_t n) {
  size_t at = 0;
  for (; n - at >= 8 * VF; at += 8 * VF) map_chain_part(8, true, t, end, f, at, 0, out);
  if (n - at >= 4 * VF) map_chain_part(4, true, t, end, f, at, 0, out), at += 4 * VF;
  if (n - at >= 2 * VF) map_chain_part(2, true, t, end, f, at, 0, out), at += 2 * VF;
  if (n - at >= VF) map_chain_part(1, true, t, end, f, at, 0, out), at += VF;
  if (n > at) map_chain_part(1, false, t, end, f, at, n - at, out);
}

/* The registers that this chain alone reads, a bit each: their operands are read where they lie. */
static uint64_t map_chained(const cpuk_map_args *p, size_t from, size_t first) {
  uint64_t in = 0, other = 0;
  for (size_t i = from; i < p->n_steps; i++) {
    const cpuk_map_step *t = &p->steps[i];
    const uint64_t reads = MAP_BIT(t->a) | MAP_BIT(t->b) | MAP_BIT(t->c) | MAP_BIT(t->d);
    if (i < first) other |= reads;
    else in |= reads;
  }
  return in & ~other;
}
