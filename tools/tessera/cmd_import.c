/* tools/tessera/cmd_import.c - `tessera import M.onnx -o M.mlir`: an ONNX model as Graph IR text. Constants of some
 * size stay in the model's file, which the text names by its absolute path. */
#include <stdlib.h>
#include <string.h>

#include "core/import/onnx.h"
#include "tools/tessera/onnx_file.h"

enum { MOST_FILES = 64 };

typedef struct files {
  const char *text[MOST_FILES]; /* NAME=PATH */
  int n;
} files;

static bool add_file(void *user, const char *value) {
  files *f = user;
  if (strchr(value, '=') && f->n < MOST_FILES) {
    f->text[f->n++] = value;
    return true;
  }
  cli_usage("import", "\"%s\" is not NAME=FILE", value);
  return false;
}

static bool input_file(void *user, const char *name, npy_array *out) {
  const files *f = user;
  char why[512];
  for (int i = 0; i < f->n; i++) {
    const size_t n = strcspn(f->text[i], "=");
    if (shape_same_name(f->text[i], n, name)) return npy_load(f->text[i] + n + 1, out, why, sizeof why);
  }
  return false;
}

static bool file_shape(void *user, const char *name, tsr_shape *out) {
  npy_array x;
  if (!input_file(user, name, &x)) return false;
  *out = x.shape;
  npy_free(&x);
  return true;
}

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

static int import(tsr_context *ctx, const shape_list *shapes, files *inputs, const char *model, const char *out) {
  tsr_graph *g = NULL;
  char *text = NULL;
  int rc = onnx_file_graph(shapes, ctx, model, input_file, inputs, &g);
  tsr_status st = rc ? NULL : tsr_graph_print(g, &text);
  if (!rc) rc = st ? cli_fail(st) : cli_write_text("import", out, text);
  if (text) tsr_text_free(ctx, &text);
  tsr_graph_destroy(&g);
  return rc;
}

int cmd_import(int argc, char **argv) {
  files inputs = {.n = 0};
  shape_list shapes = {.command = "import", .find = file_shape, .user = &inputs};
  const option options[] = {{.name = "--shape", .each = shape_list_add, .user = &shapes},
                            {.name = "--input", .each = add_file, .user = &inputs}};
  tsr_context *ctx = NULL;
  const char *out = take_output(&argc, argv);
  if (!cli_options("import", &argc, argv, options, 2)) return EXIT_USAGE;
  if (argc != 2 || !out) return cli_usage("import", "needs one model, and -o FILE");
  char *model = realpath(argv[1], NULL);
  tsr_status st = model ? cli_context(&ctx) : NULL;
  int rc = !model ? cli_usage("import", "%s: no such file", argv[1]) : st ? cli_fail(st) : EXIT_OK;
  if (!rc) rc = import(ctx, &shapes, &inputs, model, out);
  tsr_context_destroy(&ctx);
  free(model);
  return rc;
}
