/* core/profile/audit.c - see audit.h. One function a point; a point about kernels goes through worst(). */
#include "core/profile/audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef verdict (*kernel_check)(const audit_kernel *k, const char **hint, char found[96]);

static verdict occupancy(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->occupancy >= 0) snprintf(found, 96, "%.0f%% at %.3g flops a byte", 100 * k->occupancy, k->flops_per_byte);
  return verdict_occupancy(k->occupancy, k->flops_per_byte, k->ridge, hint);
}
static verdict spills(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->spill_bytes >= 0) snprintf(found, 96, "%lld bytes spilled", (long long)k->spill_bytes);
  return verdict_spills(k->spill_bytes, hint);
}
static verdict coalescing(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->contiguous >= 0) snprintf(found, 96, "%.0f%% of accesses contiguous", 100 * k->contiguous);
  return verdict_coalescing(k->contiguous, hint);
}
static verdict pipeline(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->stages == 0) { /* nothing to stage */
    *hint = "";
    snprintf(found, 96, "nothing to stage");
    return VERDICT_PASS;
  }
  if (k->stages > 0) snprintf(found, 96, "%d stages, async copy %s", k->stages, k->async_copy > 0 ? "on" : k->async_possible ? "off" : "not on this device");
  return verdict_pipeline(k->stages, k->async_copy, k->async_possible, hint);
}
static verdict tuned(const audit_kernel *k, const char **hint, char found[96]) {
  *hint = k->tuned < 0 ? "not known" : k->tuned ? "" : "run `tessera tune`, or TSR_TUNE=full once";
  if (k->tuned >= 0) snprintf(found, 96, k->tuned ? "tuned schedule" : "default schedule");
  return k->tuned < 0 ? VERDICT_UNKNOWN : k->tuned ? VERDICT_PASS : VERDICT_FAIL;
}
static verdict alignment(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->bytes_per_access > 0) snprintf(found, 96, "%lld bytes an access", (long long)k->bytes_per_access);
  return verdict_alignment(k->bytes_per_access, hint);
}
static verdict padding(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->bank_ways > 0) snprintf(found, 96, "%d-way", k->bank_ways);
  else if (!k->bank_ways) snprintf(found, 96, "no shared memory");
  return verdict_padding(k->bank_ways, hint);
}
static verdict registers(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->registers > 0) snprintf(found, 96, "%d of an ideal %d", k->registers, k->registers_ideal);
  return verdict_registers(k->registers, k->registers_ideal, hint);
}

/* The first failing kernel, else the first unknown one, else the first. */
static void worst(const audit_program *p, kernel_check check, audit_row *row) {
  static const int rank[] = {[VERDICT_PASS] = 0, [VERDICT_UNKNOWN] = 1, [VERDICT_FAIL] = 2};
  row->verdict = VERDICT_UNKNOWN;
  row->hint = "there is no kernel";
  for (size_t i = 0; i < p->n_kernels; i++) {
    const char *hint = "";
    char found[96] = "";
    verdict v = check(&p->kernels[i], &hint, found);
    if (i && rank[v] <= rank[row->verdict]) continue;
    row->verdict = v;
    row->hint = hint;
    row->kernel = p->kernels[i].name;
    memcpy(row->found, found, sizeof found);
  }
}

static void set(audit_row *row, verdict v, const char *hint, const char *fmt, ...) TSR_PRINTF(4, 5);
static void set(audit_row *row, verdict v, const char *hint, const char *fmt, ...) {
  va_list ap;
  row->verdict = v;
  row->hint = v == VERDICT_PASS ? "" : hint;
  va_start(ap, fmt);
  vsnprintf(row->found, sizeof row->found, fmt, ap);
  va_end(ap);
}

static void autotuner(const audit_program *p, audit_row *row) {
  worst(p, tuned, row);
  if (p->cache_persistent == 0) set(row, VERDICT_FAIL, "set TSR_CACHE_DIR to a folder that can be written", "no persistent cache");
  else if (p->cache_persistent < 0 && row->verdict == VERDICT_PASS) set(row, VERDICT_UNKNOWN, "the cache's state is not known", "tuned schedule");
}

static void sharding(const audit_program *p, audit_row *row) {
  if (p->n_devices < 0) set(row, VERDICT_UNKNOWN, "the mesh is not known", "n/a");
  else if (p->n_devices <= 1) set(row, VERDICT_PASS, "", "one device");
  else if (p->implicit_shards < 0) set(row, VERDICT_UNKNOWN, "the shards are not known", "%d devices", p->n_devices);
  else set(row, p->implicit_shards ? VERDICT_FAIL : VERDICT_PASS, "give each tensor a ShardSpec", "%d tensors without a ShardSpec on %d devices", p->implicit_shards, p->n_devices);
}

