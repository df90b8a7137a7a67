/* ONNX models on the command line: run, import, inspect and test-onnx give what they should, and say in one line what
 * is wrong. */
#include <math.h>
#include <sys/stat.h>

#include "core/import/npy.h"
#include "tests/cli/cli_run.h"
#include "tests/support/onnx_message.h"

#define MLP TSR_SOURCE_DIR "/examples/mlp.onnx"
#define OPS TSR_SOURCE_DIR "/tests/fuzz/corpus/onnx/ops.onnx"

static void write_npy(const cli *c, const char *name, int rank, const int64_t *dims, const float *v, size_t n) {
  char path[256];
  npy_array x = {.dtype = TSR_F32, .shape = {.rank = rank}, .data = (void *)(uintptr_t)v, .bytes = n * sizeof *v};
  memcpy(x.shape.dims, dims, sizeof *dims * (size_t)rank);
  cli_path(c, name, path, sizeof path);
  FILE *f = fopen(path, "wb");
  if (f) npy_write(f, &x), fclose(f);
}

static bool read_npy(const cli *c, const char *name, npy_array *out) {
  char path[256], why[512];
  cli_path(c, name, path, sizeof path);
  return npy_load(path, out, why, sizeof why);
}

/* softmax(relu(x w1 + b1) w2 + b2) sums to 1 by rows, on the first try and from imported text alike. */
static void models_run_and_are_imported(cli *c) {
  const float x[16] = {1, -2, 3, -4, 5, -6, 7, -8, .5f, .25f, 0, 1, 2, 3, 4, 5};
  npy_array a = {.data = NULL}, b = {.data = NULL};
  write_npy(c, "x.npy", 2, (int64_t[]){2, 8}, x, 16);
  cli_check(c, cli_run(c, "run " MLP " --input x=x.npy --output probabilities=a.npy") == 0 && read_npy(c, "a.npy", &a),
            "run");
  cli_check(c, cli_run(c, "import " MLP " -o m.mlir --shape x=2x8") == 0, "import");
  cli_refused(c, "text over its own model", "import " MLP " -o " MLP " --shape x=2x8", "is the model itself");
  cli_refused(c, "a file for no input", "import " MLP " -o n.mlir --shape x=2x8 --input zz=m.mlir", "m.mlir");
  cli_refused(c, "a file that isn't there", "import " MLP " -o n.mlir --shape x=2x8 --input x=none.npy", "none.npy");
  cli_refused(c, "levels of a model", "dump " MLP " --level graph", "`tessera import` makes text of it");
  cli_check(c, cli_run(c, "run m.mlir --input x=x.npy --output probabilities=b.npy") == 0 && read_npy(c, "b.npy", &b),
            "run what was imported");
  cli_check(c, a.data && b.data && a.bytes == 32 && b.bytes == 32 && !memcmp(a.data, b.data, 32), "the same result");
  float sum = 0;
  for (int i = 0; a.data && i < 4; i++) sum += ((float *)a.data)[i];
  cli_check(c, sum > 0.999f && sum < 1.001f, "probabilities");
  npy_free(&a);
  npy_free(&b);
  cli_check(c, cli_run(c, "inspect m.mlir") == 0 && strstr(c->said, "input 0 x: 2x8 f32"), "inspect what was imported");
  const char *text = cli_text(c, "m.mlir");
  cli_check(c, strstr(text, "#tessera.file<\"/") && strstr(text, "mlp.onnx\", "), "weights stay in the file");
}

static void every_op_of_a_model_runs(cli *c) {
  cli_check(c, cli_run(c, "run " OPS " --shape x=1x2x6x6 --output fo=y.npy --output 4=i.npy") == 0, "run");
  npy_array y = {.data = NULL};
  cli_check(c, read_npy(c, "i.npy", &y) && y.dtype == TSR_I64 && y.bytes == 27 * 8, "places of the largest");
  npy_free(&y);
}

/* x [N, 3] + y [N, 3]: a number for N is one for both, whether it is given by name or by the file of one of them. */
static void named_dimensions_are_numbers_once(cli *c) {
  const float x[12] = {1, 2, 3};
  message g = {.n = 0}, v[2] = {value("x", F32, "N", 3), value("y", F32, "N", 3)};
  message n = node_of("Add", NAMES("x", "y"), NAMES("s"));
  for (int i = 0; i < 2; i++) inside(&g, 11, &v[i]);
  inside(&g, 1, &n);
  add_value(&g, 12, "s");
  const message m = model(&g);
  cli_write(c, "sum.onnx", m.p, m.n);
  write_npy(c, "x.npy", 2, (int64_t[]){4, 3}, x, 12);
  cli_check(c, !cli_run(c, "run sum.onnx --shape N=5") && !strcmp(c->said, "output 0: 5x3 f32\n"), "N by its name");
  cli_check(c, !cli_run(c, "run sum.onnx --input x=x.npy") && !strcmp(c->said, "output 0: 4x3 f32\n"), "N by a file");
  cli_check(c, !cli_run(c, "run sum.onnx --shape y=6x3") && !strcmp(c->said, "output 0: 6x3 f32\n"), "N by a shape");
  cli_check(c, !cli_run(c, "import sum.onnx --shape N=5 -o s.mlir") && !cli_run(c, "run s.mlir"), "imported");
  cli_refused(c, "two numbers", "run sum.onnx --input x=x.npy --shape N=5", "--shape N=5: dimension 0 of input x is 4");
  cli_refused(c, "no number", "run sum.onnx --shape N=2x3", "--shape N=2x3: dimension N takes one number");
  cli_refused(c, "no such name", "run sum.onnx --shape K=2", "no input \"K\"");
  cli_refused(c, "nothing said", "run sum.onnx", "--shape N=2 all of that name)");
}

