/* Every op family on every recorded Vulkan device (tests/vulkan): what is planned by default and what a search would
 * try stays within the device's limits and is SPIR-V that the validator takes for its version of Vulkan, or is refused
 * by the name of what the device lacks. docs/vulkan-devices.md is the table of what each takes; TSR_UPDATE_GOLDEN=1
 * writes it anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <spirv-tools/libspirv.h>

#include "core/emit/spirv/spirv.h"
#include "core/passes/lower.h"
#include "core/passes/simt/simt.h"
#include "core/tune/cost.h"
#include "core/tune/extract.h"
#include "core/tune/kernel.h"
#include "tests/support/plan.h"
#include "tests/support/recorded.h"

/* '@' stands for the data type, '^' for that of the results. */
typedef struct plan_case {
  const char *name, *args, *body, *result, *types;
} plan_case;
#define G(op) "\"tessera.graph." op "\""
static const plan_case plans[] = {
    {"elementwise", "%a: tensor<300x129x@>, %b: tensor<129x@>", "%0 = " G("add") "(%a, %b)\n%1 = " G("max") "(%0, %a)",
     "%1: tensor<300x129x@>", "f32 f16 bf16 f64 i8 i32 i64"},
    {"gelu", "%a: tensor<300x129x@>", "%1 = " G("gelu") "(%a)", "%1: tensor<300x129x@>", "f32 f16 bf16 f8E4M3FN"},
    {"softmax", "%a: tensor<70x1000x@>", "%1 = " G("softmax") "(%a) {axis = -1}", "%1: tensor<70x1000x@>",
     "f32 f16 bf16"},
    {"layernorm", "%a: tensor<70x4096x@>", "%1 = " G("layernorm") "(%a)", "%1: tensor<70x4096x@>", "f32 f16 bf16"},
    {"long rows", "%a: tensor<3x100000x@>", "%1 = " G("softmax") "(%a) {axis = -1}", "%1: tensor<3x100000x@>", "f32"},
    {"sum", "%a: tensor<70x1000x@>", "%1 = " G("reduce_sum") "(%a) {axes = [0]}", "%1: tensor<1000x@>", "f32 f16 i32"},
    {"product", "%a: tensor<256x256x@>, %b: tensor<256x256x@>", "%1 = " G("matmul") "(%a, %b)", "%1: tensor<256x256x^>",
     "f32 f16 bf16 i8 f8E4M3FN f64"},
    {"ragged product", "%a: tensor<130x90x@>, %b: tensor<70x90x@>, %c: tensor<70x@>",
     "%0 = " G("matmul") "(%a, %b) {transpose_b = true}\n%2 = " G("add") "(%0, %c)\n%1 = " G("gelu") "(%2)",
     "%1: tensor<130x70x@>", "f32 f16 bf16"},
    {"gemv", "%a: tensor<1x1024x@>, %b: tensor<1024x512x@>", "%1 = " G("matmul") "(%a, %b)", "%1: tensor<1x512x@>",
     "f32 f16"},
    {"conv2d", "%a: tensor<1x20x20x16x@>, %w: tensor<3x3x16x32x@>",
     "%1 = " G("conv2d") "(%a, %w) {padding = \"same\", layout = \"nhwc\"}", "%1: tensor<1x20x20x32x@>", "f32 f16"},
    {"attention", "%q: tensor<1x4x128x64x@>, %k: tensor<1x4x128x64x@>, %v: tensor<1x4x128x64x@>",
     "%1 = " G("flash_attention") "(%q, %k, %v)", "%1: tensor<1x4x128x64x@>", "f32 f16 bf16"},
    {"transpose", "%a: tensor<129x300x@>", "%1 = " G("transpose") "(%a) {perm = [1, 0]}", "%1: tensor<300x129x@>",
     "f32 f16 i8"},
    {"concat", "%a: tensor<20x30x@>, %b: tensor<20x3x@>", "%1 = " G("concat") "(%a, %b) {axis = -1}",
     "%1: tensor<20x33x@>", "f32 f16"},
    {"embedding", "%a: tensor<100x64x@>, %i: tensor<40xi32>", "%1 = " G("embedding") "(%a, %i)", "%1: tensor<40x64x@>",
     "f32 bf16"},
    {"scatter_add", "%a: tensor<20x30x@>, %i: tensor<20x5xi32>, %u: tensor<20x5x@>",
     "%1 = " G("scatter_add") "(%a, %i, %u) {axis = -1}", "%1: tensor<20x30x@>", "f32 i32"},
    {"resize", "%a: tensor<1x4x10x10x@>", "%1 = " G("resize") "(%a) {sizes = [17, 23], mode = \"linear\"}",
     "%1: tensor<1x4x17x23x@>", "f32"},
    {"fft", "%a: tensor<4x256xcomplex<@>>", "%1 = " G("fft") "(%a)", "%1: tensor<4x256xcomplex<@>>", "f32"},
};
enum { N_PLANS = sizeof plans / sizeof *plans, N_TRIED = 2, N_DRAWN = 100 };

