/* core/ir/schedule/ops.c - the op table of Schedule IR and the schedule parameters; see schedule.h. */
#include "core/ir/schedule/schedule.h"

#include <string.h>

#include "core/ir/graph/ops.h"
#include "core/ir/tables.h"

static tsr_status infer_tile(ir_op *op, const ir_type **results) {
  if (op->n_results > 1) return ir_error(op, NULL, "has at most 1 result");
  for (int i = 0; i < op->n_operands; i++)
    if (op->operands[i]->type->kind != IR_T_TENSOR) return ir_error(op, NULL, "operand %d must be a tensor", i);
  if (!op->n_results) return NULL;
  if (!op->n_operands) return ir_error(op, NULL, "a result needs operands");
  const ir_type *a = op->operands[0]->type, *b = op->n_operands > 1 ? op->operands[1]->type : a;
  int64_t dims[TSR_MAX_RANK];
  memcpy(dims, a->dims, sizeof dims);
  if (a->rank >= 2 && b->rank >= 2) dims[a->rank - 1] = b->dims[b->rank - 1];
  results[0] = ir_type_tensor(op->module, a->dtype, a->rank, dims);
  return results[0] ? NULL : st_oom();
}

static tsr_status verify_positive(const ir_op *op) {
  for (int i = 0; i < op->n_attrs; i++)
    if (op->attrs[i].attr->kind == IR_A_INT &&
        (op->attrs[i].attr->u.i < (op->def->code == S_SHARED ? 0 : 1) || op->attrs[i].attr->u.i > 1 << 24))
      return ir_error(op, op->def->help, "%s = %lld is out of range", op->attrs[i].name,
                      (long long)op->attrs[i].attr->u.i);
  return NULL;
}

static tsr_status verify_vectorize(const ir_op *op) {
  int64_t n = ir_get_int(op, "n", 1);
  if (n < 1 || n > 1024 || (n & (n - 1)))
    return ir_error(op, "1, 2, 4, 8, ...", "n = %lld is not a power of two up to 1024", (long long)n);
  return NULL;
}

static tsr_status verify_cluster(const ir_op *op) {
  int64_t n = ir_get_int(op, "n", 1);
  if (n < 1 || n > SCHED_MOST_CLUSTER || (n & (n - 1)))
    return ir_error(op, "1, 2, 4 or 8", "n = %lld blocks can't be a cluster", (long long)n);
  return NULL;
}

static tsr_status verify_stages(const ir_op *op) {
  int64_t n = ir_get_int(op, "n", 2);
  if (n < 1 || n > 16) return ir_error(op, "1 to 16 buffers", "n = %lld is out of range", (long long)n);
  return NULL;
}

static const ir_type *implied_tile(ir_op *op, int i) {
  const int64_t unknown[2] = {IR_DYNAMIC, IR_DYNAMIC};
  return ir_type_tensor(op->module, TSR_F32, 2, unknown);
}

static tsr_status verify_kernel(const ir_op *op) {
  const ir_block *r = op->regions[0];
  if (sched_family_parse(ir_get_str(op, "family", "")) == N_FAMILIES)
    return ir_error(op, KERNEL_FAMILY_NAMES, "unknown family \"%s\"",
                    ir_get_str(op, "family", ""));
  TSR_TRY(ir_check_policy(op));
  if (r->n_args != op->n_operands)
    return ir_error(op, NULL, "%d operands for %d block arguments", op->n_operands, r->n_args);
  for (int i = 0; i < r->n_args; i++)
    if (r->args[i]->type != op->operands[i]->type)
      return ir_error(op, NULL, "block argument %d and its operand differ in type", i);
  if (!r->last || r->last->def->code != S_YIELD || r->last->def->level != IR_SCHEDULE)
    return ir_error(op, NULL, "the body must end with tessera.schedule.yield");
  if (r->last->n_operands != op->n_results)
    return ir_error(op, NULL, "yields %d values for %d results", r->last->n_operands, op->n_results);
  for (int i = 0; i < op->n_results; i++)
    if (op->results[i]->type && r->last->operands[i]->type && r->last->operands[i]->type != op->results[i]->type)
      return ir_error(op, NULL, "result %d and the yielded value differ in type", i);
  return NULL;
}

/* The names are the words outside of parentheses: the table, its documentation and every check have them from here. */
#define PATHS                                                                                                                       \
  "auto, coopmat, coopmat2, coopmat2_workgroup, subgroup, dot, mma, wgmma, mfma, wmma, fma, scalar (as fma), gemv (at most 4 rows: b is read once), " \
  "direct (CDNA: operands go straight to LDS), pingpong (the same, by two groups of four waves), "                                  \
  "lane_n (subgroups that are SIMD registers of a CPU: neighbouring columns in their lanes)"

const char *sched_path_list(void) { return PATHS; }

