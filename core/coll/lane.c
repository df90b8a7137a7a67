/* core/coll/lane.c - see lane.h. */
#include "core/coll/lane.h"

bool coll_lane_put(const tsr_allocator *al, coll_lane *l, coll_piece p) {
  if (l->first == l->n) l->first = l->n = 0;
  if (!al_grow(al, &l->v, &l->cap, l->n + 1, sizeof *l->v)) return false;
  l->v[l->n++] = p;
  return true;
}

void coll_lane_clear(coll_lane *l, const coll_math *m) {
  for (size_t i = l->first; i < l->n; i++) coll_value_release(m, l->v[i].keeps);
  l->first = l->n = 0;
}

void coll_lane_free(coll_lane *l, const coll_math *m, const tsr_allocator *al) {
  coll_lane_clear(l, m);
  if (l->v) al_free_array(al, l->v, l->cap);
}

bool coll_lane_write(coll_lane *l, const coll_math *m, coll_link *link, int32_t peer) {
  bool moved = false;
  while (l->first < l->n) {
    coll_piece *p = &l->v[l->first];
    const char *from = p->framed ? (const char *)&p->head : p->data;
    size_t n = p->at < p->bytes ? link->ops->write(link, peer, from + p->at, p->bytes - p->at) : 0;
    p->at += n;
    moved |= n > 0;
    if (p->at < p->bytes) break;
    coll_value_release(m, p->keeps);
    l->first++, moved = true;
  }
  return moved;
}

bool coll_lane_read(coll_lane *l, coll_link *link, int32_t peer,
                    bool (*done)(void *user, int32_t peer, const coll_piece *p), void *user) {
  bool moved = false;
  while (l->first < l->n) {
    coll_piece *p = &l->v[l->first];
    char *to = p->framed ? (char *)&p->head : p->data;
    size_t n = p->at < p->bytes ? link->ops->read(link, peer, to + p->at, p->bytes - p->at) : 0;
    p->at += n;
    moved |= n > 0;
    if (p->at < p->bytes) break;
    l->first++, moved = true;
    if (!done(user, peer, p)) break;
  }
  return moved;
}
