/* Tests of how compilation grows: programs of every kind of chain compile on each architecture, and twice the length
 * takes twice the memory and twice the searches, counted and not timed. What is equal is compiled once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ir/graph/ops.h"
#include "core/passes/graph/canonical.h"
#include "core/passes/graph/fuse.h"
#include "core/passes/graph/simplify.h"
#include "core/runtime/internal.h"
#include "core/runtime/areas.h"
#include "core/runtime/program_memory.h"
#include "tests/support/chain_text.h"

/* ---- counting -------------------------------------------------------------------------------------------------- */

typedef struct counts { size_t bytes, calls, live, peak; } counts;

static void *counted_alloc(void *user, size_t size, size_t align) {
  counts *c = user;
  c->bytes += size;
  c->calls++;
  c->live += size;
  if (c->live > c->peak) c->peak = c->live;
  return al_default.alloc(NULL, size, align);
}

static void counted_free(void *user, void *p, size_t size, size_t align) {
  counts *c = user;
  if (p) c->live -= size;
  al_default.free(NULL, p, size, align);
}

static void check(tsr_status st) {
  if (st) fail_msg("%s", tsr_status_message(st));
}

static tsr_program *compile(tsr_context **ctx, tsr_device **dev, const char *device, const tsr_allocator *al,
                            chain_kind kind, int n) {
  strb text;
  tsr_program *p;
  strb_init(&text, NULL);
  chain_text(kind, n, &text);
  assert_true(strb_ok(&text));
  check(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .allocator = al}, ctx));
  check(tsr_device_open(*ctx, device, dev));
  tsr_status st = tsr_program_parse(*dev, strb_text(&text), text.n, "chain", NULL, &p);
  if (st) fail_msg("%s of %d on %s: %s", chain_name(kind), n, device, tsr_status_message(st));
  strb_clear(&text);
  return p;
}

static void drop(tsr_context **ctx, tsr_device **dev, tsr_program **p) {
  tsr_program_destroy(p);
  tsr_device_close(dev);
  tsr_context_destroy(ctx);
}

static counts measure(chain_kind kind, int n) {
  counts c = {0};
  tsr_allocator al = {counted_alloc, counted_free, &c};
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p = compile(&ctx, &dev, "null:spirv", &al, kind, n);
  drop(&ctx, &dev, &p);
  assert_int_equal(c.live, 0);
  return c;
}

/* ---- cases ----------------------------------------------------------------------------------------------------- */

/* Three times the ops: three times as much, and half of that more for tables that grow by doubling. A square would be
 * nine times. */
static void chains_of_any_kind_take_memory_linearly(void **state) {
  for (int k = 0; k < N_CHAINS; k++) {
    counts one = measure((chain_kind)k, 2000), three = measure((chain_kind)k, 6000);
    if (three.bytes > 4.5 * (double)one.bytes || three.peak > 4.5 * (double)one.peak ||
        three.calls > 4.5 * (double)one.calls)
      fail_msg("%s: %zu bytes, %zu at once, %zu calls for 2000 ops; %zu, %zu, %zu for 6000", chain_name((chain_kind)k),
               one.bytes, one.peak, one.calls, three.bytes, three.peak, three.calls);
  }
}

static void long_chains_compile_for_every_architecture(void **state) {
  static const char *const devices[] = {"cpu:0", "null:spirv", "cuda:sm_90a", "hip:gfx942"};
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++)
    for (int k = 0; k < N_CHAINS; k++) {
      tsr_context *ctx;
      tsr_device *dev;
      tsr_program *p = compile(&ctx, &dev, devices[d], NULL, (chain_kind)k, 3000);
      drop(&ctx, &dev, &p);
    }
}

/* One layer's kernels differ; those of the next are the same, but for the first and the last of all. */
static void equal_kernels_are_compiled_once(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *two = compile(&ctx, &dev, "cpu:0", NULL, CHAIN_LAYERS, 20);
  int kernels = two->desc.n_kernels;
  drop(&ctx, &dev, &two);
  tsr_program *many = compile(&ctx, &dev, "cpu:0", NULL, CHAIN_LAYERS, 500);
  assert_int_equal(many->desc.n_kernels, kernels);
  assert_true(many->n_launches >= 50 * 5);
  drop(&ctx, &dev, &many);
}

/* Searches between groups that are to be merged look at the stretch between them, however long the function is. */
static void fusion_looks_at_a_bounded_stretch_for_each_op(void **state) {
  for (int k = 0; k < N_CHAINS; k++) {
    strb text;
    ir_module *m;
    graph_groups g;
    int n = 6000;
    strb_init(&text, NULL);
    chain_text((chain_kind)k, n, &text);
    check(ir_parse(NULL, strb_text(&text), text.n, "chain", &m));
    ir_op *func = graph_find_func(m, NULL);
    check(graph_simplify_module(m, NULL));
    check(graph_canonicalize(func, &(pass_options){0}));
    check(graph_fuse(func, &(pass_options){0}, &g));
    if (g.order.looked_at > 16 * (int64_t)n)
      fail_msg("%s: %lld nodes looked at for %d ops", chain_name((chain_kind)k), (long long)g.order.looked_at, n);
    for (int i = 0; i < g.n; i++) assert_true(g.v[i].work <= SCHED_MOST_WORK);
    graph_groups_clear(&g);
    ir_module_destroy(&m);
    strb_clear(&text);
  }
}

