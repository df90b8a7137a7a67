/* What a block program does, counted from its text, against counts by hand; block programs profiled and audited through
 * the public interface. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/passes/tile/work.h"
#include "tessera/profile.h"

static char *read_program(const char *name, size_t *n) {
  static char text[1 << 16];
  char path[512];
  snprintf(path, sizeof path, "%s/tests/tile/%s.mlir", TSR_SOURCE_DIR, name);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  *n = fread(text, 1, sizeof text - 1, f);
  text[*n] = 0;
  fclose(f);
  return text;
}

static tile_work count(const char *text, size_t n) {
  ir_module *m = NULL;
  tile_work w;
  assert_null(ir_parse(NULL, text, n, "test", &m));
  const ir_op *o = m->root->regions[0]->first;
  while (o->def->code != T_KERNEL) o = o->next;
  tile_work_count(o, &w);
  ir_module_destroy(&m);
  return w;
}

static tile_work count_program(const char *name) {
  size_t n;
  char *text = read_program(name, &n);
  return count(text, n);
}

static void matmul_is_counted_with_its_padding(void **state) {
  tile_work w = count_program("matmul_f32");
  assert_true(w.flops == 9 * 13 * 2.0 * 32 * 32 * 16); /* 3 x 3 blocks, 200 in steps of 16 */
  assert_true(w.bytes == 4.0 * (96 * 200 + 200 * 72 + 96 * 72));
  assert_true(w.contiguous == 1 && w.has_gemm && w.in == TSR_F32 && w.acc == TSR_F32);
  assert_true(w.stages == 2 && w.async_copy);
  w = count_program("matmul_direct");
  assert_true(w.has_gemm && w.stages == 0 && !w.async_copy); /* operands straight from memory */
}

/* Each block of queries stops at its own last key. */
static void causal_loops_are_counted_block_by_block(void **state) {
  tile_work w = count_program("flash_attention");
  double steps = 0;
  for (int block = 0; block < 4; block++) {
    int end = 64 * (block + 1) < 200 ? 64 * (block + 1) : 200;
    steps += (end + 31) / 32;
  }
  double products = 4 * steps * 2 * (2.0 * 64 * 32 * 64); /* heads x steps x (Q K and P V) */
  assert_true(w.flops > products && w.flops < 1.3 * products); /* and the softmax */
  assert_true(w.bytes == 2.0 * 4 * 4 * 200 * 64);
  assert_true(w.has_gemm && w.in == TSR_F16 && w.acc == TSR_F32 && w.contiguous == 1);
}

static void choices_among_elements_are_not_known(void **state) {
  tile_work w = count_program("embedding_mean");
  assert_true(w.bytes < 0 && w.contiguous < 0);
}

#define KERNEL(body, args)                                                                                       \
  "\"tessera.tile.program\"() ({\n^bb0(%A: tensor<64x64xf32>):\n"                                                \
  "%C = \"tessera.tile.buffer\"() : () -> tensor<64x64xf32>\n\"tessera.tile.launch\"(%A, %C) {kernel = \"k\"}\n" \
  "\"tessera.tile.return\"(%C)\n}) {sym_name = \"main\"}\n\"tessera.tile.kernel\"() ({\n^bb0(%a: !tessera.view<64x64xf32>, %c: !tessera.view<64x64xf32>):\n" body "\"tessera.tile.return\"()\n}) {sym_name = \"k\", grid = [1, 1, 1], outputs = 1}\n"
#define STRIDED \
  KERNEL("%v = \"tessera.tile.view\"(%a) : (!tessera.view<64x64xf32>) -> !tessera.view<64x64xf32, strides=[1, 64]>\n%x = \"tessera.tile.load\"(%v)\n\"tessera.tile.store\"(%x, %c)\n", "")

static void strided_accesses_are_seen(void **state) {
  tile_work w = count(STRIDED, strlen(STRIDED));
  assert_true(w.contiguous == 0.5 && w.flops == 0 && w.bytes == 2.0 * 64 * 64 * 4); /* the store is in order */
}

static void branches_with_work_are_not_known(void **state) {
  static const char text[] =
      KERNEL("%b = \"tessera.tile.block_id\"() {axis = 0}\n%z = \"tessera.tile.const\"() {value = 0}\n%is = "
             "\"tessera.tile.compare\"(%b, %z) {predicate = \"eq\"}\n"
             "\"tessera.tile.if\"(%is) ({\n%x = \"tessera.tile.load\"(%a)\n%y = \"tessera.tile.map\"(%x) ({\n^bb0(%e: "
             "f32):\n%n = \"tessera.tile.neg\"(%e)\n"
             "\"tessera.tile.yield\"(%n)\n})\n\"tessera.tile.store\"(%y, %c)\n\"tessera.tile.yield\"()\n})\n",
             "");
  assert_true(count(text, strlen(text)).flops < 0);
}

/* ---- through the public interface ------------------------------------------------------------------------------ */

static char *audit_of(const char *text, size_t n, char **rows) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_profile *p;
  char *out, *copy;
  int failed;
  assert_null(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  assert_null(tsr_device_open(ctx, "cpu:0", &dev));
  assert_null(tsr_text_profile(dev, text, n, "test", NULL, 2, &p));
  assert_null(tsr_profile_check(p, false, false, &out, &failed));
  assert_non_null(copy = strdup(out));
  tsr_text_free(ctx, &out);
  assert_null(tsr_profile_text(p, true, &out));
  assert_non_null(*rows = strdup(out));
  tsr_text_free(ctx, &out);
  tsr_profile_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return copy;
}

static bool says(const char *text, const char *verdict, const char *point, const char *found) {
  for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
    size_t n = strcspn(line, "\n");
    char one[512];
    snprintf(one, sizeof one, "%.*s", (int)n, line);
    if (!strncmp(one, verdict, strlen(verdict)) && strstr(one, point) && strstr(one, found)) return true;
  }
  printf("no %s of \"%s\" with %s in:\n%s", verdict, point, found, text);
  return false;
}

static void block_programs_are_audited(void **state) {
  size_t n;
  char *text = read_program("matmul_f32", &n), *rows, *audit = audit_of(text, n, &rows);
  assert_true(says(audit, "fail", "mixed precision", "f32 in, f32 sum"));
  assert_true(says(audit, "pass", "coalescing", "100%"));
  assert_true(says(audit, "fail", "autotuner", "no persistent cache"));
  assert_non_null(strstr(rows, "modelled=0.162"));
  free(audit), free(rows);
  text = read_program("flash_attention", &n);
  audit = audit_of(text, n, &rows);
  assert_true(says(audit, "pass", "mixed precision", "f16 in, f32 sum"));
  free(audit), free(rows);
  audit = audit_of(STRIDED, strlen(STRIDED), &rows);
  assert_true(says(audit, "fail", "coalescing", "make the last axis contiguous"));
  assert_true(says(audit, "pass", "mixed precision", "no matmul"));
  free(audit), free(rows);
  text = read_program("embedding_mean", &n);
  audit = audit_of(text, n, &rows);
  assert_true(says(audit, "unknown", "coalescing", "n/a"));
  assert_non_null(strstr(rows, "modelled=n/a"));
  assert_non_null(strstr(rows, "bound=unknown"));
  free(audit), free(rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matmul_is_counted_with_its_padding),  cmocka_unit_test(causal_loops_are_counted_block_by_block),
      cmocka_unit_test(choices_among_elements_are_not_known), cmocka_unit_test(strided_accesses_are_seen),
      cmocka_unit_test(branches_with_work_are_not_known),     cmocka_unit_test(block_programs_are_audited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
