/* Plans of programs and models: monotone in sizes, latencies and bandwidths, a thousand of them in seconds, memory by
 * the textbook's figures, and estimates that add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/dist/estimate.h"
#include "core/dist/model.h"
#include "core/dist/search.h"
#include "tests/support/graph_text.h"

static dist_machine machine_of(arena *a, const char *name) {
  dist_machine m;
  assert_null(dist_machine_find(a, name, NULL, 0, &m));
  return m;
}

static dist_step_plan plan_of(const char *model, const char *mesh, const dist_machine *machine,
                              const dist_training *t) {
  arena a;
  dist_model m;
  dist_mesh at;
  dist_step_plan p;
  const char *why;
  arena_init(&a, NULL);
  assert_true(dist_model_find(model, &m, &why));
  assert_null(dist_mesh_parse(mesh, 0, &at));
  assert_null(dist_model_plan(&a, &m, &at, machine, t, &p));
  arena_clear(&a);
  p.pipeline.tasks = NULL;
  return p;
}

static const dist_training plain = {.schedule = PIPELINE_1F1B, .chunks = 1};

static void models_have_their_published_number_of_weights(void **state) {
  static const struct {
    const char *name;
    double billions;
  } rows[] = {{"gpt3_175b", 175}, {"gpt_1t", 1008}, {"llama3_8b", 8.03}, {"llama3_70b", 70.55}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    dist_model m;
    const char *why;
    assert_true(dist_model_find(rows[i].name, &m, &why));
    assert_true(fabs(dist_model_parameters(&m) * 1e-9 / rows[i].billions - 1) < 0.005);
  }
}

static void plans_are_monotone_in_latency_bandwidth_and_rates(void **state) {
  static const char *const topologies[] = {"nvl72", "h100x8", "mi300x8", "pcie8", "infiniband", "ethernet"};
  arena a;
  arena_init(&a, NULL);
  for (int i = 0; i < 6; i++) {
    double last[3] = {INFINITY, INFINITY, INFINITY};
    for (int k = 0; k < 8; k++)
      for (int what = 0; what < 3; what++) {
        dist_machine m = machine_of(&a, topologies[i]);
        for (int l = 0; l < m.links.n_levels; l++) {
          if (what == 0) m.links.levels[l].latency_us *= 8 - k;
          if (what == 1) m.links.levels[l].gbytes_per_s *= 1 + k;
        }
        if (what == 2) m.device.tflops_16 *= 1 + k;
        const dist_step_plan p = plan_of("gpt3_175b", "tp=2,pp=2,dp=2", &m, &plain);
        assert_true(p.us <= last[what] * (1 + 1e-12));
        last[what] = p.us;
      }
  }
  arena_clear(&a);
}

static void larger_models_take_longer_and_more_memory(void **state) {
  arena a;
  arena_init(&a, NULL);
  const dist_machine m = machine_of(&a, "infiniband");
  double us = 0, memory = 0;
  for (int64_t tokens = 256; tokens <= 16384; tokens *= 2) {
    char model[160];
    snprintf(model, sizeof model, "layers=16,width=4096,heads=32,hidden=16384,vocab=50000,tokens=%lld",
             (long long)tokens);
    const dist_step_plan p = plan_of(model, "tp=4,pp=4,dp=4", &m, &plain);
    assert_true(p.us > us && p.memory > memory);
    us = p.us, memory = p.memory;
  }
  arena_clear(&a);
}

/* 18 bytes of each weight and its state; cut along dp, those of the optimiser, then the gradients, then all. */
static void memory_is_that_of_the_textbook(void **state) {
  arena a;
  arena_init(&a, NULL);
  const dist_machine m = machine_of(&a, "h100x8");
  const double weights = 8.03e9;
  for (int zero = 0; zero <= 3; zero++) {
    const dist_training t = {.schedule = PIPELINE_1F1B, .chunks = 1, .zero = zero};
    const dist_step_plan p = plan_of("llama3_8b", "dp=8", &m, &t);
    assert_true(fabs(p.weights / (2 * weights / (zero == 3 ? 8 : 1)) - 1) < 0.01);
    assert_true(fabs(p.gradients / (4 * weights / (zero >= 2 ? 8 : 1)) - 1) < 0.01);
    assert_true(fabs(p.optimiser / (12 * weights / (zero >= 1 ? 8 : 1)) - 1) < 0.01);
    assert_int_equal(p.fits, zero >= 2);
  }
  arena_clear(&a);
}

