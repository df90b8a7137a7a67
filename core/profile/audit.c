/* core/profile/audit.c - see audit.h. One function a point; a point about kernels goes through worst(). */
#include "core/profile/audit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"

typedef verdict (*kernel_check)(const audit_kernel *k, const char **hint, char found[96]);

static verdict occupancy(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->occupancy >= 0) number_print(found, 96, "%.0f%% at %.3g flops a byte", 100 * k->occupancy, k->flops_per_byte);
  return verdict_occupancy(k->occupancy, k->flops_per_byte, k->ridge, hint);
}
static verdict spills(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->spill_bytes >= 0) snprintf(found, 96, "%lld bytes spilled", (long long)k->spill_bytes);
  return verdict_spills(k->spill_bytes, hint);
}
static verdict coalescing(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->contiguous >= 0) number_print(found, 96, "%.0f%% of accesses contiguous", 100 * k->contiguous);
  return verdict_coalescing(k->contiguous, hint);
}
static verdict pipeline(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->stages == 0) { /* nothing to stage */
    *hint = "";
    snprintf(found, 96, "nothing to stage");
    return VERDICT_PASS;
  }
  if (k->stages > 0)
    snprintf(found, 96, "%d stages, async copy %s", k->stages,
             k->async_copy > 0   ? "on"
             : k->async_possible ? "off"
                                 : "not on this device");
  return verdict_pipeline(k->stages, k->async_copy, k->async_possible, hint);
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

static verdict shared(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->shared_bytes >= 0 && k->shared_ideal > 0)
    snprintf(found, 96, "%lld of %lld bytes", (long long)k->shared_bytes, (long long)k->shared_ideal);
  return verdict_shared(k->shared_bytes, k->shared_ideal, hint);
}

static verdict tiles(const audit_kernel *k, const char **hint, char found[96]) {
  if (k->tile_fits >= 0 && k->tile[0] > 0)
    snprintf(found, 96, "%lldx%lldx%lld", (long long)k->tile[0], (long long)k->tile[1], (long long)k->tile[2]);
  else if (k->tile_fits > 0) snprintf(found, 96, "no product on matrix instructions");
  return verdict_tile(k->tile_fits, hint);
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

static void found(audit_row *row, const char *fmt, ...) TSR_PRINTF(2, 3);
static void found(audit_row *row, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  number_vprint(row->found, sizeof row->found, fmt, ap);
  va_end(ap);
}

static void autotuner(const audit_program *p, audit_row *row) {
  int tuned = p->n_kernels ? 1 : -1; /* the worst of all: 0, then not known */
  for (size_t i = 0; i < p->n_kernels; i++) {
    int t = p->kernels[i].tuned;
    if (t > 0 || tuned == 0 || (t < 0 && tuned < 0)) continue;
    tuned = t;
    row->kernel = p->kernels[i].name;
  }
  row->verdict = verdict_tuned(tuned, p->cache_persistent, &row->hint);
  if (p->cache_persistent == 0) found(row, "no persistent cache");
  else if (tuned >= 0) found(row, tuned ? "tuned schedule" : "default schedule");
}

static void sharding(const audit_program *p, audit_row *row) {
  row->verdict = verdict_sharding(p->n_devices, p->implicit_shards, &row->hint);
  if (p->n_devices >= 0 && p->n_devices <= 1) found(row, "one device");
  else if (p->n_devices > 1 && p->implicit_shards >= 0)
    found(row, "%d tensors without a ShardSpec on %d devices", p->implicit_shards, p->n_devices);
  else if (p->n_devices > 1) found(row, "%d devices", p->n_devices);
}

static void overlap(const audit_program *p, audit_row *row) {
  row->verdict = verdict_overlap(p->n_devices, p->comm_ns, p->overlapped_ns, &row->hint);
  if (p->n_devices >= 0 && p->n_devices <= 1) found(row, "no communication");
  else if (p->comm_ns >= 0 && p->overlapped_ns >= 0)
    found(row, "%.0f%% of %.3g us of communication is hidden",
          p->comm_ns > 0 ? 100 * p->overlapped_ns / p->comm_ns : 100.0, p->comm_ns / 1e3);
}

static void precision(const audit_program *p, audit_row *row) {
  if (!p->has_matmul && !p->has_unknown) {
    row->verdict = VERDICT_PASS;
    found(row, "no matmul");
    return;
  }
  row->verdict = verdict_precision(p->has_matmul ? p->widest_input : TSR_DTYPE_NONE, p->accumulator, &row->hint);
  if (row->verdict) found(row, "%s in, %s sum", tsr_dtype_name(p->widest_input), tsr_dtype_name(p->accumulator));
}

static void policy(const audit_program *p, audit_row *row) {
  row->verdict = verdict_policy(p->policy, p->needs_reproducible, &row->hint);
  if (row->verdict) found(row, "%.64s", p->policy);
}

typedef struct audit_point {
  const char *point;
  kernel_check kernel;
  void (*program)(const audit_program *p, audit_row *row);
} audit_point;

enum { SHARDING = 5, OVERLAP };
static const audit_point points[AUDIT_ROWS] = {
    {"Check occupancy (>= 50%)", occupancy, NULL},
    {"Avoid register spills", spills, NULL},
    {"Ensure memory coalescing", coalescing, NULL},
    {"Enable async copy + multi-stage pipeline", pipeline, NULL},
    {"Use autotuner with persistent cache", NULL, autotuner},
    [SHARDING] = {"Shard tensors explicitly across mesh axes", NULL, sharding},
    [OVERLAP] = {"Overlap communication with compute", NULL, overlap},
    {"Apply mixed precision (BF16/FP8) with FP32 accumulation", NULL, precision},
    {"Select numerics policy", NULL, policy},
    {"Align accesses to 128 bits", alignment, NULL},
    {"Avoid bank conflicts", padding, NULL},
    {"Registers per thread within the advised figure", registers, NULL},
    {"Shared memory per block within the advised figure", shared, NULL},
    {"Align tile shapes with the matrix instructions", tiles, NULL},
};

static void run_point(const audit_program *p, const audit_point *x, audit_row *out) {
  *out = (audit_row){.point = x->point, .kernel = "", .hint = ""};
  if (x->kernel) worst(p, x->kernel, out);
  else x->program(p, out);
  if (!out->kernel) out->kernel = "";
}

void audit_run(const audit_program *p, audit_row out[AUDIT_ROWS]) {
  for (int i = 0; i < AUDIT_ROWS; i++) run_point(p, &points[i], &out[i]);
}

void audit_distribution(const audit_program *p, audit_row out[AUDIT_DISTRIBUTION]) {
  run_point(p, &points[SHARDING], &out[0]);
  run_point(p, &points[OVERLAP], &out[1]);
}

int audit_failed(const audit_row rows[AUDIT_ROWS]) {
  int n = 0;
  for (int i = 0; i < AUDIT_ROWS; i++) n += rows[i].verdict == VERDICT_FAIL;
  return n;
}

void audit_row_text(const audit_row *r, strb *out) {
  strb_printf(out, "%-8s %-56s %s", verdict_name(r->verdict), r->point, r->found[0] ? r->found : "n/a");
  if (r->verdict != VERDICT_PASS && r->kernel[0]) strb_printf(out, "  [%s]", r->kernel);
  if (r->hint[0]) strb_printf(out, "  -> %s", r->hint);
  strb_putc(out, '\n');
}

void audit_text(const audit_row rows[AUDIT_ROWS], strb *out) {
  for (int i = 0; i < AUDIT_ROWS; i++) audit_row_text(&rows[i], out);
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
