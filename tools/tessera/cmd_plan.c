/* tools/tessera/cmd_plan.c - `tessera plan coll`: which algorithm a collective should use on a machine, how long it
 * takes, and what every other algorithm would take or why it is none. All from constants that are printed with their
 * sources; nothing runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll/plan.h"
#include "tools/tessera/cli.h"

void plan_help(FILE *f) {
  const coll_algorithm *a;
  const coll_topology *t;
  fprintf(f, "operations:");
  for (int i = 0; i < N_COLL_OPS; i++) fprintf(f, " %s", coll_op_get((coll_op)i)->name);
  fprintf(f, "\nalgorithms:\n");
  for (int32_t i = 0; (a = coll_algorithm_at(NULL, i)); i++) fprintf(f, "  %-17s %s\n", a->name, a->help);
  fprintf(f, "topologies (others from a JSON file, see docs/distributed.md):\n");
  for (int32_t i = 0; (t = coll_topology_at(i)); i++) fprintf(f, "  %-17s %s\n", t->name, t->help);
}

typedef struct question {
  coll_op op;
  coll_topology topology;
  long ranks, bytes;
  const char *algorithm;
} question;

/* A row's name, or a file's. */
static int find_topology(const char *name, arena *a, coll_topology *t) {
  size_t n;
  if (coll_topology_find(name, t)) return EXIT_OK;
  if (!strpbrk(name, "./-")) {
    char known[256] = "";
    const coll_topology *row;
    for (int32_t i = 0; (row = coll_topology_at(i)); i++)
      snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", row->name);
    return cli_usage("plan", "no topology \"%s\"; there are %s, or a file's name with a dot or slash", name, known);
  }
  char *text = cli_read_file(name, &n);
  if (!text) return EXIT_USAGE;
  tsr_status st = coll_topology_parse(a, text, n, name, t);
  free(text);
  return st ? cli_fail(st) : EXIT_OK;
}

static void json_text(const char *key, const char *value, const char *end) {
  printf("\"%s\": ", key);
  if (value) cli_json_string(stdout, value);
  else printf("null");
  fputs(end, stdout);
}

static void print_json(const question *q, const coll_plan *p) {
  const coll_topology *t = &q->topology;
  printf("{");
  json_text("op", coll_op_get(q->op)->name, ", "), json_text("topology", t->name, ", ");
  printf("\"ranks\": %ld, \"bytes\": %ld, ", q->ranks, q->bytes);
  json_text("algorithm", p->algorithm, ", ");
  printf("\"time_us\": %.9g, \"algbw\": %.9g, \"busbw\": %.9g, \"extrapolated\": %s, \"levels\": [", p->us, p->algbw,
         p->busbw, p->extrapolated ? "true" : "false");
  for (int i = 0; i < t->n_levels; i++) {
    const coll_level *l = &t->levels[i];
    printf("%s{", i ? ", " : "");
    json_text("name", l->name, ", ");
    printf("\"ranks\": %lld, \"latency_us\": %.6g, \"overhead_us\": %.6g, \"gbytes_per_s\": %.6g, ",
           (long long)l->ranks, l->latency_us, l->overhead_us, l->gbytes_per_s);
    json_text("source", l->source, "}");
  }
  printf("], \"reduce_gbytes_per_s\": %.6g, ", t->reduce_gbytes_per_s);
  json_text("reduce_source", t->reduce_source, ", ");
  printf("\"ramp_us\": %.6g, ", t->ramp_us);
  json_text("fit_source", t->anchor_source, ", \"algorithms\": [");
  for (int32_t i = 0; i < p->n; i++) {
    const coll_estimate *e = &p->all[i];
    printf("%s{", i ? ", " : "");
    json_text("algorithm", e->algorithm, ", ");
    if (e->refused) printf("\"time_us\": null, ");
    else printf("\"time_us\": %.9g, ", e->us);
    json_text("refused", e->refused, "}");
  }
  printf("]}\n");
}

static void print_text(const question *q, const coll_plan *p) {
  const coll_topology *t = &q->topology;
  printf("%s of %ld bytes over %ld ranks on %s: %s\n  %.6g us, algbw %.6g GB/s, busbw %.6g GB/s (algbw x %s)%s\n",
         coll_op_get(q->op)->name, q->bytes, q->ranks, t->name, p->algorithm, p->us, p->algbw, p->busbw,
         coll_op_get(q->op)->bus, p->extrapolated ? "\n  outside of what the constants were fitted to" : "");
  for (int32_t i = 0; i < p->n; i++) {
    const coll_estimate *e = &p->all[i];
    if (e->refused) printf("  %-17s -           refused: %s\n", e->algorithm, e->refused);
    else printf("  %-17s %-11.6g us, %.2f times the fastest\n", e->algorithm, e->us, p->us > 0 ? e->us / p->us : 1);
  }
  printf("constants:\n");
  for (int i = 0; i < t->n_levels; i++) {
    const coll_level *l = &t->levels[i];
    printf("  %s, %lld ranks: latency %.4g us, overhead %.4g us, %.5g GB/s; %s\n", l->name, (long long)l->ranks,
           l->latency_us, l->overhead_us, l->gbytes_per_s, l->source);
  }
  printf("  reduction %.5g GB/s; %s\n", t->reduce_gbytes_per_s, t->reduce_source);
  if (t->anchor_source) printf("  ramp %.4g us; fitted to: %s\n", t->ramp_us, t->anchor_source);
}

int cmd_plan(int argc, char **argv) {
  const char *op = NULL, *topology = NULL;
  bool json = false;
  question q = {.ranks = -1, .bytes = -1};
  const option options[] = {{.name = "--op", .text = &op},         {.name = "--topology", .text = &topology},
                            {.name = "--ranks", .number = &q.ranks}, {.name = "--bytes", .number = &q.bytes},
                            {.name = "--algorithm", .text = &q.algorithm}, {.name = "--json", .flag = &json}};
  if (!cli_options("plan", &argc, argv, options, 6)) return EXIT_USAGE;
  if (argc != 2 || strcmp(argv[1], "coll"))
    return cli_usage("plan",
                     "plans collectives so far: tessera plan coll --op OP --topology NAME|FILE --ranks N --bytes N");
  if (!op || !topology || q.ranks == -1 || q.bytes == -1)
    return cli_usage("plan", "coll needs --op, --topology, --ranks and --bytes");
  if ((q.op = coll_op_parse(op)) == N_COLL_OPS)
    return cli_usage("plan", "no operation \"%s\"; `tessera plan --help` lists them", op);
  if (q.ranks < 1 || q.ranks > COLL_PLAN_RANKS)
    return cli_usage("plan", "--ranks %ld is not 1 to %d", q.ranks, COLL_PLAN_RANKS);
  if (q.bytes < 0 || q.bytes > (long)1 << 50) return cli_usage("plan", "--bytes %ld is not 0 to 2^50", q.bytes);
  arena a;
  coll_plan p;
  arena_init(&a, NULL);
  int rc = find_topology(topology, &a, &q.topology);
  tsr_status st = rc ? NULL : coll_plan_make(&q.topology, NULL, q.op, q.ranks, (double)q.bytes, q.algorithm, &p);
  if (st) rc = cli_fail(st);
  if (!rc && json) print_json(&q, &p);
  else if (!rc) print_text(&q, &p);
  arena_clear(&a);
  return rc;
}