static void put(strb *b, const char *text, const char *type) {
  const char *sum = !strcmp(type, "i8") ? "i32" : type;
  for (; *text; text++) {
    if (*text == '@') strb_puts(b, type);
    else if (*text == '^') strb_puts(b, sum);
    else strb_putc(b, *text);
  }
}

static void write_graph(strb *b, const plan_case *p, const char *type) {
  const char *result = strchr(p->result, ':');
  strb_puts(b, "\"tessera.graph.func\"() ({\n^bb0(");
  put(b, p->args, type);
  strb_puts(b, "):\n");
  put(b, p->body, type);
  strb_printf(b, "\n\"tessera.graph.return\"(%.*s) : (", (int)(result - p->result), p->result);
  put(b, result + 2, type);
  strb_puts(b, ") -> ()\n}) {sym_name = \"main\"}\n");
}

/* ---- one kernel ---- */

/* What is told of a plan: the matrix path of its products, and what its code has. */
typedef struct outcome {
  char path[64], refused[96];
  bool shuffles, wide_addresses;
} outcome;

static int n_modules, n_unknown;

static spv_target_env env_of(const recorded_device *d) {
  char name[32];
  spv_target_env env;
  snprintf(name, sizeof name, "vulkan%s", d->vulkan);
  return spvParseTargetEnv(name, &env) ? env : SPV_ENV_VULKAN_1_3; /* Debian 12's SPIRV-Tools know no newer one */
}

static void validate(const recorded_device *d, const char *name, const uint32_t *words, size_t n) {
  spv_context ctx = spvContextCreate(env_of(d));
  spv_diagnostic why = NULL;
  spv_const_binary_t b = {words, n};
  spv_result_t r = spvValidate(ctx, &b, &why);
  bool older = r && why && strstr(why->error, "Invalid capability operand"); /* than bfloat16 and the like */
  if (r && !older) fail_msg("%s, %s: %s", d->name, name, why ? why->error : "not valid");
  n_unknown += older, n_modules++;
  spvDiagnosticDestroy(why);
  spvContextDestroy(ctx);
}

static void check_limits(const recorded_device *d, const char *name, const be_kernel_desc *k) {
  const tsr_caps *c = &d->caps;
  int64_t threads = (int64_t)k->block[0] * k->block[1] * k->block[2];
  if (threads > c->max_threads) fail_msg("%s, %s: %d threads of %d", d->name, name, (int)threads, c->max_threads);
  for (int i = 0; i < 3; i++)
    if (k->block[i] > c->max_block[i]) fail_msg("%s, %s: axis %d has %d threads", d->name, name, i, k->block[i]);
  if (k->shared_bytes > c->shared_bytes)
    fail_msg("%s, %s: %d bytes of shared memory of %d", d->name, name, (int)k->shared_bytes, (int)c->shared_bytes);
  if (k->subgroup && (k->subgroup < c->subgroup_min || k->subgroup > c->subgroup_max))
    fail_msg("%s, %s: a subgroup of %d", d->name, name, k->subgroup);
}

static void note_code(const be_module_desc *m, int i, outcome *out) {
  strb s;
  strb_init(&s, &al_default);
  emit_spirv_disassemble((const uint32_t *)((const char *)m->code + m->offsets[i]),
                         (m->offsets[i + 1] - m->offsets[i]) / 4, &s);
  out->shuffles |= strstr(strb_text(&s), "OpGroupNonUniformShuffle") != NULL;
  out->wide_addresses |= strstr(strb_text(&s), "OpCapability Int64") != NULL;
  strb_clear(&s);
}

static void note_path(const ir_module *target, outcome *out) {
  for (const ir_op *op = target->root->regions[0]->first; op; op = op->next) {
    const char *path = strstr(op->def->name, ".kernel") ? ir_get_str(op, "path", "") : "";
    if (*path && !strstr(out->path, path))
      snprintf(out->path + strlen(out->path), sizeof out->path - strlen(out->path), "%s%.24s", *out->path ? ", " : "",
               path);
  }
}

