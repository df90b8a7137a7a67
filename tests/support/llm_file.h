/* tests/support/llm_file.h - small decoders as GGUF files: a byte-level tokenizer, random f32 weights, the forms of
 * every architecture. */
#ifndef TESTS_SUPPORT_LLM_FILE_H
#define TESTS_SUPPORT_LLM_FILE_H
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"

enum { LLM_WIDTH = 32, LLM_HEADS = 4, LLM_KV_HEADS = 2, LLM_DIM = 8, LLM_FFN = 64, LLM_LAYERS = 3, LLM_VOCAB = 262,
       LLM_MOST_TENSORS = 96 };

typedef struct llm_file_options {
  const char *arch;     /* "llama" */
  bool biases;          /* of queries, keys and values */
  bool head_norms;      /* of each head of queries and keys */
  bool post_norms;      /* behind attention and feed-forward */
  bool joined_qkv, joined_gate;
  bool layer_norm;      /* norms with biases */
  bool parallel;        /* no norm before the feed-forward, which has no gate */
  int rope_dim, window; /* 0: the head; none */
  int heads, kv_heads;  /* 0: LLM_HEADS, LLM_KV_HEADS */
  double softcap;       /* of logits and scores; 0: none */
  const char *without;  /* a tensor or key that is left out; NULL: none */
  const char *wrong_shape; /* a tensor that has a row more */
  const char *extra;    /* one more tensor of this name */
} llm_file_options;

typedef struct llm_file {
  strb keys, infos, data;
  uint64_t n_keys, n_tensors;
  const llm_file_options *o;
  struct { char name[64]; size_t at, n; } t[LLM_MOST_TENSORS]; /* floats of `data` */
  uint64_t random;
} llm_file;

static inline void llm_le(strb *b, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++, v >>= 8) strb_putc(b, (char)v);
}

static inline void llm_text(strb *b, const char *s, size_t n) {
  llm_le(b, n, 8);
  strb_put(b, s, n);
}

static inline bool llm_key(llm_file *f, const char *key, unsigned type) {
  if (f->o->without && !strcmp(f->o->without, key)) return false;
  llm_text(&f->keys, key, strlen(key));
  llm_le(&f->keys, type, 4);
  f->n_keys++;
  return true;
}

static inline void llm_key_text(llm_file *f, const char *key, const char *s) {
  if (llm_key(f, key, 8)) llm_text(&f->keys, s, strlen(s));
}

static inline void llm_key_int(llm_file *f, const char *name, unsigned v) {
  char key[96];
  snprintf(key, sizeof key, "%s.%s", f->o->arch, name);
  if (llm_key(f, key, 4)) llm_le(&f->keys, v, 4);
}

static inline void llm_key_float(llm_file *f, const char *name, float v) {
  char key[96];
  uint32_t bits;
  memcpy(&bits, &v, sizeof v);
  snprintf(key, sizeof key, "%s.%s", f->o->arch, name);
  if (llm_key(f, key, 6)) llm_le(&f->keys, bits, 4);
}

/* Around `mean`. */
static inline float llm_random(llm_file *f, double mean, double range) {
  f->random = f->random * 6364136223846793005u + 1442695040888963407u;
  return (float)(mean + range * ((double)(f->random >> 40) / (1 << 24) * 2 - 1));
}

/* rows 0: a vector of `columns`. */
static inline void llm_put_tensor(llm_file *f, const char *name, int rows, int columns, double mean, double range) {
  if (f->o->without && !strcmp(f->o->without, name)) return;
  if (f->o->wrong_shape && !strcmp(f->o->wrong_shape, name)) rows ? rows++ : columns++;
  const size_t n = (size_t)(rows ? rows : 1) * (size_t)columns;
  while (f->data.n % 32) strb_putc(&f->data, 0);
  snprintf(f->t[f->n_tensors].name, sizeof f->t->name, "%s", name);
  f->t[f->n_tensors].at = f->data.n;
  f->t[f->n_tensors++].n = n;
  llm_text(&f->infos, name, strlen(name));
  llm_le(&f->infos, rows ? 2 : 1, 4);
  llm_le(&f->infos, (uint64_t)columns, 8);
  if (rows) llm_le(&f->infos, (uint64_t)rows, 8);
  llm_le(&f->infos, 0, 4);
  llm_le(&f->infos, f->data.n, 8);
  for (size_t i = 0; i < n; i++) {
    const float v = llm_random(f, mean, range);
    strb_put(&f->data, (const char *)&v, sizeof v);
  }
}

