/* tools/tessera/bench_coll_engine.h - `tessera bench coll` through teams as programs have them: over an engine for host
 * memory (UCC), the processes of an mpirun being its ranks, or, without one, all ranks being here and one thread going
 * on with them in turn; and with data narrowed for its way, each rank on the library's own thread. */
#ifndef TOOLS_TESSERA_BENCH_COLL_ENGINE_H
#define TOOLS_TESSERA_BENCH_COLL_ENGINE_H
#include "core/runtime/team_base.h"

typedef struct engine_bench {
  tsr_team *parent;
  tsr_team **teams; /* by rank; those of this process */
  int32_t ranks, first, end;
} engine_bench;

/* `ranks`: how many there are to be where all are here. */
TSR_MUST_USE tsr_status bench_engine_open(const coll_transport *t, int32_t ranks, engine_bench *out);
/* One call of every rank of this process, calls[rank]. */
TSR_MUST_USE tsr_status bench_engine_run(engine_bench *b, const coll_call *calls);
/* A team of the transport; its ranks' calls, with call->wire. */
TSR_MUST_USE tsr_status bench_wire_open(const coll_transport *t, int32_t ranks, engine_bench *out);
TSR_MUST_USE tsr_status bench_wire_run(engine_bench *b, const coll_call *calls);
void bench_engine_close(engine_bench *b);
#endif