static tsr_status emit(const recorded_device *d, const char *name, ir_module *tile, outcome *out) {
  ir_module *target = NULL;
  be_module_desc m;
  arena a;
  arena_init(&a, &al_default);
  tsr_status st = tile_expand(tile, &d->caps);
  if (!st) st = tile_to_target(tile, &d->caps, &target);
  if (!st) st = emit_spirv(target, &d->caps, &a, &m);
  if (!st) note_path(target, out);
  for (int i = 0; !st && i < m.n_kernels; i++) {
    check_limits(d, name, &m.kernels[i]);
    validate(d, name, (const uint32_t *)((const char *)m.code + m.offsets[i]), (m.offsets[i + 1] - m.offsets[i]) / 4);
    note_code(&m, i, out);
  }
  ir_module_destroy(&target);
  arena_clear(&a);
  return st;
}

/* Refused is right only by name of what the device lacks, and never for the types that all of them have. */
static void check_refusal(const recorded_device *d, const char *name, const char *type, tsr_status st, outcome *out) {
  if (!st) return;
  const char *said = tsr_status_message(st);
  if (tsr_status_code(st) != TSR_UNSUPPORTED || !strcmp(type, "f32") || !strcmp(type, "i32"))
    fail_msg("%s, %s: %s", d->name, name, said);
  static const char *const features[] = {"shaderFloat64", "shaderFloat16", "shaderInt64", "shaderInt16", "shaderInt8",
                                         "storageBuffer16BitAccess", "storageBuffer8BitAccess"};
  for (size_t i = 0; i < sizeof features / sizeof *features && !*out->refused; i++)
    if (strstr(said, features[i])) snprintf(out->refused, sizeof out->refused, "%s", features[i]);
  if (!*out->refused) fail_msg("%s, %s: refused without a feature's name: %s", d->name, name, said);
  tsr_status_free(st);
}

/* ---- what a search would try ---- */

static uint64_t draw(uint64_t *s) { return *s = *s * 6364136223846793005u + 1442695040888963407u, *s >> 33; }

/* Of points drawn at random the legal ones that the model thinks best; their number. */
static int choose(const tune_kernel_space *sp, const tune_device *dev, const tune_problem *p, tune_config *out) {
  uint64_t seed = 7;
  double cost[N_TRIED];
  int n = 0;
  for (int i = 0; i < N_DRAWN; i++) {
    space_point at = {{0}};
    cost_estimate e;
    for (int k = 0; k < sp->s.n_knobs; k++) at.i[k] = (uint8_t)(draw(&seed) % (uint64_t)sp->s.knob[k].n);
    if (!space_is_legal(&sp->s, &at, NULL, 0)) continue;
    tune_config c = space_config(&sp->s, &at);
    cost_compute(dev, p, &c, &e);
    int place = n;
    while (place > 0 && cost[place - 1] > e.total_ns) place--;
    if (place == N_TRIED) continue;
    int moved = n < N_TRIED ? n : N_TRIED - 1;
    memmove(out + place + 1, out + place, (size_t)(moved - place) * sizeof *out);
    memmove(cost + place + 1, cost + place, (size_t)(moved - place) * sizeof *cost);
    out[place] = c, cost[place] = e.total_ns, n += n < N_TRIED;
  }
  return n;
}

static int n_tuned;

static void tuned_kernel(const recorded_device *d, const char *name, const char *type, const ir_op *kernel) {
  static tune_kernel_space sp;
  tune_problem p;
  tune_config chosen[N_TRIED];
  if (!tune_kernel_problem(kernel, "fast", &p)) return;
  tune_device dev = tune_device_from_caps(&d->caps, d->device);
  tune_config dflt = tune_kernel_default(kernel, &d->caps, NULL);
  tune_kernel_space_build(kernel, &dev, &p, &dflt, &d->caps, &sp);
  int n = choose(&sp, &dev, &p, chosen);
  for (int i = 0; i < n; i++) {
    ir_module *one = NULL, *tile = NULL;
    outcome out = {{0}};
    sched_params params = tune_config_params(&chosen[i], &p, &d->caps);
    tsr_status st = extract_schedule(kernel, &one);
    if (!st && !sched_write(extract_kernel(one), &params)) st = st_oom();
    if (!st) st = plan_kernels(one, &d->caps, &tile);
    if (!st) st = emit(d, name, tile, &out);
    check_refusal(d, name, type, st, &out);
    n_tuned++;
    ir_module_destroy(&one);
    ir_module_destroy(&tile);
  }
}

