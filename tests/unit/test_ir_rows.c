/* tests/unit/test_ir_rows.c - rows that several rooms read: ops by name, ops that move elements, reducers, policies,
 * matrix paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/dtype.h"
#include "core/base/policy.h"
#include "core/ir/graph/ops.h"
#include "core/ir/matrix_path.h"
#include "core/ir/reducer.h"
#include "core/ir/tables.h"

static void ops_all_rows_are_found_by_name(void **state) {
  const ir_opdef *row;
  int n = 0;
  for (int l = 0; l < IR_N_LEVELS; l++)
    for (size_t i = 0; (row = ir_row((ir_level)l, i)); i++, n++) assert_ptr_equal(ir_find_op(row->name), row);
  assert_in_range(n, 100, 512); /* half of the table's places */
  assert_null(ir_find_op("tessera.graph.nothing"));
  assert_null(ir_find_op(""));
}

/* The element itself comes out of the identity and an element, in both orders. */
static void reducers_identity_leaves_every_element(void **state) {
  const double floats[] = {0, -1.5, 3e38, -INFINITY, INFINITY}, wholes[] = {0, -7, 127, -128};
  for (int r = 0; r < N_REDUCERS; r++) {
    const ir_reducer *x = &ir_reducers[r];
    assert_ptr_equal(ir_reducer_named(x->name), x);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
      const double id = ir_reducer_identity(x, TSR_F32);
      assert_true(scalar_rows[x->code].f64(0, (double[]){id, floats[i], 0}) == floats[i]);
      assert_true(scalar_rows[x->code].f64(0, (double[]){floats[i], id, 0}) == floats[i]);
    }
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
      const int64_t id = (int64_t)ir_reducer_identity(x, TSR_I8), v = (int64_t)wholes[i];
      assert_int_equal(scalar_rows[x->code].integer(0, (int64_t[]){id, v, 0}), v);
    }
    assert_true(ir_reducer_identity(x, TSR_U8) >= 0);
  }
  assert_null(ir_reducer_named("mean"));
}

static void policies_words_name_them(void **state) {
  for (int p = TSR_POLICY_FAST; p <= TSR_POLICY_KAHAN_SUM; p++) {
    assert_int_equal(policy_named(policy_name((tsr_policy)p)), p);
    assert_non_null(strstr(POLICY_LIST, policy_name((tsr_policy)p)));
    assert_non_null(strstr(POLICY_WORDS, policy_name((tsr_policy)p)));
  }
  assert_int_equal(policy_named("default"), TSR_POLICY_DEFAULT);
  assert_int_equal(policy_named("fas"), TSR_POLICY_DEFAULT);
  assert_int_equal(policy_named(NULL), TSR_POLICY_DEFAULT);
  assert_string_equal(policy_name((tsr_policy)77), "default");
}

/* What passes ask of an op that moves elements stands in its row, and in no other op's. */
static void graph_ops_that_move_elements_say_how(void **state) {
  const ir_opdef *d;
  int moves = 0, copies = 0, indexed = 0;
  for (size_t i = 0; (d = ir_row(IR_GRAPH, i)); i++) {
    const graph_row *r = d->ext;
    const graph_kind kind = r ? r->kind : GRAPH_PROGRAM;
    if (!r) continue;
    const bool move = kind == GRAPH_MOVE, copy = kind == GRAPH_COPY,
               index = kind == GRAPH_GATHER || kind == GRAPH_SCATTER;
    if ((r->moves != MOVES_NOTHING) != move || (r->window != NULL) != (r->moves > MOVES_ALIAS) ||
        (r->start != NULL) != copy || (r->indices != INDEX_NONE) != index || (r->adds && kind != GRAPH_SCATTER) ||
        (r->moves == MOVES_REPEATS) != (move && r->index))
      fail_msg("%s: the columns don't agree", d->name);
    assert_true(!move == !(d->flags & IR_VIEWLIKE));
    moves += move, copies += copy, indexed += index;
  }
  assert_true(moves >= 4 && copies >= 2 && indexed >= 7);
}

static bool allows(const char *asked, const char *name) {
  return matrix_path_allows(matrix_path_find(asked), name);
}

static void matrix_paths_allow_what_their_rows_say(void **state) {
  assert_true(allows("auto", "mma") && allows("direct", "mfma") && allows("pingpong", "fma"));
  assert_true(allows("subgroup", "dot") && allows("subgroup", "fma") && !allows("subgroup", "coopmat"));
  assert_true(allows("coopmat2", "coopmat") && allows("coopmat2", "coopmat2_workgroup"));
  assert_true(!allows("coopmat", "coopmat2_workgroup") && !allows("coopmat2_workgroup", "coopmat"));
  assert_true(!allows("scalar", "dot") && !allows("fma", "mma") && allows("fma", "fma"));
  assert_true(!allows("wmma", "wmm") && !allows("mma", "wgmma") && !allows("lane_n", "dot"));
  assert_true(matrix_path_is_open(matrix_path_find("auto")) && matrix_path_is_open(matrix_path_find("gemv")));
  assert_false(matrix_path_is_open(matrix_path_find("direct")) || matrix_path_is_open(matrix_path_find("wgmma")));
  assert_int_equal(matrix_path_find("wgmma")->whole, WHOLE_WGMMA);
  assert_int_equal(matrix_path_find("mma")->whole, WHOLE_NONE);
}

/* Texts of every length about the sizes at which room is made. */
static void printing_texts_of_all_lengths_are_whole(void **state) {
  char text[600];
  arena a;
  arena_init(&a, NULL);
  for (int n = 0; n < 600; n++) {
    strb b;
    strb_init(&b, NULL);
    memset(text, 'a' + n % 26, (size_t)n);
    strb_printf(&b, "%.*s", n, text);
    strb_printf(&b, "|%.*s", n, text);
    assert_int_equal(b.n, 2 * n + 1);
    assert_int_equal(strlen(strb_text(&b)), 2 * n + 1);
    assert_memory_equal(strb_text(&b), text, n);
    assert_memory_equal(strb_text(&b) + n + 1, text, n);
    strb_clear(&b);
    const char *s = arena_fmt(&a, "%.*s;", n, text);
    assert_int_equal(strlen(s), n + 1);
    assert_memory_equal(s, text, n);
  }
  arena_clear(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ops_all_rows_are_found_by_name),
      cmocka_unit_test(reducers_identity_leaves_every_element),
      cmocka_unit_test(policies_words_name_them),
      cmocka_unit_test(graph_ops_that_move_elements_say_how),
      cmocka_unit_test(matrix_paths_allow_what_their_rows_say),
      cmocka_unit_test(printing_texts_of_all_lengths_are_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
