/* core/runtime/transports.h - the transports of collectives (core/coll/transport.h), one row each; NULL ends them. */
#ifndef CORE_RUNTIME_TRANSPORTS_H
#define CORE_RUNTIME_TRANSPORTS_H
#include "core/coll/transport.h"

extern const coll_transport *const rt_transports[];
#endif