static bool same_kernel(const ir_op *op) { return op->def->level == IR_SCHEDULE && op->def->code == S_KERNEL; }

static outcome make_plan(const recorded_device *d, const plan_case *p, const char *type, bool tuned) {
  ir_module *s = NULL, *tile = NULL;
  outcome out = {{0}};
  char name[64];
  strb text;
  strb_init(&text, &al_default);
  write_graph(&text, p, type);
  snprintf(name, sizeof name, "%s %s", p->name, type);
  tsr_status st = plan_schedule(strb_text(&text), text.n, name, &d->caps, &s);
  for (ir_op *prog = st || !tuned ? NULL : s->root->regions[0]->first; prog; prog = prog->next)
    for (ir_op *k = prog->n_regions ? prog->regions[0]->first : NULL; k; k = k->next)
      if (same_kernel(k)) tuned_kernel(d, name, type, k);
  if (!st) st = plan_kernels(s, &d->caps, &tile);
  if (!st) st = emit(d, name, tile, &out);
  check_refusal(d, name, type, st, &out);
  ir_module_destroy(&s);
  ir_module_destroy(&tile);
  strb_clear(&text);
  return out;
}

/* What plans came to, for the table. */
enum { MOST_DEVICES = 64, MOST_TYPES = 8 };
static struct { bool known; outcome out; } seen[MOST_DEVICES][N_PLANS][MOST_TYPES];

static outcome plan(const recorded_device *d, const plan_case *p, const char *type, bool tuned) {
  int n, place = 0;
  const recorded_device *first = recorded_devices(&n);
  for (const char *t = p->types; strncmp(t, type, strlen(type)); t += strcspn(t, " ") + 1) place++;
  assert_true(d - first < MOST_DEVICES && place < MOST_TYPES);
  if (!seen[d - first][p - plans][place].known) {
    seen[d - first][p - plans][place].out = make_plan(d, p, type, tuned);
    seen[d - first][p - plans][place].known = true;
  }
  return seen[d - first][p - plans][place].out;
}

/* ---- the tests ---- */

/* fn for each of the case's types. */
static void each_type(const plan_case *p, void (*fn)(const plan_case *p, const char *type, void *user), void *user) {
  for (const char *t = p->types; *t; t += strcspn(t, " "), t += *t == ' ') {
    char type[16];
    snprintf(type, sizeof type, "%.*s", (int)strcspn(t, " "), t);
    fn(p, type, user);
  }
}

typedef struct run { const recorded_device *d; bool tuned; } run;
static void plan_type(const plan_case *p, const char *type, void *user) {
  const run *r = user;
  (void)plan(r->d, p, type, r->tuned && (!strcmp(type, "f32") || !strcmp(type, "f16")));
}

static void every_family_by_default_and_as_a_search_would_on_every_device(void **state) {
  int n;
  const recorded_device *d = recorded_devices(&n);
  const size_t step = TSR_TEST_SLOW ? 4 : 1; /* all plans then, each on some of the devices */
  assert_true(n >= 25);
  for (int i = 0; i < n; i++)
    for (size_t k = (size_t)i % step; k < N_PLANS; k += step) each_type(&plans[k], plan_type, &(run){&d[i], true});
  print_message("%d modules, %d plans of searches; %d that this validator is too old for\n", n_modules, n_tuned,
                n_unknown);
  assert_true(n_modules > (TSR_TEST_SLOW ? 400 : 2000) && n_tuned > (TSR_TEST_SLOW ? 100 : 500));
}

static void every_figure_has_a_source_and_a_date(void **state) {
  int n;
  const recorded_device *d = recorded_devices(&n);
  for (int i = 0; i < n; i++)
    if (recorded_sources(d[i].name)) fail_msg("tests/vulkan/%s.json: %s", d[i].name, recorded_sources(d[i].name));
}

static void subgroups_from_4_to_128_are_recorded(void **state) {
  int n, seen = 0;
  const recorded_device *d = recorded_devices(&n);
  for (int i = 0; i < n; i++) seen |= d[i].caps.subgroup;
  assert_int_equal(seen & (4 | 8 | 16 | 32 | 64 | 128), 4 | 8 | 16 | 32 | 64 | 128);
}

