/* tests/cli/test_cache.c - `tessera cache` by hand: each action with what is right and what is wrong with its file, in
 * the words that a user reads. */
#include "tests/cli/cli_run.h"

static const char newer[] = "SQLite format 3"; /* of a header that says more is made below */

/* The default cache as a library of a later schema leaves it: only user_version (bytes 60 to 63 of the header) differs.
 */
static void make_newer(cli *c) {
  char path[256], head[16] = "";
  cli_path(c, ".tessera/cache/default.sqlite", path, sizeof path);
  FILE *f = fopen(path, "r+b");
  if (!f || fread(head, 1, sizeof head, f) != sizeof head || memcmp(head, newer, sizeof newer) ||
      fseek(f, 60, SEEK_SET) || fwrite("\0\0\0\x63", 1, 4, f) != 4)
    c->wrong++;
  if (f) fclose(f);
}

/* A byte of each entry's strategy is another, so that its sum isn't its own. */
static void damage(cli *c, const char *name) {
  static const char word[] = "hybrid";
  char path[256];
  cli_path(c, name, path, sizeof path);
  FILE *f = fopen(path, "r+b");
  char *bytes = malloc(1 << 20);
  const size_t n = f && bytes ? fread(bytes, 1, 1 << 20, f) : 0;
  int places = 0;
  for (size_t i = 0; i + sizeof word <= n; i++) {
    if (memcmp(bytes + i, word, sizeof word - 1)) continue;
    fseek(f, (long)i, SEEK_SET), fputc('H', f);
    places++;
  }
  cli_check(c, places, "a strategy in the file");
  free(bytes);
  if (f) fclose(f);
}

static const struct { const char *args, *says; } refused[] = {
    {"cache", "needs one of list, show"},
    {"cache dust", "needs one of list, show"},
    {"cache list a b", "list takes at most one operand"},
    {"cache clear matmul", "clear takes no operand"},
    {"cache verify matmul", "verify takes no operand"},
    {"cache list --name ../x", "bad cache name"},
    {"cache import", "import needs a FILE"},
    {"cache prewarm", "prewarm needs a FILE"},
    {"cache prewarm a b", "prewarm takes at most one operand"},
    {"cache prewarm x.mlir --replace", "prewarm takes --device, --dir and --json"},
    {"cache prewarm none.mlir", "none.mlir: can't be opened"},
    {"cache prewarm junk", "junk:1:1"},
    {"cache list --device cpu:0", "--device goes with prewarm"},
    {"cache import none.json", "none.json: can't be opened"},
    {"cache import junk", "junk:1:1: expected a value"},
    {"cache import later.json", "later.json:1:1: expected schema 1"},
    {"cache export no/such/folder/x", "no/such/folder/x: can't be written"},
    {"cache merge", "merge needs another cache's .sqlite FILE"},
    {"cache merge none.sqlite", "none.sqlite: can't be opened"},
    {"cache merge junk", "junk: damaged, or not a tuning cache"},
    {"cache export --dir junk", "junk/default.sqlite can't be read"},
    {"cache clear --dir junk", "junk/default.sqlite could not be cleared"},
};

/* Looking at a cache that isn't there, in one line, and making neither it nor its folder nor a file of results. */
static const struct { const char *args; int rc; const char *says; } absent[] = {
    {"cache list --dir nowhere", 0, "0 entries, 0 trials in nowhere/default.sqlite, which does not exist yet\n"},
    {"cache list --dir nowhere --json", 0, ""},
    {"cache show --dir nowhere", 0, "0 entries in nowhere/default.sqlite, which does not exist yet\n"},
    {"cache show --dir nowhere --json", 0, "{\"schema\": 1, \"entries\": []}\n"},
    {"cache show matmul --dir nowhere", 1, "no entry matches \"matmul\": nowhere/default.sqlite does not exist yet\n"},
    {"cache verify --dir nowhere", 0, "sound: 0 entries in nowhere/default.sqlite, which does not exist yet\n"},
    {"cache verify --dir nowhere --json", 0, "{\"sound\": true, \"file_sound\": true, \"entries\": 0, \"bad_entries\": 0, \"bad_trials\": 0}\n"},
    {"cache export --dir nowhere", 2, "nowhere/default.sqlite does not exist yet: there is nothing to export\n"},
    {"cache export nowhere.json --dir nowhere", 2, "nothing to export\n"},
};

