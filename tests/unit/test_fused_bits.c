/* Under `deterministic` a chain of elementwise ops of f16 or bf16 gives the same bits fused and with fusion off: each
 * op's result is rounded to its type. Random chains on the CPU, values of the whole range. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tests/conformance/random_graph.h"

enum { N = 777 };
static int failures, compared, differ_fast;

static tsr_status run(tsr_context *ctx, tsr_device *dev, uint64_t seed, tsr_dtype t, tsr_policy policy,
                      const char *disable, uint16_t *out) {
  static const char *const unary[] = {"exp", "tanh", "silu", "gelu", "sigmoid", "neg", "sqrt"}, *const binary[] = {
                                                                                                    "add", "sub", "mul",
                                                                                                    "div", "max"};
  rng r = {seed, false, false};
  tsr_graph *g = NULL;
  tsr_program *p = NULL;
  tsr_value v[2] = {0}, x = 0;
  tsr_binding in[2] = {{0}}, bo = {0};
  uint16_t data[N];
  tsr_shape s = {.rank = 1, .dims = {N}};
  tsr_status st = tsr_graph_create(ctx, "main", &g);
  if (!st) st = tsr_graph_input(g, "a", t, s, &v[0]);
  if (!st) st = tsr_graph_input(g, "b", t, s, &v[1]);
  x = v[0];
  for (int i = (int)rng_range(&r, 2, 7); !st && i > 0; i--) {
    bool two = rng_range(&r, 0, 1);
    tsr_value both[2] = {x, v[1]};
    st = tsr_graph_op(g, two ? binary[rng_range(&r, 0, 4)] : unary[rng_range(&r, 0, 6)], both, 1 + two, NULL, 0, &x);
  }
  if (!st) st = tsr_graph_output(g, x);
  if (!st)
    st = tsr_program_compile(dev, g, &(tsr_compile_options){.policy = policy, .tune = TSR_TUNE_OFF, .disable = disable},
                             &p);
  for (int i = 0; !st && i < tsr_program_n_inputs(p); i++) {
    random_fill(&r, t, data, N, false);
    st = tsr_buffer_create(dev, sizeof data, TSR_MEMORY_DEVICE, &in[i].buffer);
    if (!st) st = tsr_buffer_write(in[i].buffer, 0, data, sizeof data);
  }
  if (!st) st = tsr_buffer_create(dev, sizeof data, TSR_MEMORY_DEVICE, &bo.buffer);
  if (!st) st = tsr_program_run(p, NULL, in, &bo);
  if (!st) st = tsr_buffer_read(bo.buffer, 0, out, sizeof data);
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&bo.buffer);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  return st;
}

static bool same(tsr_dtype t, const uint16_t *a, const uint16_t *b) {
  for (size_t i = 0; i < N; i++)
    if (a[i] != b[i] && !(isnan(dtype_load(t, a, i)) && isnan(dtype_load(t, b, i)))) return false;
  return true;
}

int main(void) {
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  for (uint64_t seed = 1; !st && seed <= 120; seed++) {
    tsr_dtype t = seed % 2 ? TSR_F16 : TSR_BF16;
    uint16_t fused[N], apart[N];
    tsr_policy policy = seed % 4 < 2 ? TSR_POLICY_DETERMINISTIC : TSR_POLICY_FAST;
    st = run(ctx, dev, seed, t, policy, "", fused);
    if (!st) st = run(ctx, dev, seed, t, policy, "fusion", apart);
    if (st) break;
    bool alike = same(t, fused, apart);
    if (policy == TSR_POLICY_FAST) {
      differ_fast += !alike;
      continue;
    }
    compared++;
    if (!alike)
      printf("FAIL seed %llu: fused and unfused %s differ\n", (unsigned long long)seed, tsr_dtype_name(t)), failures++;
  }
  if (st) printf("FAIL %s\n", tsr_status_message(st)), failures++;
  tsr_status_free(st);
  if (!differ_fast) printf("FAIL no chain differs under fast: the test shows nothing\n"), failures++;
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  printf("%d chains compared, %d failures\n", compared, failures);
  return failures != 0;
}
