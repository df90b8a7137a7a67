/* core/emit/cpu/emit_cpu.c - Target IR of the CPU dialect to the code image of emit/cpu/code.h.
 * Input: a verified module; output: one blob in the arena. References become table indices; the operand limits of the
 * format are checked here with a clear status, what the micro-kernels take in emit/cpu/calls.c and check.c. */
#include "core/emit/cpu/emit_cpu.h"

#include "core/emit/cpu/check.h"
#include "core/emit/cpu/gen.h"

static cpu_instr *instr_at(gen *g, int i) { return (cpu_instr *)g->instrs.v + i; }
static int here(const gen *g) { return (int)g->instrs.n - g->k.first_instr; }

static int new_reg(gen *g, ir_value *v) { return (int)(v->scratch = g->k.n_regs++); }
static int new_view(gen *g, ir_value *v) { return (int)(v->scratch = g->k.n_views++); }

/* Where a view begins; of one without elements it may lie anywhere, and matters nowhere. */
static int64_t begin_of(const ir_type *view) { return ir_type_count(view) ? view->offset : 0; }

/* ---- instructions ---------------------------------------------------------------------------------------------- */

static tsr_status gen_block(gen *g, ir_block *b);

/* The dimension that strips run along: the last one, but where that has a few elements only and another many. */
static int strip_dimension(const ir_type *t) {
  enum { FEW = 8, MANY = 4 };
  int longest = t->rank - 1;
  for (int i = t->rank - 1; i >= 0; i--)
    if (t->dims[i] > t->dims[longest]) longest = i;
  const int64_t last = t->dims[t->rank - 1];
  return last <= FEW && t->dims[longest] >= MANY * last ? longest : t->rank - 1;
}

static tsr_status gen_map(gen *g, ir_op *op) {
  int64_t d[EMIT_CPU_MOST_OPERANDS];
  int outputs = (int)ir_get_int(op, "outputs", 1), p, rank = op->operands[0]->type->rank;
  const int along = strip_dimension(op->operands[0]->type);
  TSR_TRY(emit_cpu_check_map(op));
  for (int i = 0; i < op->n_operands; i++) d[i] = gen_desc(g, op->operands[i]);
  TSR_TRY(gen_program(g, op, false, outputs, along, &p));
  INSTR(g, CPU_MAP, rank, gen_ints(g, d, op->n_operands), p, outputs, op->n_operands, along);
  return NULL;
}

static tsr_status gen_for(gen *g, ir_op *op) {
  ir_block *body = op->regions[0];
  TSR_TRY(emit_cpu_check_scalars(op, op->results, op->n_results));
  int iv = new_reg(g, body->args[0]);
  for (int i = 1; i < body->n_args; i++) {
    int r = new_reg(g, body->args[i]);
    op->results[i - 1]->scratch = r;
    INSTR(g, CPU_ALU, 0, -1, r, gen_reg(op->operands[2 + i]), gen_reg(op->operands[2 + i]), 0, SC_N, 0, 0);
  }
  int loop = here(g);
  INSTR(g, CPU_FOR, 0, -1, iv, gen_reg(op->operands[0]), gen_reg(op->operands[1]), gen_reg(op->operands[2]), 0);
  TSR_TRY(gen_block(g, body));
  /* Through temporaries, since a carried register may be yielded in another's place. */
  int first = g->k.n_regs;
  for (int i = 0; i < op->n_results; i++)
    INSTR(g, CPU_ALU, 0, -1, g->k.n_regs++, gen_reg(body->last->operands[i]), 0, 0, SC_N, 0, 0);
  for (int i = 0; i < op->n_results; i++)
    INSTR(g, CPU_ALU, 0, -1, gen_reg(body->args[1 + i]), first + i, 0, 0, SC_N, 0, 0);
  INSTR(g, CPU_ENDFOR, 0, -1, loop);
  if (!g->oom) instr_at(g, g->k.first_instr + loop)->a[4] = here(g);
  return NULL;
}