static void a_thousand_plans_take_seconds(void **state) {
  static const char *const models[] = {"gpt3_175b", "gpt_1t", "llama3_8b", "llama3_70b"};
  arena a;
  arena_init(&a, NULL);
  const int64_t from = clock_ns();
  const dist_machine m = machine_of(&a, "infiniband");
  int tried = 0;
  for (int64_t ranks = 8; tried < 1000 && ranks <= 16384; ranks *= 2)
    for (int i = 0; i < 4; i++) {
      arena b;
      dist_candidate best[4];
      dist_model model;
      const char *why;
      int n, more;
      arena_init(&b, NULL);
      assert_true(dist_model_find(models[i], &model, &why));
      assert_null(dist_model_search(&b, &model, ranks, &m, &(dist_training){.batch = 16384}, best, 4, &n, &more));
      for (int k = 1; k < n; k++) /* those that fit before those that don't, faster ones first */
        assert_true(best[k - 1].plan.fits > best[k].plan.fits ||
                    (best[k - 1].plan.fits == best[k].plan.fits &&
                     (!best[k].plan.fits || best[k - 1].plan.us <= best[k].plan.us * (1 + 1e-9))));
      tried += more;
      arena_clear(&b);
    }
  const double seconds = (double)(clock_ns() - from) * 1e-9;
  printf("%d plans in %.2f s\n", tried, seconds);
  assert_true(tried >= 1000 && seconds < 60);
  arena_clear(&a);
}

/* What isn't played through to its end is what it would be if it were. */
static void many_microbatches_take_what_playing_them_all_says(void **state) {
  arena a;
  arena_init(&a, NULL);
  const dist_machine m = machine_of(&a, "nvl72");
  const char *const model = "layers=8,width=1024,heads=8,hidden=4096,vocab=5000,tokens=512";
  for (int kind = 0; kind < N_PIPELINES; kind++) {
    double us[3];
    for (int i = 0; i < 3; i++) { /* 1,000 a step of 4 stages are played, the others not */
      const dist_training t = {.schedule = (dist_pipeline_kind)kind,
                               .chunks = kind == PIPELINE_INTERLEAVED ? 2 : 1,
                               .microbatches = (int64_t[]){1000, 2000, 3000}[i]};
      us[i] = plan_of(model, "pp=4", &m, &t).us;
    }
    assert_true(fabs((us[2] - us[1]) / (us[1] - us[0]) - 1) < 1e-9);
  }
  arena_clear(&a);
}

/* Of a program: what is exposed is in the time, memory is inputs, outputs and what is between; a rank does less when
 * there are more. */
static void estimates_of_programs_add_up(void **state) {
  static const char body[] = "%h = \"tessera.graph.matmul\"(%x, %w)\n%g = \"tessera.graph.gelu\"(%h)\n"
                             "%y = \"tessera.graph.matmul\"(%g, %v)\n";
  arena a;
  arena_init(&a, NULL);
  const dist_machine machine = machine_of(&a, "infiniband");
  double last = INFINITY;
  for (int64_t tp = 1; tp <= 8; tp *= 2) {
    char mesh[32];
    snprintf(mesh, sizeof mesh, "tp=%lld,dp=2", (long long)tp);
    ir_module *m = gt_parse(gt_func(
        "%x: tensor<256x512xbf16, {shard = [\"dp\", \"*\"]}>, %w: tensor<512x2048xbf16, {shard = [\"*\", \"tp\"]}>, "
        "%v: tensor<2048x512xbf16, {shard = [\"tp\", \"*\"]}>",
        body, "%y", "tensor<256x512xbf16>"));
    dist_mesh at;
    dist_problem p;
    dist_program program;
    dist_schedule s;
    dist_estimate e;
    assert_null(dist_mesh_parse(mesh, 0, &at));
    assert_null(dist_problem_init(&p, graph_find_func(m, NULL), &at, &machine, &(dist_rules){0}));
    assert_null(dist_partition(&p, NULL, NULL, &program));
    assert_null(dist_schedule_make(program.func, &(dist_schedule_options){0}, &s));
    assert_null(dist_estimate_make(&a, &program, &s, &p.links, &e));
    assert_true(e.inputs == 256 * 512 * 2 / 2 + 2.0 * 512 * 2048 * 2 / (double)tp);
    assert_true(e.outputs == 256 * 512 * 2 / 2 / (double)tp);
    assert_true(fabs(e.us - (e.compute_us + e.exposed_us)) < 1e-9);
    assert_true(e.compute_us < last);
    last = e.compute_us;
    dist_schedule_clear(&s);
    ir_module_destroy(&program.m);
    dist_problem_clear(&p);
    ir_module_destroy(&m);
  }
  arena_clear(&a);
}

