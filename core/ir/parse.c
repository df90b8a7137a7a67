/* core/ir/parse.c - operations from text in MLIR's generic form.
 * Input: the whole text; output: a verified module. A value must be defined before its use; names are scoped by region.
 */
#include <string.h>

#include "core/base/hash.h"
#include "core/ir/lex.h"
#include "core/ir/shard.h"

typedef struct binding {
  const char *name;
  ir_value *value;
  size_t shadowed; /* index + 1 of the binding with the same bucket below, 0 = none */
  uint64_t hash;
} binding;

enum { MAX_RESULTS = 4096 };

typedef struct parser {
  lexer x;
  binding *scope;
  size_t n_scope, cap_scope;
  size_t *buckets, n_buckets; /* index + 1 of the newest binding; as many as there are bindings, or more */
  ir_block *implicit;        /* where undefined values become arguments; NULL = they are errors */
} parser;

static void link_binding(parser *p, size_t i) {
  size_t *bucket = &p->buckets[p->scope[i].hash & (p->n_buckets - 1)];
  p->scope[i].shadowed = *bucket;
  *bucket = i + 1;
}

static tsr_status grow_buckets(parser *p) {
  size_t n = p->n_buckets ? 2 * p->n_buckets : 256;
  size_t *v = al_zalloc(p->x.al, n * sizeof *v);
  if (!v) {
    p->n_scope--;
    return st_oom();
  }
  al_free_array(p->x.al, p->buckets, p->n_buckets);
  p->buckets = v;
  p->n_buckets = n;
  for (size_t i = 0; i < p->n_scope; i++) link_binding(p, i);
  return NULL;
}

static tsr_status bind(parser *p, const char *name, ir_value *v) {
  if (!al_grow(p->x.al, &p->scope, &p->cap_scope, p->n_scope + 1, sizeof *p->scope)) return st_oom();
  p->scope[p->n_scope] = (binding){name, v, 0, hash_mix(hash_str(HASH_SEED, name))};
  p->n_scope++;
  if (p->n_scope > p->n_buckets) return grow_buckets(p);
  link_binding(p, p->n_scope - 1);
  return NULL;
}

static void unbind_to(parser *p, size_t n) {
  while (p->n_scope > n) {
    binding *b = &p->scope[--p->n_scope];
    p->buckets[b->hash & (p->n_buckets - 1)] = b->shadowed;
  }
}

static ir_value *lookup(parser *p, const char *name, size_t from) {
  if (!p->n_buckets) return NULL;
  uint64_t h = hash_mix(hash_str(HASH_SEED, name));
  for (size_t i = p->buckets[h & (p->n_buckets - 1)]; i > from; i = p->scope[i - 1].shadowed)
    if (p->scope[i - 1].hash == h && !strcmp(p->scope[i - 1].name, name)) return p->scope[i - 1].value;
  return NULL;
}

/* Numbered names are the printer's to give. */
static const char *kept_name(const char *name) { return name[0] >= '0' && name[0] <= '9' ? NULL : name; }

/* %name or %name#k; the binding of a result of several is stored under "name#k". */
static tsr_status value_name(parser *p, const char **out) {
  lexer *x = &p->x;
  if (!lex_peek(x, '%')) return lex_error(x, x->p, "expected a value (%%name)");
  const char *at = x->p++;
  TSR_TRY(lex_ident(x, true, out));
  if (!kept_name(*out) && (*out)[strspn(*out, "0123456789")])
    return lex_error(x, at, "a name that begins with a digit is a number");
  if (x->p < x->end && *x->p == '#') {
    x->p++;
    int64_t k;
    TSR_TRY(lex_int(x, &k));
    *out = arena_fmt(&x->m->arena, "%s#%lld", *out, (long long)k);
    if (!*out) return st_oom();
  }
  return NULL;
}

typedef struct name_list {
  const char **v;
  const char **at; /* position in the text */
  int64_t *count;  /* results: how many values the name stands for */
  int n, cap;
} name_list;

static bool name_push(parser *p, name_list *l, const char *name, const char *at, int64_t count) {
  if (l->n == l->cap) {
    int cap = l->cap ? 2 * l->cap : 8;
    arena *a = &p->x.m->arena;
    name_list g = {arena_array(a, const char *, cap), arena_array(a, const char *, cap), arena_array(a, int64_t, cap),
                   l->n, cap};
    if (!g.v || !g.at || !g.count) return false;
    for (int i = 0; i < l->n; i++) g.v[i] = l->v[i], g.at[i] = l->at[i], g.count[i] = l->count[i];
    *l = g;
  }
  l->v[l->n] = name;
  l->at[l->n] = at;
  l->count[l->n++] = count;
  return true;
}

