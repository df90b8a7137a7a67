/* core/ir/lex_type.c - types and attributes from text; see lex.h. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/attrs.h"
#include "core/ir/layout.h"
#include "core/ir/lex.h"
#include "core/ir/shard.h"

static tsr_status scalar_name(lexer *x, tsr_dtype *out) {
  lex_skip(x);
  const char *s = x->p, *name;
  TSR_TRY(lex_ident(x, false, &name));
  *out = tsr_dtype_parse(name);
  if (!strcmp(name, "complex")) {
    TSR_TRY(lex_expect(x, "<"));
    TSR_TRY(lex_ident(x, false, &name));
    TSR_TRY(lex_expect(x, ">"));
    *out = dtype_complex(tsr_dtype_parse(name));
    return *out ? NULL : lex_error(x, s, "there are no complex numbers of '%s'", name);
  }
  return *out ? NULL : lex_error(x, s, "unknown element type '%s'", name);
}

/* 2x?x3xf32 */
static tsr_status dims_and_dtype(lexer *x, ir_type *t) {
  lex_skip(x);
  while (x->p < x->end && (ascii_digit(*x->p) || *x->p == '?' || *x->p == '-')) {
    const char *s = x->p;
    if (t->rank == TSR_MAX_RANK) return lex_error(x, s, "more than %d dimensions", TSR_MAX_RANK);
    int64_t d = 0;
    if (*x->p == '?') {
      d = IR_DYNAMIC;
      x->p++;
    } else {
      for (; x->p < x->end && ascii_digit(*x->p); x->p++)
        if (__builtin_mul_overflow(d, (int64_t)10, &d) || __builtin_add_overflow(d, (int64_t)(*x->p - '0'), &d))
          return lex_error(x, s, "dimension out of range");
    }
    if (x->p == s || x->p == x->end || *x->p != 'x') return lex_error(x, x->p, "expected 'x' after a dimension");
    x->p++;
    t->dims[t->rank++] = d;
  }
  return scalar_name(x, &t->dtype);
}

static tsr_status layout(lexer *x, ir_type *t) {
  while (lex_eat(x, ",")) {
    if (lex_peek(x, '"')) {
      TSR_TRY(lex_string(x, &t->use));
    } else if (lex_eat(x, "pad")) {
      TSR_TRY(lex_expect(x, "="));
      TSR_TRY(lex_int(x, &t->pad));
      if (t->pad < 0 || t->pad > 1 << 20) return lex_error(x, x->p, "pad out of range");
    } else if (lex_eat(x, "offset")) {
      TSR_TRY(lex_expect(x, "="));
      TSR_TRY(lex_int(x, &t->offset));
    } else if (lex_eat(x, "strides")) {
      TSR_TRY(lex_expect(x, "="));
      TSR_TRY(lex_expect(x, "["));
      t->has_strides = true;
      for (int i = 0; i < t->rank; i++) {
        if (i) TSR_TRY(lex_expect(x, ","));
        TSR_TRY(lex_int(x, &t->strides[i]));
      }
      TSR_TRY(lex_expect(x, "]"));
    } else {
      return lex_error(x, x->p, "expected strides=, offset=, pad= or a quoted use");
    }
  }
  return NULL;
}

/* Kernels compute on parts, and on bytes: below programs nothing knows complex numbers and packed ones. */
static tsr_status check_element(lexer *x, const ir_type *t) {
  if (t->kind == IR_T_TENSOR || !(dtype_is_complex(t->dtype) || dtype_packed(t->dtype))) return NULL;
  return lex_error(x, x->p, "only tensors have elements of type %s", dtype_get(t->dtype)->mlir);
}

/* One entry of `shard` or `partial`, behind those that are there, separated by `separator`. */
static tsr_status shard_entry(lexer *x, const char *separator, const char **list) {
  const char *word, *at = (lex_skip(x), x->p);
  TSR_TRY(lex_string(x, &word));
  if (!*word || strpbrk(word, ",|")) return lex_error(x, at, "expected \"*\" or names of axes joined by +");
  *list = arena_fmt(&x->m->arena, "%s%s%s", *list, separator, word);
  return *list ? NULL : st_oom();
}

