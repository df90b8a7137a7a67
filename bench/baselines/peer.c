/* bench/baselines/peer.c - the list of peers, the checked front, and what the peers share: loading and choosing
 * kernels. */
#include "bench/baselines/peer_impl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ALIGN 64

static const peer *const peers[] = {
    &peer_openblas, &peer_blis, &peer_onednn, &peer_ggml, &peer_cublaslt, &peer_hipblaslt, &peer_fftw,
#if PEER_GLSL
    &peer_glsl,
#endif
};

const peer *peer_at(size_t i) { return i < sizeof peers / sizeof *peers ? peers[i] : NULL; }

bool peer_op_named(const char *name, peer_op *out) {
  static const char *const names[] = {[PEER_MATMUL] = "matmul",
                                      [PEER_SOFTMAX] = "softmax",
                                      [PEER_RMSNORM] = "rmsnorm",
                                      [PEER_LAYERNORM] = "layernorm",
                                      [PEER_ADD] = "add",
                                      [PEER_FFT] = "fft",
                                      [PEER_IFFT2] = "ifft"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], name)) return *out = (peer_op)i, true;
  return false;
}

const peer *peer_find(const char *name) {
  for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
    if (!strcmp(peers[i]->name, name)) return peers[i];
  return NULL;
}

const char *peer_name(const peer *p) { return p->name; }
tsr_dtype peer_out_dtype(const peer_job *job) { return job->desc.out_dtype; }

tsr_status peer_available(const peer *p) { return p->open(); }

const char *peer_describe(const peer *p) {
  tsr_status st = p->open();
  if (st) {
    tsr_status_free(st);
    return p->name;
  }
  return p->describe();
}

size_t peer_count(const peer_desc *d, int which) {
  size_t m = (size_t)d->m, n = (size_t)d->n, k = (size_t)d->k, batch = d->batch ? (size_t)d->batch : 1;
  if (d->op != PEER_MATMUL) return which == 1 && d->op != PEER_ADD ? 0 : m * n;
  return batch * (which == 0 ? m * k : which == 1 ? k * n : m * n);
}

/* u8 matrices are multiplied by i8 ones. */
static tsr_dtype operand_dtype(const peer_desc *d, int which) {
  if (which == 2) return d->out_dtype;
  return which == 1 && d->dtype == TSR_U8 ? TSR_I8 : d->dtype;
}

static size_t operand_bytes(const peer_desc *d, int which) {
  return peer_count(d, which) * tsr_dtype_size(operand_dtype(d, which));
}

static void fill_defaults(peer_desc *d) {
  bool integer = d->dtype == TSR_I8 || d->dtype == TSR_U8;
  if (!d->out_dtype) d->out_dtype = integer ? TSR_I32 : d->dtype;
  if (!d->batch) d->batch = 1;
  if (!d->n_sets) d->n_sets = 1;
  if (!d->threads) d->threads = peer_cores();
  if (!d->device) d->device = "cpu";
}

/* Zeroed and touched by this thread, so that no timed run meets a page fault. */
static void *host_alloc(size_t bytes) {
  void *p = NULL;
  if (posix_memalign(&p, ALIGN, (bytes + ALIGN) & ~(size_t)(ALIGN - 1))) return NULL;
  memset(p, 0, bytes);
  return p;
}

static tsr_status host_create(peer_job *job) {
  job->host = calloc((size_t)job->desc.n_sets, sizeof *job->host);
  if (!job->host) return st_oom();
  for (int s = 0; s < job->desc.n_sets; s++) {
    peer_host *h = &job->host[s];
    h->out = host_alloc(operand_bytes(&job->desc, 2));
    if (!h->out) return st_oom();
    for (int i = 0; i < 2; i++)
      if (peer_count(&job->desc, i) && !(h->operand[i] = host_alloc(operand_bytes(&job->desc, i)))) return st_oom();
  }
  return NULL;
}