bool sched_path_known(const char *name) {
  size_t n = strlen(name);
  for (const char *at = PATHS; *at;) {
    size_t word = strcspn(at, ", ("), depth = 0;
    if (word == n && !strncmp(at, name, n)) return true;
    for (; *at && (depth || *at != ','); at++) depth += (size_t)(*at == '(') - (size_t)(*at == ')');
    at += strspn(at, ", ");
  }
  return false;
}

static tsr_status verify_path(const ir_op *op) {
  const char *path = ir_get_str(op, "path", "");
  return sched_path_known(path) ? NULL : ir_error(op, PATHS, "no matrix path \"%.64s\"", path);
}

#define A_END {NULL, IR_A_UNIT, false, NULL, NULL}
#define ATTRS(...) (const ir_attr_def[]){__VA_ARGS__, A_END}
#define NAME(s) .name = "tessera.schedule." s, .level = IR_SCHEDULE

static const ir_opdef rows[] = {
    {NAME("program"), .code = S_PROGRAM, .n_regions = 1, .n_results = 0,
     .attrs = ATTRS({"sym_name", IR_A_STR, true, NULL, "the function's name"},
                    {"policy", IR_A_STR, false, "fast", "numerics policy: fast, deterministic, kahan_sum"},
                    {"precision", IR_A_STR, false, "standard", "precision mode: only standard is there"},
                    {"symbolic", IR_A_ARRAY, false, NULL, "as in graph.func"},
                    {"device", IR_A_STR, false, "", "the device it was scheduled for: one that there is, here or elsewhere, as `cpu:0`, `cuda:sm_90a`"}),
     .help = "A compiled function: kernels in launch order; block arguments are its inputs."},
    {NAME("return"), .code = S_RETURN, .max_operands = IR_VARIADIC, .flags = IR_TERMINATOR, .operands_doc = "results...",
     .help = "Ends a program; the operands are its outputs."},
    {NAME("kernel"), .code = S_KERNEL, .max_operands = IR_VARIADIC, .n_results = IR_VARIADIC, .n_regions = 1,
     .attrs = ATTRS({"sym_name", IR_A_STR, true, NULL, "unique name of the kernel"},
                    {"family", IR_A_STR, true, NULL, KERNEL_FAMILY_NAMES},
                    {"fused", IR_A_STR, false, "", "the rules that made this group"},
                    {"policy", IR_A_STR, false, NULL, "numerics policy of this launch alone; the program's if absent"},
                    {"space", IR_A_ARRAY, false, NULL, KERNEL_FAMILY_SPACES}),
     .operands_doc = "inputs...", .verify = verify_kernel,
     .help = "One launch: a fusion group of Graph IR ops with its schedule primitives."},
    {NAME("yield"), .code = S_YIELD, .min_operands = 1, .max_operands = IR_VARIADIC, .flags = IR_TERMINATOR, .operands_doc = "values...",
     .help = "Ends a kernel body; the operands are written to memory."},
    {NAME("tile"), .code = S_TILE, .max_operands = IR_VARIADIC, .n_results = IR_VARIADIC,
     .attrs = ATTRS({"m", IR_A_INT, true, NULL, "rows of the block tile (elements per block for elementwise kernels)"},
                    {"n", IR_A_INT, false, "1", "columns of the block tile"},
                    {"k", IR_A_INT, false, "1", "depth of one step of the contraction"},
                    {"autotune", IR_A_BOOL, false, "false", "let the tuner replace this tile"}),
     .operands_doc = "operands...", .infer = infer_tile, .verify = verify_positive, .implied = implied_tile,
     .help = "The block tile of the kernel that computes from these operands. As a result, the tiled contraction itself."},
    {NAME("vectorize"), .code = S_VECTORIZE, .max_operands = IR_VARIADIC, .attrs = ATTRS({"n", IR_A_INT, true, NULL, "elements per thread and access"}),
     .verify = verify_vectorize, .help = "Vector width of global loads and stores; ragged tails stay correct. On a CPU, from 64 on: elements that an elementwise program takes at once."},
    {NAME("use_shared_memory"), .code = S_SHARED, .max_operands = IR_VARIADIC,
     .attrs = ATTRS({"enable", IR_A_BOOL, false, "true", "stage tiles through shared memory"},
                    {"padding", IR_A_INT, false, "0", "elements added to each row against bank conflicts"}),
     .verify = verify_positive, .help = "Staging of operand tiles in shared memory."},
    {NAME("async_copy"), .code = S_ASYNC, .max_operands = IR_VARIADIC, .attrs = ATTRS({"enable", IR_A_BOOL, false, "true", "overlap loads with computation"}),
     .help = "Asynchronous copies; emulated by double buffering, and reported so, where the device has none."},
    {NAME("pipeline_stages"), .code = S_STAGES, .max_operands = IR_VARIADIC, .attrs = ATTRS({"n", IR_A_INT, true, NULL, "buffers of the k loop; 1 = no overlap"}),
     .verify = verify_stages, .help = "Depth of the load/compute pipeline."},
    {NAME("split_k"), .code = S_SPLIT_K, .max_operands = IR_VARIADIC, .attrs = ATTRS({"n", IR_A_INT, true, NULL, "parts of the contraction computed by different blocks"}),
     .verify = verify_positive, .help = "Splits the contraction; the parts are added in a fixed order."},
    {NAME("warps"), .code = S_WARPS, .max_operands = IR_VARIADIC, .attrs = ATTRS({"n", IR_A_INT, true, NULL, "subgroups per block"}),
     .verify = verify_positive, .help = "Subgroups of a block."},
    {NAME("raster"), .code = S_RASTER, .max_operands = IR_VARIADIC, .attrs = ATTRS({"group", IR_A_INT, true, NULL, "block rows walked together; 1 = plain order"}),
     .verify = verify_positive, .help = "Order in which blocks visit the output, for reuse in the last-level cache."},
    {NAME("cluster"), .code = S_CLUSTER, .max_operands = IR_VARIADIC, .attrs = ATTRS({"n", IR_A_INT, true, NULL, "blocks: 1, 2, 4 or 8"}),
     .verify = verify_cluster, .help = "Blocks that hold one row of a reduction kernel together and exchange partial results through each other's shared memory, so that memory is read once."},
    {NAME("stream_k"), .code = S_STREAM_K, .max_operands = IR_VARIADIC, .attrs = ATTRS({"n", IR_A_INT, true, NULL, "blocks"}),
     .verify = verify_positive, .help = "Shares the k steps of all tiles of a contraction out evenly among n blocks; a tile that is cut is added up by a second kernel in the order of k."},
    {NAME("matrix_path"), .code = S_MATRIX_PATH, .max_operands = IR_VARIADIC, .attrs = ATTRS({"path", IR_A_STR, true, NULL, PATHS}),
     .verify = verify_path, .help = "Which matrix instruction family to use."},
    {NAME("legalized"), .code = S_LEGALIZED, .max_operands = IR_VARIADIC,
     .attrs = ATTRS({"original", IR_A_STR, true, NULL, "the schedule that was asked for"}, {"reason", IR_A_STR, true, NULL, "the limit it broke"}),
     .help = "Left by the legaliser: the schedule above it was changed to fit the device."},
};

