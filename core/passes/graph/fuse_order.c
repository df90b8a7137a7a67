/* core/passes/graph/fuse_order.c - see graph/fuse_order.h. A doubly linked list with labels that leave gaps; a binary
 * heap for the search. */
#include "core/passes/graph/fuse_order.h"

#include <string.h>

enum { GAP_BITS = 32, STEP_BITS = 12 };

bool fuse_order_init(fuse_order *o, const tsr_allocator *al, int n) {
  *o = (fuse_order){.al = al, .n = n, .first = -1, .last = -1};
  o->v = al_zalloc(al, (size_t)n * sizeof *o->v);
  o->heap = al_zalloc(al, (size_t)n * sizeof *o->heap);
  o->path = al_zalloc(al, FUSE_MOST_PATH * sizeof *o->path);
  return o->v && o->heap && o->path;
}

void fuse_order_clear(fuse_order *o) {
  if (!o->al) return;
  al_free_array(o->al, o->v, (size_t)o->n);
  al_free_array(o->al, o->heap, (size_t)o->n);
  al_free_array(o->al, o->path, (size_t)FUSE_MOST_PATH);
  *o = (fuse_order){0};
}

/* ---- the list -------------------------------------------------------------------------------------------------- */

void fuse_order_append(fuse_order *o, int node) {
  int64_t label = o->last < 0 ? 0 : o->v[o->last].label + ((int64_t)1 << GAP_BITS);
  o->v[node] = (fuse_node){.label = label, .prev = o->last, .next = -1};
  *(o->last < 0 ? &o->first : &o->v[o->last].next) = node;
  o->last = node;
}

static void unlink_node(fuse_order *o, int node) {
  fuse_node *x = &o->v[node];
  *(x->prev < 0 ? &o->first : &o->v[x->prev].next) = x->next;
  *(x->next < 0 ? &o->last : &o->v[x->next].prev) = x->prev;
}

static void relabel(fuse_order *o) {
  int64_t label = 0;
  for (int at = o->first; at >= 0; at = o->v[at].next) o->v[at].label = label, label += (int64_t)1 << GAP_BITS;
}

static void insert_before(fuse_order *o, int node, int next) {
  int prev = o->v[next].prev;
  if (prev >= 0 && o->v[next].label - o->v[prev].label < 2) relabel(o);
  /* Close behind the one before it: insertions before the same node come one after the other, and halving would use the
   * gap up. */
  int64_t gap = prev < 0 ? (int64_t)1 << GAP_BITS : o->v[next].label - o->v[prev].label, step = (int64_t)1 << STEP_BITS;
  if (step > gap / 2) step = gap / 2;
  fuse_node *x = &o->v[node];
  x->label = prev < 0 ? o->v[next].label - gap : o->v[prev].label + step;
  x->prev = prev;
  x->next = next;
  *(prev < 0 ? &o->first : &o->v[prev].next) = node;
  o->v[next].prev = node;
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

static bool later(const fuse_order *o, int a, int b) { return o->v[a].label > o->v[b].label; }

static void swap(int *a, int *b) {
  int x = *a;
  *a = *b;
  *b = x;
}

static void heap_push(fuse_order *o, int node) {
  int at = o->n_heap++;
  o->heap[at] = node;
  for (; at && later(o, o->heap[at], o->heap[(at - 1) / 2]); at = (at - 1) / 2)
    swap(&o->heap[at], &o->heap[(at - 1) / 2]);
}

static int heap_pop(fuse_order *o) {
  int top = o->heap[0], n = --o->n_heap;
  o->heap[0] = o->heap[n];
  for (int at = 0;;) {
    int most = at, l = 2 * at + 1;
    for (int k = l; k < l + 2 && k < n; k++)
      if (later(o, o->heap[k], o->heap[most])) most = k;
    if (most == at) return top;
    swap(&o->heap[at], &o->heap[most]);
    at = most;
  }
}

void fuse_search_begin(fuse_order *o, int to) {
  o->n_heap = o->n_path = 0;
  o->v[to].mark = ++o->epoch;
}

bool fuse_search_offer(fuse_order *o, int from, int node) {
  if (node == from) return true;
  if (o->v[node].mark == o->epoch || !later(o, node, from)) return false;
  o->v[node].mark = o->epoch;
  heap_push(o, node);
  return false;
}

int fuse_search_next(fuse_order *o, bool *gave_up) {
  *gave_up = o->n_heap && o->n_path == FUSE_MOST_PATH;
  if (!o->n_heap || *gave_up) return -1;
  o->looked_at++;
  return o->path[o->n_path++] = heap_pop(o);
}

void fuse_order_merge(fuse_order *o, int from, int to) {
  for (int i = o->n_path; i-- > 0;) {
    unlink_node(o, o->path[i]);
    insert_before(o, o->path[i], from);
  }
  unlink_node(o, to);
  fuse_node *x = &o->v[to], *at = &o->v[from];
  x->label = at->label;
  x->prev = at->prev;
  x->next = at->next;
  *(x->prev < 0 ? &o->first : &o->v[x->prev].next) = to;
  *(x->next < 0 ? &o->last : &o->v[x->next].prev) = to;
}
