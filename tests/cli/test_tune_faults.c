/* tests/cli/test_tune_faults.c - `tessera tune` as processes that fare badly: killed at 200 random moments, 100 of them
 * on one op, their cache damaged, the disk full, the folder read-only, a newer library's file, a clock that jumps. What
 * one of them measured and told must be there for the next, no fault may end a command with anything but 0, and
 * `tessera cache verify` finds nothing bad afterwards. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <utime.h>

#include "tests/cli/cli_run.h"

static uint64_t rng = 2463534242u;
static unsigned dice(unsigned n) {
  rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
  return (unsigned)(rng >> 33) % n;
}

/* Like cli_run, in a shell that did `before`. */
static int run_after(cli *c, const char *before, const char *args) {
  char line[2048];
  snprintf(line, sizeof line, "{ %s; \"$TESSERA\" %s; } 2>&1 </dev/null", before, args);
  return cli_shell(c, line);
}

static bool tune(cli *c, const char *shape, int samples) {
  char args[200];
  snprintf(args, sizeof args, "tune matmul --shape %s --device cpu:0 --samples %d --json", shape, samples);
  return cli_run(c, args) == 0 && cli_number(c, "measurements") >= 0;
}

/* Tuned by one process, a matter of reading for the next. */
static void tuned_and_kept(cli *c, const char *shape, const char *what) {
  cli_check(c, tune(c, shape, 4) && strstr(c->said, "\"stored\": true"), what);
  cli_check(c, tune(c, shape, 4) && cli_number(c, "measurements") == 0, what);
}

/* ---- kill -9 ----------------------------------------------------------------------------------------------------- */

enum { KILLS = 200, SAMPLES = 60 };

/* A tuning process whose progress goes to a terminal of ours. */
static pid_t tune_on_terminal(const cli *c, const char *shape, int *master) {
  *master = posix_openpt(O_RDWR | O_NOCTTY);
  if (*master < 0 || grantpt(*master) || unlockpt(*master)) return -1;
  int slave = open(ptsname(*master), O_RDWR | O_NOCTTY); /* here, or reading would wait for a child that died before */
  if (slave < 0) return -1;
  pid_t pid = fork();
  if (pid) {
    close(slave);
    return pid;
  }
  int null = open("/dev/null", O_RDWR);
  if (null < 0 || chdir(c->dir) || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(slave, 2) < 0) _exit(9);
  close(slave);
  close(*master);
  char samples[16];
  snprintf(samples, sizeof samples, "%d", SAMPLES);
  const char *command = getenv("TESSERA");
  execl(command, command, "tune", "matmul", "--shape", shape, "--device", "cpu:0", "--samples", samples, (char *)NULL);
  _exit(9);
}

/* The first and the last "N/60," of the progress; 0 without one. */
static void told(int master, int *first, int *last) {
  char text[1 << 14];
  size_t n = 0;
  ssize_t got;
  *first = *last = 0;
  while (n < sizeof text - 1 && (got = read(master, text + n, sizeof text - 1 - n)) > 0) n += (size_t)got;
  text[n] = 0;
  for (const char *at = text; (at = strstr(at, "/60,")); at++) {
    const char *from = at;
    while (from > text && from[-1] >= '0' && from[-1] <= '9') from--;
    int v = atoi(from);
    if (v && !*first) *first = v;
    if (v) *last = v;
  }
}

static void sleep_us(unsigned us) {
  struct timespec t = {us / 1000000, (long)(us % 1000000) * 1000};
  nanosleep(&t, NULL);
}

