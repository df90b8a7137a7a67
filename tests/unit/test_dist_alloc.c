/* Each allocation refused in turn, and all from one on, while a mesh, a graph with shards, its program and its run come
 * and go: out of memory is what is said, nothing stays allocated, and the next life works. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tessera/dist.h"
#include "tests/support/api_check.h"

static const char graph_text[] =
    "\"tessera.graph.func\"() ({\n"
    "^bb0(%x: tensor<8x5xf32, {shard = [\"dp\", \"*\"]}>, %w: tensor<5x8xf32, {shard = [\"*\", \"tp\"]}>, "
    "%v: tensor<8x6xf32, {shard = [\"tp\", \"*\"]}>):\n"
    "%h = \"tessera.graph.matmul\"(%x, %w)\n%g = \"tessera.graph.gelu\"(%h)\n%y = \"tessera.graph.matmul\"(%g, %v)\n"
    "%s = \"tessera.graph.reduce_mean\"(%y) {axes = [0]}\n"
    "\"tessera.graph.return\"(%y, %s) : (tensor<8x6xf32>, tensor<6xf32>) -> ()\n}) : () -> ()\n";

static bool only_one; /* is refused; else all from that one on are */
static void *alloc_but_one(void *user, size_t size, size_t align) {
  counting *c = user;
  if (__atomic_load_n(&c->left, __ATOMIC_RELAXED) < 0) __atomic_store_n(&c->left, 1L << 40, __ATOMIC_RELAXED);
  return count_alloc(user, size, align);
}

static tsr_status run(tsr_dist_program *p) {
  static const float data[64];
  tsr_dist_tensor *in[3] = {0}, *out[2] = {0};
  float whole[64];
  tsr_status st = NULL;
  for (int i = 0; i < 3 && !st; i++) {
    st = tsr_dist_program_input(p, i, &in[i]);
    if (!st) st = tsr_dist_tensor_scatter(in[i], data);
  }
  for (int i = 0; i < 2 && !st; i++) st = tsr_dist_program_output(p, i, &out[i]);
  if (!st) st = tsr_dist_program_run(p, in, out);
  for (int i = 0; i < 2 && !st; i++) st = tsr_dist_tensor_gather(out[i], whole);
  for (int i = 0; i < 3; i++) tsr_dist_tensor_destroy(&in[i]);
  for (int i = 0; i < 2; i++) tsr_dist_tensor_destroy(&out[i]);
  return st;
}

static tsr_code life(counting *c, bool search) {
  static const char *const axes[] = {"tp", "dp"};
  const tsr_allocator al = {only_one ? alloc_but_one : count_alloc, count_free, c};
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_mesh *m = NULL;
  tsr_graph *g = NULL;
  tsr_dist_program *p = NULL;
  char *text = NULL;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.allocator = &al, .cache_dir = ""}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  const tsr_mesh_desc d = {.axes = axes, .sizes = (int64_t[]){2, 2}, .n_axes = 2, .devices = &dev, .n_devices = 1};
  if (!st) st = tsr_mesh_create(ctx, &d, &m);
  if (!st) st = tsr_graph_parse(ctx, graph_text, sizeof graph_text - 1, "text", &g);
  if (!st && search) st = tsr_graph_autoshard(g, m, NULL, &text);
  if (ctx) tsr_text_free(ctx, &text);
  if (!st) st = tsr_dist_program_compile(m, g, NULL, &p);
  if (!st && !search) st = run(p);
  if (!st) st = tsr_dist_program_explain(p, &text);
  if (ctx) tsr_text_free(ctx, &text);
  const tsr_code code = tsr_status_code(st);
  if (st && code != TSR_OUT_OF_MEMORY) printf("%s\n", tsr_status_message(st));
  tsr_status_free(st);
  tsr_dist_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_mesh_destroy(&m);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return code;
}

static void each_refused(bool search) {
  long n = 0;
  for (int one = 0; one < 2; one++) {
    only_one = one;
    tsr_code code = TSR_OUT_OF_MEMORY;
    for (n = 0; code != TSR_OK; n += TSR_TEST_SLOW || search ? 7 : 1) {
      counting c = {.left = n};
      code = life(&c, search);
      if (code != TSR_OK && code != TSR_OUT_OF_MEMORY) fail_msg("allocation %ld: %s", n, tsr_code_name(code));
      if (c.live) fail_msg("allocation %ld: %ld blocks are still held", n, c.live);
      if (one && n > 4000) break; /* some can do without what was refused */
      if (one && code == TSR_OK) code = TSR_OUT_OF_MEMORY;
    }
  }
  assert_true(n > 100);
}

static void programs_that_run(void **state) { each_refused(false); }
static void shards_by_search(void **state) { each_refused(true); }

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs_that_run), cmocka_unit_test(shards_by_search)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
