/* What a builder could not make is told apart: a failed allocation is out of memory, a request that can't be is an
 * internal error which names the op, at each level and through the passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/ir/graph/ops.h"
#include "core/passes/pipeline.h"

/* ---- requests, as a pass makes them: they end with st_oom() whatever was the matter ----------------------------- */

typedef tsr_status (*request)(ir_module *m, bool good);

static ir_value *argument(ir_module *m, ir_type_kind kind, int rank) {
  const int64_t dims[2] = {4, 4};
  const ir_type *t = rank ? ir_type_shaped(m, kind, TSR_F32, rank, dims) : ir_type_scalar(m, TSR_F32);
  return ir_block_arg(m, m->root->regions[0], t, "x");
}

static ir_builder at_end(ir_module *m) { return ir_at_end(m, m->root->regions[0]); }

static tsr_status graph_shapes(ir_module *m, bool good) {
  ir_builder b = at_end(m);
  ir_value *v[2] = {argument(m, IR_T_TENSOR, 2), argument(m, IR_T_TENSOR, good ? 2 : 1)};
  if (!good && v[1]) v[1]->type = ir_type_tensor(m, TSR_F32, 1, (int64_t[]){3});
  return graph_build(&b, G_MATMUL, 2, v) ? NULL : st_oom();
}

static tsr_status graph_operand(ir_module *m, bool good) {
  ir_builder b = at_end(m);
  ir_value *x = argument(m, IR_T_TENSOR, 2), *v[2] = {x, good ? x : NULL};
  return graph_build(&b, G_ADD, 2, v) ? NULL : st_oom();
}

static tsr_status schedule_operand(ir_module *m, bool good) {
  ir_builder b = at_end(m);
  ir_value *v[1] = {good ? argument(m, IR_T_TENSOR, 2) : NULL};
  return ir_build0(&b, "tessera.schedule.return", 1, v) ? NULL : st_oom();
}

static tsr_status schedule_attribute(ir_module *m, bool good) {
  ir_builder b = at_end(m);
  ir_op *op = ir_op_new(&b, ir_find_op("tessera.schedule.kernel"), 0, NULL, 0, NULL, 1);
  return op && ir_set_attr(op, "family", good ? ir_attr_str(m, "copy") : NULL) ? NULL : st_oom();
}

static tsr_status tile_infers(ir_module *m, bool good) {
  ir_builder b = at_end(m);
  ir_value *v[1] = {argument(m, IR_T_VIEW, good ? 2 : 0)};
  return ir_build1(&b, "tessera.tile.load", NULL, 1, v) ? NULL : st_oom();
}

static tsr_status tile_type(ir_module *m, bool good) {
  ir_builder b = at_end(m);
  return ir_build1(&b, "tessera.tile.fill", good ? argument(m, IR_T_FRAG, 2)->type : NULL, 0, NULL) ? NULL : st_oom();
}

static tsr_status target_infers(ir_module *m, bool good) {
  ir_builder b = at_end(m);
  ir_value *v[1] = {argument(m, IR_T_VECTOR, good ? 1 : 0)};
  return ir_build1(&b, "tessera.target.extract", NULL, 1, v) ? NULL : st_oom();
}

/* Sticky: what comes after the first refusal is refused too, and the first is told. */
static tsr_status target_chain(ir_module *m, bool good) {
  ir_builder b = at_end(m);
  ir_value *x = argument(m, IR_T_VECTOR, 0), *y = good ? x : NULL;
  for (int i = 0; i < 3; i++)
    y = ir_build1(&b, i ? "tessera.target.mul" : "tessera.target.add", NULL, 2, (ir_value *[]){x, y});
  return ir_build0(&b, "tessera.target.return", 1, &y) ? NULL : st_oom();
}

