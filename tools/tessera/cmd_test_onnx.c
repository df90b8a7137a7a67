/* tools/tessera/cmd_test_onnx.c - `tessera test-onnx DIR`: ONNX's own cases, and what has their form. A case is a
 * folder with model.onnx and test_data_set_N/input_N.pb and output_N.pb; DIR is one, or has them. Results must have the
 * type and shape that is recorded, and elements within ONNX's own tolerance: 1e-7 + 1e-3 |recorded|, or what roundings
 * of the type make of the largest one. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/file.h"
#include "core/base/str.h"
#include "core/import/onnx.h"
#include "tools/tessera/cli.h"
#include "tools/tessera/onnx_case.h"

enum { MOST_SETS = 64 };
/* Cases whose record isn't what ONNX's specification says. */
static const struct {
  const char *name, *why;
} disputed[] = {
    {"test_adam_multiple", "the record has epsilon 0.01, the model leaves it out"},
    {"test_qlinearmatmul_2D_int8_float16", "the record wraps where the specification saturates"},
    {"test_qlinearmatmul_2D_int8_float32", "the record wraps where the specification saturates"},
    {"test_qlinearmatmul_3D_int8_float16", "the record wraps where the specification saturates"},
    {"test_qlinearmatmul_3D_int8_float32", "the record wraps where the specification saturates"},
    {"test_resize_downsample_scales_cubic_align_corners", "the record takes a result of 3.2 elements, not 3"},
    {"test_resize_downsample_scales_linear_align_corners", "the record takes a result of 1.2 elements, not 1"}};

typedef enum verdict { PASSED, FAILED, UNSUPPORTED } verdict;
static const char *const words[] = {"passed", "failed", "unsupported"};

typedef struct tester {
  tsr_context *ctx;
  tsr_device *dev;
  bool json;
  int n[3];
} tester;

static verdict fail(strb *why, tsr_status st, verdict otherwise) {
  const verdict v = tsr_status_code(st) == TSR_UNSUPPORTED ? UNSUPPORTED : otherwise;
  strb_puts(why, tsr_status_cause(st));
  tsr_status_free(st);
  return v;
}

static verdict differs(strb *why, const onnx_datum *want, int output, size_t at, double got, double expected) {
  strb_printf(why, "output %d, element %zu of %s: %.9g, recorded is %.9g", output, at, want->t->type, got, expected);
  return FAILED;
}

static verdict compare(const onnx_datum *want, int output, const tsr_tensor_info *t, const void *got, strb *why) {
  const tsr_shape s = onnx_datum_shape(want);
  char a[128], b[128];
  const bool same = s.rank == t->shape.rank && !memcmp(s.dims, t->shape.dims, sizeof *s.dims * (size_t)s.rank);
  if (!same || t->dtype != want->dtype) {
    strb_printf(why, "output %d is %s %s, recorded is %s %s", output, cli_shape_text(&t->shape, a, sizeof a),
                tsr_dtype_name(t->dtype), cli_shape_text(&s, b, sizeof b), want->t->type);
    return FAILED;
  }
  const dtype_info *d = dtype_get(t->dtype);
  const double relative = d->is_float ? fmax(1e-3, 2 * d->eps) : 0;
  double largest = 0; /* of sums whose terms cancel, what is left is as exact as they are */
  for (size_t i = 0; i < want->t->elements && d->is_float; i++) {
    const double y = fabs(dtype_load(t->dtype, want->e.p, i));
    if (isfinite(y)) largest = fmax(largest, y);
  }
  for (size_t i = 0; i < want->t->elements; i++) {
    const double x = dtype_load(t->dtype, got, i), y = dtype_load(t->dtype, want->e.p, i);
    if (isnan(x) && isnan(y)) continue;
    /* Integers of 64 bits as they are: a double holds those of 53. */
    if (dtype_is_long(t->dtype) ? dtype_load_int(t->dtype, got, i) == dtype_load_int(t->dtype, want->e.p, i) : x == y)
      continue;
    if (d->is_float && isfinite(y) && fabs(x - y) <= 1e-7 + 4 * d->eps * largest + relative * fabs(y)) continue;
    return differs(why, want, output, i, x, y);
  }
  return PASSED;
}

/* Buffers of a program's inputs and outputs. */
typedef struct buffers {
  tsr_binding in[ONNX_CASE_MOST], out[ONNX_CASE_MOST];
} buffers;

