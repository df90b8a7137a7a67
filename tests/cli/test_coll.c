/* tests/cli/test_coll.c - `tessera plan coll` and `tessera bench coll`: the published table through the command line,
 * the keys that scripts read, every operation and algorithm right, and arguments that nobody should get away with. */
#include "tests/cli/cli_mpi.h"

#define PLAN "plan coll --op all_reduce --topology "

static const struct {
  const char *args, *says;
} refused[] = {
    {"plan", "tessera plan coll"},
    {"plan coll extra --op all_reduce", "tessera plan coll"},
    {"plan coll", "coll needs --op"},
    {"plan coll --op all_reduce --topology nvl72 --ranks 72", "coll needs --op"},
    {PLAN "banana --ranks 72 --bytes 1", "no topology \"banana\"; there are nvl72, h100x8, mi300x8, pcie8"},
    {PLAN "'' --ranks 72 --bytes 1", "no topology \"\""},
    {PLAN "nvl72 --ranks 73 --bytes 1", "the machine has fewer ranks"},
    {PLAN "nvl72 --ranks 0 --bytes 1", "--ranks 0 is not 1 to 16384"},
    {PLAN "nvl72 --ranks -1 --bytes 1", "--ranks -1 is not 0 or more"},
    {PLAN "nvl72 --ranks 9223372036854775808 --bytes 1", "--ranks needs a number"},
    {PLAN "nvl72 --ranks 9223372036854775807 --bytes 1", "is not 1 to 16384"},
    {PLAN "nvl72 --ranks lots --bytes 1", "--ranks needs a number"},
    {PLAN "nvl72 --ranks 72 --bytes -5", "--bytes -5 is not"},
    {PLAN "nvl72 --ranks 72 --bytes 9223372036854775807", "is not 0 to 2^50"},
    {PLAN "nvl72 --ranks 72 --bytes 1e9", "--bytes needs a number"},
    {PLAN "infiniband --ranks 12 --bytes 1", "whole domains"},
    {PLAN "nvl72 --ranks 72 --bytes 1 --algorithm banana", "no algorithm \"banana\""},
    {PLAN "nvl72 --ranks 72 --bytes 1 --algorithm bruck", "it moves blocks and combines nothing"},
    {PLAN "nvl72 --ranks 72 --bytes 1 --loud", "unknown option --loud"},
    {"plan coll --op banana --topology nvl72 --ranks 72 --bytes 1", "no operation \"banana\""},
    {PLAN "none.json --ranks 2 --bytes 1", "none.json"},
    {PLAN "bad.json --ranks 2 --bytes 1", "bad.json:1:"},
    {PLAN "empty.json --ranks 2 --bytes 1", "\"levels\" is an array"},
    {PLAN "escape.json --ranks 2 --bytes 1", "no text"},
    {PLAN ". --ranks 2 --bytes 1", "can't be"},
    {PLAN "/dev/zero --ranks 2 --bytes 1", "/dev/zero"},
    {"bench coll extra", "coll takes options alone"},
    {"bench coll --op banana", "no operation \"banana\""},
    {"bench coll --ranks 0", "--ranks 0 is not 1 to 256"},
    {"bench coll --ranks 257", "--ranks 257 is not 1 to 256"},
    {"bench coll --bytes -1", "--bytes -1 is not"},
    {"bench coll --bytes 4294967297", "is not 0 to 2^32"},
    {"bench coll --op all_reduce --ranks 256 --bytes 4294967296", "need more than 4 GiB"},
    {"bench coll --dtype f33", "unknown data type"},
    {"bench coll --milliseconds 0", "--milliseconds 0"},
    {"bench coll --transport banana", "no transport \"banana\"; there are local, mpi"},
    {"bench coll --algorithm banana", "no algorithm \"banana\""},
    {"bench coll --op all_reduce --algorithm bruck --bytes 64", "it moves blocks and combines nothing"},
    {"bench coll --op all_reduce --dtype bool --bytes", "--bytes needs a value"},
    {"bench coll --keep", "--keep goes with --algorithm all"},
    {"bench coll --wire f33", "unknown data type \"f33\""},
    {"bench coll --wire i32", "--wire: the types of a wire are bf16, f16, fp8_e4m3, fp8_e5m2 and i8"},
    {"bench coll --wire bf16 --dtype i32", "--wire: a wire's type is for data of f32 or f64"},
    {"bench coll --wire i8 --algorithm ring", "--wire i8 has exchanges of its own"},
    {"bench coll --algorithm all --keep --op all_reduce", "--keep goes with --algorithm all"},
    {"bench coll --device cpu:0", "unknown option --device"},
};

