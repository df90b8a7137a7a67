/* Where every float of a kernel's graph has 16 bits or fewer, functions are made no better than that rounding leaves,
 * on subgroups that are a CPU's SIMD register: said by the kernel, from Tile IR to SPIR-V, where it is the instruction
 * for powers of 2. One float of 32 bits, another policy or another device, and all is as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/api_check.h"

#define ON(device) "vulkan:" TSR_SOURCE_DIR "/tests/vulkan/" device ".json"

/* A function on %x of type `from`, cast to `to` before it where they differ, with results of type `end`. */
static const struct rounded_case {
  const char *op, *from, *to, *end, *device;
  tsr_policy policy;
  bool rounds;
} cases[] = {
    {"exp", "bf16", "bf16", "bf16", ON("lavapipe"), TSR_POLICY_FAST, true},
    {"gelu", "f16", "f16", "f16", ON("lavapipe"), TSR_POLICY_FAST, true},
    {"silu", "f8E4M3FN", "f8E4M3FN", "f8E4M3FN", ON("lavapipe"), TSR_POLICY_FAST, true},
    {"softmax", "bf16", "bf16", "bf16", ON("lavapipe"), TSR_POLICY_FAST, true},
    {"gelu", "f16", "bf16", "bf16", ON("lavapipe"), TSR_POLICY_FAST, true},
    {"exp", "f32", "f32", "f32", ON("lavapipe"), TSR_POLICY_FAST, false},
    {"exp", "bf16", "f32", "f32", ON("lavapipe"), TSR_POLICY_FAST, false},
    {"gelu", "bf16", "f32", "bf16", ON("lavapipe"), TSR_POLICY_FAST, false},
    {"softmax", "f32", "f32", "bf16", ON("lavapipe"), TSR_POLICY_FAST, false},
    {"exp", "bf16", "bf16", "bf16", ON("lavapipe"), TSR_POLICY_DETERMINISTIC, false},
    {"softmax", "bf16", "bf16", "bf16", ON("lavapipe"), TSR_POLICY_KAHAN_SUM, false},
    {"exp", "bf16", "bf16", "bf16", ON("nvidia-h200"), TSR_POLICY_FAST, false},
    {"gelu", "bf16", "bf16", "bf16", ON("amd-rdna3-wave32"), TSR_POLICY_FAST, false},
};

static const char *dtype_of(const char *type) { return !strcmp(type, "f8E4M3FN") ? "fp8_e4m3" : type; }

static bool has(tsr_context *ctx, tsr_program *p, tsr_level level, const char *what) {
  char *text;
  size_t bytes;
  OK(tsr_program_dump(p, level, &text, &bytes));
  bool found = strstr(text, what) != NULL;
  tsr_text_free(ctx, &text);
  return found;
}

static void one(tsr_context *ctx, const struct rounded_case *c) {
  char text[1024], cast[2][256] = {"", ""};
  const char *first = "x", *last = "y";
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  static const char exp2[] = " 29 %"; /* GLSL.std.450's number of it, in an OpExtInst */
  const char *line = "%%%s = \"tessera.graph.cast\"(%%%s) {dtype = \"%s\"}\n";
  if (strcmp(c->from, c->to)) snprintf(cast[0], sizeof cast[0], line, first = "a", "x", dtype_of(c->to));
  if (strcmp(c->to, c->end)) snprintf(cast[1], sizeof cast[1], line, last = "b", "y", dtype_of(c->end));
  int n = snprintf(text, sizeof text,
                   "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<64x512x%s>):\n%s%%y = \"tessera.graph.%s\"(%%%s)\n%s"
                   "\"tessera.graph.return\"(%%%s)\n}) {sym_name = \"main\"}\n",
                   c->from, cast[0], c->op, first, cast[1], last);
  OK(tsr_device_open(ctx, c->device, &dev));
  OK(tsr_graph_parse(ctx, text, (size_t)n, "case", &g));
  OK(tsr_program_compile(dev, g, &(tsr_compile_options){.policy = c->policy}, &p));
  if (has(ctx, p, TSR_LEVEL_TILE, "rounds = true") != c->rounds ||
      has(ctx, p, TSR_LEVEL_TARGET, "rounds = true") != c->rounds || has(ctx, p, TSR_LEVEL_SOURCE, exp2) != c->rounds)
    fail_msg("%s of %s, %s, on %s", c->op, c->from, c->to, c->device);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
}

static void kernels_say_that_all_floats_are_rounded(void **state) {
  tsr_context *ctx;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) one(ctx, &cases[i]);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_say_that_all_floats_are_rounded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
