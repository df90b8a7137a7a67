/* tests/simt/test_simt_mutants.c - mistakes planted in what the library emits: a wrong swizzle, lane map, descriptor
 * field, wait, fence, parity or barrier in the text of a matmul kernel of each matrix path. The emulator's run of each
 * must show it: by the finding that it is, or by a wrong result. The kernel without a mistake is right and without
 * findings. All mutants of a kernel are compiled as one unit. In the same way each wait, barrier and fence of kernels
 * with asynchronous copies is taken out, one at a time. In patterns '#' is a number that may be any; the replacement's
 * '#' are the same numbers in order. */
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

/* Kernels with asynchronous copies, one for each way to make them. Every call that synchronises is taken out, one at a
 * time, and the run must have a finding, but for the spare ones: they are counted as they stand in the text, from 1,
 * with the reason why they may go. */
typedef struct overlapped {
  const char *arch, *path;
  tile_matmul_case c;
  int spare[4];
  tile_attention_case attention; /* instead, with a `t` */
} overlapped;

static const char *const syncs[] = {
    "cp_wait<",   "cp_commit(",  "barrier();",     "mbar_wait(",          "mbar_arrive",        "mbar_expect(",
    "mbar_init(", "wgmma_wait<", "wgmma_fence(",   "wgmma_commit(",       "fence_async_proxy(", "fence_mbarrier_init(",
    "cluster_",   "tma_commit(", "tma_wait_read<", "named_barrier_sync<", "waitcnt<0, -1>"};

static const overlapped overlaps[] = {
    {"sm_80", "mma", {.name = "cp_async_warp", .m = 32, .n = 32, .k = 192, .bm = 32, .bn = 32, .bk = 32, .in = TSR_F16, .out = TSR_F32, .warps = 1}, {1, 8, 9}},     /* around the loop: for one before or after it, which this kernel has not */
    {"sm_80", "mma", {.name = "cp_async_block", .m = 64, .n = 64, .k = 192, .bm = 64, .bn = 64, .bk = 32, .in = TSR_F16, .out = TSR_F32, .warps = 4}, {1, 8, 9}},
    {"sm_90a", "wgmma", {.name = "tma", .m = 128, .n = 128, .k = 256, .bm = 64, .bn = 64, .bk = 64, .in = TSR_BF16, .out = TSR_BF16}, {7, 21}}, /* the warp meets its elected lane again: nothing is handed over there */
    {"sm_90a", "wgmma", {.name = "tma_multicast", .m = 256, .n = 256, .k = 512, .bm = 128, .bn = 128, .bk = 64, .in = TSR_BF16, .out = TSR_BF16}, {7, 23}},
    {"sm_90a", "wgmma", {.name = "attention"}, {19, 22, 27, 34}, {.heads = 1, .positions = 192, .width = 64, .rows = 128, .columns = 32, .t = TSR_F16}},
    /* 19, 27: the warpgroups' ping-pong; 22: nothing was written to registers since the fence before; 34 as above */
    {"gfx950", "direct", {.name = "lds_direct", .m = 64, .n = 64, .k = 192, .bm = 64, .bn = 64, .bk = 64, .in = TSR_F16, .out = TSR_F32, .tb = true, .path = "direct"}, {0}},
    {"gfx942", "pingpong", {.name = "lds_pingpong", .m = 128, .n = 128, .k = 192, .bm = 128, .bn = 128, .bk = 64, .in = TSR_F16, .out = TSR_F32, .tb = true, .path = "pingpong"}, {4, 5}}, /* they only keep the halves of the block taking turns */
};

/* ---- text -------------------------------------------------------------------------------------------------------- */

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

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void tile_text(const tile_matmul_case *c, const tile_attention_case *a, strb *out) {
  static char program[1 << 16];
  strb_init(out, &al_default);
  if (!a || !a->t) return tile_gen_matmul(out, c);
  FILE *f = fopen(TSR_SOURCE_DIR "/tests/tile/flash_attention.mlir", "rb");
  assert_non_null(f);
  program[fread(program, 1, sizeof program - 1, f)] = 0;
  fclose(f);
  tile_gen_attention(out, program, a);
}

