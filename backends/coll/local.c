/* backends/coll/local.c - ranks of one process: no link, they read each other's memory (core/coll/team.h). */
#include "backends/coll/transports.h"

const coll_transport transport_local = {
    .name = "local",
    .help = "ranks of this process, on threads",
    .abortable = true,
    .fixed_order = true,
    .ops = COLL_BIT(N_COLL_OPS) - 1,
};
