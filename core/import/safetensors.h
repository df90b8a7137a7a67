/* core/import/safetensors.h - files of the safetensors format: the length of a header, the header as JSON, the bytes.
 */
#ifndef CORE_IMPORT_SAFETENSORS_H
#define CORE_IMPORT_SAFETENSORS_H
#include "core/import/tensor_table.h"

bool safetensors_is(const unsigned char *p, uint64_t n);
/* Fills the table from w->p; what holds for all formats is checked by the caller. */
TSR_MUST_USE tsr_status safetensors_read(weights *w);
#endif
