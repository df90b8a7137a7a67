/* core/runtime/dist_save.c - tensors of a mesh in a folder: a file for each rank with the parts that are its alone, and
 * an index that names the generation which is whole. A save writes the next generation's files beside the old ones,
 * forces them to the disk and replaces the index by renaming; whatever is killed meanwhile leaves a whole generation.
 * Parts say where they lie in the whole, so that any mesh may read them. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/runtime/dist_save.h"

static const char magic[8] = "tsrpart\n";

/* ---- a file of parts --------------------------------------------------------------------------------------------- */

void save_path(const char *folder, const save_index *x, int64_t rank, char *out, size_t cap) {
  snprintf(out, cap, "%s/%lld-%lld.parts", folder, (long long)x->generation, (long long)rank);
}

tsr_status save_failed(const char *path, const char *why) {
  return st_make(NULL, TSR_IO_ERROR, RT_WHERE("dist_save", NULL), "%s: %s", path, why);
}

static bool has_part(const tsr_dist_tensor *t, int64_t rank) {
  const uint32_t cuts = dist_spec_cuts(&t->spec);
  for (int a = 0; a < t->mesh->m.n; a++) /* of ranks that have the same part the first */
    if (!(cuts >> a & 1) && dist_mesh_coord(&t->mesh->m, rank, a)) return false;
  return true;
}

static void describe(const tsr_dist_tensor *t, const char *name, int64_t rank, save_part *out) {
  *out = (save_part){.dtype = (int32_t)t->dtype, .rank = t->shape.rank};
  snprintf(out->name, sizeof out->name, "%s", name);
  memcpy(out->dims, t->shape.dims, sizeof out->dims);
  dist_spec_piece(&t->mesh->m, &t->spec, t->shape.dims, rank, out->starts, out->sizes);
  out->bytes = tsr_dtype_size(t->dtype);
  for (int i = 0; i < t->shape.rank; i++) out->bytes *= (uint64_t)(out->sizes[i] > 0 ? out->sizes[i] : 0);
}

/* The rank's part without its padding. */
static tsr_status put_part(FILE *f, const char *path, tsr_dist_tensor *t, int64_t rank, const save_part *p) {
  const tsr_allocator *al = &t->mesh->ctx->al;
  const int64_t zeros[TSR_MAX_RANK] = {0};
  tsr_shape local;
  tsr_buffer *b;
  TSR_TRY(tsr_dist_tensor_local(t, rank, &b));
  TSR_TRY(tsr_dist_tensor_part(t, rank, NULL, NULL, &local));
  const size_t bytes = tsr_buffer_bytes(b);
  char *padded = al_alloc(al, bytes + 1, 64), *part = al_alloc(al, p->bytes + 1, 64);
  tsr_status st = padded && part ? tsr_buffer_read(b, 0, padded, bytes) : st_oom();
  if (!st) {
    rt_copy_box(part, (rt_box){p->sizes, zeros}, padded, (rt_box){local.dims, zeros}, p->sizes, p->rank,
                tsr_dtype_size(t->dtype));
    if (fwrite(part, 1, p->bytes, f) != p->bytes) st = save_failed(path, strerror(errno));
  }
  if (padded) al_free(al, padded, bytes + 1, 64);
  if (part) al_free(al, part, p->bytes + 1, 64);
  return st;
}

static tsr_status write_rank(const char *folder, const save_index *x, const save_tensors *s, int64_t rank) {
  char path[SAVE_PATH];
  save_path(folder, x, rank, path, sizeof path);
  FILE *f = fopen(path, "wb");
  if (!f) return save_failed(path, strerror(errno));
  uint64_t n = 0;
  tsr_status st = NULL;
  save_part p;
  for (int i = 0; i < s->n; i++) n += has_part(s->tensors[i], rank);
  bool ok = fwrite(magic, 1, sizeof magic, f) == sizeof magic && fwrite(&n, sizeof n, 1, f) == 1;
  for (int i = 0; i < s->n && ok && !st; i++) {
    if (!has_part(s->tensors[i], rank)) continue;
    describe(s->tensors[i], s->names[i], rank, &p);
    ok = fwrite(&p, sizeof p, 1, f) == 1;
    if (ok) st = put_part(f, path, s->tensors[i], rank, &p);
  }
  ok = ok && !st && !fflush(f) && !fsync(fileno(f));
  const int why = errno;
  if (fclose(f)) ok = false;
  return st || ok ? st : save_failed(path, strerror(why));
}

