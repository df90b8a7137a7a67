/* core/emit/cpu/emit_cpu.c - Target IR of the CPU dialect to the code image of emit/cpu/code.h.
 * Input: a verified module; output: one blob in the arena. References become table indices; the operand limits of the
 * format are checked here with a clear status, what the micro-kernels take in emit/cpu/check.c. */
#include "core/emit/cpu/emit_cpu.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/emit/cpu/check.h"
#include "core/emit/cpu/code.h"
#include "core/ir/reducer.h"
#include "core/ir/target/target.h"

typedef struct table {
  void *v;
  size_t n, cap, size;
} table;

typedef struct gen {
  arena *a;
  const tsr_allocator *al;
  table kernels, instrs, descs, strips, programs, extra;
  cpu_kernel k;
  int32_t strip; /* of the kernel's elementwise programs */
  bool oom;
} gen;

static int push(gen *g, table *t, const void *row) {
  char *v = t->v;
  if (g->oom || !al_grow(g->al, &v, &t->cap, t->n + 1, t->size)) {
    g->oom = true;
    return 0;
  }
  t->v = v;
  memcpy(v + t->n * t->size, row, t->size);
  return (int)t->n++;
}

static int instr(gen *g, cpu_opcode op, int n, const int *a, int64_t imm, int extra) {
  cpu_instr i = {.op = op, .extra = extra, .imm = imm};
  for (int k = 0; k < n; k++) i.a[k] = a[k];
  return push(g, &g->instrs, &i);
}
#define INSTR(g, op, imm, extra, ...) \
  instr(g, op, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]){__VA_ARGS__}, imm, extra)

static cpu_instr *instr_at(gen *g, int i) { return (cpu_instr *)g->instrs.v + i; }
static int here(const gen *g) { return (int)g->instrs.n - g->k.first_instr; }

static int extra_ints(gen *g, const int64_t *v, int n) {
  int first = (int)g->extra.n;
  for (int i = 0; i < n; i++) push(g, &g->extra, &v[i]);
  return first;
}

static bool is_float(const ir_type *t) { return t->kind == IR_T_SCALAR && dtype_is_float(t->dtype); }
static int reg(const ir_value *v) { return (int)v->scratch; }

static int new_reg(gen *g, ir_value *v) { return (int)(v->scratch = g->k.n_regs++); }
static int new_view(gen *g, ir_value *v) { return (int)(v->scratch = g->k.n_views++); }

/* The descriptor of a tile or view value. */
static int desc(gen *g, const ir_value *v) {
  const ir_type *t = v->type;
  cpu_desc d = {.kind = t->kind == IR_T_ARRAY ? CPU_D_TILE : CPU_D_VIEW, .dtype = t->dtype, .rank = t->rank};
  memcpy(d.dims, t->dims, sizeof d.dims);
  ir_type_strides(t, d.strides);
  if (d.kind == CPU_D_TILE) d.offset = ir_get_int(v->def, "offset", 0);
  else d.reg = (int32_t)v->scratch;
  return push(g, &g->descs, &d);
}

/* Where a view begins; of one without elements it may lie anywhere, and matters nowhere. */
static int64_t begin_of(const ir_type *view) { return ir_type_count(view) ? view->offset : 0; }

static int64_t bits(double f) {
  int64_t i;
  memcpy(&i, &f, sizeof i);
  return i;
}

/* A constant as an integer of its type: infinities, the identities of reductions, saturate; NaN is 0; integers wrap. */
static int64_t whole(const ir_op *op) {
  const ir_attr *a = ir_get_attr(op, "value");
  const ir_type *t = op->results[0]->type;
  const tsr_dtype type = t->kind == IR_T_INDEX ? TSR_I64 : t->dtype;
  union { uint64_t u; int64_t i; char c[8]; } one = {0};
  if (a && a->kind == IR_A_INT) return type == TSR_BOOL ? a->u.i != 0 : dtype_wrap(type, a->u.i);
  dtype_store(type, &one, 0, ir_get_float(op, "value", 0));
  return type == TSR_I64 ? one.i : (int64_t)dtype_load(type, &one, 0);
}

/* COMPARE's predicate; of NOT whether it is logical. */
static int variant_of(const ir_op *op) {
  if (op->def->code == SC_NOT) return op->operands[0]->type->dtype == TSR_BOOL;
  return scalar_predicate(ir_get_str(op, "predicate", scalar_predicate_name(CMP_EQ)));
}

