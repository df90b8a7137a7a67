/* tools/tessera/bench_mesh.c - `tessera bench FILE --mesh AXES`: a program of a mesh with its collectives on a stream
 * of their own, beside the computing, against the same one with all steps in order, run in turns. Under mpirun each
 * rank is a process, and rank 0 speaks. Ranks share the machine's cores: what collectives and computing both need can't
 * overlap, and the line says how many cores there are. */
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/dtype.h"
#include "core/base/sample.h"
#include "tessera/coll.h"
#include "tools/tessera/bench_env.h"
#include "tools/tessera/mesh_place.h"
#include "tools/tessera/run_mesh.h"

enum { LEAST = 7, MOST = 400, MOST_IO = 256, WAYS = 2 }; /* beside the computing, and among it */

typedef struct mesh_bench {
  tsr_context *ctx;
  mesh_run r;
  mesh_place at;
  tsr_graph *g, *grad;
  tsr_dist_program *p[WAYS];
  tsr_dist_tensor *in[MOST_IO], *out[MOST_IO];
  int n_in, n_out, rounds;
  bool with_grad, json, same;
  long ms;
  double us[WAYS][MOST], comm_us, hidden_us;
} mesh_bench;

static tsr_status compile(mesh_bench *x, const tsr_graph *g, int way) {
  const tsr_dist_options o = {.compile = {.policy = x->r.policy}, .no_overlap = way == 1};
  return tsr_dist_program_compile(x->at.mesh, g, &o, &x->p[way]);
}

/* "*,*": every rank has all of it. */
static tsr_status is_whole(mesh_bench *x, int input, bool *whole) {
  tsr_dist_tensor *t = NULL;
  char *text = NULL;
  tsr_status st = tsr_dist_program_input(x->p[0], input, &t);
  if (!st) st = tsr_dist_tensor_print(t, &text);
  *whole = text && !text[strspn(text, "*,\n")];
  tsr_text_free(x->ctx, &text);
  tsr_dist_tensor_destroy(&t);
  return st;
}

/* The gradients of what all ranks have alike, whole again on all of them. */
static tsr_status differentiate(mesh_bench *x) {
  tsr_value wrt[MOST_IO];
  int n = 0;
  bool whole;
  TSR_TRY(compile(x, x->g, 0));
  for (int i = 0; i < tsr_graph_n_inputs(x->g) && n < MOST_IO - 1; i++) {
    TSR_TRY(is_whole(x, i, &whole));
    if (whole && dtype_is_float(tsr_graph_input_info(x->g, i).dtype)) wrt[n++] = (tsr_value)(i + 1);
  }
  tsr_dist_program_destroy(&x->p[0]);
  if (!n)
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("bench", "grad", "weights are alike on all ranks"),
                   "every input of floats is cut along an axis");
  const int first = tsr_graph_n_outputs(x->g);
  TSR_TRY(tsr_graph_grad(x->g, wrt, n, &x->grad));
  for (int i = 0; i < n; i++)
    TSR_TRY(tsr_graph_shard_output(x->grad, first + i, x->at.mesh, &(tsr_shardspec){.n = 0}));
  return NULL;
}

static tsr_status scatter_random(mesh_bench *x, const tsr_graph *g, int i) {
  const tsr_tensor_info t = tsr_graph_input_info(g, i);
  uint64_t s = x->r.seed * 2654435761u + (uint64_t)i + 1;
  char *data = calloc(1, t.bytes + 16);
  if (!data) return st_oom();
  mesh_fill_random(&t, &s, data);
  tsr_status st = tsr_dist_program_input(x->p[0], i, &x->in[i]);
  if (!st) st = tsr_dist_tensor_scatter(x->in[i], data);
  free(data);
  return st;
}

