/* core/runtime/team_table.h - measured tables of algorithms (core/coll/table.h) on disk: coll-TRANSPORT-RANKS.txt in
 * the folder of caches, written by `tessera bench coll --keep`, read when a team is made. */
#ifndef CORE_RUNTIME_TEAM_TABLE_H
#define CORE_RUNTIME_TEAM_TABLE_H
#include "core/coll/table.h"
#include "core/coll/team.h"

/* False, and an empty table, where there is none for this machine. */
bool team_table_read(const char *transport, int32_t ranks, const char *link_path, coll_table *out);
/* `path` is where it was written. */
TSR_MUST_USE tsr_status team_table_write(const char *transport, int32_t ranks, const char *link_path,
                                         const coll_table *t, char *path, size_t cap);
/* All ranks take rank 0's. */
TSR_MUST_USE tsr_status team_table_agree(coll_team *t, int32_t rank, int64_t deadline_ms, coll_table *table);
#endif
