/* core/emit/text/text.c - Target IR to C++ text: modules, kernels, control flow, memory. See core/emit/text/prelude.h
 * for the three parts of the output. One statement per op; constants and index arithmetic with a single use are written
 * into the place of use. */
#include <stdio.h>
#include <string.h>

#include "core/emit/text/text.h"
#include "core/base/dtype.h"
#include "core/device/dialect.h"
#include "core/emit/text/prelude.h"
#include "core/emit/text/scalar.h"
#include "core/emit/text/vendor.h"
#include "core/ir/reducer.h"

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* Bytes of one access and how many accesses make up the value, by the alignment known. */
static int access_parts(const ir_op *op, const ir_type *t, int *part) {
  int n = t->kind == IR_T_VECTOR ? (int)t->dims[0] : 1, size = (int)tsr_dtype_size(t->dtype),
      align = (int)ir_get_int(op, "align", 0);
  *part = n;
  if (align <= 0 || n == 1) return 1;
  while (*part > 1 && *part * size > align && !(*part * size > 16 && align >= 16)) *part /= 2;
  return n / *part;
}

static void put_load(text_printer *p, ir_op *op) {
  const ir_type *t = op->results[0]->type;
  bool shared = !strcmp(op->operands[0]->type->use ? op->operands[0]->type->use : "", "shared");
  const char *fn = shared                                ? "ld_shared"
                   : ir_get_bool(op, "streaming", false) ? "ld_global_stream"
                                                         : "ld_global",
             *at = text_address(p, op, 0);
  int part, n = access_parts(op, t, &part);
  if (n == 1) {
    text_define(p, op->results[0], text_fmt(p, "%s<%s>(%s)", fn, text_value_type(p, t), at));
    return;
  }
  const char *name = text_name(p, op->results[0]), *type = text_storage(t->dtype);
  text_line(p, "%s %s;", text_value_type(p, t), name);
  for (int i = 0; i < n; i++) {
    if (part == 1) text_line(p, "%s[%d] = %s<%s>(%s + %d);", name, i, fn, type, at, i);
    else text_line(p, "put(&%s[%d], %s<vec<%s, %d>>(%s + %d));", name, i * part, fn, type, part, at, i * part);
  }
}

static void put_store(text_printer *p, ir_op *op) {
  const ir_type *t = op->operands[0]->type;
  bool shared = !strcmp(op->operands[1]->type->use ? op->operands[1]->type->use : "", "shared");
  const char *fn = shared                                ? "st_shared"
                   : ir_get_bool(op, "streaming", false) ? "st_global_stream"
                                                         : "st_global",
             *at = text_address(p, op, 1);
  const char *v = text_expr(op->operands[0]);
  int part, n = access_parts(op, t, &part);
  for (int i = 0; i < n; i++) {
    if (n == 1)
      text_line(p, "%s(%s, %s);", fn, at,
                t->kind == IR_T_SCALAR || t->kind == IR_T_VECTOR
                    ? text_fmt(p, "%s(%s)", strchr(text_value_type(p, t), ' ') ? "" : text_value_type(p, t), v)
                    : v);
    else if (part == 1) text_line(p, "%s(%s + %d, %s[%d]);", fn, at, i, v, i);
    else text_line(p, "%s(%s + %d, take<%d>(&%s[%d]));", fn, at, i * part, part, v, i * part);
  }
}

static void put_array(text_printer *p, ir_op *op) {
  bool set = op->def->code == TG_SET;
  const ir_type *t = set ? op->operands[0]->type : op->results[0]->type;
  const char *array = text_expr(op->operands[set]), *at = text_expr(op->operands[set + 1]);
  if (t->kind != IR_T_VECTOR) {
    if (set) text_line(p, "%s[%s] = %s;", array, at, text_expr(op->operands[0]));
    else text_define(p, op->results[0], text_fmt(p, "%s[%s]", array, at));
  } else if (set) {
    text_line(p, "put(&%s[%s], %s);", array, at, text_expr(op->operands[0]));
  } else {
    text_define(p, op->results[0], text_fmt(p, "take<%lld>(&%s[%s])", (long long)t->dims[0], array, at));
  }
}

/* ---- control flow ---------------------------------------------------------------------------------------------- */

static tsr_status put_block(text_printer *p, ir_block *r, ir_value *const *targets);

/* Could assigning another target first change what v says? So for the region's own arguments, and for index
 * expressions, which may have been written into this place. */
