/* Products in chunks of rows, each chunk's collective beside the next one's product: which are cut, the same bits as in
 * one piece, the order of their steps, and what the planner makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/dist/chunk.h"
#include "core/dist/order.h"
#include "tests/support/dist_rig.h"
#include "tests/support/graph_text.h"

static dist_rig rig;

static int open_rig(void **state) { return rig_open(&rig), 0; }
static int close_rig(void **state) { return rig_close(&rig), 0; }

/* Programs of a rank: %x and %w are those of all ranks, of which each takes its part of the sums. */
typedef struct form {
  const char *args, *product, *sum, *type;
  int rows; /* that a rank is left with: chunks divide them */
} form;

#define RANKS "axes = \"tp\", ranks = 2"
#define X(t) "%x: tensor<" t ">, %w: tensor<"
#define MM(attrs) "%m = \"tessera.graph.matmul\"(%p, %q) {" attrs "}\n"
#define SLICES(a, b)                                                                                                   \
  "%p = \"tessera.graph.shard_slice\"(%x) {" RANKS ", dim = " a "}\n"                                                  \
  "%q = \"tessera.graph.shard_slice\"(%w) {" RANKS ", dim = " b "}\n"
#define SUM(op, attrs) "%y = \"tessera.graph." op "\"(%m) {" RANKS attrs "}\n"
#define HALVES                                                                                                         \
  "%h = \"tessera.graph.reduce_scatter\"(%m) {" RANKS ", dim = 0}\n"                                                   \
  "%y = \"tessera.graph.all_gather\"(%h) {" RANKS ", dim = 0}\n"

static const form forms[] = {
    {X("48x32xf32") "32x24xf32>", SLICES("1", "0") MM(""), SUM("all_reduce", ""), "tensor<48x24xf32>", 48},
    {X("48x32xf32") "32x24xf32>", SLICES("1", "0") MM(""), SUM("reduce_scatter", ", dim = 0"), "tensor<24x24xf32>", 24},
    {X("48x32xf32") "32x24xf32>", SLICES("1", "0") MM(""), SUM("reduce_scatter", ", dim = 1"), "tensor<48x12xf32>", 48},
    {X("48x32xf32") "32x24xf32>", SLICES("1", "0") MM(""), HALVES, "tensor<48x24xf32>", 24},
    {X("32x48xf32") "24x32xf32>", SLICES("0", "1") MM("transpose_a = true, transpose_b = true"),
     SUM("reduce_scatter", ", dim = 0"), "tensor<24x24xf32>", 24},
    {X("3x48x32xbf16") "32x24xbf16>", SLICES("2", "0") MM(""), SUM("reduce_scatter", ", dim = 1"),
     "tensor<3x24x24xbf16>", 24},
    {X("48x32xi32") "32x1xi32>", SLICES("1", "0") MM(""), SUM("all_reduce", ", reduction = \"max\""),
     "tensor<48x1xi32>", 48},
    {X("8x2xf16") "2x8xf16>", SLICES("1", "0") MM(""), SUM("reduce_scatter", ", dim = 0"), "tensor<4x8xf16>", 4},
    {X("1x64xf32") "64x48xf32>", SLICES("1", "0") MM(""), SUM("all_reduce", ""), "tensor<1x48xf32>", 1},
    {X("0x64xf32") "64x48xf32>", SLICES("1", "0") MM(""), SUM("all_reduce", ""), "tensor<0x48xf32>", 0},
    {X("16x8192xf32") "8192x64xf32>", SLICES("1", "0") MM(""), SUM("all_reduce", ""), "tensor<16x64xf32>", 16},
    {X("64x4096xbf16") "4096x33xbf16>", SLICES("1", "0") MM(""), HALVES, "tensor<64x33xbf16>", 32},
    {X("192x1024xf32") "1024x160xf32>", SLICES("1", "0") MM(""), HALVES, "tensor<192x160xf32>", 96},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

static tsr_graph *graph_of(const form *f) {
  char body[1024];
  snprintf(body, sizeof body, "%s%s", f->product, f->sum);
  return rig_graph(&rig, f->args, body, "%y", f->type);
}

static void fill(const tsr_tensor_info *t, void *data, uint64_t s) {
  const int64_t n = (int64_t)(t->bytes / tsr_dtype_size(t->dtype));
  for (int64_t k = 0; k < n; k++) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    const double u = (double)(s >> 11) / 9007199254740992.0;
    dtype_store(t->dtype, data, (size_t)k, dtype_is_float(t->dtype) ? 2 * u - 1 : (double)(int)(u * 1e9) - 5e8);
  }
}

