/* core/profile/report.h - rows as text (docs/profile.md), and as JSON.
 *   MatMul[128x128x64]  latency=2.3µs   occupancy=92%
 *   AllReduce[dp]       latency=15µs    bandwidth=1.6TB/s
 *   FusedOp[FlashAttn]  latency=4.1µs   tiles=256
 * What a device does not tell is n/a, in JSON null. JSON schema: docs/profile.md. */
#ifndef CORE_PROFILE_REPORT_H
#define CORE_PROFILE_REPORT_H
#include "core/base/str.h"
#include "core/profile/profile.h"

/* "MatMul[128x128x64]"; snake case becomes camel case, a fused kernel is "FusedOp[...]". */
void report_label(const prof_event *e, char *out, size_t out_bytes);
/* "2.3µs", "15µs", "850ns", "1.2ms"; "1.6TB/s", "320GB/s". */
void report_time(double ns, char out[16]);
void report_bandwidth(double gbytes_per_s, char out[16]);

/* All rows; `wide`: what each op took in all its rows; under them the lines of the fusion trace (may be NULL). */
TSR_MUST_USE tsr_status report_text(const prof_log *l, const char *fusion_trace, bool wide, strb *out);
TSR_MUST_USE tsr_status report_json(const prof_log *l, const char *fusion_trace, strb *out);
#endif
