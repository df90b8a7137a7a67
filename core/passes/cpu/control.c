/* core/passes/cpu/control.c - loops and branches of the CPU's lowering: tiles keep their scratch memory through them,
 * registers are carried as values. */
#include "core/ir/target/target.h"
#include "core/ir/tile/tile.h"
#include "core/passes/cpu/lower.h"
#include "core/passes/cpu/patterns.h"

static bool is_tile_value(const ir_value *v) { return v->type->kind == IR_T_FRAG || v->type->kind == IR_T_SHARED; }

/* Tiles keep their scratch interval through a loop; only registers are carried as values. */
static tsr_status enter_carried(lower *l, ir_builder *b, ir_op *op, int i) {
  ir_value *init = op->operands[3 + i], *arg = op->regions[0]->args[1 + i], *r = op->results[i];
  int64_t end = scratch_last_use(r), loop_end = scratch_end(op);
  if (loop_end > end) end = loop_end;
  ir_value *t = cpu_at(init);
  if (t->type->kind == IR_T_ARRAY && init->n_uses == 1 && !init->owner && init->def->parent == op->parent) {
    scratch_interval *s = &l->scratch.v[t->scratch];
    if (end > s->end) s->end = end;
  } else {
    TSR_TRY(cpu_new_tile(l, b, op, init->type, op->scratch, end, &t));
    if (!cpu_call2(l, b, "move", t, cpu_at(init))) return st_oom();
  }
  arg->data = r->data = t;
  return NULL;
}

/* Yielded tiles go to their scratch intervals; a tile that lies in another's is saved first. */
static tsr_status leave_carried(lower *l, ir_builder *b, ir_op *op, ir_op *yield) {
  ir_value *from[64];
  for (int i = 0; i < op->n_results; i++) {
    if (!is_tile_value(op->results[i])) continue;
    from[i] = cpu_at(yield->operands[i]);
    for (int j = 0; j < op->n_results; j++)
      if (j != i && is_tile_value(op->results[j]) && from[i] != cpu_at(op->results[i]) &&
          from[i] == cpu_at(op->results[j])) {
        ir_value *t;
        TSR_TRY(cpu_new_tile(l, b, op, op->results[i]->type, op->scratch, scratch_end(op), &t));
        if (!cpu_call2(l, b, "move", t, from[i])) return st_oom();
        from[i] = t;
        break;
      }
  }
  for (int i = 0; i < op->n_results; i++)
    if (is_tile_value(op->results[i]) && from[i] != cpu_at(op->results[i]) &&
        !cpu_call2(l, b, "move", cpu_at(op->results[i]), from[i]))
      return st_oom();
  return NULL;
}

tsr_status cpu_lower_for(lower *l, ir_builder *b, ir_op *op) {
  cpu_contraction c;
  if (cpu_find_contraction(op, &c)) return cpu_lower_contraction(l, b, &c, op->results[0]);
  if (op->n_results > 60) return ir_error(op, NULL, "carries too many values");
  ir_value *operands[64];
  const ir_type *types[64];
  int n = 0;
  for (int i = 0; i < 3; i++) operands[i] = cpu_at(op->operands[i]);
  for (int i = 0; i < op->n_results; i++) {
    if (is_tile_value(op->results[i])) {
      if (!cpu_at(op->operands[3 + i])) TSR_TRY(cpu_tile_for(l, b, op->operands[3 + i]));
      TSR_TRY(enter_carried(l, b, op, i));
      continue;
    }
    operands[3 + n] = cpu_at(op->operands[3 + i]);
    types[n++] = ir_type_get(l->m, op->results[i]->type);
  }
  ir_op *f = ir_op_new(b, ir_find_op("tessera.target.for"), 3 + n, operands, n, types, 1);
  if (!f) return st_oom();
  ir_block *body = f->regions[0];
  if (!(op->regions[0]->args[0]->data = ir_block_arg(l->m, body, ir_type_index(l->m), NULL))) return st_oom();
  n = 0;
  for (int i = 0; i < op->n_results; i++)
    if (!is_tile_value(op->results[i])) {
      if (!(op->regions[0]->args[1 + i]->data = ir_block_arg(l->m, body, types[n], NULL))) return st_oom();
      op->results[i]->data = f->results[n++];
    }
  ir_builder in = ir_at_end(l->m, body);
  TSR_TRY(l->block(l, op->regions[0], &in));
  ir_op *y = op->regions[0]->last;
  TSR_TRY(leave_carried(l, &in, op, y));
  n = 0;
  for (int i = 0; i < y->n_operands; i++)
    if (!is_tile_value(y->operands[i])) operands[n++] = cpu_at(y->operands[i]);
  return ir_build0(&in, "tessera.target.yield", n, operands) ? NULL : st_oom();
}

tsr_status cpu_lower_if(lower *l, ir_builder *b, ir_op *op) {
  ir_value *cond = cpu_at(op->operands[0]), *regs[64];
  const ir_type *types[64];
  int n = 0;
  if (op->n_results > 60) return ir_error(op, NULL, "has too many results");
  for (int i = 0; i < op->n_results; i++) {
    if (is_tile_value(op->results[i])) TSR_TRY(cpu_tile_for(l, b, op->results[i]));
    else types[n++] = ir_type_get(l->m, op->results[i]->type);
  }
  ir_op *f = ir_op_new(b, ir_find_op("tessera.target.if"), 1, &cond, n, types, op->n_regions);
  if (!f) return st_oom();
  n = 0;
  for (int i = 0; i < op->n_results; i++)
    if (!is_tile_value(op->results[i])) op->results[i]->data = f->results[n++];
  for (int r = 0; r < op->n_regions; r++) {
    ir_builder in = ir_at_end(l->m, f->regions[r]);
    TSR_TRY(l->block(l, op->regions[r], &in));
    ir_op *y = op->regions[r]->last;
    n = 0;
    for (int i = 0; y && i < op->n_results; i++) {
      if (!is_tile_value(op->results[i])) regs[n++] = cpu_at(y->operands[i]);
      else if (!cpu_call2(l, &in, "move", cpu_at(op->results[i]), cpu_at(y->operands[i]))) return st_oom();
    }
    if (!ir_build0(&in, "tessera.target.yield", n, regs)) return st_oom();
  }
  return NULL;
}