/* ---- elementwise programs -------------------------------------------------------------------------------------- */

static tsr_dtype compute(const ir_type *t) { return t->kind == IR_T_INDEX ? TSR_I32 : cpu_compute_type(t->dtype); }

typedef struct prog {
  gen *g;
  const ir_block *region;
  cpu_program p;
  int last; /* last dimension: other indices are the same along a strip */
} prog;

static int strip(prog *p, cpu_strip s) {
  s.dst = s.op == CPU_S_YIELD ? s.dst : p->p.n_regs++;
  p->p.n++;
  push(p->g, &p->g->strips, &s);
  return s.dst;
}

static bool uniform(const prog *p, int r) {
  const cpu_strip *s = (const cpu_strip *)p->g->strips.v + p->p.first;
  for (int i = 0; i < p->p.n && !p->g->oom; i++)
    if (s[i].op != CPU_S_YIELD && s[i].dst == r) return s[i].uniform;
  return false;
}

/* A value used in the region: computed there, or a register of the kernel. */
static int strip_operand(prog *p, ir_value *v) {
  bool inside = v->owner ? v->owner == p->region : v->def->parent == p->region;
  if (inside) return (int)v->scratch;
  return strip(p, (cpu_strip){.op = CPU_S_REG,
                              .ct = (uint8_t)compute(v->type),
                              .to_ct = (uint8_t)compute(v->type),
                              .a = reg(v),
                              .predicate = is_float(v->type),
                              .uniform = 1});
}

static tsr_status check_computed(const ir_op *o, const ir_value *v) {
  return compute(v->type)
             ? NULL
             : ir_error_at(o, o->loc, TSR_UNSUPPORTED, "cast it", "element type %s can't be computed with on the CPU",
                           tsr_dtype_name(v->type->dtype));
}

/* Integers of 8 and 16 bits are computed in 32: what an op leaves above them goes. */
static int narrowed(prog *p, int a, tsr_dtype t, bool is_uniform) {
  const int bits = t == TSR_I8 ? 24 : 16;
  cpu_strip s = {.op = CPU_S_CONST, .ct = TSR_I32, .to_ct = TSR_I32, .uniform = 1, .imm = t == TSR_U8 ? 255 : bits};
  s.b = strip(p, s);
  s.op = CPU_S_OP, s.code = t == TSR_U8 ? SC_AND : SC_SHL, s.a = a, s.uniform = is_uniform;
  s.a = strip(p, s);
  s.code = SC_SHR;
  return t == TSR_U8 ? s.a : strip(p, s);
}

static bool may_leave(int code) {
  return code != SC_CAST && code != SC_COMPARE && code != SC_SELECT && code != SC_MIN && code != SC_MAX;
}

/* An element of a view at indices that the region computes. */
static tsr_status strip_load(prog *p, ir_op *o) {
  ir_value *r = o->results[0];
  int64_t at[TSR_MAX_RANK] = {0};
  const int rank = o->n_operands - 1;
  cpu_strip s = {.op = CPU_S_LOAD, .b = rank, .uniform = 1};
  for (int i = 0; i < rank; i++) {
    at[i] = strip_operand(p, o->operands[1 + i]);
    s.uniform &= uniform(p, (int)at[i]);
  }
  s.ct = s.to_ct = (uint8_t)compute(r->type);
  s.a = desc(p->g, o->operands[0]);
  s.c = extra_ints(p->g, at, rank);
  r->scratch = strip(p, s);
  return NULL;
}

