/* backends/cpu/map.c - elementwise programs over strips of up to CPU_STRIP elements.
 * A program is planned once: every step gets its micro-kernel and a level (0 once per call, 1 once per row, 2 once per
 * strip), and strips that are dead share memory. Invariant: a uniform register holds one element, any other a whole
 * strip. */
#include <string.h>

#include "backends/cpu/vm.h"
#include "core/base/dtype.h"

typedef enum step_kind {
  ST_NOP,
  ST_UNARY,
  ST_BINARY,
  ST_BINARY_VS,
  ST_BINARY_SV,
  ST_SELECT,
  ST_FMA,
  ST_CONVERT,
  ST_ROUND,
  ST_SHIFT,
  ST_CONST,
  ST_REG,
  ST_INPUT,
  ST_INDEX
} step_kind;

typedef struct step {
  uint8_t kind, level, uniform, esize; /* esize of the result */
  uint8_t a_esize, is_float, ct, to_ct;
  int32_t dst, a, b, c;
  uint8_t a_uniform, b_uniform, c_uniform, code;
  union {
    cpuk_unary_fn unary;
    cpuk_binary_fn binary;
    cpuk_select_fn select;
    cpuk_fma_fn fma;
    cpuk_convert_fn convert;
  } fn;
  cpuk_convert_fn back; /* ROUND: to the narrow type and back */
  int64_t imm;
} step;

struct map_plan {
  step *steps;
  int n_steps, cap_steps;
  int n_regs;
  int32_t *place;  /* register -> strip buffer, or -1 - k for a one-element cell */
  int n_buffers, n_cells, n_yields;
  int32_t yields[64];
  uint8_t yield_uniform[64], yield_esize[64];
  int writer[64]; /* last step before the yield that writes the register, when that may write the output directly; else
                     -1 */
  bool uses_index;
  int strip;          /* elements taken at once, if the image says */
};

static size_t ct_size(int ct) { return tsr_dtype_size((tsr_dtype)ct); }

/* ---- planning -------------------------------------------------------------------------------------------------- */

static int unary_of(int code) {
  static const int8_t map[SC_N] = {
      [SC_NEG] = CPUK_NEG + 1,     [SC_ABS] = CPUK_ABS + 1,   [SC_EXP] = CPUK_EXP + 1,
      [SC_LOG] = CPUK_LOG + 1,     [SC_SQRT] = CPUK_SQRT + 1, [SC_RSQRT] = CPUK_RSQRT + 1,
      [SC_TANH] = CPUK_TANH + 1,   [SC_ERF] = CPUK_ERF + 1,   [SC_SIGMOID] = CPUK_SIGMOID + 1,
      [SC_RELU] = CPUK_RELU + 1,   [SC_GELU] = CPUK_GELU + 1, [SC_GELU_TANH] = CPUK_GELU_TANH + 1,
      [SC_SILU] = CPUK_SILU + 1,   [SC_SIN] = CPUK_SIN + 1,   [SC_COS] = CPUK_COS + 1,
      [SC_FLOOR] = CPUK_FLOOR + 1, [SC_NOT] = CPUK_NOT + 1};
  return map[code] - 1;
}

static int binary_of(int code) {
  static const int8_t map[SC_N] = {
      [SC_ADD] = CPUK_ADD + 1, [SC_SUB] = CPUK_SUB + 1, [SC_MUL] = CPUK_MUL + 1, [SC_DIV] = CPUK_DIV + 1,
      [SC_POW] = CPUK_POW + 1, [SC_MIN] = CPUK_MIN + 1, [SC_MAX] = CPUK_MAX + 1, [SC_REM] = CPUK_REM + 1,
      [SC_AND] = CPUK_AND + 1, [SC_OR] = CPUK_OR + 1,   [SC_XOR] = CPUK_XOR + 1};
  return map[code] - 1;
}

static int log2_size(size_t n) { return n == 1 ? 0 : n == 2 ? 1 : n == 4 ? 2 : 3; }

