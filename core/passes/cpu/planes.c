/* core/passes/cpu/planes.c - see planes.h. A depthwise convolution of small planes, or a pool, has a block for each,
 * which is a `convolve` and a map, or a map alone, on some hundred elements: what a map costs before its first element
 * is then most of it. Blocks that differ in nothing but the index along z are joined: the convolutions one after the
 * other, then each map once, of one dimension more, along which its windows lie side by side. The same sums and
 * functions for each element, so the same bits. */
#include "core/passes/cpu/planes.h"

#include <string.h>

#include "core/ir/target/target.h"

/* A block's results stay in L1 until the maps read them; blocks enough for all threads are left. */
enum { MOST_ELEMENTS = 4096, MOST_PLANES = 16, LEAST_BLOCKS = 16, BLOCKS_A_CORE = 2 };

typedef struct planes {
  ir_op *kernel, *convolve, *map; /* the first map; convolve may be NULL */
  ir_value *z;     /* the index along the grid's third dimension */
  int64_t n, each; /* blocks before, and how many of them become one */
  ir_value *base, *at; /* the first plane of a block, and the one at hand */
} planes;

static bool is_code(const ir_op *o, target_code code) {
  return o->def->level == IR_TARGET && o->def->code == (int)code;
}

static bool reads(const ir_op *o, const ir_value *v) {
  for (int i = 0; i < o->n_operands; i++)
    if (o->operands[i] == v) return true;
  return false;
}

/* A window that takes one index of its view's first dimension, z, and no other that depends on the block. */
static bool is_plane(const planes *p, const ir_value *v) {
  int64_t sizes[TSR_MAX_RANK];
  const ir_op *w = v->def;
  if (!w || !is_code(w, TG_WINDOW) || w->operands[1] != p->z || v->type->rank == TSR_MAX_RANK) return false;
  if (ir_get_ints(w, "sizes", sizes, TSR_MAX_RANK) < 1 || sizes[0] != 0) return false;
  for (int i = 2; i < w->n_operands; i++)
    if (w->operands[i] == p->z) return false;
  return w->operands[0]->type->dims[0] == p->n;
}

static bool takes_map(const planes *p, const ir_op *map) {
  for (int i = 0; i < map->n_operands; i++)
    if (!is_plane(p, map->operands[i])) return false;
  for (const ir_op *o = map->regions[0]->first; o; o = o->next)
    if (is_code(o, TG_ELEMENT_INDEX) || is_code(o, TG_FETCH)) return false;
  return true;
}

static bool takes(planes *p, ir_op *o) {
  if (is_code(o, TG_BLOCK_ID)) {
    if (p->z || ir_get_int(o, "axis", 0) != 2) return false;
    return p->z = o->results[0], true;
  }
  if (is_code(o, TG_CONST) || is_code(o, TG_RETURN)) return true;
  if (is_code(o, TG_VIEW)) return o->operands[0]->owner != NULL; /* of the kernel's argument */
  if (is_code(o, TG_WINDOW)) return !reads(o, p->z) || is_plane(p, o->results[0]);
  if (is_code(o, TG_MAP)) {
    if (!p->map) p->map = o;
    return takes_map(p, o);
  }
  if (!is_code(o, TG_CALL) || p->convolve || p->map || strcmp(ir_get_str(o, "fn", ""), "convolve")) return false;
  p->convolve = o;
  return is_plane(p, o->operands[0]);
}

static int64_t planes_a_block(const planes *p, const tsr_caps *caps) {
  const int64_t elements = ir_type_count(p->map->operands[0]->type);
  const int64_t cores = caps->n_cores * (int64_t)BLOCKS_A_CORE, blocks = cores > LEAST_BLOCKS ? cores : LEAST_BLOCKS;
  int64_t each = MOST_PLANES;
  if (each > p->n / blocks) each = p->n / blocks;
  if (elements > 0 && each > MOST_ELEMENTS / elements) each = MOST_ELEMENTS / elements;
  while (each > 1 && p->n % each) each--;
  return each;
}

static ir_value *one_plane(void *user, ir_value *v) {
  const planes *p = user;
  return v == p->z ? p->at : v->data;
}

static ir_value *constant(ir_builder *b, int64_t value) {
  ir_value *v = ir_build1(b, "tessera.target.const", ir_type_index(b->m), 0, NULL);
  return v && ir_set_attr(v->def, "value", ir_attr_int(b->m, value)) ? v : NULL;
}