static tsr_status strip_op(prog *p, ir_op *o) {
  cpu_strip s = {.op = CPU_S_OP, .code = (uint8_t)o->def->code, .predicate = (uint8_t)variant_of(o)};
  int32_t *fields[3] = {&s.a, &s.b, &s.c};
  if (p->p.n_regs > 1000) return ir_error(o, "split the map", "the elementwise program is too long");
  if (o->def->code == TG_YIELD) {
    for (int i = 0; i < o->n_operands; i++) {
      int a = strip_operand(p, o->operands[i]);
      strip(p, (cpu_strip){.op = CPU_S_YIELD,
                           .ct = (uint8_t)compute(o->operands[i]->type),
                           .dst = i,
                           .a = a,
                           .uniform = uniform(p, a)});
    }
    return NULL;
  }
  ir_value *r = o->results[0];
  s.to_ct = (uint8_t)compute(r->type);
  TSR_TRY(check_computed(o, r));
  if (o->def->code == TG_FETCH) return strip_load(p, o);
  for (int i = 0; i < o->n_operands; i++) TSR_TRY(check_computed(o, o->operands[i]));
  if (o->def->code == TG_CONST) {
    double v = ir_get_float(o, "value", 0);
    bool f = s.to_ct == TSR_F32 || s.to_ct == TSR_F64;
    r->scratch = strip(
        p,
        (cpu_strip){.op = CPU_S_CONST, .ct = s.to_ct, .to_ct = s.to_ct, .uniform = 1, .imm = f ? bits(v) : whole(o)});
    return NULL;
  }
  if (o->def->code == TG_ELEMENT_INDEX) {
    int d = (int)ir_get_int(o, "dim", 0);
    r->scratch =
        strip(p, (cpu_strip){.op = CPU_S_INDEX, .ct = TSR_I32, .to_ct = TSR_I32, .a = d, .uniform = d != p->last});
    return NULL;
  }
  s.uniform = 1;
  for (int i = 0; i < o->n_operands; i++) {
    int a = strip_operand(p, o->operands[i]);
    *fields[i] = a;
    if (!uniform(p, a)) s.uniform = 0;
  }
  s.ct = (uint8_t)compute(o->operands[o->def->code == SC_SELECT ? 1 : 0]->type);
  if (o->def->code == SC_CAST) {
    s.op = CPU_S_CAST;
    s.code = (uint8_t)(r->type->kind == IR_T_INDEX ? TSR_I32 : r->type->dtype);
  }
  r->scratch = strip(p, s);
  const tsr_dtype t = r->type->kind == IR_T_SCALAR ? r->type->dtype : TSR_DTYPE_NONE;
  if ((t == TSR_I8 || t == TSR_I16 || t == TSR_U8) && may_leave(o->def->code))
    r->scratch = narrowed(p, (int)r->scratch, t, s.uniform);
  return NULL;
}

/* args_are_indices: gather and scatter regions get coordinates, map regions get elements. */
static tsr_status program(gen *g, const ir_op *op, bool args_are_indices, int first_input, int last, int *out) {
  const ir_block *r = op->regions[0];
  prog p = {g, r, {.first = (int32_t)g->strips.n, .strip = g->strip}, last};
  for (int i = 0; i < r->n_args; i++) {
    cpu_strip s = {.op = args_are_indices ? CPU_S_INDEX : CPU_S_INPUT, .a = args_are_indices ? i : first_input + i};
    s.ct = s.to_ct = (uint8_t)compute(r->args[i]->type);
    if (args_are_indices) {
      s.uniform = i != last;
    } else {
      const ir_type *t = op->operands[first_input + i]->type, *o = op->operands[0]->type;
      s.uniform = t->dims[last] == 1 && o->dims[last] != 1;
    }
    r->args[i]->scratch = strip(&p, s);
  }
  for (ir_op *o = r->first; o; o = o->next) TSR_TRY(strip_op(&p, o));
  *out = push(g, &g->programs, &p.p);
  return NULL;
}

/* ---- instructions ---------------------------------------------------------------------------------------------- */

static tsr_status gen_block(gen *g, ir_block *b);

static tsr_status gen_map(gen *g, ir_op *op) {
  int64_t d[EMIT_CPU_MOST_OPERANDS];
  int outputs = (int)ir_get_int(op, "outputs", 1), p, rank = op->operands[0]->type->rank;
  TSR_TRY(emit_cpu_check_map(op));
  for (int i = 0; i < op->n_operands; i++) d[i] = desc(g, op->operands[i]);
  TSR_TRY(program(g, op, false, outputs, rank - 1, &p));
  INSTR(g, CPU_MAP, rank, extra_ints(g, d, op->n_operands), p, outputs, op->n_operands);
  return NULL;
}