static bool plan_op(const cpuk_lanes *l, const cpu_strip *s, step *t) {
  static const uint8_t swapped[6] = {CPUK_EQ, CPUK_NE, CPUK_GT, CPUK_GE, CPUK_LT, CPUK_LE};
  cpuk_ct ct = vm_ct((tsr_dtype)s->ct);
  bool vs = t->b_uniform && !t->uniform, sv = t->a_uniform && !t->uniform;
  if (s->code == SC_COMPARE) {
    t->kind = vs ? ST_BINARY_VS : sv ? ST_BINARY_SV : ST_BINARY;
    t->fn.binary = vs   ? l->cmp_vs[s->predicate][ct]
                   : sv ? l->cmp_vs[swapped[s->predicate]][ct]
                        : l->cmp[s->predicate][ct];
    if (sv) { /* a op b with uniform a is b swapped-op a */
      int32_t x = t->a;
      t->a = t->b;
      t->b = x;
      t->kind = ST_BINARY_VS;
    }
    return t->fn.binary != NULL;
  }
  if (s->code == SC_SELECT) {
    t->kind = ST_SELECT;
    t->fn.select = l->select[log2_size(ct_size(s->ct))];
    return t->fn.select != NULL;
  }
  if (s->code == SC_FMA) {
    t->kind = ST_FMA;
    t->fn.fma = l->fma[ct];
    return t->fn.fma != NULL;
  }
  if (s->code == SC_SHL || s->code == SC_SHR) {
    t->kind = ST_SHIFT;
    return ct == CPUK_CT_I32 || ct == CPUK_CT_I64;
  }
  int u = unary_of(s->code), b = binary_of(s->code);
  if (u >= 0) {
    t->kind = ST_UNARY;
    t->fn.unary = l->unary[u][ct];
    return t->fn.unary != NULL;
  }
  if (b < 0) return false;
  t->kind = vs ? ST_BINARY_VS : sv ? ST_BINARY_SV : ST_BINARY;
  t->fn.binary = vs ? l->binary_vs[b][ct] : sv ? l->binary_sv[b][ct] : l->binary[b][ct];
  return t->fn.binary != NULL;
}

static bool plan_cast(const cpuk_lanes *l, const cpu_strip *s, step *t) {
  cpuk_dtype from = vm_cpuk((tsr_dtype)s->ct), narrow = vm_cpuk((tsr_dtype)s->code), to = vm_cpuk((tsr_dtype)s->to_ct);
  if (narrow == CPUK_N_DTYPE) return false;
  if (narrow == to) {
    t->kind = ST_CONVERT;
    t->fn.convert = l->convert[from][to];
    return t->fn.convert != NULL;
  }
  t->kind = ST_ROUND;
  t->fn.convert = l->convert[from][narrow];
  t->back = l->convert[narrow][to];
  return t->fn.convert && t->back;
}

static tsr_status unsupported(const tsr_allocator *al, const cpu_strip *s) {
  static const char *const names[] = {
#define NAME_OF(CODE, name, n, kind, help) name,
      SCALAR_OPS(NAME_OF)
#undef NAME_OF
  };
  return st_make(al, TSR_UNSUPPORTED, ST_WHERE("cpu", s->code < SC_N ? names[s->code] : "cast", "cast to f32"),
                 "no micro-kernel for element type %s", tsr_dtype_name((tsr_dtype)s->ct));
}

static void uses_of(const step *t, int32_t *out, int *n) {
  *n = 0;
  if (t->kind == ST_CONST || t->kind == ST_REG || t->kind == ST_INPUT || t->kind == ST_INDEX || t->kind == ST_NOP)
    return;
  out[(*n)++] = t->a;
  if (t->kind == ST_BINARY || t->kind == ST_BINARY_VS || t->kind == ST_BINARY_SV || t->kind == ST_SHIFT ||
      t->kind == ST_SELECT || t->kind == ST_FMA)
    out[(*n)++] = t->b;
  if (t->kind == ST_SELECT || t->kind == ST_FMA) out[(*n)++] = t->c;
}

