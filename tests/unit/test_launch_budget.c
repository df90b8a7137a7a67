/* How many launches a layer of each family of model is, on the CPU and as compiled for GPUs: a change of the rules of
 * fusion that makes them more fails here. Fewer: lower the budget in the same commit. Weights are inputs and, where it
 * matters to a rule, constants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/api_check.h"

#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define OPA(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"
#define LINEAR(r, x, w, b) OP(r "0", "matmul", x ", " w) OP(r, "add", "%" r "0, " b)
#define HEADS(r, x) \
  OPA(r "0", "reshape", x, "shape = [2, 16, 4, 16]") OPA(r, "transpose", "%" r "0", "perm = [0, 2, 1, 3]")
#define HEAD(r, x) OPA(r, "reshape", x, "shape = [1, 4, 1, 16]")

static const char encoder_args[] =
    "%x: tensor<2x16x64xf32>, %wq: tensor<64x64xf32>, %bq: tensor<64xf32>, %wk: tensor<64x64xf32>, %bk: tensor<64xf32>, "
    "%wv: tensor<64x64xf32>, %bv: tensor<64xf32>, %wo: tensor<64x64xf32>, %bo: tensor<64xf32>, %g1: tensor<64xf32>, "
    "%h1: tensor<64xf32>, %w1: tensor<64x128xf32>, %b1: tensor<128xf32>, %w2: tensor<128x64xf32>, %b2: tensor<64xf32>, "
    "%g2: tensor<64xf32>, %h2: tensor<64xf32>";
static const char encoder[] =
    LINEAR("q", "%x", "%wq", "%bq") LINEAR("k", "%x", "%wk", "%bk") LINEAR("v", "%x", "%wv", "%bv")
    HEADS("qh", "%q") HEADS("kh", "%k") HEADS("vh", "%v")
    OP("a", "flash_attention", "%qh, %kh, %vh") OPA("at", "transpose", "%a", "perm = [0, 2, 1, 3]")
    OPA("ar", "reshape", "%at", "shape = [2, 16, 64]") LINEAR("o", "%ar", "%wo", "%bo") OP("r1", "add", "%o, %x")
    OP("n1", "layernorm", "%r1, %g1, %h1") LINEAR("f", "%n1", "%w1", "%b1") OP("fa", "gelu", "%f")
    LINEAR("p", "%fa", "%w2", "%b2") OP("r2", "add", "%p, %n1") OP("y", "layernorm", "%r2, %g2, %h2");

/* With its weights as constants, as importers have them. */
#define CONSTANT(r, value, type) \
  "%" r " = \"tessera.graph.constant\"() {value = dense<" value "> : tensor<" type "xf32>}\n"
static const char constants_args[] = "%x: tensor<2x16x64xf32>";
static const char constants[] =
    CONSTANT("wq", "0.5", "64x64") CONSTANT("wk", "0.25", "64x64") CONSTANT("wv", "0.75", "64x64")
    CONSTANT("bq", "0.1", "64") CONSTANT("bk", "0.2", "64") CONSTANT("bv", "0.3", "64") CONSTANT("wo", "0.125", "64x64")
    CONSTANT("bo", "0.4", "64") CONSTANT("w1", "0.5", "64x128") CONSTANT("b1", "0.5", "128")
    CONSTANT("w2", "0.5", "128x64") CONSTANT("b2", "0.6", "64") CONSTANT("g1", "1.1", "64") CONSTANT("h1", "0.7", "64")
    CONSTANT("g2", "1.2", "64") CONSTANT("h2", "0.8", "64");

static const char decoder_args[] =
    "%x: tensor<1x64xf32>, %ck: tensor<1x4x128x16xf32>, %cv: tensor<1x4x128x16xf32>, %at: tensor<1xi32>, "
    "%g1: tensor<64xf32>, %wq: tensor<64x64xf32>, %wk: tensor<64x64xf32>, %wv: tensor<64x64xf32>, %wo: tensor<64x64xf32>, "
    "%g2: tensor<64xf32>, %wg: tensor<64x128xf32>, %wu: tensor<64x128xf32>, %wd: tensor<128x64xf32>";
