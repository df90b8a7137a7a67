/* core/runtime/mesh.c - meshes and tensors that are spread over them; see tessera/dist.h. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/runtime/dist.h"

tsr_status tsr_mesh_create(tsr_context *c, const tsr_mesh_desc *d, tsr_mesh **out) {
  RT_OUT("mesh_create", out);
  RT_NEED("mesh_create", "ctx", c);
  RT_NEED("mesh_create", "desc", d);
  RT_NEED("mesh_create", "axes", d->axes);
  if (d->n_devices < 0 || d->n_devices > DIST_MAX_RANKS)
    return RT_BAD(c, "mesh_create", NULL, "%d devices; at most %d", d->n_devices, DIST_MAX_RANKS);
  TSR_TRY(rt_check_array("mesh_create", "devices", d->devices, d->n_devices));
  for (int i = 0; i < d->n_devices; i++) RT_NEED("mesh_create", "a device", d->devices[i]);
  dist_mesh m;
  bool sized = d->sizes != NULL;
  for (int i = 0; i < d->n_axes && sized; i++) sized &= d->sizes[i] > 0;
  TSR_TRY(dist_mesh_make(d->axes, d->sizes, d->n_axes, d->ranks ? d->ranks : sized ? 0 : d->n_devices, &m));
  tsr_mesh *x = al_new(&c->al, tsr_mesh);
  if (!x) return st_oom();
  *x = (tsr_mesh){.ctx = c, .m = m, .n_devices = d->n_devices, .team = d->team, .end = m.ranks};
  tsr_status st = d->team ? rt_mesh_check_team(x, d->team) : NULL;
  if (st) return al_delete(&c->al, x), st;
  if (d->team) x->first = tsr_team_rank(d->team), x->end = x->first + 1;
  if (d->n_devices) {
    x->devices = al_alloc(&c->al, sizeof *x->devices * (size_t)d->n_devices, 16);
    if (!x->devices) return al_delete(&c->al, x), st_oom();
    memcpy(x->devices, d->devices, sizeof *x->devices * (size_t)d->n_devices);
  }
  *out = x;
  return NULL;
}

void tsr_mesh_destroy(tsr_mesh **mp) {
  tsr_mesh *m = mp ? *mp : NULL;
  if (!m) return;
  const tsr_allocator al = m->ctx->al;
  if (m->devices) al_free_array(&al, m->devices, (size_t)m->n_devices);
  al_delete(&al, m);
  *mp = NULL;
}

int64_t tsr_mesh_ranks(const tsr_mesh *m) { return m ? m->m.ranks : 0; }
int64_t tsr_mesh_rank(const tsr_mesh *m) { return m && m->team ? m->first : -1; }

static int axis_of(const tsr_mesh *m, const char *axis) {
  return m && axis ? dist_mesh_axis(&m->m, axis, (int)strlen(axis)) : -1;
}

int64_t tsr_mesh_size(const tsr_mesh *m, const char *axis) {
  const int a = axis_of(m, axis);
  return a < 0 ? 0 : m->m.size[a];
}

int64_t tsr_mesh_coordinate(const tsr_mesh *m, int64_t rank, const char *axis) {
  const int a = axis_of(m, axis);
  return a < 0 || rank < 0 || rank >= m->m.ranks ? -1 : dist_mesh_coord(&m->m, rank, a);
}

tsr_status tsr_mesh_print(const tsr_mesh *m, char **text) {
  RT_OUT("mesh_print", text);
  RT_NEED("mesh_print", "mesh", m);
  strb b;
  strb_init(&b, &m->ctx->al);
  dist_mesh_print(&b, &m->m);
  strb_putc(&b, '\n');
  for (int64_t r = 0; r < m->m.ranks; r++) {
    strb_printf(&b, "  rank %lld:", (long long)r);
    for (int a = 0; a < m->m.n; a++) strb_printf(&b, " %s %lld", m->m.name[a], (long long)dist_mesh_coord(&m->m, r, a));
    strb_printf(&b, ", %s\n",
                !mesh_has(m, r) ? "another process"
                : m->n_devices  ? mesh_device(m, r)->info.id
                                : "no device");
  }
  return rt_text(m->ctx, &b, text);
}

/* ---- shards ---------------------------------------------------------------------------------------------------- */

