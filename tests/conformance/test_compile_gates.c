/* Every family of kernels, through the lowering and the printer, to binary: NVRTC for the CUDA architectures, clang for
 * the AMD ones (no GPU is needed for either); what clang makes is assembled too, inline assembly being text to it. No
 * spills, no serialized wgmma, the matrix instruction that the architecture has for the types and, on AMD, waits that
 * leave loads in flight. gfx950 needs clang 20 or later. TSR_GATES=all compiles the whole list for each architecture,
 * else a sample is taken; TSR_GATES=list prints it, TSR_GATES_NAME=words limits it to names with these words,
 * TSR_GATES_KEEP=folder leaves the AMD sources and assembly there. What can't be compiled for want of a tool or a
 * capability is counted and printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backends/cuda/backend.h"
#include "backends/hip/backend.h"
#include "backends/simt/simt.h"
#include "core/emit/text/text.h"
#include "core/ir/ir.h"
#include "core/passes/lower.h"
#include "core/passes/simt/simt.h"
#include "tests/support/amd_asm.h"
#include "tests/support/gate_list.h"
#include "tests/support/plan.h"

static gate *gates;
static int n_gates;
static const char *const cuda_archs[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"};
static const char *const hip_archs[] = {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};
enum { N_CUDA = sizeof cuda_archs / sizeof *cuda_archs, N_HIP = sizeof hip_archs / sizeof *hip_archs };

/* ---- one compile ------------------------------------------------------------------------------------------------- */

static int compiled, skipped, failed, shared_out;

static void problem(const gate *g, const char *arch, const char *what, const char *detail) {
  printf("FAILED %s for %s: %s %s\n", g->name, arch, what, detail);
  failed++;
}

/* Is it compiled whatever the sample? For an architecture of each compiler back end that it once spilled on. */
static bool is_always(const gate *g, const char *arch) {
  return g->always && strstr("sm_80 sm_120 gfx942 gfx1100", arch);
}

static bool concerns(const gate *g, const char *arch) { return !g->only || strstr(g->only, arch); }

static bool has_f8(const char *arch) {
  return strcmp(arch, "sm_80") && strcmp(arch, "sm_86") && strcmp(arch, "gfx90a") && strcmp(arch, "gfx1100");
}
static bool expects_matrix(const gate *g, const char *arch) {
  if (!g->matrix) return false;
  if (g->in == TSR_F8E4M3 || g->in == TSR_F8E5M2) return has_f8(arch);
  if (g->in == TSR_TF32) return !strncmp(arch, "sm_", 3) || !strcmp(arch, "gfx942");
  return true;
}

/* The text of a kernel for an architecture; NULL if the lowering says that it can't be. */
static char *source_of(const gate *g, const tsr_caps *caps) {
  ir_module *tile = NULL, *target = NULL;
  strb b;
  strb_init(&b, &al_default);
  bool plain = g->plain && !expects_matrix(g, caps->arch);
  tsr_status st = g->graph ? plan_tile(g->text, g->n, g->name, caps, &tile)
                           : ir_parse(NULL, plain ? g->plain : g->text, plain ? g->n_plain : g->n, g->name, &tile);
  if (!st) st = tile_expand(tile, caps);
  if (!st) st = tile_to_simt(tile, caps, &target);
  if (!st) st = emit_text(target, caps, &b);
  if (st && tsr_status_code(st) == TSR_UNSUPPORTED)
    skipped++, printf("skipped %s for %s: %s\n", g->name, caps->arch, tsr_status_message(st));
  else if (st) problem(g, caps->arch, "lowering:", tsr_status_message(st));
  char *text = st ? NULL : strdup(strb_text(&b));
  tsr_status_free(st);
  ir_module_destroy(&tile);
  ir_module_destroy(&target);
  strb_clear(&b);
  return text;
}

static void quiet(void *user, int level, const char *text) {}
static const be_env env = {.al = &al_default, .log = quiet};

static struct { double ms; char what[128]; } slowest; /* processor time of NVRTC, for information */

/* Warpgroups that share a block's registers out anew may ask for what it got at launch, or they wait for ever: ptxas
 * says how much that is. */
static void check_registers(const gate *g, const char *arch, const char *text, const char *log) {
  for (const char *k = strstr(text, "\nKERNEL("); k; k = strstr(k + 1, "\nKERNEL(")) {
    const char *end = strstr(k + 1, "\nKERNEL("), *up = strstr(k, "setmaxnreg_inc<"),
               *down = strstr(k, "setmaxnreg_dec<");
    int threads = 0;
    char name[256];
    be_kernel_stats s;
    if (!up || !down || (end && up > end) || sscanf(k, "\nKERNEL(%d) %255[A-Za-z0-9_]", &threads, name) != 2) continue;
    simt_log_stats(log, name, &s);
    int want = (threads / 128 - 1) * atoi(up + 15) + atoi(down + 15),
        have = (s.registers + 7) / 8 * 8 * (threads / 128);
    shared_out++;
    if (want > have) problem(g, arch, "setmaxnreg asks for more registers than the block has", name);
  }
}

