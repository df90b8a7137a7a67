/* core/import/npy.c - see npy.h. */
#include "core/import/npy.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/file.h"

static const struct {
  const char *descr;
  tsr_dtype t;
} kinds[] = {{"f8", TSR_F64}, {"f4", TSR_F32}, {"f2", TSR_F16}, {"i8", TSR_I64}, {"i4", TSR_I32},
             {"i2", TSR_I16}, {"i1", TSR_I8},  {"u8", TSR_U64}, {"u4", TSR_U32},
             {"u2", TSR_U16}, {"u1", TSR_U8},  {"b1", TSR_BOOL},
             {"c8", TSR_COMPLEX64}, {"c16", TSR_COMPLEX128}};

#define FAIL(...) return snprintf(why, why_bytes, __VA_ARGS__), false

/* ---- the header: a Python dictionary of three entries ------------------------------------------------------------ */

typedef struct cursor { const char *p, *end; } cursor;

static void skip_blanks(cursor *c) {
  while (c->p < c->end && (*c->p == ' ' || *c->p == '\n')) c->p++;
}

static bool take(cursor *c, char want) {
  skip_blanks(c);
  if (c->p == c->end || *c->p != want) return false;
  c->p++;
  return true;
}

static bool take_word(cursor *c, const char *word) {
  size_t n = strlen(word);
  skip_blanks(c);
  if ((size_t)(c->end - c->p) < n || memcmp(c->p, word, n)) return false;
  c->p += n;
  return true;
}

/* 'text' or "text" without escapes, cut to size. */
static bool take_string(cursor *c, char *out, size_t size) {
  char quote = take(c, '\'') ? '\'' : take(c, '"') ? '"' : 0;
  const char *end = quote ? memchr(c->p, quote, (size_t)(c->end - c->p)) : NULL;
  if (!end) return false;
  size_t n = (size_t)(end - c->p) < size - 1 ? (size_t)(end - c->p) : size - 1;
  memcpy(out, c->p, n);
  out[n] = 0;
  for (size_t i = 0; i < n; i++)
    if (!isprint((unsigned char)out[i])) out[i] = '?';
  c->p = end + 1;
  return true;
}

static bool take_type(cursor *c, const char *path, npy_header *h, char *why, size_t why_bytes) {
  if (!take_string(c, h->descr, sizeof h->descr))
    FAIL("%s: expected an element type such as '<f4' in the .npy header (structured types are not read)", path);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (h->descr[0] && strchr("<>|=", h->descr[0]) && !strcmp(h->descr + 1, kinds[i].descr))
      h->dtype = kinds[i].t;
  h->swapped = h->descr[0] == '>' && tsr_dtype_size(h->dtype) > 1;
  return true;
}

static bool take_shape(cursor *c, const char *path, npy_header *h, char *why, size_t why_bytes) {
  if (!take(c, '(')) FAIL("%s: expected a shape such as (3, 4) in the .npy header", path);
  while (!take(c, ')')) {
    uint64_t v = 0; /* take left no blanks before it */
    const char *from = c->p;
    for (; c->p < c->end && isdigit((unsigned char)*c->p); c->p++)
      if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(*c->p - '0'), &v) || v > INT64_MAX)
        FAIL("%s: a dimension of the .npy header is out of range", path);
    if (c->p == from) FAIL("%s: expected a number or ) in the shape of the .npy header", path);
    if (h->shape.rank == TSR_MAX_RANK) FAIL("%s: more than %d dimensions", path, TSR_MAX_RANK);
    h->shape.dims[h->shape.rank++] = (int64_t)v;
    if (take(c, ',')) continue;
    if (!take(c, ')')) FAIL("%s: expected , or ) in the shape of the .npy header", path);
    break;
  }
  return true;
}