/* Published rows that the constants were not fitted to. */
static void check_table(cli *c) {
  static const struct {
    const char *bytes;
    double us;
  } row[] = {{"1073741824", 3108.8}, {"2147483648", 5589.1}, {"4294967296", 10094}};
  double sum = 0;
  for (int i = 0; i < 3; i++) {
    char args[200];
    snprintf(args, sizeof args, PLAN "nvl72 --ranks 72 --bytes %s --json", row[i].bytes);
    cli_expect(c, args, 0, "\"algorithm\": \"");
    double e = cli_number(c, "time_us") / row[i].us - 1;
    sum += e < 0 ? -e : e;
    if (e > 0.1 || e < -0.1) c->wrong++, printf("%s: %+.1f %%\n", row[i].bytes, 100 * e);
  }
  if (sum / 3 > 0.05) c->wrong++, printf("mean error %.1f %%\n", 100 * sum / 3);
}

/* Under mpirun rank 0 prints a line for every size of every operation, over shared memory and by messages. */
static void check_mpi(cli *c, const char *const *keys) {
  setenv("TSR_MPI_MODULE", "/nowhere/tessera-mpi.so", 1);
  cli_expect(c, "bench coll --transport mpi", 3, "no MPI: /nowhere/tessera-mpi.so");
  unsetenv("TSR_MPI_MODULE");
  if (!cli_mpi_begin(c)) return;
  for (int shared = 0; shared < 2; shared++) {
    setenv("TSR_COLL_SHARED", shared ? "1" : "0", 1);
    cli_has_keys(c, "--oversubscribe -n 3 $PROGRAM bench coll --transport mpi --milliseconds 1 --json", keys);
    cli_check(c, cli_count(c, "\"ok\": true") == 15 && !strstr(c->said, "\"ok\": false"), "15 lines, all right");
    cli_check(c, strstr(c->said, "\"ranks\": 3, \"transport\": \"mpi\"") != NULL, "three ranks of MPI");
    cli_check(c, strstr(c->said, shared ? "\"path\": \"shared memory\"" : "\"path\": \"MPI messages\"") != NULL,
              "the path that was asked for");
  }
  cli_expect(c, "--oversubscribe -n 3 $PROGRAM bench coll --transport mpi --ranks 4", 2,
             "--ranks 4, but there are 3 processes");
  unsetenv("TSR_COLL_SHARED");
  cli_mpi_end();
}

/* All ranks in this process, over the library that stands in for UCC. */
static void check_ucc(cli *c, const char *const *keys) {
  setenv("TSR_UCC", "/nowhere/libucc.so", 1);
  cli_expect(c, "bench coll --transport ucc", 3, "/nowhere/libucc.so isn't here");
  setenv("TSR_UCC", TSR_BINARY_DIR "/tests/libfakeucc.so", 1);
  cli_has_keys(c, "bench coll --transport ucc --ranks 3 --milliseconds 1 --json", keys);
  cli_check(c, cli_count(c, "\"ok\": true") == 15 && !strstr(c->said, "\"ok\": false"), "15 lines, all right");
  cli_check(c, strstr(c->said, "\"ranks\": 3, \"transport\": \"ucc\"") != NULL, "three ranks of UCC");
  cli_expect(c, "bench coll --transport ucc --ranks 2 --op all_reduce --bytes 64 --milliseconds 1", 0, "its_own");
  cli_expect(c, "bench coll --transport ucc --algorithm ring", 2, "ucc chooses its algorithms itself");
  unsetenv("TSR_UCC");
}

/* The fastest algorithms are kept in the cache's folder, and taken from then on. */
static void check_table_kept(cli *c) {
  static const char kept[] = "tessera-coll 1\nlocal 3 %d memory of one process\nall_reduce 9223372036854775807 tree\n";
  char text[200];
  setenv("TSR_CACHE_DIR", "kept/cache", 1);
  cli_expect(c, "bench coll --ranks 3 --algorithm all --keep --milliseconds 1", 0,
             "kept in kept/cache/coll-local-3.txt");
  cli_expect(c, "bench coll --ranks 3 --milliseconds 1", 0, "ok");
  int n = snprintf(text, sizeof text, kept, (int)sysconf(_SC_NPROCESSORS_ONLN));
  cli_write(c, "kept/cache/coll-local-3.txt", text, (size_t)n);
  cli_expect(c, "bench coll --ranks 3 --op all_reduce --bytes 64 --milliseconds 1 --json", 0,
             "\"algorithm\": \"tree\"");
  cli_expect(c, "bench coll --ranks 3 --op all_reduce --bytes 64 --milliseconds 1 --json --algorithm ring", 0,
             "\"algorithm\": \"ring\"");
  cli_expect(c, "bench coll --ranks 4 --op all_reduce --bytes 64 --milliseconds 1 --json", 0,
             "\"algorithm\": \"direct\"");
  cli_write(c, "kept/cache/coll-local-3.txt", "nonsense", 8);
  cli_expect(c, "bench coll --ranks 3 --op all_reduce --bytes 64 --milliseconds 1 --json", 0,
             "\"algorithm\": \"direct\"");
  setenv("TSR_CACHE_DIR", "", 1);
  cli_expect(c, "bench coll --ranks 3 --algorithm all --keep --milliseconds 1", 2, "there is no cache folder");
  unsetenv("TSR_CACHE_DIR");
}

