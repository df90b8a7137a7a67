/* tests/unit/test_llm_ranks.c - decoders on meshes: every architecture's form gives one device's logits with heads,
 * rows and a vocabulary that are cut evenly and that aren't; the likeliest tokens are the same; each rank has its part
 * of caches and weights; a mesh of other axes is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/llm/model.h"
#include "tests/support/llm_file.h"

enum { TOKENS = 24 };

static void ok(tsr_status st) {
  if (st) fail_msg("%s", tsr_status_message(st));
}

typedef struct rig {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_mesh *mesh;
  char path[32];
} rig;

static void open_rig(rig *x, const llm_file_options *o, const char *axis, int64_t ranks) {
  static llm_file f;
  strb b;
  *x = (rig){.path = "/tmp/tessera_llm_XXXXXX"};
  llm_file_make(&f, o);
  strb_init(&b, NULL);
  llm_file_bytes(&f, &b);
  const int fd = mkstemp(x->path);
  assert_true(fd >= 0 && strb_ok(&b) && write(fd, strb_text(&b), b.n) == (ssize_t)b.n);
  close(fd);
  strb_clear(&b);
  llm_file_clear(&f);
  ok(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &x->ctx));
  ok(tsr_device_open(x->ctx, "cpu:0", &x->dev));
  ok(tsr_mesh_create(x->ctx,
                     &(tsr_mesh_desc){.axes = &axis, .sizes = &ranks, .n_axes = 1, .devices = &x->dev, .n_devices = 1},
                     &x->mesh));
}

static void close_rig(rig *x) {
  tsr_mesh_destroy(&x->mesh);
  tsr_device_close(&x->dev);
  tsr_context_destroy(&x->ctx);
  unlink(x->path);
}

static int32_t likeliest(const float *logits) {
  int32_t best = 0;
  for (int32_t i = 1; i < LLM_VOCAB; i++) best = logits[i] > logits[best] ? i : best;
  return best;
}

/* Logits behind a text that both models go on with by their likeliest tokens. Policies may order a sum of a row
 * differently: 1e-5 of the largest logit is some ten roundings of f32. */
static void compare(const rig *x, const char *what) {
  llm_model *one, *mesh;
  int32_t tokens[TOKENS];
  const float *want, *got;
  for (int i = 0; i < TOKENS; i++) tokens[i] = (int32_t)(i * 37 % LLM_VOCAB);
  ok(llm_model_open(x->ctx, x->dev, x->path, &one));
  ok(llm_model_open_mesh(x->ctx, x->dev, x->mesh, x->path, &mesh));
  for (int text = 0; text < 2; text++) { /* the second in longer caches */
    const int64_t most = text ? 200 : 60;
    int64_t n = text ? 9 : TOKENS;
    ok(llm_model_begin(one, most));
    ok(llm_model_begin(mesh, most));
    const int32_t *next = tokens;
    int32_t id;
    for (int step = 0; step < 6; step++, next = &id, n = 1) {
      ok(llm_model_append(one, next, n, &want));
      ok(llm_model_append(mesh, next, n, &got));
      float largest = 1;
      for (int i = 0; i < LLM_VOCAB; i++) largest = want[i] > largest ? want[i] : largest;
      for (int i = 0; i < LLM_VOCAB; i++)
        if (!(want[i] - got[i] <= 1e-5f * largest && got[i] - want[i] <= 1e-5f * largest))
          fail_msg("%s: logit %d is %g, not %g", what, i, (double)got[i], (double)want[i]);
      id = likeliest(want);
      assert_int_equal(likeliest(got), id);
    }
  }
  llm_model_close(&mesh);
  llm_model_close(&one);
}

static void meshes_give_the_logits_of_one_device(void **state) {
  (void)state;
  static const struct {
    llm_file_options o;
    int64_t ranks;
  } rows[] = {
      {{.arch = "llama", .heads = 9, .kv_heads = 3}, 3},
      {{.arch = "llama"}, 2},
      {{.arch = "llama"}, 3}, /* neither heads nor rows are cut */
      {{.arch = "llama"}, 1},
      {{.arch = "qwen2", .biases = true}, 2},
      {{.arch = "qwen3", .head_norms = true}, 2},
      {{.arch = "gemma3", .post_norms = true, .head_norms = true, .window = 9}, 2},
      {{.arch = "phi2", .layer_norm = true, .parallel = true, .joined_qkv = true, .biases = true, .rope_dim = 4}, 2},
      {{.arch = "phi3", .joined_qkv = true, .joined_gate = true, .window = 20}, 4},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    rig x;
    open_rig(&x, &rows[i].o, "tp", rows[i].ranks);
    compare(&x, rows[i].o.arch);
    close_rig(&x);
  }
}

/* As the file's tensors say: 9 heads of 8 on 3 ranks. */
static void ranks_have_their_part(void **state) {
  (void)state;
  static const struct {
    const char *input;
    int64_t rows;
  } rows[] = {{"keys.0", 1},  {"values.2", 1}, {"blk.0.attn_q.weight", 24}, {"blk.1.attn_k.weight", 8},
              {"token_embd.weight", LLM_VOCAB /* isn't a multiple of 3 */}};
  rig x;
  arena a;
  weights *w;
  llm_params p;
  llm_graph g;
  tsr_dist_program *program;
  open_rig(&x, &(llm_file_options){.arch = "llama", .heads = 9, .kv_heads = 3}, "tp", 3);
  arena_init(&a, NULL);
  ok(weights_open(&a.al, x.path, &w));
  ok(llm_params_read(w, &a, &p));
  ok(llm_graph_build(x.ctx, &p, &a, &(llm_sizes){.tokens = 8, .cache = 64, .mesh = x.mesh}, &g));
  ok(tsr_dist_program_compile(x.mesh, g.g, NULL, &program));
  size_t found = 0;
  for (int i = 0; i < tsr_graph_n_inputs(g.g); i++) {
    const tsr_tensor_info t = tsr_graph_input_info(g.g, i);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
      if (strcmp(t.name, rows[k].input)) continue;
      tsr_dist_tensor *part;
      tsr_shape local;
      ok(tsr_dist_program_input(program, i, &part));
      ok(tsr_dist_tensor_part(part, 1, NULL, NULL, &local));
      assert_int_equal(local.dims[local.rank == 4], rows[k].rows);
      tsr_dist_tensor_destroy(&part);
      found++;
    }
  }
  assert_int_equal(found, sizeof rows / sizeof *rows);
  tsr_dist_program_destroy(&program);
  tsr_graph_destroy(&g.g);
  weights_close(&w);
  arena_clear(&a);
  close_rig(&x);
}

static void other_axes_are_refused(void **state) {
  (void)state;
  rig x;
  llm_model *m;
  open_rig(&x, &(llm_file_options){.arch = "llama"}, "dp", 2);
  tsr_status st = llm_model_open_mesh(x.ctx, x.dev, x.mesh, x.path, &m);
  assert_non_null(strstr(tsr_status_message(st), "cut along the axis tp and no other"));
  assert_null(m);
  tsr_status_free(st);
  close_rig(&x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(meshes_give_the_logits_of_one_device),
      cmocka_unit_test(ranks_have_their_part),
      cmocka_unit_test(other_axes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