static inline void llm_norm_tensors(llm_file *f, const char *name) {
  char full[64];
  snprintf(full, sizeof full, "%s.weight", name);
  llm_put_tensor(f, full, 0, LLM_WIDTH, 1, 0.3);
  snprintf(full, sizeof full, "%s.bias", name);
  if (f->o->layer_norm) llm_put_tensor(f, full, 0, LLM_WIDTH, 0, 0.2);
}

static inline void llm_layer_tensor(llm_file *f, int layer, const char *name, int rows, int columns) {
  char full[64];
  const bool norm = strstr(name, "norm") != NULL;
  snprintf(full, sizeof full, "blk.%d.%s", layer, name);
  llm_put_tensor(f, full, rows, columns, norm ? 1 : 0, norm ? 0.3 : rows ? 0.25 : 0.2);
}

static inline void llm_layer_tensors(llm_file *f, int l) {
  const llm_file_options *o = f->o;
  const int q = (o->heads ? o->heads : LLM_HEADS) * LLM_DIM, k = (o->kv_heads ? o->kv_heads : LLM_KV_HEADS) * LLM_DIM;
  char norm[32];
  snprintf(norm, sizeof norm, "blk.%d.attn_norm", l);
  llm_norm_tensors(f, norm);
  if (o->joined_qkv) llm_layer_tensor(f, l, "attn_qkv.weight", q + 2 * k, LLM_WIDTH);
  if (o->joined_qkv && o->biases) llm_layer_tensor(f, l, "attn_qkv.bias", 0, q + 2 * k);
  for (int i = 0; i < 3 && !o->joined_qkv; i++) {
    static const char *const names[3][2] = {{"attn_q.weight", "attn_q.bias"}, {"attn_k.weight", "attn_k.bias"},
                                            {"attn_v.weight", "attn_v.bias"}};
    llm_layer_tensor(f, l, names[i][0], i ? k : q, LLM_WIDTH);
    if (o->biases) llm_layer_tensor(f, l, names[i][1], 0, i ? k : q);
  }
  if (o->head_norms) llm_layer_tensor(f, l, "attn_q_norm.weight", 0, LLM_DIM);
  if (o->head_norms) llm_layer_tensor(f, l, "attn_k_norm.weight", 0, LLM_DIM);
  llm_layer_tensor(f, l, "attn_output.weight", LLM_WIDTH, q);
  if (o->post_norms) llm_layer_tensor(f, l, "post_attention_norm.weight", 0, LLM_WIDTH);
  snprintf(norm, sizeof norm, "blk.%d.ffn_norm", l);
  if (!o->parallel) llm_norm_tensors(f, norm);
  if (!o->parallel && !o->joined_gate) llm_layer_tensor(f, l, "ffn_gate.weight", LLM_FFN, LLM_WIDTH);
  llm_layer_tensor(f, l, "ffn_up.weight", o->joined_gate ? 2 * LLM_FFN : LLM_FFN, LLM_WIDTH);
  if (o->parallel) llm_layer_tensor(f, l, "ffn_up.bias", 0, LLM_FFN);
  llm_layer_tensor(f, l, "ffn_down.weight", LLM_WIDTH, LLM_FFN);
  if (o->post_norms) llm_layer_tensor(f, l, "post_ffw_norm.weight", 0, LLM_WIDTH);
}

