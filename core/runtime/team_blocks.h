/* core/runtime/team_blocks.h - calls whose data goes as int8, by blocks with a scale each. */
#ifndef CORE_RUNTIME_TEAM_BLOCKS_H
#define CORE_RUNTIME_TEAM_BLOCKS_H
#include "core/coll/team.h"

TSR_MUST_USE tsr_status team_run_blocks(const tsr_allocator *al, coll_team *t, int rank, const coll_call *c);
#endif
