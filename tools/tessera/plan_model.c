/* tools/tessera/plan_model.c - `tessera plan MODEL`: a training step of a transformer on a mesh, or the fastest of all
 * meshes of so many ranks. */
#include <stdlib.h>
#include <string.h>

#include "tools/tessera/plan.h"

enum { MOST_SHOWN = 5, MOST_BARS = 20000 };

static void print_mesh(const dist_mesh *m) {
  for (int i = 0; i < m->n; i++) printf("%s%s=%lld", i ? "," : "", m->name[i], (long long)m->size[i]);
}

static void print_plan(const dist_candidate *c, const dist_machine *machine) {
  const dist_step_plan *p = &c->plan;
  const double gb = 1e-9;
  printf("  step %.6g ms, %.6g tokens/s, %.1f %% of the devices' peak\n", p->us * 1e-3, p->tokens_per_s, 100 * p->mfu);
  printf("  %s, %lld stages, %lld microbatches: idle %.2f %% of the busiest stage, %.2f %% over ideal\n",
         dist_pipeline_get(c->training.schedule)->name, (long long)p->pp, (long long)p->microbatches,
         100 * p->pipeline.idle_share, 100 * p->pipeline.overhead);
  printf("  busiest stage: computing %.6g ms, tensor parallel %.6g ms, messages %.6g ms beside\n", p->compute_us * 1e-3,
         p->tp_us * 1e-3, p->pp_us * 1e-3);
  if (p->tp > 1)
    printf("  tp: reduce_scatter and all_gather of %.0f bytes, twice a layer and direction, by %s\n", p->tp_bytes,
           p->tp_algorithm);
  if (p->dp > 1)
    printf("  dp: reduce_scatter and all_gather of %.0f bytes, once a step, by %s: %.6g ms, %.6g of it exposed\n",
           p->dp_bytes, p->dp_algorithm, p->dp_us * 1e-3, p->dp_exposed_us * 1e-3);
  printf(
      "  memory of a rank: weights %.2f + gradients %.2f + optimiser %.2f + activations %.2f (%d microbatches) = %.2f "
      "of %.0f GB%s\n",
      p->weights * gb, p->gradients * gb, p->optimiser * gb, p->activations * gb, p->pipeline.peak_live, p->memory * gb,
      machine->device.memory_gbytes, p->fits ? "" : ": DOES NOT FIT");
}

static void json_plan(const dist_candidate *c) {
  const dist_step_plan *p = &c->plan;
  printf("{\"mesh\": {");
  for (int i = 0; i < c->mesh.n; i++)
    printf("%s\"%s\": %lld", i ? ", " : "", c->mesh.name[i], (long long)c->mesh.size[i]);
  printf("}, \"schedule\": \"%s\", \"microbatches\": %lld, \"step_us\": %.9g, \"compute_us\": %.9g, \"tp_us\": %.9g, "
         "\"pp_us\": %.9g, \"dp_us\": %.9g, \"exposed_us\": %.9g, \"idle_share\": %.9g, \"overhead\": %.9g, ",
         dist_pipeline_get(c->training.schedule)->name, (long long)p->microbatches, p->us, p->compute_us, p->tp_us,
         p->pp_us, p->dp_us, p->tp_us + p->dp_exposed_us, p->pipeline.idle_share, p->pipeline.overhead);
  printf("\"collectives\": [");
  if (p->tp > 1)
    printf("{\"op\": \"reduce_scatter\", \"axes\": \"tp\", \"bytes\": %.0f, \"algorithm\": \"%s\"}%s", p->tp_bytes,
           p->tp_algorithm, p->dp > 1 ? ", " : "");
  if (p->dp > 1)
    printf("{\"op\": \"reduce_scatter\", \"axes\": \"dp\", \"bytes\": %.0f, \"algorithm\": \"%s\"}", p->dp_bytes,
           p->dp_algorithm);
  printf("], \"memory\": {\"weights\": %.0f, \"gradients\": %.0f, \"optimiser\": %.0f, \"activations\": %.0f, "
         "\"peak_bytes\": %.0f, \"fits\": %s}, \"tokens_per_s\": %.9g, \"mfu\": %.9g}",
         p->weights, p->gradients, p->optimiser, p->activations, p->memory, p->fits ? "true" : "false", p->tokens_per_s,
         p->mfu);
}