static bool needs_temporary(const ir_op *yield, const ir_value *v, int i) {
  if (yield->n_operands == 1) return false;
  if (v->type->kind == IR_T_INDEX) return true;
  return !v->def && v->owner == yield->parent && v->index != i + 1;
}

/* Assigns what a region yields to the variables of the op around it. */
static void put_yield(text_printer *p, const ir_op *op, ir_value *const *targets) {
  int n = op->n_operands;
  const char **fresh = arena_array(p->a, const char *, n + 1);
  if (!fresh) {
    p->failed = true;
    return;
  }
  for (int i = 0; i < n; i++) {
    fresh[i] = text_expr(op->operands[i]);
    if (!needs_temporary(op, op->operands[i], i) || !strcmp(fresh[i], text_expr(targets[i]))) continue;
    const char *name = text_fmt(p, "next%d", p->next++);
    text_line(p, "const %s %s = %s;", text_value_type(p, op->operands[i]->type), name, fresh[i]);
    fresh[i] = name;
  }
  for (int i = 0; i < n; i++)
    if (strcmp(fresh[i], text_expr(targets[i]))) text_line(p, "%s = %s;", text_expr(targets[i]), fresh[i]);
}

static tsr_status put_for(text_printer *p, ir_op *op) {
  ir_block *r = op->regions[0];
  const char *type = p->wide ? "long long" : "int";
  for (int i = 0; i < op->n_results; i++) {
    const char *name = text_name(p, op->results[i]);
    text_line(p, "%s %s = %s;", text_value_type(p, op->results[i]->type), name, text_expr(op->operands[3 + i]));
    r->args[1 + i]->data = op->results[i]->data;
  }
  int by = (int)ir_get_int(op, "unroll_by", 0);
  if (ir_get_bool(op, "unroll", false)) strb_puts(p->b, "#pragma unroll\n");
  else if (by) strb_printf(p->b, "#pragma unroll %d\n", by);
  const char *i = text_name(p, r->args[0]);
  text_line(p, "for (%s %s = %s; %s < %s; %s += %s) {", type, i, text_expr(op->operands[0]), i,
            text_expr(op->operands[1]), i, text_expr(op->operands[2]));
  p->indent++;
  TSR_TRY(put_block(p, r, op->results));
  p->indent--;
  text_line(p, "}");
  return NULL;
}

/* The kernel ends behind this branch, which nearly always takes its first region: the second leaves early. Register
 * allocators do better so than with two regions that meet. */
static bool leaves_early(const ir_op *op) {
  return ir_get_bool(op, "likely", false) && !op->n_results && op->n_regions > 1 && op->regions[1]->first &&
         op->parent->parent->def->code == TG_KERNEL && op->next && op->next->def->code == TG_RETURN;
}

static tsr_status put_early(text_printer *p, ir_op *op) {
  text_line(p, "if (!%s) {", text_expr(op->operands[0]));
  p->indent++;
  TSR_TRY(put_block(p, op->regions[1], NULL));
  text_line(p, "return;");
  p->indent--;
  text_line(p, "}");
  return put_block(p, op->regions[0], NULL);
}

static tsr_status put_if(text_printer *p, ir_op *op) {
  if (leaves_early(op)) return put_early(p, op);
  for (int i = 0; i < op->n_results; i++) {
    const char *name = text_name(p, op->results[i]);
    text_line(p, "%s %s;", text_value_type(p, op->results[i]->type), name);
  }
  text_line(p, "if (%s) {", text_expr(op->operands[0]));
  p->indent++;
  TSR_TRY(put_block(p, op->regions[0], op->results));
  p->indent--;
  if (op->n_regions > 1 && op->regions[1]->first) {
    text_line(p, "} else {");
    p->indent++;
    TSR_TRY(put_block(p, op->regions[1], op->results));
    p->indent--;
  }
  text_line(p, "}");
  return NULL;
}

/* ---- ops ------------------------------------------------------------------------------------------------------- */

static void put_scalar(text_printer *p, ir_op *op) {
  ir_value *r = op->results[0];
  if (r->type->kind == IR_T_VECTOR) {
    const char *expr = text_scalar(p, op, "e"), *name = text_name(p, r);
    text_line(p, "%s %s;", text_value_type(p, r->type), name);
    strb_puts(p->b, "#pragma unroll\n");
    text_line(p, "for (int e = 0; e < %lld; e++) %s[e] = %s;", (long long)r->type->dims[0], name, expr);
    return;
  }
  const char *expr = text_scalar(p, op, NULL);
  bool here = r->type->kind == IR_T_INDEX && r->n_uses == 1 && strlen(expr) < 120;
  if (here) r->data = (void *)(uintptr_t)expr; /* reads nothing that changes before its single use */
  else text_define(p, r, expr);
}

