/* examples/ocr/text.c - the alphabet that a recognizer's ONNX file holds, and greedy CTC decoding with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ocr.h"

struct alphabet {
  char *lines;         /* the symbols, each with a closing zero */
  const char **symbol; /* by class; the blank is "", the space the last */
  int n;
  char *text; /* of the last decoding */
};

enum { MOST_BYTES = 1 << 24, FIELD_METADATA = 14, FIELD_KEY = 1, FIELD_VALUE = 2 };

/* The wire format of protobuf, as far as a model's outermost level needs it: a varint, false at the end. */
static bool read_varint(FILE *f, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const int c = getc(f);
    if (c == EOF) return false;
    *out |= (uint64_t)(c & 127) << shift;
    if (c < 128) return true;
  }
  return false;
}

/* The next field's number and the length of what follows; a field without a length is passed over. 0: the end. */
static int next_field(FILE *f, uint64_t *length) {
  uint64_t tag;
  while (read_varint(f, &tag)) {
    if ((tag & 7) == 2) return read_varint(f, length) && *length < INT64_MAX && tag < 1 << 16 ? (int)(tag >> 3) : 0;
    if ((tag & 7) != 0 || !read_varint(f, length)) return 0;
  }
  return 0;
}

/* An entry of the metadata, key then value: the value of "character" with a closing zero, else NULL. */
static char *read_entry(FILE *f, uint64_t bytes) {
  const long end = ftell(f) + (long)bytes;
  uint64_t n;
  char key[] = "character", has[sizeof key] = "", *value = NULL;
  while (ftell(f) < end) {
    const int field = next_field(f, &n);
    if (!field || n > MOST_BYTES) break;
    if (field == FIELD_KEY && n == strlen(key) && fread(has, 1, n, f) == n) continue;
    if (field != FIELD_VALUE || strcmp(key, has)) break;
    value = get_memory(NULL, n + 1, 1);
    value[fread(value, 1, n, f)] = 0;
    return value;
  }
  fseek(f, end, SEEK_SET);
  return NULL;
}

alphabet *alphabet_read(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) fail(EXIT_INPUT, "%s: %s", path, strerror(errno));
  alphabet *a = get_memory(NULL, 1, sizeof *a);
  *a = (alphabet){.n = 1};
  uint64_t n;
  for (int field; !a->lines && (field = next_field(f, &n));)
    if (field == FIELD_METADATA && n <= MOST_BYTES) a->lines = read_entry(f, n);
    else if (fseek(f, (long)n, SEEK_CUR)) break;
  fclose(f);
  if (!a->lines) fail(EXIT_INPUT, "%s: no entry `character` in an ONNX model's metadata: no recognizer", path);
  size_t lines = 0;
  for (const char *p = a->lines; *p; p++) lines += *p == '\n';
  a->symbol = get_memory(NULL, lines + 3, sizeof *a->symbol);
  a->symbol[0] = "";
  for (char *p = a->lines; *p;) {
    const size_t length = strcspn(p, "\n");
    const bool last = !p[length];
    a->symbol[a->n++] = p;
    p[length] = 0;
    p += length + !last;
  }
  a->symbol[a->n++] = " ";
  return a;
}

void alphabet_destroy(alphabet **a) {
  free((*a)->lines);
  free((*a)->symbol);
  free((*a)->text);
  free(*a);
  *a = NULL;
}

int alphabet_classes(const alphabet *a) { return a->n; }

const char *alphabet_decode(alphabet *a, const float *likely, int steps, double *confidence) {
  size_t length = 0;
  double sum = 0;
  int before = 0, n = 0;
  a->text = get_memory(a->text, 1, 1);
  for (int t = 0; t < steps; t++, likely += a->n) {
    int best = 0;
    for (int i = 1; i < a->n; i++)
      if (likely[i] > likely[best]) best = i;
    if (best && best != before) {
      const size_t more = strlen(a->symbol[best]);
      a->text = get_memory(a->text, length + more + 1, 1);
      memcpy(a->text + length, a->symbol[best], more);
      length += more;
      sum += (double)likely[best];
      n++;
    }
    before = best;
  }
  a->text[length] = 0;
  *confidence = n ? sum / n : 0;
  return a->text;
}