static int timeline(const plan_request *q, const dist_candidate *c) {
  static const char *const kinds[] = {"forward", "backward", "weights"};
  const dist_pipelined *r = &c->plan.pipeline;
  const int n = r->n_tasks < MOST_BARS ? r->n_tasks : MOST_BARS;
  plan_bar *bars = calloc((size_t)n + 1, sizeof *bars);
  if (!bars) return cli_fail(NULL), EXIT_WRONG;
  for (int i = 0; i < n; i++) {
    const dist_task *t = &r->tasks[i];
    bars[i] = (plan_bar){.lane = t->stage, .kind = kinds[t->kind], .from = t->from, .to = t->to};
    snprintf(bars[i].label, sizeof bars[i].label, "%s of microbatch %d", kinds[t->kind], t->microbatch);
  }
  const int rc =
      plan_write_timeline(q, &(plan_timeline){"Stages of a training step", "stage", bars, n, (int)c->plan.pp});
  free(bars);
  return rc;
}

static int find(const plan_request *q, const dist_model *m, arena *a, const dist_machine *machine, dist_candidate *best,
                int *n, int *tried) {
  dist_mesh mesh;
  tsr_status st = q->mesh ? dist_mesh_parse(q->mesh, q->ranks > 0 ? q->ranks : 0, &mesh) : NULL;
  if (st) return cli_fail(st);
  const int64_t ranks = q->mesh ? mesh.ranks : q->ranks;
  *tried = 1, *n = 1;
  if (q->search) {
    dist_training t;
    int rc = plan_training(q, 0, &t);
    if (rc) return rc;
    if ((st = dist_model_search(a, m, ranks, machine, &t, best, MOST_SHOWN, n, tried))) return cli_fail(st);
    return *n ? EXIT_OK : cli_usage("plan", "%s can't be cut into %lld ranks", m->name, (long long)ranks);
  }
  const int pp = dist_mesh_axis(&mesh, "pp", 2);
  if (pp < 0 && (q->schedule || q->chunks != CLI_NOT_GIVEN))
    return cli_usage("plan", "--schedule and --chunks are of meshes with an axis pp");
  best[0].mesh = mesh;
  int rc = plan_training(q, pp < 0 ? 1 : mesh.size[pp], &best[0].training);
  if (rc) return rc;
  return (st = dist_model_plan(a, m, &mesh, machine, &best[0].training, &best[0].plan)) ? cli_fail(st) : EXIT_OK;
}

int plan_model(const plan_request *q, const dist_model *m) {
  dist_candidate best[MOST_SHOWN];
  dist_machine machine;
  arena a;
  int n = 0, tried = 0;
  if (q->search && q->mesh) return cli_usage("plan", "--search finds a model's mesh: it takes --ranks, not --mesh");
  if (q->search && (q->schedule || q->chunks != CLI_NOT_GIVEN))
    return cli_usage("plan", "--search tries all schedules: --schedule and --chunks go with --mesh");
  if (!q->mesh && !(q->search && q->ranks > 0))
    return cli_usage("plan", "a model needs --mesh, or --search with --ranks");
  arena_init(&a, NULL);
  int rc = plan_machine(q, &a, &machine);
  if (!rc) rc = find(q, m, &a, &machine, best, &n, &tried);
  if (!rc) rc = timeline(q, &best[0]);
  if (!rc && q->json) {
    printf("{\"model\": \"%s\", \"parameters\": %.9g, \"topology\": ", m->name, dist_model_parameters(m));
    cli_json_string(stdout, machine.links.name);
    printf(", \"tried\": %d, \"plans\": [", tried);
    for (int i = 0; i < n; i++) printf("%s", i ? ", " : ""), json_plan(&best[i]);
    printf("], ");
    plan_json_machine(&machine);
    printf("}\n");
  } else if (!rc) {
    printf("%s (%s): %.4g billion weights, %lld tokens a sequence, on %s\n", m->name, m->source,
           dist_model_parameters(m) * 1e-9, (long long)m->tokens, machine.links.name);
    if (q->search) printf("%d ways tried, the fastest for each sequence first\n", tried);
    for (int i = 0; i < n; i++)
      printf("mesh "), print_mesh(&best[i].mesh), printf("\n"), print_plan(&best[i], &machine);
    plan_print_machine(&machine);
  }
  arena_clear(&a);
  return rc;
}
