/* tools/tessera/bench_coll.c - `tessera bench coll`: collectives between the ranks of this process or, under mpirun,
 * between processes, each checked on every rank before it is timed; rank 0 prints. On one machine figures say that it
 * works and what the memory allows; ranks share the cores, and every line says how many there are to a core. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/sample.h"
#include "core/coll/choose.h"
#include "core/coll/team.h"
#include "core/runtime/team_table.h"
#include "core/runtime/transports.h"
#include "tools/tessera/bench.h"
#include "tools/tessera/bench_coll_engine.h"
#include "tools/tessera/bench_env.h"

enum { MOST_RUNS = 400, LEAST_RUNS = 7, MOST_TIMES = 4 };
static const double most_memory = 4294967296.0;

typedef struct coll_bench {
  coll_call like;
  int32_t ranks, threads, cores;
  long bytes, ms;
  bool json, headed, wrong;
  double copy; /* GB/s, read and written; 0: not measured yet */
  coll_team *team;
  const coll_transport *transport;
  const coll_algorithm *asked; /* NULL: by the table */
  bool every;                  /* algorithm, one after the other */
  coll_table table;            /* the measured one; with `every`, the fastest */
  coll_link *link;             /* to the ranks of other processes, the team's; NULL: all are here */
  engine_bench engine;         /* of a transport that is one; its ranks' team is the one above */
  int32_t first, end;          /* ranks of this process */
  const char *path;
  coll_call *calls;
  char *memory;
  size_t in_bytes, out_bytes; /* of a rank, with room to spare */
  double median, least;
  bench_env env;
} coll_bench;

static double number_at(int32_t rank, int64_t i, tsr_dtype t) {
  double v = (double)((uint64_t)(rank * 31 + i * 7) % 3) - 1;
  return dtype_get(t)->is_signed ? v : v > 0;
}

/* Sums of small integers, exact in every type; all else is copied. */
static double wanted(const coll_bench *b, int32_t rank, int64_t i) {
  const coll_call *c = &b->like;
  int32_t n = b->ranks;
  double v = 0;
  coll_range r;
  switch (c->op) {
    case COLL_ALL_GATHER:
      for (int32_t k = 0; k < n; k++)
        if (r = coll_split(c->count, n, k), i >= r.first && i < r.first + r.n)
          return number_at(k, i - r.first, c->dtype);
      return 0;
    case COLL_ALL_TO_ALL:
      r = coll_split(c->count, n, rank);
      return number_at((int32_t)(i / r.n), r.first + i % r.n, c->dtype);
    case COLL_BROADCAST: return number_at(c->root, i, c->dtype);
    case COLL_SEND_RECV: return number_at(coll_mod(rank - 1, n), i, c->dtype);
    case COLL_REDUCE_SCATTER: i += coll_split(c->count, n, rank).first; break;
    default: break;
  }
  for (int32_t k = 0; k < n; k++) v += number_at(k, i, c->dtype);
  return c->dtype == TSR_BOOL ? v > 0 : v;
}

/* What a narrow way may do: each contribution is rounded once, and a sum of numbers up to 1 once more. */
static double slack_of(const coll_bench *b) {
  static const struct {
    tsr_dtype wire;
    double u;
  } rows[] = {
      {TSR_BF16, 1. / 256}, {TSR_F16, 1. / 2048}, {TSR_F8E4M3, 1. / 16}, {TSR_F8E5M2, 1. / 8}, {TSR_I8, 1. / 254}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].wire == b->like.wire)
      return coll_op_get(b->like.op)->reduces ? 2.02 * b->ranks * rows[i].u : 1.01 * rows[i].u;
  return 0;
}

/* Elements that are wrong. */
static int64_t count_wrong(const coll_bench *b) {
  int64_t bad = 0;
  size_t size = tsr_dtype_size(b->like.dtype);
  for (int32_t r = b->first; r < b->end; r++) {
    int64_t n = coll_out_elements(b->like.op, b->like.count, b->ranks, r, b->like.root);
    int64_t step = n > 100000 ? 97 : 1; /* of long results every 97th, and the last */
    for (int64_t i = 0; i < n; i = i + step < n || i == n - 1 ? i + step : n - 1) {
      char want[8];
      dtype_store(b->like.dtype, want, 0, wanted(b, r, i));
      if (!memcmp(want, (char *)b->calls[r].out + (size_t)i * size, size)) continue;
      bad += !(fabs(dtype_load(b->like.dtype, b->calls[r].out, (size_t)i) - wanted(b, r, i)) <= slack_of(b));
    }
  }
  return bad;
}