static tsr_status run_program(tester *x, tsr_program *p, const onnx_data *in, buffers *b) {
  int at = 0;
  if (tsr_program_n_inputs(p) > ONNX_CASE_MOST || tsr_program_n_outputs(p) > ONNX_CASE_MOST)
    return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("onnx", NULL, NULL), "more than %d tensors", ONNX_CASE_MOST);
  for (int i = 0; i < tsr_program_n_inputs(p); i++) {
    const tsr_tensor_info t = tsr_program_input(p, i);
    TSR_TRY(tsr_buffer_create(x->dev, t.bytes, TSR_MEMORY_DEVICE, &b->in[i].buffer));
    while (!in->v[at].t) at++; /* an empty sequence or such */
    if (t.bytes) TSR_TRY(tsr_buffer_write(b->in[i].buffer, 0, in->v[at].e.p, t.bytes));
    at++;
  }
  for (int i = 0; i < tsr_program_n_outputs(p); i++)
    TSR_TRY(tsr_buffer_create(x->dev, tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &b->out[i].buffer));
  return tsr_program_run(p, NULL, b->in, b->out);
}

static verdict run_and_compare(tester *x, tsr_program *p, const onnx_data *in, const onnx_data *out, strb *why) {
  buffers b = {0};
  verdict v = PASSED;
  tsr_status st = run_program(x, p, in, &b);
  if (st) v = fail(why, st, FAILED);
  for (int i = 0; i < out->n && v == PASSED; i++) {
    const tsr_tensor_info t = tsr_program_output(p, i);
    void *got = malloc(t.bytes + 1);
    st = got ? tsr_buffer_read(b.out[i].buffer, 0, got, t.bytes) : st_oom();
    v = st ? fail(why, st, FAILED) : compare(&out->v[i], i, &t, got, why);
    free(got);
  }
  for (int i = 0; i < ONNX_CASE_MOST; i++) {
    tsr_buffer_destroy(&b.in[i].buffer);
    tsr_buffer_destroy(&b.out[i].buffer);
  }
  return v;
}

/* For inputs of these shapes; where a shape or a count depends on what they hold, for those. */
static tsr_status import(tester *x, const char *model, tsr_import_input *in, int n, tsr_graph **out) {
  const void *data[ONNX_CASE_MOST];
  const tsr_import_desc desc = {.path = model, .inputs = in, .n_inputs = n};
  for (int i = 0; i < n; i++) data[i] = in[i].data, in[i].data = NULL;
  tsr_status st = tsr_graph_import(x->ctx, &desc, out);
  if (tsr_status_code(st) != TSR_UNSUPPORTED) return st;
  tsr_status_free(st);
  for (int i = 0; i < n; i++) in[i].data = data[i];
  return tsr_graph_import(x->ctx, &desc, out);
}

/* What the model says of an input with that tensor. */
static const char *type_in(const onnx_model *m, const onnx_datum *d) {
  const size_t n = strcspn(d->name, "[");
  for (size_t i = 0; i < m->inputs.n; i++) {
    const onnx_value *v = &m->inputs.v[i];
    if (!strcmp(d->name, v->name) || (v->is_sequence && !strncmp(d->name, v->name, n) && !v->name[n])) return v->type;
  }
  return "";
}

static verdict run_set(tester *x, const char *model, const onnx_model *m, const onnx_data *data, const onnx_data *want,
                       strb *why) {
  tsr_import_input in[ONNX_CASE_MOST];
  tsr_graph *g = NULL;
  tsr_program *p = NULL;
  for (int i = 0; i < data->n; i++) {
    const onnx_datum *d = &data->v[i];
    const char *type = type_in(m, d);
    in[i] = (tsr_import_input){d->name, onnx_datum_shape(d), d->dtype, d->e.p};
    if (d->t && *type && strcmp(d->t->type, type)) {
      strb_printf(why, "input %s is %s, its data %s", d->name, type, d->t->type);
      return FAILED;
    }
  }
  tsr_status st = import(x, model, in, data->n, &g);
  if (!st) st = tsr_program_compile(x->dev, g, NULL, &p);
  verdict v = st ? fail(why, st, FAILED) : PASSED;
  if (!st && tsr_program_n_outputs(p) < want->n) {
    strb_printf(why, "%d outputs, recorded are %d", tsr_program_n_outputs(p), want->n);
    v = FAILED;
  }
  if (v == PASSED) v = run_and_compare(x, p, data, want, why);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  return v;
}