static const char decoder[] =
    OP("n", "rmsnorm", "%x, %g1") OP("q", "matmul", "%n, %wq") OP("k", "matmul", "%n, %wk") OP("v", "matmul", "%n, %wv")
    HEAD("qh", "%q") HEAD("kh", "%k") HEAD("vh", "%v") OP("qr", "rope", "%qh, %at") OP("kr", "rope", "%kh, %at")
    OP("uk", "cache_update", "%ck, %kr, %at") OP("uv", "cache_update", "%cv, %vh, %at")
    "%one = \"tessera.graph.constant\"() {value = dense<1> : tensor<i32>}\n" OP("len", "add", "%at, %one")
    OP("a", "flash_attention", "%qr, %uk, %uv, %len") OPA("ar", "reshape", "%a", "shape = [1, 64]")
    OP("o", "matmul", "%ar, %wo") OP("r1", "add", "%o, %x") OP("n2", "rmsnorm", "%r1, %g2")
    OP("g", "matmul", "%n2, %wg") OP("u", "matmul", "%n2, %wu") OP("s", "silu", "%g") OP("m", "mul", "%s, %u")
    OP("d", "matmul", "%m, %wd") OP("y", "add", "%d, %r1");

static const char cnn_args[] =
    "%x: tensor<2x16x14x14xf32>, %w1: tensor<16x16x3x3xf32>, %w2: tensor<16x16x3x3xf32>, %m1: tensor<16xf32>, "
    "%v1: tensor<16xf32>, %g1: tensor<16xf32>, %b1: tensor<16xf32>, %m2: tensor<16xf32>, %v2: tensor<16xf32>, "
    "%g2: tensor<16xf32>, %b2: tensor<16xf32>";
static const char cnn[] =
    OPA("c1", "conv2d", "%x, %w1", "padding = \"same\"") OP("n1", "batch_norm", "%c1, %m1, %v1, %g1, %b1")
    OP("a1", "relu", "%n1") OPA("c2", "conv2d", "%a1, %w2", "padding = \"same\"")
    OP("n2", "batch_norm", "%c2, %m2, %v2, %g2, %b2") OP("s", "add", "%n2, %x") OP("y", "relu", "%s");

static const char moe_args[] = "%x: tensor<32x64xf32>, %wr: tensor<64x8xf32>, %w1: tensor<8x64x128xf32>, "
                               "%w2: tensor<8x128x64xf32>";
static const char moe[] =
    OP("l", "matmul", "%x, %wr") "%w, %e, %s, %n = \"tessera.graph.router\"(%l)\n"
    OPA("d", "moe_dispatch", "%x, %s", "rows = 64") OP("h", "grouped_matmul", "%d, %w1, %n") OP("a", "gelu", "%h")
    OP("o", "grouped_matmul", "%a, %w2, %n") OP("y", "moe_combine", "%o, %s, %w");

static const char lstm_args[] = "%x: tensor<12x4x32xf32>, %w: tensor<1x64x32xf32>, %r: tensor<1x64x16xf32>, "
                                "%b: tensor<1x128xf32>";
static const char lstm[] = "%y, %h, %c = \"tessera.graph.lstm\"(%x, %w, %r, %b)\n";

typedef struct family {
  const char *name, *args, *constants, *body, *results;
  int cpu, cuda, spirv; /* launches */
} family;

static const family families[] = {
    {"encoder layer", encoder_args, "", encoder, "%y", 10, 10, 10},
    {"encoder layer of constants", constants_args, constants, encoder, "%y", 8, 8, 8},
    {"decoder step", decoder_args, "", decoder, "%y, %uk, %uv", 18, 18, 18},
    {"CNN block", cnn_args, "", cnn, "%y", 4, 4, 4},
    {"MoE layer", moe_args, "", moe, "%y", 41, 41, 41},
    {"LSTM", lstm_args, "", lstm, "%y", 4, 26, 26},
};

static void a_layer_of_each_family_keeps_its_budget(void **state) {
  static const char *const devices[] = {"cpu:0", "cuda:sm_90a", "null:spirv"};
  static char text[16384];
  bool kept = true;
  tsr_context *ctx;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  for (int k = 0; k < 3; k++) {
    tsr_device *dev;
    OK(tsr_device_open(ctx, devices[k], &dev));
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
      const family *f = &families[i];
      const int budget = (const int[]){f->cpu, f->cuda, f->spirv}[k];
      tsr_program *p;
      snprintf(text, sizeof text,
               "\"tessera.graph.func\"() ({\n^bb0(%s):\n%s%s\"tessera.graph.return\"(%s)\n}) {sym_name = \"main\"}\n",
               f->args, f->constants, f->body, f->results);
      OK(tsr_program_parse(dev, text, strlen(text), f->name, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p));
      if (tsr_program_n_kernels(p) != budget)
        printf("%s on %s: %d launches, its budget is %d\n", f->name, devices[k], tsr_program_n_kernels(p), budget);
      kept &= tsr_program_n_kernels(p) == budget;
      tsr_program_destroy(&p);
    }
    tsr_device_close(&dev);
  }
  tsr_context_destroy(&ctx);
  assert_true(kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_layer_of_each_family_keeps_its_budget)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
