/* tools/tessera/cmd_import.c - `tessera import M.onnx -o M.mlir`: an ONNX model as Graph IR text. Constants of some
 * size stay in the model's file, which the text names by its absolute path. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* What the text would be written over is the model itself. */
static bool is_model(const char *model, const char *out) {
  struct stat a, b;
  return !stat(model, &a) && !stat(out, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Each file can be read, and is an input's that the graph has or that was asked for while it was made. */
static int check_inputs(const tsr_graph *g, const input_source *from) {
  for (int i = 0; i < from->npy.n; i++) {
    const size_t n = strcspn(from->npy.text[i], "=");
    char why[512], a[128], b[128];
    npy_array x;
    if (!npy_load(from->npy.text[i] + n + 1, &x, why, sizeof why)) return cli_usage("import", "%s", why);
    bool known = from->asked[i] > 0, fits = true;
    for (int k = 0; k < tsr_graph_n_inputs(g); k++) {
      const tsr_tensor_info t = tsr_graph_input_info(g, k);
      if (!shape_same_name(from->npy.text[i], n, t.name)) continue;
      known = true, fits = shape_is(&x.shape, &t.shape);
      if (!fits)
        cli_usage("import", "%s: shape %s, input %s needs %s", from->npy.text[i] + n + 1,
                  cli_shape_text(&x.shape, a, sizeof a), t.name, cli_shape_text(&t.shape, b, sizeof b));
    }
    npy_free(&x);
    if (!fits) return EXIT_USAGE;
    if (!known) return cli_usage("import", "the program has no input \"%.*s\"", (int)n, from->npy.text[i]);
  }
  return EXIT_OK;
}

static int import(tsr_context *ctx, const shape_list *shapes, input_source *inputs, const char *model,
                  const char *out) {
  tsr_graph *g = NULL;
  char *text = NULL;
  int rc = onnx_file_graph(shapes, ctx, model, input_array, inputs, &g);
  if (!rc) rc = check_inputs(g, inputs);
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
  if (!rc && is_model(model, out))
    rc = cli_usage("import", "-o %s is the model itself, whose weights the text would name", out);
  if (!rc) rc = import(ctx, &shapes, &inputs, model, out);
  tsr_context_destroy(&ctx);
  free(model);
  return rc;
}
