/* Shards of a graph's inputs that are given by calls, or found by search: those of the text, what is given stays, what
 * doesn't fit is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/dist_rig.h"

static dist_rig rig;

static int open_rig(void **state) { return rig_open(&rig), 0; }
static int close_rig(void **state) { return rig_close(&rig), 0; }

typedef struct function {
  const char *args, *body, *results, *types;
} function;

#define MM(r, a, b)      "%" r " = \"tessera.graph.matmul\"(%" a ", %" b ")\n"
#define UN(r, op, a)     "%" r " = \"tessera.graph." op "\"(%" a ")\n"
#define BIN(r, op, a, b) "%" r " = \"tessera.graph." op "\"(%" a ", %" b ")\n"

static tsr_graph *graph_of(const function *p) { return rig_graph(&rig, p->args, p->body, p->results, p->types); }

static void shards_by_calls_are_those_of_the_text(void **state) {
  tsr_mesh *m = rig_mesh(&rig, "tp=2,dp=2", 2);
  const char *const row[] = {"row"}, *const col[] = {"col"}, *const tp[] = {"tp"}, *const dp[] = {"dp"};
  tsr_graph *g;
  tsr_value v[2], y;
  char *text;
  assert_null(tsr_graph_create(rig.ctx, NULL, &g));
  assert_null(tsr_graph_input(g, "x", TSR_F32, (tsr_shape){2, {4, 6}}, &v[0]));
  assert_null(tsr_graph_input(g, "w", TSR_F32, (tsr_shape){2, {6, 8}}, &v[1]));
  assert_null(tsr_graph_op(g, "matmul", v, 2, NULL, 0, &y));
  assert_null(tsr_graph_output(g, y));
  assert_null(tsr_graph_shard(g, v[0], m, &(tsr_shardspec){.partition = row, .mesh_axes = dp, .n = 1}));
  assert_null(tsr_graph_shard(g, v[1], m, &(tsr_shardspec){.partition = col, .mesh_axes = tp, .n = 1}));
  assert_true(rig_says(tsr_graph_shard(g, 9, m, &(tsr_shardspec){.n = 0}), "not a value"));
  assert_true(
      rig_says(tsr_graph_shard(g, v[0], m, &(tsr_shardspec){.partial = tp, .n_partial = 1}), "can't be partial"));
  assert_null(tsr_graph_print(g, &text));
  assert_non_null(strstr(text, "%x: tensor<4x6xf32, {shard = [\"dp\", \"*\"]}>"));
  assert_non_null(strstr(text, "%w: tensor<6x8xf32, {shard = [\"*\", \"tp\"]}>"));
  tsr_text_free(rig.ctx, &text);
  rig_data d;
  rig_data_make(g, 3, true, &d);
  assert_null(rig_run(m, g, NULL, &d));
  assert_int_equal(rig_misses(g, &d, 0, "whole numbers"), 0);
  rig_data_free(g, &d);
  tsr_graph_destroy(&g);
  tsr_mesh_destroy(&m);
}

/* A block of a transformer's feed-forward part: the search finds what one would write by hand, or better, and its
 * program is right. */
static void shards_are_found_by_search(void **state) {
  const function p = {"%x: tensor<256x128xf32>, %w: tensor<128x512xf32>, %v: tensor<512x128xf32>",
                      MM("h", "x", "w") UN("g", "gelu", "h") MM("y", "g", "v") BIN("r", "add", "x", "y"), "%r",
                      "tensor<256x128xf32>"};
  static const char *const topologies[] = {NULL, "h100x8", "pcie8"};
  for (int i = 0; i < 3; i++) {
    const tsr_dist_options o = {.topology = topologies[i]};
    tsr_graph *g = graph_of(&p);
    tsr_mesh *m = rig_mesh(&rig, "tp=2,dp=2", 2);
    char *why;
    assert_null(tsr_graph_autoshard(g, m, &o, &why));
    double found, whole;
    assert_int_equal(sscanf(strchr(why, ':') + 1, " %lf us modelled, %lf us", &found, &whole), 2);
    if (found > whole) fail_msg("%s", why);
    if (!i) assert_true(found < 0.5 * whole);
    tsr_text_free(rig.ctx, &why);
    rig_data d;
    rig_data_make(g, 3, false, &d);
    assert_null(rig_run(m, g, &o, &d));
    assert_int_equal(rig_misses(g, &d, 2, "found"), 0);
    rig_data_free(g, &d);
    tsr_graph_destroy(&g);
    tsr_mesh_destroy(&m);
  }
}

