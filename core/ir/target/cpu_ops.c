/* core/ir/target/cpu_ops.c - rows of Target IR: the CPU's calls over whole tiles. Meaning of each op: its help text. */
#include "core/ir/target/row.h"

static const ir_opdef rows[] = {
    {NAME("scratch"), .code = TG_SCRATCH, .n_results = 1,
     .attrs = ATTRS(I("offset", true, NULL, "bytes into the thread's scratch memory")), .verify = target_verify_scratch,
     .help = "CPU: a tile in the thread's scratch memory (array type); shared tiles and fragments both become these."},
    {NAME("call"), .code = TG_CALL, PLACE_INDEXED(0, 1), IN(0, ANY, "d", "destinations, sources, scalars"), .n_regions = ANY,
     .flags = IR_ANY_ATTRS, .attrs = ATTRS(S("fn", true, NULL, "micro-kernel")), .verify = target_verify_call,
     .help = "CPU: one micro-kernel over whole tiles, written to its first operand; their shapes must fit. Of "
             "\"matmul\", k is the step in which the depth is packed; the depth is the operands'."},
    {NAME("window"), .code = TG_WINDOW, IN(1, 1 + TSR_MAX_RANK, "wi", "view, offsets..."), .n_results = 1, .flags = IR_PURE,
     .attrs = ATTRS(L("sizes", true, "extent per dimension; 0 drops it")), .infer = tile_infer_window,
     .help = "CPU: as in Tile IR."},
    {NAME("view"), .code = TG_VIEW, IN(1, 1, "w", "view"), .n_results = 1, .flags = IR_PURE, .verify = tile_verify_view,
     .help = "CPU: as in Tile IR."},
    {NAME("map"), .code = TG_MAP, PLACE_PER_ELEMENT(true, 0, TILE_WRITES_OUTPUTS), IN(1, ANY, "e", "destinations, sources"), .n_regions = 1, .flags = IR_ANY_ATTRS,
     .attrs = ATTRS(I("outputs", false, "1", "how many operands are destinations")), .verify = target_verify_map,
     .help = "CPU: an elementwise expression over strips; the region gets a scalar per source (and may use "
             "tessera.target.element_index) and yields one per destination."},
    {NAME("fetch"), .code = TG_FETCH, PLACE_LOOKUP, IN(1, 1 + TSR_MAX_RANK, "ei", "view, indices..."), .n_results = 1, .flags = IR_PURE,
     .infer = tile_infer_load_scalar, .help = "CPU: one element, as load_scalar in Tile IR."},
    {NAME("element_index"), .code = TG_ELEMENT_INDEX, PLACE_ELEMENT, .n_results = 1, .flags = IR_PURE,
     .attrs = ATTRS(I("dim", true, NULL, "dimension of the tile")), .infer = tile_infer_index,
     .help = "CPU: inside map, the element's position."},
};

const ir_rows target_cpu_ops = {rows, sizeof rows / sizeof *rows};
