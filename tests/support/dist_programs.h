/* tests/support/dist_programs.h - programs of a mesh, one for each thing that may happen to a value between two ops:
 * run on ranks of one process and of several. */
#ifndef TESTS_SUPPORT_DIST_PROGRAMS_H
#define TESTS_SUPPORT_DIST_PROGRAMS_H

/* A program: its function, its mesh, and the collectives that it is to have, "all_gather[tp] ...". */
typedef struct program { const char *what, *mesh, *args, *body, *results, *types, *want; } program;

#define MM(r, a, b) "%" r " = \"tessera.graph.matmul\"(%" a ", %" b ")\n"
#define UN(r, op, a) "%" r " = \"tessera.graph." op "\"(%" a ")\n"
#define BIN(r, op, a, b) "%" r " = \"tessera.graph." op "\"(%" a ", %" b ")\n"

static const program programs[] = {
    {"a product cut by columns needs nothing", "tp=4", "%x: tensor<6x8xf32, {shard = [\"*\", \"*\"]}>, %w: tensor<8x12xf32, {shard = [\"*\", \"tp\"]}>",
     MM("y", "x", "w"), "%y", "tensor<6x12xf32>", ""},
    {"a product cut by rows leaves sums", "tp=4", "%x: tensor<8x8xf32, {shard = [\"*\", \"tp\"]}>, %w: tensor<8x12xf32, {shard = [\"tp\", \"*\"]}>",
     MM("y", "x", "w"), "%y", "tensor<8x12xf32>", "reduce_scatter[tp]"},
    {"sums of odd extents are added up everywhere", "tp=4", "%x: tensor<5x8xf32, {shard = [\"*\", \"tp\"]}>, %w: tensor<8x7xf32, {shard = [\"tp\", \"*\"]}>",
     MM("y", "x", "w"), "%y", "tensor<5x7xf32>", "all_reduce[tp]"},
    {"tensor parallel: columns, then rows", "tp=2,dp=2",
     "%x: tensor<8x16xf32, {shard = [\"dp\", \"*\"]}>, %w: tensor<16x32xf32, {shard = [\"*\", \"tp\"]}>, %v: tensor<32x16xf32, {shard = [\"tp\", \"*\"]}>",
     MM("h", "x", "w") UN("g", "gelu", "h") MM("y", "g", "v"), "%y", "tensor<8x16xf32>", "reduce_scatter[tp]"},
    {"sequence parallel: the norm behind the sum is cut", "tp=4",
     "%x: tensor<8x16xf32, {shard = [\"*\", \"*\"]}>, %w: tensor<16x32xf32, {shard = [\"*\", \"tp\"]}>, %v: tensor<32x16xf32, {shard = [\"tp\", \"*\"]}>, %s: tensor<16xf32>",
     MM("h", "x", "w") UN("g", "gelu", "h") MM("y", "g", "v") BIN("r", "add", "x", "y") BIN("n", "rmsnorm", "r", "s"),
     "%n", "tensor<8x16xf32>", "reduce_scatter[tp]"},
    {"data parallel: gradients are added up", "dp=4",
     "%x: tensor<16x6xf32, {shard = [\"dp\", \"*\"]}>, %g: tensor<16x8xf32, {shard = [\"dp\", \"*\"]}>",
     "%y = \"tessera.graph.matmul\"(%x, %g) {transpose_a = true} : (tensor<16x6xf32>, tensor<16x8xf32>) -> tensor<6x8xf32, {shard = [\"*\", \"*\"]}>\n",
     "%y", "tensor<6x8xf32>", "all_reduce[dp]"},
    {"a sum of squares is one number of each rank", "dp=3", "%x: tensor<900x100xf32, {shard = [\"dp\", \"*\"]}>",
     BIN("q", "mul", "x", "x") "%y = \"tessera.graph.reduce_sum\"(%q) {axes = [0, 1]}\n", "%y", "tensor<f32>", "all_reduce[dp]"},
    {"means over parts are parts of the mean", "dp=3", "%x: tensor<1000x40xf32, {shard = [\"dp\", \"*\"]}>",
     "%y = \"tessera.graph.reduce_mean\"(%x) {axes = [0]}\n", "%y", "tensor<40xf32>", "all_reduce[dp]"},
    {"largest of padded rows", "dp=4", "%x: tensor<5x4xf32, {shard = [\"dp\", \"*\"]}>",
     UN("e", "exp", "x") UN("m", "neg", "e") "%y = \"tessera.graph.reduce_max\"(%m) {axes = [0]}\n", "%y", "tensor<4xf32>", "reduce_scatter[dp]"},
    {"a softmax needs its axis whole: rows are cut instead", "tp=2", "%x: tensor<6x8xf32, {shard = [\"*\", \"tp\"]}>",
     "%y = \"tessera.graph.softmax\"(%x)\n", "%y", "tensor<6x8xf32>", "all_to_all[tp]"},
    {"one row has nothing else to be cut", "tp=2", "%x: tensor<1x8xf32, {shard = [\"*\", \"tp\"]}>",
     "%y = \"tessera.graph.softmax\"(%x)\n", "%y", "tensor<1x8xf32>", "all_gather[tp]"},
    {"a transform in two dimensions: columns, then rows", "dp=2", "%x: tensor<8x6xcomplex<f32>, {shard = [\"dp\", \"*\"]}>",
     "%c = \"tessera.graph.fft\"(%x) {axes = [1]}\n%y = \"tessera.graph.fft\"(%c) {axes = [0]}\n", "%y", "tensor<8x6xcomplex<f32>>", "all_to_all[dp]"},
    {"axes change places", "tp=2", "%x: tensor<6x8xf32, {shard = [\"*\", \"tp\"]}>",
     "%y = \"tessera.graph.exp\"(%x) : (tensor<6x8xf32>) -> tensor<6x8xf32, {shard = [\"tp\", \"*\"]}>\n", "%y", "tensor<6x8xf32>", "all_to_all[tp]"},
    {"two axes cut one dimension", "tp=2,dp=3", "%x: tensor<12x8xf32, {shard = [\"dp+tp\", \"*\"]}>, %w: tensor<8x4xf32, {shard = [\"*\", \"*\"]}>",
     MM("y", "x", "w"), "%y", "tensor<12x4xf32>", ""},
    {"attention is cut by entries and heads", "tp=2,dp=2",
     "%q: tensor<2x4x6x8xf32, {shard = [\"dp\", \"tp\", \"*\", \"*\"]}>, %k: tensor<2x2x6x8xf32, {shard = [\"dp\", \"tp\", \"*\", \"*\"]}>",
     "%y = \"tessera.graph.flash_attention\"(%q, %k, %k) {causal = true}\n", "%y", "tensor<2x4x6x8xf32>", ""},
    {"places in a triangle are those of the whole", "dp=2", "%x: tensor<8x8xf32, {shard = [\"dp\", \"*\"]}>",
     "%y = \"tessera.graph.tril\"(%x)\n", "%y", "tensor<8x8xf32>", ""},
    {"rows of an embedding, cut by their width", "tp=2,dp=2", "%t: tensor<10x8xf32, {shard = [\"*\", \"tp\"]}>, %i: tensor<6xi32, {shard = [\"dp\"]}>",
     BIN("y", "embedding", "t", "i"), "%y", "tensor<6x8xf32>", ""},
    {"reshapes follow where rows stay rows", "dp=2", "%x: tensor<4x6xf32, {shard = [\"dp\", \"*\"]}>",
     "%r = \"tessera.graph.reshape\"(%x) {shape = [4, 2, 3]}\n%y = \"tessera.graph.transpose\"(%r) {perm = [2, 0, 1]}\n",
     "%y", "tensor<3x4x2xf32>", ""},
    {"sums are scattered once and read twice", "tp=2", "%x: tensor<8x8xf32, {shard = [\"*\", \"tp\"]}>, %w: tensor<8x8xf32, {shard = [\"tp\", \"*\"]}>",
     MM("s", "x", "w") UN("a", "exp", "s") UN("b", "neg", "s") BIN("y", "add", "a", "b"), "%y", "tensor<8x8xf32>", "reduce_scatter[tp]"},
    {"integers wrap alike", "dp=4", "%x: tensor<8x4xi32, {shard = [\"dp\", \"*\"]}>",
     "%y = \"tessera.graph.reduce_prod\"(%x) {axes = [0]}\n", "%y", "tensor<4xi32>", "reduce_scatter[dp]"},
    {"an input is an output, another is there twice", "dp=2", "%x: tensor<4xf32, {shard = [\"dp\"]}>", UN("y", "exp", "x"),
     "%x, %y, %y", "tensor<4xf32>, tensor<4xf32>, tensor<4xf32>", ""},
};
#endif
