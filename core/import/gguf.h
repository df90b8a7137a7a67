/* core/import/gguf.h - files of the GGUF format, versions 2 and 3: key-values, tensors by name, aligned data. */
#ifndef CORE_IMPORT_GGUF_H
#define CORE_IMPORT_GGUF_H
#include "core/import/tensor_table.h"

/* Types of values, by their numbers in files. */
typedef enum gguf_type {
  GGUF_U8, GGUF_I8, GGUF_U16, GGUF_I16, GGUF_U32, GGUF_I32, GGUF_F32, GGUF_BOOL, GGUF_STRING, GGUF_ARRAY, GGUF_U64,
  GGUF_I64, GGUF_F64, GGUF_N_TYPES
} gguf_type;
extern const unsigned gguf_sizes[GGUF_N_TYPES]; /* bytes; of strings and arrays at least */
/* n bytes, little-endian. */
uint64_t gguf_little(const unsigned char *p, unsigned n);

bool gguf_is(const unsigned char *p, uint64_t n);
/* Fills the table from w->p; what holds for all formats is checked by the caller. */
TSR_MUST_USE tsr_status gguf_read(weights *w);
#endif