static tsr_status prepare(mesh_bench *x) {
  size_t n;
  char *text = cli_read_file(x->r.file, &n);
  if (!text) return st_make(NULL, TSR_NOT_FOUND, ST_WHERE("bench", "file", NULL), "%s can't be read", x->r.file);
  tsr_status st = tsr_graph_parse(x->ctx, text, n, x->r.file, &x->g);
  free(text);
  if (!st && x->with_grad) st = differentiate(x);
  const tsr_graph *g = x->grad ? x->grad : x->g;
  if (!st && (tsr_graph_n_inputs(g) > MOST_IO || tsr_graph_n_outputs(g) > MOST_IO))
    st = st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", "mesh", NULL), "more than %d inputs or outputs", MOST_IO);
  for (int way = 0; way < WAYS && !st; way++) st = compile(x, g, way);
  if (st) return st;
  x->n_in = tsr_graph_n_inputs(g), x->n_out = tsr_graph_n_outputs(g);
  for (int i = 0; i < x->n_in && !st; i++) st = scatter_random(x, g, i);
  for (int i = 0; i < x->n_out && !st; i++) st = tsr_dist_program_output(x->p[0], i, &x->out[i]);
  return st;
}

static tsr_status run(mesh_bench *x, int way, double *us) {
  if (x->at.team) TSR_TRY(tsr_team_run(x->at.team, tsr_team_rank(x->at.team), &(tsr_coll){.op = TSR_COLL_BARRIER}));
  const int64_t from = clock_ns();
  tsr_status st = tsr_dist_program_run(x->p[way], x->in, x->out);
  *us = (double)(clock_ns() - from) * 1e-3;
  return st;
}

/* Both ways leave the same bits: sums over the ranks have one order. */
static tsr_status compare(mesh_bench *x, char **kept, size_t bytes) {
  char *have = malloc(bytes + 1);
  size_t at = 0;
  tsr_status st = have ? NULL : st_oom();
  for (int i = 0; i < x->n_out && !st; i++) {
    st = tsr_dist_tensor_gather(x->out[i], have + at);
    at += tsr_graph_output_info(x->grad ? x->grad : x->g, i).bytes;
  }
  if (!*kept) return *kept = have, st;
  if (!st) x->same = !memcmp(*kept, have, at);
  free(have);
  return st;
}

static tsr_status warm_up(mesh_bench *x) {
  const tsr_graph *g = x->grad ? x->grad : x->g;
  size_t bytes = 0;
  char *kept = NULL;
  double us = 0;
  for (int i = 0; i < x->n_out; i++) bytes += tsr_graph_output_info(g, i).bytes;
  tsr_status st = NULL;
  for (int way = 0; way < WAYS && !st; way++) {
    for (int twice = 0; twice < 2 && !st; twice++) st = run(x, way, &us);
    if (!st) st = compare(x, &kept, bytes);
  }
  free(kept);
  int64_t rounds = (int64_t)((double)x->ms * 1e3 / (WAYS * (us > 1 ? us : 1)));
  rounds = rounds < LEAST ? LEAST : rounds > MOST ? MOST : rounds;
  const tsr_coll agree = {.op = TSR_COLL_ALL_REDUCE, .redop = TSR_MAX, .dtype = TSR_I64, .count = 1,
                          .in = &rounds, .out = &rounds};
  if (!st && x->at.team) st = tsr_team_run(x->at.team, tsr_team_rank(x->at.team), &agree);
  x->rounds = (int)rounds;
  return st;
}

/* Of the last run: collectives that went as one have the same times, and count once. */
static void note_overlap(mesh_bench *x) {
  double us = -1, hidden = -1;
  for (int i = 0; i < tsr_dist_program_n_collectives(x->p[0]); i++) {
    const tsr_dist_collective c = tsr_dist_program_collective(x->p[0], i);
    if (c.us == us && c.overlapped_us == hidden) continue;
    x->comm_us += us = c.us, x->hidden_us += hidden = c.overlapped_us;
  }
}

static tsr_status measure(mesh_bench *x) {
  TSR_TRY(warm_up(x));
  for (int i = 0; i < x->rounds; i++)
    for (int k = 0; k < WAYS; k++) {
      const int way = (i + k) % WAYS; /* each goes first as often */
      TSR_TRY(run(x, way, &x->us[way][i]));
      if (way == 0) note_overlap(x);
    }
  for (int way = 0; way < WAYS; way++) sample_sort(x->us[way], (size_t)x->rounds);
  return NULL;
}

