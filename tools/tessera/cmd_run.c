/* tools/tessera/cmd_run.c - `tessera run FILE`: IR text of any level or an ONNX model, inputs and outputs as .npy
 * files, inputs also from a file of weights. Without one, inputs that are not given are random (--seed); behind the
 * first 64 MiB of them, inputs of the same type and size take turns with the same memory. f16, bf16 and fp8 results are
 * written as f32, others in their own type. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/dtype.h"
#include "core/base/sample.h"
#include "core/import/npy.h"
#include "core/import/onnx.h"
#include "tools/tessera/cli.h"
#include "tools/tessera/graph_text.h"
#include "tools/tessera/onnx_file.h"
#include "tools/tessera/run_mesh.h"
#include "tools/tessera/run_weights.h"
#include "tools/tessera/shapes.h"

enum { MAX_FILES = 256, MAX_REPEAT = 100000000, MOST_DRAWN = 64 << 20 };

typedef struct files {
  const char *text[MAX_FILES]; /* NAME=PATH */
  int n;
} files;

/* Where inputs come from. */
typedef struct sources {
  files npy;
  weights *w; /* NULL: none */
} sources;

typedef struct run_state {
  const char *file;
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *prog;
  tsr_binding *in, *out;
  int n_in, n_out;
  size_t drawn;      /* bytes of random inputs */
  int *next, *again; /* per drawn input: the next of its type and size, round and round; of the first of them, which is
                        shared next, else -1 */
  bool *shared;      /* per input: its memory is another one's */
} run_state;

static bool add_file(void *user, const char *value) {
  files *f = user;
  if (!strchr(value, '=') || f->n == MAX_FILES) {
    cli_usage("run", "\"%s\" is not NAME=FILE", value);
    return false;
  }
  f->text[f->n++] = value;
  return true;
}

static bool same_name(const char *a, const char *b) {
  size_t n = strcspn(a, "=");
  return n == strcspn(b, "=") && !strncmp(a, b, n);
}

/* An input whose file was not asked for: there is none of that name, or an earlier file was its. */
static int not_used(const files *f, int i) {
  const int n = (int)strcspn(f->text[i], "=");
  for (int k = 0; k < i; k++)
    if (same_name(f->text[k], f->text[i])) return cli_usage("run", "--input %.*s is given twice", n, f->text[i]);
  return cli_usage("run", "the program has no input \"%.*s\"", n, f->text[i]);
}

static const char *path_for(const files *f, const char *name, int *used) {
  for (int i = 0; i < f->n; i++) {
    size_t n = strcspn(f->text[i], "=");
    if (shape_same_name(f->text[i], n, name)) {
      if (used) used[i]++;
      return f->text[i] + n + 1;
    }
  }
  return NULL;
}

