/* core/import/packed_weights.h - matrices of few bits as GPTQ and AWQ lay them into safetensors: of a layer X.weight,
 * [rows, columns], there are X.qweight, X.qzeros and X.scales. Rows of blocks are made of them, which products read
 * (base/block_format.h): q4_0 where all zero points are 8, else q8_0; both hold exactly what the file means.
 *
 *   GPTQ: qweight [columns bits / 32, rows], the first column in the lowest bits; qzeros [groups, rows bits / 32],
 *         one less than the zero point; scales [groups, rows]; g_idx [columns], the group of each, which must ascend
 *   AWQ:  qweight [columns, rows / 8] of 4 bits, rows 0 2 4 6 1 3 5 7 from the lowest bits on; qzeros
 *         [groups, rows / 8] alike; scales [groups, rows] */
#ifndef CORE_IMPORT_PACKED_WEIGHTS_H
#define CORE_IMPORT_PACKED_WEIGHTS_H
#include "core/import/weights.h"

typedef struct packed_weights {
  int64_t rows, columns;
  const block_format *format;
  unsigned char *blocks; /* of the arena */
  size_t bytes;
} packed_weights;

/* Has the file X.qweight for this "X.weight"? */
bool packed_weights_has(const weights *w, const char *name);
/* TSR_PARSE_ERROR where parts are missing or don't fit each other, TSR_UNSUPPORTED where blocks can't hold it. */
TSR_MUST_USE tsr_status packed_weights_read(const weights *w, const char *name, arena *a, packed_weights *out);
#endif
