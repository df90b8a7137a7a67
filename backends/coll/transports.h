/* backends/coll/transports.h - the rows of the transports, for the registry. */
#ifndef BACKENDS_COLL_TRANSPORTS_H
#define BACKENDS_COLL_TRANSPORTS_H
#include "core/coll/transport.h"

extern const coll_transport transport_local, transport_mpi, transport_ucc, transport_nccl, transport_rccl;
#endif