static tsr_status gen_for(gen *g, ir_op *op) {
  ir_block *body = op->regions[0];
  TSR_TRY(emit_cpu_check_scalars(op, op->results, op->n_results));
  int iv = new_reg(g, body->args[0]);
  for (int i = 1; i < body->n_args; i++) {
    int r = new_reg(g, body->args[i]);
    op->results[i - 1]->scratch = r;
    INSTR(g, CPU_ALU, 0, -1, r, reg(op->operands[2 + i]), reg(op->operands[2 + i]), 0, SC_N, 0, 0);
  }
  int loop = here(g);
  INSTR(g, CPU_FOR, 0, -1, iv, reg(op->operands[0]), reg(op->operands[1]), reg(op->operands[2]), 0);
  TSR_TRY(gen_block(g, body));
  /* Through temporaries, since a carried register may be yielded in another's place. */
  int first = g->k.n_regs;
  for (int i = 0; i < op->n_results; i++)
    INSTR(g, CPU_ALU, 0, -1, g->k.n_regs++, reg(body->last->operands[i]), 0, 0, SC_N, 0, 0);
  for (int i = 0; i < op->n_results; i++) INSTR(g, CPU_ALU, 0, -1, reg(body->args[1 + i]), first + i, 0, 0, SC_N, 0, 0);
  INSTR(g, CPU_ENDFOR, 0, -1, loop);
  if (!g->oom) instr_at(g, g->k.first_instr + loop)->a[4] = here(g);
  return NULL;
}

static tsr_status gen_if(gen *g, ir_op *op) {
  TSR_TRY(emit_cpu_check_scalars(op, op->results, op->n_results));
  for (int i = 0; i < op->n_results; i++) new_reg(g, op->results[i]);
  int branch = here(g);
  INSTR(g, CPU_IF, 0, -1, reg(op->operands[0]), 0);
  int jump = -1;
  for (int r = 0; r < op->n_regions; r++) {
    ir_block *b = op->regions[r];
    TSR_TRY(gen_block(g, b));
    for (int i = 0; i < op->n_results; i++)
      INSTR(g, CPU_ALU, 0, -1, reg(op->results[i]), reg(b->last->operands[i]), 0, 0, SC_N, 0, 0);
    if (r == 0) {
      if (op->n_regions > 1) {
        jump = here(g);
        INSTR(g, CPU_JUMP, 0, -1, 0);
      }
      if (!g->oom) instr_at(g, g->k.first_instr + branch)->a[1] = here(g);
    }
  }
  if (jump >= 0 && !g->oom) instr_at(g, g->k.first_instr + jump)->a[0] = here(g);
  return NULL;
}

static int reduce_code(const ir_op *op) { return (int)(ir_reducer_of(op) - ir_reducers); }

static int policy_code(const ir_op *op) {
  const tsr_policy p = ir_policy(op);
  return p == TSR_POLICY_KAHAN_SUM ? 2 : p == TSR_POLICY_DETERMINISTIC;
}

static tsr_status gen_row(gen *g, ir_op *op, const char *name) {
  static const char *const optional[] = {"mean", "factor", "scale", "shift", "sums"};
  enum { N = 5 };
  int fn = 0, d[N], n = 2;
  bool has[N];
  while (fn < CPU_N_ROW_FN && strcmp(cpu_row_infos[fn].name, name)) fn++;
  if (fn == CPU_N_ROW_FN) return ir_error(op, NULL, "no micro-kernel \"%s\"", ir_get_str(op, "fn", ""));
  for (int i = 0; i < N; i++) n += has[i] = ir_get_bool(op, optional[i], false);
  TSR_TRY(emit_cpu_check_row(op, n, N, has, (cpu_row_fn)fn));
  int out = desc(g, op->operands[0]), x = desc(g, op->operands[1]);
  n = 2;
  for (int i = 0; i < N; i++) d[i] = has[i] ? desc(g, op->operands[n++]) : -1;
  int extra = -1;
  if (cpu_row_infos[fn].whole)
    extra = extra_ints(g,
                       (int64_t[]){bits(ir_get_float(op, "mean_scale", 0)), bits(ir_get_float(op, "square_scale", 0)),
                                   bits(ir_get_float(op, "eps", 0))},
                       3);
  INSTR(g, CPU_ROW, 0, extra, fn, out, x, d[0], d[1], d[2], d[3], d[4]);
  return NULL;
}

