/* backends/cpu/winograd.c - the convolve instruction by Winograd's transforms (kernels/winograd.h): whole lines of
 * tiles of an image, in pieces whose transformed tiles and sums stay in L2. Weights are transformed once, for all
 * launches if they are constant. The bits depend on the convolution and m alone: tiles lie on one grid over the
 * image, and each sum over the channels is one chain, wherever blocks and pieces are cut. */
#include "backends/cpu/kernels/winograd.h"

#include <string.h>

#include "backends/cpu/panel_cache.h"
#include "core/base/int_math.h"
#include "core/ir/tile/unfold.h"

/* What an instruction's blocks are cut into. */
typedef struct cut {
  const cpuk_winograd *k;
  const cpuk_gemm *g;
  tile_winograd w;
  int m, points;
  int64_t across;     /* tiles of a line */
  int64_t tiles;      /* of a piece, at most */
  int64_t rows;       /* of weights whose sums are transformed together */
  int64_t pitch;      /* of the copy of an image's lines */
  size_t apart;       /* bytes from a point of the piece's tiles to the next */
  size_t image_bytes, sums_bytes, copy_bytes, at_bytes, place_bytes;
} cut;

static size_t whole_lines(int64_t n, size_t size) { return (size_t)round_up(n * (int64_t)size, 64); }

static cut cut_of(const vm_module *m, const cpu_instr *i) {
  enum { MOST_PANELS = 4 };
  const cpu_desc *d = cpu_descs(m->image), *out = d + i->a[0], *image = d + i->a[2];
  const int64_t l2 = (int64_t)cpuk_cache_sizes().l2, bytes = (int64_t)sizeof(float);
  tile_unfold u;
  cut c = {.k = m->k->winograd, .g = m->k->gemm[CPUK_GEMM_F32], .m = i->a[5]};
  vm_unfold_map(cpu_extra(m->image) + i->extra, image->rank, &u);
  tile_winograd_of(&u, &c.w);
  c.points = (int)winograd_points((size_t)c.m);
  c.across = ceil_div(c.w.out[1], c.m);
  const int64_t lanes = (int64_t)c.k->lanes, panel = c.g->nr, channels = max64(1, c.w.channels),
                block = ceil_div(min64(ceil_div(out->dims[1], c.w.out[1]), c.w.out[0]), c.m) * c.across;
  c.tiles = clamp64(l2 / 2 / (c.points * channels * bytes), 1, MOST_PANELS * panel);
  c.tiles = c.tiles > panel ? c.tiles / panel * panel : min64(panel, round_up(max64(c.tiles, 16), lanes));
  c.tiles = min64(c.tiles, round_up(block, lanes));
  c.rows = max64(1, l2 / 4 / (c.points * c.tiles * bytes) / c.g->mr) * c.g->mr;
  c.rows = clamp64(c.rows, 8 * c.g->mr, max64(8 * c.g->mr, ceil_div(out->dims[0], PANEL_CACHE_MAX_PARTS)));
  c.pitch = c.across * c.m + WINOGRAD_WINDOW + 1;
  const int64_t lines = min64((c.tiles - 1) / c.across + 2, ceil_div(c.w.out[0], c.m)) * c.m + WINOGRAD_WINDOW;
  /* One line more: points of a channel would fall on the same cache sets. */
  c.apart = (size_t)ceil_div(c.tiles, panel) * c.g->b_panel_bytes((size_t)c.w.channels) + 64;
  c.image_bytes = (size_t)c.points * c.apart;
  c.sums_bytes = whole_lines(c.points * c.rows * c.tiles, sizeof(float));
  c.copy_bytes = whole_lines(lines * c.pitch, sizeof(float));
  c.at_bytes = whole_lines(c.tiles, sizeof(int32_t));
  c.place_bytes = whole_lines(c.tiles, sizeof(cpuk_winograd_place));
  return c;
}

size_t winograd_bytes(const vm_module *m, const cpu_instr *i) {
  if (!i->a[5]) return 0;
  const cut c = cut_of(m, i);
  return c.image_bytes + c.sums_bytes + c.copy_bytes + c.at_bytes + c.place_bytes;
}

