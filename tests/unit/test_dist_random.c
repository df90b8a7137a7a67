/* Random graphs on random meshes with random shards on their inputs, against the oracle of the whole graph.
 *   TSR_TEST_CASES   how many (default 150); TSR_TEST_SEED where the random numbers start (default 1)
 * Families whose results may differ in what the oracle allows for one device alone are held to twice its tolerance:
 * each rank rounds its part of a split sum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tests/conformance/random_graph.h"
#include "tests/support/dist_rig.h"
#include "tests/support/numbers.h"

static const char *const meshes[] = {"a=2", "a=3", "a=4", "a=2,b=2", "b=3,a=2", "a=2,b=2,c=2", "a=5"};

/* Random axes on random dimensions, each at most once. */
static tsr_status shard_input(rng *r, tsr_graph *g, int i, const tsr_mesh *m, const char *mesh) {
  static const char *const numbers[] = {"0", "1", "2", "3", "4", "5", "6", "7"};
  const char *parts[TSR_MAX_RANK], *axes[TSR_MAX_RANK], *const names[] = {"a", "b", "c"};
  const tsr_tensor_info t = tsr_graph_input_info(g, i);
  int n = 0;
  bool used[TSR_MAX_RANK] = {0};
  for (int a = 0; a < 3; a++) {
    if (!tsr_mesh_size(m, names[a]) || t.shape.rank == 0 || t.shape.rank > 8 || !rng_range(r, 0, 1)) continue;
    const int d = (int)rng_range(r, 0, t.shape.rank - 1);
    if (used[d]) continue;
    used[d] = true;
    parts[n] = numbers[d], axes[n++] = names[a];
  }
  (void)mesh;
  return tsr_graph_shard(g, (tsr_value)(i + 1), m, &(tsr_shardspec){.partition = parts, .mesh_axes = axes, .n = n});
}

/* The same as text that was read: its inputs are the values 1, 2, ... */
static tsr_status reread(tsr_context *ctx, tsr_graph **g) {
  char *text;
  tsr_graph *again;
  tsr_status st = tsr_graph_print(*g, &text);
  if (st) return st;
  st = tsr_graph_parse(ctx, text, strlen(text), NULL, &again);
  tsr_text_free(ctx, &text);
  if (st) return st;
  tsr_graph_destroy(g);
  *g = again;
  return NULL;
}

/* The graph's own generator makes its inputs small. */
static void fill(rng *r, const tsr_graph *g, rig_data *d) {
  *d = (rig_data){0};
  for (int i = 0; i < tsr_graph_n_inputs(g); i++) {
    const tsr_tensor_info t = tsr_graph_input_info(g, i);
    d->in[i] = calloc(1, t.bytes + 16);
    random_fill(r, dtype_part(t.dtype), d->in[i], numbers_of(&t), true);
  }
  for (int i = 0; i < tsr_graph_n_outputs(g); i++) {
    const tsr_tensor_info t = tsr_graph_output_info(g, i);
    d->want[i] = calloc(numbers_of(&t) + 1, sizeof(double));
    d->tol[i] = calloc(numbers_of(&t) + 1, sizeof(double));
    d->out[i] = calloc(1, t.bytes + 16);
  }
}

int main(void) {
  const int cases = getenv("TSR_TEST_CASES") ? atoi(getenv("TSR_TEST_CASES")) : TSR_TEST_SLOW ? 30 : 150;
  const uint64_t seed = getenv("TSR_TEST_SEED") ? (uint64_t)atoll(getenv("TSR_TEST_SEED")) : 1;
  dist_rig rig;
  int bad = 0, ran = 0, refused = 0, collectives = 0;
  rig_open(&rig);
  printf("seed %llu\n", (unsigned long long)seed);
  for (int c = 0; c < cases; c++) {
    rng r = {.s = seed * 1000003u + (uint64_t)c, .no_extremes = true};
    char what[512], name[768];
    const char *mesh = meshes[rng_range(&r, 0, (int64_t)(sizeof meshes / sizeof *meshes) - 1)];
    tsr_graph *g = NULL;
    tsr_dist_program *p = NULL;
    rig_data d;
    tsr_status st = random_graph(rig.ctx, &r, c % random_graph_families(), &g, what, sizeof what);
    if (!st) st = reread(rig.ctx, &g);
    if (st || tsr_graph_n_inputs(g) > RIG_MOST || tsr_graph_n_outputs(g) > RIG_MOST) {
      tsr_status_free(st);
      tsr_graph_destroy(&g);
      continue;
    }
    tsr_mesh *m = rig_mesh(&rig, mesh, (int)rng_range(&r, 1, 2));
    for (int i = 0; i < tsr_graph_n_inputs(g) && !st; i++) st = shard_input(&r, g, i, m, mesh);
    snprintf(name, sizeof name, "case %d (%s) on %s: %s", c, random_graph_family_name(c % random_graph_families()),
             mesh, what);
    fill(&r, g, &d);
    if (!st && tsr_graph_n_inputs(g)) st = tsr_graph_reference(g, (const void *const *)d.in, d.want, d.tol);
    const tsr_dist_options o = {.compile = {.tune = TSR_TUNE_OFF}, .no_overlap = rng_range(&r, 0, 1)};
    if (!st && tsr_graph_n_inputs(g)) st = tsr_dist_program_compile(m, g, &o, &p);
    collectives += tsr_dist_program_n_collectives(p);
    tsr_dist_program_destroy(&p);
    if (!st && tsr_graph_n_inputs(g)) st = rig_run(m, g, &o, &d);
    if (st && tsr_status_code(st) == TSR_UNSUPPORTED) refused++;
    else if (st) printf("%s: %s\n", name, tsr_status_message(st)), bad++;
    else if (tsr_graph_n_inputs(g)) ran++, bad += rig_misses(g, &d, 2, name) != 0;
    tsr_status_free(st);
    rig_data_free(g, &d);
    tsr_mesh_destroy(&m);
    tsr_graph_destroy(&g);
  }
  printf("%d programs ran, %d refused by the device, %d collectives, %d wrong\n", ran, refused, collectives, bad);
  rig_close(&rig);
  return bad || ran < cases / 2 || collectives < cases / 4;
}
