/* backends/cpu/panel_cache.h - the packed-panel cache: panels of b packed once per launch (or once for a constant,
 * which may be a as well) and shared by all blocks that use them. An entry is one window of b, [K x columns], or of a,
 * split into k blocks that are packed independently, so that threads that need the same panel share the work. Entries
 * of a launch are recycled when more columns come than fit. */
#ifndef BACKENDS_CPU_PANEL_CACHE_H
#define BACKENDS_CPU_PANEL_CACHE_H
#include "backends/cpu/vm.h"

typedef struct panel_entry panel_entry;
typedef struct panel_key {
  const void *matmul; /* the instruction, which says how its operands lie and what they become */
  const void *matrix;
  int side; /* 0: a, 1: b */
  int64_t rows, cols;
} panel_key;

/* Finds or claims the entry for a window; NULL where more blocks are at work than there are entries. Blocks must
 * release it. */
panel_entry *panel_cache_acquire(panel_cache *p, const panel_key *key, int n_parts);
void panel_cache_release(panel_cache *p, panel_entry *e);
char *panel_cache_data(const panel_entry *e);
/* True if the caller must pack part i and then call panel_cache_done; false when it is ready. While another thread
 * packs it, calls `other` parts are offered first: *claimed is the part to pack. */
bool panel_cache_claim(panel_entry *e, int i, int n_parts, int *claimed);
void panel_cache_done(panel_entry *e, int i);
#endif