static tsr_status gen_unfold(gen *g, ir_op *op) {
  tile_unfold u;
  TSR_TRY(emit_cpu_read_unfold(op, &u));
  int64_t map[UNFOLD_N_INDICES + TSR_MAX_RANK + UNFOLD_MOST_DIGITS * (TSR_MAX_RANK + 1)];
  int n = 0, digits = 0;
  for (int i = 0; i < UNFOLD_N_INDICES; i++) digits += u.n[i], map[n++] = u.n[i];
  for (int d = 0; d < u.rank; d++) map[n++] = u.origin[d];
  for (int i = 0; i < digits; i++) {
    map[n++] = u.extent[i];
    for (int d = 0; d < u.rank; d++) map[n++] = u.step[i][d];
  }
  ir_value **v = op->operands;
  INSTR(g, CPU_UNFOLD, ir_get_bool(op, "transposed", false), extra_ints(g, map, n), desc(g, v[0]), desc(g, v[1]),
        reg(v[2]), reg(v[3]), reg(v[4]));
  return NULL;
}

static tsr_status gen_call(gen *g, ir_op *op) {
  const char *fn = ir_get_str(op, "fn", "");
  ir_value **v = op->operands;
  TSR_TRY(emit_cpu_check_call(op));
  if (!strcmp(fn, "copy") || !strcmp(fn, "move")) {
    /* A move is a reinterpretation of dense tiles of one count (reshape); a copy keeps coordinates, and so does a move
     * of padded rows. */
    INSTR(g, CPU_COPY, fn[0] == 'm' && !v[0]->type->pad && !v[1]->type->pad, -1, desc(g, v[0]), desc(g, v[1]));
  } else if (!strcmp(fn, "fill")) {
    const ir_attr *a = ir_get_attr(op, "value");
    const bool integer = a && a->kind == IR_A_INT && !dtype_is_float(v[0]->type->dtype);
    INSTR(g, CPU_FILL, integer ? dtype_wrap(v[0]->type->dtype, a->u.i) : bits(ir_get_float(op, "value", 0)), -1,
          desc(g, v[0]), !integer);
  } else if (!strcmp(fn, "splat")) {
    INSTR(g, CPU_SPLAT, 0, -1, desc(g, v[0]), reg(v[1]), is_float(v[1]->type));
  } else if (!strcmp(fn, "reduce")) {
    INSTR(g, CPU_REDUCE, 0, -1, desc(g, v[0]), desc(g, v[1]), (int)ir_get_int(op, "axis", 0), reduce_code(op),
          policy_code(op));
  } else if (!strcmp(fn, "gemm") || !strcmp(fn, "matmul")) {
    bool all = fn[0] == 'm';
    int64_t k = ir_get_int(op, "k", 0);
    if (all) g->k.has_matmul = 1;
    INSTR(g, all ? CPU_MATMUL : CPU_GEMM, 0, -1, desc(g, v[0]), desc(g, v[1]), desc(g, v[2]),
          ir_get_bool(op, "transpose_a", false), ir_get_bool(op, "transpose_b", false), policy_code(op) == 2,
          all ? (int)(k < 0 || k > INT32_MAX ? 0 : k) : ir_get_bool(op, "accumulate", true));
  } else if (!strcmp(fn, "gather") || !strcmp(fn, "scatter")) {
    int p;
    TSR_TRY(program(g, op, true, 0, v[0]->type->rank - 1, &p));
    INSTR(g, fn[0] == 'g' ? CPU_GATHER : CPU_SCATTER, 0, -1, desc(g, v[0]), desc(g, v[1]), p,
          op->regions[0]->last->n_operands);
  } else if (!strcmp(fn, "unfold")) {
    return gen_unfold(g, op);
  } else if (!strcmp(fn, "fft_stage")) {
    INSTR(g, CPU_FFT, ir_get_int(op, "span", 1), -1, desc(g, v[0]), desc(g, v[1]), desc(g, v[2]), desc(g, v[3]),
          (int)ir_get_int(op, "radix", 2), ir_get_bool(op, "inverse", false));
  } else if (!strcmp(fn, "dft")) {
    const int axis = (int)ir_get_int(op, "axis", 0);
    INSTR(g, CPU_DFT, bits(ir_get_float(op, "scale", 1)), extra_ints(g, (int64_t[]){ir_get_int(op, "lines", 1)}, 1),
          desc(g, v[0]), desc(g, v[1]), reg(v[2]), axis, (int)ir_get_int(op, "to", axis),
          ir_get_bool(op, "inverse", false), ir_get_bool(op, "twiddle", false));
  } else if (!strcmp(fn, "transpose")) {
    int64_t perm[TSR_MAX_RANK];
    ir_get_ints(op, "perm", perm, TSR_MAX_RANK);
    INSTR(g, CPU_TRANSPOSE, 0, extra_ints(g, perm, v[1]->type->rank), desc(g, v[0]), desc(g, v[1]));
  } else if (!strncmp(fn, "row_", 4)) {
    return gen_row(g, op, fn + 4);
  } else {
    return ir_error(op, NULL, "no micro-kernel \"%s\"", fn);
  }
  return NULL;
}

