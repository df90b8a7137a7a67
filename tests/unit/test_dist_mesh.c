/* Meshes and tensors spread over them: factors, ranks and places; declared without memory, scattered and gathered; how
 * shards are written in IR text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/dist/reshard.h"
#include "core/ir/graph/ops.h"
#include "tests/support/dist_rig.h"
#include "tests/support/graph_text.h"

static dist_rig rig;

static int open_rig(void **state) { return rig_open(&rig), 0; }
static int close_rig(void **state) { return rig_close(&rig), 0; }

static void missing_sizes_are_factorised_evenly(void **state) {
  static const struct {
    int64_t ranks;
    int n;
    int64_t given[3], want[3];
  } cases[] = {{72, 3, {0, 0, 0}, {6, 4, 3}}, {8, 2, {0, 0}, {4, 2}}, {72, 3, {8, 0, 0}, {8, 3, 3}},
               {7, 2, {0, 0}, {7, 1}},        {1, 1, {0}, {1}},       {16384, 3, {0, 0, 0}, {32, 32, 16}}};
  const char *const names[] = {"tp", "pp", "dp"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tsr_mesh *m;
    assert_null(tsr_mesh_create(
        rig.ctx,
        &(tsr_mesh_desc){.axes = names, .sizes = cases[i].given, .n_axes = cases[i].n, .ranks = cases[i].ranks}, &m));
    for (int a = 0; a < cases[i].n; a++) assert_int_equal(tsr_mesh_size(m, names[a]), cases[i].want[a]);
    assert_int_equal(tsr_mesh_ranks(m), cases[i].ranks);
    assert_int_equal(tsr_mesh_size(m, "ep"), 0);
    tsr_mesh_destroy(&m);
  }
}

static void meshes_that_make_no_sense_are_errors(void **state) {
  const char *const names[] = {"tp", "dp"}, *const twice[] = {"tp", "tp"}, *const odd[] = {"t p"};
  tsr_mesh *m;
  assert_true(rig_says(tsr_mesh_create(rig.ctx, &(tsr_mesh_desc){.axes = names, .n_axes = 2}, &m), "no size"));
  assert_true(rig_says(tsr_mesh_create(rig.ctx, &(tsr_mesh_desc){.axes = names, .n_axes = 9}, &m), "9 axes"));
  assert_true(
      rig_says(tsr_mesh_create(rig.ctx, &(tsr_mesh_desc){.axes = twice, .n_axes = 2, .ranks = 4}, &m), "there twice"));
  assert_true(
      rig_says(tsr_mesh_create(rig.ctx, &(tsr_mesh_desc){.axes = odd, .n_axes = 1, .ranks = 4}, &m), "a letter"));
  assert_true(
      rig_says(tsr_mesh_create(
                   rig.ctx, &(tsr_mesh_desc){.axes = names, .sizes = (int64_t[]){3, 2}, .n_axes = 2, .ranks = 8}, &m),
               "make 6 ranks, there are 8"));
  assert_true(
      rig_says(tsr_mesh_create(rig.ctx, &(tsr_mesh_desc){.axes = names, .n_axes = 2, .ranks = 20000}, &m), "16384"));
  assert_null(m);
}

static void errors_about_an_axis_name_it(void **state) {
  const char *const none[] = {"tp", NULL}, *const longer[] = {"tp", "a_name_that_goes_on_beyond_31_characters"},
                    *const fine[] = {"tp", "dp"};
  const struct { const char *const *names; int64_t sizes[2]; const char *says; } cases[] = {
      {NULL, {2, 4}, "axis 0 of size 2 has no name"},
      {none, {2, 4}, "axis 1 of size 4 has no name"},
      {none, {2, 0}, "axis 1 without a size has no name"},
      {longer, {2, 4}, "axis 1 \"a_name_that_goes_on_beyond_31_c...\" of size 4: a name has at most 31 characters"},
      {fine, {2, -4}, "axis 1 \"dp\" of size -4; 1 to 16384"},
      {fine, {2, 0}, "axis 1 \"dp\" has no size, and the number of ranks isn't said"}};
  dist_mesh m;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_true(rig_says(dist_mesh_make(cases[i].names, cases[i].sizes, 2, 0, &m), cases[i].says));
  assert_true(rig_says(dist_mesh_parse("tp=2,dp=-1", 0, &m), "the size of axis 1 \"dp\" is 1 to 16384"));
  assert_true(rig_says(dist_mesh_parse("tp=2,a_name_that_goes_on_beyond_31_characters=2", 0, &m),
                       "axis 1 \"a_name_that_goes_on_beyond_31_c...\": a name has at most 31 characters"));
}

static void ranks_have_places_and_the_first_axis_is_fastest(void **state) {
  tsr_mesh *m = rig_mesh(&rig, "tp=4,dp=2", 1);
  assert_int_equal(tsr_mesh_coordinate(m, 5, "tp"), 1);
  assert_int_equal(tsr_mesh_coordinate(m, 5, "dp"), 1);
  assert_int_equal(tsr_mesh_coordinate(m, 8, "dp"), -1);
  char *text;
  assert_null(tsr_mesh_print(m, &text));
  assert_non_null(strstr(text, "tp=4,dp=2\n"));
  assert_non_null(strstr(text, "rank 5: tp 1 dp 1, cpu:0"));
  tsr_text_free(rig.ctx, &text);
  tsr_mesh_destroy(&m);
}

/* What a mesh of thousands declares: 4 TB that nobody allocates. */
static void a_tensor_of_terabytes_is_declared_at_once(void **state) {
  const char *const names[] = {"tp", "pp", "dp"}, *const parts[] = {"row", "col"}, *const axes[] = {"tp", "pp"};
  tsr_mesh *m;
  tsr_dist_tensor *t;
  assert_null(tsr_mesh_create(rig.ctx, &(tsr_mesh_desc){.axes = names, .n_axes = 3, .ranks = 72}, &m));
  const int64_t from = clock_ns();
  for (int i = 0; i < 1000; i++) {
    assert_null(tsr_dist_tensor_create(m, TSR_F32, (tsr_shape){2, {1000000, 1000000}},
                                       &(tsr_shardspec){.partition = parts, .mesh_axes = axes, .n = 2}, TSR_UNEVEN_PAD,
                                       &t));
    assert_int_equal(tsr_dist_tensor_allocated(t), 0);
    tsr_dist_tensor_destroy(&t);
  }
  const double us = (double)(clock_ns() - from) * 1e-6;
  printf("a declaration: %.3f us\n", us);
  assert_true(us < 1000);
  tsr_mesh_destroy(&m);
}

