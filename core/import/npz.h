/* core/import/npz.h - NumPy's .npz: a zip of .npy files, stored or deflated. */
#ifndef CORE_IMPORT_NPZ_H
#define CORE_IMPORT_NPZ_H
#include "core/import/tensor_table.h"

bool npz_is(const unsigned char *p, uint64_t n);
/* Fills the table from w->p; what holds for all formats is checked by the caller. Of compressed entries the headers
 * alone are unpacked. */
TSR_MUST_USE tsr_status npz_read(weights *w);
/* The elements of a tensor, uncompressed, in C order and the machine's byte order, checked against the checksum. */
TSR_MUST_USE tsr_status npz_read_tensor(const weights *w, const weights_tensor *t, void *dst);
#endif
