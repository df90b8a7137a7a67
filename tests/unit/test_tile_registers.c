/* Temporaries of a kernel are register fragments: Tile IR that the library makes has no scratch buffers between the
 * operations of one kernel. Shared tiles only stage operands that come from memory, as they are or by a product's
 * prologue; no argument is written and read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/ir/ir.h"
#include "core/ir/tile/contract.h"
#include "core/ir/tile/tile.h"
#include "tests/conformance/random_graph.h"

static const char *const devices[] = {"cpu:0", "null:spirv", "cuda:sm_80", "cuda:sm_90a", "hip:gfx942", "hip:gfx1100"};
enum { READ = 1, WRITTEN = 2, GRAPHS = 240 };

typedef struct counts {
  int kernels, fragments, staged;
  char wrong[256]; /* the first scratch buffer, "" if none */
} counts;

/* The kernel's argument or the alloc behind windows and views. */
static ir_value *root_of(ir_value *v) {
  while (v->def && (v->def->def->flags & IR_VIEWLIKE)) v = v->def->operands[0];
  return v;
}

static bool in_memory(const ir_value *v) { return v->type->kind == IR_T_VIEW || v->type->kind == IR_T_SHARED; }

static void note_written(const ir_op *op, ir_value *to, const ir_value *from, counts *c) {
  ir_value *root = root_of(to);
  bool staged = to->type->kind == IR_T_SHARED && from && from->type->kind == IR_T_VIEW;
  root->scratch |= WRITTEN;
  c->staged += staged;
  if (to->type->kind == IR_T_SHARED && !staged && !c->wrong[0])
    snprintf(c->wrong, sizeof c->wrong, "%s writes a shared tile, not from memory", op->def->name);
}

/* The memory that a fragment is read from, with a product's prologue on the way: a map of it alone. */
static ir_value *loaded(const ir_value *v) {
  const ir_op *map = v->def,
              *load = map && map->def->code == T_MAP && map->n_operands == 1 ? map->operands[0]->def : NULL;
  return load && load->def->code == T_LOAD ? load->operands[0] : NULL;
}

/* The sum is a fragment; what the epilogue reads and writes is memory, or fragments. */
static tsr_status note_contract(const ir_op *op, counts *c) {
  tile_contract x;
  TSR_TRY(tile_contract_get(op, &x));
  c->fragments++;
  for (int role = CONTRACT_A; role < CONTRACT_N_ROLES; role++)
    for (int i = 0; i < x.n[role]; i++) {
      if (role == CONTRACT_OUT) note_written(op, x.v[role][i], NULL, c);
      else if (in_memory(x.v[role][i])) root_of(x.v[role][i])->scratch |= READ;
    }
  return NULL;
}

static tsr_status note(ir_op *op, void *user) {
  counts *c = user;
  if (op->def->level != IR_TILE || (op->def->flags & IR_VIEWLIKE)) return NULL;
  if (op->def->code == T_CONTRACT) return note_contract(op, c);
  for (int i = 0; i < op->n_results; i++) c->fragments += op->results[i]->type->kind == IR_T_FRAG;
  int to = op->def->code == T_STORE || op->def->code == T_COPY || op->def->code == T_SCATTER ||
                   op->def->code == T_DFT ||
                   (op->def->code == T_GATHER && op->n_operands == 2)
               ? 1
               : -1;
  for (int i = 0; i < op->n_operands; i++) {
    if (!in_memory(op->operands[i])) continue;
    if (ir_get_bool(op, "owned", false)) continue; /* what a scatter or gemm adds to is its result, no temporary */
    if (i == to)
      note_written(op, op->operands[i], in_memory(op->operands[0]) ? op->operands[0] : loaded(op->operands[0]), c);
    else root_of(op->operands[i])->scratch |= READ;
  }
  return NULL;
}

static void check_module(ir_module *m, counts *c) {
  for (ir_op *k = m->root->regions[0]->first; k; k = k->next) {
    if (k->def->level != IR_TILE || k->def->code != T_KERNEL) continue;
    ir_block *body = k->regions[0];
    for (int i = 0; i < body->n_args; i++) body->args[i]->scratch = 0;
    assert_null(ir_walk(k, note, c));
    c->kernels++;
    for (int i = 0; i < body->n_args; i++)
      if (body->args[i]->scratch == (READ | WRITTEN) && !c->wrong[0])
        snprintf(c->wrong, sizeof c->wrong, "argument %d of %s is written and read again", i,
                 ir_get_str(k, "sym_name", ""));
  }
}