static bool check_cuda(const gate *g, const char *arch) {
  tsr_caps caps;
  void *code;
  size_t bytes;
  char *log;
  tsr_status st = cuda_backend.arch_caps(arch, &caps);
  char *text = st ? NULL : source_of(g, &caps);
  if (!text) return tsr_status_free(st), true;
  clock_t start = clock();
  st = cuda_backend.compile(&env, arch, text, &code, &bytes, &log);
  double ms = 1e3 * (double)(clock() - start) / CLOCKS_PER_SEC;
  if (ms > slowest.ms) snprintf(slowest.what, sizeof slowest.what, "%s for %s", g->name, arch), slowest.ms = ms;
  if (st && tsr_status_code(st) == TSR_UNAVAILABLE) {
    tsr_status_free(st);
    free(text);
    return false;
  }
  compiled++;
  if (st) problem(g, arch, "NVRTC:", tsr_status_message(st));
  if (!st) check_registers(g, arch, text, log);
  if (!st && strstr(log, "serialized")) problem(g, arch, "wgmma is serialized", "");
  for (const char *p = st ? NULL : strstr(log, "bytes spill stores"); p; p = strstr(p + 1, "bytes spill stores")) {
    int n = 0;
    const char *q = p - 2;
    while (q > log && q[-1] >= '0' && q[-1] <= '9') q--;
    if (sscanf(q, "%d", &n) == 1 && n) problem(g, arch, "spills", "");
  }
  if (!st && expects_matrix(g, arch) && !strstr(text, "mma.sync") && !strstr(text, "wgmma.mma_async"))
    problem(g, arch, "no matrix instruction", "");
  if (!st) {
    al_free(&al_default, code, bytes, 16);
    al_free(&al_default, log, strlen(log) + 1, 16);
  }
  tsr_status_free(st);
  free(text);
  return true;
}

/* The oldest clang here that knows the architecture (ROCm's own is seldom the newest); NULL if there is none. */
static const char *find_clang(const char *arch) {
  static const char *const names[] = {"clang-19", "clang-20", "clang-21", "clang-22"};
  char cmd[64];
  for (size_t i = !strcmp(arch, "gfx950"); i < sizeof names / sizeof *names; i++) {
    snprintf(cmd, sizeof cmd, "command -v %s >/dev/null", names[i]);
    if (!system(cmd)) return names[i];
  }
  return NULL;
}

/* The matrix instruction of an AMD architecture for operands of a type. */
static const char *amd_instruction(tsr_dtype in, const char *arch) {
  bool cdna2 = !strcmp(arch, "gfx90a"), cdna4 = !strcmp(arch, "gfx950"), wmma = strncmp(arch, "gfx9", 4) != 0;
  switch (in) {
    case TSR_BF16:
      return wmma    ? "v_wmma_f32_16x16x16_bf16"
             : cdna4 ? "v_mfma_f32_16x16x32_bf16"
             : cdna2 ? "v_mfma_f32_16x16x16bf16_1k"
                     : "v_mfma_f32_16x16x16_bf16";
    case TSR_F16:
      return wmma    ? "v_wmma_f32_16x16x16_f16"
             : cdna4 ? "v_mfma_f32_16x16x32_f16"
             : cdna2 ? "v_mfma_f32_16x16x16f16"
                     : "v_mfma_f32_16x16x16_f16";
    case TSR_I8:
      return wmma    ? "v_wmma_i32_16x16x16_iu8"
             : cdna4 ? "v_mfma_i32_16x16x64_i8"
             : cdna2 ? "v_mfma_i32_16x16x16i8"
                     : "v_mfma_i32_16x16x32_i8";
    case TSR_F8E4M3:
      return wmma    ? "v_wmma_f32_16x16x16_fp8_fp8"
             : cdna4 ? "v_mfma_f32_16x16x128_f8f6f4"
                     : "v_mfma_f32_16x16x32_fp8_fp8";
    case TSR_F8E5M2:
      return wmma    ? "v_wmma_f32_16x16x16_bf8_bf8"
             : cdna4 ? "v_mfma_f32_16x16x128_f8f6f4"
                     : "v_mfma_f32_16x16x32_bf8_bf8";
    case TSR_TF32: return "v_mfma_f32_16x16x8_xf32";
    default: return wmma ? "v_wmma" : "v_mfma";
  }
}

static void check_assembly(const gate *g, const char *arch, const char *s) {
  const char *fault = amd_asm_spills(s);
  if (fault) problem(g, arch, fault, "");
  if (expects_matrix(g, arch) && !amd_asm_has(s, amd_instruction(g->in, arch)))
    problem(g, arch, "lacks", amd_instruction(g->in, arch));
  bool loads = !strcmp(arch, "gfx90a")
                   ? strstr(s, ", off lds") != NULL
                   : amd_asm_has(s, !strcmp(arch, "gfx950") ? "global_load_lds_dwordx4" : "global_load_lds_dword");
  if (g->only && !loads) problem(g, arch, "no direct load", "");
  if (g->only && strstr(g->name, "pingpong") && (fault = amd_asm_turns(s))) problem(g, arch, fault, "");
  if (g->overlap && (fault = amd_asm_waits(s))) problem(g, arch, fault, "");
  if (g->whole && (fault = amd_asm_lane_branches(s))) problem(g, arch, fault, "");
}

