/* core/emit/text/line.c - see emit/text/line.h. */
#include "core/emit/text/line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"

const char *text_type(tsr_dtype t) {
  switch (t) {
  case TSR_F64: return "double";
  case TSR_F32: return "float";
  case TSR_TF32: return "tf32";
  case TSR_F16: return "f16";
  case TSR_BF16: return "bf16";
  case TSR_F8E4M3: return "f8e4m3";
  case TSR_F8E5M2: return "f8e5m2";
  case TSR_I64: return "long long";
  case TSR_I32: return "int";
  case TSR_I16: return "short";
  case TSR_I8: return "signed char";
  case TSR_U8: return "unsigned char";
  case TSR_BOOL: return "bool";
  default: return "void";
  }
}

const char *text_fmt(text_printer *p, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *s = arena_vfmt(p->a, fmt, ap);
  va_end(ap);
  if (!s) p->failed = true;
  return s ? s : "";
}

void text_line(text_printer *p, const char *fmt, ...) {
  va_list ap;
  for (int i = 0; i < p->indent; i++) strb_puts(p->b, "  ");
  va_start(ap, fmt);
  strb_vprintf(p->b, fmt, ap);
  va_end(ap);
  strb_putc(p->b, '\n');
}

bool text_taken(const text_printer *p, const char *s) {
  static const char *const words[] = {
      "smem", "vec", "bits", "take", "put", "elect", "barrier", "shuffle", "int", "float", "double", "bool", "char",
      "short", "long", "for", "if", "else", "do", "while", "const", "new", "this", "exp", "log", "auto", "static",
      "union", "struct", "class", "f16", "bf16", "tf32", "most", "least", "and", "or", "xor", "not", "asm", "return",
      "void", "signed", "unsigned", "word", "pieces", "template", "operator", "true", "false", "min", "max"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(words[i], s)) return true;
  if (matrix_kind_named(s) < N_MATRIX_KINDS) return true; /* wrappers of instructions */
  for (int c = 0; c < SC_N; c++)
    if (scalar_rows[c].expansion && !strcmp(scalar_rows[c].name, s)) return true;
  for (size_t i = 0; i < p->n_names; i++)
    if (!strcmp(p->names[i], s)) return true;
  return false;
}

bool text_plain(const char *s) {
  if (!s || !ascii_letter(*s)) return false;
  for (const char *c = s; *c; c++)
    if (!ascii_alnum(*c) && *c != '_') return false;
  return !(s[0] == 'v' && ascii_digit(s[1]));
}

const char *text_name(text_printer *p, ir_value *v) {
  const char *s = text_plain(v->name) ? v->name : NULL;
  if (s && text_taken(p, s)) s = text_fmt(p, "%s_%d", s, p->next++);
  if (!s) s = text_fmt(p, "v%d", p->next++);
  else if (al_grow(p->b->al, &p->names, &p->cap_names, p->n_names + 1, sizeof *p->names)) p->names[p->n_names++] = s;
  else p->failed = true;
  v->data = (void *)(uintptr_t)s;
  return s;
}

const char *text_storage(tsr_dtype t) { return t == TSR_TF32 ? "float" : text_type(t); }

const char *text_value_type(text_printer *p, const ir_type *t) {
  switch (t->kind) {
  case IR_T_INDEX: return p->wide ? "long long" : "int";
  case IR_T_VECTOR: return text_fmt(p, "vec<%s, %lld>", text_storage(t->dtype), (long long)t->dims[0]);
  case IR_T_PTR: return text_fmt(p, "%s *", text_storage(t->dtype));
  default: return text_storage(t->dtype);
  }
}

const char *text_operand(text_printer *p, const ir_op *op, int i, const char *e) {
  const ir_value *v = op->operands[i];
  return e && v->type->kind == IR_T_VECTOR ? text_fmt(p, "%s[%s]", text_expr(v), e) : text_expr(v);
}

void text_define(text_printer *p, ir_value *v, const char *expr) {
  const char *type = text_value_type(p, v->type);
  bool pointer = v->type->kind == IR_T_PTR;
  text_line(p, pointer ? "%sconst %s = %s;" : "const %s %s = %s;", type, text_name(p, v), expr);
}

const char *text_address(text_printer *p, const ir_op *op, int i) {
  const char *at = text_expr(op->operands[i + 1]);
  return strcmp(at, "0") ? text_fmt(p, "%s + %s", text_expr(op->operands[i]), at) : text_expr(op->operands[i]);
}
