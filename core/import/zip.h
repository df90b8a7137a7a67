/* core/import/zip.h - archives: the table of entries of a zip file in memory, and their contents. Stored and deflated
 * entries, zip64. Entries lie inside the file and don't overlap, none claims more than deflate can hold (1032 for one);
 * nothing is unpacked but what is asked for. Format: PKWARE's APPNOTE 6.3. */
#ifndef CORE_IMPORT_ZIP_H
#define CORE_IMPORT_ZIP_H
#include "core/import/tensor_table.h"

typedef struct zip_entry {
  const char *name;
  uint64_t header, offset; /* in the file: the local header, the data */
  uint64_t packed, size;   /* bytes in the file and unpacked; the same where it is stored */
  uint32_t crc;
  bool deflated;
} zip_entry;

bool zip_is(const unsigned char *p, uint64_t n);
/* In the order of the archive's table, in w's arena. */
TSR_MUST_USE tsr_status zip_read_table(weights *w, zip_entry **out, size_t *n);
/* `bytes` of the entry's contents from byte `from` on; checked against the checksum where that reaches to its end. */
TSR_MUST_USE tsr_status zip_unpack(const weights *w, const zip_entry *e, uint64_t from, void *dst, uint64_t bytes);
#endif
