/* core/ir/graph/ops/compose_blocks.c - dequantize and block_matmul as other ops, for devices that compute them so:
 * bytes are cut out of the blocks, and what they stand for is computed of them where it is read. Of formats whose
 * blocks are one run; base/block_format.c has their bits. */
#include <string.h>

#include "core/base/block_format.h"
#include "core/base/block_layout.h"
#include "core/ir/graph/ops/blocks.h"

#define I32(v) graph_number(b, TSR_I32, v)
#define OP2(CODE, x, y) graph_op2(b, G_##CODE, x, y)

enum { RANK = 4, HALF = BLOCK_RUN / 2 };

/* Where a block has its parts, in bytes; 0: it has none (base/block_layout.h). Elements are q plus `shift`, times the
 * scale. */
typedef struct layout {
  const char *name;
  int elements, at_q, at_high, shift;
  bool has_offset;
} layout;

#define LAYOUT(CODE, name, elements, bytes, shift, at_fifth, at_q, has_offset, ...) \
  {#name, elements, at_q, at_fifth, (has_offset) ? 0 : (shift), has_offset},
static const layout layouts[] = {BLOCK_LAYOUTS(LAYOUT)};
#undef LAYOUT

static const layout *layout_of(const char *format) {
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
    if (layouts[i].elements == BLOCK_RUN && !strcmp(layouts[i].name, format)) return &layouts[i];
  return NULL;
}

bool graph_blocks_expand(const ir_op *op) {
  return layout_of(ir_get_str(op, "format", "")) && !strcmp(ir_get_str(op, "activations", "f32"), "f32");
}

/* Blocks of a matrix as u8 and as f16, and what is computed of them: [rows, blocks, 2, 16], by halves of bytes, or
 * [rows, blocks, 1, 32]. `apart`: [rows, 2, blocks, 16], all low halves of a row before the high ones, so that a
 * kernel's block, which is of the last two dimensions, has half a row of elements, not 32. */
typedef struct blocks {
  const layout *l;
  ir_value *bytes, *halves;
  int64_t dims[RANK];
  int half, block; /* axes */
} blocks;

static ir_value *as_blocks(ir_builder *b, const blocks *x, ir_value *w, int64_t last) {
  int64_t dims[RANK] = {x->dims[0], 1, 1, last};
  dims[x->block] = x->dims[x->block];
  return w ? graph_reshape(b, w, RANK, dims) : NULL;
}

static blocks blocks_of(ir_builder *b, const char *format, ir_value *w, bool apart) {
  const block_format *f = block_format_by_name(format);
  const ir_type *t = w->type;
  const bool whole = !strcmp(format, "q8_0");
  blocks x = {.l = layout_of(format), .dims = {1}, .half = apart ? 1 : 2, .block = apart ? 2 : 1};
  for (int i = 0; i < t->rank - 1; i++) x.dims[0] *= t->dims[i];
  x.dims[x.block] = t->dims[t->rank - 1] / f->bytes;
  x.dims[x.half] = whole ? 1 : 2;
  x.dims[3] = whole ? BLOCK_RUN : HALF;
  x.bytes = as_blocks(b, &x, w, f->bytes);
  x.halves = as_blocks(b, &x, graph_op1(b, G_AS_F16, w), f->bytes / 2);
  return x;
}

/* n elements of each block, from `at` on. */
static ir_value *part(ir_builder *b, const blocks *x, ir_value *v, int at, int n) {
  const int64_t starts[RANK] = {0, 0, 0, at};
  int64_t sizes[RANK] = {x->dims[0], 1, 1, n};
  sizes[x->block] = x->dims[x->block];
  return v ? graph_cut(b, v, starts, sizes) : NULL;
}

static ir_value *number(ir_builder *b, const blocks *x, int at) {
  ir_value *v = part(b, x, x->halves, at, 1);
  return v ? graph_cast(b, v, TSR_F32) : NULL;
}

/* first, first + step, .. along an axis of the block's elements. */
static ir_value *places(ir_builder *b, const blocks *x, int axis, int32_t step) {
  int32_t v[BLOCK_RUN];
  int64_t dims[RANK] = {1, 1, 1, 1};
  const int64_t n = dims[axis] = x->dims[axis];
  for (int64_t i = 0; i < n; i++) v[i] = (int32_t)i * step;
  return graph_elements(b, ir_type_tensor(b->m, TSR_I32, RANK, dims), v);
}

/* Fifth bits: bit i of 32 is element i's. */
static ir_value *fifth_bits(ir_builder *b, const blocks *x) {
  ir_value *word = NULL;
  for (int i = 0; i < 4; i++) {
    ir_value *byte = part(b, x, x->bytes, x->l->at_high + i, 1);
    byte = byte ? OP2(SHIFT_LEFT, graph_cast(b, byte, TSR_I32), I32(8 * i)) : NULL;
    word = i && word ? OP2(OR, word, byte) : byte;
  }
  ir_value *place = ADD(places(b, x, x->half, HALF), places(b, x, 3, 1));
  if (!word || !place) return NULL;
  return OP2(SHIFT_LEFT, OP2(AND, OP2(SHIFT_RIGHT, word, place), I32(1)), I32(4));
}

/* Level `from`.. of q's lowest `bits` bits. */
static ir_value *level_of(ir_builder *b, ir_value *q, int from, int bits) {
  if (!bits) return I32(block_iq4_nl_levels[from]);
  ir_value *high = graph_compare(b, CMP_NE, OP2(AND, q, I32(1 << (bits - 1))), I32(0));
  return SELECT(high, level_of(b, q, from + (1 << (bits - 1)), bits - 1), level_of(b, q, from, bits - 1));
}

/* All of them, as i32. */
static ir_value *integers(ir_builder *b, const blocks *x) {
  const bool whole = x->dims[x->half] == 1;
  ir_value *q = part(b, x, x->bytes, x->l->at_q, whole ? BLOCK_RUN : HALF);
  if (!q) return NULL;
  q = graph_cast(b, graph_broadcast(b, q, RANK, x->dims), TSR_I32);
  if (whole) return SUB(OP2(XOR, q, I32(128)), I32(128));
  q = q ? OP2(AND, OP2(SHIFT_RIGHT, q, places(b, x, x->half, 4)), I32(15)) : NULL;
  if (q && x->l->at_high) q = OP2(OR, q, fifth_bits(b, x));
  if (q && !strcmp(x->l->name, "iq4_nl")) q = level_of(b, q, 0, 4);
  return q && x->l->shift ? ADD(q, I32(x->l->shift)) : q;
}

static ir_value *elements(ir_builder *b, const blocks *x) {
  ir_value *q = integers(b, x);
  ir_value *y = q ? MUL(graph_cast(b, q, TSR_F32), number(b, x, 0)) : NULL;
  return y && x->l->has_offset ? ADD(y, number(b, x, 1)) : y;
}

bool graph_expand_dequantize(ir_builder *b, const ir_op *op, ir_value **out) {
  const ir_type *t = op->results[0]->type;
  const blocks x = blocks_of(b, ir_get_str(op, "format", ""), op->operands[0], false);
  ir_value *y = elements(b, &x);
  out[0] = y ? graph_reshape(b, y, t->rank, t->dims) : NULL;
  DONE;
}

/* x [n, k] in the order of elements that are apart. */
static ir_value *reordered(ir_builder *b, const blocks *w, ir_value *x, int64_t n, int64_t k) {
  static const int perm[RANK] = {0, 2, 1, 3};
  ir_value *y = graph_reshape(b, x, RANK, (int64_t[]){n, w->dims[w->block], w->dims[w->half], w->dims[3]});
  y = y ? graph_transpose(b, y, perm) : NULL;
  return y ? graph_reshape(b, y, 2, (int64_t[]){n, k}) : NULL;
}

/* In which order products are summed is free. */
bool graph_expand_block_matmul(ir_builder *b, const ir_op *op, ir_value **out) {
  const ir_type *t = op->results[0]->type, *x = TYPE(0);
  const int64_t k = x->dims[x->rank - 1], rows = TYPE(1)->dims[0], n = k ? ir_type_count(x) / k : 0;
  const blocks w = blocks_of(b, ir_get_str(op, "format", ""), op->operands[1], true);
  ir_value *v = elements(b, &w);
  v = v ? graph_reshape(b, v, 2, (int64_t[]){rows, k}) : NULL;
  ir_value *y = v ? compose_oriented(b, reordered(b, &w, op->operands[0], n, k), v, false, true) : NULL;
  out[0] = y ? graph_reshape(b, y, t->rank, t->dims) : NULL;
  DONE;
}
