/* core/import/zip.c - see zip.h. An archive is read from its end: the end record, the table that it names (with zip64's
 * wider end record before it), and by that the entries, each with a header of its own before its data. */
#include "core/import/zip.h"

#include <stdlib.h>
#include <string.h>

enum { END = 22, END64 = 56, LOCATOR = 20, ROW = 46, LOCAL = 30, STORED = 0, DEFLATED = 8, MOST_RATIO = 1032 };

static unsigned u16(const unsigned char *p) { return p[0] | (unsigned)p[1] << 8; }
static uint32_t u32(const unsigned char *p) { return u16(p) | (uint32_t)u16(p + 2) << 16; }
static uint64_t u64(const unsigned char *p) { return u32(p) | (uint64_t)u32(p + 4) << 32; }
static bool is(const unsigned char *p, const char *kind) {
  return p[0] == 'P' && p[1] == 'K' && !memcmp(p + 2, kind, 2);
}

bool zip_is(const unsigned char *p, uint64_t n) { return n >= 4 && (is(p, "\3\4") || is(p, "\5\6")); }

typedef struct directory { uint64_t at, bytes, n; } directory;

/* The last place that has the end record's mark and whose comment reaches to the end of the file. */
static bool find_end(const weights *w, uint64_t *at) {
  for (uint64_t back = END; back <= w->size && back <= END + 65535; back++) {
    const unsigned char *p = w->p + (w->size - back);
    if (!is(p, "\5\6") || u16(p + 20) != back - END) continue;
    *at = w->size - back;
    return true;
  }
  return false;
}

static tsr_status find_directory(const weights *w, directory *d) {
  uint64_t end = 0;
  if (!find_end(w, &end)) return weights_bad(w, w->size, "a zip file without its table at the end: truncated");
  const unsigned char *p = w->p + end;
  *d = (directory){u32(p + 16), u32(p + 12), u16(p + 10)};
  if (u16(p + 4) || u16(p + 6)) return weights_bad(w, end, "a part of a zip file in several parts");
  if (end >= LOCATOR && is(p - LOCATOR, "\6\7")) {
    uint64_t at = u64(p - LOCATOR + 8);
    if (at > end - LOCATOR || end - LOCATOR - at < END64 || !is(w->p + at, "\6\6"))
      return weights_bad(w, end - LOCATOR, "the zip64 record is not where the file says");
    end = at;
    *d = (directory){u64(w->p + at + 48), u64(w->p + at + 40), u64(w->p + at + 32)};
  }
  if (d->at > end || d->bytes > end - d->at || d->n > d->bytes / ROW)
    return weights_bad(w, end, "a table of %llu entries in %llu bytes at %llu does not fit", (unsigned long long)d->n,
                       (unsigned long long)d->bytes, (unsigned long long)d->at);
  return NULL;
}

/* Sizes and places that don't fit 32 bits stand in the extra field 1, in this order, those alone that don't fit. */
static bool widen(zip_entry *e, const unsigned char *p, unsigned n) {
  uint64_t *wide[3] = {&e->size, &e->packed, &e->header};
  while (n >= 4) {
    unsigned id = u16(p), size = u16(p + 2);
    if (size > n - 4) return false;
    for (unsigned i = 0, at = 0; id == 1 && i < 3; i++) {
      if (*wide[i] != UINT32_MAX) continue;
      if (at + 8 > size) return false;
      *wide[i] = u64(p + 4 + at);
      at += 8;
    }
    p += 4 + size, n -= 4 + size;
  }
  return true;
}

/* The entry's own header must name the same and leave room for its data before the table. */
static tsr_status find_data(const weights *w, uint64_t table, zip_entry *e, unsigned method, unsigned name_bytes) {
  if (e->header > table || table - e->header < LOCAL || !is(w->p + e->header, "\3\4"))
    return weights_bad(w, e->header, "entry \"%s\" does not start where the table says", e->name);
  const unsigned char *p = w->p + e->header;
  uint64_t skip = LOCAL + (uint64_t)u16(p + 26) + u16(p + 28), room = table - e->header;
  if (skip > room || u16(p + 8) != method || u16(p + 26) != name_bytes || memcmp(p + LOCAL, e->name, name_bytes))
    return weights_bad(w, e->header, "entry \"%s\": its header and the table differ", e->name);
  if (e->packed > room - skip)
    return weights_bad(w, e->header, "entry \"%s\" has %llu bytes; up to the table there are %llu", e->name,
                       (unsigned long long)e->packed, (unsigned long long)(room - skip));
  e->offset = e->header + skip;
  return NULL;
}

