/* tests/simt/test_simt_bytes.c - fusion lowers the bytes that pass through global memory, modelled and counted: the
 * emulator sees every access, and where nothing is read twice its count is the model's to the byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/json.h"
#include "tessera/profile.h"
#include "tests/simt/backend_emu.h"
#include "tests/simt/emu_check.h"

static tsr_context *ctx;

typedef struct traffic { double modelled, measured; int launches; } traffic;

/* One step of the program on an emulated device, added up over its kernels. */
static traffic traffic_of(const char *device, const char *text, const char *disable) {
  tsr_device *dev;
  tsr_program *p;
  tsr_profile *prof;
  tsr_binding in[4] = {{0}}, out = {0};
  char *rows;
  json *j;
  arena a;
  traffic t = {0};
  ok(tsr_device_open(ctx, device, &dev), device);
  ok(tsr_program_parse(dev, text, strlen(text), "bytes", &(tsr_compile_options){.disable = disable}, &p), "parse");
  for (int i = 0; i < tsr_program_n_inputs(p); i++) {
    size_t bytes = tsr_program_input(p, i).bytes;
    void *zeros = calloc(1, bytes);
    ok(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &in[i].buffer), "buffer");
    ok(tsr_buffer_write(in[i].buffer, 0, zeros, bytes), "write");
    free(zeros);
  }
  ok(tsr_buffer_create(dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &out.buffer), "buffer");
  ok(tsr_profile_create(ctx, &prof), "profile");
  ok(tsr_profile_step(prof, p, NULL, in, &out), "step");
  ok(tsr_profile_json(prof, &rows), "json");
  arena_init(&a, NULL);
  ok(json_parse(&a, rows, strlen(rows), "profile", &j), "json");
  for (const json *r = json_get(j, "rows")->first; r; r = r->next) {
    assert_true(json_num(r, "bytes_modelled", -1) > 0 && json_num(r, "bytes_measured", -1) > 0);
    t.modelled += json_num(r, "bytes_modelled", 0) * json_num(r, "count", 0);
    t.measured += json_num(r, "bytes_measured", 0) * json_num(r, "count", 0);
    t.launches += (int)json_num(r, "count", 0);
  }
  printf("%s, %s: %d launches, modelled %.0f bytes, measured %.0f\n", device, disable ? "without fusion" : "fused",
         t.launches, t.modelled, t.measured);
  arena_clear(&a);
  tsr_text_free(ctx, &rows);
  tsr_profile_destroy(&prof);
  for (int i = 0; i < 4; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  return t;
}

/* relu((x + y) * z): four tensors at least; kernel by kernel 3 + 3 + 2. */
static void elementwise_chain_moves_half_of_its_parts(void **state) {
  static const char text[] =
      "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%x: tensor<32x64xf32>, %y: tensor<32x64xf32>, %z: "
      "tensor<32x64xf32>):\n"
      "%a = \"tessera.graph.add\"(%x, %y)\n%b = \"tessera.graph.mul\"(%a, %z)\n%c = \"tessera.graph.relu\"(%b)\n"
      "\"tessera.graph.return\"(%c)\n}) {sym_name = \"main\"} }) : () -> ()\n";
  enum { TENSOR = 32 * 64 * 4 };
  static const char *const devices[] = {"emu:0", "emu:3"};
  for (int i = 0; i < 2; i++) {
    traffic fused = traffic_of(devices[i], text, NULL), parts = traffic_of(devices[i], text, "fusion");
    assert_true(fused.launches == 1 && fused.modelled == 4 * TENSOR && fused.measured == 4 * TENSOR);
    assert_true(parts.launches == 3 && parts.modelled == 8 * TENSOR && parts.measured == 8 * TENSOR);
  }
}

/* gelu(a b + bias): the product's result is neither written for nor read by kernels of their own. */
static void epilogue_saves_the_products_round_trip(void **state) {
  static const char text[] =
      "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>, %bias: "
      "tensor<64xf32>):\n"
      "%p = \"tessera.graph.matmul\"(%a, %b)\n%s = \"tessera.graph.add\"(%p, %bias)\n%g = \"tessera.graph.gelu\"(%s)\n"
      "\"tessera.graph.return\"(%g)\n}) {sym_name = \"main\"} }) : () -> ()\n";
  enum { RESULT = 64 * 64 * 4, OPERANDS = 2 * 64 * 32 * 4, BIAS = 64 * 4 };
  traffic fused = traffic_of("emu:0", text, NULL), parts = traffic_of("emu:0", text, "fusion");
  assert_true(fused.launches == 1 && fused.modelled == OPERANDS + BIAS + RESULT);
  assert_true(parts.launches == 3 && parts.modelled == OPERANDS + BIAS + 5 * RESULT);
  assert_true(parts.measured - fused.measured >=
              4 * RESULT); /* operands may be read by several blocks, by as many in both */
}

