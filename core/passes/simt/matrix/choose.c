/* core/passes/simt/matrix/choose.c - which matrix path a kernel takes: the one asked for, or the first that takes
 * every gemm of it, and why. */
#include <string.h>

#include "core/base/knob.h"
#include "core/device/dialect.h"
#include "core/passes/simt/matrix/choose.h"
#include "core/passes/simt/matrix/paths.h"
#include "core/passes/simt/state.h"

typedef struct gemm_scan { simt *c; const simt_matrix_path *path; const char *why; int n; } gemm_scan;

static tsr_status ask_path(ir_op *op, void *user) {
  gemm_scan *s = user;
  if (op->def->level != IR_TILE || (op->def->code != T_GEMM && op->def->code != T_MMA_SYNC)) return NULL;
  simt_gemm g = simt_gemm_of(op);
  s->n++;
  if (!s->why) s->why = g.kahan && s->path->opaque ? "kahan_sum needs the sums in registers" : s->path->fits(s->c, &g);
  return NULL;
}

/* A word that no path has asks for none. */
static const matrix_path *path_of(const char *word) {
  const matrix_path *path = matrix_path_find(word);
  return path ? path : matrix_path_find("fma");
}

const matrix_path *simt_requested_path(const ir_op *kernel) {
  const char *requested = ir_get_str(kernel, "matrix", ""), *scheduled = ir_get_str(kernel, "matrix_path", "auto");
  if (*requested) return path_of(requested);
  const matrix_path *path = path_of(*scheduled ? scheduled : "auto");
  return matrix_path_is_open(path) ? path_of(knob_str("TSR_MATRIX")) : path;
}

tsr_status simt_choose_path(simt *c) {
  const matrix_path *requested = simt_requested_path(c->tile);
  c->requested_path = requested;
  c->why = NULL;
  for (int i = 0; simt_paths[i]; i++) {
    if (simt_paths[i]->ops && !(simt_paths[i]->ops & dialect_of(c->caps)->ops)) continue;
    const bool itself = !strcmp(requested->name, simt_paths[i]->name),
               allowed = matrix_path_allows(requested, simt_paths[i]->name);
    gemm_scan s = {c, simt_paths[i],
                   simt_paths[i]->only_asked && !itself ? ""
                   : allowed                            ? NULL
                                                        : "another path was asked for",
                   0};
    TSR_TRY(ir_walk((ir_op *)c->tile, ask_path, &s));
    if (!s.n) return NULL;
    if (!c->why) c->why = c->refused;
    if (!s.why) {
      c->path = simt_paths[i];
      if (!c->why)
        c->why = matrix_path_is_open(requested) ? "the first path that takes every gemm of the kernel" : "asked for";
      return NULL;
    }
    /* Tell why a better path than the one taken was refused; the one asked for counts most. */
    if (*s.why && (!c->why || itself)) c->why = s.why;
  }
  return NULL;
}
