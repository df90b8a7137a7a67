/* core/tune/families.h - the table of the families' rows (core/tune/family.h), and what is asked of a problem whatever
 * its family. */
#ifndef CORE_TUNE_FAMILIES_H
#define CORE_TUNE_FAMILIES_H
#include "core/tune/occupancy.h"

/* Of what a family is tuned as; NULL: there is nothing to tune. */
const struct tune_family *tune_family_of(sched_family f);

/* The extents that tell a problem apart, as keys and buckets name them; returns their number. */
int tune_problem_extents(const tune_problem *p, int64_t out[4]);
/* A product: it runs by matrix instructions where the device has them. */
bool tune_problem_contracts(const tune_problem *p);
/* Arithmetic and the least traffic of the problem: every operand once. */
double tune_problem_flops(const tune_problem *p);
double tune_problem_bytes(const tune_problem *p);
/* "128x128x64" of a matmul, "4x1024" rows by columns, "1024" elements. */
void tune_config_tile(const tune_problem *p, const tune_config *c, char *out, size_t out_bytes);

/* occ_compute of a tile: registers and shared memory estimated below. */
occ_result occ_of_config(const tune_device *d, const tune_problem *p, const tune_config *c);

/* Registers per thread: accumulators, two sets of fragments, addresses. An estimate; the driver's figure is better. */
int32_t occ_regs(const tune_device *d, const tune_problem *p, const tune_config *c);
/* Shared bytes per block: stages x (padded A tile + padded B tile), or the row buffers of a reduction kernel. */
int64_t occ_shared_bytes(const tune_problem *p, const tune_config *c);
/* occ_bank_conflict of a candidate: a matrix instruction's lane takes its part of the operand, at most 16 bytes; plain
 * multiply-adds a word. 0: nothing is staged in banks. */
int32_t occ_bank_ways(const tune_device *d, const tune_problem *p, const tune_config *c);
#endif
