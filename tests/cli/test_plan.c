/* tests/cli/test_plan.c - `tessera plan FILE|MODEL`: what scripts read, pages and traces, searches, and arguments that
 * nobody should get away with. */
#include "tests/cli/cli_run.h"

static const char program[] =
    "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n"
    "^bb0(%x: tensor<64x32xf32, {shard = [\"dp\", \"*\"]}>, %w: tensor<32x48xf32, {shard = [\"*\", \"tp\"]}>, "
    "%v: tensor<48x32xf32, {shard = [\"tp\", \"*\"]}>):\n"
    "%h = \"tessera.graph.matmul\"(%x, %w)\n%g = \"tessera.graph.gelu\"(%h)\n%y = \"tessera.graph.matmul\"(%g, %v)\n"
    "\"tessera.graph.return\"(%y) : (tensor<64x32xf32>) -> ()\n}) {sym_name = \"main\"} : () -> ()\n}) : () -> ()\n";
static const char step[] =
    "\"tessera.graph.func\"() ({\n^bb0(%x: tensor<8x6xf32, {shard = [\"dp\", \"*\"]}>, %w: tensor<6x5xf32, {shard = "
    "[\"*\", \"*\"]}>):\n%h = \"tessera.graph.matmul\"(%x, %w)\n%y = \"tessera.graph.reduce_mean\"(%h) {axes = [0, "
    "1]}\n\"tessera.graph.return\"(%y) : (tensor<f32>) -> ()\n}) : () -> ()\n";
static const char *const bench_keys[] = {"ranks",      "overlap_us", "in_order_us", "ratio",
                                         "overlapped", "comm_us",    "correct",     "env",   NULL};
static const char whole[] =
    "\"tessera.graph.func\"() ({\n^bb0(%x: tensor<64x32xf32>):\n%y = \"tessera.graph.exp\"(%x)\n"
    "\"tessera.graph.return\"(%y) : (tensor<64x32xf32>) -> ()\n}) : () -> ()\n";
/* Column-major in memory, cut by the columns that are written. */
static const char layout[] =
    "\"tessera.graph.func\"() ({\n^bb0(%w: tensor<64x32xf32, {layout = [1, 0], shard = [\"*\", \"tp\"]}>):\n%y = "
    "\"tessera.graph.exp\"(%w)\n\"tessera.graph.return\"(%y) : (tensor<64x32xf32>) -> ()\n}) : () -> ()\n";
static const char lab[] = "{\"name\": \"lab\", \"levels\": [{\"name\": \"bus\", \"ranks\": 16, \"latency_us\": 1, "
                          "\"gbytes_per_s\": 10}], \"device\": {\"name\": \"toy\", \"tflops_16\": 1, \"tflops_32\": 1, "
                          "\"memory_gbytes_per_s\": 100, \"memory_gbytes\": 1}}";

