/* tests/cli/test_usage.c - what scripts rely on: exit codes, one line where something is wrong and nothing before it,
 * the keys of the JSON that `devices`, `ops` and `bench` print, and results written by position. */
#include "tests/cli/cli_run.h"

#define TEN "1111111111"
#define LONG_DIGITS TEN TEN TEN TEN TEN TEN TEN
static const struct { const char *args, *says; } refused[] = {
    {"frobnicate", "no command \"frobnicate\""},
    {"devices --loud", "unknown option --loud"},
    {"run", "needs one FILE"},
    {"run x.mlir y.mlir", "needs one FILE"},
    {"run x.mlir --transport mpi", "are for --mesh"},
    {"check x.mlir --mesh tp=2 --transport carrier", "--transport is mpi"},
    {"check x.mlir --mesh tp=2 --json", "unknown option --json"},
    {"check --mesh tp=2", "--mesh needs one FILE"},
    {"run x.mlir --mesh tp=2 --transport carrier", "--transport is mpi"},
    {"run x.mlir --repeat lots", "--repeat needs a number"},
    {"run x.mlir --repeat -1", "--repeat -1"},
    {"run x.mlir --seed", "--seed needs a value"},
    {"run x.mlir --input A", "\"A\" is not NAME=FILE"},
    {"run x.mlir --input Q=a.npy", "no input \"Q\""},
    {"run x.mlir --output 7=y.npy", "no output \"7\"; the program has 1"},
    {"run x.mlir --output 0=no/such/folder/y.npy", "no/such/folder/y.npy"},
    {"run x.mlir --policy sloppy", "unknown numerics policy \"sloppy\""},
    {"run x.mlir --precision sloppy", "unknown precision mode \"sloppy\""},
    {"dump x.mlir --explain --precision ''", "unknown precision mode \"\""},
    {"bench matmul --shape 8x8x8 --device cpu:0 --precision sloppy", "unknown precision mode \"sloppy\""},
    {"run x.mlir --mesh tp=2 --precision safe", "--mesh takes --device"},
    {"tune attention --shape 8x8x8x8 --explain --precision tf32 --device cpu:0", "attention takes no"},
    {"dump x.mlir --after banana", "no pass is called \"banana\""},
    {"dump x.mlir --after banana", "transpose_operand"},
    {"dump x.mlir --after defaults --level tile", "--after stands without"},
    {"dump x.mlir", "--level is graph, schedule, tile, target, source or binary"},
    {"bench NOSUCHOP", "NOSUCHOP: no such operation"},
    {"bench add NOSUCHOP --device cpu:0", "NOSUCHOP: no such operation"},
    {"bench softmax --dtype i32", "softmax"},
    {"bench matmul --shape 3x", "shape \"3x\" is not MxNxK or BxMxNxK"},
    {"bench softmax --shape 2x3x4", "is not ROWSxCOLS"},
    {"bench softmax --shape " LONG_DIGITS "x4", "shape \"1111111111"},
    {"bench softmax --dtype " LONG_DIGITS, "unknown data type \"1111111111"},
    {"profile x.mlir --shape 64x64 --device cpu:0", "--shape of a file's input is NAME=2x3.., not \"64x64\""},
    {"tune softmax --shape 4x8 --device cpu:0 --explain --candidate tile=bogus", "\"bogus\" is no tile"},
    {"tune softmax --shape 4x8 --device cpu:0 --explain --tile bogus", "--tile is MxNxK"},
    {"run x.mlir --device cpu:0 --precision deterministic --policy fast",
     "policy fast beside precision deterministic"},
    {"plan coll --op all_reduce --topology inproc --ranks 16385 --bytes 9", "--ranks 16385 is not 1 to 16384"},
    {"bench --suite nope", "no suite \"nope\"; there are quick, bert-base,"},
    {"bench add --dtype f33", "unknown data type \"f33\""},
    {"bench add --dtype f32,f33", "unknown data type \"f33\""},
    {"bench add --shape 4x8,4x", "shape \"4x\" is not ROWSxCOLS"},
    {"bench add --shape ''", "an empty list"},
    {"bench add --against nobody", "no peer \"nobody\"; there are openblas, blis, onednn, ggml"},
    {"bench add --policy sloppy", "unknown numerics policy"},
    {"--version x", "--version stands alone"},
    {"help x", "help stands alone"},
    {"devices --json=no", "--json takes no value, not \"no\""},
    {"run x.mlir --seed 99999999999999999999", "--seed needs a number"},
    {"run x.mlir --seed ' 5'", "--seed needs a number"},
    {"run x.mlir --input A=in.npy --input A=in.npy --device cpu:0", "--input A is given twice"},
    {"run x.mlir --shape A=2x3 --shape A=2x4", "--shape A is given twice"},
    {"run x.mlir --shape A=99999999999999999999x3", "is not NAME=2x3x.."},
    {"run x.mlir --shape A=+2x3", "is not NAME=2x3x.."},
    {"bench add --shape 4x8 --milliseconds 0", "--milliseconds 0 is not 1 to 600000"},
    {"bench add --shape 4x8 --milliseconds -5", "--milliseconds -5 is not"},
    {"bench --suite quick add", "--suite quick and add: one of them"},
    {"bench --suite quick --shape 4x8", "--shape goes with an operation"},
    {"bench --shape 4x8", "--shape goes with an operation"},
    {"bench add --dtype 0123456789012345678901234567890123456789012345678901234567890123f32", "unknown data type"},
    {"bench add --against ggml,ggml,ggml,ggml,ggml,ggml,ggml,ggml,ggml", "--against takes at most 8"},
    {"tune x.mlir --space --explain", "one of them"},
    {"tune matmul --shape 8x8x8 --explain --strategy banana", "measure nothing"},
    {"tune matmul --shape 8x8x8 --space --samples 3", "measure nothing"},
    {"tune matmul --shape 8x8x8 --record r.json --samples 3", "measures every candidate"},
    {"tune matmul --shape 8x8x8 --record r.json --json", "measures every candidate"},
    {"tune matmul --shape 8x8x8 --explain --knobs m", "--knobs goes with"},
    {"tune attention --shape 8x8x8x8 --explain --cache x --device cpu:0", "attention takes no"},
    {"tune x.mlir --dtype f32 --device cpu:0", "--dtype goes with an operation"},
    {"profile x.mlir --dtype banana --device cpu:0", "--dtype goes with an operation"},
    {"profile x.mlir --reproducible", "unknown option --reproducible"},
    {"check x.mlir --trace f", "unknown option --trace"},
    {"ops --json --markdown", "one of them"},
    {"inspect '\n'", "?: can't be opened"},
    {"bench 'a\nb' --shape 4x4 --device cpu:0", "a?b: no such operation"},
    {"bench coll --op all_reduce --ranks 2 --bytes 64 --dtype u4", "coll moves whole bytes"},
    {"bench add --shape 4x4 --packed --device cpu:0", "--packed is of matmul, not of add"},
    {"cache list --replace", "--replace goes with import and merge"},
    {"cache clear --replace", "--replace goes with import and merge"},
    {"run x.mlir --bounded --device cpu:0", "--bounded is of ONNX models"},
    {"profile x.mlir --steps 0 --device cpu:0", "--steps is 1 to 1000000"},
    {"profile x.mlir --steps -1 --device cpu:0", "--steps is 1 to 1000000"},
    {"tune x.mlir --samples -1 --device cpu:0", "--samples -1 is not 1"},
    {"tune x.mlir --samples 0 --device cpu:0", "--samples 0 is not 1"},
    {"plan coll --op all_reduce --topology nvl72 --ranks 8 --bytes -1", "--bytes -1 is not 0 or more"},
    {"plan gpt3_175b --mesh tp=8,pp=3,dp=3 --topology nvl72 --zero -1", "--zero -1 is not 0 or more"},
    {"plan gpt3_175b --mesh tp=8,pp=3,dp=3 --topology nvl72 --batch=-1", "--batch -1 is not 1 or more"},
    {"plan llama3_8b --mesh tp=8 --batch 0", "--batch 0 is not 1 or more"},
    {"plan llama3_8b --mesh tp=8 --microbatches 0", "--microbatches 0 is not 1 or more"},
    {"plan llama3_8b --mesh pp=8 --schedule interleaved --chunks 0", "--chunks 0 is not 1 or more"},
    {"plan llama3_8b --mesh pp=8 --schedule interleaved --chunks 65537", "--chunks 65537 is not 1 to 65535"},
    {"plan llama3_8b --mesh tp=8 --schedule 1f1b", "--schedule and --chunks are of meshes with an axis pp"},
    {"plan llama3_8b --mesh tp=8 --search", "--search finds a model's mesh: it takes --ranks, not --mesh"},
    {"plan llama3_8b --ranks 8 --search --schedule gpipe", "--search tries all schedules"},
    {"run x.mlir --repeat 0", "--repeat 0 is not 1 to 100000000"},
    {"run x.mlir --mesh tp=2 --bounded", "--mesh takes --device"},
    {"run x.mlir --mesh tp=2 --repeat 0", "--repeat 0 is not 1 to 100000000"},
    {"tune matmul --shape 64x64x64 --explain --tile 0x16x16 --device cpu:0", "--tile 0x16x16: its extents are 1 or more"},
    {"tune matmul --shape 64x64x64 --explain --tile x --device cpu:0", "--tile is MxNxK"},
    {"tune nosuch --device cpu:0", "nosuch: no such file, and no such operation"},
    {"bench nosuch --shape 4x4 --device cpu:0", "nosuch: no such operation"},
    {"bench coll --op all_reduce --ranks 2 --bytes 7 --dtype f32", "--bytes 7 is no whole number of f32, which has 4"},
    {"plan x.mlir --mesh tp=2 --topology nvl72 --batch 9", "--batch and --zero are of models"},
    {"plan x.mlir --mesh tp=2 --topology nvl72 --schedule gpipe", "are of meshes with an axis pp"},
};

