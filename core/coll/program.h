/* core/coll/program.h - what each rank does: its messages, in groups that are under way together (one group a round in
 * which it takes part). A group is over when all of its messages are; a message needs both ranks to be there. */
#ifndef CORE_COLL_PROGRAM_H
#define CORE_COLL_PROGRAM_H
#include "core/coll/schedule.h"

typedef struct coll_message {
  int32_t round, src, dst;
  int32_t n_steps;
  size_t first; /* step of the schedule */
} coll_message;

typedef struct coll_entry {
  int32_t group, peer, n_steps;
  bool send;
  size_t message;
} coll_entry;

typedef struct coll_program {
  int32_t n_groups;
  size_t n, cap;
  coll_entry *entries; /* by group, sends first */
} coll_program;

typedef struct coll_programs {
  tsr_allocator al;
  int32_t n_ranks;
  size_t n_messages;
  coll_message *messages;
  coll_program *ranks;
} coll_programs;

TSR_MUST_USE tsr_status coll_programs_make(const coll_schedule *s, coll_programs *out);
void coll_programs_clear(coll_programs *p);
/* Runs them with blocking sends and receives: TSR_COLLECTIVE_MISMATCH with the ranks that wait for each other forever,
 * or whose messages don't fit. */
TSR_MUST_USE tsr_status coll_programs_check(const coll_programs *p);
#endif
