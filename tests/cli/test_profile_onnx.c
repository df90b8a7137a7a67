/* tests/cli/test_profile_onnx.c - `tessera profile` of an ONNX model: rows, JSON by its schema, trace and page as of IR
 * text; inputs from files, also of weights; the audit and the tuner take models too; what is wrong is one line and exit
 * status 2, files of weights included. */
#include "core/base/json.h"
#include "core/import/npy.h"
#include "tests/cli/cli_run.h"
#include "tests/support/json_schema.h"

#define MLP TSR_SOURCE_DIR "/examples/mlp.onnx"
#define BRANCHES TSR_SOURCE_DIR "/tests/fuzz/corpus/onnx/small.onnx"
#define CPU " --device cpu:0 --steps 2 "

static const json *parsed(cli *c, arena *a, const char *text, const char *what) {
  json *j = NULL;
  tsr_status st = json_parse(a, text, strlen(text), what, &j);
  cli_check(c, !st, what);
  tsr_status_free(st);
  return st ? NULL : j;
}

static void rows_are_those_of_the_program(cli *c) {
  arena a;
  arena_init(&a, NULL);
  cli_check(c, !cli_run(c, "profile " MLP " --shape x=2x8" CPU) && !strncmp(c->said, "MatMul[2x16x8] ", 15), "rows");
  cli_check(c, strstr(c->said, "\nSoftmax[2x4] ") != NULL, "the last row");
  const json *schema = parsed(c, &a, cli_text(c, TSR_SOURCE_DIR "/docs/profile.schema.json"), "the schema");
  cli_check(c, !cli_run(c, "profile " MLP " --shape x=2x8 --json --policy deterministic --tune off" CPU), "--json");
  const json *j = parsed(c, &a, c->said, "the JSON"), *rows = json_get(j, "rows");
  cli_check(c, j && json_schema_holds(schema, j, "profile"), "the JSON keeps to docs/profile.schema.json");
  cli_check(c, rows && rows->n == 3 && json_num(rows->first, "count", 0) == 2, "three kernels, two steps");
  cli_check(c, !cli_run(c, "profile " MLP " --shape x=2x8 --wide" CPU) && strstr(c->said, "fusion trace:"), "--wide");
  arena_clear(&a);
}

static void trace_and_page_are_written(cli *c) {
  arena a;
  arena_init(&a, NULL);
  cli_check(c, !cli_run(c, "profile " MLP " --shape x=2x8 --trace t.json --html p.html" CPU), "--trace, --html");
  const json *t = parsed(c, &a, cli_text(c, "t.json"), "the trace");
  cli_check(c, json_get(t, "traceEvents") && json_get(t, "traceEvents")->n == 2 + 2 * 3, "two steps of three launches");
  static const char *const parts[] = {"<h1>" MLP "</h1>\n<p>cpu:0</p>", "Launches over time", ": 3 launches", "Time by op",
                                      "Bytes by op", ">MatMul[2x16x8]<", ">softmax<", "<td class=t>matmul_0</td>"};
  const char *page = cli_text(c, "p.html");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) cli_check(c, strstr(page, parts[i]) != NULL, parts[i]);
  cli_check(c, !strstr(page, "<script") && !strstr(page, "http"), "nothing is loaded");
  cli_check(
      c, !cli_run(c, "profile softmax --shape 4x8 --html q.html" CPU) && strstr(cli_text(c, "q.html"), "<h1>softmax<"),
      "the page of an operation");
  arena_clear(&a);
}

/* Copies on the time line beside kernels, in text, JSON, trace and page. */
static void copies_are_told(cli *c) {
  arena a;
  arena_init(&a, NULL);
  cli_check(c, !cli_run(c, "profile " MLP " --shape x=2x8 --copies --trace t.json --html p.html" CPU), "--copies");
  cli_check(c, strstr(c->said, "Copy[6.4e-05MB] ") && strstr(c->said, "overlap of cpu:0: copies "), "rows of copies");
  cli_check(c, strstr(c->said, ": 0% of the shorter; a copy is over when its call returns") != NULL, "the overlap");
  const json *t = parsed(c, &a, cli_text(c, "t.json"), "the trace");
  int copies = 0, kernels = 0;
  for (const json *e = json_get(t, "traceEvents") ? json_get(t, "traceEvents")->first : NULL; e; e = e->next) {
    copies += !strcmp(json_str(e, "cat", ""), "copy") && json_num(e, "tid", 0) == 1;
    kernels += json_get(e, "dur") && json_num(e, "tid", -1) == 0;
  }
  cli_check(c, copies == 2 * 2 && kernels == 2 * 3, "two steps of x and y, and of three kernels");
  const char *page = cli_text(c, "p.html");
  cli_check(c, strstr(page, "Copies on cpu:0: ") && strstr(page, ">Copy[6.4e-05MB]<"), "the page has them");
  const json *schema = parsed(c, &a, cli_text(c, TSR_SOURCE_DIR "/docs/profile.schema.json"), "the schema");
  cli_check(c, !cli_run(c, "profile " MLP " --shape x=2x8 --copies --json" CPU), "--copies --json");
  const json *j = parsed(c, &a, c->said, "the JSON");
  cli_check(c, j && json_schema_holds(schema, j, "profile") && json_get(j, "overlap")->n == 1, "the JSON's overlap");
  cli_check(c, cli_run(c, "check " MLP " --shape x=2x8 --copies" CPU) == 2, "check copies nothing");
  arena_clear(&a);
}

