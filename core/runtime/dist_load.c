/* core/runtime/dist_load.c - see dist_save.h: files of another mesh, or of another number of processes, are read part
 * by part; of each what lies in the parts of this process's ranks is copied there. Every head is checked against the
 * file and the tensors before anything of it is used. */
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/int_math.h"
#include "core/runtime/dist_save.h"

/* One rank's part of one tensor, as it comes together. */
typedef struct target {
  char *data;
  size_t bytes;
  int64_t starts[TSR_MAX_RANK], sizes[TSR_MAX_RANK], missing; /* elements that no file has had */
  tsr_shape local;
} target;

typedef struct loading {
  const save_tensors *s;
  const tsr_mesh *m;
  target *targets; /* tensor * ranks + rank */
  int64_t ranks;
} loading;

static tsr_status make_targets(loading *x) {
  for (int i = 0; i < x->s->n; i++)
    for (int64_t r = 0; r < x->ranks; r++) {
      const tsr_dist_tensor *t = x->s->tensors[i];
      target *to = &x->targets[i * x->ranks + r];
      TSR_TRY(tsr_dist_tensor_part(t, x->m->first + r, to->starts, to->sizes, &to->local));
      to->bytes = tsr_dtype_size(t->dtype), to->missing = 1;
      for (int d = 0; d < t->shape.rank; d++)
        to->bytes *= (size_t)to->local.dims[d], to->missing *= max64(to->sizes[d], 0);
      if (!(to->data = al_zalloc(&x->m->ctx->al, to->bytes + 1))) return st_oom();
    }
  return NULL;
}

/* What part and target have in common. */
static void copy_common(const save_part *p, const char *data, target *to, size_t size) {
  int64_t sizes[TSR_MAX_RANK], from[TSR_MAX_RANK], at[TSR_MAX_RANK], n = 1;
  for (int d = 0; d < p->rank; d++) {
    const int64_t low = max64(p->starts[d], to->starts[d]);
    const int64_t high = min64(p->starts[d] + p->sizes[d], to->starts[d] + to->sizes[d]);
    sizes[d] = high - low, from[d] = low - p->starts[d], at[d] = low - to->starts[d];
    if (sizes[d] <= 0) return;
    n *= sizes[d];
  }
  rt_copy_box(to->data, (rt_box){to->local.dims, at}, data, (rt_box){p->sizes, from}, sizes, p->rank, size);
  to->missing -= n;
}

static int find(const save_tensors *s, const char *name) {
  for (int i = 0; i < s->n; i++)
    if (!strcmp(s->names[i], name)) return i;
  return -1;
}

/* Why a head can't be; NULL: it can. */
static const char *fault(const save_part *p) {
  uint64_t bytes = (unsigned)p->dtype < TSR_N_DTYPES ? tsr_dtype_size((tsr_dtype)p->dtype) : 0;
  if (!memchr(p->name, 0, sizeof p->name) || !bytes || p->rank < 0 || p->rank > TSR_MAX_RANK) return "a broken head";
  for (int d = 0; d < p->rank; d++) {
    const int64_t size = max64(p->sizes[d], 0);
    if (p->dims[d] < 0 || p->starts[d] < 0 || p->starts[d] > p->dims[d] || size > p->dims[d] - p->starts[d])
      return "a part that isn't in its tensor";
    if (__builtin_mul_overflow(bytes, (uint64_t)size, &bytes)) return "a part that is too large";
  }
  return bytes == p->bytes ? NULL : "a broken head";
}

static tsr_status take_part(loading *x, FILE *f, const char *path, uint64_t left) {
  save_part p;
  const tsr_allocator *al = &x->m->ctx->al;
  if (left < sizeof p || fread(&p, sizeof p, 1, f) != 1) return save_failed(path, "it is cut off");
  const char *why = fault(&p);
  if (!why && left - sizeof p < p.bytes) why = "it is cut off";
  if (why) return save_failed(path, why);
  const int i = find(x->s, p.name);
  if (i < 0) return fseek(f, (long)p.bytes, SEEK_CUR) ? save_failed(path, "it is cut off") : NULL;
  const tsr_dist_tensor *t = x->s->tensors[i];
  bool same = (int32_t)t->dtype == p.dtype && t->shape.rank == p.rank;
  for (int d = 0; same && d < p.rank; d++) same = t->shape.dims[d] == p.dims[d];
  if (!same)
    return st_make(NULL, TSR_INVALID_ARGUMENT, RT_WHERE("dist_load", NULL), "\"%s\" has another shape or type in %s",
                   p.name, path);
  char *data = al_alloc(al, p.bytes + 1, 64);
  if (!data) return st_oom();
  const bool ok = fread(data, 1, p.bytes, f) == p.bytes;
  for (int64_t r = 0; r < x->ranks && ok; r++)
    copy_common(&p, data, &x->targets[i * x->ranks + r], tsr_dtype_size(t->dtype));
  al_free(al, data, p.bytes + 1, 64);
  return ok ? NULL : save_failed(path, "it is cut off");
}

static tsr_status read_file(loading *x, const char *path, const char magic[8]) {
  const char *why;
  char head[8];
  uint64_t n = 0;
  tsr_status st = NULL;
  FILE *f = file_open(path, &why);
  if (!f) return save_failed(path, why);
  if (fseek(f, 0, SEEK_END)) st = save_failed(path, "it can't be read");
  const long end = ftell(f);
  rewind(f);
  if (!st && (fread(head, 1, sizeof head, f) != sizeof head || memcmp(head, magic, sizeof head) ||
              fread(&n, sizeof n, 1, f) != 1))
    st = save_failed(path, "it has no parts of tensors");
  for (uint64_t i = 0; i < n && !st; i++) st = take_part(x, f, path, (uint64_t)(end - ftell(f)));
  fclose(f);
  return st;
}

static tsr_status hand_over(loading *x) {
  for (int i = 0; i < x->s->n; i++)
    for (int64_t r = 0; r < x->ranks; r++) {
      const target *to = &x->targets[i * x->ranks + r];
      tsr_buffer *b;
      if (to->missing)
        return st_make(NULL, TSR_NOT_FOUND, RT_WHERE("dist_load", NULL), "%lld elements of \"%s\" are not there",
                       (long long)to->missing, x->s->names[i]);
      TSR_TRY(tsr_dist_tensor_local(x->s->tensors[i], x->m->first + r, &b));
      TSR_TRY(tsr_buffer_write(b, 0, to->data, to->bytes));
    }
  return NULL;
}

tsr_status save_load(const char *folder, const char magic[8], const save_tensors *s) {
  char path[SAVE_PATH];
  const tsr_mesh *m = s->tensors[0]->mesh;
  loading x = {.s = s, .m = m, .ranks = m->end - m->first};
  const size_t n = (size_t)s->n * (size_t)x.ranks;
  save_index index;
  if (!save_read_index(folder, &index))
    return st_make(NULL, TSR_NOT_FOUND, RT_WHERE("dist_load", NULL), "%s has no index of saved tensors", folder);
  if (!(x.targets = al_zalloc(&m->ctx->al, n * sizeof *x.targets))) return st_oom();
  tsr_status st = make_targets(&x);
  for (int64_t r = 0; r < index.files && !st; r++) {
    save_path(folder, &index, r, path, sizeof path);
    st = read_file(&x, path, magic);
  }
  if (!st) st = hand_over(&x);
  for (size_t i = 0; i < n; i++)
    if (x.targets[i].data) al_free(&m->ctx->al, x.targets[i].data, x.targets[i].bytes + 1, 16);
  al_free_array(&m->ctx->al, x.targets, n);
  return st;
}
