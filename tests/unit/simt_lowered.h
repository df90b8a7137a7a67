/* tests/unit/simt_lowered.h - for tests of what Tile IR becomes on SIMT devices: devices, the programs of tests/tile,
 * their kernels in Target IR and how many ops of a kind are in them. */
#ifndef TESTS_UNIT_SIMT_LOWERED_H
#define TESTS_UNIT_SIMT_LOWERED_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/ir/target/target.h"
#include "core/passes/simt/simt.h"

static inline tsr_caps device(tsr_dialect d, int subgroup) {
  tsr_caps c = {.dialect = d,
                .subgroup = subgroup,
                .max_threads = 1024,
                .vector_bytes = 16,
                .shared_bytes = 48 * 1024,
                .f16 = true,
                .f64 = true,
                .i8 = true,
                .i64 = true,
                .subgroup_shuffle = true,
                .full_subgroups = true};
  strcpy(c.arch, d == DIALECT_SPIRV ? "spirv1.6" : d == DIALECT_CUDA ? "sm_80" : "gfx942");
  for (int i = 0; i < 3; i++) c.max_grid[i] = 65535 * 1024;
  return c;
}

static inline ir_module *parse(const char *text, const char *file) {
  ir_module *m = NULL;
  tsr_status st = ir_parse(NULL, text, strlen(text), file, &m);
  if (st) fail_msg("%s", tsr_status_message(st));
  return m;
}

static inline ir_module *program(const char *name) {
  static char text[1 << 16];
  char path[512];
  snprintf(path, sizeof path, "%s/tests/tile/%s.mlir", TSR_SOURCE_DIR, name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  return parse(text, name);
}

static inline ir_module *lower(ir_module *m, tsr_caps caps) {
  ir_module *t = NULL;
  tsr_status st = tile_to_simt(m, &caps, &t);
  if (st) fail_msg("%s", tsr_status_message(st));
  return t;
}

static inline ir_op *kernel_of(ir_module *m) {
  for (ir_op *op = m->root->regions[0]->first; op; op = op->next)
    if (strstr(op->def->name, ".kernel")) return op;
  fail_msg("no kernel");
  return NULL;
}

typedef struct counter { int code, lanes, n; } counter;

static inline tsr_status count_one(ir_op *op, void *user) {
  counter *c = user;
  if (op->def->level != IR_TARGET || op->def->code != c->code) return NULL;
  const ir_type *t = op->n_results ? op->results[0]->type : op->n_operands ? op->operands[0]->type : NULL;
  int lanes = t && t->kind == IR_T_VECTOR ? (int)t->dims[0] : 1;
  if (!c->lanes || c->lanes == lanes) c->n++;
  return NULL;
}

/* Ops of a code within op; lanes = 0 counts any width. */
static inline int count(ir_op *op, int code, int lanes) {
  counter c = {code, lanes, 0};
  assert_null(ir_walk(op, count_one, &c));
  return c.n;
}

static inline ir_op *first(ir_op *op, int code) {
  if (op->def->level == IR_TARGET && op->def->code == code) return op;
  for (int r = 0; r < op->n_regions; r++)
    for (ir_op *o = op->regions[r]->first; o; o = o->next) {
      ir_op *f = first(o, code);
      if (f) return f;
    }
  return NULL;
}

static inline tsr_caps with_matrices(int subgroup, int size) {
  tsr_caps c = device(DIALECT_SPIRV, subgroup);
  c.coopmat = true;
  c.n_matrix = 1;
  c.matrix[0] = (tsr_matrix_shape){size, size, size, TSR_F16, TSR_F16, TSR_F32, SCOPE_SUBGROUP, true, ""};
  return c;
}

#endif
