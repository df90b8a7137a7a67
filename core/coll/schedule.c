/* core/coll/schedule.c - see schedule.h: the operations' table, the builder of steps, and where chunks lie. */
#include "core/coll/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/int_math.h"

static const coll_op_info ops[N_COLL_OPS] = {
    [COLL_ALL_REDUCE] = {"all_reduce", true, false, "2(n-1)/n"},
    [COLL_REDUCE_SCATTER] = {"reduce_scatter", true, false, "(n-1)/n"},
    [COLL_ALL_GATHER] = {"all_gather", false, false, "(n-1)/n"},
    [COLL_ALL_TO_ALL] = {"all_to_all", false, false, "(n-1)/n"},
    [COLL_BROADCAST] = {"broadcast", false, true, "1"},
    [COLL_REDUCE] = {"reduce", true, true, "1"},
    [COLL_SEND_RECV] = {"send_recv", false, false, "1"},
    [COLL_BARRIER] = {"barrier", false, false, "0"},
};

const coll_op_info *coll_op_get(coll_op op) { return &ops[op]; }

coll_op coll_op_parse(const char *name) {
  int op = 0;
  while (op < N_COLL_OPS && strcmp(name, ops[op].name)) op++;
  return (coll_op)op;
}

double coll_bus_factor(coll_op op, int64_t ranks) {
  double n = (double)ranks;
  switch (op) {
  case COLL_ALL_REDUCE: return 2 * (n - 1) / n;
  case COLL_REDUCE_SCATTER: case COLL_ALL_GATHER: case COLL_ALL_TO_ALL: return (n - 1) / n;
  case COLL_BARRIER: return 0;
  default: return 1;
  }
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

void coll_step_put(coll_schedule *s, int32_t round, int32_t src, int32_t dst, int32_t chunk, bool reduce) {
  if (src == dst || s->failed) return;
  if (!al_grow(&s->al, &s->steps, &s->cap, s->n_steps + 1, sizeof *s->steps)) {
    s->failed = true;
    return;
  }
  s->steps[s->n_steps++] = (coll_step){round, src, dst, chunk, reduce};
  if (round >= s->n_rounds) s->n_rounds = round + 1;
}

int32_t coll_round_end(const coll_schedule *s) { return s->n_rounds; }

void coll_schedule_free(coll_schedule **ps) {
  coll_schedule *s = *ps;
  if (!s) return;
  tsr_allocator al = s->al;
  if (s->steps) al_free_array(&al, s->steps, s->cap);
  al_delete(&al, s);
  *ps = NULL;
}

static int by_message(const void *pa, const void *pb) {
  const coll_step *a = pa, *b = pb;
  if (a->round != b->round) return a->round < b->round ? -1 : 1;
  if (a->src != b->src) return a->src < b->src ? -1 : 1;
  if (a->dst != b->dst) return a->dst < b->dst ? -1 : 1;
  return a->chunk < b->chunk ? -1 : a->chunk > b->chunk;
}

void coll_schedule_sort(coll_schedule *s) {
  if (s->n_steps) qsort(s->steps, s->n_steps, sizeof *s->steps, by_message);
}

uint64_t coll_schedule_hash(const coll_schedule *s) {
  uint64_t h = HASH_SEED;
  for (size_t i = 0; i < s->n_steps; i++) {
    const coll_step *a = &s->steps[i];
    h = hash_word(h, (uint64_t)(uint32_t)a->round << 32 | (uint32_t)a->chunk);
    h = hash_word(h, (uint64_t)(uint32_t)a->src << 32 | (uint32_t)a->dst << 1 | a->reduce);
  }
  return h;
}

int32_t coll_default_group(int32_t n) {
  for (int32_t g = 8; g > 1; g--)
    if (g < n && n % g == 0) return g;
  return n;
}

/* ---- chunks ---------------------------------------------------------------------------------------------------- */

coll_range coll_split(int64_t count, int32_t pieces, int32_t i) {
  int64_t each = count / pieces, longer = count % pieces;
  return (coll_range){i * each + min64(i, longer), each + (i < longer)};
}

int64_t coll_chunk_elements(const coll_schedule *s, int64_t count, int32_t chunk) {
  switch (s->op) {
  case COLL_ALL_TO_ALL: return coll_split(count, s->n_ranks, chunk % s->n_ranks).n;
  case COLL_SEND_RECV: return count;
  case COLL_BARRIER: return 0;
  default: return coll_split(count, s->n_chunks, chunk).n;
  }
}

bool coll_starts_with(const coll_schedule *s, int32_t rank, int32_t chunk) {
  switch (s->op) {
  case COLL_ALL_GATHER: case COLL_SEND_RECV: case COLL_BARRIER: return chunk == rank;
  case COLL_ALL_TO_ALL: return chunk / s->n_ranks == rank;
  case COLL_BROADCAST: return rank == s->root;
  default: return true;
  }
}

bool coll_ends_with(const coll_schedule *s, int32_t rank, int32_t chunk) {
  switch (s->op) {
  case COLL_REDUCE_SCATTER: return chunk == rank;
  case COLL_ALL_TO_ALL: return chunk % s->n_ranks == rank;
  case COLL_SEND_RECV: return chunk == coll_mod(rank - 1, s->n_ranks);
  case COLL_REDUCE: return rank == s->root;
  default: return true;
  }
}

coll_range coll_chunk_in(const coll_schedule *s, int64_t count, int32_t rank, int32_t chunk) {
  if (!coll_starts_with(s, rank, chunk)) return (coll_range){-1, 0};
  switch (s->op) {
  case COLL_ALL_GATHER: return (coll_range){0, coll_split(count, s->n_chunks, chunk).n};
  case COLL_ALL_TO_ALL: return coll_split(count, s->n_ranks, chunk % s->n_ranks);
  case COLL_SEND_RECV: return (coll_range){0, count};
  case COLL_BARRIER: return (coll_range){0, 0};
  default: return coll_split(count, s->n_chunks, chunk);
  }
}

coll_range coll_chunk_out(const coll_schedule *s, int64_t count, int32_t rank, int32_t chunk) {
  if (!coll_ends_with(s, rank, chunk)) return (coll_range){-1, 0};
  int64_t n = coll_chunk_elements(s, count, chunk);
  switch (s->op) {
  case COLL_REDUCE_SCATTER: return (coll_range){0, n};
  case COLL_ALL_TO_ALL: return (coll_range){chunk / s->n_ranks * n, n};
  case COLL_SEND_RECV: return (coll_range){0, count};
  case COLL_BARRIER: return (coll_range){0, 0};
  default: return coll_split(count, s->n_chunks, chunk);
  }
}

int64_t coll_in_elements(coll_op op, int64_t count, int32_t n, int32_t rank, int32_t root) {
  switch (op) {
  case COLL_ALL_GATHER: return coll_split(count, n, rank).n;
  case COLL_BROADCAST: return rank == root ? count : 0;
  case COLL_BARRIER: return 0;
  default: return count;
  }
}

int64_t coll_out_elements(coll_op op, int64_t count, int32_t n, int32_t rank, int32_t root) {
  switch (op) {
  case COLL_REDUCE_SCATTER: return coll_split(count, n, rank).n;
  case COLL_ALL_TO_ALL: return n * coll_split(count, n, rank).n;
  case COLL_REDUCE: return rank == root ? count : 0;
  case COLL_BARRIER: return 0;
  default: return count;
  }
}