static const struct { const char *args, *says; } unavailable[] = {
    {"run x.mlir --device cpu:77", "cpu:77"},
    {"run x.mlir --device magic:0", "no backend \"magic\""},
    {"run x.mlir --device null:spirv", "architecture without hardware"},
    {"test-onnx . --device null:spirv", "architecture without hardware"},
    {"dump x.mlir --level tile --device cuda:sm_12", "cuda:sm_12"},
    {"bench add --device magic:0", "no backend \"magic\""},
};

static void keys(cli *c) {
  static const char *const devices[] = {"id", "backend", "name", "driver", "matrix", "limits", NULL};
  static const char *const ops[] = {"name", NULL};
  static const char *const bench[] = {"op",
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
                                      NULL};
  cli_has_keys(c, "devices --json", devices);
  cli_has_keys(c, "ops --json", ops);
  cli_has_keys(c, "bench add --shape 4x8 --device cpu:0 --milliseconds 1 --json", bench);
  cli_expect_line(c, "bench add --shape 4x8 --device cpu:0 --milliseconds 1 --json", 0, "\"ok\": true");
  cli_expect_line(c, "bench matmul --shape 2x3x4x5 --device cpu:0 --milliseconds 1 --json", 0,
                  "\"shape\": \"2x3x4x5\"");
  cli_expect(c, "bench add --shape 4x8,5x9 --dtype f32,bf16 --device cpu:0 --milliseconds 1 --json", 0,
             "\"shape\": \"5x9\", \"dtype\": \"bf16\"");
  cli_expect(c, "bench softmax --shape 4x8 --device cpu:0 --milliseconds 1", 0, "median us");
  cli_expect(c, "bench softmax --shape 4x8 --device cpu:0 --milliseconds 1 --json --precision deterministic", 0,
             "\"policy\": \"deterministic\"");
  cli_expect(c, "bench softmax --shape 16777216x16777216 --device cpu:0 --milliseconds 1", 2,
             "no host memory for operand 0");
  /* Held against what the mode computes in: f32's tolerance would call these wrong. */
  cli_expect(c, "bench matmul --shape 64x64x256 --device cpu:0 --milliseconds 1 --json --precision tf32", 0,
             "\"precision\": \"tf32\"");
  cli_expect(c, "bench matmul --shape 64x64x256 --device cpu:0 --milliseconds 1 --json --precision aggressive", 0,
             "\"precision\": \"aggressive\"");
  cli_expect(c, "bench gelu --shape 4x8 --dtype bf16 --device cpu:0 --milliseconds 1 --json --precision safe", 0,
             "\"precision\": \"safe\"");
  cli_expect(c, "bench x.mlir --device cpu:0 --milliseconds 1 --precision tf32", 0, "median ");
  cli_expect_line(c, "run x.mlir --output 0=y.npy --repeat 3", 0, "median ");
  cli_expect(c, "run x.mlir --input A=y.npy --output 0=z.npy --device cpu:0 --policy deterministic --seed 5", 0, "");
}

