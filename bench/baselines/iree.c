/* bench/baselines/iree.c - IREE's code for this CPU, by its own tools, as a row of model_peer.h. iree-import-onnx and
 * iree-compile make a module of the model, iree-run-module gives its results, and iree-benchmark-module times it by its
 * own clock, in a process a round. What these exchange are files in a folder of their own. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/baselines/model_peer.h"
#include "bench/baselines/tool.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/status.h"

enum { IMPORT, COMPILE, RUN, TIME, N_TOOLS, MOST_WORDS = 2 * MODEL_MOST_TENSORS + 16 };
static const char *const tools[N_TOOLS] = {"iree-import-onnx", "iree-compile", "iree-run-module",
                                           "iree-benchmark-module"};

typedef struct iree_job {
  char tool[N_TOOLS][PATH_MAX], version[64];
  char folder[PATH_MAX];
  strb text; /* the words of the commands that run the module, each ended by a 0 */
  size_t n_common, n_words;
  int n_in, n_out;
  const void *result[MODEL_MOST_TENSORS]; /* mapped files */
  size_t bytes[MODEL_MOST_TENSORS];
  bool has_results;
  double us;
} iree_job;

static tsr_status refuse(tsr_code code, const char *why, const char *of) {
  return st_make(NULL, code, ST_WHERE("bench", NULL, NULL), "iree: %s%s", why, of);
}

/* What IREE's tools call an element type; NULL: nothing. */
static const char *element_type(tsr_dtype t) {
  switch (t) {
    case TSR_F64: return "f64";
    case TSR_F32: return "f32";
    case TSR_F16: return "f16";
    case TSR_BF16: return "bf16";
    case TSR_I64: return "i64";
    case TSR_I32: return "i32";
    case TSR_I16: return "i16";
    case TSR_I8: return "i8";
    case TSR_U8: return "ui8";
    case TSR_BOOL: return "i1";
    default: return NULL;
  }
}

static char *in_folder(const iree_job *j, char *out, size_t n, const char *what, int i) {
  if (i < 0) snprintf(out, n, "%s/%s", j->folder, what);
  else snprintf(out, n, "%s/%s%d.bin", j->folder, what, i);
  return out;
}

static tsr_status write_input(const iree_job *j, const model_tensor *t, int i) {
  char path[PATH_MAX + 64];
  FILE *f = fopen(in_folder(j, path, sizeof path, "in", i), "wb");
  const bool wrote = f && fwrite(t->data, 1, t->bytes, f) == t->bytes;
  if ((!f || fclose(f) || !wrote)) return refuse(TSR_UNAVAILABLE, "no room for its files: ", strerror(errno));
  return NULL;
}

static void add_word(iree_job *j) {
  strb_putc(&j->text, '\0');
  j->n_words++;
}

/* The words that both commands take, then those that name files of results. */
static tsr_status write_words(iree_job *j, int threads, const model_tensor *in) {
  strb *b = &j->text;
  strb_printf(b, "--module=%s/model.vmfb", j->folder), add_word(j);
  strb_puts(b, "--device=local-task"), add_word(j);
  strb_printf(b, "--task_topology_group_count=%d", threads), add_word(j);
  for (int i = 0; i < j->n_in; i++) {
    const char *type = element_type(in[i].dtype);
    if (!type) return refuse(TSR_UNSUPPORTED, "inputs of type ", tsr_dtype_name(in[i].dtype));
    TSR_TRY(write_input(j, &in[i], i));
    strb_puts(b, "--input=");
    for (int k = 0; k < in[i].shape.rank; k++) strb_printf(b, "%lldx", (long long)in[i].shape.dims[k]);
    strb_printf(b, "%s=@%s/in%d.bin", type, j->folder, i), add_word(j);
  }
  j->n_common = j->n_words;
  for (int i = 0; i < j->n_out; i++) strb_printf(b, "--output=@%s/out%d.bin", j->folder, i), add_word(j);
  return strb_ok(b) ? NULL : st_oom();
}

/* The module's function; a graph has one, named as the model's graph is. */
static tsr_status find_function(iree_job *j, const char *mlir) {
  char line[4096], name[256] = "";
  FILE *f = fopen(mlir, "r");
  while (f && !*name && fgets(line, sizeof line, f)) {
    const char *at = strstr(line, "func.func @");
    if (at && sscanf(at, "func.func @\"%255[^\"]\"", name) != 1) sscanf(at, "func.func @%255[^(]", name);
  }
  if (f) fclose(f);
  if (!*name) return refuse(TSR_UNAVAILABLE, "no function in what its importer makes", "");
  strb_printf(&j->text, "--function=%s", name), add_word(j);
  return NULL;
}

static tsr_status compile(iree_job *j, const char *model) {
  char mlir[PATH_MAX + 64], module[PATH_MAX + 64], to[PATH_MAX + 80];
  in_folder(j, mlir, sizeof mlir, "model.mlir", -1);
  in_folder(j, module, sizeof module, "model.vmfb", -1);
  const char *const import[] = {tools[IMPORT], model, "-o", mlir, "--opset-version", "17", NULL};
  TSR_TRY(tool_run(j->tool[IMPORT], import, true, NULL));
  snprintf(to, sizeof to, "-o=%s", module);
  const char *const make[] = {tools[COMPILE],
                              mlir,
                              "--iree-hal-target-device=local",
                              "--iree-hal-local-target-device-backends=llvm-cpu",
                              "--iree-llvmcpu-target-cpu=host",
                              "--iree-opt-level=O3",
                              to,
                              NULL};
  TSR_TRY(tool_run(j->tool[COMPILE], make, true, NULL));
  return find_function(j, mlir);
}

