/* core/llm/generate.c - see generate.h. */
#include "core/llm/generate.h"

#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "core/llm/sampler.h"

/* Bytes at the end that begin a character whose other bytes are still to come. */
static size_t unfinished(const char *p, size_t n) {
  for (size_t back = 1; back <= 3 && back <= n; back++) {
    const unsigned char c = (unsigned char)p[n - back];
    if (c < 0x80) return 0;
    if (c >= 0xc0) return back < (size_t)(c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2) ? back : 0;
  }
  return 0;
}

static void hand_out(const llm_request *q, const llm_result *r, size_t *given, bool last) {
  const size_t n = r->text.n - (last ? 0 : unfinished(strb_text(&r->text), r->text.n));
  if (n > *given && q->text) q->text(q->user, strb_text(&r->text) + *given, n - *given);
  if (n > *given) *given = n;
}

static tsr_status read_prompt(llm_model *m, const llm_request *q, token_list *prompt, const float **logits) {
  TSR_TRY(tokenizer_encode(llm_model_tokenizer(m), q->prompt, q->prompt_bytes, prompt));
  if (!prompt->n)
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("model", NULL, NULL), "a prompt without tokens");
  const int64_t most = (int64_t)prompt->n + (q->tokens > 0 ? q->tokens : 0);
  TSR_TRY(llm_model_begin(m, most));
  return llm_model_append(m, prompt->v, (int64_t)prompt->n, logits);
}

static tsr_status go_on(llm_model *m, const llm_request *q, const float *logits, int64_t start_ns, llm_result *r) {
  const tokenizer *t = llm_model_tokenizer(m);
  sampler s = {.temperature = q->temperature, .state = q->seed};
  size_t given = 0;
  int64_t first_ns = 0;
  for (int64_t i = 0; i < q->tokens; i++) {
    const int32_t id = sampler_take(&s, logits, llm_model_vocab(m));
    if (!i) r->first_s = 1e-9 * (double)((first_ns = clock_ns()) - start_ns);
    if (tokenizer_is_end(t, id)) break;
    if (!token_list_add(&r->tokens, id)) return st_oom();
    tokenizer_decode(t, id, &r->text);
    if (!strb_ok(&r->text)) return st_oom();
    hand_out(q, r, &given, false);
    if (i + 1 == q->tokens) break;
    TSR_TRY(llm_model_append(m, &id, 1, &logits));
    r->n_rest++;
  }
  hand_out(q, r, &given, true);
  if (first_ns) r->rest_s = 1e-9 * (double)(clock_ns() - first_ns);
  return NULL;
}

tsr_status llm_generate(llm_model *m, const llm_request *q, llm_result *out) {
  const int64_t start = clock_ns();
  token_list prompt = {.al = NULL};
  const float *logits = NULL;
  *out = (llm_result){.n_prompt = 0};
  strb_init(&out->text, NULL);
  tsr_status st = read_prompt(m, q, &prompt, &logits);
  out->n_prompt = (int64_t)prompt.n;
  out->prompt_s = 1e-9 * (double)(clock_ns() - start);
  if (!st) st = go_on(m, q, logits, start, out);
  token_list_clear(&prompt);
  return st;
}

void llm_result_clear(llm_result *r) {
  token_list_clear(&r->tokens);
  strb_clear(&r->text);
}