static tsr_status check_sizes(const weights *w, const zip_entry *e) {
  uint64_t most;
  if (!e->deflated && e->size != e->packed)
    return weights_bad(w, e->header, "entry \"%s\" is stored with two sizes, %llu and %llu", e->name,
                       (unsigned long long)e->packed, (unsigned long long)e->size);
  if (e->deflated && !__builtin_mul_overflow(e->packed, (uint64_t)MOST_RATIO, &most) && e->size > most)
    return weights_bad(w, e->header, "entry \"%s\" claims %llu bytes, more than %llu compressed ones can hold", e->name,
                       (unsigned long long)e->size, (unsigned long long)e->packed);
  return NULL;
}

static tsr_status read_row(weights *w, const directory *d, uint64_t *at, zip_entry *e) {
  uint64_t left = d->at + d->bytes - *at;
  const unsigned char *p = w->p + *at;
  if (left < ROW || !is(p, "\1\2")) return weights_bad(w, *at, "expected an entry of the zip file's table");
  unsigned flags = u16(p + 8), method = u16(p + 10), name = u16(p + 28), extra = u16(p + 30);
  uint64_t bytes = ROW + (uint64_t)name + extra + u16(p + 32);
  if (bytes > left || memchr(p + ROW, 0, name)) return weights_bad(w, *at, "a malformed entry of the zip file's table");
  *e = (zip_entry){.name = arena_strn(&w->a, (const char *)p + ROW, name),
                   .header = u32(p + 42),
                   .packed = u32(p + 20),
                   .size = u32(p + 24),
                   .crc = u32(p + 16),
                   .deflated = method == DEFLATED};
  if (!e->name) return st_oom();
  if (!widen(e, p + ROW + name, extra)) return weights_bad(w, *at, "entry \"%s\": malformed extra fields", e->name);
  if (flags & 1) return weights_bad(w, *at, "entry \"%s\" is encrypted", e->name);
  if (method != STORED && method != DEFLATED)
    return weights_bad(w, *at, "entry \"%s\": compression method %u; stored and deflated entries are read", e->name,
                       method);
  TSR_TRY(find_data(w, d->at, e, method, name));
  *at += bytes;
  return check_sizes(w, e);
}

static int by_header(const void *a, const void *b) {
  const zip_entry *x = *(const zip_entry *const *)a, *y = *(const zip_entry *const *)b;
  return x->header < y->header ? -1 : x->header > y->header;
}

/* Entries that share data are how a small file unpacks to any size. */
static tsr_status check_overlap(const weights *w, const zip_entry *e, size_t n) {
  const zip_entry **v = al_alloc(&w->a.al, (n + 1) * sizeof *v, 16);
  tsr_status st = NULL;
  if (!v) return st_oom();
  for (size_t i = 0; i < n; i++) v[i] = &e[i];
  qsort(v, n, sizeof *v, by_header);
  for (size_t i = 1; i < n && !st; i++)
    if (v[i - 1]->offset + v[i - 1]->packed > v[i]->header)
      st = weights_bad(w, v[i]->header, "entries \"%s\" and \"%s\" overlap", v[i - 1]->name, v[i]->name);
  al_free_array(&w->a.al, v, n + 1);
  return st;
}

tsr_status zip_read_table(weights *w, zip_entry **out, size_t *n) {
  directory d = {0};
  TSR_TRY(find_directory(w, &d));
  zip_entry *e = arena_array(&w->a, zip_entry, d.n + 1);
  if (!e) return st_oom();
  uint64_t at = d.at;
  for (uint64_t i = 0; i < d.n; i++) TSR_TRY(read_row(w, &d, &at, &e[i]));
  TSR_TRY(check_overlap(w, e, (size_t)d.n));
  *out = e;
  *n = (size_t)d.n;
  return NULL;
}