static bool take_entries(cursor *c, const char *path, npy_header *h, char *why, size_t why_bytes) {
  unsigned seen = 0;
  if (!take(c, '{')) FAIL("%s: malformed .npy header: expected {", path);
  while (!take(c, '}')) {
    char key[32];
    if (!take_string(c, key, sizeof key) || !take(c, ':'))
      FAIL("%s: malformed .npy header: expected 'key': value", path);
    int which = !strcmp(key, "descr") ? 0 : !strcmp(key, "fortran_order") ? 1 : !strcmp(key, "shape") ? 2 : 3;
    if (which == 3 || seen >> which & 1) FAIL("%s: malformed .npy header: unexpected key '%s'", path, key);
    seen |= 1u << which;
    if (which == 0 && !take_type(c, path, h, why, why_bytes)) return false;
    if (which == 1 && !(h->fortran = take_word(c, "True")) && !take_word(c, "False"))
      FAIL("%s: malformed .npy header: fortran_order is neither True nor False", path);
    if (which == 2 && !take_shape(c, path, h, why, why_bytes)) return false;
    if (!take(c, ',') && (c->p == c->end || *c->p != '}')) FAIL("%s: malformed .npy header: expected , or }", path);
  }
  if (seen != 7)
    FAIL("%s: malformed .npy header: it lacks %s", path,
         !(seen & 1)   ? "descr"
         : !(seen & 2) ? "fortran_order"
                       : "shape");
  return true;
}

bool npy_parse_header(const void *start, size_t n, const char *path, npy_header *h, char *why, size_t why_bytes) {
  const unsigned char *p = start;
  *h = (npy_header){0};
  if (n < 6 || memcmp(p, "\x93NUMPY", 6)) FAIL("%s: not an .npy file", path);
  if (n < 10) FAIL("%s: truncated .npy header", path);
  if (p[6] < 1 || p[6] > 3) FAIL("%s: unknown .npy version %d.%d", path, p[6], p[7]);
  size_t from = p[6] == 1 ? 10 : 12, len = p[8] | (size_t)p[9] << 8;
  if (n < from) FAIL("%s: truncated .npy header", path);
  if (from == 12) len |= (size_t)p[10] << 16 | (size_t)p[11] << 24;
  if (len > NPY_MOST_HEADER - 12) FAIL("%s: an .npy header of %zu bytes", path, len);
  if (n - from < len) FAIL("%s: truncated .npy header", path);
  cursor c = {(const char *)p + from, (const char *)p + from + len};
  if (!take_entries(&c, path, h, why, why_bytes)) return false;
  h->at = from + len;
  h->bytes = tsr_dtype_size(h->dtype);
  for (int i = 0; i < h->shape.rank; i++)
    if (__builtin_mul_overflow(h->bytes, (size_t)h->shape.dims[i], &h->bytes))
      FAIL("%s: the number of elements overflows", path);
  if (h->bytes > (size_t)PTRDIFF_MAX) FAIL("%s: the number of elements overflows", path);
  return true;
}

/* ---- the data ---------------------------------------------------------------------------------------------------- */

/* One element, the bytes of its numbers turned about where they must be. */
static void put(const npy_header *h, size_t size, const char *from, char *to) {
  size_t part = tsr_dtype_size(dtype_part(h->dtype));
  if (!h->swapped) memcpy(to, from, size);
  for (size_t i = 0; h->swapped && i < size; i++) to[i] = from[i / part * part + (part - 1 - i % part)];
}

void npy_arrange(const npy_header *h, const void *from, void *to) {
  size_t size = tsr_dtype_size(h->dtype), n = h->bytes / size;
  int64_t idx[TSR_MAX_RANK] = {0};
  bool reorder = h->fortran && h->shape.rank > 1;
  if (!reorder && !h->swapped && h->bytes) memcpy(to, from, h->bytes);
  for (size_t i = 0; i < n && (reorder || h->swapped); i++) {
    size_t at = reorder ? 0 : i;
    for (int d = 0; reorder && d < h->shape.rank; d++) at = at * (size_t)h->shape.dims[d] + (size_t)idx[d];
    put(h, size, (const char *)from + i * size, (char *)to + at * size);
    for (int d = 0; d < h->shape.rank && ++idx[d] == h->shape.dims[d]; d++) idx[d] = 0;
  }
  for (size_t i = 0; h->dtype == TSR_BOOL && i < n; i++) ((char *)to)[i] = ((char *)to)[i] != 0;
}

