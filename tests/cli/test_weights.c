/* tests/cli/test_weights.c - `tessera inspect` on every kind of file and `tessera run --weights`: what is printed, the
 * keys and values of the JSON, results from bound weights; files that lie and weights that don't fit, each with one
 * line and exit status 2. */
#include <sys/stat.h>

#include "core/base/json.h"
#include "tests/cli/cli_run.h"
#include "tests/support/weights_build.h"

static const char graph[] =
    "\"tessera.graph.func\"() ({\n^bb0(%x: tensor<2x2xf32>, "
                            "%layer.0.weight: tensor<2x3xf32>, %b: tensor<3xf32>):\n"
    "%0 = \"tessera.graph.matmul\"(%x, %layer.0.weight)\n%sum = \"tessera.graph.add\"(%0, %b)\n"
    "\"tessera.graph.return\"(%0, %sum)\n}) {sym_name = \"main\"}\n";
static const char any[] = "\"tessera.graph.func\"() ({\n^bb0(%x: tensor<2x?xf32>, %layer.0.weight: tensor<?x?xf32>):\n"
                          "%y = \"tessera.graph.matmul\"(%x, %layer.0.weight)\n"
                          "\"tessera.graph.return\"(%y)\n}) {sym_name = \"main\"}\n";
static const char quantised[] =
    "\"tessera.graph.func\"() ({\n^bb0(%q: tensor<1x32xf32>):\n%y = \"tessera.graph.neg\"(%q)\n"
    "\"tessera.graph.return\"(%y)\n}) {sym_name = \"main\"}\n";
static const char constants[] =
    "\"tessera.graph.func\"() ({\n^bb0(%x: tensor<?x3xf32>):\n%c = \"tessera.graph.constant\"() "
    "{value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>}\n"
    "%0 = \"tessera.graph.add\"(%x, %c)\n%1 = \"tessera.graph.add\"(%0, %c)\n"
    "\"tessera.graph.return\"(%1)\n}) {sym_name = \"main\"}\n";

static const float x[4] = {1, 0, 0, 2}, weight[6] = {1, 2, 3, 4, 5, 6}, bias[3] = {10, 20, 30};
static const float product[6] = {1, 2, 3, 8, 10, 12}, sum[6] = {11, 22, 33, 18, 30, 42};
static bytes_buf file;
static zip_build zip;

#define TENSORS(dtype, shape) \
  "{\"layer.0.weight\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[0,24]}," \
  "\"b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[24,36]}}"

static void write_safetensors(const cli *c, const char *name, const char *header) {
  build_safetensors(&file, header, weight, sizeof weight);
  put_raw(&file, bias, sizeof bias);
  cli_write(c, name, file.p, file.n);
}

static void write_npz(const cli *c, const char *name) {
  static unsigned char a[512];
  zip = (zip_build){.n = 0};
  zip_add(&zip, "layer.0.weight.npy", a, build_npy(a, "<f4", "False", "(2, 3)", weight, sizeof weight), 0);
  zip_add(&zip, "b.npy", a, build_npy(a, "<f4", "False", "(3,)", bias, sizeof bias), 0);
  zip_end(&zip);
  cli_write(c, name, zip.b.p, zip.b.n);
}

/* With a q4_0 tensor q of -8 .. 7 and one of a type that isn't read. */
static void write_gguf(const cli *c, const char *name) {
  gguf_begin(&file, 3, 4, 1);
  gguf_key(&file, "general.architecture", 8, 3, 8);
  put_raw(&file, "abc", 3);
  gguf_tensor(&file, "layer.0.weight", 2, (uint64_t[]){3, 2}, 0, 0);
  gguf_tensor(&file, "b", 1, (uint64_t[]){3}, 0, 32);
  gguf_tensor(&file, "q", 2, (uint64_t[]){32, 1}, 2, 64);
  gguf_tensor(&file, "x", 1, (uint64_t[]){4}, 77, 96);
  gguf_align(&file, 32);
  put_raw(&file, weight, sizeof weight);
  gguf_align(&file, 32);
  put_raw(&file, bias, sizeof bias);
  gguf_align(&file, 32);
  put_le(&file, 0x3c00, 2);
  for (int k = 0; k < 16; k++) put_le(&file, (uint64_t)(k | k << 4), 1);
  gguf_align(&file, 32);
  cli_write(c, name, file.p, file.n);
}

