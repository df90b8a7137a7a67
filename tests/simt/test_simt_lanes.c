/* tests/simt/test_simt_lanes.c - where the emulator's matrix instructions take and leave their elements, against
 * figures that are not ours: AMD's calculator (lanes_amd.txt) and CuTe's layouts (lanes_cute.txt). Matrices of small
 * whole numbers are dealt out to lanes by the figures; the instruction's result, gathered by them, must be the product.
 * (gfx950's deeper shapes are not in the calculator; f8f6f4 is right for products without scales only.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/str.h"
#include "tests/simt/simt.h"

enum { MAX_LANES = 128, MAX_VALUES = 64, MAX_MAPS = 32, MAX_INSTRUCTIONS = 40, MAX_SIDE = 64 };

typedef struct map { char name[16]; int lanes, values, at[MAX_LANES][MAX_VALUES]; } map;
typedef struct instruction { char kind[16], name[48], type[16], of[3][16]; int m, n, k; } instruction;
typedef struct figures { map maps[MAX_MAPS]; instruction list[MAX_INSTRUCTIONS]; int n_maps, n; } figures;

static void read_lane(map *m, const char *line) {
  int values = 0, first, step, count, used;
  assert_true(m->lanes < MAX_LANES);
  for (; sscanf(line, " %d:%d:%d%n", &first, &step, &count, &used) == 3; line += used)
    for (int i = 0; i < count; i++) {
      assert_true(values < MAX_VALUES);
      m->at[m->lanes][values++] = first + i * step;
    }
  m->lanes++;
  m->values = values;
}

static void read_figures(const char *file, figures *f) {
  char path[512], line[1024];
  snprintf(path, sizeof path, TSR_SOURCE_DIR "/tests/simt/%s", file);
  FILE *in = fopen(path, "r");
  assert_non_null(in);
  memset(f, 0, sizeof *f);
  while (fgets(line, sizeof line, in)) {
    instruction *x = &f->list[f->n];
    if (line[0] == '#') continue;
    if (sscanf(line, "instruction %15s %47s %d %d %d %15s %15s %15s %15s", x->kind, x->name, &x->m, &x->n, &x->k,
               x->type, x->of[0], x->of[1], x->of[2]) == 9)
      assert_true(++f->n < MAX_INSTRUCTIONS);
    else if (line[0] == 'm') {
      assert_true(f->n_maps < MAX_MAPS);
      sscanf(line, "%15s", f->maps[f->n_maps++].name);
    } else read_lane(&f->maps[f->n_maps - 1], line);
  }
  fclose(in);
  assert_true(f->n > 8);
}

/* NULL for an operand in shared memory. */
static const map *map_of(const figures *f, const char *name) {
  for (int i = 0; i < f->n_maps; i++)
    if (!strcmp(f->maps[i].name, name)) return &f->maps[i];
  assert_string_equal(name, "-");
  return NULL;
}

/* ---- element types ---- */

static const struct element { const char *name, *storage, *acc; int code, bytes; } elements[] = {
    {"f16", "f16", "float", EMU_F16, 2}, {"bf16", "bf16", "float", EMU_BF16, 2}, {"tf32", "float", "float", EMU_F32, 4}, {"f32", "float", "float", EMU_F32, 4}, {"f64", "double", "double", EMU_F64, 8},
    {"i8", "signed char", "int", EMU_I8, 1}, {"f8e4m3", "f8e4m3", "float", EMU_E4M3, 1}, {"f8e5m2", "f8e5m2", "float", EMU_E5M2, 1}, {"f8e4m3fnuz", "f8e4m3fnuz", "float", EMU_E4M3_FNUZ, 1}, {"f8e5m2fnuz", "f8e5m2fnuz", "float", EMU_E5M2_FNUZ, 1}};

static const struct element *element_of(const char *type) {
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
    if (!strcmp(elements[i].name, type)) return &elements[i];
  fail_msg("type %s", type);
  return NULL;
}

static void put(const struct element *e, void *p, int at, int v) {
  double d = v;
  float f = (float)v;
  int8_t i = (int8_t)v;
  uint32_t bits = e->bytes <= 2 && e->code != EMU_I8 ? emu_narrow(f, e->code) : 0;
  const void *from = e->code == EMU_F64   ? (const void *)&d
                     : e->code == EMU_F32 ? (const void *)&f
                     : e->code == EMU_I8  ? (const void *)&i
                                          : (const void *)&bits;
  memcpy((uint8_t *)p + at * e->bytes, from, (size_t)e->bytes);
}

static double got(const struct element *e, const void *p, int at) {
  return !strcmp(e->acc, "double") ? ((const double *)p)[at]
         : !strcmp(e->acc, "int")  ? ((const int *)p)[at]
                                   : ((const float *)p)[at];
}

