/* tests/fuzz/fuzz_ir.c - libFuzzer target of the IR parser. Any bytes must give a module or one status; a module must
 * print to text that parses to the same text. Small graphs also go through the rewrites, fusion and the printer of
 * Schedule IR. Build: cmake -DCMAKE_C_COMPILER=clang -DTSR_FUZZ=ON -DTSR_SANITIZE=fuzzer-no-link,address,undefined;
 * run: fuzz_ir CORPUS. */
#include "core/ir/graph/ops.h"
#include "core/passes/graph/complex.h"
#include "core/passes/graph/expand_ops.h"
#include "core/passes/graph/layouts.h"
#include "core/passes/graph/simplify.h"
#include "core/passes/schedule/from_graph.h"
#include "tests/fuzz/fuzz_check.h"

static void check_round_trip(const ir_module *m) {
  strb one, two;
  ir_module *again;
  strb_init(&one, NULL);
  strb_init(&two, NULL);
  ir_print(&one, m);
  fuzz_reads_back(ir_parse(NULL, strb_text(&one), one.n, "printed", &again), &one);
  ir_print(&two, again);
  fuzz_same(&one, &two);
  ir_module_destroy(&again);
  strb_clear(&one);
  strb_clear(&two);
}

static void check_passes(ir_module *m) {
  ir_module *s;
  tsr_status st = graph_apply_layouts(m, NULL);
  if (!st) st = graph_expand_module(m, NULL);
  if (!st) st = graph_split_complex_module(m);
  if (!st) st = graph_simplify_module(m, NULL);
  if (!st) st = graph_to_schedule(m, NULL, &s);
  if (!st) {
    check_round_trip(s);
    ir_module_destroy(&s);
  }
  tsr_status_free(st);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ir_module *m;
  if (fuzz_refused(ir_parse(NULL, (const char *)data, size, "fuzz", &m))) return 0;
  check_round_trip(m);
  if (graph_find_func(m, NULL)) check_passes(m);
  ir_module_destroy(&m);
  return 0;
}
