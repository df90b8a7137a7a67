/* tests/cli/test_generate.c - `tessera generate` on a small decoder with random weights: text and JSON of one run, the
 * same seed twice, bad options, files that are no models, each with one line and exit status 2. */
#include "core/base/json.h"
#include "tests/cli/cli_llm.h"
#include "tests/cli/cli_mpi.h"

static void write_model(const cli *c, const char *name, const llm_file_options *o, size_t cut) {
  static llm_file f;
  cli_write_llm(c, &f, name, o, cut);
  llm_file_clear(&f);
}

static const json *generated(cli *c, arena *a, const char *args) {
  json *j = NULL;
  const int rc = cli_run(c, args);
  tsr_status st = json_parse(a, c->said, strlen(c->said), "said", &j);
  cli_check(c, !rc && !st, args);
  tsr_status_free(st);
  return st ? NULL : j;
}

static bool same_tokens(const json *a, const json *b) {
  const json *x = a ? json_get(a, "tokens") : NULL, *y = b ? json_get(b, "tokens") : NULL;
  if (!x || !y || x->n != y->n) return false;
  for (x = x->first, y = y->first; x && y; x = x->next, y = y->next)
    if (x->number != y->number) return false;
  return true;
}

#define ENDS "generate m.gguf --prompt 'the end' --tokens 12 --json"

static void json_has_what_was_promised(cli *c) {
  arena a;
  arena_init(&a, NULL);
  const json *j = generated(c, &a, ENDS);
  const json *tokens = json_get(j, "tokens");
  cli_check(c, tokens && tokens->type == JSON_ARRAY && tokens->n == 12, "12 tokens");
  cli_check(c, json_get(j, "text") && json_get(j, "text")->type == JSON_STRING, "text");
  cli_check(c, json_num(j, "prompt_tokens", 0) == 5, "tokens of the prompt: the, ' ', e, n, d");
  static const char *const rates[] = {"prompt_tokens_per_s", "tokens_per_s", "time_to_first_token_ms"};
  for (int i = 0; i < 3; i++) cli_check(c, json_num(j, rates[i], -1) > 0, rates[i]);
  const json *again = generated(c, &a, ENDS " --temperature 0 --seed 5");
  cli_check(c, same_tokens(j, again), "without temperature the seed changes nothing");
  const json *hot = generated(c, &a, ENDS " --temperature 3 --seed 5");
  const json *same = generated(c, &a, ENDS " --temperature 3 --seed 5");
  const json *other = generated(c, &a, ENDS " --temperature 3 --seed 6");
  cli_check(c, same_tokens(hot, same), "one seed, the same tokens");
  cli_check(c, hot && !same_tokens(hot, other), "another seed, other tokens");
  const json *none = generated(c, &a, "generate m.gguf --prompt a --tokens 0 --json");
  cli_check(c, none && json_get(none, "tokens")->n == 0, "no tokens");
  arena_clear(&a);
}

static void text_is_that_of_the_json(cli *c) {
  arena a;
  arena_init(&a, NULL);
  const json *j = generated(c, &a, "generate m.gguf --prompt abc --tokens 1 --json --temperature 9 --seed 3");
  char want[64];
  snprintf(want, sizeof want, "%s\n", json_str(j, "text", "?"));
  cli_check(c, !cli_run(c, "generate m.gguf --prompt abc --tokens 1 --temperature 9 --seed 3"), "runs");
  cli_check(c, strlen(want) < 2 || !strcmp(c->said, want) || (unsigned char)want[0] >= 0x80, "the same text");
  arena_clear(&a);
}

#define LONG "generate nine.gguf --prompt 'the end of the line' --tokens 20 --json"

/* 9 heads on 3 ranks, in this process and as three of MPI's: the tokens of one device, said once. */
static void mesh_gives_the_same_tokens(cli *c) {
  arena a;
  arena_init(&a, NULL);
  const json *one = generated(c, &a, LONG);
  cli_check(c, same_tokens(one, generated(c, &a, LONG " --mesh tp=3")), "the same tokens on three ranks");
  cli_check(c, same_tokens(one, generated(c, &a, LONG " --mesh tp=2 --device cpu:0,cpu:0")), "on two, unevenly");
  if (cli_mpi_begin(c)) {
    const json *three = generated(c, &a, "--oversubscribe -n 3 $PROGRAM " LONG " --mesh tp=3 --transport mpi");
    cli_check(c, same_tokens(one, three), "the same tokens in three processes");
    cli_expect(c, "--oversubscribe -n 2 $PROGRAM " LONG " --mesh tp=3 --transport mpi", 2, "the team 2");
    cli_mpi_end();
  }
  arena_clear(&a);
}

static void bad_input_is_one_line(cli *c) {
  cli_refused(c, "other axes", "generate m.gguf --prompt a --mesh dp=2", "cut along the axis tp and no other");
  cli_refused(c, "no mesh", "generate m.gguf --prompt a --mesh 3", "mesh");
  cli_refused(c, "transport alone", "generate m.gguf --prompt a --transport mpi", "--transport is for --mesh");
  cli_refused(c, "another transport", "generate m.gguf --prompt a --mesh tp=2 --transport tcp", "--transport is mpi");
  cli_refused(c, "no file", "generate --prompt a", "needs one FILE.gguf");
  cli_refused(c, "no prompt", "generate m.gguf", "needs --prompt TEXT");
  cli_refused(c, "an empty prompt", "generate m.gguf --prompt ''", "a prompt without tokens");
  cli_refused(c, "tokens", "generate m.gguf --prompt a --tokens -1", "--tokens is 0 to");
  cli_refused(c, "temperature", "generate m.gguf --prompt a --temperature cold", "--temperature is a number");
  cli_refused(c, "temperature", "generate m.gguf --prompt a --temperature nan", "--temperature is a number");
  cli_refused(c, "a long text", "generate m.gguf --prompt a --tokens 256", "the model's context is 256");
  cli_refused(c, "no such file", "generate gone.gguf --prompt a", "gone.gguf: can't be opened");
  cli_refused(c, "IR text", "generate g.mlir --prompt a", "not a safetensors, .npz or GGUF file");
  cli_refused(c, "no tokenizer", "generate no_tokens.gguf --prompt a", "no_tokens.gguf: offset");
  cli_refused(c, "a tensor missing", "generate no_norm.gguf --prompt a", "no tensor \"output_norm.weight\"");
  for (size_t cut = 4; cut < 12000; cut += 1111) {
    write_model(c, "cut.gguf", &(llm_file_options){.arch = "llama"}, cut);
    cli_refused(c, "a truncated file", "generate cut.gguf --prompt a", "cut.gguf: offset ");
  }
}

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  write_model(&c, "m.gguf", &(llm_file_options){.arch = "llama"}, 0);
  write_model(&c, "no_tokens.gguf", &(llm_file_options){.arch = "llama", .without = "tokenizer.ggml.tokens"}, 0);
  write_model(&c, "no_norm.gguf", &(llm_file_options){.arch = "llama", .without = "output_norm.weight"}, 0);
  cli_write(&c, "g.mlir", "x\n", 2);
  write_model(&c, "nine.gguf", &(llm_file_options){.arch = "llama", .heads = 9, .kv_heads = 3}, 0);
  json_has_what_was_promised(&c);
  mesh_gives_the_same_tokens(&c);
  text_is_that_of_the_json(&c);
  bad_input_is_one_line(&c);
  return cli_end(&c);
}
