/* tools/tessera/cmd_knobs.c - `tessera knobs`: the table of environment variables, and what the environment says now;
 * --schedule: the knobs of a schedule (tsr_schedule, Schedule IR, `tessera tune --knobs` and --candidate). A
 * value that the table does not have is told after the list, with the exit status of every other command that meets it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/knob.h"
#include "core/ir/schedule/knobs.h"
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

static void families_of(const sched_knob *k, char *out, size_t cap) {
  size_t n = 0;
  for (int f = 0; f < N_FAMILIES && n < cap; f++)
    if (sched_knob_is_for(k, (sched_family)f))
      n += (size_t)snprintf(out + n, cap - n, "%s%s", n ? ", " : "", sched_family_name((sched_family)f));
}

static void schedule_row(const sched_knob *k, bool json, bool last) {
  char values[512], families[128] = "";
  sched_knob_values(k, values, sizeof values);
  families_of(k, families, sizeof families);
  if (!json) {
    printf("%s\n    %s\n    values: %s; families: %s%s\n", k->name, k->help, values, families,
           k->on_cpu ? "" : "; not on a CPU");
    return;
  }
  const struct {
    const char *key, *value;
  } pairs[] = {{"name", k->name}, {"values", values}, {"families", families}, {"help", k->help}};
  printf("  {");
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    printf("%s\"%s\": ", i ? ", " : "", pairs[i].key);
    cli_json_string(stdout, pairs[i].value);
  }
  printf(", \"cpu\": %s}%s\n", k->on_cpu ? "true" : "false", last ? "" : ",");
}

static int list_schedule(bool json) {
  if (json) printf("[\n");
  for (int i = 0; i < N_SCHED_KNOBS; i++) schedule_row(&sched_knobs[i], json, i + 1 == N_SCHED_KNOBS);
  if (json) printf("]\n");
  return EXIT_OK;
}

int cmd_knobs(int argc, char **argv) {
  bool json = false, schedule = false;
  const option options[] = {{.name = "--json", .flag = &json}, {.name = "--schedule", .flag = &schedule}};
  if (!cli_options("knobs", &argc, argv, options, 2)) return EXIT_USAGE;
  if (argc > 1) return cli_usage("knobs", "unexpected \"%s\"", argv[1]);
  if (schedule) return list_schedule(json);
  size_t n;
  const knob *k = knob_table(&n);
  if (json) printf("[\n");
  for (size_t i = 0; i < n; i++) {
    char values[512];
    knob_values(&k[i], values, sizeof values);
    if (json) json_row(&k[i], values, i + 1 == n);
    else print_row(&k[i], values);
  }
  if (json) printf("]\n");
  tsr_context *ctx = NULL;
  tsr_status st = cli_context(&ctx);
  tsr_context_destroy(&ctx);
  return st ? cli_fail(st) : EXIT_OK;
}