/* Layouts are of what functions of Graph IR take and give. */
static tsr_status check_layout(parser *p, const char *at, const ir_block *b, const lex_placement *where) {
  const ir_opdef *around = b && b->parent ? b->parent->def : NULL;
  if (!where->layout || (around && around->level == IR_GRAPH && around->flags & IR_ISOLATED)) return NULL;
  return lex_error(&p->x, at, "only inputs and results of functions of Graph IR have a layout");
}

static tsr_status parse_op(parser *p, ir_builder *b, int depth);

static tsr_status parse_region(parser *p, ir_block *block, int depth) {
  lexer *x = &p->x;
  size_t mark = p->n_scope;
  ir_builder b = ir_at_end(x->m, block);
  if (depth > LEX_MAX_DEPTH) return lex_error(x, x->p, "regions nested too deeply");
  TSR_TRY(lex_expect(x, "{"));
  if (lex_peek(x, '^')) {
    const char *label;
    x->p++;
    TSR_TRY(lex_ident(x, true, &label));
    if (lex_eat(x, "(") && !lex_eat(x, ")")) {
      do {
        lex_skip(x);
        const char *name, *at = x->p;
        const ir_type *type;
        lex_placement where;
        TSR_TRY(value_name(p, &name));
        TSR_TRY(lex_expect(x, ":"));
        TSR_TRY(lex_value_type(x, &type, &where));
        TSR_TRY(check_layout(p, at, block, &where));
        if (lookup(p, name, mark)) return lex_error(x, at, "%%%s is defined twice", name);
        ir_value *v = ir_block_arg(x->m, block, type, kept_name(name));
        if (!v) return st_oom();
        v->loc = lex_loc(x, at);
        v->shard = where.shard, v->layout = where.layout;
        TSR_TRY(bind(p, name, v));
      } while (lex_eat(x, ","));
      TSR_TRY(lex_expect(x, ")"));
    }
    TSR_TRY(lex_expect(x, ":"));
  }
  while (!lex_eat(x, "}")) {
    if (x->p == x->end) return lex_error(x, x->p, "expected '}', found the end of the text");
    if (*x->p == '^') return lex_error(x, x->p, "a region has one block here");
    TSR_TRY(parse_op(p, &b, depth));
  }
  unbind_to(p, mark);
  return NULL;
}

static tsr_status parse_attrs(parser *p, ir_op *op, const char *close) {
  lexer *x = &p->x;
  if (lex_eat(x, close)) return NULL;
  do {
    lex_skip(x);
    const char *name, *at = x->p;
    ir_attr *a = NULL;
    if (lex_peek(x, '"')) TSR_TRY(lex_string(x, &name));
    else TSR_TRY(lex_ident(x, false, &name));
    if (op->n_attrs == IR_MOST_ATTRS) return lex_error(x, at, "more than %d attributes", IR_MOST_ATTRS);
    if (ir_get_attr(op, name)) return lex_error(x, at, "attribute '%s' is given twice", name);
    if (lex_eat(x, "=")) TSR_TRY(lex_attr(x, 0, &a));
    else if (!(a = arena_new(&x->m->arena, ir_attr))) return st_oom();
    if (!ir_set_attr(op, name, a)) return st_oom();
  } while (lex_eat(x, ","));
  return lex_expect(x, close);
}

/* What is written behind a value's name. */
typedef struct value_type {
  const ir_type *type;
  lex_placement where;
} value_type;

static tsr_status parse_type_list(parser *p, value_type *types, int n, const char *what) {
  lexer *x = &p->x;
  const char *at = x->p;
  int i = 0;
  TSR_TRY(lex_expect(x, "("));
  if (!lex_eat(x, ")")) {
    do {
      value_type t;
      TSR_TRY(lex_value_type(x, &t.type, &t.where));
      if (i < n) types[i] = t;
      i++;
    } while (lex_eat(x, ","));
    TSR_TRY(lex_expect(x, ")"));
  }
  return i == n ? NULL : lex_error(x, at, "%d %s types for %d %ss", i, what, n, what);
}

/* `: (operand types) -> result types`; either may be left out as a whole. */
static tsr_status parse_signature(parser *p, value_type *operands, int n_operands, ir_op *op) {
  lexer *x = &p->x;
  if (!lex_eat(x, ":")) return NULL;
  TSR_TRY(parse_type_list(p, operands, n_operands, "operand"));
  TSR_TRY(lex_expect(x, "->"));
  const char *from = x->p;
  value_type *results = arena_array(&x->m->arena, value_type, op->n_results + 1);
  if (!results) return st_oom();
  if (lex_peek(x, '(')) {
    TSR_TRY(parse_type_list(p, results, op->n_results, "result"));
  } else {
    const char *at = x->p;
    TSR_TRY(lex_value_type(x, &results[0].type, &results[0].where));
    if (op->n_results != 1) return lex_error(x, at, "1 result type for %d results", op->n_results);
  }
  for (int i = 0; i < op->n_results; i++) {
    op->results[i]->type = results[i].type;
    TSR_TRY(check_layout(p, from, op->parent, &results[i].where));
    op->results[i]->shard = results[i].where.shard;
    op->results[i]->layout = results[i].where.layout;
  }
  return NULL;
}

