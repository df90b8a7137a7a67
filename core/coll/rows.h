/* core/coll/rows.h - the algorithms: one file and one row each. */
#ifndef CORE_COLL_ROWS_H
#define CORE_COLL_ROWS_H
#include "core/coll/schedule.h"

extern const coll_algorithm coll_ring, coll_tree, coll_double_tree, coll_halving, coll_direct, coll_bruck,
    coll_hierarchical, coll_one_shot;

/* Half vectors that the busiest of m ranks sends in the double tree's all-reduce. */
int64_t coll_double_tree_load(int32_t m);
#endif