static void expect_none(cli *c, const char *args, int want, const char *says) {
  static const char *const made[] = {"nowhere", "nowhere.json", ".tessera"};
  char path[256];
  cli_expect(c, args, want, says);
  cli_check(c, *says ? cli_one_line(c) : !*c->said, "one line");
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    cli_path(c, made[i], path, sizeof path);
    if (access(path, F_OK) == 0) printf("%s: made %s\n", args, made[i]), c->wrong++;
  }
}

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  static const char junk[] = "not a database, and no JSON either", later[] = "{\"schema\": 2, \"entries\": []}",
                    partly[] = "{\"schema\": 1, \"entries\": [{\"op\": \"x\"}, 3]}";
  cli_write(&c, "junk", junk, sizeof junk - 1);
  cli_write(&c, "later.json", later, sizeof later - 1);
  cli_write(&c, "partly.json", partly, sizeof partly - 1);
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    expect_none(&c, absent[i].args, absent[i].rc, absent[i].says);
  cli_expect(&c, "tune matmul --shape 64x64x64 --device cpu:0 --strategy model-only", 0,
             "nothing was stored: a schedule that the model chose was not measured, and is not kept");
  cli_expect(&c, "tune matmul --shape 64x64x64 --device cpu:0 --samples 2 --json", 0, "\"source\": \"search\"");
  if (!strstr(c.said, "\"stored\": true")) return cli_end(&c), 77; /* built without SQLite */
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    cli_refused(&c, refused[i].args, refused[i].args, refused[i].says);

  cli_write_unary(&c, "exp.mlir", "exp", "64");
  cli_expect(&c, "cache prewarm exp.mlir --device cpu:0", 0, "exp.mlir on cpu:0: 1 kernels, compiled in ");
  cli_expect(&c, "cache prewarm exp.mlir --device cpu:0 --json", 0, "\"kernels\": 1, \"compile_s\": ");

  cli_expect(&c, "cache list", 0, "1 entries, 2 trials in .tessera/cache/default.sqlite\n");
  cli_check(&c, !strstr(c.said, "=0"), "a knob that does not exist here is listed");
  cli_expect(&c, "cache list softmax", 0, "0 of 1 entries");
  cli_expect(&c, "cache list --json", 0, "{\"op\": \"matmul\"");
  cli_expect(&c, "cache show matmul", 0, "trials:\n");
  cli_expect(&c, "cache show matmul --json", 0, "\"trials\": [");
  cli_expect(&c, "cache show softmax", 1, "no entry matches");
  cli_expect(&c, "cache verify", 0, "sound: 1 entries");
  cli_expect(&c, "cache export whole.json", 0, "");
  cli_expect(&c, "cache import whole.json", 0, "0 added, 1 kept, 0 refused");
  cli_expect(&c, "cache import whole.json --replace --json", 0, "{\"added\": 1, \"kept\": 0, \"refused\": 0}");
  cli_expect(&c, "cache import partly.json", 1, "0 added, 0 kept, 2 refused");
  cli_expect(&c, "cache import whole.json --name second", 0, "1 added");
  cli_expect(&c, "cache merge .tessera/cache/second.sqlite --name third", 0, "1 added");
  cli_expect(&c, "cache clear --name third", 0,
             "removed 1 entries and 2 trials from .tessera/cache/third.sqlite, 0.0 kB of compiled binaries");
  cli_expect(&c, "cache list --name third", 0, "0 entries, 0 trials");

  damage(&c, ".tessera/cache/second.sqlite");
  cli_expect(&c, "cache verify --name second", 1,
             "DAMAGED: 0 entries, 1 damaged entries, 0 damaged trials, file sound");
  cli_check(&c, strstr(c.said, "the first damage is of ") && strstr(c.said, "64x64x64"), "which entry is damaged");
  cli_expect(&c, "cache list --name second", 0, "1 damaged entries are left out, the first is ");
  cli_expect(&c, "cache merge .tessera/cache/second.sqlite --name third", 1, "0 added, 0 kept, 1 refused");
  make_newer(&c);
  cli_expect(&c, "cache list", 0,
             "0 entries, 0 trials in .tessera/cache/default.v1.sqlite; a newer library's file is left alone: "
             ".tessera/cache/default.sqlite\n");
  cli_expect(&c, "cache merge .tessera/cache/default.sqlite --name third", 2, "a newer library's cache");
  cli_write(&c, ".tessera/cache/second.sqlite", junk, sizeof junk - 1);
  cli_expect(&c, "cache verify --name second", 1,
             "DAMAGED: 0 entries, 0 damaged entries, 0 damaged trials, file damaged: .tessera/cache/second.sqlite; a "
             "damaged or foreign file was set aside: .tessera/cache/second.sqlite.bad\n");
  cli_expect(&c, "cache verify --name second", 0, "sound: 0 entries");
  cli_expect(&c, "cache verify --dir junk", 1, "UNREADABLE");
  return cli_end(&c);
}
