/* tests/cli/test_bench_llm.c - `tessera bench FILE.gguf` on small decoders with random weights: a row for the prompt
 * and one for generation, in JSON with the fields that other models' rows have, rates that follow from the file, each
 * device with rows of its own; bad options, files and lengths are one line and exit status 2. */
#include <math.h>
#include <sys/stat.h>

#include "core/base/json.h"
#include "tests/cli/cli_llm.h"

#define SHORT " --device cpu:0 --milliseconds 1 "

static llm_file model;

/* Objects of a run, a line each. Returns how many. */
static int rows_of(cli *c, arena *a, const char *args, int want_rc, const json *out[8]) {
  const int rc = cli_run(c, args);
  int n = 0;
  cli_check(c, rc == want_rc, args);
  for (char *p = c->said, *end; n < 8 && (end = strchr(p, '\n')); p = end + 1) {
    json *j = NULL;
    if (*p != '{') continue;
    tsr_status st = json_parse(a, p, (size_t)(end - p), "row", &j);
    cli_check(c, !st, "a line of JSON");
    tsr_status_free(st);
    if (j) out[n++] = j;
  }
  return n;
}

static bool text_is(const json *row, const char *key, const char *want) {
  return !strcmp(json_str(row, key, "?"), want);
}

static void row_is_whole(cli *c, const json *row, const char *shape, double tokens) {
  const double us = json_num(row, "median_us", -1), per_s = json_num(row, "tokens_per_s", -1);
  cli_check(c, text_is(row, "op", "m.gguf") && text_is(row, "shape", shape) && text_is(row, "dtype", "f32"), shape);
  cli_check(c, text_is(row, "device", "cpu:0") && text_is(row, "timed_by", "host"), "device, clock");
  cli_check(c, json_num(row, "tokens", 0) == tokens && json_num(row, "runs", 0) >= 3, "tokens, runs");
  cli_check(c, us > 0 && json_num(row, "min_us", 0) <= us && fabs(per_s * us / 1e6 / tokens - 1) < 1e-4,
            "tokens by time");
  cli_check(c, json_get(row, "ok") && json_get(row, "ok")->boolean, "right");
  cli_check(c, json_num(row, "error", 1) < 1e-4 && json_num(row, "tolerance", 0) == 0.02, "f32 is f32 both ways");
}

/* Of products with matrices of the layers; of all weights, the embedding being the output matrix too. */
static void rates_follow_from_the_file(cli *c, const json *prompt, const json *generated) {
  double flops = 0, bytes = 0;
  for (uint64_t i = 0; i < model.n_tensors; i++) {
    const char *name = model.t[i].name;
    bytes += 4 * (double)model.t[i].n;
    if (!strncmp(name, "blk.", 4) && !strstr(name, "norm")) flops += 2 * (double)model.t[i].n;
  }
  const double pp = json_num(prompt, "gflops", 0) * json_num(prompt, "median_us", 0) * 1e3 / 32,
               tg = json_num(generated, "gbytes_per_s", 0) * json_num(generated, "median_us", 0) * 1e3 / 8;
  cli_check(c, fabs(pp / flops - 1) < 1e-4, "flops of a token of the prompt");
  cli_check(c, fabs(tg / bytes - 1) < 1e-4, "bytes of a token that is generated");
  cli_check(c, json_num(generated, "copy_gbytes_per_s", 0) > 0 && json_num(generated, "peak_fraction", 0) > 0,
            "the peak");
}

static void json_has_what_models_have(cli *c) {
  const json *rows[8], *other[8];
  arena a;
  arena_init(&a, NULL);
  const int n = rows_of(c, &a, "bench m.gguf --prompt-tokens 32 --tokens 8 --seed 3 --json" SHORT, 0, rows);
  cli_check(c, n == 2, "two rows");
  if (n == 2) {
    row_is_whole(c, rows[0], "pp32", 32);
    row_is_whole(c, rows[1], "tg8", 8);
    rates_follow_from_the_file(c, rows[0], rows[1]);
    cli_check(c, json_num(rows[0], "first_result_us", 0) > json_num(rows[0], "min_us", 0), "the first result");
    cli_check(c, json_num(json_get(rows[0], "environment"), "seed", 0) == 3, "the environment");
  }
  const int m = rows_of(c, &a, "bench " TSR_SOURCE_DIR "/examples/mlp.onnx --shape x=2x8 --json" SHORT, 0, other);
  cli_check(c, m == 1, "a row of another model");
  for (const json *k = m ? other[0]->first : NULL; k && n; k = k->next)
    cli_check(c, json_get(rows[0], k->key) && json_get(rows[n - 1], k->key), k->key);
  cli_check(c,
            rows_of(c, &a, "bench m.gguf --prompt-tokens 0 --tokens 4 --json" SHORT, 0, rows) == 1 &&
                text_is(rows[0], "shape", "tg4") && json_num(rows[0], "first_result_us", 0) > 0,
            "generation alone");
  cli_check(c,
            rows_of(c, &a, "bench m.gguf --prompt-tokens 40 --tokens 0 --json" SHORT, 0, rows) == 1 &&
                text_is(rows[0], "shape", "pp40"),
            "the prompt alone");
  arena_clear(&a);
}

