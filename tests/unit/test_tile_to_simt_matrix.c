/* Products of Tile IR in Target IR for SIMT devices: the structure of what comes out by the path that is taken, which
 * is cooperative matrices, dot products or lane_n. The rest is test_tile_to_simt.c's. */
#include "tests/unit/simt_lowered.h"

#include "tests/support/tile_gen.h"

/* y = A x with rows of `m` of A and k, in tiles of 16 rows. */
static ir_module *matrix_by_vector(int m, int k) {
  static char text[4096];
  snprintf(text, sizeof text,
           "\"tessera.tile.kernel\"() ({\n^bb0(%%a: !tessera.view<%dx%dxf16>, %%x: !tessera.view<%dx1xf16>, %%y: !tessera.view<%dx1xf32>):\n"
           "%%b = \"tessera.tile.block_id\"() {axis = 0}\n%%z = \"tessera.tile.const\"() {value = 0}\n%%t = \"tessera.tile.const\"() {value = 16}\n%%s = \"tessera.tile.const\"() {value = 64}\n"
           "%%e = \"tessera.tile.const\"() {value = %d}\n%%m0 = \"tessera.tile.mul\"(%%b, %%t)\n%%f = \"tessera.tile.fill\"() {value = 0.0} : () -> !tessera.frag<16x1xf32>\n"
           "%%r = \"tessera.tile.for\"(%%z, %%e, %%s, %%f) ({\n^bb0(%%k: index, %%q: !tessera.frag<16x1xf32>):\n"
           "%%wa = \"tessera.tile.window\"(%%a, %%m0, %%k) {sizes = [16, 64]}\n%%wx = \"tessera.tile.window\"(%%x, %%k, %%z) {sizes = [64, 1]}\n"
           "%%g = \"tessera.tile.gemm\"(%%q, %%wa, %%wx)\n\"tessera.tile.yield\"(%%g)\n})\n"
           "%%wy = \"tessera.tile.window\"(%%y, %%m0, %%z) {sizes = [16, 1]}\n\"tessera.tile.store\"(%%r, %%wy)\n\"tessera.tile.return\"()\n"
           "}) {sym_name = \"mv\", grid = [%d, 1, 1], warps = 1, family = \"matmul\"} : () -> ()\n", m, k, k, m, k, (m + 15) / 16);
  return parse(text, "mv");
}

/* llvmpipe loads words at uniform addresses as one vector; hoisting them out of a condition would read what isn't
 * there. */
static void simd_drivers_load_registers_at_uniform_addresses(void **state) {
  tsr_caps simd = device(DIALECT_SPIRV, 8);
  simd.subgroup_min = simd.subgroup_max = 8;
  for (int ragged = 0; ragged < 2; ragged++) {
    ir_module *m = matrix_by_vector(ragged ? 72 : 64, 256), *t = lower(m, simd);
    ir_op *k = kernel_of(t), *loop = first(k, TG_FOR);
    assert_string_equal(ir_get_str(k, "path", ""), "dot");
    assert_int_equal(count(k, TG_WARP_REDUCE, 0), 16);
    assert_int_equal(count(loop, TG_WARP_REDUCE, 0), 0);
    /* 64 k's in two steps of 8 lanes of 4 halves, 16 rows and the vector: 8 words each. Rows that may be missing are
     * gathered. */
    assert_int_equal(count(loop, TG_LOAD, 1), ragged ? 2 * 8 : 2 * 17 * 8);
    assert_int_equal(count(loop, TG_LOAD, 4), ragged ? 2 * 16 : 0);
    for (const ir_op *o = loop->regions[0]->first; o && !ragged; o = o->next) /* one base, and constants from there */
      if (o->def->code == TG_LOAD) assert_int_equal(o->operands[1]->def->def->code, TG_CONST);
    ir_module_destroy(&t);
    ir_module_destroy(&m);
  }
  for (int slow = 0; slow < 2; slow++) { /* a GPU that could have 32 lanes too, and a driver that gains nothing by it */
    tsr_caps c = slow ? simd : device(DIALECT_SPIRV, 8);
    c.one_lane_a_time = slow;
    ir_module *m = matrix_by_vector(64, 256), *t = lower(m, c);
    assert_string_equal(ir_get_str(kernel_of(t), "path", ""), "fma");
    ir_module_destroy(&t);
    ir_module_destroy(&m);
  }
}