static void put_const(text_printer *p, ir_op *op) {
  ir_value *r = op->results[0];
  const ir_attr *value = ir_get_attr(op, "value");
  if (r->type->kind != IR_T_VECTOR) {
    const char *s = text_const(p, r->type, value);
    r->data = (void *)(uintptr_t)(*s == '-' ? text_fmt(p, "(%s)", s) : s);
    return;
  }
  ir_type one = {.kind = IR_T_SCALAR, .dtype = r->type->dtype};
  const char *s = text_const(p, &one, value), *name = text_name(p, r);
  text_line(p, "%s %s;", text_value_type(p, r->type), name);
  strb_puts(p->b, "#pragma unroll\n");
  text_line(p, "for (int e = 0; e < %lld; e++) %s[e] = %s;", (long long)r->type->dims[0], name, s);
}

static void put_vector(text_printer *p, ir_op *op) {
  ir_value *r = op->results[0];
  const char *list = "";
  if (op->def->code == TG_VECTOR) {
    for (int i = 0; i < op->n_operands; i++)
      list = text_fmt(p, i ? "%s, %s" : "%s%s", list, text_expr(op->operands[i]));
    text_define(p, r, text_fmt(p, "{{%s}}", list));
    return;
  }
  const char *name = text_name(p, r);
  text_line(p, "%s %s = %s;", text_value_type(p, r->type), name, text_expr(op->operands[1]));
  text_line(p, "%s[%lld] = %s;", name, (long long)ir_get_int(op, "at", 0), text_expr(op->operands[0]));
}

static void put_exchange(text_printer *p, ir_op *op) {
  static const char *const modes[] = {"xor", "index", "up", "down"};
  int width = (int)ir_get_int(op, "width", 0);
  if (!width) width = p->caps->subgroup ? p->caps->subgroup : 32;
  if (op->def->code == TG_WARP_REDUCE) {
    text_define(
        p, op->results[0],
        text_fmt(p, "warp_reduce<op_%s>(%s, %d)", ir_reducer_of(op)->name, text_expr(op->operands[0]), width));
    return;
  }
  int m = 0;
  while (m < 3 && strcmp(modes[m], ir_get_str(op, "mode", "xor"))) m++;
  text_define(p, op->results[0],
              text_fmt(p, "shuffle<%d>(%s, %s, %d)", m, text_expr(op->operands[0]), text_expr(op->operands[1]), width));
}

/* Arguments of the kernel that maps are made of keep their order: the runtime passes maps after the buffers. */
static void put_map(text_printer *p, ir_op *op) {
  op->results[0]->data = (void *)(uintptr_t)text_fmt(p, "map%d", p->n_maps++);
}

