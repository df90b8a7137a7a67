/* core/ir/builtin_ops.c - the two ops that belong to no level. */
#include "core/ir/tables.h"

static const ir_opdef rows[] = {
    {.name = "builtin.module", .level = IR_BUILTIN, .n_regions = 1, .flags = IR_ANY_ATTRS, .help = "Holds functions, programs and kernels."},
    {.name = "tessera.fragment", .level = IR_BUILTIN, .n_regions = 1, .flags = IR_ANY_ATTRS,
     .help = "Bare operations read from text; the block arguments are the values that the text used without defining them."},
};

const ir_opdef *builtin_ops(size_t i) { return i < sizeof rows / sizeof *rows ? &rows[i] : NULL; }