/* = [1, 0], as ir/layout.h has it. */
static tsr_status layout_of(lexer *x, int rank, const char **out) {
  int64_t order[TSR_MAX_RANK];
  int n = 0;
  const char *at = x->p;
  TSR_TRY(lex_expect(x, "="));
  TSR_TRY(lex_expect(x, "["));
  for (; !lex_eat(x, "]"); n++) {
    if (n) TSR_TRY(lex_expect(x, ","));
    if (n == rank) return lex_error(x, at, "%s", ir_layout_fault(order, n + 1, rank));
    TSR_TRY(lex_int(x, &order[n]));
  }
  const char *why = ir_layout_fault(order, n, rank);
  if (why) return lex_error(x, at, "%s", why);
  return (*out = ir_layout_make(&x->m->arena, order, n)) ? NULL : st_oom();
}

/* {layout = [1, 0], shard = ["dp", "*"], partial = ["tp"]}, each at most once, in any order. */
static tsr_status placement(lexer *x, int rank, lex_placement *out) {
  const char *parts[2] = {NULL, NULL}, *const keys[2] = {"shard", "partial"}, *at = x->p;
  TSR_TRY(lex_expect(x, "{"));
  do {
    const char *key = (lex_skip(x), x->p);
    const int which = lex_eat(x, keys[0]) ? 0 : lex_eat(x, keys[1]) ? 1 : lex_eat(x, "layout") ? 2 : -1;
    if (which < 0) return lex_error(x, x->p, "expected layout =, shard = or partial =");
    if (which == 2 ? out->layout != NULL : parts[which] != NULL) return lex_error(x, key, "it is given twice");
    if (which == 2) {
      TSR_TRY(layout_of(x, rank, &out->layout));
      continue;
    }
    TSR_TRY(lex_expect(x, "="));
    TSR_TRY(lex_expect(x, "["));
    parts[which] = "";
    for (int n = 0; !lex_eat(x, "]"); n++) {
      if (n) TSR_TRY(lex_expect(x, ","));
      TSR_TRY(shard_entry(x, n ? "," : "", &parts[which]));
    }
  } while (lex_eat(x, ","));
  TSR_TRY(lex_expect(x, "}"));
  if (!parts[0]) return parts[1] ? lex_error(x, at, "shard = is missing") : NULL;
  out->shard = parts[1] && *parts[1] ? arena_fmt(&x->m->arena, "%s|%s", parts[0], parts[1]) : parts[0];
  if (!out->shard) return st_oom();
  const char *why = ir_shard_fault(out->shard, rank);
  return why ? lex_error(x, at, "%s", why) : NULL;
}

static tsr_status shaped(lexer *x, ir_type *t, bool with_layout, lex_placement *where) {
  TSR_TRY(lex_expect(x, "<"));
  TSR_TRY(dims_and_dtype(x, t));
  if (with_layout) TSR_TRY(layout(x, t));
  else if (where && t->kind == IR_T_TENSOR && lex_eat(x, ",")) TSR_TRY(placement(x, t->rank, where));
  if (!ir_type_fits(t)) return lex_error(x, x->p, "the number of elements overflows 64 bits");
  TSR_TRY(check_element(x, t));
  return lex_expect(x, ">");
}

tsr_status lex_value_type(lexer *x, const ir_type **out, lex_placement *where) {
  static const struct { const char *word; ir_type_kind kind; bool layout; } words[] = {
      {"tensor", IR_T_TENSOR, false},         {"vector", IR_T_VECTOR, false},        {"!tessera.view", IR_T_VIEW, true},
      {"!tessera.shared", IR_T_SHARED, true}, {"!tessera.frag", IR_T_FRAG, true},    {"!tessera.array", IR_T_ARRAY, true},
      {"!tessera.matrix", IR_T_MATRIX, true}, {"!tessera.ptr", IR_T_PTR, true}};
  ir_type t = {0};
  *out = NULL;
  if (where) *where = (lex_placement){0};
  lex_skip(x);
  if (lex_eat(x, "index")) t.kind = IR_T_INDEX;
  else if (lex_eat(x, "none")) t.kind = IR_T_NONE;
  else if (lex_eat(x, "!tessera.token")) t.kind = IR_T_TOKEN;
  else {
    for (size_t i = 0; i < sizeof words / sizeof *words && !t.kind; i++)
      if (lex_eat(x, words[i].word)) {
        t.kind = words[i].kind;
        TSR_TRY(shaped(x, &t, words[i].layout, where));
      }
    if (!t.kind) {
      if (x->p == x->end || !ascii_letter(*x->p)) return lex_error(x, x->p, "expected a type");
      t.kind = IR_T_SCALAR;
      TSR_TRY(scalar_name(x, &t.dtype));
      TSR_TRY(check_element(x, &t));
    }
  }
  *out = ir_type_get(x->m, &t);
  return *out ? NULL : st_oom();
}

