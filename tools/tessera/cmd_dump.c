/* tools/tessera/cmd_dump.c - `tessera dump FILE --level L`: a program as text, source or binary at any level; or its IR
 * right after a pass. */
#include <string.h>

#include "core/passes/pipeline.h"
#include "tools/tessera/program_file.h"

static bool parse_level(const char *name, tsr_level *out) {
  static const char *const names[] = {"graph", "schedule", "tile", "target", "source", "binary"};
  for (int i = 0; name && i < 6; i++)
    if (!strcmp(name, names[i])) {
      *out = (tsr_level)i;
      return true;
    }
  return false;
}

void dump_help(FILE *f) {
  size_t n;
  const pass_row *r = pipeline_rows(&n);
  fprintf(f, "\npasses (--after, TSR_DUMP=after:PASS), in order:\n");
  for (size_t i = 0; i < n; i++) fprintf(f, "  %-18s %s\n", r[i].name, r[i].help);
}

int cmd_dump(int argc, char **argv) {
  const char *device = NULL, *level_name = NULL, *policy = NULL, *precision = NULL;
  bool explain = false;
  tsr_compile_options o = {0};
  shape_list shapes = {.command = "dump"};
  const option options[] = {{.name = "--device", .text = &device},
                            {.name = "--level", .text = &level_name},
                            {.name = "--policy", .text = &policy},
                            {.name = "--precision", .text = &precision},
                            {.name = "--after", .text = &o.keep_after},
                            {.name = "--explain", .flag = &explain},
                            {.name = "--shape", .each = shape_list_add, .user = &shapes}};
  if (!cli_options("dump", &argc, argv, options, sizeof options / sizeof *options)) return EXIT_USAGE;
  tsr_level level = TSR_LEVEL_GRAPH;
  if (argc != 2) return cli_usage("dump", "needs one FILE of IR text");
  if (o.keep_after && (explain || level_name)) return cli_usage("dump", "--after stands without --level and --explain");
  if (!explain && !o.keep_after && !parse_level(level_name, &level))
    return cli_usage("dump", "--level is graph, schedule, tile, target, source or binary");
  tsr_status st = cli_numerics(policy, precision, &o);
  if (st) return cli_fail(st);
  size_t n = 0;
  char *out = NULL;
  program_file file;
  const int read = program_file_read("dump", argv[1], &file);
  if (read || file.onnx) {
    program_file_clear(&file);
    return read ? read : cli_usage("dump", "%s: an ONNX model; `tessera import` makes text of it", argv[1]);
  }
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_program *prog = NULL;
  st = cli_context(&ctx);
  if (!st) st = tsr_device_open(ctx, device, &dev);
  int rc = st ? EXIT_OK : shape_list_compile(&shapes, ctx, dev, file.text, file.bytes, argv[1], &o, &prog);
  if (!st && !rc)
    st = explain        ? tsr_program_explain(prog, &out)
         : o.keep_after ? tsr_program_dump_after(prog, &out)
                        : tsr_program_dump(prog, level, &out, &n);
  if (st) rc = cli_fail(st);
  if (out) fwrite(out, 1, explain || o.keep_after ? strlen(out) : n, stdout);
  tsr_text_free(ctx, &out);
  tsr_program_destroy(&prog);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  program_file_clear(&file);
  return rc;
}
