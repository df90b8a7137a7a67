/* core/ir/tables.c - the levels as rows: their ops, and the check of where an op stands. The one file of ir/ that names
 * levels. */
#include "core/ir/tables.h"

#include <string.h>

#include "core/ir/tile/rules.h"

static const struct {
  const ir_opdef *(*row)(size_t i);
  ir_verify_fn verify_place;
} levels[IR_N_LEVELS] = {
    [IR_BUILTIN] = {builtin_ops, NULL},
    [IR_GRAPH] = {graph_ops, NULL},
    [IR_SCHEDULE] = {schedule_ops, NULL},
    [IR_TILE] = {tile_ops, tile_verify_place},
    [IR_TARGET] = {target_ops, tile_verify_place},
};

const ir_opdef *ir_row(ir_level l, size_t i) { return (unsigned)l < IR_N_LEVELS ? levels[l].row(i) : NULL; }

ir_verify_fn ir_place_check(ir_level l) { return levels[l].verify_place; }

const ir_opdef *ir_find_op(const char *name) {
  const ir_opdef *t;
  for (int l = 0; l < IR_N_LEVELS; l++)
    for (size_t i = 0; (t = ir_row((ir_level)l, i)); i++)
      if (!strcmp(t->name, name)) return t;
  return NULL;
}
