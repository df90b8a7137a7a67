/* core/ir/builtin_ops.c - the two ops that belong to no level. */
#include "core/ir/tables.h"

static const ir_opdef rows[] = {
    {.name = "builtin.module", .level = IR_BUILTIN, .n_regions = 1, .flags = IR_ANY_ATTRS, .help = "Holds functions, programs and kernels."},
    {.name = "tessera.fragment", .level = IR_BUILTIN, .n_regions = 1, .flags = IR_ANY_ATTRS,
     .help = "Bare operations read from text; the block arguments are the values that the text used without defining them."},
};

const ir_rows *builtin_ops(size_t group) {
  static const ir_rows all = {rows, sizeof rows / sizeof *rows};
  return group ? NULL : &all;
}
