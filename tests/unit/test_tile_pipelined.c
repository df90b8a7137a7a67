/* The attribute `pipelined` of a tile loop: what we write says so of itself, the verifier takes it of no other loop,
 * and text written by hand is known without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/device/arch.h"
#include "core/ir/tile/pipelined.h"
#include "core/ir/tile/tile.h"
#include "core/passes/lower.h"
#include "core/passes/tile/expand_contract.h"
#include "tests/support/api_check.h"
#include "tests/support/plan.h"

/* ---- what we write --------------------------------------------------------------------------------------------- */

typedef struct seen { int loops, marked; } seen;

/* A loop whose shape is that of a pipelined one says so, and no other. */
static tsr_status look(ir_op *op, void *user) {
  seen *s = user;
  tile_pipelined p;
  if (op->def->level != IR_TILE || op->def->code != T_FOR) return NULL;
  const bool marked = ir_get_bool(op, "pipelined", false);
  if (marked) {
    assert_true(tile_pipelined_get(op, &p));
    assert_true(p.n == 1 || p.n == 2);
    assert_true(ir_set_attr(op, "pipelined", ir_attr_bool(op->module, false)));
  }
  assert_int_equal(tile_pipelined_get(op, &p), marked);
  s->loops++, s->marked += marked;
  return NULL;
}

static void what_we_write_out_says_so(void **state) {
#define GRAPH(t, m)                                                                                            \
  "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%A: tensor<" #m "x4096x" t ">, %B: tensor<4096x96x" t ">):\n" \
  "%y = \"tessera.graph.matmul\"(%A, %B)\n\"tessera.graph.return\"(%y)\n}) {sym_name = \"main\"}\n})\n"
  static const struct { const char *name, *text; bool marked; } graphs[] = {
      {"f16", GRAPH("f16", 200), true},
      {"f32", GRAPH("f32", 200), true},
      {"straight to registers", GRAPH("f16", 2), false},
  };
  static const struct { tsr_dialect dialect; const char *arch; } archs[] = {
      {DIALECT_CUDA, "sm_90a"}, {DIALECT_CUDA, "sm_80"}, {DIALECT_HIP, "gfx942"}, {DIALECT_HIP, "gfx1100"}};
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
    for (size_t a = 0; a < sizeof archs / sizeof *archs; a++) {
      tsr_caps caps;
      ir_module *m;
      seen s = {0};
      OK(arch_caps_of(archs[a].dialect, archs[a].arch, &caps));
      OK(plan_tile(graphs[i].text, strlen(graphs[i].text), graphs[i].name, &caps, &m));
      OK(tile_expand_contract(m, NULL, NULL));
      OK(ir_walk(m->root, look, &s));
      if (!s.loops || (s.marked > 0) != graphs[i].marked)
        fail_msg("%s on %s: %d loops, %d of them pipelined", graphs[i].name, archs[a].arch, s.loops, s.marked);
      ir_module_destroy(&m);
    }
}

