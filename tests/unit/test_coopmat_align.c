/* Where cooperative matrices lie in memory, on every recorded device and for each of its shapes: address and stride are
 * multiples of the lesser of 16 bytes and a row of that matrix (a column where it is column-major),
 * VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986; spirv-val can't see it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "core/ir/target/target.h"
#include "core/passes/simt/simt.h"
#include "tests/support/recorded.h"
#include "tests/support/tile_gen.h"

static int seen, seen_from_global;
static const char *device_name;

static tsr_status check(ir_op *op, void *user) {
  bool load = op->def->code == TG_MAT_LOAD, store = op->def->code == TG_MAT_STORE;
  if (op->def->level != IR_TARGET || (!load && !store) || ir_get_attr(op, "tensor")) return NULL;
  const ir_type *t = load ? op->results[0]->type : op->operands[0]->type;
  bool col = !strcmp(ir_get_str(op, "layout", "row"), "col");
  int64_t need = t->dims[col ? 0 : 1] * (int64_t)tsr_dtype_size(t->dtype), have = ir_get_int(op, "align", 0);
  if (need > 16) need = 16;
  if (have < need)
    fail_msg("%s, %s: %dx%d of %s, %s-major, lies at multiples of %d bytes, %d are needed", device_name,
             (const char *)user, (int)t->dims[0], (int)t->dims[1], tsr_dtype_name(t->dtype), col ? "column" : "row",
             (int)have, (int)need);
  seen++;
  seen_from_global += load && op->operands[0]->def == NULL;
  return NULL;
}

static void product(const tsr_caps *caps, tile_matmul_case c) {
  ir_module *m = NULL, *t = NULL;
  char name[64];
  strb text;
  strb_init(&text, &al_default);
  snprintf(name, sizeof name, "%dx%dx%d_%s_%c%c%s", (int)c.m, (int)c.n, (int)c.k, tsr_dtype_name(c.in),
           c.ta ? 't' : 'n', c.tb ? 't' : 'n', c.direct ? "_direct" : "");
  c.name = name;
  tile_gen_matmul(&text, &c);
  tsr_status st = ir_parse(NULL, strb_text(&text), text.n, name, &m);
  if (!st) st = tile_to_simt(m, caps, &t);
  if (st && tsr_status_code(st) != TSR_UNSUPPORTED) fail_msg("%s, %s: %s", device_name, name, tsr_status_message(st));
  if (!st) tsr_status_free(ir_walk(t->root, check, name));
  tsr_status_free(st);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
  strb_clear(&text);
}

/* Pitches that are multiples of 16, 8 and 4 elements, operands either way, through shared tiles and straight from
 * memory. */
static void shape(const tsr_caps *caps, const tsr_matrix_shape *s) {
  static const int more[] = {0, 8, 4};
  for (int p = 0; p < 3; p++)
    for (int layout = 0; layout < 8; layout++)
      product(caps, (tile_matmul_case){.m = 2 * s->m * 4,
                                       .n = 2 * s->n * 4 + more[p],
                                       .k = 4 * s->k + more[p],
                                       .bm = 2 * s->m,
                                       .bn = 2 * s->n,
                                       .bk = s->k,
                                       .in = s->a,
                                       .out = s->c,
                                       .ta = layout & 1,
                                       .tb = layout & 2,
                                       .direct = layout & 4});
}

static void matrices_lie_where_vulkan_wants_them(void **state) {
  int n;
  const recorded_device *d = recorded_devices(&n);
  for (int i = 0; i < n; i++) {
    device_name = d[i].name;
    for (int k = 0; k < d[i].caps.n_matrix; k++)
      if (d[i].caps.matrix[k].scope == SCOPE_SUBGROUP) shape(&d[i].caps, &d[i].caps.matrix[k]);
  }
  printf("%d loads and stores of matrices, %d from global memory\n", seen, seen_from_global);
  assert_true(seen > 1000 && seen_from_global > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(matrices_lie_where_vulkan_wants_them)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