tsr_status rt_shardspec(const tsr_mesh *m, int rank, const tsr_shardspec *s, bool result, dist_spec *out) {
  static const tsr_shardspec whole = {0};
  if (!s) s = &whole;
  if (s->n < 0 || s->n > TSR_MAX_RANK || s->n_partial < 0 || s->n_partial > DIST_MAX_AXES)
    return RT_BAD(m->ctx, "shardspec", NULL, "%d parts and %d partial axes", s->n, s->n_partial);
  TSR_TRY(rt_check_array("shardspec", "partition", s->partition, s->n));
  TSR_TRY(rt_check_array("shardspec", "mesh_axes", s->mesh_axes, s->n));
  TSR_TRY(rt_check_array("shardspec", "partial", s->partial, s->n_partial));
  TSR_TRY(dist_spec_by_names(&m->m, rank, s->partition, s->mesh_axes, s->n, out));
  if (s->n_partial && !result)
    return RT_BAD(m->ctx, "shardspec", "an op's result may be", "this tensor can't be partial");
  int how = 0;
  while (how < N_DIST_HOW && strcmp(dist_how_name((dist_how)how), s->reduction ? s->reduction : "sum")) how++;
  if (how == N_DIST_HOW)
    return RT_BAD(m->ctx, "shardspec", "sum, max, min, prod", "unknown reduction \"%.40s\"", s->reduction);
  for (int i = 0; i < s->n_partial; i++) {
    const int a = axis_of(m, s->partial[i]);
    if (a < 0)
      return RT_BAD(m->ctx, "shardspec", NULL, "the mesh has no axis \"%.40s\"", s->partial[i] ? s->partial[i] : "");
    if ((dist_spec_cuts(out) | out->partial) >> a & 1)
      return RT_BAD(m->ctx, "shardspec", NULL, "axis \"%s\" is named twice", s->partial[i]);
    out->partial |= (uint8_t)(1u << a);
    out->how = (uint8_t)how;
  }
  return NULL;
}

/* ---- tensors --------------------------------------------------------------------------------------------------- */

tsr_status rt_dist_tensor_new(tsr_mesh *m, tsr_dtype t, const tsr_shape *shape, const dist_spec *spec,
                              tsr_dist_tensor **out) {
  tsr_dist_tensor *x = al_new(&m->ctx->al, tsr_dist_tensor);
  if (!x) return st_oom();
  *x = (tsr_dist_tensor){.mesh = m, .dtype = t, .shape = *shape, .spec = *spec};
  *out = x;
  return NULL;
}

tsr_status tsr_dist_tensor_create(tsr_mesh *m, tsr_dtype t, tsr_shape shape, const tsr_shardspec *spec,
                                  tsr_uneven uneven, tsr_dist_tensor **out) {
  const char *const fn = "dist_tensor_create";
  RT_OUT(fn, out);
  RT_NEED(fn, "mesh", m);
  TSR_TRY(rt_check_enum(&m->ctx->al, fn, "uneven", (int64_t)uneven, "pad, refuse"));
  if (dtype_packed(t))
    return st_make(&m->ctx->al, TSR_UNSUPPORTED, RT_WHERE(fn, "cast to i8 or u8"),
                   "elements of %s share bytes: they can't be cut into parts", tsr_dtype_name(t));
  if (!tsr_dtype_size(t)) return RT_BAD(m->ctx, fn, NULL, "unknown data type %d", (int)t);
  if (shape.rank < 0 || shape.rank > TSR_MAX_RANK)
    return RT_BAD(m->ctx, fn, NULL, "rank %d; at most %d", shape.rank, TSR_MAX_RANK);
  dist_spec s;
  char by[DIST_AXES_TOLD];
  TSR_TRY(rt_shardspec(m, shape.rank, spec, false, &s));
  for (int i = 0; i < shape.rank; i++) {
    if (shape.dims[i] >= 0 && shape.dims[i] <= INT64_MAX / 2 / DIST_MAX_RANKS) continue;
    dist_mesh_axes_told(&m->m, s.dim[i], by);
    return RT_BAD(m->ctx, fn, NULL, "dimension %d = %lld is out of range%s%s", i, (long long)shape.dims[i],
                  *by ? "; it is cut by " : "", by);
  }
  const int d = dist_spec_uneven(&m->m, &s, shape.dims);
  if (d < 0 || uneven != TSR_UNEVEN_REFUSE) return rt_dist_tensor_new(m, t, &shape, &s, out);
  dist_mesh_axes_told(&m->m, s.dim[d], by);
  return RT_BAD(m->ctx, fn, "TSR_UNEVEN_PAD pads it", "dimension %d of %lld isn't cut evenly into %lld pieces by %s", d,
                (long long)shape.dims[d], (long long)dist_mesh_extent(&m->m, s.dim[d]), by);
}

