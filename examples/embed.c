/* examples/embed.c - the smallest whole program: relu(A x A') on a device named on the command line. The README shows
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <tessera/tessera.h>

static void check(tsr_status s) {
  if (!s) return;
  fprintf(stderr, "%s\n", tsr_status_message(s)); /* one line: where, what, and what to do about it */
  exit(1);
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

  check(tsr_context_create(NULL, &ctx));
  check(tsr_device_open(ctx, argc > 1 ? argv[1] : "cpu:0", &dev));
  check(tsr_graph_create(ctx, "main", &g));
  check(tsr_graph_input(g, "A", TSR_F32, (tsr_shape){2, {2, 3}}, &a));
  check(tsr_graph_op(g, "matmul", (tsr_value[]){a, a}, 2, &transpose_b, 1, &v));
  check(tsr_graph_op(g, "relu", &v, 1, NULL, 0, &v));
  check(tsr_graph_output(g, v));
  check(tsr_program_compile(dev, g, NULL, &program));

  check(tsr_buffer_create(dev, sizeof x, TSR_MEMORY_DEVICE, &in));
  check(tsr_buffer_create(dev, sizeof y, TSR_MEMORY_DEVICE, &out));
  check(tsr_buffer_write(in, 0, x, sizeof x));
  check(tsr_program_run(program, NULL, &(tsr_binding){in, 0}, &(tsr_binding){out, 0}));
  check(tsr_buffer_read(out, 0, y, sizeof y));
  printf("%g %g\n%g %g\n", y[0][0], y[0][1], y[1][0], y[1][1]);

  tsr_buffer_destroy(&out);
  tsr_buffer_destroy(&in);
  tsr_program_destroy(&program);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}