const ir_opdef *schedule_ops(size_t i) { return i < sizeof rows / sizeof *rows ? &rows[i] : NULL; }

/* ---- parameters ------------------------------------------------------------------------------------------------ */

static bool is_primitive(const ir_op *op) {
  return op->def->level == IR_SCHEDULE && op->def->code >= S_TILE && op->def->code <= S_MATRIX_PATH;
}

void sched_read(const ir_op *kernel, sched_params *p) {
  *p = (sched_params){0};
  for (const ir_op *o = kernel->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_SCHEDULE) continue;
    switch (o->def->code) {
    case S_TILE:
      p->m = ir_get_int(o, "m", 0);
      p->n = ir_get_int(o, "n", 0);
      p->k = ir_get_int(o, "k", 0);
      p->autotune = ir_get_bool(o, "autotune", false);
      break;
    case S_VECTORIZE: p->vectorize = ir_get_int(o, "n", 0); break;
    case S_SHARED:
      p->use_shared = ir_get_bool(o, "enable", true) ? 1 : -1;
      p->padding = ir_get_attr(o, "padding") ? ir_get_int(o, "padding", 0) : 0;
      if (ir_get_attr(o, "padding") && !p->padding) p->padding = -1;
      break;
    case S_ASYNC: p->async_copy = ir_get_bool(o, "enable", true) ? 1 : -1; break;
    case S_STAGES: p->stages = ir_get_int(o, "n", 0); break;
    case S_SPLIT_K: p->split_k = ir_get_int(o, "n", 0); break;
    case S_WARPS: p->warps = ir_get_int(o, "n", 0); break;
    case S_CLUSTER: p->cluster = ir_get_int(o, "n", 0); break;
    case S_STREAM_K: p->stream_k = ir_get_int(o, "n", 0); break;
    case S_RASTER: p->raster = ir_get_int(o, "group", 0); break;
    case S_MATRIX_PATH: p->matrix_path = ir_get_str(o, "path", NULL); break;
    }
  }
}

static ir_op *put(ir_builder *b, const char *name) { return ir_build0(b, name, 0, NULL); }

static bool put_int(ir_builder *b, const char *name, const char *attr, int64_t v) {
  if (v <= 0) return true;
  ir_op *op = put(b, name);
  return op && ir_set_attr(op, attr, ir_attr_int(b->m, v));
}