static int tell(mesh_bench *x) {
  const double with = sample_median(x->us[0], (size_t)x->rounds), without = sample_median(x->us[1], (size_t)x->rounds);
  const double share = x->comm_us > 0 ? x->hidden_us / x->comm_us : 0;
  const char *transport = x->r.transport ? x->r.transport : "local";
  char *text = NULL;
  bench_env env;
  tsr_status st = bench_env_read(x->ctx, "off", (long)x->r.seed, x->ms, &env);
  if (!st && !x->json) st = tsr_dist_program_profile(x->p[0], &text);
  if (st) return cli_fail(st);
  if (x->json) {
    printf("{\"op\": \"step\", \"file\": ");
    strb b;
    strb_init(&b, NULL);
    strb_json(&b, x->r.file), strb_puts(&b, ", \"mesh\": "), strb_json(&b, x->r.mesh);
    printf("%s, \"ranks\": %lld, \"transport\": \"%s\", \"runs\": %d, \"overlap_us\": %.6g, \"in_order_us\": %.6g, "
           "\"ratio\": %.6g, \"overlapped\": %.4g, \"comm_us\": %.6g, \"correct\": %s, \"env\": ",
           strb_text(&b), (long long)tsr_mesh_ranks(x->at.mesh), transport, x->rounds, with, without, without / with,
           share, x->comm_us / x->rounds, x->same ? "true" : "false");
    strb_clear(&b);
    bench_env_json(&env, tsr_device_get_info(x->at.devices[0]), stdout);
    printf("}\n");
  } else {
    printf("%s", text);
    printf("%s on %s, %lld ranks by %s, %d cores, %d runs of each: %.6g us with overlap, %.6g us in order, %.4g times "
           "as fast; %.0f %% of the collectives beside computing; %s bits\n",
           x->r.file, x->r.mesh, (long long)tsr_mesh_ranks(x->at.mesh), transport, env.cores, x->rounds, with, without,
           without / with, 100 * share, x->same ? "the same" : "OTHER");
  }
  tsr_text_free(x->ctx, &text);
  return x->same ? EXIT_OK : EXIT_WRONG;
}

static int bench(mesh_bench *x) {
  int rc = mesh_place_open(x->ctx, "bench", x->r.mesh, x->r.devices, x->r.transport, &x->at);
  tsr_status st = rc ? NULL : prepare(x);
  if (!st && !rc) st = measure(x);
  if (st) rc = cli_fail(st);
  else if (!rc && !x->at.quiet) rc = tell(x);
  for (int i = 0; i < MOST_IO; i++) tsr_dist_tensor_destroy(&x->in[i]), tsr_dist_tensor_destroy(&x->out[i]);
  for (int way = 0; way < WAYS; way++) tsr_dist_program_destroy(&x->p[way]);
  tsr_graph_destroy(&x->grad), tsr_graph_destroy(&x->g);
  mesh_place_close(&x->at);
  return rc;
}

int bench_mesh(int argc, char **argv) {
  const char *policy = NULL;
  long seed = 1;
  mesh_bench *x = calloc(1, sizeof *x);
  if (!x) return cli_usage("bench", "out of memory");
  x->ms = 1200;
  const option options[] = {{.name = "--mesh", .text = &x->r.mesh},
                            {.name = "--device", .text = &x->r.devices},
                            {.name = "--transport", .text = &x->r.transport},
                            {.name = "--policy", .text = &policy},
                            {.name = "--seed", .number = &seed},
                            {.name = "--milliseconds", .number = &x->ms},
                            {.name = "--grad", .flag = &x->with_grad},
                            {.name = "--json", .flag = &x->json}};
  int rc = cli_options("bench", &argc, argv, options, sizeof options / sizeof *options) ? EXIT_OK : EXIT_USAGE;
  if (!rc && argc != 2) rc = cli_usage("bench", "--mesh needs one FILE of IR text");
  if (!rc && (x->ms < 1 || x->ms > 600000))
    rc = cli_usage("bench", "--milliseconds %ld is not 1 to 600000", x->ms);
  if (!rc) {
    x->r.file = argv[1], x->r.seed = (uint64_t)seed;
    tsr_status st = policy ? tsr_policy_parse(policy, &x->r.policy) : NULL;
    if (!st) st = cli_context(&x->ctx);
    rc = st ? cli_fail(st) : bench(x);
  }
  tsr_context_destroy(&x->ctx);
  free(x);
  return rc;
}
