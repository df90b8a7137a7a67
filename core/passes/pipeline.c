/* core/passes/pipeline.c - see pipeline.h. */
#include "core/passes/pipeline.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/knob.h"
#include "core/ir/graph/ops.h"
#include "core/passes/graph/complex.h"
#include "core/passes/graph/convolutions.h"
#include "core/passes/graph/expand_ops.h"
#include "core/passes/graph/layouts.h"
#include "core/passes/graph/outline.h"
#include "core/passes/graph/packed.h"
#include "core/passes/graph/precision.h"
#include "core/passes/graph/simplify.h"
#include "core/passes/graph/transforms.h"
#include "core/passes/graph/words.h"
#include "core/passes/lower.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/schedule/expand.h"
#include "core/passes/schedule/from_graph.h"
#include "core/passes/schedule/rematerialize.h"
#include "core/passes/schedule/transpose_operand.h"
#include "core/passes/tile/from_schedule.h"

static tsr_status layouts(const pipeline *p, ir_module *m, ir_module **out) {
  return graph_apply_layouts(m, &p->options);
}

static tsr_status outline(const pipeline *p, ir_module *m, ir_module **out) {
  return graph_outline_module(m, &p->options);
}

static tsr_status rules(const pipeline *p, ir_module *m, ir_module **out) {
  return graph_apply_rules_module(m, &p->options);
}

static tsr_status convolutions(const pipeline *p, ir_module *m, ir_module **out) {
  return graph_choose_convolutions(m, p->caps, p->precision, &p->options);
}

static tsr_status expand_ops(const pipeline *p, ir_module *m, ir_module **out) {
  const bool same_types = p->precision == TSR_PRECISION_STANDARD || p->precision == TSR_PRECISION_DETERMINISTIC;
  pass_options options = p->options;
  options.attention_backward = same_types && p->caps->dialect == DIALECT_CPU;
  return graph_expand_module(m, &options);
}

static tsr_status split_complex(const pipeline *p, ir_module *m, ir_module **out) {
  return graph_split_complex_module(m);
}

static tsr_status to_bytes(const pipeline *p, ir_module *m, ir_module **out) {
  return graph_to_bytes(m, &p->options);
}

static tsr_status to_words(const pipeline *p, ir_module *m, ir_module **out) { return graph_to_words(m); }

static tsr_status transforms(const pipeline *p, ir_module *m, ir_module **out) {
  return graph_lower_transforms(m, p->caps, &p->options);
}

static tsr_status simplify(const pipeline *p, ir_module *m, ir_module **out) {
  return graph_simplify_module(m, &p->options);
}

static tsr_status precision(const pipeline *p, ir_module *m, ir_module **out) {
  return graph_apply_precision(m, p->precision, &p->options);
}

/* A constant that the device can't hold is told as that, not as what its extents are too large for later. */
static tsr_status constant_fits(ir_op *op, void *user) {
  const pipeline *p = user;
  const int64_t most = p->caps->max_buffer_bytes;
  if (!graph_is(op, G_CONSTANT) || !most || ir_type_bytes(op->results[0]->type) <= most) return NULL;
  return ir_error_at(op, op->loc, TSR_OUT_OF_MEMORY, "split the tensor",
                     "a constant of %lld bytes; the device allows %lld at once",
                     (long long)ir_type_bytes(op->results[0]->type), (long long)most);
}

static tsr_status to_schedule(const pipeline *p, ir_module *m, ir_module **out) {
  TSR_TRY(ir_walk(m->root, constant_fits, (void *)(uintptr_t)p));
  return graph_to_schedule(m, &p->options, out);
}

static tsr_status rematerialize(const pipeline *p, ir_module *m, ir_module **out) {
  return schedule_rematerialize(m, &p->options);
}

static tsr_status expand(const pipeline *p, ir_module *m, ir_module **out) {
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next)
    if (!ir_set_attr(o, "policy", ir_attr_str(m, p->policy))) return st_oom();
  return schedule_expand(m);
}

static tsr_status by_hand(const pipeline *p, ir_module *m, ir_module **out) {
  return p->by_hand ? p->by_hand(p->user, m) : NULL;
}

