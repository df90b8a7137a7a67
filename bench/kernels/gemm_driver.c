/* Measures the gemm kernels, driven as the interpreter drives them, against OpenBLAS, BLIS and oneDNN, interleaved.
 *
 *   gemm_driver [--types f32,bf16,s8] [--shapes MxNxK,...] [--threads N] [--rounds N] [--packed 0|1|2] [--isa NAME]
 *   [--cold] [--trans] [--no-peers]
 *
 * Prints per shape our median time and rate, and each peer's ratio (its time / ours: above 1 we win), of medians and
 * of minima. --packed 1 gives both sides B packed ahead, 2 runs both forms. --trans: B is stored n x k (no peers).
 * --cold rotates buffers so that the operands come from memory. BM, BN, BK in the environment override the plan.
 * Every first result is checked against an f64 product at sampled places; a wrong one exits 1. */
#include "bench/baselines/peer.h"
#include "bench/kernels/gemm_launch.h"
#include "core/base/sample.h"
#include "tessera/tessera.h"

#include <sys/mman.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <math.h>

static size_t override(const char *name, size_t value) {
  const char *s = getenv(name);
  return s != NULL && *s != 0 ? (size_t)atol(s) : value;
}

/* ---- a pool: threads spin for a moment after each launch, then sleep ---- */

enum { MAX_THREADS = 64 };
typedef struct pool {
  pthread_t thread[MAX_THREADS];
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  atomic_uint epoch, done;
  atomic_bool stop;
  gemm_job *job;
  unsigned n;
} pool;
typedef struct pool_arg {
  pool *p;
  unsigned me;
} pool_arg;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void *pool_main(void *arg) {
  pool_arg a = *(pool_arg *)arg;
  unsigned seen = 0;
  free(arg);
  for (;;) {
    double start = now_us();
    while (atomic_load(&a.p->epoch) == seen && now_us() - start < 200)
      for (int i = 0; i < 50; i++) gemm_pause();
    if (atomic_load(&a.p->epoch) == seen) {
      pthread_mutex_lock(&a.p->mutex);
      while (atomic_load(&a.p->epoch) == seen) pthread_cond_wait(&a.p->wake, &a.p->mutex);
      pthread_mutex_unlock(&a.p->mutex);
    }
    seen = atomic_load(&a.p->epoch);
    if (atomic_load(&a.p->stop)) return NULL;
    gemm_run_thread(a.p->job, a.me, a.p->n);
    atomic_fetch_add(&a.p->done, 1);
  }
}
static void pool_start(pool *p, unsigned n) {
  memset(p, 0, sizeof *p);
  pthread_mutex_init(&p->mutex, NULL);
  pthread_cond_init(&p->wake, NULL);
  p->n = n;
  for (unsigned i = 1; i < n; i++) {
    pool_arg *a = malloc(sizeof *a);
    *a = (pool_arg){p, i};
    pthread_create(&p->thread[i], NULL, pool_main, a);
  }
}
static void pool_launch(pool *p, gemm_job *job) {
  p->job = job;
  atomic_store(&job->next_block, 0);
  atomic_store(&p->done, 0);
  pthread_mutex_lock(&p->mutex);
  atomic_fetch_add(&p->epoch, 1);
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->mutex);
  if (job != NULL) gemm_run_thread(job, 0, p->n);
  while (job != NULL && atomic_load(&p->done) + 1 < p->n) gemm_pause();
}
static void pool_stop(pool *p) {
  atomic_store(&p->stop, true);
  pthread_mutex_lock(&p->mutex);
  atomic_fetch_add(&p->epoch, 1);
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->mutex);
  for (unsigned i = 1; i < p->n; i++) pthread_join(p->thread[i], NULL);
}

/* ---- one case ---- */

typedef struct options {
  const cpuk_table *table;
  unsigned threads;
  int rounds;
  bool cold, peers, b_trans;
} options;
enum { MAX_SETS = 64, MAX_ROUNDS = 200, MAX_SIDES = 4 };
typedef struct bench_case {
  cpuk_gemm_kind kind;
  cpuk_dtype type;
  size_t m, n, k;
  bool packed, b_trans;
  char *a[MAX_SETS], *b[MAX_SETS], *c[MAX_SETS], *packed_b[MAX_SETS];
  int n_sets, set;
} bench_case;

