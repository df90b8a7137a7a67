/* core/ir/recipe.c - recipes by name: each stands in the row of its op. */
#include "core/ir/recipe.h"

#include <stdio.h>
#include <string.h>

#include "core/ir/ir.h"

const row_recipe *recipe_named(const char *name) {
  char op[64];
  if (strlen(name) > 40) return NULL;
  snprintf(op, sizeof op, "tessera.graph.%s", name);
  const ir_opdef *def = ir_find_op(op);
  return def ? def->recipe : NULL;
}
