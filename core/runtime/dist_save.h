/* core/runtime/dist_save.h - the folder that tsr_dist_save writes and tsr_dist_load reads: what its files consist of.
 * Numbers are in the host's byte order, as tensors are. */
#ifndef CORE_RUNTIME_DIST_SAVE_H
#define CORE_RUNTIME_DIST_SAVE_H
#include "core/runtime/dist.h"

enum { SAVE_NAME = 64, SAVE_PATH = 4096 };

typedef struct save_index {
  int64_t generation, files; /* 0: none; files: GENERATION-0.parts .. */
} save_index;

/* A file: the magic, the number of its parts (u64), and each of them behind such a head, without padding. */
typedef struct save_part {
  char name[SAVE_NAME];
  int32_t dtype, rank;
  int64_t dims[TSR_MAX_RANK], starts[TSR_MAX_RANK], sizes[TSR_MAX_RANK]; /* dims: of the whole */
  uint64_t bytes;
} save_part;

typedef struct save_tensors {
  const char *const *names;
  tsr_dist_tensor *const *tensors;
  int n;
} save_tensors;

void save_path(const char *folder, const save_index *x, int64_t rank, char *out, size_t cap);
tsr_status save_failed(const char *path, const char *why);
/* False: there is none. */
bool save_read_index(const char *folder, save_index *out);
/* dist_load.c: the parts of this process's ranks, from all files that touch them. */
tsr_status save_load(const char *folder, const char magic[8], const save_tensors *s);
#endif