/* What rank 1 gets, and how many collectives there were. */
static int run(const form *f, const tsr_dist_options *o, void **out, size_t *bytes) {
  tsr_graph *g = graph_of(f);
  tsr_mesh *m = rig_mesh(&rig, "tp=2", 2);
  tsr_dist_program *p;
  tsr_dist_tensor *in[2], *y;
  tsr_buffer *b;
  tsr_status st = tsr_dist_program_compile(m, g, o, &p);
  if (st) fail_msg("%s: %s", f->args, tsr_status_message(st));
  for (int i = 0; i < 2; i++) {
    const tsr_tensor_info t = tsr_graph_input_info(g, i);
    void *data = calloc(1, t.bytes + 8);
    fill(&t, data, 7 + (uint64_t)i);
    assert_null(tsr_dist_program_input(p, i, &in[i]));
    assert_null(tsr_dist_tensor_scatter(in[i], data));
    free(data);
  }
  assert_null(tsr_dist_program_output(p, 0, &y));
  for (int twice = 0; twice < 2; twice++) assert_null(tsr_dist_program_run(p, in, &y));
  assert_null(tsr_dist_tensor_local(y, 1, &b));
  *bytes = tsr_graph_output_info(g, 0).bytes;
  *out = calloc(1, *bytes + 8);
  if (*bytes) assert_null(tsr_buffer_read(b, 0, *out, *bytes));
  const int n = tsr_dist_program_n_collectives(p);
  for (int i = 0; i < n; i++) assert_true(tsr_dist_program_collective(p, i).overlapped_us >= 0);
  for (int i = 0; i < 2; i++) tsr_dist_tensor_destroy(&in[i]);
  tsr_dist_tensor_destroy(&y);
  tsr_dist_program_destroy(&p);
  tsr_mesh_destroy(&m);
  tsr_graph_destroy(&g);
  return n;
}

static void bits_are_those_of_one_piece(void **state) {
  static const int counts[] = {2, 3, 4, 8, 16};
  for (int i = 0; i < N_FORMS; i++)
    for (int way = 0; way < 2; way++) {
      tsr_dist_options o = {.compile = {.policy = TSR_POLICY_DETERMINISTIC}, .no_overlap = way, .row_chunks = 1};
      void *want, *have;
      size_t n, m;
      const int whole = run(&forms[i], &o, &want, &n);
      for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        o.row_chunks = counts[k];
        const int parts = run(&forms[i], &o, &have, &m);
        assert_int_equal(parts, forms[i].rows && forms[i].rows % counts[k] == 0 ? whole * counts[k] : whole);
        assert_int_equal(n, m);
        if (memcmp(have, want, n)) fail_msg("form %d in %d chunks: other bits", i, counts[k]);
        free(have);
      }
      free(want);
    }
}

