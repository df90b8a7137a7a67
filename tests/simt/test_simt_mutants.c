/* tests/simt/test_simt_mutants.c - mistakes planted in what the library emits: a wrong swizzle, lane map, descriptor field, wait, fence,
 * parity or barrier in the text of a matmul kernel of each matrix path. The emulator's run of each must show it: by the finding that it is,
 * or by a wrong result. The kernel without a mistake is right and without findings. All mutants of a kernel are compiled as one unit.
 * In patterns '#' is a number that may be any; the replacement's '#' are the same numbers in order. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/simt/matmul_run.h"
#include "tests/simt/target_run.h"

enum { WRONG = EMU_N_KINDS, MAX_MUTANTS = 20 }; /* WRONG: nothing but the result shows it */

typedef struct mutant {
  const char *from, *to; /* every place in the kernel */
  int caught_as;         /* emu_kind or WRONG; the result may be wrong besides */
  int map;               /* instead: this tensor map, from 1, has no swizzle */
} mutant;

typedef struct host { /* a kernel in which mistakes are planted */
  const char *arch, *path;
  tile_matmul_case c;
  mutant mutants[MAX_MUTANTS];
} host;

static const host hosts[] = {
    {"sm_90a", "wgmma", {.name = "wgmma", .m = 128, .n = 128, .k = 256, .bm = 64, .bn = 64, .bk = 64, .in = TSR_BF16, .out = TSR_BF16},
     {{.map = 1, .caught_as = WRONG},
      {.map = 3, .caught_as = WRONG},
      {"16, 1024, 8192, 1024)", "16, 512, 8192, 1024)", WRONG},
      {"16, 1024, 8192, 1024)", "16, 1024, 8192, 512)", WRONG},
      {"128, false, true>(acc", "64, false, true>(acc", WRONG},
      {" + 16), b_tiles", " + 24), b_tiles", WRONG},
      {"& 7)) * 8)), v#);", "& 3)) * 8)), v#);", WRONG},
      {"(lane >> 4)) ^", "(lane >> 4) * 0) ^", EMU_RACE},
      {"      wgmma_wait<0>();", "      wgmma_wait<1>();", EMU_ASYNC_EARLY},
      {"wgmma_fence();", "", EMU_ASYNC_FENCE},
      {"mbar_wait(full + v#, v#);", "", EMU_ASYNC_EARLY},
      {"mbar_wait(full + v#, v#);", "mbar_wait(full + v#, v# ^ 1);", EMU_ASYNC_EARLY},
      {"mbar_wait(empty + v#, (v# ^ 1));", "mbar_wait(empty + v#, v#);", EMU_DEADLOCK},
      {"mbar_wait(empty + v#, (v# ^ 1));", "", EMU_MBARRIER},
      {"mbar_expect(full + v#, 16384);", "mbar_expect(full + v#, 8192);", EMU_ASYNC_EARLY},
      {"fence_async_proxy();", "", EMU_ASYNC_FENCE},
      {"fence_mbarrier_init();", "", EMU_ASYNC_FENCE}}},
    {"sm_90a", "wgmma", {.name = "wgmma_rows", .m = 64, .n = 64, .k = 128, .bm = 64, .bn = 64, .bk = 64, .in = TSR_F16, .out = TSR_F16, .tb = true},
     {{"16, 1024, 16, 1024)", "16, 1024, 16, 2048)", WRONG},
      {"128, false, false>(acc", "128, false, true>(acc", WRONG},
      {" + 32), b_tiles + (v# + 32)", " + 32), b_tiles + (v# + 48)", WRONG},
      {"stmatrix<false>", "stmatrix<true>", WRONG},
      {"tma_wait_read<0>();", "", EMU_EXIT_PENDING}}},
    {"sm_80", "mma", {.name = "mma", .m = 32, .n = 32, .k = 192, .bm = 32, .bn = 32, .bk = 32, .in = TSR_F16, .out = TSR_F32, .warps = 1},
     {{"{{v#[0], v#[1], v#[2], v#[3]}}", "{{v#[0], v#[2], v#[1], v#[3]}}", WRONG}, /* mma.sync: A's quarters */
      {"{{v#[0], v#[1]}}", "{{v#[1], v#[0]}}", WRONG},                            /* B's halves of k */
      {"(v# >> 2) * 32) + ((v# & 3) * 2))", "(v# & 7) * 32) + ((v# >> 3) * 2))", WRONG}, /* the accumulator */
      {"(v# & 7)) * 40)", "((v# & 7) ^ 1)) * 40)", WRONG},                        /* ldmatrix: rows */
      {"ldmatrix<4, true>", "ldmatrix<4, false>", WRONG},
      {"cp_wait<2>();", "cp_wait<3>();", EMU_ASYNC_EARLY},
      {"cp_wait<2>();\n    warp_barrier();", "cp_wait<2>();", EMU_RACE}}},
    {"gfx942", "mfma", {.name = "mfma", .m = 32, .n = 32, .k = 64, .bm = 32, .bn = 32, .bk = 32, .in = TSR_F16, .out = TSR_F32, .warps = 1},
     {{"(v# * 40)) + (v# * 4))", "(v# * 40)) + (v# * 8))", WRONG}, /* A as lanes of gfx950's 16x16x32 hold it */
      {"(v# * 160)) + v#)", "(v# * 40)) + v#)", WRONG},            /* B */
      {"(v# >> 4) * 128) + (v# & 15)", "(v# & 3) * 128) + (v# >> 2)", WRONG},
      {"st_shared(v1 + v#, (v#));\n    const", "const", EMU_UNWRITTEN},
      {"warp_barrier();\n    const int next", "const int next", EMU_RACE}}},
    {"gfx950", "direct", {.name = "direct", .m = 64, .n = 64, .k = 192, .bm = 64, .bn = 64, .bk = 64, .in = TSR_F16, .out = TSR_F32, .tb = true, .path = "direct"},
     {{"^ (v# & 7)) * 16)", "^ (v# & 3)) * 16)", WRONG}, /* the swizzle, in the global address */
      {"^ (v# & 7)) * 16)", "^ 0) * 16)", WRONG},
      {"^ (v# & 7)) * 4)", "^ (v# & 3)) * 4)", WRONG}, /* and where fragments are read */
      {"= (lane >> 4);", "= (lane & 3);", WRONG},      /* the map of lanes */
      {"(v# * 4) + r)", "(r * 4) + v#)", WRONG},
      {"waitcnt<0, -1>();", "waitcnt<1, -1>();", EMU_ASYNC_EARLY},
      {"named_barrier_sync<0, 256>();", "", EMU_RACE},
      {"(wave * 256)", "(thread * 4)", EMU_BAD_ARGUMENT}}},
    {"gfx942", "pingpong", {.name = "pingpong", .m = 128, .n = 128, .k = 192, .bm = 128, .bn = 128, .bk = 64, .in = TSR_F16, .out = TSR_F32, .tb = true, .path = "pingpong"},
     {{"if (v#) {\n      waitcnt<0, -1>();", "if (false && v#) {\n      waitcnt<0, -1>();", EMU_ASYNC_EARLY},
      {"^ (v# & 7)) * 16)", "^ (v# & 6)) * 16)", WRONG},
      {"if (v#) {\n    sched_barrier<0>();\n    named_barrier_sync<0, 512>();", "if (v#) {\n    named_barrier_sync<1, 512>();", EMU_DEADLOCK},
      {"    named_barrier_sync<0, 512>();\n    sched_barrier<0>();\n  }\n  const", "}\n  const", EMU_RACE}}},
    {"gfx1100", "wmma", {.name = "wmma11", .m = 32, .n = 32, .k = 32, .bm = 32, .bn = 32, .bk = 32, .in = TSR_F16, .out = TSR_F32, .warps = 1, .tb = true},
     {{"(v# & 15) * 40)", "(v# & 31) * 40)", EMU_BAD_ARGUMENT}, /* the upper lanes repeat the lower */
      {"(v# >> 4) * 32) + (v# & 15)", "(v# >> 4) * 256) + (v# & 15)", WRONG}}},
    {"gfx1201", "wmma", {.name = "wmma12", .m = 32, .n = 32, .k = 32, .bm = 32, .bn = 32, .bk = 32, .in = TSR_F16, .out = TSR_F32, .warps = 1, .tb = true},
     {{"((v# >> 4) * 8)", "((v# & 1) * 8)", WRONG}, {"(v# >> 4) * 256) + (v# & 15)", "(v# >> 4) * 32) + (v# & 15)", WRONG}}},
};