static void fill(coll_bench *b) {
  for (int32_t r = b->first; r < b->end; r++) {
    char *in = b->memory + (size_t)(r - b->first) * (b->in_bytes + b->out_bytes);
    int64_t n = coll_in_elements(b->like.op, b->like.count, b->ranks, r, b->like.root);
    for (int64_t i = 0; i < n; i++) dtype_store(b->like.dtype, in, (size_t)i, number_at(r, i, b->like.dtype));
    b->calls[r] = b->like;
    b->calls[r].in = in, b->calls[r].out = in + b->in_bytes;
  }
}

static tsr_status run_once(coll_bench *b) {
  if (b->transport->engine) return bench_engine_run(&b->engine, b->calls);
  if (b->like.wire) return bench_wire_run(&b->engine, b->calls);
  return b->link ? coll_run_rank(b->team, b->first, &b->calls[b->first]) : coll_run_all(b->team, b->calls, b->threads);
}

/* The largest of all processes'; or, of counts, their sum. */
static tsr_status over_processes(coll_bench *b, double *number, coll_redop redop) {
  double in = *number;
  const coll_call c = {.op = COLL_ALL_REDUCE,
                       .dtype = TSR_F64,
                       .redop = redop,
                       .count = 1,
                       .algorithm = "direct",
                       .in = &in,
                       .out = number};
  return b->link ? coll_run_rank(b->team, b->first, &c) : NULL;
}

static tsr_status one_time(coll_bench *b, double *us) {
  double all = 0;
  tsr_status st = over_processes(b, &all, COLL_MAX); /* so that they begin together */
  int64_t from = clock_ns();
  if (!st) st = run_once(b);
  *us = clock_us_since(from);
  return st ? st : over_processes(b, us, COLL_MAX);
}

static tsr_status measure(coll_bench *b, int64_t *bad) {
  double us[MOST_RUNS], spent = 0, wrong;
  int n = 0;
  tsr_status st = run_once(b);
  if (st) return st;
  wrong = (double)count_wrong(b);
  while (n < MOST_RUNS && (n < LEAST_RUNS || spent < (double)b->ms * 1e3) &&
         (!n || spent < MOST_TIMES * 1e3 * (double)b->ms + 2e6)) {
    st = one_time(b, &us[n]);
    if (st) return st;
    spent += us[n++];
  }
  wrong += (double)count_wrong(b);
  st = over_processes(b, &wrong, COLL_SUM);
  *bad = (int64_t)wrong;
  sample_sort(us, (size_t)n);
  b->median = us[n / 2], b->least = us[0];
  return st;
}

/* What the algorithm must move through memory at least: each input read once, each partial result and each copy written
 * and read. Known for the direct all-reduce: n vectors are read and one is written, then n - 1 copied. 0: not known. */
static double least_traffic(const coll_bench *b) {
  double n = b->ranks;
  bool known = b->like.op == COLL_ALL_REDUCE && !strcmp(b->like.algorithm, "direct");
  return known ? (3 * n - 1) * (double)b->bytes : 0;
}

static void print_row(coll_bench *b, int64_t bad) {
  const coll_call *c = &b->like;
  double algbw = (double)b->bytes / b->median * 1e-3, busbw = algbw * coll_bus_factor(c->op, b->ranks);
  double bound = b->copy > 0 ? least_traffic(b) / b->copy * 1e-3 : 0;
  double per_core = (double)b->ranks / b->cores;
  if (c->op == COLL_BARRIER) algbw = busbw = 0;
  if (b->json) {
    printf("{\"op\": \"%s\", \"shape\": \"%lld\", \"dtype\": \"%s\", \"device\": \"cpu:0\", \"policy\": \"%s\", "
           "\"tile\": \"\", "
           "\"median_us\": %.6g, \"min_us\": %.6g, \"gflops\": 0, \"gbytes_per_s\": %.6g, \"peak_fraction\": ",
           coll_op_get(c->op)->name, (long long)c->count, tsr_dtype_name(c->dtype),
           c->any_order ? "fast" : "deterministic", b->median, b->least, algbw);
    if (bound > 0) printf("%.6g, \"bound_us\": %.6g, \"copy_gbytes_per_s\": %.6g", bound / b->median, bound, b->copy);
    else printf("null, \"bound_us\": null, \"copy_gbytes_per_s\": null");
    printf(
        ", \"error\": %lld, \"tolerance\": %.6g, \"wire\": \"%s\", \"ok\": %s, \"ranks\": %d, "
        "\"transport\": \"%s\", \"path\": \"%s\", \"algorithm\": \"%s\", "
        "\"bytes\": %ld, \"algbw\": %.6g, \"busbw\": %.6g, \"cores\": %d, \"threads\": %d, \"oversubscribed\": %.6g, "
        "\"environment\": ",
        (long long)bad, slack_of(b), c->wire ? tsr_dtype_name(c->wire) : "", bad ? "false" : "true", b->ranks,
        b->transport->name, b->path, c->algorithm, b->bytes, algbw, busbw, b->cores, b->threads, per_core);
    const tsr_device_info none = {.name = "", .driver = "", .arch = ""};
    bench_env_json(&b->env, &none, stdout);
    printf(", \"baseline\": null, \"baseline_median_us\": null, \"ratio\": null}\n");
    return;
  }
  if (!b->headed)
    printf("%-15s %-17s %5s %12s %-5s %11s %9s %9s %6s  %s\n", "op", "algorithm", "ranks", "bytes", "dtype",
           "median us", "algbw", "busbw", "bound", "check");
  b->headed = true;
  printf("%-15s %-17s %5d %12ld %-5s %11.1f %9.3f %9.3f ", coll_op_get(c->op)->name, c->algorithm, b->ranks, b->bytes,
         tsr_dtype_name(c->dtype), b->median, algbw, busbw);
  if (bound > 0) printf("%5.0f%%", 100 * bound / b->median);
  else printf("%6s", "n/a");
  printf("  %s  cores=%d oversubscribed=%.3gx%s%s\n", bad ? "WRONG" : "ok", b->cores, per_core, c->wire ? " wire=" : "",
         c->wire ? tsr_dtype_name(c->wire) : "");
}