static const struct {
  const char *args, *says;
} refused[] = {
    {"plan banana", "a program needs --mesh"},
    {"plan banana --mesh tp=2", "banana"},
    {"plan program.mlir", "a program needs --mesh"},
    {"plan program.mlir --mesh tp=0", "size of axis 0 \"tp\""},
    {"plan program.mlir --mesh tp=1e1", "size of axis 0 \"tp\""},
    {"plan program.mlir --mesh tp=2x", "size of axis 0 \"tp\""},
    {"plan program.mlir --mesh tp=+2", "size of axis 0 \"tp\""},
    {"plan program.mlir --mesh tp=2,", "size of axis 1"},
    {"plan layers=1e9,width=64,heads=4,hidden=256,vocab=256,tokens=64 --mesh tp=1", "no list of its dimensions"},
    {"plan layers=4,layers=8,width=64,heads=4,hidden=256,vocab=256,tokens=64 --mesh tp=1", "there twice"},
    {"plan program.mlir --mesh tp=2,tp=2", "there twice"},
    {"plan program.mlir --mesh dp=2", "no axis \"tp\""},
    {"plan program.mlir --mesh tp=2,dp=2 --ranks 8", "make 4 ranks, there are 8"},
    {"plan program.mlir --mesh tp=2,dp=2 --topology moon", "no topology \"moon\""},
    {"plan program.mlir --mesh tp=2,dp=2 --topology bad.json", "bad.json:1:"},
    {"plan program.mlir --mesh tp=2,dp=2,pp=2 --schedule dual", "no schedule \"dual\""},
    {"plan program.mlir --mesh tp=2,dp=2,pp=4 --schedule interleaved --microbatches 6", "no multiple of 4 stages"},
    {"plan program.mlir --mesh tp=2,dp=2 --bytes 3", "are of plan coll"},
    {"plan program.mlir --mesh tp=2,dp=2 --html /none/page.html", "/none/page.html"},
    {"plan bad.json --mesh tp=2", "bad.json:1:"},
    {"plan coll --mesh tp=2", "tessera plan FILE|MODEL"},
    {"plan gpt3_175b", "a model needs --mesh"},
    {"plan gpt3_175b --search", "a model needs --mesh"},
    {"plan gpt3_175b --mesh tp=7", "multiples of tp"},
    {"plan gpt3_175b --mesh pp=7", "layers must be a multiple"},
    {"plan gpt3_175b --mesh ep=2", "another axis"},
    {"plan gpt3_175b --mesh dp=3 --batch 4", "multiple of dp"},
    {"plan gpt3_175b --mesh dp=3 --zero 4", "--zero 4 is not 0 to 3"},
    {"plan gpt3_175b --mesh pp=2 --chunks 2", "--chunks is for --schedule interleaved"},
    {"plan gpt3_175b --search --ranks 16385", "--ranks 16385 is not 1 to 16384"},
    {"plan layers=3,width=5 --mesh tp=1", "a model has layers"},
    {"plan layers=3,colour=5 --mesh tp=1", "no list of its dimensions"},
};

static void check_file(cli *c, const char *name, const char *says) {
  cli_check(c, strstr(cli_text(c, name), says) != NULL, says);
}

