/* tests/unit/test_schedule_knobs.c - every row of core/ir/schedule/knobs.h, taken round: set in tsr_schedule, printed
 * as Schedule IR, parsed, read back; put in a config's text (caches, records) and read back; set from text; listed by
 * the guide and the command. What no row has is refused with what there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/ir/schedule/schedule.h"
#include "core/tune/space.h"

/* A value of the knob besides "not set", from its range and not its default. */
static int64_t some_value(const sched_knob *k) {
  switch (k->kind) {
  case SCHED_SWITCH: return -1;
  case SCHED_FLAG: return 1;
  case SCHED_POWER: return 2 * k->least;
  default: return k->least + 3;
  }
}

/* A primitive is written where its first knob is set. */
static sched_params with(const sched_knob *k) {
  sched_params p = {0};
  for (const sched_knob *first = sched_knobs; first < sched_knobs + N_SCHED_KNOBS; first++)
    if (first->primitive == k->primitive && first->kind != SCHED_PATH) {
      sched_set(first, &p, 1);
      break;
    }
  if (k->kind == SCHED_PATH) p.matrix_path = "fma";
  else sched_set(k, &p, some_value(k));
  return p;
}

static ir_op *kernel_of(ir_module *m) {
  for (ir_op *p = m->root->regions[0]->first; p; p = p->next)
    for (ir_op *o = p->n_regions ? p->regions[0]->first : NULL; o; o = o->next)
      if (o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL) return o;
  return NULL;
}

static const char text[] =
    "\"builtin.module\"() ({\n\"tessera.schedule.program\"() ({\n^bb0(%A: tensor<8x8xf32>):\n"
    "%0 = \"tessera.schedule.kernel\"(%A) ({\n^bb0(%a: tensor<8x8xf32>):\n%s\n"
    "%1 = \"tessera.graph.neg\"(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "\"tessera.schedule.yield\"(%1) : (tensor<8x8xf32>) -> ()\n"
    "}) {sym_name = \"neg_0\", family = \"elementwise\"} : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
    "\"tessera.schedule.return\"(%0) : (tensor<8x8xf32>) -> ()\n}) {sym_name = \"main\"} : () -> ()\n}) : () -> ()\n";

static tsr_status parse(const char *t, size_t n, ir_module **m) {
  TSR_TRY(ir_parse(NULL, t, n, "knobs", m));
  return ir_verify(*m);
}

static tsr_status parse_with(const char *primitive, ir_module **m) {
  char all[2048];
  const char *at = strstr(text, "%s");
  snprintf(all, sizeof all, "%.*s%s%s", (int)(at - text), text, primitive, at + 2);
  return parse(all, strlen(all), m);
}

static void a_knob_goes_through_the_public_struct(void **state) {
  for (const sched_knob *k = sched_knobs; k < sched_knobs + N_SCHED_KNOBS; k++) {
    sched_params p = with(k);
    tsr_schedule s = sched_to_public(&p);
    sched_params back = sched_from_public(&s);
    assert_true(sched_is_set(k, &back));
    assert_true(sched_equal(&p, &back));
    assert_null(sched_check(NULL, &back));
    sched_params none = {0}, merged = {0};
    assert_false(sched_equal(&p, &none));
    sched_merge(&merged, &p);
    assert_true(sched_equal(&p, &merged));
  }
}

static void a_knob_is_written_printed_parsed_and_read_back(void **state) {
  for (const sched_knob *k = sched_knobs; k < sched_knobs + N_SCHED_KNOBS; k++) {
    ir_module *m = NULL, *again = NULL;
    sched_params p = with(k), back;
    if (p.m && !p.n) p.n = 1;
    if (p.m && !p.k) p.k = 1; /* a tile is written whole */
    strb b;
    strb_init(&b, NULL);
    assert_null(parse_with("", &m));
    assert_true(sched_write(kernel_of(m), &p));
    assert_null(ir_verify(m));
    ir_print(&b, m);
    assert_null(parse(strb_text(&b), b.n, &again));
    sched_read(kernel_of(again), &back);
    if (!sched_equal(&p, &back)) fail_msg("%s is lost in:\n%s", k->name, strb_text(&b));
    sched_params none = {0};
    assert_true(sched_write(kernel_of(again), &none));
    sched_read(kernel_of(again), &back);
    assert_true(sched_equal(&back, &none));
    strb_clear(&b);
    ir_module_destroy(&again);
    ir_module_destroy(&m);
  }
}

static void a_knob_is_kept_in_a_configs_text(void **state) {
  for (const sched_knob *k = sched_knobs; k < sched_knobs + N_SCHED_KNOBS; k++) {
    tune_config c = {0}, back;
    int32_t *v = tune_config_at(&c, k);
    if (k->kind == SCHED_FLAG) {
      assert_null(v);
      continue;
    }
    assert_non_null(v);
    assert_ptr_equal(v, tune_config_field(&c, k->name));
    *v = 1;
    strb b;
    strb_init(&b, NULL);
    tune_config_print(&c, &b);
    assert_true(tune_config_parse(strb_text(&b), &back));
    assert_memory_equal(&c, &back, sizeof c);
    char want[64];
    snprintf(want, sizeof want, "%s=1", k->name);
    assert_non_null(strstr(strb_text(&b), want));
    strb_clear(&b);
  }
}