/* The output is these numbers. */
static void gives(cli *c, const char *args, const float *want, size_t n) {
  char path[256];
  unsigned char p[1024];
  cli_path(c, "y.npy", path, sizeof path);
  int rc = cli_run(c, args);
  size_t bytes = rc ? 0 : cli_read(c, "y.npy", p, sizeof p);
  remove(path);
  cli_check(c, bytes >= n * 4 && !memcmp(p + bytes - n * 4, want, n * 4), args);
}

/* ---- inspect ----------------------------------------------------------------------------------------------------- */

static const json *inspected(cli *c, arena *a, const char *args) {
  json *j;
  int rc = cli_run(c, args);
  tsr_status st = json_parse(a, c->said, strlen(c->said), "said", &j);
  cli_check(c, !st && !rc, args);
  tsr_status_free(st);
  static const char *const keys[] = {"file",       "format", "inputs", "outputs",
                                     "parameters", "bytes",  "ops",    "unsupported"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) cli_check(c, json_get(j, keys[i]) != NULL, keys[i]);
  return j;
}

static void same(cli *c, const char *what, double got, double want) {
  c->n++;
  if (got == want) return;
  c->wrong++;
  printf("%s: %g, not %g\n", what, got, want);
}

static void graphs_are_inspected(cli *c) {
  arena a;
  arena_init(&a, NULL);
  cli_expect(c, "inspect g.mlir", 0, "input 1 layer.0.weight: 2x3 f32\n");
  cli_expect(c, "inspect g.mlir", 0, "output 1 sum: 2x3 f32\n");
  cli_expect(c, "inspect g.mlir", 0, "ops: matmul 1, add 1\nunsupported: none\n");
  const json *j = inspected(c, &a, "inspect c.mlir --json"), *in = j ? json_get(j, "inputs")->first : NULL;
  same(c, "parameters", json_num(j, "parameters", -1), 3);
  same(c, "bytes", json_num(j, "bytes", -1), 12);
  same(c, "adds", json_num(json_get(j, "ops"), "add", -1), 2);
  same(c, "named x", strcmp(json_str(in, "name", ""), "x"), 0);
  same(c, "an unknown dimension", in && json_get(in, "shape")->first->type == JSON_NULL, 1);
  same(c, "a known dimension", in ? json_get(in, "shape")->first->next->number : 0, 3);
  same(c, "nothing unsupported", (double)json_get(j, "unsupported")->n, 0);
  arena_clear(&a);
}

static void weights_are_inspected(cli *c) {
  static const char *const commands[] = {"inspect w.safetensors --json", "inspect w.npz --json",
                                         "inspect w.gguf --json"};
  arena a;
  arena_init(&a, NULL);
  for (int i = 0; i < 3; i++) {
    const json *j = inspected(c, &a, commands[i]), *t = json_get(j, "tensors");
    same(c, "bytes", json_num(j, "bytes", -1), i < 2 ? 36 : 54);
    same(c, "parameters", json_num(j, "parameters", -1), i < 2 ? 9 : 45);
    same(c, "tensors", t ? (double)t->n : -1, i < 2 ? 2 : 4);
    same(c, "unsupported", (double)json_get(j, "unsupported")->n, i < 2 ? 0 : 1);
    t = t ? t->first : NULL;
    same(c, "its name", strcmp(json_str(t, "name", ""), "layer.0.weight"), 0);
    same(c, "its type", strcmp(json_str(t, "type", ""), "f32"), 0);
    same(c, "its rows", t ? json_get(t, "shape")->first->number : -1, 2);
  }
  cli_expect(c, "inspect w.gguf", 0, "general.architecture = abc\n");
  cli_expect(c, "inspect w.gguf", 0, "tensor q: 1x32 q4_0, 18 bytes at ");
  cli_expect(c, "inspect w.gguf", 0, "unsupported: type 77 1\n");
  arena_clear(&a);
}