/* Buffers by liveness; inputs keep theirs for staging. */
static bool place_registers(const tsr_allocator *al, map_plan *p) {
  int *last = al_zalloc(al, sizeof(int) * (size_t)(p->n_regs + 1)),
      *free_at = al_zalloc(al, sizeof(int) * (size_t)(p->n_regs + 1));
  bool ok = last && free_at;
  for (int i = 0; ok && i < p->n_steps; i++) {
    int32_t u[3];
    int n;
    uses_of(&p->steps[i], u, &n);
    for (int k = 0; k < n; k++) last[u[k]] = i;
  }
  for (int k = 0; ok && k < p->n_yields; k++) last[p->yields[k]] = p->n_steps;
  for (int i = 0; ok && i < p->n_steps; i++) {
    step *t = &p->steps[i];
    if (t->uniform) {
      p->place[t->dst] = -1 - p->n_cells++;
      continue;
    }
    int b = 0;
    while (b < p->n_buffers && free_at[b] >= i) b++;
    if (b == p->n_buffers) p->n_buffers++;
    free_at[b] = last[t->dst] > i ? last[t->dst] : i;
    p->place[t->dst] = b;
  }
  al_free(al, last, sizeof(int) * (size_t)(p->n_regs + 1), 16);
  al_free(al, free_at, sizeof(int) * (size_t)(p->n_regs + 1), 16);
  return ok;
}

/* A yield may take its value from where it is computed only if nothing later reads what the output overwrites. */
static void find_writers(map_plan *p) {
  for (int y = 0; y < p->n_yields; y++) {
    p->writer[y] = -1;
    int reads_after = 0;
    for (int i = p->n_steps; i-- > 0;) {
      step *t = &p->steps[i];
      if (t->dst == p->yields[y]) {
        bool computes = t->kind != ST_INPUT && t->kind != ST_INDEX && t->kind != ST_ROUND && !t->uniform;
        bool shared = false;
        for (int z = 0; z < p->n_yields; z++) shared |= z != y && p->yields[z] == p->yields[y];
        if (computes && !reads_after && !shared) p->writer[y] = i;
        break;
      }
      if (!t->uniform) reads_after++;
    }
  }
}

static tsr_status plan_fill(const tsr_allocator *al, const cpuk_table *k, const cpu_image *m, const cpu_program *prog,
                            map_plan *p) {
  const cpu_strip *s = cpu_strips(m) + prog->first;
  const cpuk_lanes *l = k->lanes;
  uint8_t uniform[1024] = {0}, level[1024] = {0}, esize[1024] = {0};
  if (prog->first < 0 || prog->n < 0 || prog->n > m->n_strips - prog->first || prog->n_regs > 1024)
    return st_make(al, TSR_ARCH_MISMATCH, ST_WHERE("cpu", "module", NULL),
                   "the code image is damaged: a program lies outside it");
  for (int i = 0; i < prog->n; i++, s++) {
    step t = {.dst = s->dst,
              .a = s->a,
              .b = s->b,
              .c = s->c,
              .uniform = s->uniform,
              .ct = s->ct,
              .to_ct = s->to_ct,
              .imm = s->imm,
              .code = s->code};
    t.esize = (uint8_t)ct_size(s->to_ct);
    switch (s->op) {
    case CPU_S_YIELD:
      if (s->dst < 0 || s->dst >= 64 || s->a < 0 || s->a >= prog->n_regs) return unsupported(al, s);
      p->yields[s->dst] = s->a;
      p->yield_uniform[s->dst] = uniform[s->a];
      p->yield_esize[s->dst] = esize[s->a];
      if (s->dst >= p->n_yields) p->n_yields = s->dst + 1;
      continue;
    case CPU_S_CONST: t.kind = ST_CONST; break;
    case CPU_S_REG: t.kind = ST_REG; t.is_float = s->predicate; break;
    case CPU_S_INPUT: t.kind = ST_INPUT; t.level = s->uniform ? 1 : 2; break;
    case CPU_S_INDEX: t.kind = ST_INDEX; t.level = s->uniform ? 1 : 2; p->uses_index = true; break;
    default: {
      int32_t ops[3] = {s->a, s->b, s->c};
      for (int o = 0; o < 3; o++) {
        if (ops[o] < 0 || ops[o] >= prog->n_regs) return unsupported(al, s);
        if (level[ops[o]] > t.level && (o == 0 || s->op == CPU_S_OP)) t.level = level[ops[o]];
      }
      t.a_uniform = uniform[s->a];
      t.b_uniform = uniform[s->b];
      t.c_uniform = uniform[s->c];
      t.a_esize = esize[s->a];
      if (s->uniform && t.level == 2) t.level = 1;
      if (!(s->op == CPU_S_CAST ? plan_cast(l, s, &t) : plan_op(l, s, &t))) return unsupported(al, s);
    }
    }
    if (s->dst < 0 || s->dst >= prog->n_regs) return unsupported(al, s);
    uniform[s->dst] = t.uniform;
    level[s->dst] = t.uniform ? t.level : 2;
    esize[s->dst] = t.esize;
    if (!t.uniform) t.level = 2;
    p->steps[p->n_steps++] = t;
  }
  return NULL;
}

