/* core/dist/mesh.h - a mesh: ranks in a grid whose axes have names. The axis named first varies fastest: its ranks are
 * neighbours, so the axis with the most traffic is named first. A set of axes is a mask with a bit for each; a rank's
 * group along it are the ranks that differ in these coordinates alone, numbered with the lowest axis fastest. */
#ifndef CORE_DIST_MESH_H
#define CORE_DIST_MESH_H
#include "core/base/status.h"
#include "core/base/str.h"

enum { DIST_MAX_AXES = 8, DIST_MAX_RANKS = 16384, DIST_NAME = 32 };

typedef struct dist_mesh {
  int n;
  int64_t ranks, size[DIST_MAX_AXES];
  char name[DIST_MAX_AXES][DIST_NAME];
} dist_mesh;

/* sizes may be NULL; of those that are 0 the rest of `ranks` is factorised as evenly as can be, the larger factors
 * first. ranks 0: the product of the sizes. */
TSR_MUST_USE tsr_status dist_mesh_make(const char *const *names, const int64_t *sizes, int n, int64_t ranks,
                                       dist_mesh *out);
/* "tp=8,pp=3"; names without a size need `ranks`. */
TSR_MUST_USE tsr_status dist_mesh_parse(const char *text, int64_t ranks, dist_mesh *out);
void dist_mesh_print(strb *b, const dist_mesh *m);
/* -1: there is none. */
int dist_mesh_axis(const dist_mesh *m, const char *name, int n);
int64_t dist_mesh_coord(const dist_mesh *m, int64_t rank, int axis);
/* Ranks of a group along these axes. */
int64_t dist_mesh_extent(const dist_mesh *m, uint32_t axes);
/* Which group of its kind a rank is in (0 .. ranks / extent - 1), and its number there. */
int64_t dist_mesh_group(const dist_mesh *m, uint32_t axes, int64_t rank, int64_t *member);
enum { DIST_AXES_TOLD = 96 * DIST_MAX_AXES };
/* For messages: `axis 0 "tp" of size 2`, several joined by "and", the outer first. */
void dist_mesh_axes_told(const dist_mesh *m, uint32_t axes, char out[DIST_AXES_TOLD]);
/* "dp+tp", the outer first. */
void dist_mesh_axes_text(const dist_mesh *m, uint32_t axes, char *out, size_t size);
/* Of such a text; 0: it names an axis that the mesh hasn't, or in another order. */
uint32_t dist_mesh_axes_of(const dist_mesh *m, const char *text);
#endif
