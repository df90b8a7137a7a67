/* core/profile/verdict.c - see verdict.h. */
#include "core/profile/verdict.h"

const char *verdict_name(verdict v) {
  static const char *const names[] = {"unknown", "pass", "fail"};
  return names[v];
}

static verdict decide(bool known, bool pass, const char *text, const char **hint) {
  if (hint) *hint = !known ? "the device does not tell" : pass ? "" : text;
  return !known ? VERDICT_UNKNOWN : pass ? VERDICT_PASS : VERDICT_FAIL;
}

verdict verdict_occupancy(double fraction, double flops_per_byte, double ridge, const char **hint) {
  bool known = fraction >= 0 && flops_per_byte >= 0 && ridge > 0;
  const char *text = flops_per_byte >= ridge ? "occupancy is under 50 %: use fewer registers or stages, or smaller tiles"
                                             : "memory-bound under 50 % occupancy: use smaller tiles or more warps";
  return decide(known, fraction >= 0.5, text, hint);
}

verdict verdict_spills(int64_t spill_bytes, const char **hint) {
  return decide(spill_bytes >= 0, spill_bytes == 0, "registers spill to memory: use a smaller m x n tile or more warps", hint);
}

verdict verdict_registers(int32_t regs, int32_t ideal, const char **hint) {
  return decide(regs > 0 && ideal > 0, regs <= ideal, "more registers per thread than the guide's figure: smaller tile or more warps", hint);
}

verdict verdict_shared(int64_t bytes, int64_t limit, const char **hint) {
  return decide(bytes >= 0 && limit > 0, bytes <= limit, "more shared memory than a block may have: fewer stages or a smaller k", hint);
}

verdict verdict_coalescing(double contiguous, const char **hint) {
  return decide(contiguous >= 0, contiguous >= 0.999, "strided accesses: make the last axis contiguous or transpose once", hint);
}

verdict verdict_alignment(int64_t bytes_per_access, const char **hint) {
  return decide(bytes_per_access > 0, bytes_per_access >= 16, "accesses under 128 bits: align the extents and vectorize", hint);
}

verdict verdict_padding(int ways, const char **hint) {
  return decide(ways >= 0, ways <= 1, "bank conflicts in shared memory: use padding", hint);
}

verdict verdict_pipeline(int stages, int async_copy, bool possible, const char **hint) {
  bool known = stages > 0 && async_copy >= 0;
  const char *text = stages < 2 ? "one buffer: use pipeline_stages(2) or more" : "loads are not asynchronous: use async_copy";
  return decide(known, stages >= 2 && (async_copy || !possible), text, hint);
}