tsr_status map_plans_create(vm_module *m) {
  int n = m->image->n_programs;
  m->plans = al_zalloc(m->al, sizeof(map_plan) * (size_t)(n + 1));
  if (!m->plans) return st_oom();
  for (int i = 0; i < n; i++) {
    const cpu_program *prog = cpu_programs(m->image) + i;
    map_plan *p = &m->plans[i];
    p->n_regs = prog->n_regs;
    p->strip = prog->strip < 0 ? 0 : prog->strip > CPU_STRIP ? CPU_STRIP : prog->strip;
    p->cap_steps = prog->n;
    p->steps = al_zalloc(m->al, sizeof(step) * (size_t)(prog->n + 1));
    p->place = al_zalloc(m->al, sizeof(int32_t) * (size_t)(prog->n_regs + 1));
    if (!p->steps || !p->place) return st_oom();
    TSR_TRY(plan_fill(m->al, m->k, m->image, prog, p));
    if (!place_registers(m->al, p)) return st_oom();
    find_writers(p);
  }
  return NULL;
}

void map_plans_destroy(vm_module *m) {
  for (int i = 0; m->plans && i < m->image->n_programs; i++) {
    map_plan *p = &m->plans[i];
    al_free(m->al, p->steps, sizeof(step) * (size_t)(p->cap_steps + 1), 16);
    al_free(m->al, p->place, sizeof(int32_t) * (size_t)(p->n_regs + 1), 16);
  }
  if (m->plans) al_free(m->al, m->plans, sizeof(map_plan) * (size_t)(m->image->n_programs + 1), 16);
  m->plans = NULL;
}

enum { CELL = 8, N_SPARE = 4, STRIP_BYTES = CPU_STRIP * 8 };

size_t map_temp_bytes(const vm_module *m, int program, int n_operands) {
  const map_plan *p = &m->plans[program];
  return (size_t)(p->n_buffers + N_SPARE) * STRIP_BYTES + (size_t)(p->n_cells + 8) * CELL + 256 +
         (size_t)n_operands * 64;
}

/* ---- running --------------------------------------------------------------------------------------------------- */

/* Where an operand's elements of the current row are. */
typedef struct row {
  const cpu_desc *d;
  char *p;        /* element (row, column 0) */
  int64_t valid;  /* columns that exist in this row */
  int64_t stride; /* of the last dimension, elements */
  cpuk_dtype type;
  cpuk_convert_fn convert; /* to or from the compute type; NULL = same type */
  bool stream;             /* a large result: past the caches */
  int64_t ahead;           /* bytes to what the next block reads; 0 = not fetched ahead */
  size_t esize;
} row;

typedef struct run {
  const vm *v;
  const map_plan *p;
  row rows[64];
  int n_out, n_ops;
  char *buffers, *cells, *spare;
  char *at[1024]; /* register -> address for this strip */
  int64_t index[TSR_MAX_RANK];
  int rank;
} run;

static char *home(const run *r, int32_t reg) {
  int32_t b = r->p->place[reg];
  return b >= 0 ? r->buffers + (size_t)b * STRIP_BYTES : r->cells + (size_t)(-1 - b) * CELL;
}