static uint64_t next_random(uint64_t *s) {
  uint64_t z = *s += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

static void fill_random(tsr_dtype t, void *p, size_t n, uint64_t seed) {
  uint64_t s = seed;
  n *= (size_t)dtype_parts(t);
  for (size_t i = 0; i < n; i++) {
    double u = (double)(next_random(&s) >> 11) / 9007199254740992.0, v = 2 * u - 1;
    dtype_store(t, p, i, t == TSR_BOOL ? u > 0.5 : dtype_is_float(dtype_part(t)) ? v : floor(v * 8));
  }
}

static bool same_shape(const tsr_shape *a, const tsr_shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

/* Memory for an input or output; what is too large is named with its place in the text. */
static int make_buffer(const run_state *r, const char *what, int i, const tsr_tensor_info *t, tsr_buffer **out) {
  char number[16];
  snprintf(number, sizeof number, "%d", i);
  tsr_status st = tsr_buffer_create(r->dev, t->bytes, TSR_MEMORY_DEVICE, out);
  if (tsr_status_code(st) != TSR_OUT_OF_MEMORY) return st ? cli_fail(st) : EXIT_OK;
  int rc = cli_usage("run", "%s:%d:%d: no memory for %s %s: %s", r->file, t->line, t->column, what,
                     *what == 'i' && *t->name ? t->name : number, tsr_status_cause(st));
  tsr_status_free(st);
  return rc;
}

static int make_buffers(run_state *r) {
  r->in = calloc((size_t)r->n_in + 1, sizeof *r->in);
  r->out = calloc((size_t)r->n_out + 1, sizeof *r->out);
  r->next = malloc(((size_t)r->n_in + 1) * sizeof *r->next);
  r->again = malloc(((size_t)r->n_in + 1) * sizeof *r->again);
  r->shared = calloc((size_t)r->n_in + 1, sizeof *r->shared);
  if (!r->in || !r->out || !r->next || !r->again || !r->shared) return cli_usage("run", "out of memory");
  int rc = EXIT_OK;
  for (int i = 0; i < r->n_in; i++) r->next[i] = r->again[i] = -1;
  for (int i = 0; i < r->n_out && !rc; i++) {
    tsr_tensor_info t = tsr_program_output(r->prog, i);
    rc = make_buffer(r, "output", i, &t, &r->out[i].buffer);
  }
  return rc;
}

/* The first drawn input of t's type and size, -1 if there is none. Its `again` is the one to be shared next. */
static int drawn_like(const run_state *r, const tsr_tensor_info *t, int before) {
  for (int i = 0; i < before; i++) {
    if (r->again[i] < 0) continue;
    tsr_tensor_info x = tsr_program_input(r->prog, i);
    if (x.dtype == t->dtype && x.bytes == t->bytes) return i;
  }
  return -1;
}

/* A random input: memory of its own, or, where there is much of that already, another one's. False: it is to be drawn.
 */
static bool share_input(run_state *r, int i, const tsr_tensor_info *t) {
  int first = drawn_like(r, t, i);
  if (first >= 0 && r->drawn >= MOST_DRAWN) {
    int from = r->again[first];
    r->again[first] = r->next[from];
    r->in[i].buffer = r->in[from].buffer;
    return r->shared[i] = true;
  }
  r->drawn += t->bytes;
  r->next[i] = first < 0 ? i : r->next[first];
  if (first < 0) r->again[i] = i;
  else r->next[first] = i;
  return false;
}

static bool is_given(void *user, const char *name) { return path_for(&((sources *)user)->npy, name, NULL) != NULL; }

static int load_input(run_state *r, int i, const sources *from, int *used, uint64_t seed) {
  tsr_tensor_info t = tsr_program_input(r->prog, i);
  char number[16], why[512], a[128], b[128];
  snprintf(number, sizeof number, "%d", i);
  const char *path = path_for(&from->npy, *t.name ? t.name : number, used);
  if (!path && !from->w && share_input(r, i, &t)) return EXIT_OK;
  int made = make_buffer(r, "input", i, &t, &r->in[i].buffer);
  if (made) return made;
  if (!path && from->w)
    return run_weights_bind(from->w, weights_find(from->w, *t.name ? t.name : number), &t, r->in[i].buffer);
  void *data = malloc(t.bytes ? t.bytes : 1);
  if (!data)
    return cli_usage("run", "%s:%d:%d: no memory for input %s: %zu bytes", r->file, t.line, t.column, t.name, t.bytes);
  int rc = EXIT_OK;
  if (path) {
    npy_array x;
    if (!npy_load(path, &x, why, sizeof why)) rc = cli_usage("run", "%s", why);
    else if (!same_shape(&x.shape, &t.shape))
      rc = cli_usage("run", "%s: shape %s, input %s needs %s", path, cli_shape_text(&x.shape, a, sizeof a), t.name,
                     cli_shape_text(&t.shape, b, sizeof b));
    else if (dtype_is_complex(x.dtype) && !dtype_is_complex(t.dtype))
      rc = cli_usage("run", "%s: %s numbers; input %s is %s", path, tsr_dtype_name(x.dtype), t.name,
                     tsr_dtype_name(t.dtype));
    else npy_convert(&x, t.dtype, data);
    npy_free(&x);
  } else {
    fill_random(t.dtype, data, t.bytes / tsr_dtype_size(t.dtype), seed * 1000003 + (uint64_t)i);
  }
  if (!rc) {
    tsr_status st = tsr_buffer_write(r->in[i].buffer, 0, data, t.bytes);
    if (st) rc = cli_fail(st);
  }
  free(data);
  return rc;
}

static int save_output(run_state *r, int i, const char *path) {
  tsr_tensor_info t = tsr_program_output(r->prog, i);
  npy_array x = {.dtype = t.dtype, .shape = t.shape, .bytes = t.bytes, .data = malloc(t.bytes ? t.bytes : 1)};
  int rc = EXIT_OK;
  tsr_status st = x.data ? tsr_buffer_read(r->out[i].buffer, 0, x.data, t.bytes) : NULL;
  if (!x.data) rc = cli_usage("run", "no memory for output %d", i);
  else if (st) rc = cli_fail(st);
  bool narrow = t.dtype == TSR_F16 || t.dtype == TSR_BF16 || t.dtype == TSR_F8E4M3 || t.dtype == TSR_F8E5M2 ||
                t.dtype == TSR_TF32 || t.dtype == TSR_COMPLEX32;
  if (!rc && narrow) {
    const tsr_dtype to = dtype_is_complex(t.dtype) ? TSR_COMPLEX64 : TSR_F32;
    const size_t bytes = t.bytes / tsr_dtype_size(t.dtype) * tsr_dtype_size(to);
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
  for (int i = 0; i < r->n_out; i++) {
    tsr_tensor_info t = tsr_program_output(r->prog, i);
    printf("output %d: %s %s\n", i, cli_shape_text(&t.shape, shape, sizeof shape), tsr_dtype_name(t.dtype));
  }
}

static int execute(run_state *r, long repeat) {
  if (repeat < 0 || repeat > MAX_REPEAT) return cli_usage("run", "--repeat %ld: 0 to %d", repeat, MAX_REPEAT);
  double *us = malloc(sizeof *us * (size_t)(repeat > 0 ? repeat : 1));
  if (!us) return cli_usage("run", "no memory for %ld times", repeat);
  tsr_status st = NULL;
  for (long i = 0; i < (repeat > 0 ? repeat : 1) && !st; i++) {
    int64_t from = clock_ns();
    st = tsr_program_run(r->prog, NULL, r->in, r->out);
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

/* An input's unknown dimensions are its file's. */
static bool file_shape(void *user, const char *name, tsr_shape *out) {
  const sources *from = user;
  const char *path = path_for(&from->npy, name, NULL);
  const weights_tensor *t = path || !from->w ? NULL : weights_find(from->w, name);
  npy_array x;
  char why[512];
  if (t) return *out = t->shape, true;
  if (!path || !npy_load(path, &x, why, sizeof why)) return false; /* loaded again, and refused, as data */
  *out = x.shape;
  npy_free(&x);
  return true;
}

/* Output NAME or N of a request NAME|N=FILE. Names are those of the Graph IR text; -1 after one line. */
static int find_output(const run_state *r, const char *request, const char *text, size_t bytes) {
  size_t n = strcspn(request, "=");
  char *end;
  long k = strtol(request, &end, 10);
  graph_text g;
  if ((end != request + n || !n) && onnx_is(text, bytes)) k = onnx_file_output(r->file, request, n);
  else if (end != request + n || !n) {
    tsr_status_free(graph_text_read(text, bytes, r->file, &g)); /* of another level: there are no names */
    k = graph_text_find_output(&g, request, n);
    graph_text_clear(&g);
  }
  if (k >= 0 && k < r->n_out) return (int)k;
  cli_usage("run", "no output \"%.*s\"; the program has %d", (int)n, request, r->n_out);
  return -1;
}

/* Files that aren't programs, told by what they are. */
static int check_content(const char *file, const char *text, size_t bytes) {
  if (weights_is(text, bytes))
    return cli_usage("run", "%s: a file of weights, no program (--weights binds it to one)", file);
  return EXIT_OK;
}

static bool input_file(void *user, const char *name, npy_array *out) {
  const char *path = path_for(&((const sources *)user)->npy, name, NULL);
  char why[512];
  return path && npy_load(path, out, why, sizeof why);
}

static int compile(run_state *r, const shape_list *shapes, const sources *inputs, const char *text, size_t bytes,
                   const tsr_compile_options *o) {
  tsr_graph *g;
  if (!onnx_is(text, bytes)) return shape_list_compile(shapes, r->ctx, r->dev, text, bytes, r->file, o, &r->prog);
  int rc = onnx_file_graph(shapes, r->ctx, r->file, input_file, (void *)(uintptr_t)inputs, &g);
  tsr_status st = rc ? NULL : tsr_program_compile(r->dev, g, o, &r->prog);
  tsr_graph_destroy(&g);
  return st ? cli_fail(st) : rc;
}

static int run_file(run_state *r, const char *file, const char *device, tsr_policy policy, const sources *inputs,
                    const files *outputs, const shape_list *shapes, long seed, long repeat, const char *tune) {
  size_t bytes;
  r->file = file;
  char *text = cli_read_file(file, &bytes);
  if (!text) return EXIT_USAGE;
  tsr_compile_options o = {.policy = policy,
                           .tune = !tune                   ? TSR_TUNE_DEFAULT
                                   : !strcmp(tune, "off")  ? TSR_TUNE_OFF
                                   : !strcmp(tune, "full") ? TSR_TUNE_FULL
                                                           : TSR_TUNE_CACHED};
  int rc = check_content(file, text, bytes);
  tsr_status st = rc ? NULL : tsr_device_open(r->ctx, device, &r->dev);
  if (!rc) rc = st ? cli_fail(st) : compile(r, shapes, inputs, text, bytes, &o);
  int which[MAX_FILES];
  r->n_out = rc ? 0 : tsr_program_n_outputs(r->prog);
  for (int i = 0; i < outputs->n && !rc; i++)
    if ((which[i] = find_output(r, outputs->text[i], text, bytes)) < 0) rc = EXIT_USAGE;
  free(text);
  if (!rc && inputs->w) rc = run_weights_check(inputs->w, r->prog, is_given, (void *)(uintptr_t)inputs);
  if (rc) return rc;
  r->n_in = tsr_program_n_inputs(r->prog);
  int used[MAX_FILES] = {0};
  if ((rc = make_buffers(r))) return rc;
  for (int i = 0; i < r->n_in; i++)
    if ((rc = load_input(r, i, inputs, used, (uint64_t)seed))) return rc;
  for (int i = 0; i < inputs->npy.n; i++)
    if (!used[i]) return not_used(&inputs->npy, i);
  if ((rc = execute(r, repeat))) return rc;
  for (int i = 0; i < outputs->n; i++)
    if ((rc = save_output(r, which[i], strchr(outputs->text[i], '=') + 1))) return rc;
  if (!outputs->n) summary(r);
  return EXIT_OK;
}

int cmd_run(int argc, char **argv) {
  const char *device = NULL, *policy_name = NULL, *tune = NULL, *weights_file = NULL;
  mesh_run mesh = {0};
  long seed = 0, repeat = 0;
  sources inputs = {.w = NULL};
  files outputs = {.n = 0};
  shape_list shapes = {.command = "run", .find = file_shape, .user = &inputs};
  const option options[] = {{.name = "--device", .text = &device},
                            {.name = "--policy", .text = &policy_name},
                            {.name = "--seed", .number = &seed},
                            {.name = "--repeat", .number = &repeat},
                            {.name = "--input", .each = add_file, .user = &inputs.npy},
                            {.name = "--weights", .text = &weights_file},
                            {.name = "--output", .each = add_file, .user = &outputs},
                            {.name = "--tune", .text = &tune},
                            {.name = "--shape", .each = shape_list_add, .user = &shapes},
                            {.name = "--mesh", .text = &mesh.mesh},
                            {.name = "--search", .flag = &mesh.search},
                            {.name = "--explain", .flag = &mesh.explain}};
  if (!cli_options("run", &argc, argv, options, 12)) return EXIT_USAGE;
  if (argc != 2) return cli_usage("run", "needs one FILE: IR text or an ONNX model");
  if (tune && strcmp(tune, "off") && strcmp(tune, "cached") && strcmp(tune, "full"))
    return cli_usage("run", "--tune is off, cached or full");
  tsr_policy policy = TSR_POLICY_DEFAULT;
  tsr_status st = policy_name ? tsr_policy_parse(policy_name, &policy) : NULL;
  if (st) return cli_fail(st);
  if (!mesh.mesh && (mesh.search || mesh.explain)) return cli_usage("run", "--search and --explain are for --mesh");
  if (mesh.mesh && (tune || weights_file || repeat || inputs.npy.n || outputs.n || shapes.n))
    return cli_usage("run", "--mesh takes --device, --policy, --seed, --search and --explain");
  run_state r = {0};
  if (mesh.mesh) {
    mesh.file = argv[1], mesh.devices = device, mesh.policy = policy, mesh.seed = (uint64_t)seed;
    if ((st = cli_context(&r.ctx))) return cli_fail(st);
    int done = run_mesh(r.ctx, &mesh);
    tsr_context_destroy(&r.ctx);
    return done;
  }
  if (weights_file) st = weights_open(NULL, weights_file, &inputs.w);
  if (!st) st = cli_context(&r.ctx);
  int rc = st ? cli_fail(st) : run_file(&r, argv[1], device, policy, &inputs, &outputs, &shapes, seed, repeat, tune);
  for (int i = 0; r.in && r.shared && i < r.n_in; i++)
    if (!r.shared[i]) tsr_buffer_destroy(&r.in[i].buffer);
  for (int i = 0; r.out && i < r.n_out; i++) tsr_buffer_destroy(&r.out[i].buffer);
  free(r.in);
  free(r.out);
  free(r.next);
  free(r.again);
  free(r.shared);
  tsr_program_destroy(&r.prog);
  tsr_device_close(&r.dev);
  tsr_context_destroy(&r.ctx);
  weights_close(&inputs.w);
  return rc;
}
