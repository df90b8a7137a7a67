/* tools/tessera/cmd_run.c - `tessera run FILE`: IR text of any level or an ONNX model, inputs and outputs as .npy
 * files, inputs also from a file of weights. Without one, inputs that are not given are random (--seed); behind the
 * first 64 MiB of them, inputs of the same type and size take turns with the same memory. f16, bf16 and fp8 results are
 * written as f32, others in their own type. */
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/dtype.h"
#include "core/base/sample.h"
#include "tools/tessera/graph_text.h"
#include "tools/tessera/onnx_file.h"
#include "tools/tessera/operands.h"
#include "tools/tessera/program_file.h"
#include "tools/tessera/run_mesh.h"

enum { MAX_REPEAT = 100000000 };

typedef struct run_state {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *prog;
  program_file file;
  operands o;
} run_state;

static int save_output(run_state *r, int i, const char *path) {
  tsr_tensor_info t = tsr_program_output(r->prog, i);
  npy_array x = {.dtype = t.dtype, .shape = t.shape, .bytes = t.bytes, .data = malloc(t.bytes ? t.bytes : 1)};
  int rc = EXIT_OK;
  tsr_status st = x.data ? tsr_buffer_read(r->o.out[i].buffer, 0, x.data, t.bytes) : NULL;
  if (!x.data) rc = cli_usage("run", "no memory for output %d", i);
  else if (st) rc = cli_fail(st);
  bool narrow = t.dtype == TSR_F16 || t.dtype == TSR_BF16 || t.dtype == TSR_F8E4M3 || t.dtype == TSR_F8E5M2 ||
                t.dtype == TSR_TF32 || t.dtype == TSR_COMPLEX32 || dtype_packed(t.dtype);
  if (!rc && narrow) {
    const tsr_dtype byte = dtype_packed(t.dtype), to = dtype_is_complex(t.dtype) ? TSR_COMPLEX64
                                                       : byte                    ? byte
                                                                                 : TSR_F32;
    const size_t bytes = cli_count(&t.shape) * tsr_dtype_size(to);
    npy_array wide = {.dtype = to, .shape = t.shape, .bytes = bytes, .data = malloc(bytes + 1)};
    if (wide.data) npy_convert(&x, to, wide.data);
    npy_free(&x);
    x = wide;
    if (!x.data) rc = cli_usage("run", "no memory for output %d", i);
  }
  if (!rc && !npy_has_form(t.dtype) && !narrow)
    rc = cli_usage("run", "%s: element type %s has no .npy form", path, tsr_dtype_name(t.dtype));
  FILE *f = rc ? NULL : cli_create("run", path);
  if (!rc && !f) rc = EXIT_USAGE;
  if (f) npy_write(f, &x), rc = cli_finish("run", path, f);
  npy_free(&x);
  return rc;
}

static void summary(run_state *r) {
  char shape[128];
  for (int i = 0; i < r->o.n_out; i++) {
    tsr_tensor_info t = tsr_program_output(r->prog, i);
    printf("output %d: %s %s\n", i, cli_shape_text(&t.shape, shape, sizeof shape), tsr_dtype_name(t.dtype));
  }
}

static int execute(run_state *r, long repeat) {
  double *us = malloc(sizeof *us * (size_t)(repeat > 0 ? repeat : 1));
  if (!us) return cli_usage("run", "no memory for %ld times", repeat);
  tsr_status st = NULL;
  for (long i = 0; i < (repeat > 0 ? repeat : 1) && !st; i++) {
    int64_t from = clock_ns();
    st = tsr_program_run(r->prog, NULL, r->o.in, r->o.out);
    if (!st) {
      tsr_event *e = NULL; /* waits for the device's own stream */
      st = tsr_event_create(r->dev, &e);
      if (!st) st = tsr_event_record(e, NULL);
      if (!st) st = tsr_event_sync(e);
      tsr_event_destroy(&e);
    }
    us[i] = clock_us_since(from);
  }
  if (!st && repeat > 0) {
    sample_sort(us, (size_t)repeat);
    fprintf(stderr, "median %.1f us, minimum %.1f us, %ld runs\n", us[repeat / 2], us[0], repeat);
  }
  free(us);
  return st ? cli_fail(st) : EXIT_OK;
}

/* Output NAME or N of a request NAME|N=FILE. Names are those of the Graph IR text; -1 after one line. */
static int find_output(const run_state *r, const char *request) {
  const program_file *f = &r->file;
  const int n_out = tsr_program_n_outputs(r->prog);
  size_t n = strcspn(request, "=");
  char *end;
  long k = strtol(request, &end, 10);
  graph_text g;
  if ((end != request + n || !n) && f->onnx) k = onnx_file_output(f->path, n_out, request, n);
  else if (end != request + n || !n) {
    tsr_status_free(graph_text_read(f->text, f->bytes, f->path, &g)); /* of another level: there are no names */
    k = graph_text_find_output(&g, request, n);
    graph_text_clear(&g);
  }
  if (k >= 0 && k < n_out) return (int)k;
  cli_usage("run", "no output \"%.*s\"; the program has %d", (int)n, request, n_out);
  return -1;
}

