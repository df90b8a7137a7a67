/* core/ir/tables.c - the levels as rows: their ops, and the check of where an op stands. The one file of ir/ that names
 * levels. */
#include "core/ir/tables.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/ir/tile/rules.h"

static const struct {
  const ir_rows *(*rows)(size_t group);
  ir_verify_fn verify_place;
} levels[IR_N_LEVELS] = {
    [IR_BUILTIN] = {builtin_ops, NULL},
    [IR_GRAPH] = {graph_ops, NULL},
    [IR_SCHEDULE] = {schedule_ops, NULL},
    [IR_TILE] = {tile_ops, tile_verify_place},
    [IR_TARGET] = {target_ops, tile_verify_place},
};

const ir_opdef *ir_row(ir_level l, size_t i) {
  const ir_rows *r;
  for (size_t g = 0; (unsigned)l < IR_N_LEVELS && (r = levels[l].rows(g)); i -= r->n, g++)
    if (i < r->n) return &r->rows[i];
  return NULL;
}

ir_verify_fn ir_place_check(ir_level l) { return levels[l].verify_place; }

/* All rows by name, open addressing; made by the first who looks, and then only read. */
enum { PLACES_LOG2 = 10, N_PLACES = 1 << PLACES_LOG2 };
static const ir_opdef *by_name[N_PLACES];
static pthread_once_t made = PTHREAD_ONCE_INIT;

/* Eight characters a step, the last of which may have been seen already: passes name each op that they make. The first
 * eight are the project's. */
static uint64_t hash_name(const char *name) {
  const size_t n = strlen(name);
  uint64_t h = HASH_SEED ^ n, word = 0;
  if (n < sizeof word) return hash_mix(hash_bytes(h, name, n));
  for (size_t at = sizeof word; at + sizeof word < n; at += sizeof word) {
    memcpy(&word, name + at, sizeof word);
    h = hash_word(h, word);
  }
  memcpy(&word, name + n - sizeof word, sizeof word);
  return hash_word(h, word);
}

/* The row of that name, or the empty place where it belongs. */
static const ir_opdef **place_of(const char *name) {
  size_t at = (size_t)(hash_name(name) >> (64 - PLACES_LOG2)); /* all characters tell in the high bits alone */
  while (by_name[at] && strcmp(by_name[at]->name, name)) at = (at + 1) % N_PLACES;
  return &by_name[at];
}

static void make_by_name(void) {
  const ir_rows *r;
  size_t n = 0;
  for (int l = 0; l < IR_N_LEVELS; l++)
    for (size_t g = 0; (r = levels[l].rows(g)); n += r->n, g++)
      for (size_t i = 0; i < r->n; i++) *place_of(r->rows[i].name) = &r->rows[i];
  assert(n <= N_PLACES / 2);
  (void)n;
}

const ir_opdef *ir_find_op(const char *name) {
  pthread_once(&made, make_by_name);
  return *place_of(name);
}

const ir_opdef *ir_find_like(ir_level l, const ir_opdef *d) {
  char name[96];
  const ir_opdef *first = ir_row(l, 0);
  if (!first) return NULL;
  const int n = snprintf(name, sizeof name, "%.*s%s", (int)(ir_short_name(first) - first->name), first->name,
                         ir_short_name(d));
  return n > 0 && (size_t)n < sizeof name ? ir_find_op(name) : NULL;
}