int main(void) {
  static const char *const plan_keys[] = {"op",    "topology",     "ranks",  "bytes",  "algorithm",  "time_us", "algbw",
                                          "busbw", "extrapolated", "levels", "source", "algorithms", "refused", NULL};
  static const char *const bench_keys[] = {"op",
                                           "shape",
                                           "dtype",
                                           "device",
                                           "policy",
                                           "tile",
                                           "median_us",
                                           "min_us",
                                           "gflops",
                                           "gbytes_per_s",
                                           "peak_fraction",
                                           "error",
                                           "tolerance",
                                           "ok",
                                           "baseline",
                                           "baseline_median_us",
                                           "ratio",
                                           "ranks",
                                           "transport",
                                           "algorithm",
                                           "bytes",
                                           "algbw",
                                           "busbw",
                                           "oversubscribed",
                                           "cores",
                                           "environment",
                                           NULL};
  static const char *const algorithms[] = {"ring",   "tree",  "double_tree", "halving_doubling",
                                           "direct", "bruck", "hierarchical"};
  static const char *const transports[] = {"nccl", "rccl"};
  static const char good[] = "{\"name\": \"lab\", \"levels\": [{\"name\": \"bus\", \"ranks\": 4, \"latency_us\": 1, "
                             "\"gbytes_per_s\": 10, \"source\": \"measured by hand\"}]}";
  static const char escape[] = "{\"name\": \"\\u001b[2J\", \"levels\": [{\"ranks\": 4, \"latency_us\": 1, "
                               "\"gbytes_per_s\": 10}]}";
  char args[200];
  cli c;
  if (!cli_begin(&c)) return 77;
  cli_write(&c, "good.json", good, sizeof good - 1);
  cli_write(&c, "bad.json", "{\"levels\": [", 12);
  cli_write(&c, "empty.json", "{}", 2);
  cli_write(&c, "escape.json", escape, sizeof escape - 1);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    cli_refused(&c, refused[i].args, refused[i].args, refused[i].says);
  check_table(&c);
  cli_has_keys(&c, PLAN "nvl72 --ranks 72 --bytes 1000000 --json", plan_keys);
  cli_expect(&c, PLAN "nvl72 --ranks 72 --bytes 1000000 --json", 0, "\"extrapolated\": true");
  cli_expect(&c, PLAN "infiniband --ranks 16384 --bytes 1000000000", 0, "InfiniBand, 16384 ranks: latency 6 us");
  cli_expect(&c, PLAN "good.json --ranks 4 --bytes 1000000", 0, "10 GB/s; measured by hand");
  cli_expect(&c, "plan --help", 0, "halving_doubling");
  setenv("TSR_NCCL", "/nowhere/libnccl.so", 1), setenv("TSR_RCCL", "/nowhere/librccl.so", 1);
  for (int i = 0; i < 2; i++) {
    char says[100];
    snprintf(args, sizeof args, "bench coll --transport %s", transports[i]);
    snprintf(says, sizeof says, "/nowhere/lib%s.so isn't here", transports[i]);
    cli_expect(&c, args, 3, says);
  }
  check_ucc(&c, bench_keys);
  static const char *const wires[] = {"bf16", "f16", "fp8_e4m3", "fp8_e5m2", "i8"};
  for (int i = 0; i < 5; i++) {
    snprintf(args, sizeof args, "bench coll --ranks 3 --wire %s --milliseconds 1 --json", wires[i]);
    cli_has_keys(&c, args, bench_keys);
    cli_check(&c, cli_count(&c, "\"ok\": true") == 15 && !strstr(c.said, "\"ok\": false"), args);
    cli_check(&c, strstr(c.said, wires[i]) != NULL, args);
  }
  check_table_kept(&c);
  check_mpi(&c, bench_keys);
  cli_has_keys(&c, "bench coll --op all_reduce --ranks 3 --bytes 4096 --milliseconds 1 --json", bench_keys);
  cli_expect(&c, "bench coll --ranks 16 --op broadcast --bytes 64 --milliseconds 1", 0, "oversubscribed=");
  for (int i = 0; i < 7; i++) {
    snprintf(args, sizeof args,
             "bench coll --ranks %d --algorithm %s --bytes 1000 --milliseconds 1 --dtype bf16 --json", 3 + i,
             algorithms[i]);
    cli_expect(&c, args, 0, "\"ok\": true");
    cli_check(&c, !strstr(c.said, "\"ok\": false"), args);
  }
  cli_expect(&c, "bench coll --ranks 72 --op all_reduce --bytes 65536 --milliseconds 1 --json", 0, "\"ranks\": 72");
  cli_expect(&c, "bench coll --ranks 1 --op all_to_all --bytes 0 --milliseconds 1 --json", 0, "\"ok\": true");
  return cli_end(&c);
}
