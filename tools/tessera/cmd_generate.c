/* tools/tessera/cmd_generate.c - `tessera generate FILE.gguf --prompt TEXT`: a language model continues a text. The
 * text goes to standard output as it comes; --json prints one object at the end in its place. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/llm/chat.h"
#include "core/llm/generate.h"
#include "tools/tessera/mesh_place.h"

enum { DEFAULT_TOKENS = 128, MOST_TOKENS = 1 << 24 };

typedef struct generate_args {
  const char *file, *prompt, *system, *device, *temperature, *mesh, *transport;
  long tokens, seed;
  bool json, chat;
} generate_args;

static void stream(void *user, const char *p, size_t n) {
  (void)user;
  fwrite(p, 1, n, stdout);
  fflush(stdout);
}

static double rate(int64_t n, double seconds) { return seconds > 0 ? (double)n / seconds : 0; }

static void print_json(const generate_args *a, const llm_result *r) {
  printf("{\"file\": ");
  cli_json_string(stdout, a->file);
  printf(", \"tokens\": [");
  for (size_t i = 0; i < r->tokens.n; i++) printf("%s%d", i ? ", " : "", (int)r->tokens.v[i]);
  printf("], \"text\": ");
  cli_json_string(stdout, strb_text(&r->text));
  printf(", \"prompt_tokens\": %lld, \"prompt_tokens_per_s\": %.3f, \"tokens_per_s\": %.3f, "
         "\"time_to_first_token_ms\": %.3f}\n",
         (long long)r->n_prompt, rate(r->n_prompt, r->prompt_s), rate(r->n_rest, r->rest_s), r->first_s * 1e3);
}

static int parse(int argc, char **argv, generate_args *a, double *temperature) {
  const option options[] = {{.name = "--prompt", .text = &a->prompt},
                            {.name = "--tokens", .number = &a->tokens},
                            {.name = "--device", .text = &a->device},
                            {.name = "--mesh", .text = &a->mesh},
                            {.name = "--transport", .text = &a->transport},
                            {.name = "--temperature", .text = &a->temperature},
                            {.name = "--seed", .number = &a->seed},
                            {.name = "--chat", .flag = &a->chat},
                            {.name = "--system", .text = &a->system},
                            {.name = "--json", .flag = &a->json}};
  if (!cli_options("generate", &argc, argv, options, sizeof options / sizeof *options)) return EXIT_USAGE;
  if (argc != 2) return cli_usage("generate", "needs one FILE.gguf");
  if (!a->prompt) return cli_usage("generate", "needs --prompt TEXT");
  if (a->transport && !a->mesh) return cli_usage("generate", "--transport is for --mesh");
  if (a->system && !a->chat) return cli_usage("generate", "--system goes with --chat");
  if (a->tokens < 0 || a->tokens > MOST_TOKENS)
    return cli_usage("generate", "--tokens is 0 to %d, not %ld", MOST_TOKENS, a->tokens);
  char *end = NULL;
  *temperature = a->temperature ? strtod(a->temperature, &end) : 0;
  if (a->temperature && (end == a->temperature || *end || !(*temperature >= 0 && *temperature <= 1000)))
    return cli_usage("generate", "--temperature is a number from 0 to 1000, not \"%s\"", a->temperature);
  a->file = argv[1];
  return EXIT_OK;
}

/* The prompt in the model's chat template, in `out`. */
static tsr_status in_template(const generate_args *a, const llm_model *m, strb *out) {
  const tokenizer *t = llm_model_tokenizer(m);
  const chat_message messages[2] = {{"system", a->system}, {"user", a->prompt}};
  const chat_request q = {.template_text = llm_model_chat_template(m),
                          .messages = messages + !a->system,
                          .n = 1 + (a->system != NULL),
                          .bos = tokenizer_bos_text(t),
                          .eos = tokenizer_eos_text(t),
                          .file = a->file};
  if (!q.template_text)
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("generate", NULL, NULL),
                   "%s: the file has no chat template; without --chat the prompt is continued as it stands", a->file);
  TSR_TRY(chat_render(&q, out));
  const size_t n = strlen(q.bos);
  if (n && tokenizer_adds_bos(t) && out->n >= n && !memcmp(strb_text(out), q.bos, n)) { /* not twice */
    memmove(out->p, out->p + n, out->n - n + 1);
    out->n -= n;
  }
  return NULL;
}

/* Everything but where it runs; rank 0 of several processes speaks. */
static tsr_status generate(const generate_args *a, double temperature, bool quiet, llm_model *m) {
  llm_result r = {.n_prompt = 0};
  strb text;
  strb_init(&text, NULL);
  llm_request q = {.prompt = a->prompt,
                   .prompt_bytes = strlen(a->prompt),
                   .tokens = a->tokens,
                   .temperature = temperature,
                   .seed = (uint64_t)a->seed,
                   .text = a->json || quiet ? NULL : stream};
  tsr_status st = a->chat ? in_template(a, m, &text) : NULL;
  if (!st && a->chat) q.prompt = strb_text(&text), q.prompt_bytes = text.n;
  if (!st) st = llm_generate(m, &q, &r);
  if (!st && !quiet && a->json) print_json(a, &r);
  else if (!st && !quiet) printf("\n");
  llm_result_clear(&r);
  strb_clear(&text);
  return st;
}

int cmd_generate(int argc, char **argv) {
  generate_args a = {.tokens = DEFAULT_TOKENS};
  double temperature = 0;
  int rc = parse(argc, argv, &a, &temperature);
  if (rc) return rc;
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  mesh_place at = {.n_devices = 0};
  llm_model *m = NULL;
  tsr_status st = cli_context(&ctx);
  if (!st && a.mesh) rc = mesh_place_open(ctx, "generate", a.mesh, a.device, a.transport, &at);
  else if (!st) st = tsr_device_open(ctx, a.device, &dev);
  if (!st && !rc) st = llm_model_open_mesh(ctx, a.mesh ? at.devices[0] : dev, at.mesh, a.file, &m);
  if (!st && !rc) st = generate(&a, temperature, at.quiet, m);
  if (st) rc = cli_fail(st);
  llm_model_close(&m);
  mesh_place_close(&at);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return rc;
}
