/* core/ir/lex.h - reading characters and literals of IR text, shared by the type, attribute and operation parsers.
 * Every failure is one status with file:line:column and what was expected. */
#ifndef CORE_IR_LEX_H
#define CORE_IR_LEX_H
#include "core/ir/ir.h"

typedef struct lexer {
  const char *text, *p, *end;
  const char *file;
  ir_module *m;
  const tsr_allocator *al;
  const char *loc_at; /* lex_loc's last answer: asking in order costs one pass over the text */
  ir_loc loc;
} lexer;

enum { LEX_MAX_DEPTH = 64 }; /* nested regions or lists */

tsr_status lex_error(lexer *x, const char *at, const char *fmt, ...) TSR_PRINTF(3, 4);
ir_loc lex_loc(lexer *x, const char *at);
void lex_skip(lexer *x);                      /* white space and // comments */
bool lex_eat(lexer *x, const char *word);     /* after lex_skip; words must end at a non-identifier character */
tsr_status lex_expect(lexer *x, const char *word);
bool lex_peek(lexer *x, char c);
/* A bare identifier [A-Za-z_][A-Za-z0-9_.$]*, or the part after % (digits allowed first). Arena memory. */
tsr_status lex_ident(lexer *x, bool digits_first, const char **out);
/* A quoted string with \" \\ \n \t \XX. */
tsr_status lex_string(lexer *x, const char **out);
tsr_status lex_int(lexer *x, int64_t *out);
/* An integer, hexadecimal bits or a float, inf and nan among these; *is_int tells. */
bool lex_at_number(lexer *x);
tsr_status lex_number(lexer *x, bool *is_int, bool *is_hex, int64_t *i, double *f);
/* A decimal integer of 2^63 or more, which u64 alone holds: i has its bits. */
static inline bool lex_is_beyond(bool is_int, int64_t i, double f) { return is_int && i < 0 && f > 0; }
/* Checks that the whole text is UTF-8 without zero bytes. */
tsr_status lex_check_utf8(lexer *x);

/* Where a tensor lies, on a mesh (ir/shard.h) and in memory (ir/layout.h): NULL where that isn't said. */
typedef struct lex_placement {
  const char *shard, *layout;
} lex_placement;
/* The type of a value, behind which may stand where it lies. */
tsr_status lex_value_type(lexer *x, const ir_type **out, lex_placement *where);
tsr_status lex_attr(lexer *x, int depth, ir_attr **out);
#endif