static void check_round_trip(const char *mesh, tsr_shape s, const tsr_shardspec *spec) {
  tsr_mesh *m = rig_mesh(&rig, mesh, 3);
  tsr_dist_tensor *t;
  int64_t n = 1, covered = 0;
  for (int i = 0; i < s.rank; i++) n *= s.dims[i];
  int32_t *in = malloc((size_t)n * 4 + 4), *out = calloc((size_t)n + 1, 4);
  for (int64_t i = 0; i < n; i++) in[i] = (int32_t)i + 1;
  assert_null(tsr_dist_tensor_create(m, TSR_I32, s, spec, TSR_UNEVEN_PAD, &t));
  assert_null(tsr_dist_tensor_scatter(t, in));
  assert_null(tsr_dist_tensor_gather(t, out));
  assert_memory_equal(in, out, (size_t)n * 4);
  int64_t copies = tsr_mesh_ranks(m); /* every element is on as many ranks as axes repeat it */
  for (int i = 0; i < spec->n; i++) copies /= tsr_mesh_size(m, spec->mesh_axes[i]);
  for (int64_t r = 0; r < tsr_mesh_ranks(m); r++) {
    int64_t sizes[TSR_MAX_RANK], part = 1;
    assert_null(tsr_dist_tensor_part(t, r, NULL, sizes, NULL));
    for (int i = 0; i < s.rank; i++) part *= sizes[i];
    covered += part;
  }
  assert_int_equal(covered, n * copies);
  free(in), free(out);
  tsr_dist_tensor_destroy(&t);
  tsr_mesh_destroy(&m);
}

