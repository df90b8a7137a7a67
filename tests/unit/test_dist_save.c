/* Tensors of a mesh in a folder: what one mesh has saved any other one loads, padding and repeated parts apart; files
 * that are cut off, broken or of another save are one clear error, and a save that was stopped leaves the last one. */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/dist_rig.h"

enum { TENSORS = 5, MOST = 512 };

static dist_rig rig;
static char folder[64];

static int open_rig(void **state) {
  strcpy(folder, "/tmp/tsr_save_XXXXXX");
  return rig_open(&rig), mkdtemp(folder) ? 0 : -1;
}
static int close_rig(void **state) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  return rig_close(&rig), system(command);
}

static const char *const names[TENSORS] = {"weights", "odd", "scalar", "none", "one"};
static const tsr_shape shapes[TENSORS] = {{2, {8, 12}}, {3, {5, 3, 7}}, {.rank = 0}, {2, {0, 4}}, {2, {1, 1}}};

/* Cut along the mesh's first axis by dimension i of tensor i, as far as there is one; along its second by the next. */
static void make(tsr_mesh *m, const char *const *axes, int n_axes, tsr_dist_tensor **out) {
  static const char *const parts[] = {"0", "1"};
  for (int i = 0; i < TENSORS; i++) {
    const int n = shapes[i].rank < n_axes ? shapes[i].rank : n_axes;
    const tsr_shardspec s = {.partition = parts, .mesh_axes = axes, .n = n};
    assert_null(tsr_dist_tensor_create(m, i == 1 ? TSR_BF16 : TSR_F32, shapes[i], &s, TSR_UNEVEN_PAD, &out[i]));
  }
}

static void drop(tsr_dist_tensor **t) {
  for (int i = 0; i < TENSORS; i++) tsr_dist_tensor_destroy(&t[i]);
}

static void fill(char (*data)[MOST], int seed) {
  for (int i = 0; i < TENSORS; i++)
    for (int k = 0; k < MOST; k++) data[i][k] = (char)(seed * 31 + i * 7 + k * 3);
}

static size_t bytes_of(int i) {
  size_t n = i == 1 ? 2 : 4;
  for (int d = 0; d < shapes[i].rank; d++) n *= (size_t)shapes[i].dims[d];
  return n;
}

static tsr_status save(const char *mesh, const char *const *axes, int n_axes, int seed) {
  char data[TENSORS][MOST];
  tsr_dist_tensor *t[TENSORS];
  tsr_mesh *m = rig_mesh(&rig, mesh, 2);
  fill(data, seed);
  make(m, axes, n_axes, t);
  for (int i = 0; i < TENSORS; i++) assert_null(tsr_dist_tensor_scatter(t[i], data[i]));
  tsr_status st = tsr_dist_save(folder, names, t, TENSORS);
  drop(t);
  tsr_mesh_destroy(&m);
  return st;
}

/* What the folder has, on this mesh, is save's of `seed`. */
static tsr_status load(const char *mesh, const char *const *axes, int n_axes, int seed) {
  char data[TENSORS][MOST], back[MOST];
  tsr_dist_tensor *t[TENSORS];
  tsr_mesh *m = rig_mesh(&rig, mesh, 2);
  fill(data, seed);
  make(m, axes, n_axes, t);
  tsr_status st = tsr_dist_load(folder, names, t, TENSORS);
  for (int i = 0; i < TENSORS && !st; i++) {
    assert_null(tsr_dist_tensor_gather(t[i], back));
    assert_memory_equal(back, data[i], bytes_of(i));
  }
  drop(t);
  tsr_mesh_destroy(&m);
  return st;
}

static const char *const tp_dp[] = {"tp", "dp"}, *const dp_tp[] = {"dp", "tp"};

static void what_a_mesh_saves_another_loads(void **state) {
  static const struct { const char *mesh; const char *const *axes; int n; } meshes[] = {
      {"tp=2,dp=2", tp_dp, 2}, {"dp=3", dp_tp, 1}, {"dp=1", dp_tp, 1}, {"tp=5,dp=2", dp_tp, 2}, {"tp=4", tp_dp, 0}};
  const int n = sizeof meshes / sizeof *meshes;
  for (int from = 0; from < n; from++) {
    assert_null(save(meshes[from].mesh, meshes[from].axes, meshes[from].n, from));
    for (int to = 0; to < n; to++) assert_null(load(meshes[to].mesh, meshes[to].axes, meshes[to].n, from));
  }
}

static int64_t generation(void) {
  char path[128];
  long long g = -1;
  snprintf(path, sizeof path, "%s/index", folder);
  FILE *f = fopen(path, "r");
  assert_non_null(f);
  assert_int_equal(fscanf(f, "tessera parts 1 generation %lld", &g), 1);
  fclose(f);
  return g;
}

