/* tools/tessera/cmd_knobs.c - `tessera knobs`: the table of environment variables, and what the environment says now. A
 * value that the table does not have is told after the list, with the exit status of every other command that meets it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/knob.h"
#include "tools/tessera/cli.h"

static void json_row(const knob *k, const char *values, bool last) {
  static const char *const types[] = {
      [KNOB_TEXT] = "text", [KNOB_SWITCH] = "text", [KNOB_WORD] = "word",    [KNOB_LIST] = "list",
      [KNOB_INT] = "int",   [KNOB_BOOL] = "bool",   [KNOB_DEVICES] = "list", [KNOB_RULES] = "list"};
  const struct {
    const char *key, *value;
  } pairs[] = {{"name", k->name},  {"type", types[k->type]},       {"default", k->dflt},
               {"values", values}, {"current", knob_str(k->name)}, {"help", k->help}};
  printf("  {");
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    printf("%s\"%s\": ", i ? ", " : "", pairs[i].key);
    cli_json_string(stdout, pairs[i].value);
  }
  printf(", \"set\": %s}%s\n", getenv(k->name) ? "true" : "false", last ? "" : ",");
}

static void print_row(const knob *k, const char *values) {
  printf("%s=%s%s\n", k->name, knob_str(k->name), getenv(k->name) ? "   (set)" : "");
  printf("    %s\n    values: %s", k->help, values);
  printf(*k->dflt ? "; default %s\n" : "; no default\n", k->dflt);
}

int cmd_knobs(int argc, char **argv) {
  bool json = false;
  const option options[] = {{.name = "--json", .flag = &json}};
  if (!cli_options("knobs", &argc, argv, options, 1)) return EXIT_USAGE;
  if (argc > 1) return cli_usage("knobs", "unexpected \"%s\"", argv[1]);
  size_t n;
  const knob *k = knob_table(&n);
  if (json) printf("[\n");
  for (size_t i = 0; i < n; i++) {
    char values[256];
    knob_values(&k[i], values, sizeof values);
    if (json) json_row(&k[i], values, i + 1 == n);
    else print_row(&k[i], values);
  }
  if (json) printf("]\n");
  tsr_context *ctx = NULL;
  tsr_status st = tsr_context_create(NULL, &ctx);
  tsr_context_destroy(&ctx);
  return st ? cli_fail(st) : EXIT_OK;
}