/* ---- text ---------------------------------------------------------------------------------------------------------------- */

/* Length of the match of a pattern at s, 0 = none. Its numbers' places go to `numbers`. */
static size_t match(const char *s, const char *pattern, const char *numbers[8]) {
  const char *at = s;
  int n = 0;
  for (; *pattern; pattern++) {
    if (*pattern != '#') {
      if (*at++ != *pattern) return 0;
      continue;
    }
    if (!isdigit((unsigned char)*at)) return 0;
    if (n < 8) numbers[n++] = at;
    while (isdigit((unsigned char)*at)) at++;
  }
  return (size_t)(at - s);
}

static void put_changed(strb *b, const char *to, const char *const numbers[8]) {
  for (int n = 0; *to; to++) {
    if (*to != '#') strb_printf(b, "%c", *to);
    else strb_printf(b, "%ld", strtol(numbers[n++], NULL, 10));
  }
}

/* Appends a kernel's text under another name with the mutant's change; how many places were changed. */
static int put_mutant(strb *b, const char *kernel, const char *end, const char *name, int number, const mutant *m) {
  int changed = 0;
  const char *numbers[8];
  for (const char *s = kernel; s < end;) {
    size_t n = m && m->from ? match(s, m->from, numbers) : 0;
    if (n) {
      put_changed(b, m->to, numbers);
      changed++;
      s += n;
    } else if (!strncmp(s, name, strlen(name)) && s[strlen(name)] == '(') {
      strb_printf(b, "%s_%d", name, number);
      s += strlen(name);
    } else {
      strb_printf(b, "%c", *s++);
    }
  }
  return changed;
}

