/* core/llm/chat.c - see chat.h: the blocks of chat templates. As the programs that these templates are written for read
 * them, the line break behind a block's tag and the blanks before one at the beginning of a line are no text. */
#include "core/llm/chat.h"

#include <stdio.h>
#include <string.h>

#include "core/llm/chat_parts.h"

/* How a run of blocks ended. */
typedef enum block_end { END_TEXT, END_FOR, END_IF, END_ELSE, END_ELIF } block_end;

static block_end run(chat_state *c, bool active);

/* ---- text and tags ----------------------------------------------------------------------------------------------- */

/* The next "{{", "{%" or "{#"; the end: there is none. */
static const char *next_tag(const chat_state *c) {
  for (const char *p = c->at; p + 1 < c->end; p++)
    if (*p == '{' && strchr("{%#", p[1])) return p;
  return c->end;
}

static void put_text(chat_state *c, const char *to, bool active) {
  const char *from = c->at, *last = to;
  if (to < c->end && c->end - to > 2 && to[2] == '-')
    while (last > from && strchr(" \t\r\n", last[-1])) last--;
  else if (to < c->end && to[1] != '{') {
    const char *line = last;
    while (line > from && strchr(" \t", line[-1])) line--;
    if (line == c->q->template_text || line[-1] == '\n') last = line;
  }
  if (active) strb_put(c->out, from, (size_t)(last - from));
  c->at = to;
}

/* Behind "%}", "}}" or "#}"; with a "-" before it blanks go too. */
static void close_tag(chat_state *c, const char *sign) {
  chat_skip_blanks(c);
  const bool strips = c->at < c->end && *c->at == '-';
  if (strips) c->at++;
  if (c->end - c->at < 2 || memcmp(c->at, sign, 2)) {
    chat_refuse(c, "unexpected", c->at, (size_t)(c->end - c->at));
    return;
  }
  c->at += 2;
  if (strips) chat_skip_blanks(c);
  else if (*sign != '}' && c->at < c->end && *c->at == '\n') c->at++;
}