/* ---- kernels ---- */

static const char *operand_type(const instruction *x) {
  return !strcmp(x->type, "f32")   ? "float"
         : !strcmp(x->type, "f64") ? "double"
         : !strcmp(x->type, "i8")  ? "signed char"
                                   : x->type;
}

/* Values of a lane lie side by side in memory, as bytes: the emulator's vectors are at most 16-aligned. */
static void put_kernel(strb *s, int i, const instruction *x, const map *a, const map *b, const map *d) {
  const struct element *e = element_of(x->type);
  const char *t = operand_type(x);
  bool wgmma = !strcmp(x->kind, "wgmma"), mma = !strcmp(x->kind, "mma");
  strb_printf(s, "KERNEL(%d) k%d(const unsigned char *a, const unsigned char *b, %s *d) {\n  int l = thread_id<0>();\n",
              d->lanes, i, e->acc);
  const char *ra = mma || wgmma ? "int" : e->storage;
  int unit = mma || wgmma ? 4 : e->bytes, na = a->values * e->bytes / unit, nb = b ? b->values * e->bytes / unit : 0;
  strb_printf(s,
              "  vec<%s, %d> fa;\n  for (int i = 0; i < %d; i++) ((unsigned char *)&fa)[i] = ld_global<unsigned "
              "char>(a + l * %d + i);\n",
              ra, na, a->values * e->bytes, a->values * e->bytes);
  if (b)
    strb_printf(s,
                "  vec<%s, %d> fb;\n  for (int i = 0; i < %d; i++) ((unsigned char *)&fb)[i] = ld_global<unsigned "
                "char>(b + l * %d + i);\n",
                ra, nb, b->values * e->bytes, b->values * e->bytes);
  if (wgmma) { /* b comes as [n][128 bytes], swizzled */
    strb_printf(s,
                "  SHARED_MEMORY(%d);\n  for (int i = l; i < %d; i += 128) st_shared(smem + i, ld_global<unsigned "
                "char>(b + i));\n  fence_async_proxy();\n  barrier();\n  %s acc[%d] = {};\n  wgmma_fence();\n",
                x->n * 128, x->n * 128, e->acc, d->values);
    strb_printf(s,
                "  wgmma_rs<%d, %d, %s, %s, 128, false>(acc, (const int *)fa.v, smem, 16, 1024);\n  wgmma_commit();\n  "
                "wgmma_wait<0>();\n",
                x->n, x->k, t, t);
  } else {
    strb_printf(s, "  vec<%s, %d> zero = {}, acc;\n", e->acc, d->values);
    strb_printf(s, "  acc = %s<%d, %d, %d, %s, %s>(fa, fb, zero);\n",
                mma                       ? "mma"
                : strstr(x->name, "mfma") ? "mfma"
                                          : "wmma",
                x->m, x->n, x->k, t, t);
  }
  strb_printf(s, "  for (int i = 0; i < %d; i++) st_global(d + l * %d + i, acc[i]);\n}\n", d->values, d->values);
}

static emu_module *build(const figures *f) {
  static char names[MAX_INSTRUCTIONS][16];
  const char *list[MAX_INSTRUCTIONS];
  char *log;
  strb s;
  strb_init(&s, NULL);
  strb_puts(&s, "#include \"" TSR_SOURCE_DIR "/tests/simt/kernels/types.h\"\nnamespace tsr {\n");
  for (int i = 0; i < f->n; i++) {
    const instruction *x = &f->list[i];
    put_kernel(&s, i, x, map_of(f, x->of[0]), map_of(f, x->of[1]), map_of(f, x->of[2]));
    snprintf(names[i], sizeof names[i], "k%d", i);
    list[i] = names[i];
  }
  strb_puts(&s, "}\n");
  emu_module *m = emu_compile(&(emu_compile_desc){.source = strb_text(&s), .kernels = list, .n_kernels = f->n}, &log);
  if (!m) fail_msg("%.2000s", log);
  strb_clear(&s);
  return m;
}

static void *room(size_t bytes) {
  void *p = aligned_alloc(128, (bytes + 127) / 128 * 128);
  assert_non_null(p);
  return memset(p, 0, (bytes + 127) / 128 * 128);
}

static int whole(int i) { return (int)((unsigned)i * 2654435761u >> 28) % 7 - 3; }