static tsr_status gen_window(gen *g, ir_op *op) {
  const ir_value *src = op->operands[0];
  int64_t v[2 * TSR_MAX_RANK];
  int n = src->type->rank;
  for (int i = 0; i < n; i++) v[i] = reg(op->operands[1 + i]);
  ir_get_ints(op, "sizes", v + n, TSR_MAX_RANK);
  int s = desc(g, src);
  new_view(g, op->results[0]);
  INSTR(g, CPU_WINDOW, 0, extra_ints(g, v, 2 * n), desc(g, op->results[0]), s);
  return NULL;
}

static tsr_status gen_fetch(gen *g, ir_op *op) {
  int64_t v[TSR_MAX_RANK];
  for (int i = 1; i < op->n_operands; i++) v[i - 1] = reg(op->operands[i]);
  int r = new_reg(g, op->results[0]);
  INSTR(g, CPU_LOAD_SCALAR, 0, extra_ints(g, v, op->n_operands - 1), r, desc(g, op->operands[0]),
        is_float(op->results[0]->type));
  return NULL;
}

static tsr_status gen_op(gen *g, ir_op *op) {
  TSR_TRY(emit_cpu_check_types(op, op->operands, op->n_operands));
  TSR_TRY(emit_cpu_check_types(op, op->results, op->n_results));
  if (ir_is_scalar(op) || op->def->code == TG_CONST) {
    TSR_TRY(emit_cpu_check_scalars(op, op->operands, op->n_operands));
    TSR_TRY(emit_cpu_check_scalars(op, op->results, 1));
  }
  if (ir_is_scalar(op)) {
    int a[3] = {0};
    for (int i = 0; i < op->n_operands; i++) a[i] = reg(op->operands[i]);
    const ir_type *from = op->operands[op->def->code == SC_SELECT ? 1 : 0]->type, *to = op->results[0]->type;
    int r = new_reg(g, op->results[0]);
    if (op->def->code == SC_CAST)
      INSTR(g, CPU_CAST, 0, -1, r, a[0], is_float(from), to->kind == IR_T_INDEX ? TSR_DTYPE_NONE : to->dtype);
    else
      INSTR(g, CPU_ALU, 0, -1, r, a[0], a[1], a[2], op->def->code, is_float(from), variant_of(op),
            to->kind == IR_T_INDEX ? TSR_I64 : to->dtype);
    return NULL;
  }
  switch (op->def->code) {
  case TG_CONST: {
    double v = ir_get_float(op, "value", 0);
    int r = new_reg(g, op->results[0]);
    INSTR(g, CPU_CONST, is_float(op->results[0]->type) ? bits(v) : whole(op), -1, r);
    return NULL;
  }
  case TG_BLOCK_ID: {
    int r = new_reg(g, op->results[0]);
    INSTR(g, CPU_BLOCK_ID, 0, -1, r, (int)ir_get_int(op, "axis", 0));
    return NULL;
  }
  case TG_SCRATCH: return NULL;
  case TG_VIEW: {
    int s = desc(g, op->operands[0]);
    new_view(g, op->results[0]);
    INSTR(g, CPU_VIEW, begin_of(op->results[0]->type), -1, desc(g, op->results[0]), s);
    return NULL;
  }
  case TG_WINDOW: return gen_window(g, op);
  case TG_FETCH: return gen_fetch(g, op);
  case TG_MAP: return gen_map(g, op);
  case TG_CALL: return gen_call(g, op);
  case TG_FOR: return gen_for(g, op);
  case TG_IF: return gen_if(g, op);
  case TG_YIELD: case TG_RETURN: return NULL;
  default: return ir_error(op, NULL, "is not an operation of the CPU dialect");
  }
}

