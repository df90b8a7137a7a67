/* Graph IR after its rewrites and Schedule IR of a few graphs, for the CPU and two GPUs that need not be here, against
 * checked-in text; and every level's dump through mlir-opt where that is installed. TSR_UPDATE_GOLDEN=1 writes the
 * files anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tessera/tessera.h"
#include "tests/support/mlir_opt.h"

#define DIR TSR_SOURCE_DIR "/tests/golden/levels/"

static const char *const graphs[] = {"mlp_f16", "attention", "norms", "moves", "layouts"};
static const struct {
  const char *id, *name;
} devices[] = {{"cpu:0", "cpu"}, {"cuda:sm_90a", "sm_90a"}, {"null:spirv", "spirv"}};

static int bad;

static void complain(const char *what, tsr_status st) {
  printf("%s: %s\n", what, st ? tsr_status_message(st) : "failed");
  tsr_status_free(st);
  bad = 1;
}

static char *read_file(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  char *text = f ? calloc(1, 1 << 20) : NULL;
  *n = text ? fread(text, 1, (1 << 20) - 1, f) : 0;
  if (f) fclose(f);
  return text;
}

static void compare(const char *path, const char *have) {
  size_t n;
  if (getenv("TSR_UPDATE_GOLDEN")) {
    FILE *f = fopen(path, "wb");
    if (!f || fputs(have, f) < 0 || fclose(f)) complain(path, NULL);
    return;
  }
  char *want = read_file(path, &n);
  if (!want || strcmp(want, have)) {
    printf("%s differs; TSR_UPDATE_GOLDEN=1 accepts this:\n%s\n", path, have);
    bad = 1;
  }
  free(want);
}

/* Golden files for Graph IR (the same for every device) and Schedule IR; all levels go to `all`. */
static void dump(tsr_context *ctx, tsr_device *dev, const char *graph, const char *device, bool first, FILE *all) {
  char path[512];
  size_t n;
  tsr_program *p = NULL;
  snprintf(path, sizeof path, DIR "%s.mlir", graph);
  char *text = read_file(path, &n);
  tsr_status st = text ? tsr_program_parse(dev, text, n, graph,
                                           &(tsr_compile_options){.tune = TSR_TUNE_OFF, .policy = TSR_POLICY_FAST}, &p)
                       : NULL;
  if (!p) complain(path, st);
  for (int level = TSR_LEVEL_GRAPH; p && level <= TSR_LEVEL_TARGET; level++) {
    static const char *const names[] = {"graph", "schedule"};
    char *out = NULL;
    st = tsr_program_dump(p, (tsr_level)level, &out, NULL);
    if (st) {
      complain(graph, st);
      continue;
    }
    if (level == TSR_LEVEL_GRAPH) snprintf(path, sizeof path, DIR "%s.graph.txt", graph);
    else snprintf(path, sizeof path, DIR "%s.%s.%s.txt", graph, device, names[level == TSR_LEVEL_SCHEDULE]);
    if (level == TSR_LEVEL_SCHEDULE || (level == TSR_LEVEL_GRAPH && first)) compare(path, out);
    fprintf(all, "%s// -----\n", out);
    tsr_text_free(ctx, &out);
  }
  tsr_program_destroy(&p);
  free(text);
}

int main(void) {
  char file[] = "/tmp/tessera_levels_XXXXXX";
  int fd = mkstemp(file);
  FILE *all = fd < 0 ? NULL : fdopen(fd, "w");
  tsr_context *ctx = NULL;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx);
  if (st || !all) return complain("start", st), 1;
  for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
    tsr_device *dev = NULL;
    st = tsr_device_open(ctx, devices[d].id, &dev);
    if (st) {
      complain(devices[d].id, st);
      continue;
    }
    for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++) dump(ctx, dev, graphs[g], devices[d].name, !d, all);
    tsr_device_close(&dev);
  }
  fclose(all);
  if (!mlir_opt_reads(file)) complain("mlir-opt refuses a dump", NULL);
  unlink(file);
  tsr_context_destroy(&ctx);
  printf("%d checks skipped\n", mlir_opt() ? 0 : 1);
  return bad;
}