/* Of what isn't entered: to the tag's end, over texts in it. */
static void skip_tag(chat_state *c, const char *sign) {
  char quote = 0;
  for (; c->at + 1 < c->end; c->at++) {
    if (quote) {
      if (*c->at == '\\') c->at++;
      else if (*c->at == quote) quote = 0;
    } else if (*sign != '#' && (*c->at == '\'' || *c->at == '"')) quote = *c->at;
    else if (!memcmp(c->at, sign, 2)) {
      if (c->at[-1] == '-') c->at--;
      break;
    }
  }
  close_tag(c, sign);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static void expect(chat_state *c, block_end got, block_end want, const char *what) {
  if (!c->st && got != want) chat_refuse(c, "the template ends, or another block does, within", what, strlen(what));
}

static void run_if(chat_state *c, bool active) {
  bool done = false;
  for (bool last = false;;) {
    chat_value v = chat_bool(true);
    if (last) close_tag(c, "%}");
    else if (active && !done) v = chat_expression(c), close_tag(c, "%}");
    else skip_tag(c, "%}");
    const bool enter = active && !done && chat_is_true(&v);
    const block_end end = run(c, enter);
    done |= enter;
    if (c->st || end == END_IF) return;
    if (last || (end != END_ELSE && end != END_ELIF)) return expect(c, end, END_IF, "if");
    last = end == END_ELSE;
  }
}

static void run_for(chat_state *c, bool active) {
  const char *name;
  chat_value list = {.kind = CHAT_UNDEFINED};
  size_t n = 0;
  if (active) {
    n = chat_take_name(c, &name);
    if (!n || !chat_take(c, "in")) chat_refuse(c, "no \"for NAME in\"", "", 0);
    list = chat_expression(c);
    if (list.kind != CHAT_LIST && chat_is_given(&list)) chat_refuse(c, "a loop over what is no list", "", 0);
    close_tag(c, "%}");
  } else skip_tag(c, "%}");
  const char *begin = c->at;
  const chat_value outer = chat_get(c, "loop", 4);
  const int64_t turns = list.kind == CHAT_LIST ? list.n - list.i : 0;
  for (int64_t i = 0; i < turns && !c->st; i++) {
    c->at = begin;
    chat_set(c, name, n, (chat_value){.kind = CHAT_MESSAGE, .i = list.i + i});
    chat_set(c, "loop", 4, (chat_value){.kind = CHAT_LOOP, .i = i, .n = turns});
    expect(c, run(c, true), END_FOR, "for");
  }
  if (turns) chat_set(c, "loop", 4, outer);
  else expect(c, run(c, false), END_FOR, "for");
}

/* namespace(name = value, ..): variables "NAME.name". */
static void set_namespace(chat_state *c, const char *name, size_t n) {
  char full[128];
  const char *key;
  char *kept = arena_strn(&c->a, name, n);
  chat_set(c, name, n, (chat_value){.kind = CHAT_NAMESPACE, .text = kept ? kept : ""});
  while (!c->st && !chat_take(c, ")")) {
    const size_t k = chat_take_name(c, &key);
    if (!k || k + n + 2 > sizeof full || !chat_take(c, "="))
      return chat_refuse(c, "no \"name = value\" in", "namespace", 9);
    const int all = snprintf(full, sizeof full, "%.*s.%.*s", (int)n, name, (int)k, key);
    chat_set(c, full, (size_t)all, chat_expression(c));
    (void)chat_take(c, ",");
  }
}

static void run_set(chat_state *c) {
  const char *name;
  char full[128];
  size_t n = chat_take_name(c, &name);
  if (chat_take(c, ".")) {
    const char *key;
    const size_t k = chat_take_name(c, &key);
    if (n + k + 2 > sizeof full) return chat_refuse(c, "a long name", name, n);
    n = (size_t)snprintf(full, sizeof full, "%.*s.%.*s", (int)n, name, (int)k, key);
    name = full;
  }
  if (!n || !chat_take(c, "=")) return chat_refuse(c, "no \"set NAME = value\"", "", 0);
  if (chat_take(c, "namespace")) {
    if (!chat_take(c, "(")) return chat_refuse(c, "no arguments of", "namespace", 9);
    set_namespace(c, name, n);
  } else chat_set(c, name, n, chat_expression(c));
  close_tag(c, "%}");
}

/* A statement; true where it ends the run of blocks that it stands in. */
static bool statement(chat_state *c, bool active, block_end *end) {
  static const struct { const char *name; block_end end; } ends[] = {
      {"endfor", END_FOR}, {"endif", END_IF}, {"else", END_ELSE}, {"elif", END_ELIF}};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    if (!chat_take(c, ends[i].name)) continue;
    *end = ends[i].end;
    if (*end == END_FOR || *end == END_IF) close_tag(c, "%}");
    return true; /* the others' tags are closed by run_if */
  }
  const char *at = c->at, *name;
  if (chat_take(c, "if")) run_if(c, active);
  else if (chat_take(c, "for")) run_for(c, active);
  else if (!active) skip_tag(c, "%}");
  else if (chat_take(c, "set")) run_set(c);
  else {
    const size_t n = chat_take_name(c, &name);
    c->at = at;
    chat_refuse(c, "an unknown statement", name, n);
  }
  return false;
}

static block_end run(chat_state *c, bool active) {
  block_end end = END_TEXT;
  if (++c->depth > CHAT_MOST_DEPTH) chat_refuse(c, "blocks too deep within each other", "", 0);
  while (!c->st && c->at < c->end) {
    put_text(c, next_tag(c), active);
    if (c->at == c->end) break;
    const char kind = c->at[1];
    c->at += 2;
    if (c->at < c->end && *c->at == '-') c->at++;
    if (kind == '#') skip_tag(c, "#}");
    else if (kind == '{' && !active) skip_tag(c, "}}");
    else if (kind == '{') {
      const chat_value v = chat_expression(c);
      if (!c->st) chat_put(c, c->out, &v);
      close_tag(c, "}}");
    } else if (statement(c, active, &end)) break;
  }
  c->depth--;
  return end;
}

tsr_status chat_render(const chat_request *q, strb *out) {
  chat_state c = {.q = q, .at = q->template_text, .end = q->template_text + strlen(q->template_text), .out = out};
  arena_init(&c.a, NULL);
  chat_set(&c, "messages", 8, (chat_value){.kind = CHAT_LIST, .n = q->n});
  chat_set(&c, "bos_token", 9, (chat_value){.kind = CHAT_TEXT, .text = q->bos, .n = (int64_t)strlen(q->bos)});
  chat_set(&c, "eos_token", 9, (chat_value){.kind = CHAT_TEXT, .text = q->eos, .n = (int64_t)strlen(q->eos)});
  chat_set(&c, "add_generation_prompt", 21, chat_bool(true));
  const block_end end = run(&c, true);
  if (!c.st && end != END_TEXT) chat_refuse(&c, "a block ends that none began", "", 0);
  arena_clear(&c.a);
  if (!c.st && !strb_ok(out)) c.st = st_oom();
  return c.st;
}
