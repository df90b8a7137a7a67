/* core/tune/device.c - see device.h. The fields of a profile file are one table; parsing and printing walk it. */
#include "core/tune/device.h"

#include "core/base/file.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "core/device/dialect.h"
#include "core/device/matrix_instr.h"

/* Warps, ideal registers and shared memory per block are advice (docs/occupancy.md). Clocks and rates are the vendors'
 * data sheets (H100 SXM; GB200 per GPU), HBM latency and GB200's 3-5 TB/s announced ones (their middle is taken).
 * GB200's matrix rate is a quarter of its data sheet's: kernels here have mma.sync, not tcgen05
 * (core/device/arch.c). */
static const tune_device builtin[] = {
    {.name = "NVIDIA H100", .advisory = true, .async_copy = true, .cores = 132, .warp_size = 32, .max_warps = 64,
     .max_blocks = 32, .max_threads = 1024, .regs_per_core = 65536, .regs_per_thread = 255, .regs_ideal = 64,
     .core_parts = 4, .reg_granule = 256, .shared_granule = 128, .shared_reserved = 1024, .shared_per_block = 96 * 1024, .shared_per_core = 228 * 1024,
     .banks = 32, .clock_ghz = 1.755, .fma_gflops = 66900, .matrix_gflops = 989000, .launch_ns = 3000, .barrier_ns = 20,
     .n_tiers = 4,
     .tier = {{"shared", 228 * 1024, 29700, 30, false}, {"l2", 50e6, 5500, 260, false},
              {"memory", 80e9, 3350, 600, false}, {"link", 0, 450, 0, false}},
     .n_matrix = 4,
     .matrix = {{16, 16, 16, TSR_BF16, TSR_F32, 4096}, {16, 16, 16, TSR_F16, TSR_F32, 4096}, {16, 16, 8, TSR_TF32, TSR_F32, 2048},
                {16, 16, 32, TSR_F8E4M3, TSR_F32, 8192}}},
    {.name = "NVIDIA GB200", .advisory = true, .async_copy = true, .cores = 148, .warp_size = 32, .max_warps = 96,
     .max_blocks = 32, .max_threads = 1024, .regs_per_core = 65536, .regs_per_thread = 255, .regs_ideal = 48,
     .core_parts = 4, .reg_granule = 256, .shared_granule = 128, .shared_reserved = 1024, .shared_per_block = 128 * 1024, .shared_per_core = 228 * 1024,
     .banks = 32, .clock_ghz = 1.965, .fma_gflops = 80000, .matrix_gflops = 625000, .launch_ns = 3000, .barrier_ns = 20,
     .n_tiers = 4,
     .tier = {{"shared", 228 * 1024, 37000, 30, false}, {"l2", 126e6, 9000, 260, false},
              {"memory", 186e9, 4000, 600, false}, {"link", 0, 900, 0, false}},
     .n_matrix = 4,
     .matrix = {{16, 16, 16, TSR_BF16, TSR_F32, 2048}, {16, 16, 16, TSR_F16, TSR_F32, 2048}, {16, 16, 8, TSR_TF32, TSR_F32, 1024},
                {16, 16, 32, TSR_F8E4M3, TSR_F32, 2048}}},
};

static const char *const origins[TUNE_N_ORIGINS] = {"listed", "reached", "measured"};
const char *tune_origin_name(tune_origin o) { return origins[(unsigned)o < TUNE_N_ORIGINS ? o : TUNE_LISTED]; }