/* softmax(2 x): the row stays in the block. */
static void reduction_kernel_takes_its_producer_in(void **state) {
  static const char text[] = "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%x: tensor<32x128xf32>):\n"
                             "%a = \"tessera.graph.add\"(%x, %x)\n%s = \"tessera.graph.softmax\"(%a)\n"
                             "\"tessera.graph.return\"(%s)\n}) {sym_name = \"main\"} }) : () -> ()\n";
  enum { TENSOR = 32 * 128 * 4 };
  traffic fused = traffic_of("emu:1", text, NULL), parts = traffic_of("emu:1", text, "fusion");
  assert_true(fused.launches == 1 && fused.modelled == 2 * TENSOR);
  assert_true(parts.launches == 2 && parts.modelled == 4 * TENSOR);
  assert_true(fused.measured >= 2 * TENSOR && parts.measured - fused.measured >= 2 * TENSOR);
}

/* In place, the one occurrence. */
static void replace(char *text, const char *what, const char *by) {
  char *at = strstr(text, what);
  assert_non_null(at);
  assert_int_equal(strlen(what), strlen(by));
  memcpy(at, by, strlen(by));
  assert_null(strstr(text, what));
}

/* Attention of 4 heads, 200 positions, width 64: its scores are 200 x 200 a head, and flash attention (docs/fusion.md)
 * keeps them in the block. That program is causal and leaves half of the scores out; here it computes all of them, as
 * the parts do. Each of its 4 blocks of queries reads K and V: 10 operands are moved against 4 operands and 4 times the
 * scores at least. */
static void flash_attention_moves_two_fifths_of_its_parts(void **state) {
  static char flash[1 << 14];
  static const char text[] = "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%q: tensor<4x200x64xf16>, %k: "
                             "tensor<4x200x64xf16>, %v: tensor<4x200x64xf16>):\n"
                             "%s = \"tessera.graph.matmul\"(%q, %k) {transpose_b = true}\n%w = "
                             "\"tessera.graph.softmax\"(%s)\n%o = \"tessera.graph.matmul\"(%w, %v)\n"
                             "\"tessera.graph.return\"(%o)\n}) {sym_name = \"main\"} }) : () -> ()\n";
  enum { OPERAND = 4 * 200 * 64 * 2, SCORES = 4 * 200 * 200 * 2 };
  FILE *f = fopen(TSR_SOURCE_DIR "/tests/tile/flash_attention.mlir", "r");
  assert_non_null(f);
  size_t n = fread(flash, 1, sizeof flash - 1, f);
  fclose(f);
  assert_true(n > 0 && n < sizeof flash - 1);
  traffic causal = traffic_of("emu:0", flash, NULL);
  replace(flash, "\"tessera.tile.min\"(%q_end, %length)", "\"tessera.tile.max\"(%q_end, %length)");
  replace(flash, "\"tessera.tile.and\"(%before, %inside)", "\"tessera.tile.and\"(%inside, %inside)");
  traffic one = traffic_of("emu:0", flash, NULL), parts = traffic_of("emu:0", text, "recognize_attention"),
          found = traffic_of("emu:0", text, NULL);
  assert_true(one.launches == 1 && one.modelled == 4 * OPERAND);
  assert_true(found.launches == 1 && found.modelled == one.modelled && found.measured <= one.measured);
  assert_true(causal.measured < one.measured);
  assert_true(parts.launches == 3 && parts.modelled == 4 * OPERAND + 4 * SCORES);
  assert_true(parts.modelled > 4 * one.modelled && parts.measured > 2.5 * one.measured);
}

static int open_context(void **state) {
  const void *extra[] = {&emu_backend, NULL};
  tsr_context_desc d = {.abi_version = TSR_ABI_VERSION, .cache_dir = "", .extra_backends = extra};
  ok(tsr_context_create(&d, &ctx), "context");
  return 0;
}
static int close_context(void **state) {
  tsr_context_destroy(&ctx);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(elementwise_chain_moves_half_of_its_parts),
                                     cmocka_unit_test(epilogue_saves_the_products_round_trip),
                                     cmocka_unit_test(reduction_kernel_takes_its_producer_in),
                                     cmocka_unit_test(flash_attention_moves_two_fifths_of_its_parts)};
  return cmocka_run_group_tests(tests, open_context, close_context);
}
