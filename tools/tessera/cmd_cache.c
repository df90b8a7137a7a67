/* tools/tessera/cmd_cache.c - `tessera cache`: looks into the tuning cache and moves it between machines. */
#include <stdlib.h>
#include <string.h>

#include "core/base/blob.h"
#include "core/tune/cache.h"
#include "tools/tessera/cache_args.h"
#include "tools/tessera/cli.h"

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

static void print_binaries(uint64_t bytes) {
  if (bytes < 1000000) printf("%.1f kB", (double)bytes / 1e3);
  else printf("%.1f MB", (double)bytes / 1e6);
  printf(" of compiled binaries");
}

static int do_list(tune_cache *c, const cache_args *a) {
  strb b;
  strb_init(&b, NULL);
  size_t n = cache_list(c, a->operand, a->json, &b);
  print(&b);
  strb_clear(&b);
  cache_check v;
  cache_verify(c, &v);
  if (v.bad_entries)
    fprintf(stderr, "tessera cache: %zu damaged entries are left out, the first is %s\n", v.bad_entries, v.first_bad);
  if (a->json) return EXIT_OK;
  cache_info i;
  cache_describe(c, &i);
  if (a->operand) printf("%zu of ", n);
  printf("%llu entries, %llu trials in %s%s%s\n", (unsigned long long)i.entries, (unsigned long long)i.trials, i.path,
         i.why[0] ? "; " : "", i.why);
  blob_store *s = binaries(a);
  if (s) print_binaries(blob_total(s)), printf("%s%s\n", blob_why(s)[0] ? "; not used: " : "", blob_why(s));
  blob_close(&s);
  return EXIT_OK;
}

static int do_show(tune_cache *c, const cache_args *a) {
  strb b;
  strb_init(&b, NULL);
  size_t n = cache_show(c, a->operand, a->json, &b);
  print(&b);
  strb_clear(&b);
  if (n || !a->operand) return EXIT_OK;
  fprintf(stderr, "tessera cache: no entry matches \"%s\"\n", a->operand);
  return EXIT_WRONG;
}

static int do_export(tune_cache *c, const cache_args *a) {
  strb b;
  cache_info i;
  cache_describe(c, &i);
  if (!i.readable) return cli_usage("cache", "%s can't be read: %s", i.path, i.why);
  strb_init(&b, NULL);
  tsr_status st = cache_export(c, &b);
  int rc = st ? cli_fail(st) : a->operand ? cli_write_text("cache", a->operand, strb_text(&b)) : print(&b);
  strb_clear(&b);
  return rc;
}

static int counted(const cache_args *a, tsr_status st, const cache_import_count *n) {
  if (st) return cli_fail(st);
  if (a->json) printf("{\"added\": %zu, \"kept\": %zu, \"refused\": %zu}\n", n->added, n->kept, n->refused);
  else printf("%zu added, %zu kept, %zu refused\n", n->added, n->kept, n->refused);
  return n->refused ? EXIT_WRONG : EXIT_OK;
}

static int do_import(tune_cache *c, const cache_args *a) {
  size_t bytes;
  cache_import_count n = {0};
  char *text = a->operand ? cli_read_file(a->operand, &bytes) : NULL;
  if (!text) return a->operand ? EXIT_USAGE : cli_usage("cache", "import needs a FILE");
  tsr_status st = cache_import(c, text, bytes, a->operand, a->replace, &n);
  free(text);
  return counted(a, st, &n);
}

static int do_merge(tune_cache *c, const cache_args *a) {
  tune_cache *from = NULL;
  cache_import_count n = {0};
  if (!a->operand) return cli_usage("cache", "merge needs another cache's .sqlite FILE");
  tsr_status st = cache_open_file(NULL, a->operand, &from);
  if (!st) st = cache_merge(c, from, a->replace, &n);
  cache_close(&from);
  return counted(a, st, &n);
}

/* Opening has set a damaged file aside already, and what is verified then is the new one. */
static int do_verify(tune_cache *c, const cache_args *a) {
  cache_check v;
  cache_info i;
  bool sound = cache_verify(c, &v);
  cache_describe(c, &i);
  if (i.quarantined) sound = v.file_sound = false;
  if (a->json)
    printf("{\"sound\": %s, \"file_sound\": %s, \"entries\": %zu, \"bad_entries\": %zu, \"bad_trials\": %zu}\n",
           sound ? "true" : "false", v.file_sound ? "true" : "false", v.entries, v.bad_entries, v.bad_trials);
  else
    printf("%s: %zu entries, %zu damaged entries, %zu damaged trials, file %s: %s%s%s%s%s\n",
           sound        ? "sound"
           : i.readable ? "DAMAGED"
                        : "UNREADABLE",
           v.entries, v.bad_entries, v.bad_trials,
           v.file_sound ? "sound"
           : i.readable ? "damaged"
                        : "unreadable",
           i.path, v.first_bad[0] ? "; the first damage is of " : "", v.first_bad, i.why[0] ? "; " : "", i.why);
  return sound ? EXIT_OK : EXIT_WRONG;
}

