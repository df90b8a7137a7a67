/* core/import/zip_unpack.c - the contents of an entry (zip.h): copied where it is stored, through zlib where it is
 * deflated. Nothing is written but what was asked for, whatever the data unpacks to. */
#include <string.h>

#include "core/import/zip.h"
#ifdef TSR_HAVE_ZLIB
#define ZLIB_CONST
#include <zlib.h>
#endif

/* CRC-32 of IEEE 802.3, reflected, by half bytes. */
static uint32_t crc(uint32_t c, const unsigned char *p, uint64_t n) {
  static const uint32_t half[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                    0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                    0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  for (uint64_t i = 0; i < n; i++) {
    c ^= p[i];
    c = half[c & 15] ^ c >> 4;
    c = half[c & 15] ^ c >> 4;
  }
  return c;
}

static tsr_status check(const weights *w, const zip_entry *e, uint32_t c) {
  if (~c == e->crc) return NULL;
  return weights_bad(w, e->offset, "entry \"%s\" is damaged: its checksum is %08x, the table says %08x", e->name, ~c,
                     e->crc);
}

#ifdef TSR_HAVE_ZLIB
enum { PIECE = 1 << 30, SCRATCH = 4096 };

typedef struct stream {
  z_stream z;
  const weights *w;
  const zip_entry *e;
  uint64_t taken; /* of the compressed bytes, given to zlib */
  uint32_t crc;
} stream;

static tsr_status fill(stream *s, unsigned char *dst, uint64_t bytes) {
  while (bytes) {
    if (!s->z.avail_in) {
      uint64_t left = s->e->packed - s->taken;
      s->z.next_in = s->w->p + s->e->offset + s->taken;
      s->z.avail_in = (uInt)(left < PIECE ? left : PIECE);
      s->taken += s->z.avail_in;
    }
    uInt want = (uInt)(bytes < PIECE ? bytes : PIECE);
    s->z.next_out = dst;
    s->z.avail_out = want;
    int rc = inflate(&s->z, Z_NO_FLUSH);
    uint64_t got = want - s->z.avail_out;
    s->crc = crc(s->crc, dst, got);
    dst += got, bytes -= got;
    if (rc == Z_MEM_ERROR) return st_oom();
    if (bytes && (rc != Z_OK || (!got && s->taken == s->e->packed && !s->z.avail_in)))
      return weights_bad(s->w, s->e->offset, "entry \"%s\" is damaged: its data can't be unpacked, or ends early",
                         s->e->name);
  }
  return NULL;
}

static tsr_status inflate_part(const weights *w, const zip_entry *e, uint64_t from, unsigned char *dst,
                               uint64_t bytes) {
  stream s = {.w = w, .e = e, .crc = UINT32_MAX};
  unsigned char scratch[SCRATCH];
  tsr_status st = NULL;
  if (inflateInit2(&s.z, -MAX_WBITS) != Z_OK) return st_oom();
  for (uint64_t left = from; left && !st;) {
    uint64_t n = left < SCRATCH ? left : SCRATCH;
    st = fill(&s, scratch, n);
    left -= n;
  }
  if (!st) st = fill(&s, dst, bytes);
  if (!st && from + bytes == e->size) st = check(w, e, s.crc);
  inflateEnd(&s.z);
  return st;
}
#else
static tsr_status inflate_part(const weights *w, const zip_entry *e, uint64_t from, unsigned char *dst,
                               uint64_t bytes) {
  return st_make(
      &w->a.al, TSR_UNSUPPORTED, ST_WHERE("weights", NULL, "write it with numpy.savez, not savez_compressed"),
      "%s: entry \"%s\" is compressed, and this library was built without zlib (zlib1g-dev)", w->file, e->name);
}
#endif

tsr_status zip_unpack(const weights *w, const zip_entry *e, uint64_t from, void *dst, uint64_t bytes) {
  if (from > e->size || bytes > e->size - from)
    return weights_bad(w, e->offset, "entry \"%s\" ends early: it has %llu bytes", e->name,
                       (unsigned long long)e->size);
  if (e->deflated) return inflate_part(w, e, from, dst, bytes);
  if (bytes) memcpy(dst, w->p + e->offset + from, (size_t)bytes);
  return from + bytes == e->size ? check(w, e, crc(UINT32_MAX, w->p + e->offset, e->size)) : NULL;
}
