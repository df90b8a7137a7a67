/* core/runtime/team_split.c - see tessera/coll.h: teams out of a team. All ranks tell each other their colour and key;
 * in one process the first of each colour makes the new team and hands it to the others, between processes each opens
 * its own link. */
#include "core/runtime/internal.h"
#include "core/runtime/team_base.h"

enum { WORDS = 3 }; /* that a rank tells: colour, key, the first free number of a link */

typedef struct members {
  int32_t n, at, ranks[COLL_MAX_RANKS];
} members;

static tsr_status gather(tsr_team *t, int32_t rank, tsr_dtype type, int64_t each, const void *mine, void *all) {
  const tsr_coll c = {
      .op = TSR_COLL_ALL_GATHER, .dtype = type, .count = each * tsr_team_size(t), .in = mine, .out = all};
  return tsr_team_run(t, rank, &c);
}

/* Those of the caller's colour, by key and rank; told[rank] is what a rank said. */
static members find_members(const int32_t *told, int32_t n, int32_t rank) {
  members m = {0};
  for (int32_t r = 0; r < n; r++) {
    if (told[r * WORDS] != told[rank * WORDS]) continue;
    int32_t i = m.n++;
    for (; i > 0 && told[m.ranks[i - 1] * WORDS + 1] > told[r * WORDS + 1]; i--) m.ranks[i] = m.ranks[i - 1];
    m.ranks[i] = r;
  }
  for (int32_t i = 0; i < m.n; i++)
    if (m.ranks[i] == rank) m.at = i;
  return m;
}

/* All ranks of the old team take part, also those that get none. */
static tsr_status hand_round(tsr_team *t, int32_t rank, const members *m, bool wanted, tsr_team **out) {
  int64_t made[COLL_MAX_RANKS], mine = 0;
  tsr_team *own = NULL;
  tsr_status st = NULL;
  if (wanted && m->ranks[0] == rank) st = team_make(&t->al, t->transport, NULL, m->n, t->deadline_ms, &own);
  if (own) own->owners = m->n;
  mine = (int64_t)(intptr_t)own;
  tsr_status told = gather(t, rank, TSR_I64, 1, &mine, made);
  if (st || told) {
    if (own) own->owners = 1;
    tsr_team_destroy(&own);
    if (st) tsr_status_free(told);
    return st ? st : told;
  }
  if (wanted) *out = (tsr_team *)(intptr_t)made[m->ranks[0]];
  return wanted && !*out ? st_oom() : NULL;
}

tsr_status tsr_team_split(tsr_team *t, int rank, int colour, int key, tsr_team **out, int *new_rank) {
  RT_OUT("team_split", out);
  RT_NEED("team_split", "team", t);
  RT_NEED("team_split", "new_rank", new_rank);
  int32_t told[COLL_MAX_RANKS * WORDS], number = 0;
  *new_rank = -1;
  if (t->engine) return team_bad(t, "team_split", "split the parent, and make a team over the parts");
  if (!team_has_rank(t, rank)) return team_bad(t, "team_split", "no such rank in this process");
  const int32_t mine[WORDS] = {colour < 0 ? -1 : colour, key, t->link ? t->link->ops->next_number(t->link) : 0};
  TSR_TRY(gather(t, rank, TSR_I32, WORDS, mine, told));
  members m = find_members(told, tsr_team_size(t), rank);
  if (colour >= 0) *new_rank = m.at;
  if (!t->link) return hand_round(t, rank, &m, colour >= 0, out);
  for (int32_t r = 0; r < tsr_team_size(t); r++)
    if (told[r * WORDS + 2] > number) number = told[r * WORDS + 2];
  if (colour < 0) return NULL;
  coll_link *link;
  TSR_TRY(t->link->ops->split(t->link, m.ranks, m.n, number, t->deadline_ms, &link));
  return team_make(&t->al, t->transport, link, m.n, t->deadline_ms, out);
}