static verdict run_case(tester *x, const char *folder, strb *why) {
  char path[4096], set[4096];
  onnx_model *m = NULL;
  onnx_data *s = calloc(2, sizeof *s); /* inputs, outputs */
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  tsr_status st = s ? onnx_open(path, &m) : st_oom();
  verdict v = st ? fail(why, st, FAILED) : PASSED;
  int sets = 0;
  for (; sets < MOST_SETS && v == PASSED; sets++) {
    snprintf(set, sizeof set, "%s/test_data_set_%d", folder, sets);
    DIR *d = opendir(set);
    if (!d) break;
    closedir(d);
    st = onnx_data_read(set, "input", m->inputs.v, m->inputs.n, true, &s[0]);
    if (!st) st = onnx_data_read(set, "output", m->outputs.v, m->outputs.n, false, &s[1]);
    v = st ? fail(why, st, FAILED) : run_set(x, path, m, &s[0], &s[1], why);
    for (int i = 0; i < 2; i++) onnx_data_clear(&s[i]);
  }
  if (!sets && v == PASSED) {
    strb_puts(why, "it has no data");
    v = UNSUPPORTED;
  }
  onnx_close(&m);
  free(s);
  return v;
}

static void report(tester *x, const char *name, verdict v, const strb *why) {
  x->n[v]++;
  if (x->json) {
    printf("{\"name\": ");
    cli_json_string(stdout, name);
    printf(", \"status\": \"%s\", \"why\": ", words[v]);
    cli_json_string(stdout, strb_text(why));
    printf("}\n");
  } else if (v != PASSED) printf("%s: %s: %s\n", name, words[v], strb_text(why));
  fflush(stdout);
}

static bool is_case(const char *folder) {
  char path[4096];
  const char *why;
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  FILE *f = file_open(path, &why);
  if (f) fclose(f);
  return f != NULL;
}

static void one(tester *x, const char *folder, const char *name) {
  strb why;
  strb_init(&why, NULL);
  verdict v = run_case(x, folder, &why);
  for (size_t i = 0; v == FAILED && i < sizeof disputed / sizeof *disputed; i++)
    if (!strcmp(disputed[i].name, name)) {
      strb_printf(&why, "; %s", disputed[i].why);
      v = UNSUPPORTED;
    }
  report(x, name, v, &why);
  strb_clear(&why);
}

static int run_folder(tester *x, const char *folder) {
  struct dirent **list = NULL;
  if (is_case(folder)) {
    const char *slash = strrchr(folder, '/');
    one(x, folder, slash && slash[1] ? slash + 1 : folder);
    return EXIT_OK;
  }
  const int n = scandir(folder, &list, NULL, alphasort);
  if (n < 0) return cli_usage("test-onnx", "%s: can't be listed", folder);
  for (int i = 0; i < n; i++) {
    char path[4000];
    snprintf(path, sizeof path, "%s/%s", folder, list[i]->d_name);
    if (*list[i]->d_name != '.' && is_case(path)) one(x, path, list[i]->d_name);
    free(list[i]);
  }
  free(list);
  if (!x->n[0] && !x->n[1] && !x->n[2]) return cli_usage("test-onnx", "%s: no folder with a model.onnx in it", folder);
  return EXIT_OK;
}

int cmd_test_onnx(int argc, char **argv) {
  const char *device = NULL;
  tester x = {.json = false};
  const option options[] = {{.name = "--device", .text = &device}, {.name = "--json", .flag = &x.json}};
  if (!cli_options("test-onnx", &argc, argv, options, 2)) return EXIT_USAGE;
  if (argc != 2) return cli_usage("test-onnx", "needs one DIR of cases");
  tsr_status st = cli_context(&x.ctx);
  tsr_buffer *probe = NULL; /* a device that has no memory fails here, and not each case */
  if (!st) st = tsr_device_open(x.ctx, device, &x.dev);
  if (!st) st = tsr_buffer_create(x.dev, 0, TSR_MEMORY_DEVICE, &probe);
  tsr_buffer_destroy(&probe);
  int rc = st ? cli_fail(st) : run_folder(&x, argv[1]);
  if (!rc) {
    printf("%d passed, %d failed, %d unsupported\n", x.n[PASSED], x.n[FAILED], x.n[UNSUPPORTED]);
    rc = x.n[FAILED] ? EXIT_WRONG : EXIT_OK;
  }
  tsr_device_close(&x.dev);
  tsr_context_destroy(&x.ctx);
  return rc;
}
