/* backends/cpu/map_f32.c - elementwise programs on f32 alone, of one result: recognised when a module is loaded, run by
 * the micro-kernel `map`, which takes whole rows. What it does not take (other types, masks but for a select, clipped
 * operands, results past the caches) stays with map.c's strips. A comparison is done where its selects are. */
#include <string.h>

#include "backends/cpu/kernels/map_fold.h"
#include "backends/cpu/map.h"
#include "core/base/dtype.h"

enum { NONE = 255 };

/* What a register of the program became. */
typedef struct found {
  uint8_t reg, level; /* reg NONE: nothing that a step can read; level as in map.h */
  bool compares;
  uint8_t predicate;
  int32_t a, b;
} found;

typedef struct builder {
  const vm_module *m;
  found *of; /* by register */
  map_f32 f;
  cpuk_map_step steps[3][CPUK_MAP_REGS]; /* by level */
  size_t n[3];
  int last; /* the register that the last varying step computes */
} builder;

static bool new_reg(builder *b, const cpu_strip *s, uint8_t level) {
  found *r = &b->of[s->dst];
  if (s->to_ct != TSR_F32) return false;
  if (s->uniform ? b->f.n_uniform == CPUK_MAP_UNIFORM : b->f.n_varying == CPUK_MAP_VARYING) return false;
  r->reg = (uint8_t)(s->uniform ? CPUK_MAP_VARYING + b->f.n_uniform++ : b->f.n_varying++);
  r->level = level;
  return true;
}

static bool add_step(builder *b, const cpu_strip *s, const int32_t *operands, int n, cpuk_map_step t) {
  uint8_t *const to[4] = {&t.a, &t.b, &t.c, &t.d}, level = s->uniform ? 0 : 2;
  for (int i = 0; i < n; i++) {
    const found *x = &b->of[operands[i]];
    if (x->reg == NONE) return false;
    *to[i] = x->reg;
    if (x->level > level) level = x->level;
  }
  for (int i = n; i < 4; i++) *to[i] = t.a;
  if (!new_reg(b, s, level)) return false;
  t.dst = b->of[s->dst].reg;
  b->steps[level][b->n[level]++] = t;
  if (level == 2) b->last = s->dst;
  return true;
}

static bool add_op(builder *b, const cpu_strip *s) {
  const int32_t operands[3] = {s->a, s->b, s->c};
  cpuk_map_step t = {.code = s->code};
  if (s->ct != TSR_F32) return false;
  switch (s->code) {
  case SC_COMPARE:
    b->of[s->dst] = (found){.reg = NONE, .compares = true, .predicate = s->predicate, .a = s->a, .b = s->b};
    return true;
  case SC_SELECT: {
    const found *c = &b->of[s->a];
    if (!c->compares) return false;
    t.predicate = c->predicate;
    return add_step(b, s, (int32_t[]){c->a, c->b, s->b, s->c}, 4, t);
  }
  case SC_ADD: case SC_SUB: case SC_MUL: case SC_DIV: case SC_MIN: case SC_MAX: return add_step(b, s, operands, 2, t);
  case SC_FMA: return add_step(b, s, operands, 3, t);
  default:
    t.unary = scalar_rows[s->code].operands == 1 ? b->m->k->lanes->unary[s->code][CPUK_CT_F32] : NULL;
    return t.unary && add_step(b, s, operands, 1, t);
  }
}

static bool add(builder *b, const cpu_strip *s, bool *yields) {
  map_f32 *f = &b->f;
  if (*yields) return false;
  switch (s->op) {
  case CPU_S_CONST: {
    double x;
    if (s->to_ct != TSR_F32 || !new_reg(b, s, 0)) return false;
    memcpy(&x, &s->imm, sizeof x);
    f->constants[f->n_constants++] = (cpuk_map_constant){(float)x, b->of[s->dst].reg};
    return true;
  }
  case CPU_S_REG:
    if (!s->predicate || !new_reg(b, s, 0)) return false;
    f->vm_reg[f->n_vm_regs].from = s->a, f->vm_reg[f->n_vm_regs++].constant = f->n_constants;
    f->constants[f->n_constants++] = (cpuk_map_constant){0, b->of[s->dst].reg};
    return true;
  case CPU_S_INPUT:
    if (f->n_in == CPUK_MAP_VARYING || !new_reg(b, s, s->uniform ? 1 : 2)) return false;
    f->in[f->n_in].operand = s->a, f->in[f->n_in++].reg = b->of[s->dst].reg;
    return true;
  case CPU_S_OP: return add_op(b, s);
  case CPU_S_YIELD: return *yields = s->dst == 0 && s->a == b->last;
  default: return false;
  }
}

static tsr_status keep(builder *b, map_plan *p) {
  const tsr_allocator *al = b->m->al;
  map_f32 *f = al_new(al, map_f32);
  if (!f) return st_oom();
  *f = b->f;
  p->f32 = f;
  f->n_once = b->n[0], f->n_row = b->n[1], f->n_steps = b->n[0] + b->n[1] + b->n[2];
  f->steps = al_zalloc(al, f->n_steps * sizeof *f->steps);
  if (!f->steps) return st_oom();
  for (size_t level = 0, at = 0; level < 3; at += b->n[level++])
    memcpy(f->steps + at, b->steps[level], b->n[level] * sizeof *f->steps);
  cpuk_map_find_folds(f->steps + f->n_once + f->n_row, b->n[2]);
  return NULL;
}