static void open_dimensions(cli *c) {
  static const char any[] =
      "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<?x3xf32>, %B: tensor<3x?xf32>):\n%0 = \"tessera.graph.matmul\"(%A, "
      "%B)\n\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n";
  cli_write(c, "any.mlir", any, sizeof any - 1);
  cli_expect_line(c, "run any.mlir --input A=y.npy --shape B=3x7", 0, "output 0: 2x7 f32");
  cli_expect(c, "dump x.mlir --device cpu:0 --after to_schedule", 0, "\"tessera.schedule.program\"");
  cli_expect(c, "dump x.mlir --device cpu:0 --after simplify", 0, "\"tessera.graph.func\"");
  cli_expect(c, "dump x.mlir --device cpu:0 --explain", 0, "\npass to_tile: ");
  cli_expect(c, "dump any.mlir --device cpu:0 --shape A=4x3 --shape B=3x5 --explain --precision tf32", 0,
             "precision: tf32 fired");
  cli_expect(c, "dump any.mlir --level graph --shape A=4x3 --shape B=3x5 --precision aggressive", 0, "xf8");
  cli_expect(c, "dump --help", 0, "\n  transpose_operand ");
  cli_expect(c, "dump any.mlir --level graph --shape A=4x3 --shape B=3x5", 0, "-> tensor<4x5xf32>");
  cli_expect_line(c, "run any.mlir --input A=y.npy", 2, "any.mlir:2:27: input B has an unknown dimension");
  cli_expect_line(c, "run any.mlir --shape A=4x2 --shape B=3x5", 2,
                  "any.mlir:2:6: the shape given for input %A does not fit");
  cli_expect_line(c, "run any.mlir --shape A=4x3 --shape B=3x5 --shape C=1", 2, "no input \"C\"");
  cli_expect_line(c, "run any.mlir --shape A=4xz", 2, "\"A=4xz\" is not NAME=2x3x..");
#define TUNE_ANY(rows) "tune any.mlir --device cpu:0 --samples 8 --json --shape A=" rows "x3,B=3x96"
  cli_expect_line(c, TUNE_ANY("300"), 0, "\"source\": \"search\"");
  cli_expect_line(c, TUNE_ANY("290"), 0, "\"source\": \"bucket\", \"measurements\": 0,");
  cli_expect_line(c, "tune any.mlir --device cpu:0 --shape A=300x3", 2,
                  "any.mlir:2:27: input B has an unknown dimension");
  cli_expect_line(c, "tune any.mlir --device cpu:0 --shape A=300x3,C=1", 2, "no input \"C\"");
  cli_expect(c, "--help", 0, "usage: tessera");
  cli_expect(c, "--help", 0, "deterministic  reproducible reductions: debugging, reproducible training");
}