static void table_has_the_columns_of_operations(cli *c) {
  cli_check(c, !cli_run(c, "bench m.gguf --prompt-tokens 16 --tokens 4" SHORT), "a table");
  cli_check(c, strstr(c->said, "timed for 1 ms or 3 runs a case\ndevice    op ") != NULL, "the head");
  cli_check(c, strstr(c->said, "\ncpu:0     m.gguf            pp16               f32 ") != NULL, "the prompt's row");
  const char *row = strstr(c->said, "\ncpu:0     m.gguf            tg4                f32 ");
  cli_check(c, row && strstr(row, "  ok ") && strstr(row, " tokens/s"), "the row of generation");
}

/* A llama-bench of the test's own: writes down what it is told, then does as `body` says. */
static void write_peer(const cli *c, const char *body) {
  char script[512], path[256];
  const int n = snprintf(script, sizeof script, "#!/bin/sh\necho \"$@\" >>asked.txt\n%s\n", body);
  cli_write(c, "llama-bench", script, (size_t)n);
  cli_path(c, "llama-bench", path, sizeof path);
  cli_check((cli *)(uintptr_t)c, !chmod(path, 0700), "a program");
}

static bool was_asked(const cli *c, const char *what) { return strstr(cli_text(c, "asked.txt"), what) != NULL; }

#define AGAINST "bench m.gguf --prompt-tokens 8 --tokens 2 --against llama" SHORT

