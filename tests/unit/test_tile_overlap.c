/* The attribute `overlap` of a tile loop: attention's loop over keys says so of itself, the verifier takes it of no
 * other loop, and text written by hand is known without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/device/arch.h"
#include "core/ir/tile/overlap.h"
#include "core/ir/tile/tile.h"
#include "tests/support/api_check.h"
#include "tests/support/plan.h"

/* ---- what we write --------------------------------------------------------------------------------------------- */

static bool is_for(const ir_op *op) { return op->def->level == IR_TILE && op->def->code == T_FOR; }

static tsr_status look(ir_op *op, void *user) {
  tile_overlap said, found;
  if (!is_for(op)) return NULL;
  assert_int_equal(ir_get_int(op, "overlap", -1), 2); /* behind the maxima and the sums of weights */
  assert_true(tile_overlap_get(op, &said));
  ir_attr *none = ir_attr_int(op->module, -1); /* as of text that doesn't say it */
  assert_true(none && ir_set_attr(op, "overlap", none));
  assert_true(tile_overlap_get(op, &found));
  assert_true(found.head == said.head && found.tail == said.tail && found.carried == said.carried);
  assert_memory_equal(found.late, said.late, sizeof said.late);
  ++*(int *)user;
  return NULL;
}

static void the_loop_over_keys_says_so(void **state) {
#define GRAPH(m, n, attrs)                                                                                             \
  "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%q: tensor<2x4x" #m "x64xf16>, %k: tensor<2x2x" #n       \
  "x64xf16>, %v: tensor<2x2x" #n "x64xf16>):\n%y = \"tessera.graph.flash_attention\"(%q, %k, %v) {" attrs "}\n"                \
  "\"tessera.graph.return\"(%y)\n}) {sym_name = \"main\"}\n})\n"
  static const char *const graphs[] = {GRAPH(256, 256, ""), GRAPH(256, 256, "causal = true"),
                                       GRAPH(100, 333, "window = 64"), GRAPH(1, 512, ""),
                                       GRAPH(128, 128, "softcap = 20.0, causal = true")};
  static const struct { tsr_dialect dialect; const char *arch; } archs[] = {
      {DIALECT_CUDA, "sm_90a"}, {DIALECT_CUDA, "sm_80"}, {DIALECT_HIP, "gfx942"}, {DIALECT_HIP, "gfx1100"}};
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
    for (size_t a = 0; a < sizeof archs / sizeof *archs; a++) {
      tsr_caps caps;
      ir_module *m;
      int loops = 0;
      OK(arch_caps_of(archs[a].dialect, archs[a].arch, &caps));
      OK(plan_tile(graphs[i], strlen(graphs[i]), "attention", &caps, &m));
      OK(ir_verify(m));
      OK(ir_walk(m->root, look, &loops));
      assert_true(loops > 0);
      ir_module_destroy(&m);
    }
}

/* ---- what is written by hand ----------------------------------------------------------------------------------- */

#define T(op) "\"tessera.tile." op "\""
#define FRAG "!tessera.frag<16x16xf32>"
#define MAP(to, x, y)                                                                                                  \
  to " = " T("map") "(" x ", " y ") ({\n^bb0(%c: f32, %d: f32):\n%g = " T("add") "(%c, %d)\n" T("yield") "(%g)\n})\n"
#define GEMM(to, acc, a, b) to " = " T("gemm") "(" acc ", " a ", " b ")\n"
/* The loop carries %p, the sums of products, and %t. */
#define LOOP(body, attrs)                                                                                              \
  T("kernel") "() ({\n^bb0(%q: !tessera.view<16x16xf32>, %x: !tessera.view<64x16xf32>, %y: !tessera.view<16x16xf32>):\n" \
  "%z = " T("const") "() {value = 0}\n%e = " T("const") "() {value = 64}\n%h = " T("const") "() {value = 16}\n"        \
  "%f = " T("fill") "() {value = 0.0} : () -> " FRAG "\n"                                                              \
  "%r, %u = " T("for") "(%z, %e, %h, %f, %f) ({\n^bb0(%k: index, %p: " FRAG ", %t: " FRAG "):\n"                       \
  "%w = " T("window") "(%x, %k, %z) {sizes = [16, 16]}\n" body "}) {" attrs "}\n"                                      \
  T("store") "(%r, %y)\n" T("return") "()\n}) {sym_name = \"k\", grid = [1, 1, 1], outputs = 1}\n"
#define SCORES GEMM("%s", "%f", "%q", "%w")
#define YIELD(sums, other) T("yield") "(" sums ", " other ")\n"
#define ATTENTION SCORES MAP("%n", "%t", "%s") MAP("%a", "%p", "%n") GEMM("%o", "%a", "%n", "%w") YIELD("%o", "%n")

