/* tools/tessera/bench_env.c - see bench_env.h. Clock and governor are those of the first core. */
#include "tools/tessera/bench_env.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/base/knob.h"
#include "core/tune/kernel.h"

extern char **environ;

enum { MAX_KNOBS = 64 };

#if defined(__clang__)
static const char compiler[] = __VERSION__;
#else
static const char compiler[] = "gcc " __VERSION__;
#endif

/* ---- reading
 * ---------------------------------------------------------------------------------------------------------------------
 */

/* The first line of a file; "" where there is none. */
static void read_line(const char *path, char *out, size_t n) {
  FILE *f = fopen(path, "r");
  if (!f || !fgets(out, (int)n, f)) *out = 0;
  if (f) fclose(f);
  out[strcspn(out, "\n")] = 0;
}

static double read_clock(void) {
  char line[256];
  double mhz = 0;
  read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", line, sizeof line);
  if (*line) return strtod(line, NULL) / 1e3;
  FILE *f = fopen("/proc/cpuinfo", "r");
  while (f && !(mhz > 0) && fgets(line, sizeof line, f))
    if (sscanf(line, "cpu MHz : %lf", &mhz) != 1) mhz = 0;
  if (f) fclose(f);
  return mhz;
}

tsr_status bench_env_read(tsr_context *ctx, const char *tune, long seed, long milliseconds, bench_env *e) {
  tsr_device *cpu = NULL;
  struct utsname u;
  struct tm tm;
  char load[64];
  time_t now = time(NULL);
  *e = (bench_env){.cores = (int)sysconf(_SC_NPROCESSORS_ONLN),
                   .least_runs = 7,
                   .cpu_mhz = read_clock(),
                   .tune = tune ? tune : knob_str("TSR_TUNE"),
                   .seed = seed,
                   .milliseconds = milliseconds};
  tsr_status_free(tsr_device_open(ctx, "cpu:0", &cpu)); /* it alone: no driver is loaded */
  if (cpu) {
    const tsr_device_info *d = tsr_device_get_info(cpu);
    snprintf(e->cpu, sizeof e->cpu, "%s", d->name);
    snprintf(e->isa, sizeof e->isa, "%s", d->arch);
    e->threads = d->n_cores;
  }
  tsr_device_close(&cpu);
  if (!uname(&u)) snprintf(e->os, sizeof e->os, "%.60s %.60s %.60s", u.sysname, u.release, u.machine);
  read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", e->governor, sizeof e->governor);
  read_line("/proc/loadavg", load, sizeof load);
  e->load = *load ? strtod(load, NULL) : -1;
  strftime(e->when, sizeof e->when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
  return NULL;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* "TSR_NAME=value" of every knob that is set, by name. */
static int knobs_set(const char *set[MAX_KNOBS]) {
  int n = 0;
  for (char **v = environ; *v && n < MAX_KNOBS; v++)
    if (!strncmp(*v, "TSR_", 4) && strchr(*v, '=')) set[n++] = *v;
  qsort(set, (size_t)n, sizeof *set, by_name);
  return n;
}

/* ---- printing
 * --------------------------------------------------------------------------------------------------------------------
 */

static void text(FILE *f, const char *name, const char *value) {
  fprintf(f, "\"%s\": ", name);
  if (*value) cli_json_string(f, value);
  else fputs("null", f);
  fputs(", ", f);
}

static void number(FILE *f, const char *name, double v, bool known) {
  if (known) fprintf(f, "\"%s\": %.6g, ", name, v);
  else fprintf(f, "\"%s\": null, ", name);
}

void bench_env_json(const bench_env *e, const tsr_device_info *d, FILE *f) {
  const char *set[MAX_KNOBS];
  char name[64];
  fprintf(f, "{\"library\": \"%d.%d\", ", TSR_ABI_MAJOR, TSR_ABI_MINOR);
  text(f, "generator", tune_generator()), text(f, "compiler", compiler), text(f, "os", e->os);
  text(f, "cpu", e->cpu), text(f, "isa", e->isa);
  number(f, "cores", e->cores, e->cores > 0), number(f, "threads", e->threads, e->threads > 0);
  text(f, "governor", e->governor);
  number(f, "cpu_mhz", e->cpu_mhz, e->cpu_mhz > 0), number(f, "load", e->load, e->load >= 0);
  text(f, "device_name", d->name), text(f, "driver", d->driver), text(f, "arch", d->arch);
  fprintf(f, "\"tune\": \"%s\", \"seed\": %ld, \"milliseconds\": %ld, \"when\": \"%s\", \"knobs\": {", e->tune, e->seed,
          e->milliseconds, e->when);
  for (int i = 0, n = knobs_set(set); i < n; i++) {
    int len = (int)strcspn(set[i], "=");
    snprintf(name, sizeof name, "%.*s", len, set[i]);
    fputs(i ? ", " : "", f), cli_json_string(f, name), fputs(": ", f), cli_json_string(f, set[i] + len + 1);
  }
  fputs("}}", f);
}

void bench_env_text(const bench_env *e, strb *out) {
  const char *set[MAX_KNOBS];
  strb_printf(out, "%s, cores %d, threads %d, kernels %s", *e->cpu ? e->cpu : "unknown CPU", e->cores, e->threads,
              *e->isa ? e->isa : "none");
  if (e->cpu_mhz > 0) strb_printf(out, ", %.0f MHz", e->cpu_mhz);
  if (*e->governor) strb_printf(out, ", governor %s", e->governor);
  if (e->load >= 0) strb_printf(out, ", load %.2f", e->load);
  strb_printf(out, "; %s; tessera %d.%d (%s, %s); tune %s, seed %ld, timed for %ld ms or %d runs a case", e->os,
              TSR_ABI_MAJOR, TSR_ABI_MINOR, tune_generator(), compiler, e->tune, e->seed, e->milliseconds,
              e->least_runs);
  for (int i = 0, n = knobs_set(set); i < n; i++) strb_printf(out, "%s%s", i ? ", " : "; ", set[i]);
}
