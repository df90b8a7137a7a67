/* core/llm/chat_expr.c - see chat_parts.h: expressions of chat templates, from the loosest operator to the tightest.
 * Both sides of every operator are gone over: nothing that is left out could have had an effect. */
#include <stdio.h>
#include <string.h>

#include "core/llm/chat_parts.h"

static chat_value either(chat_state *c);

static chat_value text_value(const char *p, size_t n) {
  return (chat_value){.kind = CHAT_TEXT, .text = p, .n = (int64_t)n};
}

static chat_value int_value(int64_t i) { return (chat_value){.kind = CHAT_INT, .i = i}; }

static bool is_word(const char *name, size_t n, const char *word) {
  return strlen(word) == n && !memcmp(name, word, n);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static chat_value trimmed(chat_value v, bool left, bool right) {
  while (left && v.n && strchr(" \t\r\n\v\f", *v.text)) v.text++, v.n--;
  while (right && v.n && strchr(" \t\r\n\v\f", v.text[v.n - 1])) v.n--;
  return v;
}

static chat_value cased(chat_state *c, chat_value v, bool upper) {
  char *p = arena_strn(&c->a, v.text, (size_t)v.n);
  for (int64_t i = 0; p && i < v.n; i++)
    if (ascii_letter(p[i])) p[i] = (char)(upper ? p[i] & ~0x20 : p[i] | 0x20);
  if (p) v.text = p;
  else chat_refuse(c, "out of memory at", "", 0);
  return v;
}

/* What fn writes, as a text of the arena. */
static chat_value joined(chat_state *c, const chat_value *x, const chat_value *y, bool json) {
  strb b;
  strb_init(&b, NULL);
  if (json) {
    char *zero = arena_strn(&c->a, x->text, (size_t)x->n);
    if (zero) strb_json(&b, zero);
  } else {
    chat_put(c, &b, x);
    if (y) chat_put(c, &b, y);
  }
  char *p = strb_ok(&b) ? arena_strn(&c->a, strb_text(&b), b.n) : NULL;
  const size_t n = b.n;
  strb_clear(&b);
  if (!p) chat_refuse(c, "out of memory at", "", 0);
  return text_value(p ? p : "", p ? n : 0);
}

static bool contains(const chat_value *in, const chat_value *x) {
  for (int64_t i = 0; i + x->n <= in->n; i++)
    if (!memcmp(in->text + i, x->text, (size_t)x->n)) return true;
  return false;
}

static bool equal(const chat_value *x, const chat_value *y) {
  if (x->kind != y->kind) return !chat_is_given(x) && !chat_is_given(y);
  if (x->kind == CHAT_TEXT) return x->n == y->n && !memcmp(x->text, y->text, (size_t)x->n);
  return x->i == y->i && (x->kind != CHAT_LIST || x->n == y->n);
}

/* ---- what follows a value ---------------------------------------------------------------------------------------- */

static chat_value message_member(const chat_state *c, const chat_value *v, const char *name, size_t n) {
  const chat_message *m = &c->q->messages[v->i];
  if (is_word(name, n, "role")) return text_value(m->role, strlen(m->role));
  if (is_word(name, n, "content")) return text_value(m->content, strlen(m->content));
  return (chat_value){.kind = CHAT_UNDEFINED};
}

static chat_value loop_member(const chat_value *v, const char *name, size_t n) {
  if (is_word(name, n, "first")) return chat_bool(v->i == 0);
  if (is_word(name, n, "last")) return chat_bool(v->i + 1 == v->n);
  if (is_word(name, n, "index0")) return int_value(v->i);
  if (is_word(name, n, "index")) return int_value(v->i + 1);
  if (is_word(name, n, "length")) return int_value(v->n);
  return (chat_value){.kind = CHAT_UNDEFINED};
}

static chat_value member(chat_state *c, const chat_value *v, const char *name, size_t n) {
  char full[128];
  if (v->kind == CHAT_MESSAGE) return message_member(c, v, name, n);
  if (v->kind == CHAT_LOOP) return loop_member(v, name, n);
  if (v->kind == CHAT_NAMESPACE && strlen(v->text) + n + 1 < sizeof full) {
    const int all = snprintf(full, sizeof full, "%s.%.*s", v->text, (int)n, name);
    return chat_get(c, full, (size_t)all);
  }
  return (chat_value){.kind = CHAT_UNDEFINED};
}

static chat_value method(chat_state *c, chat_value v, const char *name, size_t n) {
  chat_value x = {.kind = CHAT_UNDEFINED};
  const bool argument = !chat_take(c, ")");
  if (argument) x = chat_expression(c);
  if (argument && !chat_take(c, ")")) chat_refuse(c, "arguments are not read of", name, n);
  const bool text = v.kind == CHAT_TEXT, with_text = text && x.kind == CHAT_TEXT;
  if (text && !argument && is_word(name, n, "strip")) return trimmed(v, true, true);
  if (text && !argument && is_word(name, n, "lstrip")) return trimmed(v, true, false);
  if (text && !argument && is_word(name, n, "rstrip")) return trimmed(v, false, true);
  if (text && !argument && is_word(name, n, "upper")) return cased(c, v, true);
  if (text && !argument && is_word(name, n, "lower")) return cased(c, v, false);
  if (with_text && is_word(name, n, "startswith"))
    return chat_bool(v.n >= x.n && !memcmp(v.text, x.text, (size_t)x.n));
  if (with_text && is_word(name, n, "endswith"))
    return chat_bool(v.n >= x.n && !memcmp(v.text + v.n - x.n, x.text, (size_t)x.n));
  chat_refuse(c, "an unknown method", name, n);
  return v;
}

static int64_t from_end(int64_t i, int64_t n) { return i < 0 ? i + n : i; }
static int64_t inside(int64_t i, int64_t n) { return i < 0 ? 0 : i > n ? n : i; }

/* Behind "[". */
static chat_value item(chat_state *c, chat_value v) {
  const int64_t n = v.kind == CHAT_LIST ? v.n - v.i : 0;
  chat_value low = int_value(0), high = int_value(n);
  const bool no_low = chat_take(c, ":");
  if (!no_low) low = chat_expression(c);
  const bool part = no_low || chat_take(c, ":");
  if (part && !chat_take(c, "]")) {
    high = chat_expression(c);
    if (!chat_take(c, "]")) chat_refuse(c, "a part that is not read", "", 0);
  } else if (!part && !chat_take(c, "]")) chat_refuse(c, "an index without its end", "", 0);
  if (!part && low.kind == CHAT_TEXT) return member(c, &v, low.text, (size_t)low.n);
  if (low.kind != CHAT_INT || high.kind != CHAT_INT || v.kind != CHAT_LIST) {
    if (chat_is_given(&v)) chat_refuse(c, "an index that is not read", "", 0);
    return (chat_value){.kind = CHAT_UNDEFINED};
  }
  const int64_t first = from_end(low.i, n), last = inside(from_end(high.i, n), n);
  if (part) {
    const int64_t from = inside(first, n);
    return (chat_value){.kind = CHAT_LIST, .i = v.i + from, .n = v.i + (last > from ? last : from)};
  }
  if (first < 0 || first >= n) return (chat_value){.kind = CHAT_UNDEFINED};
  return (chat_value){.kind = CHAT_MESSAGE, .i = v.i + first};
}

static chat_value filter(chat_state *c, chat_value v) {
  const char *name;
  const size_t n = chat_take_name(c, &name);
  const bool text = v.kind == CHAT_TEXT;
  chat_value other = {.kind = CHAT_UNDEFINED};
  if (chat_take(c, "(") && !chat_take(c, ")")) {
    other = chat_expression(c);
    if (!chat_take(c, ")")) chat_refuse(c, "arguments are not read of", name, n);
  }
  if (text && is_word(name, n, "trim")) return trimmed(v, true, true);
  if (text && is_word(name, n, "upper")) return cased(c, v, true);
  if (text && is_word(name, n, "lower")) return cased(c, v, false);
  if (text && is_word(name, n, "tojson")) return joined(c, &v, NULL, true);
  if (is_word(name, n, "string")) return joined(c, &v, NULL, false);
  if (is_word(name, n, "default")) return v.kind == CHAT_UNDEFINED ? other : v;
  if (is_word(name, n, "length") && (text || v.kind == CHAT_LIST)) return int_value(text ? v.n : v.n - v.i);
  chat_refuse(c, "an unknown filter", name, n);
  return v;
}

static chat_value behind(chat_state *c, chat_value v) {
  const char *name;
  while (!c->st) {
    if (chat_take(c, ".")) {
      const size_t n = chat_take_name(c, &name);
      v = chat_take(c, "(") ? method(c, v, name, n) : member(c, &v, name, n);
    } else if (chat_take(c, "[")) v = item(c, v);
    else if (chat_take(c, "|")) v = filter(c, v);
    else break;
  }
  return v;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static chat_value take_text(chat_state *c, char quote) {
  strb b;
  strb_init(&b, NULL);
  while (c->at < c->end && *c->at != quote) {
    char ch = *c->at++;
    if (ch == '\\' && c->at < c->end) {
      ch = *c->at++;
      ch = (char)(ch == 'n' ? '\n' : ch == 't' ? '\t' : ch == 'r' ? '\r' : ch);
    }
    strb_putc(&b, ch);
  }
  if (c->at == c->end) chat_refuse(c, "a text without its end", "", 0);
  else c->at++;
  const chat_value v = text_value(strb_text(&b), b.n), kept = joined(c, &v, NULL, false);
  strb_clear(&b);
  return kept;
}

static chat_value call(chat_state *c, const char *name, size_t n) {
  if (is_word(name, n, "raise_exception")) {
    const chat_value v = chat_expression(c);
    if (!c->st)
      c->st = st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("chat template", NULL, NULL), "%s: the template says: %.*s",
                      c->q->file, v.kind == CHAT_TEXT ? (int)v.n : 0, v.kind == CHAT_TEXT ? v.text : "");
  } else chat_refuse(c, "an unknown function", name, n);
  return (chat_value){.kind = CHAT_UNDEFINED};
}

static chat_value named(chat_state *c) {
  const char *name;
  const size_t n = chat_take_name(c, &name);
  if (!n) chat_refuse(c, "no value at", c->at, c->at < c->end);
  if (is_word(name, n, "true") || is_word(name, n, "True")) return chat_bool(true);
  if (is_word(name, n, "false") || is_word(name, n, "False")) return chat_bool(false);
  if (is_word(name, n, "none") || is_word(name, n, "None")) return (chat_value){.kind = CHAT_NONE};
  return c->at < c->end && *c->at == '(' ? (c->at++, call(c, name, n)) : chat_get(c, name, n);
}

static chat_value value(chat_state *c) {
  chat_value v = {.kind = CHAT_INT};
  chat_skip_blanks(c);
  const char ch = c->at < c->end ? *c->at : 0;
  if (++c->depth > CHAT_MOST_DEPTH) chat_refuse(c, "too deep an expression", "", 0);
  if (c->st) return c->depth--, v;
  if (ch == '\'' || ch == '"') c->at++, v = take_text(c, ch);
  else if (ch == '(') {
    c->at++;
    v = chat_expression(c);
    if (!chat_take(c, ")")) chat_refuse(c, "a parenthesis without its end", "", 0);
  } else if (ch == '-') c->at++, v = value(c), v.i = -v.i;
  else if (ascii_digit(ch))
    for (; c->at < c->end && ascii_digit(*c->at) && v.i < 1000000000; c->at++) v.i = v.i * 10 + (*c->at - '0');
  else v = named(c);
  c->depth--;
  return behind(c, v);
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static chat_value arithmetic(chat_state *c, char sign, const chat_value *x, const chat_value *y) {
  if (x->kind == CHAT_INT && y->kind == CHAT_INT && sign != '~') {
    if (sign == '%') return int_value(y->i ? ((x->i % y->i) + y->i) % y->i : 0);
    if (x->i > 1000000000 || x->i < -1000000000) return *x;
    return int_value(sign == '+' ? x->i + y->i : sign == '-' ? x->i - y->i : x->i * y->i);
  }
  if (sign == '~' || (sign == '+' && x->kind == CHAT_TEXT && y->kind == CHAT_TEXT)) return joined(c, x, y, false);
  chat_refuse(c, "values that don't go with", &sign, 1);
  return *x;
}

static bool at_sign(chat_state *c, const char *signs, char *sign) {
  chat_skip_blanks(c);
  if (c->at >= c->end || !strchr(signs, *c->at)) return false;
  /* The block's end: -}}, %} or -%}. */
  if (c->end - c->at > 1 && (c->at[1] == '}' || (*c->at == '-' && c->at[1] == '%'))) return false;
  *sign = *c->at++;
  return true;
}

static chat_value factor(chat_state *c) {
  chat_value v = value(c);
  char sign;
  while (!c->st && at_sign(c, "*%", &sign)) {
    const chat_value y = value(c);
    v = arithmetic(c, sign, &v, &y);
  }
  return v;
}

static chat_value sum(chat_state *c) {
  chat_value v = factor(c);
  char sign;
  while (!c->st && at_sign(c, "+-~", &sign)) {
    const chat_value y = factor(c);
    v = arithmetic(c, sign, &v, &y);
  }
  return v;
}

static chat_value test(chat_state *c, const chat_value *v) {
  const char *name;
  const bool negated = chat_take(c, "not");
  const size_t n = chat_take_name(c, &name);
  static const struct { const char *name; unsigned kinds; } tests[] = {
      {"defined", ~(1u << CHAT_UNDEFINED)}, {"undefined", 1u << CHAT_UNDEFINED}, {"none", 1u << CHAT_NONE},
      {"string", 1u << CHAT_TEXT}, {"number", 1u << CHAT_INT}, {"mapping", 1u << CHAT_MESSAGE},
      {"iterable", 1u << CHAT_LIST | 1u << CHAT_TEXT}};
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
    if (is_word(name, n, tests[i].name)) return chat_bool((tests[i].kinds >> v->kind & 1) != negated);
  chat_refuse(c, "an unknown test", name, n);
  return *v;
}

static bool is_in(chat_state *c, const chat_value *x, const chat_value *in) {
  if (x->kind == CHAT_TEXT && in->kind == CHAT_TEXT) return contains(in, x);
  if (x->kind == CHAT_TEXT && in->kind == CHAT_MESSAGE)
    return member(c, in, x->text, (size_t)x->n).kind != CHAT_UNDEFINED;
  if (chat_is_given(in)) chat_refuse(c, "values that don't go with", "in", 2);
  return false;
}

static chat_value comparison(chat_state *c) {
  chat_value v = sum(c), y;
  while (!c->st) {
    if (chat_take(c, "==")) y = sum(c), v = chat_bool(equal(&v, &y));
    else if (chat_take(c, "!=")) y = sum(c), v = chat_bool(!equal(&v, &y));
    else if (chat_take(c, "<=")) y = sum(c), v = chat_bool(v.i <= y.i);
    else if (chat_take(c, ">=")) y = sum(c), v = chat_bool(v.i >= y.i);
    else if (chat_take(c, "<")) y = sum(c), v = chat_bool(v.i < y.i);
    else if (chat_take(c, ">")) y = sum(c), v = chat_bool(v.i > y.i);
    else if (chat_take(c, "is")) v = test(c, &v);
    else if (chat_take(c, "in")) y = sum(c), v = chat_bool(is_in(c, &v, &y));
    else if (chat_take(c, "not")) {
      if (!chat_take(c, "in")) chat_refuse(c, "\"not\" without", "in", 2);
      y = sum(c), v = chat_bool(!is_in(c, &v, &y));
    } else break;
  }
  return v;
}

static chat_value negation(chat_state *c) {
  int n = 0;
  while (chat_take(c, "not")) n++;
  const chat_value v = comparison(c);
  return n ? chat_bool(chat_is_true(&v) != n % 2) : v;
}

static chat_value both(chat_state *c) {
  chat_value v = negation(c);
  while (!c->st && chat_take(c, "and")) {
    const chat_value y = negation(c);
    if (chat_is_true(&v)) v = y;
  }
  return v;
}

static chat_value either(chat_state *c) {
  chat_value v = both(c);
  while (!c->st && chat_take(c, "or")) {
    const chat_value y = both(c);
    if (!chat_is_true(&v)) v = y;
  }
  return v;
}

chat_value chat_expression(chat_state *c) {
  chat_value v = either(c);
  if (c->st || !chat_take(c, "if")) return v;
  const chat_value is = either(c);
  chat_value other = {.kind = CHAT_UNDEFINED};
  if (chat_take(c, "else")) other = chat_expression(c);
  return chat_is_true(&is) ? v : other;
}