/* One tensor "A", 2x4, as safetensors. */
static void write_weights(const cli *c) {
  static const char head[] = "{\"A\":{\"dtype\":\"F32\",\"shape\":[2,4],\"data_offsets\":[0,32]}}";
  char file[8 + sizeof head - 1 + 32] = {(char)(sizeof head - 1)};
  memcpy(file + 8, head, sizeof head - 1);
  cli_write(c, "w.safetensors", file, sizeof file);
}

static void inputs_come_from_files(cli *c) {
  const float x[24] = {1, -2, 3};
  const npy_array array = {.dtype = TSR_F32, .shape = {2, {3, 8}}, .data = (void *)(uintptr_t)x, .bytes = sizeof x};
  char path[256];
  cli_path(c, "x.npy", path, sizeof path);
  FILE *f = fopen(path, "wb");
  if (f) npy_write(f, &array), fclose(f);
  write_weights(c);
  cli_write_unary(c, "g.mlir", "softmax", "?x4");
  cli_check(c, !cli_run(c, "profile " MLP " --input x=x.npy" CPU) && strstr(c->said, "MatMul[3x16x8] "), "--input");
  cli_check(c, !cli_run(c, "profile g.mlir --weights w.safetensors" CPU) && strstr(c->said, "Softmax[2x4] "),
            "--weights");
  cli_check(c, !cli_run(c, "profile g.mlir --shape A=5x4" CPU) && strstr(c->said, "Softmax[5x4] "),
            "--shape of a text");
}

static void audit_and_tuner_take_models(cli *c) {
  const int rc = cli_run(c, "check " MLP " --shape x=2x8 --device cpu:0");
  cli_check(c, (rc == 0 || rc == 1) && strstr(c->said, "Ensure memory coalescing"), "check");
  cli_check(c, !cli_run(c, "tune " MLP " --shape x=64x8 --device cpu:0 --space") && strstr(c->said, "64x16x8"), "tune");
}

static void what_is_wrong_is_one_line(cli *c) {
  static const char gguf[32] = "GGUF\3";
  cli_write(c, "w.gguf", gguf, sizeof gguf);
  cli_write(c, "cut.onnx", cli_text(c, MLP), 60);
  cli_write(c, "text.onnx", "no model\n", 9);
  cli_refused(c, "an open dimension", "profile " MLP " --device cpu:0", "input x has an unknown dimension");
  cli_refused(c, "an extent", "profile " MLP " --shape x=2x9 --device cpu:0", "dimension 1 of input x is 8, not 9");
  cli_refused(c, "no such input", "profile " MLP " --shape y=2x8 --device cpu:0", "no input \"y\"");
  cli_refused(c, "no such input", "profile " MLP " --shape x=2x8 --input y=x.npy --device cpu:0", "no input \"y\"");
  cli_refused(c, "no such file", "profile " MLP " --shape x=2x8 --input x=no.npy --device cpu:0", "no.npy");
  cli_refused(c, "a type", "profile " MLP " --shape x=2x8 --dtype f16", "--dtype goes with an operation");
  cli_refused(c, "ops that there aren't", "profile " BRANCHES " --shape x=1x2 --device cpu:0", "can't be converted");
  cli_refused(c, "a cut model", "profile cut.onnx --shape x=2x8 --device cpu:0", "cut.onnx");
  cli_refused(c, "text by a model's name", "profile text.onnx --device cpu:0", "text.onnx: offset ");
  cli_refused(c, "no such model", "profile none.onnx --device cpu:0", "none.onnx: can't be opened");
  cli_refused(c, "a file of weights", "profile w.safetensors --device cpu:0", "a file of weights, no program");
  cli_refused(c, "a language model", "profile w.gguf --device cpu:0", "`tessera bench` times it");
  cli_refused(c, "weights that aren't its", "profile " MLP " --shape x=2x8 --weights w.safetensors --device cpu:0",
              "no tensor for 1 of 1 inputs: x");
  cli_refused(c, "inputs of an operation", "profile add --shape 4x8 --input A=x.npy", "go with a FILE");
  cli_check(c,
            cli_run(c, "profile " MLP " --shape x=2x8 --html no/such/p.html" CPU) == 2 &&
                strstr(c->said, "no/such/p.html: can't be written"),
            "nowhere to write the page");
  cli_refused(c, "the audit has no page", "check " MLP " --html p.html", "unknown option --html");
}

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  rows_are_those_of_the_program(&c);
  trace_and_page_are_written(&c);
  copies_are_told(&c);
  inputs_come_from_files(&c);
  audit_and_tuner_take_models(&c);
  what_is_wrong_is_one_line(&c);
  return cli_end(&c);
}
