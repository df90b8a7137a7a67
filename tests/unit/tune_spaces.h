/* Synthetic recorded spaces: a device that differs from the one the model knows, effects the model has no term for, a
 * little noise and failing corners. Seeded; the same on every machine with the same libm. */
#ifndef TESTS_UNIT_TUNE_SPACES_H
#define TESTS_UNIT_TUNE_SPACES_H
#include "core/tune/record.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_SYNTHETIC = 12 };

static inline double synthetic_unit(uint64_t *s) { return (double)search_rand(s, 1u << 30) / (double)(1u << 30); }

static inline void synthetic_problem(int i, tune_device *d, tune_problem *p) {
  static const struct {
    int gpu, family;
    int64_t m, n, k;
    tsr_dtype t;
  } rows[N_SYNTHETIC] = {
      {0, FAMILY_MATMUL, 256, 256, 256, TSR_F32},   {0, FAMILY_MATMUL, 1024, 1024, 1024, TSR_F32}, {0, FAMILY_MATMUL, 16, 4096, 4096, TSR_F32},  {0, FAMILY_MATMUL, 512, 4096, 4096, TSR_F32},
      {0, FAMILY_MATMUL, 300, 200, 500, TSR_F32},   {0, FAMILY_MATMUL, 2048, 2048, 512, TSR_BF16}, {1, FAMILY_MATMUL, 512, 512, 512, TSR_F32},   {1, FAMILY_MATMUL, 1024, 1024, 1024, TSR_BF16},
      {1, FAMILY_MATMUL, 128, 128, 8192, TSR_BF16}, {1, FAMILY_MATMUL, 77, 768, 768, TSR_F32},     {1, FAMILY_ROW, 4096, 4096, 1, TSR_F32},   {1, FAMILY_ELEMENTWISE, 1, 1 << 20, 1, TSR_F32}};
  static const tune_device cpu = {
      .name = "cpu",
      .is_cpu = true,
      .cores = 2,
      .warp_size = 16,
      .shared_per_block = 2 << 20,
      .clock_ghz = 2.5,
      .fma_gflops = 300,
      .launch_ns = 2000,
      .n_tiers = 3,
      .tier = {{"l1", 48e3, 400, 5, false}, {"l2", 2e6, 150, 14, false}, {"memory", 0, 20, 250, false}}};
  static const tune_device gpu = {.name = "gpu",
                                  .cores = 16,
                                  .warp_size = 32,
                                  .max_warps = 48,
                                  .max_blocks = 16,
                                  .max_threads = 512,
                                  .regs_per_core = 65536,
                                  .regs_per_thread = 255,
                                  .reg_granule = 256,
                                  .shared_granule = 256,
                                  .shared_per_block = 49152,
                                  .shared_per_core = 98304,
                                  .banks = 32,
                                  .clock_ghz = 1.5,
                                  .fma_gflops = 8000,
                                  .matrix_gflops = 60000,
                                  .launch_ns = 5000,
                                  .n_tiers = 2,
                                  .tier = {{"l2", 4e6, 1500, 200, false}, {"memory", 8e9, 400, 500, false}},
                                  .n_matrix = 1,
                                  .matrix = {{16, 16, 16, TSR_BF16, TSR_F32}}};
  *d = rows[i].gpu ? gpu : cpu;
  *p = (tune_problem){.family = (sched_family)rows[i].family,
                      .batch = 1,
                      .m = rows[i].m,
                      .n = rows[i].n,
                      .k = rows[i].k,
                      .in = rows[i].t,
                      .acc = TSR_F32,
                      .out = rows[i].t,
                      .passes = 2};
  snprintf(p->op, sizeof p->op, "%s",
           p->family == FAMILY_MATMUL ? "matmul"
           : p->family == FAMILY_ROW  ? "softmax"
                                      : "add");
}

