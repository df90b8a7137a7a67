/* tests/conformance/test_numerics.c - what the numerics attributes promise, by values that tell: accum_dtype,
 * out_dtype, the policy and the mode tf32, on a device.
 *   TSR_TEST_DEVICE (cpu:0). Exit 77: the device is not here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tessera/tessera.h"

enum { K = 4096 };
static int wrong, ran, lacking;
/* Further backends that the program brings along (tests/simt links this file with the emulator's). */
extern const void *const conformance_backends[] __attribute__((weak));
static tsr_precision mode = TSR_PRECISION_STANDARD;
static tsr_context *ctx;
static tsr_device *dev;

/* One element: the product of a row by a column (both of type t), or with `op` a reduction of the row. */
static void expect(const char *op, tsr_dtype t, const char *accum, const char *out, tsr_policy policy, const double *a,
                   const double *b, double want) {
  tsr_graph *g = NULL;
  tsr_program *p = NULL;
  tsr_value v[2] = {0};
  tsr_attr attrs[2];
  int n = 0;
  const double *host[2] = {a, b};
  tsr_binding in[2] = {{0}}, bo = {0};
  uint64_t data[K], result = 0;
  bool product = !strcmp(op, "matmul");
  if (accum) attrs[n++] = (tsr_attr)TSR_STRING("accum_dtype", accum);
  if (out) attrs[n++] = (tsr_attr)TSR_STRING("out_dtype", out);
  tsr_status st = tsr_graph_create(ctx, "main", &g);
  if (!st) st = tsr_graph_input(g, "a", t, (tsr_shape){.rank = 2, .dims = {1, K}}, &v[0]);
  if (!st && product) st = tsr_graph_input(g, "b", t, (tsr_shape){.rank = 2, .dims = {K, 1}}, &v[1]);
  if (!st) st = tsr_graph_op(g, op, v, 1 + product, attrs, n, &v[0]);
  if (!st) st = tsr_graph_output(g, v[0]);
  const tsr_compile_options o = {.policy = policy, .precision = mode, .tune = TSR_TUNE_OFF};
  if (!st) st = tsr_program_compile(dev, g, &o, &p);
  for (int i = 0; !st && i < 1 + product; i++) {
    for (size_t k = 0; k < K; k++) dtype_store(t, data, k, host[i][k]);
    st = tsr_buffer_create(dev, K * tsr_dtype_size(t), TSR_MEMORY_DEVICE, &in[i].buffer);
    if (!st) st = tsr_buffer_write(in[i].buffer, 0, data, K * tsr_dtype_size(t));
  }
  tsr_tensor_info info = p ? tsr_program_output(p, 0) : (tsr_tensor_info){0};
  if (!st) st = tsr_buffer_create(dev, info.bytes, TSR_MEMORY_DEVICE, &bo.buffer);
  if (!st) st = tsr_program_run(p, NULL, in, &bo);
  if (!st) st = tsr_buffer_read(bo.buffer, 0, &result, info.bytes);
  double got = st ? NAN : dtype_load(info.dtype, &result, 0);
  if (tsr_status_code(st) == TSR_UNSUPPORTED) lacking++;
  else if (st || got != want || (out && strcmp(tsr_dtype_name(info.dtype), out)))
    printf("FAIL %s of %s accum %s out %s policy %d: %.17g, wanted %.17g %s\n", op, tsr_dtype_name(t),
           accum ? accum : "-", out ? out : "-", policy, got, want, st ? tsr_status_message(st) : ""),
        wrong++;
  ran += !st;
  tsr_status_free(st);
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&bo.buffer);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
}

