/* core/ir/target/spirv_ops.c - rows of Target IR: cooperative matrices. Meaning of each op: its help text. */
#include "core/ir/target/row.h"

static const ir_opdef rows[] = {
    {NAME("mat_fill"), .code = TG_MAT_FILL, IN(1, 1, "s", "scalar"), .n_results = 1, .gives = 'm', .flags = IR_PURE | IR_COOPMAT,
     .help = "A cooperative matrix of one value; the type must be written out."},
    {NAME("mat_load"), .code = TG_MAT_LOAD, .flags = IR_COOPMAT, IN(3, 5, "pi", "pointer, index, stride[, rows, columns]"), .n_results = 1, .gives = 'm',
     .attrs =
         ATTRS(S("layout", false, "row", "row or col"), I("align", false, "0", "bytes known of address and stride"),
               B("tensor", "false", "by tensor addressing")),
     .verify = target_verify_access,
     .help = "Subgroup-collective load; stride in the pointer's elements between rows (row) or columns (col). The "
             "pointer may have another element type than the matrix (same bits, wider access); then index and stride "
             "count pointer elements. Stride 0 repeats one row (column). With rows and columns (tensor addressing "
             "only), elements at or past them are 0."},
    {NAME("mat_store"), .code = TG_MAT_STORE, .flags = IR_COOPMAT, IN(4, 6, "mpi", "matrix, pointer, index, stride[, rows, columns]"),
     .attrs =
         ATTRS(S("layout", false, "row", "row or col"), I("align", false, "0", "bytes known of address and stride"),
               B("tensor", "false", "by tensor addressing")),
     .verify = target_verify_access,
     .help = "Subgroup-collective store. With rows and columns (tensor addressing only), elements at or past them are "
             "left alone."},
    {NAME("mat_mma"), .code = TG_MAT_MMA, IN(3, 3, "m", "a, b, accumulator"), .n_results = 1, .gives = 'm', .flags = IR_PURE | IR_COOPMAT,
     .infer = target_infer_last, .verify = target_verify_mat_mma, .help = "a * b + accumulator in the accumulator's type."},
    {NAME("mat_map"), .code = TG_MAT_MAP, IN(1, ANY, "m", "matrices..."), .n_results = 1, .gives = 'm', .n_regions = 1, .flags = IR_PURE | IR_COOPMAT,
     .verify = target_verify_mat_map, .help = "An elementwise expression over matrices of one shape and use: the region gets a scalar each and yields "
             "one. With attribute coords the region gets row and column (index) after the scalars.",
     .attrs = ATTRS(B("coords", "false", "pass row and column; needs per-element ops"))},
    {NAME("mat_cast"), .code = TG_MAT_CAST, IN(1, 1, "m", "matrix"), .n_results = 1, .gives = 'm', .flags = IR_PURE | IR_COOPMAT,
     .verify = target_verify_mat_cast, .help = "Element type or use (acc to a or b) changed, where the device can."},
    {NAME("mat_reduce"), .code = TG_MAT_REDUCE, IN(1, 1, "m", "matrix"), .n_results = 1, .gives = 'm', .flags = IR_PURE | IR_COOPMAT,
     .attrs = ATTRS(S("op", true, NULL, "sum, max, min"), I("axis", true, NULL, "0 or 1")),
     .infer = target_infer_same_as_first,
     .verify = target_verify_exchange, .help = "Row or column combination, repeated over the axis (NV cooperative matrix 2)."},
};

const ir_rows target_spirv_ops = {rows, sizeof rows / sizeof *rows};
