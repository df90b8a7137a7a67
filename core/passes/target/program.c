/* core/passes/target/program.c - the part of the lowering that all dialects share: the program around the kernels. */
#include "core/passes/target/program.h"

#include <string.h>

#include "core/device/dialect.h"
#include "core/ir/target/target.h"

static ir_value *mapped(ir_value *v) { return v->data; }

tsr_status tile_lower_program(const ir_op *program, ir_builder *b) {
  b->loc = program->loc;
  ir_op *p = ir_op_new(b, ir_find_op("tessera.target.program"), 0, NULL, 0, NULL, 1);
  ir_block *from = program->regions[0];
  if (!p || !ir_attrs_copy(p, program) || !ir_block_args_copy(b->m, p->regions[0], from)) return st_oom();
  ir_builder in = ir_at_end(b->m, p->regions[0]);
  for (ir_op *o = from->first; o; o = o->next) {
    const ir_opdef *def = o->def->level == IR_TILE ? ir_find_like(IR_TARGET, o->def) : NULL;
    if (!def) return ir_error(o, NULL, "is not an operation of a tile program");
    ir_value *few[64], **operands = o->n_operands > 64 ? arena_array(&b->m->arena, ir_value *, o->n_operands) : few;
    if (!operands) return st_oom();
    for (int i = 0; i < o->n_operands; i++) operands[i] = mapped(o->operands[i]);
    in.loc = o->loc;
    ir_op *n = ir_op_new(&in, def, o->n_operands, operands, o->n_results, NULL, 0);
    if (!n) return st_oom();
    for (int i = 0; i < o->n_results; i++) {
      if (!(n->results[i]->type = ir_type_get(b->m, o->results[i]->type))) return st_oom();
      if (o->results[i]->name && !(n->results[i]->name = arena_str(&b->m->arena, o->results[i]->name))) return st_oom();
      o->results[i]->data = n->results[i];
    }
    if (!ir_attrs_copy(n, o)) return st_oom();
  }
  return NULL;
}

tsr_status target_check_device(const ir_module *target, const tsr_caps *caps) {
  for (const ir_op *o = target->root->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_TARGET || o->def->code != TG_KERNEL) continue;
    const char *dialect = ir_get_str(o, "dialect", ""), *arch = ir_get_str(o, "arch", ""),
               *want = target_dialect_name(caps->dialect);
    const char *hint = "compile its Tile IR for this device";
    if (strcmp(dialect, want))
      return ir_error_at(o, o->loc, TSR_ARCH_MISMATCH, hint, "dialect = \"%s\", but the device runs \"%s\"", dialect,
                         want);
    if (caps->dialect != DIALECT_CPU && *arch && strcmp(arch, caps->arch))
      return ir_error_at(o, o->loc, TSR_ARCH_MISMATCH, hint, "arch = \"%s\", but the device is \"%s\"", arch,
                         caps->arch);
  }
  return NULL;
}