typedef enum field_type { F_BOOL, F_I32, F_I64, F_F64, F_ORIGIN } field_type;
static const struct field {
  const char *name;
  field_type type;
  size_t at;
} fields[] = {
#define FIELD(name, type) {#name, type, offsetof(tune_device, name)}
    FIELD(is_cpu, F_BOOL),          FIELD(advisory, F_BOOL),         FIELD(async_copy, F_BOOL),
    FIELD(cores, F_I32),            FIELD(warp_size, F_I32),         FIELD(max_warps, F_I32),
    FIELD(max_blocks, F_I32),       FIELD(max_barriers, F_I32),      FIELD(core_parts, F_I32),
    FIELD(max_threads, F_I32),      FIELD(regs_per_core, F_I32),     FIELD(regs_per_thread, F_I32),
    FIELD(regs_ideal, F_I32),       FIELD(reg_granule, F_I32),       FIELD(shared_granule, F_I32),
    FIELD(shared_reserved, F_I32),  FIELD(shared_per_block, F_I64),  FIELD(shared_per_core, F_I64),
    FIELD(shared_ideal, F_I64),     FIELD(clusters, F_BOOL),         FIELD(lds_direct, F_BOOL),
    FIELD(warpgroup_matrix, F_BOOL),
    FIELD(banks, F_I32),            FIELD(clock_ghz, F_F64),         FIELD(fma_gflops, F_F64),
    FIELD(matrix_gflops, F_F64),    FIELD(launch_ns, F_F64),         FIELD(barrier_ns, F_F64),
    FIELD(fma_from, F_ORIGIN),      FIELD(matrix_from, F_ORIGIN),    FIELD(launch_from, F_ORIGIN),
    FIELD(barrier_from, F_ORIGIN),  FIELD(measured_on, F_F64),       FIELD(queried, F_BOOL),
#undef FIELD
};
enum { N_FIELDS = sizeof fields / sizeof *fields, N_BUILTIN = sizeof builtin / sizeof *builtin };

static bool contains_nocase(const char *text, const char *part) {
  for (; *text; text++) {
    size_t i = 0;
    while (part[i] && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) i++;
    if (!part[i]) return true;
  }
  return false;
}

const tune_device *tune_device_find(const char *name) {
  for (size_t i = 0; name && *name && i < N_BUILTIN; i++)
    if (contains_nocase(builtin[i].name, name) || contains_nocase(name, strrchr(builtin[i].name, ' ') + 1))
      return &builtin[i];
  return NULL;
}

static double field_get(const tune_device *d, const struct field *f) {
  const void *p = (const char *)d + f->at;
  switch (f->type) {
  case F_BOOL: return *(const bool *)p;
  case F_I32: return *(const int32_t *)p;
  case F_I64: return (double)*(const int64_t *)p;
  case F_F64: return *(const double *)p;
  case F_ORIGIN: return *(const tune_origin *)p;
  }
  return 0;
}

static void field_set(tune_device *d, const struct field *f, double v) {
  void *p = (char *)d + f->at;
  switch (f->type) {
  case F_BOOL: *(bool *)p = v != 0; break;
  case F_I32: *(int32_t *)p = (int32_t)v; break;
  case F_I64: *(int64_t *)p = (int64_t)v; break;
  case F_F64: *(double *)p = v; break;
  case F_ORIGIN: *(tune_origin *)p = (tune_origin)v; break;
  }
}

/* "tier = shared 233472 29700 30 measured" */
static bool parse_tier(tune_device *d, const char *s) {
  tune_tier t = {0};
  double *const numbers[] = {&t.bytes, &t.gbps, &t.latency_cycles};
  const size_t n = strcspn(s, " \t");
  if (d->n_tiers == TUNE_MAX_TIERS || !n || n >= sizeof t.name) return false;
  memcpy(t.name, s, n);
  s += n;
  for (int i = 0; i < 3; i++) {
    char *end;
    *numbers[i] = number_read(s, &end);
    if (end == s || !(*numbers[i] >= 0) || *numbers[i] > 1e15) return false;
    s = end;
  }
  s += strspn(s, " \t");
  t.measured = !strcmp(s, "measured");
  if (*s && !t.measured) return false;
  d->tier[d->n_tiers++] = t;
  return true;
}

/* "matrix = 16 16 16 bf16 f32 4096": the rate may be left out */
static bool parse_matrix(tune_device *d, const char *s) {
  tune_matrix m = {0};
  char in[16], acc[16];
  if (d->n_matrix == TUNE_MAX_MATRIX || sscanf(s, "%d %d %d %15s %15s %d", &m.m, &m.n, &m.k, in, acc, &m.rate) < 5)
    return false;
  m.in = dtype_parse_real(in);
  m.acc = dtype_parse_real(acc);
  if (m.m < 1 || m.n < 1 || m.k < 1 || m.rate < 0 || !m.in || !m.acc) return false;
  d->matrix[d->n_matrix++] = m;
  return true;
}

static double parse_origin(const char *value) {
  for (int i = 0; i < TUNE_N_ORIGINS; i++)
    if (!strcmp(value, origins[i])) return i;
  return -1;
}

