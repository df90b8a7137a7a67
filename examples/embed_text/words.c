/* examples/embed_text/words.c - see embed.h. Text is made lower case and loses the accents of Latin letters; it is cut
 * at blanks, around punctuation and around Chinese characters; a word is the longest pieces of the vocabulary from its
 * begin on, all but the first of which are written with ## before them; one that has none is [UNK]. */
#include <stdlib.h>
#include <string.h>

#include "embed.h"

enum { MOST_WORD = 100, MOST_BYTES = 4 * MOST_WORD + 4, LARGEST_NUMBER = 1 << 24 };

typedef struct piece {
  char *text;
  int32_t number;
} piece;

struct vocabulary {
  piece *pieces; /* a hash table; NULL text: free */
  size_t n, cap; /* cap: a power of two */
  int size;
  int32_t unknown, begin, end;
};

/* ---- the table --------------------------------------------------------------------------------------------------- */

static size_t place_of(const vocabulary *v, const char *text) {
  size_t h = 2166136261u;
  for (const char *p = text; *p; p++) h = (h ^ (unsigned char)*p) * 16777619u;
  size_t i = h & (v->cap - 1);
  while (v->pieces[i].text && strcmp(v->pieces[i].text, text)) i = (i + 1) & (v->cap - 1);
  return i;
}

static int32_t number_of(const vocabulary *v, const char *text) {
  const piece *p = &v->pieces[place_of(v, text)];
  return p->text ? p->number : -1;
}

static void grow(vocabulary *v) {
  vocabulary old = *v;
  v->cap = old.cap ? 2 * old.cap : 1024;
  v->pieces = get_memory(NULL, v->cap, sizeof *v->pieces);
  memset(v->pieces, 0, v->cap * sizeof *v->pieces);
  for (size_t i = 0; i < old.cap; i++)
    if (old.pieces[i].text) v->pieces[place_of(v, old.pieces[i].text)] = old.pieces[i];
  free(old.pieces);
}

static void add(vocabulary *v, char *text, long number) {
  if (2 * v->n >= v->cap) grow(v);
  piece *p = &v->pieces[place_of(v, text)];
  free(p->text);
  v->n += !p->text;
  *p = (piece){text, (int32_t)number};
  if (number >= v->size) v->size = (int)number + 1;
}

/* ---- tokenizer.json ---------------------------------------------------------------------------------------------- */

static int put_utf8(char *to, uint32_t c) {
  if (c < 0x80) return to[0] = (char)c, 1;
  if (c < 0x800) return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
  const int more = c >= 0x10000;
  if (more) to[0] = (char)(0xf0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 63));
  else to[0] = (char)(0xe0 | c >> 12);
  to[1 + more] = (char)(0x80 | (c >> 6 & 63));
  to[2 + more] = (char)(0x80 | (c & 63));
  return 3 + more;
}

static bool hex4(const char **p, uint32_t *out) {
  *out = 0;
  for (int i = 0; i < 4; i++, ++*p) {
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *at = **p ? strchr(digits, **p) : NULL;
    if (!at) return false;
    *out = *out * 16 + (uint32_t)(at - digits) % 16;
  }
  return true;
}

/* A string in quotes at *p, which then is behind it; NULL: none. The caller frees it. */
static char *read_string(const char **p) {
  static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
  if (**p != '"') return NULL;
  const char *end = ++*p;
  while (*end && *end != '"') end += 1 + (*end == '\\' && end[1]);
  char *text = get_memory(NULL, (size_t)(end - *p) + 5, 1), *to = text;
  bool good = *end == '"';
  while (*p < end && good) {
    const char c = *(*p)++;
    uint32_t code = 0, low = 0;
    if (c != '\\') *to++ = c;
    else if (**p == 'u') {
      ++*p;
      good = hex4(p, &code);
      if (good && code >> 10 == 0xd800 >> 10 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        *p += 2;
        good = hex4(p, &low);
        code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
      }
      to += put_utf8(to, code);
    } else {
      const char *e = escapes;
      while (*e && *e != **p) e += 2;
      good = *e != 0;
      if (good) *to++ = e[1], ++*p;
    }
  }
  *to = 0;
  if (good && *p == end) return ++*p, text;
  free(text);
  return NULL;
}

