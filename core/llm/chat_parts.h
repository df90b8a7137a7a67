/* core/llm/chat_parts.h - what the files of chat templates share: values, variables, and the reader of expressions. The
 * template is gone over as it stands; a loop goes back to its beginning. */
#ifndef CORE_LLM_CHAT_PARTS_H
#define CORE_LLM_CHAT_PARTS_H
#include "core/base/arena.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/llm/chat_request.h"

typedef enum chat_kind {
  CHAT_UNDEFINED, CHAT_NONE, CHAT_BOOL, CHAT_INT, CHAT_TEXT, CHAT_LIST, CHAT_MESSAGE, CHAT_LOOP, CHAT_NAMESPACE
} chat_kind;

typedef struct chat_value {
  chat_kind kind;
  int64_t i;        /* BOOL, INT; MESSAGE: which; LIST: the first message; LOOP: the turn */
  int64_t n;        /* LIST, LOOP: behind the last message, turns; TEXT: bytes */
  const char *text; /* TEXT; NAMESPACE: its name */
} chat_value;

enum { CHAT_MOST_VARIABLES = 64, CHAT_MOST_DEPTH = 32 };

typedef struct chat_state {
  const chat_request *q;
  const char *at, *end;
  arena a; /* of texts */
  struct { const char *name; chat_value v; } vars[CHAT_MOST_VARIABLES];
  int n_vars, depth;
  strb *out;
  tsr_status st; /* the first failure; everything then does nothing */
} chat_state;

/* Sets st; the place is `at`. */
void chat_refuse(chat_state *c, const char *what, const char *which, size_t n);
void chat_skip_blanks(chat_state *c);
/* The name at `at`, which goes behind it; its length, 0: there is none. */
size_t chat_take_name(chat_state *c, const char **name);
bool chat_take(chat_state *c, const char *sign);
/* The name is copied. */
void chat_set(chat_state *c, const char *name, size_t n, chat_value v);
chat_value chat_get(const chat_state *c, const char *name, size_t n);
chat_value chat_expression(chat_state *c);
bool chat_is_true(const chat_value *v);
/* Neither undefined nor none. */
static inline bool chat_is_given(const chat_value *v) { return v->kind != CHAT_UNDEFINED && v->kind != CHAT_NONE; }
/* As it is written to the output. */
void chat_put(chat_state *c, strb *out, const chat_value *v);
static inline chat_value chat_bool(bool is) { return (chat_value){.kind = CHAT_BOOL, .i = is}; }
#endif