/* Path lane_n, 16x16 sums in one subgroup: 2 registers of columns by 16 rows, bodies of 8 k's. Of a a word for each
 * row and as many k's as it has, of b 8 words for each register, all at uniform addresses. */
static void lane_n_gather_nothing(void **state) {
  static const struct {
    tsr_dtype t;
    bool transposed;
    int loads;
  } cases[] = {{TSR_F32, false, 16 * 8 + 8 * 2 * 8}, {TSR_BF16, false, 16 * 4 + 8 * 8}, {TSR_F32, true, 0}};
  tsr_caps simd = device(DIALECT_SPIRV, 8);
  simd.subgroup_min = simd.subgroup_max = 8;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tile_matmul_case c = {.name = "c",
                          .m = 64,
                          .n = 64,
                          .k = 64,
                          .bm = 16,
                          .bn = 16,
                          .bk = 64,
                          .in = cases[i].t,
                          .out = TSR_F32,
                          .tb = cases[i].transposed,
                          .direct = true,
                          .warps = 1,
                          .path = "lane_n"};
    strb text;
    strb_init(&text, NULL);
    tile_gen_matmul(&text, &c);
    ir_module *m = parse(strb_text(&text), "lane_n"), *t = lower(m, simd);
    ir_op *k = kernel_of(t);
    assert_string_equal(ir_get_str(k, "path", ""), cases[i].transposed ? "fma" : "lane_n");
    assert_int_equal(ir_get_bool(k, "wide_index", false), !cases[i].transposed);
    if (!cases[i].transposed) {
      assert_int_equal(count(k, TG_LOAD, 1) + count(k, TG_LOAD, 2), cases[i].loads);
      assert_int_equal(count(k, TG_LOAD, 4) + count(k, TG_LOAD, 8), 0);
    }
    ir_module_destroy(&t);
    ir_module_destroy(&m);
    t = NULL;
    c.path = NULL; /* nobody asked for it */
    strb_clear(&text);
    tile_gen_matmul(&text, &c);
    m = parse(strb_text(&text), "lane_n"), t = lower(m, simd);
    assert_string_equal(ir_get_str(kernel_of(t), "path", ""), "fma");
    ir_module_destroy(&t);
    ir_module_destroy(&m);
    strb_clear(&text);
  }
}

