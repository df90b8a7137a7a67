/* core/llm/chat_value.c - see chat_parts.h: values and variables of chat templates, and the words of their text. */
#include "core/llm/chat_parts.h"

#include <string.h>

void chat_refuse(chat_state *c, const char *what, const char *which, size_t n) {
  int line = 1, column = 1;
  if (c->st) return;
  for (const char *p = c->q->template_text; p < c->at; p++) {
    column++;
    if (*p == '\n') line++, column = 1;
  }
  c->st = st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("chat template", NULL, NULL), "%s: %d:%d: %s \"%.*s\"", c->q->file,
                  line, column, what, (int)(n < 60 ? n : 60), which);
}

void chat_skip_blanks(chat_state *c) {
  while (c->at < c->end && strchr(" \t\r\n", *c->at)) c->at++;
}

static bool is_name(char ch, bool first) { return ch == '_' || (first ? ascii_letter(ch) : ascii_alnum(ch)); }

size_t chat_take_name(chat_state *c, const char **name) {
  chat_skip_blanks(c);
  const char *from = *name = c->at;
  while (c->at < c->end && is_name(*c->at, c->at == from)) c->at++;
  return (size_t)(c->at - from);
}

bool chat_take(chat_state *c, const char *sign) {
  const size_t n = strlen(sign);
  chat_skip_blanks(c);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, sign, n)) return false;
  if (is_name(*sign, true) && (size_t)(c->end - c->at) > n && is_name(c->at[n], false)) return false;
  c->at += n;
  return true;
}

static bool same(const char *var, const char *name, size_t n) { return strlen(var) == n && !memcmp(var, name, n); }

void chat_set(chat_state *c, const char *name, size_t n, chat_value v) {
  for (int i = 0; i < c->n_vars; i++)
    if (same(c->vars[i].name, name, n)) {
      c->vars[i].v = v;
      return;
    }
  char *copy = arena_strn(&c->a, name, n);
  if (c->n_vars == CHAT_MOST_VARIABLES || !copy) chat_refuse(c, "too many variables at", name, n);
  else c->vars[c->n_vars].name = copy, c->vars[c->n_vars++].v = v;
}

chat_value chat_get(const chat_state *c, const char *name, size_t n) {
  for (int i = 0; i < c->n_vars; i++)
    if (same(c->vars[i].name, name, n)) return c->vars[i].v;
  return (chat_value){.kind = CHAT_UNDEFINED};
}

bool chat_is_true(const chat_value *v) {
  switch (v->kind) {
  case CHAT_BOOL: case CHAT_INT: return v->i != 0;
  case CHAT_TEXT: return v->n > 0;
  case CHAT_LIST: return v->n > v->i;
  default: return chat_is_given(v);
  }
}

void chat_put(chat_state *c, strb *out, const chat_value *v) {
  switch (v->kind) {
  case CHAT_UNDEFINED: break;
  case CHAT_NONE: strb_puts(out, "None"); break;
  case CHAT_BOOL: strb_puts(out, v->i ? "True" : "False"); break;
  case CHAT_INT: strb_printf(out, "%lld", (long long)v->i); break;
  case CHAT_TEXT: strb_put(out, v->text, (size_t)v->n); break;
  default: chat_refuse(c, "a list or an object is written", "", 0);
  }
}
