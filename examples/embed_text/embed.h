/* examples/embed_text/embed.h - sentences as vectors, by a BERT encoder whose weights are a safetensors file, on the
 * public C interface: what its files share.
 *   main.c   the command: how alike sentences are
 *   words.c  a sentence as token numbers: BERT's normalizer and WordPiece, out of tokenizer.json
 *   model.c  the encoder as a graph, compiled for each length that is asked for */
#ifndef EXAMPLES_EMBED_TEXT_EMBED_H
#define EXAMPLES_EMBED_TEXT_EMBED_H
#include <stdbool.h>
#include <stdio.h>
#include <tessera/weights.h>

/* Exit statuses, as those of the command tessera. */
enum { EXIT_FAILED = 1, EXIT_INPUT = 2, EXIT_NO_DEVICE = 3 };
/* One line on standard error, and the end. */
_Noreturn void fail(int rc, const char *fmt, ...);
/* A failed call ends the program with its message. */
void check(tsr_status s);
/* Never NULL; n may be 0. */
void *get_memory(void *old, size_t n, size_t size);

/* ---- words.c ----------------------------------------------------------------------------------------------------- */

enum { MOST_TOKENS = 256 }; /* of a sentence; what is behind them is left out */
typedef struct vocabulary vocabulary;
/* path: tokenizer.json with a WordPiece model. A file that has none ends the program. */
vocabulary *vocabulary_read(const char *path);
void vocabulary_destroy(vocabulary **v);
/* Numbers from 0. */
int vocabulary_size(const vocabulary *v);
/* [CLS], the sentence's pieces, [SEP]; returns how many, at least 2. Bytes that aren't UTF-8 are left out. */
int vocabulary_split(const vocabulary *v, const char *sentence, int32_t tokens[MOST_TOKENS]);

/* ---- model.c ----------------------------------------------------------------------------------------------------- */

typedef struct model model;
/* path: model.safetensors of a BERT encoder with heads of 32. What it lacks ends the program. */
model *model_create(tsr_context *ctx, tsr_device *dev, const char *path, int vocabulary_size);
void model_destroy(model **m);
int model_width(const model *m);
/* The mean of the last layer over all tokens, of length 1, into out[model_width]. */
void model_embed(model *m, const int32_t *tokens, int n, float *out);
#endif