/* Where an operand lies is said where it is defined; here it may be said again. */
static bool says_same(const char *here, const char *there) { return !here || (there && !strcmp(here, there)); }

static tsr_status resolve_operand(parser *p, ir_op *op, int i, const char *name, const char *at,
                                  value_type declared) {
  ir_value *v = lookup(p, name, 0);
  if (!v && p->implicit) {
    const ir_type *t = declared.type ? declared.type : op->def->implied ? op->def->implied(op, i) : NULL;
    if (!t) t = ir_type_get(p->x.m, &(ir_type){.kind = IR_T_NONE});
    if (!t || !(v = ir_block_arg(p->x.m, p->implicit, t, kept_name(name)))) return st_oom();
    v->loc = lex_loc(&p->x, at);
    TSR_TRY(bind(p, name, v));
  }
  if (!v) return lex_error(&p->x, at, "%%%s is not defined before this use", name);
  if (!says_same(declared.where.shard, v->shard))
    return lex_error(&p->x, at, "%%%s is sharded otherwise where it is defined than written here", name);
  if (!says_same(declared.where.layout, v->layout))
    return lex_error(&p->x, at, "%%%s lies otherwise in memory where it is defined than written here", name);
  if (declared.type && declared.type != v->type) {
    strb s;
    strb_init(&s, p->x.al);
    if (v->type) ir_type_print(&s, v->type);
    tsr_status st =
        lex_error(&p->x, at, "%%%s has type %s, not the one written here", name, v->type ? strb_text(&s) : "(unknown)");
    strb_clear(&s);
    return st;
  }
  op->operands[i] = v;
  v->n_uses++;
  return NULL;
}

static tsr_status parse_op(parser *p, ir_builder *b, int depth) {
  lexer *x = &p->x;
  name_list results = {0}, operands = {0};
  int64_t n_results = 0;
  if (lex_peek(x, '%')) {
    do {
      lex_skip(x);
      const char *name, *at = x->p;
      int64_t count = 1;
      TSR_TRY(value_name(p, &name));
      if (lex_eat(x, ":")) {
        TSR_TRY(lex_int(x, &count));
        if (count < 1 || count > MAX_RESULTS) return lex_error(x, at, "bad number of results");
      }
      if (!name_push(p, &results, name, at, count)) return st_oom();
      n_results += count;
    } while (lex_eat(x, ","));
    TSR_TRY(lex_expect(x, "="));
  }
  lex_skip(x);
  const char *name, *op_at = x->p;
  TSR_TRY(lex_string(x, &name));
  const ir_opdef *def = ir_find_op(name);
  if (!def) return lex_error(x, op_at, "unknown operation \"%s\" (`tessera ops` lists them)", name);
  TSR_TRY(lex_expect(x, "("));
  if (!lex_eat(x, ")")) {
    do {
      lex_skip(x);
      const char *operand, *at = x->p;
      TSR_TRY(value_name(p, &operand));
      if (!name_push(p, &operands, operand, at, 1)) return st_oom();
    } while (lex_eat(x, ","));
    TSR_TRY(lex_expect(x, ")"));
  }
  if (n_results == 0 && def->n_results > 0) n_results = def->n_results; /* results nobody names */
  if (n_results > MAX_RESULTS) return lex_error(x, op_at, "too many results");

  /* Operands are resolved after the attributes are known; a placeholder keeps the array valid until then. */
  ir_value placeholder = {0};
  value_type *declared = arena_array(&x->m->arena, value_type, operands.n + 1);
  ir_value **placeholders = arena_array(&x->m->arena, ir_value *, operands.n + 1);
  if (!declared || !placeholders) return st_oom();
  for (int i = 0; i < operands.n; i++) placeholders[i] = &placeholder;
  ir_op *op = ir_op_new(b, def, operands.n, placeholders, (int)n_results, NULL, 0);
  if (!op) return st_oom();
  op->loc = lex_loc(x, op_at);

  if (lex_eat(x, "<{")) TSR_TRY(parse_attrs(p, op, "}>"));
  if (lex_eat(x, "(")) {
    /* Regions see the operands' scope, so they are read before operand types: bind operands that exist now. */
    ir_block *blocks[8];
    int n = 0;
    do {
      if (n == 8) return lex_error(x, x->p, "too many regions");
      if (!(blocks[n] = arena_new(&x->m->arena, ir_block))) return st_oom();
      blocks[n]->parent = op;
      TSR_TRY(parse_region(p, blocks[n], depth + 1));
      n++;
    } while (lex_eat(x, ","));
    TSR_TRY(lex_expect(x, ")"));
    op->n_regions = n;
    if (!(op->regions = arena_dup(&x->m->arena, blocks, sizeof *blocks * (size_t)n))) return st_oom();
  }
  if (lex_eat(x, "{")) TSR_TRY(parse_attrs(p, op, "}"));
  TSR_TRY(parse_signature(p, declared, operands.n, op));
  for (int i = 0; i < operands.n; i++) TSR_TRY(resolve_operand(p, op, i, operands.v[i], operands.at[i], declared[i]));
  int r = 0;
  for (int i = 0; i < results.n; i++)
    for (int64_t k = 0; k < results.count[i]; k++, r++) {
      const char *bound = results.v[i];
      if (results.count[i] > 1 && !(bound = arena_fmt(&x->m->arena, "%s#%lld", bound, (long long)k))) return st_oom();
      if (!p->implicit && lookup(p, bound, 0)) return lex_error(x, results.at[i], "%%%s is defined twice", bound);
      if (n_results == 1) op->results[r]->name = kept_name(bound);
      TSR_TRY(bind(p, bound, op->results[r]));
    }
  /* Types left out are inferred now, since later operations may need them. */
  bool untyped = false;
  for (int i = 0; i < op->n_results; i++) untyped |= !op->results[i]->type;
  return untyped ? ir_verify_op(op) : NULL;
}

