/* core/runtime/areas.c - see areas.h. Since times only go on, areas that live now never share bytes: what is free are
 * the gaps between them. A treap by offset that knows the widest gap below each node finds the lowest that is wide
 * enough. */
#include "core/runtime/areas.h"

#include "core/base/hash.h"

/* ---- the tree --------------------------------------------------------------------------------------------------- */

static void pull(rt_areas *a, int t) {
  rt_area *x = &a->v[t];
  x->most = x->gap;
  if (x->left >= 0 && a->v[x->left].most > x->most) x->most = a->v[x->left].most;
  if (x->right >= 0 && a->v[x->right].most > x->most) x->most = a->v[x->right].most;
}

/* Depths of all these are logarithms. */
static int join(rt_areas *a, int l, int r) {
  if (l < 0 || r < 0) return l < 0 ? r : l;
  const int top = a->v[l].priority > a->v[r].priority ? l : r;
  if (top == l) a->v[l].right = join(a, a->v[l].right, r);
  else a->v[r].left = join(a, l, a->v[r].left);
  pull(a, top);
  return top;
}

/* Those before `offset`, and the others. */
static void split(rt_areas *a, int t, int64_t offset, int *l, int *r) {
  if (t < 0) {
    *l = *r = -1;
    return;
  }
  rt_area *x = &a->v[t];
  if (x->offset < offset) {
    split(a, x->right, offset, &x->right, r);
    *l = t;
  } else {
    split(a, x->left, offset, l, &x->left);
    *r = t;
  }
  pull(a, t);
}

/* The gap before the node at that offset has changed. */
static void refresh(rt_areas *a, int t, int64_t offset) {
  const rt_area *x = &a->v[t];
  if (offset != x->offset) refresh(a, offset < x->offset ? x->left : x->right, offset);
  pull(a, t);
}

/* The first node with a gap that is wide enough, -1 without one. */
static int fitting(const rt_areas *a, int64_t bytes) {
  int t = a->root - 1;
  if (t < 0 || a->v[t].most < bytes) return -1;
  for (;;) {
    const rt_area *x = &a->v[t];
    if (x->left >= 0 && a->v[x->left].most >= bytes) t = x->left;
    else if (x->gap >= bytes) return t;
    else t = x->right;
  }
}

/* ---- ends ------------------------------------------------------------------------------------------------------- */

static bool sooner(const rt_areas *a, size_t i, size_t k) { return a->v[a->ends[i]].end < a->v[a->ends[k]].end; }

static void swap(rt_areas *a, size_t i, size_t k) {
  int x = a->ends[i];
  a->ends[i] = a->ends[k];
  a->ends[k] = x;
}

static void push_end(rt_areas *a, int node) {
  size_t at = a->n++;
  a->ends[at] = node;
  for (; at && sooner(a, at, (at - 1) / 2); at = (at - 1) / 2) swap(a, at, (at - 1) / 2);
}

static int pop_end(rt_areas *a) {
  int top = a->ends[0];
  a->ends[0] = a->ends[--a->n];
  for (size_t at = 0;;) {
    size_t first = at;
    for (size_t k = 2 * at + 1; k < 2 * at + 3 && k < a->n; k++)
      if (sooner(a, k, first)) first = k;
    if (first == at) return top;
    swap(a, at, first);
    at = first;
  }
}

static void drop(rt_areas *a, int node) {
  rt_area *x = &a->v[node];
  int l, mid, r;
  split(a, a->root - 1, x->offset, &l, &r);
  split(a, r, x->offset + 1, &mid, &r);
  a->root = join(a, l, r) + 1;
  if (x->prev >= 0) a->v[x->prev].next = x->next;
  if (x->next >= 0) {
    rt_area *next = &a->v[x->next];
    next->prev = x->prev;
    next->gap += x->gap + x->bytes;
    refresh(a, a->root - 1, next->offset);
  } else {
    a->last = x->prev + 1;
  }
  x->next = a->free - 1;
  a->free = node + 1;
}

/* ---- taking ----------------------------------------------------------------------------------------------------- */

static int new_node(rt_areas *a) {
  if (!al_grow(a->al, &a->ends, &a->cap_ends, a->n + 1, sizeof *a->ends)) return -1;
  if (a->free) {
    int node = a->free - 1;
    a->free = a->v[node].next + 1;
    return node;
  }
  return al_grow(a->al, &a->v, &a->cap, a->used + 1, sizeof *a->v) ? (int)a->used++ : -1;
}

int64_t rt_areas_take(rt_areas *a, int64_t start, int64_t end, int64_t bytes) {
  int l, r;
  while (a->n && a->v[a->ends[0]].end < start) drop(a, pop_end(a));
  if (!bytes) return 0; /* lies anywhere */
  const int node = new_node(a);
  if (node < 0) return -1;
  const int next = fitting(a, bytes), prev = next < 0 ? a->last - 1 : a->v[next].prev;
  rt_area *x = &a->v[node];
  *x = (rt_area){.end = end,
                 .offset = prev < 0 ? 0 : a->v[prev].offset + a->v[prev].bytes,
                 .bytes = bytes,
                 .left = -1,
                 .right = -1,
                 .prev = prev,
                 .next = next,
                 .priority = (uint32_t)hash_mix(++a->taken)};
  if (prev >= 0) a->v[prev].next = node;
  if (next >= 0) {
    a->v[next].prev = node;
    a->v[next].gap -= bytes;
    refresh(a, a->root - 1, a->v[next].offset);
  } else {
    a->last = node + 1;
  }
  split(a, a->root - 1, x->offset, &l, &r);
  a->root = join(a, join(a, l, node), r) + 1;
  push_end(a, node);
  if (x->offset + bytes > a->total) a->total = x->offset + bytes;
  return x->offset;
}

void rt_areas_clear(rt_areas *a) {
  al_free_array(a->al, a->v, a->cap);
  al_free_array(a->al, a->ends, a->cap_ends);
}
