/* backends/cpu/map_plan.c - planning of elementwise programs when a module is loaded: micro-kernels, levels and strip
 * buffers by liveness; see backends/cpu/map.h. */
#include <string.h>

#include "backends/cpu/map.h"
#include "core/base/dtype.h"

static size_t ct_size(int ct) { return tsr_dtype_size((tsr_dtype)ct); }

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
  if (scalar_rows[s->code].operands == 1) {
    t->kind = ST_UNARY;
    t->fn.unary = l->unary[s->code][ct];
    return t->fn.unary != NULL;
  }
  t->kind = vs ? ST_BINARY_VS : sv ? ST_BINARY_SV : ST_BINARY;
  t->fn.binary = vs ? l->binary_vs[s->code][ct] : sv ? l->binary_sv[s->code][ct] : l->binary[s->code][ct];
  return t->fn.binary != NULL;
}

/* Of types with more digits than f32, and of those that f32 rounds: at once, not by way of f32. */
#define TF32_OF(name, t)                                                                 \
  static void tf32_of_##name(void *dst, const void *src, size_t n) {                     \
    for (size_t i = 0; i < n; i++) dtype_store(TSR_TF32, dst, i, dtype_load(t, src, i)); \
  }
TF32_OF(f64, TSR_F64)
TF32_OF(i32, TSR_I32)
TF32_OF(bool, TSR_BOOL)
static void tf32_of_i64(void *dst, const void *src, size_t n) {
  for (size_t i = 0; i < n; i++) dtype_store_int(TSR_TF32, dst, i, dtype_load_int(TSR_I64, src, i));
}

static cpuk_convert_fn to_tf32(const cpuk_lanes *l, tsr_dtype from) {
  switch (from) {
  case TSR_F32: return l->round_tf32;
  case TSR_F64: return tf32_of_f64;
  case TSR_I64: return tf32_of_i64;
  case TSR_BOOL: return tf32_of_bool;
  default: return tf32_of_i32;
  }
}

static bool plan_cast(const cpuk_lanes *l, const cpu_strip *s, step *t) {
  cpuk_dtype from = vm_cpuk((tsr_dtype)s->ct), narrow = vm_cpuk((tsr_dtype)s->code), to = vm_cpuk((tsr_dtype)s->to_ct);
  if (narrow == CPUK_N_DTYPE) return false;
  if (s->code == TSR_TF32 && to == CPUK_F32) {
    t->kind = ST_CONVERT;
    t->fn.convert = to_tf32(l, (tsr_dtype)s->ct);
    return true;
  }
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

/* Elements at indices: those of other types than they are computed in are converted after they were collected. */
static bool plan_load(const vm_module *m, const cpu_program *prog, const uint8_t *uniform, step *t) {
  const cpu_image *image = m->image;
  if (t->a < 0 || t->a >= image->n_descs || t->b < 0 || t->c < 0 || t->b > image->n_extra - t->c) return false;
  const cpu_desc *d = cpu_descs(image) + t->a;
  if (t->b != d->rank) return false;
  memcpy(t->at, cpu_extra(image) + t->c, sizeof *t->at * (size_t)t->b);
  for (int i = 0; i < t->b; i++) {
    if (t->at[i] < 0 || t->at[i] >= prog->n_regs) return false;
    t->at_uniform[i] = uniform[t->at[i]];
  }
  cpuk_dtype from = vm_cpuk((tsr_dtype)d->dtype), to = vm_cpuk((tsr_dtype)t->to_ct);
  t->kind = ST_LOAD;
  t->fn.convert = from == to ? NULL : m->k->lanes->convert[from][to];
  return from == to || t->fn.convert;
}

static tsr_status unsupported(const tsr_allocator *al, const cpu_strip *s) {
  return st_make(al, TSR_UNSUPPORTED,
                 ST_WHERE("cpu", s->op == CPU_S_OP ? scalar_rows[s->code].name : "cast", "cast to f32"),
                 "no micro-kernel for element type %s", tsr_dtype_name((tsr_dtype)s->ct));
}

static void uses_of(const step *t, int32_t *out, int *n) {
  *n = 0;
  for (int i = 0; t->kind == ST_LOAD && i < t->b; i++) out[(*n)++] = (int32_t)t->at[i];
  if (t->kind == ST_LOAD) return;
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
    int32_t u[TSR_MAX_RANK];
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

static tsr_status plan_fill(const vm_module *v, const cpu_program *prog, map_plan *p) {
  const tsr_allocator *al = v->al;
  const cpu_image *m = v->image;
  const cpu_strip *s = cpu_strips(m) + prog->first;
  const cpuk_lanes *l = v->k->lanes;
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
    case CPU_S_LOAD:
      if (!plan_load(v, prog, uniform, &t)) return unsupported(al, s);
      for (int i = 0; i < t.b; i++)
        if (level[t.at[i]] > t.level) t.level = level[t.at[i]];
      if (s->uniform && t.level == 2) t.level = 1;
      break;
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
    TSR_TRY(plan_fill(m, prog, p));
    if (!place_registers(m->al, p)) return st_oom();
    find_writers(p);
    TSR_TRY(map_f32_create(m, prog, p));
  }
  return NULL;
}

void map_plans_destroy(vm_module *m) {
  for (int i = 0; m->plans && i < m->image->n_programs; i++) {
    map_plan *p = &m->plans[i];
    map_f32_destroy(m->al, p);
    al_free(m->al, p->steps, sizeof(step) * (size_t)(p->cap_steps + 1), 16);
    al_free(m->al, p->place, sizeof(int32_t) * (size_t)(p->n_regs + 1), 16);
  }
  if (m->plans) al_free(m->al, m->plans, sizeof(map_plan) * (size_t)(m->image->n_programs + 1), 16);
  m->plans = NULL;
}

size_t map_temp_bytes(const vm_module *m, int program, int n_operands) {
  const map_plan *p = &m->plans[program];
  const size_t strips = (size_t)(p->n_buffers + N_SPARE) * STRIP_BYTES + (size_t)(p->n_cells + 8) * CELL + 256 +
                        (size_t)n_operands * 64,
               blocks = p->f32 ? cpuk_map_file_bytes(p->f32->n_varying) : 0;
  return strips > blocks ? strips : blocks;
}