static tsr_status lex_type(lexer *x, const ir_type **out) { return lex_value_type(x, out, NULL); }

/* ---- function types, which attributes may hold ----------------------------------------------------------------- */

typedef struct types {
  const ir_type **v;
  size_t n, cap;
} types;

static tsr_status function_type(lexer *x, int depth, const ir_type **out);

static tsr_status type_list(lexer *x, int depth, types *list) {
  TSR_TRY(lex_expect(x, "("));
  if (lex_eat(x, ")")) return NULL;
  do {
    if (!al_grow(x->al, &list->v, &list->cap, list->n + 1, sizeof *list->v)) return st_oom();
    lex_placement where; /* the values say it */
    TSR_TRY(lex_peek(x, '(') ? function_type(x, depth + 1, &list->v[list->n])
                             : lex_value_type(x, &list->v[list->n], &where));
    list->n++;
  } while (lex_eat(x, ","));
  return lex_expect(x, ")");
}

/* (types) -> type, or -> (types) */
static tsr_status function_type(lexer *x, int depth, const ir_type **out) {
  types in = {0}, results = {0};
  tsr_status st = NULL;
  *out = NULL;
  if (depth > LEX_MAX_DEPTH) return lex_error(x, x->p, "types nested too deeply");
  TSR_GOTO(type_list(x, depth, &in));
  TSR_GOTO(lex_expect(x, "->"));
  if (lex_peek(x, '(')) {
    TSR_GOTO(type_list(x, depth, &results));
  } else {
    lex_placement where;
    if (!al_grow(x->al, &results.v, &results.cap, 1, sizeof *results.v)) st = st_oom();
    else st = lex_value_type(x, &results.v[results.n++], &where);
    if (st) goto done;
  }
  *out = ir_type_function(x->m, in.v, (int)in.n, results.v, (int)results.n);
  if (!*out) st = st_oom();
done:
  al_free_array(x->al, in.v, in.cap);
  al_free_array(x->al, results.v, results.cap);
  return st;
}

/* ---- attributes ------------------------------------------------------------------------------------------------ */

typedef struct number { double f; int64_t i; bool is_int, hex; } number;
typedef struct numbers {
  number *v;
  size_t n, cap;
  size_t pairs; /* written (re, im): two numbers each */
} numbers;

static tsr_status add_number(lexer *x, numbers *list) {
  number v = {0};
  if (lex_eat(x, "true")) v = (number){1, 1, true, false};
  else if (lex_eat(x, "false")) v = (number){0, 0, true, false};
  else TSR_TRY(lex_number(x, &v.is_int, &v.hex, &v.i, &v.f));
  if (!al_grow(x->al, &list->v, &list->cap, list->n + 1, sizeof v)) return st_oom();
  list->v[list->n++] = v;
  return NULL;
}

static tsr_status dense_values(lexer *x, int depth, numbers *list) {
  if (depth > TSR_MAX_RANK) return lex_error(x, x->p, "lists nested too deeply");
  if (lex_eat(x, "[")) {
    if (lex_eat(x, "]")) return NULL;
    do TSR_TRY(dense_values(x, depth + 1, list));
    while (lex_eat(x, ","));
    return lex_expect(x, "]");
  }
  if (!lex_eat(x, "(")) return add_number(x, list);
  TSR_TRY(add_number(x, list));
  TSR_TRY(lex_expect(x, ","));
  TSR_TRY(add_number(x, list));
  list->pairs++;
  return lex_expect(x, ")");
}

/* Nothing is cut off or rounded away but the digits of floats. */
static bool fits(tsr_dtype t, number v) {
  const size_t bits = (size_t)dtype_bits(t);
  if (v.hex && t != TSR_BOOL) return bits == 64 || !((uint64_t)v.i >> bits);
  if (dtype_is_float(t)) return true;
  if (t == TSR_U64) return v.is_int && (v.i >= 0 || lex_is_beyond(v.is_int, v.i, v.f));
  return v.is_int && !lex_is_beyond(v.is_int, v.i, v.f) &&
         (t == TSR_BOOL ? v.i == (v.i & 1) : dtype_wrap(t, v.i) == v.i);
}

static void store_number(tsr_dtype t, void *data, size_t i, number v) {
  size_t size = tsr_dtype_size(t);
  const bool beyond = lex_is_beyond(v.is_int, v.i, v.f);
  if (v.hex && dtype_packed(t)) dtype_store_int(t, data, i, dtype_wrap(t, v.i));
  else if ((v.hex && t != TSR_BOOL) || (beyond && t == TSR_U64)) memcpy((char *)data + i * size, &v.i, size);
  else if (v.is_int && !beyond) dtype_store_int(t, data, i, v.i);
  else dtype_store(t, data, i, v.f);
}

