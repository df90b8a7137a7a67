/* tests/unit/test_pipeline.c - the table of passes: the IR right after each pass is valid text that reads back as
 * itself (print, parse, print), for the CPU and for SPIR-V; the names are unique; only words after:NAME of the table
 * are taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/passes/pipeline.h"

static const char text[] =
    "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<64x32xf32>, %B: tensor<32x48xf32>, %c: tensor<48xf32>):\n"
    "%z = \"tessera.graph.add\"(%A, %A)\n%m = \"tessera.graph.matmul\"(%z, %B)\n%d = \"tessera.graph.add\"(%m, %c)\n"
    "%s = \"tessera.graph.softmax\"(%d)\n\"tessera.graph.return\"(%s)\n}) {sym_name = \"main\"}\n";

static int seen;

static void reads_back(void *user, const pass_row *row, const ir_module *m) {
  strb once, twice;
  ir_module *again = NULL;
  strb_init(&once, NULL);
  strb_init(&twice, NULL);
  ir_print(&once, m);
  tsr_status st = ir_parse(NULL, strb_text(&once), once.n, row->name, &again);
  if (st) fail_msg("after %s: %s", row->name, tsr_status_message(st));
  ir_print(&twice, again);
  assert_string_equal(strb_text(&once), strb_text(&twice));
  assert_true(once.n > 100);
  ir_module_destroy(&again);
  strb_clear(&once);
  strb_clear(&twice);
  seen++;
}

static void text_after_every_pass_reads_back(void **state) {
  static const tsr_caps devices[] = {{.dialect = DIALECT_CPU},
                                     {.dialect = DIALECT_SPIRV,
                                      .n_cores = 60,
                                      .subgroup = 32,
                                      .max_threads = 1024,
                                      .shared_bytes = 48 << 10,
                                      .vector_bytes = 16}};
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
    ir_module *levels[TSR_LEVEL_TARGET + 1] = {NULL};
    size_t n;
    assert_null(ir_parse(NULL, text, sizeof text - 1, "text", &levels[TSR_LEVEL_GRAPH]));
    const pipeline p = {.levels = levels, .caps = &devices[d], .policy = "fast", .after = reads_back};
    seen = 0;
    tsr_status st = pipeline_run(&p, TSR_LEVEL_GRAPH);
    if (st) fail_msg("device %d: %s", (int)d, tsr_status_message(st));
    pipeline_rows(&n);
    assert_int_equal(seen, n);
    for (int l = 0; l <= TSR_LEVEL_TARGET; l++) ir_module_destroy(&levels[l]);
  }
}

static void rows_are_in_order_of_levels(void **state) {
  size_t n;
  const pass_row *r = pipeline_rows(&n);
  for (size_t i = 0; i < n; i++) {
    assert_true(r[i].from == r[i].to || r[i].to == r[i].from + 1);
    if (i) assert_int_equal(r[i].from, r[i - 1].to);
    assert_true(*r[i].help);
    for (size_t j = 0; j < i; j++) assert_string_not_equal(r[i].name, r[j].name);
  }
}

static void refuses(const char *list, const char *says) {
  tsr_status st = pipeline_check_dump(NULL, list);
  assert_non_null(st);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  assert_non_null(strstr(tsr_status_message(st), says));
  assert_non_null(strstr(tsr_status_message(st), "transpose_operand"));
  tsr_status_free(st);
}

static void words_of_the_table_alone_are_taken(void **state) {
  size_t n;
  const pass_row *r = pipeline_rows(&n);
  for (size_t i = 0; i < n; i++) {
    char list[96];
    snprintf(list, sizeof list, "graph,after:%s,tile", r[i].name);
    assert_null(pipeline_check_dump(NULL, list));
    for (size_t j = 0; j < n; j++) assert_int_equal(pipeline_dumps_after(list, &r[j]), i == j);
  }
  assert_null(pipeline_check_dump(NULL, ""));
  assert_null(pipeline_check_dump(NULL, "graph,tile"));
  refuses("after:banana", "\"banana\"");
  refuses("after:expand,after:", "\"\"");
  refuses("after:expandx", "\"expandx\"");
  refuses("after:expan", "\"expan\"");
}

/* A pass that leaves an attribute of the wrong kind behind. */
static tsr_status spoil(void *user, ir_module *m) {
  ir_op *program = m->root->regions[0]->first, *kernel = program->regions[0]->first;
  while (strcmp(kernel->def->name, "tessera.schedule.kernel")) kernel = kernel->next;
  assert_true(ir_set_attr(kernel, "family", ir_attr_int(m, 1)));
  return NULL;
}

static void note_name(void *user, const pass_row *row, const ir_module *m) { *(const char **)user = row->name; }

