/* The machine code that ptxas makes of the emitted CUDA text: the matrix instruction that the plan counts on, whole
 * numbers that wrap (PTX ISA: without .satfinite), and no fence of the whole GPU in a loop with matrix instructions.
 * What is expected are NVIDIA's instructions, not what the emulator knows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/backend.h"
#include "core/emit/text/text.h"
#include "core/ir/ir.h"
#include "core/passes/lower.h"
#include "core/passes/simt/simt.h"
#include "tests/support/nv_sass.h"
#include "tests/support/plan.h"

static int failed, compiled, compared;

static void quiet(void *user, int level, const char *text) {}
static const be_env env = {.al = &al_default, .log = quiet};

/* What the plan of a product of two 4096 x 4096 matrices, b along k, must become. */
static const struct row { const char *arch, *in, *out; nv_op op; bool loops; } rows[] = {
    {"sm_80", "bf16", "bf16", NV_HMMA, true},     {"sm_80", "i8", "i32", NV_IMMA, true},        {"sm_86", "f16", "f16", NV_HMMA, true},
    {"sm_89", "bf16", "bf16", NV_HMMA, true},     {"sm_89", "f8E4M3FN", "f8E4M3FN", NV_QMMA, true}, {"sm_89", "f8E5M2", "f8E5M2", NV_QMMA, true},
    {"sm_90a", "bf16", "bf16", NV_HGMMA, true},   {"sm_90a", "f16", "f16", NV_HGMMA, true},     {"sm_90a", "f8E4M3FN", "f8E4M3FN", NV_QGMMA, true},
    {"sm_90a", "f8E5M2", "f8E5M2", NV_QGMMA, true},  {"sm_90a", "i8", "i32", NV_IGMMA, true},      {"sm_100", "bf16", "bf16", NV_HMMA, true},
    {"sm_100", "f8E4M3FN", "f8E4M3FN", NV_HMMA, true}, /* no QMMA there */
    {"sm_100", "i8", "i32", NV_IMMA, true},       {"sm_120", "bf16", "bf16", NV_HMMA, true},    {"sm_120", "f8E4M3FN", "f8E4M3FN", NV_QMMA, true},
    {"sm_120", "i8", "i32", NV_IMMA, true}};

static void problem(const struct row *r, const char *what, int n) {
  printf("FAILED %s %s: %s (%d)\n", r->arch, r->in, what, n);
  failed++;
}

static char *source_of(const struct row *r, const tsr_caps *caps) {
  static const char form[] =
      "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%%A: tensor<4096x4096x%s>, %%B: "
      "tensor<4096x4096x%s>):\n"
      "%%0 = \"tessera.graph.matmul\"(%%A, %%B) {transpose_b = true} : (tensor<4096x4096x%s>, tensor<4096x4096x%s>) -> "
      "tensor<4096x4096x%s>\n"
      "\"tessera.graph.return\"(%%0) : (tensor<4096x4096x%s>) -> ()\n}) {sym_name = \"main\"} }) : () -> ()\n";
  char text[1024];
  ir_module *tile = NULL, *target = NULL;
  strb b;
  strb_init(&b, &al_default);
  snprintf(text, sizeof text, form, r->in, r->in, r->in, r->in, r->out, r->out);
  tsr_status st = plan_tile(text, strlen(text), "product", caps, &tile);
  if (!st) st = tile_expand(tile, caps);
  if (!st) st = tile_to_simt(tile, caps, &target);
  if (!st) st = emit_text(target, caps, &b);
  if (st) problem(r, tsr_status_message(st), 0);
  char *s = st ? NULL : strdup(strb_text(&b));
  tsr_status_free(st);
  ir_module_destroy(&tile);
  ir_module_destroy(&target);
  strb_clear(&b);
  return s;
}

/* Where nvdisasm is on the path and knows the architecture, it must count what we count. */
static void compare(const struct row *r, const void *code, size_t bytes) {
  char path[64], cmd[256], line[4096];
  if (system("command -v nvdisasm >/dev/null 2>&1")) return;
  snprintf(path, sizeof path, "/tmp/tsr-sass-%ld", (long)getpid());
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(code, 1, bytes, f) != bytes || fclose(f)) exit(1);
  snprintf(cmd, sizeof cmd, "nvdisasm -c %s 2>/dev/null", path);
  int counts[NV_N_OPS] = {0}, lines = 0;
  for (f = popen(cmd, "r"); f && fgets(line, sizeof line, f); lines++)
    for (int o = 0; o < NV_N_OPS; o++) {
      char want[16];
      snprintf(want, sizeof want, " %s.", nv_op_name((nv_op)o));
      counts[o] += strstr(line, want) != NULL;
    }
  int rc = f ? pclose(f) : 1;
  unlink(path);
  if (rc || !lines) return;
  compared++;
  for (int o = 0; o < NV_N_OPS; o++)
    if (counts[o] != nv_sass_count(code, bytes, (nv_op)o)) problem(r, nv_op_name((nv_op)o), counts[o]);
}

static void check(const struct row *r, const void *code, size_t bytes) {
  int loops = 0, fences = nv_sass_wide_fences(code, bytes, atoi(r->arch + 3), &loops);
  for (int o = 0; o < NV_MEMBAR; o++) {
    int n = nv_sass_count(code, bytes, (nv_op)o);
    if (o == (int)r->op ? n < 1 : n != 0) problem(r, nv_op_name((nv_op)o), n);
  }
  if (r->loops && !loops) problem(r, "no loop with matrix instructions", 0);
  if (fences) problem(r, "fences of the whole GPU in the main loop", fences);
  if (nv_sass_saturating(code, bytes)) problem(r, "products that saturate", nv_sass_saturating(code, bytes));
  compare(r, code, bytes);
}

int main(void) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct row *r = &rows[i];
    tsr_caps caps;
    void *code;
    size_t bytes;
    char *log;
    tsr_status st = cuda_backend.arch_caps(r->arch, &caps);
    char *text = st ? NULL : source_of(r, &caps);
    if (!st && text) st = cuda_backend.compile(&env, caps.arch, text, &code, &bytes, &log);
    if (st && tsr_status_code(st) == TSR_UNAVAILABLE)
      return tsr_status_free(st), printf("skipped: no NVRTC here\n"), 77;
    if (st) problem(r, tsr_status_message(st), 0);
    if (text && !st) {
      compiled++;
      check(r, code, bytes);
      al_free(&al_default, code, bytes, 16);
      al_free(&al_default, log, strlen(log) + 1, 16);
    }
    tsr_status_free(st);
    free(text);
  }
  printf("%d kernels compiled, %d compared with nvdisasm, %d failed\n", compiled, compared, failed);
  return failed ? 1 : 0;
}