static bool parse_field(tune_device *d, const char *key, const char *value) {
  for (size_t i = 0; i < N_FIELDS; i++) {
    char *end = "";
    if (strcmp(fields[i].name, key)) continue;
    double v = fields[i].type == F_ORIGIN ? parse_origin(value) : number_read(value, &end);
    if (end == value || *end || !(v >= 0) || v > (fields[i].type == F_I32 ? INT32_MAX : 1e15)) return false;
    if (fields[i].type == F_I32 && v > INT32_MAX) return false;
    field_set(d, &fields[i], v);
    return true;
  }
  return false;
}

static bool parse_line(tune_device *d, char *line) {
  char *eq = strchr(line, '=');
  if (!eq) return false;
  char *key_end = eq, *value = eq + 1;
  while (key_end > line && isspace((unsigned char)key_end[-1])) key_end--;
  *key_end = 0;
  while (isspace((unsigned char)*value)) value++;
  if (!strcmp(line, "name"))
    return snprintf(d->name, sizeof d->name, "%s", value) < (int)sizeof d->name && *value && utf8_is_text(value, false);
  if (!strcmp(line, "tier")) return parse_tier(d, value);
  if (!strcmp(line, "matrix")) return parse_matrix(d, value);
  return parse_field(d, line, value);
}

tsr_status tune_device_parse(const char *text, const char *file, tune_device *out) {
  memset(out, 0, sizeof *out);
  int line_no = 1;
  for (const char *p = text; *p; line_no++) {
    size_t n = strcspn(p, "\n");
    char line[256];
    size_t len = n < sizeof line - 1 ? n : sizeof line - 1;
    memcpy(line, p, len);
    line[len] = 0;
    p += n + (p[n] == '\n');
    line[strcspn(line, "#\r")] = 0;
    char *s = line + strspn(line, " \t");
    for (size_t k = strlen(s); k && isspace((unsigned char)s[k - 1]);) s[--k] = 0;
    if (!*s) continue;
    char shown[64];
    snprintf(shown, sizeof shown, "%s", s);
    if (n < sizeof line && parse_line(out, s)) continue;
    memset(out, 0, sizeof *out);
    return st_make(NULL, TSR_PARSE_ERROR,
                   ST_WHERE("tune", "profile", "lines are `key = value`, `tier = NAME BYTES GBPS CYCLES`"),
                   "%s:%d:1: expected a known key with a value that is not negative, got `%s`", file, line_no, shown);
  }
  if (out->name[0]) return NULL;
  return st_make(NULL, TSR_PARSE_ERROR, ST_WHERE("tune", "profile", "add a line `name = ...`"), "%s:1:1: no name",
                 file);
}

tsr_status tune_device_load(const char *path, tune_device *out) {
  memset(out, 0, sizeof *out);
  const char *why;
  FILE *f = file_open(path, &why);
  if (!f) return st_make(NULL, TSR_IO_ERROR, ST_WHERE("tune", "profile", NULL), "%s: %s", path, why);
  char text[16384];
  size_t n = fread(text, 1, sizeof text - 1, f);
  bool bad = ferror(f) || n == sizeof text - 1;
  fclose(f);
  if (bad)
    return st_make(NULL, TSR_IO_ERROR, ST_WHERE("tune", "profile", NULL), "%s: unreadable or above 16 KiB", path);
  text[n] = 0;
  return tune_device_parse(text, path, out);
}

/* Short where that reads back as the same number: what is kept gives the same estimates, bit for bit. */
static void print_number(double v, const char *before, strb *out) {
  char text[32];
  number_print(text, sizeof text, "%.12g", v);
  if (number_read(text, NULL) != v) number_print(text, sizeof text, "%.17g", v);
  strb_printf(out, "%s%s", before, text);
}

void tune_device_print(const tune_device *d, strb *out) {
  strb_printf(out, "name = %s\n", d->name);
  for (size_t i = 0; i < N_FIELDS; i++) {
    double v = field_get(d, &fields[i]);
    if (v && fields[i].type == F_ORIGIN) {
      strb_printf(out, "%s = %s\n", fields[i].name, tune_origin_name((tune_origin)v));
    } else if (v) {
      strb_puts(out, fields[i].name);
      print_number(v, " = ", out);
      strb_puts(out, "\n");
    }
  }
  for (int i = 0; i < d->n_tiers; i++) {
    const tune_tier *t = &d->tier[i];
    strb_printf(out, "tier = %s", t->name);
    print_number(t->bytes, " ", out), print_number(t->gbps, " ", out), print_number(t->latency_cycles, " ", out);
    strb_puts(out, t->measured ? " measured\n" : "\n");
  }
  for (int i = 0; i < d->n_matrix; i++) {
    const tune_matrix *m = &d->matrix[i];
    strb_printf(out, "matrix = %d %d %d %s %s", m->m, m->n, m->k, tsr_dtype_name(m->in), tsr_dtype_name(m->acc));
    if (m->rate) strb_printf(out, " %d", m->rate);
    strb_puts(out, "\n");
  }
}