/* Ranks add up f32, whatever the sum is rounded to; reading a product cut along k costs what that moves. */
static void parts_of_narrow_sums_move_as_f32(void **state) {
  static const char *const types[] = {"f32", "bf16", "f8e4m3"};
  double first = 0;
  arena a;
  arena_init(&a, NULL);
  const dist_machine machine = machine_of(&a, "ethernet");
  for (int t = 0; t < 3; t++) {
    char args[200], result[40];
    snprintf(args, sizeof args,
             "%%x: tensor<256x512x%s, {shard = [\"*\", \"tp\"]}>, %%w: tensor<512x255x%s, {shard = [\"tp\", \"*\"]}>",
             types[t], types[t]);
    snprintf(result, sizeof result, "tensor<256x255x%s>", types[t]);
    ir_module *m = gt_parse(
        gt_func(args, "%p = \"tessera.graph.matmul\"(%x, %w)\n%y = \"tessera.graph.exp\"(%p)\n", "%y", result));
    dist_mesh at;
    dist_problem p;
    double moves = 0;
    assert_null(dist_mesh_parse("tp=4", 0, &at));
    assert_null(dist_problem_init(&p, graph_find_func(m, NULL), &at, &machine, &(dist_rules){0}));
    assert_null(dist_solve(&p, NULL));
    for (int i = 0; i < p.n_nodes; i++) moves += p.nodes[i].moves_us;
    if (!t) first = moves;
    assert_true(first > 0 && moves == first);
    dist_problem_clear(&p);
    ir_module_destroy(&m);
  }
  arena_clear(&a);
}

/* A figure that is misspelt or of another type is not the default one. */
static void devices_of_files_are_read_or_refused(void **state) {
#define LAB "{\"levels\": [{\"ranks\": 4, \"latency_us\": 1, \"gbytes_per_s\": 1}], \"device\": "
  static const struct {
    const char *text, *says;
  } row[] = {
      {LAB "{}}", NULL},
      {LAB "{\"name\": \"toy\", \"tflops_16\": 2, \"efficiency\": 0.5}}", NULL},
      {LAB "{\"tflops16\": 2}}", "\"tflops16\" is nothing that \"device\" has"},
      {LAB "{\"tflops_16\": \"2\"}}", "\"tflops_16\" of \"device\" is not a number"},
      {LAB "{\"efficiency\": 2}}", "efficiency at most 1"},
      {LAB "\"toy\"}", "\"device\" of a topology is not an object"},
  };
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    arena a;
    dist_machine m;
    arena_init(&a, NULL);
    tsr_status st = dist_machine_find(&a, "lab.json", row[i].text, strlen(row[i].text), &m);
    if (!row[i].says) assert_null(st);
    else if (!st || !strstr(tsr_status_message(st), row[i].says))
      fail_msg("%s: %s", row[i].text, st ? tsr_status_message(st) : "taken");
    tsr_status_free(st);
    arena_clear(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_have_their_published_number_of_weights),
      cmocka_unit_test(plans_are_monotone_in_latency_bandwidth_and_rates),
      cmocka_unit_test(larger_models_take_longer_and_more_memory),
      cmocka_unit_test(memory_is_that_of_the_textbook),
      cmocka_unit_test(a_thousand_plans_take_seconds),
      cmocka_unit_test(many_microbatches_take_what_playing_them_all_says),
      cmocka_unit_test(estimates_of_programs_add_up),
      cmocka_unit_test(parts_of_narrow_sums_move_as_f32),
      cmocka_unit_test(devices_of_files_are_read_or_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
