/* core/llm/pattern.c - see pattern.h. A pattern is a graph of nodes, each of which knows what comes after it; matching
 * goes along it and comes back to the last choice when it fails. Repeated sets are loops, so that recursion is as deep
 * as the pattern is long, and no deeper where the text is long. */
#include "core/llm/pattern.h"

#include <string.h>

#include "core/base/str.h"
#include "core/llm/unicode.h"

enum { MOST_ITEMS = 32, MOST_ALTERNATIVES = 32, NO_END = INT32_MAX };

/* A range of code points, or classes: a bit for each unicode_class, or white space. */
typedef struct set_item {
  enum { ITEM_RANGE, ITEM_CLASSES, ITEM_SPACE } kind;
  bool negated;
  uint32_t from, to;
} set_item;

typedef enum node_kind { NODE_SET, NODE_ALTERNATIVES, NODE_LOOK, NODE_END } node_kind;

typedef struct node {
  node_kind kind;
  struct node *next;
  bool negated;               /* set: none of the items; look: must not match */
  bool possessive, fold_case;
  int32_t least, most;        /* how often */
  set_item *items;
  int n;                      /* items or alternatives */
  struct node **alternatives; /* look: one */
} node;

struct pattern {
  node *first;
};

typedef struct parser {
  arena *a;
  const char *text, *at;
  bool fold_case;
} parser;

static tsr_status parse_alternatives(parser *p, node **out);

static tsr_status refused(const parser *p, const char *what) {
  return st_make(&p->a->al, TSR_UNSUPPORTED, ST_WHERE("tokenizer", NULL, NULL),
                 "%s at character %d of the pre-tokenization rule %s", what, (int)(p->at - p->text) + 1, p->text);
}