static void a_value_is_read_from_text_and_a_wrong_one_refused_with_the_list(void **state) {
  for (const sched_knob *k = sched_knobs; k < sched_knobs + N_SCHED_KNOBS; k++) {
    char values[512], right[32];
    sched_params p = {0};
    snprintf(right, sizeof right, "%lld", (long long)some_value(k));
    if (k->kind == SCHED_PATH) snprintf(right, sizeof right, "gemv");
    if (k->kind == SCHED_SWITCH || k->kind == SCHED_FLAG) snprintf(right, sizeof right, "on");
    assert_null(sched_parse(NULL, k->name, right, &p));
    assert_true(sched_is_set(k, &p));
    sched_knob_values(k, values, sizeof values);
    static const char *const wrong[] = {"banana", "", "-7", "99999999999", "1x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
      tsr_status st = sched_parse(NULL, k->name, wrong[i], &p);
      assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
      assert_string_equal(tsr_status_hint(st), values);
      assert_non_null(strstr(tsr_status_message(st), k->name));
      tsr_status_free(st);
    }
  }
  sched_params p = {0};
  tsr_status st = sched_parse(NULL, "speed", "3", &p);
  assert_int_equal(tsr_status_code(st), TSR_NOT_FOUND);
  for (const sched_knob *k = sched_knobs; k < sched_knobs + N_SCHED_KNOBS; k++)
    assert_non_null(strstr(tsr_status_hint(st), k->name));
  tsr_status_free(st);
}

/* One past either end is refused alike by the public struct and by the text of Schedule IR. */
static void what_is_out_of_range_is_refused_by_struct_and_ir(void **state) {
  for (const sched_knob *k = sched_knobs; k < sched_knobs + N_SCHED_KNOBS; k++) {
    if (k->kind == SCHED_FLAG || k->kind == SCHED_SWITCH) continue;
    ir_module *m = NULL, *again = NULL;
    sched_params p = with(k);
    if (k->kind == SCHED_PATH) p.matrix_path = "banana";
    else sched_set(k, &p, k->most + 1);
    tsr_status st = sched_check(NULL, &p);
    assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
    assert_non_null(strstr(tsr_status_message(st), k->name));
    tsr_status_free(st);
    assert_null(parse_with("", &m));
    assert_true(sched_write(kernel_of(m), &p));
    strb b;
    strb_init(&b, NULL);
    ir_print(&b, m);
    st = parse(strb_text(&b), b.n, &again);
    assert_non_null(st);
    tsr_status_free(st);
    strb_clear(&b);
    ir_module_destroy(&again);
    ir_module_destroy(&m);
  }
}

static void a_path_has_one_number_and_a_number_one_path(void **state) {
  for (int64_t i = -1; i < 8; i++) {
    const matrix_path *path = matrix_path_of_config(i);
    if (path) assert_int_equal(tune_path_of(path->name), i);
    if (path) assert_ptr_equal(matrix_path_find(path->name), path);
    assert_true(!path == (i < 0 || i > 4));
  }
  assert_true(!matrix_path_find("gemv")->has_tiles && !matrix_path_find("scalar")->has_matrix);
  assert_int_equal(tune_path_of(NULL), 1);
  assert_int_equal(tune_path_of("mma"), 1);
  assert_int_equal(tune_path_of("scalar"), 0);
}

static void the_guide_names_every_knob(void **state) {
  static char guide[1 << 18];
  FILE *f = fopen(TSR_SOURCE_DIR "/docs/tuning.md", "r");
  assert_non_null(f);
  guide[fread(guide, 1, sizeof guide - 1, f)] = 0;
  fclose(f);
  for (const sched_knob *k = sched_knobs; k < sched_knobs + N_SCHED_KNOBS; k++) {
    char row[64];
    snprintf(row, sizeof row, "| `%s` |", k->name);
    if (!strstr(guide, row)) fail_msg("docs/tuning.md has no row of %s", k->name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_knob_goes_through_the_public_struct),
      cmocka_unit_test(a_knob_is_written_printed_parsed_and_read_back),
      cmocka_unit_test(a_knob_is_kept_in_a_configs_text),
      cmocka_unit_test(a_value_is_read_from_text_and_a_wrong_one_refused_with_the_list),
      cmocka_unit_test(what_is_out_of_range_is_refused_by_struct_and_ir),
      cmocka_unit_test(a_path_has_one_number_and_a_number_one_path),
      cmocka_unit_test(the_guide_names_every_knob),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