#define EXPLAIN(device, candidate) \
  "tune matmul --shape 64x64x64 --device " device " --explain --candidate \"" candidate "\""

static void estimates(cli *c) {
  cli_expect(c, EXPLAIN("cpu:0", "m=16 n=32 k=64 split_k=1 raster=0"), 0, "m=16 n=32 k=64");
  cli_expect(c, EXPLAIN("cpu:0", "tile=16x32x64,split_k=4"), 0,
             "illegal candidate, never compiled: split_k leaves empty parts");
  cli_expect(c, EXPLAIN("cpu:0", "tile=16x32x64,pipeline_stages=3"), 0,
             "pipeline_stages=3 is no choice here: left at 1");
  cli_expect(c, EXPLAIN("cuda:sm_80", "pipeline_stages=3,warps=4,vector=4,use_shared=1,padding=8,async_copy=1"), 0,
             "vectorize=4 use_shared=1 padding=8 async_copy=1 pipeline_stages=3 split_k=1 warps=4");
  cli_expect(c, EXPLAIN("cuda:sm_80", "tile=64x64x32,warps=16,vectorize=16"), 0,
             "illegal candidate, never compiled: vector wider than 16 bytes");
  cli_expect(c, "tune matmul --shape 2048x2048x2048 --dtype bf16 --device cuda:sm_90a --explain", 0,
             "over 8 ranks (ring at 450 GB/s, listed");
  cli_expect(c, EXPLAIN("cuda:sm_80", "pipeline_stages=1,async_copy=0"), 0, "steps, 1 buffer(s); a step loads");
  cli_expect(c, EXPLAIN("hip:gfx950", "tile=64x64x64,padding=0"), 0, "64-way conflicts on 64 banks");
  cli_expect(c, EXPLAIN("cuda:sm_80", "m=64"), 0, "GB/s, listed\n  barrier");
  cli_check(c, !strstr(c->said, "measured"), "an architecture without hardware has measured rates");
  cli_expect_line(c, EXPLAIN("cpu:0", "m=16,speed=3"), 2, "--candidate is");
  cli_expect(c, "tune attention --shape 8x512x512x64 --device cuda:sm_90a --explain", 0, "Gexp/s, assumed");
  cli_check(c, strstr(c->said, "timeline of a core") != NULL, "attention has a timeline");
  cli_expect(
      c,
      "tune attention --shape 8x512x512x64 --device cuda:sm_90a --explain --candidate tile=256x256,pipeline_stages=4",
      0, "illegal candidate: shared memory");
  cli_expect_line(c, "tune attention --shape 8x512x512x64 --device cpu:0", 2, "attention takes --explain");
  cli_expect_line(c, "tune attention --shape 8x512x512x64 --dtype bool --device cpu:0 --explain", 2, "one of floats");
  cli_expect_line(c, "tune attention --shape 8x9223372036854775807x512x64 --device cpu:0 --explain", 2,
                  "to 2147483647");
  cli_expect(c, EXPLAIN("cuda:sm_80", "preset=pipelined"), 0, "use_shared=1 padding=4 async_copy=1 pipeline_stages=3");
}

