/* tools/tessera/cmd_dump.c - `tessera dump FILE --level L`: a program as text, source or binary at any level. */
#include <stdlib.h>
#include <string.h>

#include "tools/tessera/cli.h"
#include "tools/tessera/shapes.h"

static bool parse_level(const char *name, tsr_level *out) {
  static const char *const names[] = {"graph", "schedule", "tile", "target", "source", "binary"};
  for (int i = 0; name && i < 6; i++)
    if (!strcmp(name, names[i])) {
      *out = (tsr_level)i;
      return true;
    }
  return false;
}

int cmd_dump(int argc, char **argv) {
  const char *device = NULL, *level_name = NULL, *policy_name = NULL;
  bool explain = false;
  shape_list shapes = {.command = "dump"};
  const option options[] = {{.name = "--device", .text = &device},
                            {.name = "--level", .text = &level_name},
                            {.name = "--policy", .text = &policy_name},
                            {.name = "--explain", .flag = &explain},
                            {.name = "--shape", .each = shape_list_add, .user = &shapes}};
  if (!cli_options("dump", &argc, argv, options, 5)) return EXIT_USAGE;
  tsr_level level = TSR_LEVEL_GRAPH;
  if (argc != 2) return cli_usage("dump", "needs one FILE of IR text");
  if (!explain && !parse_level(level_name, &level))
    return cli_usage("dump", "--level is graph, schedule, tile, target, source or binary");
  tsr_compile_options o = {0};
  tsr_status st = policy_name ? tsr_policy_parse(policy_name, &o.policy) : NULL;
  if (st) return cli_fail(st);
  size_t bytes, n = 0;
  char *text = cli_read_file(argv[1], &bytes), *out = NULL;
  if (!text) return EXIT_USAGE;
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_program *prog = NULL;
  st = tsr_context_create(NULL, &ctx);
  if (!st) st = tsr_device_open(ctx, device, &dev);
  int rc = st ? EXIT_OK : shape_list_compile(&shapes, ctx, dev, text, bytes, argv[1], &o, &prog);
  if (!st && !rc) st = explain ? tsr_program_explain(prog, &out) : tsr_program_dump(prog, level, &out, &n);
  if (st) rc = cli_fail(st);
  if (out) fwrite(out, 1, explain ? strlen(out) : n, stdout);
  tsr_text_free(ctx, &out);
  tsr_program_destroy(&prog);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  free(text);
  return rc;
}