static void scatter_and_gather_give_the_whole_again(void **state) {
  const char *const rc[] = {"row", "col"}, *const tp_dp[] = {"tp", "dp"}, *const dp[] = {"dp"}, *const two[] = {"2"},
                    *const rr[] = {"row", "0"};
  check_round_trip("tp=2,dp=3", (tsr_shape){2, {6, 8}}, &(tsr_shardspec){.partition = rc, .mesh_axes = tp_dp, .n = 2});
  check_round_trip("tp=4,dp=3", (tsr_shape){2, {7, 5}}, &(tsr_shardspec){.partition = rc, .mesh_axes = tp_dp, .n = 2});
  check_round_trip("tp=2,dp=5", (tsr_shape){1, {3}}, &(tsr_shardspec){.partition = rc, .mesh_axes = dp, .n = 1});
  check_round_trip("tp=2,dp=2", (tsr_shape){3, {3, 2, 9}}, &(tsr_shardspec){.partition = two, .mesh_axes = dp, .n = 1});
  /* One dimension, two axes. */
  check_round_trip("tp=2,dp=3", (tsr_shape){2, {7, 4}}, &(tsr_shardspec){.partition = rr, .mesh_axes = tp_dp, .n = 2});
  check_round_trip("tp=3", (tsr_shape){0, {0}}, &(tsr_shardspec){.n = 0});
  check_round_trip("tp=3", (tsr_shape){2, {0, 4}}, &(tsr_shardspec){.n = 0});
}

static void specs_that_make_no_sense_are_errors(void **state) {
  tsr_mesh *m = rig_mesh(&rig, "tp=2,dp=4", 0);
  const char *const rc[] = {"row", "col"}, *const xx[] = {"tp", "tp"}, *const tp[] = {"tp"}, *const no[] = {"ep"},
                    *const head[] = {"head"};
  tsr_dist_tensor *t;
  const tsr_shape s = {2, {6, 6}}, v = {1, {6}};
  assert_true(
      rig_says(tsr_dist_tensor_create(m, TSR_F32, s, &(tsr_shardspec){.partition = rc, .mesh_axes = xx, .n = 2}, 0, &t),
               "cuts two dimensions"));
  assert_true(
      rig_says(tsr_dist_tensor_create(m, TSR_F32, s, &(tsr_shardspec){.partition = rc, .mesh_axes = no, .n = 1}, 0, &t),
               "no axis \"ep\""));
  assert_true(rig_says(
      tsr_dist_tensor_create(m, TSR_F32, v, &(tsr_shardspec){.partition = head, .mesh_axes = tp, .n = 1}, 0, &t),
      "no part \"head\""));
  assert_true(rig_says(tsr_dist_tensor_create(m, TSR_F32, s, &(tsr_shardspec){.partial = tp, .n_partial = 1}, 0, &t),
                       "can't be partial"));
  assert_true(
      rig_says(tsr_dist_tensor_create(m, TSR_F32, s,
                                      &(tsr_shardspec){.partition = rc, .mesh_axes = (const char *[]){"dp"}, .n = 1},
                                      TSR_UNEVEN_REFUSE, &t),
               "dimension 0 of 6 isn't cut evenly into 4 pieces by axis 1 \"dp\" of size 4"));
  const tsr_shardspec both = {.partition = rc, .mesh_axes = (const char *[]){"dp", "tp"}, .n = 2};
  assert_true(rig_says(tsr_dist_tensor_create(m, TSR_F32, (tsr_shape){2, {6, -3}}, &both, 0, &t),
                       "dimension 1 = -3 is out of range; it is cut by axis 0 \"tp\" of size 2"));
  assert_true(rig_says(tsr_dist_tensor_create(m, TSR_F32, (tsr_shape){1, {-1}}, NULL, 0, &t),
                       "dimension 0 = -1 is out of range"));
  assert_null(tsr_dist_tensor_create(m, TSR_F32, s, &(tsr_shardspec){.n = 0}, 0, &t));
  tsr_buffer *b;
  assert_true(rig_says(tsr_dist_tensor_local(t, 0, &b), "no devices"));
  tsr_dist_tensor_destroy(&t);
  tsr_mesh_destroy(&m);
}

