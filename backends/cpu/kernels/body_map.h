/* Elementwise programs on f32, a block at a time: a step's operands and its result stay in L1, and what a step costs
 * beside its arithmetic is one jump. The same functions as those over strips, so the same bits. Included once per
 * instruction set, after body_elementwise.h. */

/* Where the registers are: elements of a block, or of one that is the same everywhere a vector of it. */
typedef struct map_file {
  const float *at[CPUK_MAP_REGS];
  ptrdiff_t move[CPUK_MAP_REGS]; /* from vector to vector: VF or 0 */
} map_file;

/* Uniform ones first; blocks a line further apart than they are long, so that they differ in their cache sets. */
static float *map_slot(const cpuk_map_args *p, int reg) {
  if (reg >= CPUK_MAP_VARYING) return p->file + (size_t)(reg - CPUK_MAP_VARYING) * CPUK_MAP_WIDTH;
  return p->file + CPUK_MAP_UNIFORM * CPUK_MAP_WIDTH + (size_t)reg * (p->block + CPUK_MAP_WIDTH);
}

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
  const ptrdiff_t ma = f->move[t->a], mb = f->move[t->b], mc = f->move[t->c], me = f->move[t->d];
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
  const ptrdiff_t ma = f->move[t->a], mb = f->move[t->b], mc = f->move[t->c];
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

static void map_block(const cpuk_map_args *p, map_file *f, size_t row, size_t at, size_t n) {
  const size_t m = (n + VF - 1) / VF;
  const bool whole = n % VF == 0;
  float *out = p->out + (ptrdiff_t)row * p->out_row + at;
  for (size_t i = 0; i < p->n_in; i++) {
    const cpuk_map_operand *o = &p->in[i];
    const float *from = o->p + (ptrdiff_t)row * o->row + (ptrdiff_t)at * o->column;
    if (o->reg >= CPUK_MAP_VARYING) continue;
    if (o->ahead)
      for (size_t k = 0; k < n * sizeof *from; k += 64) __builtin_prefetch((const char *)from + o->ahead + k, 0, 2);
    f->at[o->reg] = from;
    if (whole && o->column == 1) continue;
    f->at[o->reg] = map_slot(p, o->reg);
    map_stage(map_slot(p, o->reg), from, o->column, n);
  }
  for (size_t i = p->n_once + p->n_row; i < p->n_steps; i++) {
    const cpuk_map_step *t = &p->steps[i];
    map_step(t, f, whole && i + 1 == p->n_steps ? out : map_slot(p, t->dst), m);
  }
  if (whole) return;
  const float *result = f->at[p->steps[p->n_steps - 1].dst];
  for (size_t j = 0; j + VF <= n; j += VF) v_store(out + j, v_load(result + j));
  v_store_n(out + n / VF * VF, v_load(result + n / VF * VF), n % VF);
}

static void map_uniform(const cpuk_map_args *p, map_file *f, size_t from, size_t n) {
  for (size_t i = from; i < from + n; i++) map_step(&p->steps[i], f, map_slot(p, p->steps[i].dst), 1);
}

static void CPUK_FN(map)(const cpuk_map_args *p) {
  map_file f;
  for (int i = 0; i < CPUK_MAP_REGS; i++) f.at[i] = map_slot(p, i), f.move[i] = i < CPUK_MAP_VARYING ? VF : 0;
  for (size_t i = 0; i < p->n_constants; i++)
    v_store(map_slot(p, p->constants[i].reg), v_set1(p->constants[i].value));
  map_uniform(p, &f, 0, p->n_once);
  for (size_t row = 0; row < p->rows; row++) {
    for (size_t i = 0; i < p->n_in; i++)
      if (p->in[i].reg >= CPUK_MAP_VARYING)
        v_store(map_slot(p, p->in[i].reg), v_set1(p->in[i].p[(ptrdiff_t)row * p->in[i].row]));
    map_uniform(p, &f, p->n_once, p->n_row);
    for (size_t at = 0; at < p->n; at += p->block)
      map_block(p, &f, row, at, p->n - at < p->block ? p->n - at : p->block);
  }
}