void tsr_dist_tensor_destroy(tsr_dist_tensor **tp) {
  tsr_dist_tensor *t = tp ? *tp : NULL;
  if (!t) return;
  const tsr_allocator *al = &t->mesh->ctx->al;
  for (int64_t r = 0; t->parts && r < t->mesh->m.ranks; r++) tsr_buffer_destroy(&t->parts[r]);
  if (t->parts) al_free_array(al, t->parts, (size_t)t->mesh->m.ranks);
  al_delete(al, t);
  *tp = NULL;
}

static size_t part_bytes(const tsr_dist_tensor *t, tsr_shape *local) {
  size_t bytes = tsr_dtype_size(t->dtype);
  *local = (tsr_shape){.rank = t->shape.rank};
  for (int i = 0; i < t->shape.rank; i++) {
    local->dims[i] = dist_spec_extent(&t->mesh->m, &t->spec, i, t->shape.dims[i]);
    if (__builtin_mul_overflow(bytes, (size_t)local->dims[i], &bytes)) return SIZE_MAX;
  }
  return bytes;
}

static tsr_status check_rank(const tsr_dist_tensor *t, const char *fn, int64_t rank) {
  if (rank >= 0 && rank < t->mesh->m.ranks) return NULL;
  return RT_BAD(t->mesh->ctx, fn, NULL, "rank %lld of %lld", (long long)rank, (long long)t->mesh->m.ranks);
}

tsr_status tsr_dist_tensor_part(const tsr_dist_tensor *t, int64_t rank, int64_t *starts, int64_t *sizes,
                                tsr_shape *local) {
  RT_NEED("dist_tensor_part", "t", t);
  TSR_TRY(check_rank(t, "dist_tensor_part", rank));
  int64_t a[TSR_MAX_RANK], b[TSR_MAX_RANK];
  dist_spec_piece(&t->mesh->m, &t->spec, t->shape.dims, rank, starts ? starts : a, sizes ? sizes : b);
  if (local) part_bytes(t, local);
  return NULL;
}

size_t tsr_dist_tensor_allocated(const tsr_dist_tensor *t) { return t ? t->allocated : 0; }

static tsr_status zero(tsr_buffer *b) {
  static const char zeros[4096];
  for (size_t at = 0; at < b->bytes; at += sizeof zeros)
    TSR_TRY(tsr_buffer_write(b, at, zeros, b->bytes - at < sizeof zeros ? b->bytes - at : sizeof zeros));
  return NULL;
}

tsr_status tsr_dist_tensor_local(tsr_dist_tensor *t, int64_t rank, tsr_buffer **out) {
  const char *const fn = "dist_tensor_local";
  RT_OUT(fn, out);
  RT_NEED(fn, "t", t);
  TSR_TRY(check_rank(t, fn, rank));
  tsr_mesh *m = t->mesh;
  tsr_shape local;
  if (!m->n_devices) return RT_BAD(m->ctx, fn, "give tsr_mesh_create devices", "the mesh has no devices");
  if (!mesh_has(m, rank))
    return RT_BAD(m->ctx, fn, "tsr_dist_tensor_gather brings all parts together",
                  "rank %lld's part is in another process: this one is rank %lld", (long long)rank,
                  (long long)m->first);
  if (!t->parts && !(t->parts = al_zalloc(&m->ctx->al, sizeof *t->parts * (size_t)m->m.ranks))) return st_oom();
  if (!t->parts[rank]) {
    const size_t bytes = part_bytes(t, &local);
    if (bytes > SIZE_MAX / 2) return st_oom();
    TSR_TRY(tsr_buffer_create(mesh_device(m, rank), bytes, TSR_MEMORY_DEVICE, &t->parts[rank]));
    tsr_status st = zero(t->parts[rank]);
    if (st) return tsr_buffer_destroy(&t->parts[rank]), st;
    t->allocated += bytes;
  }
  *out = t->parts[rank];
  return NULL;
}