static void models_are_inspected(cli *c) {
  static unsigned char model[4096]; /* If with two subgraphs, two Add, initializers of each kind */
  FILE *f = fopen(TSR_SOURCE_DIR "/tests/fuzz/corpus/onnx/small.onnx", "rb");
  size_t n = f ? fread(model, 1, sizeof model, f) : 0;
  if (f) fclose(f);
  arena a;
  arena_init(&a, NULL);
  cli_write(c, "m.onnx", model, n);
  const json *j = inspected(c, &a, "inspect m.onnx --json"), *in = j ? json_get(j, "inputs")->first : NULL;
  same(c, "parameters", json_num(j, "parameters", -1), 9);
  same(c, "bytes", json_num(j, "bytes", -1), 42);
  same(c, "opset", json_num(json_get(j, "opset"), "ai.onnx", -1), 17);
  same(c, "Adds", json_num(json_get(j, "ops"), "Add", -1), 2);
  same(c, "one of another domain", json_num(json_get(j, "ops"), "com.microsoft/Gelu", -1), 1);
  same(c, "unsupported: the If, and what reads external data", j ? (double)json_get(j, "unsupported")->n : 0, 2);
  same(c, "a symbolic dimension", in ? strcmp(json_get(in, "shape")->first->string, "N") : 1, 0);
  cli_expect(c, "inspect m.onnx", 0, "input 0 x: Nx2 f32\n");
  for (size_t cut = 0; cut < n; cut += 13) {
    cli_write(c, "bad.onnx", model, cut);
    cli_refused(c, "a truncated model", "inspect bad.onnx", "bad.onnx: offset ");
  }
  cli_refused(c, "an open dimension", "run m.onnx", "input x has an unknown dimension (--shape x=2x3..");
  cli_refused(c, "what can't be converted", "run m.onnx --shape x=1x2", "2 of 5 nodes can't be converted: If (");
  cli_refused(c, "weights to run", "run w.npz", "w.npz: a file of weights, no program");
  arena_clear(&a);
}

/* ---- run --weights ----------------------------------------------------------------------------------------------- */

static void weights_are_bound(cli *c) {
  gives(c, "run g.mlir --input x=x.npy --weights w.safetensors --output 0=y.npy", product, 6);
  gives(c, "run g.mlir --input x=x.npy --weights w.safetensors --output sum=y.npy", sum, 6);
  gives(c, "run g.mlir --input x=x.npy --weights w.npz --output sum=y.npy", sum, 6);
  gives(c, "run g.mlir --input x=x.npy --weights=w.gguf --output 1=y.npy", sum, 6);
  gives(c, "run any.mlir --input x=x.npy --weights w.safetensors --output y=y.npy", product, 6);
  gives(c, "run g.mlir --input x=x.npy --input b=zero.npy --weights w.npz --output sum=y.npy", product, 6);
  float minus[32];
  for (int i = 0; i < 32; i++) minus[i] = -(float)(i % 16 - 8);
  gives(c, "run q.mlir --weights w.gguf --output y=y.npy", minus, 32);
}

