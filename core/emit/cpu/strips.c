/* core/emit/cpu/strips.c - regions of maps, gathers and scatters as elementwise programs over strips; see
 * emit/cpu/code.h. */
#include "core/emit/cpu/gen.h"

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
  gen_push(p->g, &p->g->strips, &s);
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
                              .a = gen_reg(v),
                              .predicate = gen_is_float(v->type),
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
  s.a = gen_desc(p->g, o->operands[0]);
  s.c = gen_ints(p->g, at, rank);
  r->scratch = strip(p, s);
  return NULL;
}

static tsr_status strip_op(prog *p, ir_op *o) {
  cpu_strip s = {.op = CPU_S_OP, .code = (uint8_t)o->def->code, .predicate = (uint8_t)gen_variant(o)};
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
        (cpu_strip){
            .op = CPU_S_CONST, .ct = s.to_ct, .to_ct = s.to_ct, .uniform = 1, .imm = f ? gen_bits(v) : gen_whole(o)});
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

tsr_status gen_program(gen *g, const ir_op *op, bool args_are_indices, int first_input, int last, int *out) {
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
  *out = gen_push(g, &g->programs, &p.p);
  return NULL;
}
