/* bench/baselines/blis.c - BLIS. On CPUs whose FMA units it doesn't know it picks AVX2 kernels, so the architecture is
 * forced to the fastest by measurement. */
#include "bench/baselines/peer_impl.h"

#include <stdio.h>

static const char *const names[] = {"/usr/lib/x86_64-linux-gnu/blis-openmp/libblis.so.4",
                                    "/usr/lib/aarch64-linux-gnu/blis-openmp/libblis.so.4", "libblis.so.4", NULL};
/* The environment variable takes BLIS's own numbers, which differ from version to version: all are tried. */
static const char *const architectures[] = {"0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",
                                            "9",  "10", "11", "12", "13", "14", "15", "16", "17",
                                            "18", "19", "20", "21", "22", "23", NULL};

static void *lib;
static cblas_api api;
static struct {
  void (*init)(void);
  void (*set_num_threads)(int64_t);
  int (*arch_query_id)(void);
  const char *(*arch_string)(int);
  const char *(*version)(void);
} blis;

static tsr_status load(void) {
  TSR_TRY(peer_load(names, "libblis4-openmp", &lib));
  const peer_symbol symbols[] = {{"cblas_sgemm", &api.sgemm},
                                 {"cblas_sgemv", &api.sgemv},
                                 {"bli_init", &blis.init},
                                 {"bli_thread_set_num_threads", &blis.set_num_threads},
                                 {"bli_arch_query_id", &blis.arch_query_id},
                                 {"bli_arch_string", &blis.arch_string},
                                 {"bli_info_get_version_str", &blis.version}};
  TSR_TRY(peer_symbols(lib, symbols, sizeof symbols / sizeof *symbols));
  blis.init(); /* the other calls abort without it */
  return NULL;
}

static double probe(void) {
  tsr_status st = load();
  if (st) return st_take_code(st), 0;
  blis.set_num_threads(1);
  return cblas_probe(&api);
}

static tsr_status open_once(void) {
  static bool opened;
  if (opened) return NULL;
  peer_force_kernels("BLIS_ARCH_TYPE", architectures, probe);
  TSR_TRY(load());
  opened = true;
  return NULL;
}

static const char *describe(void) {
  static char text[96];
  snprintf(text, sizeof text, "blis %s %s", blis.version(), blis.arch_string(blis.arch_query_id()));
  return text;
}

static tsr_status create(peer_job *job) { return cblas_check(job); }

static tsr_status run(peer_job *job, int set) {
  blis.set_num_threads(job->desc.threads);
  cblas_matmul(&api, job, set);
  return NULL;
}

const peer peer_blis = {
    .name = "blis", .open = open_once, .describe = describe, .create = create, .run = run, .job_size = sizeof(peer_job)};
