/* backends/cpu/packs.h - b panels packed once per launch (or once for a constant) and shared by all blocks that use
 * them. An entry is one b window [K x columns], split into k blocks that are packed independently, so that threads that
 * need the same panel share the work. Entries of a launch are recycled when more columns come than fit. */
#ifndef BACKENDS_CPU_PACKS_H
#define BACKENDS_CPU_PACKS_H
#include "backends/cpu/vm.h"

typedef struct pack_entry pack_entry;
typedef struct pack_key {
  const void *matmul; /* the instruction, which says how b lies and what it becomes */
  const void *b;
  int64_t rows, cols;
} pack_key;

/* Finds or claims the entry for a window; never NULL after packs_reset with at least one entry per thread. Blocks must
 * give it back. */
pack_entry *packs_get(packs *p, const pack_key *key, int n_parts);
void packs_put(packs *p, pack_entry *e);
char *packs_data(const pack_entry *e);
/* True if the caller must pack part i and then call packs_done; false when it is ready. While another thread packs it,
 * calls `other` parts are offered first: *claimed is the part to pack. */
bool packs_claim(pack_entry *e, int i, int n_parts, int *claimed);
void packs_done(pack_entry *e, int i);
#endif
