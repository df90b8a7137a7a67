/* bench/baselines/openblas.c - OpenBLAS. Its start-up detection falls back to AVX2 kernels on CPUs newer than the
 * build, so the core type is forced to the fastest by measurement. */
#include "bench/baselines/peer_impl.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {
    "openblas-pthread/libopenblas.so.0", "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0", "libopenblas.so.0", NULL};
static const char *const core_types[] = {"SkylakeX", "Cooperlake", "SapphireRapids", "Zen",
                                         "Haswell",  "NeoverseN1", "NeoverseV1",     NULL};

static void *lib;
static cblas_api api;
static struct {
  void (*set_num_threads)(int);
  char *(*get_corename)(void);
  char *(*get_config)(void);
} blas;

static tsr_status load(void) {
  TSR_TRY(peer_load(names, "libopenblas0-pthread", &lib));
  const peer_symbol symbols[] = {{"cblas_sgemm", &api.sgemm},
                                 {"cblas_sgemv", &api.sgemv},
                                 {"openblas_set_num_threads", &blas.set_num_threads},
                                 {"openblas_get_corename", &blas.get_corename},
                                 {"openblas_get_config", &blas.get_config}};
  return peer_symbols(lib, symbols, sizeof symbols / sizeof *symbols);
}

static double probe(void) {
  tsr_status st = load();
  if (st) return st_take_code(st), 0;
  blas.set_num_threads(1);
  return cblas_probe(&api);
}

static tsr_status open_once(void) {
  static bool opened;
  if (opened) return NULL;
  unsetenv("OPENBLAS_L2_SIZE"); /* would set the blocking, too */
  peer_force_kernels("OPENBLAS_CORETYPE", core_types, probe);
  TSR_TRY(load());
  opened = true;
  return NULL;
}

static const char *describe(void) {
  static char text[96];
  char version[32] = "";
  sscanf(blas.get_config(), "OpenBLAS %31s", version);
  snprintf(text, sizeof text, "openblas %s %s", version, blas.get_corename());
  return text;
}

static tsr_status create(peer_job *job) { return cblas_check(job); }

static tsr_status run(peer_job *job, int set) {
  blas.set_num_threads(job->desc.threads);
  cblas_matmul(&api, job, set);
  return NULL;
}

const peer peer_openblas = {
    .name = "openblas", .open = open_once, .describe = describe, .create = create, .run = run, .job_size = sizeof(peer_job)};
