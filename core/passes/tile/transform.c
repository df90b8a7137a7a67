/* core/passes/tile/transform.c - the family of Fourier transforms: a block has m lines, taken whole by one op. */
#include <string.h>

#include "core/base/int_math.h"
#include "core/passes/tile/build.h"

/* The operand where it lies. */
static ir_value *view_of(kb_kernel *k, const kb_mem *m) {
  ir_type t = {.kind = IR_T_VIEW, .dtype = m->dtype, .rank = m->rank, .has_strides = true, .offset = m->offset};
  memcpy(t.dims, m->dims, sizeof t.dims);
  memcpy(t.strides, m->strides, sizeof *t.strides * (size_t)m->rank);
  const ir_type *type = ir_type_get(k->m, &t);
  return type ? ir_build1(&k->b, "tessera.tile.view", type, 1, (ir_value *[]){m->arg}) : NULL;
}

/* Every thread gets some blocks, and a block fills the vectors that lines are taken in. */
static int64_t block_lines(const tsr_caps *c, int64_t lines) {
  enum { LEAST = 16, MOST = 64 };
  return clamp64(round_up(ceil_div(lines, 4 * max64(1, c->n_cores)), LEAST), LEAST, MOST);
}

tsr_status family_transform(kb_kernel *k) {
  const ir_op *op = k->src->regions[0]->first;
  while (op && !graph_is(op, G_DFT)) op = op->next;
  if (!op || op->next != k->src->regions[0]->last || k->src->n_results != 1)
    return ir_error(k->src, NULL, "holds one transform and nothing that reads it");
  const kb_node *x = kb_node_of(k, op->operands[0]);
  if (!x) return st_oom();
  if (!x->is_mem || !x->m.arg) return ir_error(op, NULL, "its operand must lie in memory");
  const graph_dft d = graph_dft_get(op);
  const int64_t lines = k->params.m > 0 ? k->params.m : block_lines(k->opts->caps, d.lines);
  if (!kb_note_tile(k, lines, d.n, 1)) return st_oom();
  if (!ir_set_attr(k->op, "grid", ir_attr_ints(k->m, (int64_t[]){ceil_div(d.lines, lines), 1, 1}, 3))) return st_oom();
  ir_value *first = kb_op2(k, "tessera.tile.mul", kb_block_id(k, 0), kb_index(k, lines)),
           *v[3] = {view_of(k, &x->m), k->op->regions[0]->args[k->src->n_operands], first};
  ir_op *y = first && v[0] ? ir_build0(&k->b, "tessera.tile.dft", 3, v) : NULL;
  if (!y || !ir_attrs_copy(y, op) || !ir_set_attr(y, "lines", ir_attr_int(k->m, lines))) return st_oom();
  return NULL;
}