/* Elements [col, col + n) of a row as a strip in the compute type; what does not exist is 0. */
static char *stage(const run *r, const row *w, char *buffer, size_t ct_bytes, int64_t col, int64_t n) {
  int64_t have = w->valid - col;
  if (have > n) have = n;
  if (have <= 0) { /* there may be no address for what does not exist */
    memset(buffer, 0, (size_t)n * ct_bytes);
    return buffer;
  }
  char *src = w->p + col * w->stride * (int64_t)w->esize;
  if (w->ahead)
    for (int64_t at = 0; at < have * (int64_t)w->esize; at += 64) __builtin_prefetch(src + w->ahead + at, 0, 2);
  if (have == n && w->stride == 1 && !w->convert) return src;
  if (w->stride != 1) {
    char *dst = w->convert ? r->spare : buffer;
    cpuk_copy_args c = {dst, src, have, 1, 0, w->stride, 1, (size_t)have, w->esize};
    r->v->k->lanes->copy2d(&c);
    src = dst;
  }
  if (w->convert) w->convert(buffer, src, (size_t)have);
  else if (src != buffer) memcpy(buffer, src, (size_t)have * w->esize);
  if (have < n) memset(buffer + (size_t)have * ct_bytes, 0, (size_t)(n - have) * ct_bytes);
  return buffer;
}

static void put(const run *r, const row *w, const char *strip, int64_t col, int64_t n) {
  int64_t have = w->valid - col;
  if (have > n) have = n;
  if (have <= 0) return;
  char *dst = w->p + col * w->stride * (int64_t)w->esize;
  if (w->stride == 1) {
    if (w->stream) {
      if (w->convert) w->convert(r->spare, strip, (size_t)have);
      r->v->k->lanes->stream(dst, w->convert ? r->spare : strip, (size_t)have * w->esize);
    } else if (w->convert) w->convert(dst, strip, (size_t)have);
    else if (dst != strip) memmove(dst, strip, (size_t)have * w->esize);
    return;
  }
  if (w->convert) {
    w->convert(r->spare, strip, (size_t)have);
    strip = r->spare;
  }
  cpuk_copy_args c = {dst, strip, 0, w->stride, have, 1, 1, (size_t)have, w->esize};
  r->v->k->lanes->copy2d(&c);
}

static void splat(const run *r, char *dst, const char *cell, size_t esize, int64_t n) {
  r->v->k->lanes->fill(dst, cell, esize, (size_t)n);
}

static const char *wide(const run *r, int32_t reg, bool uniform, size_t esize, int spare, int64_t n) {
  if (!uniform) return r->at[reg];
  char *b = r->spare + (size_t)(1 + spare) * STRIP_BYTES;
  splat(r, b, r->at[reg], esize, n);
  return b;
}

#define SHIFT_LOOP(T, U, BITS)                                                                    \
  do {                                                                                            \
    const T *x = a, *y = b;                                                                       \
    T *d = dst;                                                                                   \
    for (int64_t i = 0; i < n; i++) {                                                             \
      bool in = y[i] >= 0 && y[i] < BITS;                                                         \
      d[i] = t->code == SC_SHL ? (in ? (T)((U)x[i] << y[i]) : 0) : x[i] >> (in ? y[i] : BITS - 1); \
    }                                                                                             \
  } while (0)
static void shift(const run *r, const step *t, void *dst, int64_t n) {
  const void *a = wide(r, t->a, t->a_uniform, t->esize, 0, n), *b = wide(r, t->b, t->b_uniform, t->esize, 1, n);
  if (t->ct == TSR_I64) SHIFT_LOOP(int64_t, uint64_t, 64);
  else SHIFT_LOOP(int32_t, uint32_t, 32);
}

static void set_cell(char *dst, int ct, bool is_float, int64_t i, double f) {
  if (ct == TSR_I64 && !is_float) memcpy(dst, &i, sizeof i);
  else dtype_store((tsr_dtype)ct, dst, 0, is_float ? f : (double)i);
}

