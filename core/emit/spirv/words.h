/* core/emit/spirv/words.h - builds one SPIR-V module: sections of words, ids, types and constants made once,
 * capabilities and extensions collected by use. Knows the binary form only; what the words mean is
 * emit/spirv/internal.h's business. Out of memory is sticky (spv_ok at the end). Not thread-safe; one builder per
 * module. */
#ifndef CORE_EMIT_SPIRV_WORDS_H
#define CORE_EMIT_SPIRV_WORDS_H
#include "core/base/arena.h"
#include "core/emit/spirv/enum.h"

typedef enum spv_section {
  SEC_CAPS,
  SEC_EXTENSIONS,
  SEC_IMPORTS,
  SEC_MODEL,
  SEC_ENTRY,
  SEC_MODES,
  SEC_NAMES,
  SEC_DECORATIONS,
  SEC_TYPES,
  SEC_HEAD,
  SEC_VARS,
  SEC_BODY,
  SEC_FUNCTIONS,
  N_SECTIONS
} spv_section; /* HEAD: OpFunction and first label; VARS: its variables; FUNCTIONS: complete functions besides main */

typedef struct spv_words {
  uint32_t *w;
  size_t n, cap;
} spv_words;

typedef struct spv {
  const tsr_allocator *al;
  spv_words sec[N_SECTIONS];
  spv_section body; /* where spv_val puts instructions: SEC_BODY or SEC_FUNCTIONS */
  uint32_t next_id;
  struct spv_key { uint64_t hash; uint32_t at, n, id; } *keys; /* open addressing over what SEC_TYPES holds */
  size_t n_keys, cap_keys;
  int minor; /* SPIR-V 1.3 to 1.6; 0: 1.6 */
  bool failed;
} spv;

void spv_init(spv *s, const tsr_allocator *al);
void spv_clear(spv *s);
static inline bool spv_ok(const spv *s) { return !s->failed; }
static inline uint32_t spv_id(spv *s) { return s->next_id++; }

/* One instruction with the given operand words. */
void spv_put(spv *s, spv_section sec, int op, const uint32_t *w, int n);
#define SPV(s, sec, op, ...) \
  spv_put(s, sec, op, (const uint32_t[]){__VA_ARGS__}, (int)(sizeof((const uint32_t[]){__VA_ARGS__}) / 4))
/* An instruction with a result in the body; returns the result's id. */
uint32_t spv_val_n(spv *s, int op, uint32_t type, const uint32_t *w, int n);
#define VAL(s, op, type, ...) \
  spv_val_n(s, op, type, (const uint32_t[]){__VA_ARGS__}, (int)(sizeof((const uint32_t[]){__VA_ARGS__}) / 4))
/* A type or constant, made once: `w` are its operands without result id; `typed` constants have their type in w[0]. */
uint32_t spv_once(spv *s, int op, const uint32_t *w, int n, bool typed);
#define TYPE(s, op, ...) \
  spv_once(s, op, (const uint32_t[]){__VA_ARGS__}, (int)(sizeof((const uint32_t[]){__VA_ARGS__}) / 4), false)
#define CONST(s, op, ...) \
  spv_once(s, op, (const uint32_t[]){__VA_ARGS__}, (int)(sizeof((const uint32_t[]){__VA_ARGS__}) / 4), true)
/* Instructions whose operands hold a string: words before it, the string, words after it. */
void spv_string(spv *s, spv_section sec, int op, const uint32_t *before, int n_before, const char *text,
                const uint32_t *after, int n_after);

void spv_capability(spv *s, uint32_t cap);
void spv_extension(spv *s, const char *name);

/* The finished module in `a`; NULL when out of memory. */
uint32_t *spv_finish(const spv *s, arena *a, size_t *n_words);

#endif
