/* backends/cpu/panel_cache.h - the packed-panel cache: b panels packed once per launch (or once for a constant) and
 * shared by all blocks that use them. An entry is one b window [K x columns], split into k blocks that are packed
 * independently, so that threads that need the same panel share the work. Entries of a launch are recycled when more
 * columns come than fit. */
#ifndef BACKENDS_CPU_PANEL_CACHE_H
#define BACKENDS_CPU_PANEL_CACHE_H
#include "backends/cpu/vm.h"

typedef struct panel_entry panel_entry;
typedef struct panel_key {
  const void *matmul; /* the instruction, which says how b lies and what it becomes */
  const void *b;
  int64_t rows, cols;
} panel_key;

/* Finds or claims the entry for a window; never NULL after panel_cache_reset with at least one entry per thread.
 * Blocks must release it. */
panel_entry *panel_cache_acquire(panel_cache *p, const panel_key *key, int n_parts);
void panel_cache_release(panel_cache *p, panel_entry *e);
char *panel_cache_data(const panel_entry *e);
/* True if the caller must pack part i and then call panel_cache_done; false when it is ready. While another thread
 * packs it, calls `other` parts are offered first: *claimed is the part to pack. */
bool panel_cache_claim(panel_entry *e, int i, int n_parts, int *claimed);
void panel_cache_done(panel_entry *e, int i);
#endif
