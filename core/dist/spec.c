/* core/dist/spec.c - see spec.h. */
#include "core/dist/spec.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/int_math.h"
#include "core/ir/layout.h"
#include "core/ir/shard.h"

static const char *const hows[N_DIST_HOW] = {"sum", "max", "min", "prod"};

const char *dist_how_name(dist_how h) { return hows[h]; }

#define BAD(op, hint, ...) st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("shard", op, hint), __VA_ARGS__)

static tsr_status add(const dist_mesh *m, const ir_shard_axis *a, const char *what, int *last, dist_spec *out) {
  const int axis = dist_mesh_axis(m, a->name, a->n);
  strb known;
  strb_init(&known, NULL);
  dist_mesh_print(&known, m);
  tsr_status st = NULL;
  if (axis < 0) st = BAD(what, strb_text(&known), "the mesh has no axis \"%.*s\"", a->n, a->name);
  else if (a->dim >= 0 && last[a->dim] < axis)
    st = BAD(what, "of axes that cut one dimension the later one of the mesh is the outer one and is written first",
             "axis \"%.*s\" is written behind one that it is around", a->n, a->name);
  strb_clear(&known);
  if (st) return st;
  if (a->dim >= 0) {
    out->dim[a->dim] |= (uint8_t)(1u << axis);
    last[a->dim] = axis;
    return NULL;
  }
  int how = 0;
  while (a->how && strncmp(hows[how], a->how, (size_t)a->n_how)) how++;
  if (out->partial && out->how != how) return BAD(what, NULL, "partial over several axes by different reductions");
  out->partial |= (uint8_t)(1u << axis);
  out->how = (uint8_t)how;
  return NULL;
}

tsr_status dist_spec_parse(const dist_mesh *m, const char *shard, int rank, const char *what, dist_spec *out) {
  int last[TSR_MAX_RANK];
  ir_shard_axis a;
  *out = (dist_spec){.rank = rank};
  const char *why = ir_shard_fault(shard, rank);
  if (why) return BAD(what, NULL, "%s", why);
  for (int i = 0; i < TSR_MAX_RANK; i++) last[i] = DIST_MAX_AXES;
  for (const char *at = shard; ir_shard_next(&at, shard, &a);) TSR_TRY(add(m, &a, what, last, out));
  return NULL;
}

void dist_spec_as_written(dist_spec *s, const char *layout) {
  const dist_spec memory = *s;
  for (int i = 0; layout && i < s->rank; i++) s->dim[ir_layout_dim(layout, i)] = memory.dim[i];
}

void dist_spec_print(strb *b, const dist_mesh *m, const dist_spec *s) {
  char axes[DIST_MAX_AXES * DIST_NAME];
  for (int i = 0; i < s->rank; i++) {
    dist_mesh_axes_text(m, s->dim[i], axes, sizeof axes);
    strb_printf(b, "%s%s", i ? "," : "", *axes ? axes : "*");
  }
  for (int i = 0, n = 0; i < m->n; i++)
    if (s->partial >> i & 1) {
      strb_printf(b, "%s%s", n++ ? "," : "|", m->name[i]);
      if (s->how != DIST_SUM) strb_printf(b, ":%s", hows[s->how]);
    }
}

/* Which dimension a part's name means; -1: none. */
static int dim_named(const char *part, int rank) {
  static const struct {
    const char *name;
    int from_front, from_back;
  } parts[] = {{"row", -1, 2}, {"col", -1, 1}, {"batch", 0, 0}, {"head", 1, 0}, {"seq", -1, 2}, {"channel", 1, 0}};
  if (ascii_digit(*part) && !part[1]) return *part - '0' < rank ? *part - '0' : -1;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strcmp(parts[i].name, part)) continue;
    int at = parts[i].from_back ? rank - parts[i].from_back : parts[i].from_front;
    if (rank == 1 && !strcmp(part, "row")) at = 0;
    return at < rank ? at : -1;
  }
  return -1;
}

tsr_status dist_spec_by_names(const dist_mesh *m, int rank, const char *const *parts, const char *const *axes, int n,
                              dist_spec *out) {
  *out = (dist_spec){.rank = rank};
  uint32_t used = 0;
  for (int i = 0; i < n; i++) {
    const char *axis = axes && axes[i] ? axes[i] : "", *part = parts && parts[i] ? parts[i] : "";
    const int d = dim_named(part, rank), a = dist_mesh_axis(m, axis, (int)strlen(axis));
    if (a < 0) return BAD("shardspec", NULL, "the mesh has no axis \"%.40s\"", axis);
    if (d < 0)
      return BAD("shardspec", "row, col, batch, head, seq, channel, or a dimension's number",
                 "a tensor of rank %d has no part \"%.40s\"", rank, part);
    if (used >> a & 1) return BAD("shardspec", NULL, "axis \"%s\" cuts two dimensions", axis);
    used |= 1u << a;
    out->dim[d] |= (uint8_t)(1u << a);
  }
  return NULL;
}

int64_t dist_spec_extent(const dist_mesh *m, const dist_spec *s, int dim, int64_t whole) {
  return ceil_div(whole, dist_mesh_extent(m, s->dim[dim]));
}

const ir_type *dist_spec_type(const dist_mesh *m, const dist_spec *s, ir_module *module, const ir_type *whole) {
  int64_t dims[TSR_MAX_RANK];
  for (int i = 0; i < whole->rank; i++) dims[i] = dist_spec_extent(m, s, i, whole->dims[i]);
  return ir_type_tensor(module, whole->dtype, whole->rank, dims);
}

void dist_spec_piece(const dist_mesh *m, const dist_spec *s, const int64_t *dims, int64_t rank, int64_t *starts,
                     int64_t *sizes) {
  for (int i = 0; i < s->rank; i++) {
    int64_t member;
    const int64_t piece = dist_spec_extent(m, s, i, dims[i]);
    dist_mesh_group(m, s->dim[i], rank, &member);
    starts[i] = min64(member * piece, dims[i]);
    sizes[i] = min64(piece, dims[i] - starts[i]);
  }
}

int dist_spec_uneven(const dist_mesh *m, const dist_spec *s, const int64_t *dims) {
  for (int i = 0; i < s->rank; i++)
    if (dims[i] % dist_mesh_extent(m, s->dim[i])) return i;
  return -1;
}
