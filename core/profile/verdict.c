/* core/profile/verdict.c - see verdict.h. */
#include "core/profile/verdict.h"

#include <string.h>

#include "core/base/policy.h"

const char *verdict_name(verdict v) {
  static const char *const names[] = {"unknown", "pass", "fail"};
  return names[v];
}

static const char no_device[] = "the device does not tell",
                  no_figure[] = "no figure for this architecture (docs/checklist.md)";

/* *hint: `unknown` where the inputs are not known, `text` where they fail. */
static verdict decide(bool known, bool pass, const char *text, const char *unknown, const char **hint) {
  if (hint) *hint = !known ? unknown : pass ? "" : text;
  return !known ? VERDICT_UNKNOWN : pass ? VERDICT_PASS : VERDICT_FAIL;
}

verdict verdict_occupancy(double fraction, double flops_per_byte, double ridge, const char **hint) {
  bool known = fraction >= 0 && flops_per_byte >= 0 && ridge > 0;
  const char *text = flops_per_byte >= ridge
                         ? "occupancy is under 50 %: use fewer registers or stages, or smaller tiles"
                         : "memory-bound under 50 % occupancy: use smaller tiles or more warps";
  return decide(known, fraction >= 0.5, text,
                fraction >= 0 ? "its work or the device's peaks are not known" : no_device, hint);
}

verdict verdict_spills(int64_t spill_bytes, const char **hint) {
  return decide(spill_bytes >= 0, spill_bytes == 0, "registers spill to memory: use a smaller m x n tile or more warps",
                no_device, hint);
}

verdict verdict_registers(int32_t regs, int32_t ideal, const char **hint) {
  return decide(regs > 0 && ideal > 0, regs <= ideal,
                "more registers per thread than is advised: smaller tile or more warps",
                ideal <= 0 ? no_figure : no_device, hint);
}

verdict verdict_shared(int64_t bytes, int64_t limit, const char **hint) {
  return decide(bytes >= 0 && limit > 0, bytes <= limit,
                "more shared memory than a block may have: fewer stages or a smaller k",
                limit <= 0 ? no_figure : no_device, hint);
}

verdict verdict_coalescing(double contiguous, const char **hint) {
  return decide(contiguous >= 0, contiguous >= 0.999,
                "strided accesses: make the last axis contiguous or transpose once",
                "gathered at run time, or nothing moves", hint);
}

verdict verdict_alignment(int64_t bytes_per_access, const char **hint) {
  return decide(bytes_per_access > 0, bytes_per_access >= 16,
                "accesses under 128 bits: align the extents and vectorize",
                "the schedule leaves their width to the lowering", hint);
}

verdict verdict_padding(int ways, const char **hint) {
  return decide(ways >= 0, ways <= 1, "bank conflicts in shared memory: use padding", no_device, hint);
}

verdict verdict_pipeline(int stages, int async_copy, bool possible, const char **hint) {
  bool known = stages > 0 && async_copy >= 0;
  const char *text =
      stages < 2 ? "one buffer: use pipeline_stages(2) or more" : "loads are not asynchronous: use async_copy";
  return decide(known, stages >= 2 && (async_copy || !possible), text, no_device, hint);
}

verdict verdict_tile(int fits, const char **hint) {
  return decide(
      fits >= 0, fits > 0,
      "part of each matrix instruction is padding: a tile that is a multiple of its shape (`tessera devices`)",
      "written below Schedule IR: its tile is not known", hint);
}

verdict verdict_tuned(int tuned, int cache_persistent, const char **hint) {
  bool bad = tuned == 0 || cache_persistent == 0;
  return decide(bad || (tuned > 0 && cache_persistent > 0), !bad,
                cache_persistent == 0 ? "set TSR_CACHE_DIR to a folder that can be written"
                                      : "run `tessera tune`, or TSR_TUNE=full once",
                tuned < 0 ? "written below Schedule IR: there the author decides, not the tuner"
                          : "the cache's state is not known",
                hint);
}

verdict verdict_sharding(int n_devices, int implicit_shards, const char **hint) {
  return decide(n_devices >= 0 && (n_devices <= 1 || implicit_shards >= 0), n_devices <= 1 || implicit_shards == 0,
                "give each tensor a ShardSpec", n_devices < 0 ? "the mesh is not known" : "the shards are not known",
                hint);
}

verdict verdict_overlap(int n_devices, double comm_ns, double overlapped_ns, const char **hint) {
  bool none = n_devices >= 0 && n_devices <= 1;
  return decide(none || (comm_ns >= 0 && overlapped_ns >= 0), none || overlapped_ns >= 0.5 * comm_ns,
                "put collectives on their own stream, or fuse them with compute", "profile a step first", hint);
}

verdict verdict_precision(tsr_dtype in, tsr_dtype acc, const char **hint) {
  bool narrow = tsr_dtype_size(in) <= 2, wide_sum = acc == TSR_F32 || acc == TSR_F64 || acc == TSR_I32;
  return decide(in && acc, narrow && wide_sum,
                narrow ? "accumulate in f32" : "use bf16 or fp8 inputs with f32 accumulation where accuracy allows",
                "the types are not known", hint);
}

verdict verdict_policy(const char *policy, bool needs_reproducible, const char **hint) {
  bool known = policy && *policy;
  return decide(known, known && (!needs_reproducible || policy_named(policy) == TSR_POLICY_DETERMINISTIC),
                "use the policy `deterministic`", "the policy is not known", hint);
}
