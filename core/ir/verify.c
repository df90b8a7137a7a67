/* core/ir/verify.c - the verifier that runs between passes: counts, attributes, dominance, inferred types, own rules.
 * Result types that are still NULL are filled in by inference. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/policy.h"
#include "core/base/utf8.h"
#include "core/ir/symbols.h"
#include "core/ir/tables.h"

static tsr_status error(const ir_op *op, ir_loc at, tsr_code code, const char *hint, const char *fmt, va_list ap) {
  char cause[512], where[256] = "";
  vsnprintf(cause, sizeof cause, fmt, ap);
  if (at.line)
    snprintf(where, sizeof where, "%s:%d:%d: ", op->module->file ? op->module->file : "<text>", at.line, at.col);
  return st_make(&op->module->arena.al, code, ST_WHERE(ir_level_name(op->def->level), op->def->name, hint), "%s%s",
                 where, cause);
}

tsr_status ir_error(const ir_op *op, const char *hint, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  tsr_status st = error(op, op->loc, TSR_VERIFY_ERROR, hint, fmt, ap);
  va_end(ap);
  return st;
}

tsr_status ir_error_at(const ir_op *op, ir_loc at, tsr_code code, const char *hint, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  tsr_status st = error(op, at, code, hint, fmt, ap);
  va_end(ap);
  return st;
}

tsr_status ir_check_policy(const ir_op *op) {
  const char *policy = ir_get_str(op, "policy", policy_name(TSR_POLICY_FAST));
  return policy_named(policy) ? NULL : ir_error(op, POLICY_WORDS, "unknown policy \"%s\"", policy);
}

static const char *const kind_names[] = {"a unit",   "a bool", "an integer", "a float",
                                         "a string", "a type", "a list",     "dense data"};

static bool kind_fits(ir_attr_kind want, ir_attr_kind have) {
  if (want == have) return true;
  if (want == IR_A_FLOAT) return have == IR_A_INT;
  if (want == IR_A_BOOL) return have == IR_A_UNIT;
  return false;
}

static tsr_status check_attrs(ir_op *op) {
  for (int i = 0; i < op->n_attrs; i++) {
    const ir_attr_def *d = op->def->attrs;
    while (d && d->name && !ir_same_name(d->name, op->attrs[i].name)) d++;
    if (d && d->name) {
      if (!kind_fits(d->kind, op->attrs[i].attr->kind))
        return ir_error(op, d->help, "attribute '%s' must be %s, not %s", d->name, kind_names[d->kind],
                        kind_names[op->attrs[i].attr->kind]);
      /* Printed into messages and into sources. */
      if (d->kind == IR_A_STR && !utf8_is_text(op->attrs[i].attr->u.s, false))
        return ir_error(op, d->help, "attribute '%s' holds characters that are no text", d->name);
    } else if (!(op->def->flags & IR_ANY_ATTRS)) {
      return ir_error(op, "`tessera ops` lists the attributes", "unknown attribute '%s'", op->attrs[i].name);
    }
  }
  for (const ir_attr_def *d = op->def->attrs; d && d->name; d++)
    if (d->required && !ir_get_attr(op, d->name)) return ir_error(op, d->help, "attribute '%s' is missing", d->name);
  return NULL;
}

static tsr_status check_types(ir_op *op) {
  const ir_type *few[64], **types = few;
  if (!op->def->infer) {
    for (int i = 0; i < op->n_results; i++)
      if (!op->results[i]->type)
        return ir_error(op, "write the types out", "the type of result %d can't be inferred", i);
    return NULL;
  }
  /* Unrolled loops of Target IR carry one value per register. */
  if (op->n_results > 64 && !(types = arena_array(&op->module->arena, const ir_type *, op->n_results))) return st_oom();
  types[0] = NULL;
  for (int i = 1; i < op->n_results; i++) types[i] = NULL;
  TSR_TRY(op->def->infer(op, types));
  for (int i = 0; i < op->n_results; i++) {
    ir_value *v = op->results[i];
    if (!types[i]) {
      if (!v->type) return ir_error(op, "write the types out", "the type of result %d can't be inferred", i);
    } else if (!v->type) {
      v->type = types[i];
    } else if (v->type != types[i]) {
      strb have, want;
      strb_init(&have, &op->module->arena.al);
      strb_init(&want, &op->module->arena.al);
      ir_type_print(&have, v->type);
      ir_type_print(&want, types[i]);
      tsr_status st = ir_error(op, NULL, "result %d is declared %s but is %s", i, strb_text(&have), strb_text(&want));
      strb_clear(&have);
      strb_clear(&want);
      return st;
    }
  }
  return NULL;
}