static void killed_at_random_moments(cli *c) {
  int kept = 0, acknowledged = 0, finished = 0, which = 0, killed = 0;
  char shape[32];
  for (int round = 0; killed < KILLS && round < 3 * KILLS; round++) {
    int master, first, last, status;
    snprintf(shape, sizeof shape, "32x32x%d", 64 + 8 * which);
    pid_t pid = tune_on_terminal(c, shape, &master);
    if (pid < 0) {
      printf("left out: no pseudo-terminals here\n");
      return;
    }
    if (round % 4) { /* three of four while it measures, the others while it starts */
      struct pollfd p = {.fd = master, .events = POLLIN};
      (void)poll(&p, 1, 5000);
    }
    sleep_us(dice(12000));
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    told(master, &first, &last);
    close(master);
    killed += WIFSIGNALED(status);
    /* What earlier ones told is counted by the next from its first sample on. */
    cli_check(c, !first || first > kept, "samples of a killed search are lost");
    acknowledged += last > kept ? last - kept : 0;
    if (last > kept) kept = last;
    if (!WIFSIGNALED(status) || kept >= SAMPLES) {
      cli_check(c, WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "a search that went on failed");
      which++, finished++;
      kept = 0;
    }
  }
  cli_check(c, killed == KILLS && acknowledged > KILLS / 4, "the kills came at no useful moments");
  cli_check(c, cli_run(c, "cache verify") == 0, "the cache is bad after 200 kills");
  cli_check(c, tune(c, shape, SAMPLES) && cli_number(c, "samples") >= kept, "a killed search does not go on");
  printf("%d kills, %d samples told by killed searches, %d searches finished between\n", killed, acknowledged,
         finished);
}

/* ---- 100 at once ------------------------------------------------------------------------------------------------- */