/* ---- runs ------------------------------------------------------------------------------------------------------------------ */

static void build_host(const host *h, int n, emu_unit *out) {
  emu_unit one;
  tsr_caps caps;
  ir_module *m;
  strb text, tile;
  static be_kernel_desc kernels[MAX_MUTANTS + 1];
  static char names[MAX_MUTANTS + 1][128];
  strb_init(&text, &al_default);
  strb_init(&tile, &al_default);
  tile_gen_matmul(&tile, &h->c);
  assert_null(ir_parse(NULL, strb_text(&tile), tile.n, h->c.name, &m));
  assert_null(emu_arch_caps(h->arch, &caps));
  caps.n_cores = 1; /* so that one block walks all tiles */
  tsr_status st = emu_build(m, &caps, &one);
  if (st) fail_msg("%s: %s", h->c.name, tsr_status_message(st));
  if (strncmp(one.paths[0], h->path, strlen(h->path))) fail_msg("%s took the path \"%s\"", h->c.name, one.paths[0]);
  const char *kernel = strstr(one.source, "/* mm_"), *end = strstr(kernel, "} // namespace tsr");
  strb_printf(&text, "%.*s", (int)(kernel - one.source), one.source);
  for (int i = 0; i <= n; i++) { /* the last without a mistake */
    const mutant *mutated = i < n ? &h->mutants[i] : NULL;
    if (!put_mutant(&text, kernel, end, one.names[0], i, mutated) && mutated && !mutated->map) fail_msg("%s: \"%s\" is not in the text:\n%s", h->c.name, mutated->from, kernel);
    snprintf(names[i], sizeof names[i], "%s_%d", one.names[0], i);
    kernels[i] = one.kernels[0];
    kernels[i].name = names[i];
    kernels[i].maps = one.maps[0];
  }
  strb_puts(&text, end);
  st = emu_build_text(strb_text(&text), kernels, n + 1, &caps, out);
  if (st) fail_msg("%s: %s", h->c.name, tsr_status_message(st));
  emu_unit_clear(&one);
  ir_module_destroy(&m);
  strb_clear(&text);
  strb_clear(&tile);
}

static bool caught(const host *h, emu_unit *u, int i, unsigned seed) {
  static emu_report r;
  const mutant *m = &h->mutants[i];
  matmul_data data = matmul_data_make(&h->c, 1);
  memset(&r, 0, sizeof r);
  if (m->map) u->maps[i][m->map - 1].swizzle = 0;
  tsr_status st = emu_launch(u, i, data.buffers, seed, &r);
  bool found = !st && (m->caught_as == WRONG ? matmul_error(&h->c, &data) > 1 : r.n_kind[m->caught_as] > 0);
  if (!found) {
    fprintf(stderr, "%s on %s: \"%s\" for \"%s\" isn't found as %s\n", h->c.name, h->arch, m->to ? m->to : "no swizzle", m->from ? m->from : "a tensor map's", m->caught_as == WRONG ? "a wrong result" : emu_kind_name((emu_kind)m->caught_as));
    emu_report_print(&r, stderr);
  }
  tsr_status_free(st);
  matmul_data_clear(&data);
  return found;
}

static void planted_mistakes_in_emitted_kernels_are_found(void **state) {
  static emu_unit u;
  static emu_report r;
  int missed = 0;
  for (size_t h = 0; h < sizeof hosts / sizeof *hosts; h++) {
    int n = 0;
    while (n < MAX_MUTANTS && (hosts[h].mutants[n].from || hosts[h].mutants[n].map)) n++;
    build_host(&hosts[h], n, &u);
    matmul_data data = matmul_data_make(&hosts[h].c, 1);
    memset(&r, 0, sizeof r);
    assert_null(emu_launch(&u, n, data.buffers, 1, &r));
    if (r.n_findings) emu_report_print(&r, stderr);
    assert_int_equal(r.n_findings, 0);
    if (!(matmul_error(&hosts[h].c, &data) <= 1)) fail_msg("%s: wrong without a mistake", hosts[h].c.name);
    matmul_data_clear(&data);
    for (int i = 0; i < n; i++) missed += !caught(&hosts[h], &u, i, (unsigned)i & 3);
    emu_unit_clear(&u);
  }
  assert_int_equal(missed, 0);
}

int main(void) {
  if (system("g++ --version >/dev/null 2>&1")) return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(planted_mistakes_in_emitted_kernels_are_found)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