/* ---- the plan, against its definition -------------------------------------------------------------------------- */

enum { BINDINGS = 40, LAUNCHES = 200, TOUCHED = 4 };

static uint64_t seed = 11;
static int draw(int n) {
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return (int)((seed >> 33) % (uint64_t)n);
}

static bool meet(const rt_binding *a, const rt_binding *b) {
  if (a == b) return true;
  return a->kind == BINDING_TEMP && b->kind == BINDING_TEMP && a->offset < b->offset + b->bytes &&
         b->offset < a->offset + a->bytes;
}

static bool depends(const tsr_program *p, const rt_launch *a, const rt_launch *b) {
  for (int i = 0; i < a->n_bindings; i++)
    for (int k = 0; k < b->n_bindings; k++)
      if ((i >= a->n_bindings - a->n_outputs || k >= b->n_bindings - b->n_outputs) &&
          meet(&p->bindings[a->bindings[i]], &p->bindings[b->bindings[k]]))
        return true;
  return false;
}

static void waits_are_the_direct_dependencies(void **state) {
  for (int round = 0; round < 20; round++) {
    static bool reach[LAUNCHES][LAUNCHES];
    tsr_context ctx = {.al = al_default};
    rt_binding bindings[BINDINGS];
    rt_launch launches[LAUNCHES];
    int touched[LAUNCHES][TOUCHED];
    tsr_program p = {
        .ctx = &ctx, .bindings = bindings, .n_bindings = BINDINGS, .launches = launches, .n_launches = LAUNCHES};
    arena_init(&p.arena, NULL);
    for (int i = 0; i < BINDINGS; i++)
      bindings[i] = (rt_binding){.kind = i % 4 ? BINDING_TEMP : BINDING_INPUT,
                           .offset = 256u * (unsigned)draw(30),
                           .bytes = 256u * (unsigned)(1 + draw(4))};
    for (int i = 0; i < LAUNCHES; i++) {
      launches[i] = (rt_launch){.bindings = touched[i], .n_bindings = 1 + draw(TOUCHED), .n_outputs = 1};
      for (int k = 0; k < TOUCHED; k++) touched[i][k] = draw(BINDINGS);
    }
    memset(reach, 0, sizeof reach);
    check(rt_make_waits(&p));
    for (int i = 0; i < LAUNCHES; i++) {
      int n = 0;
      for (int k = i; k-- > 0;) {
        if (reach[i][k] || !depends(&p, &launches[k], &launches[i])) continue;
        assert_true(n < launches[i].n_waits);
        assert_int_equal(launches[i].waits[n++], k);
        reach[i][k] = true;
        for (int j = 0; j < k; j++) reach[i][j] |= reach[k][j];
      }
      assert_int_equal(n, launches[i].n_waits);
    }
    arena_clear(&p.arena);
  }
}

/* Areas whose times meet never share bytes, and none lies higher than the lowest free place. */
static void check_areas(int n, int longest) {
  struct { int64_t start, end, offset, bytes; } *taken = calloc((size_t)n, sizeof *taken);
  rt_areas a = {.al = &al_default};
  assert_non_null(taken);
  for (int i = 0; i < n; i++) {
    int64_t start = i / 2, end = start + draw(longest), bytes = 256 * draw(9);
    int64_t at = rt_areas_take(&a, start, end, bytes), lowest = 0;
    for (bool moved = true; moved && bytes;) {
      moved = false;
      for (int k = 0; k < i; k++)
        if (taken[k].end >= start && taken[k].bytes && lowest < taken[k].offset + taken[k].bytes &&
            taken[k].offset < lowest + bytes)
          lowest = taken[k].offset + taken[k].bytes, moved = true;
    }
    assert_int_equal(at, lowest);
    taken[i].start = start, taken[i].end = end, taken[i].offset = at, taken[i].bytes = bytes;
  }
  assert_true(a.n < 4 * (size_t)longest && a.used < 4 * (size_t)longest); /* what is over is forgotten */
  rt_areas_clear(&a);
  free(taken);
}

static void areas_are_disjoint_while_they_live(void **state) {
  check_areas(800, 20);
  check_areas(800, 400);
}

/* Half a million that live at once: a scan of all for each would not end. */
static void areas_may_be_many(void **state) {
  enum { N = 500000 };
  rt_areas a = {.al = &al_default};
  for (int i = 0; i < N; i++) assert_int_equal(rt_areas_take(&a, i, 2 * N - i, 256), 256 * (int64_t)i);
  for (int i = N; i < 2 * N; i++) assert_true(rt_areas_take(&a, i, i, 256) >= 0);
  assert_int_equal(a.total, 256 * (int64_t)(N + 1));
  rt_areas_clear(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_of_any_kind_take_memory_linearly),
      cmocka_unit_test(long_chains_compile_for_every_architecture),
      cmocka_unit_test(equal_kernels_are_compiled_once),
      cmocka_unit_test(fusion_looks_at_a_bounded_stretch_for_each_op),
      cmocka_unit_test(waits_are_the_direct_dependencies),
      cmocka_unit_test(areas_are_disjoint_while_they_live),
      cmocka_unit_test(areas_may_be_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