/* What was given stays; what doesn't fit is told. */
static void search_keeps_what_is_given_and_tells_what_does_not_fit(void **state) {
  const function p = {"%x: tensor<8x16xf32, {shard = [\"dp\", \"*\"]}>, %w: tensor<16x32xf32>", MM("y", "x", "w"), "%y",
                      "tensor<8x32xf32>"};
  tsr_graph *g = graph_of(&p);
  tsr_mesh *m = rig_mesh(&rig, "tp=2,dp=2", 0);
  char *text;
  assert_null(tsr_graph_autoshard(g, m, NULL, &text));
  assert_non_null(strstr(text, "x: dp,* (given)"));
  tsr_text_free(rig.ctx, &text);
  tsr_graph_destroy(&g);
  const function large = {"%x: tensor<1000000x1000000xf32>", UN("y", "exp", "x"), "%y", "tensor<1000000x1000000xf32>"};
  g = graph_of(&large);
  assert_true(rig_says(tsr_graph_autoshard(g, m, NULL, NULL), "inputs need at least"));
  tsr_graph_destroy(&g);
  tsr_mesh_destroy(&m);
}

/* Column-major inputs and results: searched, and run with what was found, with the bits of one device. The columns of
 * w are rows in memory, so the shard that is told is that of w as it is written. */
static void layouts_and_shards_go_together(void **state) {
  static const function cases[] = {
      {"%x: tensor<8x16xf32, {layout = [1, 0]}>, %w: tensor<16x32xf32, {layout = [1, 0]}>", MM("y", "x", "w"), "%y",
       "tensor<8x32xf32>"},
      {"%x: tensor<8x16xf32>, %w: tensor<16x1024xf32, {layout = [1, 0], shard = [\"*\", \"tp\"]}>", MM("y", "x", "w"),
       "%y", "tensor<8x1024xf32>"},
      {"%x: tensor<4x6x8xf32, {layout = [2, 0, 1], shard = [\"tp\", \"*\", \"dp\"]}>", UN("e", "exp", "x")
       "%y = \"tessera.graph.add\"(%e, %x) : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<4x6x8xf32, {layout = "
       "[1, 2, 0], shard = [\"*\", \"*\", \"dp\"]}>\n", "%y", "tensor<4x6x8xf32>"},
      {"%x: tensor<0x6xf32, {layout = [1, 0], shard = [\"*\", \"tp\"]}>", UN("y", "exp", "x"), "%y",
       "tensor<0x6xf32>"},
      {"%x: tensor<1x7xf32, {layout = [1, 0], shard = [\"*\", \"tp\"]}>", UN("y", "exp", "x"), "%y",
       "tensor<1x7xf32>"}};
  const tsr_dist_options o = {.compile = {.policy = TSR_POLICY_DETERMINISTIC}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tsr_graph *g = graph_of(&cases[i]);
    tsr_mesh *m = rig_mesh(&rig, "tp=2,dp=2", 2);
    rig_data d;
    char *why;
    void *one;
    assert_null(tsr_graph_autoshard(g, m, &o, &why));
    if (i == 1) assert_non_null(strstr(why, "w: *,tp (given)"));
    if (i == 2) assert_non_null(strstr(why, "x: tp,*,dp (given)"));
    tsr_text_free(rig.ctx, &why);
    rig_data_make(g, i + 3, false, &d);
    const size_t n = tsr_graph_output_info(g, 0).bytes;
    assert_null(rig_run_one(rig.cpu[0], g, &o.compile, &d));
    assert_non_null(one = malloc(n + 1));
    memcpy(one, d.out[0], n);
    memset(d.out[0], 0x5a, n);
    assert_null(rig_run(m, g, &o, &d));
    assert_memory_equal(one, d.out[0], n);
    free(one);
    rig_data_free(g, &d);
    tsr_graph_destroy(&g);
    tsr_mesh_destroy(&m);
  }
}

/* A product takes a transposed operand as it lies; what is computed element by element is copied. */
static void copies_that_layouts_need_cost_what_they_move(void **state) {
  static const char *const bodies[] = {MM("y", "x", "w"), UN("e", "exp", "w") MM("y", "x", "e")};
  double plain = 0, us;
  for (int i = 0; i < 4; i++) {
    char args[256], *why;
    snprintf(args, sizeof args, "%%x: tensor<64x512xf32>, %%w: tensor<512x512xf32%s>",
             i % 2 ? ", {layout = [1, 0]}" : "");
    const function f = {args, bodies[i / 2], "%y", "tensor<64x512xf32>"};
    tsr_graph *g = graph_of(&f);
    tsr_mesh *m = rig_mesh(&rig, "tp=1", 1);
    assert_null(tsr_graph_autoshard(g, m, NULL, &why));
    assert_int_equal(sscanf(strchr(why, ':') + 1, " %lf us modelled", &us), 1);
    if (i % 2 == 0) plain = us;
    else assert_true(i == 1 ? us == plain : us > 1.2 * plain);
    tsr_text_free(rig.ctx, &why);
    tsr_graph_destroy(&g);
    tsr_mesh_destroy(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shards_by_calls_are_those_of_the_text),
      cmocka_unit_test(shards_are_found_by_search),
      cmocka_unit_test(layouts_and_shards_go_together),
      cmocka_unit_test(copies_that_layouts_need_cost_what_they_move),
      cmocka_unit_test(search_keeps_what_is_given_and_tells_what_does_not_fit),
  };
  return cmocka_run_group_tests(tests, open_rig, close_rig);
}