static char *read_whole(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  char *p = NULL;
  *n = 0;
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  if (size >= 0 && (p = malloc((size_t)size + 1))) *n = fread(p, 1, (size_t)size, f), p[*n] = 0;
  fclose(f);
  return p;
}

static void check_hip(const gate *g, const char *arch, const char *clang) {
  tsr_caps caps;
  char stem[160], path[192], cmd[1024];
  tsr_status st = hip_backend.arch_caps(arch, &caps);
  char *text = st ? NULL : source_of(g, &caps);
  tsr_status_free(st);
  if (!text) return;
  const char *keep = getenv("TSR_GATES_KEEP");
  if (keep) snprintf(stem, sizeof stem, "%.60s/%s-%.80s", keep, arch, g->name);
  else snprintf(stem, sizeof stem, "/tmp/tsr-gate-%ld", (long)getpid());
  snprintf(path, sizeof path, "%s.hip", stem);
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f)) exit(1);
  snprintf(cmd, sizeof cmd,
           "%s -x hip --cuda-device-only --offload-arch=%s -nogpulib -nogpuinc -O3 -S %s.hip -o %s.s 2>%s.err", clang,
           arch, stem, stem, stem);
  compiled++;
  size_t n;
  snprintf(path, sizeof path, "%s.err", stem);
  int rc = system(cmd);
  /* The compiler copies inline assembly as it is: only the assembler knows whether the architecture has it. */
  snprintf(cmd, sizeof cmd, "%s -target amdgcn-amd-amdhsa -mcpu=%s -c %s.s -o %s.o 2>%s.err", clang, arch, stem, stem,
           stem);
  if (rc || system(cmd)) {
    char *err = read_whole(path, &n);
    if (err) err[strcspn(err, "\n")] = 0;
    problem(g, arch, "clang:", err ? err : "");
    free(err);
  }
  unlink(path);
  snprintf(path, sizeof path, "%s.o", stem);
  unlink(path);
  snprintf(path, sizeof path, "%s.s", stem);
  char *s = read_whole(path, &n);
  if (s) check_assembly(g, arch, s);
  free(s);
  free(text);
  if (keep) return;
  unlink(path);
  snprintf(path, sizeof path, "%s.hip", stem);
  unlink(path);
}

int main(void) {
  const char *mode = getenv("TSR_GATES"), *only = getenv("TSR_GATES_ARCH"), *name = getenv("TSR_GATES_NAME");
  bool all = mode && !strcmp(mode, "all"), cuda = true;
  setvbuf(stdout, NULL, _IOLBF, 0);
  gates = gate_list(&n_gates);
  for (int i = 0, n = n_gates; i < n && name; i++) {
    if (!i) n_gates = 0;
    if (strstr(gates[i].name, name)) gates[n_gates++] = gates[i];
  }
  if (mode && !strcmp(mode, "list")) {
    for (int i = 0; i < n_gates; i++) puts(gates[i].name);
    return 0;
  }
  if (n_gates < 150 && !name) return printf("only %d kernels in the list\n", n_gates), 1;
  int step = all ? 1 : 53; /* under a minute */
  for (int a = 0; a < N_CUDA; a++)
    for (int i = 0; i < n_gates && cuda; i++) {
      const bool drawn = all || i % step == 5 * a % step || is_always(&gates[i], cuda_archs[a]);
      if (drawn && (!only || strstr(only, cuda_archs[a])) && concerns(&gates[i], cuda_archs[a]))
        cuda = check_cuda(&gates[i], cuda_archs[a]);
    }
  if (slowest.ms > 0)
    printf("slowest of NVRTC: %s, %.0f ms; %d kernels share out registers\n", slowest.what, slowest.ms, shared_out);
  if (!cuda) skipped += n_gates * N_CUDA, printf("skipped: no NVRTC here\n");
  for (int a = 0; a < N_HIP; a++) {
    if (only && !strstr(only, hip_archs[a])) continue;
    const char *clang = find_clang(hip_archs[a]);
    if (!clang) skipped += n_gates, printf("skipped: no clang for %s here\n", hip_archs[a]);
    for (int i = 0, forced = 0; i < n_gates && clang; i++) {
      bool first = gates[i].only && concerns(&gates[i], hip_archs[a]) &&
                   !forced++; /* its inline assembly is this architecture's own */
      if (!all && !first && i % step != 5 * a % step && !is_always(&gates[i], hip_archs[a])) continue;
      if (concerns(&gates[i], hip_archs[a])) check_hip(&gates[i], hip_archs[a], clang);
    }
  }
  printf("%d kernels in the list, %d compiled, %d skipped, %d failed\n", n_gates, compiled, skipped, failed);
  return failed ? 1 : compiled ? 0 : 77;
}
