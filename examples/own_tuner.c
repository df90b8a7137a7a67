/* examples/own_tuner.c - a cost model, a search strategy and an objective of one's own, handed to the tuner as
 * functions, then a schedule by hand that the tuner leaves alone. The device may be named on the command line.
 * docs/tuning.md says what the parts mean. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tune.h>

enum { M = 192, N = 160, K = 256, PATIENCE = 4 };

typedef struct counts {
  int priced, refused, asked;
} counts;

static void check(tsr_status s) {
  if (!s) return;
  fprintf(stderr, "%s\n", tsr_status_message(s));
  exit(1);
}

static double panels(int64_t extent, int64_t tile) { return tile > 0 ? (double)((extent + tile - 1) / tile) : 1; }

/* Nanoseconds of reading each operand once per row or column of tiles at 10 GB/s; tiles of fewer than 32 rows are never
 * tried. */
static double traffic(void *user, const tsr_tune_problem *p, const tsr_schedule *c) {
  counts *n = user;
  n->priced++;
  if (c->m < 32) return n->refused++, -1.0;
  double a = (double)p->m * (double)p->k * panels(p->n, c->n), b = (double)p->k * (double)p->n * panels(p->m, c->m);
  return 4 * (a + b) / 10;
}

/* From the cheapest by the model on, until PATIENCE candidates in a row were no better than the best before them. */
static size_t cheapest_first(void *user, const tsr_tune_problem *p, const tsr_schedule *candidates,
                             const double *measured_us, size_t n, size_t samples_left) {
  counts *c = user, unused = {0};
  static double best;
  static int misses;
  static size_t last;
  if (!c->asked++) best = 0, misses = 0, last = n;
  if (last < n && measured_us[last] > 0) misses = best > 0 && measured_us[last] >= best ? misses + 1 : 0;
  for (size_t i = 0; i < n; i++)
    if (measured_us[i] > 0 && (!(best > 0) || measured_us[i] < best)) best = measured_us[i];
  size_t next = n;
  for (size_t i = 0; i < n && misses < PATIENCE; i++)
    if (measured_us[i] == 0 &&
        (next == n || traffic(&unused, p, &candidates[i]) < traffic(&unused, p, &candidates[next])))
      next = i;
  return last = next;
}

/* Latency alone; the default is latency x (1 / throughput). */
static double latency(void *user, const tsr_tune_problem *p, double latency_ns, double work) { return latency_ns; }

int main(int argc, char **argv) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_value a, b, c;
  tsr_tune_report *report;
  tsr_program *by_hand;
  counts n = {0};
  tsr_tune_hooks mine = {.cost = traffic, .next = cheapest_first, .objective = latency, .user = &n};
  tsr_tune_options options = {.samples = 24, .samples_fixed = true, .again = true, .hooks = &mine};

  check(tsr_context_create(NULL, &ctx));
  check(tsr_device_open(ctx, argc > 1 ? argv[1] : "cpu:0", &dev));
  check(tsr_graph_create(ctx, "main", &g));
  check(tsr_graph_input(g, "A", TSR_F32, (tsr_shape){2, {M, K}}, &a));
  check(tsr_graph_input(g, "B", TSR_F32, (tsr_shape){2, {K, N}}, &b));
  check(tsr_graph_op(g, "matmul", (tsr_value[]){a, b}, 2, NULL, 0, &c));
  check(tsr_graph_output(g, c));
  check(tsr_graph_tune(dev, g, NULL, &options, &report));
  tsr_tune_result r = tsr_tune_report_get(report, 0);
  printf("%s %s: tile %s, %.0f us (untuned %.0f), predicted %.0f us by own model; priced %d, refused %d, strategy "
         "asked %d times for %zu samples\n",
         r.problem.op, r.problem.shape, r.tile, r.best_us, r.default_us, r.predicted_us, n.priced, n.refused, n.asked,
         r.samples);
  int wrong = n.priced < 2 || n.refused < 1 || n.asked < 2 || r.samples < 2 || (size_t)n.asked > r.samples + 1;
  if (r.predicted_us > 0) wrong |= r.predicted_us != traffic(&n, &r.problem, &r.schedule) / 1e3;

  tsr_schedule schedule = {.m = 48, .n = 64, .k = 64};
  check(tsr_program_compile(dev, g, &(tsr_compile_options){.schedules = &schedule, .n_schedules = 1}, &by_hand));
  const int64_t *tile = tsr_program_kernel(by_hand, 0).tile;
  printf("by hand: %lldx%lldx%lld\n", (long long)tile[0], (long long)tile[1], (long long)tile[2]);
  wrong |= tile[0] != 48 || tile[1] != 64;

  tsr_program_destroy(&by_hand);
  tsr_tune_report_destroy(&report);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  printf(wrong ? "own parts did not decide\n" : "own parts decided\n");
  return wrong;
}
