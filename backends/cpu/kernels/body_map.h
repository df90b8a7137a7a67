/* Elementwise programs on f32, a block at a time: a step's operands and its result stay in L1, and what a step costs
 * beside its arithmetic is one jump. The same functions as those over strips, so the same bits. Included once per
 * instruction set, after body_elementwise.h. */

/* Where the registers are that have a value: elements of a block, or of one that is the same everywhere a vector of
 * it. */
typedef struct map_file {
  const float *at[CPUK_MAP_REGS];
  bool even[CPUK_MAP_VARYING]; /* an operand of folds, of which every other element is one */
} map_file;

/* From vector to vector of a register. */
VINL ptrdiff_t map_move(uint8_t reg) { return reg < CPUK_MAP_VARYING ? VF : 0; }

/* Uniform ones first; blocks a line further apart than they are long, so that they differ in their cache sets. */
static float *map_slot(const cpuk_map_args *p, int reg) {
  if (reg >= CPUK_MAP_VARYING) return p->file + (size_t)(reg - CPUK_MAP_VARYING) * CPUK_MAP_WIDTH;
  return p->file + CPUK_MAP_UNIFORM * CPUK_MAP_WIDTH + (size_t)reg * (p->block + CPUK_MAP_WIDTH);
}

#define MAP_BIT(reg) ((uint64_t)((reg) < CPUK_MAP_VARYING) << ((reg) % 64))

#include "body_map_chain.h"

#define MAP_LOOP(expr)                                                                                      \
  for (size_t j = 0; j < m; j++) {                                                                          \
    const vf x = v_load(a + (ptrdiff_t)j * ma), y = v_load(b + (ptrdiff_t)j * mb);                          \
    v_store(d + j * VF, expr);                                                                              \
  }                                                                                                         \
  break
#define MAP_SELECT(mask)                                                                                    \
  for (size_t j = 0; j < m; j++) {                                                                          \
    const vf x = v_load(a + (ptrdiff_t)j * ma), y = v_load(b + (ptrdiff_t)j * mb);                          \
    v_store(d + j * VF, v_sel(mask, v_load(c + (ptrdiff_t)j * mc), v_load(e + (ptrdiff_t)j * me)));         \
  }                                                                                                         \
  break

static void map_select(const cpuk_map_step *t, const map_file *f, float *d, size_t m) {
  const float *a = f->at[t->a], *b = f->at[t->b], *c = f->at[t->c], *e = f->at[t->d];
  const ptrdiff_t ma = map_move(t->a), mb = map_move(t->b), mc = map_move(t->c), me = map_move(t->d);
  switch (t->predicate) {
    case CPUK_EQ: MAP_SELECT(v_eq(x, y));
    case CPUK_NE: MAP_SELECT(vm_not(v_eq(x, y)));
    case CPUK_LT: MAP_SELECT(v_lt(x, y));
    case CPUK_LE: MAP_SELECT(v_le(x, y));
    case CPUK_GT: MAP_SELECT(v_lt(y, x));
    default: MAP_SELECT(v_le(y, x));
  }
}

/* m vectors of the result, at d. */
static void map_step(const cpuk_map_step *t, map_file *f, float *d, size_t m) {
  const float *a = f->at[t->a], *b = f->at[t->b], *c = f->at[t->c];
  const ptrdiff_t ma = map_move(t->a), mb = map_move(t->b), mc = map_move(t->c);
  switch (t->code) {
    case SC_ADD: MAP_LOOP(x + y);
    case SC_SUB: MAP_LOOP(x - y);
    case SC_MUL: MAP_LOOP(x * y);
    case SC_DIV: MAP_LOOP(x / y);
    case SC_MIN: MAP_LOOP(v_min(x, y));
    case SC_MAX: MAP_LOOP(v_max(x, y));
    case SC_FMA: MAP_LOOP(v_fma(x, y, v_load(c + (ptrdiff_t)j * mc)));
    case SC_SELECT: map_select(t, f, d, m); break;
    default: t->unary(d, a, m * VF);
  }
  f->at[t->dst] = d;
}

/* n elements with `stride` between them, as whole vectors of them: what lies behind the last one is 0. */
static void map_stage(float *to, const float *from, ptrdiff_t stride, size_t n) {
  const size_t whole = n / VF * VF;
  if (stride == 1) {
    for (size_t j = 0; j < whole; j += VF) v_store(to + j, v_load(from + j));
    if (whole < n) v_store(to + whole, v_load_n(from + whole, n - whole));
    return;
  }
  if (whole < n) v_store(to + whole, v_set1(0));
  if (stride == 2) copy_even32((copy_u32 *)(void *)to, (const copy_u32 *)(const void *)from, n);
  else
    for (size_t j = 0; j < n; j++) to[j] = from[(ptrdiff_t)j * stride];
}

