/* examples/custom_op.c - an op of one's own between the library's: softsign(A x A') * 2, on a device named on the
 * command line. docs/custom-ops.md shows it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tessera/tessera.h>

static void check(tsr_status s) {
  if (!s) return;
  fprintf(stderr, "%s\n", tsr_status_message(s));
  exit(1);
}

/* The result's type: that of the operand, which must be f32. */
static bool softsign_type(void *user, const tsr_custom_call *call, char *why, size_t why_bytes) {
  if (call->operands[0].dtype != TSR_F32)
    return snprintf(why, why_bytes, "softsign takes f32, not %s", tsr_dtype_name(call->operands[0].dtype)), false;
  call->result->dtype = TSR_F32;
  call->result->shape = call->operands[0].shape;
  return true;
}

/* Rows first..last-1 of the result; other threads do other rows. */
static bool softsign_rows(void *user, const tsr_custom_call *call, int64_t first, int64_t last, char *why,
                          size_t why_bytes) {
  const float *x = call->operands[0].data;
  float *y = call->result->data;
  int64_t columns = call->result->shape.dims[1];
  for (int64_t i = first * columns; i < last * columns; i++) y[i] = x[i] / (1 + fabsf(x[i]));
  return true;
}

int main(int argc, char **argv) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *program;
  tsr_buffer *in, *out;
  tsr_value a, v;
  float x[2][3] = {{1, 2, 3}, {-4, 5, -6}}, y[2][2];
  tsr_attr transpose_b = TSR_BOOLEAN("transpose_b", true);
  tsr_custom_op softsign = {.name = "my.softsign", .n_operands = 1, .infer = softsign_type, .cpu = softsign_rows};

  check(tsr_context_create(NULL, &ctx));
  check(tsr_custom_op_register(ctx, &softsign));
  check(tsr_device_open(ctx, argc > 1 ? argv[1] : "cpu:0", &dev));
  check(tsr_graph_create(ctx, "main", &g));
  check(tsr_graph_input(g, "A", TSR_F32, (tsr_shape){2, {2, 3}}, &a));
  check(tsr_graph_op(g, "matmul", (tsr_value[]){a, a}, 2, &transpose_b, 1, &v));
  check(tsr_graph_op(g, "my.softsign", &v, 1, NULL, 0, &v));
  check(tsr_graph_op(g, "add", (tsr_value[]){v, v}, 2, NULL, 0, &v));
  check(tsr_graph_output(g, v));
  check(tsr_program_compile(dev, g, NULL, &program));

  check(tsr_buffer_create(dev, sizeof x, TSR_MEMORY_DEVICE, &in));
  check(tsr_buffer_create(dev, sizeof y, TSR_MEMORY_DEVICE, &out));
  check(tsr_buffer_write(in, 0, x, sizeof x));
  check(tsr_program_run(program, NULL, &(tsr_binding){in, 0}, &(tsr_binding){out, 0}));
  check(tsr_buffer_read(out, 0, y, sizeof y));
  printf("%.5f %.5f\n%.5f %.5f\n%d launches\n", (double)y[0][0], (double)y[0][1], (double)y[1][0], (double)y[1][1],
         tsr_program_n_kernels(program));

  tsr_buffer_destroy(&out);
  tsr_buffer_destroy(&in);
  tsr_program_destroy(&program);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}