static void peer_is_beside(cli *c) {
  const json *rows[8];
  char path[4096], old[4000];
  arena a;
  arena_init(&a, NULL);
  snprintf(old, sizeof old, "%s", getenv("PATH") ? getenv("PATH") : "");
  snprintf(path, sizeof path, "%s:%s", c->dir, old);
  setenv("PATH", path, 1);
  setenv("TSR_THREADS", "1", 1);
  write_peer(c, "echo '[ {\"build_commit\": \"abc\", \"build_number\": 77,'\necho '\"samples_ns\": [ 5000000 ]} ]'");
  int n = rows_of(c, &a, AGAINST "--json", 0, rows);
  cli_check(c, n == 2 && was_asked(c, "-m m.gguf -p 8 -n 0 -t 1 -r 1 -ngl 0 -o json\n"), "a prompt is asked for");
  cli_check(c, was_asked(c, "-m m.gguf -p 0 -n 2 -t 1 -r 1 -ngl 0 -o json\n"), "generation is asked for");
  for (int i = 0; i < n; i++) {
    cli_check(c,
              text_is(rows[i], "baseline", "llama.cpp 77 (abc)") && json_num(rows[i], "baseline_median_us", 0) == 5000,
              "its time and version");
    cli_check(c, fabs(json_num(rows[i], "ratio", 0) * json_num(rows[i], "median_us", 0) / 5000 - 1) < 1e-3,
              "the ratio");
  }
  cli_check(c, !cli_run(c, AGAINST) && strstr(c->said, "  first result ") && strstr(c->said, "llama.cpp 77 (abc) "),
            "the peer in the table");
  static const char *const bad[][2] = {{"exit 3", "llama-bench ends with status 3"},
                                       {"echo '[]'", "llama-bench gives no time of a run"},
                                       {"echo '[{\"samples_ns\": 3}]'", "llama-bench gives no time of a run"},
                                       {"echo no JSON", "llama-bench:1:1"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_peer(c, bad[i][0]);
    n = rows_of(c, &a, AGAINST "--json", 0, rows);
    cli_check(c, n == 2 && strstr(json_str(rows[0], "why", ""), bad[i][1]), bad[i][1]);
    cli_check(c, n == 2 && text_is(rows[0], "baseline", "llama.cpp") && json_num(rows[0], "ratio", -1) < 0, "no ratio");
  }
  setenv("PATH", "/nowhere", 1);
  cli_check(c, !cli_run(c, AGAINST) && strstr(c->said, "llama.cpp: no llama-bench in PATH\n"), "no peer");
  setenv("PATH", old, 1);
  unsetenv("TSR_THREADS");
  arena_clear(&a);
}

/* A device that fails has its rows, and the others have theirs. */
static void each_device_has_rows(cli *c) {
  const json *rows[8];
  arena a;
  arena_init(&a, NULL);
  static const char all[] = "bench m.gguf --prompt-tokens 8 --tokens 2 --milliseconds 1 --json --device all";
  if (cli_run(c, "bench m.gguf --prompt-tokens 8 --tokens 2 --milliseconds 1 --device vulkan:0")) {
    printf("no Vulkan device: its rows were not looked at\n");
    return;
  }
  cli_check(c, strstr(c->said, "\nvulkan:0  m.gguf            tg2 ") != NULL, "rows on Vulkan");
  setenv("TSR_VK_FAULT", "lost:2", 1);
  const int n = rows_of(c, &a, all, 3, rows);
  unsetenv("TSR_VK_FAULT");
  cli_check(c, n >= 4 && n % 2 == 0, "two rows for each device");
  bool failed = false, measured = false;
  for (int i = 0; i < n; i++) {
    failed |= text_is(rows[i], "device", "vulkan:0") && json_get(rows[i], "failed");
    measured |= text_is(rows[i], "device", "cpu:0") && json_num(rows[i], "median_us", 0) > 0;
  }
  cli_check(c, failed && measured, "a lost device beside one that works");
  arena_clear(&a);
}

static void what_is_wrong_is_one_line(cli *c) {
  cli_refused(c, "no such file", "bench gone.gguf" SHORT, "gone.gguf: can't be opened");
  cli_refused(c, "no such file on any device", "bench gone.gguf --device all", "gone.gguf: can't be opened");
  cli_refused(c, "text", "bench text.gguf" SHORT, "not a safetensors, .npz or GGUF file");
  cli_refused(c, "a tensor missing", "bench no_norm.gguf" SHORT, "no tensor \"output_norm.weight\"");
  cli_refused(c, "a long prompt", "bench m.gguf" SHORT, "a text of 512 tokens; the model's context is 256");
  cli_check(c, cli_run(c, "bench m.gguf --device cpu:9") == 3 && cli_one_line(c) && strstr(c->said, "cpu:9"),
            "no device");
  cli_refused(c, "nothing to do", "bench m.gguf --prompt-tokens 0 --tokens 0", "nothing is left");
  cli_refused(c, "a length", "bench m.gguf --tokens -3", "--prompt-tokens and --tokens are 0 to 1048576");
  cli_refused(c, "a length", "bench m.gguf --prompt-tokens 2000000", "--prompt-tokens and --tokens are 0 to 1048576");
  cli_refused(c, "an option of operations", "bench m.gguf --dtype f16", "a language model takes --device, ");
  cli_refused(c, "a peer", "bench m.gguf --against onnxruntime", "no peer \"onnxruntime\" for language models");
  cli_refused(c, "an option of language models", "bench add --tokens 3", "go with one language model");
  for (size_t cut = 5; cut < 12000; cut += 2345) {
    cli_write_llm(c, &model, "cut.gguf", &(llm_file_options){.arch = "llama"}, cut);
    cli_refused(c, "a truncated file", "bench cut.gguf" SHORT, "cut.gguf: offset ");
    llm_file_clear(&model);
  }
}

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  cli_write_llm(&c, &model, "no_norm.gguf", &(llm_file_options){.arch = "llama", .without = "output_norm.weight"}, 0);
  llm_file_clear(&model);
  cli_write_llm(&c, &model, "m.gguf", &(llm_file_options){.arch = "llama"}, 0);
  cli_write(&c, "text.gguf", "no model\n", 9);
  json_has_what_models_have(&c);
  table_has_the_columns_of_operations(&c);
  peer_is_beside(&c);
  each_device_has_rows(&c);
  llm_file_clear(&model);
  what_is_wrong_is_one_line(&c);
  return cli_end(&c);
}