/* The registers that folds alone read, a bit each: their operands need not be staged. Of the steps from `from` on. */
static uint64_t map_folded(const cpuk_map_args *p, size_t from) {
  uint64_t folded = 0, other = 0;
  for (size_t i = from; i < p->n_steps; i++) {
    const cpuk_map_step *t = &p->steps[i];
    const size_t more = cpuk_map_fold_more(t);
    if (more) folded |= MAP_BIT(t->a);
    else other |= MAP_BIT(t->a) | MAP_BIT(t->b) | MAP_BIT(t->c) | MAP_BIT(t->d);
    for (size_t k = 0; k <= more && more; k++) folded |= MAP_BIT(t[k].b);
    i += more;
  }
  return folded & ~other;
}

VINL void map_fetch(const float *from, ptrdiff_t ahead, size_t n) {
  if (ahead)
    for (size_t k = 0; k < n * sizeof *from; k += 64) __builtin_prefetch((const char *)from + ahead + k, 0, 2);
}

/* What holds for all blocks: the steps that vary begin at `from`, those of the chain at their end at `chain`; which
 * operands folds and the chain alone read, a bit each. */
typedef struct map_way {
  size_t from, chain;
  uint64_t folded, chained;
} map_way;

static map_way map_way_of(const cpuk_map_args *p, size_t from) {
  const size_t chain = map_chain_first(p, from);
  return (map_way){from, chain, map_folded(p, from), map_chained(p, from, chain)};
}

/* The operands of a block: where they lie, or copied to their registers. */
static void map_inputs(const cpuk_map_args *p, map_file *f, const map_way *w, size_t row, size_t at, size_t n) {
  for (size_t i = 0; i < p->n_in; i++) {
    const cpuk_map_operand *o = &p->in[i];
    const float *from = o->p + (ptrdiff_t)row * o->row + (ptrdiff_t)at * o->column;
    if (o->reg >= CPUK_MAP_VARYING) continue;
    map_fetch(from, o->ahead, n);
    const bool fold = n >= VF && w->folded >> o->reg & 1 && (o->column == 1 || o->column == 2);
    const bool here = fold || (w->chained >> o->reg & 1 && o->column == 1);
    f->at[o->reg] = from, f->even[o->reg] = fold && o->column == 2;
    if (here) continue;
    if (n % VF || o->column != 1) {
      f->at[o->reg] = map_slot(p, o->reg);
      map_stage(map_slot(p, o->reg), from, o->column, n);
    }
  }
}

/* The fold that begins with step t, to `to`, or to its register if one of its operands is there: n >= VF elements. */
static void map_fold_steps(const cpuk_map_args *p, const cpuk_map_step *t, map_file *f, float *to, size_t n) {
  map_tap x[2 + UINT8_MAX];
  const size_t more = cpuk_map_fold_more(t);
  const uint8_t dst = t[more].dst;
  for (size_t k = 0; k < more + 2; k++) {
    const uint8_t reg = k ? t[k - 1].b : t->a;
    x[k] = (map_tap){f->at[reg], reg < CPUK_MAP_VARYING && f->even[reg] ? 2 * VF : map_move(reg)};
    if (x[k].p == to) to = map_slot(p, dst);
  }
  if (to == map_slot(p, dst) && n % VF) v_store(to + n / VF * VF, v_set1(0));
  map_fold_of(t->code, x, more + 2)(x, more + 2, 0, to, n);
  f->at[dst] = to;
}

static void map_block(const cpuk_map_args *p, map_file *f, const map_way *w, size_t row, size_t at, size_t n) {
  const size_t m = (n + VF - 1) / VF;
  const bool whole = n % VF == 0, folds = n >= VF;
  float *out = p->out + (ptrdiff_t)row * p->out_row + at;
  map_inputs(p, f, w, row, at, n);
  for (size_t i = w->from, more; i < w->chain; i += 1 + more) {
    const cpuk_map_step *t = &p->steps[i];
    more = folds ? cpuk_map_fold_more(t) : 0;
    const bool last = i + more + 1 == p->n_steps;
    if (more) map_fold_steps(p, t, f, last ? out : map_slot(p, t[more].dst), n);
    else map_step(t, f, whole && last ? out : map_slot(p, t->dst), m);
  }
  if (w->chain < p->n_steps) {
    map_chain(p->steps + w->chain, p->steps + p->n_steps, f, out, n);
    return;
  }
  const float *result = f->at[p->steps[p->n_steps - 1].dst];
  if (result == out) return;
  for (size_t j = 0; j + VF <= n; j += VF) v_store(out + j, v_load(result + j));
  if (!whole) v_store_n(out + n / VF * VF, v_load(result + n / VF * VF), n % VF);
}

static void map_uniform(const cpuk_map_args *p, map_file *f, size_t from, size_t n) {
  for (size_t i = from; i < from + n; i++) map_step(&p->steps[i], f, map_slot(p, p->steps[i].dst), 1);
}

/* Windows' operands overlap: those that lie among the rows of one before them are fetched with it. */
static bool map_is_near(const cpuk_map_operand *a, const cpuk_map_operand *b, size_t rows) {
  const ptrdiff_t apart = (char *)b->p - (char *)a->p, reach = (ptrdiff_t)(rows * sizeof(float)) * a->row;
  return a->row == b->row && a->ahead == b->ahead && apart >= 0 && apart < reach;
}

