/* core/base/blob.h - compiled binaries kept between runs, beside the tuning cache: `DIR/blobs/ID.bin`, ID = SHA-256 of
 * everything that made the binary. A file carries its own checksum, appears at once (rename) and is never loaded from a
 * folder or file that others can write. Over the size cap the least recently used go. Invariant: never an error;
 * anything doubtful is a miss. Many processes may share a folder. Threads: one at a time a store. */
#ifndef CORE_TUNE_BLOB_H
#define CORE_TUNE_BLOB_H
#include "core/base/status.h"

typedef struct blob_store blob_store;

/* `dir` NULL: TSR_CACHE_DIR; `max_bytes` 0: 256 MiB. The folder is made by the first blob_put. Only out of memory is an
 * error. */
TSR_MUST_USE tsr_status blob_open(const tsr_allocator *al, const char *dir, uint64_t max_bytes, blob_store **out);
void blob_close(blob_store **s);
/* "" when usable, else why not: "others can write ...". */
const char *blob_why(const blob_store *s);
uint64_t blob_total(const blob_store *s);
/* Removes all binaries. */
void blob_clear(blob_store *s);

/* One piece of an ID: source text, architecture, driver, options. Lengths are hashed too. */
typedef struct blob_part {
  const void *data;
  size_t bytes;
} blob_part;
void blob_id(const blob_part *parts, size_t n, char out[65]);

/* The caller frees *data with al_free(al, data, bytes, 16), al being the store's. False: a miss. */
bool blob_get(blob_store *s, const char *id, void **data, size_t *bytes);
bool blob_put(blob_store *s, const char *id, const void *data, size_t bytes);
#endif
