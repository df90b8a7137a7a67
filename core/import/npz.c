/* core/import/npz.c - see npz.h. A tensor is an entry NAME.npy; what else is in the archive is passed over. The header
 * of a deflated array is unpacked, and no more of it than NumPy itself takes by default. */
#include "core/import/npz.h"

#include <stdio.h>
#include <string.h>

#include "core/import/npy.h"
#include "core/import/zip.h"

enum { MOST_HEADER = 10000 + 12, START = 12 };

bool npz_is(const unsigned char *p, uint64_t n) { return zip_is(p, n); }

static bool ends_in(const char *name, const char *end) {
  size_t n = strlen(name), m = strlen(end);
  return n >= m && !strcmp(name + n - m, end);
}

/* The length of the header and all before it, from the file's first bytes; no more than is to be unpacked. */
static uint64_t header_bytes(const unsigned char *p, const zip_entry *e) {
  uint64_t n = p[6] == 1 ? 10 + (p[8] | (uint64_t)p[9] << 8)
                         : 12 + (p[8] | (uint64_t)p[9] << 8 | (uint64_t)p[10] << 16 | (uint64_t)p[11] << 24);
  n = n < MOST_HEADER ? n : MOST_HEADER;
  return n < e->size ? n : e->size;
}

static tsr_status read_header(const weights *w, const zip_entry *e, npy_header *h) {
  unsigned char start[MOST_HEADER] = {0};
  char why[256];
  uint64_t n = e->size < START ? e->size : START;
  TSR_TRY(zip_unpack(w, e, 0, start, n));
  if (n == START) TSR_TRY(zip_unpack(w, e, 0, start, n = header_bytes(start, e)));
  if (!npy_parse_header(start, (size_t)n, e->name, h, why, sizeof why)) return weights_bad(w, e->offset, "%s", why);
  return NULL;
}

static tsr_status add(weights *w, const zip_entry *e) {
  npy_header h;
  TSR_TRY(read_header(w, e, &h));
  if (h.dtype && h.bytes != e->size - h.at)
    return weights_bad(w, e->offset, "%s: %llu bytes of data, its header needs %zu", e->name,
                       (unsigned long long)(e->size - h.at), h.bytes);
  weights_tensor *t = weights_add(w);
  if (!t) return st_oom();
  *t = (weights_tensor){.name = arena_strn(&w->a, e->name, strlen(e->name) - strlen(".npy")),
                        .type = h.dtype ? tsr_dtype_name(h.dtype) : arena_str(&w->a, h.descr),
                        .dtype = h.dtype,
                        .shape = h.shape,
                        .offset = e->offset + (e->deflated ? 0 : h.at),
                        .bytes = e->size - h.at,
                        .entry = e,
                        .skip = h.at,
                        .deflated = e->deflated,
                        .swapped = h.swapped,
                        .fortran = h.fortran && h.shape.rank > 1};
  return t->name && t->type ? NULL : st_oom();
}

tsr_status npz_read(weights *w) {
  zip_entry *e;
  size_t n;
  TSR_TRY(zip_read_table(w, &e, &n));
  for (size_t i = 0; i < n; i++)
    if (ends_in(e[i].name, "/data.pkl") || !strcmp(e[i].name, "data.pkl"))
      return weights_bad(w, e[i].offset,
                         "a PyTorch file: %s is a pickle, which can run any code and is not read (save the "
                         "tensors as safetensors)",
                         e[i].name);
  for (size_t i = 0; i < n; i++)
    if (ends_in(e[i].name, ".npy")) TSR_TRY(add(w, &e[i]));
  return NULL;
}

tsr_status npz_read_tensor(const weights *w, const weights_tensor *t, void *dst) {
  npy_header h = {.dtype = t->dtype,
                  .swapped = t->swapped,
                  .fortran = t->fortran,
                  .shape = t->shape,
                  .bytes = (size_t)t->bytes};
  if (!h.swapped && !h.fortran) return zip_unpack(w, t->entry, t->skip, dst, t->bytes);
  void *from = al_alloc(&w->a.al, h.bytes + 1, 16);
  if (!from) return st_oom();
  tsr_status st = zip_unpack(w, t->entry, t->skip, from, t->bytes);
  if (!st) npy_arrange(&h, from, dst);
  al_free(&w->a.al, from, h.bytes + 1, 16);
  return st;
}