static tsr_status dense_hex(lexer *x, const char *at, const char *hex, const ir_type *t, size_t bytes, ir_attr *a) {
  size_t n = strlen(hex);
  const size_t one = tsr_dtype_bytes(t->dtype, 1);
  bool splat = n == 2 + 2 * one;
  if (strncmp(hex, "0x", 2) || (n != 2 + 2 * bytes && !splat))
    return lex_error(x, at, "dense data must be 0x and %zu hexadecimal digits", 2 * bytes);
  splat = splat && n != 2 + 2 * bytes;
  if (splat) bytes = one;
  uint8_t *data = arena_alloc(&x->m->arena, bytes);
  if (!data) return st_oom();
  for (size_t i = 0; i < bytes; i++) {
    int d[2];
    for (int k = 0; k < 2; k++) {
      char c = hex[2 + 2 * i + (size_t)k];
      if (!isxdigit((unsigned char)c)) return lex_error(x, at, "'%c' is not a hexadecimal digit", c);
      d[k] = ascii_digit(c) ? c - '0' : (c | 32) - 'a' + 10;
    }
    data[i] = (uint8_t)(d[0] * 16 + d[1]);
  }
  a->u.dense.data = data;
  a->u.dense.bytes = bytes;
  a->u.dense.splat = splat;
  return NULL;
}

/* Elements of complex types are all pairs, or all real numbers; of others never pairs. */
static tsr_status check_pairs(lexer *x, const char *at, const numbers *list, tsr_dtype t) {
  if (!list->pairs || (dtype_is_complex(t) && list->n == 2 * list->pairs)) return NULL;
  if (!dtype_is_complex(t)) return lex_error(x, at, "(re, im) is no element of type %s", dtype_get(t)->mlir);
  return lex_error(x, at, "write all elements as (re, im), or none");
}

static tsr_status dense(lexer *x, ir_attr *a) {
  numbers list = {0};
  const char *hex = NULL, *at = x->p;
  const ir_type *t;
  tsr_status st = NULL;
  a->kind = IR_A_DENSE;
  TSR_GOTO(lex_expect(x, "<"));
  if (lex_peek(x, '"')) TSR_GOTO(lex_string(x, &hex));
  else if (!lex_peek(x, '>')) TSR_GOTO(dense_values(x, 0, &list));
  TSR_GOTO(lex_expect(x, ">"));
  TSR_GOTO(lex_expect(x, ":"));
  TSR_GOTO(lex_type(x, &t));
  int64_t n = ir_type_count(t);
  if (t->kind != IR_T_TENSOR || n < 0) {
    st = lex_error(x, at, "dense needs a tensor type with known dimensions");
    goto done;
  }
  a->u.dense.type = t;
  TSR_GOTO(check_pairs(x, at, &list, t->dtype));
  for (size_t i = 0; i < list.n; i++)
    if (!fits(dtype_part(t->dtype), list.v[i])) {
      st = lex_error(x, at, "value %zu of dense is no %s", i, tsr_dtype_name(t->dtype));
      goto done;
    }
  if (hex) {
    TSR_GOTO(dense_hex(x, at, hex, t, (size_t)ir_type_bytes(t), a));
    goto done;
  }
  size_t values = list.n - list.pairs, parts = (size_t)dtype_parts(t->dtype);
  if (values != 1 && values != (size_t)n) {
    st = lex_error(x, at, "dense has %zu values for %lld elements", values, (long long)n);
    goto done;
  }
  a->u.dense.splat = values == 1 && n != 1;
  a->u.dense.bytes = tsr_dtype_bytes(t->dtype, values);
  a->u.dense.data = arena_alloc(&x->m->arena, a->u.dense.bytes);
  if (!a->u.dense.data) TSR_GOTO(st_oom());
  if (dtype_packed(t->dtype)) memset(a->u.dense.data, 0, a->u.dense.bytes); /* elements share bytes */
  for (size_t i = 0, step = list.pairs ? 1 : parts; i < list.n; i++) {
    store_number(dtype_part(t->dtype), a->u.dense.data, i * step, list.v[i]);
    if (step > 1) store_number(dtype_part(t->dtype), a->u.dense.data, i * step + 1, (number){0});
  }
done:
  al_free_array(x->al, list.v, list.cap);
  return st;
}