/* 256 bytes as GPT-2 spells them, then "th", "he", "the", " the" and two control tokens. */
static inline void llm_put_tokenizer(llm_file *f) {
  static const char *const more[] = {"th", "he", "the", "\xc4\xa0the", "<|im_start|>", "<|im_end|>"};
  static const char *const merges[] = {"t h", "h e", "th e", "\xc4\xa0 the"};
  llm_key_text(f, "tokenizer.ggml.model", "gpt2");
  llm_key_text(f, "tokenizer.ggml.pre", "gpt-2");
  if (llm_key(f, "tokenizer.ggml.tokens", 9)) {
    llm_le(&f->keys, 8, 4);
    llm_le(&f->keys, LLM_VOCAB, 8);
    for (unsigned b = 0, next = 256; b < 256; b++) {
      const bool plain = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      const unsigned c = plain ? b : next++;
      const char text[2] = {(char)(c < 128 ? c : 0xc0 | c >> 6), (char)(0x80 | (c & 0x3f))};
      llm_text(&f->keys, text, c < 128 ? 1 : 2);
    }
    for (int i = 0; i < 6; i++) llm_text(&f->keys, more[i], strlen(more[i]));
  }
  if (llm_key(f, "tokenizer.ggml.token_type", 9)) {
    llm_le(&f->keys, 5, 4);
    llm_le(&f->keys, LLM_VOCAB, 8);
    for (int i = 0; i < LLM_VOCAB; i++) llm_le(&f->keys, i >= LLM_VOCAB - 2 ? 3 : 1, 4);
  }
  if (llm_key(f, "tokenizer.ggml.merges", 9)) {
    llm_le(&f->keys, 8, 4);
    llm_le(&f->keys, 4, 8);
    for (int i = 0; i < 4; i++) llm_text(&f->keys, merges[i], strlen(merges[i]));
  }
  if (llm_key(f, "tokenizer.ggml.eos_token_id", 4)) llm_le(&f->keys, LLM_VOCAB - 1, 4);
}

static inline void llm_file_make(llm_file *f, const llm_file_options *o) {
  *f = (llm_file){.o = o, .random = 12345};
  strb_init(&f->keys, NULL);
  strb_init(&f->infos, NULL);
  strb_init(&f->data, NULL);
  llm_key_text(f, "general.architecture", o->arch);
  llm_key_int(f, "block_count", LLM_LAYERS);
  llm_key_int(f, "embedding_length", LLM_WIDTH);
  llm_key_int(f, "feed_forward_length", LLM_FFN);
  llm_key_int(f, "context_length", 256);
  llm_key_int(f, "attention.head_count", (unsigned)(o->heads ? o->heads : LLM_HEADS));
  llm_key_int(f, "attention.head_count_kv", (unsigned)(o->kv_heads ? o->kv_heads : LLM_KV_HEADS));
  llm_key_float(f, o->layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-5f);
  llm_key_float(f, "rope.freq_base", 1000);
  if (o->heads) llm_key_int(f, "attention.key_length", LLM_DIM), llm_key_int(f, "attention.value_length", LLM_DIM);
  if (o->rope_dim) llm_key_int(f, "rope.dimension_count", (unsigned)o->rope_dim);
  if (o->window) llm_key_int(f, "attention.sliding_window", (unsigned)o->window);
  if (o->softcap > 0) llm_key_float(f, "attn_logit_softcapping", (float)o->softcap);
  if (o->softcap > 0) llm_key_float(f, "final_logit_softcapping", (float)o->softcap);
  llm_put_tokenizer(f);
  llm_put_tensor(f, "token_embd.weight", LLM_VOCAB, LLM_WIDTH, 0, 1);
  for (int l = 0; l < LLM_LAYERS; l++) llm_layer_tensors(f, l);
  llm_norm_tensors(f, "output_norm");
  if (o->extra) llm_put_tensor(f, o->extra, 0, 4, 0, 1);
}

/* The whole file. */
static inline void llm_file_bytes(const llm_file *f, strb *out) {
  strb_puts(out, "GGUF");
  llm_le(out, 3, 4);
  llm_le(out, f->n_tensors, 8);
  llm_le(out, f->n_keys, 8);
  strb_put(out, strb_text(&f->keys), f->keys.n);
  strb_put(out, strb_text(&f->infos), f->infos.n);
  while (out->n % 32) strb_putc(out, 0);
  strb_put(out, strb_text(&f->data), f->data.n);
}

static inline void llm_file_clear(llm_file *f) {
  strb_clear(&f->keys);
  strb_clear(&f->infos);
  strb_clear(&f->data);
}

/* A tensor's elements; NULL: there is none of that name. */
static inline const float *llm_file_tensor(const llm_file *f, const char *name) {
  for (uint64_t i = 0; i < f->n_tensors; i++)
    if (!strcmp(f->t[i].name, name)) return (const float *)(const void *)(strb_text(&f->data) + f->t[i].at);
  return NULL;
}
#endif
