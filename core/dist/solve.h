/* core/dist/solve.h - how every value of a function lies on a mesh. In: a function whose composite ops are expanded,
 * shards of its arguments and, where given, of other values; out: a way to lie for each value, for each op the axes
 * along which it is cut and what it wants its operands to be, with the modelled time of all of it. Ops are decided in
 * order: of all ways in which an operand is cut already, the one that costs least in moves, computing and what is left
 * to add up. The function isn't changed; a problem is solved again and again with other shards by the search. */
#ifndef CORE_DIST_SOLVE_H
#define CORE_DIST_SOLVE_H
#include "core/dist/algebra.h"
#include "core/dist/machine.h"
#include "core/dist/reshard.h"

enum { DIST_ALTS = 4, DIST_WHOLE = -1, DIST_LINEAR = -2 };

typedef struct dist_rules {
  bool refuse_uneven; /* else uneven dimensions are padded */
  bool keep_order;    /* sums of floats aren't split: the result has the bits of one device */
  uint32_t spared;    /* axes that cut nothing: a pipeline's */
} dist_rules;

typedef struct dist_value {
  ir_value *v;
  dist_spec spec;            /* where it is defined */
  dist_spec alts[DIST_ALTS]; /* how else its readers had it: made once each */
  int n_alts;
  const char *wanted; /* the shard that it was given; NULL: none */
  uint32_t summed;    /* dimensions along which its one reader, a kernel with it, adds up floats */
} dist_value;

typedef struct dist_node {
  ir_op *op;
  dist_class *classes;
  int n_classes;
  double flops, bytes;        /* of the whole op */
  int8_t pick[DIST_MAX_AXES]; /* by axis: a class, DIST_WHOLE or DIST_LINEAR */
  dist_spec *want;            /* by operand */
  double us, moves_us;        /* computing; moves of operands and of the result */
  bool whole;                 /* never cut: its attributes didn't follow */
} dist_node;

typedef struct dist_problem {
  arena arena;
  ir_op *func;
  dist_mesh mesh;
  dist_rules rules;
  dist_links links;
  dist_value *values;
  dist_node *nodes;
  int n_values, n_nodes, n_args;
  double us;     /* of the last solution */
  double memory; /* bytes of arguments and constants on a rank */
} dist_problem;

/* The scratch of func's values and ops is the problem's: their numbers. machine must outlive it. */
TSR_MUST_USE tsr_status dist_problem_init(dist_problem *p, ir_op *func, const dist_mesh *mesh,
                                          const dist_machine *machine, const dist_rules *rules);
void dist_problem_clear(dist_problem *p);
/* Arguments lie as `args` says, or, NULL, as their shards do. TSR_INVALID_ARGUMENT for what can't be. */
TSR_MUST_USE tsr_status dist_solve(dist_problem *p, const dist_spec *args);

/* Time of n moves, one after the other, of v, of which a rank has what `from` says before them. */
double dist_moves_us(dist_problem *p, const dist_move *moves, int n, const dist_spec *from, const ir_value *v);

static inline dist_value *dist_value_of(const dist_problem *p, const ir_value *v) { return &p->values[v->scratch]; }
#endif
