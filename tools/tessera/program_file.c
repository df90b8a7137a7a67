/* tools/tessera/program_file.c - see program_file.h. */
#include "tools/tessera/program_file.h"

#include <stdlib.h>
#include <string.h>

#include "core/import/gguf.h"
#include "core/import/onnx.h"
#include "tools/tessera/onnx_file.h"

/* Files that aren't programs, told by what they are. */
static int check_content(const program_file *f) {
  if (gguf_is((const unsigned char *)f->text, f->bytes))
    return cli_usage(f->command, "%s: a file of weights, no program (a language model: `tessera generate` runs it, "
                                 "`tessera bench` times it; --weights binds its tensors to a program)", f->path);
  if (weights_is(f->text, f->bytes))
    return cli_usage(f->command, "%s: a file of weights, no program (--weights binds it to one)", f->path);
  return EXIT_OK;
}

int program_file_read(const char *command, const char *path, program_file *out) {
  *out = (program_file){.command = command, .path = path};
  out->text = cli_read_file(path, &out->bytes);
  if (!out->text) return EXIT_USAGE;
  const int rc = check_content(out);
  const char *dot = strrchr(path, '.');
  out->onnx = !rc && (onnx_is(out->text, out->bytes) || (dot && !strcmp(dot, ".onnx"))); /* there is no mark */
  return rc;
}

void program_file_clear(program_file *f) {
  free(f->text);
  f->text = NULL;
}

int program_file_compile(const program_file *f, const shape_list *shapes, input_source *from, tsr_context *ctx,
                         tsr_device *dev, const tsr_compile_options *o, tsr_program **out) {
  tsr_graph *g = NULL;
  *out = NULL;
  if (!f->onnx) return shape_list_compile(shapes, ctx, dev, f->text, f->bytes, f->path, o, out);
  const int rc = onnx_file_graph(shapes, ctx, f->path, from ? input_array : NULL, from, &g);
  tsr_status st = rc ? NULL : tsr_program_compile(dev, g, o, out);
  tsr_graph_destroy(&g);
  return st ? cli_fail(st) : rc;
}

int program_file_graph(const program_file *f, const shape_list *shapes, tsr_context *ctx, tsr_graph **out) {
  tsr_graph *open = NULL;
  *out = NULL;
  if (f->onnx) return onnx_file_graph(shapes, ctx, f->path, NULL, NULL, out);
  tsr_status st = tsr_graph_parse(ctx, f->text, f->bytes, f->path, &open);
  if (st) return cli_fail(st);
  if (!shapes->n) return *out = open, EXIT_OK;
  const int rc = shape_list_specialize(shapes, open, f->path, out);
  tsr_graph_destroy(&open);
  return rc;
}