static void shards_in_text_survive_printing_and_reading(void **state) {
  const char *text =
      gt_func("%a: tensor<8x4xf32, {shard = [\"dp+tp\", \"*\"]}>, %b: tensor<4x6xbf16, {partial = [\"tp:max\", "
              "\"dp:max\"], shard = [\"*\", \"*\"]}>, %c: tensor<f32, {shard = []}>",
              "%0 = \"tessera.graph.exp\"(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32, {shard = [\"tp\", \"dp\"]}>", "%0",
              "tensor<8x4xf32>");
  ir_module *m = gt_parse(text), *again;
  strb one, two;
  strb_init(&one, NULL), strb_init(&two, NULL);
  ir_print(&one, m);
  assert_non_null(strstr(strb_text(&one), "%a: tensor<8x4xf32, {shard = [\"dp+tp\", \"*\"]}>"));
  assert_non_null(
      strstr(strb_text(&one), "tensor<4x6xbf16, {shard = [\"*\", \"*\"], partial = [\"tp:max\", \"dp:max\"]}>"));
  assert_non_null(strstr(strb_text(&one), "-> tensor<8x4xf32, {shard = [\"tp\", \"dp\"]}>"));
  again = gt_parse(strb_text(&one));
  ir_print(&two, again);
  assert_string_equal(strb_text(&one), strb_text(&two));
  ir_module *copy;
  assert_null(ir_module_clone(m, &copy));
  strb_clear(&two), strb_init(&two, NULL);
  ir_print(&two, copy);
  assert_string_equal(strb_text(&one), strb_text(&two));
  strb_clear(&one), strb_clear(&two);
  ir_module_destroy(&m), ir_module_destroy(&again), ir_module_destroy(&copy);
}