/* <"PATH", OFFSET> : type, of a constant that stays in a file */
static tsr_status in_file(lexer *x, ir_attr **out) {
  const char *at = x->p, *path = NULL;
  int64_t offset = 0;
  const ir_type *t = NULL;
  TSR_TRY(lex_expect(x, "<"));
  TSR_TRY(lex_string(x, &path));
  TSR_TRY(lex_expect(x, ","));
  TSR_TRY(lex_int(x, &offset));
  TSR_TRY(lex_expect(x, ">"));
  TSR_TRY(lex_expect(x, ":"));
  TSR_TRY(lex_type(x, &t));
  if (t->kind != IR_T_TENSOR || ir_type_count(t) < 1 || offset < 0 || t->dtype == TSR_BOOL)
    return lex_error(x, at, "a constant in a file needs an offset and a tensor type with known dimensions");
  tsr_status st = ir_attr_in_file(x->m, t, path, (uint64_t)offset, out);
  if (!st || tsr_status_code(st) == TSR_OUT_OF_MEMORY) return st;
  tsr_status said = lex_error(x, at, "%s", tsr_status_cause(st));
  tsr_status_free(st);
  return said;
}

static tsr_status list(lexer *x, int depth, ir_attr *a) {
  ir_attr **v = NULL;
  size_t n = 0, cap = 0;
  tsr_status st = NULL;
  a->kind = IR_A_ARRAY;
  if (!lex_eat(x, "]")) {
    do {
      if (!al_grow(x->al, &v, &cap, n + 1, sizeof *v)) {
        st = st_oom();
        goto done;
      }
      TSR_GOTO(lex_attr(x, depth + 1, &v[n]));
      n++;
    } while (lex_eat(x, ","));
    TSR_GOTO(lex_expect(x, "]"));
  }
  a->u.array.n = (int)n;
  a->u.array.v = arena_dup(&x->m->arena, v, n * sizeof *v);
  if (!a->u.array.v) st = st_oom();
done:
  al_free_array(x->al, v, cap);
  return st;
}

static tsr_status number_attr(lexer *x, ir_attr *a) {
  number v;
  const char *at = x->p;
  const ir_type *t = NULL;
  TSR_TRY(lex_number(x, &v.is_int, &v.hex, &v.i, &v.f));
  const bool beyond = lex_is_beyond(v.is_int, v.i, v.f) && !v.hex;
  if (lex_eat(x, ":")) TSR_TRY(lex_type(x, &t));
  if (t && t->kind == IR_T_SCALAR && dtype_is_float(t->dtype)) {
    a->kind = IR_A_FLOAT;
    if (v.hex) {
      if (!fits(t->dtype, v)) return lex_error(x, at, "the number does not fit its type");
      uint64_t bits = (uint64_t)v.i;
      v.f = dtype_load(t->dtype, &bits, 0);
    }
    a->u.f = v.f;
  } else if (beyond) {
    return lex_error(x, at, "integer out of range");
  } else if (v.is_int && (!t || t->kind == IR_T_INDEX || (t->kind == IR_T_SCALAR && fits(t->dtype, v)))) {
    a->kind = IR_A_INT;
    a->u.i = t && t->kind == IR_T_SCALAR ? dtype_wrap(t->dtype, v.i) : v.i;
  } else if (!t) {
    a->kind = IR_A_FLOAT;
    a->u.f = v.f;
  } else {
    return lex_error(x, at, "the number does not fit its type");
  }
  return NULL;
}

tsr_status lex_attr(lexer *x, int depth, ir_attr **out) {
  if (depth > LEX_MAX_DEPTH) return lex_error(x, x->p, "attributes nested too deeply");
  ir_attr *a = arena_new(&x->m->arena, ir_attr);
  if (!a) return st_oom();
  *out = a;
  lex_skip(x);
  if (lex_peek(x, '"')) {
    a->kind = IR_A_STR;
    return lex_string(x, &a->u.s);
  }
  if (lex_eat(x, "unit")) return NULL;
  if (lex_eat(x, "true") || lex_eat(x, "false")) {
    a->kind = IR_A_BOOL;
    a->u.i = x->p[-1] == 'e' && x->p[-2] == 'u';
    return NULL;
  }
  if (lex_eat(x, "[")) return list(x, depth, a);
  if (lex_eat(x, "dense")) return dense(x, a);
  if (lex_eat(x, "#tessera.file")) return in_file(x, out);
  if (lex_at_number(x)) return number_attr(x, a);
  a->kind = IR_A_TYPE;
  return lex_peek(x, '(') ? function_type(x, depth, &a->u.type) : lex_type(x, &a->u.type);
}
