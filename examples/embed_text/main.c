/* examples/embed_text/main.c - how alike sentences are: each becomes a vector of length 1, and what is printed is the
 * cosine between each two. The model is all-MiniLM-L6-v2 or another BERT encoder with heads of 32; docs/weights.md says
 * where it comes from, embed.h which file does what. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "embed.h"

void fail(int rc, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fputs("embed_text: ", stderr);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
  exit(rc);
}

void check(tsr_status s) {
  if (!s) return;
  const tsr_code c = tsr_status_code(s);
  const bool no_device = c == TSR_UNAVAILABLE || c == TSR_DEVICE_LOST;
  const bool failed = c == TSR_OUT_OF_MEMORY || c == TSR_LAUNCH_FAILED || c == TSR_INTERNAL;
  fail(no_device ? EXIT_NO_DEVICE : failed ? EXIT_FAILED : EXIT_INPUT, "%s", tsr_status_message(s));
}

void *get_memory(void *old, size_t n, size_t size) {
  void *p = n <= SIZE_MAX / size ? realloc(old, n ? n * size : 1) : NULL;
  if (!p) fail(EXIT_FAILED, "out of memory");
  return p;
}

static const char usage[] = "usage: embed_text [options] --model FOLDER SENTENCE ..\n"
                            "  --model FOLDER   has model.safetensors and tokenizer.json\n"
                            "  --device ID      cpu:0, vulkan:0, ..\n"
                            "  --tokens         the numbers of each sentence's tokens, no vectors\n"
                            "  --vectors        each sentence's vector, not how alike they are\n";

typedef struct options {
  const char *folder, *device;
  char **sentences;
  int n;
  bool tokens, vectors;
} options;

static options read_options(int argc, char **argv) {
  options o = {.sentences = get_memory(NULL, (size_t)argc, sizeof(char *))};
  for (int i = 1; i < argc; i++) {
    const bool valued = !strcmp(argv[i], "--model") || !strcmp(argv[i], "--device");
    if (!strcmp(argv[i], "--help")) {
      fputs(usage, stdout);
      exit(0);
    }
    if (valued && i + 1 == argc) fail(EXIT_INPUT, "%s needs a value", argv[i]);
    if (!strcmp(argv[i], "--model")) o.folder = argv[++i];
    else if (!strcmp(argv[i], "--device")) o.device = argv[++i];
    else if (!strcmp(argv[i], "--tokens")) o.tokens = true;
    else if (!strcmp(argv[i], "--vectors")) o.vectors = true;
    else if (!strncmp(argv[i], "--", 2)) fail(EXIT_INPUT, "no option %s; --help lists them", argv[i]);
    else o.sentences[o.n++] = argv[i];
  }
  if (!o.folder) fail(EXIT_INPUT, "no --model; --help tells more");
  if (!o.n) fail(EXIT_INPUT, "no sentence; --help tells more");
  return o;
}

static char *joined(const char *folder, const char *name) {
  const size_t n = strlen(folder) + strlen(name) + 2;
  char *path = get_memory(NULL, n, 1);
  snprintf(path, n, "%s/%s", folder, name);
  return path;
}

static double product(const float *x, const float *y, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
  return sum;
}

static void print_tokens(const vocabulary *v, const options *o) {
  for (int i = 0; i < o->n; i++) {
    int32_t tokens[MOST_TOKENS];
    const int n = vocabulary_split(v, o->sentences[i], tokens);
    for (int k = 0; k < n; k++) printf("%s%d", k ? " " : "", tokens[k]);
    printf("\n");
  }
}

static void embed(const vocabulary *v, const options *o) {
  tsr_context *ctx;
  tsr_device *dev;
  char *path = joined(o->folder, "model.safetensors");
  check(tsr_context_create(NULL, &ctx));
  check(tsr_device_open(ctx, o->device, &dev));
  model *m = model_create(ctx, dev, path, vocabulary_size(v));
  const int width = model_width(m);
  float *vectors = get_memory(NULL, (size_t)o->n * (size_t)width, sizeof *vectors);
  for (int i = 0; i < o->n; i++) {
    int32_t tokens[MOST_TOKENS];
    const int n = vocabulary_split(v, o->sentences[i], tokens);
    model_embed(m, tokens, n, vectors + (size_t)i * (size_t)width);
  }
  for (int i = 0; i < o->n; i++) {
    const float *x = vectors + (size_t)i * (size_t)width;
    for (int k = 0; k < (o->vectors ? width : o->n); k++)
      if (o->vectors) printf("%s%.7g", k ? " " : "", (double)x[k]);
      else printf("%s%.4f", k ? " " : "", product(x, vectors + (size_t)k * (size_t)width, width));
    printf("\n");
  }
  free(vectors);
  model_destroy(&m);
  free(path);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

int main(int argc, char **argv) {
  options o = read_options(argc, argv);
  char *path = joined(o.folder, "tokenizer.json");
  vocabulary *v = vocabulary_read(path);
  free(path);
  if (o.tokens) print_tokens(v, &o);
  else embed(v, &o);
  vocabulary_destroy(&v);
  free(o.sentences);
  return 0;
}
