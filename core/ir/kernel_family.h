/* core/ir/kernel_family.h - kernel families, one row each, and what the levels below take in one kernel. Fusion,
 * Schedule IR, the lowering to tiles and the tuner make their own tables from the rows: a family names the functions
 * that serve it, and the room that has them finds them by that name, so that a missing one does not link. */
#ifndef CORE_IR_KERNEL_FAMILY_H
#define CORE_IR_KERNEL_FAMILY_H
#include <stdbool.h>

/* X(code, name, fuses, space, extents of the iteration space, their names, lowering, rules, tuned as, what it is).
 * fuses:
 *   MAPS   elementwise neighbours of the same space
 *   LEADS  the same, and the kernel has this member's space and family
 *   ALONE  nothing: one op a kernel
 *   BY_HAND  no schedule.kernel is of this family: its kernels are written by hand, and estimated as such
 * space, what the extents count:
 *   ELEMENTS     of the results
 *   ROWS         rows, and elements of each
 *   CONTRACTION  the matrices of one product, their rows, columns and summed products
 *   ATTENTION    heads of the whole batch, queries, keys, their width
 *   CALL         nothing: tensors go to a function as they are
 *   OWN          what is written by hand says so itself
 * lowering: family_NAME of passes/tile; rules: sched_rules_NAME of passes/schedule (defaults, limits, lighter
 * variants); tuned as: the family whose problem, search space, work, resources and cost it has, with extents of the
 * same meaning: tune_family_NAME of core/tune. */
#define KERNEL_FAMILIES(X)                                                                                            \
  X(ELEMENTWISE, elementwise, MAPS, ELEMENTS, 1, "[elements]", elementwise, elementwise, elementwise,                 \
    "every element of the output from the same element of (broadcast, strided) inputs")                               \
  X(ROW, row, LEADS, ROWS, 2, "[m, n]", row, row, row,                                                                \
    "reductions over the last axis of an [m, n] space, whole rows in a block")                                        \
  X(MATMUL, matmul, LEADS, CONTRACTION, 4, "[batch, m, n, k]", matmul, matmul, matmul,                                \
    "one contraction with elementwise prologues and an epilogue")                                                     \
  X(COPY, copy, ALONE, ELEMENTS, 1, "[elements]", copy, elementwise, none,                                            \
    "concat, pad: several inputs moved into one output")                                                              \
  X(GATHER, gather, ALONE, ELEMENTS, 1, "[elements]", gather, elementwise, none,                                      \
    "every element of the output from the input at a coordinate that is read from a tensor")                          \
  X(SCATTER, scatter, ALONE, ELEMENTS, 1, "[elements]", scatter, scatter, none,                                       \
    "the input with elements written, or added in order, at coordinates that are read from a tensor")                 \
  X(TRANSFORM, transform, ALONE, ELEMENTS, 1, "[elements]", transform, none, none,                                    \
    "Fourier transforms of lines of pairs, some of them in a block")                                                  \
  X(WINDOWS, windows, ALONE, ELEMENTS, 1, "[elements]", windows, elementwise, none,                                   \
    "every element of the output from the input at a coordinate that is affine in its own")                           \
  X(CUSTOM, custom, ALONE, CALL, 1, "[elements]", none, none, none, "a user's op")                                    \
  X(ROUTINE, routine, ALONE, CALL, 1, "[elements]", none, none, none, "an algorithm on matrices, a call of the host") \
  X(CONTROL, control, ALONE, CALL, 1, "[elements]", none, none, none,                                                 \
    "if and while: other programs, of which the host runs one, or one again and again")                               \
  X(ATTENTION, attention, ALONE, ATTENTION, 4, "[batch, m, n, k]", attention, attention, attention,                   \
    "m queries against n keys and values, k wide, of each head of the batch")                                         \
  X(ATTENTION_BACKWARD, attention_backward, ALONE, ATTENTION, 4, "[batch, m, n, k]", attention_backward, none, none,  \
    "the gradients of the queries, keys and values of such heads")

#define KERNEL_FAMILY_CODE(code, ...) FAMILY_##code,
#define KERNEL_FAMILY_OF_NAME(code, name, ...) FAMILY_named_##name = FAMILY_##code, /* for the column "tuned as" */
typedef enum sched_family {
  KERNEL_FAMILIES(KERNEL_FAMILY_CODE)
  N_FAMILIES,
  FAMILY_NONE = N_FAMILIES,
  KERNEL_FAMILIES(KERNEL_FAMILY_OF_NAME)
  FAMILY_named_none = FAMILY_NONE
} sched_family;
#undef KERNEL_FAMILY_CODE
#undef KERNEL_FAMILY_OF_NAME

typedef enum family_fusion { FUSES_MAPS, FUSES_LEADS, FUSES_ALONE, FUSES_BY_HAND } family_fusion;
typedef enum family_space {
  SPACE_ELEMENTS,
  SPACE_ROWS,
  SPACE_CONTRACTION,
  SPACE_ATTENTION,
  SPACE_CALL,
  SPACE_OWN
} family_space;

typedef struct kernel_family_row {
  const char *name;
  family_fusion fuses;
  family_space space;
  int n_extents;         /* of tessera.schedule.kernel's attribute `space` */
  const char *extents;   /* "[m, n]" */
  sched_family tuned_as; /* FAMILY_NONE: nothing to tune */
  const char *help;
} kernel_family_row;

/* The row of a family; of FAMILY_NONE one that has no schedule.kernel and no space of the first three. */
const kernel_family_row *kernel_family(sched_family f);
const char *sched_family_name(sched_family f);     /* "?": there is none */
sched_family sched_family_parse(const char *name); /* N_FAMILIES: no schedule.kernel has it */
/* "elementwise, row, ..." and "elementwise [elements]; row [m, n]; ..." as constants. */
#define KERNEL_FAMILY_MAPS(text) text
#define KERNEL_FAMILY_LEADS(text) text
#define KERNEL_FAMILY_ALONE(text) text
#define KERNEL_FAMILY_BY_HAND(text)
#define KERNEL_FAMILY_NAME(code, name, fuses, ...) KERNEL_FAMILY_##fuses(", " #name)
#define KERNEL_FAMILY_SPACE(code, name, fuses, space, n, extents, ...) KERNEL_FAMILY_##fuses("; " #name " " extents)
#define KERNEL_FAMILY_NAMES (&(KERNEL_FAMILIES(KERNEL_FAMILY_NAME))[2])
#define KERNEL_FAMILY_SPACES (&(KERNEL_FAMILIES(KERNEL_FAMILY_SPACE) ": the iteration space")[2])

/* Of one kernel of any family: tensors read and written, and work (an op counts 1, a function that GPUs compute in a
 * dozen instructions or more 4, one along whole rows what its steps are in Tile IR; see graph/fuse.c). 192 of the
 * longest elementwise ops (narrow integers that wrap: 5 registers each) fit the 1000 registers of the CPU's programs.
 * Whoever makes kernels asks before one grows. */
enum {
  SCHED_MOST_ARGS = 32,
  SCHED_MOST_RESULTS = 64,
  SCHED_MOST_WORK = 192,
  SCHED_MOST_VIEWS = 16 /* views above one another, for each value that is read */
};

#endif