static void what_is_wrong_is_one_line(cli *c) {
  cli_refused(c, "an open dimension", "run " MLP, "input x has an unknown dimension (--shape x=2x3..");
  cli_refused(c, "another extent", "run " MLP " --shape x=2x9", "dimension 1 of input x is 8, not 9");
  cli_refused(c, "another rank", "run " MLP " --shape x=8", "input x has 2 dimensions, not 1");
  cli_refused(c, "no such input", "run " MLP " --shape y=2x8", "no input \"y\"");
  cli_refused(c, "no such output", "run " MLP " --shape x=2x8 --output z=z.npy", "no output \"z\"");
  cli_refused(c, "nowhere to write", "import " MLP " --shape x=2x8", "needs one model, and -o FILE");
  cli_refused(c, "no such model", "import none.onnx -o m.mlir", "none.onnx: no such file");
  cli_refused(c, "no cases", "test-onnx .", ".: no folder with a model.onnx in it");
  cli_refused(c, "no folder", "test-onnx none", "none: can't be listed");
  const char far[] =
      "\"tessera.graph.func\"() ({\n  %0 = \"tessera.graph.constant\"() {value = #tessera.file<\"x.npy\", "
      "100> : tensor<64xf32>} : () -> tensor<64xf32>\n  \"tessera.graph.return\"(%0) : (tensor<64xf32>) "
      "-> ()\n}) {sym_name = \"main\"} : () -> ()\n";
  cli_write(c, "far.mlir", far, sizeof far - 1);
  cli_refused(c, "a constant behind the file's end", "run far.mlir", "the constant at 100 needs more");
}

/* Two entries, three classes, six boxes of each at most. */
static void results_as_long_as_can_be(cli *c) {
#define NMS TSR_SOURCE_DIR "/tests/onnx/cases/non_max_suppression/model.onnx"
  cli_refused(c, "a length that isn't known", "import " NMS " -o nms.mlir",
              "NonMaxSuppression (how many there are depends on what the inputs hold)");
  cli_check(c, !cli_run(c, "import " NMS " --bounded -o nms.mlir") && !cli_run(c, "run nms.mlir"), "import --bounded");
  cli_check(c, strstr(c->said, "output 0: 36x3 i64"), "the length of a bounded result");
  cli_check(c, !cli_run(c, "run " NMS " --bounded") && strstr(c->said, "output 0: 36x3 i64"), "run --bounded");
}

/* What a bench of a model tells besides times. */
static void benches_tell_memory(cli *c) {
  const int rc = cli_run(c, "bench " MLP " --shape x=2x8 --device cpu:0 --json");
  cli_check(c, !rc && strstr(c->said, "\"first_result_us\": "), "bench of a model");
  const char *peak = strstr(c->said, "\"peak_bytes\": ");
  cli_check(c, peak && (strstr(peak, "null") || atof(peak + 14) > 0), "peak_bytes");
}

/* A copy of a recorded case with one element of its result replaced, the last but so many. */
static void judge(cli *c, const char *name, const void *instead, size_t n, size_t last_but, const char *verdict) {
  const char *const files[] = {"model.onnx", "test_data_set_0/input_0.pb", "test_data_set_0/output_0.pb"};
  char path[512], *data = malloc(1 << 16);
  if (!data) return cli_check(c, false, "memory");
  cli_path(c, "case", path, sizeof path);
  mkdir(path, 0777);
  cli_path(c, "case/test_data_set_0", path, sizeof path);
  mkdir(path, 0777);
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, TSR_SOURCE_DIR "/tests/onnx/cases/%s/%s", name, files[i]);
    FILE *f = fopen(path, "rb");
    const size_t size = f ? fread(data, 1, 1 << 16, f) : 0;
    if (f) fclose(f);
    cli_check(c, size > n * (last_but + 1), path);
    if (i == 2 && instead && size > n * (last_but + 1)) memcpy(data + size - n * (last_but + 1), instead, n);
    char to[64];
    snprintf(to, sizeof to, "case/%s", files[i]);
    cli_write(c, to, data, size);
  }
  free(data);
  cli_run(c, "test-onnx case --device cpu:0");
  cli_check(c, strstr(c->said, verdict), name);
}

/* The result's last element but one is -(2^53 + 1). */
static void records_are_compared_exactly(cli *c) {
  const int64_t near = -(INT64_C(1) << 53);
  const float inf = INFINITY, none = NAN;
  judge(c, "pad_i64", NULL, 0, 0, "1 passed, 0 failed");
  judge(c, "pad_i64", &near, sizeof near, 1, "0 passed, 1 failed");
  judge(c, "dynamic_quantize_matmul_tensor", NULL, 0, 0, "1 passed, 0 failed");
  judge(c, "dynamic_quantize_matmul_tensor", &inf, sizeof inf, 0, "0 passed, 1 failed");
  judge(c, "dynamic_quantize_matmul_tensor", &none, sizeof none, 0, "0 passed, 1 failed");
}

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  results_as_long_as_can_be(&c);
  benches_tell_memory(&c);
  models_run_and_are_imported(&c);
  every_op_of_a_model_runs(&c);
  named_dimensions_are_numbers_once(&c);
  what_is_wrong_is_one_line(&c);
  records_are_compared_exactly(&c);
  return cli_end(&c);
}
