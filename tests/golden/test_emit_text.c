/* The kernels (without the primitives before them) that are printed for Target IR, against checked-in text.
 * TSR_UPDATE_GOLDEN=1 writes the files anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/arch.h"
#include "core/emit/text/text.h"

static const struct {
  const char *file, *arch;
} cases[] = {{"add", "sm_80"}, {"add", "gfx1100"}, {"transpose", "sm_90a"}, {"matmul", "sm_80"}, {"matmul", "sm_90a"}};

static char *read_file(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  static char text[1 << 20];
  *n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  text[*n] = 0;
  if (f) fclose(f);
  return f ? text : NULL;
}

static tsr_status print(const char *name, const char *arch, strb *b) {
  char path[256];
  size_t n;
  tsr_caps caps;
  ir_module *target = NULL;
  snprintf(path, sizeof path, TSR_SOURCE_DIR "/tests/golden/%s.%s.mlir", name, arch);
  char *text = read_file(path, &n);
  if (!text) return st_make(NULL, TSR_IO_ERROR, (st_where){0}, "%s", path);
  tsr_status st = arch_caps_of(strncmp(arch, "gfx", 3) ? DIALECT_CUDA : DIALECT_HIP, arch, &caps);
  if (!st) st = ir_parse(NULL, text, n, path, &target);
  if (!st) st = emit_text(target, &caps, b);
  ir_module_destroy(&target);
  return st;
}

int main(void) {
  int bad = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char path[256];
    size_t n;
    strb b;
    strb_init(&b, &al_default);
    tsr_status st = print(cases[i].file, cases[i].arch, &b);
    if (st) {
      printf("%s for %s: %s\n", cases[i].file, cases[i].arch, tsr_status_message(st));
      tsr_status_free(st);
      bad = 1;
      continue;
    }
    const char *kernels = strstr(strb_text(&b), "\nKERNEL(");
    if (!kernels) kernels = strb_text(&b);
    while (kernels > strb_text(&b) && kernels[-1] != '\n') kernels--; /* with the comment line before the first one */
    snprintf(path, sizeof path, TSR_SOURCE_DIR "/tests/golden/%s.%s.txt", cases[i].file, cases[i].arch);
    if (getenv("TSR_UPDATE_GOLDEN")) {
      FILE *f = fopen(path, "wb");
      if (!f || fputs(kernels, f) < 0 || fclose(f)) bad = 1;
    } else {
      const char *want = read_file(path, &n);
      if (!want || strcmp(want, kernels))
        bad = 1, printf("%s differs; TSR_UPDATE_GOLDEN=1 accepts this:\n%s\n", path, kernels);
    }
    strb_clear(&b);
  }
  return bad;
}