static void do_step(run *r, const step *t, char *dst, int64_t col, int64_t n) {
  if (t->uniform) n = 1;
  switch ((step_kind)t->kind) {
  case ST_UNARY: t->fn.unary(dst, r->at[t->a], (size_t)n); break;
  case ST_BINARY: case ST_BINARY_VS: case ST_BINARY_SV: t->fn.binary(dst, r->at[t->a], r->at[t->b], (size_t)n); break;
  case ST_SELECT:
    t->fn.select(dst, (const uint8_t *)wide(r, t->a, t->a_uniform && !t->uniform, 1, 0, n), r->at[t->b], !t->b_uniform,
                 r->at[t->c], !t->c_uniform, (size_t)n);
    break;
  case ST_FMA:
    t->fn.fma(dst, wide(r, t->a, t->a_uniform && !t->uniform, t->esize, 0, n),
              wide(r, t->b, t->b_uniform && !t->uniform, t->esize, 1, n),
              wide(r, t->c, t->c_uniform && !t->uniform, t->esize, 2, n), (size_t)n);
    break;
  case ST_CONVERT: t->fn.convert(dst, r->at[t->a], (size_t)n); break;
  case ST_ROUND:
    t->fn.convert(r->spare, r->at[t->a], (size_t)n);
    t->back(dst, r->spare, (size_t)n);
    break;
  case ST_SHIFT: shift(r, t, dst, n); break;
  case ST_CONST: {
    double f;
    memcpy(&f, &t->imm, sizeof f);
    set_cell(dst, t->ct, dtype_is_float((tsr_dtype)t->ct), t->imm, f);
    break;
  }
  case ST_REG: {
    vm_reg x = r->v->t->regs[t->a];
    set_cell(dst, t->ct, t->is_float, x.i, x.f);
    break;
  }
  case ST_INPUT: r->at[t->dst] = stage(r, &r->rows[t->a], dst, t->esize, t->uniform ? 0 : col, n); return;
  case ST_INDEX:
    if (t->uniform) set_cell(dst, TSR_I32, false, r->index[t->a], 0);
    else r->v->k->lanes->iota((int32_t *)(void *)dst, (int32_t)col, 1, (size_t)n);
    break;
  case ST_NOP: break;
  }
  r->at[t->dst] = dst;
}

static void do_level(run *r, int level) {
  for (int i = 0; i < r->p->n_steps; i++) {
    const step *t = &r->p->steps[i];
    if (t->level == level) do_step(r, t, home(r, t->dst), 0, 1);
  }
}

static void do_strip(run *r, int64_t col, int64_t n) {
  const map_plan *p = r->p;
  char *direct[64] = {0};
  for (int y = 0; y < p->n_yields; y++) {
    const row *w = &r->rows[y];
    if (p->writer[y] >= 0 && !w->convert && !w->stream && w->stride == 1 && w->valid - col >= n)
      direct[y] = w->p + col * (int64_t)w->esize;
  }
  for (int i = 0; i < p->n_steps; i++) {
    const step *t = &p->steps[i];
    if (t->level != 2) continue;
    char *dst = home(r, t->dst);
    for (int y = 0; y < p->n_yields; y++)
      if (direct[y] && p->writer[y] == i) dst = direct[y];
    do_step(r, t, dst, col, n);
  }
  for (int y = 0; y < p->n_yields; y++) {
    if (direct[y]) continue;
    const char *s = wide(r, p->yields[y], p->yield_uniform[y], p->yield_esize[y], 0, n);
    put(r, &r->rows[y], s, col, n);
  }
}

static void set_rows(run *r, const int64_t *idx, int outer) {
  for (int o = 0; o < r->n_ops; o++) {
    row *w = &r->rows[o];
    const cpu_desc *d = w->d;
    const int64_t *ext = vm_ext(r->v, d);
    int64_t at = 0;
    bool inside = true;
    for (int k = 0; k < outer; k++) {
      int64_t x = d->dims[k] == 1 ? 0 : idx[k];
      inside &= x < ext[k];
      if (inside) at += x * d->strides[k];
    }
    w->p = vm_base(r->v, d) + at * (int64_t)w->esize;
    w->valid = inside ? ext[d->rank - 1] : 0;
  }
}

static int64_t strip_length(const map_plan *p) {
  if (p->strip) return p->strip;
  int64_t n = 32 * 1024 / (4 * (p->n_buffers + 2));
  n &= ~(int64_t)63;
  return n < 128 ? 128 : n > CPU_STRIP ? CPU_STRIP : n;
}

