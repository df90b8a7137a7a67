/* tools/tessera/cmd_plan.c - `tessera plan`: what a collective (which algorithm, and what every other one would take or
 * why it is none), a program or a model would cost on a machine. All from constants that are printed with sources;
 * nothing runs. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll/plan.h"
#include "tools/tessera/plan.h"

void plan_help(FILE *f) {
  const coll_algorithm *a;
  const coll_topology *t;
  const dist_model *m;
  fprintf(f, "models (or layers=4,width=512,heads=8,hidden=2048,vocab=256,tokens=128):\n");
  for (int i = 0; (m = dist_model_at(i)); i++)
    fprintf(f, "  %-17s %.4g billion weights\n", m->name, dist_model_parameters(m) * 1e-9);
  fprintf(f, "schedules of a pipeline:\n");
  for (int k = 0; k < N_PIPELINES; k++)
    fprintf(f, "  %-17s %s\n", dist_pipeline_get((dist_pipeline_kind)k)->name,
            dist_pipeline_get((dist_pipeline_kind)k)->help);
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

static void json_levels(const coll_topology *t) {
  printf("\"levels\": [");
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
  printf("\"ramp_us\": %.6g", t->ramp_us);
}

static void print_json(const question *q, const coll_plan *p) {
  const coll_topology *t = &q->topology;
  printf("{");
  json_text("op", coll_op_get(q->op)->name, ", "), json_text("topology", t->name, ", ");
  printf("\"ranks\": %ld, \"bytes\": %ld, ", q->ranks, q->bytes);
  json_text("algorithm", p->algorithm, ", ");
  printf("\"time_us\": %.9g, \"algbw\": %.9g, \"busbw\": %.9g, \"extrapolated\": %s, ", p->us, p->algbw, p->busbw,
         p->extrapolated ? "true" : "false");
  json_levels(t);
  printf(", ");
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

static void print_constants(const coll_topology *t) {
  printf("constants:\n");
  for (int i = 0; i < t->n_levels; i++) {
    const coll_level *l = &t->levels[i];
    printf("  %s, %lld ranks: latency %.4g us, overhead %.4g us, %.5g GB/s; %s\n", l->name, (long long)l->ranks,
           l->latency_us, l->overhead_us, l->gbytes_per_s, l->source);
  }
  printf("  reduction %.5g GB/s; %s\n", t->reduce_gbytes_per_s, t->reduce_source);
  if (t->anchor_source) printf("  ramp %.4g us; fitted to: %s\n", t->ramp_us, t->anchor_source);
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
  print_constants(t);
}

/* ---- programs and models ----------------------------------------------------------------------------------------- */

int plan_machine(const plan_request *q, arena *a, dist_machine *out) {
  const char *name = q->topology ? q->topology : "inproc";
  char *text = NULL;
  size_t n = 0;
  if (strpbrk(name, "./-") && !(text = cli_read_file(name, &n))) return EXIT_USAGE;
  tsr_status st = dist_machine_find(a, name, text, n, out);
  free(text);
  return st ? cli_fail(st) : EXIT_OK;
}

void plan_print_machine(const dist_machine *m) {
  const dist_device *d = &m->device;
  print_constants(&m->links);
  printf("  %s: %.5g TFLOP/s of 16 bits, %.5g of f32, %.5g GB/s and %.5g GB of memory; %s; kernels reach %.2f of it "
         "(assumed)\n",
         d->name, d->tflops_16, d->tflops_32, d->memory_gbytes_per_s, d->memory_gbytes, d->source, d->efficiency);
}

void plan_json_machine(const dist_machine *m) {
  const dist_device *d = &m->device;
  json_levels(&m->links);
  printf(", \"device\": {");
  json_text("name", d->name, ", ");
  printf("\"tflops_16\": %.6g, \"tflops_32\": %.6g, \"memory_gbytes_per_s\": %.6g, \"memory_gbytes\": %.6g, "
         "\"efficiency\": %.6g, ",
         d->tflops_16, d->tflops_32, d->memory_gbytes_per_s, d->memory_gbytes, d->efficiency);
  json_text("source", d->source, "}");
}