static int run_one(coll_bench *b, coll_op op) {
  size_t size = tsr_dtype_size(b->like.dtype), n = (size_t)b->ranks;
  int64_t bad = 0;
  b->like.op = op;
  b->like.count = op == COLL_BARRIER ? 0 : b->bytes / (long)size;
  const bool engine = b->transport->engine != NULL, own_team = !engine && !b->like.wire && !b->link;
  b->like.algorithm = engine || b->like.wire == TSR_I8 ? "its_own"
                      : b->asked                       ? b->asked->name
                                 : coll_choose(b->table.rows, (size_t)b->table.n, &b->like, b->ranks, b->link != NULL);
  b->in_bytes = ((size_t)b->like.count * size + 127) / 64 * 64;
  b->out_bytes = b->in_bytes + n * size;
  if ((double)n * (double)(b->in_bytes + b->out_bytes) > most_memory)
    return cli_usage("bench", "%d ranks of %ld bytes need more than 4 GiB", b->ranks, b->bytes);
  b->memory = calloc((size_t)(b->end - b->first), b->in_bytes + b->out_bytes);
  b->calls = calloc(n, sizeof *b->calls);
  tsr_status st = b->memory && b->calls ? NULL : st_oom();
  if (!st && own_team) st = coll_team_create(NULL, b->ranks, NULL, &b->team);
  if (!st) {
    fill(b);
    st = measure(b, &bad);
  }
  if (!st && !b->link && least_traffic(b) > 0 && b->bytes >= 1 << 20)
    b->copy = bench_cpu_copy(b->threads, bench_peak_tries((double)b->ms / 1000));
  if (!st && !b->first) print_row(b, bad);
  b->copy = 0;
  b->wrong |= bad != 0;
  if (own_team) coll_team_destroy(&b->team);
  free(b->memory), free(b->calls);
  fflush(stdout);
  return st ? cli_fail(st) : EXIT_OK;
}

/* One size by every algorithm that does the operation; the fastest is noted. */
static int run_every(coll_bench *b, coll_op op) {
  const coll_algorithm *a, *fastest = NULL;
  coll_request q = {op, b->ranks, 0, 0};
  double least = 0;
  for (int32_t i = 0; (a = coll_algorithm_at(NULL, i)); i++) {
    if (coll_refusal(a, &q)) continue;
    b->asked = a;
    int rc = run_one(b, op);
    if (rc) return rc;
    if (!fastest || b->median < least) fastest = a, least = b->median;
  }
  b->asked = NULL;
  if (fastest) coll_table_add(&b->table, op, b->ranks, b->bytes, fastest->name);
  return EXIT_OK;
}

/* Rank 0 keeps the table. */
static int keep_table(coll_bench *b) {
  char path[4200];
  if (b->first) return EXIT_OK;
  coll_table_finish(&b->table);
  tsr_status st = team_table_write(b->transport->name, b->ranks, b->path, &b->table, path, sizeof path);
  if (st) return cli_fail(st);
  if (!b->json) printf("kept in %s\n", path);
  return EXIT_OK;
}