static void overlap(const audit_program *p, audit_row *row) {
  if (p->n_devices >= 0 && p->n_devices <= 1) set(row, VERDICT_PASS, "", "no communication");
  else if (p->comm_ns < 0 || p->overlapped_ns < 0) set(row, VERDICT_UNKNOWN, "profile a step first", "n/a");
  else set(row, p->comm_ns == 0 || p->overlapped_ns >= 0.5 * p->comm_ns ? VERDICT_PASS : VERDICT_FAIL, "put collectives on their own stream, or fuse them with compute",
           "%.0f%% of %.3g us of communication is hidden", p->comm_ns > 0 ? 100 * p->overlapped_ns / p->comm_ns : 100.0, p->comm_ns / 1e3);
}

static void precision(const audit_program *p, audit_row *row) {
  if (!p->has_matmul) return set(row, VERDICT_PASS, "", "no matmul");
  if (!p->widest_input || !p->accumulator) return set(row, VERDICT_UNKNOWN, "the types are not known", "n/a");
  bool narrow = tsr_dtype_size(p->widest_input) <= 2, wide_sum = p->accumulator == TSR_F32 || p->accumulator == TSR_F64 || p->accumulator == TSR_I32;
  set(row, narrow && wide_sum ? VERDICT_PASS : VERDICT_FAIL, narrow ? "accumulate in f32" : "use bf16 or fp8 inputs with f32 accumulation where accuracy allows",
      "%s in, %s sum", tsr_dtype_name(p->widest_input), tsr_dtype_name(p->accumulator));
}

static void policy(const audit_program *p, audit_row *row) {
  if (!p->policy || !*p->policy) return set(row, VERDICT_UNKNOWN, "the policy is not known", "n/a");
  bool deterministic = !strcmp(p->policy, "deterministic");
  set(row, !p->needs_reproducible || deterministic ? VERDICT_PASS : VERDICT_FAIL, "use the policy `deterministic`", "%.64s", p->policy);
}

void audit_run(const audit_program *p, audit_row out[AUDIT_ROWS]) {
  static const struct {
    const char *point;
    kernel_check kernel;
    void (*program)(const audit_program *p, audit_row *row);
  } points[AUDIT_ROWS] = {
      {"Check occupancy (>= 50%)", occupancy, NULL},
      {"Avoid register spills", spills, NULL},
      {"Ensure memory coalescing", coalescing, NULL},
      {"Enable async copy + multi-stage pipeline", pipeline, NULL},
      {"Use autotuner with persistent cache", NULL, autotuner},
      {"Shard tensors explicitly across mesh axes", NULL, sharding},
      {"Overlap communication with compute", NULL, overlap},
      {"Apply mixed precision (BF16/FP8) with FP32 accumulation", NULL, precision},
      {"Select numerics policy", NULL, policy},
      {"Align accesses to 128 bits", alignment, NULL},
      {"Avoid bank conflicts", padding, NULL},
      {"Registers per thread within the guide", registers, NULL},
  };
  for (int i = 0; i < AUDIT_ROWS; i++) {
    out[i] = (audit_row){.point = points[i].point, .kernel = "", .hint = ""};
    if (points[i].kernel) worst(p, points[i].kernel, &out[i]);
    else points[i].program(p, &out[i]);
    if (!out[i].kernel) out[i].kernel = "";
  }
}

int audit_failed(const audit_row rows[AUDIT_ROWS]) {
  int n = 0;
  for (int i = 0; i < AUDIT_ROWS; i++) n += rows[i].verdict == VERDICT_FAIL;
  return n;
}

void audit_text(const audit_row rows[AUDIT_ROWS], strb *out) {
  for (int i = 0; i < AUDIT_ROWS; i++) {
    const audit_row *r = &rows[i];
    strb_printf(out, "%-8s %-56s %s", verdict_name(r->verdict), r->point, r->found[0] ? r->found : "n/a");
    if (r->verdict != VERDICT_PASS && r->kernel[0]) strb_printf(out, "  [%s]", r->kernel);
    if (r->hint[0]) strb_printf(out, "  -> %s", r->hint);
    strb_putc(out, '\n');
  }
}

void audit_json(const audit_row rows[AUDIT_ROWS], strb *out) {
  strb_puts(out, "[");
  for (int i = 0; i < AUDIT_ROWS; i++) {
    const audit_row *r = &rows[i];
    strb_printf(out, "%s{\"point\": ", i ? ",\n " : "\n ");
    strb_json(out, r->point);
    strb_printf(out, ", \"verdict\": \"%s\", \"found\": ", verdict_name(r->verdict));
    if (r->found[0]) strb_json(out, r->found);
    else strb_puts(out, "null");
    strb_puts(out, ", \"hint\": ");
    strb_json(out, r->hint);
    strb_puts(out, ", \"kernel\": ");
    strb_json(out, r->kernel);
    strb_putc(out, '}');
  }
  strb_puts(out, "\n]\n");
}