static tsr_status transpose_operand(const pipeline *p, ir_module *m, ir_module **out) {
  return schedule_transpose_operand(m, p->caps, p->options.trace);
}

static tsr_status tune(const pipeline *p, ir_module *m, ir_module **out) {
  return p->tune ? p->tune(p->user, m) : NULL;
}

static tsr_status defaults(const pipeline *p, ir_module *m, ir_module **out) {
  const schedule_options o = {.caps = p->caps, .error_if_illegal = p->error_if_illegal, .trace = p->options.trace};
  TSR_TRY(schedule_apply_defaults(m, &o));
  return p->fitted ? p->fitted(p->user, m) : NULL;
}

static tsr_status to_tile(const pipeline *p, ir_module *m, ir_module **out) {
  const tile_options o = {.caps = p->caps,
                          .policy = p->policy,
                          .suggest = p->suggest,
                          .user = p->user,
                          .by_parts = !pass_enabled(&p->options, "reduction_kernels", "reduction_kernels")};
  return schedule_to_tile(m, &o, out);
}

static tsr_status custom(const pipeline *p, ir_module *m, ir_module **out) {
  bool changed = false;
  if (p->custom) TSR_TRY(p->custom(p->user, m, &changed));
  return changed ? ir_verify(m) : NULL;
}

static tsr_status expand_tiles(const pipeline *p, ir_module *m, ir_module **out) { return tile_expand(m, p->caps); }

static tsr_status to_target(const pipeline *p, ir_module *m, ir_module **out) {
  return tile_to_target(m, p->caps, out);
}

static tsr_status link_program(const pipeline *p, ir_module *m, ir_module **out) {
  bool changed = false;
  if (p->link) TSR_TRY(p->link(p->user, m, &changed));
  return changed ? ir_verify(m) : NULL;
}