static void profiles(cli *c) {
  static const char mine[] = "name = Example 9000\ncores = 777\n";
  cli_write(c, "mine.profile", mine, sizeof mine - 1);
#define PROFILED(rest) "tune matmul --shape 64x64x64 --dtype bf16 --device cuda:sm_90a --explain " rest
  cli_expect(c, PROFILED("--profile mine.profile"), 0, "on Example 9000");
  cli_expect_line(c, PROFILED("--profile none.profile"), 2, "none.profile");
  cli_expect_line(c, PROFILED("--profile x.mlir"), 2, "x.mlir:1:1:");
  cli_expect_line(c, "check x.mlir --device cpu:0 --profile none.profile", 2, "none.profile");
  cli_expect(c, "ops --tiles", 0, "conv2d           others    128x128x32");
  cli_expect(c, "ops --tiles --device cuda:sm_80", 0, "here");
  cli_expect_line(c, "ops --device cpu:0", 2, "--device goes with --tiles");
  cli_expect_line(c, EXPLAIN("cpu:0", "m=x"), 2, "--candidate is");
  cli_expect_line(c, "tune matmul --shape 64x64x64 --device cpu:0 --candidate m=16", 2, "go with --explain");
}

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  cli_write_unary(&c, "x.mlir", "neg", "2x3");
  cli_expect(&c, "run x.mlir --output 0=in.npy --device cpu:0", 0, "");
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    cli_refused(&c, refused[i].args, refused[i].args, refused[i].says);
  for (size_t i = 0; i < sizeof unavailable / sizeof *unavailable; i++)
    cli_expect_line(&c, unavailable[i].args, 3, unavailable[i].says);
  keys(&c);
  open_dimensions(&c);
  estimates(&c);
  profiles(&c);
  return cli_end(&c);
}
