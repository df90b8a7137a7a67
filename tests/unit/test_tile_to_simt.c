/* Tile IR to Target IR for SIMT devices: the structure of what comes out (values are checked by running it: tests/simt
 * and the conformance suite). The paths of products are test_tile_to_simt_matrix.c's. */
#include "tests/unit/simt_lowered.h"

#include <limits.h>
#include <stdlib.h>

static void every_program_lowers_for_every_subgroup_size(void **state) {
  static const char *const names[] = {
      "add",    "softmax", "layernorm", "matmul_f32",     "matmul_f16_bias_gelu", "matmul_direct", "flash_attention",
      "conv2d", "fft4096", "transpose", "embedding_mean", "column_stats", "uniform_element"};
  static const int sizes[] = {4, 8, 16, 32, 64};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
      ir_module *m = program(names[i]), *t = lower(m, device(sizes[s] == 64 ? DIALECT_HIP
                                                             : s % 2        ? DIALECT_SPIRV
                                                                            : DIALECT_CUDA,
                                                             sizes[s]));
      ir_op *k = kernel_of(t);
      int64_t block[3];
      assert_int_equal(ir_get_ints(k, "block", block, 3), 3);
      assert_true(block[0] >= sizes[s] && block[0] % sizes[s] == 0 && block[0] <= 1024);
      assert_true(ir_get_int(k, "shared_bytes", -1) >= 0 && ir_get_int(k, "shared_bytes", -1) <= 48 * 1024);
      ir_module_destroy(&t);
      ir_module_destroy(&m);
    }
}