static void check(emu_module *module, const figures *f, int i) {
  static emu_report r;
  const instruction *x = &f->list[i];
  const struct element *e = element_of(x->type);
  const map *a = map_of(f, x->of[0]), *b = map_of(f, x->of[1]), *d = map_of(f, x->of[2]);
  int warp = !strncmp(x->kind, "cdna", 4) ? 64 : 32, acc = !strcmp(e->acc, "double") ? 8 : 4;
  size_t bytes[3] = {(size_t)(a->lanes * a->values * e->bytes),
                     b ? (size_t)(b->lanes * b->values * e->bytes) : (size_t)x->n * 128,
                     (size_t)(d->lanes * d->values * acc)};
  void *p[3] = {room(bytes[0]), room(bytes[1]), room(bytes[2])}, *args[3] = {&p[0], &p[1], &p[2]};
  for (int l = 0; l < a->lanes; l++)
    for (int v = 0; v < a->values; v++) put(e, p[0], l * a->values + v, whole(a->at[l][v]));
  for (int l = 0; b && l < b->lanes; l++)
    for (int v = 0; v < b->values; v++) put(e, p[1], l * b->values + v, whole(1000 + b->at[l][v]));
  for (int j = 0; !b && j < x->n; j++)
    for (int k = 0; k < x->k; k++)
      put(e, p[1], (j * 128 + (k * e->bytes / 16 ^ j % 8) * 16 + k * e->bytes % 16) / e->bytes,
          whole(1000 + k * x->n + j));
  emu_range ranges[3] = {{p[0], bytes[0], false}, {p[1], bytes[1], false}, {p[2], bytes[2], true}};
  char name[16];
  snprintf(name, sizeof name, "k%d", i);
  memset(&r, 0, sizeof r);
  assert_true(emu_run(module,
                      &(emu_run_desc){.kernel = name,
                                      .grid = {1},
                                      .block = {d->lanes},
                                      .warp = warp,
                                      .shared_bytes = b ? 16 : x->n * 128,
                                      .args = args,
                                      .n_args = 3,
                                      .ranges = ranges,
                                      .n_ranges = 3},
                      &r));
  if (r.n_findings) emu_report_print(&r, stderr);
  assert_int_equal(r.n_findings, 0);
  for (int l = 0; l < d->lanes; l++)
    for (int v = 0; v < d->values; v++) {
      int row = d->at[l][v] / x->n, column = d->at[l][v] % x->n, want = 0;
      for (int k = 0; k < x->k; k++) want += whole(row * x->k + k) * whole(1000 + k * x->n + column);
      if (got(e, p[2], l * d->values + v) != want)
        fail_msg("%s %s: value %d of lane %d is %g, not D[%d][%d] = %d", x->kind, x->name, v, l,
                 got(e, p[2], l * d->values + v), row, column, want);
    }
  for (int k = 0; k < 3; k++) free(p[k]);
}

static void check_all(const char *file) {
  static figures f;
  read_figures(file, &f);
  emu_module *m = build(&f);
  for (int i = 0; i < f.n; i++) check(m, &f, i);
  emu_module_destroy(m);
}

static void amd_lanes_are_the_calculators(void **state) { check_all("lanes_amd.txt"); }
static void nvidia_lanes_are_cutes(void **state) { check_all("lanes_cute.txt"); }

/* gfx90a's f16 MFMA takes 2^-20 as 0; others sum sixteen of them. */
static void subnormals_are_flushed_where_the_device_does(void **state) {
  static figures f;
  static emu_report r;
  read_figures("lanes_amd.txt", &f);
  emu_module *m = build(&f);
  assert_string_equal(f.list[0].name, "v_mfma_f32_16x16x16f16");
  uint16_t *a = room(512), *b = room(512);
  float *d = room(1024);
  for (int i = 0; i < 256; i++) a[i] = (uint16_t)emu_narrow(0x1p-20f, EMU_F16), b[i] = (uint16_t)emu_narrow(1, EMU_F16);
  void *args[3] = {&a, &b, &d};
  emu_range ranges[3] = {{a, 512, false}, {b, 512, false}, {d, 1024, true}};
  for (int flush = 0; flush < 2; flush++) {
    assert_true(emu_run(m,
                        &(emu_run_desc){.kernel = "k0",
                                        .grid = {1},
                                        .block = {64},
                                        .warp = 64,
                                        .shared_bytes = 16,
                                        .mfma_flushes = flush,
                                        .args = args,
                                        .n_args = 3,
                                        .ranges = ranges,
                                        .n_ranges = 3},
                        &r));
    for (int i = 0; i < 256; i++) assert_true(d[i] == (flush ? 0 : 0x1p-16f));
  }
  free(a), free(b), free(d);
  emu_module_destroy(m);
}

int main(void) {
  if (system("g++ --version >/dev/null 2>&1")) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(amd_lanes_are_the_calculators),
                                     cmocka_unit_test(nvidia_lanes_are_cutes),
                                     cmocka_unit_test(subnormals_are_flushed_where_the_device_does)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