static int run_file(run_state *r, const char *device, const tsr_compile_options *options, input_source *inputs,
                    const named_files *outputs, const shape_list *shapes, long seed, long repeat) {
  tsr_status st = tsr_device_open(r->ctx, device, &r->dev);
  int which[MAX_FILES];
  int rc = st ? cli_fail(st) : program_file_compile(&r->file, shapes, inputs, r->ctx, r->dev, options, &r->prog);
  for (int i = 0; i < outputs->n && !rc; i++)
    if ((which[i] = find_output(r, outputs->text[i])) < 0) rc = EXIT_USAGE;
  r->o = (operands){
      .command = "run", .file = r->file.path, .dev = r->dev, .prog = r->prog, .seed = (uint64_t)seed, .share = true};
  program_file_clear(&r->file);
  if (!rc) rc = operands_make(&r->o, inputs);
  if (!rc) rc = execute(r, repeat);
  for (int i = 0; i < outputs->n && !rc; i++) rc = save_output(r, which[i], strchr(outputs->text[i], '=') + 1);
  if (!rc && !outputs->n) summary(r);
  return rc;
}

static tsr_tune tune_of(const char *name) {
  return !name                   ? TSR_TUNE_DEFAULT
         : !strcmp(name, "off")  ? TSR_TUNE_OFF
         : !strcmp(name, "full") ? TSR_TUNE_FULL
                                 : TSR_TUNE_CACHED;
}

int cmd_run(int argc, char **argv) {
  const char *device = NULL, *policy = NULL, *precision = NULL, *tune = NULL, *weights_file = NULL;
  mesh_run mesh = {0};
  long seed = 0, repeat = CLI_NOT_GIVEN;
  input_source inputs = {.npy.command = "run"};
  named_files outputs = {.command = "run"};
  shape_list shapes = {.command = "run", .find = input_shape, .user = &inputs};
  const option options[] = {{.name = "--device", .text = &device},
                            {.name = "--policy", .text = &policy},
                            {.name = "--precision", .text = &precision},
                            {.name = "--seed", .number = &seed},
                            {.name = "--repeat", .number = &repeat},
                            {.name = "--input", .each = named_files_add, .user = &inputs.npy},
                            {.name = "--weights", .text = &weights_file},
                            {.name = "--output", .each = named_files_add, .user = &outputs},
                            {.name = "--tune", .text = &tune},
                            {.name = "--shape", .each = shape_list_add, .user = &shapes},
                            {.name = "--bounded", .flag = &shapes.bounded},
                            {.name = "--mesh", .text = &mesh.mesh},
                            {.name = "--transport", .text = &mesh.transport},
                            {.name = "--search", .flag = &mesh.search},
                            {.name = "--row-chunks", .number = &mesh.row_chunks},
                            {.name = "--explain", .flag = &mesh.explain}};
  if (!cli_options("run", &argc, argv, options, sizeof options / sizeof *options)) return EXIT_USAGE;
  if (argc != 2) return cli_usage("run", "needs one FILE: IR text or an ONNX model");
  if (tune && strcmp(tune, "off") && strcmp(tune, "cached") && strcmp(tune, "full"))
    return cli_usage("run", "--tune is off, cached or full");
  tsr_compile_options o = {.tune = tune_of(tune)};
  tsr_status st = cli_numerics(policy, precision, &o);
  if (st) return cli_fail(st);
  if (repeat != CLI_NOT_GIVEN && (repeat < 1 || repeat > MAX_REPEAT))
    return cli_usage("run", "--repeat %ld is not 1 to %d", repeat, MAX_REPEAT);
  if (!mesh.mesh && (mesh.search || mesh.explain || mesh.transport || mesh.row_chunks))
    return cli_usage("run", "--search, --explain, --transport and --row-chunks are for --mesh");
  if (mesh.row_chunks < 0 || mesh.row_chunks > 1 << 20) return cli_usage("run", "--row-chunks is 0 to 1048576");
  if (mesh.transport && strcmp(mesh.transport, "mpi")) return cli_usage("run", "--transport is mpi");
  if (mesh.mesh && (precision || tune || weights_file || repeat != CLI_NOT_GIVEN || inputs.npy.n || outputs.n ||
                    shapes.n || shapes.bounded))
    return cli_usage("run", "--mesh takes --device, --policy, --seed, --transport, --search, --row-chunks and "
                            "--explain");
  run_state r = {0};
  if (mesh.mesh) {
    mesh.file = argv[1], mesh.devices = device, mesh.policy = o.policy, mesh.seed = (uint64_t)seed;
    if ((st = cli_context(&r.ctx))) return cli_fail(st);
    int done = run_mesh(r.ctx, &mesh);
    tsr_context_destroy(&r.ctx);
    return done;
  }
  if (weights_file) st = weights_open(NULL, weights_file, &inputs.w);
  if (!st) st = cli_context(&r.ctx);
  int rc = st ? cli_fail(st) : program_file_read("run", argv[1], &r.file);
  if (!rc && shapes.bounded && !r.file.onnx) rc = cli_usage("run", "--bounded is of ONNX models");
  if (!rc) rc = run_file(&r, device, &o, &inputs, &outputs, &shapes, seed, repeat);
  operands_clear(&r.o);
  program_file_clear(&r.file);
  tsr_program_destroy(&r.prog);
  tsr_device_close(&r.dev);
  tsr_context_destroy(&r.ctx);
  weights_close(&inputs.w);
  return rc;
}