tsr_status ir_verify_op(ir_op *op) {
  const ir_opdef *d = op->def;
  if (op->n_operands < d->min_operands || (d->max_operands != IR_VARIADIC && op->n_operands > d->max_operands))
    return ir_error(op, d->operands_doc, "takes %d%s operands, has %d", d->min_operands,
                    d->max_operands == IR_VARIADIC      ? " or more"
                    : d->max_operands > d->min_operands ? " or some more"
                                                        : "",
                    op->n_operands);
  if (d->n_results != IR_VARIADIC && op->n_results != d->n_results)
    return ir_error(op, NULL, "has %d results, not %d", d->n_results, op->n_results);
  if (d->n_regions != IR_VARIADIC && op->n_regions != d->n_regions)
    return ir_error(op, NULL, "has %d regions, not %d", d->n_regions, op->n_regions);
  TSR_TRY(ir_check_operands(op));
  TSR_TRY(check_attrs(op));
  TSR_TRY(check_types(op));
  TSR_TRY(ir_check_results(op));
  return d->verify ? d->verify(op) : NULL;
}

/* Is v visible at op: defined earlier in the same block or in a block around it, up to the one of an op that is
 * isolated? That one is told. */
static bool visible(const ir_op *op, const ir_value *v, const ir_op **isolated) {
  *isolated = NULL;
  for (const ir_op *at = op; at; at = at->parent ? at->parent->parent : NULL) {
    if (at != op && !*isolated && at->def->flags & IR_ISOLATED) *isolated = at;
    if (v->owner) {
      if (v->owner == at->parent) return !*isolated;
      continue;
    }
    if (v->def->parent == at->parent) return v->def->scratch < at->scratch ? !*isolated : (*isolated = NULL, false);
  }
  *isolated = NULL;
  return false;
}

/* What passes compute with types is safe only while sizes can be counted. */
static tsr_status check_sizes(const ir_op *op) {
  for (int i = 0; i < op->n_results; i++)
    if (op->results[i]->type && op->results[i]->type->rank && !ir_type_fits(op->results[i]->type))
      return ir_error(op, "use smaller tensors", "the size of result %d overflows 64 bits", i);
  for (int r = 0; r < op->n_regions; r++)
    for (int i = 0; i < op->regions[r]->n_args; i++)
      if (!ir_type_fits(op->regions[r]->args[i]->type))
        return ir_error(op, "use smaller tensors", "the size of argument %d overflows 64 bits", i);
  return NULL;
}

/* Kernels are of one level: what reads them has no row for the ops of others. Schedules hold the graph that they are
 * of. */
static tsr_status check_level(const ir_op *op) {
  const ir_op *around = op->parent ? op->parent->parent : NULL;
  const ir_level in = around ? around->def->level : IR_BUILTIN, is = op->def->level;
  if (in == IR_BUILTIN || in == is || (in == IR_SCHEDULE && is == IR_GRAPH)) return NULL;
  return ir_error(op, NULL, "an op of this level can't be used inside %s", around->def->name);
}

static tsr_status verify_tree(ir_op *op) {
  TSR_TRY(check_level(op));
  for (int i = 0; i < op->n_operands; i++) {
    if (!op->operands[i]->type) return ir_error(op, NULL, "operand %d has no type", i);
    const ir_op *isolated;
    if (visible(op, op->operands[i], &isolated)) continue;
    if (isolated)
      return ir_error(op, "define it inside, or hand it in as an operand", "operand %d is defined outside the %s", i,
                      isolated->def->name);
    return ir_error(op, "define it before its use, in the same or an outer region", "operand %d is not defined here",
                    i);
  }
  /* Loop bodies know their arguments' types only from the op around them, so the op comes first; ops whose result types
   * come from their region's terminator declare no inference. */
  TSR_TRY(ir_verify_op(op));
  TSR_TRY(check_sizes(op));
  ir_verify_fn check_place = ir_place_check(op->def->level);
  if (check_place) TSR_TRY(check_place(op));
  for (int r = 0; r < op->n_regions; r++) {
    int64_t order = 0;
    for (ir_op *o = op->regions[r]->first; o; o = o->next) o->scratch = order++;
    for (ir_op *o = op->regions[r]->first; o; o = o->next) {
      if ((o->def->flags & IR_TERMINATOR) && o->next)
        return ir_error(o, NULL, "must be the last operation of its region");
      TSR_TRY(verify_tree(o));
    }
  }
  return NULL;
}

tsr_status ir_verify(ir_module *m) {
  ir_symbols kernels;
  TSR_TRY(ir_symbols_make(m, &kernels));
  if (kernels.twice) {
    const ir_op *op = kernels.twice;
    ir_symbols_clear(&kernels);
    return ir_error(op, "names are for one", "there is another \"%s\"", ir_get_str(op, "sym_name", ""));
  }
  m->symbols = &kernels;
  tsr_status st = verify_tree(m->root);
  m->symbols = NULL;
  ir_symbols_clear(&kernels);
  return st;
}