/* Every size of the list, of one operation or of those that the algorithm does. */
static int run_all(coll_bench *b, coll_op only) {
  static const long few[] = {4096, 1048576}, many[] = {1024, 16384, 262144, 4194304};
  const long *sizes = b->every ? many : few;
  int n_sizes = b->every ? 4 : 2;
  long asked = b->bytes;
  for (int op = 0; op < N_COLL_OPS; op++) {
    coll_request q = {(coll_op)op, b->ranks, 0, 0};
    if (only != N_COLL_OPS && op != (int)only) continue;
    if (only == N_COLL_OPS && b->asked && coll_refusal(b->asked, &q)) continue;
    for (int i = 0; i < n_sizes; i++) {
      if ((asked >= 0 || op == COLL_BARRIER) && i) continue;
      b->bytes = op == COLL_BARRIER ? 0 : asked >= 0 ? asked : sizes[i];
      int rc = b->every ? run_every(b, (coll_op)op) : run_one(b, (coll_op)op);
      if (rc) return rc;
    }
  }
  return b->wrong ? EXIT_WRONG : EXIT_OK;
}

static const coll_transport *find_transport(const char *name) {
  int i = 0;
  while (rt_transports[i] && strcmp(rt_transports[i]->name, name)) i++;
  return rt_transports[i];
}

static int no_transport(const char *name) {
  char names[200];
  size_t at = 0;
  for (int i = 0; rt_transports[i] && at < sizeof names; i++)
    at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "", rt_transports[i]->name);
  return cli_usage("bench", "no transport \"%s\"; there are %s", name, names);
}

static int take_ranks(coll_bench *b, int32_t ranks, int32_t first, int32_t end, bool asked_ranks) {
  if (asked_ranks && ranks != b->ranks)
    return cli_usage("bench", "--ranks %d, but there are %d processes", b->ranks, ranks);
  b->ranks = ranks, b->first = first, b->end = end;
  return EXIT_OK;
}

static int take_engine(coll_bench *b, bool asked_ranks) {
  b->team = b->engine.parent->team, b->link = b->engine.parent->link;
  return take_ranks(b, b->engine.ranks, b->engine.first, b->engine.end, asked_ranks);
}

static int join_engine(coll_bench *b, bool asked_ranks) {
  tsr_status st = b->transport->engine->load(NULL);
  if (st) return cli_fail(st);
  if (b->transport->device_memory) {
    cli_usage("bench", "%s is here, for programs (tessera/coll.h); coll times collectives in host memory",
              b->transport->name);
    return EXIT_UNAVAILABLE;
  }
  if (b->asked || b->every) return cli_usage("bench", "%s chooses its algorithms itself", b->transport->name);
  st = bench_engine_open(b->transport, b->ranks, &b->engine);
  if (st) return cli_fail(st);
  b->threads = 1;
  b->like.any_order = true; /* an order of its own is the only one that it has */
  b->path = "its own";
  return take_engine(b, asked_ranks);
}

static int join_wire(coll_bench *b, bool asked_ranks) {
  const char *no = team_wire_refusal(&b->like);
  if (no) return cli_usage("bench", "--wire: %s", no);
  if (b->like.wire == TSR_I8 && (b->asked || b->every)) return cli_usage("bench", "--wire i8 has exchanges of its own");
  tsr_status st = bench_wire_open(b->transport, b->ranks, &b->engine);
  if (st) return cli_fail(st);
  const int rc = take_engine(b, asked_ranks);
  if (rc) return rc;
  b->threads = b->end - b->first;
  if (b->link) b->path = tsr_team_path(b->engine.parent, b->ranks - 1 - (b->first == b->ranks - 1));
  return EXIT_OK;
}

/* The ranks that this process drives: all, or the one that the link says. */
static int join_team(coll_bench *b, bool asked_ranks) {
  b->end = b->ranks, b->path = "memory of one process";
  if (b->transport->engine) return join_engine(b, asked_ranks);
  if (b->like.wire) return join_wire(b, asked_ranks);
  if (!b->transport->open) return EXIT_OK;
  coll_link *link;
  tsr_status st = b->transport->open(&(coll_open){.handle = NULL}, &link);
  if (!st) st = coll_team_create_linked(NULL, link, NULL, &b->team);
  if (st) return cli_fail(st);
  const int rc = take_ranks(b, link->n_ranks, link->rank, link->rank + 1, asked_ranks);
  if (rc) return rc;
  b->link = link, b->threads = 1;
  b->path = link->ops->path(link, link->n_ranks - 1 - (link->rank == link->n_ranks - 1));
  return EXIT_OK;
}