/* At most 3000 points, evenly taken. */
static inline void synthetic_space(int i, record *r) {
  tune_device d, real;
  tune_problem p;
  static tune_space s;
  space_options opt = {.knobs = SPACE_TILE | SPACE_KNOB(vectorize) | SPACE_KNOB(pipeline_stages) | SPACE_KNOB(warps) |
                                SPACE_KNOB(matrix_path) | SPACE_KNOB(use_shared)};
  synthetic_problem(i, &d, &p);
  space_build(&d, &p, &opt, &s);
  real = d;
  uint64_t rng = 1000 + (uint64_t)i;
  real.fma_gflops *= 0.5 + synthetic_unit(&rng);
  real.matrix_gflops *= 0.5 + synthetic_unit(&rng);
  real.launch_ns *= 0.5 + synthetic_unit(&rng);
  for (int t = 0; t < real.n_tiers; t++) real.tier[t].gbps *= 0.4 + 1.2 * synthetic_unit(&rng);
  space_point *pts = NULL;
  size_t n = 0;
  bool cut;
  tsr_status st = space_enumerate(&s, NULL, 1u << 20, &pts, &n, &cut);
  tsr_status_free(st);
  record_init(r, NULL);
  r->device = d;
  r->problem = p;
  space_point at;
  if (space_nearest(
          &s,
          &(tune_config){
              .m = 64, .n = 64, .k = 64, .vectorize = 4, .use_shared = 1, .pipeline_stages = 2, .warps = 4, .split_k = 1},
          &at))
    r->dflt = space_config(&s, &at);
  snprintf(r->label, sizeof r->label, "synthetic-%d", i);
  space_knob knobs[SPACE_MAX_KNOBS];
  memcpy(knobs, s.knob, sizeof knobs);
  int32_t n_knobs = s.n_knobs;
  double wx[SPACE_MAX_KNOBS], wq[SPACE_MAX_KNOBS], wc[SPACE_MAX_KNOBS];
  for (int k = 0; k < SPACE_MAX_KNOBS; k++) {
    wx[k] = 0.4 * (synthetic_unit(&rng) - 0.5);
    wq[k] = 0.8 * synthetic_unit(&rng);
    wc[k] = synthetic_unit(&rng);
  }
  strb b;
  strb_init(&b, NULL);
  space_custom(knobs, n_knobs, NULL, NULL, &r->space);
  size_t stride = n / 3000 + 1;
  for (size_t j = 0; j < n; j += stride) {
    double x[SPACE_MAX_KNOBS], effect = 0;
    int32_t dim = space_coords(&s, &pts[j], x);
    for (int32_t k = 0; k < dim; k++) effect += wx[k] * x[k] + wq[k] * (x[k] - wc[k]) * (x[k] - wc[k]);
    for (int32_t k = 0; k + 1 < dim; k++) effect += 0.3 * wx[k] * (x[k] - 0.5) * (x[k + 1] - 0.5);
    tune_config c = space_config(&s, &pts[j]);
    if (p.family != FAMILY_MATMUL) c.n = (int32_t)p.n;
    double ns = cost_model_roofline.predict(NULL, &real, &p, &c) * exp(effect) * (1 + 0.02 * synthetic_unit(&rng));
    search_result res = {floor(ns) + 1, effect > 1.1 ? SAMPLE_FAILED : SAMPLE_OK};
    st = record_add(r, &pts[j], &res);
    tsr_status_free(st);
  }
  /* The default is always a point of a recorded space. */
  if (space_nearest(&r->space, &r->dflt, &at) && !record_find(r, &at)) {
    st = record_add(r, &at,
                    &(search_result){floor(1.5 * cost_model_roofline.predict(NULL, &real, &p, &r->dflt)), SAMPLE_OK});
    tsr_status_free(st);
  }
  strb text;
  strb_init(&text, NULL);
  record_print(r, &text); /* through the file format, so that the space's rule is that of a loaded record */
  record_clear(r);
  record_init(r, NULL);
  st = record_parse(strb_text(&text), text.n, "synthetic", r);
  tsr_status_free(st);
  strb_clear(&text);
  strb_clear(&b);
  al_free_array(NULL, pts, n);
}
#endif
