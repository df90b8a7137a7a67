/* core/passes/switches.c - see switches.h. */
#include "core/passes/switches.h"

#include <stdio.h>
#include <string.h>

#include "core/base/status.h"
#include "core/passes/graph/fuse.h"
#include "core/passes/graph/rules.h"

/* Groups first. */
#define SIMPLIFY(name, rounds, help) "," #name
#define FUSE(id, name) "," name
static const char known[] =
    "rewrites,fusion,tiling,mma,pipeline,reduction_kernels,unroll,select_if,common_subexpression,horizontal,dead_code,"
    "fold_batch,fold_columns,hoist_view,flash_attention,flash_attention_backward,fft_convolution,winograd,dft,recurrence,"
    "sort,topk,cumsum,cumprod,in_place,packed_reads" FUSE_RULES(
        FUSE) GRAPH_RULES(SIMPLIFY);

static bool listed(const char *list, const char *item) {
  size_t n = strlen(item);
  while (list && *list) {
    size_t len = strcspn(list, ",");
    if (len == n && !memcmp(list, item, n)) return true;
    list += len + (list[len] == ',');
  }
  return false;
}

bool pass_enabled(const pass_options *o, const char *group, const char *rule) {
  return !o || !o->disable || (!listed(o->disable, group) && !listed(o->disable, rule));
}

tsr_status pass_check_disable(const tsr_allocator *al, const char *from, const char *list) {
  while (list && *list) {
    char word[64];
    size_t len = strcspn(list, ",");
    snprintf(word, sizeof word, "%.*s", (int)len, list);
    if (len && (len >= sizeof word || !(strchr(word, '.') || listed(known, word))))
      return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("runtime", from, known), "no switch is called \"%s\"", word);
    list += len + (list[len] == ',');
  }
  return NULL;
}