static tsr_status put_op(text_printer *p, ir_op *op, ir_value *const *targets) {
  int code = op->def->code;
  ir_value *r = op->n_results ? op->results[0] : NULL;
  if (op->def->level != IR_TARGET) return ir_error(op, NULL, "not an op of Target IR");
  if (ir_is_scalar(op)) {
    put_scalar(p, op);
    return NULL;
  }
  switch (code) {
  case TG_CONST: put_const(p, op); return NULL;
  case TG_THREAD_ID:
    text_define(p, r, text_fmt(p, "thread_id<%lld>()", (long long)ir_get_int(op, "axis", 0)));
    return NULL;
  case TG_BLOCK_ID:
    text_define(p, r, text_fmt(p, "block_id<%lld>()", (long long)ir_get_int(op, "axis", 0)));
    return NULL;
  case TG_LANE_ID: text_define(p, r, "lane_id()"); return NULL;
  case TG_WARP_ID: text_define(p, r, "warp_id()"); return NULL;
  case TG_LOAD: put_load(p, op); return NULL;
  case TG_STORE: put_store(p, op); return NULL;
  case TG_SHARED:
    text_define(
        p, r, text_fmt(p, "(%s *)(smem + %lld)", text_storage(r->type->dtype), (long long)ir_get_int(op, "offset", 0)));
    return NULL;
  case TG_PTR_CAST:
    text_define(p, r, text_fmt(p, "(%s *)%s", text_storage(r->type->dtype), text_expr(op->operands[0])));
    return NULL;
  case TG_PTR_ADD:
    text_define(p, r,
                text_fmt(p, "(%s *)%s", text_storage(r->type->dtype), text_fmt(p, "(%s)", text_address(p, op, 0))));
    return NULL;
  case TG_LOCAL:
    text_line(p, "%s %s[%lld];", text_storage(r->type->dtype), text_name(p, r), (long long)ir_type_count(r->type));
    return NULL;
  case TG_GET:
  case TG_SET: put_array(p, op); return NULL;
  case TG_FOR: return put_for(p, op);
  case TG_IF: return put_if(p, op);
  case TG_YIELD: put_yield(p, op, targets); return NULL;
  case TG_RETURN: return NULL;
  case TG_BARRIER: text_line(p, "barrier();"); return NULL;
  case TG_WARP_BARRIER: text_line(p, "warp_barrier();"); return NULL;
  case TG_VECTOR:
  case TG_INSERT: put_vector(p, op); return NULL;
  case TG_EXTRACT:
    r->data =
        (void *)(uintptr_t)text_fmt(p, "%s[%lld]", text_expr(op->operands[0]), (long long)ir_get_int(op, "at", 0));
    return NULL;
  case TG_BITCAST:
    text_define(p, r, text_fmt(p, "bits<%s>(%s)", text_value_type(p, r->type), text_expr(op->operands[0])));
    return NULL;
  case TG_SHUFFLE:
  case TG_WARP_REDUCE: put_exchange(p, op); return NULL;
  case TG_TENSOR_MAP: put_map(p, op); return NULL;
  default: break;
  }
  if (text_vendor_op(p, op)) return NULL;
  return ir_error_at(op, op->loc, TSR_UNSUPPORTED, NULL, "the %s text has no spelling for it",
                     dialect_of(p->caps)->text_name);
}

static tsr_status put_block(text_printer *p, ir_block *r, ir_value *const *targets) {
  for (ir_op *op = r->first; op; op = op->next) TSR_TRY(put_op(p, op, targets));
  return NULL;
}

/* ---- kernels --------------------------------------------------------------------------------------------------- */

typedef struct scan {
  text_use *use;
  int maps;
  bool shared;
} scan;

static void scan_type(const ir_type *t, text_use *u) {
  if (!t) return;
  switch (t->dtype) {
  case TSR_F16: u->features |= TEXT_F16; break;
  case TSR_BF16: u->features |= TEXT_BF16; break;
  case TSR_TF32: u->features |= TEXT_TF32; break;
  case TSR_F8E4M3:
  case TSR_F8E5M2: u->features |= TEXT_F8; break;
  default: break;
  }
}

static void scan_name(const ir_op *op, const char *attr, text_use *u) {
  ir_type t = {.dtype = dtype_parse_real(ir_get_str(op, attr, ""))};
  scan_type(&t, u);
}

static tsr_status scan_op(ir_op *op, void *user) {
  scan *s = user;
  int code = op->def->code;
  for (int i = 0; i < op->n_results; i++) scan_type(op->results[i]->type, s->use);
  for (int i = 0; i < op->n_operands; i++) scan_type(op->operands[i]->type, s->use);
  for (int r = 0; r < op->n_regions; r++)
    for (int i = 0; i < op->regions[r]->n_args; i++) scan_type(op->regions[r]->args[i]->type, s->use);
  if (ir_is_scalar(op) && scalar_rows[code].traits & SCALAR_FUNCTION) s->use->features |= TEXT_MATH;
  if (code == TG_SHUFFLE || code == TG_WARP_REDUCE) s->use->features |= TEXT_SHUFFLE;
  if (code == TG_SHARED) s->shared = true;
  if (code == TG_TENSOR_MAP) s->maps++;
  if (text_matrix_op(op)) {
    scan_name(op, "a", s->use);
    scan_name(op, "b", s->use);
  }
  text_vendor_use(op, s->use);
  return NULL;
}