static tsr_status parse_all(parser *p) {
  lexer *x = &p->x;
  ir_module *m = x->m;
  TSR_TRY(lex_check_utf8(x));
  lex_skip(x);
  if (x->p == x->end) return lex_error(x, x->p, "expected an operation, found the end of the text");
  ir_builder top = {.m = m};
  const char *start = x->p;
  if (lex_eat(x, "\"builtin.module\"")) {
    x->p = start;
    /* Parsed into a scratch block, then made the root. */
    ir_block *holder = arena_new(&m->arena, ir_block);
    if (!holder) return st_oom();
    top.block = holder;
    TSR_TRY(parse_op(p, &top, 0));
    lex_skip(x);
    if (x->p != x->end) return lex_error(x, x->p, "expected the end of the text after the module");
    m->root = holder->first;
    m->root->parent = NULL;
    if (m->root->n_regions == 0) return lex_error(x, start, "builtin.module needs a region");
    return NULL;
  }
  bool nests = false; /* ops with regions stand for themselves; bare ones are a fragment */
  const char *open = memchr(x->p, '{', (size_t)(x->end - x->p));
  const char *paren = memchr(x->p, '(', (size_t)(x->end - x->p));
  if (open && paren) {
    const char *q = open;
    while (q > paren && q[-1] != '(' && (q[-1] == ' ' || q[-1] == '\n' || q[-1] == '\t')) q--;
    nests = q > paren && q[-1] == '(';
  }
  ir_builder at = ir_at_end(m, m->root->regions[0]);
  if (!nests) {
    ir_op *frag = ir_op_new(&at, ir_find_op("tessera.fragment"), 0, NULL, 0, NULL, 1);
    if (!frag) return st_oom();
    at = ir_at_end(m, frag->regions[0]);
    p->implicit = frag->regions[0];
  }
  while (lex_skip(x), x->p != x->end) TSR_TRY(parse_op(p, &at, 0));
  return NULL;
}

tsr_status ir_parse(const tsr_allocator *al, const char *text, size_t n, const char *file, ir_module **out) {
  ir_module *m = NULL;
  *out = NULL;
  TSR_TRY(ir_module_create(al, &m));
  tsr_status st = NULL;
  parser *p = al_new(&m->arena.al, parser);
  if (!p) {
    st = st_oom();
    goto done;
  }
  m->file = arena_str(&m->arena, file ? file : "<text>");
  p->x = (lexer){.text = text, .p = text, .end = text + n, .file = m->file, .m = m, .al = &m->arena.al};
  TSR_GOTO(parse_all(p));
  TSR_GOTO(ir_verify(m));
done:
  if (p) {
    al_free_array(&m->arena.al, p->scope, p->cap_scope);
    al_free_array(&m->arena.al, p->buckets, p->n_buckets);
    al_delete(&m->arena.al, p);
  }
  if (st) ir_module_destroy(&m);
  else *out = m;
  return st;
}