static void cooperative_matrices_load_whole_windows_directly(void **state) {
  ir_module *m = program("matmul_direct"), *t = lower(m, with_matrices(8, 8));
  ir_op *k = kernel_of(t);
  assert_string_equal(ir_get_str(k, "path", ""), "coopmat");
  assert_int_equal(ir_get_int(k, "shared_bytes", -1), 0);
  assert_int_equal(count(k, TG_MAT_MMA, 0), 2 * 4 * 2); /* 16x32 by depth 16 in steps of 8, in one subgroup */
  assert_int_equal(count(k, TG_MAT_STORE, 0), 8);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

/* D = cast(relu(A B + bias) + residual): all of it on matrices, nothing through scratch. */
static void cooperative_matrix_epilogues_stay_on_matrices(void **state) {
  static const char text[] =
      "\"tessera.tile.kernel\"() ({\n^bb0(%a: !tessera.view<64x64xf16>, %b: !tessera.view<64x64xf16>, %v: !tessera.view<1x64xf32, strides=[0, 1]>, %e: !tessera.view<64x64xf16>, %d: !tessera.view<64x64xf16>):\n"
      "%m = \"tessera.tile.block_id\"() {axis = 0}\n%n = \"tessera.tile.block_id\"() {axis = 1}\n%z = \"tessera.tile.const\"() {value = 0}\n%t = \"tessera.tile.const\"() {value = 32}\n"
      "%m0 = \"tessera.tile.mul\"(%m, %t)\n%n0 = \"tessera.tile.mul\"(%n, %t)\n"
      "%wa = \"tessera.tile.window\"(%a, %m0, %z) {sizes = [32, 64]}\n%wb = \"tessera.tile.window\"(%b, %z, %n0) {sizes = [64, 32]}\n"
      "%f = \"tessera.tile.fill\"() {value = 0.0} : () -> !tessera.frag<32x32xf32>\n%g = \"tessera.tile.gemm\"(%f, %wa, %wb)\n"
      "%wv = \"tessera.tile.window\"(%v, %z, %n0) {sizes = [1, 32]}\n%bias = \"tessera.tile.load\"(%wv) : (!tessera.view<1x32xf32, strides=[0, 1]>) -> !tessera.frag<1x32xf32>\n"
      "%we = \"tessera.tile.window\"(%e, %m0, %n0) {sizes = [32, 32]}\n%res = \"tessera.tile.load\"(%we) : (!tessera.view<32x32xf16, strides=[64, 1]>) -> !tessera.frag<32x32xf16>\n"
      "%o = \"tessera.tile.map\"(%g, %bias, %res) ({\n^bb0(%x: f32, %y: f32, %w: f16):\n%s = \"tessera.tile.add\"(%x, %y)\n%r = \"tessera.tile.relu\"(%s)\n"
      "%c = \"tessera.tile.cast\"(%w) : (f16) -> f32\n%u = \"tessera.tile.add\"(%r, %c)\n%h = \"tessera.tile.cast\"(%u) : (f32) -> f16\n\"tessera.tile.yield\"(%h)\n})\n"
      "%wd = \"tessera.tile.window\"(%d, %m0, %n0) {sizes = [32, 32]}\n\"tessera.tile.store\"(%o, %wd)\n\"tessera.tile.return\"()\n"
      "}) {sym_name = \"epilogue\", grid = [2, 2, 1], warps = 1, family = \"matmul\"} : () -> ()\n";
  ir_module *m = parse(text, "epilogue");
  for (int both = 0; both < 2; both++) { /* without accumulators of f16, residual and result go through scratch */
    tsr_caps caps = with_matrices(32, 16);
    if (both) caps.matrix[1] = caps.matrix[0], caps.matrix[caps.n_matrix++].c = TSR_F16;
    ir_module *t = lower(m, caps);
    ir_op *k = kernel_of(t);
    assert_string_equal(ir_get_str(k, "path", ""), "coopmat");
    assert_int_equal(ir_get_int(k, "shared_bytes", -1) > 0, !both);
    assert_int_equal(count(k, TG_MAT_MAP, 0), both ? 4 : 0);
    assert_int_equal(count(k, TG_WARP_BARRIER, 0) > 0, !both);
    if (both) {
      int strides_of_zero = 0;
      for (ir_op *op = k->regions[0]->first; op; op = op->next)
        if (op->def->code == TG_MAT_LOAD && op->operands[2]->def && op->operands[2]->def->def->code == TG_CONST)
          strides_of_zero += !ir_get_int(op->operands[2]->def, "value", -1);
      assert_int_equal(strides_of_zero, 2); /* the bias, for both columns of matrices */
      assert_int_equal(count(k, TG_MAT_STORE, 0), 4);
    }
    ir_module_destroy(&t);
  }
  ir_module_destroy(&m);
}

static void cooperative_matrices_at_ragged_edges_go_through_scratch(void **state) {
  ir_module *m = program("matmul_f16_bias_gelu"), *t = lower(m, with_matrices(32, 16));
  ir_op *k = kernel_of(t), *loop = first(k, TG_FOR);
  assert_string_equal(ir_get_str(k, "path", ""), "coopmat");
  assert_int_equal(count(loop, TG_MAT_STORE, 0), 0); /* the sums stay matrices through the loop */
  assert_true(count(k, TG_MAT_STORE, 0) > 0 && count(k, TG_WARP_BARRIER, 0) > 0);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

static void demoted_matrices_are_not_used_and_the_reason_is_kept(void **state) {
  tsr_caps c = with_matrices(32, 16);
  c.matrix[0].enabled = false;
  strcpy(c.matrix[0].reason, "slower than fma by the self-test");
  ir_module *m = program("matmul_direct"), *t = lower(m, c);
  assert_string_equal(ir_get_str(kernel_of(t), "path", ""), "fma");
  assert_string_equal(ir_get_str(kernel_of(t), "why", ""), "slower than fma by the self-test");
  ir_module_destroy(&t);
  ir_module_destroy(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cooperative_matrices_load_whole_windows_directly),
      cmocka_unit_test(simd_drivers_load_registers_at_uniform_addresses),
      cmocka_unit_test(lane_n_gather_nothing),
      cmocka_unit_test(cooperative_matrix_epilogues_stay_on_matrices),
      cmocka_unit_test(cooperative_matrices_at_ragged_edges_go_through_scratch),
      cmocka_unit_test(demoted_matrices_are_not_used_and_the_reason_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