static void check_text(const char *text, const char *what, counts *c) {
  ir_module *m = NULL;
  tsr_status st = ir_parse(NULL, text, strlen(text), what, &m);
  if (st) fail_msg("%s: %s", what, tsr_status_message(st));
  check_module(m, c);
  if (c->wrong[0]) fail_msg("%s: %s\n%s", what, c->wrong, text);
  ir_module_destroy(&m);
}

static void check_graph(tsr_context *ctx, const char *id, const tsr_graph *g, const char *what, counts *c) {
  tsr_device *dev = NULL;
  tsr_program *p = NULL;
  char *text = NULL;
  tsr_status st = tsr_device_open(ctx, id, &dev);
  if (st) fail_msg("%s: %s", id, tsr_status_message(st));
  st = tsr_program_compile(dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p);
  if (!st) st = tsr_program_dump(p, TSR_LEVEL_TILE, &text, NULL);
  if (!st) check_text(text, what, c);
  else if (tsr_status_code(st) != TSR_UNSUPPORTED) fail_msg("%s: %s", what, tsr_status_message(st));
  tsr_status_free(st);
  if (text) tsr_text_free(ctx, &text);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
}

static void kernels_of_every_op_keep_temporaries_in_registers(void **state) {
  tsr_context *ctx = NULL;
  counts c = {0};
  rng r = {64};
  assert_null(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  for (int i = 0; i < GRAPHS; i++) {
    tsr_graph *g = NULL;
    char what[256];
    tsr_status st = random_graph(ctx, &r, i % random_graph_families(), &g, what, sizeof what);
    if (st) fail_msg("%s", tsr_status_message(st));
    check_graph(ctx, devices[(size_t)i / (size_t)random_graph_families() % (sizeof devices / sizeof *devices)], g, what,
                &c);
    tsr_graph_destroy(&g);
  }
  printf("%d kernels, %d fragments, %d copies into staged tiles\n", c.kernels, c.fragments, c.staged);
  assert_true(c.kernels > GRAPHS / 2 && c.fragments > 2 * c.kernels && c.staged > 0);
  tsr_context_destroy(&ctx);
}

static char *file_text(const char *path) {
  FILE *f = fopen(path, "rb");
  static char text[1 << 16];
  if (!f) fail_msg("%s is not there", path);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  return text;
}

static void golden_graphs_keep_temporaries_in_registers(void **state) {
  static const char *const graphs[] = {"tests/golden/levels/mlp_f16", "tests/golden/levels/attention",
                                       "tests/golden/levels/norms", "tests/golden/levels/moves", "examples/mlp"};
  tsr_context *ctx = NULL;
  assert_null(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
      counts c = {0};
      char path[512];
      tsr_graph *g = NULL;
      snprintf(path, sizeof path, TSR_SOURCE_DIR "/%s.mlir", graphs[i]);
      char *text = file_text(path);
      tsr_status st = tsr_graph_parse(ctx, text, strlen(text), path, &g);
      if (st) fail_msg("%s: %s", path, tsr_status_message(st));
      check_graph(ctx, devices[d], g, path, &c);
      assert_true(c.kernels > 0 && c.fragments > 0);
      tsr_graph_destroy(&g);
    }
  tsr_context_destroy(&ctx);
}

/* The check itself: a kernel by hand that puts what it computed into shared memory, or writes its result and reads it
 * again. */
static void scratch_buffers_are_seen(void **state) {
  static const char *const bodies[] = {
      "%s = \"tessera.tile.alloc\"() : () -> !tessera.shared<8xf32>\n\"tessera.tile.store\"(%f, %s)\n%g = \"tessera.tile.load\"(%s)\n\"tessera.tile.store\"(%g, %y)\n",
      "\"tessera.tile.store\"(%f, %y)\n%g = \"tessera.tile.load\"(%y)\n\"tessera.tile.store\"(%g, %y)\n"};
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    char text[1024];
    counts c = {0};
    ir_module *m = NULL;
    snprintf(text, sizeof text,
             "\"tessera.tile.kernel\"() ({\n^bb0(%%x: !tessera.view<8xf32>, %%y: !tessera.view<8xf32>):\n%%f = "
             "\"tessera.tile.load\"(%%x)\n%s\"tessera.tile.return\"()\n}) {sym_name = \"k\", grid = [1, 1, 1]}\n",
             bodies[i]);
    tsr_status st = ir_parse(NULL, text, strlen(text), "hand", &m);
    if (st) fail_msg("%s", tsr_status_message(st));
    check_module(m, &c);
    assert_true(c.kernels == 1 && c.wrong[0]);
    ir_module_destroy(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scratch_buffers_are_seen),
      cmocka_unit_test(golden_graphs_keep_temporaries_in_registers),
      cmocka_unit_test(kernels_of_every_op_keep_temporaries_in_registers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
