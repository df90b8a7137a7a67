/* tests/support/nv_sass.c - see nv_sass.h. The ELF is walked by hand: 64 bits, little endian, as all cubins are. */
#include "tests/support/nv_sass.h"

#include <stdint.h>
#include <string.h>

typedef struct code { const uint64_t *words; size_t n; } code; /* n instructions of two words */
enum { BRA = 0x947, BRA_U = 0x547 };

static const struct { const char *name; unsigned value, mask; } ops[NV_N_OPS] = {
    {"HMMA", 0x23c, 0xfff}, {"IMMA", 0x237, 0xfff}, {"QMMA", 0x27a, 0xfff}, {"HGMMA", 0x1f0, 0x1ff}, {"IGMMA", 0x1f1, 0x1ff}, {"QGMMA", 0x1f3, 0x1ff}, {"MEMBAR", 0x992, 0xfff}};

const char *nv_op_name(nv_op op) { return ops[op].name; }

static uint64_t field(const uint8_t *p, size_t at, int bytes) {
  uint64_t v = 0;
  memcpy(&v, p + at, (size_t)bytes);
  return v;
}

/* The i'th ".text." section; false if there is none. */
static bool text_section(const void *cubin, size_t bytes, int i, code *out) {
  const uint8_t *p = cubin;
  if (bytes < 64 || memcmp(p, "\177ELF\2\1", 6)) return false;
  uint64_t table = field(p, 0x28, 8), size = field(p, 0x3a, 2), n = field(p, 0x3c, 2), names = field(p, 0x3e, 2);
  if (size < 64 || table > bytes || n * size > bytes - table || names >= n) return false;
  const uint8_t *strings = p + field(p, table + names * size + 0x18, 8);
  for (uint64_t s = 0; s < n; s++) {
    const uint8_t *h = p + table + s * size;
    if (strncmp((const char *)strings + field(h, 0, 4), ".text.", 6)) continue;
    if (i--) continue;
    *out = (code){(const uint64_t *)(const void *)(p + field(h, 0x18, 8)), field(h, 0x20, 8) / 16};
    return true;
  }
  return false;
}

static bool is(uint64_t word, nv_op op) { return (word & ops[op].mask) == ops[op].value; }

static bool is_matrix(uint64_t word) {
  for (int o = NV_HMMA; o <= NV_QGMMA; o++)
    if (is(word, (nv_op)o)) return true;
  return false;
}

int nv_sass_count(const void *cubin, size_t bytes, nv_op op) {
  code c;
  int n = 0, i = 0;
  for (; text_section(cubin, bytes, i, &c); i++)
    for (size_t k = 0; k < c.n; k++) n += is(c.words[2 * k], op);
  return i ? n : -1;
}

/* Bit 18 of the upper word: .SAT. */
int nv_sass_saturating(const void *cubin, size_t bytes) {
  code c;
  int n = 0;
  for (int i = 0; text_section(cubin, bytes, i, &c); i++)
    for (size_t k = 0; k < c.n; k++) n += is(c.words[2 * k], NV_IMMA) && c.words[2 * k + 1] >> 18 & 1;
  return n;
}

/* Where a branch goes, as an instruction's number: a distance in bytes from the next one in the upper half of the word,
 * from sm_90 on in units of 4 bytes with its low 8 bits elsewhere. -1 if it is none, or one without a condition: those
 * lead back from code that stands aside. */
static int64_t target(const code *c, size_t k, int sm) {
  uint64_t w = c->words[2 * k];
  bool always = (w >> 12 & 15) == 7;
  if ((w & 0xfff) == BRA ? always : (w & 0xfff) != BRA_U) return -1;
  int64_t high = (int32_t)(w >> 32), bytes = sm < 90 ? high : 4 * ((high >> 2) * 256 + (int64_t)(w >> 16 & 0xff));
  return (int64_t)k + 1 + bytes / 16;
}

typedef struct loop { int64_t from, to; } loop;

static bool has_matrix(const code *c, loop l) {
  for (int64_t k = l.from; k <= l.to; k++)
    if (is_matrix(c->words[2 * k])) return true;
  return false;
}

static int fences(const code *c, loop l) {
  int n = 0;
  for (int64_t k = l.from; k <= l.to; k++)
    n += is(c->words[2 * k], NV_MEMBAR) && (c->words[2 * k + 1] >> 12 & 7) >= 2; /* 0 block, 2 GPU, 3 system */
  return n;
}

int nv_sass_wide_fences(const void *cubin, size_t bytes, int sm, int *n_loops) {
  code c;
  int found = 0;
  *n_loops = 0;
  for (int i = 0; text_section(cubin, bytes, i, &c); i++) {
    loop inner = {0, INT64_MAX};
    for (size_t k = 0; k < c.n; k++) { /* those that end first are the inner ones */
      loop l = {target(&c, k, sm), (int64_t)k};
      if (l.from < 0 || l.from >= l.to || !has_matrix(&c, l)) continue;
      if (inner.to != INT64_MAX && l.from <= inner.from) continue; /* around the last one */
      inner = l;
      found += fences(&c, l);
      ++*n_loops;
    }
  }
  return found;
}
