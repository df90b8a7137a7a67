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

const char *simt_requested_path(const ir_op *kernel) {
  const char *requested = ir_get_str(kernel, "matrix", ""), *scheduled = ir_get_str(kernel, "matrix_path", "");
  if (*requested) return requested;
  return *scheduled && strcmp(scheduled, "auto") && strcmp(scheduled, "gemv") ? scheduled : knob_str("TSR_MATRIX");
}

static bool allowed_by_knob(const char *requested, const char *name) {
  if (!strcmp(requested, "auto") || !strcmp(requested, "direct") || !strcmp(requested, "pingpong"))
    return true; /* those two are of whole kernels */
  if (!strcmp(requested, "subgroup") && !strcmp(name, "dot")) return true;
  if (!strcmp(requested, "scalar") || !strcmp(requested, "subgroup") || !strcmp(requested, "fma"))
    return !strcmp(name, "fma");
  if (!strcmp(requested, "coopmat2") && !strncmp(name, "coopmat", 7)) return true; /* NV's pieces serve both scopes */
  return !strcmp(requested, name) || !strcmp(name, "fma");
}

tsr_status simt_choose_path(simt *c) {
  const char *requested = simt_requested_path(c->tile);
  c->requested_path = requested;
  c->why = NULL;
  for (int i = 0; simt_paths[i]; i++) {
    if (simt_paths[i]->ops && !(simt_paths[i]->ops & dialect_of(c->caps)->ops)) continue;
    gemm_scan s = {c, simt_paths[i],
                   allowed_by_knob(requested, simt_paths[i]->name) ? NULL : "another path was asked for", 0};
    TSR_TRY(ir_walk((ir_op *)c->tile, ask_path, &s));
    if (!s.n) return NULL;
    if (!c->why) c->why = c->refused;
    if (!s.why) {
      c->path = simt_paths[i];
      if (!c->why)
        c->why = !strcmp(requested, "auto") ? "the first path that takes every gemm of the kernel" : "asked for";
      return NULL;
    }
    /* Tell why a better path than the one taken was refused; the one asked for counts most. */
    if (*s.why && (!c->why || !strcmp(requested, simt_paths[i]->name))) c->why = s.why;
  }
  return NULL;
}
