/* core/ir/tables.c - the levels as rows: their ops, and the check of where an op stands. The one file of ir/ that names
 * levels. */
#include "core/ir/tables.h"

#include <string.h>

#include "core/ir/tile/rules.h"

static const struct {
  const ir_opdef *(*ops)(size_t *n);
  ir_verify_fn verify_place;
} levels[IR_N_LEVELS] = {
    [IR_BUILTIN] = {builtin_ops, NULL},
    [IR_GRAPH] = {graph_ops, NULL},
    [IR_SCHEDULE] = {schedule_ops, NULL},
    [IR_TILE] = {tile_ops, tile_verify_place},
    [IR_TARGET] = {target_ops, tile_verify_place},
};

const ir_opdef *ir_table(ir_level l, size_t *n) {
  *n = 0;
  return (unsigned)l < IR_N_LEVELS ? levels[l].ops(n) : NULL;
}

ir_verify_fn ir_place_check(ir_level l) { return levels[l].verify_place; }

const ir_opdef *ir_find_op(const char *name) {
  for (int l = 0; l < IR_N_LEVELS; l++) {
    size_t n;
    const ir_opdef *t = ir_table((ir_level)l, &n);
    for (size_t i = 0; i < n; i++)
      if (!strcmp(t[i].name, name)) return &t[i];
  }
  return NULL;
}