static node *new_node(parser *p, node_kind kind) {
  node *n = arena_new(p->a, node);
  if (n) n->kind = kind, n->least = n->most = 1, n->fold_case = p->fold_case;
  return n;
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

/* \p{NAME}: bits of unicode_class. */
static uint32_t classes_of(const char *name, size_t n) {
  enum { L = 1 << UNICODE_UPPER | 1 << UNICODE_LOWER | 1 << UNICODE_LETTER };
  static const struct {
    const char *name;
    uint32_t bits;
  } rows[] = {{"L", L},
              {"Lu", 1 << UNICODE_UPPER},
              {"Lt", 1 << UNICODE_UPPER}, /* 31 letters, which rules name beside Lu */
              {"Ll", 1 << UNICODE_LOWER},
              {"Lm", 1 << UNICODE_LETTER},
              {"Lo", 1 << UNICODE_LETTER},
              {"M", 1 << UNICODE_MARK},
              {"N", 1 << UNICODE_NUMBER},
              {"P", 1 << UNICODE_PUNCTUATION},
              {"S", 1 << UNICODE_SYMBOL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strlen(rows[i].name) == n && !memcmp(rows[i].name, name, n)) return rows[i].bits;
  return 0;
}

static uint32_t take_code_point(parser *p) {
  int bytes;
  const uint32_t c = unicode_decode(p->at, strlen(p->at), &bytes);
  p->at += bytes;
  return c;
}

/* Behind a backslash. */
static tsr_status take_escape(parser *p, set_item *out) {
  const char c = *p->at;
  *out = (set_item){.kind = ITEM_RANGE};
  if (c == 's' || c == 'S') *out = (set_item){.kind = ITEM_SPACE, .negated = c == 'S'};
  else if (c == 'd') out->from = '0', out->to = '9';
  else if (c == 'r') out->from = out->to = '\r';
  else if (c == 'n') out->from = out->to = '\n';
  else if (c == 't') out->from = out->to = '\t';
  else if (c == 'p' || c == 'P') {
    const char *end = p->at[1] == '{' ? strchr(p->at, '}') : NULL;
    const uint32_t bits = end ? classes_of(p->at + 2, (size_t)(end - p->at) - 2) : 0;
    if (!bits) return refused(p, "an unknown class");
    *out = (set_item){.kind = ITEM_CLASSES, .negated = c == 'P', .from = bits};
    p->at = end;
  } else if (!c || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
    return refused(p, "an unknown escape");
  else out->from = out->to = (unsigned char)c;
  p->at++;
  return NULL;
}

static tsr_status take_item(parser *p, set_item *out) {
  if (*p->at == '\\') return p->at++, take_escape(p, out);
  *out = (set_item){.kind = ITEM_RANGE};
  out->from = out->to = take_code_point(p);
  return NULL;
}

static tsr_status take_set(parser *p, node **out) {
  set_item items[MOST_ITEMS];
  node *n = *out = new_node(p, NODE_SET);
  if (!n) return st_oom();
  if (*p->at == '^') p->at++, n->negated = true;
  while (*p->at != ']') {
    if (!*p->at || n->n == MOST_ITEMS) return refused(p, *p->at ? "a set that is too long" : "a set without its end");
    set_item *i = &items[n->n++], end;
    TSR_TRY(take_item(p, i));
    if (i->kind != ITEM_RANGE || p->at[0] != '-' || p->at[1] == ']') continue;
    p->at++;
    TSR_TRY(take_item(p, &end));
    if (end.kind != ITEM_RANGE || end.from < i->from) return refused(p, "a range that is none");
    i->to = end.from;
  }
  p->at++;
  n->items = arena_dup(p->a, items, (size_t)n->n * sizeof *items);
  return n->items || !n->n ? NULL : st_oom();
}

static bool in_item(const set_item *i, uint32_t c) {
  bool is = false;
  if (i->kind == ITEM_RANGE) is = c >= i->from && c <= i->to;
  else if (i->kind == ITEM_SPACE) is = unicode_is_space(c);
  else is = i->from >> unicode_class_of(c) & 1;
  return is != i->negated;
}

static bool in_set(const node *n, uint32_t c) {
  const uint32_t other = ascii_letter((char)(c < 128 ? c : 0)) ? c ^ 0x20 : c;
  for (int i = 0; i < n->n; i++)
    if (in_item(&n->items[i], c) || (n->fold_case && in_item(&n->items[i], other))) return !n->negated;
  return n->negated;
}

/* ---- the rest of the syntax -------------------------------------------------------------------------------------- */

/* Behind an opening parenthesis. */
static tsr_status take_group(parser *p, node **out) {
  const bool fold_case = p->fold_case;
  bool look = false, negated = false;
  if (*p->at == '?') {
    const char c = p->at[1];
    if (c == 'i' && p->at[2] == ':') p->fold_case = true, p->at++;
    else if (c == '!' || c == '=') look = true, negated = c == '!';
    else if (c != ':') return refused(p, "an unknown group");
    p->at += 2;
  }
  TSR_TRY(parse_alternatives(p, out));
  if (*p->at != ')') return refused(p, "a group without its end");
  p->at++;
  p->fold_case = fold_case;
  if (look) (*out)->kind = NODE_LOOK, (*out)->negated = negated;
  return NULL;
}

static bool take_number(parser *p, int32_t *out) {
  int32_t v = 0;
  const char *from = p->at;
  for (; ascii_digit(*p->at) && v < 1000; p->at++) v = v * 10 + (*p->at - '0');
  *out = v;
  return p->at > from && v < 1000;
}

static tsr_status take_quantifier(parser *p, node *n) {
  const char *from = p->at;
  if (*p->at == '?') n->least = 0;
  else if (*p->at == '*') n->least = 0, n->most = NO_END;
  else if (*p->at == '+') n->most = NO_END;
  else if (*p->at == '{') {
    p->at++;
    if (!take_number(p, &n->least)) return refused(p, "no number of times");
    n->most = n->least;
    if (*p->at == ',') {
      p->at++;
      if (*p->at == '}') n->most = NO_END;
      else if (!take_number(p, &n->most) || n->most < n->least) return refused(p, "no number of times");
    }
    if (*p->at != '}') return refused(p, "no number of times");
  } else return NULL;
  p->at++;
  if (*p->at == '+') p->at++, n->possessive = true;
  else if (*p->at == '?') return refused(p, "a quantifier that isn't greedy");
  if (n->kind != NODE_SET && (n->kind == NODE_LOOK || n->most != 1 || n->possessive)) {
    p->at = from;
    return refused(p, "a repeated group");
  }
  return NULL;
}

static tsr_status take_atom(parser *p, node **out) {
  set_item item;
  if (*p->at == '(') p->at++, *out = NULL;
  else if (*p->at == '[') return p->at++, take_set(p, out);
  else if (strchr("?*+{}.^$", *p->at)) return refused(p, "an unknown operator");
  else {
    TSR_TRY(take_item(p, &item));
    node *n = *out = new_node(p, NODE_SET);
    n ? (void)(n->items = arena_dup(p->a, &item, sizeof item)) : (void)0;
    if (!n || !n->items) return st_oom();
    n->n = 1;
    return NULL;
  }
  return take_group(p, out);
}

static tsr_status parse_sequence(parser *p, node **out) {
  node **end = out;
  *out = NULL;
  while (*p->at && *p->at != '|' && *p->at != ')') {
    TSR_TRY(take_atom(p, end));
    TSR_TRY(take_quantifier(p, *end));
    end = &(*end)->next;
  }
  return NULL;
}

static tsr_status parse_alternatives(parser *p, node **out) {
  node *found[MOST_ALTERNATIVES], *n = *out = new_node(p, NODE_ALTERNATIVES);
  if (!n) return st_oom();
  for (;;) {
    if (n->n == MOST_ALTERNATIVES) return refused(p, "too many alternatives");
    TSR_TRY(parse_sequence(p, &found[n->n++]));
    if (*p->at != '|') break;
    p->at++;
  }
  n->alternatives = arena_dup(p->a, found, (size_t)n->n * sizeof *found);
  return n->alternatives ? NULL : st_oom();
}

/* Each node of a sequence gets the one behind it, the last of them `after`; gives the first. */
static node *thread(node *first, node *after, node *end) {
  if (!first) return after;
  first->next = thread(first->next, after, end);
  for (int i = 0; first->kind != NODE_SET && i < first->n; i++)
    first->alternatives[i] = thread(first->alternatives[i], first->kind == NODE_LOOK ? end : first->next, end);
  return first;
}

tsr_status pattern_make(arena *a, const char *text, pattern **out) {
  parser p = {.a = a, .text = text, .at = text};
  pattern *made = *out = arena_new(a, pattern);
  node *end = new_node(&p, NODE_END), *first;
  if (!made || !end) return st_oom();
  TSR_TRY(parse_alternatives(&p, &first));
  if (*p.at) return refused(&p, "a parenthesis without its beginning");
  made->first = thread(first, end, end);
  return NULL;
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

/* Where the match ends; -1: there is none. */
static int64_t run(const node *n, const uint32_t *text, int64_t size, int64_t at);

static int64_t run_set(const node *n, const uint32_t *text, int64_t size, int64_t at) {
  int64_t count = 0;
  while (count < n->most && at + count < size && in_set(n, text[at + count])) count++;
  for (; count >= n->least; count--) {
    const int64_t end = run(n->next, text, size, at + count);
    if (end >= 0 || n->possessive) return end;
  }
  return -1;
}

static int64_t run(const node *n, const uint32_t *text, int64_t size, int64_t at) {
  int64_t end;
  switch (n->kind) {
  case NODE_END: return at;
  case NODE_SET: return run_set(n, text, size, at);
  case NODE_LOOK:
    end = -1;
    for (int i = 0; end < 0 && i < n->n; i++) end = run(n->alternatives[i], text, size, at);
    return (end >= 0) == n->negated ? -1 : run(n->next, text, size, at);
  case NODE_ALTERNATIVES:
    for (int i = 0; i < n->n; i++)
      if ((end = run(n->alternatives[i], text, size, at)) >= 0) return end;
    return n->least ? -1 : run(n->next, text, size, at);
  }
  return -1;
}

int64_t pattern_match(const pattern *p, const uint32_t *text, int64_t n, int64_t at) {
  const int64_t end = run(p->first, text, n, at);
  return end < 0 ? -1 : end - at;
}