/* If the steps that vary begin with a fold over operands that all lie in memory, does that for all rows, to p->out.
 * Returns how many steps it is, 0: none. */
static size_t map_fold_first(const cpuk_map_args *p) {
  const size_t from = p->n_once + p->n_row;
  const cpuk_map_step *t = &p->steps[from];
  map_tap x[CPUK_MAP_VARYING];
  const cpuk_map_operand *of[CPUK_MAP_VARYING];
  bool fetch[CPUK_MAP_VARYING], alike = true;
  const size_t taps = cpuk_map_fold_more(t) + 2;
  if (taps < 3 || taps > CPUK_MAP_VARYING) return 0;
  for (size_t k = 0; k < taps; k++) {
    const uint8_t reg = k ? t[k - 1].b : t->a;
    const cpuk_map_operand *o = p->in;
    while (o < p->in + p->n_in && o->reg != reg) o++;
    if (o == p->in + p->n_in || reg >= CPUK_MAP_VARYING || o->column < 1 || o->column > 2) return 0;
    x[k] = (map_tap){o->p, o->column * VF};
    of[k] = o, fetch[k] = o->ahead != 0, alike &= o->row == of[0]->row;
    for (size_t j = 0; j < k && fetch[k]; j++) fetch[k] = !map_is_near(of[j], o, p->rows);
  }
  for (size_t i = 0; i < p->n_in; i++) /* which later steps, or later rows, would read */
    if (p->in[i].p == p->out) return 0;
  const map_fold_fn fold = map_fold_of(t->code, x, taps);
  ptrdiff_t off = 0;
  for (size_t r = 0; r < p->rows; r++) {
    for (size_t k = 0; k < taps; k++)
      if (fetch[k]) map_fetch(x[k].p + off, of[k]->ahead, p->n);
    fold(x, taps, off, p->out + (ptrdiff_t)r * p->out_row, p->n);
    if (alike) off += of[0]->row;
    else
      for (size_t k = 0; k < taps; k++) x[k].p += of[k]->row;
  }
  return taps - 1;
}

/* The operands that the steps from `from` on read, and the fold's result before them, which is at p->out now. */
static size_t map_left(const cpuk_map_args *p, size_t from, cpuk_map_operand *in) {
  const uint8_t result = p->steps[from - 1].dst;
  size_t n = 0;
  in[n++] = (cpuk_map_operand){.p = p->out, .row = p->out_row, .column = 1, .reg = result};
  for (size_t i = 0; i < p->n_in; i++) {
    bool read = p->in[i].reg >= CPUK_MAP_VARYING;
    for (size_t k = from; k < p->n_steps && !read; k++) read = cpuk_map_reads(&p->steps[k], p->in[i].reg);
    if (read) in[n++] = p->in[i];
  }
  return n;
}

/* Rows that lie next to each other are one. */
static void map_flatten(cpuk_map_args *p) {
  bool flat = !p->n_row && p->out_row == (ptrdiff_t)p->n;
  for (size_t i = 0; i < p->n_in; i++)
    flat &= p->in[i].reg < CPUK_MAP_VARYING && p->in[i].column == 1 && p->in[i].row == (ptrdiff_t)p->n;
  if (flat) p->n *= p->rows, p->rows = 1;
}

static void map_rows(const cpuk_map_args *p, size_t from) {
  map_file f;
  memset(f.even, 0, sizeof f.even);
  for (size_t i = 0; i < p->n_constants; i++) {
    const uint8_t reg = p->constants[i].reg;
    v_store(map_slot(p, reg), v_set1(p->constants[i].value));
    f.at[reg] = map_slot(p, reg);
  }
  for (size_t i = 0; i < p->n_in; i++)
    if (p->in[i].reg >= CPUK_MAP_VARYING) f.at[p->in[i].reg] = map_slot(p, p->in[i].reg);
  map_uniform(p, &f, 0, p->n_once);
  const map_way w = map_way_of(p, from);
  for (size_t row = 0; row < p->rows; row++) {
    for (size_t i = 0; i < p->n_in; i++)
      if (p->in[i].reg >= CPUK_MAP_VARYING)
        v_store(map_slot(p, p->in[i].reg), v_set1(p->in[i].p[(ptrdiff_t)row * p->in[i].row]));
    map_uniform(p, &f, p->n_once, p->n_row);
    for (size_t at = 0; at < p->n; at += p->block)
      map_block(p, &f, &w, row, at, p->n - at < p->block ? p->n - at : p->block);
  }
}

static void CPUK_FN(map)(const cpuk_map_args *p) {
  if (!p->n || !p->rows) return;
  const size_t done = map_fold_first(p), from = p->n_once + p->n_row + done;
  if (from == p->n_steps) return;
  if (!done) {
    map_rows(p, from);
    return;
  }
  cpuk_map_args q = *p;
  cpuk_map_operand in[CPUK_MAP_VARYING + 1];
  q.in = in, q.n_in = map_left(p, from, in);
  map_flatten(&q);
  map_rows(&q, from);
}
