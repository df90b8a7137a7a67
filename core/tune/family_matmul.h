/* core/tune/family_matmul.h - what the two files of products in the tuner share. */
#ifndef CORE_TUNE_FAMILY_MATMUL_H
#define CORE_TUNE_FAMILY_MATMUL_H
#include "core/tune/family.h"

void tune_matmul_cost(const cost_task *x, cost_estimate *e);
#endif