static int do_clear(tune_cache *c, const cache_args *a) {
  cache_info i;
  cache_describe(c, &i);
  if (!cache_clear(c)) return cli_usage("cache", "%s could not be cleared%s%s", i.path, i.why[0] ? ": " : "", i.why);
  blob_store *s = binaries(a);
  uint64_t bytes = s ? blob_total(s) : 0;
  blob_clear(s);
  blob_close(&s);
  if (a->json) {
    printf("{\"entries\": %llu, \"trials\": %llu, \"binaries_bytes\": %llu}\n", (unsigned long long)i.entries,
           (unsigned long long)i.trials, (unsigned long long)bytes);
    return EXIT_OK;
  }
  printf("removed %llu entries and %llu trials from %s, ", (unsigned long long)i.entries, (unsigned long long)i.trials,
         i.path);
  print_binaries(bytes), printf("\n");
  return EXIT_OK;
}

/* Switched off, or not in this build: `list` says so, everything else is refused. */
static int say_off(const cache_args *a, const char *action, const char *why) {
  if (strcmp(action, "list")) return cli_usage("cache", "nothing to %s: %s", action, why);
  fprintf(a->json ? stderr : stdout, "0 entries: nothing is stored, %s\n", why);
  return EXIT_OK;
}

/* One action on a cache that is there, or that may be made. */
static int act(const cache_args *a, const char *action, int (*run)(tune_cache *c, const cache_args *a), tune_cache *c) {
  cache_info i;
  cache_describe(c, &i);
  return i.off ? say_off(a, action, i.why) : run(c, a);
}

/* The environment is judged where contexts are made; this command needs none for its own work. */
static tsr_status check_environment(void) {
  tsr_context *ctx = NULL;
  tsr_status st = cli_context(&ctx);
  tsr_context_destroy(&ctx);
  return st;
}

/* ---- where no cache is: looking makes none ----------------------------------------------------------------------- */

static int none_to_list(const cache_args *a, const char *path) {
  if (!a->json) printf("0 entries, 0 trials in %s, which does not exist yet\n", path);
  return EXIT_OK;
}

static int none_to_show(const cache_args *a, const char *path) {
  if (a->operand) {
    fprintf(stderr, "tessera cache: no entry matches \"%s\": %s does not exist yet\n", a->operand, path);
    return EXIT_WRONG;
  }
  if (a->json) printf("{\"schema\": 1, \"entries\": []}\n");
  else printf("0 entries in %s, which does not exist yet\n", path);
  return EXIT_OK;
}

static int none_to_export(const cache_args *a, const char *path) {
  return cli_usage("cache", "%s does not exist yet: there is nothing to export", path);
}

static int none_to_verify(const cache_args *a, const char *path) {
  if (a->json)
    printf("{\"sound\": true, \"file_sound\": true, \"entries\": 0, \"bad_entries\": 0, \"bad_trials\": 0}\n");
  else printf("sound: 0 entries in %s, which does not exist yet\n", path);
  return EXIT_OK;
}

static const struct {
  const char *name;
  int (*run)(tune_cache *c, const cache_args *a);
  int (*none)(const cache_args *a, const char *path); /* what there is to say without a cache; NULL: one is made */
  bool alone, replaces;                               /* takes no operand; takes --replace */
} actions[] = {{"list", do_list, none_to_list, false, false},
               {"show", do_show, none_to_show, false, false},
               {"export", do_export, none_to_export, false, false},
               {"import", do_import, NULL, false, true},
               {"merge", do_merge, NULL, false, true},
               {"verify", do_verify, none_to_verify, true, false},
               {"clear", do_clear, NULL, true, false}};

int cmd_cache(int argc, char **argv) {
  cache_args a = {0};
  const option options[] = {{.name = "--dir", .text = &a.dir},
                            {.name = "--name", .text = &a.name},
                            {.name = "--device", .text = &a.device},
                            {.name = "--json", .flag = &a.json},
                            {.name = "--replace", .flag = &a.replace}};
  if (!cli_options("cache", &argc, argv, options, 5)) return EXIT_USAGE;
  if (argc >= 2 && !strcmp(argv[1], "prewarm")) {
    if (argc > 3) return cli_usage("cache", "prewarm takes at most one operand");
    if (a.name || a.replace) return cli_usage("cache", "prewarm takes --device, --dir and --json");
    a.operand = argc == 3 ? argv[2] : NULL;
    return cache_prewarm(&a);
  }
  if (argc >= 2 && a.device) return cli_usage("cache", "--device goes with prewarm");
  for (size_t i = 0; argc >= 2 && i < sizeof actions / sizeof *actions; i++) {
    if (strcmp(argv[1], actions[i].name)) continue;
    if (a.replace && !actions[i].replaces) return cli_usage("cache", "--replace goes with import and merge");
    if (argc > (actions[i].alone ? 2 : 3))
      return cli_usage("cache", "%s takes %s", argv[1],
                       actions[i].alone ? "no operand: it is about the whole cache" : "at most one operand");
    char path[1024];
    bool exists = true;
    tune_cache *c = NULL;
    const char *name = a.name && *a.name ? a.name : "default";
    a.operand = argc == 3 ? argv[2] : NULL;
    tsr_status st = check_environment();
    if (!st) st = cache_path(NULL, a.dir, name, path, sizeof path, &exists);
    if (!st && !exists && *path && cache_in_build() && actions[i].none) return actions[i].none(&a, path);
    if (!st) st = cache_open(NULL, a.dir, name, &c);
    int rc = st ? cli_fail(st) : act(&a, argv[1], actions[i].run, c);
    cache_close(&c);
    return rc;
  }
  return cli_usage("cache", "needs one of list, show, export, import, merge, verify, clear, prewarm");
}
