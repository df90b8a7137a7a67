/* tests/unit/test_llm_model.c - decoders of every architecture's form with random weights: a text in one piece, in
 * pieces, and token by token gives the logits of a plain f64 computation; files that lie are refused with one line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/llm/model.h"
#include "tests/support/llm_reference.h"

static void write_file(const llm_file *f, char *path) {
  strb b;
  strb_init(&b, NULL);
  llm_file_bytes(f, &b);
  const int fd = mkstemp(path);
  assert_true(fd >= 0 && strb_ok(&b) && write(fd, strb_text(&b), b.n) == (ssize_t)b.n);
  close(fd);
  strb_clear(&b);
}

static void ok(tsr_status st) {
  if (st) fail_msg("%s", tsr_status_message(st));
}

typedef struct opened {
  tsr_context *ctx;
  tsr_device *dev;
  char path[32];
} opened;

static tsr_status open_model(opened *x, const llm_file *f, llm_model **m) {
  *x = (opened){.path = "/tmp/tessera_llm_XXXXXX"};
  write_file(f, x->path);
  ok(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &x->ctx));
  ok(tsr_device_open(x->ctx, "cpu:0", &x->dev));
  return llm_model_open(x->ctx, x->dev, x->path, m);
}

static void close_model(opened *x, llm_model **m) {
  llm_model_close(m);
  tsr_device_close(&x->dev);
  tsr_context_destroy(&x->ctx);
  unlink(x->path);
}

/* Sums of at most LLM_FFN products in f32 through LLM_LAYERS layers, relative to the largest logit: 1e-4 is some
 * hundred times the rounding of one sum, and far below what a wrong term makes. */
static void compare(const char *arch, const char *how, const float *got, const double *want) {
  double largest = 1;
  for (int i = 0; i < LLM_VOCAB; i++) largest = fmax(largest, fabs(want[i]));
  for (int i = 0; i < LLM_VOCAB; i++)
    if (!(fabs((double)got[i] - want[i]) <= 1e-4 * largest))
      fail_msg("%s, %s: logit %d is %g, not %g", arch, how, i, (double)got[i], want[i]);
}

static void check_arch(const llm_file_options *o) {
  static llm_file f;
  static double want[LLM_VOCAB];
  int32_t tokens[LLM_MOST_TOKENS];
  llm_file_make(&f, o);
  for (int i = 0; i < LLM_MOST_TOKENS; i++) tokens[i] = (int32_t)(i * 37 % LLM_VOCAB);
  opened x;
  llm_model *m;
  const float *logits;
  ok(open_model(&x, &f, &m));
  llm_reference(&f, tokens, 40, want);
  ok(llm_model_begin(m, 60));
  ok(llm_model_append(m, tokens, 40, &logits));
  compare(o->arch, "in one piece", logits, want);
  ok(llm_model_begin(m, 60));
  ok(llm_model_append(m, tokens, 5, &logits));
  ok(llm_model_append(m, tokens + 5, 34, &logits));
  ok(llm_model_append(m, tokens + 39, 1, &logits));
  compare(o->arch, "in three pieces", logits, want);
  llm_reference(&f, tokens, 6, want);
  ok(llm_model_begin(m, 60));
  for (int i = 0; i < 6; i++) ok(llm_model_append(m, tokens + i, 1, &logits));
  compare(o->arch, "token by token", logits, want);
  tsr_status st = llm_model_append(m, tokens, 100000, &logits);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  close_model(&x, &m);
  llm_file_clear(&f);
}

static void decoder_of_every_architecture_gives_the_reference_logits(void **state) {
  (void)state;
  static const llm_file_options rows[] = {
      {.arch = "llama"},
      {.arch = "qwen2", .biases = true},
      {.arch = "qwen3", .head_norms = true},
      {.arch = "gemma"},
      {.arch = "gemma2", .post_norms = true, .softcap = 5, .window = 7},
      {.arch = "gemma3", .post_norms = true, .head_norms = true, .window = 9},
      {.arch = "phi2", .layer_norm = true, .parallel = true, .joined_qkv = true, .biases = true, .rope_dim = 4},
      {.arch = "phi3", .joined_qkv = true, .joined_gate = true, .window = 20},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) check_arch(&rows[i]);
}

static void refused(const llm_file_options *o, const char *says) {
  static llm_file f;
  opened x;
  llm_model *m = NULL;
  llm_file_make(&f, o);
  tsr_status st = open_model(&x, &f, &m);
  if (!st || !strstr(tsr_status_message(st), says))
    fail_msg("expected \"%s\", got: %s", says, st ? tsr_status_message(st) : "no error");
  assert_null(m);
  tsr_status_free(st);
  close_model(&x, &m);
  llm_file_clear(&f);
}

static void file_that_lacks_or_lies_is_refused(void **state) {
  (void)state;
  refused(&(llm_file_options){.arch = "rwkv6"}, "of the architecture \"rwkv6\"");
  refused(&(llm_file_options){.arch = "llama", .without = "general.architecture"}, "general.architecture");
  refused(&(llm_file_options){.arch = "llama", .without = "llama.block_count"}, "no \"llama.block_count\"");
  refused(&(llm_file_options){.arch = "llama", .without = "token_embd.weight"}, "no tensor \"token_embd.weight\"");
  refused(&(llm_file_options){.arch = "llama", .without = "blk.1.attn_k.weight"}, "no tensor \"blk.1.attn_k.weight\"");
  refused(&(llm_file_options){.arch = "llama", .without = "blk.2.ffn_gate.weight"}, "blk.2.ffn_gate.weight");
  refused(&(llm_file_options){.arch = "llama", .without = "blk.2.ffn_norm.weight"}, "blk.2.ffn_norm.weight");
  refused(&(llm_file_options){.arch = "llama", .wrong_shape = "blk.0.attn_q.weight"},
          "tensor \"blk.0.attn_q.weight\" is 33x32, where the model's sizes say 32x32");
  refused(&(llm_file_options){.arch = "llama", .wrong_shape = "output_norm.weight"}, "is 33, where the model's");
  refused(&(llm_file_options){.arch = "llama", .extra = "blk.0.ffn_gate_exps.weight"},
          "has no tensor \"blk.0.ffn_gate_exps.weight\"");
  refused(&(llm_file_options){.arch = "llama", .extra = "blk.7.attn_q.weight"},
          "has no tensor \"blk.7.attn_q.weight\"");
  refused(&(llm_file_options){.arch = "llama", .extra = "blk.00.attn_q.weight"}, /* else it took the place of blk.0 */
          "has no tensor \"blk.00.attn_q.weight\"");
  refused(&(llm_file_options){.arch = "llama", .without = "tokenizer.ggml.merges"}, "no merges");
  refused(&(llm_file_options){.arch = "llama", .without = "tokenizer.ggml.tokens"}, "no tokens");
  refused(&(llm_file_options){.arch = "llama", .without = "tokenizer.ggml.model"}, "says no tokenizer");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(decoder_of_every_architecture_gives_the_reference_logits),
                                     cmocka_unit_test(file_that_lacks_or_lies_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
