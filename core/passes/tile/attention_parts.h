/* core/passes/tile/attention_parts.h - attention of few queries: the keys in parts. */
#ifndef CORE_PASSES_TILE_ATTENTION_PARTS_H
#define CORE_PASSES_TILE_ATTENTION_PARTS_H
#include "core/passes/tile/attention_scores.h"

/* Few queries against many keys: the type of what the parts leave, [parts, batch, heads, queries, width + 1], in whose
 * last column is the log-sum-exp. NULL: not split. */
const ir_type *attend_parts_type(ir_module *m, const ir_op *kernel, const tile_options *opts);
/* a->parts and per_part, which are those of that type. */
void attend_choose_parts(attend *a);
/* Heads that share keys, with one query each, become rows of one block; a->mem and a->x say so. */
void attend_group_heads(attend *a);
/* The results, or what a part leaves. */
tsr_status attend_store(attend *a, ir_value *const *carried);
/* All parts, as if they had been tiles of keys. */
tsr_status attend_sum_parts(attend *a, ir_value **carried);
#endif
