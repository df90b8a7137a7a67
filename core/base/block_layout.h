/* core/base/block_layout.h - where the blocks of base/block_format.h whose elements are integers times scales have
 * their parts, for those who take them apart by other means than its functions. */
#ifndef CORE_BASE_BLOCK_LAYOUT_H
#define CORE_BASE_BLOCK_LAYOUT_H

/* X(CODE, name, elements, bytes, shift, at_fifth, at_q, has_offset, negative, halves)
 * shift: what is added to the integers, times the scale; 1 where there are offsets. negative: some integers are.
 * halves: those of a run have scales of their own. Of formats whose blocks are runs besides: where a block has its
 * fifth bits (0: it has none) and its integers; the scale comes first, then the offset. */
#define BLOCK_LAYOUTS(X)                            \
  X(Q4_0, q4_0, 32, 18, -8, 0, 2, 0, 0, 0)          \
  X(Q4_1, q4_1, 32, 20, 1, 0, 4, 1, 0, 0)           \
  X(Q5_0, q5_0, 32, 22, -16, 2, 6, 0, 0, 0)         \
  X(Q5_1, q5_1, 32, 24, 1, 4, 8, 1, 0, 0)           \
  X(Q8_0, q8_0, 32, 34, 0, 0, 2, 0, 1, 0)           \
  X(IQ4_NL, iq4_nl, 32, 18, 0, 0, 2, 0, 1, 0)       \
  X(Q2_K, q2_k, 256, 84, 1, 0, 0, 1, 0, 1)          \
  X(Q3_K, q3_k, 256, 110, -4, 0, 0, 0, 0, 1)        \
  X(Q4_K, q4_k, 256, 144, 1, 0, 0, 1, 0, 0)         \
  X(Q5_K, q5_k, 256, 176, 1, 0, 0, 1, 0, 0)         \
  X(Q6_K, q6_k, 256, 210, -32, 0, 0, 0, 0, 1)
#endif