static const pass_row rows[] = {
    {"layouts", TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, layouts, true, "inputs and results that aren't row-major become so, with transposes"},
    {"outline", TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, outline, true, "regions of if and while that are not written out become functions"},
    {"rules", TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, rules, true, "the application's rewrite rules, on the graph as it is given"},
    {"convolutions", TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, convolutions, true, "convolutions with large windows become products of spectra where that costs less"},
    {"expand_ops", TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, expand_ops, true, "composite ops become the ops that they stand for"},
    {"complex", TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, split_complex, true, "complex numbers become pairs of real ones"},
    {"packed", TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, to_bytes, true, "integers of four bits, two in a byte, become bytes"},
    {"words", TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, to_words, true, "unsigned integers of 16, 32 and 64 bits become signed words"},
    {"transforms", TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, transforms, true, "Fourier transforms become kernels of as many points as the device takes, or products"},
    {"simplify", TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, simplify, true, "rewrite rules to a fixed point, common subexpressions, dead ops"},
    {"precision", TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, precision, true, "types of the precision modes safe, aggressive and tf32"},
    {"to_schedule", TSR_LEVEL_GRAPH, TSR_LEVEL_SCHEDULE, to_schedule, true, "fusion groups become the kernels of a program"},
    {"rematerialize", TSR_LEVEL_SCHEDULE, TSR_LEVEL_SCHEDULE, rematerialize, true, "kernels run again where temporaries don't fit into their budget"},
    {"expand", TSR_LEVEL_SCHEDULE, TSR_LEVEL_SCHEDULE, expand, false, "short forms of tiled products are written out"},
    {"by_hand", TSR_LEVEL_SCHEDULE, TSR_LEVEL_SCHEDULE, by_hand, false, "schedules and switches that the caller gave"},
    {"transpose_operand", TSR_LEVEL_SCHEDULE, TSR_LEVEL_SCHEDULE, transpose_operand, true, "kernels that transpose operands of wgmma"},
    {"tune", TSR_LEVEL_SCHEDULE, TSR_LEVEL_SCHEDULE, tune, false, "schedules from the search or its cache"},
    {"defaults", TSR_LEVEL_SCHEDULE, TSR_LEVEL_SCHEDULE, defaults, true, "open parameters are filled in, all are fitted to the device"},
    {"to_tile", TSR_LEVEL_SCHEDULE, TSR_LEVEL_TILE, to_tile, true, "every kernel becomes a block program"},
    {"custom", TSR_LEVEL_TILE, TSR_LEVEL_TILE, custom, false, "custom ops become launches of their own source, or calls of the host"},
    {"expand_tiles", TSR_LEVEL_TILE, TSR_LEVEL_TILE, expand_tiles, true, "contractions and row operations that the device doesn't take whole are written out"},
    {"to_target", TSR_LEVEL_TILE, TSR_LEVEL_TARGET, to_target, true, "block programs become the threads' code, or the CPU's calls"},
    {"link", TSR_LEVEL_TARGET, TSR_LEVEL_TARGET, link_program, false, "a text without a program gets one; its device is checked"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

const pass_row *pipeline_rows(size_t *n) {
  *n = N_ROWS;
  return rows;
}

#if !defined NDEBUG || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { CHECKED_BUILD = 1 };
#else
enum { CHECKED_BUILD = 0 };
#endif

static size_t held(const pipeline *p, const pass_row *r) {
  const ir_module *from = p->levels[r->from], *to = p->levels[r->to];
  return (from ? arena_bytes(&from->arena) : 0) + (to && to != from ? arena_bytes(&to->arena) : 0);
}

static tsr_status run_row(const pipeline *p, const pass_row *r, bool verify) {
  pass_cost c = {.bytes = held(p, r), .ran = true};
  int64_t from = clock_ns();
  TSR_TRY(r->run(p, p->levels[r->from], &p->levels[r->to]));
  c.ns = (double)(clock_ns() - from);
  if (verify && !r->verifies) TSR_TRY(ir_verify(p->levels[r->to]));
  c.verify_ns = (double)(clock_ns() - from) - c.ns;
  c.bytes = held(p, r) - c.bytes;
  if (p->costs) p->costs[r - rows] = c;
  return NULL;
}

tsr_status pipeline_run(const pipeline *p, tsr_level first) {
  bool verify = CHECKED_BUILD || !strcmp(knob_str("TSR_VERIFY"), "all");
  for (const pass_row *r = rows; r < rows + N_ROWS; r++) {
    if (r->from < first) continue;
    if (r->from != r->to && p->lowered) p->lowered(p->user, r->from);
    ir_begin(p->levels[r->from]);
    tsr_status st = run_row(p, r, verify);
    if (st) return ir_cause(p->levels[r->from], NULL, st);
    if (p->after) p->after(p->user, r, p->levels[r->to]);
  }
  if (p->lowered) p->lowered(p->user, TSR_LEVEL_TARGET);
  return NULL;
}

static const char prefix[] = "after:";
enum { PREFIX = sizeof prefix - 1 };

static bool names(const char *word, size_t n, const pass_row *r) {
  return n == PREFIX + strlen(r->name) && !strncmp(word, prefix, PREFIX) &&
         !strncmp(word + PREFIX, r->name, n - PREFIX);
}

bool pipeline_dumps_after(const char *list, const pass_row *row) {
  for (size_t n; *list; list += n + (list[n] == ',')) {
    n = strcspn(list, ",");
    if (names(list, n, row)) return true;
  }
  return false;
}

tsr_status pipeline_check_pass(const tsr_allocator *al, const char *where, const char *what, const char *name,
                               size_t n) {
  char known[256] = "";
  for (size_t i = 0, at = 0; i < N_ROWS; i++) {
    if (n == strlen(rows[i].name) && !strncmp(name, rows[i].name, n)) return NULL;
    at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", rows[i].name);
  }
  return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE(where, what, known), "no pass is called \"%.*s\"",
                 (int)(n < 100 ? n : 100), name);
}

tsr_status pipeline_check_dump(const tsr_allocator *al, const char *list) {
  for (size_t n; *list; list += n + (list[n] == ',')) {
    n = strcspn(list, ",");
    if (n >= PREFIX && !strncmp(list, prefix, PREFIX))
      TSR_TRY(pipeline_check_pass(al, "environment", "TSR_DUMP", list + PREFIX, n - PREFIX));
  }
  return NULL;
}