/* ---- the index --------------------------------------------------------------------------------------------------- */

bool save_read_index(const char *folder, save_index *out) {
  char path[SAVE_PATH];
  const char *why;
  long long generation, files;
  snprintf(path, sizeof path, "%s/index", folder);
  FILE *f = file_open(path, &why);
  const bool ok = f && fscanf(f, "tessera parts 1 generation %lld files %lld", &generation, &files) == 2;
  if (f) fclose(f);
  *out = (save_index){0, 0};
  if (!ok || generation < 1 || files < 1 || files > DIST_MAX_RANKS) return false;
  *out = (save_index){generation, files};
  return true;
}

static tsr_status write_index(const char *folder, const save_index *x) {
  char path[SAVE_PATH], beside[SAVE_PATH];
  snprintf(path, sizeof path, "%s/index", folder);
  snprintf(beside, sizeof beside, "%s/index.new", folder);
  FILE *f = fopen(beside, "w");
  if (!f) return save_failed(beside, strerror(errno));
  bool ok =
      fprintf(f, "tessera parts 1 generation %lld files %lld\n", (long long)x->generation, (long long)x->files) > 0;
  ok = ok && !fflush(f) && !fsync(fileno(f));
  if (fclose(f) || !ok || rename(beside, path)) return save_failed(path, strerror(errno));
  return NULL;
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

static tsr_status check(const char *fn, const char *folder, const save_tensors *s) {
  RT_NEED(fn, "folder", folder);
  if (strlen(folder) > SAVE_PATH - 64 || s->n < 1)
    return st_make(NULL, TSR_INVALID_ARGUMENT, RT_WHERE(fn, NULL),
                   s->n < 1 ? "no tensors" : "the folder's name is long");
  TSR_TRY(rt_check_array(fn, "names", s->names, s->n));
  TSR_TRY(rt_check_array(fn, "tensors", s->tensors, s->n));
  for (int i = 0; i < s->n; i++) {
    RT_NEED(fn, "a name", s->names[i]);
    RT_NEED(fn, "a tensor", s->tensors[i]);
    if (!*s->names[i] || strlen(s->names[i]) >= SAVE_NAME)
      return st_make(NULL, TSR_INVALID_ARGUMENT, RT_WHERE(fn, NULL), "name %d: 1 to %d characters", i, SAVE_NAME - 1);
    for (int k = 0; k < i; k++)
      if (!strcmp(s->names[i], s->names[k]))
        return st_make(NULL, TSR_INVALID_ARGUMENT, RT_WHERE(fn, NULL), "two tensors are called \"%s\"", s->names[i]);
    if (s->tensors[i]->mesh != s->tensors[0]->mesh)
      return st_make(NULL, TSR_INVALID_ARGUMENT, RT_WHERE(fn, NULL), "\"%s\" is of another mesh", s->names[i]);
  }
  return NULL;
}

tsr_status tsr_dist_save(const char *folder, const char *const *names, tsr_dist_tensor *const *tensors, int n) {
  const save_tensors s = {names, tensors, n};
  TSR_TRY(check("dist_save", folder, &s));
  const tsr_mesh *m = tensors[0]->mesh;
  save_index old, now;
  tsr_status st = mkdir(folder, 0777) && errno != EEXIST ? save_failed(folder, strerror(errno)) : NULL;
  save_read_index(folder, &old);
  now = (save_index){old.generation + 1, m->m.ranks};
  for (int64_t r = m->first; r < m->end && !st; r++) st = write_rank(folder, &now, &s, r);
  TSR_TRY(rt_mesh_agree(m, "dist_save", "save its parts", st));
  TSR_TRY(rt_mesh_agree(m, "dist_save", "write the index", m->first ? NULL : write_index(folder, &now)));
  for (int64_t r = m->first; r < old.files; r += m->team ? m->m.ranks : 1) {
    char path[SAVE_PATH];
    save_path(folder, &old, r, path, sizeof path);
    unlink(path);
  }
  return NULL;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

tsr_status tsr_dist_load(const char *folder, const char *const *names, tsr_dist_tensor *const *tensors, int n) {
  const save_tensors s = {names, tensors, n};
  TSR_TRY(check("dist_load", folder, &s));
  return rt_mesh_agree(tensors[0]->mesh, "dist_load", "load its parts", save_load(folder, magic, &s));
}