/* Room for what the header says, of which `have` bytes are in the file. */
static bool make_room(const npy_header *h, size_t have, const char *path, npy_array *out, char *why, size_t why_bytes) {
  if (!h->dtype) FAIL("%s: element type '%s' is not one of f2 f4 f8 i1 i2 i4 i8 u1 b1 c8 c16", path, h->descr);
  if (have < h->bytes) FAIL("%s: truncated: %zu bytes of data, the header says %zu", path, have, h->bytes);
  *out = (npy_array){.dtype = h->dtype, .shape = h->shape, .bytes = h->bytes, .data = malloc(h->bytes ? h->bytes : 1)};
  if (!out->data) FAIL("%s: no memory for %zu bytes", path, h->bytes);
  return true;
}

bool npy_parse(const void *bytes, size_t n, const char *name, npy_array *out, char *why, size_t why_bytes) {
  npy_header h;
  *out = (npy_array){0};
  if (!npy_parse_header(bytes, n, name, &h, why, why_bytes) || !make_room(&h, n - h.at, name, out, why, why_bytes))
    return false;
  npy_arrange(&h, (const char *)bytes + h.at, out->data);
  return true;
}

bool npy_load(const char *path, npy_array *out, char *why, size_t why_bytes) {
  const char *reason;
  size_t n;
  *out = (npy_array){0};
  const void *p = file_map(path, &n, &reason);
  if (!p) FAIL("%s: %s%s", path, file_is_special(path) ? "" : "can't be opened: ", reason);
  bool ok = npy_parse(p, n, path, out, why, why_bytes);
  file_unmap(p, n);
  return ok;
}

static const char *descr_of(tsr_dtype t) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i].t == t) return kinds[i].descr;
  return NULL;
}

bool npy_has_form(tsr_dtype t) { return descr_of(t) != NULL; }

void npy_write(FILE *f, const npy_array *a) {
  char h[512];
  int n = snprintf(h, sizeof h, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                   tsr_dtype_size(a->dtype) == 1 ? '|' : '<', descr_of(a->dtype));
  for (int i = 0; i < a->shape.rank; i++)
    n +=
        snprintf(h + n, sizeof h - (size_t)n, "%lld,%s", (long long)a->shape.dims[i], i + 1 < a->shape.rank ? " " : "");
  n += snprintf(h + n, sizeof h - (size_t)n, "), }");
  while ((10 + n + 1) % 64) h[n++] = ' ';
  h[n++] = '\n';
  const unsigned char pre[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255), (unsigned char)(n >> 8)};
  fwrite(pre, 1, sizeof pre, f);
  fwrite(h, 1, (size_t)n, f);
  fwrite(a->data, 1, a->bytes, f);
}

void npy_free(npy_array *a) {
  free(a->data);
  a->data = NULL;
}

void npy_convert(const npy_array *a, tsr_dtype t, void *dst) {
  size_t n = 1;
  for (int i = 0; i < a->shape.rank; i++) n *= (size_t)a->shape.dims[i];
  if (a->dtype == t) {
    memcpy(dst, a->data, a->bytes);
    return;
  }
  if (dtype_packed(t)) memset(dst, 0, tsr_dtype_bytes(t, n)); /* elements share bytes */
  const size_t from = (size_t)dtype_parts(a->dtype), to = (size_t)dtype_parts(t);
  for (size_t i = 0; i < n; i++)
    for (size_t part = 0; part < to; part++)
      dtype_store(t, dst, i * to + part, part < from ? dtype_load(a->dtype, a->data, i * from + part) : 0);
}