static void blanks(const char **p) { *p += strspn(*p, " \t\r\n"); }

/* "vocab": {"piece": number, ..} */
static bool read_vocabulary(vocabulary *v, const char *p) {
  const char *model = strstr(p, "\"WordPiece\""), *at = NULL;
  for (const char *s = p; (s = strstr(s, "\"vocab\"")); s++) at = s;
  if (!model || !at) return false;
  at += strlen("\"vocab\"");
  blanks(&at);
  if (*at++ != ':') return false;
  blanks(&at);
  if (*at++ != '{') return false;
  for (;;) {
    blanks(&at);
    char *text = read_string(&at), *end;
    if (!text) return false;
    blanks(&at);
    const long number = *at == ':' ? strtol(at + 1, &end, 10) : -1;
    if (number < 0 || number > LARGEST_NUMBER || end == at + 1) return free(text), false;
    add(v, text, number);
    at = end;
    blanks(&at);
    if (*at == '}') return true;
    if (*at++ != ',') return false;
  }
}

static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  char *text = NULL;
  size_t n = 0, got;
  if (!f) fail(EXIT_INPUT, "%s can't be opened", path);
  do {
    text = get_memory(text, n + (1 << 16) + 1, 1);
    got = fread(text + n, 1, 1 << 16, f);
    n += got;
  } while (got);
  fclose(f);
  text[n] = 0;
  return text;
}

static int32_t special(const vocabulary *v, const char *path, const char *text) {
  const int32_t n = v->cap ? number_of(v, text) : -1;
  if (n < 0) fail(EXIT_INPUT, "%s: the vocabulary has no %s", path, text);
  return n;
}

vocabulary *vocabulary_read(const char *path) {
  vocabulary *v = get_memory(NULL, 1, sizeof *v);
  *v = (vocabulary){0};
  char *text = read_file(path);
  if (!read_vocabulary(v, text)) fail(EXIT_INPUT, "%s has no vocabulary of a WordPiece model", path);
  free(text);
  v->unknown = special(v, path, "[UNK]");
  v->begin = special(v, path, "[CLS]");
  v->end = special(v, path, "[SEP]");
  return v;
}

void vocabulary_destroy(vocabulary **v) {
  for (size_t i = 0; i < (*v)->cap; i++) free((*v)->pieces[i].text);
  free((*v)->pieces);
  free(*v);
  *v = NULL;
}

int vocabulary_size(const vocabulary *v) { return v->size; }

/* ---- sentences --------------------------------------------------------------------------------------------------- */

/* The next character; 0: the end. What is no UTF-8 is left out. */
static uint32_t next_character(const unsigned char **p) {
  while (**p) {
    const unsigned char c = *(*p)++;
    const int more = c < 0x80 ? 0 : c < 0xc2 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : -1;
    if (more < 0) continue;
    uint32_t code = more ? c & (0x3fu >> more) : c;
    int i = 0;
    for (; i < more && ((*p)[i] & 0xc0) == 0x80; i++) code = code << 6 | ((*p)[i] & 63u);
    if (i < more) continue;
    *p += more;
    return code;
  }
  return 0;
}

static bool between(uint32_t c, uint32_t low, uint32_t high) { return c >= low && c <= high; }
static bool is_blank(uint32_t c) {
  return c == ' ' || between(c, '\t', '\r') || c == 0xa0 || between(c, 0x2000, 0x200a) || c == 0x202f || c == 0x3000;
}
static bool is_control(uint32_t c) {
  return c < 32 || between(c, 0x7f, 0x9f) || c == 0xad || c == 0xfffd || between(c, 0x200b, 0x200f) || c == 0xfeff;
}
static bool is_mark(uint32_t c) { return between(c, 0x300, 0x36f); } /* an accent by itself */
static bool is_chinese(uint32_t c) {
  return between(c, 0x4e00, 0x9fff) || between(c, 0x3400, 0x4dbf) || between(c, 0x20000, 0x2fa1f) ||
         between(c, 0xf900, 0xfaff);
}
static bool is_punctuation(uint32_t c) {
  const uint32_t few[] = {0xa1, 0xa7, 0xab, 0xb6, 0xb7, 0xbb, 0xbf, 0x37e, 0x387};
  for (size_t i = 0; i < sizeof few / sizeof *few; i++)
    if (c == few[i]) return true;
  return between(c, 33, 47) || between(c, 58, 64) || between(c, 91, 96) || between(c, 123, 126) ||
         between(c, 0x2010, 0x2027) || between(c, 0x2030, 0x205e) || between(c, 0x3001, 0x3003) ||
         between(c, 0x3008, 0x3011) || between(c, 0xff01, 0xff0f) || between(c, 0xff1a, 0xff20);
}