static void lowering_leaves_its_input_alone(void **state) {
  ir_module *m = program("matmul_f32");
  strb before, after;
  strb_init(&before, NULL);
  strb_init(&after, NULL);
  ir_print(&before, m);
  ir_module *t = lower(m, device(DIALECT_SPIRV, 32));
  ir_print(&after, m);
  assert_string_equal(strb_text(&before), strb_text(&after));
  strb_clear(&before);
  strb_clear(&after);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

static void elementwise_block_has_wide_accesses_and_a_checked_variant(void **state) {
  ir_module *m = program("add"), *t = lower(m, device(DIALECT_CUDA, 32));
  ir_op *k = kernel_of(t);
  /* 1024 elements over 128 threads: two vectors of four per operand in whole blocks; the last block goes element by
   * element. */
  assert_int_equal(count(k, TG_LOAD, 4), 4);
  assert_int_equal(count(k, TG_STORE, 4), 2);
  assert_int_equal(count(k, TG_LOAD, 1), 16);
  assert_int_equal(count(k, TG_BARRIER, 0), 0);
  assert_int_equal(ir_get_int(k, "shared_bytes", -1), 0);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

/* As parts of a split contraction are: the block's number, times the tile, modulo an extent that is a multiple of it.
 */
static void window_at_remainder_of_multiples_is_whole(void **state) {
  static const char text[] =
      "\"builtin.module\"() ({ \"tessera.tile.kernel\"() ({\n^bb0(%x: !tessera.view<512xf32>, %y: !tessera.view<512xf32>):\n"
      "%b = \"tessera.tile.block_id\"() {axis = 0}\n%s = \"tessera.tile.const\"() {value = 64}\n%n = \"tessera.tile.const\"() {value = NNN}\n"
      "%p = \"tessera.tile.mul\"(%b, %s)\n%at = \"tessera.tile.rem\"(%p, %n)\n"
      "%wx = \"tessera.tile.window\"(%x, %at) {sizes = [64]}\n%wy = \"tessera.tile.window\"(%y, %at) {sizes = [64]}\n"
      "%v = \"tessera.tile.load\"(%wx)\n\"tessera.tile.store\"(%v, %wy)\n\"tessera.tile.return\"()\n"
      "}) {sym_name = \"k\", grid = [16, 1, 1], outputs = 1} }) : () -> ()\n";
  for (int whole = 0; whole < 2; whole++) {
    char now[sizeof text];
    strcpy(now, text);
    memcpy(strstr(now, "NNN"), whole ? "512" : "500", 3);
    ir_module *m = parse(now, "remainder"), *t = lower(m, device(DIALECT_CUDA, 32));
    ir_op *k = kernel_of(t);
    if (whole) assert_int_equal(count(k, TG_IF, 0), 0);
    else assert_true(count(k, TG_IF, 0) > 0);
    ir_module_destroy(&t);
    ir_module_destroy(&m);
  }
}

static void pipelined_matmul_has_one_barrier_per_iteration(void **state) {
  ir_module *m = program("matmul_f32"), *t = lower(m, device(DIALECT_CUDA, 32));
  ir_op *k = kernel_of(t), *loop = first(k, TG_FOR);
  assert_non_null(loop);
  assert_int_equal(count(loop, TG_BARRIER, 0) + count(loop, TG_WARP_BARRIER, 0), 1);
  assert_int_equal(count(k, TG_BARRIER, 0) + count(k, TG_WARP_BARRIER, 0), 2);
  /* Two copies of (32 rows of 16 + 4) and (16 rows of 32 + 4) floats. */
  assert_int_equal(ir_get_int(k, "shared_bytes", -1), 2 * 4 * (32 * 20 + 16 * 36));
  assert_string_equal(ir_get_str(k, "path", ""), "fma");
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

/* AMD's compiler spreads single elements that cross a branch over a register each, and unrolls short loops whole:
 * spills on gfx950. */
static void staged_tiles_stay_vectors_in_a_rolled_loop_on_amd(void **state) {
  ir_module *m = program("matmul_f32"), *t = lower(m, device(DIALECT_HIP, 64));
  ir_op *loop = first(kernel_of(t), TG_FOR), *fetch = first(loop, TG_IF);
  assert_int_equal(ir_get_int(loop, "unroll_by", 0), 1);
  assert_non_null(fetch);
  assert_true(fetch->n_results > 0);
  for (int i = 0; i < fetch->n_results; i++) assert_int_equal(fetch->results[i]->type->kind, IR_T_VECTOR);
  int stored = 0;
  for (ir_op *o = fetch->next; o; o = o->next) stored += o->def->code == TG_STORE && o->operands[0]->def == fetch;
  assert_int_equal(stored, fetch->n_results);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

static void unpipelined_matmul_has_two_barriers_per_iteration(void **state) {
  ir_module *m = program("matmul_f32");
  for (ir_op *op = kernel_of(m)->regions[0]->first; op; op = op->next)
    if (strstr(op->def->name, ".for")) assert_true(ir_set_attr(op, "stages", ir_attr_int(m, 1)));
  ir_module *t = lower(m, device(DIALECT_CUDA, 32));
  ir_op *k = kernel_of(t);
  /* The tiles are read after they were written, and overwritten after they were read. */
  assert_int_equal(count(first(k, TG_FOR), TG_BARRIER, 0) + count(first(k, TG_FOR), TG_WARP_BARRIER, 0), 2);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

static void direct_matmul_uses_neither_shared_memory_nor_barriers(void **state) {
  ir_module *m = program("matmul_direct"), *t = lower(m, device(DIALECT_SPIRV, 8));
  ir_op *k = kernel_of(t);
  assert_int_equal(ir_get_int(k, "shared_bytes", -1), 0);
  assert_int_equal(count(k, TG_BARRIER, 0) + count(k, TG_WARP_BARRIER, 0), 0);
  assert_int_equal(count(k, TG_IF, 0), 0); /* every tile is whole: nothing is checked */
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

static void reduction_kernel_with_a_subgroup_per_row_needs_no_barrier(void **state) {
  ir_module *m = program("softmax"), *t = lower(m, device(DIALECT_CUDA, 32));
  ir_op *k = kernel_of(t);
  int64_t block[3];
  ir_get_ints(k, "block", block, 3);
  assert_int_equal(block[0], 128);
  assert_int_equal(count(k, TG_BARRIER, 0), 0);
  assert_int_equal(count(k, TG_WARP_REDUCE, 0), 2);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

static void fft_exchanges_twice_for_three_stages(void **state) {
  ir_module *m = program("fft4096"), *t = lower(m, device(DIALECT_CUDA, 32));
  ir_op *k = kernel_of(t);
  assert_int_equal(ir_get_int(k, "shared_bytes", -1), 2 * 4 * 4096);
  /* write, barrier, read, barrier, write, barrier, read; the last stage's outputs stay where they are */
  assert_int_equal(count(k, TG_BARRIER, 0), 3);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

static void oversized_things_are_refused_with_their_limit(void **state) {
  static const char big[] =
      "\"tessera.tile.kernel\"() ({\n^bb0(%x: !tessera.view<1024x1024xf32>, %y: !tessera.view<1024x1024xf32>):\n"
      "%v = \"tessera.tile.load\"(%x)\n\"tessera.tile.store\"(%v, %y)\n\"tessera.tile.return\"()\n}) {sym_name = "
      "\"big\", grid = [1, 1, 1], warps = 1}\n";
  static const char shared[] =
      "\"tessera.tile.kernel\"() ({\n^bb0(%x: !tessera.view<128x128xf32>, %y: !tessera.view<128x128xf32>):\n"
      "%s = \"tessera.tile.alloc\"() : () -> !tessera.shared<128x128xf32>\n\"tessera.tile.copy\"(%x, "
      "%s)\n\"tessera.tile.copy\"(%s, %y)\n"
      "\"tessera.tile.return\"()\n}) {sym_name = \"wide\", grid = [1, 1, 1]}\n";
  static const char *const texts[] = {big, shared}, *const says[] = {"registers", "shared memory"};
  for (int i = 0; i < 2; i++) {
    ir_module *m = parse(texts[i], "big"), *t = NULL;
    tsr_caps caps = device(DIALECT_CUDA, 32);
    tsr_status st = tile_to_simt(m, &caps, &t);
    assert_int_equal(tsr_status_code(st), TSR_UNSUPPORTED);
    assert_non_null(strstr(tsr_status_message(st), says[i]));
    assert_null(t);
    tsr_status_free(st);
    ir_module_destroy(&m);
  }
}

static void tight_shared_memory_gives_up_the_pipeline_before_the_kernel(void **state) {
  tsr_caps c = with_matrices(8, 8);
  c.shared_bytes = 32 * 1024;
  ir_module *m = program("flash_attention"), *t = lower(m, c);
  assert_true(ir_get_int(kernel_of(t), "shared_bytes", 0) <= c.shared_bytes);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

typedef struct scarce { long left; long live; } scarce;

static void *scarce_alloc(void *user, size_t size, size_t align) {
  scarce *s = user;
  void *p = s->left-- > 0 ? aligned_alloc(align < 16 ? 16 : align, (size + 63) / 64 * 64) : NULL;
  s->live += p != NULL;
  return p;
}

static void scarce_free(void *user, void *p, size_t size, size_t align) {
  if (p) ((scarce *)user)->live--;
  free(p);
}

/* Arenas grow in chunks, so there are few allocations and each can be the one that fails. */
static void running_out_of_memory_is_a_status_and_leaks_nothing(void **state) {
  static const char *const names[] = {"embedding_mean", "transpose", "matmul_direct", "fft4096"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    bool done = false;
    for (long n = 0; !done; n++) {
      scarce s = {LONG_MAX, 0};
      tsr_allocator al = {scarce_alloc, scarce_free, &s};
      static char text[1 << 16];
      char path[512];
      snprintf(path, sizeof path, "%s/tests/tile/%s.mlir", TSR_SOURCE_DIR, names[i]);
      FILE *f = fopen(path, "rb");
      assert_non_null(f);
      text[fread(text, 1, sizeof text - 1, f)] = 0;
      fclose(f);
      ir_module *m = NULL, *t = NULL;
      assert_null(ir_parse(&al, text, strlen(text), path, &m));
      tsr_caps caps = with_matrices(32, 16);
      s.left = n;
      tsr_status st = tile_to_simt(m, &caps, &t);
      s.left = LONG_MAX;
      done = !st;
      if (st) assert_int_equal(tsr_status_code(st), TSR_OUT_OF_MEMORY);
      tsr_status_free(st);
      ir_module_destroy(&t);
      ir_module_destroy(&m);
      assert_int_equal(s.live, 0);
      assert_true(n < 10000);
    }
  }
}

static void target_text_parses_again(void **state) {
  ir_module *m = program("flash_attention"), *t = lower(m, device(DIALECT_SPIRV, 32));
  strb a, b;
  strb_init(&a, NULL);
  strb_init(&b, NULL);
  ir_print(&a, t);
  ir_module *r = parse(strb_text(&a), "target");
  ir_print(&b, r);
  assert_string_equal(strb_text(&a), strb_text(&b));
  strb_clear(&a);
  strb_clear(&b);
  ir_module_destroy(&r);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_program_lowers_for_every_subgroup_size),
      cmocka_unit_test(lowering_leaves_its_input_alone),
      cmocka_unit_test(elementwise_block_has_wide_accesses_and_a_checked_variant),
      cmocka_unit_test(window_at_remainder_of_multiples_is_whole),
      cmocka_unit_test(pipelined_matmul_has_one_barrier_per_iteration),
      cmocka_unit_test(staged_tiles_stay_vectors_in_a_rolled_loop_on_amd),
      cmocka_unit_test(unpipelined_matmul_has_two_barriers_per_iteration),
      cmocka_unit_test(direct_matmul_uses_neither_shared_memory_nor_barriers),
      cmocka_unit_test(reduction_kernel_with_a_subgroup_per_row_needs_no_barrier),
      cmocka_unit_test(fft_exchanges_twice_for_three_stages),
      cmocka_unit_test(oversized_things_are_refused_with_their_limit),
      cmocka_unit_test(tight_shared_memory_gives_up_the_pipeline_before_the_kernel),
      cmocka_unit_test(running_out_of_memory_is_a_status_and_leaks_nothing),
      cmocka_unit_test(target_text_parses_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
