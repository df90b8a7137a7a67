/* core/import/gguf.h - files of the GGUF format, versions 2 and 3: key-values, tensors by name, aligned data. */
#ifndef CORE_IMPORT_GGUF_H
#define CORE_IMPORT_GGUF_H
#include "core/import/tensor_table.h"

bool gguf_is(const unsigned char *p, uint64_t n);
/* Fills the table from w->p; what holds for all formats is checked by the caller. */
TSR_MUST_USE tsr_status gguf_read(weights *w);
#endif