tsr_status peer_create(const peer *p, const peer_desc *desc, peer_job **out) {
  *out = NULL;
  TSR_TRY(p->open());
  peer_job *job = calloc(1, p->job_size);
  if (!job) return st_oom();
  job->peer = p;
  job->desc = *desc;
  fill_defaults(&job->desc);
  tsr_status st = p->write ? NULL : host_create(job);
  if (!st) st = p->create(job);
  if (st) peer_destroy(&job);
  *out = job;
  return st;
}

tsr_status peer_write(peer_job *job, int set, int operand, const void *data) {
  if (job->peer->write) return job->peer->write(job, set, operand, data);
  memcpy(job->host[set].operand[operand], data, operand_bytes(&job->desc, operand));
  return job->peer->written ? job->peer->written(job, set, operand) : NULL;
}

tsr_status peer_wait(peer_job *job) { return job->peer->wait ? job->peer->wait(job) : NULL; }

bool peer_has_clock(const peer_job *job) { return job->peer->clock_start != NULL; }
tsr_status peer_clock_start(peer_job *job) { return job->peer->clock_start(job); }
tsr_status peer_clock_stop(peer_job *job, double *us) { return job->peer->clock_stop(job, us); }

tsr_status peer_run(peer_job *job, int set) { return job->peer->run(job, set); }

void peer_read(peer_job *job, int set, void *out) {
  if (job->peer->read) job->peer->read(job, set, out);
  else memcpy(out, job->host[set].out, operand_bytes(&job->desc, 2));
}

void peer_destroy(peer_job **job) {
  if (!job || !*job) return;
  peer_job *j = *job;
  if (j->peer->destroy) j->peer->destroy(j);
  for (int s = 0; j->host && s < j->desc.n_sets; s++) {
    free(j->host[s].operand[0]);
    free(j->host[s].operand[1]);
    free(j->host[s].out);
  }
  free(j->host);
  free(j);
  *job = NULL;
}

/* ---- for the peers' files -------------------------------------------------------------------------------------- */

tsr_status peer_load(const char *const *names, const char *package, void **lib) {
  for (const char *const *n = names; *n && !*lib; n++) *lib = dlopen(*n, RTLD_NOW | RTLD_LOCAL);
  if (*lib) return NULL;
  return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, "scripts/setup --peers"),
                 "%s does not load (package %s): %s", names[0], package, dlerror());
}

tsr_status peer_symbols(void *lib, const peer_symbol *symbols, size_t n) {
  for (size_t i = 0; i < n; i++) {
    void *fn = dlsym(lib, symbols[i].name);
    if (!fn)
      return st_make(NULL, TSR_UNAVAILABLE, ST_WHERE("bench", NULL, NULL), "the library has no %s", symbols[i].name);
    memcpy(symbols[i].fn, &fn, sizeof fn);
  }
  return NULL;
}

tsr_status peer_unsupported(const peer *p, const char *what) {
  return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", NULL, NULL), "%s: %s", p->name, what);
}

int peer_cores(void) {
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n > 0 ? (int)n : 1;
}

double peer_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double peer_probe(const char *var, const char *value, double (*probe)(void)) {
  int fd[2];
  double rate = 0;
  if (pipe(fd)) return 0;
  pid_t child = fork();
  if (child == 0) {
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0) dup2(null, STDERR_FILENO);
    alarm(20);
    if (var) setenv(var, value, 1);
    rate = probe();
    _exit(write(fd[1], &rate, sizeof rate) == sizeof rate ? 0 : 1);
  }
  close(fd[1]);
  if (child < 0 || read(fd[0], &rate, sizeof rate) != sizeof rate) rate = 0;
  close(fd[0]);
  if (child > 0) waitpid(child, NULL, 0);
  return rate;
}

void peer_force_kernels(const char *var, const char *const *candidates, double (*probe)(void)) {
  double best = 0;
  const char *chosen = NULL;
  for (const char *const *c = candidates; *c; c++) {
    double rate = peer_probe(var, *c, probe);
    if (rate > 1.03 * best) best = rate, chosen = *c;
  }
  if (chosen) setenv(var, chosen, 1);
  else unsetenv(var);
}
