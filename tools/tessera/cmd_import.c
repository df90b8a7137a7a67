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
static int check_inputs(const tsr_graph *g, input_source *from) {
  const named_files *f = &from->npy;
  for (int i = 0, rc; i < f->n; i++) {
    const size_t n = strcspn(f->text[i], "=");
    const char *path = f->text[i] + n + 1;
    tsr_tensor_info t;
    npy_array x;
    int k = 0;
    while (k < tsr_graph_n_inputs(g) && (t = tsr_graph_input_info(g, k), !shape_same_name(f->text[i], n, t.name))) k++;
    const bool is_input = k < tsr_graph_n_inputs(g);
    if ((rc = input_load("import", path, is_input ? &t : NULL, &x))) return rc;
    npy_free(&x);
    from->asked[i] += is_input && named_files_path(f, t.name, NULL) == path;
  }
  return named_files_check_used(f, from->asked);
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