static void shards_in_text_are_verified(void **state) {
  static const struct {
    const char *type, *says;
  } bad[] = {{"tensor<8x4xf32, {shard = [\"tp\"]}>", "one entry for each dimension"},
             {"tensor<8x4xf32, {shard = [\"tp\", \"tp\"]}>", "named twice"},
             {"tensor<8x4xf32, {shard = [\"tp\", \"*\"], partial = [\"tp\"]}>", "named twice"},
             {"tensor<8x4xf32, {shard = [\"tp:max\", \"*\"]}>", "behind a partial axis"},
             {"tensor<8x4xf32, {shard = [\"*\", \"*\"], partial = [\"tp:mean\"]}>", ":sum, :max"},
             {"tensor<8x4xf32, {shard = [\"+tp\", \"*\"]}>", "joined by +"},
             {"tensor<8x4xf32, {shard = [\"3p\", \"*\"]}>", "an axis is a letter"},
             {"tensor<8x4xf32, {partial = [\"tp\"]}>", "shard = is missing"},
             {"tensor<8x4xf32, {mesh = [\"tp\"]}>", "expected layout =, shard = or partial ="},
             {"tensor<8x4xf32, {shard = [\"\", \"*\"]}>", "expected \"*\" or names"},
             {"tensor<8x4xf32, {shard = [tp]}>", "expected"},
             {"vector<8x4xf32, {shard = [\"tp\", \"*\"]}>", "expected"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char args[256];
    snprintf(args, sizeof args, "%%a: %s", bad[i].type);
    assert_true(gt_says(gt_error(gt_func(args, "", "%a", "tensor<8x4xf32>")), bad[i].says));
  }
  const char *with_mesh = "\"tessera.graph.func\"() ({\n^bb0(%%a: tensor<8xf32, {shard = [\"%s\"]}>):\n"
                          "\"tessera.graph.return\"(%%a) : (tensor<8xf32>) -> ()\n}) {mesh = \"%s\"} : () -> ()\n";
  char text[512];
  snprintf(text, sizeof text, with_mesh, "ep", "tp=2,dp=4");
  assert_true(gt_says(gt_error(text), "the mesh has no axis \"ep\""));
  snprintf(text, sizeof text, with_mesh, "tp", "tp=2,tp=4");
  assert_true(gt_says(gt_error(text), "axis \"tp\" is there twice"));
  snprintf(text, sizeof text, with_mesh, "tp", "tp=0");
  assert_true(gt_says(gt_error(text), "axis \"tp\": its size is 1 to"));
  snprintf(text, sizeof text, with_mesh, "tp", "tp=2,dp=4");
  assert_string_equal(gt_error(text), "");
}

/* Between any two ways to lie the moves lead from one to the other, and each is one of the five. */
static void moves_lead_from_any_way_to_any_other(void **state) {
  dist_mesh m;
  const int64_t dims[][2] = {{24, 48}, {7, 5}, {8, 6}};
  int n = 0, all_to_alls = 0;
  assert_null(dist_mesh_parse("a=2,b=4,c=3", 0, &m));
  for (int d = 0; d < 3; d++)
    for (int from = 0; from < 64; from++)
      for (int to = 0; to < 64; to++) {
        dist_spec s[2] = {{.rank = 2}, {.rank = 2}};
        dist_move moves[DIST_MAX_MOVES];
        for (int k = 0; k < 2; k++)
          for (int a = 0, code = k ? to : from; a < 3; a++, code /= 4) /* none, row, column, partial */
            if (code % 4 == 3) s[k].partial |= (uint8_t)(1u << a);
            else if (code % 4) s[k].dim[code % 4 - 1] |= (uint8_t)(1u << a);
        const int count = dist_reshard(&m, &s[0], &s[1], dims[d], moves);
        if (s[1].partial & ~s[0].partial) {
          assert_int_equal(count, -1);
          continue;
        }
        if (count < 0) fail_msg("no moves from %d to %d of %d", from, to, d);
        n++;
        for (int i = 0; i < count; i++) {
          assert_true(moves[i].axes != 0);
          assert_int_equal(dist_spec_cuts(&moves[i].after) & moves[i].after.partial, 0);
          all_to_alls += moves[i].code == G_ALL_TO_ALL;
        }
        if (count) assert_true(dist_spec_same(&moves[count - 1].after, &s[1]));
        else assert_true(dist_spec_same(&s[0], &s[1]));
      }
  assert_true(n > 3000 && all_to_alls > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(missing_sizes_are_factorised_evenly),
      cmocka_unit_test(meshes_that_make_no_sense_are_errors),
      cmocka_unit_test(errors_about_an_axis_name_it),
      cmocka_unit_test(ranks_have_places_and_the_first_axis_is_fastest),
      cmocka_unit_test(a_tensor_of_terabytes_is_declared_at_once),
      cmocka_unit_test(scatter_and_gather_give_the_whole_again),
      cmocka_unit_test(specs_that_make_no_sense_are_errors),
      cmocka_unit_test(shards_in_text_survive_printing_and_reading),
      cmocka_unit_test(shards_in_text_are_verified),
      cmocka_unit_test(moves_lead_from_any_way_to_any_other),
  };
  return cmocka_run_group_tests(tests, open_rig, close_rig);
}