/* Returns where the kernel begins in its text. */
static const char *lower(const char *arch, const char *path, const tile_matmul_case *c, const tile_attention_case *a,
                         tsr_caps *caps, emu_unit *one) {
  ir_module *m;
  strb tile;
  char head[160];
  tile_text(c, a, &tile);
  assert_null(ir_parse(NULL, strb_text(&tile), tile.n, c->name, &m));
  assert_null(emu_arch_caps(arch, caps));
  caps->n_cores = 1; /* so that one block walks all tiles */
  tsr_status st = emu_build(m, caps, one);
  if (st) fail_msg("%s: %s", c->name, tsr_status_message(st));
  if (strncmp(one->paths[0], path, strlen(path))) fail_msg("%s took the path \"%s\"", c->name, one->paths[0]);
  ir_module_destroy(&m);
  strb_clear(&tile);
  snprintf(head, sizeof head, "/* %s, ", one->names[0]);
  assert_non_null(strstr(one->source, head));
  return strstr(one->source, head);
}

/* The variants of one kernel that go into a unit. */
typedef struct variants {
  be_kernel_desc desc[EMU_MAX_KERNELS];
  char name[EMU_MAX_KERNELS][160];
  int n;
} variants;

static void add_variant(variants *v, emu_unit *one) {
  snprintf(v->name[v->n], sizeof v->name[v->n], "%s_%d", one->names[0], v->n);
  v->desc[v->n] = one->kernels[0];
  v->desc[v->n].name = v->name[v->n];
  v->desc[v->n].maps = one->maps[0];
  v->n++;
}

static void build_host(const host *h, int n, emu_unit *out) {
  static variants v;
  emu_unit one;
  tsr_caps caps;
  strb text;
  v.n = 0;
  strb_init(&text, &al_default);
  const char *kernel = lower(h->arch, h->path, &h->c, NULL, &caps, &one), *end = strstr(kernel, "} // namespace tsr");
  strb_printf(&text, "%.*s", (int)(kernel - one.source), one.source);
  for (int i = 0; i <= n; i++) { /* the last without a mistake */
    const mutant *mutated = i < n ? &h->mutants[i] : NULL;
    if (!put_mutant(&text, kernel, end, one.names[0], i, mutated) && mutated && !mutated->map)
      fail_msg("%s: \"%s\" is not in the text:\n%s", h->c.name, mutated->from, kernel);
    add_variant(&v, &one);
  }
  strb_puts(&text, end);
  tsr_status st = emu_build_text(strb_text(&text), v.desc, v.n, &caps, out);
  if (st) fail_msg("%s: %s", h->c.name, tsr_status_message(st));
  emu_unit_clear(&one);
  strb_clear(&text);
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
    fprintf(stderr, "%s on %s: \"%s\" for \"%s\" isn't found as %s\n", h->c.name, h->arch, m->to ? m->to : "no swizzle",
            m->from ? m->from : "a tensor map's",
            m->caught_as == WRONG ? "a wrong result" : emu_kind_name((emu_kind)m->caught_as));
    emu_report_print(&r, stderr);
  }
  tsr_status_free(st);
  matmul_data_clear(&data);
  return found;
}

/* The next line from s on, before end, that is a call of one of `syncs`; NULL: none. */
static const char *next_sync(const char *s, const char *end) {
  for (; s < end; s = strchr(s, '\n') + 1) {
    const char *call = s + strspn(s, " "), *bare = !strncmp(call, "warp_barrier", 12) ? call + 5 : call;
    for (size_t i = 0; i < sizeof syncs / sizeof *syncs; i++)
      if (!strncmp(bare, syncs[i], strlen(syncs[i]))) return call;
  }
  return NULL;
}