static void path_of(char *out, size_t cap, int64_t g, int file) {
  snprintf(out, cap, "%s/%lld-%d.parts", folder, (long long)g, file);
}

/* Files of the next generation without an index are as if they weren't there; those of the last are gone. */
static void a_save_that_was_stopped_leaves_the_one_before(void **state) {
  char path[128];
  assert_null(save("dp=2", dp_tp, 1, 3));
  const int64_t g = generation();
  path_of(path, sizeof path, g - 1, 0);
  assert_int_equal(access(path, F_OK), -1);
  path_of(path, sizeof path, g + 1, 0);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs("half", f);
  fclose(f);
  assert_null(load("dp=3", dp_tp, 1, 3));
  assert_null(save("dp=2", dp_tp, 1, 4));
  assert_null(load("dp=3", dp_tp, 1, 4));
}

/* Each byte of the heads changed, and each length: an error, or the same tensors. */
static void broken_files_are_errors(void **state) {
  char path[128], *whole;
  assert_null(save("dp=2", dp_tp, 1, 5));
  path_of(path, sizeof path, generation(), 1);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  assert_int_equal(fseek(f, 0, SEEK_END), 0);
  const long n = ftell(f);
  rewind(f);
  whole = malloc((size_t)n);
  assert_int_equal(fread(whole, 1, (size_t)n, f), n);
  fclose(f);
  int errors = 0;
  for (long i = 0; i < 2 * n; i += 3) {
    const long length = i < n ? n : i - n;
    if (i < n) whole[i] = (char)~whole[i];
    f = fopen(path, "wb");
    assert_int_equal(fwrite(whole, 1, (size_t)length, f), length);
    fclose(f);
    if (i < n) whole[i] = (char)~whole[i];
    char back[MOST];
    tsr_dist_tensor *t[TENSORS];
    tsr_mesh *m = rig_mesh(&rig, "dp=1", 1);
    make(m, dp_tp, 1, t);
    tsr_status st = tsr_dist_load(folder, names, t, TENSORS);
    if (!st) assert_null(tsr_dist_tensor_gather(t[0], back));
    if (st && i >= n) assert_non_null(strstr(tsr_status_message(st), "parts"));
    errors += st != NULL;
    assert_true(i < n || st);
    tsr_status_free(st);
    drop(t);
    tsr_mesh_destroy(&m);
  }
  assert_true(errors > n / 3);
  free(whole);
  assert_int_equal(unlink(path), 0);
  assert_true(rig_says(load("dp=1", dp_tp, 1, 5), "1.parts"));
}

static void what_can_not_be_is_refused(void **state) {
  tsr_mesh *m = rig_mesh(&rig, "dp=2", 1), *other = rig_mesh(&rig, "dp=2", 1);
  tsr_dist_tensor *t[TENSORS], *u[TENSORS];
  make(m, dp_tp, 1, t), make(other, dp_tp, 1, u);
  assert_true(rig_says(tsr_dist_load("/nowhere/at/all", names, t, TENSORS), "no index of saved tensors"));
  assert_true(rig_says(tsr_dist_save("/nowhere/at/all", names, t, TENSORS), "/nowhere/at/all"));
  assert_true(rig_says(tsr_dist_save(NULL, names, t, TENSORS), "folder"));
  assert_true(rig_says(tsr_dist_save(folder, names, t, 0), "no tensors"));
  assert_true(rig_says(tsr_dist_save(folder, (const char *[]){"a", "a"}, t, 2), "two tensors are called \"a\""));
  assert_true(rig_says(tsr_dist_save(folder, (const char *[]){""}, t, 1), "1 to 63 characters"));
  assert_true(rig_says(tsr_dist_save(folder, names, (tsr_dist_tensor *[]){t[0], u[1]}, 2), "of another mesh"));
  assert_null(tsr_dist_save(folder, names, t, 2));
  assert_true(rig_says(tsr_dist_load(folder, names, t, 3), "\"scalar\" are not there"));
  assert_true(rig_says(tsr_dist_load(folder, (const char *[]){"odd"}, t, 1), "another shape or type"));
  drop(t), drop(u);
  tsr_mesh_destroy(&m), tsr_mesh_destroy(&other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_a_mesh_saves_another_loads),
      cmocka_unit_test(a_save_that_was_stopped_leaves_the_one_before),
      cmocka_unit_test(broken_files_are_errors),
      cmocka_unit_test(what_can_not_be_is_refused),
  };
  return cmocka_run_group_tests(tests, open_rig, close_rig);
}
