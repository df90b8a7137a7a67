/* core/passes/simt/whole/head.c - see head.h. */
#include "core/passes/simt/whole/head.h"

#include "core/device/dialect.h"

/* Attributes of the Tile IR kernel that its code keeps. */
static const char *const kept[] = {"sym_name", "family", "policy"};

static bool describe(tgb *t, ir_op *k, const tsr_caps *caps, const simt_whole_head *h) {
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
    if (ir_get_attr(h->kernel, kept[i])) tg_text(t, k, kept[i], ir_get_str(h->kernel, kept[i], ""));
  tg_int(t, k, "outputs", ir_get_int(h->kernel, "outputs", 1));
  tg_text(t, k, "dialect", target_dialect_name(caps->dialect));
  tg_text(t, k, "arch", caps->arch);
  tg_text(t, k, "path", h->path);
  tg_int(t, k, "subgroup", h->subgroup);
  tg_int(t, k, "shared_bytes", h->shared_bytes);
  return ir_set_attr(k, "grid", ir_attr_ints(t->m, h->grid, 3)) &&
         ir_set_attr(k, "block", ir_attr_ints(t->m, (int64_t[]){h->threads, 1, 1}, 3)) && !t->b.failed;
}

ir_op *simt_whole_begin(tgb *t, const tsr_caps *caps, const simt_whole_head *h, ir_value **args) {
  const ir_block *from = h->kernel->regions[0];
  t->b = ir_at_end(t->m, t->m->root->regions[0]);
  t->b.loc = h->kernel->loc;
  ir_op *k = ir_op_new(&t->b, ir_find_op("tessera.target.kernel"), 0, NULL, 0, NULL, 1);
  if (!k) return NULL;
  for (int i = 0; i < from->n_args; i++) {
    const ir_value *a = from->args[i];
    args[i] = ir_block_arg(t->m, k->regions[0], tg_pointer_type(t, a->type->dtype, "global"),
                           a->name ? arena_str(&t->m->arena, a->name) : NULL);
  }
  if (!describe(t, k, caps, h)) return NULL;
  t->b = ir_at_end(t->m, k->regions[0]);
  return k;
}

tsr_status simt_whole_end(tgb *t, ir_op *k, bool *done) {
  tg_op(t, "tessera.target.return", NULL, 0, NULL);
  if (t->b.failed) return st_oom();
  ir_dce(k);
  *done = true;
  return NULL;
}

int simt_role_registers(int consumers, bool is_consumer) {
  static const int of[4][2] = {{0, 0}, {0, 0}, {40, 232}, {32, 160}};
  return of[consumers][is_consumer];
}
