/* tools/tessera/npy.c - see npy.h. */
#include "tools/tessera/npy.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"

static const struct { const char *descr; tsr_dtype t; } kinds[] = {{"f8", TSR_F64}, {"f4", TSR_F32}, {"f2", TSR_F16}, {"i8", TSR_I64}, {"i4", TSR_I32},
                                                                   {"i2", TSR_I16}, {"i1", TSR_I8},  {"u1", TSR_U8},  {"b1", TSR_BOOL}};

#define FAIL(...) return snprintf(why, why_bytes, __VA_ARGS__), false

static const char *after_key(const char *h, const char *key) {
  const char *p = strstr(h, key);
  if (!p) return NULL;
  p += strlen(key);
  while (*p == ' ' || *p == ':') p++;
  return p;
}

typedef struct header {
  tsr_dtype t;
  bool swap, fortran;
  tsr_shape shape;
} header;

static bool parse_header(const char *path, const char *h, header *out, char *why, size_t why_bytes) {
  const char *d = after_key(h, "'descr'"), *o = after_key(h, "'fortran_order'"), *s = after_key(h, "'shape'");
  if (!d || !o || !s || *d != '\'' || *s != '(') FAIL("%s: malformed .npy header", path);
  char order = d[1];
  *out = (header){0};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strncmp(d + 2, kinds[i].descr, 2) && d[4] == '\'') out->t = kinds[i].t;
  if (!out->t || !strchr("<>|=", order)) FAIL("%s: element type '%.8s' is not one of f2 f4 f8 i1 i2 i4 i8 u1 b1", path, d + 1);
  out->swap = order == '>' && tsr_dtype_size(out->t) > 1;
  out->fortran = !strncmp(o, "True", 4);
  for (s++; *s && *s != ')';) {
    if (!isdigit((unsigned char)*s)) {
      s++;
      continue;
    }
    char *end;
    unsigned long long v = strtoull(s, &end, 10);
    if (out->shape.rank == TSR_MAX_RANK || v > (unsigned long long)INT64_MAX / 16) FAIL("%s: shape out of range", path);
    out->shape.dims[out->shape.rank++] = (int64_t)v;
    s = end;
  }
  return true;
}

static bool count_bytes(const header *h, size_t *bytes) {
  size_t n = tsr_dtype_size(h->t);
  for (int i = 0; i < h->shape.rank; i++)
    if (__builtin_mul_overflow(n, (size_t)h->shape.dims[i], &n)) return false;
  *bytes = n;
  return n <= (size_t)PTRDIFF_MAX;
}

static void swap_bytes(char *p, size_t bytes, size_t size) {
  for (size_t i = 0; i + size <= bytes; i += size)
    for (size_t a = 0, b = size - 1; a < b; a++, b--) {
      char x = p[i + a];
      p[i + a] = p[i + b];
      p[i + b] = x;
    }
}

/* Fortran order to C order. */
static bool reorder(npy_array *a) {
  size_t size = tsr_dtype_size(a->dtype), n = a->bytes / size;
  char *c = malloc(a->bytes ? a->bytes : 1);
  int64_t idx[TSR_MAX_RANK] = {0};
  if (!c) return false;
  for (size_t i = 0; i < n; i++) {
    size_t at = 0;
    for (int d = 0; d < a->shape.rank; d++) at = at * (size_t)a->shape.dims[d] + (size_t)idx[d];
    memcpy(c + at * size, (char *)a->data + i * size, size);
    for (int d = 0; d < a->shape.rank && ++idx[d] == a->shape.dims[d]; d++) idx[d] = 0;
  }
  free(a->data);
  a->data = c;
  return true;
}