/* The table that was measured here, by rank 0's word. */
static int choose_table(coll_bench *b) {
  if (b->every || b->ranks < 2 || b->transport->engine) return EXIT_OK;
  if (!b->first) team_table_read(b->transport->name, b->ranks, b->path, &b->table);
  tsr_status st = b->link ? team_table_agree(b->team, b->first, 0, &b->table) : NULL;
  return st ? cli_fail(st) : EXIT_OK;
}

int bench_coll(int argc, char **argv) {
  const char *op = NULL, *transport = "local", *algorithm = NULL, *dtype = "f32", *wire = NULL;
  long ranks = 8;
  coll_bench b = {.bytes = -1, .ms = 300};
  bool keep = false;
  const option options[] = {{.name = "--op", .text = &op},
                            {.name = "--ranks", .number = &ranks},
                            {.name = "--transport", .text = &transport},
                            {.name = "--bytes", .number = &b.bytes},
                            {.name = "--algorithm", .text = &algorithm},
                            {.name = "--dtype", .text = &dtype},
                            {.name = "--wire", .text = &wire},
                            {.name = "--milliseconds", .number = &b.ms},
                            {.name = "--any-order", .flag = &b.like.any_order},
                            {.name = "--keep", .flag = &keep},
                            {.name = "--json", .flag = &b.json}};
  bool sized = false, asked_ranks = false;
  for (int i = 1; i < argc; i++) {
    sized |= !strncmp(argv[i], "--bytes", 7);
    asked_ranks |= !strncmp(argv[i], "--ranks", 7);
  }
  if (!cli_options("bench coll", &argc, argv, options, 11)) return EXIT_USAGE;
  if (argc != 1) return cli_usage("bench", "coll takes options alone, not \"%s\"", argv[1]);
  if (!(b.transport = find_transport(transport))) return no_transport(transport);
  coll_op only = op ? coll_op_parse(op) : N_COLL_OPS;
  b.every = algorithm && !strcmp(algorithm, "all");
  if (b.every) algorithm = NULL;
  if (keep && (!b.every || b.bytes >= 0 || op || b.like.any_order))
    return cli_usage("bench", "--keep goes with --algorithm all, for all operations and sizes in the fixed order");
  const coll_algorithm *a = algorithm ? coll_algorithm_find(NULL, algorithm) : NULL;
  if (op && only == N_COLL_OPS) return cli_usage("bench", "no operation \"%s\"; `tessera plan --help` lists them", op);
  if (algorithm && !a) return cli_usage("bench", "no algorithm \"%s\"; `tessera plan --help` lists them", algorithm);
  b.like.dtype = tsr_dtype_parse(dtype);
  if (!b.like.dtype) return cli_usage("bench", "unknown data type \"%s\"", dtype);
  if (dtype_packed(b.like.dtype)) return cli_usage("bench", "coll moves whole bytes: %s has none of its own", dtype);
  if (wire && !(b.like.wire = tsr_dtype_parse(wire))) return cli_usage("bench", "unknown data type \"%s\"", wire);
  if (wire && (keep || b.transport->engine))
    return cli_usage("bench", "--wire goes with the library's own algorithms, and not with --keep");
  if (ranks < 1 || ranks > COLL_MAX_RANKS)
    return cli_usage("bench", "--ranks %ld is not 1 to %d", ranks, COLL_MAX_RANKS);
  if (sized && (b.bytes < 0 || b.bytes > (long)1 << 32))
    return cli_usage("bench", "--bytes %ld is not 0 to 2^32", b.bytes);
  const long size = (long)tsr_dtype_size(b.like.dtype);
  if (sized && b.bytes % size)
    return cli_usage("bench", "--bytes %ld is no whole number of %s, which has %ld", b.bytes, dtype, size);
  if (b.ms < 1 || b.ms > 600000) return cli_usage("bench", "--milliseconds %ld is not 1 to 600000", b.ms);
  b.ranks = (int32_t)ranks, b.asked = a;
  b.cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
  b.threads = b.ranks < b.cores ? b.ranks : b.cores;
  int rc = join_team(&b, asked_ranks);
  tsr_context *ctx = NULL;
  tsr_status st = rc ? NULL : cli_context(&ctx);
  if (!st && !rc) st = bench_env_read(ctx, "off", 0, b.ms, &b.env);
  if (st) rc = cli_fail(st);
  if (!rc && !st) rc = choose_table(&b);
  if (!rc) rc = run_all(&b, only);
  if (!rc && keep) rc = keep_table(&b);
  tsr_context_destroy(&ctx);
  if (b.transport->engine || b.like.wire) bench_engine_close(&b.engine);
  else if (b.link) coll_team_destroy(&b.team);
  return rc;
}