/* ---- docs/vulkan-devices.md ---- */

static const plan_case *case_of(const char *name) {
  for (size_t i = 0; i < N_PLANS; i++)
    if (!strcmp(plans[i].name, name)) return &plans[i];
  fail_msg("no plan %s", name);
  return NULL;
}

static void put_cell(strb *b, const recorded_device *d, const char *name, const char *type) {
  outcome o = plan(d, case_of(name), type, false);
  strb_printf(b, " %s |", *o.refused ? "no" : o.path);
}

static void note_refusal(const plan_case *p, const char *type, void *user) {
  strb *list = ((void **)user)[0];
  outcome o = plan(((void **)user)[1], p, type, false);
  if (*o.refused && !strstr(strb_text(list), o.refused)) strb_printf(list, "%s%s", list->n ? ", " : "", o.refused);
}

static void put_row(strb *b, const recorded_device *d) {
  const tsr_caps *c = &d->caps;
  outcome rows = plan(d, case_of("softmax"), "f32", false);
  strb refused;
  strb_init(&refused, &al_default);
  for (size_t k = 0; k < N_PLANS; k++) each_type(&plans[k], note_refusal, (void *[]){&refused, (void *)(uintptr_t)d});
  strb_printf(b, "| %s | %s | %d | %d | %d |", d->device, d->vulkan, c->subgroup, c->max_threads,
              (int)(c->shared_bytes >> 10));
  put_cell(b, d, "product", "f32");
  put_cell(b, d, "product", "f16");
  put_cell(b, d, "product", "bf16");
  put_cell(b, d, "product", "i8");
  put_cell(b, d, "attention", "f16");
  strb_printf(b, " %s | %s | %s |\n", rows.shuffles ? "shuffles" : "shared memory",
              rows.wide_addresses ? "64 bits" : "pairs of words", refused.n ? strb_text(&refused) : "");
  strb_clear(&refused);
}

static void put_table(strb *b) {
  int n;
  const recorded_device *d = recorded_devices(&n);
  strb_puts(b, "# Vulkan devices that are not here\n\n"
               "What each recorded device takes by default, from its record alone. The records are `tests/vulkan/*.json`\n"
               "(form: `core/emit/spirv/caps.h`), each figure with its source and the day it was written down; what no\n"
               "source gave is the least that the specification allows, and the record says so. None of this has run on\n"
               "these devices: the code was made, held against the device's limits and accepted by the validator for its\n"
               "version of Vulkan, by default and with schedules that a search would try. `tests/unit/"
               "test_vulkan_recorded.c`\n"
               "does that and writes this page.\n\n"
               "Lanes: of a subgroup. Block: invocations. Products and attention: the matrix path, \"no\" where the type is\n"
               "refused; the last column has the names of what is missing for that. Rows: how the lanes of a reduction\n"
               "exchange values. A device of less than Vulkan 1.3 is left out at run time.\n\n"
               "| device | Vulkan | lanes | block | shared KiB | f32 | f16 | bf16 | i8 | attention f16 | rows | addresses "
               "| lacks |\n"
               "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (int i = 0; i < n; i++) put_row(b, &d[i]);
}

static void the_table_is_up_to_date(void **state) {
  if (TSR_TEST_SLOW) skip(); /* it compiles all plans once more */
  static const char path[] = TSR_SOURCE_DIR "/docs/vulkan-devices.md";
  strb b;
  strb_init(&b, &al_default);
  put_table(&b);
  FILE *f = fopen(path, getenv("TSR_UPDATE_GOLDEN") ? "w+" : "r");
  assert_non_null(f);
  if (getenv("TSR_UPDATE_GOLDEN")) fwrite(strb_text(&b), 1, b.n, f), rewind(f);
  char *have = calloc(1, b.n + 2);
  size_t n = fread(have, 1, b.n + 1, f);
  fclose(f);
  if (n != b.n || memcmp(have, strb_text(&b), n))
    fail_msg("docs/vulkan-devices.md is out of date: TSR_UPDATE_GOLDEN=1 ctest -R test_vulkan_recorded writes it");
  free(have);
  strb_clear(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_figure_has_a_source_and_a_date),
                                     cmocka_unit_test(subgroups_from_4_to_128_are_recorded),
                                     cmocka_unit_test(every_family_by_default_and_as_a_search_would_on_every_device),
                                     cmocka_unit_test(the_table_is_up_to_date)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