/* TSR_VERIFY=all finds it at once; else the last pass of the level does, before anything is made of it. */
static void what_a_pass_spoils_is_found_within_its_level(void **state) {
  for (int all = 0; all < 2; all++) {
    ir_module *levels[TSR_LEVEL_TARGET + 1] = {NULL};
    const char *last = "";
    const tsr_caps cpu = {.dialect = DIALECT_CPU};
    setenv("TSR_VERIFY", all ? "all" : "needed", 1);
    assert_null(ir_parse(NULL, text, sizeof text - 1, "text", &levels[TSR_LEVEL_GRAPH]));
    const pipeline p = {
        .levels = levels, .caps = &cpu, .policy = "fast", .user = &last, .by_hand = spoil, .after = note_name};
    tsr_status st = pipeline_run(&p, TSR_LEVEL_GRAPH);
    assert_non_null(st);
    assert_non_null(strstr(tsr_status_message(st), "family"));
    if (all) assert_string_equal(last, "expand");
    assert_null(levels[TSR_LEVEL_TILE]);
    tsr_status_free(st);
    for (int l = 0; l <= TSR_LEVEL_TARGET; l++) ir_module_destroy(&levels[l]);
  }
  unsetenv("TSR_VERIFY");
}

/* A launch of nobody, in a hook of the runtime's. */
static tsr_status spoil_launch(void *user, ir_module *m, bool *changed) {
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next)
    for (ir_op *l = o->n_regions ? o->regions[0]->first : NULL; l; l = l->next)
      if (strstr(l->def->name, ".launch")) *changed = ir_set_attr(l, "kernel", ir_attr_str(m, "nobody"));
  assert_true(*changed);
  return NULL;
}

/* In every build, and whatever TSR_VERIFY is: no later pass verifies what `link` makes. */
static void what_a_hook_of_the_runtime_spoils_is_found_at_once(void **state) {
  for (int link = 0; link < 2; link++) {
    ir_module *levels[TSR_LEVEL_TARGET + 1] = {NULL};
    const char *last = "";
    const tsr_caps cpu = {.dialect = DIALECT_CPU};
    assert_null(ir_parse(NULL, text, sizeof text - 1, "text", &levels[TSR_LEVEL_GRAPH]));
    pipeline p = {.levels = levels, .caps = &cpu, .policy = "fast", .user = &last, .after = note_name};
    *(link ? &p.link : &p.custom) = spoil_launch;
    tsr_status st = pipeline_run(&p, TSR_LEVEL_GRAPH);
    assert_non_null(st);
    assert_non_null(strstr(tsr_status_message(st), "nobody"));
    assert_string_equal(last, link ? "to_target" : "to_tile");
    tsr_status_free(st);
    for (int l = 0; l <= TSR_LEVEL_TARGET; l++) ir_module_destroy(&levels[l]);
  }
}

static void every_pass_that_ran_has_its_cost(void **state) {
  size_t n;
  const pass_row *r = pipeline_rows(&n);
  pass_cost costs[32] = {{0}};
  ir_module *levels[TSR_LEVEL_TARGET + 1] = {NULL};
  const tsr_caps cpu = {.dialect = DIALECT_CPU};
  assert_true(n <= 32);
  assert_null(ir_parse(NULL, text, sizeof text - 1, "text", &levels[TSR_LEVEL_GRAPH]));
  assert_null(pipeline_run(&(pipeline){.levels = levels, .caps = &cpu, .policy = "fast", .costs = costs},
                           TSR_LEVEL_GRAPH));
  for (size_t i = 0; i < n; i++) {
    assert_true(costs[i].ran && costs[i].ns >= 0);
    if (r[i].from != r[i].to) assert_true(costs[i].bytes > 0); /* the level that it made */
  }
  memset(costs, 0, sizeof costs);
  for (int l = 0; l < TSR_LEVEL_TILE; l++) ir_module_destroy(&levels[l]);
  ir_module_destroy(&levels[TSR_LEVEL_TARGET]);
  assert_null(pipeline_run(&(pipeline){.levels = levels, .caps = &cpu, .policy = "fast", .costs = costs},
                           TSR_LEVEL_TILE));
  for (size_t i = 0; i < n; i++) assert_int_equal(costs[i].ran, r[i].from >= TSR_LEVEL_TILE);
  for (int l = 0; l <= TSR_LEVEL_TARGET; l++) ir_module_destroy(&levels[l]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_hook_of_the_runtime_spoils_is_found_at_once),
                                     cmocka_unit_test(what_a_pass_spoils_is_found_within_its_level),
                                     cmocka_unit_test(every_pass_that_ran_has_its_cost),
                                     cmocka_unit_test(text_after_every_pass_reads_back),
                                     cmocka_unit_test(rows_are_in_order_of_levels),
                                     cmocka_unit_test(words_of_the_table_alone_are_taken)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