static bool dense(const vm *v, const cpu_desc *d, const cpu_desc *like) {
  if (memcmp(d->dims, like->dims, sizeof(int64_t) * (size_t)d->rank) || !vm_full(v, d)) return false;
  int64_t s = 1;
  for (int i = d->rank - 1; i >= 0; i--) {
    if (d->dims[i] != 1 && d->strides[i] != s) return false;
    s *= d->dims[i];
  }
  return true;
}

static void begin_run(run *r, const vm *v, const map_plan *p, int n_ops, int n_out) {
  r->v = v;
  r->p = p;
  r->n_ops = n_ops;
  r->n_out = n_out;
  r->buffers = v->t->temp;
  r->spare = r->buffers + (size_t)p->n_buffers * STRIP_BYTES;
  for (int o = 0; o < n_ops; o++) r->rows[o].stream = false, r->rows[o].ahead = 0;
  r->cells = r->spare + (size_t)N_SPARE * STRIP_BYTES;
}

/* Rows that blocks read more than once: memory works on the next block's while the arithmetic of this one runs.
 * Prefetching past the end is harmless. */
static int64_t ahead_of(const vm *v, const row *w, int64_t rows) {
  const cpu_desc *d = w->d;
  if (!v->l->stream_bytes || d->kind != CPU_D_VIEW || w->stride != 1 || d->rank < 2 || d->dims[d->rank - 2] == 1)
    return 0;
  double bytes =
      (double)rows * (double)d->strides[d->rank - 2] * (double)w->esize; /* of strides that nothing moves along, too */
  return bytes > 0 && bytes <= 256 * 1024 ? (int64_t)bytes : 0;
}

void vm_map(const vm *v, const cpu_instr *i) {
  run r;
  begin_run(&r, v, &v->m->plans[i->a[0]], i->a[2], i->a[1]);
  int rank = r.rank = (int)i->imm;
  const int64_t *ops = cpu_extra(v->m->image) + i->extra;
  bool flat = !r.p->uses_index;
  int64_t bound[TSR_MAX_RANK] = {0}, total = 1;
  for (int o = 0; o < r.n_ops; o++) {
    row *w = &r.rows[o];
    const cpu_desc *d = w->d = vm_desc(v, (int)ops[o]);
    cpuk_dtype t = vm_cpuk((tsr_dtype)d->dtype), c = vm_cpuk(cpu_compute_type((tsr_dtype)d->dtype));
    w->type = t;
    w->esize = tsr_dtype_size((tsr_dtype)d->dtype);
    w->stride = d->dims[rank - 1] == 1 ? 1 : d->strides[rank - 1];
    w->convert = t == c ? NULL : o < r.n_out ? v->k->lanes->convert[c][t] : v->k->lanes->convert[t][c];
    flat = flat && dense(v, d, r.rows[0].d);
    if (o < r.n_out)
      for (int k = 0; k < rank; k++)
        if (vm_ext(v, d)[k] > bound[k]) bound[k] = vm_ext(v, d)[k];
  }
  for (int k = 0; k < rank; k++) total *= bound[k];
  if (!total) return;
  bool streams = false;
  for (int o = 0; o < r.n_ops; o++)
    r.rows[o].stream = o < r.n_out && r.rows[o].stride == 1 && vm_is_large(v, r.rows[o].d, total),
    streams |= r.rows[o].stream;
  for (int o = 0; o < r.n_ops; o++)
    r.rows[o].ahead = o >= r.n_out ? ahead_of(v, &r.rows[o], rank > 1 ? bound[rank - 2] : 1) : 0;
  do_level(&r, 0);
  int64_t step_n = strip_length(r.p), columns = flat ? total : bound[rank - 1],
          rows = flat ? 1 : total / bound[rank - 1];
  memset(r.index, 0, sizeof r.index);
  for (int64_t k = 0; k < rows; k++) {
    if (flat) {
      for (int o = 0; o < r.n_ops; o++)
        r.rows[o].p = vm_base(v, r.rows[o].d), r.rows[o].valid = total, r.rows[o].stride = 1;
    } else {
      set_rows(&r, r.index, rank - 1);
    }
    do_level(&r, 1);
    for (int64_t col = 0; col < columns; col += step_n)
      do_strip(&r, col, columns - col < step_n ? columns - col : step_n);
    for (int d = rank - 2; d >= 0 && ++r.index[d] == bound[d]; d--) r.index[d] = 0;
  }
  if (streams) v->k->lanes->stream_fence();
}

