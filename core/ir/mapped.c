/* core/ir/mapped.c - see mapped.h. */
#include "core/ir/mapped.h"

#include <stdint.h>
#include <string.h>

#include "core/base/file.h"

static void release(ir_mapped *f) {
  if (__atomic_sub_fetch(&f->count, 1, __ATOMIC_ACQ_REL)) return;
  if (f->path) {
    file_unmap(f->p, f->bytes);
    al_free(NULL, f->path, f->path_bytes, 16);
  } else {
    al_free(NULL, (char *)(uintptr_t)f->p, f->bytes, 64);
  }
  al_delete(NULL, f);
}

static bool add(ir_mappings *l, arena *a, ir_mapped *f) {
  if (!al_grow(&a->al, &l->v, &l->cap, l->n + 1, sizeof *l->v)) return false;
  l->v[l->n++] = f;
  return true;
}

bool mapped_share(ir_mappings *l, arena *a, ir_mapped *f) {
  for (size_t i = l->n; i-- > 0;)
    if (l->v[i] == f) return true;
  if (!add(l, a, f)) return false;
  __atomic_add_fetch(&f->count, 1, __ATOMIC_ACQ_REL);
  return true;
}

void mapped_release(ir_mappings *l, arena *a) {
  for (size_t i = 0; i < l->n; i++) release(l->v[i]);
  al_free_array(&a->al, l->v, l->cap);
}

bool mapped_memory(ir_mappings *l, arena *a, const void *data, size_t bytes, ir_mapped **out) {
  char *p = al_alloc(NULL, bytes, 64);
  ir_mapped *f = *out = p ? al_new(NULL, ir_mapped) : NULL;
  if (f && add(l, a, f)) {
    memcpy(p, data, bytes);
    *f = (ir_mapped){.count = 1, .p = p, .bytes = bytes};
    return true;
  }
  if (p) al_free(NULL, p, bytes, 64);
  if (f) al_delete(NULL, f);
  *out = NULL;
  return false;
}

static tsr_status open_file(ir_mappings *l, arena *a, const char *path, ir_mapped **out) {
  const char *why = NULL;
  ir_mapped f = {.count = 1, .path_bytes = strlen(path) + 1};
  for (size_t i = 0; i < l->n; i++)
    if (l->v[i]->path && !strcmp(l->v[i]->path, path)) return *out = l->v[i], NULL;
  f.p = file_map(path, &f.bytes, &why);
  if (!f.p) return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("ir", NULL, NULL), "%s can't be opened: %s", path, why);
  f.path = al_alloc(NULL, f.path_bytes, 16);
  *out = f.path ? al_new(NULL, ir_mapped) : NULL;
  if (*out && add(l, a, *out)) {
    memcpy(f.path, path, f.path_bytes);
    **out = f;
    return NULL;
  }
  file_unmap(f.p, f.bytes);
  if (f.path) al_free(NULL, f.path, f.path_bytes, 16);
  if (*out) al_delete(NULL, *out);
  *out = NULL;
  return st_oom();
}

tsr_status mapped_open(ir_mappings *l, arena *a, const char *text, const char *path, ir_mapped **out) {
  const char *slash = text ? strrchr(text, '/') : NULL;
  if (*path != '/' && slash) path = arena_fmt(a, "%.*s/%s", (int)(slash - text), text, path);
  return path ? open_file(l, a, path, out) : st_oom();
}