void rt_copy_box(void *dst, rt_box to, const void *src, rt_box from, const int64_t *sizes, int rank, size_t size) {
  int64_t at[TSR_MAX_RANK] = {0};
  const int last = rank - 1;
  const size_t row = (rank ? (size_t)sizes[last] : 1) * size;
  for (int i = 0; i < rank; i++)
    if (sizes[i] <= 0) return;
  for (;;) {
    int64_t d = 0, s = 0;
    for (int i = 0; i < rank; i++) {
      d = d * to.dims[i] + to.starts[i] + at[i];
      s = s * from.dims[i] + from.starts[i] + at[i];
    }
    memcpy((char *)dst + (size_t)d * size, (const char *)src + (size_t)s * size, row);
    int i = last - 1;
    while (i >= 0 && ++at[i] == sizes[i]) at[i--] = 0;
    if (i < 0) return;
  }
}

/* Between the whole on the host and one rank's part. A part that is read is every process's. */
static tsr_status exchange(tsr_dist_tensor *t, int64_t rank, void *whole, bool scatter) {
  const tsr_allocator *al = &t->mesh->ctx->al;
  int64_t starts[TSR_MAX_RANK], sizes[TSR_MAX_RANK], zeros[TSR_MAX_RANK] = {0};
  tsr_shape local;
  tsr_buffer *b = NULL;
  if (mesh_has(t->mesh, rank)) TSR_TRY(tsr_dist_tensor_local(t, rank, &b));
  const size_t bytes = part_bytes(t, &local);
  if (!bytes) return NULL;
  dist_spec_piece(&t->mesh->m, &t->spec, t->shape.dims, rank, starts, sizes);
  char *part = al_zalloc(al, bytes);
  const rt_box of_whole = {t->shape.dims, starts}, of_part = {local.dims, zeros};
  tsr_status st = part ? NULL : st_oom();
  if (!st && scatter) {
    rt_copy_box(part, of_part, whole, of_whole, sizes, local.rank, tsr_dtype_size(t->dtype));
    st = tsr_buffer_write(b, 0, part, bytes);
  } else if (!st) {
    if (b) st = tsr_buffer_read(b, 0, part, bytes);
    if (!st) st = rt_mesh_broadcast(t->mesh, rank, part, bytes);
    if (!st) rt_copy_box(whole, of_whole, part, of_part, sizes, local.rank, tsr_dtype_size(t->dtype));
  }
  al_free(al, part, bytes, 16);
  return st;
}

tsr_status tsr_dist_tensor_scatter(tsr_dist_tensor *t, const void *whole) {
  RT_NEED("dist_tensor_scatter", "t", t);
  RT_NEED("dist_tensor_scatter", "whole", whole);
  for (int64_t r = t->mesh->first; r < t->mesh->end; r++) TSR_TRY(exchange(t, r, (void *)whole, true));
  return NULL;
}

tsr_status tsr_dist_tensor_gather(tsr_dist_tensor *t, void *whole) {
  RT_NEED("dist_tensor_gather", "t", t);
  RT_NEED("dist_tensor_gather", "whole", whole);
  const uint32_t cuts = dist_spec_cuts(&t->spec);
  for (int64_t r = 0; r < t->mesh->m.ranks; r++) {
    bool first = true; /* of those that have the same part */
    for (int a = 0; a < t->mesh->m.n; a++) first &= cuts >> a & 1 || !dist_mesh_coord(&t->mesh->m, r, a);
    if (first) TSR_TRY(exchange(t, r, whole, false));
  }
  return NULL;
}

tsr_status tsr_dist_tensor_print(const tsr_dist_tensor *t, char **text) {
  RT_OUT("dist_tensor_print", text);
  RT_NEED("dist_tensor_print", "t", t);
  strb b;
  strb_init(&b, &t->mesh->ctx->al);
  dist_spec_print(&b, &t->mesh->m, &t->spec);
  if (!b.n) strb_puts(&b, ""); /* a scalar */
  return rt_text(t->mesh->ctx, &b, text);
}
