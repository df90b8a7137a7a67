/* examples/guide.c - the program of docs/programming-guide.md: a graph by calls, as text and back, compiled, run on
 * buffers, its result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

static void check(tsr_status s) { /* NULL is success */
  if (!s) return;
  fprintf(stderr, "%s\n", tsr_status_message(s));
  tsr_status_free(s);
  exit(1);
}

int main(int argc, char **argv) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g, *parsed;
  tsr_program *program;
  tsr_stream *stream;
  tsr_value x, w, y;
  char *text;

  /* A context holds everything; two contexts share nothing. A device is opened by name. */
  tsr_context_desc desc = {.abi_version = TSR_ABI_VERSION};
  check(tsr_context_create(&desc, &ctx));
  check(tsr_device_open(ctx, argc > 1 ? argv[1] : NULL, &dev)); /* NULL: the knob TSR_BACKEND, else cpu:0 */

  /* The graph, by calls: a softmax of x times w along the last axis. */
  tsr_attr axis = TSR_INT("axis", -1);
  check(tsr_graph_create(ctx, "main", &g));
  check(tsr_graph_input(g, "x", TSR_F32, (tsr_shape){2, {2, 3}}, &x));
  check(tsr_graph_input(g, "w", TSR_F32, (tsr_shape){2, {3, 4}}, &w));
  check(tsr_graph_op(g, "matmul", (tsr_value[]){x, w}, 2, NULL, 0, &y));
  check(tsr_graph_op(g, "softmax", &y, 1, &axis, 1, &y));
  check(tsr_graph_output(g, y));

  /* As text, and from text. */
  check(tsr_graph_print(g, &text));
  fputs(text, stdout);
  check(tsr_graph_parse(ctx, text, strlen(text), "printed", &parsed));
  tsr_text_free(ctx, &text);

  /* Compiled for the device; what the compiler did with it. */
  check(tsr_program_compile(dev, parsed, NULL, &program));
  check(tsr_program_explain(program, &text));
  fputs(text, stdout);
  tsr_text_free(ctx, &text);

  /* A buffer for each operand and result, bound in the program's order. */
  float hx[2][3] = {{1, 2, 3}, {4, 5, 6}}, hw[3][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}, hy[2][4];
  tsr_binding inputs[2] = {{NULL, 0}, {NULL, 0}}, outputs[1] = {{NULL, 0}};
  check(tsr_buffer_create(dev, sizeof hx, TSR_MEMORY_DEVICE, &inputs[0].buffer));
  check(tsr_buffer_create(dev, sizeof hw, TSR_MEMORY_DEVICE, &inputs[1].buffer));
  check(tsr_buffer_create(dev, sizeof hy, TSR_MEMORY_DEVICE, &outputs[0].buffer));
  check(tsr_buffer_write(inputs[0].buffer, 0, hx, sizeof hx));
  check(tsr_buffer_write(inputs[1].buffer, 0, hw, sizeof hw));

  /* Running is asynchronous on GPUs: the result is there when the stream is done. */
  check(tsr_stream_create(dev, 0, &stream));
  check(tsr_program_run(program, stream, inputs, outputs));
  check(tsr_stream_sync(stream, -1)); /* without a limit of time */
  check(tsr_buffer_read(outputs[0].buffer, 0, hy, sizeof hy));
  for (int i = 0; i < 2; i++) printf("result %.4f %.4f %.4f %.4f\n", hy[i][0], hy[i][1], hy[i][2], hy[i][3]);

  /* Whatever a call created is destroyed by its own call, children first. */
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&inputs[i].buffer);
  tsr_buffer_destroy(&outputs[0].buffer);
  tsr_stream_destroy(&stream);
  tsr_program_destroy(&program);
  tsr_graph_destroy(&parsed);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}