static void a_hundred_tune_the_same_op(cli *c) {
  enum { N = 100 };
  char tile[64] = "", one[64], name[32];
  int rc = run_after(c,
                     "for i in $(seq 100); do \"$TESSERA\" tune matmul --shape 40x40x72 --device cpu:0 --samples 6 "
                     "--json >out.$i 2>&1 || echo failed: $i & done; wait",
                     "cache verify");
  cli_check(c, rc == 0 && !strstr(c->said, "failed"), "one of 100 processes failed");
  for (int i = 1; i <= N; i++) {
    snprintf(name, sizeof name, "out.%d", i);
    c->said[cli_read(c, name, c->said, sizeof c->said - 1)] = 0;
    const char *at = strstr(c->said, "\"tile\": \"");
    one[0] = 0;
    if (at) sscanf(at + 9, "%63[0-9x]", one);
    if (!tile[0]) memcpy(tile, one, sizeof tile);
    cli_check(c, one[0] && !strcmp(one, tile), "100 processes do not agree on a tile");
  }
  cli_check(c, tune(c, "40x40x72", 6) && cli_number(c, "measurements") == 0, "the 101st measures again");
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const char database[] = ".tessera/cache/default.sqlite";

static void damaged_files(cli *c) {
  static unsigned char bytes[1 << 20];
  size_t n = cli_read(c, database, bytes, sizeof bytes);
  cli_check(c, n > 8192, "there is no cache to damage");
  for (int how = 0; how < 4; how++) {
    static unsigned char bad[1 << 20];
    memcpy(bad, bytes, n);
    for (int i = 0; i < 64; i++) bad[(how == 2 ? 0 : 100) + dice((unsigned)n - 100)] = (unsigned char)dice(256);
    if (how == 3) memset(bad, 'x', n);
    cli_write(c, database, bad, how == 0 ? 1 + dice((unsigned)n - 1) : how == 1 ? 0 : n);
    cli_check(c, tune(c, "24x24x40", 4), "a damaged cache stops a search");
    tuned_and_kept(c, "24x24x48", "after damage nothing is kept");
  }
}

static void newer_schema_is_left_alone(cli *c) {
  static unsigned char before[1 << 20], after[1 << 20];
  tuned_and_kept(c, "24x24x56", "before the newer library");
  size_t n = cli_read(c, database, before, sizeof before);
  before[60] = before[61] = before[62] = 0, before[63] = 99; /* user_version, of the file format's header */
  cli_write(c, database, before, n);
  tuned_and_kept(c, "24x24x56", "beside a newer library's file");
  cli_check(c, cli_read(c, database, after, sizeof after) == n && !memcmp(before, after, n),
            "a newer library's file was touched");
  before[63] = 1;
  cli_write(c, database, before, n);
}

static void clock_jumps(cli *c) {
  static const time_t jumps[] = {0, 4102444800};
  char path[256];
  tuned_and_kept(c, "24x24x64", "before the clock jumps");
  cli_path(c, database, path, sizeof path);
  for (int i = 0; i < 2; i++) {
    struct utimbuf t = {jumps[i], jumps[i]};
    cli_check(c, !utime(path, &t) && tune(c, "24x24x64", 4) && cli_number(c, "measurements") == 0,
              "another time is another cache");
  }
}

/* ---- disks ------------------------------------------------------------------------------------------------------- */

static void files_that_may_not_grow(cli *c) {
  static const char args[] = "tune matmul --shape 24x24x72 --device cpu:0 --samples 4 --json";
  int rc = run_after(c, "rm -rf .tessera; trap '' XFSZ; ulimit -f 8", args);
  cli_check(c, rc == 0 && cli_number(c, "measurements") > 0 && strstr(c->said, "\"stored\": false"),
            "a disk that takes nothing stops a search");
  tuned_and_kept(c, "24x24x72", "space is back, and nothing is kept");
}

/* A real full disk and a real read-only one need a mount of our own. */
static void full_and_read_only_disks(cli *c) {
  char command[1536];
  static const char args[] = "tune matmul --device cpu:0 --samples 4 --json --shape";
  cli_write(c, "mounts", "", 0);
  if (run_after(c, "unshare -rm sh -c 'mkdir -p disk && mount -t tmpfs -o size=4k none disk' || exit 9",
                "cache list")) {
    printf("full and read-only disks: left out, no mounts of our own here\n");
    return;
  }
  snprintf(command, sizeof command,
           "unshare -rm sh -c 'mount -t tmpfs -o size=8k none disk; export TSR_CACHE_DIR=disk; \"$TESSERA\" %s 24x24x80 >full 2>notes || echo failed'; unshare -rm sh -c 'mount -t tmpfs -o size=8m none disk; "
           "export TSR_CACHE_DIR=disk; \"$TESSERA\" %s 24x24x80 >first && mount -o remount,ro disk && \"$TESSERA\" %s 24x24x80 >again && \"$TESSERA\" %s 24x24x88 >other 2>notes || echo failed; "
           "mount -o remount,rw disk; : >disk/default.sqlite-wal; : >disk/default.sqlite-shm; " /* as if one was killed */
           "mount -o remount,ro disk; "
           "\"$TESSERA\" cache list | grep read-only >list'; cat full first again other list",
           args, args, args, args);
  int rc = run_after(c, command, "cache list");
  cli_check(c, rc == 0 && !strstr(c->said, "failed"), "a full or a read-only disk stops a search");
  cli_check(c, strstr(c->said, "file system can't be written") != NULL, "a cache that was left open has no reason");
  const char *full = c->said, *first = strchr(full, '\n'), *again = first ? strchr(first + 1, '\n') : NULL,
             *other = again ? strchr(again + 1, '\n') : NULL;
  cli_check(c, other != NULL, "four searches were asked for");
  if (!other) return;
  cli_check(c, strstr(full, "\"stored\": false") && strstr(full, "\"stored\": false") < first,
            "a full disk keeps what it can't hold");
  cli_check(c, strstr(first, "\"stored\": true") && strstr(first, "\"stored\": true") < again,
            "the disk of 8 MB is no disk");
  cli_check(c, strstr(again, "\"measurements\": 0,") && strstr(again, "\"measurements\": 0,") < other,
            "a read-only cache is not read");
  cli_check(c, strstr(other, "\"stored\": false") != NULL, "a read-only cache is written");
}

int main(void) {
  cli c;
#ifndef TSR_HAVE_SQLITE
  return 77; /* the cache is off */
#endif
  if (!cli_begin(&c)) return 77;
  cli_check(&c, tune(&c, "16x16x16", 4), "the first search, which measures the device too");
  killed_at_random_moments(&c);
  a_hundred_tune_the_same_op(&c);
  newer_schema_is_left_alone(&c);
  clock_jumps(&c);
  damaged_files(&c);
  files_that_may_not_grow(&c);
  full_and_read_only_disks(&c);
  return cli_end(&c);
}