static void weights_that_do_not_fit_are_refused(cli *c) {
  cli_refused(c, "no x", "run g.mlir --weights w.safetensors", "w.safetensors: no tensor for 1 of 3 inputs: x (");
  cli_refused(c, "all at once", "run g.mlir --weights none.safetensors",
              "no tensor for 3 of 3 inputs: x, layer.0.weight, b (");
  cli_refused(c, "another type", "run g.mlir --input x=x.npy --weights i32.safetensors",
              "tensor layer.0.weight is 2x3 i32, input layer.0.weight needs 2x3 f32");
  cli_refused(c, "another shape", "run g.mlir --input x=x.npy --weights t.safetensors",
              "is 3x2 f32, input layer.0.weight needs 2x3 f32");
  cli_refused(c, "a type that isn't read", "run g.mlir --weights w.gguf", "tensor x is 4 type 77, which is not read");
  cli_refused(c, "no such file", "run g.mlir --weights gone.npz", "gone.npz: can't be opened");
  cli_refused(c, "a folder", "run g.mlir --weights folder", "folder: is a directory");
  cli_refused(c, "IR text", "run g.mlir --weights g.mlir", "not a safetensors, .npz or GGUF file");
  cli_refused(c, "no such output", "run g.mlir --output total=y.npy", "no output \"total\"; the program has 2");
  cli_refused(c, "no file", "run g.mlir --weights", "--weights needs a value");
}

static void files_that_lie_are_refused(cli *c) {
  cli_refused(c, "nothing", "inspect", "needs one FILE");
  cli_refused(c, "no such file", "inspect gone.gguf", "gone.gguf: can't be opened");
  cli_refused(c, "a folder", "inspect folder", "folder: can't be read");
  cli_refused(c, "a device", "inspect /dev/zero", "/dev/zero: ");
  cli_refused(c, "another level", "inspect tile.mlir", "expected a tessera.graph.func");
  cli_write(c, "bad.pt", "\x80\2}q\0.", 6);
  cli_refused(c, "a pickle", "inspect bad.pt", "offset 0: a pickle");
  cli_write(c, "bad.mlir", "x\0y", 3);
  cli_refused(c, "no text", "inspect bad.mlir", "bad.mlir:1:2");
  write_safetensors(c, "bad.safetensors", TENSORS("F32", "[2,4]"));
  cli_refused(c, "a shape that lies", "inspect bad.safetensors", "tensor \"layer.0.weight\" has 24 bytes");
  write_gguf(c, "bad.gguf");
  for (size_t cut = 4; cut < file.n; cut += 23) {
    cli_write(c, "bad.gguf", file.p, cut);
    cli_refused(c, "a truncated GGUF", "inspect bad.gguf --json", "bad.gguf: offset ");
  }
  for (size_t cut = 4; cut < zip.b.n; cut += 61) {
    cli_write(c, "bad.npz", zip.b.p, cut);
    cli_refused(c, "a truncated .npz", "inspect bad.npz", "bad.npz: offset ");
  }
}

int main(void) {
  static unsigned char a[512];
  static const float zero[3] = {0};
  char path[256];
  cli c;
  if (!cli_begin(&c)) return 77;
  cli_write(&c, "g.mlir", graph, strlen(graph));
  cli_write(&c, "any.mlir", any, strlen(any));
  cli_write(&c, "q.mlir", quantised, strlen(quantised));
  cli_write(&c, "c.mlir", constants, strlen(constants));
  static const char tile[] = "\"builtin.module\"() ({\n}) : () -> ()\n";
  cli_write(&c, "tile.mlir", tile, strlen(tile));
  cli_write(&c, "x.npy", a, build_npy(a, "<f4", "False", "(2, 2)", x, sizeof x));
  cli_write(&c, "zero.npy", a, build_npy(a, "<f4", "False", "(3,)", zero, sizeof zero));
  write_safetensors(&c, "w.safetensors", TENSORS("F32", "[2,3]"));
  write_safetensors(&c, "i32.safetensors", TENSORS("I32", "[2,3]"));
  write_safetensors(&c, "t.safetensors", TENSORS("F32", "[3,2]"));
  write_safetensors(&c, "none.safetensors", "{}");
  write_npz(&c, "w.npz");
  write_gguf(&c, "w.gguf");
  cli_path(&c, "folder", path, sizeof path);
  if (mkdir(path, 0700)) c.wrong++;
  graphs_are_inspected(&c);
  weights_are_inspected(&c);
  models_are_inspected(&c);
  weights_are_bound(&c);
  weights_that_do_not_fit_are_refused(&c);
  files_that_lie_are_refused(&c);
  return cli_end(&c);
}