void tune_device_complete(tune_device *d, const tune_device *from) {
  for (size_t i = 0; i < N_FIELDS; i++)
    if (fields[i].type != F_BOOL && fields[i].type != F_ORIGIN && !field_get(d, &fields[i]))
      field_set(d, &fields[i], field_get(from, &fields[i]));
  if (!d->n_tiers) {
    d->n_tiers = from->n_tiers;
    memcpy(d->tier, from->tier, sizeof d->tier);
  }
  if (!d->n_matrix) {
    d->n_matrix = from->n_matrix;
    memcpy(d->matrix, from->matrix, sizeof d->matrix);
  }
}

void tune_device_override(tune_device *d, const tune_device *user) {
  memcpy(d->name, user->name, sizeof d->name);
  for (size_t i = 0; i < N_FIELDS; i++)
    if (field_get(user, &fields[i]) > 0) field_set(d, &fields[i], field_get(user, &fields[i]));
  for (int i = 0; i < user->n_tiers; i++) {
    int at = 0;
    while (at < d->n_tiers && strcmp(d->tier[at].name, user->tier[i].name)) at++;
    if (at == TUNE_MAX_TIERS) continue;
    d->tier[at] = user->tier[i];
    d->n_tiers += at == d->n_tiers;
  }
  if (user->n_matrix) d->n_matrix = user->n_matrix, memcpy(d->matrix, user->matrix, sizeof d->matrix);
}

const tune_tier *tune_device_tier(const tune_device *d, const char *name) {
  for (int i = 0; i < d->n_tiers; i++)
    if (!strcmp(d->tier[i].name, name)) return &d->tier[i];
  return NULL;
}

void tune_device_measured(tune_device *d, const char *tier, double gbps) {
  tune_tier *t = NULL;
  for (int i = 0; i < d->n_tiers && !t; i++)
    if (!strcmp(d->tier[i].name, tier)) t = &d->tier[i];
  if (!t) {
    if (d->n_tiers == TUNE_MAX_TIERS) return;
    t = &d->tier[d->n_tiers++];
    snprintf(t->name, sizeof t->name, "%s", tier);
  }
  t->gbps = gbps;
  t->measured = true;
}

bool tune_device_has_roofline(const tune_device *d) {
  const tune_tier *memory = tune_device_tier(d, "memory");
  bool lower_bound = d->fma_from == TUNE_REACHED || (d->matrix_gflops > 0 && d->matrix_from == TUNE_REACHED);
  return d->fma_gflops > 0 && !lower_bound && memory && memory->gbps > 0;
}

/* The rate of the type's fastest instruction: of several the deeper ones are, which lowerings take. */
static int32_t fastest(const tune_device *d, tsr_dtype in) {
  int32_t rate = 0;
  for (int i = 0; i < d->n_matrix; i++)
    if (d->matrix[i].in == in && d->matrix[i].rate > rate) rate = d->matrix[i].rate;
  return rate;
}

double tune_device_peak(const tune_device *d, tsr_dtype in, bool matrix) {
  if (!matrix || !d->matrix_gflops || (d->is_cpu && tsr_dtype_size(in) >= 4)) return d->fma_gflops;
  int32_t own = fastest(d, in), narrow = fastest(d, TSR_BF16);
  if (!narrow) narrow = fastest(d, TSR_F16);
  return d->matrix_gflops * (own && narrow ? (double)own / narrow : matrix_rate_by_width(in));
}

bool tune_device_simd_like(const tune_device *d) { return !d->is_cpu && simd_like(d->warp_size); }

const tune_matrix *tune_device_matrix(const tune_device *d, tsr_dtype in) {
  for (int i = 0; i < d->n_matrix; i++)
    if (d->matrix[i].in == in) return &d->matrix[i];
  return NULL;
}