int main(void) {
  const char *device = getenv("TSR_TEST_DEVICE") ? getenv("TSR_TEST_DEVICE") : "cpu:0";
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = "", .extra_backends = conformance_backends},
                                     &ctx);
  if (!st) st = tsr_device_open(ctx, device, &dev);
  if (st) {
    printf("%s\n", tsr_status_message(st));
    int rc = tsr_status_code(st) == TSR_UNAVAILABLE ? 77 : 1;
    tsr_status_free(st);
    tsr_context_destroy(&ctx);
    return rc;
  }
  static double ones[K], big[K], halves[K];
  static const tsr_dtype floats[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_F64};
  for (int i = 0; i < K; i++) ones[i] = 1, big[i] = i < 100, halves[i] = 127;
  big[K - 1] = 0x1p24; /* in f32 each 1 added to it is lost; 2^24 + 100 is one of its numbers */
  for (int policy = TSR_POLICY_FAST; policy <= TSR_POLICY_KAHAN_SUM; policy++)
    for (int t = 0; t < 4; t++) {
      /* bf16 sums would end at 256, f16 ones at 2048 */
      expect("matmul", floats[t], NULL, NULL, (tsr_policy)policy, ones, ones, K);
      expect("matmul", floats[t], "f32", NULL, (tsr_policy)policy, ones, ones, K);
      expect("matmul", floats[t], "f64", NULL, (tsr_policy)policy, ones, ones, K);
      expect("matmul", floats[t], NULL, "f32", (tsr_policy)policy, ones, ones, K);
      expect("reduce_sum", floats[t], NULL, NULL, (tsr_policy)policy, ones, NULL, K);
      expect("reduce_mean", floats[t], NULL, NULL, (tsr_policy)policy, ones, NULL, 1);
    }
  expect("matmul", TSR_F32, "f64", NULL, TSR_POLICY_FAST, big, ones, 0x1p24 + 100);
  expect("matmul", TSR_F32, NULL, NULL, TSR_POLICY_KAHAN_SUM, big, ones, 0x1p24 + 100);
  expect("reduce_sum", TSR_F32, NULL, NULL, TSR_POLICY_KAHAN_SUM, big, NULL, 0x1p24 + 100);
  expect("matmul", TSR_I8, NULL, NULL, TSR_POLICY_FAST, halves, halves, 127.0 * 127 * K);
  expect("matmul", TSR_I8, "i64", "i64", TSR_POLICY_FAST, halves, halves, 127.0 * 127 * K);
  expect("matmul", TSR_I8, NULL, "i8", TSR_POLICY_FAST, halves, ones, (int8_t)(uint8_t)(127 * K & 255));
  expect("matmul", TSR_I16, NULL, NULL, TSR_POLICY_FAST, halves, ones, (int16_t)(uint16_t)(127 * K & 65535));
  /* tf32 has ten digits behind the point: ties go to the even number, f64 and what is narrower stay as they are */
  for (int i = 0; i < K; i++) halves[i] = 1 + 0x1p-11, big[i] = 1 + 3 * 0x1p-11;
  expect("matmul", TSR_F32, NULL, NULL, TSR_POLICY_FAST, halves, ones, K * (1 + 0x1p-11));
  mode = TSR_PRECISION_TF32;
  for (int policy = TSR_POLICY_FAST; policy <= TSR_POLICY_KAHAN_SUM; policy++) {
    expect("matmul", TSR_F32, NULL, NULL, (tsr_policy)policy, halves, ones, K);
    expect("matmul", TSR_F32, NULL, NULL, (tsr_policy)policy, ones, big, K * (1 + 0x1p-9));
    expect("matmul", TSR_F64, NULL, NULL, (tsr_policy)policy, halves, ones, K * (1 + 0x1p-11));
    expect("matmul", TSR_F16, NULL, "f32", (tsr_policy)policy, ones, ones, K);
    expect("reduce_sum", TSR_F32, NULL, NULL, (tsr_policy)policy, halves, NULL, K * (1 + 0x1p-11));
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  printf("%s: %d run, %d wrong, %d unsupported\n", device, ran, wrong, lacking);
  return wrong != 0 || ran < 40;
}