static tsr_status gen_block(gen *g, ir_block *b) {
  for (ir_op *o = b->first; o; o = o->next) TSR_TRY(gen_op(g, o));
  return NULL;
}

static tsr_status gen_kernel(gen *g, ir_op *op) {
  ir_block *r = op->regions[0];
  g->k = (cpu_kernel){
      .first_instr = (int32_t)g->instrs.n, .n_args = r->n_args, .scratch_bytes = ir_get_int(op, "scratch_bytes", 0)};
  if (g->k.scratch_bytes < 0 || g->k.scratch_bytes > (int64_t)1 << 34)
    return ir_error(op, NULL, "scratch_bytes is out of range");
  ir_get_ints(op, "grid", g->k.grid, 3);
  int64_t size = ir_get_int(op, "strip", 0);
  g->k.across = ir_get_int(op, "raster", 0) > 0;
  g->strip = (int32_t)(size > CPU_STRIP ? CPU_STRIP : size > 0 ? size : 0);
  TSR_TRY(emit_cpu_check_types(op, r->args, r->n_args));
  for (int i = 0; i < r->n_args; i++) {
    if (r->args[i]->type->kind != IR_T_VIEW) return ir_error(op, NULL, "argument %d must be a view", i);
    new_view(g, r->args[i]);
    INSTR(g, CPU_ARG, begin_of(r->args[i]->type), -1, desc(g, r->args[i]), i);
  }
  TSR_TRY(gen_block(g, r));
  INSTR(g, CPU_END, 0, -1, 0);
  g->k.n_instr = (int32_t)g->instrs.n - g->k.first_instr;
  push(g, &g->kernels, &g->k);
  return NULL;
}

static uint64_t place(char *base, uint64_t *at, const table *t) {
  uint64_t here_at = *at;
  if (base && t->n) memcpy(base + here_at, t->v, t->n * t->size);
  *at = (here_at + t->n * t->size + 15) & ~(uint64_t)15;
  return here_at;
}

static cpu_image *assemble(gen *g, size_t *bytes) {
  const table *t[6] = {&g->kernels, &g->instrs, &g->descs, &g->strips, &g->programs, &g->extra};
  uint64_t at = (sizeof(cpu_image) + 15) & ~(uint64_t)15, offsets[6], size = at;
  for (int i = 0; i < 6; i++) place(NULL, &size, t[i]);
  char *base = arena_alloc(g->a, size);
  if (!base || g->oom) return NULL;
  for (int i = 0; i < 6; i++) offsets[i] = place(base, &at, t[i]);
  cpu_image *m = (cpu_image *)base;
  *m = (cpu_image){CPU_MAGIC,    CPU_CODE_VERSION, size,         (int)t[0]->n, (int)t[1]->n,
                   (int)t[2]->n, (int)t[3]->n,     (int)t[4]->n, (int)t[5]->n, offsets[0],
                   offsets[1],   offsets[2],       offsets[3],   offsets[4],   offsets[5]};
  *bytes = size;
  return m;
}

tsr_status emit_cpu(const ir_module *target, const tsr_caps *caps, arena *a, be_module_desc *out) {
  gen g = {.a = a,
           .al = &a->al,
           .kernels.size = sizeof(cpu_kernel),
           .instrs.size = sizeof(cpu_instr),
           .descs.size = sizeof(cpu_desc),
           .strips.size = sizeof(cpu_strip),
           .programs.size = sizeof(cpu_program),
           .extra.size = sizeof(int64_t)};
  table *all[6] = {&g.kernels, &g.instrs, &g.descs, &g.strips, &g.programs, &g.extra};
  tsr_status st = NULL;
  for (ir_op *o = target->root->regions[0]->first; o; o = o->next)
    if (o->def->code == TG_KERNEL) TSR_GOTO(gen_kernel(&g, o));
  out->format = BE_CPU_CODE;
  out->code = assemble(&g, &out->code_bytes);
  if (!out->code) st = st_oom();
done:
  for (int i = 0; i < 6; i++) al_free(g.al, all[i]->v, all[i]->cap * all[i]->size, 16);
  return st;
}
