/* core/import/weights.h - files of weights: safetensors, .npz and GGUF as one table of tensors with names, types,
 * shapes and places in the mapped file. Nothing is copied when a file is opened.
 *
 * Every length, count and offset of a file is checked before it is used; tensors lie inside the file and don't overlap,
 * names are UTF-8 without control characters and occur once. What is wrong is one line with the offset in the file
 * (TSR_PARSE_ERROR). Tensors of types that can't be read are in the table all the same: weights_is_readable.
 * A file may be read by several threads at once; it must not be shortened while it is open (base/file.h). */
#ifndef CORE_IMPORT_WEIGHTS_H
#define CORE_IMPORT_WEIGHTS_H
#include "core/import/tensor_table.h"

/* Whether that is what a file begins with that starts like this: one of the formats, or a pickle, which is refused by
 * its name. IR text does not. */
bool weights_is(const void *p, size_t n);
/* By content. NULL allocator: the C library's. */
TSR_MUST_USE tsr_status weights_open(const tsr_allocator *al, const char *path, weights **out);
/* From memory, which must outlive the result; `file` is for messages, copied. */
TSR_MUST_USE tsr_status weights_parse(const tsr_allocator *al, const void *p, size_t n, const char *file,
                                      weights **out);
void weights_close(weights **w);

/* NULL: there is none. */
const weights_tensor *weights_find(const weights *w, const char *name);
const weights_meta *weights_get_meta(const weights *w, const char *key);
/* The type that weights_read gives: plain elements as they are, blocks as f32; TSR_DTYPE_NONE where it can't. */
tsr_dtype weights_read_type(const weights_tensor *t);
static inline bool weights_is_readable(const weights_tensor *t) { return weights_read_type(t) != TSR_DTYPE_NONE; }
/* The elements in the file, as they are there: no copy, any alignment. NULL where weights_read has something to do:
 * compressed, big-endian or Fortran order. */
const void *weights_data(const weights *w, const weights_tensor *t);
/* The elements in C order and of weights_read_type into dst, which has room for exactly all of them (`bytes`). */
TSR_MUST_USE tsr_status weights_read(const weights *w, const weights_tensor *t, void *dst, size_t bytes);
#endif