/* The kernel as it is, then without each of its calls in turn; `calls` receives where they stand. */
static void build_without(const overlapped *o, emu_unit *one, emu_unit *out, const char *calls[EMU_MAX_KERNELS],
                          int *n) {
  static variants v;
  tsr_caps caps;
  strb text;
  v.n = 0;
  strb_init(&text, &al_default);
  const char *kernel = lower(o->arch, o->path, &o->c, &o->attention, &caps, one),
             *end = strstr(kernel, "} // namespace tsr"), *call = NULL;
  strb_printf(&text, "%.*s", (int)(kernel - one->source), one->source);
  do {
    assert_true(v.n < EMU_MAX_KERNELS);
    calls[v.n] = call;
    put_mutant(&text, kernel, call ? call : end, one->names[0], v.n, NULL);
    if (call) put_mutant(&text, strchr(call, '\n'), end, one->names[0], v.n, NULL);
    add_variant(&v, one);
  } while ((call = next_sync(call ? strchr(call, '\n') + 1 : kernel, end)));
  strb_puts(&text, end);
  tsr_status st = emu_build_text(strb_text(&text), v.desc, v.n, &caps, out);
  if (st) fail_msg("%s: %s", o->c.name, tsr_status_message(st));
  strb_clear(&text);
  *n = v.n;
}

/* Queries, keys, values and the result: zeros will do where only order counts. */
static void attend(const tile_attention_case *a, const emu_unit *u, int i, emu_report *r) {
  size_t bytes = (size_t)(a->heads * a->positions * a->width) * tsr_dtype_size(a->t);
  emu_range buffers[4];
  for (int b = 0; b < 4; b++) buffers[b] = (emu_range){aligned_alloc(256, bytes), bytes, b == 3};
  for (int b = 0; b < 4; b++) memset(buffers[b].data, 0, bytes);
  tsr_status_free(emu_launch(u, i, buffers, 1, r));
  for (int b = 0; b < 4; b++) free(buffers[b].data);
}

static bool has_findings(const overlapped *o, const emu_unit *u, int i) {
  static emu_report r;
  memset(&r, 0, sizeof r);
  if (o->attention.t) return attend(&o->attention, u, i, &r), r.n_findings > 0;
  matmul_data data = matmul_data_make(&o->c, 1);
  tsr_status_free(emu_launch(u, i, data.buffers, 1, &r));
  if (!i && !(matmul_error(&o->c, &data) <= 1)) fail_msg("%s: wrong as it is", o->c.name);
  matmul_data_clear(&data);
  return r.n_findings > 0;
}

static void any_wait_or_barrier_that_goes_is_missed(void **state) {
  static emu_unit one, u;
  int wrong = 0;
  for (size_t k = 0; k < sizeof overlaps / sizeof *overlaps; k++) {
    const overlapped *o = &overlaps[k];
    const char *calls[EMU_MAX_KERNELS];
    int n;
    build_without(o, &one, &u, calls, &n);
    assert_true(n > 2);
    for (int i = 0; i < n; i++) {
      bool spare = !i;
      for (size_t s = 0; s < sizeof o->spare / sizeof *o->spare; s++) spare |= o->spare[s] == i;
      if (has_findings(o, &u, i) != spare) continue;
      fprintf(stderr, "%s on %s: call %d, \"%.*s\": %s\n", o->c.name, o->arch, i,
              calls[i] ? (int)strcspn(calls[i], "\n") : 0, calls[i] ? calls[i] : "",
              spare ? "a finding where none was expected" : "nothing is found without it");
      wrong++;
    }
    emu_unit_clear(&u);
    emu_unit_clear(&one);
  }
  assert_int_equal(wrong, 0);
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
  const struct CMUnitTest tests[] = {cmocka_unit_test(planted_mistakes_in_emitted_kernels_are_found),
                                     cmocka_unit_test(any_wait_or_barrier_that_goes_is_missed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