static tsr_status gen_if(gen *g, ir_op *op) {
  TSR_TRY(emit_cpu_check_scalars(op, op->results, op->n_results));
  for (int i = 0; i < op->n_results; i++) new_reg(g, op->results[i]);
  int branch = here(g);
  INSTR(g, CPU_IF, 0, -1, gen_reg(op->operands[0]), 0);
  int jump = -1;
  for (int r = 0; r < op->n_regions; r++) {
    ir_block *b = op->regions[r];
    TSR_TRY(gen_block(g, b));
    for (int i = 0; i < op->n_results; i++)
      INSTR(g, CPU_ALU, 0, -1, gen_reg(op->results[i]), gen_reg(b->last->operands[i]), 0, 0, SC_N, 0, 0);
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

static tsr_status gen_window(gen *g, ir_op *op) {
  const ir_value *src = op->operands[0];
  int64_t v[2 * TSR_MAX_RANK];
  int n = src->type->rank;
  for (int i = 0; i < n; i++) v[i] = gen_reg(op->operands[1 + i]);
  ir_get_ints(op, "sizes", v + n, TSR_MAX_RANK);
  int s = gen_desc(g, src);
  new_view(g, op->results[0]);
  INSTR(g, CPU_WINDOW, 0, gen_ints(g, v, 2 * n), gen_desc(g, op->results[0]), s);
  return NULL;
}

static tsr_status gen_fetch(gen *g, ir_op *op) {
  int64_t v[TSR_MAX_RANK];
  for (int i = 1; i < op->n_operands; i++) v[i - 1] = gen_reg(op->operands[i]);
  int r = new_reg(g, op->results[0]);
  INSTR(g, CPU_LOAD_SCALAR, 0, gen_ints(g, v, op->n_operands - 1), r, gen_desc(g, op->operands[0]),
        gen_is_float(op->results[0]->type));
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
    for (int i = 0; i < op->n_operands; i++) a[i] = gen_reg(op->operands[i]);
    const ir_type *from = op->operands[op->def->code == SC_SELECT ? 1 : 0]->type, *to = op->results[0]->type;
    int r = new_reg(g, op->results[0]);
    if (op->def->code == SC_CAST)
      INSTR(g, CPU_CAST, 0, -1, r, a[0], gen_is_float(from), to->kind == IR_T_INDEX ? TSR_DTYPE_NONE : to->dtype);
    else
      INSTR(g, CPU_ALU, 0, -1, r, a[0], a[1], a[2], op->def->code, gen_is_float(from), gen_variant(op),
            to->kind == IR_T_INDEX ? TSR_I64 : to->dtype);
    return NULL;
  }
  switch (op->def->code) {
  case TG_CONST: {
    double v = ir_get_float(op, "value", 0);
    int r = new_reg(g, op->results[0]);
    INSTR(g, CPU_CONST, gen_is_float(op->results[0]->type) ? gen_bits(v) : gen_whole(op), -1, r);
    return NULL;
  }
  case TG_BLOCK_ID: {
    int r = new_reg(g, op->results[0]);
    INSTR(g, CPU_BLOCK_ID, 0, -1, r, (int)ir_get_int(op, "axis", 0));
    return NULL;
  }
  case TG_SCRATCH: return NULL;
  case TG_VIEW: {
    int s = gen_desc(g, op->operands[0]);
    new_view(g, op->results[0]);
    INSTR(g, CPU_VIEW, begin_of(op->results[0]->type), -1, gen_desc(g, op->results[0]), s);
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
    INSTR(g, CPU_ARG, begin_of(r->args[i]->type), -1, gen_desc(g, r->args[i]), i);
  }
  TSR_TRY(gen_block(g, r));
  INSTR(g, CPU_END, 0, -1, 0);
  g->k.n_instr = (int32_t)g->instrs.n - g->k.first_instr;
  gen_push(g, &g->kernels, &g->k);
  return NULL;
}

static uint64_t place(char *base, uint64_t *at, const gen_table *t) {
  uint64_t here_at = *at;
  if (base && t->n) memcpy(base + here_at, t->v, t->n * t->size);
  *at = (here_at + t->n * t->size + 15) & ~(uint64_t)15;
  return here_at;
}

static cpu_image *assemble(gen *g, size_t *bytes) {
  const gen_table *t[6] = {&g->kernels, &g->instrs, &g->descs, &g->strips, &g->programs, &g->extra};
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
  gen_table *all[6] = {&g.kernels, &g.instrs, &g.descs, &g.strips, &g.programs, &g.extra};
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
