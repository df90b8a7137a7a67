/* Tests of the Graph IR table: every op's inferred type, print -> parse -> print, mlir-opt, the documents made from the
 * tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/graph_ops_good.h"

static void every_op_infers_its_type(void **state) {
  const ir_opdef *t;
  char seen[G_N_CODES] = {0};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char type[100];
    snprintf(type, sizeof type, "tensor<%s>", good[i].type);
    ir_module *m = gt_parse(gt_func(good[i].args, line(good[i].op), "%0", type));
    seen[graph_find_func(m, NULL)->regions[0]->first->def->code] = 1;
    ir_module_destroy(&m);
  }
  for (size_t i = 0; (t = ir_row(IR_GRAPH, i)); i++)
    if ((t->flags & IR_PURE) && t->code != G_CUSTOM && !seen[t->code])
      fail_msg("%s has no case", t->name); /* custom: the application infers */
}

static char *printed(const ir_module *m) {
  strb b;
  strb_init(&b, NULL);
  ir_print(&b, m);
  char *s = strdup(strb_text(&b));
  strb_clear(&b);
  return s;
}

static void print_parse_print_is_stable_for_every_op(void **state) {
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char type[100];
    snprintf(type, sizeof type, "tensor<%s>", good[i].type);
    ir_module *m = gt_parse(gt_func(good[i].args, line(good[i].op), "%0", type));
    char *once = printed(m);
    ir_module *again = gt_parse(once);
    char *twice = printed(again);
    assert_string_equal(once, twice);
    free(once);
    free(twice);
    ir_module_destroy(&m);
    ir_module_destroy(&again);
  }
}

static int have(const char *program) {
  char command[200];
  snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
  return system(command) == 0;
}

static void mlir_opt_reads_every_op(void **state) {
  const char *opt = have("mlir-opt-19") ? "mlir-opt-19" : have("mlir-opt") ? "mlir-opt" : NULL;
  if (!opt) {
    fprintf(stderr, "skipped: mlir-opt is not installed\n");
    skip();
  }
  char file[] = "/tmp/tessera_mlir_XXXXXX", command[200];
  int fd = mkstemp(file);
  assert_true(fd >= 0);
  FILE *f = fdopen(fd, "w");
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char type[100];
    snprintf(type, sizeof type, "tensor<%s>", good[i].type);
    ir_module *m = gt_parse(gt_func(good[i].args, line(good[i].op), "%0", type));
    strb b;
    strb_init(&b, NULL);
    char name[32];
    snprintf(name, sizeof name, "f%zu", i);
    ir_set_attr(graph_find_func(m, NULL), "sym_name", ir_attr_str(m, name));
    ir_print_op(&b, graph_find_func(m, NULL), 0);
    fprintf(f, "%s\n", strb_text(&b));
    strb_clear(&b);
    ir_module_destroy(&m);
  }
  fclose(f);
  snprintf(command, sizeof command, "%s --allow-unregistered-dialect %s >/dev/null", opt, file);
  int rc = system(command);
  unlink(file);
  assert_int_equal(rc, 0);
}

static void json_lists_every_op_of_every_level(void **state) {
  strb b;
  strb_init(&b, NULL);
  ir_ops_json(&b);
  assert_true(strb_ok(&b));
  for (int l = 0; l < IR_N_LEVELS; l++) {
    const ir_opdef *t;
    for (size_t i = 0; (t = ir_row((ir_level)l, i)); i++) {
      char name[100];
      snprintf(name, sizeof name, "{\"name\": \"%s\"", t->name);
      assert_true(gt_says(strb_text(&b), name));
    }
  }
  assert_true(
      gt_says(strb_text(&b),
              "{\"name\": \"axis\", \"kind\": \"integer\", \"required\": false, \"default\": \"-1\", \"help\": "));
  strb_clear(&b);
}

/* The checked-in document is the generated one. TSR_UPDATE_GOLDEN=1 writes it anew. */
static void the_document_is_up_to_date(void **state) {
  strb b;
  strb_init(&b, NULL);
  ir_ops_markdown(&b);
  FILE *f = fopen(TSR_SOURCE_DIR "/docs/ir.md", getenv("TSR_UPDATE_GOLDEN") ? "w+" : "r");
  assert_non_null(f);
  if (getenv("TSR_UPDATE_GOLDEN")) {
    fwrite(b.p, 1, b.n, f);
    rewind(f);
  }
  char *have_text = calloc(1, b.n + 2);
  size_t n = fread(have_text, 1, b.n + 1, f);
  fclose(f);
  if (n != b.n || memcmp(have_text, b.p, n))
    fail_msg("docs/ir.md is out of date: TSR_UPDATE_GOLDEN=1 ctest -R test_graph_ops writes it");
  free(have_text);
  strb_clear(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_infers_its_type),
      cmocka_unit_test(print_parse_print_is_stable_for_every_op),
      cmocka_unit_test(mlir_opt_reads_every_op),
      cmocka_unit_test(json_lists_every_op_of_every_level),
      cmocka_unit_test(the_document_is_up_to_date),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
