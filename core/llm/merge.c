/* core/llm/merge.c - see merge.h. A heap of the pairs that may merge; a pair one of whose sides has changed since is
 * told by its number of bytes. */
#include "core/llm/merge.h"

bool merge_add(merger *m, const char *p, size_t n, int32_t id) {
  if (m->n >= INT32_MAX || n > UINT32_MAX / 2 || !al_grow(m->al, &m->s, &m->cap, m->n + 1, sizeof *m->s)) return false;
  m->s[m->n] = (merge_symbol){p, (uint32_t)n, id, (int32_t)m->n - 1, -1};
  if (m->n) m->s[m->n - 1].after = (int32_t)m->n;
  m->n++;
  return true;
}

static bool is_before(const merge_pair *a, const merge_pair *b) {
  return a->cost < b->cost || (a->cost == b->cost && a->left < b->left);
}

static bool push(merger *m, int32_t left, int32_t right) {
  merge_pair p = {.left = left, .right = right};
  int32_t id;
  if (left < 0 || right < 0 || !m->join(m->user, &m->s[left], &m->s[right], &p.cost, &id)) return true;
  p.n = m->s[left].n + m->s[right].n;
  if (!al_grow(m->al, &m->heap, &m->cap_heap, m->n_heap + 1, sizeof *m->heap)) return false;
  size_t i = m->n_heap++;
  for (; i && is_before(&p, &m->heap[(i - 1) / 2]); i = (i - 1) / 2) m->heap[i] = m->heap[(i - 1) / 2];
  m->heap[i] = p;
  return true;
}

static merge_pair pop(merger *m) {
  const merge_pair top = m->heap[0], last = m->heap[--m->n_heap];
  size_t i = 0;
  for (size_t child; (child = 2 * i + 1) < m->n_heap; i = child) {
    if (child + 1 < m->n_heap && is_before(&m->heap[child + 1], &m->heap[child])) child++;
    if (!is_before(&m->heap[child], &last)) break;
    m->heap[i] = m->heap[child];
  }
  m->heap[i] = last;
  return top;
}

tsr_status merge_run(merger *m) {
  for (size_t i = 0; i + 1 < m->n; i++)
    if (!push(m, (int32_t)i, (int32_t)i + 1)) return st_oom();
  while (m->n_heap) {
    const merge_pair p = pop(m);
    merge_symbol *l = &m->s[p.left], *r = &m->s[p.right];
    double cost;
    if (!l->n || !r->n || l->after != p.right || l->n + r->n != p.n) continue;
    if (!m->join(m->user, l, r, &cost, &l->id)) continue;
    l->n += r->n;
    r->n = 0;
    l->after = r->after;
    if (r->after >= 0) m->s[r->after].before = p.left;
    if (!push(m, l->before, p.left) || !push(m, p.left, l->after)) return st_oom();
  }
  return NULL;
}

void merge_free(merger *m) {
  al_free_array(m->al, m->s, m->cap);
  al_free_array(m->al, m->heap, m->cap_heap);
  *m = (merger){.al = m->al};
}