/* Buffers as the runtime makes them: in huge pages where they're large (HUGE=0 in the environment: not). */
static void *alloc(size_t bytes) {
  size_t unit = bytes >= 1 << 20 ? 2 << 20 : 4096;
  void *p = aligned_alloc(unit, (bytes + 4096 + unit - 1) / unit * unit);
#ifdef MADV_HUGEPAGE
  if (p != NULL && unit > 4096 && override("HUGE", 1))
    madvise(p, (bytes + 4096 + unit - 1) / unit * unit, MADV_HUGEPAGE);
#endif
  if (p == NULL) {
    fprintf(stderr, "out of memory\n");
    exit(2);
  }
  return p;
}
static void fill(char *p, size_t n, cpuk_dtype t) {
  uint64_t s = 12345;
  for (size_t i = 0; i < n; i++) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    if (t == CPUK_F32) ((float *)(void *)p)[i] = (float)((int)(s >> 40 & 0xff) - 128) / 128;
    else if (t == CPUK_BF16) ((uint16_t *)(void *)p)[i] = (uint16_t)(0x3f00 | (s >> 33 & 0x807f));
    else ((int8_t *)p)[i] = (int8_t)(s >> 40);
  }
}
static double element(cpuk_dtype t, const char *p, size_t i) {
  if (t == CPUK_F32) return ((const float *)(const void *)p)[i];
  if (t == CPUK_I8) return ((const int8_t *)p)[i];
  if (t == CPUK_I32) return ((const int32_t *)(const void *)p)[i];
  uint32_t u = (uint32_t)((const uint16_t *)(const void *)p)[i] << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static void check(const bench_case *t, const cpuk_gemm *g, const char *who, const char *c) {
  for (size_t s = 0; s < 64; s++) {
    size_t i = s * 7919 % t->m, j = s * 104729 % t->n;
    double want = 0, bound = 0;
    for (size_t q = 0; q < t->k; q++) {
      double x =
          element(t->type, t->a[0], i * t->k + q) * element(t->type, t->b[0], t->b_trans ? j * t->k + q : q * t->n + j);
      want += x, bound += fabs(x);
    }
    double got = element(g->acc_type, c, i * t->n + j);
    if (!(fabs(got - want) <= bound * (double)(t->k + 2) * 0x1p-24)) {
      printf("WRONG: %s %zux%zux%zu at %zu,%zu: %g for %g\n", who, t->m, t->n, t->k, i, j, got, want);
      exit(1);
    }
  }
}

typedef struct side {
  const char *name;
  peer_job *peer; /* NULL: ours */
  double us[MAX_ROUNDS];
} side;

static void must(tsr_status st) {
  if (st == NULL) return;
  fprintf(stderr, "gemm_driver: %s\n", tsr_status_message(st));
  exit(2);
}
static void side_run(side *s, bench_case *t, gemm_job *job, pool *p) {
  int i = t->set = (t->set + 1) % t->n_sets;
  if (s->peer != NULL) {
    must(peer_run(s->peer, i));
    must(peer_wait(s->peer));
    return;
  }
  job->a = t->a[i], job->b = t->packed ? t->packed_b[i] : t->b[i], job->c = t->c[i];
  if (!t->packed) memset(job->panel_state, 0, gemm_n_panels(job) * sizeof *job->panel_state);
  pool_launch(p, job);
}

/* One thread is timed by its processor time, which leaves out what other processes took; more threads by the clock. */
static double timer_us(const pool *p) {
  struct timespec t;
  if (p->n > 1) return now_us();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* One round: as many runs as fill 15 ms, after one to warm up; the mean. */
static double side_round(side *s, bench_case *t, gemm_job *job, pool *p) {
  double start = timer_us(p), used;
  int reps = 0;
  side_run(s, t, job, p);
  for (int i = 0; i < 3 && timer_us(p) - start < 3000; i++) side_run(s, t, job, p);
  start = timer_us(p);
  do side_run(s, t, job, p), reps++;
  while ((used = timer_us(p) - start) < 15000 && reps < 1000);
  return used / reps;
}

static void case_run(bench_case *t, const options *o, pool *p, double *log_sum, int *n_log) {
  const cpuk_gemm *g = o->table->gemm[t->kind];
  size_t e = cpuk_dtype_bytes(t->type), ce = cpuk_dtype_bytes(g->acc_type);
  size_t bytes = (t->m * t->k + t->k * t->n) * e + t->m * t->n * ce;
  gemm_job job = {.table = o->table, .ldc = (ptrdiff_t)t->n};
  job.shape = (cpuk_plan_args){.kind = t->kind,
                               .m = t->m,
                               .n = t->n,
                               .k = t->k,
                               .a_type = t->type,
                               .b_type = t->type,
                               .a_rs = (ptrdiff_t)t->k,
                               .a_cs = 1,
                               .b_rs = t->b_trans ? 1 : (ptrdiff_t)t->n,
                               .b_cs = t->b_trans ? (ptrdiff_t)t->k : 1,
                               .b_packed = t->packed,
                               .threads = o->threads};
  job.plan = cpuk_gemm_plan(o->table, &job.shape);
  job.plan.bm = override("BM", job.plan.bm), job.plan.bn = override("BN", job.plan.bn),
  job.plan.bk = override("BK", job.plan.bk);
  job.plan.a_inplace = override("INPLACE", job.plan.a_inplace) && g->a_inplace == (int)t->type;
  job.plan.column_major = override("COLUMN", job.plan.column_major);
  job.plan.skinny = override("SKINNY", job.plan.skinny);
  job.plan.b_on_the_way = override("WAY", job.plan.b_on_the_way);
  t->n_sets = o->cold ? (int)(100000000 / bytes + 2) : 1;
  if (t->n_sets > MAX_SETS) t->n_sets = MAX_SETS;
  for (int i = 0; i < t->n_sets; i++) {
    t->a[i] = alloc(t->m * t->k * e), t->b[i] = alloc(t->k * t->n * e), t->c[i] = alloc(t->m * t->n * ce),
    t->packed_b[i] = NULL;
    fill(t->a[i], t->m * t->k, t->type), fill(t->b[i], t->k * t->n, t->type), memset(t->c[i], 0, t->m * t->n * ce);
    if (t->packed) {
      t->packed_b[i] = alloc(gemm_packed_b_bytes(&job));
      job.b = t->b[i];
      gemm_pack_all_b(&job, t->packed_b[i]);
    }
  }
  if (!t->packed) job.packed_b = alloc(gemm_packed_b_bytes(&job));
  job.panel_state = alloc(gemm_n_panels(&job) * sizeof *job.panel_state);
  for (unsigned i = 0; i < o->threads; i++) job.scratch[i] = alloc(gemm_scratch_bytes(&job));

  side sides[MAX_SIDES] = {{.name = "ours"}};
  int n_sides = 1;
  static const tsr_dtype dtypes[CPUK_N_DTYPE] = {[CPUK_F32] = TSR_F32, [CPUK_BF16] = TSR_BF16, [CPUK_I8] = TSR_I8};
  for (size_t i = 0; o->peers && !t->b_trans && n_sides < MAX_SIDES && peer_at(i) != NULL; i++) {
    peer_desc d = {.op = PEER_MATMUL,
                   .dtype = dtypes[t->type],
                   .out_dtype = t->type == CPUK_I8 ? TSR_I32 : TSR_F32,
                   .m = (int64_t)t->m,
                   .n = (int64_t)t->n,
                   .k = (int64_t)t->k,
                   .packed_b = t->packed,
                   .n_sets = t->n_sets,
                   .threads = (int)o->threads};
    side s = {.name = peer_name(peer_at(i))};
    tsr_status st = strcmp(s.name, "ggml") == 0 ? NULL : peer_create(peer_at(i), &d, &s.peer);
    if (st != NULL) tsr_status_free(st);
    if (s.peer == NULL) continue;
    for (int set = 0; set < t->n_sets; set++)
      must(peer_write(s.peer, set, 0, t->a[set])), must(peer_write(s.peer, set, 1, t->b[set]));
    sides[n_sides++] = s;
  }
  for (int s = 0; s < n_sides; s++) {
    t->set = -1;
    side_run(&sides[s], t, &job, p);
    if (sides[s].peer != NULL) peer_read(sides[s].peer, 0, t->c[0]);
    check(t, g, sides[s].name, t->c[0]);
  }
  for (int r = 0; r < o->rounds; r++)
    for (int s = 0; s < n_sides; s++) sides[s].us[r] = side_round(&sides[s], t, &job, p);
  for (int s = 0; s < n_sides; s++) sample_sort(sides[s].us, (size_t)o->rounds);
  double ours = sides[0].us[o->rounds / 2], best = 1e30, flops = 2.0 * (double)t->m * (double)t->n * (double)t->k;
  printf("%-4s %5zux%5zux%5zu %-6s %10.1f us (%.1f) %7.1f GOP/s  bm %4zu bn %4zu bk %4zu%s%s ",
         t->type == CPUK_F32  ? "f32"
         : t->type == CPUK_I8 ? "s8"
                              : "bf16",
         t->m, t->n, t->k, t->packed ? "packed" : "plain", ours, sides[0].us[0], flops / ours * 1e-3, job.plan.bm,
         job.plan.bn, job.plan.bk, job.plan.a_inplace ? " in place" : "", job.plan.skinny ? " skinny" : "");
  for (int s = 1; s < n_sides; s++) {
    double ratio = sides[s].us[o->rounds / 2] / ours;
    if (ratio < best) best = ratio;
    printf(" %s %.2f (%.2f)", sides[s].name, ratio, sides[s].us[0] / sides[0].us[0]);
  }
  printf("\n");
  fflush(stdout);
  if (best < 1e30) *log_sum += log(best), ++*n_log;
  for (int s = 1; s < n_sides; s++) peer_destroy(&sides[s].peer);
  for (int i = 0; i < t->n_sets; i++) free(t->a[i]), free(t->b[i]), free(t->c[i]), free(t->packed_b[i]);
  for (unsigned i = 0; i < o->threads; i++) free(job.scratch[i]);
  free(job.packed_b), free(job.panel_state);
}

int main(int argc, char **argv) {
  const char *types = "f32,bf16,s8", *isa = NULL;
  const char *shapes =
      "256x256x256,512x512x512,1024x1024x1024,2048x2048x2048,4096x512x14336,512x4096x4096,16x4096x4096,1x4096x4096";
  options o = {.threads = 2, .rounds = 9, .peers = true};
  int packed = 0;
  for (int i = 1; i < argc; i++) {
    const char *v = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--cold") == 0) o.cold = true;
    else if (strcmp(argv[i], "--trans") == 0) o.b_trans = true;
    else if (strcmp(argv[i], "--no-peers") == 0) o.peers = false;
    else if (strcmp(argv[i], "--types") == 0) types = v, i++;
    else if (strcmp(argv[i], "--shapes") == 0) shapes = v, i++;
    else if (strcmp(argv[i], "--isa") == 0) isa = v, i++;
    else if (strcmp(argv[i], "--threads") == 0) o.threads = (unsigned)atoi(v), i++;
    else if (strcmp(argv[i], "--rounds") == 0) o.rounds = atoi(v), i++;
    else if (strcmp(argv[i], "--packed") == 0) packed = atoi(v), i++;
    else return fprintf(stderr, "gemm_driver: unknown option %s\n", argv[i]), 2;
  }
  char err[160];
  o.table = cpuk_select(isa, err, sizeof err);
  if (o.table == NULL) return fprintf(stderr, "gemm_driver: %s\n", err), 2;
  if (o.threads < 1 || o.threads > MAX_THREADS || o.rounds < 1 || o.rounds > MAX_ROUNDS)
    return fprintf(stderr, "gemm_driver: bad number\n"), 2;
  cpuk_caches c = cpuk_cache_sizes();
  printf("%s, %u threads, l1 %zuK l2 %zuK l3 %zuK", o.table->features, o.threads, c.l1d >> 10, c.l2 >> 10, c.l3 >> 10);
  printf("; ratio of medians (of minima), above 1 we win\n");
  pool p;
  pool_start(&p, o.threads);
  static const struct {
    const char *name;
    cpuk_gemm_kind kind;
    cpuk_dtype type;
  } kinds[] = {{"f32", CPUK_GEMM_F32, CPUK_F32}, {"bf16", CPUK_GEMM_BF16, CPUK_BF16}, {"s8", CPUK_GEMM_S8S8, CPUK_I8}};
  for (size_t q = 0; q < sizeof kinds / sizeof *kinds; q++)
    for (int form = packed == 1; form <= (packed != 0); form++) {
      double log_sum = 0;
      int n_log = 0;
      if (strstr(types, kinds[q].name) == NULL) continue;
      for (const char *s = shapes; s != NULL && *s != 0; s = strchr(s, ',') != NULL ? strchr(s, ',') + 1 : NULL) {
        static bench_case t;
        t = (bench_case){.kind = kinds[q].kind, .type = kinds[q].type, .packed = form, .b_trans = o.b_trans};
        if (sscanf(s, "%zux%zux%zu", &t.m, &t.n, &t.k) == 3) case_run(&t, &o, &p, &log_sum, &n_log);
      }
      if (n_log != 0)
        printf("%s %s: geometric mean against the best peer %.3f\n", kinds[q].name, form ? "packed" : "plain",
               exp(log_sum / n_log));
    }
  pool_stop(&p);
  return 0;
}