/* Each without the attribute and with it; says: what the verifier answers to the attribute, NULL: it is such a loop. */
static const struct { const char *says, *plain, *marked; } loops[] = {
#define BOTH(body) LOOP(body, ""), LOOP(body, "overlap = 0")
    {NULL, BOTH(ATTENTION)},
    {NULL, BOTH(SCORES GEMM("%o", "%p", "%s", "%w") YIELD("%o", "%s"))},
    {"two gemms", BOTH(SCORES MAP("%o", "%p", "%s") YIELD("%o", "%s"))},
    {"two gemms", BOTH(SCORES GEMM("%i", "%f", "%q", "%w") GEMM("%o", "%p", "%s", "%w") YIELD("%o", "%i"))},
    {"doesn't make", BOTH(SCORES GEMM("%i", "%p", "%s", "%w") MAP("%o", "%i", "%s") YIELD("%o", "%s"))},
    {"read in the step", BOTH(SCORES GEMM("%o", "%p", "%s", "%w") MAP("%i", "%o", "%s") YIELD("%o", "%s"))},
    {"first gemm needs", BOTH(GEMM("%s", "%p", "%q", "%w") GEMM("%o", "%p", "%f", "%w") YIELD("%o", "%t"))},
    {"doesn't add", BOTH(SCORES GEMM("%o", "%t", "%s", "%w") YIELD("%o", "%s"))},
    {"isn't made", BOTH(SCORES GEMM("%o", "%p", "%q", "%w") YIELD("%o", "%s"))},
    {"left operand needs", BOTH(SCORES MAP("%i", "%p", "%s") GEMM("%o", "%p", "%i", "%w") YIELD("%o", "%s"))},
    {"another value", BOTH(SCORES MAP("%i", "%p", "%s") GEMM("%o", "%p", "%s", "%w") YIELD("%o", "%i"))},
};
enum { N_LOOPS = sizeof loops / sizeof *loops };

static ir_op *loop_of(ir_module *m) {
  ir_op *o = m->root->regions[0]->first;
  while (o->def->code != T_KERNEL || o->def->level != IR_TILE) o = o->next;
  for (o = o->regions[0]->first; !is_for(o);) o = o->next;
  return o;
}

static ir_module *parse(const char *text) {
  ir_module *m = NULL;
  OK(ir_parse(NULL, text, strlen(text), "loop", &m));
  return m;
}

static void loops_by_hand_need_not_say_so(void **state) {
  for (size_t i = 0; i < N_LOOPS; i++) {
    tile_overlap o;
    ir_module *m = parse(loops[i].plain);
    if (tile_overlap_get(loop_of(m), &o) != !loops[i].says) fail_msg("loop %zu", i);
    if (!loops[i].says) assert_true(o.head->def->code == T_GEMM && o.tail->def->code == T_GEMM && o.head != o.tail);
    ir_module_destroy(&m);
  }
}

static void refused(const char *text, const char *says) {
  ir_module *m = NULL;
  tsr_status st = ir_parse(NULL, text, strlen(text), "loop", &m);
  if (!says != !st) fail_msg("%s: %s", says ? says : "a loop", st ? tsr_status_message(st) : "is taken");
  if (st && !strstr(tsr_status_message(st), says)) fail_msg("\"%s\" isn't in %s", says, tsr_status_message(st));
  tsr_status_free(st);
  ir_module_destroy(&m);
}

static void other_loops_may_not_say_so(void **state) {
  for (size_t i = 0; i < N_LOOPS; i++) refused(loops[i].marked, loops[i].says);
  refused(LOOP(ATTENTION, "overlap = 1"), "doesn't make");
  refused(LOOP(ATTENTION, "overlap = 2"), "no such value");
  refused(LOOP(ATTENTION, "overlap = -1"), "no such value");
  refused(LOOP(ATTENTION, "overlap = 9223372036854775807"), "no such value");
  refused(T("kernel") "() ({\n^bb0():\n%z = " T("const") "() {value = 0}\n%e = " T("const") "() {value = 4}\n"
          T("for") "(%z, %e, %e) ({\n^bb0(%k: index):\n" T("yield") "()\n}) {overlap = 0}\n" T("return") "()\n"
          "}) {sym_name = \"k\", grid = [1, 1, 1], outputs = 0}\n", "no such value");
}

static void which_ops_need_the_sums_is_told(void **state) {
  tile_overlap o;
  ir_module *m = parse(loops[0].marked);
  ir_op *loop = loop_of(m);
  assert_true(tile_overlap_get(loop, &o));
  const bool late[] = {false, false, false, true, true, true}; /* window, scores, %n; %a, gemm, yield */
  assert_memory_equal(o.late, late, sizeof late);
  /* what the verifier has seen is not looked at again */
  o.tail->operands[1] = o.tail->operands[0];
  assert_true(tile_overlap_get(loop, &o));
  assert_true(ir_set_attr(loop, "overlap", ir_attr_int(m, -1)));
  assert_false(tile_overlap_get(loop, &o));
  ir_module_destroy(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_loop_over_keys_says_so),
      cmocka_unit_test(loops_by_hand_need_not_say_so),
      cmocka_unit_test(other_loops_may_not_say_so),
      cmocka_unit_test(which_ops_need_the_sums_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
