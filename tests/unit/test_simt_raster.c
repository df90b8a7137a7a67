/* tests/unit/test_simt_raster.c - the order in which blocks take tiles, computed by running the index code that is
 * emitted: every tile once; on CDNA 3 and later, the blocks that one die gets (every eighth of eight dies) take a run
 * of neighbouring tiles; within a run, groups of eight rows, rows first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/hip/backend.h"
#include "core/device/arch.h"
#include "core/passes/simt/matrix/operands.h"
#include "core/passes/simt/raster.h"

typedef struct place { int64_t x, y; } place;

static ir_value *args[2];
static int64_t known[2];

/* The value of index code over the two block numbers. */
static int64_t value_of(const ir_value *v) {
  for (int i = 0; i < 2; i++)
    if (v == args[i]) return known[i];
  const ir_op *op = v->def;
  const char *name = strrchr(op->def->name, '.') + 1;
  if (!strcmp(name, "const")) return ir_get_int(op, "value", -1);
  int64_t a = value_of(op->operands[0]), b = value_of(op->operands[1]);
  if (!strcmp(name, "add")) return a + b;
  if (!strcmp(name, "sub")) return a - b;
  if (!strcmp(name, "mul")) return a * b;
  if (!strcmp(name, "div")) return a / b;
  if (!strcmp(name, "rem")) return a % b;
  if (!strcmp(name, "shr")) return a >> b;
  if (!strcmp(name, "and")) return a & b;
  if (!strcmp(name, "min")) return a < b ? a : b;
  if (!strcmp(name, "compare")) return a < b;
  if (!strcmp(name, "select")) return a ? b : value_of(op->operands[2]);
  fail_msg("%s in index code", name);
  return 0;
}

/* cus: as the device says, 0 for the table's. */
static place *order_on(const char *arch, int cus, int64_t nx, int64_t ny) {
  tsr_caps caps;
  ir_module *m;
  assert_null(hip_backend.arch_caps(arch, &caps));
  if (cus) arch_set_processors(&caps, cus);
  assert_null(ir_module_create(&al_default, &m));
  tgb t = {m, ir_at_end(m, m->root->regions[0])};
  ir_value *block[2];
  for (int i = 0; i < 2; i++) args[i] = block[i] = tg_value(&t, "tessera.target.block_id", ir_type_index(m), 0, NULL);
  simt_raster_order(&t, &caps, nx, ny, block);
  assert_false(t.b.failed);
  place *p = calloc((size_t)(nx * ny), sizeof *p);
  for (int64_t i = 0; i < nx * ny; i++) {
    known[0] = i % nx, known[1] = i / nx;
    p[i] = (place){value_of(block[0]), value_of(block[1])};
  }
  ir_module_destroy(&m);
  return p;
}

static place *order_of(const char *arch, int64_t nx, int64_t ny) { return order_on(arch, 0, nx, ny); }

/* Number of a tile in groups of eight rows, rows first. */
static int64_t rank_of(place p, int64_t nx, int64_t ny) {
  int64_t band = p.y / 8, height = ny - band * 8 < 8 ? ny - band * 8 : 8;
  return band * 8 * nx + p.x * height + p.y % 8;
}

static void every_tile_is_taken_once(void **state) {
  static const int64_t grids[][2] = {{16, 16}, {8, 8}, {11, 9}, {3, 41}, {64, 5}};
  static const char *const archs[] = {"gfx90a", "gfx942", "gfx950", "gfx1100"};
  for (int a = 0; a < 4; a++)
    for (int g = 0; g < 5; g++) {
      int64_t nx = grids[g][0], ny = grids[g][1];
      place *p = order_of(archs[a], nx, ny);
      char *taken = calloc((size_t)(nx * ny), 1);
      for (int64_t i = 0; i < nx * ny; i++) {
        assert_in_range(p[i].x, 0, nx - 1);
        assert_in_range(p[i].y, 0, ny - 1);
        assert_false(taken[p[i].y * nx + p[i].x]++);
      }
      free(taken);
      free(p);
    }
}

static void each_die_gets_neighbouring_tiles(void **state) {
  static const char *const archs[] = {"gfx942", "gfx950"};
  for (int a = 0; a < 2; a++) {
    place *p = order_of(archs[a], 16, 16);
    for (int64_t i = 8; i < 256; i++) assert_int_equal(rank_of(p[i], 16, 16), rank_of(p[i - 8], 16, 16) + 1);
    free(p);
  }
  place *one = order_of("gfx90a", 16, 16);
  for (int64_t i = 1; i < 256; i++) assert_int_equal(rank_of(one[i], 16, 16), rank_of(one[i - 1], 16, 16) + 1);
  free(one);
}

/* MI300A has six dies, a partition of CPX mode one; 250 tiles are no multiple of six: the last four stay. */
static void dies_are_as_many_as_the_device_has(void **state) {
  static const struct { int cus, dies; } parts[] = {{304, 8}, {228, 6}, {38, 1}};
  for (int i = 0; i < 3; i++) {
    int dies = parts[i].dies;
    place *p = order_on("gfx942", parts[i].cus, 25, 10);
    char taken[250] = {0};
    for (int64_t b = 0; b < 250; b++) assert_false(taken[p[b].y * 25 + p[b].x]++);
    for (int64_t b = dies; b < 250 / dies * dies; b++)
      assert_int_equal(rank_of(p[b], 25, 10), rank_of(p[b - dies], 25, 10) + 1);
    for (int64_t b = 250 / dies * dies; b < 250; b++) assert_int_equal(rank_of(p[b], 25, 10), b);
    free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_tile_is_taken_once),
                                     cmocka_unit_test(each_die_gets_neighbouring_tiles),
                                     cmocka_unit_test(dies_are_as_many_as_the_device_has)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