size_t winograd_weights_bytes(const vm_module *m, const cpu_instr *i) {
  const cpu_desc *a = cpu_descs(m->image) + i->a[1];
  return whole_lines(a->dims[0] * (a->dims[1] / 9) * (int64_t)winograd_points((size_t)i->a[5]), sizeof(float));
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Those of a block, in strips of cut.rows rows: [point][row][channel] each. */
typedef struct weights {
  panel_cache *from;
  panel_entry *e;
  const float *w;
  ptrdiff_t ldw;
  int64_t m;
  int parts;
} weights;

static bool begin_weights(const vm *v, const cpu_instr *i, const cut *c, int64_t m, weights *out) {
  const cpu_desc *a = vm_desc(v, i->a[1]);
  const int arg = v->m->matmul_arg[i - cpu_instrs(v->m->image)][0];
  const bool constant = arg >= 0 && v->l->constant_args && v->l->constant_args[arg] && v->l->const_panels;
  *out = (weights){.from = constant ? v->l->const_panels : v->l->panels, .ldw = a->strides[0], .m = m,
                   .w = (const float *)(const void *)vm_base(v, a), .parts = (int)ceil_div(m, c->rows)};
  out->e = panel_cache_acquire(out->from, &(panel_key){i, out->w, 0, c->w.channels * 9, m}, out->parts);
  return out->e != NULL;
}

static float *strip_of(const weights *w, const cut *c, int part) {
  return (float *)(void *)panel_cache_data(w->e) + part * c->rows * c->points * c->w.channels;
}

static int64_t strip_rows(const weights *w, const cut *c, int part) { return min64(c->rows, w->m - part * c->rows); }

static const float *strip(const weights *w, const cut *c, int part) {
  int claimed;
  while (panel_cache_claim(w->e, part, w->parts, &claimed)) {
    const int64_t n = strip_rows(w, c, claimed), k = c->w.channels;
    for (int64_t r = 0; r < n; r++)
      c->k->weights[c->m / 2 - 1](&(cpuk_winograd_weights){.w = w->w + (claimed * c->rows + r) * w->ldw,
                                                           .k = (size_t)k,
                                                           .u = strip_of(w, c, claimed) + r * k,
                                                           .apart = n * k});
    panel_cache_done(w->e, claimed);
  }
  return strip_of(w, c, part);
}

/* ---- a piece ----------------------------------------------------------------------------------------------------- */

/* Tiles [first, first + n) of those of a block, whose first line of results is `y` of the image's. */
typedef struct piece {
  int64_t first, n, y, lines; /* lines: of results in the block */
  int64_t above, below;       /* its lines of tiles */
  int64_t left, columns;      /* of the image that it needs, from the first window's */
  char *image;
  float *sums, *copy;
  int32_t *at;
  cpuk_winograd_place *place;
} piece;

static void locate(const cut *c, piece *p) {
  const int64_t last = p->first + p->n - 1;
  p->above = p->first / c->across, p->below = last / c->across;
  p->left = p->above == p->below ? p->first % c->across * c->m : 0;
  p->columns = (p->above == p->below ? p->n : c->across) * c->m + WINOGRAD_WINDOW - 1;
  for (int64_t t = 0; t < p->n; t++) {
    const int64_t y = (p->first + t) / c->across, x = (p->first + t) % c->across * c->m;
    p->at[t] = (int32_t)((y - p->above) * c->m * c->pitch + x - p->left);
    p->place[t] = (cpuk_winograd_place){.to = (int32_t)(y * c->m * c->w.out[1] + x),
                                        .rows = (int16_t)min64(c->m, p->lines - y * c->m),
                                        .columns = (int16_t)min64(c->m, c->w.out[1] - x)};
  }
  for (int64_t t = p->n; t < round_up(p->n, (int64_t)c->k->lanes); t++) p->at[t] = p->at[p->n - 1];
}

/* Every channel's lines, zeros around them, and its tiles transformed. */
static void transform_image(const vm *v, const cut *c, const piece *p, const cpu_desc *image, int64_t batch) {
  const int64_t y = p->y + p->above * c->m - c->w.low[0], x = p->left - c->w.low[1],
                lines = (p->below - p->above + 1) * c->m + WINOGRAD_WINDOW - 1, from_y = clamp64(-y, 0, lines),
                end_y = clamp64(image->dims[2] - y, from_y, lines), from_x = clamp64(-x, 0, p->columns),
                end_x = clamp64(image->dims[3] - x, from_x, p->columns);
  const float *memory = (const float *)(const void *)vm_base(v, image) + batch * image->strides[0] +
                        (y + from_y) * image->strides[2] + x + from_x;
  memset(p->copy, 0, sizeof *p->copy * (size_t)((lines + 1) * c->pitch));
  for (int64_t k = 0; k < c->w.channels; k++) {
    if (end_y > from_y && end_x > from_x)
      v->k->lanes->copy2d(&(cpuk_copy_args){p->copy + from_y * c->pitch + from_x, memory + k * image->strides[1],
                                            c->pitch, 1, image->strides[2], 1, (size_t)(end_y - from_y),
                                            (size_t)(end_x - from_x), sizeof *memory});
    c->k->image[c->m / 2 - 1](&(cpuk_winograd_image){
        .image = p->copy, .pitch = c->pitch, .at = p->at, .n = (size_t)p->n, .panel = c->g->nr,
        .to = (float *)(void *)p->image + k * c->g->nr, .apart = (ptrdiff_t)(c->apart / sizeof(float)),
        .panel_apart = (ptrdiff_t)(c->g->b_panel_bytes((size_t)c->w.channels) / sizeof(float))});
  }
}

static void multiply(const cut *c, const piece *p, const float *u, int64_t rows) {
  const int64_t k = c->w.channels;
  for (int i = 0; i < c->points; i++)
    c->g->block(&(cpuk_block_args){.c = p->sums + i * rows * c->tiles, .ldc = c->tiles, .a = u + i * rows * k,
                                   .lda = k, .b = p->image + (size_t)i * c->apart, .m = (size_t)rows,
                                   .n = (size_t)p->n, .k = (size_t)k});
}

/* Rows [first, first + rows) of the block's results. */
static void store_rows(const cut *c, const piece *p, int64_t rows, float *to, int64_t ldc) {
  for (int64_t r = 0; r < rows; r++)
    c->k->result[c->m / 2 - 1](&(cpuk_winograd_result){.w = p->sums + r * c->tiles, .apart = rows * c->tiles,
                                                       .to = to + r * ldc, .pitch = c->w.out[1], .place = p->place,
                                                       .n = (size_t)p->n});
}

/* ---- the instruction --------------------------------------------------------------------------------------------- */

/* All of it is there, and whole lines of tiles. */
static bool is_whole(const vm *v, const cpu_instr *i, const cut *c, int64_t batch, int64_t row, int64_t n) {
  const cpu_desc *a = vm_desc(v, i->a[1]), *image = vm_desc(v, i->a[2]);
  const int64_t line = c->w.out[1], places = line * c->w.out[0];
  return !memcmp(vm_ext(v, image), image->dims, sizeof *image->dims * (size_t)image->rank) &&
         vm_ext(v, a)[1] == c->w.channels * 9 && batch >= 0 && batch < image->dims[0] && row >= 0 &&
         row % (line * c->m) == 0 && (n % (line * c->m) == 0 || row + n == places);
}

bool vm_winograd(const vm *v, const cpu_instr *i, int64_t rows, int64_t places) {
  const cpu_desc *out = vm_desc(v, i->a[0]), *image = vm_desc(v, i->a[2]);
  const int64_t batch = v->t->regs[i->a[3]].i, row = v->t->regs[i->a[4]].i;
  const cut c = cut_of(v->m, i);
  weights w;
  if (!is_whole(v, i, &c, batch, row, places) || !begin_weights(v, i, &c, rows, &w)) return false;
  char *memory = v->t->convolved;
  piece p = {.y = row / c.w.out[1], .lines = places / c.w.out[1], .image = memory};
  p.sums = (float *)(void *)(memory += c.image_bytes);
  p.copy = (float *)(void *)(memory += c.sums_bytes);
  p.at = (int32_t *)(void *)(memory += c.copy_bytes);
  p.place = (cpuk_winograd_place *)(void *)(memory + c.at_bytes);
  v->t->tables.instr = NULL; /* they were where this is */
  float *to = (float *)(void *)vm_base(v, out);
  for (const int64_t all = ceil_div(p.lines, c.m) * c.across; p.first < all; p.first += p.n) {
    p.n = min64(c.tiles, all - p.first);
    locate(&c, &p);
    transform_image(v, &c, &p, image, batch);
    for (int part = 0; part < w.parts; part++) {
      const int64_t n = strip_rows(&w, &c, part);
      multiply(&c, &p, strip(&w, &c, part), n);
      store_rows(&c, &p, n, to + part * c.rows * out->strides[0], out->strides[0]);
    }
  }
  panel_cache_release(w.from, w.e);
  return true;
}