int main(void) {
  static const char *const keys[] = {"program",   "topology", "mesh",       "shards", "collectives",
                                     "algorithm", "step_us",  "exposed_us", "bubble", "peak_bytes",
                                     "levels",    "source",   "device",     NULL};
  static const char *const model_keys[] = {"model",      "parameters", "tried",      "plans",  "step_us",
                                           "idle_share", "overhead",   "exposed_us", "memory", "peak_bytes",
                                           "fits",       "mfu",        "source",     NULL};
  cli c;
  if (!cli_begin(&c)) return 77;
  cli_write(&c, "program.mlir", program, sizeof program - 1);
  cli_write(&c, "whole.mlir", whole, sizeof whole - 1);
  cli_write(&c, "step.mlir", step, sizeof step - 1);
  cli_write(&c, "layout.mlir", layout, sizeof layout - 1);
  cli_write(&c, "lab.json", lab, sizeof lab - 1);
  cli_write(&c, "bad.json", "{\"levels\": [", 12);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    cli_refused(&c, refused[i].args, refused[i].args, refused[i].says);
  cli_expect(&c, "plan program.mlir --mesh tp=4,dp=2 --topology infiniband", 0, "reduce_scatter[tp] 4096 bytes");
  cli_expect(&c, "plan program.mlir --mesh tp=4,dp=2 --topology lab.json", 0, "toy: 1 TFLOP/s");
  cli_has_keys(&c, "plan program.mlir --mesh tp=4,dp=2 --topology lab.json --json", keys);
  cli_expect(&c, "plan whole.mlir --mesh dp=8 --topology h100x8", 0, "x: dp,*");
  cli_expect(&c, "plan layout.mlir --mesh tp=2 --topology lab.json", 0, "w: *,tp");
  cli_expect(&c, "plan layout.mlir --mesh tp=2 --topology lab.json", 0, "computing 0.13824 us"); /* with a transpose */
  cli_expect(&c, "run layout.mlir --mesh tp=2", 0, "results are the reference's");
  cli_expect(&c, "plan whole.mlir --mesh tp,dp --ranks 16384 --topology infiniband", 0, "16384 ranks");
  cli_has_keys(&c, "plan gpt3_175b --mesh tp=8,pp=3,dp=3 --topology nvl72 --json", model_keys);
  cli_expect(&c, "plan gpt3_175b --mesh tp=8,pp=4,dp=2 --microbatches 8 --topology infiniband", 0, "idle ");
  cli_expect(&c, "plan gpt3_175b --mesh tp=8,pp=8 --microbatches 4 --topology infiniband", 0,
             "4 microbatches for 8 stages");
  cli_expect(&c, "plan gpt3_175b --search --ranks 1024 --batch 1024 --topology infiniband", 0, "ways tried");
  cli_expect(&c, "plan llama3_8b --mesh dp=8 --zero 3 --topology h100x8", 0, "memory of a rank: weights 2.0");
  cli_expect(&c, "plan layers=4,width=64,heads=4,hidden=256,vocab=256,tokens=64 --mesh tp=2,dp=2", 0, "inproc");
  cli_expect(&c, "plan program.mlir --mesh tp=2,dp=2,pp=2 --html page.html --trace trace.json", 0,
             "pipeline: 1f1b, 2 stages, 4 microbatches");
  check_file(&c, "page.html", "backward of microbatch 3");
  check_file(&c, "trace.json", "\"name\": \"forward of microbatch 0\", \"cat\": \"forward\"");
  cli_expect(&c, "plan program.mlir --mesh tp=2,dp=2 --html page.html --trace trace.json", 0, "a rank:");
  check_file(&c, "page.html", "reduce_scatter");
  check_file(&c, "trace.json", "\"cat\": \"comm\"");
  static const char rank[] =
      "\"tessera.graph.func\"() ({\n^bb0(%x: tensor<64x32xf32>):\n%y = \"tessera.graph.all_reduce\"(%x) {axes = \"dp\", "
      "ranks = 4}\n\"tessera.graph.return\"(%y) : (tensor<64x32xf32>) -> ()\n}) : () -> ()\n";
  cli_write(&c, "rank.mlir", rank, sizeof rank - 1);
  cli_expect(&c, "plan rank.mlir --mesh dp=4,tp=2 --topology pcie8", 0, "all_reduce[dp] 8192 bytes");
  cli_refused(&c, "other mesh", "plan rank.mlir --mesh dp=2", "4 ranks, but the mesh has 2");
  cli_expect(&c, "run program.mlir --mesh tp=4,dp=2", 0, "ReduceScatter[tp]");
  cli_expect(&c, "run program.mlir --mesh tp=2,dp=3 --device cpu:0,cpu:0 --seed 5 --explain", 0,
             "results are the reference's");
  cli_expect(&c, "run whole.mlir --mesh dp=4 --search --policy deterministic", 0, "x: dp,*");
  cli_refused(&c, "no shards", "run whole.mlir --mesh dp=4", "nothing says how the graph's inputs lie");
  cli_expect(&c, "run program.mlir --mesh tp=4,dp=2 --row-chunks 2 --explain", 0,
             "of a product of 32 rows in 2 chunks");
  cli_expect(&c, "bench program.mlir --mesh tp=2,dp=2 --milliseconds 1", 0, "the same bits");
  cli_expect(&c, "bench step.mlir --mesh dp=2 --grad --milliseconds 1", 0, "AllReduce[dp]");
  cli_has_keys(&c, "bench step.mlir --mesh dp=2 --grad --milliseconds 1 --policy deterministic --json", bench_keys);
  cli_refused(&c, "no scalar", "bench program.mlir --mesh tp=2,dp=2 --grad", "every input of floats is cut");
  cli_refused(&c, "no time", "bench step.mlir --mesh dp=2 --milliseconds 0", "is not 1 to 600000");
  cli_refused(&c, "no file", "bench --mesh dp=2", "needs one FILE");
  cli_refused(&c, "transport", "bench step.mlir --mesh dp=2 --transport nccl", "--transport is mpi");
  cli_refused(&c, "no chunks", "run program.mlir --mesh tp=4,dp=2 --row-chunks -1", "--row-chunks is 0 to 1048576");
  cli_refused(&c, "chunks of one device", "run whole.mlir --row-chunks 2", "are for --mesh");
  cli_refused(&c, "no mesh", "run whole.mlir --search", "are for --mesh");
  cli_refused(&c, "both", "run program.mlir --mesh tp=2,dp=2 --repeat 3", "--mesh takes --device");
  cli_refused(&c, "axis", "run program.mlir --mesh tp=2", "no axis \"dp\"");
  cli_expect(&c, "plan --help", 0, "--mesh tp=8,pp=3,dp=3");
  return cli_end(&c);
}