bool sched_write(ir_op *kernel, const sched_params *p) {
  ir_module *m = kernel->module;
  for (ir_op *o = kernel->regions[0]->first, *next; o; o = next) {
    next = o->next;
    if (is_primitive(o)) ir_op_remove(o);
  }
  ir_builder b = {m, kernel->regions[0], kernel->regions[0]->first, false};
  if (p->m > 0) {
    ir_op *t = put(&b, "tessera.schedule.tile");
    if (!t || !ir_set_attr(t, "m", ir_attr_int(m, p->m)) || !ir_set_attr(t, "n", ir_attr_int(m, p->n > 0 ? p->n : 1)) ||
        !ir_set_attr(t, "k", ir_attr_int(m, p->k > 0 ? p->k : 1)) ||
        !ir_set_attr(t, "autotune", ir_attr_bool(m, p->autotune)))
      return false;
  }
  if (!put_int(&b, "tessera.schedule.vectorize", "n", p->vectorize)) return false;
  if (p->use_shared) {
    ir_op *s = put(&b, "tessera.schedule.use_shared_memory");
    if (!s || !ir_set_attr(s, "enable", ir_attr_bool(m, p->use_shared > 0))) return false;
    if (p->padding && !ir_set_attr(s, "padding", ir_attr_int(m, p->padding > 0 ? p->padding : 0))) return false;
  }
  if (p->async_copy) {
    ir_op *a = put(&b, "tessera.schedule.async_copy");
    if (!a || !ir_set_attr(a, "enable", ir_attr_bool(m, p->async_copy > 0))) return false;
  }
  if (!put_int(&b, "tessera.schedule.pipeline_stages", "n", p->stages) ||
      !put_int(&b, "tessera.schedule.split_k", "n", p->split_k) ||
      !put_int(&b, "tessera.schedule.warps", "n", p->warps) ||
      !put_int(&b, "tessera.schedule.cluster", "n", p->cluster) ||
      !put_int(&b, "tessera.schedule.stream_k", "n", p->stream_k) ||
      !put_int(&b, "tessera.schedule.raster", "group", p->raster))
    return false;
  if (p->matrix_path) {
    ir_op *x = put(&b, "tessera.schedule.matrix_path");
    if (!x || !ir_set_attr(x, "path", ir_attr_str(m, p->matrix_path))) return false;
  }
  return !b.failed;
}

bool sched_is_constant(const ir_op *kernel, const ir_value *v) {
  if (v->owner != kernel->regions[0] || v->index >= kernel->n_operands) return false;
  const ir_op *d = kernel->operands[v->index]->def;
  while (d && graph_is(d, G_RESHAPE)) d = d->operands[0]->def;
  return d && graph_is(d, G_CONSTANT);
}

void sched_merge(sched_params *base, const sched_params *over) {
  if (over->m) base->m = over->m;
  if (over->n) base->n = over->n;
  if (over->k) base->k = over->k;
  if (over->vectorize) base->vectorize = over->vectorize;
  if (over->use_shared) base->use_shared = over->use_shared;
  if (over->padding) base->padding = over->padding;
  if (over->async_copy) base->async_copy = over->async_copy;
  if (over->stages) base->stages = over->stages;
  if (over->split_k) base->split_k = over->split_k;
  if (over->warps) base->warps = over->warps;
  if (over->cluster) base->cluster = over->cluster;
  if (over->stream_k) base->stream_k = over->stream_k;
  if (over->raster) base->raster = over->raster;
  if (over->matrix_path) base->matrix_path = over->matrix_path;
  if (over->autotune) base->autotune = true;
}

void sched_print(strb *b, const sched_params *p) {
  strb_printf(b, "%lldx%lldx%lld", (long long)p->m, (long long)p->n, (long long)p->k);
  if (p->stages) strb_printf(b, " stages=%lld", (long long)p->stages);
  if (p->vectorize) strb_printf(b, " vectorize=%lld", (long long)p->vectorize);
  if (p->use_shared) strb_printf(b, " shared=%s", p->use_shared > 0 ? "on" : "off");
  if (p->padding > 0) strb_printf(b, " padding=%lld", (long long)p->padding);
  if (p->async_copy) strb_printf(b, " async=%s", p->async_copy > 0 ? "on" : "off");
  if (p->split_k > 1) strb_printf(b, " split_k=%lld", (long long)p->split_k);
  if (p->warps) strb_printf(b, " warps=%lld", (long long)p->warps);
  if (p->cluster > 1) strb_printf(b, " cluster=%lld", (long long)p->cluster);
  if (p->stream_k > 1) strb_printf(b, " stream_k=%lld", (long long)p->stream_k);
  if (p->raster > 1) strb_printf(b, " raster=%lld", (long long)p->raster);
  if (p->matrix_path) strb_printf(b, " path=%s", p->matrix_path);
}