int plan_training(const plan_request *q, int64_t stages, dist_training *out) {
  *out = (dist_training){
      .schedule = PIPELINE_1F1B, .batch = q->batch > 0 ? q->batch : 0, .zero = q->zero > 0 ? (int)q->zero : 0};
  if (q->schedule && (out->schedule = dist_pipeline_named(q->schedule)) == N_PIPELINES)
    return cli_usage("plan", "no schedule \"%s\"; `tessera plan --help` lists them", q->schedule);
  if (q->zero > 3) return cli_usage("plan", "--zero %ld is not 0 to 3", q->zero);
  if (q->chunks > UINT16_MAX) return cli_usage("plan", "--chunks %ld is not 1 to %d", q->chunks, UINT16_MAX);
  out->chunks = out->schedule != PIPELINE_INTERLEAVED ? 1 : q->chunks > 0 ? (int)q->chunks : 2;
  if (q->chunks > 1 && out->schedule != PIPELINE_INTERLEAVED)
    return cli_usage("plan", "--chunks is for --schedule interleaved");
  if (q->microbatches > 1 << 20) return cli_usage("plan", "--microbatches %ld is not 1 to 2^20", q->microbatches);
  out->microbatches = q->microbatches > 0 ? q->microbatches : out->batch ? 0 : 2 * stages;
  if (out->microbatches && out->microbatches < stages)
    fprintf(
        stderr,
        "tessera plan: %lld microbatches for %lld stages: stages are idle; twice as many as stages is a good number\n",
        (long long)out->microbatches, (long long)stages);
  return EXIT_OK;
}

/* A model's name or dimensions, else a file. */
static int plan_other(plan_request *q) {
  dist_model m;
  const char *why;
  if (dist_model_find(q->what, &m, &why)) return plan_model(q, &m);
  if (strchr(q->what, '=')) return cli_usage("plan", "%s: %s", q->what, why);
  return plan_program(q);
}

int cmd_plan(int argc, char **argv) {
  const char *op = NULL, *topology = NULL;
  bool json = false;
  question q = {.ranks = CLI_NOT_GIVEN, .bytes = CLI_NOT_GIVEN};
  plan_request r = {
      .microbatches = CLI_NOT_GIVEN, .chunks = CLI_NOT_GIVEN, .batch = CLI_NOT_GIVEN, .zero = CLI_NOT_GIVEN};
  const option options[] = {{.name = "--op", .text = &op},
                            {.name = "--topology", .text = &topology},
                            {.name = "--ranks", .number = &q.ranks},
                            {.name = "--bytes", .number = &q.bytes},
                            {.name = "--algorithm", .text = &q.algorithm},
                            {.name = "--json", .flag = &json},
                            {.name = "--mesh", .text = &r.mesh},
                            {.name = "--schedule", .text = &r.schedule},
                            {.name = "--microbatches", .number = &r.microbatches},
                            {.name = "--chunks", .number = &r.chunks},
                            {.name = "--batch", .number = &r.batch},
                            {.name = "--zero", .number = &r.zero},
                            {.name = "--html", .text = &r.html},
                            {.name = "--trace", .text = &r.trace},
                            {.name = "--search", .flag = &r.search}};
  if (!cli_options("plan", &argc, argv, options, sizeof options / sizeof *options)) return EXIT_USAGE;
  for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
    const long *number = options[k].number;
    const int least = number == &r.microbatches || number == &r.chunks || number == &r.batch;
    if (number && *number < least && *number != CLI_NOT_GIVEN)
      return cli_usage("plan", "%s %ld is not %d or more", options[k].name, *number, least);
  }
  const bool other = r.mesh || r.schedule || r.html || r.trace || r.search || r.microbatches != CLI_NOT_GIVEN ||
                     r.chunks != CLI_NOT_GIVEN || r.batch != CLI_NOT_GIVEN || r.zero != CLI_NOT_GIVEN;
  if (argc != 2 || (other && !strcmp(argv[1], "coll")))
    return cli_usage("plan", "tessera plan coll --op OP --topology NAME|FILE --ranks N --bytes N, or tessera plan "
                             "FILE|MODEL --mesh tp=8,pp=3,dp=3 --topology NAME|FILE");
  if (strcmp(argv[1], "coll")) {
    if (op || q.bytes != CLI_NOT_GIVEN || q.algorithm)
      return cli_usage("plan", "--op, --bytes and --algorithm are of plan coll");
    r.what = argv[1], r.topology = topology, r.ranks = q.ranks, r.json = json;
    if (r.ranks != CLI_NOT_GIVEN && (r.ranks < 1 || r.ranks > DIST_MAX_RANKS))
      return cli_usage("plan", "--ranks %ld is not 1 to %d", r.ranks, DIST_MAX_RANKS);
    return plan_other(&r);
  }
  if (!op || !topology || q.ranks == CLI_NOT_GIVEN || q.bytes == CLI_NOT_GIVEN)
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
