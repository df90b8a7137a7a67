/* core/import/weights.c - see weights.h. What holds for all formats is here: finding out which one it is, the checks of
 * the whole table, reading elements. */
#include "core/import/weights.h"

#include <string.h>

#include "core/base/file.h"
#include "core/import/gguf.h"
#include "core/import/npz.h"
#include "core/import/safetensors.h"

static const struct {
  const char *name;
  bool (*is)(const unsigned char *p, uint64_t n);
  tsr_status (*read)(weights *w);
} formats[] = {
    {"gguf", gguf_is, gguf_read}, {"npz", npz_is, npz_read}, {"safetensors", safetensors_is, safetensors_read}};

/* A pickle's first bytes: the opcode PROTO and its number. */
static bool is_pickle(const unsigned char *p, uint64_t n) { return n > 2 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5; }

bool weights_is(const void *p, size_t n) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (formats[i].is(p, n)) return true;
  return is_pickle(p, n);
}

static tsr_status read_table(weights *w) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    if (!formats[i].is(w->p, w->size)) continue;
    w->format = formats[i].name;
    TSR_TRY(formats[i].read(w));
    return weights_check(w);
  }
  if (is_pickle(w->p, w->size))
    return weights_bad(w, 0, "a pickle, which can run any code and is not read (save the tensors as safetensors)");
  return weights_bad(w, 0, "not a safetensors, .npz or GGUF file");
}

static tsr_status make(const tsr_allocator *al, const char *file, weights **out) {
  weights *w = al_new(al, weights);
  *out = NULL;
  if (!w) return st_oom();
  arena_init(&w->a, al);
  w->file = arena_str(&w->a, file);
  if (!w->file) {
    weights_close(&w);
    return st_oom();
  }
  *out = w;
  return NULL;
}

tsr_status weights_parse(const tsr_allocator *al, const void *p, size_t n, const char *file, weights **out) {
  TSR_TRY(make(al, file, out));
  (*out)->p = p;
  (*out)->size = n;
  tsr_status st = read_table(*out);
  if (st) weights_close(out);
  return st;
}

tsr_status weights_open(const tsr_allocator *al, const char *path, weights **out) {
  const char *why;
  size_t n;
  TSR_TRY(make(al, path, out));
  weights *w = *out;
  w->p = file_map(path, &n, &why);
  tsr_status st = NULL;
  if (!w->p)
    st = st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("weights", NULL, NULL), "%s: %s%s", path,
                 file_is_special(path) ? "" : "can't be opened: ", why);
  else {
    w->size = n;
    w->mapped = true;
    st = read_table(w);
  }
  if (st) weights_close(out);
  return st;
}

void weights_close(weights **w) {
  if (!w || !*w) return;
  weights *x = *w;
  tsr_allocator al = x->a.al;
  if (x->mapped) file_unmap(x->p, (size_t)x->size);
  al_free_array(&al, x->tensors, x->cap_tensors);
  al_free_array(&al, x->meta, x->cap_meta);
  arena_clear(&x->a);
  al_delete(&al, x);
  *w = NULL;
}

const weights_tensor *weights_find(const weights *w, const char *name) {
  for (size_t i = 0; i < w->n_tensors; i++)
    if (!strcmp(w->tensors[i].name, name)) return &w->tensors[i];
  return NULL;
}

const weights_meta *weights_get_meta(const weights *w, const char *key) {
  for (size_t i = 0; i < w->n_meta; i++)
    if (!strcmp(w->meta[i].key, key)) return &w->meta[i];
  return NULL;
}

tsr_dtype weights_read_type(const weights_tensor *t) {
  return t->dtype ? t->dtype : t->block && t->block->dequantize ? TSR_F32 : TSR_DTYPE_NONE;
}

const void *weights_data(const weights *w, const weights_tensor *t) {
  bool as_it_is = !t->deflated && !t->swapped && !t->fortran && t->dtype != TSR_BOOL;
  return as_it_is && t->bytes ? w->p + t->offset : NULL;
}

static void dequantize(const block_format *f, const unsigned char *from, uint64_t n_blocks, char *dst) {
  float block[BLOCK_MOST_ELEMENTS];
  for (uint64_t i = 0; i < n_blocks; i++) {
    f->dequantize(from + i * f->bytes, block);
    memcpy(dst + i * f->elements * sizeof *block, block, f->elements * sizeof *block);
  }
}

tsr_status weights_read(const weights *w, const weights_tensor *t, void *dst, size_t bytes) {
  uint64_t n = 0, want;
  tsr_dtype type = weights_read_type(t);
  if (!type || !weights_count(&t->shape, &n))
    return st_make(&w->a.al, TSR_UNSUPPORTED, ST_WHERE("weights", NULL, NULL),
                   "%s: tensor \"%s\": the type %s is not read", w->file, t->name, t->type);
  if (__builtin_mul_overflow(n, (uint64_t)tsr_dtype_size(type), &want) || want != bytes)
    return st_make(&w->a.al, TSR_INVALID_ARGUMENT, ST_WHERE("weights", NULL, NULL),
                   "%s: tensor \"%s\" has %llu bytes as %s, there is room for %zu", w->file, t->name,
                   (unsigned long long)want, tsr_dtype_name(type), bytes);
  if (t->block) dequantize(t->block, w->p + t->offset, t->bytes / t->block->bytes, dst);
  else if (t->entry) TSR_TRY(npz_read_tensor(w, t, dst));
  else if (bytes) memcpy(dst, w->p + t->offset, bytes);
  for (size_t i = 0; t->dtype == TSR_BOOL && i < bytes; i++) ((char *)dst)[i] = ((char *)dst)[i] != 0;
  return NULL;
}
