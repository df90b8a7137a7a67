/* tools/tessera/cmd_cache.c - `tessera cache`: looks into the tuning cache and moves it between machines. */
#include <stdlib.h>
#include <string.h>

#include "core/base/blob.h"
#include "core/tune/cache.h"
#include "tools/tessera/cli.h"

typedef struct cache_args {
  const char *dir, *name, *operand;
  bool json, replace;
} cache_args;

static int print(const strb *b) {
  fputs(strb_text(b), stdout);
  return EXIT_OK;
}

/* The store of compiled binaries beside the tuning cache; NULL when out of memory. */
static blob_store *binaries(const cache_args *a) {
  blob_store *s = NULL;
  tsr_status_free(blob_open(NULL, a->dir, 0, &s));
  return s;
}

static int do_list(tune_cache *c, const cache_args *a) {
  strb b;
  strb_init(&b, NULL);
  size_t n = cache_list(c, a->operand, a->json, &b);
  print(&b);
  strb_clear(&b);
  cache_info i;
  cache_describe(c, &i);
  if (!a->json) printf("%zu entries, %llu trials in %s%s%s\n", n, (unsigned long long)i.trials, i.path, i.why[0] ? "; " : "", i.why);
  blob_store *s = binaries(a);
  if (s && !a->json) printf("%.1f MB of compiled binaries%s%s\n", (double)blob_total(s) / 1e6, blob_why(s)[0] ? "; not used: " : "", blob_why(s));
  blob_close(&s);
  return EXIT_OK;
}

static int do_show(tune_cache *c, const cache_args *a) {
  strb b;
  strb_init(&b, NULL);
  size_t n = cache_show(c, a->operand, &b);
  print(&b);
  strb_clear(&b);
  if (n || !a->operand) return EXIT_OK;
  fprintf(stderr, "tessera cache: no entry matches \"%s\"\n", a->operand);
  return EXIT_WRONG;
}

static int do_export(tune_cache *c, const cache_args *a) {
  strb b;
  strb_init(&b, NULL);
  tsr_status st = cache_export(c, &b);
  FILE *f = a->operand ? fopen(a->operand, "wb") : stdout;
  int rc = st ? cli_fail(st) : EXIT_OK;
  if (!rc && (!f || fputs(strb_text(&b), f) < 0)) rc = cli_usage("cache", "%s: can't be written", a->operand ? a->operand : "output");
  if (f && f != stdout && fclose(f) && !rc) rc = cli_usage("cache", "%s: can't be written", a->operand);
  strb_clear(&b);
  return rc;
}

static int counted(tsr_status st, const cache_import_count *n) {
  if (st) return cli_fail(st);
  printf("%zu added, %zu kept, %zu refused\n", n->added, n->kept, n->refused);
  return n->refused ? EXIT_WRONG : EXIT_OK;
}

static int do_import(tune_cache *c, const cache_args *a) {
  size_t bytes;
  cache_import_count n = {0};
  char *text = a->operand ? cli_read_file(a->operand, &bytes) : NULL;
  if (!text) return a->operand ? EXIT_USAGE : cli_usage("cache", "import needs a FILE");
  tsr_status st = cache_import(c, text, bytes, a->operand, a->replace, &n);
  free(text);
  return counted(st, &n);
}

static int do_merge(tune_cache *c, const cache_args *a) {
  tune_cache *from = NULL;
  cache_import_count n = {0};
  if (!a->operand) return cli_usage("cache", "merge needs another cache's .sqlite FILE");
  tsr_status st = cache_open_file(NULL, a->operand, &from);
  if (!st) st = cache_merge(c, from, a->replace, &n);
  cache_close(&from);
  return counted(st, &n);
}

static int do_verify(tune_cache *c, const cache_args *a) {
  cache_check v;
  bool sound = cache_verify(c, &v);
  if (a->json)
    printf("{\"sound\": %s, \"file_sound\": %s, \"entries\": %zu, \"bad_entries\": %zu, \"bad_trials\": %zu}\n", sound ? "true" : "false", v.file_sound ? "true" : "false", v.entries, v.bad_entries, v.bad_trials);
  else printf("%s: %zu entries, %zu damaged entries, %zu damaged trials, file %s\n", sound ? "sound" : "DAMAGED", v.entries, v.bad_entries, v.bad_trials, v.file_sound ? "sound" : "damaged");
  return sound ? EXIT_OK : EXIT_WRONG;
}

static int do_clear(tune_cache *c, const cache_args *a) {
  blob_store *s = binaries(a);
  blob_clear(s);
  blob_close(&s);
  return cache_clear(c) ? EXIT_OK : cli_usage("cache", "could not be cleared: read-only or off");
}

static const struct {
  const char *name;
  int (*run)(tune_cache *c, const cache_args *a);
} actions[] = {{"list", do_list}, {"show", do_show}, {"export", do_export}, {"import", do_import}, {"merge", do_merge}, {"verify", do_verify}, {"clear", do_clear}};

int cmd_cache(int argc, char **argv) {
  cache_args a = {0};
  const option options[] = {{.name = "--dir", .text = &a.dir}, {.name = "--name", .text = &a.name}, {.name = "--json", .flag = &a.json}, {.name = "--replace", .flag = &a.replace}};
  if (!cli_options("cache", &argc, argv, options, 4)) return EXIT_USAGE;
  for (size_t i = 0; argc >= 2 && i < sizeof actions / sizeof *actions; i++) {
    if (strcmp(argv[1], actions[i].name)) continue;
    if (argc > 3) return cli_usage("cache", "%s takes at most one operand", argv[1]);
    tune_cache *c = NULL;
    a.operand = argc == 3 ? argv[2] : NULL;
    tsr_status st = cache_open(NULL, a.dir, a.name ? a.name : "default", &c);
    int rc = st ? cli_fail(st) : actions[i].run(c, &a);
    cache_close(&c);
    return rc;
  }
  return cli_usage("cache", "needs one of list, show, export, import, merge, verify, clear");
}
