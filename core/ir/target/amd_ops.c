/* core/ir/target/amd_ops.c - rows of Target IR: AMD: MFMA, WMMA, loads straight to LDS, waits and priorities. Meaning
 * of each op: its help text. */
#include "core/ir/target/row.h"

static const ir_opdef rows[] = {
    {NAME("mfma"), .code = TG_MFMA, IN(3, 3, "n", "a vector, b vector, accumulator vector"), .n_results = 1, .gives = 'n',
     .flags = IR_PURE, .infer = target_infer_last,
     .attrs = ATTRS(I("m", true, NULL, "rows"), I("n", true, NULL, "columns"), I("k", true, NULL, "depth"),
                    S("a", true, NULL, "element type"), S("b", true, NULL, "element type"),
                    S("c", true, NULL, "accumulator type")),
     .verify = target_verify_product, .help = "CDNA matrix instruction on a wave of 64."},
    {NAME("wmma"), .code = TG_WMMA, IN(3, 3, "n", "a vector, b vector, accumulator vector"), .n_results = 1, .gives = 'n',
     .flags = IR_PURE, .infer = target_infer_last,
     .attrs = ATTRS(I("m", true, NULL, "rows"), I("n", true, NULL, "columns"), I("k", true, NULL, "depth"),
                    S("a", true, NULL, "element type"), S("b", true, NULL, "element type"),
                    S("c", true, NULL, "accumulator type")),
     .verify = target_verify_product, .help = "RDNA matrix instruction on a wave of 32."},
    {NAME("lds_load"), .code = TG_LDS_LOAD, IN(4, 4, "higi", "shared pointer, wave base index, global pointer, index per lane"),
     .attrs = ATTRS(I("bytes", true, NULL, "4 or 16 per lane")),
     .verify = target_verify_copy_bytes, .help = "Direct global to LDS copy; lane i lands at base + i * bytes."},
    {NAME("waitcnt"), .code = TG_WAITCNT,
     .attrs = ATTRS(I("vmcnt", false, "-1", "global operations that may be pending; -1 = not waited for"),
                    I("lgkmcnt", false, "-1", "LDS operations")),
     .help = "s_waitcnt."},
    {NAME("setprio"), .code = TG_SETPRIO, .attrs = ATTRS(I("level", true, NULL, "0 to 3")), .help = "Wave priority."},
    {NAME("sched_barrier"), .code = TG_SCHED_BARRIER, IN(0, ANY, "a", "register arrays..."),
     .attrs = ATTRS(I("mask", false, "0", "instruction kinds that may cross")),
     .help = "Fences the compiler's scheduler; the arrays have been computed before it."},
};

const ir_rows target_amd_ops = {rows, sizeof rows / sizeof *rows};
