/* tests/fuzz/fuzz_llm.c - libFuzzer target of what is read out of a GGUF file for a language model: sizes and tensors,
 * the tokenizer, which must take any text and give its bytes back where it has tokens for them. Build and run as
 * fuzz_ir. */
#include <stdio.h>
#include <stdlib.h>

#include "core/llm/arch.h"
#include "core/llm/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const tokenizer *t, const uint8_t *text, size_t n) {
  token_list l = {.al = NULL};
  strb b;
  strb_init(&b, NULL);
  tsr_status_free(tokenizer_encode(t, (const char *)text, n, &l));
  for (size_t i = 0; i < l.n; i++) {
    if (l.v[i] < 0 || l.v[i] >= tokenizer_count(t)) {
      fprintf(stderr, "token %d of %d\n", (int)l.v[i], (int)tokenizer_count(t));
      abort();
    }
    tokenizer_decode(t, l.v[i], &b);
  }
  strb_clear(&b);
  token_list_clear(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  weights *w;
  tokenizer *t = NULL;
  llm_params p;
  arena a;
  tsr_status st = weights_parse(NULL, data, size, "fuzz", &w);
  if (st) return tsr_status_free(st), 0;
  arena_init(&a, NULL);
  tsr_status_free(llm_params_read(w, &a, &p));
  tsr_status_free(tokenizer_create(w, &t));
  if (t) use(t, data + size / 2, size - size / 2 < 4096 ? size - size / 2 : 4096);
  tokenizer_destroy(&t);
  arena_clear(&a);
  weights_close(&w);
  return 0;
}