static tsr_status put_kernel(text_printer *p, ir_op *k) {
  scan s = {.use = &(text_use){0}};
  ir_block *r = k->regions[0];
  int64_t block[3] = {1, 1, 1};
  int outputs = (int)ir_get_int(k, "outputs", 1);
  TSR_TRY(ir_walk(k, scan_op, &s));
  ir_get_ints(k, "block", block, 3);
  p->wide = ir_get_bool(k, "wide_index", false);
  p->next = p->n_maps = 0;
  p->n_names = 0;
  const char *path = ir_get_str(k, "path", ""), *name = ir_get_str(k, "sym_name", "");
  if (!text_plain(name) || text_taken(p, name))
    return ir_error(k, "give it another name", "\"%s\" can't be a C++ function's name", name);
  strb_printf(p->b, "\n/* %s%s%s: blocks of %lld threads */\n", ir_get_str(k, "sym_name", ""), *path ? ", " : "", path,
              (long long)(block[0] * block[1] * block[2]));
  strb_printf(p->b, "KERNEL(%lld) ", (long long)(block[0] * block[1] * block[2]));
  if (ir_get_int(k, "waves_per_simd", 0)) strb_printf(p->b, "WAVES(%d) ", (int)ir_get_int(k, "waves_per_simd", 0));
  strb_printf(p->b, "%s(", ir_get_str(k, "sym_name", "kernel"));
  for (int i = 0; i < r->n_args; i++) {
    const char *type = text_storage(r->args[i]->type->dtype);
    strb_printf(p->b, "%s%s%s *__restrict__ %s", i ? ", " : "", i < r->n_args - outputs ? "const " : "", type,
                text_name(p, r->args[i]));
  }
  for (int i = 0; i < s.maps; i++)
    strb_printf(p->b, "%sconst GRID_CONSTANT tensor_map map%d", i || r->n_args ? ", " : "", i);
  strb_puts(p->b, ") {\n");
  p->indent = 1;
  if (s.shared) text_line(p, "SHARED_MEMORY(%lld);", (long long)ir_get_int(k, "shared_bytes", 0));
  TSR_TRY(put_block(p, r, NULL));
  p->indent = 0;
  strb_puts(p->b, "}\n");
  return NULL;
}

/* What stands above the types, and below them. */
static const struct {
  void (*base)(strb *, const text_use *), (*typed)(strb *, const text_use *);
} preludes[N_DIALECTS] = {
#define PRELUDE(D, name) [DIALECT_##D] = {text_##name##_base, text_##name##_typed},
    TEXT_PRELUDES(PRELUDE)
#undef PRELUDE
};

static void put_prelude(strb *b, const text_use *u, tsr_dialect d) {
  strb_puts(
      b, "namespace tsr {\n#ifdef TSR_EMULATOR\n} // namespace tsr\n#include TSR_EMULATOR\nnamespace tsr {\n#else\n");
  preludes[d].base(b, u);
  strb_puts(b, "#endif\n\n");
  text_common_types(b, u);
  if (u->features & (TEXT_LDMATRIX | TEXT_STMATRIX) || u->n_mma) {
    strb_puts(b, "\n#ifndef TSR_EMULATOR\n");
    preludes[d].typed(b, u);
    strb_puts(b, "#endif\n\n");
  }
  text_common_functions(b, u);
}

static bool is_kernel(const ir_op *op) { return op->def->level == IR_TARGET && op->def->code == TG_KERNEL; }

tsr_status emit_text(const ir_module *target, const tsr_caps *caps, strb *out) {
  arena a;
  text_use use = {.wave = caps->subgroup ? caps->subgroup : 32, .fnuz = caps->fnuz};
  text_printer p = {.b = out, .a = &a, .caps = caps};
  scan s = {.use = &use};
  tsr_status st = NULL;
  const dialect_row *row = dialect_of(caps);
  arena_init(&a, &target->arena.al);
  snprintf(use.arch, sizeof use.arch, "%s", caps->arch);
  for (ir_op *op = target->root->regions[0]->first; op; op = op->next)
    if (is_kernel(op)) TSR_GOTO(ir_walk(op, scan_op, &s));
  strb_printf(out, "// %s for %s; compile with %s\n", row->language, caps->arch, row->compile_with);
  put_prelude(out, &use, caps->dialect);
  if (use.features & TEXT_MATH) text_expansions(&p);
  for (ir_op *op = target->root->regions[0]->first; op; op = op->next)
    if (is_kernel(op)) TSR_GOTO(put_kernel(&p, op));
  strb_puts(out, "} // namespace tsr\n");
  if (p.failed || !strb_ok(out)) st = st_oom();
done:
  al_free_array(out->al, p.names, p.cap_names);
  arena_clear(&a);
  return st;
}