/* ---- gather and scatter: the program gives coordinates ---- */

static void coordinates(run *r, int64_t col, int64_t n, int n_yields, const int32_t **coord, char *wide_store) {
  for (int i = 0; i < r->p->n_steps; i++) {
    const step *t = &r->p->steps[i];
    if (t->level == 2) do_step(r, t, home(r, t->dst), col, n);
  }
  for (int y = 0; y < n_yields; y++) {
    char *b = r->at[r->p->yields[y]];
    if (r->p->yield_uniform[y]) {
      char *w = wide_store + (size_t)y * CPU_STRIP * 4;
      splat(r, w, b, r->p->yield_esize[y], n);
      b = w;
    }
    coord[y] = (const int32_t *)(const void *)b;
  }
}

/* Visits every element of `tile` row by row; move(src or dst index in view, element of the row). */
static void indexed(const vm *v, const cpu_instr *i, const cpu_desc *tile, const cpu_desc *view, bool gather) {
  run r;
  begin_run(&r, v, &v->m->plans[i->a[2]], 0, 0);
  int rank = tile->rank, vr = view->rank, yields = i->a[3];
  size_t ts = tsr_dtype_size((tsr_dtype)tile->dtype), vs = tsr_dtype_size((tsr_dtype)view->dtype);
  cpuk_dtype tt = vm_cpuk((tsr_dtype)tile->dtype), vt = vm_cpuk((tsr_dtype)view->dtype);
  cpuk_convert_fn convert = gather ? v->k->lanes->convert[vt][tt] : v->k->lanes->convert[tt][vt];
  const int64_t *ext = vm_ext(v, view);
  const bool exists = vr || view->kind == CPU_D_TILE || ext[0];
  char *base = vm_base(v, view), *store = r.cells + (size_t)(r.p->n_cells + 8) * CELL,
       *line = store + (size_t)(yields + 1) * CPU_STRIP * 4;
  int64_t rows = 1, cols = tile->dims[rank - 1];
  for (int d = 0; d < rank - 1; d++) rows *= tile->dims[d];
  memset(r.index, 0, sizeof r.index);
  do_level(&r, 0);
  for (int64_t k = 0; k < rows; k++) {
    int64_t at = 0;
    for (int d = 0; d < rank - 1; d++) at += r.index[d] * tile->strides[d];
    do_level(&r, 1);
    for (int64_t col = 0; col < cols; col += CPU_STRIP) {
      int64_t n = cols - col < CPU_STRIP ? cols - col : CPU_STRIP;
      const int32_t *coord[TSR_MAX_RANK + 1];
      coordinates(&r, col, n, yields, coord, store);
      const uint8_t *valid = yields > vr ? (const uint8_t *)coord[vr] : NULL;
      char *strip = vm_base(v, tile) + (at + col) * (int64_t)ts;
      if (!gather) convert(line, strip, (size_t)n);
      for (int64_t e = 0; e < n; e++) {
        int64_t off = 0;
        bool inside = exists && (!valid || valid[e]);
        for (int d = 0; d < vr && inside; d++) {
          int64_t x = coord[d][e];
          inside = x >= 0 && x < ext[d];
          if (inside) off += x * view->strides[d];
        }
        if (!gather) {
          if (inside) memcpy(base + off * (int64_t)vs, line + e * (int64_t)vs, vs);
        } else if (inside) {
          memcpy(line + e * (int64_t)vs, base + off * (int64_t)vs, vs);
        } else {
          memset(line + e * (int64_t)vs, 0, vs);
        }
      }
      if (gather) convert(strip, line, (size_t)n);
    }
    for (int d = rank - 2; d >= 0 && ++r.index[d] == tile->dims[d]; d--) r.index[d] = 0;
  }
}

void vm_gather(const vm *v, const cpu_instr *i) { indexed(v, i, vm_desc(v, i->a[0]), vm_desc(v, i->a[1]), true); }
void vm_scatter(const vm *v, const cpu_instr *i) { indexed(v, i, vm_desc(v, i->a[0]), vm_desc(v, i->a[1]), false); }