/* Lower case without accents: of Latin letters up to U+017F, Greek and Cyrillic ones. */
static uint32_t plain(uint32_t c) {
  static const char latin[] = "aaaaaa\0ceeeeiiii\0nooooo\0\0uuuuy\0\0aaaaaa\0ceeeeiiii\0nooooo\0\0uuuuy\0y";
  static const char extended[] = "aaaaaaccccccccdd\0\0eeeeeeeeeegggggggghh\0\0iiiiiiiii\0\0\0jjkk\0llllll\0\0\0\0"
                                 "nnnnnn\0\0\0oooooo\0\0rrrrrrsssssssstttt\0\0uuuuuuuuuuuuwwyyyzzzzzz\0";
  if (between(c, 'A', 'Z')) return c + 32;
  if (between(c, 0xc0, 0xff) && latin[c - 0xc0]) return (uint32_t)latin[c - 0xc0];
  if (between(c, 0xc0, 0xde) && c != 0xd7) return c + 32;
  if (between(c, 0x100, 0x17f) && extended[c - 0x100]) return (uint32_t)extended[c - 0x100];
  if (between(c, 0x391, 0x3a9) || between(c, 0x410, 0x42f)) return c + 32;
  return between(c, 0x400, 0x40f) ? c + 80 : c;
}

typedef struct splitter {
  const vocabulary *v;
  int32_t *tokens;
  int n;
  char word[MOST_BYTES];
  int bytes, characters;
} splitter;

static void put(splitter *s, int32_t token) {
  if (s->n < MOST_TOKENS - 1) s->tokens[s->n++] = token; /* room for [SEP] */
}

/* The word so far as pieces. */
static void end_word(splitter *s) {
  int32_t found[MOST_WORD];
  int n = 0;
  char text[MOST_BYTES + 3];
  bool known = s->characters <= MOST_WORD;
  for (int at = 0; at < s->bytes && known;) {
    int end = s->bytes;
    int32_t number = -1;
    for (; end > at; end--) {
      if ((s->word[end] & 0xc0) == 0x80 && end < s->bytes) continue;
      snprintf(text, sizeof text, "%s%.*s", at ? "##" : "", end - at, s->word + at);
      if ((number = number_of(s->v, text)) >= 0) break;
    }
    known = number >= 0;
    if (known) found[n++] = number;
    at = end;
  }
  if (s->characters && !known) put(s, s->v->unknown);
  for (int i = 0; i < n && known; i++) put(s, found[i]);
  s->bytes = s->characters = 0;
}

static void add_character(splitter *s, uint32_t c) {
  if (s->characters++ < MOST_WORD) s->bytes += put_utf8(s->word + s->bytes, c);
}

int vocabulary_split(const vocabulary *v, const char *sentence, int32_t tokens[MOST_TOKENS]) {
  splitter s = {.v = v, .tokens = tokens};
  const unsigned char *p = (const unsigned char *)sentence;
  put(&s, v->begin);
  for (uint32_t c; (c = next_character(&p));) {
    if (is_blank(c)) end_word(&s);
    else if (is_control(c) || is_mark(c)) continue;
    else if (is_chinese(c) || is_punctuation(c)) {
      end_word(&s);
      add_character(&s, c);
      end_word(&s);
    } else add_character(&s, plain(c));
  }
  end_word(&s);
  tokens[s.n++] = v->end;
  return s.n;
}
