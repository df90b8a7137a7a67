/* tools/tessera/cmd_profile.c - `tessera profile` and `tessera check`: what the kernels of a FILE (IR text or an ONNX
 * model), or of one OP, did, and the checklist as an audit. */
#include <stdlib.h>
#include <string.h>

#include "core/runtime/profile.h"
#include "tessera/tune.h"
#include "tools/tessera/op_graph.h"
#include "tools/tessera/operands.h"
#include "tools/tessera/profile_page.h"
#include "tools/tessera/program_file.h"
#include "tools/tessera/run_mesh.h"

typedef struct profile_args {
  const char *command, *shape, *dtype, *device, *policy, *precision, *tune, *trace, *profile, *weights, *html,
      *what;
  long steps;
  bool json, wide, reproducible, copies;
} profile_args;

static bool parse_tune(const char *name, tsr_tune *out) {
  static const char *const names[] = {"off", "cached", "full"};
  for (int i = 0; i < 3; i++)
    if (!strcmp(name, names[i])) return *out = (tsr_tune)(TSR_TUNE_OFF + i), true;
  return false;
}

typedef struct profile_run {
  const profile_args *a;
  tsr_context *ctx;
  tsr_device *dev;
  input_source inputs;
  tsr_program *prog;
} profile_run;

static int compile_file(profile_run *r, const tsr_compile_options *o) {
  shape_list shapes = {.command = r->a->command, .find = input_shape, .user = &r->inputs};
  program_file f;
  if (r->a->dtype) return op_graph_dtype(r->a->command, r->a->what);
  char *text = r->a->shape ? strdup(r->a->shape) : NULL;
  int rc = program_file_read(r->a->command, r->a->what, &f);
  if (!rc && !shape_list_add_all(&shapes, text)) rc = EXIT_USAGE;
  if (!rc) rc = program_file_compile(&f, &shapes, &r->inputs, r->ctx, r->dev, o, &r->prog);
  program_file_clear(&f);
  free(text);
  return rc;
}

static int compile(profile_run *r) {
  const profile_args *a = r->a;
  tsr_compile_options o = {0};
  tsr_graph *g = NULL;
  tsr_status st = cli_numerics(a->policy, a->precision, &o);
  if (st) return cli_fail(st);
  if (a->tune && !parse_tune(a->tune, &o.tune)) return cli_usage(a->command, "--tune is off, cached or full");
  if ((!a->shape || strchr(a->shape, '=')) && op_graph_is_file(r->a->what)) return compile_file(r, &o);
  if (r->inputs.npy.n || r->inputs.w) return cli_usage(a->command, "--input and --weights go with a FILE");
  const int rc = op_graph(a->command, r->ctx, r->a->what, a->shape, a->dtype, &g);
  if (!rc) st = tsr_program_compile(r->dev, g, &o, &r->prog);
  tsr_graph_destroy(&g);
  return st ? cli_fail(st) : rc;
}

static int compile_and_run(profile_run *r, tsr_profile **out) {
  const int rc = compile(r);
  if (rc) return rc;
  operands x = {.command = r->a->command, .file = r->a->what, .dev = r->dev, .prog = r->prog};
  int made = operands_make(&x, &r->inputs);
  const int steps = r->a->steps == CLI_NOT_GIVEN ? 0 : (int)r->a->steps;
  tsr_status st = made ? NULL : rt_profile(r->prog, x.in, x.out, steps, r->a->copies, out);
  operands_clear(&x);
  return st ? cli_fail(st) : made;
}

static int write_trace(tsr_context *ctx, const tsr_profile *p, const char *path) {
  char *text = NULL;
  tsr_status st = tsr_profile_trace(p, &text);
  if (st) return cli_fail(st);
  int rc = cli_write_text("profile", path, text);
  tsr_text_free(ctx, &text);
  return rc;
}

static int write_page(const profile_args *a, tsr_context *ctx, const tsr_profile *p) {
  char *rows = NULL, *trace = NULL;
  tsr_status st = tsr_profile_json(p, &rows);
  if (!st) st = tsr_profile_trace(p, &trace);
  const int rc = st ? cli_fail(st) : profile_page_write(a->html, a->what, rows, trace);
  tsr_text_free(ctx, &rows);
  tsr_text_free(ctx, &trace);
  return rc;
}

static int report(const profile_args *a, tsr_context *ctx, const tsr_profile *p) {
  char *text = NULL;
  tsr_status st = a->json ? tsr_profile_json(p, &text) : tsr_profile_text(p, a->wide, &text);
  if (st) return cli_fail(st);
  fputs(text, stdout);
  tsr_text_free(ctx, &text);
  const int rc = a->trace ? write_trace(ctx, p, a->trace) : EXIT_OK;
  return rc || !a->html ? rc : write_page(a, ctx, p);
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
  profile_args a = {.command = argv[0], .steps = CLI_NOT_GIVEN};
  profile_run r = {.a = &a, .inputs.npy.command = argv[0]};
  const option options[] = {
      {.name = "--reproducible", .flag = &a.reproducible}, /* of check alone */
      {.name = "--shape", .text = &a.shape},    {.name = "--dtype", .text = &a.dtype},
      {.name = "--device", .text = &a.device},  {.name = "--policy", .text = &a.policy},
      {.name = "--precision", .text = &a.precision},
      {.name = "--tune", .text = &a.tune},      {.name = "--profile", .text = &a.profile},
      {.name = "--steps", .number = &a.steps},  {.name = "--json", .flag = &a.json},
      {.name = "--input", .each = named_files_add, .user = &r.inputs.npy},
      {.name = "--weights", .text = &a.weights},
      {.name = "--wide", .flag = &a.wide},      {.name = "--trace", .text = &a.trace}, /* from here on of profile alone */
      {.name = "--html", .text = &a.html},      {.name = "--copies", .flag = &a.copies}};
  const int n = sizeof options / sizeof *options;
  const bool check = show == audit;
  if (!cli_options(argv[0], &argc, argv, check ? options : options + 1, check ? n - 4 : n - 1)) return EXIT_USAGE;
  if (argc != 2) return cli_usage(argv[0], "needs one FILE or OP");
  if (a.steps != CLI_NOT_GIVEN && (a.steps < 1 || a.steps > 1000000))
    return cli_usage(argv[0], "--steps is 1 to 1000000");
  tsr_profile *p = NULL;
  a.what = argv[1];
  tsr_status st = a.weights ? weights_open(NULL, a.weights, &r.inputs.w) : NULL;
  if (!st) st = cli_context(&r.ctx);
  if (!st) st = tsr_device_open(r.ctx, a.device, &r.dev);
  if (!st && a.profile) st = tsr_device_load_profile(r.dev, a.profile);
  int rc = st ? cli_fail(st) : compile_and_run(&r, &p);
  if (!rc) rc = show(&a, r.ctx, p);
  tsr_profile_destroy(&p);
  tsr_program_destroy(&r.prog);
  tsr_device_close(&r.dev);
  tsr_context_destroy(&r.ctx);
  weights_close(&r.inputs.w);
  return rc;
}

int cmd_profile(int argc, char **argv) { return run(argc, argv, report); }
int cmd_check(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], "--mesh")) return check_mesh(argc, argv);
  return run(argc, argv, audit);
}
