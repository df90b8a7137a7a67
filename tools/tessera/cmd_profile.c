/* tools/tessera/cmd_profile.c - `tessera profile` and `tessera check`: what the kernels of a FILE (or one OP) did, and
 * the checklist as an audit. */
#include <stdlib.h>
#include <string.h>

#include "tessera/profile.h"
#include "tessera/tune.h"
#include "tools/tessera/op_graph.h"

typedef struct profile_args {
  const char *shape, *dtype, *device, *policy, *tune, *trace, *profile;
  long steps;
  bool json, wide, reproducible;
} profile_args;

static bool parse_tune(const char *name, tsr_tune *out) {
  static const char *const names[] = {"off", "cached", "full"};
  for (int i = 0; i < 3; i++)
    if (!strcmp(name, names[i])) return *out = (tsr_tune)(TSR_TUNE_OFF + i), true;
  return false;
}

static int compile_and_run(const profile_args *a, const char *what, tsr_context *ctx, tsr_device *dev,
                           tsr_profile **out) {
  tsr_compile_options o = {0};
  tsr_status st = a->policy ? tsr_policy_parse(a->policy, &o.policy) : NULL;
  if (st) return cli_fail(st);
  if (a->tune && !parse_tune(a->tune, &o.tune)) return cli_usage("profile", "--tune is off, cached or full");
  if (!a->shape && op_graph_is_file(what)) { /* text of any level */
    size_t bytes;
    if (a->dtype) return op_graph_dtype("profile", what);
    char *text = cli_read_file(what, &bytes);
    if (!text) return EXIT_USAGE;
    st = tsr_text_profile(dev, text, bytes, what, &o, (int)a->steps, out);
    free(text);
    return st ? cli_fail(st) : EXIT_OK;
  }
  tsr_graph *g = NULL;
  int rc = op_graph("profile", ctx, what, a->shape, a->dtype, &g);
  if (rc) return rc;
  st = tsr_graph_profile(dev, g, &o, (int)a->steps, out);
  tsr_graph_destroy(&g);
  return st ? cli_fail(st) : EXIT_OK;
}

static int write_trace(tsr_context *ctx, const tsr_profile *p, const char *path) {
  char *text = NULL;
  tsr_status st = tsr_profile_trace(p, &text);
  if (st) return cli_fail(st);
  int rc = cli_write_text("profile", path, text);
  tsr_text_free(ctx, &text);
  return rc;
}

static int report(const profile_args *a, tsr_context *ctx, const tsr_profile *p) {
  char *text = NULL;
  tsr_status st = a->json ? tsr_profile_json(p, &text) : tsr_profile_text(p, a->wide, &text);
  if (st) return cli_fail(st);
  fputs(text, stdout);
  tsr_text_free(ctx, &text);
  return a->trace ? write_trace(ctx, p, a->trace) : EXIT_OK;
}

static int audit(const profile_args *a, tsr_context *ctx, const tsr_profile *p) {
  char *text = NULL;
  int failed = 0;
  tsr_status st = tsr_profile_check(p, a->reproducible, a->json, &text, &failed);
  if (st) return cli_fail(st);
  fputs(text, stdout);
  tsr_text_free(ctx, &text);
  return failed ? EXIT_WRONG : EXIT_OK;
}

static int run(int argc, char **argv, int (*show)(const profile_args *a, tsr_context *ctx, const tsr_profile *p)) {
  profile_args a = {0};
  const option options[] = {
      {.name = "--reproducible", .flag = &a.reproducible}, /* of check alone */
      {.name = "--shape", .text = &a.shape},    {.name = "--dtype", .text = &a.dtype},
      {.name = "--device", .text = &a.device},  {.name = "--policy", .text = &a.policy},
      {.name = "--tune", .text = &a.tune},      {.name = "--profile", .text = &a.profile},
      {.name = "--steps", .number = &a.steps},  {.name = "--json", .flag = &a.json},
      {.name = "--wide", .flag = &a.wide},      {.name = "--trace", .text = &a.trace}}; /* of profile alone */
  const int n = sizeof options / sizeof *options;
  const bool check = show == audit;
  if (!cli_options(argv[0], &argc, argv, check ? options : options + 1, check ? n - 2 : n - 1)) return EXIT_USAGE;
  if (argc != 2) return cli_usage(argv[0], "needs one FILE or OP");
  if (a.steps < 0 || a.steps > 1000000) return cli_usage(argv[0], "--steps is 1 to 1000000");
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_profile *p = NULL;
  tsr_status st = cli_context(&ctx);
  if (!st) st = tsr_device_open(ctx, a.device, &dev);
  if (!st && a.profile) st = tsr_device_load_profile(dev, a.profile);
  int rc = st ? cli_fail(st) : compile_and_run(&a, argv[1], ctx, dev, &p);
  if (!rc) rc = show(&a, ctx, p);
  tsr_profile_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return rc;
}

int cmd_profile(int argc, char **argv) { return run(argc, argv, report); }
int cmd_check(int argc, char **argv) { return run(argc, argv, audit); }
