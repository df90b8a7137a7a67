/* Tile IR to Target IR for SIMT devices: the structure of what comes out (values are checked by running it: tests/simt
 * and the conformance suite). */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/ir/target/target.h"
#include "core/passes/simt/simt.h"
#include "tests/support/tile_gen.h"

static tsr_caps device(tsr_dialect d, int subgroup) {
  tsr_caps c = {.dialect = d,
                .subgroup = subgroup,
                .max_threads = 1024,
                .vector_bytes = 16,
                .shared_bytes = 48 * 1024,
                .f16 = true,
                .f64 = true,
                .i8 = true,
                .i64 = true,
                .subgroup_shuffle = true,
                .subgroup_arithmetic = true,
                .full_subgroups = true};
  strcpy(c.arch, d == DIALECT_SPIRV ? "spirv1.6" : d == DIALECT_CUDA ? "sm_80" : "gfx942");
  for (int i = 0; i < 3; i++) c.max_grid[i] = 65535 * 1024;
  return c;
}

static ir_module *parse(const char *text, const char *file) {
  ir_module *m = NULL;
  tsr_status st = ir_parse(NULL, text, strlen(text), file, &m);
  if (st) fail_msg("%s", tsr_status_message(st));
  return m;
}

static ir_module *program(const char *name) {
  static char text[1 << 16];
  char path[512];
  snprintf(path, sizeof path, "%s/tests/tile/%s.mlir", TSR_SOURCE_DIR, name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  return parse(text, name);
}

static ir_module *lower(ir_module *m, tsr_caps caps) {
  ir_module *t = NULL;
  tsr_status st = tile_to_simt(m, &caps, &t);
  if (st) fail_msg("%s", tsr_status_message(st));
  return t;
}

static ir_op *kernel_of(ir_module *m) {
  for (ir_op *op = m->root->regions[0]->first; op; op = op->next)
    if (strstr(op->def->name, ".kernel")) return op;
  fail_msg("no kernel");
  return NULL;
}

typedef struct counter { int code, lanes, n; } counter;

static tsr_status count_one(ir_op *op, void *user) {
  counter *c = user;
  if (op->def->level != IR_TARGET || op->def->code != c->code) return NULL;
  const ir_type *t = op->n_results ? op->results[0]->type : op->n_operands ? op->operands[0]->type : NULL;
  int lanes = t && t->kind == IR_T_VECTOR ? (int)t->dims[0] : 1;
  if (!c->lanes || c->lanes == lanes) c->n++;
  return NULL;
}

/* Ops of a code within op; lanes = 0 counts any width. */
static int count(ir_op *op, int code, int lanes) {
  counter c = {code, lanes, 0};
  assert_null(ir_walk(op, count_one, &c));
  return c.n;
}

static ir_op *first(ir_op *op, int code) {
  if (op->def->level == IR_TARGET && op->def->code == code) return op;
  for (int r = 0; r < op->n_regions; r++)
    for (ir_op *o = op->regions[r]->first; o; o = o->next) {
      ir_op *f = first(o, code);
      if (f) return f;
    }
  return NULL;
}

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

static tsr_caps with_matrices(int subgroup, int size) {
  tsr_caps c = device(DIALECT_SPIRV, subgroup);
  c.coopmat = true;
  c.n_matrix = 1;
  c.matrix[0] = (tsr_matrix_shape){size, size, size, TSR_F16, TSR_F16, TSR_F32, SCOPE_SUBGROUP, true, ""};
  return c;
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
      cmocka_unit_test(cooperative_matrices_load_whole_windows_directly),
      cmocka_unit_test(simd_drivers_load_registers_at_uniform_addresses),
      cmocka_unit_test(lane_n_gather_nothing),
      cmocka_unit_test(cooperative_matrix_epilogues_stay_on_matrices),
      cmocka_unit_test(cooperative_matrices_at_ragged_edges_go_through_scratch),
      cmocka_unit_test(demoted_matrices_are_not_used_and_the_reason_is_kept),
      cmocka_unit_test(tight_shared_memory_gives_up_the_pipeline_before_the_kernel),
      cmocka_unit_test(running_out_of_memory_is_a_status_and_leaks_nothing),
      cmocka_unit_test(target_text_parses_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