static void chunks_that_cannot_be_are_refused(void **state) {
  tsr_graph *g = graph_of(&forms[0]);
  tsr_mesh *m = rig_mesh(&rig, "tp=2", 1);
  tsr_dist_program *p;
  assert_true(rig_says(tsr_dist_program_compile(m, g, &(tsr_dist_options){.row_chunks = -1}, &p), "-1 chunks"));
  tsr_mesh_destroy(&m);
  tsr_graph_destroy(&g);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

typedef struct planned {
  arena a;
  dist_machine machine;
  dist_mesh mesh;
  dist_links links;
  ir_module *m;
  dist_program p;
  int fired;
  double us;
} planned;

static void note(void *user, const ir_op *op, const char *rule, bool fired, const char *text) {
  assert_string_equal(rule, "chunks");
  ((planned *)user)->fired += fired && graph_is(op, G_MATMUL);
}

static double modelled(planned *x, const dist_schedule_options *o) {
  dist_schedule s;
  dist_estimate e;
  char why[256];
  assert_null(dist_schedule_make(x->p.func, o, &s));
  if (!dist_schedule_check(&s, why, sizeof why)) fail_msg("%s", why);
  assert_null(dist_estimate_make(&s.arena, &x->p, &s, &x->links, &e));
  dist_schedule_clear(&s);
  return e.us;
}

static void plan(planned *x, const char *text, const char *topology, int chunks) {
  const dist_notes notes = {note, x};
  *x = (planned){.us = 0};
  arena_init(&x->a, NULL);
  assert_null(dist_machine_find(&x->a, topology, NULL, 0, &x->machine));
  assert_null(dist_mesh_parse("tp=2", 0, &x->mesh));
  assert_null(dist_links_init(&x->links, &x->machine, &x->mesh));
  x->m = gt_parse(text);
  x->p = (dist_program){.m = x->m, .func = graph_find_func(x->m, NULL)};
  assert_null(dist_chunk(&x->p, &x->links, &(dist_chunk_options){.chunks = chunks}, &notes));
  assert_null(ir_verify(x->m));
  x->us = modelled(x, &(dist_schedule_options){0});
}

static void clear(planned *x) {
  ir_module_destroy(&x->m);
  dist_links_clear(&x->links);
  arena_clear(&x->a);
}

#define LARGE "%p: tensor<16384x8192xbf16>, %q: tensor<8192x8192xbf16>"

/* A large product over links is cut, a small one isn't; and nothing is where other computing hides the collective. */
static void the_planner_takes_what_is_faster(void **state) {
  static const struct {
    const char *args, *body, *results, *types;
    bool cut;
  } c[] = {{LARGE, MM("") SUM("all_reduce", ""), "%y", "tensor<16384x8192xbf16>", true},
           {LARGE, MM("") SUM("reduce_scatter", ", dim = 0"), "%y", "tensor<8192x8192xbf16>", true},
           {LARGE, MM("") HALVES, "%y", "tensor<16384x8192xbf16>", true},
           {"%p: tensor<64x32xbf16>, %q: tensor<32x32xbf16>", MM("") SUM("all_reduce", ""), "%y", "tensor<64x32xbf16>",
            false},
           {LARGE, MM("") SUM("all_reduce", "") "%a = \"tessera.graph.matmul\"(%p, %q)\n"
            "%z = \"tessera.graph.matmul\"(%a, %q)\n", "%y, %z",
            "tensor<16384x8192xbf16>, tensor<16384x8192xbf16>", false},
           {LARGE, MM("") "%e = \"tessera.graph.exp\"(%m)\n" SUM("all_reduce", ""), "%y, %e",
            "tensor<16384x8192xbf16>, tensor<16384x8192xbf16>", false}};
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    planned whole, chosen;
    const char *text = gt_func(c[i].args, c[i].body, c[i].results, c[i].types);
    plan(&whole, text, "pcie8", 1);
    plan(&chosen, text, "pcie8", 0);
    assert_int_equal(whole.fired, 0);
    int n = 0;
    for (const ir_op *op = chosen.p.func->regions[0]->first; op; op = op->next)
      n += graph_is_kind(op, GRAPH_COLLECTIVE) && ir_get_attr(op, "chunk");
    if ((n > 0) != c[i].cut)
      fail_msg("case %d: %d collectives of chunks, %g and %g us", (int)i, n, chosen.us, whole.us);
    if (c[i].cut) assert_true(chosen.us < whole.us && chosen.fired == 1);
    else assert_true(chosen.us == whole.us);
    clear(&whole), clear(&chosen);
  }
}

/* Each wait is needed, and the checker finds what is out of order without it. */
static void without_any_one_wait_something_is_out_of_order(void **state) {
  const char *const sums[] = {SUM("all_reduce", ""), SUM("reduce_scatter", ", dim = 0"), HALVES};
  static const char *const types[] = {"tensor<48x24xf32>", "tensor<24x24xf32>", "tensor<48x24xf32>"};
  for (int i = 0; i < 3; i++) {
    planned x;
    char body[512], why[256];
    dist_schedule s;
    int waits = 0, beside = 0;
    snprintf(body, sizeof body, "%s%s", MM(""), sums[i]);
    plan(&x, gt_func("%p: tensor<48x32xf32>, %q: tensor<32x24xf32>", body, "%y", types[i]), "nvl72", 4);
    assert_int_equal(x.fired, 1);
    assert_null(dist_schedule_make(x.p.func, &(dist_schedule_options){.bucket_bytes = 1 << 20}, &s));
    dist_before b = dist_before_make(&s.arena, &s);
    for (int k = 0; k < s.n_steps; k++) {
      dist_step *step = &s.steps[k];
      for (int o = 0; o < s.n_steps; o++)
        beside += step->kind == DIST_COMM && s.steps[o].kind == DIST_COMPUTE && !dist_is_before(&b, k, o) &&
                  !dist_is_before(&b, o, k);
      for (int w = 0; w < step->n_waits; w++, waits++) {
        const int gone = step->waits[w], last = step->waits[step->n_waits - 1];
        step->waits[w] = last, step->n_waits--;
        if (dist_schedule_check(&s, why, sizeof why)) fail_msg("step %d need not wait for %d", k, gone);
        step->waits[step->n_waits++] = last, step->waits[w] = gone;
      }
    }
    assert_true(waits >= 5 && beside >= 3); /* a wait a chunk and one of the join; a product beside all but the last */
    dist_schedule_clear(&s);
    clear(&x);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bits_are_those_of_one_piece),
      cmocka_unit_test(chunks_that_cannot_be_are_refused),
      cmocka_unit_test(the_planner_takes_what_is_faster),
      cmocka_unit_test(without_any_one_wait_something_is_out_of_order),
  };
  return cmocka_run_group_tests(tests, open_rig, close_rig);
}
