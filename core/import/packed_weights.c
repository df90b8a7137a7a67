/* core/import/packed_weights.c - see packed_weights.h. */
#include "core/import/packed_weights.h"

#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"

enum { BLOCK = BLOCK_RUN, CODE_Q4_0 = 2, CODE_Q8_0 = 8, CENTRE = 8 };

typedef struct layout {
  const weights *w;
  const char *name;
  const weights_tensor *q, *zeros, *scales, *order;
  int64_t rows, columns, groups, per_group;
  int bits;
  bool by_rows; /* AWQ: a word has eight rows of a column; GPTQ: some columns of a row */
} layout;

static const weights_tensor *part(const weights *w, const char *name, const char *what) {
  char full[512];
  const size_t n = strlen(name), end = strlen(".weight");
  if (n <= end || n + 8 > sizeof full || strcmp(name + n - end, ".weight")) return NULL;
  snprintf(full, sizeof full, "%.*s.%s", (int)(n - end), name, what);
  return weights_find(w, full);
}

bool packed_weights_has(const weights *w, const char *name) { return part(w, name, "qweight") != NULL; }

static tsr_status refuse(const layout *l, tsr_code code, const char *what) {
  return st_make(&l->w->a.al, code, ST_WHERE("weights", NULL, NULL), "%s: \"%s\" of few bits: %s", l->w->file, l->name,
                 what);
}

static bool is_matrix(const layout *l, const weights_tensor *t, tsr_dtype dtype) {
  return t && t->shape.rank == 2 && weights_data(l->w, t) && t->dtype == dtype;
}

static tsr_status read_layout(layout *l) {
  l->q = part(l->w, l->name, "qweight");
  l->zeros = part(l->w, l->name, "qzeros");
  l->scales = part(l->w, l->name, "scales");
  l->order = part(l->w, l->name, "g_idx");
  if (!is_matrix(l, l->q, TSR_I32) || !is_matrix(l, l->zeros, TSR_I32) || !is_matrix(l, l->scales, TSR_F16))
    return refuse(l, TSR_PARSE_ERROR, "qweight and qzeros are matrices of i32, scales one of f16");
  const int64_t *q = l->q->shape.dims, *z = l->zeros->shape.dims, *s = l->scales->shape.dims;
  l->groups = s[0];
  l->rows = s[1];
  l->by_rows = q[1] != s[1];
  if (l->groups < 1 || l->rows < 1) return refuse(l, TSR_PARSE_ERROR, "no elements");
  l->bits = z[1] > 0 && l->rows % z[1] == 0 ? (int)(32 * z[1] / l->rows) : 0;
  if (l->bits != 4 && (l->bits != 8 || l->by_rows))
    return refuse(l, TSR_UNSUPPORTED, "4 bits are read, of GPTQ also 8");
  const int64_t per = 32 / l->bits;
  l->columns = l->by_rows ? q[0] : q[0] * per;
  if (z[0] != l->groups || z[1] * per != l->rows || (l->by_rows && q[1] != z[1]) || l->columns % l->groups)
    return refuse(l, TSR_PARSE_ERROR, "qweight, qzeros and scales don't fit each other");
  l->per_group = l->columns / l->groups;
  if (l->per_group % BLOCK) return refuse(l, TSR_UNSUPPORTED, "groups of another size than a multiple of 32");
  if (!l->order) return NULL;
  const void *order = weights_data(l->w, l->order);
  if (!order || l->order->dtype != TSR_I32 || l->order->shape.rank != 1 || l->order->shape.dims[0] != l->columns)
    return refuse(l, TSR_PARSE_ERROR, "g_idx isn't a number of each column");
  for (int64_t i = 0; i < l->columns; i++)
    if (dtype_load(TSR_I32, order, (size_t)i) != (double)(i / l->per_group))
      return refuse(l, TSR_UNSUPPORTED, "columns that are in another order than their groups (g_idx)");
  return NULL;
}

static unsigned word(const layout *l, const weights_tensor *t, int64_t row, int64_t column) {
  uint32_t v;
  memcpy(&v, (const char *)weights_data(l->w, t) + (row * t->shape.dims[1] + column) * (int64_t)sizeof v, sizeof v);
  return v;
}

/* Along a word of rows the even ones come first. */
static int nibble_of(int64_t row) { return (int)(row % 2 * 4 + row % 8 / 2); }

static int element(const layout *l, int64_t row, int64_t column) {
  if (l->by_rows) return (int)(word(l, l->q, column, row / 8) >> 4 * nibble_of(row) & 15);
  const int64_t per = 32 / l->bits;
  return (int)(word(l, l->q, column / per, row) >> l->bits * (column % per) & ((1u << l->bits) - 1));
}

static int zero_point(const layout *l, int64_t row, int64_t group) {
  if (l->by_rows) return (int)(word(l, l->zeros, group, row / 8) >> 4 * nibble_of(row) & 15);
  const int64_t per = 32 / l->bits;
  return 1 + (int)(word(l, l->zeros, group, row / per) >> l->bits * (row % per) & ((1u << l->bits) - 1));
}

static bool all_centred(const layout *l) {
  for (int64_t r = 0; r < l->rows; r++)
    for (int64_t g = 0; g < l->groups; g++)
      if (zero_point(l, r, g) != CENTRE) return false;
  return l->bits == 4;
}

/* The scale, then elements less their zero points. False: one doesn't fit. */
static bool make_block(const layout *l, int64_t row, int64_t at, bool centred, unsigned char *to) {
  const int64_t group = at / l->per_group;
  const int zero = zero_point(l, row, group);
  memcpy(to, (const char *)weights_data(l->w, l->scales) + 2 * (group * l->rows + row), 2);
  uint8_t q[BLOCK];
  for (int i = 0; i < BLOCK; i++) {
    const int e = element(l, row, at + i), v = e - zero;
    if (v < -128 || v > 127) return false;
    q[i] = (uint8_t)(centred ? e : v);
  }
  if (centred) block_q4_0_put(q, to);
  else memcpy(to + 2, q, BLOCK);
  return true;
}

tsr_status packed_weights_read(const weights *w, const char *name, arena *a, packed_weights *out) {
  layout l = {.w = w, .name = name};
  *out = (packed_weights){0};
  TSR_TRY(read_layout(&l));
  const bool centred = all_centred(&l);
  const block_format *f = block_format_by_code(centred ? CODE_Q4_0 : CODE_Q8_0);
  const int64_t n = l.rows * (l.columns / BLOCK); /* the file has a word or more of each */
  unsigned char *p = arena_alloc(a, (size_t)n * f->bytes + 1);
  if (!p) return st_oom();
  for (int64_t i = 0; i < n; i++) {
    const int64_t per_row = l.columns / BLOCK;
    if (!make_block(&l, i / per_row, i % per_row * BLOCK, centred, p + (size_t)i * f->bytes))
      return refuse(&l, TSR_UNSUPPORTED, "elements that are more than 127 from their zero point");
  }
  *out = (packed_weights){l.rows, l.columns, f, p, (size_t)n * f->bytes};
  return NULL;
}
