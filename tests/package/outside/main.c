/* An outside project: knows only the installed package. Doubles a vector on the CPU and checks the result. */
#include <stdio.h>
#include <tessera/tessera.h>

static tsr_status build(tsr_context *ctx, tsr_graph **g) {
  tsr_value x, y;
  tsr_status s = tsr_graph_create(ctx, "main", g);
  if (!s) s = tsr_graph_input(*g, "X", TSR_F32, (tsr_shape){1, {4}}, &x);
  if (!s) s = tsr_graph_op(*g, "add", (tsr_value[]){x, x}, 2, NULL, 0, &y);
  return s ? s : tsr_graph_output(*g, y);
}

static tsr_status run(tsr_device *dev, tsr_program *program, float *data) {
  tsr_buffer *in = NULL, *out = NULL;
  tsr_status s = tsr_buffer_create(dev, 16, TSR_MEMORY_DEVICE, &in);
  if (!s) s = tsr_buffer_create(dev, 16, TSR_MEMORY_DEVICE, &out);
  if (!s) s = tsr_buffer_write(in, 0, data, 16);
  if (!s) s = tsr_program_run(program, NULL, &(tsr_binding){in, 0}, &(tsr_binding){out, 0});
  if (!s) s = tsr_buffer_read(out, 0, data, 16);
  tsr_buffer_destroy(&out);
  tsr_buffer_destroy(&in);
  return s;
}

int main(void) {
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_graph *g = NULL;
  tsr_program *program = NULL;
  float data[4] = {1, 2, 3, 4};
  tsr_status s = tsr_context_create(&(tsr_context_desc){.abi_version = TSR_ABI_VERSION}, &ctx);
  if (!s) s = tsr_device_open(ctx, "cpu:0", &dev);
  if (!s) s = build(ctx, &g);
  if (!s) s = tsr_program_compile(dev, g, NULL, &program);
  if (!s) s = run(dev, program, data);
  bool right = !s && data[0] == 2 && data[3] == 8;
  uint32_t have = tsr_abi_version();
  printf("libtessera ABI %u.%u: %s\n", (unsigned)(have >> 16), (unsigned)(have & 0xffff),
         s       ? tsr_status_message(s)
         : right ? "right"
                 : "wrong");
  tsr_status_free(s);
  tsr_program_destroy(&program);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return right ? 0 : 1;
}
