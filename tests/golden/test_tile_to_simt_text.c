/* Target IR that the SIMT lowering makes of small kernels, against checked-in text. TSR_UPDATE_GOLDEN=1 writes the
 * files anew. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/passes/simt/simt.h"

static const struct {
  const char *program;
  tsr_dialect dialect;
  const char *arch;
  int subgroup;
  bool matrices;
} cases[] = {
    {"transpose", DIALECT_SPIRV, "spirv1.6", 32, false},    /* shared exchange, ragged edges */
    {"embedding_mean", DIALECT_HIP, "gfx942", 64, false},   /* gather, scatter, loop and branch with results */
    {"matmul_direct", DIALECT_SPIRV, "spirv1.6", 32, true}, /* cooperative matrices from global memory */
};

static char *read_file(const char *path) {
  static char text[1 << 20];
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  return text;
}

static tsr_status lower(size_t i, strb *out) {
  char path[512];
  ir_module *m = NULL, *t = NULL;
  tsr_caps c = {.dialect = cases[i].dialect,
                .subgroup = cases[i].subgroup,
                .max_threads = 1024,
                .vector_bytes = 16,
                .shared_bytes = 32768,
                .f16 = true,
                .subgroup_shuffle = true,
                .full_subgroups = true,
                .coopmat = cases[i].matrices,
                .n_matrix = cases[i].matrices,
                .matrix = {{16, 16, 16, TSR_F16, TSR_F16, TSR_F32, SCOPE_SUBGROUP, true, ""}}};
  snprintf(c.arch, sizeof c.arch, "%s", cases[i].arch);
  snprintf(path, sizeof path, TSR_SOURCE_DIR "/tests/tile/%s.mlir", cases[i].program);
  char *text = read_file(path);
  if (!text) return st_make(NULL, TSR_IO_ERROR, (st_where){0}, "%s", path);
  tsr_status st = ir_parse(NULL, text, strlen(text), path, &m);
  if (!st) st = tile_to_simt(m, &c, &t);
  if (!st) ir_print(out, t);
  ir_module_destroy(&t);
  ir_module_destroy(&m);
  return st;
}

int main(void) {
  int bad = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char path[512];
    strb b;
    strb_init(&b, NULL);
    tsr_status st = lower(i, &b);
    snprintf(path, sizeof path, TSR_SOURCE_DIR "/tests/golden/%s.%s.target.mlir", cases[i].program, cases[i].arch);
    if (st) {
      printf("%s: %s\n", cases[i].program, tsr_status_message(st));
      tsr_status_free(st);
      bad = 1;
    } else if (getenv("TSR_UPDATE_GOLDEN")) {
      FILE *f = fopen(path, "wb");
      bad |= !f || fputs(strb_text(&b), f) < 0;
      if (f) fclose(f);
    } else {
      const char *want = read_file(path);
      if (!want || strcmp(want, strb_text(&b)))
        bad = 1, printf("%s differs; TSR_UPDATE_GOLDEN=1 accepts this:\n%s\n", path, strb_text(&b));
    }
    strb_clear(&b);
  }
  return bad;
}
