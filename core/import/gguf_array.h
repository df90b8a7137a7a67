/* core/import/gguf_array.h - the arrays among a GGUF file's key-values. The reader has been over them (import/gguf.c):
 * all that they hold lies inside the file. */
#ifndef CORE_IMPORT_GGUF_ARRAY_H
#define CORE_IMPORT_GGUF_ARRAY_H
#include "core/import/weights.h"

/* Bytes of the file, with no zero behind them. */
typedef struct gguf_text { const char *p; size_t n; } gguf_text;

/* Texts or numbers of the value m (NULL: no elements) into memory of the arena. TSR_PARSE_ERROR where it is no array of
 * such elements. Integers and bools come as doubles. */
TSR_MUST_USE tsr_status gguf_texts(const weights *w, const weights_meta *m, arena *a, gguf_text **out, size_t *n);
TSR_MUST_USE tsr_status gguf_numbers(const weights *w, const weights_meta *m, arena *a, double **out, size_t *n);
#endif