/* for each plane: the convolution. */
static bool build_loop(planes *p, ir_builder *b, ir_value *each) {
  ir_value *bounds[3] = {constant(b, 0), each, constant(b, 1)};
  if (!bounds[0] || !bounds[2]) return false;
  ir_op *loop = ir_op_new(b, ir_find_op("tessera.target.for"), 3, bounds, 0, NULL, 1);
  ir_value *i = loop ? ir_block_arg(b->m, loop->regions[0], ir_type_index(b->m), NULL) : NULL;
  if (!i) return false;
  ir_builder in = ir_at_end(b->m, loop->regions[0]);
  if (!(p->at = ir_build1(&in, "tessera.target.add", NULL, 2, (ir_value *[]){p->base, i}))) return false;
  for (int k = 0; k < p->convolve->n_operands; k++) {
    ir_value *v = p->convolve->operands[k];
    if (!is_plane(p, v) || v->data) continue;
    ir_op *w = ir_op_copy(&in, v->def, one_plane, p);
    if (!w) return false;
    v->data = w->results[0];
  }
  return ir_op_copy(&in, p->convolve, one_plane, p) && ir_build0(&in, "tessera.target.yield", 0, NULL);
}

/* The window that has all planes of the block; of its first dimension, which the other one lost. */
static tsr_status joined(const planes *p, ir_builder *b, ir_value *v) {
  int64_t sizes[TSR_MAX_RANK];
  ir_value *operands[1 + TSR_MAX_RANK];
  const ir_op *w = v->def;
  const int n = ir_get_ints(w, "sizes", sizes, TSR_MAX_RANK);
  for (int i = 0; i < w->n_operands; i++) operands[i] = i == 1 ? p->base : w->operands[i];
  sizes[0] = p->each;
  ir_op *o = ir_op_new(b, w->def, w->n_operands, operands, 1, NULL, 0);
  if (!o || !ir_set_attr(o, "sizes", ir_attr_ints(b->m, sizes, n))) return st_oom();
  TSR_TRY(o->def->infer(o, &o->results[0]->type));
  v->data = o->results[0];
  return NULL;
}

static tsr_status join_map(planes *p, ir_op *map, ir_op *before) {
  ir_op_move(map, before->parent, before);
  ir_builder b = ir_before(map);
  for (int i = 0; i < map->n_operands; i++) {
    ir_value *v = map->operands[i];
    if (!v->data) TSR_TRY(joined(p, &b, v));
    ir_set_operand(map, i, v->data);
  }
  return NULL;
}

static tsr_status rewrite(planes *p) {
  ir_block *block = p->kernel->regions[0];
  ir_op *last = block->last, *next;
  ir_builder b = ir_before(last);
  ir_clear_data(p->kernel);
  ir_value *each = constant(&b, p->each);
  p->base = each ? ir_build1(&b, "tessera.target.mul", NULL, 2, (ir_value *[]){p->z, each}) : NULL;
  if (!p->base || (p->convolve && !build_loop(p, &b, each))) return st_oom();
  ir_clear_data(p->kernel);
  ir_op *first = p->base->def;
  for (ir_op *o = block->first; o != first; o = next) {
    next = o->next;
    if (is_code(o, TG_MAP)) TSR_TRY(join_map(p, o, last));
  }
  if (p->convolve) ir_op_remove(p->convolve);
  ir_clear_data(p->kernel);
  ir_dce(p->kernel);
  return ir_set_attr(p->kernel, "grid", ir_attr_ints(b.m, (int64_t[]){1, 1, p->n / p->each}, 3)) ? NULL : st_oom();
}

tsr_status cpu_join_planes(ir_op *kernel, const tsr_caps *caps) {
  int64_t grid[3];
  planes p = {.kernel = kernel};
  if (ir_get_ints(kernel, "grid", grid, 3) != 3 || grid[0] != 1 || grid[1] != 1 ||
      ir_get_int(kernel, "scratch_bytes", 0) != 0)
    return NULL;
  p.n = grid[2];
  for (ir_op *o = kernel->regions[0]->first; o; o = o->next)
    if (!takes(&p, o)) return NULL;
  if (!p.map) return NULL;
  p.each = planes_a_block(&p, caps);
  return p.each > 1 ? rewrite(&p) : NULL;
}