tsr_status map_f32_create(const vm_module *m, const cpu_program *prog, map_plan *p) {
  const cpu_strip *s = cpu_strips(m->image) + prog->first;
  if (p->strip || p->n_yields != 1) return NULL;
  builder *b = al_new(m->al, builder);
  if (!b) return st_oom();
  b->m = m;
  b->last = -1;
  b->of = al_zalloc(m->al, sizeof *b->of * (size_t)(prog->n_regs + 1));
  tsr_status st = b->of ? NULL : st_oom();
  bool yields = false, ok = !st;
  for (int i = 0; ok && i < prog->n_regs; i++) b->of[i].reg = NONE;
  for (int i = 0; ok && i < prog->n; i++) ok = add(b, &s[i], &yields);
  if (ok && yields) st = keep(b, p);
  al_free(m->al, b->of, sizeof *b->of * (size_t)(prog->n_regs + 1), 16);
  al_delete(m->al, b);
  return st;
}

void map_f32_destroy(const tsr_allocator *al, map_plan *p) {
  if (!p->f32) return;
  al_free(al, p->f32->steps, p->f32->n_steps * sizeof *p->f32->steps, 16);
  al_delete(al, p->f32);
  p->f32 = NULL;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static int64_t stride_of(const cpu_desc *d, int k) { return d->dims[k] == 1 ? 0 : d->strides[k]; }

/* All of the elements that the map reads or writes exist. */
static bool exists(const vm *v, const cpu_desc *d, const int64_t *bound, int rank) {
  const int64_t *ext = vm_ext(v, d);
  if (vm_cpuk((tsr_dtype)d->dtype) != CPUK_F32) return false;
  for (int k = 0; k < rank; k++)
    if (ext[k] < (d->dims[k] == 1 ? 1 : bound[k])) return false;
  return true;
}

/* The last dimension with more than one row; the strips' own if there is none. */
static int row_dimension(const int64_t *bound, int rank, int along) {
  for (int k = rank - 1; k >= 0; k--)
    if (k != along && bound[k] > 1) return k;
  return along;
}

bool map_f32_run(const vm *v, const map_plan *p, const map_extent *e) {
  const map_f32 *f = p->f32;
  if (!f) return false;
  const cpu_desc *out = vm_desc(v, (int)e->operands[0]), *of[CPUK_MAP_VARYING];
  const int along = e->along, rows = row_dimension(e->bound, e->rank, along);
  if (!exists(v, out, e->bound, e->rank) || vm_is_large(v, out, e->total)) return false;
  if (out->dims[along] != 1 && out->strides[along] != 1) return false;
  cpuk_map_operand in[CPUK_MAP_VARYING];
  cpuk_map_constant constants[CPUK_MAP_UNIFORM];
  memcpy(constants, f->constants, f->n_constants * sizeof *constants);
  for (size_t i = 0; i < f->n_vm_regs; i++)
    constants[f->vm_reg[i].constant].value = (float)v->t->regs[f->vm_reg[i].from].f;
  for (size_t i = 0; i < f->n_in; i++) {
    const cpu_desc *d = of[i] = vm_desc(v, (int)e->operands[f->in[i].operand]);
    if (!exists(v, d, e->bound, e->rank)) return false;
    const int64_t column = d->dims[along] == 1 ? 1 : d->strides[along];
    in[i] = (cpuk_map_operand){.row = rows == along ? 0 : stride_of(d, rows), .column = e->flat ? 1 : column,
                               .ahead = map_ahead(v, d, column, e->bound), .reg = f->in[i].reg};
  }
  cpuk_map_args a = {.steps = f->steps, .in = in, .constants = constants, .n_once = f->n_once, .n_row = f->n_row,
                     .n_steps = f->n_steps, .n_in = f->n_in, .n_constants = f->n_constants,
                     .out_row = rows == along ? 0 : stride_of(out, rows),
                     .rows = e->flat || rows == along ? 1 : (size_t)e->bound[rows],
                     .n = (size_t)(e->flat ? e->total : e->bound[along]), .block = cpuk_map_block(f->n_varying),
                     .file = (float *)(void *)v->t->temp};
  int64_t at[TSR_MAX_RANK] = {0};
  for (int k = 0; k >= 0;) {
    int64_t to = 0;
    for (k = 0; k < e->rank; k++) to += at[k] * stride_of(out, k);
    a.out = (float *)(void *)vm_base(v, out) + to;
    for (size_t i = 0; i < f->n_in; i++) {
      int64_t from = 0;
      for (k = 0; k < e->rank; k++) from += at[k] * stride_of(of[i], k);
      in[i].p = (const float *)(const void *)vm_base(v, of[i]) + from;
    }
    v->k->lanes->map(&a);
    if (e->flat) return true;
    for (k = e->rank - 1; k >= 0; k--) {
      if (k == along || k == rows) continue;
      if (++at[k] < e->bound[k]) break;
      at[k] = 0;
    }
  }
  return true;
}
