/* core/dist/spec.h - how a tensor lies on a mesh: for each dimension the axes that cut it, and the axes over which
 * every rank has only a part of the sum (or another reduction). Axes that are in neither repeat it. Of several axes
 * that cut one dimension the later of the mesh is the outer one. A dimension is padded up to equal pieces. */
#ifndef CORE_DIST_SPEC_H
#define CORE_DIST_SPEC_H
#include "core/dist/mesh.h"
#include "core/ir/ir.h"

typedef enum dist_how { DIST_SUM, DIST_MAX, DIST_MIN, DIST_PROD, N_DIST_HOW } dist_how;
const char *dist_how_name(dist_how h);

typedef struct dist_spec {
  int rank;
  uint8_t dim[TSR_MAX_RANK]; /* axes that cut it */
  uint8_t partial;
  uint8_t how; /* of all partial axes */
} dist_spec;

static inline bool dist_spec_same(const dist_spec *a, const dist_spec *b) {
  for (int i = 0; i < a->rank; i++)
    if (a->dim[i] != b->dim[i]) return false;
  return a->partial == b->partial && (!a->partial || a->how == b->how);
}
/* All axes that cut a dimension. */
static inline uint32_t dist_spec_cuts(const dist_spec *s) {
  uint32_t axes = 0;
  for (int i = 0; i < s->rank; i++) axes |= s->dim[i];
  return axes;
}

/* Of a tensor with this layout (ir/layout.h; NULL: none) the spec in memory's order becomes that of the tensor as it is
 * written. */
void dist_spec_as_written(dist_spec *s, const char *layout);

/* From ir/shard.h's text, and to it. `what` names the value in the message. */
TSR_MUST_USE tsr_status dist_spec_parse(const dist_mesh *m, const char *shard, int rank, const char *what,
                                        dist_spec *out);
void dist_spec_print(strb *b, const dist_mesh *m, const dist_spec *s);
/* From names of parts ("row", "col", "batch", "head", "seq", "channel" or a dimension's number), each with the axis
 * that cuts it. */
TSR_MUST_USE tsr_status dist_spec_by_names(const dist_mesh *m, int rank, const char *const *parts,
                                           const char *const *axes, int n, dist_spec *out);

/* A dimension's extent on each rank, padding included; the whole with its padding is this times the pieces. */
int64_t dist_spec_extent(const dist_mesh *m, const dist_spec *s, int dim, int64_t whole);
/* The type of what each rank has; NULL when out of memory. */
const ir_type *dist_spec_type(const dist_mesh *m, const dist_spec *s, ir_module *module, const ir_type *whole);
/* A rank's piece of the whole: where it begins and how much of it isn't padding (0: none). */
void dist_spec_piece(const dist_mesh *m, const dist_spec *s, const int64_t *dims, int64_t rank, int64_t *starts,
                     int64_t *sizes);
/* The first dimension that its axes don't cut evenly; -1: none. */
int dist_spec_uneven(const dist_mesh *m, const dist_spec *s, const int64_t *dims);
#endif