/* "... IREE compiler version 3.13.0 @ ...": the number. */
static tsr_status read_version(iree_job *j) {
  const char *const argv[] = {tools[COMPILE], "--version", NULL};
  strb out;
  strb_init(&out, NULL);
  tsr_status st = tool_run(j->tool[COMPILE], argv, false, &out);
  const char *at = st ? NULL : strstr(strb_text(&out), "version ");
  if (at) sscanf(at, "version %63[0-9.rc]", j->version);
  strb_clear(&out);
  return st;
}

static void iree_destroy(void *job) {
  iree_job *j = job;
  char path[PATH_MAX + 64];
  if (!j) return;
  for (int i = 0; i < MODEL_MOST_TENSORS; i++)
    if (j->result[i]) file_unmap(j->result[i], j->bytes[i]);
  if (*j->folder) {
    for (int i = 0; i < j->n_in; i++) unlink(in_folder(j, path, sizeof path, "in", i));
    for (int i = 0; i < j->n_out; i++) unlink(in_folder(j, path, sizeof path, "out", i));
    unlink(in_folder(j, path, sizeof path, "model.mlir", -1));
    unlink(in_folder(j, path, sizeof path, "model.vmfb", -1));
    rmdir(j->folder);
  }
  strb_clear(&j->text);
  free(j);
}

static tsr_status find_tools(iree_job *j) {
  for (int i = 0; i < N_TOOLS; i++)
    if (!tool_find(tools[i], j->tool[i], sizeof j->tool[i]))
      return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL), "iree: no %s in PATH", tools[i]);
  return read_version(j);
}

static tsr_status iree_create(const char *model, int threads, const model_tensor *in, int n_in, const char *const *out,
                              int n_out, void **job) {
  tsr_status st = NULL;
  const char *place = getenv("TMPDIR");
  *job = NULL;
  (void)out; /* results come in the graph's order, as ours do */
  iree_job *j = calloc(1, sizeof *j);
  if (!j) return st_oom();
  strb_init(&j->text, NULL);
  j->n_in = n_in;
  j->n_out = n_out;
  TSR_GOTO(find_tools(j));
  snprintf(j->folder, sizeof j->folder, "%s/tessera-iree-XXXXXX", place && *place ? place : "/tmp");
  if (!mkdtemp(j->folder)) {
    *j->folder = 0;
    TSR_GOTO(refuse(TSR_UNAVAILABLE, "no folder for its files: ", strerror(errno)));
  }
  TSR_GOTO(compile(j, model));
  TSR_GOTO(write_words(j, threads, in));
  *job = j;
  return NULL;
done:
  iree_destroy(j);
  return st;
}

/* The command of that tool with the first n words, and those of `more`. */
static tsr_status run_tool(const iree_job *j, int tool, size_t n, const char *const *more, strb *out) {
  const char *argv[MOST_WORDS] = {tools[tool]}, *p = strb_text(&j->text);
  size_t k = 1;
  for (size_t i = 0; i < n; i++, p += strlen(p) + 1) argv[k++] = p;
  for (; *more; more++) argv[k++] = *more;
  argv[k] = NULL;
  return tool_run(j->tool[tool], argv, !out, out);
}

static tsr_status first_results(iree_job *j) {
  static const char *const none[] = {NULL};
  char path[PATH_MAX + 64];
  TSR_TRY(run_tool(j, RUN, j->n_words, none, NULL));
  for (int i = 0; i < j->n_out; i++) {
    const char *why = NULL;
    j->result[i] = file_map(in_folder(j, path, sizeof path, "out", i), &j->bytes[i], &why);
  }
  j->has_results = true;
  return NULL;
}

/* "real_time" of the one benchmark, in the unit beside it. */
static tsr_status read_time(iree_job *j, const char *text, size_t n) {
  static const struct {
    const char *name;
    double us;
  } units[] = {{"ns", 1e-3}, {"us", 1}, {"ms", 1e3}, {"s", 1e6}};
  arena a;
  json *all = NULL;
  arena_init(&a, NULL);
  tsr_status st = json_parse(&a, text, n, tools[TIME], &all);
  const json *rows = st ? NULL : json_get(all, "benchmarks");
  const json *row = rows && rows->type == JSON_ARRAY ? rows->first : NULL, *time = json_get(row, "real_time");
  const char *unit = json_str(row, "time_unit", "");
  j->us = 0;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (time && !strcmp(units[i].name, unit)) j->us = time->number * units[i].us;
  arena_clear(&a);
  if (st || j->us > 0) return st;
  return refuse(TSR_UNAVAILABLE, "no time from ", tools[TIME]);
}

static tsr_status iree_run(void *job) {
  static const char *const once[] = {"--benchmark_format=json", "--benchmark_min_warmup_time=0.05",
                                     "--benchmark_min_time=0.05s", NULL};
  iree_job *j = job;
  strb out;
  if (!j->has_results) return first_results(j);
  strb_init(&out, NULL);
  tsr_status st = run_tool(j, TIME, j->n_common, once, &out);
  if (!st) st = read_time(j, strb_text(&out), out.n);
  strb_clear(&out);
  return st;
}

static const void *iree_result(void *job, int i, size_t bytes) {
  const iree_job *j = job;
  return i < j->n_out && j->bytes[i] == bytes ? j->result[i] : NULL;
}

static double iree_time(const void *job) { return ((const iree_job *)job)->us; }
static const char *iree_version(const void *job) { return ((const iree_job *)job)->version; }

const model_peer model_peer_iree = {"iree",       iree_create,  iree_run, iree_result,
                                    iree_version, iree_destroy, iree_time};