/* A tile that is computed on its way is no copy, whatever the other's is. */
static void computed_tiles_are_not_pipelined(void **state) {
#define YIELD(v) "\"tessera.tile.yield\"(" v ")\n"
#define NEG "%u = \"tessera.tile.neg\"(%p)\n"
#define PRODUCT(a, ya, b, yb)                                                                                          \
  "\"tessera.tile.kernel\"() ({\n^bb0(%a: !tessera.view<32x64xf32>, %b: !tessera.view<64x32xf32>, %c: !tessera.view<32x32xf32>):\n" \
  "%z = \"tessera.tile.const\"() {value = 0}\n%e = \"tessera.tile.const\"() {value = 64}\n"                            \
  "%wa = \"tessera.tile.window\"(%a, %z, %z) {sizes = [32, 16]}\n%wb = \"tessera.tile.window\"(%b, %z, %z) {sizes = [16, 32]}\n" \
  "%wc = \"tessera.tile.window\"(%c, %z, %z) {sizes = [32, 32]}\n"                                                    \
  "\"tessera.tile.contract\"(%z, %e, %wa, %wb, %wc) ({\n^bb0(%p: f32):\n" a YIELD(ya) "}, {\n^bb0(%p: f32):\n" b YIELD(yb) \
  "}, {\n^bb0(%s: f32):\n" YIELD("%s") "}) {maps = \"mk,kn->mn\", tile = [32, 32, 16]}\n\"tessera.tile.return\"()\n"    \
  "}) {sym_name = \"k\", grid = [1, 1, 1], outputs = 1}\n"
  static const struct { const char *text; int marked; } cases[] = {{PRODUCT("", "%p", "", "%p"), 1},
                                                                   {PRODUCT(NEG, "%u", "", "%p"), 0},
                                                                   {PRODUCT("", "%p", NEG, "%u"), 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ir_module *m = NULL;
    seen s = {0};
    OK(ir_parse(NULL, cases[i].text, strlen(cases[i].text), "product", &m));
    OK(tile_expand_contract(m, NULL, NULL));
    OK(ir_walk(m->root, look, &s));
    assert_int_equal(s.loops, 1);
    assert_int_equal(s.marked, cases[i].marked);
    ir_module_destroy(&m);
  }
}

/* ---- what is written by hand ----------------------------------------------------------------------------------- */

#define T(op) "\"tessera.tile." op "\""
/* y = the sum over 4 steps of x's columns; outside: before the loop; behind: after the wait. */
#define LOOP(before, copy, behind, after, attrs)                                                                       \
  T("kernel") "() ({\n^bb0(%x: !tessera.view<16x64xf32>, %y: !tessera.view<16x16xf32>):\n"                             \
  "%z = " T("const") "() {value = 0}\n%e = " T("const") "() {value = 64}\n%h = " T("const") "() {value = 16}\n"        \
  "%s = " T("alloc") "() : () -> !tessera.shared<16x16xf32>\n%u = " T("alloc") "() : () -> !tessera.shared<16x16xf32>\n" \
  "%f = " T("fill") "() {value = 0.0} : () -> !tessera.frag<16x16xf32>\n"                                              \
  "%r = " T("for") "(%z, %e, %h, %f) ({\n^bb0(%k: index, %p: !tessera.frag<16x16xf32>):\n"                             \
  "%w = " T("window") "(%x, %z, %k) {sizes = [16, 16]}\n" before copy behind                                           \
  "%l = " T("load") "(%s)\n%m = " T("map") "(%p, %l) ({\n^bb0(%a: f32, %b: f32):\n%c = " T("add") "(%a, %b)\n"         \
  T("yield") "(%c)\n})\n" T("yield") "(%m)\n}) {" attrs "}\n" after                                                    \
  T("store") "(%r, %y)\n" T("return") "()\n}) {sym_name = \"k\", grid = [1, 1, 1], outputs = 1}\n"
#define COPY T("copy") "(%w, %s) {async = true}\n"
#define WAIT T("wait") "()\n"
#define MARK "pipelined = true"
#define AGAIN "%v = " T("load") "(%s)\n" T("store") "(%v, %y)\n"

/* Each without the mark and with it; says: what the verifier answers to the mark, NULL: it is one. */
static const struct { const char *says, *plain, *marked; } loops[] = {
#define BOTH(before, copy, behind, after) LOOP(before, copy, behind, after, ""), LOOP(before, copy, behind, after, MARK)
    {NULL, BOTH("", COPY, WAIT, "")},
    {NULL, BOTH("%i = " T("add") "(%k, %h)\n", COPY, WAIT, "")},
    {NULL, BOTH("", COPY T("copy") "(%w, %u) {async = true}\n", WAIT, "")},
    {"there is no wait", BOTH("", COPY, "", "")},
    {"leaves copies running", BOTH("", COPY, T("wait") "() {pending = 1}\n", "")},
    {"something else than addresses and copies", BOTH("%i = " T("load") "(%w)\n", COPY, WAIT, "")},
    {"something else than addresses and copies", BOTH(T("barrier") "()\n", COPY, WAIT, "")},
    {"nothing is copied", BOTH("", "", WAIT, "")},
    {"not from memory into a tile", BOTH("", T("copy") "(%u, %s)\n", WAIT, "")},
    {"not from memory into a tile", BOTH("", COPY T("copy") "(%w, %y)\n", WAIT, "")},
    {"used outside", BOTH("", COPY, WAIT, AGAIN)},
    {"written behind the wait", BOTH("", COPY, WAIT T("barrier") "()\n", "")},
    {"written behind the wait", BOTH("", COPY, WAIT T("copy") "(%w, %u)\n", "")},
    {"written behind the wait", BOTH("", COPY, WAIT "%q = " T("load") "(%s)\n" T("store") "(%q, %y)\n", "")},
};
enum { N_LOOPS = sizeof loops / sizeof *loops };

static ir_op *loop_of(ir_module *m) {
  ir_op *o = m->root->regions[0]->first;
  while (o->def->code != T_KERNEL || o->def->level != IR_TILE) o = o->next;
  for (o = o->regions[0]->first; o->def->code != T_FOR || o->def->level != IR_TILE;) o = o->next;
  return o;
}

static ir_module *parse(const char *text) {
  ir_module *m = NULL;
  OK(ir_parse(NULL, text, strlen(text), "loop", &m));
  return m;
}

static void loops_by_hand_need_not_say_so(void **state) {
  for (size_t i = 0; i < N_LOOPS; i++) {
    tile_pipelined p;
    ir_module *m = parse(loops[i].plain);
    if (tile_pipelined_get(loop_of(m), &p) != !loops[i].says) fail_msg("loop %zu", i);
    if (!loops[i].says) assert_true(p.wait && p.n && p.tile[0]->type->kind == IR_T_SHARED);
    ir_module_destroy(&m);
  }
}

static void other_loops_may_not_say_so(void **state) {
  for (size_t i = 0; i < N_LOOPS; i++) {
    ir_module *m = NULL;
    tsr_status st = ir_parse(NULL, loops[i].marked, strlen(loops[i].marked), "loop", &m);
    if (!loops[i].says != !st) fail_msg("loop %zu: %s", i, st ? tsr_status_message(st) : "is taken");
    if (st && !strstr(tsr_status_message(st), loops[i].says))
      fail_msg("loop %zu: \"%s\" isn't in %s", i, loops[i].says, tsr_status_message(st));
    tsr_status_free(st);
    ir_module_destroy(&m);
  }
}

/* What the verifier has seen is not looked at again. */
static void lowerings_believe_the_mark(void **state) {
  tile_pipelined p;
  ir_module *m = parse(loops[0].marked);
  ir_op *loop = loop_of(m);
  assert_true(tile_pipelined_get(loop, &p));
  assert_true(ir_set_attr((ir_op *)p.wait, "pending", ir_attr_int(m, 1)));
  assert_true(tile_pipelined_get(loop, &p));
  assert_true(ir_set_attr(loop, "pipelined", ir_attr_bool(m, false)));
  assert_false(tile_pipelined_get(loop, &p));
  ir_module_destroy(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_we_write_out_says_so),
      cmocka_unit_test(computed_tiles_are_not_pipelined),
      cmocka_unit_test(loops_by_hand_need_not_say_so),
      cmocka_unit_test(other_loops_may_not_say_so),
      cmocka_unit_test(lowerings_believe_the_mark),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