static const struct {
  request ask;
  const char *level, *op, *says;
} rows[] = {
    {graph_shapes, "graph", "tessera.graph.matmul", "pass built what can't be"},
    {graph_operand, "graph", "tessera.graph.add", "operand 1 is missing"},
    {schedule_operand, "schedule", "tessera.schedule.return", "operand 0 is missing"},
    {schedule_attribute, "schedule", "tessera.schedule.kernel", "attribute \"family\" has no value"},
    {tile_infers, "tile", "tessera.tile.load", "pass built what can't be"},
    {tile_type, "tile", "tessera.tile.fill", "the result has no type"},
    {target_infers, "target", "tessera.target.extract", "operand 0 must be a vector"},
    {target_chain, "target", "tessera.target.add", "operand 1 is missing"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* ---- memory that ends ------------------------------------------------------------------------------------------- */

typedef struct meter {
  long left, live;
} meter;

static void *metered(void *user, size_t size, size_t align) {
  meter *m = user;
  if (m->left-- <= 0) return NULL;
  m->live++;
  return al_default.alloc(NULL, size, align);
}

static void metered_free(void *user, void *p, size_t size, size_t align) {
  ((meter *)user)->live -= p != NULL;
  al_default.free(NULL, p, size, align);
}

static tsr_status tried(request ask, bool good, const tsr_allocator *al) {
  ir_module *m;
  TSR_TRY(ir_module_create(al, &m));
  tsr_status st = ask(m, good);
  if (st) st = ir_cause(m, NULL, st);
  ir_module_destroy(&m);
  return st;
}

static void requests_that_cannot_be_name_the_op(void **state) {
  for (int i = 0; i < N_ROWS; i++) {
    tsr_status st = tried(rows[i].ask, false, NULL);
    if (tsr_status_code(st) != TSR_INTERNAL) fail_msg("%s: %s", rows[i].op, tsr_status_message(st));
    assert_string_equal(tsr_status_op(st), rows[i].op);
    assert_string_equal(tsr_status_level(st), rows[i].level);
    if (!strstr(tsr_status_cause(st), rows[i].says)) fail_msg("%s: %s", rows[i].op, tsr_status_message(st));
    tsr_status_free(st);
  }
}

/* Chunks of the arena are large, so a module that is nearly full is built first; the fill ends anywhere in the request.
 */
static tsr_status crowded(request ask, size_t used, const tsr_allocator *al) {
  ir_module *m;
  TSR_TRY(ir_module_create(al, &m));
  size_t room = m->arena.cap - m->arena.used;
  tsr_status st = used < room && !arena_alloc(&m->arena, room - used) ? st_oom() : NULL;
  if (!st) st = ask(m, true);
  if (st) st = ir_cause(m, NULL, st);
  ir_module_destroy(&m);
  return st;
}

static void failed_allocations_are_out_of_memory(void **state) {
  for (int i = 0; i < N_ROWS; i++) {
    bool done = false;
    long failed = 0;
    if (rows[i].ask == tile_type) continue; /* reads a type of its argument */
    for (size_t used = 0; used < 4096; used += 64)
      for (long n = done = 0; !done; n++) {
        meter mt = {n, 0};
        const tsr_allocator al = {metered, metered_free, &mt};
        tsr_status st = crowded(rows[i].ask, used, &al);
        done = !st;
        failed += !done;
        if (st && tsr_status_code(st) != TSR_OUT_OF_MEMORY) fail_msg("%s: %s", rows[i].op, tsr_status_message(st));
        tsr_status_free(st);
        assert_int_equal(mt.live, 0);
      }
    assert_true(failed > 64);
  }
}

/* ---- passes ----------------------------------------------------------------------------------------------------- */

static tsr_status hook(void *user, ir_module *m) {
  return user ? ((request)(*(request *)user))(m, false) : st_oom(); /* NULL for no reason that was kept */
}

static tsr_status run(const tsr_allocator *al, request ask) {
  static const char text[] = "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<8x8xf32>):\n%0 = \"tessera.graph.neg\"(%A)\n"
                             "\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n";
  ir_module *levels[TSR_LEVEL_TARGET + 1] = {0};
  const tsr_caps caps = {.dialect = DIALECT_CPU, .n_cores = 1, .max_threads = 1, .vector_bytes = 32};
  const pipeline p = {.levels = levels,
                      .caps = &caps,
                      .options = {.disable = ""},
                      .policy = "fast",
                      .by_hand = hook,
                      .user = ask ? (void *)&ask : NULL};
  TSR_TRY(ir_parse(al, text, sizeof text - 1, "text", &levels[TSR_LEVEL_GRAPH]));
  tsr_status st = pipeline_run(&p, TSR_LEVEL_GRAPH);
  for (int i = 0; i <= TSR_LEVEL_TARGET; i++) ir_module_destroy(&levels[i]);
  return st;
}

static void a_pass_that_is_refused_is_an_internal_error(void **state) {
  tsr_status st = run(NULL, schedule_operand);
  assert_int_equal(tsr_status_code(st), TSR_INTERNAL);
  assert_string_equal(tsr_status_op(st), "tessera.schedule.return");
  tsr_status_free(st);
  st = run(NULL, NULL);
  assert_int_equal(tsr_status_code(st), TSR_INTERNAL);
  assert_non_null(strstr(tsr_status_cause(st), "kept no reason"));
  tsr_status_free(st);
}

/* What failed before a pass began is no excuse of its own. */
static void an_earlier_failure_of_memory_is_forgotten(void **state) {
  meter none = {0, 0};
  const tsr_allocator al = {metered, metered_free, &none};
  assert_null(al_alloc(&al, 1, 16));
  tsr_status st = run(NULL, NULL);
  assert_int_equal(tsr_status_code(st), TSR_INTERNAL);
  tsr_status_free(st);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(requests_that_cannot_be_name_the_op),
      cmocka_unit_test(failed_allocations_are_out_of_memory),
      cmocka_unit_test(a_pass_that_is_refused_is_an_internal_error),
      cmocka_unit_test(an_earlier_failure_of_memory_is_forgotten),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
