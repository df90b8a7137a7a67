/* tools/tessera/cmd_import.c - `tessera import M.onnx -o M.mlir`: an ONNX model as Graph IR text. Constants of some
 * size stay in the model's file, which the text names by its absolute path. */
#include <stdlib.h>
#include <string.h>

#include "tools/tessera/named_files.h"
#include "tools/tessera/onnx_file.h"

/* "-o FILE" is taken out of the arguments. NULL: it isn't there. */
static const char *take_output(int *argc, char **argv) {
  for (int i = 1; i + 1 < *argc; i++) {
    if (strcmp(argv[i], "-o")) continue;
    const char *path = argv[i + 1];
    memmove(argv + i, argv + i + 2, sizeof *argv * (size_t)(*argc - i - 2));
    *argc -= 2;
    return path;
  }
  return NULL;
}

static int import(tsr_context *ctx, const shape_list *shapes, input_source *inputs, const char *model,
                  const char *out) {
  tsr_graph *g = NULL;
  char *text = NULL;
  int rc = onnx_file_graph(shapes, ctx, model, input_array, inputs, &g);
  tsr_status st = rc ? NULL : tsr_graph_print(g, &text);
  if (!rc) rc = st ? cli_fail(st) : cli_write_text("import", out, text);
  if (text) tsr_text_free(ctx, &text);
  tsr_graph_destroy(&g);
  return rc;
}

int cmd_import(int argc, char **argv) {
  input_source inputs = {.npy.command = "import"};
  shape_list shapes = {.command = "import", .find = input_shape, .user = &inputs};
  const option options[] = {{.name = "--shape", .each = shape_list_add, .user = &shapes},
                            {.name = "--bounded", .flag = &shapes.bounded},
                            {.name = "--input", .each = named_files_add, .user = &inputs.npy}};
  tsr_context *ctx = NULL;
  const char *out = take_output(&argc, argv);
  if (!cli_options("import", &argc, argv, options, 3)) return EXIT_USAGE;
  if (argc != 2 || !out) return cli_usage("import", "needs one model, and -o FILE");
  char *model = realpath(argv[1], NULL);
  tsr_status st = model ? cli_context(&ctx) : NULL;
  int rc = !model ? cli_usage("import", "%s: no such file", argv[1]) : st ? cli_fail(st) : EXIT_OK;
  if (!rc) rc = import(ctx, &shapes, &inputs, model, out);
  tsr_context_destroy(&ctx);
  free(model);
  return rc;
}