static bool load(FILE *f, const char *path, npy_array *out, char *why, size_t why_bytes) {
  unsigned char pre[12];
  char *text = NULL;
  header h;
  if (fread(pre, 1, 10, f) != 10 || memcmp(pre, "\x93NUMPY", 6)) FAIL("%s: not an .npy file", path);
  size_t len = pre[8] | (size_t)pre[9] << 8;
  if (pre[6] >= 2) {
    if (fread(pre + 10, 1, 2, f) != 2) FAIL("%s: truncated .npy header", path);
    len |= (size_t)pre[10] << 16 | (size_t)pre[11] << 24;
  }
  if (pre[6] < 1 || pre[6] > 3 || len > 1 << 20) FAIL("%s: unknown .npy version %d.%d", path, pre[6], pre[7]);
  text = calloc(1, len + 1);
  if (!text) FAIL("%s: out of memory", path);
  bool whole = fread(text, 1, len, f) == len, ok = whole && parse_header(path, text, &h, why, why_bytes);
  free(text);
  if (!whole) FAIL("%s: truncated .npy header", path);
  if (!ok) return false;
  if (!count_bytes(&h, &out->bytes)) FAIL("%s: the number of elements overflows", path);
  /* Compare with the file's size first: a huge shape in a small file must not allocate. */
  long at = ftell(f);
  if (at >= 0 && fseek(f, 0, SEEK_END) == 0) {
    long end = ftell(f);
    if (end - at < (long)out->bytes) FAIL("%s: truncated: %ld bytes of data, the header says %zu", path, end - at, out->bytes);
    fseek(f, at, SEEK_SET);
  }
  out->dtype = h.t;
  out->shape = h.shape;
  out->data = malloc(out->bytes ? out->bytes : 1);
  if (!out->data) FAIL("%s: no memory for %zu bytes", path, out->bytes);
  if (fread(out->data, 1, out->bytes, f) != out->bytes) FAIL("%s: truncated data", path);
  if (h.swap) swap_bytes(out->data, out->bytes, tsr_dtype_size(h.t));
  if (h.fortran && h.shape.rank > 1 && !reorder(out)) FAIL("%s: out of memory", path);
  return true;
}

bool npy_load(const char *path, npy_array *out, char *why, size_t why_bytes) {
  *out = (npy_array){0};
  FILE *f = fopen(path, "rb");
  if (!f) FAIL("%s: can't be opened", path);
  bool ok = load(f, path, out, why, why_bytes);
  fclose(f);
  if (!ok) npy_free(out);
  return ok;
}

bool npy_save(const char *path, const npy_array *a, char *why, size_t why_bytes) {
  char h[512];
  const char *descr = NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i].t == a->dtype) descr = kinds[i].descr;
  if (!descr) FAIL("%s: element type %s has no .npy form", path, tsr_dtype_name(a->dtype));
  int n = snprintf(h, sizeof h, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", tsr_dtype_size(a->dtype) == 1 ? '|' : '<', descr);
  for (int i = 0; i < a->shape.rank; i++) n += snprintf(h + n, sizeof h - (size_t)n, "%lld,%s", (long long)a->shape.dims[i], i + 1 < a->shape.rank ? " " : "");
  n += snprintf(h + n, sizeof h - (size_t)n, "), }");
  while ((10 + n + 1) % 64) h[n++] = ' ';
  h[n++] = '\n';
  FILE *f = fopen(path, "wb");
  if (!f) FAIL("%s: can't be written", path);
  unsigned char pre[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255), (unsigned char)(n >> 8)};
  bool ok = fwrite(pre, 1, 10, f) == 10 && fwrite(h, 1, (size_t)n, f) == (size_t)n && fwrite(a->data, 1, a->bytes, f) == a->bytes;
  ok = fclose(f) == 0 && ok;
  if (!ok) FAIL("%s: writing failed", path);
  return true;
}

void npy_free(npy_array *a) {
  free(a->data);
  a->data = NULL;
}

void npy_convert(const npy_array *a, tsr_dtype t, void *dst) {
  size_t n = a->bytes / tsr_dtype_size(a->dtype);
  if (a->dtype == t) {
    memcpy(dst, a->data, a->bytes);
    return;
  }
  for (size_t i = 0; i < n; i++) dtype_store(t, dst, i, dtype_load(a->dtype, a->data, i));
}
